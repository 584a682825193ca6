"""The promise of mechanisms on comparisons: one comparison or one user, not one rank of a ranking."""

from __future__ import annotations

from collections.abc import Sequence

from privrank_jax.privacy.noise import NOISES, kept_by_noise
from privrank_jax.privacy.privacy import COMPARISON_KINDS, Privacy, check_privacy, kept


def of_comparisons(
    privacy: Privacy, by: str, noise: str | None = None, noises: Sequence[str] = NOISES
) -> Privacy:
    """The privacy that ``by``, a mechanism on comparisons, attains where ``privacy`` is asked for.

    Args:
        privacy: what is asked for: unit comparison or user, any adjacency.
        by: name of the mechanism.
        noise: one of ``noises``, which determines δ; None for mechanisms that find the δ they attain themselves.
        noises: the kinds of noise that it has.

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: unit rank, a noise that is not one of ``noises``, Gaussian noise at δ = 0.

    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip", delta=1e-6)
    >>> of_comparisons(promise, "noisy_counts", "laplace").delta
    0.0
    """
    check_privacy(privacy)
    if privacy.unit == "rank":
        raise ValueError(
            f"{by} works on comparisons, which have no ranks to protect: promise unit='comparison' or unit='user'; "
            "unit='rank' is for mechanisms on rankings, such as mallows.sample."
        )
    if noise is None:
        return kept(privacy, by, *COMPARISON_KINDS)
    return kept_by_noise(noise, privacy, by, *COMPARISON_KINDS, noises=noises)
