"""The names of the studies that this library reproduces, and the modules that hold them.

A module (one per paper and kind of study) holds a tuple ``EXPERIMENTS``. It is imported when one of its studies is
asked for.
"""

from __future__ import annotations

import importlib

from privrank_jax import _registry
from privrank_jax.experiments.experiment import Experiment

MODULES = {
    "alabi.central": ("alabi-central",),
    "alabi.local": ("alabi-local",),
    "alabi.bounds": ("alabi-lower-bounds",),
    "alabi.regret": ("alabi-regret",),
    "hillebrand.ratio": ("hillebrand",),
    "hillebrand.trust": ("hillebrand-local",),
    "continual.streams": ("continual",),
    "continual.skewed": ("continual-exposure",),
    "cai.simulated": tuple(f"cai-fig{number}" for number in (1, 2, 3, 5, 6, 7)),
    "cai.one_shot": ("cai-fig4",),
    "cai.real": ("cai-fig8",),
    "cai.exposure": ("cai-exposure", "cai-intervals"),
    "cai.top_lists": ("cai-top-lists",),
