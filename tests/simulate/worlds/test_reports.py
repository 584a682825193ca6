"""Randomized reports: one uniform each, against exact probabilities and the public functions."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.simulate.worlds import reports

KEY = jax.random.key(20261121)
FIRST, SECOND = np.triu_indices(3, 1)


def upper(matrix):
    return np.asarray(matrix)[..., FIRST, SECOND]


@pytest.fixture(scope="module")
def many():
    """Sums of one user asked about three pairs, by all mechanisms, over 10,000 keys.

    A key draws the reports of a whole block of users. Five standard errors of a share are at most 0.025, and another ε
    is seen: 1.2 instead of 1.5 in the flips, 1.4 in the noise.
    """
    chances = jnp.array([0.2, 0.5, 0.9])
    keys = jax.random.split(KEY, 10_000)

    def draw(key):
        args = (key, chances, jnp.array([1.5]), None, 0.6)
        return reports.draw_report_sums(*args), reports.mechanism_sums(*args)

    return chances, jax.jit(jax.vmap(draw))(keys)


def near(draws, expected, deviation):
    """The mean over the draws is within five standard errors of what it should be."""
    slack = 5 * np.asarray(deviation) / np.sqrt(len(draws))
    np.testing.assert_array_less(abs(np.mean(draws, 0) - expected), slack)


def test_a_report_is_unobserved_one_or_zero_with_the_exact_probabilities(many):
    chances, (sums, _) = many
    tanh = np.tanh(0.75)
    margins, weights = upper(sums.margins), upper(sums.weights)
    # A report moves D by ±t/2 where it was asked for, and W by t² there.
    assert set(np.unique(np.round(margins / tanh, 6))) == {-0.5, 0.0, 0.5}
    np.testing.assert_allclose(weights, (margins != 0) * tanh**2, rtol=1e-6)
    flip = 1 / (np.exp(1.5) + 1)
    says = flip + (1 - 2 * flip) * np.asarray(chances)
    for value, probability in ((0.5, 0.6 * says), (-0.5, 0.6 * (1 - says)), (0, 0.4)):
        seen = np.isclose(margins / tanh, value, atol=1e-6)
        near(seen, probability, np.sqrt(np.asarray(probability) * (1 - probability)))


def test_mechanisms_have_their_own_laws_on_the_same_answers(many):
    chances, (_, sums) = many
    chances, tanh = np.asarray(chances), np.tanh(0.75)
    asked = upper(sums.plain.weights)
    assert set(np.unique(asked)) == {0.0, 1.0}
    np.testing.assert_array_equal(upper(sums.laplace.weights), asked)
    wins = upper(sums.wins.matrix)
    assert set(np.unique(wins)) == {0.0, 1.0}
    near(wins, 0.6 * chances, np.sqrt(0.6 * chances * (1 - 0.6 * chances)))
    reported = upper(sums.plain.margins)
    np.testing.assert_allclose(upper(sums.adaptive.margins), tanh * reported, rtol=1e-5)
    near(reported, 0.6 * tanh * (chances - 0.5), 0.5)
    # A flip turns an answer with probability 1/(e^ε+1), whatever the answer.
    flipped = (reported > 0) != (wins > 0)
    for answer in (False, True):
        chosen = (asked > 0) & ((wins > 0) == answer)
        near(flipped[chosen], 1 / (np.exp(1.5) + 1), 0.4)
        with pytest.raises(AssertionError):
            near(flipped[chosen], 1 / (np.exp(1.2) + 1), 0.4)
    noise = (upper(sums.laplace.margins) - (wins - 0.5 * asked))[asked > 0]
    near(noise, 0.0, np.sqrt(2) / 1.5)
    near(abs(noise), 1 / 1.5, 1 / 1.5)
    with pytest.raises(AssertionError):
        near(abs(noise), 1 / 1.4, 1 / 1.4)
    near(noise > np.log(2) / 1.5, 0.25, 0.5)


def test_the_first_users_do_not_depend_on_those_after_them():
    chances = np.full(3, 0.7)
    epsilon = np.linspace(0.5, 3, 150)
    draw = jax.jit(functools.partial(reports.draw_report_sums, KEY, chances))
    part, padded = draw(epsilon[:70]), draw(epsilon, 70)
    np.testing.assert_array_equal(part.margins, padded.margins)
    whole = draw(epsilon, 150)
    assert np.all(upper(whole.weights) > upper(part.weights))
    np.testing.assert_allclose(upper(whole.weights), np.sum(np.tanh(epsilon / 2) ** 2), rtol=1e-6)
    run = jax.jit(jax.vmap(lambda users: reports.mechanism_sums(KEY, chances, epsilon, users)))
    assert upper(run(np.array([70, 150])).plain.weights)[:, 0].tolist() == [70, 150]


def test_masked_items_have_no_reports():
    args = (KEY, np.full(3, 0.7), np.ones(20), None, 1.0, np.array([True, False, True]))

    @jax.jit
    def drawn():
        return reports.draw_report_sums(*args), reports.mechanism_sums(*args).laplace

    for sums in jax.tree.map(np.asarray, drawn()):
        assert not np.any(sums.weights[1])
        assert not np.any(sums.margins[:, 1])
        assert sums.weights[0, 2] > 0
        np.testing.assert_array_equal(sums.margins, -sums.margins.T)


def test_uniform_scores_are_centered_and_padded():
    theta, mask = jax.jit(reports.uniform_scores, static_argnums=(1, 2))(KEY, 4, 6)
    assert mask.tolist() == [True] * 4 + [False] * 2
    assert not np.any(np.asarray(theta)[4:])
    np.testing.assert_allclose(np.sum(theta), 0, atol=1e-12)
    draw = jax.jit(jax.vmap(lambda key: reports.uniform_scores(key, 3)[0]))
    many = draw(jax.random.split(KEY, 4000))
    # Var(U - mean of 3) = (1/3)(2/3)
    np.testing.assert_allclose(np.var(many), 2 / 9, atol=0.01)


def test_bad_arguments_are_refused():
    good = {"key": KEY, "chances": jnp.full(3, 0.5), "epsilon": jnp.ones(4)}
    for change, message in (
        ({"chances": jnp.full(4, 0.5)}, "pairs"),
        ({"epsilon": jnp.ones(())}, "epsilon must have shape"),
        ({"epsilon": jnp.zeros(4)}, "epsilon"),
        ({"probability": 1.5}, "probability"),
        ({"mask": jnp.ones(4, bool)}, "mask"),
    ):
        for function in (reports.draw_report_sums, reports.mechanism_sums):
            with pytest.raises(ValueError, match=message):
                function(**{**good, **change})
