"""Random words for draws of a release that no library makes: from the operating system, or from a secret stream."""

from __future__ import annotations

import secrets
from typing import Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Source(Protocol):
    """Where random bits come from: :data:`SYSTEM`, or a :class:`~privrank_jax.release.secret_stream.SecretStream`."""

    def branch(self, label: str) -> Source:
        """A source that is independent of this one and of branches with other labels."""
        ...

    def token_bytes(self, size: int) -> bytes:
        """Bytes that were not drawn before."""
        ...

    def randbits(self, bits: int) -> int:
        """An integer of so many bits that were not drawn before."""
        ...


class _System:
    """The operating system's generator."""

    def branch(self, label: str) -> Source:
        return self

    def token_bytes(self, size: int) -> bytes:
        return secrets.token_bytes(size)

    def randbits(self, bits: int) -> int:
        return secrets.randbits(bits)


SYSTEM: Source = _System()


def random_words(count: int, source: Source = SYSTEM) -> np.ndarray:
    """Independent, uniform 64-bit words, ``(count,)`` uint64, read-only.

    Args:
        count: how many.
        source: of their bits.

    >>> random_words(3).shape
    (3,)
    """
    return np.frombuffer(source.token_bytes(8 * count), "<u8")


def uniform_integers(count: int, below: int) -> np.ndarray:
    """Independent integers, uniform on 0, ..., ``below`` - 1, ``(count,)`` int64; ``below`` at most 2^62.

    Words at or beyond the last multiple of ``below`` are drawn again.

    >>> uniform_integers(4, 1).tolist()
    [0, 0, 0, 0]
    """
    if not 1 <= below <= 2**62:
        raise ValueError(f"below must lie between 1 and 2^62, got {below}.")
    last = np.uint64(2**64 - 1 - 2**64 % below)
    found = np.empty(0, np.uint64)
    while found.size < count:
        words = random_words(count - found.size)
        found = np.concatenate([found, words[words <= last]])
    return (found % np.uint64(below)).astype(np.int64)
