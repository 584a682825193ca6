"""Names that may be meant for one: found by their letters, or by who has them; labels are not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax.data import likeness
from privrank_jax.data.kinds import meetings_of_sets
from privrank_jax.data.likeness import nearly_alike, never_met, perhaps_one, plain, users_alike


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Sakura", "Sakrua"),
        ("Sakura", "Sakra"),
        ("Sakura", "Sokura"),
        ("Sakura Tea", "SakuraTea"),
        ("Sakura Tea", "Sakrua Tea"),
        ("sakura", "Sakrua"),
    ],
)
def test_slips_are_nearly_alike(one, other):
    found = nearly_alike(["Yamada", one, "Kobayashi", other])
    assert found == [tuple(sorted([one, other]))]


@pytest.mark.parametrize(
    "names",
    [
        ("v1", "v2"),
        ("model-7b", "model-8b"),
        ("version 1.1", "version 11"),
        ("Model A", "Model B"),
        ("OptionA", "OptionB"),
        ("Iran", "Iraq"),
        ("gpt-4", "gpt-4o"),
        ("Austria", "Australia"),
        tuple(f"{letter}estaurant" for letter in "abcdef"),
    ],
)
def test_labels_are_not_nearly_alike(names):
    assert nearly_alike(names) == []


@pytest.fixture
def compared(monkeypatch):
    """The pairs that are compared letter by letter, or word by word."""
    found = []

    def watched(check):
        return lambda one, other: found.append((one, other)) or check(one, other)

    for name in ("_a_slip", "_one_meaning"):
        monkeypatch.setattr(likeness, name, watched(getattr(likeness, name)))
    return found


def test_many_numbered_names_are_not_compared_pair_by_pair(compared):
    """There are 50 million pairs."""
    names = [f"item number {k:05d}" for k in range(10_000)]
    assert nearly_alike(names) == compared == []
    assert nearly_alike(["Sakura", "Sakrua"]) == [("Sakrua", "Sakura")]
    assert len(compared) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Wi-Fi", "WiFi"),
        ("Wi Fi", "wi-fi"),
        ("Caf\u00e9", "Cafe"),
        ("Z\u00fcrich", "Zurich"),
        ("\u0141\u00f3d\u017a", "Lodz"),
        ("Stra\u00dfe", "Strasse"),
        ("St. Gallen", "St Gallen"),
        ("O'Neil", "O\u2019Neil"),
        ("e-mail", "e\u2011mail"),
        ("GPT-4", "GPT 4"),
        ("Qwen2.5-7B", "Qwen 2.5 7B"),
        ("tea", "tea."),
        ("x\u00b2", "x2"),
        ("ice_cream", "ice cream"),
    ],
)
def test_names_without_accents_and_marks_are_alike(one, other):
    assert plain(one) == plain(other)
    assert nearly_alike([one, "something else", other]) == [tuple(sorted([one, other]))]


@pytest.mark.parametrize(
    "names",
    [
        ("C", "C++", "C#"),
        ("A", "A+", "A-"),
        ("-1", "1", "+1"),
        ("1.1", "11"),
        ("10 000", "10000"),
        (">5", "<5"),
        ("yes", "yes?"),
        ("\u304b", "\u304c"),
        ("\u0438", "\u0439"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06", "gpt-4o"),
        ("model-1", "model-2", "model-12"),
    ],
)
def test_marks_that_make_another_name(names):
    assert nearly_alike(names) == []


def test_users_that_differ_by_case_or_accents():
    assert users_alike(["u1", "Ann", "ann", "Jos\u00e9", "Jose", "u2"]) == [
        ("Ann", "ann"),
        ("Jose", "Jos\u00e9"),
    ]
    assert users_alike(["u1", "u2", "a-b", "ab", "\u304b", "\u304c"]) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Nord", "North"),
        ("St", "Saint"),
        ("St Gallen", "Sankt Gallen"),
        ("N. Korea", "North Korea"),
        ("US", "United States"),
        ("USA", "United States of America"),
        ("Colombia", "Columbia"),
        ("Dept Health", "Department Health"),
    ],
)
def test_names_that_may_be_one(one, other):
    assert perhaps_one(["Oslo", one, "Rome", other]) == [(1, 3)]


@pytest.mark.parametrize(
    "names",
    [
        ("GPT-4", "GPT-3"),
        ("GPT-4", "GPT-4o"),
        ("Model A", "Model B"),
        ("North", "Norway"),
        ("Nord", "Sud"),
        ("Option 1", "Opt 2"),
        ("a", "ab"),
        ("tea", "coffee"),
    ],
)
def test_names_that_are_two(names):
    assert perhaps_one(names) == []


def test_labels_are_not_compared_one_by_one(compared):
    labels = [f"restaurant {a}{b}{c}" for a, b, c in itertools.product("abcdefghij", repeat=3)]
    assert perhaps_one(labels) == perhaps_one([f"item {k}" for k in range(10_000)]) == []
    assert compared == []


NAMES = ("Nord", "North", "East", "West")


def sets_of(*rows: str) -> np.ndarray:
    return np.array([[name[0] in row.split() for name in zip(NAMES)] for row in rows])


def apart(ranked: np.ndarray) -> list[tuple[int, int]]:
    return never_met([(0, 1)], [0, 1], *meetings_of_sets(ranked, [0, 1]))


def test_two_names_that_nobody_has_together():
    one, other = "Nord East West", "North East West"
    assert apart(sets_of(*[one, other] * 13)) == [(0, 1)]
    # Six meetings would be expected by chance: n/4.
    assert apart(sets_of(*[one, other] * 12)) == [(0, 1)]
    assert apart(sets_of(*[one, other] * 11)) == []
    assert apart(sets_of(*[one, other] * 13, "Nord North")) == []


def test_two_names_of_groups_of_items_that_never_meet():
    """Two forms with items of their own: nobody has items of both."""
    assert apart(sets_of(*["Nord East", "North West"] * 20)) == []
    assert apart(sets_of(*["Nord", "North"] * 40)) == []
