"""What every selection of the k best keeps: its law by draws, ε and no more, use, refusals."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.exact import selection as exact_selection
from privrank_jax.mechanism.selection import BoundedScores, Moves, select_once
from privrank_jax.pairwise.published import published_one_shot_scale
from privrank_jax.pairwise.top_k import choose_top_k
from privrank_jax.privacy import Privacy
from tests import reference
from tests.promises import promise
from tests.quick import thorough
from tests.reference import best_sets

ALARM = 1e-6  # false-alarm rate of each comparison


def lists(twin):
    def law(scores, k, scale, lead):
        outcomes = list(itertools.permutations(range(len(scores)), k))
        return outcomes, np.array([twin(scores, order, scale) for order in outcomes])

    return law


def sets(scores, k, scale, lead):
    outcomes, utilities = best_sets.set_utilities(scores, k, lead)
    return outcomes, best_sets.outcome_law(utilities, scale, "exponential")


RECORDS = {
    "one-shot": (pairwise.one_shot_top_k, lists(reference.one_shot_probability)),
    "peeling": (pairwise.peeling_top_k, lists(reference.peeling_probability)),
    "flip": (pairwise.permute_and_flip_top_k, lists(reference.permute_and_flip_probability)),
    "canonical": (pairwise.canonical_top_k, sets),
}
each = pytest.mark.parametrize(("record", "law"), RECORDS.values(), ids=RECORDS)
every_record = pytest.mark.parametrize("record", [one for one, _ in RECORDS.values()], ids=RECORDS)


def lead_of(record, asked, k, moves):
    """θ: the utility of the best set may move as fast as any other two move apart."""
    if record is not pairwise.canonical_top_k:
        return 0.0
    change = float(record.scale(asked, k, moves)) * asked.epsilon
    return change / (moves.most if moves.together else 2 * moves.most) - 1


# --- the law ---------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize(
    ("k", "together"), [(2, False), *(thorough(*one) for one in ((1, True), (1, False), (2, True)))]
)
def test_draws_have_the_law_of_every_outcome_one_by_one(record, law, k, together, key):
    """Of four items, as two that were left out may fill a set; also beside one that only pads. Half of the noise is
    rejected."""
    scores, asked = np.array([30.0, 10.0, 25.0, 20.0]), promise(0.8)
    moves = Moves(10.0, 10.0, together=together)
    mask = np.array([True, False, True, True, True])
    padded = np.array([30.0, 99.0, 10.0, 25.0, 20.0])
    given = BoundedScores(padded, moves, mask)
    run = jax.jit(jax.vmap(lambda one: record(one, given, asked, k).value))
    simulated = np.array(run(jax.random.split(key, 20_000)))
    simulated -= simulated > 0  # numbers of the real items
    scale = float(record.scale(asked, k, moves))
    lead = lead_of(record, asked, k, moves)
    assert p_value(simulated, *law(scores, k, scale, lead)) > ALARM
    assert p_value(simulated, *law(scores, k, scale / 2, lead)) < ALARM


@each
@pytest.mark.parametrize("k", [thorough(1), 2])
def test_releases_have_the_law_of_every_outcome_one_by_one(record, law, k, monkeypatch):
    built = functools.cache(exact_selection.discrete_laplace)
    monkeypatch.setattr(exact_selection, "discrete_laplace", built)
    scores, moves, asked = np.array([40.0, 0.5, 30.0, 25.0]), Moves(10.0, 10.0), promise(2.0)
    given = BoundedScores(scores, moves)
    found = [record.release(given, asked, k) for _ in range(800)]
    scale, lead = float(record.scale(asked, k, moves)), lead_of(record, asked, k, moves)
    values = np.array([one.value for one in found])
    assert p_value(values, *law(scores, k, scale, lead)) > ALARM
    assert p_value(values, *law(scores, k, scale / 3, lead)) < ALARM
    assert found[0].diagnostics.noise_scale == pytest.approx(scale)
    assert (found[0].guarantee.numerics, found[0].guarantee.delta) == ("exact", 0.0)
    assert values.dtype == np.int64


def p_value(found, outcomes, chances):
    seen = np.array([np.sum(np.all(found == one, axis=1)) for one in outcomes])
    assert seen.sum() == len(found)
    return stats.chisquare(seen, len(found) * chances / chances.sum()).pvalue


# --- privacy ---------------------------------------------------------------------------------------


def moved_totals(adjacency, limit):
    """All that one user of at most so many comparisons of three items moves of win totals."""
    one = [(i, j, won) for i, j in ((0, 1), (0, 2), (1, 2)) for won in (0.0, 0.5, 1.0)]
    sizes = range(limit + 1)
    users = [user for n in sizes for user in itertools.combinations_with_replacement(one, n)]
    totals = {}
    for user in users:
        total = np.zeros(3)
        for i, j, won in user:
            total += won * np.eye(3)[i] + (1 - won) * np.eye(3)[j]
        asked = tuple(sorted((i, j) for i, j, _ in user))
        totals.setdefault(asked if adjacency == "flip" else 0, []).append(total)
    if adjacency == "add-remove":
        return [sign * one for one in totals[0] for sign in (1, -1)]
    return [a - b for group in totals.values() for a in group for b in group]


def moved_scores(size, moves):
    """All whole numbers within the bounds."""
    most, low = int(moves.most), 0 if moves.together else -int(moves.most)
    steps = np.array(list(itertools.product(range(low, most + 1), repeat=size)), float)
    one_way = np.maximum(steps.clip(0).sum(1), -steps.clip(None, 0).sum(1))
    within = (one_way <= moves.one_way) & (np.abs(steps).sum(1) <= moves.total)
    return list(steps[within]) + list(-steps[within])


def worst_loss(law, bases, moved, k, scale, lead):
    """Over all moves, of which one stands for all that do the same to equal items."""
    worst = 0.0, None, None
    for base in map(np.sort, bases):
        before = np.log(law(base, k, scale, lead)[1])
        alike = {tuple(sorted(zip(base, np.round(move, 6)))) for move in moved}
        for move in (np.array(one)[:, 1] for one in alike):
            after = np.log(law(base + move, k, scale, lead)[1])
            worst = max(worst, (np.abs(before - after).max(), base, move), key=lambda one: one[0])
    return worst


def bases_of(record, size, scale):
    """Some items ahead of the others, where the largest losses are approached, by one-shot noise far from ties."""
    gap = 30.0 * scale
    found = [
        np.where(np.arange(size) < ahead, one, gap - one)
        for ahead in range(1, size)
        for one in (0, gap)
    ]
    found += [gap / 3 * np.arange(size), 1.0 * np.arange(size), np.zeros(size)]
    if record is pairwise.one_shot_top_k and size == 3:
        found += [400 * scale * np.array([0.0, 0.0, 1.0]), 400 * scale * np.array([0.0, 0.5, 1.0])]
    return found


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
@pytest.mark.parametrize(("unit", "limit"), [("comparison", 1), ("user", 2)])
def test_one_unit_of_comparisons_moves_totals_as_its_scale_says(adjacency, unit, limit):
    """Over all that it can answer: within Moves(L, L), and as far in one move, for which ε is lost below."""
    moved = np.array(moved_totals(adjacency, limit))
    rises, falls = moved.clip(0).sum(1), -moved.clip(None, 0).sum(1)
    together = adjacency == "add-remove"
    assert max(rises.max(), np.abs(moved).max()) == limit
    assert np.minimum(rises, falls).max() == (0 if together else limit)
    moves = Moves(limit, limit, together=together)
    for record, _ in RECORDS.values():
        for k in (1, 2):
            asked = promise(0.7, unit, adjacency, limit)
            wanted = float(record.scale(asked, k, moves))
            assert float(record.scale(asked, k)) == pytest.approx(wanted)


MOVES = [
    Moves(1),
    thorough(Moves(1, 1)),
    Moves(2, 3),
    thorough(Moves(2, 2)),
    Moves(1, together=True),
    thorough(Moves(2, 2, together=True)),
    Moves(1, 2, 3),
]


@each
@pytest.mark.parametrize("moves", MOVES, ids=str)
def test_bounded_scores_lose_epsilon_and_no_more(record, law, moves):
    epsilon, asked = 0.7, promise(0.7)
    for k in (1, 2):
        # One-shot noise loses most where k items are behind k + 1 others, and utilities move apart by four scores.
        several = record in (pairwise.one_shot_top_k, pairwise.canonical_top_k)
        size = 5 if several and math.inf == moves.one_way else 3
        scale = float(record.scale(asked, k, moves))
        lead = lead_of(record, asked, k, moves)
        moved = moved_scores(size, moves)
        if size > 3:
            ends = {-1, 1} if not moves.together else {0, 1}
            moved = [one for one in moved if set(one) <= ends]
        bases = bases_of(record, size, scale)
        loss, base, move = worst_loss(law, bases, moved, k, scale, lead)
        assert loss <= epsilon * (1 + 1e-8), k
        less = worst_loss(law, [base], [move], k, 0.95 * scale, lead)[0]
        between = moves.most < moves.one_way < math.inf  # no such list is known to lose ε
        assert less > epsilon or (record is pairwise.one_shot_top_k and k == 2 and between), k


@pytest.mark.parametrize(
    ("moves", "k", "scale"),
    [
        (Moves(5, every=24), 1, 10),  # 2ks/ε
        (Moves(5, every=24), 3, 24),  # never above the noise of all scores
        (Moves(5, 12, 15, together=True), 2, 10),
        (Moves(5, 12, 15, together=True), 4, 15),
        (Moves(5, 12), 3, 24),
    ],
)
def test_one_shot_noise_is_never_above_that_of_all_scores(moves, k, scale):
    given = BoundedScores(np.array([900.0, 0.0, 700.0, 300.5]), moves)
    found = pairwise.one_shot_top_k.release(given, promise(1.0), k)
    assert found.diagnostics.noise_scale == pytest.approx(scale)
    assert pairwise.one_shot_top_k.scale(promise(1.0), k, moves) == scale


# --- with δ ----------------------------------------------------------------------------------------


def test_the_published_scales_of_one_shot_noise():
    asked = promise(0.2, delta=0.05)
    assert float(published_one_shot_scale(asked, 400, 1000, 2.0)) == pytest.approx(8000.0)
    published = published_one_shot_scale(asked, 400, 1000, 2.0, approximate=True)
    assert float(published) == pytest.approx(80 * math.sqrt(400 * math.log(20_000)), rel=1e-12)


def test_the_set_by_one_shot_noise_keeps_its_delta():
    epsilon, delta, k = 0.2, 0.05, 2
    asked = promise(epsilon, delta=delta)
    scale = float(published_one_shot_scale(asked, k, 4, 1.0, approximate=True))
    law = RECORDS["one-shot"][1]

    def chances(scores):
        by_set = {}
        for order, chance in zip(*law(scores, k, scale, 0), strict=True):
            by_set[frozenset(order)] = by_set.get(frozenset(order), 0.0) + chance
        return np.array([by_set[chosen] for chosen in sorted(by_set, key=sorted)])

    for scores in (np.zeros(4), np.array([0.0, 0.0, 1.0, 9.0]) * scale):
        base = chances(scores)
        for signs in itertools.product((-1.0, 1.0), repeat=4):
            excess = base - math.exp(epsilon) * chances(scores + np.array(signs))
            assert np.maximum(excess, 0).sum() <= delta


# --- use -------------------------------------------------------------------------------------------

WINS = WinCounts.from_matrix([[0, 9, 9.5, 4], [1, 0, 7, 3], [0.5, 3, 0, 2], [1, 2, 2, 0]])


@every_record
def test_without_noise_the_best_come_first_and_ties_are_broken_at_random(record, key):
    @jax.jit
    def run(scores, epsilon):
        given, keys = BoundedScores(scores, Moves(1.0)), jax.random.split(key, 300)
        return jax.vmap(lambda one: record(one, given, promise(epsilon), 2).value)(keys)

    found = np.asarray(run(np.float32([1, 5, 3, 3, 3]), np.inf))
    assert np.all(np.any(found == 1, axis=1))
    if record is not pairwise.canonical_top_k:
        assert set(found[:, 0]) == {1}
    clear = np.asarray(run(np.float32([3, 1, 2, 1, 1]), 1e6))
    assert np.all(np.sort(clear, axis=1) == [0, 2])
    others = np.bincount(found.sum(axis=1) - 1, minlength=5)[2:]
    assert stats.chisquare(others).pvalue > ALARM


@every_record
def test_padded_items_are_never_selected_and_missing_ones_are_minus_one(record, key):
    @jax.jit
    def run(wins, mask):
        given = WinCounts.from_matrix(wins, mask=mask)
        keys = jax.random.split(key, 50)
        return jax.vmap(lambda one: record(one, given, promise(0.1), 3).value)(keys)

    drawn = run(np.ones((4, 4)) - np.eye(4), np.array([False, True, False, True]))
    found = {tuple(row) for row in np.asarray(drawn)}
    in_order = record is not pairwise.canonical_top_k
    assert found == ({(1, 3, -1), (3, 1, -1)} if in_order else {(1, 3, -1)})
    assert np.all(np.asarray(run(np.zeros((4, 4)), np.zeros(4, bool))) == -1)


def test_fewer_of_the_places_hold_the_best_of_them(key):
    scores, mask = jnp.array([3.0, 9.0, 1.0, 5.0, 7.0, 2.0]), np.arange(6) != 1

    @functools.partial(jax.jit, static_argnums=0)
    def chosen(k, fewer):
        return select_once(key, scores, mask, 2.0, k, "laplace", fewer)

    for fewer in (1, 4):
        alone = chosen(fewer, None)
        np.testing.assert_array_equal(chosen(6, fewer), [*alone, *[-1] * (6 - fewer)])


@every_record
def test_releases_take_the_noise_of_their_promise(record):
    for adjacency in ("replace", "add-remove"):
        asked = promise(0.5, "user", adjacency, 3)
        for k in (1, 2):
            found = record.release(WINS, asked, k)
            assert found.diagnostics.noise_scale == pytest.approx(float(record.scale(asked, k)))
            assert found.guarantee.promise == asked
    totals = BoundedScores(np.array([2.0**40, 0, 2.0**39, 5]), Moves(1.0))
    if record is not pairwise.one_shot_top_k:
        assert set(record.release(totals, promise(1e300), 2).value.tolist()) == {0, 2}
        assert len(set(record.release(totals, promise(1e-300), 3).value.tolist())) == 3
    assert record.release(totals, promise(300.0), 2).value.tolist() == [0, 2]


# --- refusals --------------------------------------------------------------------------------------

SCORES = BoundedScores([1.0, 2.0, 0.0, 5.0], Moves(1.0))
MASK = np.array([True, True, False, True])
GOOD = promise(1.0)
# What all calls refuse: data, promise, k, error, word.
REFUSED = [
    *((WINS, GOOD, k, ValueError, "k must") for k in (0, 5, 1.5, True)),
    (WINS, Privacy(1.0, unit="user", adjacency="replace"), 2, ValueError, "contributions"),
    (WINS, Privacy(1.0, unit="rank", adjacency="replace"), 2, ValueError, "comparisons"),
    (WINS, 1.0, 2, TypeError, "Privacy"),
    (np.zeros(4), GOOD, 2, TypeError, "BoundedScores"),
    *((BoundedScores(np.zeros(4), Moves(most)), GOOD, 2, ValueError, "most") for most in (0.0, math.inf)),
    (BoundedScores(np.zeros(4), Moves(1.0, -1.0)), GOOD, 2, ValueError, "one_way"),
    (BoundedScores(np.zeros(4), Moves(1.0, every=0.0)), GOOD, 2, ValueError, "every"),
]  # fmt: skip
# What exact releases refuse: data, promise, word.
NOT_RELEASED = [
    *((WINS, promise(epsilon), "epsilon") for epsilon in (math.inf, np.ones(2))),
    *((dataclasses.replace(one, mask=MASK), GOOD, "no padding") for one in (SCORES, WINS)),
    (WinCounts.from_matrix(np.float32([[0, 2**23 + 1], [0, 0]])), GOOD, "float32"),
    *(
        (BoundedScores(scores, Moves(1.0)), GOOD, word)
        for scores, word in (
            ([0.25, 1.0], "multiples"),
            ([math.nan, 1.0], "multiples"),
            ([2.0**60, 1.0], "float64"),
            ([2**60, 1], "int64"),
            (np.float32([2.0**23 + 1, 1.0]), "float32"),
            ([math.inf, 1.0], "none beyond"),
            ([], "shape"),
            ([[1.0, 2.0]], "shape"),
        )
    ),
]


@every_record
def test_what_does_not_fit_is_refused(record, key):
    for data, asked, k, error, word in REFUSED:
        for call in (functools.partial(record, key), record.release):
            with pytest.raises(error, match=word):
                call(data, asked, k)
    for data, asked, word in NOT_RELEASED:
        with pytest.raises(ValueError, match=word):
            record.release(data, asked, 1)
    with pytest.raises(ValueError, match="vmap"):
        record(key, BoundedScores(np.zeros((4, 4)), Moves(1.0)), GOOD, 2)


# --- which one -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "adjacency", "limit", "k", "most", "name"),
    [
        ("comparison", "replace", None, 1, None, "canonical"),
        ("comparison", "flip", None, 2, None, "one-shot"),
        ("user", "replace", 10, 10, 1, "canonical"),
        ("user", "replace", 9, 10, 1, "one-shot"),
        ("user", "replace", 10, 5, 2.0, "canonical"),
        ("user", "add-remove", 10, 6, 2.0, "one-shot"),
        ("user", "replace", 10, 2, None, "one-shot"),
    ],
)
def test_the_choice_depends_on_how_many_totals_a_unit_can_change(
    unit, adjacency, limit, k, most, name
):
    moves = None if most is None else Moves(most, limit)
    assert choose_top_k(100, k, promise(1.0, unit, adjacency, limit), moves) == name


def test_too_many_outcomes_are_left_to_one_shot_noise():
    asked, items, moves = promise(1.0), exact_selection.MOST_CLASSES // 100, Moves(1, 100)
    assert choose_top_k(items, 100, asked, moves) == "canonical"
    assert choose_top_k(items + 1, 100, asked, moves) == "one-shot"
    for k, told, word in ((0, moves, "k must"), (6, moves, "k must"), (2, Moves(0.0), "positive")):
        with pytest.raises(ValueError, match=word):
            choose_top_k(5, k, asked, told)
    many = BoundedScores(np.zeros(3000), Moves(1.0))
    with pytest.raises(ValueError, match="one_shot_top_k"):
        pairwise.canonical_top_k.release(many, promise(1.0), 1000)
