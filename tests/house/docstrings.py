"""Rules about docstrings."""

from __future__ import annotations

import ast
import re

from tests.sources import imports, modules, parameters_of, public_functions


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
