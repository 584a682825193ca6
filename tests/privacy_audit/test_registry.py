"""The registry of audits: every private function has a row, and rows are consistent."""

from __future__ import annotations

import importlib
import inspect

import jax
import numpy as np
import pytest

from privrank_jax import (
    aggregation,
    mallows,
    pairwise,
    preferences,
    privacy,
    privacy_audit,
)
from privrank_jax.aggregation import PairWeights
from privrank_jax.mechanism import Mechanism
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.guarantee import TRUSTS
from privrank_jax.privacy_audit import Audited, audit
from tests.house.docstrings import described
from tests.replays.commands import COMMANDS_OF

ROWS = [privacy_audit.get(name) for name in privacy_audit.names()]


def test_every_private_function_is_audited():
    packages = (pairwise, privacy, mallows, aggregation, preferences)
    exported = [pair for module in packages for pair in vars(module).items()]
    of_modules = [
        (name, getattr(importlib.import_module(f"privrank_jax.{module}"), name))
        for module, name in described()
        if module.startswith(("pairwise.", "aggregation."))
    ]
    private = {
        name
        for name, function in exported + of_modules
        if (inspect.isfunction(function) or isinstance(function, Mechanism))
        and list(inspect.signature(function).parameters)[:1] == ["key"]
        and {"epsilon", "privacy"} & set(inspect.signature(function).parameters)
    }
    assert private == {row.function for row in ROWS}


def test_rows_make_sense():
    assert all(privacy_audit.get(name).sound for name in COMMANDS_OF)
    assert {row.name for row in ROWS if not row.sound} == {
        "noisy-counts-users-published", "top-item-published", "dp-kwiksort-published",
        "ldp-kwiksort-published",
    }  # fmt: skip
    for row in ROWS:
        assert row.trust in TRUSTS
        assert row.title != row.name
        assert row.calibration in ("tight", "sound", "published")
        assert row.outcomes or row.sees != "the statistic"
        first, second = (jax.tree.leaves(data) for data in row.neighbors)
        assert [np.shape(x) for x in first] == [np.shape(x) for x in second]
        assert not all(map(np.array_equal, first, second))


# --- mechanisms of one's own -----------------------------------------------------------------------


def noisy(key, data, privacy):
    return data + jax.random.laplace(key, data.shape) / privacy.epsilon


WEIGHTS = PairWeights.from_ranks([[0, 1]])


def own(**changed):
    """Noise that is enough for one of two totals, where a comparison turned moves both."""
    row = {
        "name": "own",
        "neighbors": (np.array([5.0, 3.0]), np.array([4.0, 4.0])),
        "release": noisy,
        "promise": Privacy(1.0, unit="comparison", adjacency="flip"),
        "reduce": lambda value: value[0] - value[1],
    }
    return Audited(**row | changed)


def test_a_mechanism_of_ones_own_needs_no_words(key):
    found = audit(key, own(neighbors=([5.0, 3.0], [4.0, 4.0])), draws=20_000)
    assert found.verdict == "violated"
    assert found.event.startswith("the statistic is ")
    facts = found.as_dict()
    assert (facts["name"], facts["title"], facts["function"]) == ("own", "own", "noisy")
    assert facts["calibration"] is None
    assert own(outcomes=("a", "b")).sees == "the outcome"


@pytest.mark.parametrize(
    ("changed", "kind", "word"),
    [
        ({"promise": 1.0}, TypeError, "Privacy"),
        ({"neighbors": (np.ones(2), np.ones(1))}, ValueError, "shape"),
        ({"neighbors": (np.ones(2),)}, ValueError, "two arrays"),
        ({"neighbors": {"a": 1}}, ValueError, "two arrays"),
        ({"neighbors": (WEIGHTS, WEIGHTS)}, ValueError, "PairWeights"),
        ({"neighbors": (np.ones(2) + 1j,) * 2}, ValueError, "complex128"),
        ({"neighbors": (np.array(["a"]),) * 2}, ValueError, "<U1"),
    ],
)
def test_what_no_audit_can_run_is_refused_at_once(changed, kind, word):
    with pytest.raises(kind, match=word):
        own(**changed)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"reduce": lambda value: value}, "reduce"),
        ({"reduce": lambda value: {"a": value[0]}}, "dict"),
        ({"reduce": lambda value: value[0] + 1j}, "complex128"),
        ({"outcomes": ("a", "b")}, "outcome"),
    ],
)
def test_releases_must_be_reduced_to_one_number(changed, word, key):
    with pytest.raises(ValueError, match=word):
        audit(key, own(**changed), draws=1000)


def test_an_audit_of_a_mechanism_leaves_out_what_was_published_wrongly():
    rows = privacy_audit.about(aggregation.ldp_kwiksort)
    assert rows
    assert all(row.sound for row in rows)
    assert {row.name for row in ROWS if row.function == "ldp_kwiksort"} > {one.name for one in rows}
