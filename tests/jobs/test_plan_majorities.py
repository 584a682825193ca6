"""Plans of majorities: what is told and kept of exact private weights, as often as is said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import privrank_jax as pr
from privrank_jax import plan
from privrank_jax.aggregation import PairWeights
from privrank_jax.jobs.rules import KEMENY, RULES
from privrank_jax.privacy import Privacy
from privrank_jax.release import exact_weights

COMMON = {"rankings": True, "epsilon": 1}
WAYS = [("replace", 0.0), ("add-remove", 0.0), ("replace", 1e-5), ("add-remove", 1e-5)]


def promised(adjacency, delta, epsilon=1.0):
    return Privacy(epsilon, unit="user", adjacency=adjacency, delta=delta)


def mostly(users, lead, items=4):
    """Users who rank the items in their order, and others the other way round: all leads are as large."""
    forward = math.ceil(users * (1 + lead) / 2)
    table = {"user": [f"u{k}" for k in range(users)]}
    for item in range(items):
        table[f"i{item}"] = [item + 1] * forward + [items - item] * (users - forward)
    return pr.read(table)


def releases(adjacency, delta, counts, users, draws, **settings):
    """Exact weights less what a tie has, in users, and σ_c."""
    promise = promised(adjacency, delta)
    noise = "gaussian" if delta else "k-norm"
    data = PairWeights.from_counts(counts, users)
    for _ in range(draws):
        found = exact_weights(data, promise, noise=noise, **settings)
        deviation = float(found.diagnostics.cycle_scale)
        if adjacency == "add-remove":
            yield found.value, deviation
        else:
            yield users * (found.value - 0.5), users * deviation


@pytest.mark.parametrize(("adjacency", "delta"), WAYS)
def test_the_error_of_weights_is_that_of_exact_noise(adjacency, delta):
    """Of 200 releases, the noise of a share of 0.95 at least stays within, and of less within 0.7 of that."""
    way = {"adjacency": adjacency, "delta": delta}
    found = plan(5, **COMMON, **way, rule="kemeny", users=400).facts
    counts = 400 * (1 - np.eye(5, dtype=int))
    above = np.triu_indices(5, 1)
    errors = [
        np.abs(one[above]).max()
        for one, _ in releases(adjacency, delta, counts, 400, 200, shrink="none")
    ]
    within = int(np.sum(np.array(errors) <= found["error_of_weight"] + 1e-9))
    assert stats.binomtest(within, 200, 0.95, alternative="less").pvalue > 1e-6
    assert np.mean(np.array(errors) <= 0.7 * found["error_of_weight"]) < 0.95
    assert found["error"] == found["error_of_weight"] / 400


def test_users_who_come_or_go_have_half_the_noise():
    for delta in (0.0, 1e-6):
        way = {**COMMON, "rule": "copeland", "users": 4000, "delta": delta}
        whole, half = (
            plan(6, **way, adjacency=one).facts["error_of_weight"]
            for one in ("replace", "add-remove")
        )
        assert half == pytest.approx(whole / 2, abs=1)  # in whole or half users


@pytest.mark.parametrize("rule", [KEMENY, *RULES])
def test_majorities_above_the_lead_are_told(rule):
    """By all of 16 results but those that chance allows; by few if leads are half as large."""
    lead = 0.3
    target = {"minimax": 2 * lead, "borda": lead}.get(rule, lead)
    # Of leads as large, least leads differ by twice as much, between the first and the others alone; scores by less.
    users = plan(4, **COMMON, rule=rule, target=target).facts["users_needed"]
    told = []
    for size in (lead * 1.01, 0.45 * lead):
        data = mostly(users, size)
        found = [pr.consensus(data, promised("replace", 0.0), rule=rule) for _ in range(16)]
        told.append([bool(one.certainty.better[0, 1:].all()) for one in found])
    assert stats.binomtest(sum(told[0]), 16, 0.95, alternative="less").pvalue > 1e-6
    if (
        rule != "borda"
    ):  # between neighbors scores differ by one lead, between the first and the last by three
        assert sum(told[1]) < 12


@pytest.mark.parametrize(("adjacency", "delta"), WAYS)
def test_majorities_above_the_lead_keep_their_side(adjacency, delta):
    """Of a pair whose items Borda's scores order the other way, in the crowd whose cycle part shrinkage moves most."""
    items, users = 10, 6000
    way = {"adjacency": adjacency, "delta": delta}
    found = plan(items, **COMMON, **way, rule="schulze", users=users).facts
    reach, kept = found["error_of_weight"], found["kept"] * users / 2
    pair = np.zeros((items, items))
    pair[0, 1], pair[1, 0] = 1, -1
    slope = (pair.sum(1)[:, None] - pair.sum(1)) / items
    cycle = pair - slope  # of length √(1 - 2/m) over pairs
    tied = users * (1 - np.eye(items, dtype=int))
    ((_, deviation),) = releases(adjacency, delta, tied, users, 1, focus=0.0)
    size = math.sqrt((items - 1) * (items - 2) / 2 / (1 - 2 / items)) * deviation
    assert kept == pytest.approx(reach + size * (1 - 2 / items), rel=1e-3)

    def share(half_lead):
        """How often the pair stays on its side."""
        x = size * cycle - slope * items / 2 * (size * cycle[0, 1] - half_lead)
        above = np.triu(np.rint(2 * x).astype(int), 1)
        twice = tied + above - above.T
        assert twice[0, 1] - users == pytest.approx(2 * half_lead, abs=1)
        found = releases(adjacency, delta, twice, users, 50, focus=0.0)
        return [value[0, 1] > 0 for value, _ in found]

    assert stats.binomtest(sum(share(kept + 1)), 50, 0.95, alternative="less").pvalue > 1e-6
    if not delta:  # of normal noise the largest of all pairs is farther from that of one
        assert np.mean(share(1.05 * reach)) < 0.9


def test_two_give_the_third():
    needed = plan(6, **COMMON, rule="copeland", target=0.2).facts
    users = needed["users_needed"]
    assert needed["told"] <= 0.2 * (1 + 1e-6)
    assert plan(6, **COMMON, rule="copeland", users=users - 1).facts["told"] > 0.2
    epsilon = plan(6, rankings=True, rule="copeland", users=users, target=0.2).facts["epsilon"]
    assert epsilon == pytest.approx(1, rel=0.03)  # errors are halves of users
    more = plan(6, **COMMON, rule="copeland", users=7, target=0.2)
    assert more.facts["more_users"] == users - 7
    assert f"{users - 7:,} more users" in more.paragraphs[0]


def test_what_is_said_of_too_few_users():
    few = plan(6, **COMMON, rule="schulze", users=30)
    assert few.facts["told"] is few.facts["kept"] is few.facts["error"] is None
    assert "all of epsilon is spent on scores" in few.paragraphs[0]
    assert few.facts["expected_cost"] > 0
    assert few.plot().axes
    private = plan(6, **COMMON, rule="schulze", users=10, adjacency="add-remove").facts
    assert private["error"] is not None  # where their number is private, nothing depends on it
    assert private["told"] is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rule": "stv"}, "rule"),
        ({"rule": "copeland", "rankings": False}, "rule"),
        ({"rule": "copeland", "method": "weights"}, "method"),
        ({"rule": "copeland", "trust": "local"}, "central"),
        ({"rule": "copeland", "adjacency": "flip"}, "replace or add-remove"),
        ({"rule": "copeland", "confidence": 0.5}, "at least 0.8"),
        ({"rule": "copeland", "target": 1.5}, "lead of a majority here, which is at most 1"),
        ({"rule": "minimax", "target": 2.5}, "at most 2"),
        ({"rule": "copeland", "optimum": 1}, "optimum"),
    ],
)
def test_refusals(asked, said):
    with pytest.raises(ValueError, match=said):
        plan(**{"items": 5, "users": 900, **COMMON, **asked})
