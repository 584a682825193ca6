"""Named axes: what a trial may return, and which columns the rows then have."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.simulate import Study, grid, run
from privrank_jax.simulate.axes import columns, flatten, labeled

TWO = ("estimator", "metric")


def test_estimators_by_metrics():
    def trial(key, cell):
        draws = cell["scale"] * jax.random.normal(key, (9,))
        found = {"mean": draws.mean(), "median": jnp.median(draws)}
        return {name: {"error": abs(v), "square": v**2} for name, v in found.items()}

    study = Study("center", trial, grid(scale=(1.0, 2.0)), axes=TWO)
    result = run(jax.random.key(0), study, 50)
    assert result.columns[:4] == ["study", "scale", "estimator", "metric"]
    assert len(result.rows) == 8
    assert {row["replicates"] for row in result.rows} == {50}
    flat = Study("flat", lambda key, cell: trial(key, cell)["median"], grid(scale=(1.0, 2.0)))
    expected = run(jax.random.key(0), flat, 50)
    for metric in ("error", "square"):
        (row,) = result.select(metric, estimator="median", scale=2.0)
        assert row["mean"] == expected.row(metric, scale=2.0)["mean"]


def test_labels_keep_their_types_and_rows_their_order():
    def trial(key, cell):
        values = jnp.arange(6.0).reshape(3, 2)
        return {
            "error": labeled(values, (1000, 200, 30), (0.5, float("inf"))),
            "failed": jnp.int32(0),
        }

    study = Study("s", trial, ({},), axes=("metric", "num_users", "epsilon"))
    result = run(jax.random.key(0), study, 2)
    places = [(row["num_users"], row["epsilon"], row["mean"]) for row in result.select("error")]
    assert places == [
        (30, 0.5, 4.0), (30, float("inf"), 5.0), (200, 0.5, 2.0), (200, float("inf"), 3.0),
        (1000, 0.5, 0.0), (1000, float("inf"), 1.0),
    ]  # fmt: skip
    found = flatten({"mle": {"error": 1.0}, "failed": 0}, TWO)  # which lacks the axes below
    assert found.labels == (("mle", "error"), (None, "failed"))
    assert columns(found.labels[1], TWO) == {"estimator": None, "metric": "failed"}
    assert {type(row["num_users"]) for row in result.select("error")} == {int}
    assert (result.row("failed")["num_users"], result.row("failed")["epsilon"]) == (None, None)


def test_a_labeled_array_is_one_result_of_the_program():
    def trial(key, cell):
        values = jax.random.uniform(key, (3, 2))
        labels = ("b", "a", "c"), (7, 5)
        table = labeled(values, *labels)
        if cell["whole"]:
            return {"error": table, "other": {"z": labeled(values[:1, 0], (1,))}}
        apart = {one: {two: table[one][two] for two in labels[1]} for one in labels[0]}
        return {"error": apart, "other": {"z": {1: values[0, 0]}}}

    axes = ("metric", "name", "number")
    study = Study("s", trial, ({"whole": True}, {"whole": False}), ("whole",), axes)
    result = run(jax.random.key(0), study, 3)
    whole, apart = (result.select(whole=which) for which in (True, False))
    assert [{**row, "whole": False} for row in whole] == apart
    assert [(row["name"], row["number"]) for row in whole] == [
        ("a", 5), ("a", 7), ("b", 5), ("b", 7), ("c", 5), ("c", 7), ("z", 1),
    ]  # fmt: skip
    array = labeled(jnp.arange(12.0).reshape(2, 3, 2), ("a", "b"), (np.int64(5), 7, 9))
    assert list(array) == ["a", "b"]
    assert {type(label) for label in array["b"]} == {int}
    assert array["b"][9].tolist() == [10.0, 11.0]
    outcome = flatten(trial(jax.random.key(0), {"whole": True}), axes)
    assert [np.shape(value) for value in outcome.values] == [(6,), ()]


def test_numbers_and_truth_values_are_labels():
    found = flatten({"error": {np.int64(3): 1.0, "all": 2.0, True: 3.0}}, ("metric", "which"))
    assert found.labels == (("error", True), ("error", 3), ("error", "all"))
    assert type(found.labels[1][1]) is int
    assert len(flatten({"error": 1.0, "x": {"error": 2.0}}, ("metric", "which")).labels) == 2


def study_of(**options):
    return Study(
        "s", lambda key, cell: {"mle": {"error": jnp.zeros(3)}}, grid(scale=1.0), **options
    )


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: flatten(1.0, ("metric",)), "a dict"),
        (lambda: flatten({}, ("metric",)), "a dict"),
        (lambda: flatten({"a": {"b": {"c": 1.0}}}, TWO), "3 levels"),
        (lambda: flatten({("a", "b"): 1.0}, ("metric",)), "as keys"),
        (lambda: flatten({3: 1.0}, ("metric",)), "by strings"),
        (lambda: flatten({"error": labeled(jnp.zeros(2), ("a", "a"))}, TWO[::-1]), "two values"),
        (lambda: labeled(jnp.zeros(3), ("a", "b")), "shape"),
        (lambda: labeled(jnp.zeros(3), ("a", "b", "c"), (1, 2)), "shape"),
        (lambda: labeled(jnp.zeros(1), (None,)), "as keys"),
        (lambda: study_of(axes=("estimator",)), "'metric'"),
        (lambda: study_of(axes=("metric", "metric")), "different names"),
        (lambda: study_of(axes=("metric", "scale")), r"\['scale'\]"),
        (lambda: study_of(axes=("metric", "mean")), r"\['mean'\]"),
        (lambda: run(jax.random.key(0), study_of(axes=TWO), 2), "estimator 'mle', metric 'error'"),
    ],
)
def test_what_has_no_place_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()
