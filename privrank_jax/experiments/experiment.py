"""Definition of an experiment: one study of a paper, with its grid, its claims and its figure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privrank_jax._backend import on_cpu
from privrank_jax.experiments.claims import Claim
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Study
from privrank_jax.simulate.table_files import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from privrank_jax._types import Key

Run = Callable[..., StudyResult]
Annotate = Callable[[Any, list[Row]], list[Row]]

PADDING = (
    "max_items",
    "max_users",
)  # sizes of arrays, which change no result and are not columns of a table


@dataclass(frozen=True)
class Experiment:
    """One study of a paper.

    Attributes:
        name: name for ``privrank reproduce``.
        title: subject of the study.
        paper: reference to the paper and its figure or table.
        config: frozen dataclass of the grid: items, ε, users and so on.
        build: function from a config to studies; see :meth:`studies`.
        claims: claims, checked in this order.
        draw: function from the table to a figure.
        outline: the column of the horizontal axis, and those that name a curve, for short tables.
        annotate: function from the config and the engine's rows to the rows of the table, with further columns such as
            printed or exact values; None adds none.
        differences: reasons why our curves differ from the printed ones.
        replicates: default number of replicates.
        batch_size: (cell, replicate) pairs at once on each device of a CPU, see :meth:`pairs_at_once`.
        measure: function from key, experiment, replicates and a function like :func:`privrank_jax.simulate.run` to a
            result, for studies that are not means over replicates (times; one row per replicate); None runs the
            studies.
        data_optional: whether it runs without its real data, and then leaves their cells out.
    """

    name: str
    title: str
    paper: str
    config: Any
    build: Callable[[Any], tuple[Study, ...]]
    claims: tuple[Claim, ...]
    draw: Callable[[StudyResult], Figure]
    outline: tuple[str, str]
    annotate: Annotate | None = None
    differences: tuple[str, ...] = ()
    replicates: int = 100
    batch_size: int | None = None
    measure: Callable[[Key, Experiment, int, Run], StudyResult] | None = None
    data_optional: bool = False

    @property
    def data(self) -> tuple[str, ...]:
        """Names of its real data sets, the ``data`` of the config; none if all data are simulated."""
        found = getattr(self.config, "data", ())
        return (found,) if isinstance(found, str) else tuple(found)

    def configured(self, **changes: Any) -> Experiment:
        """Return the same experiment on another grid.

        Raises:
            ValueError: the config has no such field.
        """
        fields = [field.name for field in dataclasses.fields(self.config)]
        if unknown := sorted(set(changes) - set(fields)):
            raise ValueError(f"{self.name} has no setting {unknown}; it has {fields}")
        return dataclasses.replace(self, config=dataclasses.replace(self.config, **changes))

    def pairs_at_once(self) -> int | None:
        """``batch_size`` of :func:`privrank_jax.simulate.run`: that of the experiment on a CPU, where more would miss
        the cache or wait for the slowest; None elsewhere, where memory decides."""
        return self.batch_size if on_cpu() else None

    def studies(self, **changes: Any) -> tuple[Study, ...]:
        """Return the studies, ready for :func:`privrank_jax.simulate.run`; ``changes`` replace config fields."""
        return self.build(self.configured(**changes).config)

    def table(self, result: StudyResult) -> StudyResult:
        """Return the table for the claims and the figure, from the results of the studies."""
        rows = [{c: v for c, v in row.items() if c not in PADDING} for row in result.rows]
        if self.annotate is not None:
            rows = self.annotate(self.config, rows)
        return StudyResult(self.name, rows, result.diagnostics)
