"""The promise of mechanisms on rankings and ballots: each user gives one, which may be replaced by any other.

Some mechanisms also promise that a user who is there can't be told from one who is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from privrank_jax.privacy.noise import NOISES, kept_by_noise
from privrank_jax.privacy.privacy import Kind, Privacy

REPLACED: tuple[Kind, ...] = (("user", "replace"),)
"""Units and adjacencies of mechanisms on rankings."""
ADDED: tuple[Kind, ...] = (*REPLACED, ("user", "add-remove"))
"""Those of mechanisms that keep the number of users private as well, where that is asked for."""


def unit_of(promise: Privacy, num_users: int) -> tuple[int, int]:
    """What a user changes of twice a count, and what noisy sums are divided by: n, or 1 where that is private.

    Args:
        promise: whose adjacency counts.
        num_users: n.

    >>> unit_of(Privacy(1.0, unit="user", adjacency="add-remove"), 100)
    (1, 1)
    """
    return (1, 1) if promise.adjacency == "add-remove" else (2, num_users)


def of_rankings(
    privacy: Privacy,
    by: str,
    noise: str = "laplace",
    noises: Sequence[str] = NOISES,
    kinds: Sequence[Kind] = REPLACED,
) -> Privacy:
    """The privacy that ``by``, which protects whole rankings or ballots, attains where ``privacy`` is asked for.

    Args:
        privacy: what is asked for: one of ``kinds``, or any promise that these cover.
        by: name of the mechanism.
        noise: one of ``noises``; δ = 0 is attained unless it is ``"gaussian"``. ``"laplace"`` for mechanisms without
            noise.
        noises: the kinds of noise that it has.
        kinds: units and adjacencies that it protects, the weakest first.

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: a promise that this does not cover, or one with ``contributions``; a noise that is not one of
            ``noises``; Gaussian noise at δ = 0.

    >>> of_rankings(Privacy(1.0, unit="user", adjacency="replace", delta=1e-6), "dp_borda").delta
    0.0
    """
    attained = kept_by_noise(noise, privacy, by, *kinds, noises=noises)
    if privacy.contributions is not None:
        raise ValueError(
            f"{by} protects all that a user says, not single comparisons: leave contributions out "
            "of the promise."
        )
    return attained
