"""Matrices of an integer strategy."""

from __future__ import annotations

import numpy as np


def matrices(strategy, steps):
    decode, encode = np.zeros((steps, steps)), np.zeros((steps, steps))
    for step in range(steps):
        decode[step, : step + 1] = strategy.decoding(step)
        encode[step, : step + 1] = strategy.encoding(step)
    return decode, encode
