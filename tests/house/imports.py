"""Rules about imports: floors, circles, and private names."""

from __future__ import annotations

import ast
import re

from tests.sources import Function, Module, imports, modules

# What stands on which floor; an import only points down, or along a floor from a package to its own modules.
FLOORS = {
    "_arguments": 1,
    "_backend": 1,
    "_balls": 1,
    "_batches": 1,
    "_chunks": 1,
    "_counting": 1,
    "_components": 1,
    "_interrupt": 1,
    "_limits": 1,
    "_neighbors": 1,
    "_promise": 1,
    "_quickly": 1,
    "_registry": 1,
    "_roots": 1,
    "_search": 1,
    "_types": 1,
    "_validate": 1,
    "_whole_file": 1,
    "_workarounds": 1,
    "comparisons": 1,
    "links": 1,
    "metrics": 1,
    "rankings": 1,
    "estimate": 2,
    "exact": 2,
    "mechanism": 2,
    "privacy": 2,
    "aggregation": 3,
    "mallows": 3,
    "pairwise": 3,
    "personalized": 3,
    "preferences": 3,
    "privacy_audit": 4,
    "simulate": 4,
    "data": 5,
    "experiments": 5,
    "plotting": 5,
    "release": 5,
    "jobs": 6,
    "__init__": 7,
    "__main__": 7,
    "cli": 7,
}

FAMILIES = ("pairwise", "aggregation", "mallows", "personalized", "preferences")


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


_OF_LIBRARIES = {"_replace", "_asdict", "_fields", "_exit"}  # of named tuples, and of os


def private_names() -> list[str]:
    """Names with an underscore that a file takes from another one, from a module or from an object."""
    wrong = []
    for module in modules().values():
        locals_ = {}
        for target, name, local in imports(module):
            if name.startswith("_") and not name.startswith("__"):
                wrong.append(f"{module} takes {name} from {target}")
            if not name and target:
                locals_[local] = target
        for node in module.nodes:
            if (
                isinstance(node, ast.Attribute)
                and node.attr.startswith("_")
                and not node.attr.startswith("__")
                and isinstance(node.value, ast.Name)
                and node.value.id in locals_
                and f"{locals_[node.value.id]}.{node.attr}" not in modules()
            ):
                wrong.append(f"{module} takes {node.attr} from {locals_[node.value.id]}")
        wrong += _of_others(module, locals_)
    return sorted(set(wrong))


def _of_others(module: Module, aliases: dict[str, str]) -> list[str]:
    """Private attributes of objects that the file itself doesn't define."""
    own = set(_OF_LIBRARIES)
    used = []
    for node in module.nodes:
        if isinstance(node, Function | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            own.add(node.value)  # object.__setattr__(self, "_x", ...), a column of a table
        elif isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr):
            of_self = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
            if of_self:
                own.add(node.attr)
            elif not (isinstance(node.value, ast.Name) and node.value.id in aliases):
                used.append(node)
    return [
        f"{module}:{node.lineno} takes {node.attr} from {ast.unparse(node.value)}"
        for node in used
        if node.attr not in own
    ]
