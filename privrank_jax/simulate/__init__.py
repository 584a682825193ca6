"""Monte Carlo studies: worlds that generate data, and the engine that runs batched replicates."""

from __future__ import annotations

from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import Optimized, fixed
from privrank_jax.simulate import worlds
from privrank_jax.simulate.axes import Label, Labeled, labeled
from privrank_jax.simulate.checkpoint import Checkpoints
from privrank_jax.simulate.engine import run
from privrank_jax.simulate.result import ProgramFacts, StudyDiagnostics, StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study, Trial, grid
from privrank_jax.simulate.table_files import Row, write_csv, write_parquet

__all__ = [
    "Checkpoints",
    "Label",
    "Labeled",
    "Metrics",
    "Optimized",
    "Parameters",
    "ProgramFacts",
    "Row",
    "Study",
    "StudyDiagnostics",
    "StudyResult",
    "Trial",
    "fixed",
    "fused",
    "grid",
    "labeled",
    "run",
    "worlds",
    "write_csv",
    "write_parquet",
]
