"""Noisy win totals and ties beyond the contract of records: published scales, questionnaires, a bound per item."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import defaultdict

import jax
import numpy as np
import pytest
from scipy.spatial import distance

from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import noisy_counts, noisy_ties, questionnaire_counts
from privrank_jax.pairwise.noisy_totals import GAUSSIAN_TIE_WEIGHT, of_comparisons
from privrank_jax.pairwise.published import published_counts
from privrank_jax.pairwise.questionnaire import (
    change_of_totals,
    max_cut,
    questionnaire_sensitivity,
    totals_sensitivity,
)
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.bodies import Independent
from privrank_jax.privacy.privacy import COMPARISON_KINDS
from tests import reference
from tests.promises import promise
from tests.quick import thorough
from tests.reference import davidson

ADJACENCIES = ("flip", "replace", "add-remove")
MATRIX = np.array([[0, 5, 2, 9], [1, 0, 4, 4], [3, 3, 0, 0.5], [0, 2, 0.5, 0]], float)
WINS = WinCounts.from_matrix(MATRIX)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("unit", ["comparison", "user"])
def test_the_published_scale_for_users_proves_twice_its_epsilon(unit, adjacency, key):
    """Except where users are added or removed."""
    found = published_counts(key, WINS, promise(0.5, unit, adjacency, 3))
    doubled = unit == "user" and adjacency != "add-remove"
    assert float(found.guarantee.epsilon) == (1.0 if doubled else 0.5)
    assert bool(found.guarantee.note) == doubled
    assert float(found.diagnostics.noise_scale) == (3 if unit == "user" else 2) / 0.5


# --- noise for users who are asked a public questionnaire

ASKED = questionnaire_counts([(0, 1), (1, 2), (0, 2), (0, 1), (2, 3)], 4)


def asked(epsilon, adjacency, **fields):
    return Privacy(epsilon, unit="user", adjacency=adjacency, public=("questionnaire",), **fields)


@pytest.mark.parametrize(
    ("adjacency", "l1"), [("flip", 8), thorough("replace", 9), ("add-remove", 5)]
)
def test_a_questionnaire_implies_the_sensitivity(adjacency, l1, key):
    def scale(privacy, **settings):
        found = noisy_counts(key, WINS, privacy, questionnaire=ASKED, **settings)
        return float(found.diagnostics.noise_scale)

    promised = asked(0.5, adjacency, delta=1e-4)
    assert scale(promised, noise="laplace") == l1 / 0.5
    shaped = adjacency != "add-remove"
    assert scale(promised) == (1.0 if shaped else l1) / 0.5
    euclidean = questionnaire_sensitivity(ASKED, promised, "l2")
    assert scale(promised, noise="gaussian") == pytest.approx(
        reference.gaussian_scale(euclidean, 0.5, 1e-4), rel=1e-6
    )
    # Users who answer one of the questions change as much as one comparison.
    one = asked(0.5, adjacency, contributions=1)
    assert scale(one, noise="laplace") == (1 if adjacency == "add-remove" else 2) / 0.5


def test_a_traced_questionnaire_serves_k_norm_noise(key):
    """One program for several questionnaires, with the numbers of each by itself."""
    each = np.stack([ASKED, questionnaire_counts([(0, 1), (2, 3)], 4)])

    @jax.jit
    def run(counts):
        return noisy_counts(key, WINS, asked(1.0, "flip"), questionnaire=counts).value

    for counts, row in zip(each, jax.vmap(run)(each)):
        np.testing.assert_allclose(row, run.__wrapped__(counts), rtol=1e-12)


def contents_of(items, limit, per_item):
    """(what was compared, totals) of every user with at most so many comparisons, and so many about one item."""
    pairs = list(itertools.combinations(range(items), 2))
    found = []
    for size in range(limit + 1):
        for met in itertools.combinations_with_replacement(pairs, size):
            degrees = np.bincount(np.ravel(met).astype(int), minlength=items)
            if degrees.max(initial=0) > per_item:
                continue
            for outcomes in itertools.product((0.0, 0.5, 1.0), repeat=size):
                totals = np.zeros(items)
                for (i, j), won in zip(met, outcomes):
                    totals[i] += won
                    totals[j] += 1 - won
                found.append((met, totals))
    return found


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
@pytest.mark.parametrize(("limit", "per_item"), [(2, 1), (3, 2), (3, 5)])
def test_a_bound_per_item_lowers_the_gaussian_sensitivity(adjacency, limit, per_item):
    """Brute force over all that a user of four items can hold: never above, and attained where there is room for it."""
    held = defaultdict(set)
    for met, totals in contents_of(4, limit, per_item):
        held[met if adjacency == "flip" else ()].add(tuple(totals))
    nothing = [(0.0,) * 4]
    largest = max(
        distance.cdist(list(totals), nothing if adjacency == "add-remove" else list(totals)).max()
        for totals in held.values()
    )
    asked = promise(1.0, "user", adjacency, limit)
    bound = totals_sensitivity(asked, "l2", per_item=per_item)
    assert largest <= bound + 1e-12
    room = adjacency == "add-remove" or (limit, per_item) != (3, 2)
    assert not room or largest == pytest.approx(bound)
    assert totals_sensitivity(asked, per_item=per_item) == totals_sensitivity(asked)
    assert totals_sensitivity(promise(1.0, "comparison", adjacency), "l2", per_item=1) == (
        totals_sensitivity(promise(1.0, "comparison", adjacency), "l2")
    )


@pytest.mark.parametrize(("unit", "adjacency"), COMPARISON_KINDS)
def test_what_is_asked_for_is_attained(unit, adjacency):
    asked = promise(0.5, unit, adjacency, 3, delta=1e-6)
    assert of_comparisons(asked, "it") == of_comparisons(asked, "it", "gaussian") == asked
    assert of_comparisons(asked, "it", "laplace") == promise(0.5, unit, adjacency, 3)


FLIPPED = Privacy(1.0, unit="user", adjacency="flip")


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_sensitivities_with_ties_by_enumeration(limit):
    """Attained where all comparisons are of one pair; a larger weight of the ties would cost more."""
    pairs = [(0, 1)] * limit
    assert davidson.largest_change(pairs, 2, 1, 1.0) == 2 * limit
    assert davidson.largest_change(pairs, 2, 1, 1.1) > 2 * limit
    weight = GAUSSIAN_TIE_WEIGHT[0] / GAUSSIAN_TIE_WEIGHT[1]
    assert davidson.largest_change(pairs, 2, 2, weight) == pytest.approx(math.sqrt(2) * limit)
    assert davidson.largest_change(pairs, 2, 2, 1.23) > math.sqrt(2) * limit
    promised = promise(1.0, "user", "flip", limit, delta=1e-6)
    assert totals_sensitivity(promised) == 2 * limit
    laplace, gaussian = (
        noisy_ties.noise(promised, Facts(2), kind) for kind in ("laplace", "gaussian")
    )
    assert laplace.scale == 2 * limit
    assert laplace.body == Independent((3,))
    assert gaussian.body == Independent((3,), (weight,))


@pytest.mark.parametrize(
    "pairs",
    [[(0, 1)], [(0, 1), (1, 2), (0, 2)], [(0, 1), (0, 1), (1, 2)], [(0, 1), (2, 3), (1, 2)]],
)
def test_sensitivities_to_a_questionnaire_with_ties_by_enumeration(pairs):
    counts = questionnaire_counts(pairs, 4)
    naive = davidson.largest_change(pairs, 4, 1, 1.0)
    assert (
        change_of_totals("laplace", FLIPPED, counts, ties=True)
        == naive
        == len(pairs) + max_cut(counts)
    )
    few = dataclasses.replace(FLIPPED, contributions=1)
    assert change_of_totals("laplace", few, counts, ties=True) == 2
