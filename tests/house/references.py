"""The house rule on references in docstrings: what they name exists."""

from __future__ import annotations

import re

from tests.sources import NAME, Module, modules

_ROLE = re.compile(r":(?:mod|func|class|data|exc|meth|attr):`~?\.?([\w.]+)`")
_ELSEWHERE = {"jax", "numpy"}


def stale_references() -> list[str]:
    """References in docstrings, as :func:`f`, to what neither the module nor its package has."""
    wrong = []
    for module in modules().values():
        for number, line in enumerate(module.text.splitlines(), start=1):
            found = _ROLE.findall(line)
            wrong += [
                f"{module}:{number}: no {name}" for name in found if not _exists(name, module)
            ]
    return wrong


def _exists(name: str, module: Module) -> bool:
    first, *rest = name.split(".")
    if first in _ELSEWHERE:
        return True
    if first != NAME:
        package = module.name if module.is_package else module.name.rpartition(".")[0]
        return first in module.bound or first in modules()[package].bound
    length = max(k for k in range(len(rest) + 1) if ".".join(rest[:k]) in modules())
    return length == len(rest) or rest[length] in modules()[".".join(rest[:length])].bound
