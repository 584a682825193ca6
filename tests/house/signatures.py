"""Rules about signatures: the promise is one value, given third, and never a default; diagnostics are dataclasses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.sources import Module, dict_of, modules, parameters_of, public_functions

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

NEVER_DEFAULT = {"privacy", "epsilon", "unit", "adjacency"}

# Options that say what is protected unless the user does: --help shows these defaults, and what is printed or written
# names unit and adjacency. Epsilon is not among them: the commands that spend it refuse to run without it.
OPTION_DEFAULTS = {
    "cli.ledger Request.adjacency",
    "cli.ledger Request.unit",
    "cli.rank.request Request.adjacency",
    "cli.rank.request Request.unit",
}


def wrong_order_of_arguments() -> list[str]:
    """``key`` comes first, ``privacy`` after key and data, and no part of a promise is passed beside ``privacy``."""
    wrong = []
    for module, name, function in public_functions():
        parameters = parameters_of(function)
        names = [parameter for parameter, _, _ in parameters]
        where = f"{module}:{function.lineno} {name}({', '.join(names)})"
        breaks_ties = names[:1] == ["scores"]  # a key that may be left out
        if "key" in names and names[0] != "key" and not breaks_ties:
            wrong.append(f"{where}: key is not first")
        if "privacy" not in names:
            continue
        # Sizes stand for the data of a planner; a probability is of an outcome under data.
        before = [name for name in names[: names.index("privacy")] if not name.startswith("num_")]
        third = 2 if names[0] == "key" or name.endswith("log_probability") else 1
        keyword_only = dict_of(parameters)["privacy"][0]
        if keyword_only or len(before) > third:
            wrong.append(f"{where}: privacy does not follow key and data")
        beside = PROMISE & set(names)
        if beside:
            wrong.append(f"{where}: {', '.join(sorted(beside))} beside privacy")
    return wrong


def default_promises() -> list[str]:
    """Public signatures, and fields of public classes, that default to a promise; settings of a paper's study may.

    An option of the command line that is None says nothing: the command refuses to go on without it, or, as it spends
    nothing, finds the value itself (``plan``) or takes that of the audited mechanism (``audit``).
    """
    wrong = []
    for module, name, function in public_functions():
        defaults = {p for p, _, default in parameters_of(function) if default} & NEVER_DEFAULT
        if defaults:
            wrong.append(f"{module}:{function.lineno} {name}: {', '.join(sorted(defaults))}")
    allowed = set()
    for module, owner, field, default, line in _fields_with_defaults():
        if field not in NEVER_DEFAULT:
            continue
        if module.home == "cli" and ast.unparse(default) == "None":
            continue
        option = f"{module.name} {owner}.{field}"
        if option in OPTION_DEFAULTS:
            allowed.add(option)
        else:
            wrong.append(f"{module}:{line} {owner}.{field} has a default")
    gone = sorted(OPTION_DEFAULTS - allowed)
    return wrong + [f"OPTION_DEFAULTS lists {option}, which has no default" for option in gone]


def _fields_with_defaults() -> Iterator[tuple[Module, str, str, ast.expr, int]]:
    """``(module, class, field, default, line)`` of public classes, without settings of studies (``...Config``)."""
    for module in modules().values():
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                continue
            if node.name.endswith("Config"):
                continue
            for field in node.body:
                if (
                    isinstance(field, ast.AnnAssign)
                    and isinstance(field.target, ast.Name)
                    and field.value is not None
                ):
                    yield module, node.name, field.target.id, field.value, field.lineno


def dict_diagnostics() -> list[str]:
    """Estimates whose diagnostics are a dict, and other results of the library with such ones.

    A ``Result`` of the command line has a dict: it is printed as a JSON document, under the keys that stand there.
    """
    wrong = []
    for module in modules().values():
        dicts = {
            target.id
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Assign) and _is_dict(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.Call):
                continue
            estimate = ast.unparse(node.func).split(".")[-1] == "Estimate"
            if module.home == "cli" and not estimate:
                continue
            given = [k.value for k in node.keywords if k.arg == "diagnostics"]
            if estimate:
                given += node.args[2:3]
            for value in given:
                if _is_dict(value) or (isinstance(value, ast.Name) and value.id in dicts):
                    wrong.append(f"{module}:{node.lineno} diagnostics are a dict")
    return wrong


def _is_dict(value: ast.AST) -> bool:
    return isinstance(value, ast.Dict | ast.DictComp) or (
        isinstance(value, ast.Call) and ast.unparse(value.func) == "dict"
    )
