"""Random bits as a function of a secret key, so that a draw can be made again: HMAC-SHA-256 in counter mode.

**Assumption.** HMAC-SHA-256 is a pseudorandom function (Bellare 2006; in counter mode: NIST SP 800-108). Then streams
of a key from the operating system, and of all branches of it, can't be told from independent uniform bits by anyone who
lacks the key and can't do some 2^128 operations. What is drawn from them keeps its (ε, δ) against such observers, not
against unbounded ones. Generators of operating systems assume the same of their cipher.

Branches make a tree of keys: a branch is keyed by the HMAC of its label, and blocks of a stream by that of their
number, with a first byte that tells the two apart. So all branches of a key, and its own stream, are independent.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import hmac

KEY_BYTES = 32
_BLOCK = 32


class SecretStream:
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
        blocks = (
            hmac.digest(self._key, b"\0" + number.to_bytes(8), "sha256")
            for number in range(first, self._blocks)
        )
        return b"".join(blocks)[:size]

    def randbits(self, bits: int) -> int:
        """The next bits, as an integer."""
        return int.from_bytes(self.token_bytes(-(-bits // 8))) >> -bits % 8
