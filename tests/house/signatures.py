"""Rules about signatures: the promise is one value, given third, and never a default."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.sources import Function, Module, modules, parameters_of, public_functions

# Words of a promise: ``Privacy`` says them, and nobody else who takes a ``privacy``.
PROMISE = {
    "epsilon",
    "delta",
    "unit",
    "adjacency",
    "contributions",
    "comparisons_per_user",
    "public",
}
_EPSILON = re.compile(r"(^|_)(eps|epsilons?)(_|$)")

# What the data are called and typed in functions that take a promise.
DATA = re.compile(
    r"^(answers|bits|comparisons|data|matrix|pairs|rankings|ranks|ratings|reports|scores|totals|vectors|votes"
    r"|weights|wins)$"
)
DATA_TYPES = re.compile(r"\b(WinCounts|WinEdges|PairWeights\w*|Ranks|RanksLike|UserRankings)\b")


# Options that say what is protected unless the user does: --help shows these defaults, and what is printed or written
# names unit and adjacency. Epsilon is not among them: the commands that spend it refuse to run without it.
OPTION_DEFAULTS = {
    "cli.ledger Request.unit",
    "cli.request Published.adjacency",
    "cli.request Published.unit",
    "data.roles PreferenceRoles.epsilon",  # the name of a column
}


# Plans spend nothing, and what they print names the adjacency. Answers are randomized each by itself unless the user
# says otherwise, and what is written holds each answer's ε.
SAID = {"jobs.plan plan", "jobs.randomize randomize"}


def wrong_order_of_arguments() -> list[str]:
    """``key`` comes first, ``privacy`` after key and data, and no part of a promise stands beside ``privacy``."""
    wrong = []
    for module, name, function in public_functions():
        parameters = parameters_of(function)
        names = [parameter for parameter, _, _ in parameters]
        where = f"{module}:{function.lineno} {name}({', '.join(names)})"
        breaks_ties = names[:1] == ["scores"]  # a key that may be left out
        rehearses = module.home == "jobs"  # a key that may be left out, for a release
        if "key" in names and names[0] != "key" and not (breaks_ties or rehearses):
            wrong.append(f"{where}: key is not first")
        if "privacy" not in names:
            continue
        # Sizes stand for the data of a planner; a probability is of an outcome under data.
        before = [name for name in names[: names.index("privacy")] if not name.startswith("num_")]
        third = 2 if names[0] == "key" or name.endswith("log_probability") else 1
        keyword_only = ("privacy", True) in {row[:2] for row in parameters}
        without_data = names[0] == "key" and len(before) < third
        if keyword_only or len(before) > third or without_data or _data_after_privacy(function):
            wrong.append(f"{where}: privacy does not follow key and data")
        beside = {name for name in names if _part_of_a_promise(name)}
        if beside:
            wrong.append(f"{where}: {', '.join(sorted(beside))} beside privacy")
    return wrong


def _data_after_privacy(function: Function) -> bool:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = [argument.arg for argument in arguments]
    return any(
        DATA.match(argument.arg)
        or (argument.annotation and DATA_TYPES.search(ast.unparse(argument.annotation)))
        for argument in arguments[names.index("privacy") + 1 :]
    )


def _part_of_a_promise(name: str) -> bool:
    return name in PROMISE or bool(_EPSILON.search(name))


def default_promises() -> list[str]:
    """Public signatures, and fields of public classes, that default to a promise; only a study's grid of ε may.

    An option of the command line that is None says nothing: the command refuses to go on without it, or, as it spends
    nothing, finds the value itself (``plan``) or takes that of the audited mechanism (``audit``).
    """
    wrong = []
    for module, name, function in public_functions():
        if f"{module.name} {name}" in SAID:
            continue
        defaults = {p for p, _, default in parameters_of(function) if default and _decides(p)}
        if defaults:
            wrong.append(f"{module}:{function.lineno} {name}: {', '.join(sorted(defaults))}")
    allowed = set()
    for module, owner, field, default, line in _fields_with_defaults():
        if not _decides(field) or (owner.endswith("Config") and field == "epsilons"):  # a grid
            continue
        unsaid = module.home == "cli" or field == "contributions"
        if unsaid and ast.unparse(default) == "None":
            continue
        option = f"{module.name} {owner}.{field}"
        if option in OPTION_DEFAULTS:
            allowed.add(option)
        else:
            wrong.append(f"{module}:{line} {owner}.{field} has a default")
    gone = sorted(OPTION_DEFAULTS - allowed)
    return wrong + [f"OPTION_DEFAULTS lists {option}, which has no default" for option in gone]


def _decides(name: str) -> bool:
    """Whether a parameter of this name decides how much is promised, or to whom."""
    return name in {"privacy", "unit", "adjacency", "contributions"} or bool(_EPSILON.search(name))


def _fields_with_defaults() -> Iterator[tuple[Module, str, str, ast.expr, int]]:
    """``(module, class, field, default, line)`` of public classes."""
    for module in modules().values():
        for node in module.nodes:
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            for field in node.body:
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and field.value is not None
                ):
                    yield module, node.name, field.target.id, field.value, field.lineno
