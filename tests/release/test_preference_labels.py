"""Exactly randomized labels: shares of ε that add up to it, the law of soft labels, whole files."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.data.preferences import read_preferences
from privrank_jax.preferences import randomized_labels
from privrank_jax.preferences.label_reports import split_epsilon
from privrank_jax.release import privatize_preferences
from tests.promises import promise


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.0, 3.3, 1e-3, 8.1])
def test_shares_add_up_to_epsilon_at_most_and_nearly(epsilon):
    for number in (1, 2, 3, 7, 10, 49, 1000):
        share = float(split_epsilon(epsilon, np.zeros(number, int))[0])
        assert Fraction(share) * number <= Fraction(epsilon)
        assert Decimal(repr(share)) * number <= Decimal(repr(epsilon))
        assert share * number > epsilon * (1 - 1e-15 * 4)


def test_labels_are_flipped_and_soft_ones_rounded_as_often_as_stated():
    """Shares of 40,000 reports from the operating system: 6 standard errors are 0.015, passed once in 5 * 10^8 times;
    the law without rounding, or at 2ε, is 0.05 off."""
    asked, labels = promise(1.0, "comparison", "flip"), np.repeat([0.0, 0.3, 1.0], 40_000)
    found = randomized_labels.release(labels, asked).value.reshape(3, -1)
    flip = 1 / (1 + np.e)
    expected = flip + (1 - 2 * flip) * np.array([0.0, 0.3, 1.0])
    np.testing.assert_allclose(found.mean(1), expected, atol=0.015)
    users = np.repeat(np.arange(20_000), 2)
    asked, ones = promise(2.0, "user", "flip"), np.ones(40_000, int)
    shared = randomized_labels.release(ones, asked, users=users).value
    np.testing.assert_allclose(shared.mean(), 1 - flip, atol=0.015)
    halves = jnp.array([0.0, 0.5, 1.0] * 20, jnp.bfloat16)
    asked = promise(80.0, "comparison", "flip")
    found = randomized_labels.release(halves, asked).value.reshape(20, 3)
    assert not found[:, 0].any()
    assert found[:, 2].all()
    assert found[:, 1].any()  # all 20 coins fail once in 10^6


def of_labels(*labels):
    return lambda source, out, asked: randomized_labels.release(labels, asked)


def of_file(**more):
    return lambda source, out, asked: privatize_preferences(source, asked, out, **more)


def of_ties(source, out, asked):
    source.write_text('{"chosen": "a", "rejected": "a"}')
    privatize_preferences(source, asked, out)


@pytest.mark.parametrize(
    ("call", "privacy", "word"),
    [
        (of_labels(1, 2), promise(1.0, "comparison", "flip"), "0 or"),
        (of_labels(1, 0), promise(np.inf, "comparison", "flip"), "finite"),
        (of_labels(1, 0), promise(1.0, "user", "flip"), "users"),
        (of_labels(1, 0), promise(1.0, "comparison", "replace"), "replace"),
        (of_file(max_per_user=2), promise(1.0, "comparison", "flip"), "max_per_user"),
        (of_file(), promise(1.0, "user", "replace"), "replace"),
        (of_file(user=None), promise(1.0, "user", "flip"), "'user'"),
        (of_ties, promise(1.0, "comparison", "flip"), "same"),
    ],
)
def test_refusals(source, tmp_path, call, privacy, word):
    with pytest.raises(ValueError, match=word):
        call(source, tmp_path / "out.jsonl", privacy)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.fixture
def source(tmp_path):
    rows = [
        {"user": k % 2, "chosen": f"yes {k}", "rejected": f"no {k}", "id": k, "q": "?", "topic": k}
        for k in range(6)
    ]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_whole_file(source, tmp_path):
    out = tmp_path / "out.jsonl"
    guarantee = privatize_preferences(
        source, promise(90.0, "user", "flip"), out, keep=["q"], max_per_user=2
    )
    table = read_preferences(out)
    assert len(table) == 4
    assert table.epsilon.tolist() == [45.0] * 4
    assert all(answer.startswith("yes") for answer in table.chosen)
    assert table.column("q") == ("?",) * 4
    assert (guarantee.unit, guarantee.epsilon, guarantee.trust) == ("user", 90.0, "local")
    assert guarantee.numerics == "exact"
    privatize_preferences(source, promise(40.0, "comparison", "flip"), out, keep="topic")
    assert read_preferences(out).epsilon.tolist() == [40.0] * 6
    assert read_preferences(out).keep == ("topic",)
