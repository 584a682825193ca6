"""Definition of an experiment: one study of a paper, with its grid, its claims and its figure."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privrank_jax._backend import on_cpu
from privrank_jax._registry import nearest
from privrank_jax.experiments.old_claims import Claim, Verdict
from privrank_jax.experiments.parameters import (
    COMPUTING,
    Parameter,
    check_together,
    parameters,
    written,
)
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
_LONGEST = 80  # characters of the name of a file, without its ending
_BESIDE_PRINTED = {
    "printed": math.nan,
    "printed_standard_error": math.nan,
    "printed_t_statistic": math.nan,
    "printed_p_value": math.nan,
    "verdict": "",
}


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
        published: the config with the published parameters; None takes ``config``.
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
    published: Any = None

    def __post_init__(self) -> None:
        if self.published is None:
            object.__setattr__(self, "published", self.config)

    @property
    def data(self) -> tuple[str, ...]:
        """Names of its real data sets, the ``data`` of the config; none if all data are simulated."""
        found = getattr(self.config, "data", ())
        return (found,) if isinstance(found, str) else tuple(found)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What can be changed, by name, with the published values."""
        return parameters(self.published)

    @property
    def changes(self) -> dict[str, Any]:
        """The parameters that differ from the published ones; those of how it is computed are left out."""
        names = [name for name in self.parameters if name not in COMPUTING]
        values = {name: getattr(self.config, name) for name in names}
        return {n: v for n, v in values.items() if v != getattr(self.published, n)}

    @property
    def full_name(self) -> str:
        """The name, with the parameters that were changed.

        >>> from privrank_jax import experiments
        >>> experiments.get("cai-fig6").configured(users=(250, 500)).full_name
        'cai-fig6 with users=250,500'
        """
        words = ", ".join(f"{name}={written(value)}" for name, value in self.changes.items())
        return f"{self.name} with {words}" if words else self.name

    @property
    def file_name(self) -> str:
        """How its files begin: with other parameters they are other files, so that nothing is taken for published.

        >>> from privrank_jax import experiments
        >>> experiments.get("cai-fig6").configured(users=(250, 500)).file_name
        'cai-fig6-users=250,500'
        """
        words = [f"{name}={written(value)}" for name, value in self.changes.items()]
        plain = "-".join([self.name, *words])
        safe = re.sub(r"[^\w.,=-]", "_", plain, flags=re.ASCII)
        if safe == plain and len(plain) <= _LONGEST:
            return plain
        return f"{safe[: _LONGEST - 9]}-{hashlib.sha256(plain.encode()).hexdigest()[:8]}"

    def read(self, settings: Iterable[str]) -> dict[str, Any]:
        """The changes of parameters that texts such as ``"users=250,500"`` ask for, for :meth:`configured`.

        Args:
            settings: ``PARAMETER=VALUE``, with commas between several values, and colons within a row of them.

        Returns:
            The values by name.

        Raises:
            ValueError: a text without ``=``, an unknown parameter (the message lists all), one that is set twice, or a
                value that it cannot have.

        >>> from privrank_jax import experiments
        >>> experiments.get("cai-fig6").read(["users=250,500", "per_user=10"])
        {'users': (250, 500), 'per_user': 10}
        """
        found: dict[str, Any] = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            name = name.strip().replace("-", "_")
            if not equals:
                example, parameter = next(iter(self.parameters.items()))
                raise ValueError(
                    f"{setting!r} sets nothing: write PARAMETER=VALUE, such as "
                    f"{example}={written(parameter.published)}"
                )
            self._check_known([name], written)
            if name in found:
                raise ValueError(f"{self.name}: {name} is set twice")
            try:
                found[name] = self.parameters[name].read(text.strip())
            except ValueError as error:
                raise ValueError(f"{self.name}: {error}") from None
        return found

    def configured(self, **changes: Any) -> Experiment:
        """Return the same experiment with other parameters.

        Args:
            changes: values by name; a list is a tuple, and a single value a tuple of one where the study has several.

        Raises:
            ValueError: an unknown parameter (the message lists all), or a value that it cannot have.
        """
        self._check_known(changes, repr)
        known = self.parameters
        try:
            found = {name: known[name].checked(value) for name, value in changes.items()}
            config = dataclasses.replace(self.config, **found)
            check_together(config)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        return dataclasses.replace(self, config=config)

    def _check_known(self, names: Iterable[str], spelled: Callable[[Any], str]) -> None:
        known = self.parameters
        for name in names:
            if name not in known:
                listed = ", ".join(f"{n}={spelled(one.published)}" for n, one in known.items())
                hint = nearest(name, known) or "."
                raise ValueError(
                    f"{self.name} has no parameter {name!r}{hint} Its parameters, as published: {listed}"
                )

    def pairs_at_once(self) -> int | None:
        """``batch_size`` of :func:`privrank_jax.simulate.run`: that of the experiment on a CPU, where more would miss
        the cache or wait for the slowest; None elsewhere, where memory decides."""
        return self.batch_size if on_cpu() else None

    @property
    def values(self) -> dict[str, Any]:
        return dataclasses.asdict(self.config)

    def runs(self, replicates: int) -> Any:
        if self.measure is None:
            return self.studies(), replicates
        from privrank_jax.experiments.xu import dots

        held = {}

        def keep(key: Any, studies: Any, times: int, **options: Any) -> Any:
            held["found"] = studies, times

        dots.per_replicate(None, self, replicates, keep)
        return held["found"]

    def studies(self, **changes: Any) -> tuple[Study, ...]:
        """Return the studies, ready for :func:`privrank_jax.simulate.run`; ``changes`` replace parameters."""
        return self.build(self.configured(**changes).config)

    def table(self, result: StudyResult) -> StudyResult:
        """Return the table for the claims and the figure, from the results of the studies.

        With changed parameters nothing stands beside printed values, which are of the published ones.
        """
        rows = [{c: v for c, v in row.items() if c not in PADDING} for row in result.rows]
        if self.annotate is not None:
            rows = self.annotate(self.config, rows)
        if self.changes:
            rows = [{c: _BESIDE_PRINTED.get(c, v) for c, v in row.items()} for row in rows]
        return StudyResult(self.full_name, rows, result.diagnostics)

    def judged(self, table: StudyResult) -> tuple[tuple[Claim, Verdict], ...]:
        """Claims with their verdicts; with changed parameters none that compares with printed values."""
        claims = (claim for claim in self.claims if not (self.changes and claim.of_printed))
        return tuple((claim, claim.check(table)) for claim in claims)

    @property
    def note(self) -> str:
        """What changed parameters mean for the verdicts, in a sentence or two; "" for the published study."""
        if not self.changes:
            return ""
        ours = ", ".join(f"{name}={written(value)}" for name, value in self.changes.items())
        theirs = ", ".join(
            f"{name}={written(self.parameters[name].published)}" for name in self.changes
        )
        return (
            f"Changed: {ours} (published: {theirs}). Printed values are of the published parameters, so nothing is "
            "compared with them; claims are judged for the changed ones."
        )
