"""Numbers of shuffled comparisons: each user answers for one pair, by randomized response."""

from __future__ import annotations

import math
from collections.abc import Callable

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.plan.request import MOST_SHUFFLED, Design


def hidden_among(design: Design, users: int) -> int:
    """Number of users among whom an answer is hidden: all, or those of the same public question, at least one."""
    if design.question == "secret":
        return users
    return max(users // (design.items * (design.items - 1) // 2), 1)


def local_of_shuffled(design: Design, users: int, epsilon: float) -> float:
    """The largest ε of an answer whose shuffling leaves ``epsilon``."""
    from privrank_jax.privacy.shuffling import shuffled_local_epsilon

    among = hidden_among(design, users)
    return shuffled_local_epsilon(among, epsilon, design.delta, question=design.question)


def shuffled_from_local(design: Design, users: int, local: float) -> float:
    """ε after shuffling, of answers at ``local``."""
    from privrank_jax.privacy.shuffling import shuffled_epsilon

    among = hidden_among(design, users)
    return shuffled_epsilon(among, local, design.delta, question=design.question)


def users_of_shuffled(design: Design, users_needed: Callable[[float], float]) -> int:
    """Users that suffice at the ε of the design, and no 10,000th fewer.

    More users allow a larger ε of an answer, of which fewer are needed.

    Args:
        design: with ε and δ.
        users_needed: users needed where answers have an ε.
    """
    assert design.epsilon is not None

    def needed(users: int) -> int:
        return _whole(users_needed(local_of_shuffled(design, users, epsilon)))

    epsilon, low = design.epsilon, _whole(users_needed(math.inf))
    high = low if (found := needed(low)) <= low else found
    while high - low > max(1, 1e-4 * low):
        middle = (low + high) // 2
        found = needed(middle)
        if found <= middle:
            high = middle
        else:
            low, high = middle, min(high, found)
    _check(high)
    return high


def _whole(users: float) -> int:
    _check(users)
    return max(math.ceil(users * (1 - 1e-6)), 1)


def _check(users: float) -> None:
    if not users <= MOST_SHUFFLED:  # NaN too
        raise Refusal(
            f"the target takes more than {MOST_SHUFFLED:,} users, if it can be reached at all: take a larger --target "
            "or --epsilon, or a smaller --spread."
        )
