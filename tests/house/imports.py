"""Rules about imports: floors, circles, and private names."""

from __future__ import annotations

import ast
import graphlib
import re

from tests.sources import imports, modules

# What stands on which floor; an import only points down, or along a floor from a package to its own modules.
# All modules at the top level with an underscore stand on the first one.
FAMILIES = ("pairwise", "aggregation", "mallows", "personalized", "preferences")
_LINES = (
    ("comparisons", "links", "metrics", "rankings"),
    ("estimate", "exact", "mechanism", "privacy"),
    FAMILIES,
    ("privacy_audit", "simulate"),
    ("data", "experiments", "plotting", "release"),
    ("jobs",),
    ("__init__", "__main__", "cli"),
)
FLOORS = {home: floor for floor, line in enumerate(_LINES, start=1) for home in line}
FLOORS |= {m.home: 1 for m in modules().values() if re.match("_[^_]", m.home)}


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


def _circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle of the graph, as a complaint."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [" <-> ".join(error.args[1])]
    return []


def circles_of_files() -> list[str]:
    """Files that import one another in a circle, also by imports within functions."""
    graph = {name: {target for target, _, _ in imports(m)} for name, m in modules().items()}
    return _circle(graph)


def circles_of_packages() -> list[str]:
    """The same for the parts of the top level."""
    graph: dict[str, set[str]] = {}
    for module in modules().values():
        targets = {target.split(".")[0] for target, _, _ in imports(module)}
        graph.setdefault(module.home, set()).update(targets - {module.home, ""})
    return _circle(graph)


def private_names() -> list[str]:
    """Names with an underscore that a file takes from another one, or from a module."""
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
    return sorted(set(wrong))
