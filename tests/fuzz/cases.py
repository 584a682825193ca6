"""Commands with files and options, and what is checked of what they say."""

from __future__ import annotations

from hypothesis import strategies as st

THOROUGH = 500  # runs of each kind
NUMBERS = (
    "nan", "inf", "-inf", "-1", "-0.0", "0", "5e-324", "1e-320", "1e-300", "1e-12", "1e-9", "0.5",
    "0.9999999999999999", "1", "1.0000001", "20", "745", "1e4", "1e10", "1e300", "1.7e308", "1e309", "", "abc", "1,5",
    "１", "0x10", "1_0", " 1", "1e", "--json",
)  # fmt: skip
WORDS = (
    "",
    "none",
    "None",
    "a",
    "user",
    "winner",
    "\u202e",
    "\udcff",
    "x" * 10_000,
    "\x1b[2J",
    "a\nb",
)
FLAG = st.just(None)
NAMED = ("cemspc", "sushi", "cemsp", "folder", "folder.csv", "no.csv", "link.csv", "", "\udcff.csv")


def numbers(*usual: str):
    return st.sampled_from(NUMBERS + usual * 8)


def words(*usual: str):
    return st.sampled_from(WORDS + usual * 3)
