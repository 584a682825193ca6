"""Shapes and types in signatures, which a runtime checker sees."""

import os
import subprocess
import sys

import jax
import pytest


@pytest.mark.slow
def test_examples_of_every_package_keep_the_types_of_their_signatures():
    """In a process of its own, where every function is checked as it is imported."""
    programs = {
        "JAX_COMPILATION_CACHE_DIR": jax.config.jax_compilation_cache_dir,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    found = subprocess.run(
        [sys.executable, "-m", "tests.runtime_types"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **programs},
    )
    assert found.returncode == 0, found.stdout + found.stderr
