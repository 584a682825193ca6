"""Compiled programs take memory maps, and making room gives them back."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.memory_maps import make_room, memory_maps


@pytest.mark.skipif(not memory_maps(), reason="the system does not tell the maps of a process")
def test_room_is_made_beyond_the_bound_only():
    programs = [
        jax.jit(lambda x, i=i: jnp.sin(x * i).sum()) for i in range(30)
    ]  # three maps each, or more
    for program in programs:
        program(np.ones(3))
    full = memory_maps()
    make_room(full + 100)
    assert memory_maps() > full - 10
    make_room(full // 2)
    assert memory_maps() < full - 50


def test_systems_that_do_not_tell_have_no_bound(monkeypatch):
    def missing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_bytes", missing)
    assert memory_maps() == 0
    make_room(most=0)
