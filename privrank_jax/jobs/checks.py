"""Checks of a promise and of data that several jobs share, and remarks for the holder of the data."""

from __future__ import annotations

import math
from typing import Any

from privrank_jax._arguments import is_whole
from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._promise import Privacy
from privrank_jax.data.errors import short
from privrank_jax.data.kinds import Data

# Beyond this ε, an observer may become almost certain of a user's answer (odds change by up to e^ε).
_HARDLY_PRIVATE = 10.0
_FEW = 12  # items that are named


def check_noise(privacy: Privacy, noise: str | None, *, always_delta: bool = False) -> None:
    """Refuse a promise that does not fit the noise, or an ε that leaves only noise, or almost none.

    Args:
        privacy: ε and δ.
        noise: as requested.
        always_delta: whether the mechanism spends δ whatever the noise.
    """
    delta = float(privacy.delta)
    if always_delta and not 0 < delta < 1:
        raise ValueError(
            "shuffled answers need a `delta` above 0 and below 1; a common choice is 1/n**2 for n users. With pure "
            "epsilon, shuffling adds no privacy: use trust='local'."
        )
    if delta > 0 and noise != "gaussian" and not always_delta:
        raise ValueError(
            "`delta` is for noise='gaussian': say so, or leave `delta` out, for all other noise keeps pure epsilon."
        )
    if delta == 0 and noise == "gaussian":
        raise ValueError(
            "noise='gaussian' needs a `delta` above 0; a common choice is 1/n**2 for n users. Or leave `noise` out: "
            "all other noise keeps pure epsilon."
        )
    check_size(float(privacy.epsilon))


def check_size(epsilon: float) -> None:
    """Refuse an epsilon that is not a positive number, leaves only noise, or almost none."""
    if not 0 < epsilon < math.inf:  # NaN too
        raise ValueError(
            f"`epsilon` must be a positive number, got {epsilon:g}. Use a value such as 1."
        )
    if epsilon < SMALLEST_EPSILON:
        raise ValueError(
            f"`epsilon` {epsilon:g} is so small that the result would be noise alone, whatever the data: "
            "publish nothing, or choose a value such as 1."
        )
    if epsilon > LARGEST_EPSILON:
        raise ValueError(
            f"`epsilon` {epsilon:g} is so large that almost no noise is left and no user is protected: "
            "choose a value such as 1."
        )


def hardly_private(epsilon: float) -> tuple[str, ...]:
    """A warning of an ε that gives almost no protection."""
    if epsilon <= _HARDLY_PRIVATE:
        return ()
    return (
        f"epsilon = {epsilon:g} gives almost no protection: what is published may become "
        f"e^{epsilon:g} times likelier by one user's answers. Values up to about 3 are usual.",
    )


def private_remark(*remarks: str) -> tuple[str, ...]:
    """What was counted in the data, for their holder alone."""
    return tuple(f"{one} (For you alone: the guarantee does not cover this.)" for one in remarks)


def large_delta(promise: Privacy | None, **units: int) -> tuple[str, ...]:
    """Why a δ of 1 over the number of units or more protects none of them, for the holder of the data.

    Args:
        promise: None without privacy.
        units: ``user=`` and ``comparison=``, how many there are of each. Private, where units may be added or removed.
    """
    if promise is None:
        return ()
    return private_remark(*about_delta(float(promise.delta), units[promise.unit], promise.unit))


def about_delta(delta: float, count: int, of: str) -> tuple[str, ...]:
    """The same for δ and so many units, each ``of`` ``"user"`` or ``"comparison"``; of none nobody is protected."""
    if not count or delta < 1 / count:
        return ()
    return (
        f"delta = {delta:g} is at least 1 over the number of {of}s, {count:,}: a release that shows everyone all "
        f"about one {of} chosen at random would keep such a promise. Take a delta far below {1 / count:.2g}; "
        f"1/n**2 is common, here {count**-2:.2g}.",
    )


def check_top_k(top_k: int | None) -> None:
    """Refuse to show fewer items than one, or what is no number of items."""
    if top_k is not None and not (is_whole(top_k) and top_k >= 1):
        raise ValueError(f"`top_k` must be at least 1, and whole, got {top_k!r}.")


def needs_top_k(method: str) -> str:
    """What is said where a method selects the best items and nothing says how many."""
    return f"{method} selects the best items: say how many, such as top_k=3."


def check_items(name: str, count: int, most: int, top_k: int | None = None) -> None:
    """Refuse data with too few items for a ranking, or too many for a table of all pairs."""
    check_top_k(top_k)
    if top_k is not None and top_k > count:
        raise ValueError(f"`top_k` {top_k} is more than there are items: {name} has {count}.")
    if count > most:
        raise ValueError(
            f"{name} has {count:,} items; a table of all pairs is kept, for at most {most:,}."
        )
    if count < 2:
        raise ValueError(f"a ranking needs at least two items, {name} has {count}.")


def check_rare_items(data: Any, *, written: bool) -> tuple[str, ...]:
    """Look at a list of items that was read off the rows, and that a release publishes, before anything is spent.

    Args:
        data: the rows.
        written: whether items are what users wrote, as in rankings: one that a single user named says something of
            that user, and is refused unless the list of items has it. In comparisons and choices items are what users
            were shown, and a warning does. Either is for the holder of the data alone.

    Returns:
        The warning, if there is one.
    """
    data.check_declared()
    rare = data.rare_items if "items" in data.public else ()
    if not rare:
        return ()
    few = ", ".join(map(repr, map(short, rare[:_FEW]))) + ", …" * (len(rare) > _FEW)
    if written:
        raise ValueError(
            f"{data.name}: one user alone ranked {few}, and the list of items, read off the answers, would be "
            "published. List those that are public anyway by `items`, and correct or remove what else users "
            "wrote."
        )
    return private_remark(
        f"{data.name}: {few}: in the rows of one user only, and the list of items, read off the rows, is published. If "
        "users named items themselves, list those that are public by `items`."
    )


def rule_of(missing: str) -> str:
    """How an item counts that a user did not rank, in words."""
    if missing == "last":
        return "an item that a user did not rank counts as behind all that the user ranked (missing='last')"
    return "of pairs with an item that a user did not rank, that user gives both half a vote (missing='unknown')"


def what_is(data: object) -> str:
    """What was given instead of data of the right kind, in words."""
    name = f" ({data.name})" if isinstance(data, Data) else ""
    return f"{type(data).__name__}{name}"
