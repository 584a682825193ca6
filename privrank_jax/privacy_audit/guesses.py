r"""The data of one person, guessed from a publication by somebody who knows all others: in full if exact, little if
private.

**Exact.** Totals are sums over people, so what two publications differ by, or what one leaves beyond the people whose
answers are known, are the answers of the others: :func:`battles_between` reads them off.

**Private.** Let the person's value be one of 1, ..., k, with prior probabilities π_1, ..., π_k, and let the data sets
with these values be neighbors of each other. Let M be ε-DP with density p_i under value i, and o what was published. By
Bayes, and as p_j(o) ≥ e^{-ε} p_i(o),

.. math:: P(i | o) = \frac{π_i p_i(o)}{\sum_j π_j p_j(o)} ≤ \frac{π_i}{π_i + e^{-ε}(1 - π_i)}.

The right side grows with π_i. So no guess of the value is right with a probability of more than e^ε π/(e^ε π + 1 - π),
π the largest prior. This holds for any question about the value too, with the prior probabilities of its answers:
averages of the p_i over two groups of values are within e^ε of each other too. Randomized response with k answers
attains it. For (ε, δ)-DP it does not hold.
"""

from __future__ import annotations

import itertools

import numpy as np
from jaxtyping import ArrayLike, Bool, Float, Integer, Real

from privrank_jax._validate import check_epsilon

_MOST_BATTLES = 8

Battles = tuple[tuple[int, int], ...]
"""(winner, loser) of each, sorted."""


def battles_between(
    before: Integer[ArrayLike, "items 2"], after: Integer[ArrayLike, "items 2"]
) -> list[Battles]:
    """All sets of battles that explain how an exact leaderboard changed; with one set, they are revealed.

    Args:
        before: wins and losses of each item.
        after: the same, later.

    Returns:
        The sets, each of (winner, loser) pairs, which may occur several times.

    Raises:
        ValueError: leaderboards of other shapes, a number that fell, wins without losses, more than 8 battles.

    >>> battles_between([[5, 1], [2, 4], [3, 5]], [[6, 1], [2, 5], [3, 5]])
    [((0, 1),)]
    """
    first, last = np.asarray(before), np.asarray(after)
    if first.shape != last.shape or first.ndim != 2 or first.shape[1] != 2:
        raise ValueError(
            f"leaderboards have wins and losses of the same items, got {first.shape} and {last.shape}."
        )
    won, lost = (last - first).T
    if (last < first).any() or won.sum() != lost.sum():
        raise ValueError("between two leaderboards wins and losses grow alike, and none falls.")
    if won.sum() > _MOST_BATTLES:
        raise ValueError(
            f"{won.sum()} battles have too many explanations to list: compare leaderboards that differ by at most "
            f"{_MOST_BATTLES}."
        )
    winners, losers = (np.repeat(np.arange(len(won)), times).tolist() for times in (won, lost))
    sets = {tuple(sorted(zip(winners, order))) for order in itertools.permutations(losers)}
    return sorted(one for one in sets if all(winner != loser for winner, loser in one))


def right_guesses(
    log_densities: Real[ArrayLike, "draws values"],
    truth: Integer[ArrayLike, "draws"],
    answers: Integer[ArrayLike, "values"] | None = None,
) -> Bool[np.ndarray, "draws"]:
    """Whether the best guess of equally likely values, or of the answer that each gives to a question, is right.

    Log densities are those of what was published under each value; ``truth`` are indices of values. Of answers that are
    equally likely, the first is guessed.

    >>> right_guesses([[0.0, -0.5, -0.5], [-2.0, 0.0, 0.0]], [0, 1], [0, 1, 1]).tolist()
    [False, True]
    """
    logs = np.asarray(log_densities, float)
    given = np.arange(logs.shape[1]) if answers is None else np.asarray(answers)
    known, which = np.unique(given, return_inverse=True)
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    likely = odds @ (which[:, None] == np.arange(len(known)))
    return likely.argmax(axis=1) == which[np.asarray(truth)]


def guess_bound(epsilon: float, prior: Real[ArrayLike, "answers"]) -> float:
    """The largest probability of a right guess after an ε-DP publication, see the head of this module.

    Args:
        epsilon: ε, of all publications together.
        prior: probability of each answer before it.

    Returns:
        e^ε π/(e^ε π + 1 - π), π the largest prior.

    Raises:
        ValueError: ε <= 0, or probabilities that do not sum to 1.

    >>> round(guess_bound(1.0, [0.5, 0.5]), 4), round(guess_bound(1.0, [0.25] * 4), 4)
    (0.7311, 0.4754)
    """
    epsilon = check_epsilon(epsilon)
    chances: Float[np.ndarray, "answers"] = np.asarray(prior, float)
    if chances.size == 0 or not (chances >= 0).all() or not np.isclose(chances.sum(), 1):
        raise ValueError("the probabilities of the answers must be at least 0 and sum to 1.")
    best = float(chances.max())
    return best / (best + float(np.exp(-epsilon)) * (1 - best))
