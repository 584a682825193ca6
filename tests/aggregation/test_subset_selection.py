"""Reports of two item sets: designs and their errors against enumeration and other ways, the law of reports."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation.subset_designs import designs
from privrank_jax.aggregation.subset_selection import last_accepted, ldp_borda_subsets, subset_norm
from privrank_jax.privacy.vectors import report_norm
from tests.aggregation.subset_laws import chosen, p_value
from tests.quick import thorough_but
from tests.reference import local_reports as naive

ALARM = 1e-6
USERS = 10_000  # of all that send many reports, so that one program serves them


@pytest.mark.parametrize(("ranks", "epsilon"), [([2, 0, 3, 1], 2.0)])
def test_reports_have_their_law(ranks, epsilon, key):
    """χ² of 60,000 reports, false-alarm rate 1e-6; the law of an ε that is 10 % off, either way, is rejected."""
    users = np.tile(ranks, (USERS, 1))
    items = len(ranks)
    reports = np.concatenate(
        [ldp_borda_subsets.report(one, users, epsilon) for one in jax.random.split(key, 6)],
        dtype=np.float64,
    )
    scores = [items - 1 - rank for rank in ranks]
    law = naive.report_law(scores, chosen(items, epsilon), math.exp(-epsilon))
    np.testing.assert_allclose(law[0].sum(), 1)
    assert p_value(reports, *law) > ALARM
    norm = np.linalg.norm(law[1], axis=1)
    np.testing.assert_allclose(norm, float(subset_norm(items, epsilon)))
    np.testing.assert_allclose(law[0] @ law[1], np.array(scores) - (items - 1) / 2, atol=1e-9)
    for wrong in (0.9, 1.1):
        other = naive.report_law(scores, chosen(items, epsilon), math.exp(-wrong * epsilon))
        assert p_value(reports, other[0], law[1]) < ALARM


def test_each_user_gets_a_pair_when_few_are_left(key):
    """10,000 users whose proposals are mostly rejected: gathered twice, and none is left without a report."""
    rng = np.random.default_rng(0)
    users = np.array([rng.permutation(4) for _ in range(USERS)])
    reports = np.asarray(ldp_borda_subsets.report(key, users, 6.0), np.float64)
    np.testing.assert_allclose(np.linalg.norm(reports, axis=1), float(subset_norm(4, 6.0)))
    error = reports.mean(0) - (1.5 - users).mean(0)
    assert np.all(np.abs(error) < 5 * float(subset_norm(4, 6.0)) / math.sqrt(USERS))
    along = np.sum(reports * (1.5 - users), axis=1)
    assert abs(along.mean() - 5) < 5 * along.std() / math.sqrt(USERS)  # each with the own ranking


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_rejection_loses_at_most_epsilon(dtype):
    epsilons = np.geomspace(1e-6, 20, 200).astype(dtype)
    last = jax.jit(jax.vmap(last_accepted))(epsilons)
    kept = (np.asarray(last).astype(float) + 1) / 2.0**32
    exact = np.exp(-epsilons.astype(float))
    assert np.all(kept >= exact)
    assert np.all(np.log(kept) + epsilons.astype(float) < 1e-5 + 2.0**-32 / exact)
    assert np.all(kept[epsilons > 1e-3] < 1)


naive_type = functools.cache(naive.share_and_mean)


def types_of(table, row):
    """(k, l, t, v) and q of the types of one design."""
    columns = (table.ahead, table.behind, table.threshold, table.weight, table.share)
    return [tuple(column[row, i].item() for column in columns) for i in range(table.share.shape[1])]


@pytest.mark.parametrize("items", [2, 3, 4, 5])
def test_each_design_is_unbiased_with_the_shares_counted(items):
    table = designs(items)
    scores = tuple(range(items))
    for row in range(len(table.share)):
        total = np.zeros(items)
        for ahead, behind, threshold, weight, share in types_of(table, row):
            counted, mean = naive_type(scores, ahead, behind, threshold)
            assert share == pytest.approx(counted)
            total += weight * mean
        np.testing.assert_allclose(total, naive.centered(items), atol=1e-12)


# E‖z‖² of the best unbiased ε-local z, from prices by which no cap of rankings is worth more (commit 258b37f6).
LEAST = {
    (3, 0.5): 75.01857, (3, 1.0): 20.10702, (3, 4.0): 2.47284, (4, 0.5): 300.07426, (4, 2.0): 22.03421,
}  # fmt: skip


@pytest.mark.parametrize(("items", "epsilon"), LEAST)
def test_the_error_is_near_the_least_of_any_mechanism(items, epsilon):
    least = LEAST[items, epsilon]
    square = designs(items).costs(epsilon).sum(axis=1).min() ** 2
    size = naive.centered(items) @ naive.centered(items)
    assert least * (1 - 1e-6) <= square
    assert (square - size) / (least - size) < (1.04 if (items, epsilon) == (4, 2.0) else 1 + 2e-6)
    assert square <= naive.one_pair_square(items, epsilon) * (1 + 1e-9)
    if epsilon == 0.5:
        assert square == pytest.approx(naive.one_pair_square(items, epsilon))


@pytest.mark.parametrize("items", thorough_but([3, 4, 7, 10], 4))
def test_the_error_is_below_that_of_privunit(items):
    radius = np.linalg.norm(naive.centered(items))
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0):
        norm = designs(items).costs(epsilon).sum(axis=1).min()
        assert norm < float(report_norm("privunit", items - 1, epsilon, radius))
