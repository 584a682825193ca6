"""Extensions of Xu, Sun and Cheng: mixed effects (Table 3) and link selection (Table 4)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._types import Key
from privrank_jax.experiments.claims import close_to_printed, rises
from privrank_jax.experiments.study import P, number, whole
from privrank_jax.experiments.xu import common
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.experiments.xu.common import L2, declare
from privrank_jax.pairwise.maximum_likelihood import select_link
from privrank_jax.pairwise.mixed_models import mixed_effects
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.study import Metrics, grid
from privrank_jax.simulate.worlds import reports

SIGMA, EFFECTS, CORRECT = "sigma_error", "effect_error", "correct"
EITHER = "either"  # link of rows with the mean over both links
TWO_STEP, CORRECTED = "two-step", "two-step, σ̂ corrected"


@declare(
    "xu-table3",
    "Mixed effects: errors of θ̂ and of σ̂ by the two-step estimator",
    "supplement S.1.2 and Table 3",
    gamma=number(2.0, "ridge γ times the number of users L; 2 is λ = 1/L"),
    items=common.ITEMS,
    users=whole((100, 200, 300), "L, padded to the largest"),
    sigma=number(1.0, "γ_l ~ N(0, σ²)", least=0),
    cells=lambda p: grid(
        num_items=p.items, num_users=p.users, max_items=max(p.items), max_users=max(p.users)
    ),
    axes=("estimator", "metric"),
    printed=xu_printed.TABLE_3,
    claims=[
        close_to_printed(f"{common.NOT_WORSE}: error of θ̂", metric=L2),
        close_to_printed(f"{common.NOT_WORSE}: error of σ̂", metric=SIGMA),
        *common.as_sizes_grow(
            "both errors fall as the number of {} grows", metric=(L2, SIGMA), estimator=TWO_STEP
        ),
    ],
    picture=common.picture({L2: common.LABELS[L2], SIGMA: "|σ̂ - σ|"}, style="estimator"),
    differences=(
        "ridge: λ = 1/L (the paper states none)",
        common.DRAWN_ANEW,
        "the caption names L^(-1/2) ‖γ̂ - γ‖₂, the rows m^(-1/2) ‖θ̂ - θ‖₂. The printed values are errors of θ̂; "
        f"those of γ̂ ({EFFECTS}, over users who have a finite one) are 0.37, 0.18 and 0.12 at m = 10, 20 and 30, for "
        "every L",
        "users who always, or never, chose the first item have no finite effect; here they are left out of σ̂, where "
        "gradient descent, as in the paper, stops somewhere finite: hence the printed errors at m = 10",
        f"{CORRECTED}: without the part of the variance of the γ̂_l that is their own estimation error; not printed",
    ),
)
def table_3(key: Key, p: P) -> Metrics:
    """One replicate at one (m, L): errors of θ̂, of σ̂ and of the effects γ̂ of users who favor the item shown first.

    No privacy, and every pair is answered.
    """
    world_key, user_key, answer_key = jax.random.split(key, 3)
    theta, mask = reports.uniform_scores(world_key, p.num_items, p.max_items)
    lean = p.sigma * jax.random.normal(user_key, (p.max_users,))
    first, second = np.triu_indices(p.max_items, 1)
    chance = jax.nn.sigmoid(lean[:, None] + (theta[first] - theta[second])[None, :])
    answers = jax.random.uniform(answer_key, chance.shape) < chance
    asked = (jnp.arange(p.max_users) < p.num_users)[:, None] & (mask[first] & mask[second])[None, :]
    estimate = mixed_effects(answers.astype(float), asked, gamma=p.gamma / p.num_users)
    found = estimate.value
    scores = jnp.where(mask, found.scores, 0)
    scores = jnp.where(mask, scores - scores.sum() / p.num_items, 0)
    finite = jnp.isfinite(found.user_effects)  # of users who answered both ways
    gaps = jnp.where(finite, found.user_effects - lean, 0)
    errors = {
        L2: common.score_errors(scores, theta, mask)[L2],
        EFFECTS: jnp.sqrt(jnp.sum(gaps**2) / jnp.sum(finite)),
        SIGMA: jnp.abs(found.sigma - p.sigma),
    }
    return {
        TWO_STEP: errors,
        CORRECTED: {SIGMA: jnp.abs(found.sigma_corrected - p.sigma)},
        common.FAILED: estimate.diagnostics.code >= 2,
    }


@declare(
    "xu-table4",
    "Link selection by likelihood: share of correct selections",
    "supplement S.1.3 and Table 4",
    items=common.ITEMS,
    users=whole((100, 200, 400, 800), common.USERS),
    **common.levels(1.0, 5.0),
    probability=number(1.0, "p that a user is asked a pair", most=1),
    cells=common.padded,
    axes=("metric", "link", "num_users", "estimator"),
    printed=xu_printed.TABLE_4,
    claims=[
        close_to_printed("at or above the printed share within 3 standard errors", least=False),
        *common.as_sizes_grow(
            "the share grows with the number of {}", rises, metric=CORRECT, link=EITHER
        ),
    ],
    picture=common.picture({CORRECT: "share of correct selections"}, "link"),
    differences=(
        common.RIDGE,
        common.DRAWN_ANEW,
        "the paper does not state ε and p here; ours: ε_l ~ Unif(1, 5), as in Scenario I, and p = 1",
        "the paper draws one of the two links in each replicate; here both run in each, and the mean is compared",
    ),
)
def table_4(key: Key, p: P) -> Metrics:
    """One replicate at one m under either link: whether the true link was selected."""
    world_key, epsilon_key, report_key = jax.random.split(key, 3)
    theta, mask = reports.uniform_scores(world_key, p.num_items, p.max_items)
    epsilon = jax.random.uniform(epsilon_key, (max(p.users),), minval=p.low, maxval=p.high)
    links = tuple(common.LINKS.values())
    chances = jnp.stack([reports.pair_chances(theta, link) for link in links])

    def select(chance: Array, users: Array) -> tuple[Array, Array]:
        sums = reports.draw_report_sums(report_key, chance, epsilon, users, p.probability, mask)
        chosen = select_link(sums, links, p.gamma).diagnostics
        return chosen.best, jnp.sum(chosen.codes >= 2)

    over_users = jax.vmap(select, in_axes=(None, 0))
    best, failed = jax.vmap(over_users, in_axes=(0, None))(chances, jnp.asarray(p.users))
    right = (best == jnp.arange(len(links))[:, None]).astype(float)
    shares = jnp.concatenate([right, jnp.mean(right, axis=0, keepdims=True)])
    places = ((*common.LINKS, EITHER), p.users, (common.ADRR,))
    return {CORRECT: labeled(shares[..., None], *places), common.FAILED: jnp.sum(failed)}
