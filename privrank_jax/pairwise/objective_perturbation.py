r"""Objective perturbation where an answer is one of several alternatives: covariates, ties, and choices from sets.

**Models.** Of the alternatives of an answer, k is given with probability p_k ∝ e^{⟨x_k, β⟩}: a conditional logit.
Between two items x is z/2 or -z/2 with z = (e_i - e_j, features); with Davidson's ties there is one more number τ, with
log ν = τ/2, which a tie alone has, so that its x = (0, 1/2); of a set, item k has x_k = e_k. An answer y adds -log p_y
to the objective: with x̄ = Σ p_k x_k its gradient is x̄ - x_y, and its curvature C = Σ p_k x_k x_kᵀ - x̄x̄ᵀ.

**Mechanism.** β̃ minimizes the sum over all answers plus γ‖β‖²/2 + wᵀβ, where w_k is Laplace noise of scale λ_k. Here
λ_k = λ for scores and 2λ for τ and for coefficients of features, of which each lies in [-1/2, 1/2]; and γ ≥ λ.

**Theorem.** *Let D = 2 + p/4 for two items that meet with p features, with ties as outcomes of their own or as half
wins; D = 2 for choices. Let V = (s - 2)/(s - 1) for choices from sets of at most s ≥ 2 items, and V = 0 otherwise. β̃ is
ε-DP for users of L answers (L = 1: one answer) with*

    ε = L(D/λ + V/γ)  where answers are added or removed,     ε = L(2D/λ + V/γ)  where they are replaced.

*Everything of an answer is protected: who met or what was offered, all features, and the outcome.*

Proof. The density of β̃ is p_w(-∇L(β) - γβ) det(∇²L(β) + γI), as at the head of
:mod:`privrank_jax.privacy.calibration`. With the norm ‖g‖ = Σ|g_k|/λ_k, an answer with gradient g moves log p_w by at
most ‖g‖. With H ⪰ γI the curvature without it, it moves the log-determinant up, by log det(I + H^{-1/2}CH^{-1/2}) ≤
tr(H^{-1}C) ≤ tr(C)/γ at most. So one that is added, or removed, loses at most f = ‖g‖ + tr(C)/γ, and several lose the
sum. If answers A are replaced by B, the loss is at most Σ_A‖g‖ + Σ_B‖g‖ plus log det(H + C_A) - log det(H + C_B), at
most log det(H + C_A) - log det H: the sum of f over A and of ‖g‖ over B. It is left to show that f ≤ D/λ + V/γ and
‖g‖ ≤ D/λ whatever p is. Let Z = ‖z‖ and Q = ‖z‖₂²/γ. Scores have λ_k|z_k| = λ ≤ γ, features 2λ|z_k| ≤ λ ≤ γ; so
Q = Σ z_k²/γ ≤ Σ|z_k|/λ_k = Z, and 2/λ ≤ Z ≤ 2/λ + p(1/2)/(2λ) = D/λ.

*Two alternatives.* With q the probability of the other one, f = qZ + q(1 - q)Q ≤ qZ + (1 - q)Z = Z. A tie that counts
as half a win has the gradient (1/2 - q)z and f ≤ (\|1/2 - q\| + q(1 - q))Z ≤ Z/2.

*Davidson's ties.* Let A = (1/2)/(2λ) ≤ Z/8 be the size of τ's part of a tie, and B = (1/4)/γ ≤ Z/8 its square over γ.
Of a win, let t be the probability of a tie, s that of a loss plus t/2. The tie is at (-z/2, 1/2) and the loss at
(-z, 0) from x_y, so ‖g‖ = sZ + tA and tr(C)/γ = Q(s - s² - t/4) + Bt(1 - t). f rises in s, as Z + Q(1 - 2s) ≥ 0, and
s ≤ 1 - t/2; there f = Z - t(Z/2 - A) + (Q/4 + B)t(1 - t) ≤ Z - t(Z/2 - Z/8 - Z/4 - Z/8) = Z. The same for a loss.
Of a tie, let q be the probability of the others, and d that of a win less that of a loss, \|d\| ≤ q. Then
f = \|d\|Z/2 + qA + Q(q - d²)/4 + Bq(1 - q), which rises in \|d\|, and with \|d\| = q in q; so f ≤ Z/2 + A ≤ Z.
‖g‖ ≤ f throughout. *Ties cost nothing.*

*Choices.* With q = 1 - p_y, ‖g‖ = 2q/λ, and tr(C) = 1 - Σp_k² ≤ 1 - (1 - q)² - q²/(s - 1), least where the others are
equally likely. So f ≤ 2q/λ + (2q - q²s/(s - 1))/γ, with derivative at least 2/λ - 2/((s - 1)γ) ≥ 0: f is largest at
q = 1, 2/λ + (1 - 1/(s - 1))/γ. ∎

The bounds are attained: for two items in the limit q → 1, for choices up to log(1 + V/γ) in place of V/γ. Why the
weights of features and ties are a quarter: a feature in [-u, u] with noise λu/b of its sum costs a share b/2 of that of
the two items, and λ_k u ≤ γ asks for u² ≤ b; its effect at its bound then has noise of scale λ/b and a ridge of γ/b in
comparisons. b = 1/4 adds an eighth to the noise of scores for each feature. It is the largest b for which ties are
free.

**What must be public.** Which covariates there are, and bounds of each: values are clipped to them, and they give the
features their scale (``covariate_table(..., private=True)``). The list of items.

Sources: Chaudhuri, Monteleoni and Sarwate (2011) for objective perturbation; the theorem is ours.
"""

from __future__ import annotations

from typing import Any

from privrank_jax._types import Numbers
from privrank_jax.pairwise.designs import Design, Meetings
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import calibrate_answers
from privrank_jax.privacy.privacy import Privacy

LARGEST_FEATURE = 0.5
FEATURE_BITS = 11
"""Features are multiples of 2^-11."""
FEATURE_NOISE = 2
"""The noise of the sum of a feature, in units of that of a total of wins."""
TIE_SHARE = 0.5
"""log ν in units of τ, which has the noise of a feature and the ridge of a score."""


def kept_by_objective(privacy: Privacy, by: str, noise: str = "laplace") -> Privacy:
    """The privacy that ``by`` attains by objective perturbation, where neighbors differ in whole answers.

    Args:
        privacy: what is asked for.
        by: name of the mechanism.
        noise: Laplace noise, for which the theorem is.

    Raises:
        TypeError, ValueError: as :func:`~privrank_jax.pairwise.promise.of_comparisons`; other noise; adjacency flip.
    """
    attained = of_comparisons(privacy, by, noise, ("laplace",))
    if attained.adjacency == "flip":
        raise ValueError(
            f"{by} adds noise to the objective, for adjacency='replace' or 'add-remove'; under 'flip' noise on what is "
            "counted is enough: pairwise.fit fits to what noisy_sums, noisy_ties or noisy_choices release."
        )
    return attained


def meeting_noise(
    privacy: Privacy, features: int = 0, gamma: Numbers | None = None
) -> tuple[Any, Any]:
    """λ and γ for answers about two items that meet with so many features, with ties or without."""
    return calibrate_answers(privacy, 2 + features / 4, gamma=gamma)


def noise_in_objective(scale: Any, design: Design) -> Noise:
    """w: of scores, of features, and of the number of ties, which is in units of log ν."""
    features = design.size - design.num_items
    last = (1 / FEATURE_NOISE,) * features + (TIE_SHARE / FEATURE_NOISE,) * design.ties
    return Noise.independent("laplace", scale, design.size + design.ties, last)


def choice_noise(
    privacy: Privacy, most_offered: int, gamma: Numbers | None = None
) -> tuple[Any, Any]:
    """λ and γ for choices from sets of at most so many items."""
    spread = 1 - 1 / max(most_offered - 1, 1)
    return calibrate_answers(privacy, 2.0, spread, gamma=gamma)


def answer_noise(privacy: Privacy, design: Design, gamma: Numbers | None = None) -> tuple[Any, Any]:
    """λ and γ for answers of this kind: :func:`meeting_noise` or :func:`choice_noise`."""
    if isinstance(design, Meetings):
        return meeting_noise(privacy, design.size - design.num_items, gamma)
    return choice_noise(privacy, design.num_items, gamma)
