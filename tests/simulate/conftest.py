"""The study of resumption, never interrupted."""

from __future__ import annotations

import jax
import pytest

from privrank_jax.simulate import run
from tests.simulate import job
from tests.simulate.trials import SURVEY


@pytest.fixture(scope="module")
def expected():
    """The table of the study of resumption, never interrupted."""
    return run(jax.random.key(job.KEY), SURVEY, 100, batch_size=11).rows
