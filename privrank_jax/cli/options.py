"""Commands from frozen dataclasses: each field is an option, written once, and an instance is the request.

The help of a field stands in the docstring of its class. Groups of options that several commands share are base
classes. The help shows a class's own options first, then those of its bases in the order in which they stand.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import pkgutil
import re
import shlex
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import typer

from privrank_jax._arguments import Argument
from privrank_jax.cli.console import refusing
from privrank_jax.cli.spelling import option_of, options_of

REQUIRED = dataclasses.MISSING
_METAVARS: dict[Any, str] = {bool: "", int: "N", float: "X", Path: "PATH", list[Path]: "PATH"}
_KINDS: dict[str, Any] = {"bool": bool, "int": int, "float": float, "str": str, "Time": str}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """The options of one run of a command.

    Attributes:
        given: names of the options given on the command line.
    """

    given: frozenset[str] = frozenset()

    PANEL: ClassVar[str] = ""  # heading of the class's own options in the help
    SHOWS_ALL: ClassVar[bool] = False  # whether the help shows hidden options too
    LEFT_OUT: ClassVar[tuple[str, ...]] = ()  # of the options of its bases

    @classmethod
    def spelled(cls, argument: Argument) -> str | None:
        """The option of this command for an argument that a library message names; None if there is none."""
        if option_of(argument.name) not in map(option_of, _parameters(cls)):
            return None
        return option_of(argument.name, argument.value if argument.has_value else True)

    def line(self, command: str) -> str:
        """The command line with the options that were given; of a file its name without folders.

        >>> Seed(seed=3, given=frozenset({"seed"})).line("demo")
        'privrank demo --seed 3'
        """
        words = ["privrank", command]
        for name, parameter in _parameters(type(self)).items():
            if name not in self.given:
                continue
            value = getattr(self, name)
            for one in value if isinstance(value, list) else [value]:
                written = f"{one:g}" if isinstance(one, float) else str(one)
                if isinstance(one, Path) or Path(written).is_file():
                    written = Path(written).name
                if parameter.default is not inspect.Parameter.empty:  # an option, no argument
                    words.append(option_of(name))
                words += [] if one is True else [written]
        return shlex.join(words)


def said(words: str, default: Any = None, **more: Any) -> Any:
    """A field that is an option, with words for the help; ``name``, ``metavar`` and ``hidden`` where they differ."""
    return dataclasses.field(default=default, metadata={"words": words, **more})


def argument(metavar: str, words: str, default: Any = REQUIRED) -> Any:
    """A field that is an argument, which has no name on the command line."""
    return said(words, default, metavar=metavar, name=None)


def taken(function: str, *names: str) -> Any:
    """Options that are arguments of a function of the library, ``module:function``, with words of its docstring.

    Without ``names`` of arguments all that a command line can give. It is read as syntax: to import it may load JAX.
    """
    module, _, name = function.partition(":")
    source = pkgutil.get_data("privrank_jax", f"{module.replace('.', '/')}.py") or b""
    known = {one.name: one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef)}
    found = known[name]
    arguments: list[Any] = [*zip(found.args.args[::-1], found.args.defaults[::-1])]
    arguments += zip(found.args.kwonlyargs, found.args.kw_defaults)
    fields = []
    for one, default in arguments:
        kind, _, rest = ast.unparse(one.annotation or ast.Constant("")).partition(" | ")
        if kind in _KINDS and (one.arg in names or not names):
            value = REQUIRED if default is None else ast.literal_eval(default)
            told = said(_words(ast.get_docstring(found) or "", one.arg), value)
            fields.append((one.arg, _KINDS[kind] | None if rest else _KINDS[kind], told))
    return dataclasses.make_dataclass(name, fields, bases=(Options,), frozen=True, kw_only=True)


def _words(docstring: str, name: str) -> str:
    """What a docstring says of an argument, for the help."""
    found = re.search(rf"^    {name}: (.*?)(?=^    \w|^\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    text = " ".join(found[1].split()) if found else ""
    text = re.sub(r" \(:\w+:`[^)]*\)|, see :\w+:`[^`]*`", "", text[:1].upper() + text[1:])
    text = re.sub(r"``(\w+=[^`]*)``|``\"([^`]*)\"``", r"\1\2", text)
    return text.replace("``", "`")


Request = TypeVar("Request", bound=Options)


def command(serve: Callable[[Request], None]) -> Callable[..., None]:
    """Make the Typer command of a function that takes a request; errors that the user can fix become refusals."""
    (request,) = (hint for name, hint in typing.get_type_hints(serve).items() if name != "return")

    @refusing(request.spelled)
    def run(context: typer.Context, **values: object) -> None:
        sources = {name: context.get_parameter_source(name) for name in context.params}
        given = {name for name, found in sources.items() if found and found.name == "COMMANDLINE"}
        serve(request(given=frozenset(given), **values))

    context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [context, *_parameters(request).values()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__name__, run.__module__ = serve.__name__, serve.__module__
    text = re.sub(r"\n(?=    \S)", "\n\n", inspect.cleandoc(serve.__doc__ or ""))  # examples
    run.__doc__ = re.sub(r"(?<!\n)\n *(?!\n)", " ", re.sub(r"\n\n+", "\n\n", text))
    return run


@functools.cache
def _parameters(request: type[Options]) -> dict[str, inspect.Parameter]:
    """The options of a class as parameters of a function, in the order in which ``--help`` shows them."""
    hints = typing.get_type_hints(request)
    fields = {one.name: one for one in dataclasses.fields(request) if one.name != "given"}
    found: dict[str, inspect.Parameter] = {}
    for one in request.__mro__:
        for name in inspect.get_annotations(one):
            if name not in fields or name in found or name in request.LEFT_OUT:
                continue
            told = {"words": _words(inspect.cleandoc(one.__doc__ or ""), name), "hidden": False}
            told |= fields[name].metadata
            told["hidden"] &= not request.SHOWS_ALL
            info = _info(name, hints[name], told, vars(one).get("PANEL") or None)
            default = fields[name].default
            found[name] = inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=Annotated[hints[name], info],
                default=inspect.Parameter.empty if default is REQUIRED else default,
            )
    return found


def _info(name: str, hint: Any, told: dict[str, Any], panel: str | None) -> Any:
    """What Typer is told of an option, or of an argument."""
    kinds = {hint, *typing.get_args(hint)}
    (metavar,) = [word for kind, word in _METAVARS.items() if kind in kinds] or ["TEXT"]
    words = options_of(told["words"]).replace("`", "")
    more: dict[str, Any] = {"help": words, "metavar": told.get("metavar", metavar)}
    for number in kinds & {int, float}:
        more["parser"] = _reader(number)
    option = told.get("name", option_of(name))
    if option is None:
        return typer.Argument(**more)
    return typer.Option(option, hidden=told["hidden"], rich_help_panel=panel, **more)


def _reader(kind: type) -> Callable[[Any], Any]:
    """Read numbers without the underscores and the digits of other scripts that Python takes."""

    def read(given: Any) -> Any:
        try:
            return kind(str(given).replace("_", "?").encode("ascii"))
        except ValueError:
            raise typer.BadParameter(f"{given!r} is no {kind.__name__}.") from None

    return read


@dataclasses.dataclass(frozen=True, kw_only=True)
class Json(Options):
    """Output format of the result.

    Attributes:
        json: print one JSON document instead.
    """

    json: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Seed(Options):
    """Seed of commands that generate their own data.

    Attributes:
        seed: of everything random.
    """

    seed: int = 0
