"""The ledger of a series: one budget over data sets that may share people, each known by its content."""

from __future__ import annotations

import hashlib
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax.release.ledger import BudgetExhausted, DataSet, Ledger, LedgerError, create
from tests.release.conftest import promise, spent

NAME = "citizen survey"


def data(number):
    """Checksum and name of the data of a year; two years have files of one name."""
    return hashlib.sha256(bytes([number])).hexdigest(), f"{'survey' if number < 2 else number}.csv"


STEPS = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from(["0.1", "0.3", "0.7"]), st.sampled_from(["0", "1e-7"]),
        st.booleans(), st.sampled_from(["replace", "flip"]),
    ),
    max_size=12,
)  # fmt: skip


@settings(max_examples=40)
@given(steps=STEPS)
def test_any_order_of_releases_keeps_the_budget(steps):
    """Against a model: what is joined, and two sums. A look adds nothing, nor does a release that is refused."""
    joined, sums = [0], [Decimal(0), Decimal(0)]
    of, numbers = dict.fromkeys(range(4), Decimal(0)), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.ledger"
        create(path, promise("1.5", "3e-7"), data="survey.csv", sha256=data(0)[0])
        with Ledger(path) as ledger:
            ledger.make_series(NAME)
        for number, epsilon, delta, named, adjacency in steps:
            asked = Decimal(epsilon), Decimal(delta)
            fits = sums[0] + asked[0] <= Decimal("1.5") and sums[1] + asked[1] <= Decimal("3e-7")
            allowed = fits and adjacency == "replace" and (named or number in joined)
            with Ledger(path, series="  citizen   survey " if named else None) as ledger:
                if named:
                    ledger.check_data(*data(number))
                try:
                    ledger.spend(promise(*asked, adjacency=adjacency), source=data(number))
                except LedgerError:
                    assert not allowed
                    continue
            assert allowed
            sums = [have + more for have, more in zip(sums, asked)]
            of[number] += asked[0]
            if number not in joined:
                joined.append(number)
            numbers.append(joined.index(number) + 1)
        with Ledger(path) as ledger:
            assert list(ledger.spent()) == sums
            assert [one.data_set for one in ledger.spends()] == numbers
            found = [
                (one.number, one.data, ledger.spent(one.number)[0]) for one in ledger.data_sets()
            ]
            assert found == [(place, data(one)[1], of[one]) for place, one in enumerate(joined, 1)]


def test_a_ledger_of_one_data_set_becomes_that_of_a_series_with_what_it_has_spent(made):
    path = made(2)
    with Ledger(path) as ledger:
        assert ledger.series == ""
        assert ledger.data_sets() == [DataSet(1, ledger.account.created, "votes.csv")]
        ledger.spend(promise(1))
        ledger.spend(promise("0.5"), source=("ab" * 32, "votes.csv"))
        for _ in range(2):
            ledger.make_series(NAME)
    with Ledger(path, series=NAME) as ledger:
        ledger.spend(promise("0.5"), source=data(1))
        with pytest.raises(BudgetExhausted):
            ledger.spend(promise(1), source=data(1))
        assert [one.data_set for one in ledger.spends()] == [1, 1, 2]


@pytest.fixture
def survey(made):
    """The ledger of a series with a budget of 3."""
    with Ledger(made(3)) as ledger:
        ledger.make_series(NAME)
        return ledger.path


def test_another_ledger_counts_at_its_whole_budget_and_once(survey, made):
    path, other = survey, made("1.5", name="other.ledger")
    with Ledger(other) as alone, Ledger(path, series=NAME) as ledger:
        alone.spend(promise("0.5"))
        ledger.count(alone)
        alone.spend(promise(1))  # is in that budget
        assert ledger.left()[0] == Decimal("1.5")
        assert ledger.spends()[0].state == "printed"
        for twice in (alone, ledger):
            with pytest.raises(LedgerError, match="counted before"):
                ledger.count(twice)
        with Ledger(made(2, name="large.ledger")) as large, pytest.raises(BudgetExhausted):
            ledger.count(large)
        assert len(ledger.data_sets()) == 2


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda path: Ledger(path, series="another"), "another"),
        (lambda path: Ledger(path).make_series("citizen Survey"), "Survey"),
        *((lambda path, name=name: Ledger(path).make_series(name), "a name")
          for name in ("", "  ", "a\x1bb", "\udcff")),
        (lambda path: Ledger(path).check_data(*data(1)), "series="),
        (lambda path: Ledger(path, series=NAME).check_data("", "made in Python"), "no content"),
        (lambda path: Ledger(path).spend(promise(1)), "by source"),
        (lambda path: Ledger(path).count(Ledger(path.parent / "alone")), "series="),
        (lambda path: Ledger(path, series=NAME).count(Ledger(path.parent / "weak")), "not enough"),
        (lambda path: Ledger(path.parent / "alone", series=NAME), "alone"),
        (lambda path: Ledger(path.parent / "alone").check_data(*data(1)), "--series NAME"),
        (lambda path: Ledger(path.parent / "alone").spend(promise(1), source=data(1)), "own"),
    ],
)  # fmt: skip
def test_refusals(survey, made, call, word):
    made(1, name="alone")
    made(1, name="weak", unit="comparison", adjacency="flip")
    with pytest.raises(LedgerError, match=word):
        call(survey)
    assert spent(survey) == spent(survey.parent / "alone") == 0
