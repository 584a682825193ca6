"""Mutants of what privacy depends on: calibration, composition, exact releases and the ledger of budgets.

``python -m tests.mutants`` applies each of them in a copy of the sources, runs the tests of the quick tier that it
names, and prints which were killed and which survived; words after it choose mutants whose line contains one of them.
:mod:`tests.test_mutants` checks that none is stale.
"""

from __future__ import annotations

from tests.mutants.ledgers import LEDGERS
from tests.mutants.mutant import Mutant
from tests.mutants.privacy import PRIVACY
from tests.mutants.releases import RELEASES

MUTANTS: tuple[Mutant, ...] = (*PRIVACY, *RELEASES, *LEDGERS)
