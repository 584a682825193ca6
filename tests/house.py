"""The house rules, each a function that lists what breaks it; ``python -m tests.house`` prints all of them.

They read the sources (imports, signatures, docstrings, file sizes) without importing them, so they run in a second.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.sources import (
    PACKAGE,
    ROOT,
    TESTS,
    Module,
    dict_of,
    imports,
    modules,
    parameters_of,
    public_functions,
)

MOST_LINES = 420

# What stands on which floor; an import only points down, or along a floor from a package to its own modules.
FLOORS = {
    "_arguments": 1,
    "_cells": 1,
    "_counting": 1,
    "_interrupt": 1,
    "_limits": 1,
    "_neighbors": 1,
    "_promise": 1,
    "_registry": 1,
    "_types": 1,
    "_validate": 1,
    "_workarounds": 1,
    "comparisons": 1,
    "links": 1,
    "metrics": 1,
    "rankings": 1,
    "estimate": 2,
    "privacy": 2,
    "aggregation": 3,
    "mallows": 3,
    "pairwise": 3,
    "personalized": 3,
    "privacy_audit": 4,
    "simulate": 4,
    "datasets": 5,
    "experiments": 5,
    "plotting": 5,
    "release": 5,
    "tables": 5,
    "__init__": 6,
    "__main__": 6,
    "cli": 6,
}
FAMILIES = ("pairwise", "aggregation", "mallows", "personalized")

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


def upward_imports() -> list[str]:
    """Imports that point to a higher floor, or to another family of algorithms; what has no floor."""
    wrong = []
    for module in modules().values():
        if module.home not in FLOORS:
            wrong.append(f"{module}: {module.home} has no floor; add it to FLOORS")
            continue
        for target in sorted({target.split(".")[0] for target, _, _ in imports(module)}):
            if target in {module.home, ""}:
                continue
            up = FLOORS.get(target, 0) > FLOORS[module.home]
            if up or (target in FAMILIES and module.home in FAMILIES):
                wrong.append(f"{module} imports {target}")
    return wrong


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one node, or of one that points to itself (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            circle = stack[at:]
            del stack[at:]
            if len(circle) > 1 or node in graph.get(node, ()):
                found.append(sorted(circle))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def circles_of_files() -> list[str]:
    """Files that import one another in a circle, also by imports within functions."""
    graph = {name: {target for target, _, _ in imports(m)} for name, m in modules().items()}
    return [" <-> ".join(circle) for circle in circles(graph)]


def circles_of_packages() -> list[str]:
    """The same for the parts of the top level."""
    graph: dict[str, set[str]] = {}
    for module in modules().values():
        targets = {target.split(".")[0] for target, _, _ in imports(module)}
        graph.setdefault(module.home, set()).update(targets - {module.home, ""})
    return [" <-> ".join(circle) for circle in circles(graph)]


def private_names() -> list[str]:
    """Names with an underscore that a file takes from another one."""
    wrong = []
    for module in modules().values():
        locals_ = {}
        for target, name, local in imports(module):
            if name.startswith("_") and not name.startswith("__"):
                wrong.append(f"{module} takes {name} from {target}")
            if not name and target:
                locals_[local] = target
        for node in ast.walk(module.tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
                and isinstance(node.value, ast.Name)
                and node.value.id in locals_
                and f"{locals_[node.value.id]}.{node.attr}" not in modules()
            ):
                wrong.append(f"{module} takes {node.attr} from {locals_[node.value.id]}")
    return sorted(set(wrong))


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


def long_files() -> list[str]:
    """Files of the package and of the tests beyond ``MOST_LINES``."""
    paths = [*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")]
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(paths)}
    return [f"{p.relative_to(ROOT)}: {n} lines" for p, n in sizes.items() if n > MOST_LINES]


def exported() -> dict[str, set[str]]:
    """Names that each package or module of the top level exports in ``__all__``; without one, all its public ones."""
    found: dict[str, set[str]] = {}
    for module in modules().values():
        top = module.name and "." not in module.name and not module.name.startswith("_")
        if not (top or module.is_package):
            continue
        for node in module.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found[module.name] = set(ast.literal_eval(node.value))
    return found


def undocumented() -> list[str]:
    """Exported functions with arguments whose docstrings neither have ``Args:`` nor say where these are explained."""
    api: set[tuple[str, str]] = set()
    for package, names in exported().items():
        sources = {local: (t, n) for t, n, local in imports(modules()[package])}
        api |= {sources[name] for name in names if name in sources}
    wrong = []
    for module, name, function in public_functions():
        top = not module.is_package and "." not in module.name and not module.name.startswith("_")
        if "." in name or not (top or (module.name, name) in api):
            continue
        if any("overload" in ast.unparse(decorator) for decorator in function.decorator_list):
            continue
        text = ast.get_docstring(function) or ""
        said = "Args:" in text or re.search(r"arguments|args.*as :func:", text.lower())
        if not text or (parameters_of(function) and not said):
            wrong.append(f"{module}:{function.lineno} {name}")
    return wrong


def test_file(module: Module) -> Path:
    """Where the tests of a module stand: the mirrored folder, without leading underscores."""
    *folders, name = module.name.split(".")
    return TESTS.joinpath(*(folder.lstrip("_") for folder in folders), f"test_{name.strip('_')}.py")


def untested() -> list[str]:
    """Modules without a test file of their name in the mirrored folder, or with one that has no test.

    Packages' own ``__init__`` only say what they export; that importing them is cheap is tested in ``test_house.py``.
    """
    wrong = []
    for module in modules().values():
        if module.is_package:
            continue
        path = test_file(module)
        if not path.exists():
            wrong.append(f"{module}: no {path.relative_to(ROOT)}")
        elif "def test_" not in path.read_text(encoding="utf-8"):
            wrong.append(f"{module}: {path.relative_to(ROOT)} has no test")
    return wrong


def tests_that_import_tests() -> list[str]:
    """Test files that take something from another one: it belongs into a module that both import."""
    wrong = []
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and ".test_" in (node.module or ""):
                wrong.append(f"{path.relative_to(ROOT)} imports {node.module}")
    return wrong


RULES = (
    upward_imports,
    circles_of_files,
    circles_of_packages,
    private_names,
    wrong_order_of_arguments,
    default_promises,
    dict_diagnostics,
    long_files,
    undocumented,
    untested,
    tests_that_import_tests,
)


def main() -> int:
    """Print what breaks each rule."""
    total = 0
    for rule in RULES:
        found = rule()
        total += len(found)
        print(f"{rule.__name__}: {len(found)}")
        for line in found:
            print(f"  {line}")
    return bool(total)


if __name__ == "__main__":
    sys.exit(main())
