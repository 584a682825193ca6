"""What a study is: parameters with published values, a trial, its cells, claims and a picture, in one declaration."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jax

from privrank_jax import _registry
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import Optimized
from privrank_jax.experiments import pictures
from privrank_jax.experiments.claims import BESIDE, Claim, Printed, Verdict, beside
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study
from privrank_jax.simulate.table_files import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PADDING = ("max_items", "max_users")  # sizes of arrays, which change no result and are no columns
_LONGEST = 80  # characters of the name of a file, without its ending
_KINDS = {int: "whole number", float: "number", str: "word"}

MODULES = {
    "alabi.central": "alabi-central",
    "alabi.local": "alabi-local",
    "continual": "continual",
    "cai.simulated": "cai-fig1 cai-fig2 cai-fig3 cai-fig5 cai-fig6 cai-fig7",
    "cai.one_shot": "cai-fig4",
    "cai.surveys": "cai-fig8",
    "cai.intervals": "cai-intervals",
    "rdp.synthetic": "rdp-fig2 rdp-fig4",
    "rdp.attack": "rdp-fig5 rdp-fig6",
    "rdp.personalized": "rdp-fig7 rdp-fig8",
    "xu.scenarios": "xu-table5 xu-table6 xu-table7 xu-table8 xu-table9",
    "xu.methods": "xu-table10 xu-table11",
    "xu.cars": "xu-table2 xu-fig14",
    "xu.extensions": "xu-table3 xu-table4",
    "xu.figures": "xu-fig3 xu-fig5",
}
_MODULE_OF = {name: module for module, held in MODULES.items() for name in held.split()}
_HELD: dict[str, Experiment] = {}


# --- parameters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A parameter of a study: its published value, and what may replace it.

    Attributes:
        kind: int, float or str.
        published: a value; a tuple of values, or of rows of values; with ``span`` a row.
        meaning: what it is, in words.
        least: of numbers; None where they must be above 0.
        most: of numbers; ∞ only where it is published.
        among: words to choose from; none for any.
        span: whether it is one row of ascending values.
        empty: whether there may be no values.
    """

    kind: type[int] | type[float] | type[str]
    published: Any
    meaning: str
    least: float | None = None
    most: float = math.inf
    among: tuple[str, ...] = ()
    span: bool = False
    empty: bool = False

    @property
    def several(self) -> bool:
        """Whether it is a tuple of values, or of rows."""
        return isinstance(self.published, tuple) and not self.span

    @property
    def width(self) -> int:
        """How many values a row has."""
        row = self.published[0] if self.several else self.published
        return len(row) if isinstance(row, tuple) else 1

    def checked(self, value: Any) -> Any:
        """The value as trials take it: a list is a tuple, and a single value a tuple of one; else ``ValueError``."""
        if not self.several:
            return self._row(value)
        alone = isinstance(value, str) or not isinstance(value, Iterable)
        found = tuple(map(self._row, [value] if alone else value))
        if len(set(found)) < len(found) or not (found or self.empty):
            raise ValueError
        return found

    def read(self, text: str) -> Any:
        """The value of a text: commas between values, colons within a row of several; else ``ValueError``."""
        if not self.several:
            return self.checked(self._parsed(text, ","))
        words = "|".join([*map(re.escape, self.among), "[^,]+"])  # a word may have a comma itself
        parts = re.findall(rf"(?:{words})(?=\s*(?:,|$))", text) if self.among else text.split(",")
        return self.checked([self._parsed(part, ":") for part in parts if text])

    def _parsed(self, text: str, between: str) -> Any:
        if self.width == 1:
            return self.kind(text.strip())
        return [self.kind(part) for part in text.split(between)]

    def _row(self, row: Any) -> Any:
        if self.width == 1:
            return self._value(row)
        found = tuple(map(self._value, row))
        if len(found) != self.width or (self.span and list(found) != sorted(found)):
            raise ValueError
        return found

    def _value(self, value: Any) -> Any:
        if isinstance(value, str) != (self.kind is str) or isinstance(value, bool):
            raise ValueError
        if self.kind is str:
            found, right = value, not self.among or value in self.among
        else:
            found = operator.index(value) if self.kind is int else float(value)
            endless = self.several and math.inf in self.published
            right = (
                found > 0 if self.least is None else found >= self.least
            ) and found <= self.most
            right = right and (found < math.inf or endless)
        if not right:
            raise ValueError
        return found

    def form(self) -> str:
        """What a value looks like, in words."""
        words = f"{_KINDS[self.kind]}s" if self.several or self.width > 1 else _KINDS[self.kind]
        words = f"{self.width} ascending {words}" if self.span else words
        words = f"rows of {self.width} {words}" if self.several and self.width > 1 else words
        if self.among:
            words += f" among {', '.join(map(repr, self.among))}"
        elif self.kind is not str:
            words += " above 0" if self.least is None else f" of at least {self.least:g}"
            words += f" and at most {self.most:g}" if self.most < 2**31 - 1 else ""
        return words + ", none twice" * self.several


def whole(published: Any, meaning: str, least: int = 1, most: int = 2**31 - 1, **more: Any) -> Any:
    """A parameter of whole numbers; see :class:`Parameter`."""
    return Parameter(int, published, meaning, least, most, **more)


def number(published: Any, meaning: str, least: float | None = None, **more: Any) -> Any:
    """A parameter of numbers, above 0 unless ``least`` says otherwise."""
    return Parameter(float, published, meaning, least, **more)


def word(published: Any, meaning: str, among: Sequence[str] = (), **more: Any) -> Any:
    """A parameter of words: of ``among``, or any."""
    return Parameter(str, published, meaning, among=tuple(among), **more)


def written(value: Any) -> str:
    """The text of a value, which :meth:`Parameter.read` reads.

    >>> written((0.5, 1.0, float("inf"))), written(((10, 300), (20, 3000)))
    ('0.5,1,inf', '10:300,20:3000')
    """
    if isinstance(value, tuple):
        rows = (written(v).replace(",", ":") if isinstance(v, tuple) else written(v) for v in value)
        return ",".join(rows)
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}" if abs(value) < 1e16 else repr(value)
    return str(value)


# --- studies -------------------------------------------------------------------------------------


class P(SimpleNamespace):
    """What a trial sees: the parameters of the study, what was prepared, the study's name, and a cell of its grid."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


Trial = Callable[[Key, P], Metrics]


@dataclass(frozen=True)
class Experiment:
    """One study of a paper, as :func:`study` declares it.

    Attributes:
        name: name for ``privrank reproduce``.
        title: subject of the study.
        paper: reference to the paper and its figure or table.
        trial: function of a key and :class:`P` to the metrics of one replicate.
        parameters: what can be changed, by name.
        values: their values.
        cells: function of P to the cells of the grid, or to a mapping from names of parts to their cells.
        claims: claims, checked in this order.
        picture: options of :func:`privrank_jax.experiments.pictures.draw`.
        outline: the column of the horizontal axis, and that which names a curve, for short tables.
        replicates: default number of replicates.
        static: columns that shape the program, where the cells have them.
        axes: of the metrics.
        rows: function of P and the engine's rows to the rows of the table, with further columns.
        printed: the printed table beside it.
        differences: reasons why our curves differ from the printed ones.
        batch: (cell, replicate) pairs at once on each device of a CPU; None leaves it to memory.
        optimized: see :class:`~privrank_jax.simulate.Study`.
        prepare: function of P to further attributes of it, such as data, before anything runs.
        check: function of P to what is wrong with values that are sound alone; "" if nothing is.
        data_optional: whether it runs without its real data, and then leaves their cells out.
        each: whether every replicate is a row of the table, with a column ``draw``.
    """

    name: str
    title: str
    paper: str
    trial: Trial
    parameters: Mapping[str, Parameter]
    values: Mapping[str, Any]
    cells: Callable[[P], Sequence[Parameters] | Mapping[str, Sequence[Parameters]]]
    claims: tuple[Claim, ...]
    picture: Mapping[str, Any]
    outline: tuple[str, str]
    replicates: int = 100
    static: tuple[str, ...] = ()
    axes: tuple[str, ...] = ("metric", "estimator")
    rows: Callable[[P, list[Row]], Iterable[Row]] | None = None
    printed: Printed | None = None
    differences: tuple[str, ...] = ()
    batch: int | None = None
    optimized: Optimized | Callable[[Parameters], Optimized] = True
    prepare: Callable[[P], Mapping[str, Any]] = lambda p: {}
    check: Callable[[P], str] = lambda p: ""
    data_optional: bool = False
    each: bool = False

    @property
    def p(self) -> P:
        """The parameters, as trials see them."""
        return P(**self.values)

    @property
    def data(self) -> tuple[str, ...]:
        """Names of its real data sets; none if all data are simulated."""
        found = self.values.get("data", ())
        return (found,) if isinstance(found, str) else found

    @property
    def changes(self) -> dict[str, Any]:
        """The parameters that differ from the published ones."""
        return {n: v for n, v in self.values.items() if v != self.parameters[n].published}

    @property
    def full_name(self) -> str:
        """The name, with the parameters that were changed, such as ``cai-fig6 with users=250,500``."""
        return f"{self.name} with {_spelled(self.changes)}" if self.changes else self.name

    @property
    def file_name(self) -> str:
        """How its files begin, such as ``cai-fig6-users=250,500``, so that nothing is taken for published."""
        words = [f"{name}={written(value)}" for name, value in self.changes.items()]
        plain = "-".join([self.name, *words])
        safe = re.sub(r"[^\w.,=-]", "_", plain, flags=re.ASCII)
        if safe == plain and len(plain) <= _LONGEST:
            return plain
        return f"{safe[: _LONGEST - 9]}-{hashlib.sha256(plain.encode()).hexdigest()[:8]}"

    @property
    def note(self) -> str:
        """What changed parameters mean for the verdicts, in a sentence or two; "" for the published study."""
        if not self.changes:
            return ""
        theirs = {name: self.parameters[name].published for name in self.changes}
        return (
            f"Changed: {_spelled(self.changes)} (published: {_spelled(theirs)}). Printed values are of the published "
            "parameters, so nothing is compared with them; claims are judged for the changed ones."
        )

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
                raise ValueError(f"{setting!r} sets nothing: write PARAMETER=VALUE")
            if name in found:
                raise ValueError(f"{self.name}: {name} is set twice")
            found[name] = self._taken(name, text.strip(), Parameter.read)
        return found

    def configured(self, **changes: Any) -> Experiment:
        """Return the same experiment with other parameters.

        Args:
            changes: values by name; a list is a tuple, and a single value a tuple of one where the study has several.

        Raises:
            ValueError: an unknown parameter (the message lists all), or a value that it cannot have.
        """
        found = {n: self._taken(n, value, Parameter.checked) for n, value in changes.items()}
        changed = dataclasses.replace(self, values={**self.values, **found})
        if wrong := self.check(changed.p):
            raise ValueError(f"{self.name}: {wrong}")
        return changed

    def _taken(self, name: str, value: Any, take: Callable[[Parameter, Any], Any]) -> Any:
        if name not in self.parameters:
            listed = _spelled({n: one.published for n, one in self.parameters.items()})
            hint = _registry.nearest(name, self.parameters) or "."
            known = f"Its parameters, as published: {listed}"
            raise ValueError(f"{self.name} has no parameter {name!r}{hint} {known}")
        one = self.parameters[name]
        try:
            return take(one, value)
        except (IndexError, TypeError, ValueError):
            shown = written(one.published[:3] if one.several else one.published)
            right = f"{name} must be {one.form()}, such as {name}={shown}"
            raise ValueError(f"{self.name}: {right}; got {value!r}") from None

    def studies(self) -> tuple[Study, ...]:
        """Return the studies, ready for :func:`privrank_jax.simulate.run`."""
        p = P(**self.values, **self.prepare(self.p))
        cells = self.cells(p)
        parts = cells if isinstance(cells, Mapping) else {self.name: cells}
        return tuple(
            Study(
                name,
                functools.partial(_one, trial=self.trial, fixed={**vars(p), "study": name}),
                tuple(held),
                tuple(column for column in self.static if column in held[0]),
                self.axes,
                self.optimized,
            )
            for name, held in parts.items()
        )

    def runs(self, replicates: int) -> tuple[tuple[Study, ...], int]:
        """The studies, and how often each of their cells is drawn: once where every replicate is a cell of its own."""
        studies = self.studies()
        if not self.each:
            return studies, replicates
        draws = range(replicates)
        drawn = (tuple({**c, "draw": draw} for c in s.cells for draw in draws) for s in studies)
        several = zip(studies, drawn, strict=True)
        return tuple(dataclasses.replace(study, cells=cells) for study, cells in several), 1

    def table(self, result: StudyResult) -> StudyResult:
        """Return the table for the claims and the figure, from the results of the studies.

        With changed parameters nothing stands beside printed values, which are of the published ones.
        """
        rows = [{c: v for c, v in row.items() if c not in PADDING} for row in result.rows]
        if self.rows is not None:
            rows = list(self.rows(self.p, rows))
        if self.printed is not None:
            rows = list(beside(rows, self.printed))
        if self.changes:
            rows = [{c: BESIDE.get(c, v) for c, v in row.items()} for row in rows]
        return StudyResult(self.full_name, rows, result.diagnostics)

    def judged(self, table: StudyResult) -> tuple[tuple[Claim, Verdict], ...]:
        """Claims with their verdicts; with changed parameters none that compares with printed values."""
        claims = (claim for claim in self.claims if not (self.changes and claim.of_printed))
        return tuple((claim, claim.check(table)) for claim in claims)

    def draw(self, table: StudyResult) -> Figure:
        """The picture of a table of this study."""
        return pictures.draw(table, **self.picture)


def _one(key: Key, cell: Parameters, *, trial: Trial, fixed: Mapping[str, Any]) -> Metrics:
    if "draw" in cell:
        key = jax.random.fold_in(key, cell["draw"])
    return trial(key, P(**{**fixed, **cell}))


def _spelled(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={written(value)}" for name, value in values.items())


def study(name: str, title: str, paper: str, **facts: Any) -> Callable[[Trial], Trial]:
    """Declare a study: a decorator of its trial, which it leaves as it is.

    Args:
        name: see :class:`Experiment`; several names, with blanks between, for several tables of one run.
        title: subject.
        paper: reference.
        facts: parameters by name, and further attributes of :class:`Experiment`.
    """
    known = {n: one for n, one in facts.items() if isinstance(one, Parameter)}
    rest = {n: one for n, one in facts.items() if n not in known}
    rest |= {n: tuple(facts.get(n, ())) for n in ("claims", "differences", "static")}
    values = {n: one.published for n, one in known.items()}

    def declared(trial: Trial) -> Trial:
        for one in name.split():
            _HELD[one] = Experiment(one, title, paper, trial, known, values, **rest)
        return trial

    return declared


def names() -> list[str]:
    """Return the names of all studies, sorted.

    Returns:
        The names.

    >>> names()[:2]
    ['alabi-central', 'alabi-local']
    """
    return sorted(_MODULE_OF)


def get(name: str) -> Experiment:
    """Return the study of that name, importing only the module that holds it.

    Args:
        name: as in :func:`names`.

    Returns:
        The :class:`Experiment`.

    Raises:
        ValueError: there is no such study; the message names the closest.

    >>> get("cai-fig1").name
    'cai-fig1'
    """
    module = _registry.find(_MODULE_OF, name, "study", names())
    importlib.import_module(f"{__package__}.{module}")
    return _HELD[name]
