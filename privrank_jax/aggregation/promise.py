"""The promise of mechanisms on rankings: each user gives one ranking, which may be replaced by any other."""

from __future__ import annotations

from collections.abc import Sequence

from privrank_jax.privacy.noise import NOISES, kept_by_noise
from privrank_jax.privacy.privacy import Privacy


def of_rankings(
    privacy: Privacy, by: str, noise: str = "laplace", noises: Sequence[str] = NOISES
) -> Privacy:
    """The privacy that ``by``, which protects unit user, adjacency replace, attains where ``privacy`` is asked for.

    Args:
        privacy: what is asked for: unit user, adjacency replace, or any promise that these cover.
        by: name of the mechanism.
        noise: one of ``noises``; δ = 0 is attained unless it is ``"gaussian"``. ``"laplace"`` for mechanisms without
            noise.
        noises: the kinds of noise that it has.

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: a promise that this does not cover, or one with ``contributions``; a noise that is not one of
            ``noises``; Gaussian noise at δ = 0.

    >>> of_rankings(Privacy(1.0, unit="user", adjacency="replace", delta=1e-6), "dp_borda").delta
    0.0
    """
    attained = kept_by_noise(noise, privacy, by, ("user", "replace"), noises=noises)
    if privacy.contributions is not None:
        raise ValueError(
            f"{by} protects each user's whole ranking, not single comparisons: leave contributions out "
            "of the promise."
        )
    return attained
