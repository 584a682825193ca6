"""The registry of audits: every private function has a row, and rows are consistent."""

from __future__ import annotations

import importlib
import inspect

import jax
import numpy as np

from privrank_jax import aggregation, mallows, pairwise, preferences, privacy, privacy_audit
from privrank_jax.mechanism import Mechanism
from privrank_jax.privacy.guarantee import TRUSTS
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


def test_an_audit_of_a_mechanism_leaves_out_what_was_published_wrongly():
    rows = privacy_audit.about(aggregation.ldp_kwiksort)
    assert rows
    assert all(row.sound for row in rows)
    assert {row.name for row in ROWS if row.function == "ldp_kwiksort"} > {one.name for one in rows}
