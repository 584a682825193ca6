"""Every public function of real arguments: its derivatives are those of finite differences, and a traced ε <= 0 is NaN.

A case is a function of named numbers and arrays, in float64. A new public function that takes real numbers must be
among the cases, or among those of the host, which refuse a traced number.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import (
    aggregation,
    links,
    mallows,
    metrics,
    pairwise,
    personalized,
    preferences,
    privacy,
    privacy_audit,
)
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.critical_values import critical_value
from privrank_jax.privacy import Privacy

KEY = jax.random.key(20261129)
ITEMS = 4
WINS = jnp.array([[0, 7, 6, 9], [3, 0, 6, 8], [4, 5, 0, 6], [2, 1, 4, 0.0]])
THETA = jnp.array([0.7, 0.3, -0.2, -0.8])
RANKS = jnp.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 2, 1, 3], [3, 1, 0, 2], [0, 1, 3, 2]])
WEIGHTS = aggregation.PairWeights.from_ranks(RANKS)
BITS = jnp.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 0.0]])
EVERY = jnp.ones((4, 3), bool)
SIGNS = jnp.sign(THETA[:, None] - THETA)
CHANCES = jax.nn.sigmoid(THETA[:, None] - THETA) * (1 - jnp.eye(ITEMS))
LABELS = jnp.array([1, 0, 1, 1, 0])
MARGINS = jnp.array([0.4, -0.9, 0.2, 1.3, -0.1])

users = functools.partial(Privacy, unit="user", adjacency="replace")
flips = functools.partial(Privacy, unit="user", adjacency="flip", contributions=6)
asked = functools.partial(users, public=("questionnaire",))
one = functools.partial(Privacy, unit="comparison", adjacency="replace")


def value(estimate: Any) -> Any:
    """What an estimate publishes and promises; what a solver says of its last step is no function of its arguments."""
    return estimate.value, estimate.guarantee


CASES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {}


def case(name: str, function: Callable[..., Any], **arguments: Any) -> None:
    """Register a case; several of one function have an addition in brackets."""
    CASES[name] = function, {key: jnp.asarray(one, float) for key, one in arguments.items()}


def additive(
    function: Callable[..., Any], *data: Any, promise: Any = users, **options: Any
) -> None:
    """Cases of a mechanism for each of its noises, in ε, δ and L where users give several comparisons."""
    noises = options.pop("noises", ("laplace", "k-norm", "gaussian"))
    asked_of = promise(1.0)
    numbers = {"epsilon": 1.0, "delta": 1e-5}
    if asked_of.contributions is not None:
        numbers["contributions"] = 6.0
    for noise in noises:
        case(
            " ".join([function.__name__, noise, asked_of.adjacency, *options]),
            lambda noise=noise, **asked: value(
                function(KEY, *data, promise(**asked), noise=noise, **options)
            ),
            **numbers,
        )


# --- aggregation
POINTS = aggregation.PointTotals.from_points(3 - RANKS, most=3)
HISTOGRAMS = aggregation.PositionHistograms.from_ranks(RANKS)
case("borda_scores", aggregation.borda_scores, weights=WEIGHTS.matrix)
case("kemeny_score", lambda weights: aggregation.kemeny_score(RANKS[0], weights), weights=CHANCES)
case("copeland", aggregation.copeland, weights=WEIGHTS.matrix)
case("kwiksort", lambda weights: aggregation.kwiksort(KEY, weights), weights=WEIGHTS.matrix)
case("local_search", aggregation.local_search, weights=WEIGHTS.matrix)
additive(aggregation.dp_borda, WEIGHTS)
additive(aggregation.noise_all, WEIGHTS)
additive(aggregation.dp_scores, POINTS)
additive(aggregation.private_weights, WEIGHTS, noises=("k-norm", "gaussian"))
additive(aggregation.dp_footrule, HISTOGRAMS)
for mechanism in (aggregation.dp_kwiksort, aggregation.exponential_kemeny):
    case(
        mechanism.__name__,
        lambda epsilon, mechanism=mechanism: value(mechanism(KEY, WEIGHTS, users(epsilon))),
        epsilon=1.0,
    )
case(
    "private_weights [focus]",
    lambda focus: value(aggregation.private_weights(KEY, WEIGHTS, users(1.0), focus=focus)),
    focus=0.3,
)
for mechanism in (
    aggregation.ldp_borda,
    aggregation.ldp_kwiksort,
    aggregation.local_weights,
    aggregation.sub_ranking_weights,
):
    case(
        mechanism.__name__,
        lambda epsilon, mechanism=mechanism: value(mechanism(KEY, RANKS, users(epsilon))),
        epsilon=1.3,
    )
for name in ("privunit", "subset-selection"):
    case(
        f"ldp_borda [{name}]",
        lambda epsilon, name=name: value(
            aggregation.ldp_borda(KEY, RANKS, users(epsilon), mechanism=name)
        ),
        epsilon=1.3,
    )

case("assignment", aggregation.assignment, costs=WEIGHTS.matrix)
case(
    "hay_kwiksort",
    lambda epsilon: value(aggregation.hay_kwiksort(KEY, WEIGHTS, users(epsilon))),
    epsilon=1.0,
)

# --- mallows
SYNTHETIC = {"num_items": 5.0, "epsilon": 2.0}
case(
    "attack_error_bound",
    functools.partial(mallows.attack_error_bound, 4, num_rankings=5),
    epsilon=1.0,
)
case(
    "published_attack_bound",
    functools.partial(mallows.published_attack_bound, 4, num_rankings=2),
    epsilon=0.2,
    constant=1.0,
)
case(
    "center_log_likelihood",
    functools.partial(mallows.center_log_likelihood, RANKS[0]),
    wins=WINS,
    epsilon=1.0,
)
case("most_likely_epsilon", functools.partial(mallows.most_likely_epsilon, RANKS[0]), wins=WINS)
case("most_likely_center", functools.partial(mallows.most_likely_center, KEY), wins=WINS)
for debiased in (mallows.debiased_borda, mallows.debiased_pairs, mallows.debiased_wins):
    case(
        debiased.__name__,
        lambda epsilon, debiased=debiased: debiased(RANKS, epsilon),
        epsilon=[1.0, 2.0, 3.0, 1.5, 2.5],
    )
for function in (
    mallows.debiasing_kernel,
    mallows.debiasing_variance,
    mallows.expected_concordance,
    mallows.log_normalizer,
):
    case(function.__name__, functools.partial(function, 4), epsilon=2.0)
case("insertion_mean", functools.partial(mallows.insertion_mean, 3), **SYNTHETIC)
case("insertion_variance", functools.partial(mallows.insertion_variance, 3), **SYNTHETIC)
case("pair_order_probability", functools.partial(mallows.pair_order_probability, 2), **SYNTHETIC)
case("sure_majority", mallows.sure_majority, **SYNTHETIC)
case("synthetic_guarantee", mallows.synthetic_guarantee, **SYNTHETIC)
case("synthetic_margin_bounds", mallows.synthetic_margin_bounds, margin=0.1, **SYNTHETIC)
case("laplace_ranks", functools.partial(mallows.laplace_ranks, KEY, RANKS[0]), epsilon=1.0)
case("log_prob", functools.partial(mallows.log_prob, RANKS[0], RANKS[1]), epsilon=1.0)
case("sample", functools.partial(mallows.sample, KEY, RANKS[0]), epsilon=1.0)
case("unbiased_ranks", functools.partial(mallows.unbiased_ranks, RANKS[0]), epsilon=1.0)

# --- metrics
case("relative_error", metrics.relative_error, estimate=THETA, truth=THETA[::-1])

# --- pairwise
additive(pairwise.noisy_counts, WinCounts(WINS), promise=flips, noises=("laplace", "gaussian"))
additive(pairwise.noisy_counts, WinCounts(WINS), promise=asked, questionnaire=1.0 - np.eye(ITEMS))
additive(pairwise.perturbed_mle, WinCounts(WINS), promise=flips, noises=("laplace", "gaussian"))
additive(
    pairwise.perturbed_mle,
    WinCounts(WINS),
    promise=one,
    noises=("laplace", "gaussian"),
    link="laplace",
)
additive(
    pairwise.perturbed_mle,
    WinCounts(WINS),
    promise=functools.partial(flips, adjacency="replace"),
    noises=("laplace", "gaussian"),
    gamma=60.0,
)
case(
    "perturbed_mle [data]",
    lambda wins, gamma: value(
        pairwise.perturbed_mle(KEY, WinCounts(wins), flips(1.0), gamma=gamma)
    ),
    wins=WINS,
    gamma=2.0,
)
case(
    "noisy_counts [data]",
    lambda wins: value(pairwise.noisy_counts(KEY, WinCounts(wins), one(1.0))),
    wins=WINS,
)
case(
    "mle",
    lambda wins, gamma: value(pairwise.mle(WinCounts(wins), gamma=gamma)),
    wins=WINS,
    gamma=0.5,
)
case(
    "mle [ties]",
    lambda wins, gamma, ties: value(
        pairwise.mle(WinCounts(wins, ties=ties), gamma=gamma, ties="davidson", tie_gamma=0.1)
    ),
    wins=WINS,
    gamma=0.5,
    ties=6.0,
)
case(
    "fit",
    lambda comparisons, counted, gamma: value(
        pairwise.fit(pairwise.Counts(comparisons), counted, gamma)
    ),
    comparisons=WINS + WINS.T,
    counted=WINS.sum(1),
    gamma=0.5,
)
for weighted in (True, False):
    case(
        f"debiased_rr [weighted={weighted}]",
        lambda epsilon, gamma, weighted=weighted: value(
            pairwise.debiased_rr(BITS, EVERY, epsilon, gamma=gamma, weighted=weighted)
        ),
        epsilon=[1.0, 2.0, 1.5, 3.0],
        gamma=0.5,
    )
for top_k in (
    pairwise.canonical_top_k,
    pairwise.one_shot_top_k,
    pairwise.peeling_top_k,
    pairwise.permute_and_flip_top_k,
):
    case(
        top_k.__name__,
        lambda epsilon, wins, top_k=top_k: value(top_k(KEY, WinCounts(wins), one(epsilon), 2)),
        epsilon=1.0,
        wins=WINS,
    )
case("attack_floor", pairwise.attack_floor, mean_absolute_error=[0.3, 2.0])
case(
    "debiased_sums",
    functools.partial(pairwise.debiased_sums, BITS, EVERY),
    epsilon=[1.0, 2.0, 1.5, 3.0],
)
case(
    "mixed_effects",
    lambda gamma, user_gamma: value(
        pairwise.mixed_effects(BITS, EVERY, gamma=gamma, user_gamma=user_gamma, tolerance=1e-13)
    ),
    gamma=0.5,
    user_gamma=0.7,
)
case(
    "model_errors",
    lambda theta, gamma, noise_scale: pairwise.model_errors(
        theta,
        pairwise.Counts(WINS + WINS.T),
        gamma=gamma,
        noise_scale=noise_scale,
        noise="laplace",
    ),
    theta=THETA,
    gamma=0.5,
    noise_scale=2.0,
)
case(
    "rank_centrality", lambda wins: value(pairwise.rank_centrality(WinCounts(wins), 1.0)), wins=WINS
)
case("bounded_weights", pairwise.bounded_weights, weights=[0.51, 4.07, 99.0], most=8.0)
case("critical_value", critical_value, alpha=0.05, share=[0.1, 0.5, 0.9])
case(
    "standard_errors",
    functools.partial(pairwise.standard_errors, noise="laplace"),
    theta=THETA,
    comparisons=WINS + WINS.T,
    noise_scale=2.0,
    gamma=0.5,
)
case(
    "interval_estimates",
    functools.partial(pairwise.interval_estimates, noise="laplace"),
    value=THETA,
    comparisons=WINS + WINS.T,
    noise_scale=2.0,
    gamma=0.5,
    level=0.9,
)
case(
    "rank_intervals",
    lambda level: pairwise.rank_intervals(pairwise.standard_errors(THETA, WINS + WINS.T), level),
    level=0.9,
)

# --- personalized
case(
    "consistent_epsilon",
    personalized.consistent_epsilon,
    num_users=900.0,
    num_parameters=10.0,
    num_items=5.0,
)
case(
    "regret_rate",
    personalized.regret_rate,
    num_users=900.0,
    num_parameters=10.0,
    num_items=5.0,
    epsilon=2.0,
    noise_exponent=2.0,
)
case("debiased_pair_weights", personalized.debiased_pair_weights, signs=1.5 * SIGNS)
case("least_risk", personalized.least_risk, chances=CHANCES)
case("logistic_risk", personalized.logistic_risk, scores=THETA, wins=WINS.sum(1))
case("pair_weights", personalized.pair_weights, ranks=[0.0, 1, 2, 3])
case("wins_from_ranks", personalized.wins_from_ranks, ranks=[0.0, 1, 2, 3])
case(
    "pairwise_accuracy",
    functools.partial(personalized.pairwise_accuracy, ranks=RANKS[1]),
    scores=THETA,
)
case("pairwise_risk", personalized.pairwise_risk, scores=THETA, weights=CHANCES)
case("ranking_risk", personalized.ranking_risk, scores=THETA, chances=CHANCES)

# --- preferences
for loss in (
    preferences.clipped_loss,
    preferences.debiased_loss,
    preferences.likelihood_loss,
    preferences.square_loss,
):
    case(
        loss.__name__,
        functools.partial(loss, reports=LABELS),
        score_difference=MARGINS,
        epsilon=[1.0, 2.0, 3.0, 1.5, 2.5],
    )
case(
    "soft_label_loss",
    preferences.soft_label_loss,
    score_difference=MARGINS,
    labels=[0.1, 0.2, 0.6, 0.8, 1.2],
)
case(
    "dpo_loss",
    preferences.dpo_loss,
    policy_chosen=MARGINS,
    policy_rejected=-MARGINS,
    reference_chosen=0.5 * MARGINS,
    reference_rejected=MARGINS**2,
    epsilon=1.0,
    beta=0.2,
)
case("reward_loss", preferences.reward_loss, chosen=MARGINS, rejected=MARGINS**2, epsilon=1.0)
case("label_smoothing", preferences.label_smoothing, epsilon=1.0)
case(
    "debiased_accuracy",
    functools.partial(preferences.debiased_accuracy, reports=LABELS),
    score_difference=MARGINS,
    epsilon=[4.0, 3.0, 5.0, 4.5, 3.5],
    level=0.9,
)
case(
    "randomized_labels",
    lambda epsilon: value(
        preferences.randomized_labels(
            KEY, LABELS, Privacy(epsilon, unit="comparison", adjacency="flip")
        )
    ),
    epsilon=1.0,
)
case(
    "train_on_labels",
    lambda epsilon, delta, start, pairs: value(
        preferences.train_on_labels(
            KEY,
            LABELS,
            users(epsilon, delta=delta, adjacency="flip"),
            jnp.multiply,
            start,
            pairs,
            users=jnp.array([0, 0, 1, 1, 2]),
            steps=20,
        )
    ),
    epsilon=1.0,
    delta=1e-5,
    start=0.0,
    pairs=MARGINS,
)

# --- privacy
case("flip_probability", privacy.flip_probability, epsilon=[0.5, 2.0])
case("report_information", privacy.report_information, epsilon=[0.5, 2.0])
case("debias", functools.partial(privacy.debias, LABELS), epsilon=1.0)
case("local_guarantee", privacy.local_guarantee, epsilon=[0.5, 2.0], reports_per_user=[3.0, 1.0])
case(
    "randomized_response", functools.partial(privacy.randomized_response, KEY, LABELS), epsilon=1.0
)
case("laplace_reports", functools.partial(privacy.laplace_reports, KEY, LABELS), epsilon=1.0)
case("laplace_scale", privacy.laplace_scale, sensitivity=2.0, epsilon=0.5)
case(
    "gaussian_scale", privacy.gaussian_scale, sensitivity=2.0, epsilon=[0.1, 1.0, 20.0], delta=1e-5
)
case("gaussian_delta", privacy.gaussian_delta, scale=3.0, sensitivity=2.0, epsilon=1.0)
for dimension in (1, 2, 9):
    for vectors in ("duchi", "privunit"):
        case(
            f"report_norm [{vectors}, {dimension}]",
            functools.partial(privacy.report_norm, vectors, dimension),
            epsilon=1.5,
            radius=2.0,
        )
for vectors in (privacy.duchi_vectors, privacy.privunit_vectors):
    case(
        vectors.__name__,
        lambda epsilon, radius, vectors=vectors: vectors(KEY, THETA / 2, epsilon, radius),
        epsilon=1.5,
        radius=1.0,
    )
for link in ("logistic", "laplace"):
    for noise in ("laplace", "gaussian"):
        case(
            f"calibrate_objective_perturbation [{link}, {noise}]",
            lambda epsilon, delta, contributions, default_gamma, link=link, noise=noise: (
                privacy.calibrate_objective_perturbation(
                    links.get_link(link),
                    flips(epsilon, delta=delta, contributions=contributions, adjacency="replace"),
                    default_gamma=default_gamma,
                    noise=noise,
                )
            ),
            epsilon=1.0,
            delta=1e-5,
            contributions=6.0,
            default_gamma=300.0,
        )

# --- privacy_audit
case(
    "perturbed_mle_log_density",
    lambda theta, wins, noise_scale, gamma: privacy_audit.perturbed_mle_log_density(
        theta, WinCounts(wins), noise_scale=noise_scale, gamma=gamma
    ),
    theta=THETA,
    wins=WINS,
    noise_scale=2.0,
    gamma=0.5,
)
case("top_item_log_probability", privacy_audit.top_item_log_probability, gap=1.0, noise_scale=2.0)


FORWARD = {"rank_centrality"}  # iterates until nothing moves, and has no derivatives backwards
HOST: dict[str, Callable[[Any], Any]] = {
    "calibrate_gaussian": lambda x: privacy.calibrate_gaussian(x, 1e-5),
    "choose_method": lambda x: aggregation.choose_method(4, 90, users(x)),
    "clopper_pearson": lambda x: privacy_audit.clopper_pearson(5, 10, x / 20),
    "compose": lambda x: privacy.compose([users(x)] * 2).epsilon,
    "compose_basic": lambda x: privacy.compose_basic([users(x)] * 2).epsilon,
    "gaussian_zcdp": privacy.gaussian_zcdp,
    "kemeny": lambda x: aggregation.kemeny(x * CHANCES).value,
    "proven_errors": lambda x: aggregation.proven_errors(4, 90, users(x)),
    "pure_zcdp": privacy.pure_zcdp,
    "shuffled_delta": lambda x: privacy.shuffled_delta(90, x, 0.1),
    "shuffled_epsilon": lambda x: privacy.shuffled_epsilon(90, x, 1e-5),
    "shuffled_local_epsilon": lambda x: privacy.shuffled_local_epsilon(90, x, 1e-5),
    "shuffled_pair_weights": lambda x: (
        aggregation.shuffled_pair_weights(KEY, jnp.tile(RANKS, (50, 1)), users(x, delta=1e-5)).value
    ),
    "zcdp_delta": lambda x: privacy.zcdp_delta(x, 1.0),
    "zcdp_epsilon": lambda x: privacy.zcdp_epsilon(x, 1e-5),
}


def named(function: Callable[..., Any]) -> bool:
    """Whether a function takes a real number, by its signature."""
    text = str(inspect.signature(function))
    return bool(re.search(r"Number|Scalar|Epsilon|Privacy|Scores|PairMatrix", text))


def real_functions() -> set[str]:
    """Public functions of real arguments."""
    packages = aggregation, mallows, pairwise, personalized, preferences, privacy, privacy_audit
    return {"relative_error"} | {
        name
        for package in packages
        for name in package.__all__
        if inspect.isfunction(getattr(package, name)) and named(getattr(package, name))
    }


def floats(function: Callable[..., Any], **arguments: Any) -> Any:
    """The floats among the results, as one vector."""
    found = [
        jnp.ravel(leaf)
        for leaf in jax.tree.leaves(function(**arguments))
        if jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
    ]
    return jnp.concatenate(found) if found else jnp.zeros(0)


def jitted(name: str) -> tuple[Callable[[dict[str, Any]], Any], dict[str, Any]]:
    function, arguments = CASES[name]
    return jax.jit(lambda moved: floats(function, **moved)), arguments


def direction(name: str, argument: Any) -> Any:
    """Random, in units of the argument; a symmetric matrix stays symmetric."""
    way = argument * np.random.default_rng(len(name)).uniform(0.5, 1, argument.shape)
    symmetric = argument.ndim == 2 and bool(jnp.all(argument == argument.T))
    return (way + way.T) / 2 if symmetric else jnp.asarray(way)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_finite_differences(name):
    function, arguments = jitted(name)
    if not jax.eval_shape(function, arguments).size:
        return  # ranks alone
    published = function(arguments)
    weights = jnp.asarray(np.random.default_rng(1).uniform(0.5, 1, published.shape))
    if name in FORWARD:
        with pytest.raises(ValueError, match="does not support reverse-mode"):
            jax.vjp(function, arguments)
        slopes = None
    else:
        slopes = jax.vjp(function, arguments)[1](weights)[0]
    for argument, at in arguments.items():
        way = direction(name, at)

        def moved(steps: float) -> np.ndarray:
            return np.asarray(function(arguments | {argument: at + steps * 1e-5 * way}))  # noqa: B023

        expected = (8 * (moved(1) - moved(-1)) - moved(2) + moved(-2)) / 12e-5
        still = jax.tree.map(jnp.zeros_like, arguments) | {argument: way}
        forwards = jax.jvp(function, (arguments,), (still,))[1]
        np.testing.assert_allclose(forwards, expected, 1e-5, 1e-7, err_msg=argument)
        if slopes is not None:
            np.testing.assert_allclose(
                jnp.sum(slopes[argument] * way),
                jnp.sum(weights * forwards),
                1e-8,
                1e-9,
                err_msg=argument,
            )


@pytest.mark.parametrize("name", [name for name in CASES if "epsilon" in CASES[name][1]])
def test_a_traced_epsilon_that_is_not_positive_gives_nan(name):
    function, arguments = jitted(name)
    one, other = (function(arguments | {"epsilon": x * arguments["epsilon"]}) for x in (1, 1.25))
    for wrong in (-1.0, jnp.nan, *[0.0][: name != "gaussian_delta"]):  # which has a δ at ε = 0
        found = function(arguments | {"epsilon": wrong * arguments["epsilon"]})
        assert bool(jnp.all(jnp.isnan(found) | (one == other))), (wrong, found)


def test_what_cannot_be_nan_is_drawn_whatever_the_data():
    keys = jax.random.split(KEY, 4000)
    ranks = jax.jit(
        jax.vmap(lambda key, epsilon: mallows.sample(key, RANKS[0], epsilon), (0, None))
    )
    error = 5 * (15 / 12 / len(keys)) ** 0.5  # of the mean of a rank that is uniform on 0, ..., 3
    np.testing.assert_allclose(jnp.mean(ranks(keys, -1.0), 0), (ITEMS - 1) / 2, atol=error)
    bits = jax.jit(lambda epsilon: privacy.randomized_response(KEY, jnp.ones(10_000), epsilon))
    assert abs(float(jnp.mean(bits(-1.0))) - 0.5) < 5 * 0.5 / 100


@pytest.mark.parametrize("name", HOST)
def test_functions_of_the_host_refuse_traced_numbers(name):
    with pytest.raises((TypeError, ValueError), match=r"[Tt]race|not a valid JAX type"):
        jax.jvp(HOST[name], (1.0,), (1.0,))


def test_no_public_function_of_real_arguments_is_left_out():
    assert real_functions() == {name.split()[0] for name in CASES} & real_functions() | set(HOST)
