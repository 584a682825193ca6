"""Tests of the collector's pause: it lasts for the context, and ends as it began."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from privrank_jax._workarounds.collection import uncollected


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Switched on, and put back afterwards.

    Its first search would go through all that other tests left, for seconds, as nothing is searched for while they run.
    """
    was_on = gc.isenabled()
    gc.freeze()
    gc.enable()
    yield
    if not was_on:
        gc.disable()
    gc.unfreeze()


def test_the_collector_pauses_within_the_context() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="inside"), uncollected():
        raise ValueError("inside")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with uncollected():
        assert not gc.isenabled()
    assert not gc.isenabled()
