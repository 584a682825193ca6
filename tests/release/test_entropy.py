"""Words and integers from the operating system."""

from __future__ import annotations

import struct

import numpy as np

from privrank_jax.release import mallows


def test_uniform_integers_discard_the_words_beyond_the_last_multiple(monkeypatch):
    bound = (
        3 << 62
    )  # 2^64 holds one multiple of it: words from `bound` on would favor small numbers
    words = iter([bound - 1, bound, 2**64 - 1, 5, 7])

    def fed(size):
        return b"".join(struct.pack("=Q", next(words)) for _ in range(size // 8))

    monkeypatch.setattr("secrets.token_bytes", fed)
    assert mallows._below(np.full(3, bound, np.uint64)).tolist() == [bound - 1, 5, 7]
    words = iter([2**64 - 1, 2**64 - 2, 14])  # 2^64 = 6 mod 10: the last six words are not for 10
    assert mallows._below(np.array([1 << 48, 10], np.uint64)).tolist() == [2**48 - 1, 4]
