"""Shapes in signatures: aliases name what they should, and a runtime checker sees them."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from beartype import beartype
from jaxtyping import TypeCheckError, jaxtyped

from privrank_jax import _types as types


@pytest.mark.parametrize(
    ("alias", "good", "bad"),
    [
        ("Ranks", jnp.arange(3), jnp.ones((3, 3), int)),
        ("Ranks", jnp.arange(3), jnp.ones(3)),
        ("Scores", jnp.ones(3), jnp.arange(3)),
        ("Mask", jnp.ones(3, bool), jnp.ones(3)),
        ("PairMatrix", jnp.ones((3, 3)), jnp.ones((3, 2))),
        ("Rankings", jnp.ones((5, 3), int), jnp.ones(3, int)),
        ("RanksLike", np.arange(3), np.ones(3)),
        ("ScoresLike", [0.5, 1.0], "abc"),
        ("Epsilon", 1.0, "one"),
        ("Epsilon", jnp.float32(1.0), jnp.ones(2)),
    ],
)
def test_aliases_take_what_they_name_and_nothing_else(alias, good, bad):
    @jaxtyped(typechecker=beartype)
    def check(value: getattr(types, alias)): ...

    check(value=good)
    with pytest.raises(TypeCheckError):
        check(value=bad)


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
