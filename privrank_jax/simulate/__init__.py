"""Monte Carlo studies: worlds that generate data, and the engine that runs batched replicates."""

from __future__ import annotations

from privrank_jax._workarounds.threefry import fused
from privrank_jax.simulate import worlds
from privrank_jax.simulate.checkpoint import Checkpoints
from privrank_jax.simulate.engine import Study, grid, run
from privrank_jax.simulate.result import StudyResult, write_csv, write_parquet

__all__ = [
    "Checkpoints",
    "Study",
    "StudyResult",
    "fused",
    "grid",
    "run",
    "worlds",
    "write_csv",
    "write_parquet",
]
