"""Words and integers from the operating system."""

from __future__ import annotations

import struct

import pytest

from privrank_jax.exact.entropy import uniform_integers


@pytest.fixture
def feed(monkeypatch):
    """Let the operating system return these words."""

    def with_words(*words):
        left = iter(words)
        drawn = lambda size: b"".join(struct.pack("=Q", next(left)) for _ in range(size // 8))  # noqa: E731
        monkeypatch.setattr("secrets.token_bytes", drawn)

    return with_words


def test_uniform_integers_discard_the_words_beyond_the_last_multiple(feed):
    bound = (
        3 << 60
    )  # 2^64 holds five multiples of it: words from the last one on would favor small numbers
    feed(5 * bound - 1, 5 * bound, 2**64 - 1, 5)
    assert uniform_integers(2, bound).tolist() == [bound - 1, 5]
    feed(2**64 - 1, 2**62 + 1)  # all words are for a power of two
    assert uniform_integers(2, 2**62).tolist() == [2**62 - 1, 1]
