"""No mutant is stale: its line still stands once in its file, the change matters, and its tests exist."""

from __future__ import annotations

import ast
import functools

import pytest

from tests.mutants import MUTANTS
from tests.sources import PACKAGE, ROOT


@functools.cache
def dumped(text):
    return ast.dump(ast.parse(text))


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_the_mutant_can_be_made(mutant):
    assert not mutant.stale, f"{mutant.old!r} does not stand once in {mutant.file}: write it anew"
    text = (PACKAGE / mutant.file).read_text(encoding="utf-8")
    assert ast.dump(ast.parse(text.replace(mutant.old, mutant.new))) != dumped(text)
    for name in mutant.tests:
        assert (ROOT / name).is_file(), name
