"""The house rules, each a function that lists what breaks it; ``python -m tests.house`` prints all of them.

They read the sources (imports, signatures, docstrings) without importing them, so they run in a second.
"""

from __future__ import annotations

from tests.house.docstrings import hidden_by_modules, undocumented
from tests.house.imports import circles_of_files, circles_of_packages, private_names, upward_imports
from tests.house.products import bare_products
from tests.house.references import stale_references
from tests.house.signatures import default_promises, wrong_order_of_arguments

RULES = (
    upward_imports,
    circles_of_files,
    circles_of_packages,
    private_names,
    wrong_order_of_arguments,
    default_promises,
    undocumented,
    hidden_by_modules,
    stale_references,
    bare_products,
)
