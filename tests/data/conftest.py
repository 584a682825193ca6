"""The engine that the tests of one file share."""

from __future__ import annotations

import pytest

from privrank_jax.data.engine import connect


@pytest.fixture(scope="module")
def backend():
    return connect()
