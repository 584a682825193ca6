"""The sources of the package, read without importing them: imports, public functions and their parameters."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "privrank_jax"
TESTS = ROOT / "tests"
NAME = PACKAGE.name
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """One file of the package: its dotted name without the package, its tree, and what it imports."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
        self.is_package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.is_package else parts)
        self.home = parts[0]
        self.text = path.read_text(encoding="utf-8") if text is None else text
        self.tree = ast.parse(self.text)

    @functools.cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of the tree, which most rules look at."""
        return tuple(ast.walk(self.tree))

    @functools.cached_property
    def functions(self) -> tuple[tuple[str, Function], ...]:
        """Public functions and methods with their dotted names."""
        return tuple(_public("", self.tree))

    @functools.cached_property
    def bound(self) -> frozenset[str]:
        """Names that are defined, assigned or imported at any depth."""
        return frozenset(name for node in self.nodes for name in _bound(node))

    @functools.cached_property
    def imports(self) -> tuple[ast.Import | ast.ImportFrom, ...]:
        """Imports at any depth, except under ``if TYPE_CHECKING``."""
        found = statements(self.tree)
        return tuple(node for node in found if isinstance(node, ast.Import | ast.ImportFrom))

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))


@functools.cache
def modules() -> dict[str, Module]:
    """All modules by dotted name, "" for the package itself."""
    found = [Module(path) for path in sorted(PACKAGE.rglob("*.py"))]
    return {module.name: module for module in found}


def _bound(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, Function | ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return (node.id,)
    if isinstance(node, ast.alias):
        return ((node.asname or node.name).partition(".")[0],)
    return ()


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below, with handlers and cases, but without what stands under ``if TYPE_CHECKING``."""
    for part in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, part, ()):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for other in child.orelse:
                    yield other
                    yield from statements(other)
                continue
            yield child
            yield from statements(child)


def imports(module: Module) -> Iterator[tuple[str, str, str]]:
    """``(imported module, name taken from it or "", local name)`` of imports within the package, at any depth."""
    for node in module.imports:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == NAME:
            source = (node.module or "").partition(".")[2]
            for alias in node.names:
                whole = f"{source}.{alias.name}".strip(".")
                local = alias.asname or alias.name
                if whole in modules():
                    yield whole, "", local
                else:
                    yield source, alias.name, local
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == NAME:
                    yield alias.name.partition(".")[2], "", alias.asname or NAME


def public_functions() -> Iterator[tuple[Module, str, Function]]:
    """Functions and methods whose names, and those of all around them, have no underscore in front."""
    for module in modules().values():
        for name, function in module.functions:
            yield module, name, function


def _public(within: str, node: ast.AST) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If | ast.Try):
            yield from _public(within, child)
        elif isinstance(child, Function | ast.ClassDef):
            if child.name.startswith("_") and child.name not in {"__init__", "__call__"}:
                continue
            if isinstance(child, ast.ClassDef):
                yield from _public(f"{within}{child.name}.", child)
            else:
                yield within + child.name, child


def parameters_of(function: Function) -> list[tuple[str, bool, bool]]:
    """``(name, keyword only, has a default)`` without self and cls; None counts as none, as it says nothing."""
    a = function.args
    positional = [*a.posonlyargs, *a.args]
    defaults = [*[None] * (len(positional) - len(a.defaults)), *a.defaults]
    found = [(p.arg, False, _is_value(d)) for p, d in zip(positional, defaults)]
    found += [(p.arg, True, _is_value(d)) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    return [row for row in found if row[0] not in {"self", "cls"}]


def _is_value(default: ast.expr | None) -> bool:
    return default is not None and ast.unparse(default) != "None"
