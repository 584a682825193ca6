"""The result of a study: a tidy table that can be selected from, printed, turned into a DataFrame, and written."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privrank_jax.simulate.axes import METRIC, Label
from privrank_jax.simulate.table_files import Row, write_csv, write_parquet

if TYPE_CHECKING:
    import pandas

VALUES = ("mean", "standard_error", "replicates", "nonfinite")
RESERVED = ("study", METRIC, *VALUES)

_SHOWN = 40  # rows of a printed table


@dataclass(frozen=True)
class ProgramFacts:
    """How one program of a study was run: it computes all cells that share the static parameters."""

    study: str
    static: Mapping[str, Label]
    cells: int
    compilations: int
    batch_size: int  # on each device
    # Of a batch on each device, by XLA's buffer assignment, where it is reported.
    compiled_peak_bytes: int | None


@dataclass(frozen=True)
class StudyDiagnostics:
    """How a study was computed; without programs if it measures by other means."""

    compilations: int = 0
    compile_seconds: float = 0.0  # of tracing and waiting for the compiler
    run_seconds: float = 0.0
    devices: int = 0
    memory_limit: int | None = None  # bytes
    programs: tuple[ProgramFacts, ...] = ()


@dataclass(frozen=True, repr=False)
class StudyResult:
    """The table of a study and how it was computed; it prints what varies, below a line with what all rows share.

    >>> print(StudyResult("example", [
    ...     {"study": "example", "num_users": 50, "epsilon": epsilon, "metric": "error", "mean": mean,
    ...      "standard_error": 0.01} for epsilon, mean in ((0.5, 0.25), (float("inf"), 0.125))
    ... ]))
    example: 2 rows; num_users = 50, metric = error
      epsilon    mean  standard_error
          0.5    0.25            0.01
            ∞   0.125            0.01

    Attributes:
        study: the name of the study, or of all studies.
        rows: one dict per (cell, metric) with the columns ``study``, the cell's parameters, the axes of the metrics,
        ``metric``, ``mean``, its ``standard_error``, by the sample variance with n − 1, ``replicates`` and
        ``nonfinite``, the number of values left out. A column that does not apply to a row is None. diagnostics: how it
        was computed.
    """

    study: str
    rows: list[Row]
    diagnostics: StudyDiagnostics = StudyDiagnostics()

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in order."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def values(self, column: str) -> list[Any]:
        """The distinct values of a column, in order of appearance; ``ValueError`` for an unknown one."""
        self._check_columns([column])
        return list(dict.fromkeys(row.get(column) for row in self.rows))

    def select(self, metric: str | None = None, **columns: Label | None) -> list[Row]:
        """The rows of a metric (all if None) with these values in these columns, such as ``epsilon=0.5``.

        Raises:
            ValueError: no column or no metric has that name.
        """
        wanted = dict(columns) if metric is None else {METRIC: metric, **columns}
        self._check_columns(wanted)
        metrics = sorted({row[METRIC] for row in self.rows})
        if metric is not None and metric not in metrics:
            raise ValueError(f"no metric {metric!r} in this table; its metrics are {metrics}")
        return [r for r in self.rows if all(r.get(name) == v for name, v in wanted.items())]

    def row(self, metric: str, **columns: Label | None) -> Row:
        """The one row of a metric with these values in these columns; ``ValueError`` where several match, or none."""
        rows = self.select(metric, **columns)
        if len(rows) != 1:
            raise ValueError(
                f"{len(rows)} rows match metric={metric!r} and {columns}; name every column that "
                "varies over them, with a value that the study has"
            )
        return rows[0]

    def to_pandas(self) -> pandas.DataFrame:
        """The same rows as a DataFrame; ``ImportError`` where pandas is not installed."""
        import pandas

        return pandas.DataFrame(self.rows, columns=self.columns)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV; see :func:`write_csv`."""
        write_csv(self.rows, path)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the table as Parquet; see :func:`write_parquet`."""
        write_parquet(self.rows, path)

    def __repr__(self) -> str:
        varying = [name for name in self._parted()[0] if name not in (METRIC, *VALUES)]
        by = f" by {', '.join(varying)}" if varying else ""
        return f"<StudyResult {self.study!r}: {_counted(self.rows)}{by}; print it for the table>"

    def __str__(self) -> str:
        varying, shared = self._parted()
        heading = "; ".join(
            [f"{self.study}: {_counted(self.rows)}", ", ".join(shared)]
        ).removesuffix("; ")
        left = len(self.rows) - _SHOWN
        more = [f"  ... and {left:,} more rows"] if left > 0 else []
        return "\n".join([heading, *_aligned(self.rows[:_SHOWN], varying), *more])

    def _repr_html_(self) -> str:
        """The printed table, for notebooks."""
        return f"<pre>{html.escape(str(self))}</pre>"

    def _parted(self) -> tuple[list[str], list[str]]:
        """The columns that vary, and what all rows share, in words."""
        varying, shared = [], []
        for column in self.columns:
            values = self.values(column)
            if len(values) > 1 or column in ("mean", "standard_error"):
                varying.append(column)
            elif column != "study" and (column, values) != ("nonfinite", [0]):
                shared.append(f"{column} = {_written(values[0])}")
        return varying, shared

    def _check_columns(self, names: Sequence[str] | dict[str, Any]) -> None:
        columns = self.columns
        for name in names:
            if name not in columns:
                raise ValueError(f"no column {name!r} in this table; its columns are {columns}")


def joined(rows: Sequence[Row]) -> list[Row]:
    """Join rows of several studies on the union of their columns (None where absent); metric and values come last."""
    columns = dict.fromkeys(name for row in rows for name in row)
    last = (METRIC, *VALUES)
    order = [*(column for column in columns if column not in last), *last]
    return [{column: row.get(column) for column in order} for row in rows]


def _counted(rows: Sequence[Row]) -> str:
    return f"{len(rows):,} row{'' if len(rows) == 1 else 's'}"


def _aligned(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Lines of a table: numbers to the right, words to the left."""
    if not rows:
        return []
    lines = [""] * (len(rows) + 1)
    for column in columns:
        words = [row.get(column) for row in rows]
        cells = [column, *map(_written, words)]
        width = max(map(len, cells))
        left = any(isinstance(word, str) for word in words)
        justify: Callable[[str, int], str] = str.ljust if left else str.rjust
        lines = [f"{line}  {justify(cell, width)}" for line, cell in zip(lines, cells, strict=True)]
    return [line.rstrip() for line in lines]


def _written(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, float):
        return "∞" if value == math.inf else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
