"""Made-up studies for the tests of the engine, in this process and in others."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from privrank_jax._workarounds.linalg import eigenvalues, solve_positive_definite
from privrank_jax.pairwise.spectral import rank_centrality
from privrank_jax.simulate import Study, grid, worlds


def comparison_trial(key, parameters):
    """Scores and a tournament: sampled values and counts only, no sums of floats."""
    score_key, game_key = jax.random.split(key)
    scores, mask = worlds.cai_scores(
        score_key, parameters["num_items"], parameters["max_items"], jnp.float32
    )
    wins = worlds.tournament(game_key, scores, parameters["probability"], mask=mask)
    return {
        "wins_of_first": wins.totals[0],
        "strength": jax.random.uniform(score_key, (4,))[3],
        "upset": wins.matrix[3, 0] > 0,
    }


def survey_trial(key, parameters):
    """Draws, a count, and a root that a loop finds: small enough for processes that compile it anew."""
    draws = jax.random.uniform(key, (8,), jnp.float32)
    root = jax.lax.while_loop(
        lambda x: jnp.abs(x * x - draws[1]) > 1e-6, lambda x: 0.5 * (x + draws[1] / x), jnp.ones(())
    )
    yes = draws < parameters["chance"]
    return {"answers": yes.sum(), "draw": draws[0], "first": yes[0], "root": root}


def lapack_trial(key, parameters):
    """Systems so large that jaxlib spreads a batch of them over threads, and waits for these."""
    del parameters
    scores, _ = worlds.cai_scores(key, 90)
    wins = worlds.tournament(key, scores, 1.0)
    systems = jnp.eye(90) + wins.comparisons @ wins.comparisons.T
    return {
        "centrality": rank_centrality(wins).value[0],
        "least": eigenvalues(systems)[0],
        "solved": solve_positive_definite(systems, wins.totals)[0],
    }


def normal_trial(key, parameters):
    return {"value": parameters["scale"] * jax.random.normal(key)}


COMPARISONS = Study(
    "comparisons",
    comparison_trial,
    grid(num_items=(5, 8), probability=(0.5, 1.0), max_items=8),
    static=("max_items",),
)
LAPACK = Study("lapack", lapack_trial, ({},))
SURVEY = Study("survey", survey_trial, grid(chance=(0.2, 0.5, 0.9)))
