"""A plug-in: ``python -m pytest -p tests.gpu_branches`` takes the package's branches for GPUs, on whatever is here.

What they compute is then tested where there is no GPU; how fast, and XLA's programs for one, are not.
"""

from __future__ import annotations

import jax
import pytest

# Another process writes a state for this one, and takes the branches of the device that it has.
APART = ("test_checkpoint.py::test_a_killed_run_resumes_bit_for_bit",)


def pytest_configure() -> None:
    """Take them as a plug-in only: whoever looks for examples imports this module too."""
    jax.default_backend = lambda: "gpu"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what goes on where a process without this plug-in was killed."""
    items[:] = [item for item in items if not item.nodeid.endswith(APART)]
