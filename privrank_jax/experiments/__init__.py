"""Published studies as registered experiments: one frozen config, a batched trial, and claims to judge.

>>> names()[:2]
['alabi-central', 'alabi-local']
"""

from __future__ import annotations

from privrank_jax.experiments.registry import Claim, Experiment, Verdict, get, names
from privrank_jax.experiments.report import Report, run

__all__ = ["Claim", "Experiment", "Report", "Verdict", "get", "names", "run"]
