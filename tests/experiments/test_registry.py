"""The list of experiments: names, hints, settings, and the grids that the paper states."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys

import jax
import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.experiments import registry
from privrank_jax.experiments.claims import Verdict
from privrank_jax.simulate.axes import flatten
from tests.experiments.alabi.shared import ALABI, KEY
from tests.experiments.rdp.shared import PERSONAL, RDP
from tests.experiments.rows import cells

XU = [f"xu-table{n}" for n in range(2, 12)] + [f"xu-fig{n}" for n in (3, 5, 10, 14)]

FIGURES = [f"cai-fig{number}" for number in range(1, 9)]


def test_every_study_of_the_papers_is_registered():
    others = (
        "cai-exposure cai-intervals cai-probabilities cai-top-lists continual continual-exposure"
    )
    others += " hillebrand hillebrand-local rdp-regret"
