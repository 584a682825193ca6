"""Random bits for draws that no library makes: of the operating system, or of a secret key, to make a draw again.

**A secret stream** is HMAC-SHA-256 in counter mode. *Assumption.* HMAC-SHA-256 is a pseudorandom function (Bellare
2006; in counter mode: NIST SP 800-108). Then streams of a key from the operating system, and of all branches of it,
can't be told from independent uniform bits by anyone who lacks the key and can't do some 2^128 operations. So noise
that is drawn from them keeps its (ε, δ) against such observers, not against unbounded ones. Generators of operating
systems assume the same of their cipher.

Branches make a tree of keys: a branch is keyed by the HMAC of its label, and blocks of a stream by that of their
number, with a first byte that tells the two apart. So all branches of a key, and its own stream, are independent.
"""

from __future__ import annotations

import hmac
import secrets

import numpy as np

KEY_BYTES = 32
_BLOCK = 32


class Source:
    """The operating system's generator."""

    def branch(self, label: str) -> Source:
        """A source that is independent of this one and of branches with other labels."""
        return self

    def token_bytes(self, size: int) -> bytes:
        """Bytes that were not drawn before."""
        return secrets.token_bytes(size)

    def randbits(self, bits: int) -> int:
        """An integer of so many bits that were not drawn before."""
        return int.from_bytes(self.token_bytes(-(-bits // 8))) >> -bits % 8


SYSTEM = Source()


class SecretStream(Source):
    """The stream of a key.

    Args:
        key: 32 bytes; secret.

    >>> key = SecretStream(bytes(32))
    >>> [key.branch("a").randbits(8), key.branch("a").randbits(8), key.branch("b").randbits(8)]
    [181, 181, 160]
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, got {len(key)}.")
        self._key, self._blocks = key, 0

    def branch(self, label: str) -> SecretStream:
        """An independent stream, always the same for a label, however much of this one was read."""
        return SecretStream(hmac.digest(self._key, b"\1" + label.encode(), "sha256"))

    def token_bytes(self, size: int) -> bytes:
        """The next bytes; what is left of their last block is never used."""
        first, self._blocks = self._blocks, self._blocks - (-size // _BLOCK)
        numbers = range(first, self._blocks)
        blocks = (hmac.digest(self._key, b"\0" + one.to_bytes(8), "sha256") for one in numbers)
        return b"".join(blocks)[:size]


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
