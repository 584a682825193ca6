"""Noise for simulation: fast JAX samplers in floating point. Real releases draw exact integer noise instead."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike

from privrank_jax._promise import NOISES, SHAPED_NOISES
from privrank_jax._pytrees import pytree
from privrank_jax._types import Key, Numbers
from privrank_jax._validate import check_choice, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.privacy import Kind, Privacy, kept

__all__ = ["NOISES", "SHAPED_NOISES"]


@pytree
class NoiseDiagnostics:
    """The noise that a mechanism added; public.

    Attributes:
        noise_scale: λ (Laplace), σ (Gaussian) or what the function documents, in the units of what it was added to.
        center: what was subtracted from each user's numbers where the number of users is private.
    """

    noise_scale: Numbers
    center: Numbers = 0.0


def kept_by_noise(
    noise: str, privacy: Privacy, by: str, *kinds: Kind, noises: Sequence[str] = NOISES
) -> Privacy:
    """As :func:`~privrank_jax.privacy.privacy.kept` of a mechanism with these noises; all but Gaussian attain δ = 0."""
    attained = kept(privacy, by, *kinds)
    check_choice("noise", noise, noises)
    if noise != "gaussian":
        return dataclasses.replace(attained, delta=0.0)
    instead = " or ".join(f"noise={name!r}" for name in noises if name != "gaussian")
    check_approximate(privacy, "noise='gaussian'", instead)
    return attained


def check_approximate(privacy: Privacy, wanted: str, instead: str) -> None:
    """Raise ``ValueError`` unless δ > 0 or traced; ``instead`` of what is ``wanted`` needs no δ."""
    if not is_traced(privacy.delta) and not np.all(np.asarray(privacy.delta) > 0):
        raise ValueError(
            f"{wanted} needs delta > 0, and this promise has delta = {privacy.delta}: give it one, such as "
            f"Privacy(..., delta=1e-6), far below 1 over the number of users, or choose {instead}."
        )


def norm_of(noise: str) -> str:
    """The norm of the sensitivity that the noise is calibrated to: ``"l2"`` for Gaussian noise, else ``"l1"``."""
    return "l2" if noise == "gaussian" else "l1"


def draw(key: Key, noise: str, shape: tuple[int, ...], scale: Numbers, dtype: DTypeLike) -> Array:
    """Draw noise of :data:`NOISES` by its name."""
    return (laplace if noise == "laplace" else gaussian)(key, shape, scale, dtype)


def laplace(key: Key, shape: tuple[int, ...], scale: Numbers, dtype: DTypeLike) -> Array:
    """Laplace noise of density exp(-|x|/scale)/(2 scale); scale 0 gives exact zeros."""
    return jnp.asarray(scale, dtype) * jax.random.laplace(fused(key), shape, dtype)


def gaussian(key: Key, shape: tuple[int, ...], scale: Numbers, dtype: DTypeLike) -> Array:
    """Gaussian noise of standard deviation ``scale``."""
    return jnp.asarray(scale, dtype) * jax.random.normal(fused(key), shape, dtype)


def gumbel(key: Key, shape: tuple[int, ...], scale: Numbers, dtype: DTypeLike) -> Array:
    """Gumbel noise; the argmax of scores + Gumbel(1/a) samples item i with odds exp(a score_i)."""
    return jnp.asarray(scale, dtype) * jax.random.gumbel(fused(key), shape, dtype)
