"""The house rule on types: arrays in the signatures and fields of what the packages export have shapes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.house.docstrings import exported_functions, is_exported
from tests.sources import Function, Module, modules

ARRAYS = {"Array", "ArrayLike", "ndarray"}
SHAPED = {"Bool", "Float", "Int", "Int32", "Integer", "Num", "Real", "Shaped", "UInt32"}


def without_shapes() -> list[str]:
    """Arguments, results and fields whose annotation has an array without dtype and shape."""
    wrong = []
    for module, name, function in exported_functions():
        wrong += [f"{module}:{function.lineno} {name}{x}" for x in _bare_parts(function)]
    for module, owner in _exported_classes():
        for node in owner.body:
            where = f"{module}:{node.lineno} {owner.name}"
            if isinstance(node, ast.AnnAssign) and _is_bare(node.annotation):
                wrong.append(f"{where}.{ast.unparse(node.target)}: {ast.unparse(node.annotation)}")
            elif isinstance(node, Function) and not node.name.startswith("_"):
                wrong += [f"{where}.{node.name}{x}" for x in _bare_parts(node)]
    return wrong


def _exported_classes() -> Iterator[tuple[Module, ast.ClassDef]]:
    for module in modules().values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and is_exported(module, node.name):
                yield module, node


def _bare_parts(function: Function) -> Iterator[str]:
    """The arguments and the result that have no shape."""
    a = function.args
    for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg):
        if argument is not None and _is_bare(argument.annotation):
            yield f"({argument.arg})"
    if _is_bare(function.returns):
        yield " -> "


def _is_bare(annotation: ast.AST | None) -> bool:
    if annotation is None:
        return False
    if isinstance(annotation, ast.Subscript):
        made_by = ast.unparse(annotation.value).split(".")[-1]
        if made_by in SHAPED:
            return False
    name = annotation.id if isinstance(annotation, ast.Name) else getattr(annotation, "attr", "")
    return name in ARRAYS or any(_is_bare(child) for child in ast.iter_child_nodes(annotation))
