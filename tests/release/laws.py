"""Comparison of samples with laws."""

from __future__ import annotations

import math

import numpy as np

RATE = 1e-9


def laplace_pmf(x, scale):
    alpha = math.exp(-1 / scale)
    return (1 - alpha) / (1 + alpha) * alpha ** np.abs(x)


def gaussian_pmf(x, scale):
    grid = np.arange(-60 * math.ceil(scale), 60 * math.ceil(scale) + 1)
    return np.exp(-(x**2) / (2 * scale**2)) / np.exp(-(grid**2) / (2 * scale**2)).sum()
