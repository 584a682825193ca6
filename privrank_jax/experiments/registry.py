"""What an experiment is, and the list of those that this library reproduces.

A module listed in ``_MODULES`` (one per paper and kind of study) holds a tuple ``EXPERIMENTS``; its
modules load on first use.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privrank_jax import _registry
from privrank_jax.simulate.result import Row, StudyResult
from privrank_jax.simulate.study import Study

if TYPE_CHECKING:
    import jax
    from matplotlib.figure import Figure

Run = Callable[..., StudyResult]

_MODULES = (
    *("cai.edge", "cai.one_shot", "cai.users", "cai.real"),
    *("alabi.central", "alabi.local", "alabi.bounds"),
    *("xu.scenarios", "xu.methods", "xu.real", "xu.extensions", "xu.figures"),
    *("rdp.synthetic", "rdp.attack", "rdp.personalized", "rdp.hidden_groups"),
)


@dataclass(frozen=True)
class Verdict:
    """What the replicates say about a claim.

    Attributes:
        holds: True, False, or None where the replicates can't tell, or the cells that it needs did not run.
        evidence: the figures behind it, with standard errors and the slack that was allowed.
    """

    holds: bool | None
    evidence: str

    @property
    def word(self) -> str:
        """``holds``, ``does not hold`` or ``undecided``."""
        return {True: "holds", False: "does not hold", None: "undecided"}[self.holds]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, or one of ours, and how a table is held against it.

    Attributes:
        text: the claim.
        check: pure function of the tidy table.
    """

    text: str
    check: Callable[[StudyResult], Verdict]


@dataclass(frozen=True)
class Experiment:
    """One study of a paper.

    Attributes:
        name: what ``privrank reproduce`` calls it.
        title: what it studies.
        paper: where it stands.
        config: frozen dataclass of the grid: items, ε, users and so on.
        build: config to studies; see :meth:`studies`.
        tidy: config and rows of the engine to the rows of the table.
        claims: judged in this order.
        draw: the tidy table to a picture.
        outline: which column is on the horizontal axis, and which names a curve; for short tables.
        differences: where and why our curves differ from the printed ones.
        replicates: how many a run has unless told otherwise.
        batch_size: (cell, replicate) pairs at once on each device, see :func:`privrank_jax.simulate.run`.
        measure: how key, experiment, replicates and a function like :func:`privrank_jax.simulate.run` become results,
            for studies that are no means over replicates (times; a row per replicate); None runs the studies.
    """

    name: str
    title: str
    paper: str
    config: Any
    build: Callable[[Any], tuple[Study, ...]]
    tidy: Callable[[Any, Sequence[Row]], list[Row]]
    claims: tuple[Claim, ...]
    draw: Callable[[StudyResult], Figure]
    outline: tuple[str, str]
    differences: tuple[str, ...] = ()
    replicates: int = 100
    batch_size: int | None = None
    measure: Callable[[jax.Array, Experiment, int, Run], StudyResult] | None = None

    def configured(self, **changes: Any) -> Experiment:
        """The same experiment on another grid.

        Raises:
            ValueError: a field that its config does not have.
        """
        fields = [field.name for field in dataclasses.fields(self.config)]
        if unknown := sorted(set(changes) - set(fields)):
            raise ValueError(f"{self.name} has no setting {unknown}; it has {fields}")
        return dataclasses.replace(self, config=dataclasses.replace(self.config, **changes))

    def studies(self, **changes: Any) -> tuple[Study, ...]:
        """Its studies, ready for :func:`privrank_jax.simulate.run`; ``changes`` replace config fields."""
        return self.build(self.configured(**changes).config)


def names() -> list[str]:
    """Names of all experiments, in the order of their papers."""
    return sorted(_registered())


def get(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        ValueError: there is none; the message names the nearest.
    """
    return _registry.find(_registered(), name, "experiment", names())


def _registered() -> dict[str, Experiment]:
    modules = (f"{__package__}.{module}" for module in _MODULES)
    return _registry.collect(modules, "EXPERIMENTS", "experiment")
