"""The house rule on test files: what several of them use stands in a module that they import."""

from __future__ import annotations

import ast

from tests.sources import ROOT, TESTS


def tests_that_import_tests() -> list[str]:
    """Test files that take something from another one: it belongs into a module that both import."""
    wrong = []
    for path in sorted(TESTS.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ".test_" in text else ():
            if isinstance(node, ast.ImportFrom) and ".test_" in (node.module or ""):
                wrong.append(f"{path.relative_to(ROOT)} imports {node.module}")
    return wrong
