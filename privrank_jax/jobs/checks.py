"""Checks of a promise and of data that several jobs share, and remarks for the holder of the data."""

from __future__ import annotations

from typing import Any

from privrank_jax._arguments import is_whole
from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._promise import Privacy
from privrank_jax.data.errors import listed
from privrank_jax.data.kinds import Data

# Beyond this ε, an observer may become almost certain of a user's answer (odds change by up to e^ε).
_HARDLY_PRIVATE = 10.0
NOTHING_TO_PAY = "without privacy there is nothing to pay for: leave `ledger` out."


def refuse(*cases: Any) -> None:
    """Raise ``ValueError`` with the words behind the first condition that holds, of ``condition, words, ...``."""
    for wrong, words in zip(cases[::2], cases[1::2]):
        if wrong:
            raise ValueError(words)


def check_noise(privacy: Privacy, noise: str | None, *, shuffled: bool = False) -> None:
    """Refuse a δ that does not fit the noise, and an ε out of range; shuffled answers spend δ whatever the noise."""
    spends = shuffled or noise == "gaussian"
    refuse(
        spends and not privacy.delta > 0,
        "noise='gaussian' and trust='shuffled' need a `delta` above 0, such as 1/n**2 for n users; else leave it out.",
        privacy.delta > 0 and not spends,
        "`delta` is for noise='gaussian': say so, or leave `delta` out; all other noise keeps pure epsilon.",
    )
    check_size(float(privacy.epsilon))


def check_size(epsilon: float) -> None:
    """Refuse an epsilon that leaves only noise, or almost none."""
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:  # NaN too
        raise ValueError(
            f"`epsilon` must be a positive number from {SMALLEST_EPSILON:g}, below which the result would be noise "
            f"alone, to {LARGEST_EPSILON:g}, beyond which almost none is left; got {epsilon:g}. Use a value such as 1."
        )


def hardly_private(epsilon: float) -> tuple[str, ...]:
    """A warning of an ε that gives almost no protection."""
    words = f"epsilon = {epsilon:g} gives almost no protection; values up to about 3 are usual."
    return (words,) if epsilon > _HARDLY_PRIVATE else ()


def private_remark(*remarks: str) -> tuple[str, ...]:
    """What was counted in the data, for their holder alone."""
    return tuple(f"{one} (For you alone: the guarantee does not cover this.)" for one in remarks)


def about_promise(promise: Privacy, **units: int) -> tuple[str, ...]:
    """Warnings of ε, and of δ by the numbers ``user=`` and ``comparison=``, which may be private."""
    told = about_delta(float(promise.delta), units[promise.unit], promise.unit)
    return hardly_private(float(promise.epsilon)) + private_remark(*told)


def check_spends_nothing(name: str, promised: bool) -> None:
    """Refuse to protect again what is randomized."""
    if promised:
        raise ValueError(
            f"{name} holds what was randomized: ranking it adds no noise and spends nothing more. Leave out the "
            "promise; for another epsilon, randomize the answers again (both together then spend the sum)."
        )


def about_delta(delta: float, count: int, of: str) -> tuple[str, ...]:
    """Why a δ of 1 over the number of units, each ``of`` ``"user"`` or ``"comparison"``, or more protects none."""
    if not count or delta < 1 / count:
        return ()
    return (
        f"delta = {delta:g} is at least 1 over the number of {of}s, {count:,}: to show all about one {of} chosen at "
        f"random would keep such a promise. Take far less; 1/n**2 is common, here {count**-2:.2g}.",
    )


def check_top_k(top_k: int | None, *, needed_by: str = "") -> None:
    """Refuse to show fewer items than one, and a method that selects the best items if nothing says how many."""
    refuse(
        top_k is not None and not (is_whole(top_k) and top_k >= 1),
        f"`top_k` must be at least 1, and whole, got {top_k!r}.",
        top_k is None and needed_by,
        f"{needed_by} selects the best items: say how many, such as top_k=3.",
    )


def check_items(name: str, count: int, most: int, top_k: int | None = None) -> None:
    """Refuse data with too few items for a ranking, or too many for a table of all pairs."""
    check_top_k(top_k)
    refuse(
        top_k and top_k > count,
        f"`top_k` {top_k} is more than the {count} items of {name}.",
        not 2 <= count <= most,
        f"{name} has {count:,} items; a ranking takes 2 to {most:,}.",
    )


def check_rare_items(data: Any, *, written: bool) -> tuple[str, ...]:
    """Refuse undeclared data, and look at a list of items that was read off the rows and that a release publishes.

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
    words = (
        f"{data.name}: {listed(rare)}: in the rows of one user only, and the list of items, read off the rows, is "
        "published. If users named items themselves, list those that are public by `items`"
    )
    if written:
        raise ValueError(f"{words}, and correct or remove what else users wrote.")
    return private_remark(f"{words}.")


def what_is(data: object) -> str:
    """What was given instead of data of the right kind, in words."""
    name = f" ({data.name})" if isinstance(data, Data) else ""
    return f"{type(data).__name__}{name}"
