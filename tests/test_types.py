"""Shapes and types in signatures, which a runtime checker sees."""

import subprocess
import sys

import pytest

from tests.quick import with_cache


@pytest.mark.slow
def test_examples_of_every_package_keep_the_types_of_their_signatures():
    """In a process of its own, where every function is checked as it is imported."""
    found = subprocess.run(
        [sys.executable, "-m", "tests.runtime_types"],
        capture_output=True,
        text=True,
        check=False,
        env=with_cache(),
    )
    assert found.returncode == 0, found.stdout + found.stderr
