"""What functions on rankings refuse, by the argument that is at fault."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation as on
from privrank_jax.aggregation import PairWeights, PointTotals, PositionHistograms
from privrank_jax.aggregation.auto import choose_report
from privrank_jax.aggregation.bounds import bound
from privrank_jax.aggregation.dp_sorting import hay_kwiksort
from privrank_jax.aggregation.footrule import assignment, footrule_costs
from privrank_jax.aggregation.kemeny_rule import exact_kemeny
from privrank_jax.aggregation.lower_bounds import approximate_lower_bound
from privrank_jax.aggregation.majority_rules import RULES
from privrank_jax.aggregation.query_budgets import comparison_distribution, refusal_bound
from privrank_jax.aggregation.query_reduction import local_by_queries, private_by_queries
from privrank_jax.aggregation.split_weights import default_focus
from privrank_jax.aggregation.subset_designs import designs
from privrank_jax.privacy import Privacy
from tests.promises import user

KEY, ONE, LOOSE = jax.random.key(0), user(1.0), user(1.0, 1e-6)
NAN = math.nan
RANKS = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 0, 1], [2, 1, 0]])
CROWD = np.tile(RANKS, (8, 1))
W = PairWeights.from_ranks(RANKS)
MASKED = PairWeights(W.matrix, 5, jnp.array([True, True, False]))
HISTOGRAMS = PositionHistograms.from_ranks([[0, 1]])
MIXED: Any = [[0, 1], [0]]
LAST = {"max_queries": 2}

PRIVATE = {
    "dp_borda": on.dp_borda,
    "noise_all": on.noise_all,
    "private_weights": on.private_weights,
    "dp_kwiksort": on.dp_kwiksort,
    "hay_kwiksort": hay_kwiksort,
    "exponential_kemeny": on.exponential_kemeny,
}
SOLVERS = {
    "kemeny": on.kemeny,
    "exact_kemeny": exact_kemeny,
    "local_search": on.local_search,
    "copeland": on.copeland,
    "kwiksort": lambda w: on.kwiksort(KEY, w),
    **RULES,
}


def by_wins(ask, items):
    wins = [sum(ask(i, j) for j in range(items) if j != i) for i in range(items)]
    return np.argsort(np.argsort(wins)[::-1])


def histograms(counts, users=1):
    return PositionHistograms(np.array(counts), users)


def central(algorithm=by_wins, weights=W, **told):
    return private_by_queries(KEY, weights, ONE, algorithm, **LAST | told)


def local(ranks=RANKS, **told):
    return local_by_queries(KEY, ranks, ONE, by_wins, **LAST | told)


def sort_locally(ranks=RANKS, **told):
    return on.ldp_kwiksort(KEY, ranks, ONE, **told)


def sort(**told):
    return on.dp_kwiksort(KEY, W, ONE, **told)


def split(**told):
    return on.private_weights(KEY, W, ONE, **told)


def split_exactly(privacy=ONE, **told):
    return on.private_weights.release(W, privacy, **told)


REFUSED = [
    # the choice of a method
    (lambda: on.choose_method(1, 10, ONE), "num_items"),
    (lambda: on.choose_method(3, 0, ONE), "num_users"),
    (lambda: on.choose_method(3, 10, ONE, noise="gaussian"), "delta"),
    (lambda: on.choose_method(3, 1000, ONE, trust="shuffled"), "delta"),
    (lambda: choose_report(1, 10, ONE), "num_items"),
    (lambda: choose_report(3, 0, ONE), "num_users"),
    # bounds
    (lambda: bound("borda", 5, 0, ONE), "num_users"),
    (lambda: bound("borda", 5, 9, ONE, noise="gaussian"), "delta"),
    (lambda: bound("noise-all", 5, 10, ONE, xi=-1), "xi"),
    (lambda: on.proven_errors(1, 10, ONE), "at least 2"),
    (lambda: on.proven_errors(5, 10, ONE, trust="shuffled"), "delta"),
    (lambda: on.proven_errors(4, 100, ONE)[0].cost(-1.0), "optimum"),
    (lambda: approximate_lower_bound(100, 1.0, ratio=0.5), "ratio"),
    (lambda: approximate_lower_bound(100, 2.0), "at most 1"),
    # solvers
    (lambda: exact_kemeny(np.zeros((21, 21))), r"aggregation\.kemeny"),
    (lambda: on.kemeny(np.zeros((0, 0))), "no items"),
    (lambda: on.kemeny([[0, -1.0], [1, 0]]), "at least 0"),
    (lambda: on.kemeny(W, -0.1), "xi"),
    (lambda: on.kemeny(W, time_limit=-1.0), "time_limit"),
    (lambda: on.kemeny(MASKED), "padded"),
    (lambda: jax.jit(lambda w: on.kemeny(w).cost)(np.zeros((3, 3))), "host"),
    (lambda: on.local_search(W, [0, 1]), "ranks"),
    (lambda: on.local_search(W, mask=[True]), "mask"),
    (lambda: on.kwiksort(KEY, W, mask=[True]), "mask"),
    (lambda: on.kemeny_score([0, 1], W), "must fit"),
    (lambda: assignment(np.zeros((2, 3))), "square"),
    (lambda: assignment(np.zeros((2, 2, 2))), "vmap"),
    (lambda: assignment(np.array([[0.0, NAN], [0.0, 0.0]])), "finite"),
    # rankings and ballots
    (lambda: PairWeights.from_ranks([0, 1, 2]), "users, items"),
    (lambda: PairWeights.from_ranks(np.zeros((0, 3), int)), "one of each"),
    (lambda: PairWeights.from_ranks(MIXED), "real numbers"),
    (lambda: PairWeights.from_ranks(RANKS, missing="first"), "missing"),
    (lambda: PairWeights.from_ranks(np.array([[2**31 - 1, 0]], np.int32)), "below"),
    (lambda: PairWeights.from_ranks(np.array([[2**32, 1]])), "below"),
    (lambda: PairWeights.from_counts(W.twice, 4), "4 users"),
    (lambda: PairWeights(W.matrix, 3).twice, "3 users"),
    (lambda: PositionHistograms.from_ranks([0, 1, 2]), "shape"),
    (lambda: PositionHistograms.from_ranks([[0, 2**31 - 1]]), "renumber"),
    (lambda: PositionHistograms.from_ranks(RANKS, users=np.array([True])), "users"),
    (lambda: PositionHistograms.from_ranks(RANKS, users=np.zeros(5, bool)), "num_users"),
    *(
        (lambda counts=counts, users=users, of=of: of(histograms(counts, users)), word)
        for of in (footrule_costs, on.footrule_optimal)
        for counts, users, word in (
            ([[4, 0], [0, 4]], 2, "histograms"),
            ([[5, -1], [0, 4]], 1, "histograms"),
            ([[4.0, 0.0], [0.0, 4.0]], 1, "integers"),
            ([[4, 0]], 1, "square"),
            ([[4, 0], [0, 4]], 0, "num_users"),
        )
    ),
    (lambda: jax.jit(lambda one: on.footrule_optimal(one).footrule)(HISTOGRAMS), "traced"),
    (lambda: on.footrule_optimal(histograms([[2**51, 0], [0, 2**51]], 2**49)), "exact sums"),
    (lambda: PointTotals.from_points(np.zeros(3, int)), "users, items"),
    (lambda: PointTotals.from_points(np.full((2, 2), 0.5)), "integers"),
    (lambda: PointTotals.from_points(np.zeros((2, 2), int), most=0), "most"),
    (lambda: PointTotals.from_points(np.zeros((2, 2), int), limit=0), "limit"),
    # mechanisms of a curator
    (lambda: sort(noise="gaussian"), "delta"),
    (lambda: sort(split=1.0), "split"),
    (lambda: sort(max_queries=0), "max_queries"),
    (lambda: sort(max_queries=2.5), "max_queries"),
    (lambda: hay_kwiksort(KEY, W, ONE, max_queries=0), "max_queries"),
    (
        lambda: on.exponential_kemeny(KEY, PairWeights(np.triu(np.ones((21, 21)), 1), 5), ONE),
        "20 items",
    ),
    *(
        (lambda call=call, told=told: call(**told), next(iter(told)))
        for call in (split, split_exactly)
        for told in ({"noise": "laplace"}, {"noise": "gaussian"}, {"focus": 1.5}, {"shrink": "all"})
    ),
    (lambda: split_exactly(focus=-0.1), "focus"),
    (lambda: split_exactly(user(math.inf)), "epsilon"),
    (lambda: default_focus(1, 10, ONE), "num_items"),
    (lambda: central(lambda ask, items: [0, 0, 1]), "ranks"),
    (lambda: central(lambda ask, items: [0, 1]), "shape"),
    (lambda: central(lambda ask, items: ask(1, 1)), "different items"),
    (lambda: central(weights=MASKED), "masked"),
    # reports
    (lambda: sort_locally(split=0.0), "split"),
    (lambda: sort_locally(num_groups=0), "num_groups"),
    (lambda: sort_locally(num_groups=2.5), "num_groups"),
    (lambda: sort_locally(num_groups=6), "as many"),
    (lambda: sort_locally(RANKS[:2]), "as many"),
    (lambda: sort_locally(RANKS + 0.5), "integers"),
    (lambda: on.ldp_kwiksort.release(RANKS, ONE), "no exact"),
    (lambda: local(num_groups=6), "as many"),
    (lambda: refusal_bound(1001, 1), "1 to 1000"),
    (lambda: comparison_distribution(501), "0 to 500"),
    *(
        (lambda call=call, ranks=ranks, asked=asked: call(ranks, asked), word)
        for call in (
            functools.partial(on.shuffled_pair_weights, KEY),
            on.shuffled_pair_weights.release,
        )
        for ranks, asked, word in ((RANKS[:2], LOOSE, "too few"), (CROWD, ONE, "delta"))
    ),
    *(
        (lambda call=call, ranks=ranks, size=size: call(ranks, ONE, size=size), word)
        for call in (functools.partial(on.sub_ranking_weights, KEY), on.sub_ranking_weights.release)
        for ranks, size, word in ((RANKS[:2], 2, "too few"), (CROWD, 4, "size"))
    ),
    *((lambda items=items: designs(items), "2 to 20") for items in (0, 1, 21)),
    (lambda: on.ldp_borda_subsets.report(KEY, np.zeros((2, 21), int), 1.0), "20 items"),
    (lambda: on.ldp_borda_subsets.report(KEY, np.zeros(1, int), 1.0), "2 items"),
    (lambda: on.ldp_borda_subsets.report(KEY, np.zeros(3), 1.0), "integers"),
    (lambda: on.ldp_borda_subsets.release(np.zeros((2, 21), int), ONE), "20 items"),
    (lambda: on.ldp_borda_subsets.release(RANKS, user(1e-17)), "so small"),
]


@pytest.mark.parametrize(("call", "word"), REFUSED)
def test_what_does_not_fit_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()


@pytest.mark.parametrize("name", PRIVATE)
def test_weights_that_are_those_of_no_crowd_are_refused(name):
    matrix = np.asarray(W.matrix)
    for changed, word in (
        ({"num_users": 0}, "num_users"),
        ({"num_users": 0.5}, "num_users"),
        ({"matrix": np.zeros((2, 3))}, "square"),
        ({"matrix": np.zeros((2, 4, 4))}, "vmap"),
        ({"matrix": 50 * matrix}, "shares"),
        ({"matrix": 0.5 * matrix}, "summing"),
        ({"matrix": np.where(matrix > 0.5, NAN, matrix)}, "finite"),
        ({"mask": np.array([True])}, "mask"),
    ):
        with pytest.raises(ValueError, match=word):
            PRIVATE[name](KEY, PairWeights(**{"matrix": matrix, "num_users": 5} | changed), ONE)
    with pytest.raises(TypeError, match="PairWeights"):
        PRIVATE[name](KEY, matrix, ONE)


@pytest.mark.parametrize("name", SOLVERS)
def test_matrices_that_no_solver_takes_are_refused(name):
    for bad in (np.zeros((2, 3)), np.zeros(3), np.full((2, 2), NAN), np.zeros((2, 3, 3))):
        with pytest.raises(ValueError, match=r"square|shape|finite|vmap|one problem"):
            SOLVERS[name](bad)
    for bad in (np.ones((2, 2)) + 1j, np.ones((2, 2), object), np.array([["a"]]), MIXED):
        with pytest.raises(ValueError, match="real numbers"):
            SOLVERS[name](bad)


@pytest.mark.parametrize("private", [*PRIVATE.values(), on.ldp_kwiksort])
def test_promises_that_cannot_be_kept_are_refused(private):
    data = RANKS if private is on.ldp_kwiksort else W
    with pytest.raises(TypeError, match="Privacy"):
        private(KEY, data, 1.0)
    asked = [("replace", 3), ("add-remove", 3)]
    if private not in (on.dp_borda, on.private_weights):
        asked.append(("add-remove", None))
    for adjacency, most in asked:
        with pytest.raises(ValueError, match=r"contributions|protects"):
            private(KEY, data, Privacy(1.0, unit="user", adjacency=adjacency, contributions=most))


def test_what_is_no_data_is_refused():
    for call, word in (
        (lambda: footrule_costs(HISTOGRAMS.counts), "from_ranks"),
        (lambda: on.footrule_optimal(HISTOGRAMS.counts), "from_ranks"),
        (lambda: jax.jit(lambda w: central(weights=PairWeights(w, 5)).value)(W.matrix), "jit"),
    ):
        with pytest.raises(TypeError, match=word):
            call()
    masked = np.ma.masked_array([[0, 1, 99]], mask=[[False, False, True]])
    for given in (masked, masked.astype(np.int32)):
        with pytest.raises((TypeError, ValueError), match="masked"):
            PairWeights.from_ranks(given)
