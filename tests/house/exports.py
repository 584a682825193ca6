"""The house rule on types: what the signatures name that users extend, they can import."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.docstrings import exported, is_exported
from tests.sources import Function, Module, imports, modules

# Packages that take functions of their users, who write the types of these down.
EXTENDED = {"privacy_audit", "simulate"}
# Methods that the engine alone calls.
INNER = {"simulate.checkpoint Checkpoints.open"}


def unexported_types() -> list[str]:
    """Types of this library in signatures and fields of what these packages export, that no public module exports.

    Those of ``_types`` are other names of numbers and arrays.
    """
    wrong, met = [], set()
    for module in modules().values():
        if module.home not in EXTENDED:
            continue
        for owner, annotation in _public_annotations(module):
            if f"{module.name} {owner}" in INNER:
                met.add(f"{module.name} {owner}")
                continue
            wrong += [
                f"{module}:{annotation.lineno} {owner} names {name}, which no public module exports"
                for name in sorted(_names(annotation))
                if not _can_be_imported(module, name)
            ]
    gone = sorted(INNER - met)
    return wrong + [f"INNER lists {one}, which does not exist" for one in gone]


def _can_be_imported(module: Module, name: str) -> bool:
    """Whether users can import what a module calls by this name; what is not of this library counts as such."""
    taken = {local: (source, original) for source, original, local in imports(module)}
    if name in taken:
        source, original = taken[name]
        if source == "_types" or source not in modules():
            return True
        if modules()[source].is_package:
            return original in exported().get(source, set())
        return is_exported(modules()[source], original)
    own = {one for node in module.tree.body for one in _defined(node)}
    return name not in own or is_exported(module, name)


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _public_annotations(module: Module) -> Iterator[tuple[str, ast.expr]]:
    """Annotations of exported functions, and of fields and methods of exported classes, each with its owner."""
    for node in module.tree.body:
        if not isinstance(node, Function | ast.ClassDef) or not is_exported(module, node.name):
            continue
        if isinstance(node, Function):
            yield from ((node.name, found) for found in _annotations(node))
            continue
        for part in node.body:
            if isinstance(part, ast.AnnAssign):
                yield f"{node.name}.{ast.unparse(part.target)}", part.annotation
            elif isinstance(part, Function):
                yield from ((f"{node.name}.{part.name}", found) for found in _annotations(part))


def _annotations(function: Function) -> list[ast.expr]:
    """Annotations of a function; none of a private one."""
    if function.name.startswith("_") and not function.name.startswith("__"):
        return []
    given = function.args
    every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    found = (*(one.annotation for one in every if one is not None), function.returns)
    return [annotation for annotation in found if annotation is not None]


def _names(annotation: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
