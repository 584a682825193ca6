from __future__ import annotations

import itertools
import math
from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from scipy.spatial import distance

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import noisy_counts, questionnaire_counts
from privrank_jax.pairwise.questionnaire import questionnaire_sensitivity
from privrank_jax.pairwise.questionnaire_noise import noise_shape
from privrank_jax.pairwise.totals_noise import totals_sensitivity
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.geometry import gauge
from tests import reference
from tests.privacy_audit.search import unit_contents
from tests.promises import promise, split

ADJACENCIES = ("flip", "replace", "add-remove")
MATRIX = np.array([[0, 5, 2, 9], [1, 0, 4, 4], [3, 3, 0, 0.5], [0, 2, 0.5, 0]], float)
WINS = WinCounts.from_matrix(MATRIX)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("items", "limit"), [(2, 1), (3, 1), (3, 3), (4, 2)])
def test_sensitivity_is_attained_and_never_exceeded(items, limit, adjacency, order):
    """Brute force over everything that one unit of at most L comparisons can hold, ties included."""
    matrices, groups = unit_contents(items, limit)
    totals = matrices.sum(-1)
    largest = 0.0
    for number, total in enumerate(totals):
        others = {
            "flip": totals[groups == groups[number]],
            "replace": totals,
            "add-remove": totals[:1],
        }[adjacency]
        largest = max(largest, float(np.linalg.norm(others - total, order, axis=1).max()))
    unit = "comparison" if limit == 1 else "user"
    generic = totals_sensitivity(promise(1.0, unit, adjacency, limit), f"l{order}")
    assert largest == pytest.approx(generic)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("unit", "per_user"), [("comparison", 1), ("user", 5)])
def test_noise_scales(unit, per_user, adjacency, key):
    def scale(**settings):
        asked = promise(0.5, unit, adjacency, per_user, delta=1e-4)
        return float(noisy_counts(key, WINS, asked, **settings).diagnostics.noise_scale)

    wins_moved = (1 if adjacency == "add-remove" else 2) * per_user
    assert scale() == wins_moved / 0.5
    assert scale(calibration="published") == (2 if unit == "comparison" else per_user) / 0.5
    assert scale(sensitivity=1.5) == 3.0
    euclidean = wins_moved / (1 if adjacency == "add-remove" else math.sqrt(2))
    assert scale(noise="gaussian") == pytest.approx(
        reference.gaussian_scale(euclidean, 0.5, 1e-4), rel=1e-6
    )
    assert scale(noise="gaussian", sensitivity=1.5) == pytest.approx(
        reference.gaussian_scale(1.5, 0.5, 1e-4), rel=1e-6
    )


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noise_has_the_stated_distribution(noise, key):
    """KS test of 100,000 values: false-alarm rate 1e-6; a scale 10 % off in either direction is rejected.
    The variance lies within 6 standard errors, and items are uncorrelated (6 standard errors)."""
    asked = promise(0.8, delta=1e-3)
    draws = jax.vmap(lambda k: noisy_counts(k, WINS, asked, noise=noise).value)(
        jax.random.split(key, 25_000)
    )
    added = np.asarray(draws) - MATRIX.sum(1)
    scale = 2 / 0.8 if noise == "laplace" else reference.gaussian_scale(math.sqrt(2), 0.8, 1e-3)
    family = scipy.stats.laplace if noise == "laplace" else scipy.stats.norm

    def agrees(assumed):
        law = family(scale=assumed).cdf
        return scipy.stats.kstest(added.ravel(), law, method="asymp").pvalue > 1e-6

    assert agrees(scale)
    assert not agrees(0.9 * scale)
    assert not agrees(1.1 * scale)
    variance, fourth = (2, 24) if noise == "laplace" else (1, 3)
    error = math.sqrt((fourth - variance**2) / added.size) * scale**2
    assert abs(added.var() - variance * scale**2) < 6 * error
    correlation = np.corrcoef(added.T) - np.eye(4)
    assert np.abs(correlation).max() < 6 / math.sqrt(len(added))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("unit", ["comparison", "user"])
@pytest.mark.parametrize("calibration", ["tight", "published"])
def test_guarantee(calibration, unit, adjacency, key):
    """The published scale for users proves 2ε, except where users are added or removed."""
    guarantee = noisy_counts(
        key, WINS, promise(0.5, unit, adjacency, 3), calibration=calibration
    ).guarantee
    doubled = calibration == "published" and unit == "user" and adjacency != "add-remove"
    assert float(guarantee.epsilon) == (1.0 if doubled else 0.5)
    assert bool(guarantee.note) == doubled
    assert (guarantee.unit, guarantee.adjacency, guarantee.trust) == (unit, adjacency, "central")
    assert float(guarantee.delta) == 0.0


def test_gaussian_guarantee_carries_delta(key):
    guarantee = noisy_counts(key, WINS, promise(0.5, delta=1e-4), noise="gaussian").guarantee
    assert (float(guarantee.epsilon), float(guarantee.delta)) == (0.5, 1e-4)
    laplace = noisy_counts(key, WINS, promise(0.5, delta=1e-4)).guarantee
    assert (float(laplace.delta), float(laplace.promise.delta)) == (0.0, 1e-4)


def test_no_noise_at_infinite_epsilon_and_ties_count_half(key):
    np.testing.assert_array_equal(
        noisy_counts(key, WINS, promise(math.inf)).value, [16.0, 9.0, 6.5, 2.5]
    )
    gaussian = noisy_counts(key, WINS, promise(math.inf, delta=0.1), noise="gaussian")
    np.testing.assert_array_equal(gaussian.value, [16.0, 9.0, 6.5, 2.5])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": "cauchy"}, "noise must be one of"),
        ({"calibration": "loose"}, "calibration must be one of"),
        ({"unit": "user", "contributions": None}, "needs contributions=L"),
        ({"noise": "gaussian"}, "needs delta > 0.*or choose noise='laplace'"),
        (
            {"calibration": "published", "noise": "gaussian", "delta": 0.1},
            "published calibration has",
        ),
        ({"calibration": "published", "sensitivity": 1.0}, "published calibration has"),
        ({"sensitivity": 0.0}, "sensitivity must be positive"),
    ],
)
def test_bad_arguments_are_refused(settings, message, key):
    asked, options = split(settings)
    with pytest.raises(ValueError, match=message):
        noisy_counts(key, WINS, asked, **options)


def test_promises_that_cannot_be_kept_are_refused_with_advice(key):
    with pytest.raises(TypeError, match="say what is protected"):
        noisy_counts(key, WINS, 1.0)
    users = promise(1.0, "user", contributions=None)
    assert float(noisy_counts(key, WINS, users, sensitivity=1.5).diagnostics.noise_scale) == 1.5


def test_a_sweep_over_promises_is_one_vmap_and_one_program(key):
    """ε and L of a promise are leaves; the guarantee says what each attains."""
    traces = []

    @jax.jit
    def run(asked):
        traces.append(1)
        return noisy_counts(key, WINS, asked)

    for epsilons in ([0.5, 1.0], [2.0, 4.0]):
        limits = jnp.array([3, 5])
        sweep = promise(jnp.array(epsilons), "user", contributions=limits)
        swept = jax.vmap(run, in_axes=(sweep.axes(epsilon=0, contributions=0),))(sweep)
        np.testing.assert_allclose(swept.diagnostics.noise_scale, 2 * limits / jnp.array(epsilons))
        np.testing.assert_array_equal(swept.guarantee.epsilon, epsilons)
        alone = noisy_counts(key, WINS, promise(epsilons[1], "user", contributions=5))
        np.testing.assert_allclose(swept.value[1], alone.value, rtol=1e-14)
    assert len(traces) == 1


# --- noise for users who are asked a public questionnaire

ASKED = questionnaire_counts([(0, 1), (1, 2), (0, 2), (0, 1), (2, 3)], 4)


def asked(epsilon, adjacency, **fields):
    return Privacy(epsilon, unit="user", adjacency=adjacency, public=("questionnaire",), **fields)


@pytest.mark.parametrize("adjacency", ["flip", "replace"])
def test_k_norm_noise_has_the_gauge_of_a_gamma_variable(adjacency, key):
    """The norm of noise of density ∝ e^{-ε‖z‖} in p dimensions is Gamma(p, 1/ε). KS test of 4,000 values: false-alarm
    rate 1e-6; a scale 10 % off in either direction is rejected. Means are within 5 standard errors of 0."""
    draws = jax.jit(
        jax.vmap(lambda k: noisy_counts(k, WINS, asked(0.8, adjacency), questionnaire=ASKED).value)
    )(jax.random.split(key, 4000))
    added = np.asarray(draws) - MATRIX.sum(1)
    error = added.std(0) / math.sqrt(len(added))
    assert np.all(np.abs(added.mean(0)) < 5 * error)
    if adjacency == "flip":
        np.testing.assert_allclose(added.sum(1), 0, atol=1e-9)
    else:
        added = np.hstack([added, -added.sum(1, keepdims=True)])
    shape = noise_shape(ASKED, adjacency)
    gauges = jax.jit(jax.vmap(lambda z: gauge(shape, z)))(added)
    dimension = 3 if adjacency == "flip" else 4

    def agrees(epsilon):
        law = scipy.stats.gamma(dimension, scale=1 / epsilon)
        return scipy.stats.kstest(np.asarray(gauges), law.cdf).pvalue > 1e-6

    assert agrees(0.8)
    assert not agrees(0.88)
    assert not agrees(0.72)


@pytest.mark.parametrize(
    ("adjacency", "l1"), [("flip", 8.0), ("replace", 9.0), ("add-remove", 5.0)]
)
def test_a_questionnaire_implies_the_sensitivity(adjacency, l1, key):
    def scale(privacy, **settings):
        found = noisy_counts(key, WINS, privacy, questionnaire=ASKED, **settings)
        return float(found.diagnostics.noise_scale)

    promised = asked(0.5, adjacency, delta=1e-4)
    assert scale(promised, noise="laplace") == l1 / 0.5
    shaped = adjacency != "add-remove"
    assert scale(promised) == (1.0 if shaped else l1) / 0.5
    pairs = [(0, 1), (1, 2), (0, 2), (0, 1), (2, 3)]
    euclidean = questionnaire_sensitivity(pairs, 4, promised, "l2")
    assert scale(promised, noise="gaussian") == pytest.approx(
        reference.gaussian_scale(euclidean, 0.5, 1e-4), rel=1e-6
    )
    # Users who answer one of the questions change as much as one comparison.
    one = asked(0.5, adjacency, contributions=1)
    assert scale(one, noise="laplace") == (1 if adjacency == "add-remove" else 2) / 0.5


def test_the_guarantee_says_that_the_questionnaire_is_public(key):
    replaced = noisy_counts(key, WINS, asked(1.0, "replace"), questionnaire=ASKED).guarantee
    assert replaced.public == ("questionnaire",)
    assert "which pairs each user was asked is taken as public" in replaced.in_words()
    flipped = noisy_counts(key, WINS, asked(1.0, "flip", delta=0.1), questionnaire=ASKED).guarantee
    assert (flipped.public, flipped.delta) == ((), 0.0)
    assert "who compared which items is taken as public" in flipped.in_words()


def test_a_traced_questionnaire_serves_k_norm_noise(key):
    """One program for several questionnaires, with the numbers of each by itself; other noise has to know it."""
    each = np.stack([ASKED, questionnaire_counts([(0, 1), (2, 3)], 4)])

    @jax.jit
    def run(counts):
        return noisy_counts(key, WINS, asked(1.0, "flip"), questionnaire=counts).value

    for counts, row in zip(each, jax.vmap(run)(each)):
        alone = noisy_counts(key, WINS, asked(1.0, "flip"), questionnaire=counts).value
        np.testing.assert_allclose(row, alone, rtol=1e-12)
    with pytest.raises(ValueError, match="traced questionnaire"):
        jax.jit(
            lambda counts: (
                noisy_counts(
                    key, WINS, asked(1.0, "flip"), questionnaire=counts, noise="laplace"
                ).value
            )
        )(ASKED)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": "k-norm"}, "give questionnaire"),
        ({"questionnaire": ASKED, "calibration": "published"}, "published calibration has"),
        (
            {"questionnaire": ASKED, "noise": "k-norm", "adjacency": "add-remove"},
            "flip' or 'replace",
        ),
        ({"questionnaire": ASKED, "sensitivity": 2.0}, "leave one of the two out"),
        ({"questionnaire": ASKED, "noise": "cauchy"}, "noise must be one of 'k-norm'"),
    ],
)
def test_questionnaires_that_serve_nothing_are_refused(settings, message, key):
    fields = {"adjacency": "flip", **settings}
    promised = asked(1.0, fields.pop("adjacency"))
    with pytest.raises(ValueError, match=message):
        noisy_counts(key, WINS, promised, **fields)


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


def test_a_bound_per_item_is_a_positive_number():
    with pytest.raises(ValueError, match="per_item"):
        totals_sensitivity(promise(1.0, "user", "flip", 3), "l2", per_item=0)
