"""The table of published bounds."""

from __future__ import annotations

from privrank_jax import aggregation
from privrank_jax.aggregation.published_errors import PUBLISHED


def test_published_bounds_name_what_is_built():
    for one in PUBLISHED:
        first = one.built.split(",")[0]
        assert hasattr(aggregation, first) or first.startswith("not built")


def test_each_is_stated_once():
    assert len({(one.source, one.setting) for one in PUBLISHED}) == len(PUBLISHED)
