"""Source of randomness of a release: the operating system, or a seed in a rehearsal."""

from __future__ import annotations

import secrets

import jax
import numpy as np

from privrank_jax._types import Key
from privrank_jax.cli.core.request import Release


class Entropy:
    """Source of PRNG keys.

    Args:
        request: a release, or a rehearsal with or without a seed.

    Attributes:
        seed: seed of a rehearsal; None in a release.
    """

    def __init__(self, request: Release) -> None:
        self.seed: int | None = None
        if request.simulate:
            self.seed = secrets.randbits(31) if request.seed is None else request.seed
        self._drawn = 0

    def key(self) -> Key:
        """Return a fresh key."""
        if self.seed is None:
            data = np.frombuffer(secrets.token_bytes(8), np.uint32)
            return jax.random.wrap_key_data(jax.numpy.asarray(data), impl="threefry2x32")
        self._drawn += 1
        return jax.random.fold_in(jax.random.key(self.seed), self._drawn)

    def salt(self) -> str:
        """Return a fresh salt for a keyed hash, as text."""
        if self.seed is None:
            return secrets.token_hex()
        return np.asarray(jax.random.key_data(self.key())).tobytes().hex()
