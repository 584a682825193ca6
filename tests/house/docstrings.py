"""The house rules on docstrings of what the packages export: arguments, results, errors, an example."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from tests.sources import NAME, ROOT, Function, Module, modules, parameters_of, public_functions

# Examples of these would need files, pictures, tables in an engine, or a whole study.
WITHOUT_EXAMPLE = {
    "data.randomized": {"write_reports", "write_synthetic_rankings"},
    "experiments.runner": {"run"},
    "plotting.audits": {"audit_bounds", "event_probabilities"},
    "plotting.frame": {"check_picture", "save"},
    "plotting.intervals": {"ranking_intervals"},
    "plotting.maps": {"method_map", "utility_map"},
    "release.preference_labels": {"privatize_preferences"},
    "simulate.table_files": {"write_csv", "write_parquet"},
}


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


@functools.cache
def _exported_names() -> set[tuple[str, str]]:
    """Module and name of what packages export, also of what they load on first use, and of what the pages describe."""
    found = described()
    for package, names in exported().items():
        for node in modules()[package].nodes:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{NAME}."):
                source = (node.module or "").partition(".")[2]
                found |= {(source, alias.name) for alias in node.names if alias.name in names}
    return found


def described() -> set[tuple[str, str]]:
    """Module and name of what the API reference lists one by one."""
    found = set()
    for page in sorted((ROOT / "notebooks" / "api").glob("*.md")):
        of = ""
        for directive, name in _DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if directive == "currentmodule":
                of = name.partition(".")[2]
            else:
                found.add((of, name))
    return found


_DIRECTIVE = re.compile(
    r"^\.\. (currentmodule|autofunction|autoclass|autodata):: (\S+)", re.MULTILINE
)


def is_exported(module: Module, name: str) -> bool:
    """Whether a package exports this name of the module, or the module stands at the top level."""
    top = not module.is_package and "." not in module.name and not module.name.startswith("_")
    return (top and not name.startswith("_")) or (module.name, name) in _exported_names()


def exported_functions() -> Iterator[tuple[Module, str, Function]]:
    """Functions that a package exports, or that stand at the top level."""
    for module, name, function in public_functions():
        if "." in name or not is_exported(module, name):
            continue
        if not any("overload" in ast.unparse(decorator) for decorator in function.decorator_list):
            yield module, name, function


def missing_sections(function: Function, needs_example: bool = True) -> list[str]:
    """What the docstring of an exported function leaves out, and does not say of another function that has it."""
    text = ast.get_docstring(function) or ""
    refers = " ".join(re.findall(r"(?i)\b(?:arguments|results)[^.]*(?:as\b|those of)", text))
    raises = any(isinstance(node, ast.Raise) for node in _statements_of(function))
    returns = ast.unparse(function.returns) if function.returns else "None"
    needed = {
        "Args": bool(parameters_of(function)) and "rguments" not in refers,
        "Returns": returns not in {"None", "NoReturn"}
        and "results" not in refers
        and not text.startswith("Whether"),
        "Raises": raises and "errors" not in refers,
    }
    missing = [name for name, wanted in needed.items() if wanted and f"{name}:" not in text]
    return missing + ["example"] * (needs_example and ">>> " not in text)


def _statements_of(function: Function) -> Iterator[ast.AST]:
    """Nodes of the body, without those of functions within."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def undocumented() -> list[str]:
    """Exported functions whose docstrings lack a section or an example; entries of ``WITHOUT_EXAMPLE`` without need."""
    wrong = []
    listed = {(module, name) for module, names in WITHOUT_EXAMPLE.items() for name in names}
    for module, name, function in exported_functions():
        exempt = (module.name, name) in listed
        missing = missing_sections(function, needs_example=not exempt)
        if missing:
            wrong.append(f"{module}:{function.lineno} {name}: no {', '.join(missing)}")
        if exempt and "example" in missing_sections(function):
            listed.remove((module.name, name))
    return wrong + [f"WITHOUT_EXAMPLE lists {m}.{n}, which has one" for m, n in sorted(listed)]


def hidden_by_modules() -> list[str]:
    """Public names that a module of the same package bears too: imports would decide which of them an attribute is."""
    wrong = []
    exports = {(module, name) for module, names in exported().items() for name in names}
    for home, name in sorted(described() | exports):
        own = modules().get(home)
        of_file = "." in home and not (own is not None and own.is_package)
        package = home.rpartition(".")[0] if of_file else home
        same = f"{package}.{name}".removeprefix(".")
        if same in modules() and not modules()[same].is_package and package:
            wrong.append(f"{name} of {home} has the name of the module {same}: rename the module")
    return wrong
