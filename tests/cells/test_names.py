from __future__ import annotations

import time

import pytest

from privrank_jax._cells.names import did_you_mean, form, nearly_alike


@pytest.mark.parametrize("other", ["paris", " Paris", "PARIS\t", "\u00a0Paris"])
def test_blanks_and_case_do_not_make_another_item(other):
    assert form(other) == form("Paris")


def test_composed_and_decomposed_letters_are_one_name():
    assert form("Orl\u00e9ans") == form("Orle\u0301ans")


def test_users_differ_by_case_but_not_by_blanks():
    assert form("aB", fold_case=False) != form("ab", fold_case=False)
    assert form("aB ", fold_case=False) == form("aB", fold_case=False)


def test_no_guess_for_a_far_name():
    assert did_you_mean("xyz", ["winner", "loser"]) == ""


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


def test_many_numbered_names_are_compared_at_once():
    """A comparison of all 50 million pairs would take minutes."""
    names = [f"item number {k:05d}" for k in range(10_000)]
    begin = time.process_time()
    assert nearly_alike(names) == []
    assert time.process_time() - begin < 10
