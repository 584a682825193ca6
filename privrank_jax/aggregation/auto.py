"""Default choice of a private method, from public facts alone."""

from __future__ import annotations

import functools

from privrank_jax._quickly import quickly
from privrank_jax._validate import check_choice
from privrank_jax.aggregation.bounds import check_sizes, report_deviation
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.shuffled_pairs import promise_of_shuffled
from privrank_jax.aggregation.split_weights import default_focus
from privrank_jax.aggregation.sub_rankings import one_pair_variance
from privrank_jax.aggregation.subset_designs import MAX_ITEMS
from privrank_jax.aggregation.subset_selection import subset_norm
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.guarantee import TRUSTS
from privrank_jax.privacy.noise import SHAPED_NOISES
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon

NEGLIGIBLE_NOISE = 0.04  # standard deviation on a weight, a share of the users


def choose_method(
    num_items: int,
    num_users: int,
    privacy: Privacy,
    *,
    trust: str = "central",
    noise: str = "k-norm",
) -> str:
    """The method that is good in every crowd: ``"weights"`` unless noise is large, else ``"borda"``.

    K-norm and Gaussian noise: ``"weights"`` (:func:`~privrank_jax.aggregation.private_weights`) wherever
    ``split_weights.default_focus`` spends some of the budget on pairs. Laplace noise, local and shuffled reports:
    ``"noise-all"`` where its noise is negligible, else ``"borda"``, whose order may cost more than the optimum even
    without noise, but wins where noise dominates.

    Args:
        num_items: m >= 2.
        num_users: n.
        privacy: what is promised: unit user, adjacency replace; concrete.
        trust: ``"central"``, ``"shuffled"`` (one pair per user, with δ > 0) or ``"local"`` (the order of a few items).
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``, central only.

    Returns:
        ``"borda"``, ``"noise-all"`` or ``"weights"``: a name of ``privrank aggregate``.

    Raises:
        ValueError: a promise that the methods can't keep, n < 1, fewer than 2 items, unknown names.

    >>> choose_method(10, 5000, Privacy(1.0, unit="user", adjacency="replace"))
    'weights'
    """
    check_choice("trust", trust, TRUSTS)
    attained = (
        promise_of_shuffled(privacy, "choose_method")
        if trust == "shuffled"
        else of_rankings(privacy, "choose_method", noise, SHAPED_NOISES)
    )
    check_sizes(num_items, num_users)
    if trust == "central" and noise != "laplace":
        focus = float(default_focus(num_items, num_users, privacy, noise=noise))
        return "weights" if focus < 1 else "borda"
    if trust == "central":
        error = noise_all.noise(privacy, Facts(num_items, num_users), noise).deviation()
    elif trust == "shuffled":
        local = shuffled_local_epsilon(num_users, attained.epsilon, attained.delta)
        error = report_deviation(num_items, num_users, local, "shuffled-pair")
    else:
        error = report_deviation(num_items, num_users, attained.epsilon, "sub-ranking")
    return "noise-all" if error <= NEGLIGIBLE_NOISE else "borda"


def choose_report(num_items: int, num_users: int, privacy: Privacy) -> str:
    """What users report for Borda scores, where reports are drawn exactly: ``"one-pair"`` or ``"subset-selection"``.

    The one of less mean squared error of all scores together, r² = m(m²-1)/12: for two sets (B² - r²)/n in every crowd
    of full rankings. For one pair, N = m(m-1)/2, t = tanh(ε/2), it is N²/(2t²n) less (κN²/2 + (1 - κ)r²)/n in a crowd
    of two camps that reverse one another's ranking, κ the mean of (2w - 1)² over pairs. The data must not decide: κ is
    taken for 1/2.

    >>> choose_report(10, 5000, Privacy(1.0, unit="user", adjacency="replace"))
    'one-pair'
    """
    attained = of_rankings(privacy, "choose_report")
    check_sizes(num_items, num_users)
    if num_items > MAX_ITEMS:
        return "one-pair"
    pairs = num_items * (num_items - 1) / 2
    variance = functools.partial(one_pair_variance, num_items)
    of_pair = 2 * pairs * float(quickly(variance, num_users, attained.epsilon))
    square = num_items * (num_items**2 - 1) / 12
    of_pair -= (pairs**2 / 4 + square / 2) / num_users
    norm = float(quickly(functools.partial(subset_norm, num_items), attained.epsilon))
    of_sets = (norm**2 - square) / num_users
    return "subset-selection" if of_sets < of_pair else "one-pair"
