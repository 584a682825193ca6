from __future__ import annotations

import pytest

from privrank_jax.data.names import did_you_mean, form, person


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


INVISIBLE = ["\u200b", "\ufeff", "\u00ad", "\u200e", "\u2060", "\ufe0f"]


@pytest.mark.parametrize("sign", INVISIBLE)
def test_what_nobody_sees_makes_no_other_name(sign):
    assert form(f"Pa{sign}ris") == form("Paris")
    assert person(f"{sign}u1") == person("u1") == person(f"u1{sign} ")


def test_what_is_seen_does():
    """Flags of England and Scotland differ by invisible tags alone."""
    england, scotland = (
        "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in f"gb{land}\x7f")
        for land in ("eng", "sct")
    )
    assert form(england) != form(scotland)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a@x.org", "A@x.org"),
        ("a@x.org", " A@X.ORG"),
        ("Jos\u00e9@x.org", "JOSE\u0301@x.org"),
        ("\uff41\uff11", "a1"),
        ("\ufb01n", "fin"),
        ("u 1", "u\u00a01"),
    ],
)
def test_one_person(one, other):
    assert person(one) == person(other)


@pytest.mark.parametrize(
    ("one", "other"), [("u1", "U1"), ("dQw4w9WgXcQ", "dqw4w9wgxcq"), ("Jose", "Jos\u00e9")]
)
def test_two_people(one, other):
    assert person(one) != person(other)
