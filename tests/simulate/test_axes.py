"""Named axes: what a trial may return, and which columns the rows then have."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.simulate import Study, grid, labeled, run
from privrank_jax.simulate.axes import columns, flatten

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
    assert {type(row["num_users"]) for row in result.select("error")} == {int}
    assert (result.row("failed")["num_users"], result.row("failed")["epsilon"]) == (None, None)


def test_a_value_that_stands_higher_up_lacks_the_axes_below():
    found = flatten({"mle": {"error": 1.0}, "failed": 0}, TWO)
    assert found.labels == (("mle", "error"), (None, "failed"))
    assert columns(found.labels[1], TWO) == {"estimator": None, "metric": "failed"}
    metric_first = flatten({"error": {"mle": 1.0}, "failed": 0}, ("metric", "estimator"))
    assert metric_first.labels == (("error", "mle"), ("failed", None))


def test_names_numbers_and_truth_values_are_labels():
    found = flatten({"error": {np.int64(3): 1.0, "all": 2.0, True: 3.0}}, ("metric", "which"))
    assert found.labels == (("error", True), ("error", 3), ("error", "all"))
    assert type(found.labels[1][1]) is int


@pytest.mark.parametrize(
    ("found", "axes", "message"),
    [
        (1.0, ("metric",), "must return a dict"),
        ({}, ("metric",), "must return a dict"),
        ({"a": {"b": {"c": 1.0}}}, TWO, "dicts of 3 levels"),
        ({("a", "b"): 1.0}, ("metric",), "as keys; got"),
        ({3: 1.0}, ("metric",), "name its metrics by strings; got 3"),
        ({"error": 1.0, "x": {"error": 2.0}}, ("metric", "which"), None),
    ],
)
def test_what_is_not_placed_is_refused(found, axes, message):
    if message is None:
        assert len(flatten(found, axes).labels) == 2
        return
    with pytest.raises(ValueError, match=message):
        flatten(found, axes)


def test_shapes_that_do_not_fit_their_labels_are_refused():
    with pytest.raises(ValueError, match="argument"):
        labeled(jnp.zeros(3), ("a", "b"))


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        (("estimator",), "'metric' among them"),
        (("metric", "metric"), "different names"),
        (("metric", "scale"), r"\['scale'\] are parameters"),
        (("metric", "mean"), r"\['mean'\] are parameters, or columns"),
    ],
)
def test_axes_are_checked(axes, message):
    with pytest.raises(ValueError, match=message):
        Study("s", lambda key, cell: {}, grid(scale=1.0), axes=axes)


def test_a_wrong_metric_is_named_with_its_place():
    def trial(key, cell):
        return {"mle": {"error": jnp.zeros(3)}}

    with pytest.raises(ValueError, match=r"estimator 'mle', metric 'error' of one replicate is"):
        run(jax.random.key(0), Study("s", trial, ({},), axes=TWO), 2)
