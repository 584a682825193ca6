"""Run an experiment, and write table, figure, verdicts and times to a folder."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

import privrank_jax
from privrank_jax import simulate
from privrank_jax._backend import on_cpu
from privrank_jax._types import Key
from privrank_jax.experiments.claims import VALUES, Claim, Verdict, excess, groups, is_difference
from privrank_jax.experiments.study import Experiment, get
from privrank_jax.simulate.checkpoint import Checkpoints
from privrank_jax.simulate.devices import is_first
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row, write_csv

# Columns that distinguish the lines of an outline.
_HEADS = ("study", "metric", "link", "scheme", "gap", "estimator", "calibration", "ties")


@dataclass(frozen=True)
class ExperimentResult:
    """Results of a run of an experiment.

    Attributes:
        experiment: the experiment as it was run.
        table: one row per cell and metric, with a column for each axis, and the diagnostics of the engine.
        verdicts: claims with their verdicts.
        replicates: of each cell.
        diagnostics: ``total_seconds`` (figure and files included), ``compile_seconds``, ``run_seconds``,
            ``compilations`` (programs that XLA compiled), ``failed_fits`` (fits that did not converge) and
            ``nonfinite`` (values left out of means).
        paths: paths of the files that this process has written: ``csv``, ``claims``, ``config``; with matplotlib
            ``picture``; with DuckDB ``parquet``.
    """

    experiment: Experiment
    table: StudyResult
    verdicts: tuple[tuple[Claim, Verdict], ...]
    replicates: int
    diagnostics: Mapping[str, float]
    paths: Mapping[str, Path]

    def as_dict(self) -> dict[str, Any]:
        """Everything but the table, ready for JSON."""
        one = self.experiment
        return {
            "experiment": one.name,
            "title": one.title,
            "paper": one.paper,
            "changed": _finite(one.changes),
            "note": one.note,
            "replicates": self.replicates,
            "verdicts": _in_words(self.verdicts),
            "differences": list(one.differences),
            "diagnostics": dict(self.diagnostics),
            "paths": {name: str(path) for name, path in self.paths.items()},
        }

    def outline(self) -> tuple[list[str], list[list[str]]]:
        """Return a short table: header, and a line per bundle of curves; a cell is "first value → last value"."""
        x, curve = self.experiment.outline
        rows = [
            row
            for row in self.table.rows
            if not is_difference(row) and None not in (row["estimator"], row.get(x), row.get(curve))
        ]
        columns = sorted({row[curve] for row in rows})
        fixed = [name for name in _HEADS if len({row.get(name) for row in rows}) > 1]
        header = [*fixed, *(f"{curve} {_written(column)}" for column in columns)]
        body = []
        for head, line in groups(rows, *fixed).items():
            by = groups(line, curve)
            body.append([*map(str, head), *(_ends(by.get((column,), []), x) for column in columns)])
        return header, body

    def beside_printed(self) -> tuple[list[str], list[list[str]]]:
        """Return the cells that the paper prints: header, and one line per cell; no lines where it prints none.

        A line names the cell by the columns that differ between cells, then has our mean and the printed one, each with
        its standard error, by how many standard errors of both ours is larger, and the verdict.
        """
        rows = [row for row in self.table.rows if math.isfinite(row.get("printed", math.nan))]
        known = dict.fromkeys(column for row in rows for column in row if column not in VALUES)
        fixed = [name for name in known if len({row.get(name) for row in rows}) > 1]
        header = [*fixed, "ours ± SE", "printed ± SE", "apart (SE)", "verdict"]
        body = []
        for row in rows:
            ours = f"{row['mean']:.4f} ± {row['standard_error']:.4f}"
            printed = f"{row['printed']:.4f} ± {row['printed_standard_error']:.4f}"
            apart = f"{excess(row):+.1f}" if math.isfinite(excess(row)) else ""
            place = (_written(row.get(name)) for name in fixed)
            body.append([*place, ours, printed, apart, row["verdict"]])
        return header, body


def run(
    key: Key,
    experiment: str | Experiment,
    replicates: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = False,
    fresh: bool = False,
    notice: Callable[[str], None] | None = None,
    **changes: Any,
) -> ExperimentResult:
    """Run an experiment and judge its claims.

    With a folder, results so far are kept in its subfolder ``NAME.unfinished`` until all is written: after an
    interruption the same call resumes from there and gives the same table. With several processes (``jax.distributed``)
    each computes its part, and the first writes. Other parameters make another study,
    ``run(key, "cai-fig6", users=(250, 500))``, with files of its own, in which nothing is compared with printed values.

    Args:
        key: PRNG key, JAX's default kind.
        experiment: a name, see :func:`~privrank_jax.experiments.names`, or an experiment.
        replicates: of each cell; None takes the default of the experiment.
        folder: for table, claims and figure, created if absent; None writes nothing.
        progress: show a progress bar.
        fresh: start over and ignore the results of an earlier run.
        notice: called with messages, e.g. where the run resumed or that memory ran out.
        changes: parameters of the study to replace, see :attr:`Experiment.parameters`: a smaller or another grid.

    Returns:
        The :class:`ExperimentResult`.

    Raises:
        ValueError: unknown study or parameter, a value that it cannot have, or missing data.
    """
    started = time.perf_counter()
    found = get(experiment) if isinstance(experiment, str) else experiment
    found = found.configured(**changes)
    replicates = found.replicates if replicates is None else replicates
    kept = None
    if folder is not None:
        kept = Checkpoints(Path(folder) / f"{found.file_name}.unfinished", fresh=fresh)
    options = {"progress": progress, "checkpoints": kept, "notice": notice}
    options["batch_size"] = found.batch if on_cpu() else None
    result = simulate.run(key, *found.runs(replicates), **options)
    table = found.table(result)
    verdicts = found.judged(table)
    paths = {}
    if folder is not None and is_first():
        paths = _write(key, found, table, verdicts, Path(folder))
    if kept is not None:
        kept.clear()
    failed = (row for row in table.rows if row["metric"] == "failed_fits")
    diagnostics = {
        "total_seconds": time.perf_counter() - started,
        "compile_seconds": result.diagnostics.compile_seconds,
        "run_seconds": result.diagnostics.run_seconds,
        "compilations": result.diagnostics.compilations,
        "failed_fits": round(sum(row["mean"] * row["replicates"] for row in failed)),
        "nonfinite": sum(row["nonfinite"] for row in table.rows),
    }
    return ExperimentResult(found, table, verdicts, replicates, diagnostics, paths)


def _write(
    key: Key,
    experiment: Experiment,
    table: StudyResult,
    verdicts: tuple[tuple[Claim, Verdict], ...],
    folder: Path,
) -> dict[str, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    name = experiment.file_name
    paths = {"csv": folder / f"{name}.csv"}
    table.to_csv(paths["csv"])
    if importlib.util.find_spec("duckdb"):
        paths["parquet"] = folder / f"{name}.parquet"
        table.to_parquet(paths["parquet"])
    paths["claims"] = folder / f"{name}-claims.csv"
    write_csv(_in_words(verdicts), paths["claims"])
    paths["config"] = folder / f"{name}-config.json"
    settings = {
        "experiment": experiment.name,
        "config": _finite(experiment.values),
        "changed": _finite(experiment.changes),
        "replicates": max(row["replicates"] for row in table.rows),
        "key": jax.random.key_data(key).tolist(),
        "privrank_jax": privrank_jax.__version__,
        "jax": jax.__version__,
    }
    text = json.dumps(settings, indent=1, allow_nan=False, default=str)
    paths["config"].write_text(text + "\n", encoding="utf-8")
    if importlib.util.find_spec("matplotlib"):
        from privrank_jax import plotting

        paths["picture"] = folder / f"{name}.png"
        plotting.save(experiment.draw(table), paths["picture"])
    return paths


def _in_words(verdicts: Iterable[tuple[Claim, Verdict]]) -> list[dict[str, str]]:
    return [
        {"claim": claim.text, "verdict": verdict.word, "evidence": verdict.evidence}
        for claim, verdict in verdicts
    ]


def _finite(value: object) -> object:
    """Replace ∞ and NaN by words, as JSON has neither."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _written(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _ends(rows: list[Row], x: str) -> str:
    if not rows:
        return ""
    first, last = min(rows, key=lambda row: row[x]), max(rows, key=lambda row: row[x])
    if first is last:
        return f"{first['mean']:.3g}"
    return f"{first['mean']:.3g} → {last['mean']:.3g}"
