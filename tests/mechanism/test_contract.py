"""What every record keeps: its numbers, what one unit moves of them, the law of its noise, use, refusals."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax.privacy import Privacy
from tests.mechanism.cases import CASES
from tests.quick import soon, thorough
from tests.reference import calibration

DELTA = 1e-5


def promises_of(case):
    return case.promises or [
        Privacy(1.0, unit=unit, adjacency=adjacency) for unit, adjacency in case.record.kinds
    ]


EACH = [
    pytest.param(case, promise, noise, id=f"{name}-{promise.adjacency}-{noise}")
    for name, case in CASES.items()
    for promise in promises_of(case)
    for noise in case.noises or case.record.noises
]
FIRST = [one for one in EACH if one.values[1] == promises_of(one.values[0])[0]]


def each(*more):
    """All of them; the quick tier has Laplace noise, and others of which no other case has the kind."""
    by_facets = (f"{name}-k-norm" for name in ("dp_borda-a*", "dp_scores-a*", "*, replace*"))
    cases = soon(EACH, "*-laplace", "*one item-add*-gaussian", *by_facets, *more)
    return pytest.mark.parametrize(("case", "template", "noise"), cases)


def drawn_alike(case, template, noise):
    """Whether the promise changes nothing of independent noise but its scale."""
    return noise != "k-norm" and not case.units.center_of(template.adjacency, noise)


DRAWN = [one for one in EACH if one in FIRST or not drawn_alike(*one.values)]


# Simulated and exact; tests/privacy and tests/exact draw from each body alone.
LAWS = [pytest.param(*one.values, x, id=f"{one.id}-{x}") for one in DRAWN for x in (False, True)]
SOON = ("dp_footrule-*-False", "*rule-*-k-norm-True", "*plurality-rep*-False", "noisy_ties*-False")


def promised(epsilon, template, noise, **more):
    delta = DELTA if noise == "gaussian" else 0.0
    return dataclasses.replace(template, epsilon=epsilon, delta=delta, **more)


def read(case, value):
    """The noisy numbers of a value, or of several."""
    value = np.asarray(value)
    found = case.units.read(value)
    kept = value.ndim - found.ndim  # a matrix of which a vector is read
    return found if not kept else found.reshape(*value.shape[: -1 - kept], -1)


def wanted(case, template, noise, users):
    """The released numbers without noise."""
    return case.units.released(template.adjacency, noise)(np.sum(users, axis=0)[None])[0]


@each()
@pytest.mark.parametrize("size", [1, thorough(2), 5])
def test_without_noise_the_numbers_are_those_of_the_naive_twin(case, template, noise, size, key):
    """Also of padded data. Exact Laplace and Gaussian noise is 0 here but for a chance below 1e-100."""
    chosen = np.random.default_rng(size).integers(0, len(case.units.contents), size)
    users = [case.units.contents[k] for k in chosen]
    data, right = case.data(users), wanted(case, template, noise, users)
    told = {"noise": noise, **case.public}
    free, tight = (promised(epsilon, template, noise) for epsilon in (jnp.inf, 1e5))
    found = case.record(key, data, free, **told).value
    np.testing.assert_allclose(read(case, found), right, atol=1e-5)
    exact = case.record.release(data, tight, **told)
    np.testing.assert_allclose(read(case, exact.value), right, atol=0.1)
    if case.padded is not None:
        more, mask = case.padded(data)
        inner = np.asarray(case.record(key, more, free, **told).value)[mask]
        if inner.ndim == 2:  # positions are those of real items, which come first
            kept = slice(mask.sum()) if case.record.name == "dp_footrule" else mask
            inner = inner[:, kept]
        np.testing.assert_allclose(read(case, inner), right, atol=1e-5)


# Gaussian losses of the others are enumerated soon by tests/privacy_audit.
ENUMERATED = ("dp_borda", "noisy_counts", "dp_scores of one item")
GAUSSIAN = [one.id for one in FIRST if "gauss" in one.id and not one.id.startswith(ENUMERATED)]


@each(*GAUSSIAN)
def test_the_noise_is_the_least_for_what_one_unit_moves(case, template, noise, key):
    """Over all that a unit can hold: ε is lost and no more, so with less noise it would be exceeded."""
    data = case.data(list(case.balanced))
    promise = promised(0.7, template, noise)
    center = case.units.center_of(template.adjacency, noise)
    most = case.units.norm(noise, case.units.moved(template.adjacency, center)).max()
    users = 2 if case.record.data.mean and template.adjacency != "add-remove" else 1
    simulated = case.record(key, data, promise, noise=noise, **case.public)
    exact = case.record.release(data, promise, noise=noise, **case.public)
    if noise == "gaussian":
        scale = calibration.gaussian_scale(most / users, 0.7, DELTA)
    else:
        scale = most / users / 0.7
    for found in (simulated, exact):
        assert float(found.diagnostics.noise_scale) == pytest.approx(scale, rel=1e-5)
        assert float(found.diagnostics.center) == center
        assert found.guarantee.attained == dataclasses.replace(
            promise, delta=DELTA if noise == "gaussian" else 0.0
        )
    if case.padded is not None:
        more, mask = case.padded(data)
        wide = case.record(key, more, promise, noise=noise, **case.public)
        assert float(wide.diagnostics.noise_scale) == pytest.approx(scale, rel=1e-5)
        if case.record.name != "dp_footrule":  # which gives padded items the last places
            assert not np.any(np.asarray(wide.value)[~mask])
    assert exact.guarantee.numerics == "exact"
    if template.contributions:  # of more answers a unit moves as much more
        many = dataclasses.replace(promise, contributions=5 * template.contributions)
        of_many = case.record(key, data, many, noise=noise, **case.public)
        assert float(of_many.diagnostics.noise_scale) == pytest.approx(5 * scale, rel=1e-5)
    spread(case, template, noise, center, exact.guarantee)


def spread(case, template, noise, center, guarantee):
    """How a change spreads over the whole numbers, for composition: majorized by what is stated, and attained."""
    times = case.record.data.times
    grid = 2 if center and times == 1 else case.parts  # halves of the center are made whole
    moved = case.units.moved(template.adjacency, center)
    moves = np.sort(np.abs(times * grid * moved), axis=1)[:, ::-1]
    if noise == "laplace":
        stated = np.zeros(moves.shape[1])
        stated[: len(guarantee.changes)] = sorted(guarantee.changes, reverse=True)
        assert np.all(np.cumsum(moves, 1) <= np.cumsum(stated) + 1e-9)
        assert moves.sum(1).max() == pytest.approx(stated.sum())
    else:
        assert guarantee.changes == ()
    assert (guarantee.rho is not None) == (noise == "gaussian")


def norms(case, noise, drawn, scale):
    """Of noise by its scale, and the law that they have."""
    size = case.units.norm(noise, drawn) / scale
    dimension = np.linalg.matrix_rank(case.units.facets) if noise == "k-norm" else drawn.shape[1]
    if noise == "gaussian":
        return size**2, stats.chi2(dimension)
    return size, stats.gamma(dimension)


@pytest.mark.parametrize(("case", "template", "noise", "exact"), soon(LAWS, *SOON))
def test_noise_has_the_stated_law(case, template, noise, exact, key):
    """Norms of 2,000 draws by the facets, of few numbers more; their mean tells a scale that is 10 % off, but once
    in a million times. False alarms: two in a million."""
    users = list(case.balanced) * (100 if case.made else 1000)
    data, promise = case.data(users), promised(0.1, template, noise)
    right, told = wanted(case, template, noise, users), {"noise": noise, **case.public}
    draws = max(2000, 12_000 // int(norms(case, noise, right[None], 1.0)[1].args[0]))
    if exact:
        found = [case.record.release(data, promise, **told) for _ in range(draws)]
        values = np.array([read(case, one.value) for one in found])
        scale = found[0].diagnostics.noise_scale
    else:
        run = jax.jit(jax.vmap(lambda key: case.record(key, data, promise, **told)))
        found = run(jax.random.split(key, draws))
        values, scale = read(case, found.value), float(found.diagnostics.noise_scale[0])
    drawn = np.asarray(values, float) - right
    for factor, agrees in ((1, True), (0.9, False), (1.1, False)):
        sizes, law = norms(case, noise, drawn, factor * scale)
        errors = abs(sizes.mean() - law.mean()) / law.std() * draws**0.5
        assert (errors < 5 and stats.kstest(sizes, law.cdf).pvalue > 1e-6) == agrees
    deviation = np.sqrt((drawn**2).mean(0))
    np.testing.assert_allclose(drawn.mean(0), 0, atol=6 * deviation.max() / draws**0.5)
    if noise != "k-norm":
        each = deviation / case.units.scales(case.units.nominal, noise)
        np.testing.assert_allclose(each, each.mean(), rtol=0.15)


@pytest.mark.parametrize(
    ("case", "template", "noise"),
    soon(FIRST, *(f"{name}-*-laplace" for name in ("dp_borda", "dp_footrule", "noisy_ties"))),
)
def test_of_a_batch_values_are_those_of_single_calls(case, template, noise, key):
    """Over keys and ε; tests/test_transformations.py and test_real_arguments.py have jit and derivatives."""
    data = case.data(list(case.balanced) * 50)

    def run(key, epsilon):
        told = promised(epsilon, template, noise)
        return case.record(key, data, told, noise=noise, **case.public).value

    keys, budgets = jax.random.split(key, 2), jnp.array([1.0, 2.0])
    both = jax.jit(jax.vmap(run))(keys, budgets)
    for place in range(2):
        alone = run(keys[place], float(budgets[place]))
        np.testing.assert_allclose(both[place], alone, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_does_not_fit_is_refused(case, key):
    record, data = case.record, case.data(list(case.balanced))
    template = promises_of(case)[0]
    good = promised(1.0, template, "laplace")
    for given, promise, noise, error, word in [
        (case.wrong, good, "laplace", TypeError, record.name),
        (data, 1.0, "laplace", TypeError, "Privacy"),
        (data, case.refused, "laplace", ValueError, "promise"),
        (data, good, "gaussian", ValueError, "delta"),
        (data, good, "tree", ValueError, "noise"),
    ]:
        for call in (functools.partial(record, key), record.release):
            with pytest.raises(error, match=word):
                call(given, promise, noise=noise, **case.public)
    if all(unit == "user" for unit, _ in record.kinds):
        with pytest.raises(ValueError, match="contributions"):
            record(key, data, promised(1.0, template, "laplace", contributions=3), noise="laplace")
    for epsilon in (jnp.inf, np.ones(2)):
        with pytest.raises(ValueError, match="epsilon"):
            record.release(data, promised(epsilon, template, "laplace"), noise="laplace")
    if case.padded is not None:
        with pytest.raises(ValueError, match="no padding"):
            record.release(case.padded(data)[0], good, noise="laplace")
