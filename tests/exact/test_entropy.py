"""Words and integers of the operating system; streams of a key: what HMAC-SHA-256 says, and independent."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest

from privrank_jax.exact.entropy import SecretStream, random_words, uniform_integers
from tests.exact.laws import assert_shares


@pytest.fixture
def feed(monkeypatch):
    """Let the operating system return these words."""

    def with_words(*words):
        left = iter(words)
        drawn = lambda size: b"".join(struct.pack("=Q", next(left)) for _ in range(size // 8))  # noqa: E731
        monkeypatch.setattr("secrets.token_bytes", drawn)

    return with_words


def test_uniform_integers_discard_the_words_beyond_the_last_multiple(feed):
    bound = 3 << 60  # 2^64 holds five multiples of it: words from the last one on would favor few
    feed(5 * bound - 1, 5 * bound, 2**64 - 1, 5)
    assert uniform_integers(2, bound).tolist() == [bound - 1, 5]
    feed(2**64 - 1, 2**62 + 1)  # all words are for a power of two
    assert uniform_integers(2, 2**62).tolist() == [2**62 - 1, 1]


KEY = bytes(range(32))


def hmac_sha256(key, message):
    """By its definition (RFC 2104)."""
    padded = key.ljust(64, b"\0")
    inner, outer = (bytes(one ^ pad for one in padded) for pad in (0x36, 0x5C))
    return hashlib.sha256(outer + hashlib.sha256(inner + message).digest()).digest()


def test_blocks_and_branches_are_those_of_the_definition():
    blocks = [hmac_sha256(KEY, b"\0" + bytes(7) + bytes([number])) for number in range(4)]
    stream = SecretStream(KEY)
    assert stream.token_bytes(0) == b""
    assert stream.token_bytes(40) == blocks[0] + blocks[1][:8]
    assert stream.token_bytes(32) == blocks[2]
    assert stream.randbits(11) == int.from_bytes(blocks[3][:2]) >> 5
    below = SecretStream(hmac_sha256(KEY, b"\1" + "σ".encode()))
    assert stream.branch("σ").token_bytes(99) == below.token_bytes(99)
    with pytest.raises(ValueError, match="32 bytes"):
        SecretStream(bytes(16))


def test_words_are_uniform_bits():
    """χ² of the bytes of 50,000 words, false-alarm rate 10^-9."""
    drawn = random_words(50_000, SecretStream(KEY)).view(np.uint8)
    assert_shares(np.bincount(drawn, minlength=256), np.full(256, 1 / 256))
