"""Random words from the operating system, for draws of a release that no library makes."""

from __future__ import annotations

import secrets

import numpy as np


def random_words(count: int) -> np.ndarray:
    """Independent, uniform 64-bit words, ``(count,)`` uint64, read-only.

    >>> random_words(3).shape
    (3,)
    """
    return np.frombuffer(secrets.token_bytes(8 * count), np.uint64)


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
