"""The house rules that a test can hold: floors, imports, signatures, docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import privrank_jax

PACKAGE = Path(privrank_jax.__file__).parent
FLOORS = {
    "_limits": 1, "_workarounds": 1, "_neighbors": 1, "_registry": 1, "_validate": 1,
    "_interrupt": 1, "rankings": 1, "metrics": 1, "links": 1, "comparisons": 1,
    "privacy": 2, "estimate": 2,
    "pairwise": 3, "aggregation": 3, "mallows": 3, "personalized": 3,
    "privacy_audit": 4, "simulate": 4,
    "datasets": 5, "tables": 5, "release": 5, "experiments": 5, "plotting": 5,
    "cli": 6, "__main__": 6, "__init__": 6,
}  # fmt: skip
LIGHT = {
    "privrank_jax",
    "privrank_jax.aggregation",
    "privrank_jax.comparisons",
    "privrank_jax.mallows",
    "privrank_jax.pairwise",
    "privrank_jax.personalized",
    "privrank_jax.privacy",
    "privrank_jax.tables",
}


def _modules() -> list[str]:
    found = pkgutil.walk_packages([str(PACKAGE)], "privrank_jax.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def _imports(path: Path) -> set[str]:
    """First part below the package of every import that runs when the module is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = set()
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "privrank_jax":
                names = [f"privrank_jax.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        parts |= {name.split(".")[1] for name in names if name.startswith("privrank_jax.")}
    return parts


def test_imports_only_point_down() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        home = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        assert home in FLOORS, f"{home} has no floor; add it to FLOORS"
        wrong += [
            f"{path.relative_to(PACKAGE)} imports {part}"
            for part in _imports(path) - {home}
            if part in FLOORS and FLOORS[part] > FLOORS[home]
        ]
    assert not wrong


def test_import_is_light_and_leaves_jax_alone() -> None:
    """No optional or heavy dependency, and no change of JAX's configuration, through plain imports."""
    script = f"""
import sys, jax
before = dict(jax.config.values)
for name in {sorted(LIGHT)!r}:
    __import__(name)
assert dict(jax.config.values) == before, "JAX's configuration changed"
heavy = {{"matplotlib", "duckdb", "opendp", "dp_accounting", "typer", "rich", "pandas", "pooch",
         "ibis", "pyarrow"}} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_random_functions_take_the_key_first() -> None:
    for name in _modules():
        module = importlib.import_module(name)
        for function in vars(module).values():
            if inspect.isfunction(function) and function.__module__ == name:
                parameters = list(inspect.signature(function).parameters)
                assert "key" not in parameters[1:] or function.__name__.startswith("_") or (
                    parameters[0] == "scores" and "key" in inspect.signature(function).parameters
                    and inspect.signature(function).parameters["key"].default is None
                ), f"{name}.{function.__name__}: key must come first"  # fmt: skip


def test_files_stay_short() -> None:
    long = {
        str(path.relative_to(PACKAGE.parent)): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 420
    }
    assert not long
