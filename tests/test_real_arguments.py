"""Derivatives of public functions are those of finite differences, and a traced ε <= 0 gives NaN.

The calls are those that functions make in their own examples and that the registry of audits makes, with all that is a
float in them; some functions whose examples have whole numbers in the place of real ones are called here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import Estimate, links, mallows, pairwise, personalized, privacy
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism.data import Facts
from privrank_jax.personalized.regret import consistent_epsilon, regret_rate
from privrank_jax.privacy import Privacy
from tests.example_calls import examples
from tests.quick import thorough
from tests.test_transformations import ON_THE_HOST, audited, called

slow = pytest.mark.slow
KEY = jax.random.key(20261129)
WINS = jnp.array([[0, 7, 6, 9], [3, 0, 6, 8], [4, 5, 0, 6], [2, 1, 4, 0.0]])
THETA = jnp.array([0.7, 0.3, -0.2, -0.8])
BITS = jnp.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0.0]])

Case = tuple[Callable[..., Any], dict[str, Any]]
CASES: dict[str, Case] = {}


def case(function: Callable[..., Any], *data: Any, name: str = "", **real: Any) -> None:
    """Register a call: ``data`` stay as they are, ``real`` are moved."""
    moved = {key: np.asarray(one, float) for key, one in real.items()}
    CASES[name or function.__name__] = functools.partial(function, *data), moved


for function in (mallows.distribution.insertion_mean, mallows.distribution.insertion_variance):
    case(function, 3, num_items=5, epsilon=2.0)
case(mallows.distribution.pair_order_probability, 2, num_items=5, epsilon=2.0)
case(mallows.sure_majority, num_items=5, epsilon=2.0)
case(mallows.synthetic_guarantee, num_items=5, epsilon=2.0)
case(mallows.synthetic_margin_bounds, num_items=5, epsilon=2.0, margin=0.1)
case(pairwise.standard_errors, value=THETA, design=WINS + WINS.T, noise=2, gamma=0.5)
case(consistent_epsilon, num_users=900, num_parameters=10, num_items=5)
case(regret_rate, num_users=900, num_parameters=10, num_items=5, epsilon=2.0)
case(personalized.pair_weights, ranks=[0, 1, 2, 3])
case(personalized.surrogate.wins_from_ranks, ranks=[0, 1, 2, 3])
case(privacy.local_guarantee, epsilon=[0.5, 2.0], reports_per_user=[3, 1])
case(
    lambda wins, gamma, ties: pairwise.mle(
        WinCounts(wins, ties=ties), gamma=gamma, ties="davidson", tie_gamma=0.1
    ),
    name="mle, ties", wins=WINS, gamma=0.5, ties=6,
)  # fmt: skip
for weighted in (True, False):
    case(
        functools.partial(pairwise.debiased_rr, BITS, jnp.ones((4, 3), bool), weighted=weighted),
        name=f"debiased_rr, weighted={weighted}", epsilon=[1.0, 2.0, 1.5, 3.0], gamma=0.5,
    )  # fmt: skip
for dimension in (1, 2, 9):
    for name in ("duchi", "privunit"):
        of = f"report_norm, {name}, {dimension}"
        case(privacy.vectors.report_norm, name, dimension, name=of, epsilon=1.5, radius=2)
for noise in ("laplace", "gaussian"):

    def promised(epsilon, delta, contributions, adjacency="flip"):
        most = {"contributions": contributions, "delta": delta}
        return Privacy(epsilon, unit="user", adjacency=adjacency, **most)

    asked = {"epsilon": 1.0, "delta": 1e-5, "contributions": 6}
    for function in (pairwise.noisy_counts, pairwise.perturbed_mle):
        case(
            lambda function=function, noise=noise, **asked: function(
                KEY, WinCounts(WINS), promised(**asked), noise=noise
            ),
            name=f"{function.__name__}, {noise}", **asked,
        )  # fmt: skip
    for link in ("logistic", "laplace"):
        case(
            lambda gamma, link=link, noise=noise, **asked: pairwise.perturbed_mle.scale(
                promised(**asked, adjacency="replace"),
                Facts(2, rules=(links.get_link(link), False)),
                noise,
                gamma=gamma,
            ),
            name=f"perturbed_mle.scale, {link}, {noise}", gamma=300, **asked,
        )  # fmt: skip


# What these work on is not to be traced.
HOST = {
    "choose_report", "proven_errors", "pure_lower_bound", "approximate_lower_bound",
    "private_by_queries", "local_by_queries", "choose_method", "bound", "kemeny", "clustered_covariance",
    "covariate_table",
    "convexity_bound", "compose", "calibrate_gaussian", "shuffled_delta",
    "shuffled_epsilon", "shuffled_local_epsilon", "shuffled_pair_weights",
}  # fmt: skip
FORWARD = {
    "rank_centrality",
    "dp_kwiksort",
    "published_kwiksort",
    "sample",
}  # their loops have no derivatives backwards
# Examples call the first in a program, the second wrongly; three items leave nothing to misfit; the fourth ends where
# it likes; then a diagnostic of the data as they are; a fit of fewer digits; and designs that must not be traced.
UNMOVED = {
    "break_rankings", "quasi_variances", "train", "smallest_curvature",
    "perturbed-mle-gaussian-add-remove", "users-with-one-questionnaire", "covariate-sums-users",
    "covariate-sums-gaussian", "covariate-ties-users", "covariate-ties-gaussian", "dp-kwiksort-published",
}  # fmt: skip
# Fits for each link and those for a design, whose parts are cases as well; reports, which are steps; and mechanisms
# or fits that have the engine of another case.
LATE = {
    "perturbed_mle, laplace", "pairwise.perturbed_fit perturbed_mle", "mle", "debiased_rr, weighted=False",
    "debiased_rr, weighted=True", "scores_from_sums", "fit_score_sums", "pairwise.uncertainty standard_errors",
    "report_norm, privunit, 2", "perturbed_mle.scale, laplace, gaussian", "mallows.majorities sure_majority",
    "mallows.majorities synthetic_margin_bounds", "published_kwiksort", "noisy_sums_and_ties",
    "perturbed_mle.scale, logistic, gaussian", "report_norm, privunit, 9",
    "select_link", "errors_under_private_design", "confidence_intervals", "parametric_bootstrap", "train_on_labels",
    "privunit_vectors", "ldp_borda_privunit", "local_weights_privunit", "ldp_borda_subsets", "sub_ranking_weights",
    "local_weights", "local_weights_rr", "perturbed_choices", "perturbed_davidson", "private_weights", "published_mle",
    "continual_score_sums", "continual_totals", "dp_footrule", "dp_scores", "hay_kwiksort", "debiasing_kernel",
}  # fmt: skip
PLAIN = [
    *(name for name in examples() if name.split(".")[0] not in ON_THE_HOST and name.split()[1] not in UNMOVED),
    *CASES,
]  # fmt: skip
MECHANISMS = [thorough(name) for name in audited() if name not in UNMOVED]


def is_float(leaf: Any) -> bool:
    real = type(leaf) is float or jnp.issubdtype(getattr(leaf, "dtype", int), jnp.floating)
    return bool(real and np.all(np.isfinite(leaf)))


def call_of(name: str) -> tuple[str, Callable[[dict[str, Any]], Any], dict[str, Any]]:
    """The function's name, itself of what is real, by the paths of these arguments, and where it is called."""
    if name in CASES:
        function, at = CASES[name]
        return name.partition(",")[0], lambda moved: floats(function(**moved)), at
    call = called(name)
    given = dict(zip(call.paths, call.values, strict=True))
    at = {path: np.asarray(leaf, float) for path, leaf in given.items() if is_float(leaf)}
    return call.function.__name__, lambda moved: floats(call([*(given | moved).values()])), at


def floats(result: Any) -> Any:
    """The floats in it, as one vector; what a solver says of its last step is no function of its arguments."""
    if isinstance(result, Estimate):
        result = result.value, result.guarantee
    leaves = [one for one in jax.tree.leaves(result) if hasattr(one, "dtype")]
    found = [jnp.ravel(one) for one in leaves if jnp.issubdtype(one.dtype, jnp.floating)]
    return jnp.concatenate(found) if found else jnp.zeros(0)


def direction(name: str, argument: np.ndarray) -> np.ndarray:
    """Random, in units of the argument; a symmetric matrix stays symmetric."""
    way = argument * np.random.default_rng(len(name)).uniform(0.5, 1, argument.shape)
    symmetric = argument.ndim == 2 and np.array_equal(argument, argument.T)
    return (way + way.T) / 2 if symmetric else way


@pytest.mark.parametrize(
    "name",
    [pytest.param(x, marks=slow if {x, x.split()[-1]} & LATE else ()) for x in PLAIN] + MECHANISMS,
)
def test_derivatives_are_those_of_finite_differences(name):
    """Where a function has one: at a corner, or a step, it goes on in another way on the other side.

    All is computed by one program, also what a wrong ε gives.
    """
    of, function, arguments = call_of(name)
    if of in HOST:
        with pytest.raises((TypeError, ValueError, AttributeError)):
            jax.jvp(jax.jit(function), (arguments,), (arguments,))
        return
    function = jax.jit(function)  # traced once
    still = jax.tree.map(np.zeros_like, arguments)

    @jax.jit
    def program(arguments, way):
        """What is published, how it moves along the way, and slopes of its weighted sum."""
        if of in FORWARD:
            published, moving = jax.jvp(function, (arguments,), (way,))
            return published, moving, None, None
        published, move = jax.linearize(function, arguments)
        if not published.size:
            return published, None, None, None
        weights = np.random.default_rng(1).uniform(0.5, 1, published.shape)
        weights = weights * jnp.isfinite(published)
        return published, move(way), weights, jax.linear_transpose(move, way)(weights)[0]

    published, _, weights, slopes = jax.device_get(program(arguments, still))
    if not published.size:
        return  # ranks alone
    for argument, at in arguments.items():
        way = direction(name, at)

        def moved(steps: float) -> np.ndarray:
            there = arguments | {argument: at + steps * 1e-5 * way}  # noqa: B023
            found = np.asarray(program(there, still)[0])
            return np.where(np.isfinite(found), found, 0)

        at_steps = [moved(steps) for steps in (-2, -1, 0, 1, 2)]
        bends = np.abs(np.diff(at_steps, 2, axis=0)).max(initial=0)
        if bends > 1e-3 * np.abs(at_steps[3] - at_steps[1]).max(initial=0) + 1e-9:
            continue
        expected = np.tensordot([1, -8, 0, 8, -1], at_steps, 1) / 12e-5
        forwards = np.asarray(program(arguments, still | {argument: way})[1])
        forwards = np.where(np.isfinite(published), forwards, 0)
        np.testing.assert_allclose(forwards, expected, 1e-5, 1e-7, err_msg=argument)
        if slopes is not None:
            backwards, along = np.sum(slopes[argument] * way), np.sum(weights * forwards)
            np.testing.assert_allclose(backwards, along, 1e-7, 1e-8, err_msg=argument)
    of_epsilon = [path for path in arguments if path.strip("[]'").endswith("epsilon")]
    if name not in PLAIN or not of_epsilon:
        return

    def scaled(factor: float) -> np.ndarray:
        moved = {path: factor * arguments[path] for path in of_epsilon}
        return np.asarray(program(arguments | moved, still)[0])

    same = scaled(1.0) == scaled(1.25)
    for wrong in (-1.0, np.nan, 0.0):
        found = scaled(wrong)
        assert np.all(np.isnan(found) | same), (wrong, found)


def test_what_cannot_be_nan_is_drawn_whatever_the_data():
    keys, ranks = jax.random.split(KEY, 4000), jnp.arange(4)
    drawn = jax.jit(jax.vmap(lambda key, epsilon: mallows.sample(key, ranks, epsilon), (0, None)))
    error = 5 * (15 / 12 / len(keys)) ** 0.5  # of the mean of a rank that is uniform on 0, ..., 3
    np.testing.assert_allclose(jnp.mean(drawn(keys, -1.0), 0), 1.5, atol=error)
    bits = jax.jit(lambda epsilon: privacy.randomized_response(KEY, jnp.ones(10_000), epsilon))
    assert abs(float(jnp.mean(bits(-1.0))) - 0.5) < 5 * 0.5 / 100
