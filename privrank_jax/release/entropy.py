"""Random words from the operating system, for what a release draws without a library."""

from __future__ import annotations

import secrets

import numpy as np


def random_words(count: int) -> np.ndarray:
    """Independent, uniform 64-bit words, ``(count,)`` uint64, read-only.

    >>> random_words(3).shape
    (3,)
    """
    return np.frombuffer(secrets.token_bytes(8 * count), np.uint64)
