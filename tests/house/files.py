"""Rules about files: their size, their names and their tests."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.sources import PACKAGE, ROOT, TESTS, Module, modules

MOST_LINES = 420


def long_files() -> list[str]:
    """Files of the package and of the tests beyond ``MOST_LINES``."""
    paths = [*PACKAGE.rglob("*.py"), *TESTS.rglob("*.py")]
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in sorted(paths)}
    return [f"{p.relative_to(ROOT)}: {n} lines" for p, n in sizes.items() if n > MOST_LINES]


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
