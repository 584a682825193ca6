"""Fits with private covariates: the noise that they need has its law, tables of public scales, refusals."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from tests.promises import promise
from tests.reference import conditional_logit as naive

ITEMS = 3
BOUNDS = {"home": (0.0, 1.0), "length": (-2.0, 2.0)}


def table(ties=True, private=True):
    rng = np.random.default_rng(1)
    first = rng.integers(0, ITEMS, 60)
    second = (first + rng.integers(1, ITEMS, 60)) % ITEMS
    outcomes = rng.choice([0.0, 0.5, 1.0] if ties else [0.0, 1.0], 60)
    columns = {"home": np.ones(60), "length": rng.uniform(-3, 3, 60)}
    return pairwise.covariate_table(
        first, second, outcomes, columns, num_items=ITEMS, bounds=BOUNDS, private=private
    )


def answers_of(given, davidson):
    design = given.design
    columns = (design.first, design.second, given.outcomes, design.features)
    rows = zip(*(np.asarray(column, float) for column in columns))
    return [
        answer
        for i, j, y, x in rows
        for answer in naive.meeting(int(i), int(j), y, x, items=ITEMS, davidson=davidson)
    ]


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_fits_with_covariates_solve_the_perturbed_equation(ties, key):
    """What noise each fit needs, by the naive gradient, has the law that is claimed, scores up to their mean."""
    given, asked = table(), promise(2.0, "comparison", "replace")
    keys = jax.random.split(key, 500)
    found = jax.vmap(lambda k: pairwise.perturbed_mle(k, given, asked, ties=ties))(keys)
    value, scale = found.value, float(found.diagnostics.noise_scale[0])
    assert scale == pytest.approx(2.5)
    parts = [value.scores, value.coefficients * given.design.units]
    if ties == "davidson":
        parts.append(2 * value.log_tie[:, None])
    betas = np.concatenate([np.asarray(part, float) for part in parts], axis=1)
    answers = answers_of(given, ties == "davidson")
    noise = np.array([-naive.derivatives(answers, beta, scale)[0] for beta in betas])
    assert np.abs(noise[:, :ITEMS].sum(1)).max() < 1e-2
    spread = noise.std(0) / (np.sqrt(2) * scale)
    np.testing.assert_allclose(spread[:ITEMS], np.sqrt(1 - 1 / ITEMS), rtol=0.2)
    np.testing.assert_allclose(spread[ITEMS:], 2, rtol=0.2)
    assert np.abs(noise.mean(0)).max() < 5 * 2 * scale * np.sqrt(2 / 500)


def test_without_noise_the_naive_gradient_vanishes(key):
    free = promise(np.inf, "comparison", "replace")
    given = table()
    found = pairwise.perturbed_mle(key, given, free, ties="davidson").value
    beta = np.concatenate(
        [found.scores, found.coefficients * given.design.units, 2 * found.log_tie[None]]
    )
    slope, _ = naive.derivatives(answers_of(given, True), beta, 1.0)
    assert np.abs(slope).max() < 1e-3


def test_private_tables_have_scales_by_their_bounds_alone():
    found = table().design
    assert found.private
    assert np.asarray(found.units).tolist() == [2.0, 4.0]
    assert np.abs(np.asarray(found.features)).max() == 0.5  # clipped
    assert np.all(np.asarray(found.features) * 2**11 % 1 == 0)
    never = pairwise.covariate_table(
        [0], [1], [1], {"home": [0.0]}, num_items=2, bounds={"home": (0, 1)}, private=True
    )
    assert float(never.design.units[0]) == 2.0


REPLACE = Privacy(1.0, unit="comparison", adjacency="replace")
FLIP = dataclasses.replace(REPLACE, adjacency="flip")


@pytest.mark.parametrize(
    ("private", "asked", "told", "words"),
    [
        (False, REPLACE, {}, "private="),
        (True, FLIP, {}, "public="),
        (True, REPLACE, {"sensitivity": 1.0}, "leave them out"),
        (True, REPLACE, {"noise": "gaussian"}, "noise must be"),
        (True, REPLACE, {"gamma": 1.0}, "gamma"),
        (True, REPLACE, {"ties": "none"}, "ties"),
        (True, Privacy(1.0, unit="user", adjacency="replace"), {}, "contributions"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(private, asked, told, words, key):
    with pytest.raises(ValueError, match=words):
        pairwise.perturbed_mle(key, table(private=private), asked, **told)


def test_private_tables_need_bounds():
    told = {"num_items": 2, "private": True}
    with pytest.raises(ValueError, match=r"'x'.*bounds"):
        pairwise.covariate_table([0], [1], [1], {"x": [1.0]}, **told)


def test_other_tables_are_refused(key):
    with pytest.raises(TypeError, match="covariate_table"):
        pairwise.perturbed_mle(key, np.ones((2, 2)), REPLACE)
