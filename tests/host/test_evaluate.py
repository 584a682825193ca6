"""Functions of the library by NumPy, against compiled ones; control flow; what is not known is compiled."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax._host import evaluate as module
from privrank_jax._host.evaluate import evaluate, quickly
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.intervals import interval_estimates
from privrank_jax.privacy.geometry import Zonotope, uniform
from tests.host.agreement import assert_agree


def bisect(x):
    """A loop whose turns differ between the entries of a batch."""

    def turn(state):
        low, high = state
        middle = (low + high) / 2
        return jnp.where(middle**2 > x, low, middle), jnp.where(middle**2 > x, middle, high)

    return jax.lax.while_loop(lambda s: s[1] - s[0] > x * 1e-6, turn, (0.0 * x, x + 1))[0]


CONTROL = {
    "while": lambda x: bisect(x[1]),
    "batch": lambda x: jax.vmap(bisect)(x),
    "for": lambda x: jax.lax.fori_loop(0, 5, lambda i, s: s + i * x, x),
    "scan": lambda x: jax.lax.scan(lambda s, y: (s + y, s * y), 0.0, x),
    "reverse": lambda x: jax.lax.scan(lambda s, y: (s + y, s * y), 0.0, x, reverse=True),
    "nothing": lambda x: jax.lax.scan(lambda s, y: (s + y, s * y), 1.0, x[:0]),
    "map": lambda x: jax.lax.map(lambda y: jnp.stack([y, y + 1]), x),
    "branch": lambda x: [
        jax.lax.cond(x[0] < 1, lambda y: y + 1, lambda y: y - 1, x),
        jax.lax.switch(jnp.int32(7), [jnp.sin, jnp.cos, jnp.abs], x),
    ],
    "branches": lambda x: jax.vmap(lambda y: jax.lax.cond(y < 1, jnp.exp, jnp.negative, y))(x),
    "jit": lambda x: jax.jit(lambda y: jax.jit(jnp.sum)(y) + y)(x),
    "derivative": lambda x: jax.grad(lambda y: jnp.sum(jax.nn.softplus(y) ** 2))(x),
    "own derivative": lambda x: jax.vmap(jax.nn.relu)(x - 1),
    "expanded": lambda x: [jnp.searchsorted(x, x + 1), jnp.ldexp(x, 2)],
    "rematerialized": lambda x: jax.checkpoint(lambda y: jnp.sin(y) * 2)(x),
    "solve": lambda x: jax.lax.custom_linear_solve(
        lambda y: 2 * y, x, solve=lambda _, b: b / 2, symmetric=True
    ),
}


def test_control_flow_is_that_of_jax():
    assert_agree(CONTROL, np.array([0.2, 2.0, 3.0, 50.0]), tolerance=1e-13)


def wins(items, kind):
    """Win counts: well connected, with half wins of ties, in two groups, or of an item that never lost."""
    drawn = np.random.default_rng(items).integers(0, 9, (items, items)) * 1.0
    if kind == "ties":
        drawn += 0.5 * np.ones_like(drawn)
    elif kind == "groups":
        drawn[:2, 2:] = drawn[2:, :2] = 0
    elif kind == "separated":
        drawn[:, 0] = 0
    np.fill_diagonal(drawn, 0)
    return drawn


@pytest.mark.parametrize("kind", ["ties", "groups", "separated"])
@pytest.mark.parametrize("link", ["logistic", "laplace", "normal"])
def test_fits_agree(link, kind):
    """With a ridge, the same scores to 1e-8; without one, what is said of the data."""

    def fit(matrix, gamma):
        return pairwise.mle(WinCounts(matrix), link=link, gamma=gamma)

    for gamma in (0.0, 0.7):
        counts = wins(5, kind)
        found, wanted = evaluate(fit, counts, gamma), fit(jnp.asarray(counts), gamma)
        for name in ("components", "separated"):
            assert getattr(found.diagnostics, name) == getattr(wanted.diagnostics, name)
        if gamma or kind == "ties":
            assert found.diagnostics.code == wanted.diagnostics.code == 0
            np.testing.assert_allclose(found.value, wanted.value, atol=1e-8)


def test_more_items_are_fitted_by_conjugate_gradients_alike():
    counts = wins(20, "ties")
    found = evaluate(lambda matrix: pairwise.mle(WinCounts(matrix)), counts)
    np.testing.assert_allclose(
        found.value, pairwise.mle(WinCounts(jnp.asarray(counts))).value, atol=1e-8
    )


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "k-norm"])
def test_intervals_agree(noise):
    counts = wins(5, "ties")
    both, totals = counts + counts.T, counts.sum(1)
    asked = None if noise != "k-norm" else np.ones((5, 5)) - np.eye(5)

    def fit(totals, met):
        return pairwise.fit(pairwise.Counts(met), totals, 1.0)

    scores = evaluate(fit, totals, both).value
    np.testing.assert_allclose(scores, fit(totals, both).value, atol=1e-8)
    for method, value in (("mle", scores), ("counts", totals)):
        estimate = functools.partial(
            interval_estimates, method=method, noise_scale=0.7, noise=noise, questionnaire=asked
        )
        found, wanted = evaluate(estimate, value, both), estimate(value, both)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted)):
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_points_of_a_body_are_the_same_bits(key):
    """Loops over batches, gathers, scatters and random bits in one: not one bit differs."""
    keys = jax.random.split(key, 50)
    lengths = np.array([[0, 2, 0, 1], [2, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], float)
    for body in (Zonotope(lengths), Zonotope.of_all_pairs(4)):
        draw = jax.vmap(uniform, (0, None))
        np.testing.assert_array_equal(evaluate(draw, keys, body), jax.jit(draw)(keys, body))


def compiled(run):
    """The number of programs that a function compiles."""
    events = []

    def count(event, *_, **__):
        if event == "/jax/core/compile/backend_compile_duration":
            events.append(event)

    jax.monitoring.register_event_duration_secs_listener(count)
    try:
        run()
    finally:
        jax.monitoring.unregister_event_duration_listener(count)
    return len(events)


def test_nothing_is_compiled():
    counts = wins(7, "ties")

    def fit():
        evaluate(lambda matrix: pairwise.mle(WinCounts(matrix)), counts)

    assert compiled(fit) == 0
    assert (
        compiled(lambda: evaluate(lambda x: [rule(x) for rule in CONTROL.values()], np.ones(4)))
        == 0
    )
    assert compiled(lambda: jax.jit(lambda x: x * 3.25 + 1.125)(np.arange(13.0))) > 0


def test_what_no_output_needs_is_not_computed(monkeypatch):
    """Nor need it be known; what an output needs is, through other operations too."""

    def half_used(x):
        """One cosine is needed, and the exponentials are not."""
        return jnp.cos(x) + 1, jnp.exp(jnp.exp(x))

    for rules in (module._ONE_RESULT, module._CONTROL):
        monkeypatch.delitem(rules, "exp", raising=False)
    monkeypatch.setattr(module, "concretely", None)
    assert evaluate(lambda x: half_used(x)[0], 0.5) == pytest.approx(np.cos(0.5) + 1)
    with pytest.raises(TypeError, match="not callable"):
        evaluate(half_used, 0.5)


def test_what_is_not_known_is_compiled(monkeypatch):
    monkeypatch.delitem(module._ONE_RESULT, "sin")
    monkeypatch.setattr(module, "_ONE_RESULT", dict(module._ONE_RESULT))
    value = evaluate(lambda x: jnp.sin(x) + 1, np.arange(3.0))
    np.testing.assert_allclose(value, np.sin(np.arange(3.0)) + 1)
    other = evaluate(lambda k: jax.random.bits(k, (2,)), jax.random.key(1, impl="rbg"))
    np.testing.assert_array_equal(other, jax.random.bits(jax.random.key(1, impl="rbg"), (2,)))


def test_known_arguments_give_known_results_within_a_traced_function():
    """Which staged programs do not: their results are not known until the function runs."""
    double = jax.jit(lambda x: 2 * x)
    known = jnp.arange(3.0)

    def caller(x):
        found = module.concretely(double, known)
        assert not isinstance(found, jax.core.Tracer)
        return x * np.asarray(found).sum()

    assert float(jax.jit(caller)(1.0)) == float(caller(1.0)) == 6


TRACED = []


def scaled(x, factor, name=None):
    """``x`` times a setting, noted while it is traced."""
    TRACED.append((factor, name))
    return jnp.copysign(x * factor, factor)


def test_equal_settings_are_traced_once_and_others_are_not_mistaken_for_them():
    settings = (1, 1.0, True, np.float64(1), 0.0, -0.0)
    found = [evaluate(functools.partial(scaled, factor=one), 3) for one in settings * 2]
    signs = [np.copysign(1.0, one).item() for one in found]
    assert signs == [1, 1, 1, 1, 1, -1] * 2
    assert [one.dtype for one in found[:6]] == [
        jax.jit(lambda x, s=s: jnp.copysign(x * s, s))(3).dtype for s in settings
    ]
    assert len(TRACED) == len(settings) + 1  # negative zero, which equals zero, every time
    for array in (np.ones(2), np.zeros(2)):
        result = evaluate(functools.partial(scaled, factor=array), np.ones(2))
        np.testing.assert_array_equal(result, array)
    evaluate(functools.partial(scaled, factor=1.0), np.ones(2))
    evaluate(functools.partial(scaled, factor=1.0, name="other"), 3)
    assert len(TRACED) == len(settings) + 5


def test_traced_and_large_arguments_go_to_the_function():
    seen = []

    def double(x):
        seen.append(isinstance(x, jax.core.Tracer))
        return x * 2

    assert isinstance(jax.jit(lambda x: quickly(double, x))(1.0), jax.Array)
    assert isinstance(quickly(double, np.ones(3)), np.ndarray)
    assert seen == [True, True]
    quickly(double, np.ones(module._SMALL + 1))
    assert seen[-1] is False


def test_results_have_the_types_of_jax():
    found = evaluate(lambda x: (x + 1, x > 0, x.astype(jnp.float32)), 3)
    assert [one.dtype for one in found] == [np.dtype(int), np.dtype(bool), np.dtype(np.float32)]
