r"""What somebody who knows all but one person's data can tell from a publication: in full if exact, little if private.

**Exact.** Totals are sums over people, so what two publications differ by, or what one leaves beyond the people whose
answers are known, are the answers of the others: :func:`battles_between` reads them off.

**Private.** Let the person's value be one of 1, ..., k, with prior probabilities π_1, ..., π_k (whatever the attacker
knows of the person), and let the data sets with these values be neighbors of each other: any two values under
``"replace"``, any two answers to the same questions under ``"flip"``. Let M be ε-DP with density p_i under value i, and
o what was published. By Bayes, and as p_j(o) ≥ e^{-ε} p_i(o),

.. math:: P(i | o) = \frac{π_i p_i(o)}{\sum_j π_j p_j(o)} ≤ \frac{π_i}{π_i + e^{-ε}(1 - π_i)}.

The right side grows with π_i. So no guess of the value, however clever, is right with a probability of more than
e^ε π/(e^ε π + 1 - π), π the largest prior: e^ε/(1 + e^ε) for two equally likely values, e^ε/(e^ε + k - 1) for k. The
same holds for any question about the value, with the prior probabilities of its answers: averages of the p_i over two
groups of values are within e^ε of each other too. Randomized response with k answers attains it, so it can't be
improved. For (ε, δ)-DP it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    won, lost = (last - first).T.tolist()
    if min([*won, *lost], default=0) < 0 or sum(won) != sum(lost):
        raise ValueError("between two leaderboards wins and losses grow alike, and none falls.")
    if sum(won) > _MOST_BATTLES:
        raise ValueError(
            f"{sum(won)} battles have too many explanations to list: compare leaderboards that differ by at most "
            f"{_MOST_BATTLES}."
        )
    winners = [item for item, times in enumerate(won) for _ in range(times)]
    return list(_explained(winners, lost, ()))


def _explained(winners: Sequence[int], lost: list[int], so_far: Battles) -> Iterator[Battles]:
    """Losers for these winners, in ascending order for the same winner so that no set comes twice."""
    if not winners:
        yield so_far
        return
    winner, *rest = winners
    least = so_far[-1][1] if so_far and so_far[-1][0] == winner else 0
    for loser in range(least, len(lost)):
        if lost[loser] and loser != winner:
            fewer = [times - (item == loser) for item, times in enumerate(lost)]
            yield from _explained(rest, fewer, (*so_far, (winner, loser)))


def right_guesses(
    log_densities: Real[ArrayLike, "draws values"],
    truth: Integer[ArrayLike, "draws"],
    answers: Integer[ArrayLike, "values"] | None = None,
    *,
    prior: Real[ArrayLike, "values"] | None = None,
) -> Bool[np.ndarray, "draws"]:
    """Whether the best guess, the answer that is most likely after the publication, is right.

    Args:
        log_densities: of what was published, under each value that the person may have, up to a constant in each row.
        truth: the person's value in each draw, by its index.
        answers: the answer to a question that each value gives; None: the question is the value itself.
        prior: probability of each value; None: all are equally likely.

    Returns:
        One for each draw; of answers that are equally likely, the first is guessed.

    >>> right_guesses([[0.0, -0.5, -0.5], [-2.0, 0.0, 0.0]], [0, 1], [0, 1, 1]).tolist()
    [False, True]
    """
    logs = np.asarray(log_densities, float)
    values = np.arange(logs.shape[1])
    given = values if answers is None else np.asarray(answers)
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights = odds if prior is None else odds * np.asarray(prior, float)
    known, which = np.unique(given, return_inverse=True)
    likely = weights @ (which[:, None] == np.arange(len(known)))
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
