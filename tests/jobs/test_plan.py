"""Plans: simulated errors against crowds drawn user by user, and answers against one another."""

from __future__ import annotations

import functools
import html
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation, pairwise, plan
from privrank_jax.aggregation.bounds import SUMMED
from privrank_jax.aggregation.kemeny_rule import exact_kemeny, local_search
from privrank_jax.aggregation.scores import PointTotals, dp_scores
from privrank_jax.aggregation.weights import kemeny_score
from privrank_jax.comparisons import WinCounts
from privrank_jax.jobs import plan_worlds
from privrank_jax.privacy import Privacy, randomized_response, shuffled_local_epsilon
from privrank_jax.rankings import ranks_from_scores
from tests import of_rankings
from tests.promises import user
from tests.quick import quick_jit, thorough_but

ITEMS, DRAWS = 5, 1000
TRUE = np.linspace(1, -1, ITEMS)
FIRST, SECOND = np.triu_indices(ITEMS, 1)
CENTRAL = {"trust": "central", "max_per_user": 4}
SHUFFLED = {"trust": "shuffled", "delta": 1e-6}
REPLACED = user(1.0)


@pytest.fixture(autouse=True)
def compiled_soon(monkeypatch):
    """Programs run briefly here, so that they are not optimized."""
    compiled = functools.partial(plan_worlds.compiled, optimized=False)
    monkeypatch.setattr(plan_worlds, "compiled", lambda lowered, **_: compiled(lowered))


# --- the same by users one by one, in words of the library ------------------------------------------


def compared(key, users, answers):
    """Win counts of users who compare random pairs."""
    of_pair, of_answer = jax.random.split(key)
    pair = jax.random.randint(of_pair, (users * answers,), 0, len(FIRST))
    low, high = jnp.asarray(FIRST)[pair], jnp.asarray(SECOND)[pair]
    won = jax.random.bernoulli(
        of_answer, jax.nn.sigmoid(jnp.asarray(TRUE)[low] - jnp.asarray(TRUE)[high])
    )
    wins = (
        jnp.zeros((ITEMS, ITEMS)).at[jnp.where(won, low, high), jnp.where(won, high, low)].add(1.0)
    )
    return WinCounts(wins)


def ranked(key, users):
    """Rankings of the Plackett-Luce model."""
    drawn = jax.random.gumbel(key, (users, ITEMS)) + jnp.asarray(TRUE)
    return jnp.argsort(jnp.argsort(-drawn, axis=1), axis=1)


def off(scores):
    return {"largest": jnp.max(jnp.abs(scores - TRUE))}


def in_a_survey(key, users, local=1.0, share=1.0):
    keys = jax.random.split(key, 3)
    observed = jax.random.bernoulli(keys[0], share, (users, len(FIRST)))
    said = jax.random.bernoulli(keys[1], jax.nn.sigmoid(TRUE[FIRST] - TRUE[SECOND]), observed.shape)
    reports = randomized_response(keys[2], said, local)
    return off(pairwise.debiased_rr(reports, observed, jnp.full(users, local)).value)


def by_a_curator(key, users, adjacency, **promise):
    crowd, noise = jax.random.split(key)
    privacy = Privacy(unit="user", adjacency=adjacency, contributions=4, **promise)
    named = "gaussian" if "delta" in promise else "laplace"
    return off(pairwise.perturbed_mle(noise, compared(crowd, users, 4), privacy, noise=named).value)


def of_weights(weights):
    return local_search(jnp.clip(weights, 0, 1))


def of_rankings_by(function, finish, key, users, **options):
    """The cost is that above the best of all orders of these users, in pairs per user."""
    crowd, noise = jax.random.split(key)
    votes = aggregation.PairWeights.from_ranks(ranked(crowd, users))
    ranks = finish(function(noise, votes, REPLACED, **options).value)
    return {
        "pairs": jnp.mean((ranks[FIRST] > ranks[SECOND]).astype(float)),
        "first": jnp.any(ranks[:3] != np.arange(3)).astype(float),
        "cost": kemeny_score(ranks, votes) - kemeny_score(exact_kemeny(votes), votes),
    }


def of_points(key, users):
    crowd, noise = jax.random.split(key)
    points = jax.random.bernoulli(crowd, jax.nn.sigmoid(TRUE), (users, 2, ITEMS)).sum(1)
    data = PointTotals.from_points(points, most=2)
    apart = jnp.max(jnp.abs(dp_scores(noise, data, REPLACED).value - data.totals)) / users
    return {"largest": apart}


def among(users):
    return shuffled_local_epsilon(users, 1.0, 1e-6)


def ranked_by(function, finish=lambda ranks: ranks, **options):
    return functools.partial(of_rankings_by, function, finish, **options)


FRESH = {
    "a part of the pairs": ({"users": 150, "share_observed": 0.3, "epsilon": 2.0},
                            functools.partial(in_a_survey, local=2.0, share=0.3)),
    "shuffled answers": ({"users": 300, **SHUFFLED},
                         functools.partial(in_a_survey, local=among(300), share=0.1)),
    "scores, flip": ({"users": 100, "adjacency": "flip", **CENTRAL},
                     functools.partial(by_a_curator, adjacency="flip", epsilon=1.0)),
    "scores, add-remove": ({"users": 100, "adjacency": "add-remove", "delta": 1e-5, **CENTRAL},
                           functools.partial(by_a_curator, adjacency="add-remove", epsilon=0.9, delta=1e-5)),
    "borda": ({"users": 60, "method": "borda", "rankings": True}, ranked_by(aggregation.dp_borda, ranks_from_scores)),
    "weights": ({"users": 60, "rankings": True}, ranked_by(aggregation.private_weights, of_weights)),
    "noise-all": (
        {"users": 60, "method": "noise-all", "rankings": True}, ranked_by(aggregation.noise_all, of_weights),
    ),
    "kwiksort": (
        {"users": 90, "method": "kwiksort", "rankings": True}, ranked_by(aggregation.dp_kwiksort, split=0.9),
    ),
    "exponential": (
        {"users": 60, "method": "exponential", "rankings": True}, ranked_by(aggregation.exponential_kemeny),
    ),
    "points": ({"users": 50, "points": "0-2"}, of_points),
}  # fmt: skip


QUICK = ("points",)


@pytest.mark.parametrize("name", thorough_but(FRESH, *QUICK))
def test_it_errs_as_crowds_that_are_drawn_user_by_user(name, key):
    options, once = FRESH[name]
    found = plan(ITEMS, **{"epsilon": 1.0, "draws": 3000, **options}).facts
    with jax.enable_x64(True):
        draw = quick_jit(lambda keys: jax.vmap(lambda one: once(one, options["users"]))(keys))
        drawn = jax.tree.map(np.asarray, draw(jax.random.split(key, DRAWS)))
    assert found["error_of_target"] in drawn
    for name, errors in drawn.items():
        told = found["error"][name]
        slack = 4 * math.hypot(told["standard_error"], np.std(errors) / DRAWS**0.5)
        assert abs(told["mean"] - np.mean(errors)) < slack, name


# --- answers ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"target": 0.25, "confidence": 0.9, "spread": 0.5, "link": "normal"},
        {"target": 0.02, "error": "pairs", **CENTRAL},
        {"target": 0.3, "error": "place", "rankings": True, "rule": "schulze"},
        {"target": 0.1, "points": "0-5", "limit": 2, "adjacency": "add-remove"},
    ],
)
def test_two_give_the_third_and_another_seed_the_same_within_its_standard_error(options):
    given = {"items": ITEMS, "epsilon": 0.8, **options}
    first, second = (plan(**given, seed=seed).facts for seed in (0, 1))
    users, spread = first["users_needed"], first["users_standard_error"]
    assert first["users"] == users == first["more_users"] > first["users_needed_without_privacy"]
    assert 0 < spread < users / 3
    assert (
        abs(users - second["users_needed"])
        < 4 * math.hypot(spread, second["users_standard_error"]) + 1
    )
    back = plan(**{**given, "epsilon": None}, users=users).facts
    assert back["epsilon"] == pytest.approx(0.8, rel=0.1)
    fewer = plan(**given, users=int(0.8 * users)).facts
    part = "mean" if options.get("confidence") is None and "points" not in options else "upper"
    errors = (found["error"][first["error_of_target"]][part] for found in (fewer, first))
    assert next(errors) > options["target"] > 0.95 * next(errors)
    assert fewer["more_users"] == users - int(0.8 * users)


@pytest.mark.slow
def test_the_law_of_answers_beside_a_survey():
    found = plan(ITEMS, epsilon=1, users=500, share_observed=0.5, draws=6000).facts
    assert found["effective_users"] == pytest.approx(500 * math.tanh(0.5) ** 2)
    assert found["rate"] == pytest.approx(1 / math.sqrt(5 * 0.5 * found["effective_users"]))
    assert (found["answers_per_user"], found["epsilon_per_user"]) == (5, 5)


def test_the_draws_are_those_that_were_made_and_another_rule_has_no_proof(monkeypatch):
    monkeypatch.setattr(plan_worlds, "_PAIRS", 40 * len(FIRST))
    told = {"rankings": True, "users": 100, "epsilon": 1, "draws": 6000, "items": ITEMS}
    found = plan(**told, rule="copeland", method="weights")
    assert (found.facts["methods"], found.facts["draws"]) == ([], 40)
    assert "simulated 40 times" in str(found)
    (row,) = found.rows
    assert (row["method"], "methods" in row) == ("weights", False)


@pytest.mark.slow
def test_what_is_proven_stands_beside_a_consensus_and_a_plan_is_printed():
    found = plan(ITEMS, epsilon=0.5, users=100, draws=6000, rankings=True, delta=0.01)
    rows = aggregation.proven_errors(ITEMS, 100, user(0.5, 0.01))
    costs = {(row.method, row.noise): row.cost() for row in rows}
    methods = found.facts["methods"]
    assert costs == {(one["method"], one["noise"]): one["proven_cost"] for one in methods}
    assert str(found).startswith(found.opening)
    assert html.escape(found.title) in found._repr_html_()
    assert len(found.to_frame()) == len(found.rows)
    assert "100" in found.warnings[0]  # δ beside the number of users


@pytest.mark.slow
def test_users_who_come_or_go():
    added = {name for name, one in of_rankings.CONSENSUS.items() if "add-remove" in one.adjacencies}
    assert set(SUMMED) == added
    found = plan(5, rankings=True, users=200, epsilon=1, adjacency="add-remove", draws=6000)
    assert {one["method"] for one in found.facts["methods"]} == added
    assert (found.facts["method"], "added or removed" in str(found)) == ("borda", True)
