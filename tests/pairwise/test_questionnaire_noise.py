"""What the answers to a questionnaire can change: every pair of answer patterns of small ones against the body."""

from __future__ import annotations

import functools
import itertools

import jax
import numpy as np
import pytest

from privrank_jax.exact.spanning_trees import Graph
from privrank_jax.pairwise import questionnaire_counts
from privrank_jax.pairwise.questionnaire import (
    noise_on_totals,
    noise_shape,
    questionnaire_changes,
    read_questionnaire,
)
from privrank_jax.privacy import Privacy
from tests.exact.graphs import zonotope
from tests.reference import geometry as naive

PUBLIC = ("questionnaire",)
ITEMS = 4
QUESTIONNAIRES = {
    "one pair": [(0, 1)],
    "path": [(0, 1), (1, 2)],
    "asked again": [(0, 1), (0, 1), (1, 2)],
    "triangle": [(0, 1), (1, 2), (0, 2)],
    "two parts": [(0, 1), (2, 3)],
    "cycle": [(0, 1), (1, 2), (2, 3), (0, 3)],
}
CHANGED = {"flip": 2, "replace": 1}  # c, in halves of a win


def promise(adjacency="flip", **fields):
    return Privacy(1.0, **{"unit": "user", "adjacency": adjacency, "public": PUBLIC, **fields})


def contents(pairs, adjacency):
    """Twice the totals of one user, for every pattern of wins, ties and, under replacement, missing answers."""
    unit = np.eye(ITEMS, dtype=int)
    answers = [[2 * unit[i], 2 * unit[j], unit[i] + unit[j]] for i, j in pairs]
    if adjacency == "replace":
        answers = [[*known, 0 * unit[0]] for known in answers]
    return np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*answers)])


@functools.cache
def differences(name, adjacency):
    """Twice the changes of the totals, with the coordinate of item "no answer" where there is one."""
    totals = contents(QUESTIONNAIRES[name], adjacency)
    found = np.unique((totals[:, None] - totals[None, :]).reshape(-1, ITEMS), axis=0)
    if adjacency == "flip":
        return found
    return np.hstack([found, -found.sum(1, keepdims=True)])


def body(name, adjacency):
    counts = questionnaire_counts(QUESTIONNAIRES[name], ITEMS)
    edges, parts = questionnaire_changes(counts, adjacency)
    return list(map(tuple, Graph.of_counts(np.asarray(edges)).edges.tolist())), len(edges), parts


@pytest.mark.parametrize("adjacency", CHANGED)
@pytest.mark.parametrize("name", QUESTIONNAIRES)
def test_changes_lie_in_the_body_and_fill_it(name, adjacency):
    edges, vertices, parts = body(name, adjacency)
    found = differences(name, adjacency)
    gauges = [naive.zonotope_gauge(change, edges, vertices) for change in found]
    assert max(gauges) == CHANGED[adjacency] == 2 // parts
    # The support function of the body is that of the changes, in all directions: the body is their hull.
    rng = np.random.default_rng(2)
    for direction in rng.normal(size=(200, vertices)):
        reached = (found @ direction).max()
        width = sum(abs(direction[i] - direction[j]) for i, j in edges)
        assert reached == pytest.approx(CHANGED[adjacency] * width)


@pytest.mark.parametrize("adjacency", CHANGED)
def test_the_shape_is_that_body_in_wins(adjacency):
    for name in QUESTIONNAIRES:
        edges, vertices, parts = body(name, adjacency)
        shape = noise_shape(questionnaire_counts(QUESTIONNAIRES[name], ITEMS), adjacency)
        lengths = np.asarray(zonotope(edges, vertices).lengths) / parts
        np.testing.assert_array_equal(shape.lengths, lengths)
        assert shape.complete == (adjacency == "flip" and name in ("one pair", "triangle"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unit": "comparison", "public": ()}, "needs unit='user'"),
        ({"adjacency": "replace", "public": ()}, "the promise must say that it is public"),
        ({"contributions": 3}, "contributions = 3 contradicts the questionnaire, which asks 2 pairs"),
        ({"sensitivity": 2.0}, "implies the sensitivity"),
        ({"counts": np.zeros((3, 3))}, "not all of them 0"),
        ({"counts": np.eye(3)}, "a diagonal of 0"),
        ({"counts": np.triu(np.ones((3, 3)), 1)}, "symmetric"),
        ({"counts": 0.5 * (1 - np.eye(3))}, "whole numbers"),
        ({"counts": 1 - np.eye(4)}, r"must have shape \(3, 3\)"),
        ({"counts": None}, "noise='k-norm' has the shape of what users are asked"),
    ],
)  # fmt: skip
def test_questionnaires_that_do_not_fit_are_refused(settings, message):
    fields = dict(settings)
    counts = fields.pop("counts", questionnaire_counts([(0, 1), (1, 2)], 3))
    sensitivity = fields.pop("sensitivity", None)
    with pytest.raises(ValueError, match=message):
        read_questionnaire(counts, promise(**fields), 3, "k-norm", sensitivity)


def test_add_remove_has_no_shape():
    with pytest.raises(ValueError, match="K-norm noise needs adjacency='flip' or 'replace'"):
        questionnaire_changes(questionnaire_counts([(0, 1)], 2), "add-remove")


def test_a_user_may_answer_less_than_asked_and_under_flips_the_questionnaire_is_public_anyway():
    counts = questionnaire_counts([(0, 1), (1, 2)], 3)
    asked = promise(public=(), contributions=1)
    np.testing.assert_array_equal(read_questionnaire(counts, asked, 3, "k-norm", None), counts)


def test_variance_per_dimension():
    """One pair: Laplace noise of scale 1 along e_0 - e_1, of variance 2·‖(1, -1)‖²; also from inside a program."""
    noise = noise_on_totals("k-norm", 1.0, 3, questionnaire_counts([(0, 1)], 3), "flip")
    assert noise.variance_per_dimension() == pytest.approx(4.0)
    assert jax.jit(lambda: noise.variance_per_dimension() * 1.0)() == pytest.approx(4.0)
    with pytest.raises(ValueError, match="give gamma"):
        jax.jit(lambda traced: traced.variance_per_dimension())(noise)
