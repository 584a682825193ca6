"""Running moments of the metrics of a study, in memory that does not grow with the replicates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

_ARRAYS = ("finite", "mean", "squares", "buffer")
BLOCK = 1024  # replicates per summation block; changing it changes the last bits of every table


class Moments:
    """Count, mean and sum of squares of every metric, for cells that arrive one after another.

    Replicates are reduced in blocks of ``BLOCK``, in the order of their index, and blocks are merged by Chan's formula.
    So the results do not depend on the batches, to the last bit, nor on a stop between two if :meth:`state` was kept.
    ``position`` of ``total`` (cell, replicate) pairs are added so far.
    """

    def __init__(self, num_cells: int, num_metrics: int, replicates: int):
        self.replicates, self.total = replicates, num_cells * replicates
        self.position = 0
        self._finite = np.zeros((num_cells, num_metrics), np.int64)
        self._mean = np.zeros((num_cells, num_metrics))
        self._squares = np.zeros((num_cells, num_metrics))
        self._buffer = np.zeros((num_metrics, BLOCK))

    def add(self, values: np.ndarray) -> None:
        """Add the next pairs, no more than are missing; ``values`` has shape (metrics, pairs)."""
        while values.shape[1]:
            cell, count = divmod(self.position, self.replicates)
            filled = count % BLOCK
            take = min(BLOCK - filled, self.replicates - count, values.shape[1])
            self._buffer[:, filled : filled + take] = values[:, :take]
            values = values[:, take:]
            self.position += take
            if filled + take == BLOCK or count + take == self.replicates:
                self._flush(cell, filled + take)

    def _flush(self, cell: int, filled: int) -> None:
        finite, means, sums = self._finite[cell], self._mean[cell], self._squares[cell]
        for metric, row in enumerate(self._buffer[:, :filled]):
            kept = row[np.isfinite(row)]
            if not kept.size:
                continue
            mean = kept.mean()
            squares = np.sum((kept - mean) ** 2)
            before, total = finite[metric], finite[metric] + kept.size
            shift = mean - means[metric]
            means[metric] += shift * (kept.size / total)
            sums[metric] += squares + shift**2 * (before * kept.size / total)
            finite[metric] = total

    def rows(
        self, cell: int, head: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        """One tidy row per metric of a complete cell: ``head``, the metric's columns, mean, error and counts."""
        for index, metric in enumerate(metrics):
            finite = int(self._finite[cell, index])
            squares = float(self._squares[cell, index])
            error = math.sqrt(squares / (finite - 1) / finite) if finite > 1 else math.nan
            yield {
                **head,
                **metric,
                "mean": float(self._mean[cell, index]) if finite else math.nan,
                "standard_error": error,
                "replicates": self.replicates,
                "nonfinite": self.replicates - finite,
            }

    def state(self) -> dict[str, np.ndarray]:
        """The full state, for :meth:`restore`; its shapes and types never change."""
        return {
            "position": np.array([self.position]),
            **{name: getattr(self, f"_{name}") for name in _ARRAYS},
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from a state of moments of the same shape."""
        self.position = int(state["position"][0])
        for name in _ARRAYS:
            getattr(self, f"_{name}")[...] = state[name]
