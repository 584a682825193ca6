"""Replays of small programs, and the losses of the mechanisms of the package against naive enumeration."""

from __future__ import annotations

import itertools
import random
import secrets
import sys
import types
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.exact import discrete_noise
from privrank_jax.exact import integer_noise as exact
from privrank_jax.links import logistic
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.objective import Tilt
from privrank_jax.mechanism.selection import Moves
from privrank_jax.pairwise import noisy_counts
from tests.promises import promise, user
from tests.reference import best_sets
from tests.replays import doors, replay
from tests.replays.doors import DOORS
from tests.totals import wins_of

LAPLACE = doors.DOORS[:1]


def noisy(totals, epsilon=1.0):
    found = noisy_counts.release(wins_of(totals), promise(epsilon), sensitivity=2)
    return {"totals": found.value.tolist(), "first": int(found.value.argmax())}


def test_the_same_output_at_the_loss_of_the_inputs():
    near = replay.audit(lambda: noisy([5, 3, 1]), lambda: noisy([4, 4, 1]), LAPLACE)
    assert (near.measured, near.violations(1.0)) == (pytest.approx(1.0), ())
    far = replay.audit(lambda: noisy([5, 3, 1]), lambda: noisy([4, 5, 1]), LAPLACE)
    assert (far.measured, far.violations(1.5)) == (pytest.approx(1.5), ())
    (words,) = far.violations(1.0)
    assert "epsilon = 1.5" in words


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        (lambda: noisy([5, 3, 1], 2.0), "'scale': 4.0}, then"),
        (lambda: noisy([5, 3]), "another shape"),
        (lambda: {"totals": [0]}, "1 calls of mechanisms, then 0"),
        (lambda: noisy([5, 3, 1]) | noisy([5, 3, 1]), "not made before"),
        (lambda: noisy([5, 3, 1]) | {"more": 1}, "more: None, then 1"),
    ],
)
def test_faults(second, fault):
    found = replay.audit(lambda: noisy([5, 3, 1]), second, LAPLACE)
    assert any(fault in one for one in found.faults), found.faults
    silent = replay.audit(lambda: {"sum": 1}, lambda: {"sum": 1}, LAPLACE)
    assert "no mechanism" in silent.violations(1.0)[0]


def test_all_calls_of_one_mechanism_are_one_input():
    """Gaussian noise: changes of 3 and 4 are one of 5."""
    gaussian = [door for door in doors.DOORS if door.function.endswith(":discrete_gaussian")]

    def run(totals):
        add_noise, _ = discrete_noise.discrete_gaussian(5.0, 1.0, 1e-6)
        return {"totals": [add_noise(np.array([one])).tolist() for one in totals]}

    found = replay.audit(lambda: run([3, 4]), lambda: run([0, 0]), gaussian)
    assert (found.measured, found.faults) == (pytest.approx(1.0), ())


def test_afterwards_all_is_as_before(monkeypatch):
    """Also in a module that was loaded while the mechanisms were watched."""
    before = exact.discrete_laplace, random._urandom
    late = types.ModuleType("privrank_jax.late")
    monkeypatch.setitem(sys.modules, late.__name__, late)

    def run():
        late.imported = exact.discrete_laplace
        assert late.imported is not before[0]
        return noisy([5, 3, 1])

    replay.audit(run, run, doors.DOORS)
    assert (exact.discrete_laplace, random._urandom) == before
    assert late.imported is before[0]


def test_coins_are_the_same_for_what_stands_before():
    def draw(size):
        return {
            "bytes": secrets.token_bytes(size),
            "more": secrets.token_hex(4),
            "bounded": [secrets.randbelow(3) < 3, secrets.randbits(5) < 32],
        }

    short, long, other, zero = (
        replay.record(lambda size=size: draw(size), LAPLACE, seed).seen
        for size, seed in ((8, 1), (16, 1), (16, 2), (16, None))
    )
    assert (long["bytes"][:8], long["more"]) == (short["bytes"], short["more"])
    assert len({one["bytes"] for one in (long, other, zero)}) == 3
    assert (zero["bytes"], len(zero["more"]), zero["bounded"]) == (bytes(16), 8, [True, True])


def test_rows_are_paired_by_content_and_then_by_place():
    """Any pairing is sound; this one compares the rows alone that have no equal one."""
    for first, second, rows in (
        ([[0, 1], [2, 3], [4, 5]], [[4, 5], [2, 3], [9, 9]], [2, 1, 0]),
        ([[1], [1], [2]], [[3], [1], [1]], [2, 1, 0]),
    ):
        assert replay._paired(np.array(first), np.array(second)).tolist() == rows


# --- losses at the doors, against naive enumeration


ORDERS = [np.array(one) for one in itertools.permutations(range(4))]


def loss_of(name):
    return next(door.loss for door in DOORS if door.function.endswith(f":{name}"))


def largest(first, second):
    """The loss of two laws over the same outcomes, each given as unnormalized log-probabilities."""
    laws = [np.array(one) - np.log(np.exp(one).sum()) for one in (first, second)]
    return np.abs(laws[0] - laws[1]).max()


def test_mallows():
    """Naively: P(s) ∝ e^{-γ·pairs that s turns}, over all orders."""
    loss, pairs = loss_of("synthetic_ranks"), list(itertools.combinations(range(4), 2))

    def law(ranks):
        turned = [sum((ranks[i] < ranks[j]) != (s[i] < s[j]) for i, j in pairs) for s in ORDERS]
        return -1.5 / 3 * np.array(turned)

    for first, second in itertools.product(ORDERS[:3], ORDERS):
        found = loss(first[None], second[None], {"epsilon": 1.5})
        assert found == pytest.approx(largest(law(first), law(second)), abs=1e-12)
    partial, facts = np.array([[0, 1, -1, -1]]), {"epsilon": 3.0}
    assert loss(partial, np.array([[1, 0, -1, -1]]), facts) == 3.0
    assert loss(partial, np.array([[-1, 1, 0, -1]]), facts) == np.inf


def test_exponential_mechanism():
    """Never below the naive loss, and equal to it where one user reverses the whole order."""
    users, rate = np.array([*ORDERS[:5], ORDERS[-1]]), Fraction(1, 24)

    def excess(ranks):
        ahead = np.array(ranks)[:, :, None] < np.array(ranks)[:, None, :]
        return 2 * ahead.sum(0)

    def law(costs):
        orders = (itertools.combinations(np.argsort(s), 2) for s in ORDERS)
        return -float(rate) * np.array([sum(costs[b][a] for a, b in order) for order in orders])

    found = []
    for ranks in ORDERS:
        other = excess([ranks, *users[1:]])
        found.append(loss_of("best_first")(excess(users), other, {"rate": rate}))
        assert largest(law(excess(users)), law(other)) <= found[-1] + 1e-12
    assert max(found) == pytest.approx(1.0)  # ε of this rate


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("together", [False, True])
def test_selections(k, together):
    """Never below the naive loss, and ε where one unit moves scores by all that it may."""
    moves = Moves(1, 1, together=together)
    change = pairwise.canonical_top_k.scale(promise(1.0), k, moves)
    facts = {"epsilon": 1.0, "change": change, "reach": 1 if together else 2, "k": k}
    steps = map(np.array, itertools.product((0, 1) if together else (-1, 0, 1), repeat=3))
    steps = [step for step in steps if max(step.clip(0).sum(), -step.clip(None, 0).sum()) <= 1]
    found = []
    for base, step in itertools.product(([0, 0, 0], [0, 0, 9], [0, 9, 9], [0, 4, 9]), steps):
        laws = [
            np.log(best_sets.law(one, k, change, facts["reach"], 1.0, "exponential")[1])
            for one in (base, base + step)
        ]
        found.append(loss_of("best_set")(2 * np.array(base), 2 * (base + step), facts))
        assert np.abs(laws[0] - laws[1]).max() <= found[-1] + 1e-12
    assert max(found) == pytest.approx(1.0)
    scale = pairwise.one_shot_top_k.scale(promise(1.0), k, moves)
    every = {"epsilon": 1.0, "change": scale, "k": k}
    lost = [loss_of("one_shot")(np.zeros(3), 2.0 * step, every) for step in steps]
    assert max(lost) == 1.0


def test_bits_totals_and_units():
    flips = loss_of("flipped_bits")
    bits = np.array([True, False, True]), np.array([True, True, False])
    assert flips(*bits, {"epsilon": np.array([1, 2, 4])}) == 6.0
    gaussian = loss_of("discrete_gaussian")
    assert gaussian(np.array([3, 4]), np.array([0, 0]), {"epsilon": 2.0, "sensitivity": 5.0}) == 2.0
    users = loss_of("leads")
    rows = np.array([[0, 1], [1, 0], [0, 1]])
    assert users(rows, rows[[1, 0, 2]], {"epsilon": 0.5}) == 0.0
    assert users(rows, 1 - rows, {"privacy": user(0.5)}) == 0.5


def test_noise_in_the_objective():
    """In halves, or in parts of weighted comparisons, by units of the promise or by 2/λ for each comparison."""
    scores = loss_of("perturbed_scores")
    one, other = np.array([[0, 4], [2, 0]]), np.array([[0, 0], [6, 0]])

    def lost(second, privacy, noise="laplace", scale=4, gamma=4.0, *, parts=1):
        facts = Facts(2, rules=(logistic, parts > 1))
        tilt = Tilt(privacy, noise, Fraction(scale), gamma)
        return scores(parts * one, parts * second, {"facts": facts, "tilt": tilt})

    flips, replaced = promise(1.0, "user", "flip", 2), promise(1.0)
    one_way, gone = promise(1.0, "user", "add-remove", 2), one * [[0, 1], [0, 0]]
    for noise in ("laplace", "gaussian"):
        assert lost(other, flips, noise) == 1.0
        assert lost(other, replaced, noise) == 2.0
        assert lost(gone, one_way, noise) == 0.5
    assert lost(other, flips, gamma=0.1) == 1.0
    assert lost(other + 2 * np.eye(2)[::-1], flips) == np.inf
    assert lost(other, replaced, scale=2) == 4.0
    assert lost(other, replaced, gamma=3.9) == np.inf
    assert lost(other, replaced, parts=1024) == 2.0
