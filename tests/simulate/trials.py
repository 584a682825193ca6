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


def newton_trial(key, parameters):
    """A ridge logistic fit: a while loop around a Cholesky solve."""
    scores, _ = worlds.cai_scores(key, 8)
    wins = worlds.repeated_comparisons(key, scores, parameters["per_pair"]).matrix
    total = wins + wins.T

    def gradient(theta):
        chance = jax.nn.sigmoid(theta[:, None] - theta[None, :])
        return (total * chance).sum(1) - wins.sum(1) + theta, total * chance * (1 - chance)

    def step(state):
        theta, _ = state
        slope, weight = gradient(theta)
        hessian = jnp.diag(weight.sum(1) + 1) - weight
        return theta - jnp.linalg.solve(hessian, slope), jnp.abs(slope).max()

    start = (jnp.zeros(8), jnp.inf)
    theta, _ = jax.lax.while_loop(lambda state: state[1] > 1e-10, step, start)
    return {"best": theta[0], "norm": jnp.linalg.norm(theta)}


def survey_trial(key, parameters):
    """Draws, a count, and a root that a loop finds: small enough for processes that compile it anew."""
    draws = jax.random.uniform(key, (8,), jnp.float32)
    root = jax.lax.while_loop(
        lambda x: jnp.abs(x * x - draws[1]) > 1e-6,
        lambda x: 0.5 * (x + draws[1] / x),
        jnp.ones(()),
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
NEWTON = Study("newton", newton_trial, grid(per_pair=(20, 40)))
LAPACK = Study("lapack", lapack_trial, ({},))
SURVEY = Study("survey", survey_trial, grid(chance=(0.2, 0.5, 0.9)))
