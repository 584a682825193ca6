"""The promise of mechanisms on rankings and ballots: each user gives one, which may be replaced by any other."""

from __future__ import annotations

from collections.abc import Sequence

from privrank_jax.privacy.noise import NOISES, kept_by_noise
from privrank_jax.privacy.privacy import Kind, Privacy

REPLACED: tuple[Kind, ...] = (("user", "replace"),)
"""Units and adjacencies of mechanisms on rankings."""
ADDED: tuple[Kind, ...] = (*REPLACED, ("user", "add-remove"))
"""Those of mechanisms that keep the number of users private as well, where that is asked for."""


def unit_of(promise: Privacy, num_users: int) -> tuple[int, int]:
    """The change of twice a count by one user, and the divisor of noisy sums: n, or 1 where that is private.

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

    As :func:`~privrank_jax.privacy.noise.kept_by_noise`; ``"laplace"`` is for mechanisms without noise as well.

    Raises:
        TypeError, ValueError: as there; a promise with ``contributions``.

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
