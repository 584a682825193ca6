from __future__ import annotations

import pytest

from privrank_jax._cells.names import did_you_mean, form


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
