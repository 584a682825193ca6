"""Extensions of Xu, Sun and Cheng: mixed effects (Table 3) and link selection (Table 4)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._types import Key
from privrank_jax.experiments import old_printed as printed
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.xu import common
from privrank_jax.experiments.xu import pictures as xu_pictures
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.pairwise.maximum_likelihood import select_link
from privrank_jax.pairwise.mixed_models import mixed_effects
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.study import Metrics, Parameters, Study
from privrank_jax.simulate.worlds import reports

SIGMA, EFFECTS, CORRECT = "sigma_error", "effect_error", "correct"
EITHER = "either"  # link of rows with the mean over both links
TWO_STEP, CORRECTED = "two-step", "two-step, σ̂ corrected"


# --- Table 3: mixed effects ----------------------------------------------------------------------


@dataclass(frozen=True)
class MixedConfig(common.Config):
    """Grid of Table 3: users who favor the item shown first, no privacy, every pair answered.

    Attributes:
        items: m, padded to the largest.
        users: L, padded to the largest.
        sigma: γ_l ~ N(0, σ²).
        gamma: ridge γ times the number of users L; 2 is λ = 1/L.
    """

    items: tuple[int, ...] = (10, 20, 30)
    users: tuple[int, ...] = (100, 200, 300)
    sigma: float = 1.0


def mixed_trial(key: Key, cell: Parameters, *, config: MixedConfig) -> Metrics:
    """One replicate at one (m, L): errors of θ̂, of σ̂ and of the users' effects γ̂."""
    world_key, user_key, answer_key = jax.random.split(key, 3)
    items, users = cell["num_items"], cell["num_users"]
    padded, most = cell["max_items"], cell["max_users"]
    theta, mask = reports.uniform_scores(world_key, items, padded, config.dtype)
    lean = config.sigma * jax.random.normal(user_key, (most,), config.dtype)
    first, second = np.triu_indices(padded, 1)
    chance = jax.nn.sigmoid(lean[:, None] + (theta[first] - theta[second])[None, :])
    answers = jax.random.uniform(answer_key, chance.shape, config.dtype) < chance
    asked = (jnp.arange(most) < users)[:, None] & (mask[first] & mask[second])[None, :]
    estimate = mixed_effects(answers.astype(config.dtype), asked, gamma=config.gamma / users)
    found = estimate.value
    scores = jnp.where(mask, found.scores, 0)
    scores = jnp.where(mask, scores - scores.sum() / items, 0)
    finite = jnp.isfinite(found.user_effects)  # of users who answered both ways
    gaps = jnp.where(finite, found.user_effects - lean, 0)
    errors = {
        common.L2: common.score_errors(scores, theta, mask)[common.L2],
        EFFECTS: jnp.sqrt(jnp.sum(gaps**2) / jnp.sum(finite)),
        SIGMA: jnp.abs(found.sigma - config.sigma),
    }
    return {
        TWO_STEP: errors,
        CORRECTED: {SIGMA: jnp.abs(found.sigma_corrected - config.sigma)},
        common.FAILED: estimate.diagnostics.code >= 2,
    }


def build_mixed(config: MixedConfig) -> tuple[Study, ...]:
    """Build one study with one compilation."""
    sizes = {"num_items": config.items, "num_users": config.users}
    return common.padded(config, mixed_trial, ("estimator", "metric"), **sizes)


# --- Table 4: link selection ---------------------------------------------------------------------


def selection_trial(key: Key, cell: Parameters, *, config: common.AskedConfig) -> Metrics:
    """One replicate at one m under either link: whether the true link was selected."""
    world_key, epsilon_key, report_key = jax.random.split(key, 3)
    theta, mask = reports.uniform_scores(
        world_key, cell["num_items"], cell["max_items"], config.dtype
    )
    epsilon = jax.random.uniform(
        epsilon_key, (max(config.users),), config.dtype, config.low, config.high
    )
    chances = [reports.pair_chances(theta, link) for link in common.LINKS.values()]
    links = tuple(common.LINKS.values())

    def select(chance: Array, users: Array) -> tuple[Array, Array]:
        sums = reports.draw_report_sums(
            report_key, chance, epsilon, users, config.probability, mask
        )
        chosen = select_link(sums, links, config.gamma).diagnostics
        return chosen.best, jnp.sum(chosen.codes >= 2)

    over_users = jax.vmap(select, in_axes=(None, 0))
    best, failed = jax.vmap(over_users, in_axes=(0, None))(
        jnp.stack(chances), jnp.asarray(config.users)
    )
    right = (best == jnp.arange(len(links))[:, None]).astype(config.dtype)
    shares = jnp.concatenate([right, jnp.mean(right, axis=0, keepdims=True)])
    places = ((*common.LINKS, EITHER), config.users, (common.ADRR,))
    return {CORRECT: labeled(shares[..., None], *places), common.FAILED: jnp.sum(failed)}


def build_selection(config: common.AskedConfig) -> tuple[Study, ...]:
    """Build one study with one compilation."""
    axes = ("metric", "link", "num_users", "estimator")
    return common.padded(config, selection_trial, axes, num_items=config.items)


# --- registered ----------------------------------------------------------------------------------

_CURVES = functools.partial(
    xu_pictures.curves, x="num_users", x_label="users L", curve="num_items", columns=()
)

EXPERIMENTS = (
    Experiment(
        name="xu-table3",
        title="Mixed effects: errors of θ̂ and of σ̂ by the two-step estimator",
        paper=f"{common.PAPER}, supplement S.1.2 and Table 3",
        config=MixedConfig("xu-table3"),
        build=build_mixed,
        annotate=functools.partial(
            printed.beside,
            printed=xu_printed.TABLE_3,
            where={"estimator": TWO_STEP},
        ),
        claims=(
            *printed.beside_blocks(
                common.NOT_WORSE,
                [("error of θ̂", {"metric": common.L2}), ("error of σ̂", {"metric": SIGMA})],
            ),
            *common.as_sizes_grow(
                "both errors fall as the number of {} grows",
                -1,
                metric=(common.L2, SIGMA),
                estimator=TWO_STEP,
            ),
        ),
        draw=functools.partial(_CURVES, estimators=(TWO_STEP, CORRECTED)),
        replicates=xu_printed.REPLICATES,
        outline=("num_users", "num_items"),
        differences=(
            "ridge: λ = 1/L (the paper states none)",
            common.DRAWN_ANEW,
            f"caption and rows of the table contradict each other: the caption names L^(-1/2) ‖γ̂ - γ‖₂, the rows are "
            f"labeled m^(-1/2) ‖θ̂ - θ‖₂. The printed values are errors of θ̂; those of γ̂ ({EFFECTS}, over users who "
            "have a finite one) are 0.37, 0.18 and 0.12 at m = 10, 20 and 30, for every L",
            "users who always, or never, chose the first item have no finite effect; here they are left out of σ̂, "
            "where gradient descent, as in the paper, stops somewhere finite: hence the printed errors at m = 10",
            f"{CORRECTED}: without the part of the variance of the γ̂_l that is their own estimation error; not printed",
        ),
    ),
    Experiment(
        name="xu-table4",
        title="Link selection by likelihood: share of correct selections",
        paper=f"{common.PAPER}, supplement S.1.3 and Table 4",
        config=common.AskedConfig("xu-table4", probability=1.0),
        build=build_selection,
        # The mean over both links, as the paper draws one of them.
        annotate=functools.partial(
            printed.beside,
            printed=xu_printed.TABLE_4,
            least=False,
            where={"link": EITHER},
        ),
        claims=(
            printed.beside_printed(
                "at or above the printed share within 3 standard errors", least=False
            ),
            *common.as_sizes_grow(
                "the share grows with the number of {}", 1, metric=CORRECT, link=EITHER
            ),
        ),
        draw=functools.partial(_CURVES, columns=("link",), estimators=(common.ADRR,)),
        replicates=xu_printed.REPLICATES,
        outline=("num_users", "num_items"),
        differences=(
            *common.COMMON_DIFFERENCES[:2],
            "the paper does not state ε and p here; ours: ε_l ~ Unif(1, 5), as in Scenario I, and p = 1",
            "the paper draws one of the two links in each replicate; here both run in each, and the mean is compared",
        ),
    ),
)
