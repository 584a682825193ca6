"""Published studies as registered experiments: a frozen config, a batched trial, and claims to check.

>>> names()[:2]
['alabi-central', 'alabi-local']
"""

from __future__ import annotations

from privrank_jax.experiments.claims import Claim, Verdict
from privrank_jax.experiments.runner import ExperimentResult, run
from privrank_jax.experiments.study import Experiment, get, names

__all__ = ["Claim", "Experiment", "ExperimentResult", "Verdict", "get", "names", "run"]
