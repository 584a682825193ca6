"""No mutant is stale: its code still stands once in its file, the change matters, and its tests exist."""

from __future__ import annotations

import ast

from tests.mutants import MUTANTS
from tests.sources import PACKAGE, ROOT


def test_the_mutants_can_be_made():
    assert len(MUTANTS) > 50
    assert [str(one) for one in MUTANTS if one.stale] == []
    for mutant in MUTANTS:
        text = (PACKAGE / mutant.file).read_text(encoding="utf-8")
        changed = ast.parse(text.replace(mutant.old, mutant.new))
        assert ast.dump(changed) != ast.dump(ast.parse(text)), str(mutant)
        assert all((ROOT / name).is_file() for name in mutant.tests), mutant.tests
