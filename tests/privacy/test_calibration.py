from __future__ import annotations

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import links
from privrank_jax.privacy.calibration import (
    additive_scale,
    calibrate_objective_perturbation,
    gamma_floor,
    gaussian_delta,
    gaussian_scale,
    laplace_scale,
)
from privrank_jax.privacy.noise import kept_by_noise
from tests import reference
from tests.promises import promise, split
from tests.reference import calibration as reference_perturbation

GRID = [
    (epsilon, delta)
    for epsilon in (0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 100.0)
    for delta in (1e-10, 1e-6, 1e-3, 0.05, 0.3)
]


def asked(settings, **defaults):
    """A promise from the settings that define one, and the remaining settings; several comparisons mean unit user."""
    promised, options = split(settings, **defaults)
    if "contributions" in settings and "unit" not in settings:
        promised = dataclasses.replace(
            promised, unit="user", contributions=settings["contributions"]
        )
    return promised, options


def calibrate(link="logistic", adjacency="flip", **settings):
    promised, options = asked({"adjacency": adjacency, **settings})
    scale, gamma = calibrate_objective_perturbation(links.get_link(link), promised, **options)
    return float(scale), float(gamma)


def floor_of(link, **settings):
    return float(gamma_floor(links.get_link(link), asked(settings)[0]))


# --- single mechanisms ---------------------------------------------------------------------------


def test_laplace_scale():
    assert laplace_scale(3.0, 0.5) == 6.0
    assert laplace_scale(3.0, math.inf) == 0.0
    np.testing.assert_array_equal(laplace_scale(1.0, jnp.array([0.5, 2.0])), [2.0, 0.5])


def test_gaussian_scale_is_the_smallest_that_suffices():
    epsilons, deltas = np.array(GRID).T
    ours = jax.jit(jax.vmap(lambda e, d: gaussian_scale(2.0, e, d)))(epsilons, deltas)
    achieved = jax.vmap(lambda s, e: gaussian_delta(s, 2.0, e))(ours, epsilons)
    np.testing.assert_allclose(achieved, deltas, rtol=1e-6)
    for scale, epsilon, delta in zip(np.asarray(ours), epsilons, deltas):
        assert scale == pytest.approx(reference.gaussian_scale(2.0, epsilon, delta), rel=1e-7)
        assert reference.gaussian_delta(scale, 2.0, epsilon) <= delta * (1 + 1e-9)
        assert reference.gaussian_delta(0.999 * scale, 2.0, epsilon) > delta


def test_noise_is_what_was_asked_for_whatever_delta_is():
    for delta in (0.0, 1e-4):
        assert additive_scale("laplace", promise(0.5, delta=delta), 3.0, 2.0) == 6.0
    expected = reference.gaussian_scale(2.0, 0.5, 1e-4)
    assert float(additive_scale("gaussian", promise(0.5, delta=1e-4), 3.0, 2.0)) == pytest.approx(
        expected, rel=1e-7
    )


def test_attained_delta_is_that_of_the_noise():
    flips = promise(0.5, adjacency="flip", delta=1e-4)
    kinds = ("comparison", "replace"), ("user", "replace")
    found = kept_by_noise("laplace", flips, "sums", *kinds)
    assert (found.kind, found.delta) == (("comparison", "replace"), 0.0)
    assert kept_by_noise("gaussian", flips, "sums", *kinds).delta == 1e-4
    with pytest.raises(ValueError, match=r"needs delta > 0, .* or choose noise='laplace'"):
        kept_by_noise("gaussian", promise(0.5), "sums", *kinds)
    with pytest.raises(ValueError, match="sums can't promise unit 'user', adjacency 'add-remove'"):
        kept_by_noise("laplace", promise(0.5, "user", "add-remove"), "sums", *kinds)
    swept = jax.vmap(
        lambda delta: kept_by_noise("gaussian", promise(0.5, delta=delta), "sums", *kinds).delta
    )(jnp.array([0.0, 1e-3]))
    np.testing.assert_array_equal(swept, [0.0, 1e-3])  # traced, so not refused


def test_gaussian_delta_is_never_negative():
    """Not even where its two tails agree to the last digits, so that rounding decides their order."""
    rng = np.random.default_rng(0)
    ratio = 10 ** rng.uniform(-17, -13, 2000)
    found = gaussian_delta(1 / ratio, 1.0, ratio * rng.uniform(0, 8, 2000))
    assert np.all(np.asarray(found) >= 0)
    assert np.asarray(found).max() > 0


def test_gaussian_scale_is_never_rounded_below_the_exact_one():
    """Small ε is where the two tails nearly cancel; the budgets are those that float32 stores."""
    rng = np.random.default_rng(0)
    epsilons = (10 ** rng.uniform(-3.5, 1.3, 1000)).astype(np.float32)
    deltas = (10 ** rng.uniform(-12, -0.3, 1000)).astype(np.float32)
    exact = [reference.gaussian_scale(1.0, float(e), float(d)) for e, d in zip(epsilons, deltas)]
    scales = jax.jit(jax.vmap(lambda e, d: gaussian_scale(1.0, e, d)))
    double = np.asarray(scales(epsilons.astype(float), deltas.astype(float))) / exact
    assert double.min() >= 1 - 1e-12  # the twin rounds as well
    assert double.max() <= 1 + 1e-9
    with jax.enable_x64(False):
        single = scales(epsilons, deltas)
        assert single.dtype == np.float32
    ratio = np.asarray(single, float) / exact
    assert ratio.min() >= 1.0
    assert ratio.max() <= 1.03
    assert ratio[epsilons >= 0.01].max() <= 1.001


@pytest.mark.parametrize("double", [True, False])
def test_gaussian_scale_of_numbers_is_that_of_arrays(double):
    """Numbers have their ratio remembered, arrays have it computed."""
    with jax.enable_x64(double):
        for sensitivity in (1, 0.3):
            for epsilon in (0.01, 1, 30.0, math.inf):
                for delta in (1e-9, 0.1):
                    told = gaussian_scale(sensitivity, epsilon, delta)
                    computed = gaussian_scale(np.array([sensitivity, 7.0]), epsilon, delta)
                    assert told == computed[0]
                    assert told.dtype == computed.dtype == jnp.result_type(float)


def test_gaussian_scale_falls_in_both_budgets_and_is_zero_without_privacy():
    scales = jax.vmap(
        lambda e: jax.vmap(lambda d: gaussian_scale(1.0, e, d))(jnp.array([1e-8, 1e-4, 0.1]))
    )(jnp.array([0.1, 1.0, 10.0, math.inf]))
    assert np.all(np.diff(scales[:3], axis=0) < 0)
    assert np.all(np.diff(scales[:3], axis=1) < 0)
    np.testing.assert_array_equal(scales[3], 0.0)


# --- objective perturbation ----------------------------------------------------------------------


@pytest.mark.parametrize("comparisons", [1, 7])
@pytest.mark.parametrize(
    ("adjacency", "constant"), [("flip", 2), ("replace", 4), ("add-remove", 2)]
)
def test_logistic_table(adjacency, constant, comparisons):
    """λ = 2L/ε or 4L/ε; γ ≥ λ but for flips."""
    settings = {"adjacency": adjacency, "contributions": comparisons, "epsilon": 0.5}
    scale, gamma = calibrate(**settings, default_gamma=1e-3)
    assert scale == pytest.approx(constant * comparisons / 0.5)
    assert gamma == pytest.approx(1e-3 if adjacency == "flip" else scale)
    assert calibrate(**settings, gamma=1e4) == pytest.approx((scale, 1e4))
    assert calibrate(**settings, default_gamma=1e4) == pytest.approx((scale, 1e4))


@pytest.mark.parametrize(("link", "kappa1", "kappa2"), [("logistic", 1, 0.25), ("laplace", 2, 2)])
@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
def test_published_scales_are_the_printed_ones(link, kappa1, kappa2, adjacency):
    """λ = 8κ₁/ε, γ = 4κ₂/ε (one comparison); λ = 8Lκ₁/ε, γ = 8Lκ₂/ε (users)."""
    settings = {"calibration": "published", "epsilon": 0.7, "default_gamma": 0.0}
    edge = calibrate(link, adjacency, **settings)
    assert edge == pytest.approx((8 * kappa1 / 0.7, 4 * kappa2 / 0.7))
    user = calibrate(link, adjacency, contributions=5, **settings)
    assert user == pytest.approx((8 * 5 * kappa1 / 0.7, 8 * 5 * kappa2 / 0.7))


@pytest.mark.parametrize("comparisons", [1, 3])
@pytest.mark.parametrize(
    ("adjacency", "constant"), [("flip", 4), ("replace", 4), ("add-remove", 2)]
)
def test_laplace_link_pays_for_the_log_determinant(adjacency, constant, comparisons):
    settings = {"adjacency": adjacency, "contributions": comparisons, "epsilon": 2.0}
    scale, gamma = calibrate("laplace", **settings, gamma=30.0)
    spent = comparisons * math.log(1 + 2 * 2 / 30.0)
    assert (scale, gamma) == pytest.approx((constant * comparisons / (2.0 - spent), 30.0))
    scale, gamma = calibrate("laplace", **settings)  # a quarter of ε for the determinant
    assert scale == pytest.approx(constant * comparisons / 1.5)
    assert comparisons * math.log(1 + 4 / gamma) == pytest.approx(0.5)


def test_gaussian_noise_of_flips_is_the_gaussian_mechanism_on_the_totals():
    scale, gamma = calibrate(noise="gaussian", delta=1e-5, contributions=4, default_gamma=0.3)
    assert scale == pytest.approx(reference.gaussian_scale(4 * math.sqrt(2), 1.0, 1e-5), rel=1e-6)
    assert gamma == 0.3


@pytest.mark.parametrize(("comparisons", "epsilon", "delta"), [(1, 3.0, 0.05), (4, 0.5, 1e-6)])
@pytest.mark.parametrize(
    ("link", "adjacency"),
    [
        ("logistic", "replace"),
        ("logistic", "add-remove"),
        ("laplace", "flip"),
        ("laplace", "replace"),
        ("laplace", "add-remove"),
    ],
)
def test_gaussian_noise_is_what_the_theorem_asks_for(link, adjacency, comparisons, epsilon, delta):
    """Step by step, at a γ of ours, at the floor and at a given one.

    The determinant takes a quarter of ε and half of it under the Laplace link, nothing under the logistic one.
    """
    settings = {
        "contributions": comparisons,
        "epsilon": epsilon,
        "delta": delta,
        "noise": "gaussian",
    }
    floor = floor_of(
        link, adjacency=adjacency, contributions=comparisons, epsilon=epsilon, delta=delta
    )
    for wanted, share in ((None, 0.25), (floor, 0.5), (70.0 / epsilon * comparisons, None)):
        scale, gamma = calibrate(link, adjacency, gamma=wanted, default_gamma=1e-3, **settings)
        spent = reference_perturbation.determinant_share(link, comparisons, gamma)
        if link == "laplace" and share:
            assert spent == pytest.approx(share * epsilon, rel=1e-9)
        if link == "logistic" and share:
            assert gamma == pytest.approx(
                calibrate(link, adjacency, contributions=comparisons, epsilon=epsilon)[0]
            )
        expected = reference_perturbation.gaussian_perturbation_scale(
            link, adjacency, comparisons, epsilon, delta, gamma
        )
        assert scale == pytest.approx(expected, rel=1e-9)


def test_gaussian_noise_of_scores_is_close_to_that_of_the_gaussian_mechanism():
    """Users of 10 comparisons, ε = 1, δ = 1e-6: what a bound that pays for the determinant had at 216."""
    scale, gamma = calibrate(
        adjacency="replace", contributions=10, delta=1e-6, noise="gaussian", default_gamma=1e-3
    )
    plain = reference.gaussian_scale(20 * math.sqrt(2), 1.0, 1e-6)
    assert plain == pytest.approx(119.5, abs=0.1)
    assert 1 < scale / plain < 1.003
    assert gamma == pytest.approx(40.0)


def test_gaussian_noise_of_scores_is_never_rounded_below_the_exact_one():
    rng = np.random.default_rng(1)
    epsilons = (10 ** rng.uniform(-2.5, 1.3, 15)).astype(np.float32)
    deltas = (10 ** rng.uniform(-12, -0.3, 15)).astype(np.float32)
    exact = [
        reference_perturbation.gaussian_perturbation_scale(
            "logistic", "add-remove", 1, float(e), float(d), 0.0
        )
        for e, d in zip(epsilons, deltas)
    ]

    def scale(epsilon, delta):
        promised = promise(epsilon, adjacency="add-remove", delta=delta)
        link = links.get_link("logistic")
        return calibrate_objective_perturbation(link, promised, noise="gaussian")[0]

    scales = jax.jit(jax.vmap(scale))
    double = np.asarray(scales(epsilons.astype(float), deltas.astype(float))) / exact
    assert double.min() >= 1 - 1e-11  # the twin rounds as well
    assert double.max() <= 1 + 1e-9
    with jax.enable_x64(False):
        single = scales(epsilons, deltas)
        assert single.dtype == np.float32
    ratio = np.asarray(single, float) / exact
    assert ratio.min() >= 1.0
    assert ratio.max() <= 1.01


@pytest.mark.parametrize(
    ("adjacency", "noise", "link"),
    [
        (a, n, k)
        for a, n, k in itertools.product(
            ("flip", "replace", "add-remove"), ("laplace", "gaussian"), ("logistic", "laplace")
        )
        if (a, k) != ("flip", "logistic")
    ],
)
def test_gamma_below_its_floor_is_refused_and_raised_where_traced(adjacency, noise, link):
    settings = {
        "adjacency": adjacency,
        "noise": noise,
        "delta": 1e-3 if noise == "gaussian" else 0.0,
    }
    settings |= {"epsilon": 0.5, "contributions": 2}
    floor = floor_of(link, **{name: settings[name] for name in settings if name != "noise"})
    assert floor > 0
    with pytest.raises(ValueError, match=r"below .* least ridge"):
        calibrate(link, gamma=(1 - 1e-5) * floor, **settings)
    scale, _ = calibrate(link, gamma=floor, **settings)
    rounded = calibrate(link, gamma=(1 - 1e-7) * floor, **settings)
    assert rounded == (scale, floor)  # what float32 may take off is no refusal, and no loss
    promised, options = asked(settings)
    traced = jax.jit(
        lambda gamma: calibrate_objective_perturbation(
            links.get_link(link), promised, gamma=gamma, **options
        )
    )(0.01 * floor)
    assert traced == pytest.approx((scale, floor), rel=1e-6)


def test_flips_under_the_logistic_link_take_any_gamma():
    assert calibrate() == (2.0, 1.0)  # of one comparison, at the γ wanted unless told otherwise
    for gamma in (0.0, 1e-6, 1e6):
        assert calibrate(gamma=gamma) == pytest.approx((2.0, gamma))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
@pytest.mark.parametrize("link", ["logistic", "laplace"])
def test_infinite_epsilon_adds_no_noise(link, adjacency, noise):
    settings = {
        "adjacency": adjacency,
        "noise": noise,
        "delta": 1e-3 if noise == "gaussian" else 0.0,
    }
    assert calibrate(link, epsilon=math.inf, gamma=0.5, **settings) == (0.0, 0.5)

    def scale_at(epsilon):
        promised, options = asked({**settings, "epsilon": epsilon})
        return calibrate_objective_perturbation(links.get_link(link), promised, **options)[0]

    scales = jax.vmap(scale_at)(jnp.array([0.5, 1.0, 4.0, math.inf]))
    assert np.all(np.diff(scales) < 0)
    assert scales[-1] == 0.0


def test_normal_link_is_refused_with_the_alternatives():
    with pytest.raises(ValueError, match=r"κ₁ = ∞.*link='logistic'.*noisy_counts"):
        calibrate("normal")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": "cauchy"}, "noise must be one of"),
        ({"calibration": "loose"}, "calibration must be one of"),
        ({"unit": "user", "contributions": None}, "needs contributions=L"),
        ({"gamma": -1.0}, "gamma must be finite and at least 0"),
        ({"gamma": math.nan}, "gamma must be finite"),
        ({"noise": "gaussian"}, "needs delta > 0.*or choose noise='laplace'"),
        ({"noise": "gaussian", "delta": 0.1, "calibration": "published"}, "is for Laplace noise"),
    ],
)
def test_bad_arguments_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        calibrate(**settings)


@pytest.mark.parametrize("scale", [laplace_scale, lambda s, e: gaussian_scale(s, e, 0.1)])
@pytest.mark.parametrize(
    ("sensitivity", "epsilon"),
    [(0.0, 1.0), (math.inf, 1.0), (1.0, 0.0), (1.0, math.nan), (1.0, True)],
)
def test_scales_refuse_bad_arguments(scale, sensitivity, epsilon):
    with pytest.raises(ValueError, match=r"sensitivity must be|epsilon must be"):
        scale(sensitivity, epsilon)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_gaussian_scale_refuses_a_bad_delta(delta):
    with pytest.raises(ValueError, match="delta must be between 0 and 1"):
        gaussian_scale(1.0, 1.0, delta)
