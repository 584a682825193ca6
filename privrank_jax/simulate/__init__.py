"""Monte Carlo studies: worlds that generate data, and the engine that runs batched replicates."""

from __future__ import annotations

from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import fixed
from privrank_jax.simulate import worlds
from privrank_jax.simulate.engine import run
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Study, grid
from privrank_jax.simulate.table_files import Row, write_csv, write_parquet

__all__ = [
    "Row",
    "Study",
    "StudyResult",
    "fixed",
    "fused",
    "grid",
    "run",
    "worlds",
    "write_csv",
    "write_parquet",
]
