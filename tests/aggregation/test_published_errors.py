"""The table of published bounds."""

from __future__ import annotations

import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation.published_errors import PUBLISHED


def test_published_bounds_name_what_is_built():
    for one in PUBLISHED:
        first = one.built.split(",")[0]
        assert hasattr(aggregation, first) or first.startswith("not built")


def test_each_is_stated_once():
    assert len({(one.source, one.setting) for one in PUBLISHED}) == len(PUBLISHED)


@pytest.mark.parametrize(
    ("theorem", "order", "users"), [(13, "0.01 m²", "o(m/ε)"), (14, "c m²", "o(√m/ε)")]
)
def test_lower_bounds_exclude_one_error_at_few_users(theorem, order, users):
    """Alabi et al., Theorems 13 and 14: an error of the order of m², while n is small; no order in n."""
    (row,) = [one for one in PUBLISHED if one.source.endswith(f"Theorem {theorem}")]
    assert row.order.startswith(order)
    assert f"no method has this error while n = {users}" in row.setting
    assert "n" not in row.order
