"""Commands from frozen dataclasses: each field is an option, written once, and an instance is the request.

A field is ``Annotated[type, typer.Option(help=...)]`` with its default, as a parameter of a Typer command would be.
Groups of options that several commands share are base classes. On the command line a class's own options come first,
then those of its bases in the order in which they stand.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import shlex
import typing
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import typer

from privrank_jax.cli.console import check_seed, refusing

if TYPE_CHECKING:
    from privrank_jax._arguments import Argument


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one run of a command.

    Attributes:
        given: names of the options given on the command line.
        LIBRARY: from the library's name of an argument to the field, where they differ.
        PANEL: heading of the class's own options in the help; "" for the default heading.
        HIDDEN: whether the help of this class's own options stands in ``privrank look --help`` alone.
        LEFT_OUT: options of its bases that a command does without, as another one says the same.
    """

    given: frozenset[str] = frozenset()

    LIBRARY: ClassVar[dict[str, str]] = {}
    PANEL: ClassVar[str] = ""
    HIDDEN: ClassVar[bool] = False
    LEFT_OUT: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def names(cls) -> list[str]:
        """Names of all options, in the order in which ``--help`` shows them."""
        return list(_parameters(cls))

    @classmethod
    def spelled(cls, argument: Argument) -> str | None:
        """The option of this command for an argument that a library message names; None if there is none."""
        name = cls.LIBRARY.get(argument.name, argument.name)
        if name not in _parameters(cls):
            return None
        if not argument.has_value:
            return option(name)
        value = argument.value
        if not isinstance(value, list):
            return f"{option(name)} {shlex.quote('none' if value is None else str(value))}"
        several = value if any("," in one for one in value) else [",".join(value)]
        return " ".join(f"{option(name)} {shlex.quote(one)}" for one in several)

    def line(self, command: str) -> str:
        """The command line with the options that were given; of a file its name without folders.

        >>> Seed(seed=3, given=frozenset({"seed"})).line("demo")
        'privrank demo --seed 3'
        """
        words = ["privrank", command]
        for name, parameter in _parameters(type(self)).items():
            value = getattr(self, name)
            if name not in self.given:
                continue
            for one in value if isinstance(value, list) else [value]:
                written = f"{one:g}" if isinstance(one, float) else str(one)
                if isinstance(one, Path) or Path(written).is_file():
                    written = Path(written).name
                if parameter.default is inspect.Parameter.empty:  # an argument, not an option
                    words.append(written)
                else:
                    words += [option(name)] if one is True else [option(name), written]
        return shlex.join(words)


def option(name: str) -> str:
    """Return the option of a field.

    >>> option("top_k")
    '--top-k'
    """
    return f"--{name.replace('_', '-')}"


Request = TypeVar("Request", bound=Options)


def command(serve: Callable[[Request], None]) -> Callable[..., None]:
    """Make the Typer command of a function that takes a request; errors that the user can fix become refusals."""
    (request,) = (hint for name, hint in typing.get_type_hints(serve).items() if name != "return")
    parameters = _parameters(request)

    @refusing(request.spelled)
    def run(context: typer.Context, **values: object) -> None:
        sources = {name: context.get_parameter_source(name) for name in context.params}
        given = {name for name, found in sources.items() if found and found.name == "COMMANDLINE"}
        serve(request(given=frozenset(given), **values))

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    run.__signature__ = inspect.Signature([context, *parameters.values()])  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in (context, *parameters.values())}
    run.__name__, run.__doc__, run.__module__ = serve.__name__, serve.__doc__, serve.__module__
    return run


def _parameters(request: type[Options]) -> dict[str, inspect.Parameter]:
    """The options of a class as parameters of a function, in the order in which ``--help`` shows them."""
    hints = typing.get_type_hints(request, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(request)}
    panels: dict[str, tuple[str, bool]] = {}
    for one in request.__mro__:
        for name in inspect.get_annotations(one):
            if typing.get_origin(hints[name]) is Annotated:
                hidden = vars(one).get("HIDDEN", False) and not vars(request).get(
                    "SHOWS_ALL", False
                )
                panels.setdefault(name, (vars(one).get("PANEL", ""), hidden))
    return {
        name: inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=_under(*panel, hints[name]),
            default=_default(fields[name]),
        )
        for name, panel in panels.items()
        if name not in request.LEFT_OUT
    }


def _under(panel: str, hidden: bool, hint: Any) -> Any:
    """The annotation of an option with the heading under which the help shows it; a flag takes no value to show."""
    kind, info = typing.get_args(hint)
    info = copy.copy(info)
    info.rich_help_panel = panel or None
    if hidden:
        info.hidden = True
    if kind is bool:
        info.metavar = ""
    for number, name in ((int, "INTEGER"), (float, "FLOAT")):
        if number in (kind, *typing.get_args(kind)):
            info.parser, info.metavar = _parser(number), info.metavar or name
    return Annotated[kind, info]


def _parser(kind: type) -> Callable[[Any], Any]:
    """What reads a number: as Python does, but without its underscores and digits of other scripts, as in files."""

    def number(given: Any) -> Any:
        try:
            if isinstance(given, str) and ("_" in given or not given.isascii()):
                raise ValueError
            return kind(given)
        except ValueError:
            what = "whole number" if kind is int else "number"
            raise typer.BadParameter(f"{given!r} is not a {what}.") from None

    return number


def _default(field: dataclasses.Field[object]) -> object:
    missing = field.default is dataclasses.MISSING
    return inspect.Parameter.empty if missing else field.default


@dataclasses.dataclass(frozen=True, kw_only=True)
class Json(Options):
    """Output format of the result."""

    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seed(Options):
    """Seed of commands that generate their own data."""

    seed: Annotated[int, typer.Option(metavar="N", help="Seed of everything random.")] = 0

    def check_seed(self) -> None:
        """Refuse a seed that JAX has no key for."""
        check_seed(self.seed)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Folder(Options):
    """Where files are written."""

    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the files go; made if absent.")
    ] = Path("privrank-results")
