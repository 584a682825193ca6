"""Options of ``privrank privatize``: budgets of one or each, and files that must not be lost."""

from __future__ import annotations

import pytest

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.privatize import Request


@pytest.fixture
def request_of(votes, tmp_path):
    def make(**options):
        usual = {"epsilon": 1.0, "out": tmp_path / "reports.csv"}
        return Request(source=str(votes), **{**usual, **options})

    return make


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "--epsilon is missing"),
        ({"epsilon_column": "eps"}, "not both"),
        ({"epsilon": -1.0}, r"epsilon \(--epsilon\) must be a positive number"),
        ({"seed": 1}, "--seed makes the noise predictable"),
    ],
)
def test_what_is_refused_without_the_data(request_of, options, message):
    request_of().check()
    request_of(epsilon=None, epsilon_column="eps").check()
    with pytest.raises(ValueError, match=message):
        request_of(**options).check()


def test_answers_are_never_written_over_and_other_files_only_by_force(request_of, votes, tmp_path):
    other = tmp_path / "there.csv"
    other.write_text("x")
    with pytest.raises(Refusal, match="is the file of the answers itself"):
        request_of(out=votes, force=True).check_out()
    with pytest.raises(Refusal, match="exists: name another file, or replace it by --force"):
        request_of(out=other).check_out()
    request_of(out=other, force=True).check_out()
    request_of().check_out()
