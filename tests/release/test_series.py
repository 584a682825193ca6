"""The ledger of a series: one budget over data sets that may share people, each known by its content."""

from __future__ import annotations

import hashlib
import itertools
import math
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax.release.ledger import (
    BudgetExhausted,
    DataSet,
    Ledger,
    LedgerError,
    create,
)
from tests.release.ledgers import promise, spent

NAME = "citizen survey"


def data(number):
    """Checksum and name of the data of a year; two years have files of one name."""
    return hashlib.sha256(bytes([number])).hexdigest(), f"{'survey' if number < 2 else number}.csv"


@pytest.fixture
def series(tmp_path):
    """Make the ledger of a series, whose first data set is number 0."""

    def make(epsilon, delta=0, name="survey.ledger", **protects):
        path = tmp_path / name
        sha256, label = data(0)
        create(path, promise(epsilon, delta, **protects), data=label, sha256=sha256)
        with Ledger(path) as ledger:
            ledger.make_series(NAME)
        return path

    return make


def test_one_budget_over_all_data_sets(series):
    path = series(1)
    with Ledger(path, series=NAME) as ledger:
        for number in (0, 1, 2, 1):
            ledger.spend(promise("0.25"), source=data(number))
        assert ledger.left() == (0, 0)
        for number in (0, 3):  # one that has joined, and one that has not
            with pytest.raises(BudgetExhausted, match=f"the data of the series '{NAME}' can't be"):
                ledger.spend(promise("0.01"), source=data(number))
        assert [one.data_set for one in ledger.spends()] == [1, 2, 3, 2]
        assert [(one.number, one.data) for one in ledger.data_sets()] == [
            (1, "survey.csv"), (2, "survey.csv"), (3, "2.csv")
        ]  # fmt: skip
        sums = [ledger.spent(one.number)[0] for one in ledger.data_sets()]
        assert sums == [Decimal("0.25"), Decimal("0.5"), Decimal("0.25")]


def test_other_data_join_only_where_the_series_is_named(series):
    path = series(2)
    with Ledger(path) as ledger:
        assert ledger.series == NAME
        for known in (lambda: ledger.check_data(*data(1)),
                      lambda: ledger.spend(promise(1), source=data(1))):  # fmt: skip
            with pytest.raises(LedgerError, match=f"'{NAME}', and survey.csv is not .*--series"):
                known()
        ledger.spend(promise(1), source=data(0))  # counts toward the series all the same
    with Ledger(path, series="  citizen   survey ") as ledger:
        ledger.check_data(*data(1))
        assert (
            len(ledger.data_sets()) == 1
        )  # a look adds nothing, nor does a release that is refused
        with pytest.raises(BudgetExhausted):
            ledger.spend(promise(1.5), source=data(1))
        with pytest.raises(LedgerError, match="not enough to be counted"):
            ledger.spend(promise(0.5, adjacency="flip"), source=data(1))
        assert len(ledger.data_sets()) == 1
        ledger.spend(promise("0.5"), source=data(1))
    with Ledger(path) as ledger:
        ledger.spend(promise("0.5"), source=data(1))  # it has joined
        assert ledger.left() == (0, 0)


def test_what_has_no_content_joins_nothing(series):
    with Ledger(series(1), series=NAME) as ledger:
        with pytest.raises(LedgerError, match="no content by which"):
            ledger.spend(promise(1), source=("", "made in Python"))
        with pytest.raises(LedgerError, match="say which data are released"):
            ledger.spend(promise(1))
        assert ledger.spends() == []


def test_a_ledger_of_one_data_set_is_no_series(made):
    path = made(2)
    with pytest.raises(LedgerError, match=f"votes.csv alone, and not of a series '{NAME}'"):
        Ledger(path, series=NAME)
    with Ledger(path) as ledger:
        assert ledger.series == ""
        assert ledger.data_sets() == [DataSet(1, ledger.account.created, "votes.csv")]
        ledger.spend(promise(1))
        ledger.spend(promise("0.5"), source=("ab" * 32, "votes.csv"))
        for refused in (lambda: ledger.check_data(*data(1)),
                        lambda: ledger.spend(promise("0.1"), source=data(1))):  # fmt: skip
            with pytest.raises(
                LedgerError, match=r"other content: every data set .* --series NAME"
            ):
                refused()


def test_a_ledger_becomes_that_of_a_series_with_what_it_has_spent(made):
    path = made(2)
    with Ledger(path) as ledger:
        ledger.spend(promise("1.5"))
        for _ in range(2):
            ledger.make_series(NAME)
        for wrong in ("another", "citizen Survey"):
            with pytest.raises(LedgerError, match=f"of the series '{NAME}', not of '{wrong}'"):
                ledger.make_series(wrong)
        for wrong in ("", "  ", "a\x1bb", "\udcff"):
            with pytest.raises(LedgerError, match="needs a name"):
                ledger.make_series(wrong)
    with pytest.raises(LedgerError, match="not of 'another'"):
        Ledger(path, series="another")
    with Ledger(path, series=NAME) as ledger:
        with pytest.raises(BudgetExhausted, match=r"epsilon 0\.5 left"):
            ledger.spend(promise(1), source=data(1))
        ledger.spend(promise("0.5"), source=data(1))
        ledger.check_data("ab" * 32, "votes.csv")
        assert [one.data for one in ledger.data_sets()] == ["votes.csv", "survey.csv"]
        assert [one.data_set for one in ledger.spends()] == [1, 2]


def test_another_ledger_counts_at_its_whole_budget_and_once(series, made):
    path, other = series(3), made("1.5", name="other.ledger")
    with Ledger(other) as alone, Ledger(path) as unnamed, Ledger(path, series=NAME) as ledger:
        alone.spend(promise("0.5"))
        with pytest.raises(LedgerError, match="--series"):
            unnamed.count(alone)
        with pytest.raises(LedgerError, match="of the series itself"):
            ledger.count(unnamed)
        ledger.count(alone)
        assert ledger.left()[0] == Decimal("1.5")  # the budget, not what was spent so far
        with pytest.raises(LedgerError, match="counted before"):
            ledger.count(alone)
        alone.spend(promise(1))  # is in that budget
        assert ledger.left()[0] == Decimal("1.5")
        assert ledger.spends()[0].state == "printed"
        weaker = made(1, unit="comparison", adjacency="flip", name="weaker.ledger")
        with Ledger(weaker) as flips, pytest.raises(LedgerError, match="not enough to be counted"):
            ledger.count(flips)
        with Ledger(made(2, name="large.ledger")) as large, pytest.raises(BudgetExhausted):
            ledger.count(large)
        assert len(ledger.data_sets()) == 2


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
    """Against a model: what is joined, and two sums."""
    joined, sums = [0], [Decimal(0), Decimal(0)]
    of = dict.fromkeys(range(4), Decimal(0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.ledger"
        create(path, promise("1.5", "3e-7"), data="0", sha256=data(0)[0])
        with Ledger(path) as ledger:
            ledger.make_series(NAME)
        for number, epsilon, delta, named, adjacency in steps:
            asked = Decimal(epsilon), Decimal(delta)
            fits = sums[0] + asked[0] <= Decimal("1.5") and sums[1] + asked[1] <= Decimal("3e-7")
            allowed = fits and adjacency == "replace" and (named or number in joined)
            with Ledger(path, series=NAME if named else None) as ledger:
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
        with Ledger(path) as ledger:
            assert list(ledger.spent()) == sums
            assert len(ledger.data_sets()) == len(joined)
            for one, number in zip(ledger.data_sets(), joined):
                assert ledger.spent(one.number)[0] == of[number]


def test_the_sum_is_the_exact_loss_of_a_person_in_all_files(series):
    """One person, a bit in each of two files, and releases whose data and ε depend on earlier ones: all outcomes."""
    first, again = Decimal("0.5"), Decimal("0.2")
    worst = []
    for outcome in itertools.product((0, 1), repeat=3):
        releases = [(0, first), (1, Decimal("1.5") if outcome[0] else Decimal("0.3"))]
        releases.append((outcome[1], again))
        path = series("2.2", name=f"{outcome}.ledger")
        with Ledger(path, series=NAME) as ledger:
            for number, epsilon in releases:
                ledger.spend(promise(epsilon), source=data(number))

        def chance(bits, outcome=outcome, releases=releases):
            answers = [
                1 / (1 + math.exp(-epsilon if said == bits[number] else epsilon))
                for said, (number, epsilon) in zip(outcome, releases)
            ]
            return math.prod(answers)

        people = list(itertools.product((0, 1), repeat=2))
        loss = max(math.log(chance(one) / chance(other)) for one in people for other in people)
        assert loss <= float(spent(path)) + 1e-12
        worst.append(loss - float(spent(path)))
        one_file = max(math.log(chance((0, x)) / chance((1, x))) for x in (0, 1))
        assert one_file < float(spent(path)) - 0.2  # no largest ε of one data set would do
    assert max(worst) == pytest.approx(0, abs=1e-12)


JOINER = """
import os, sys
from decimal import Decimal
from privrank_jax.release.ledger import BudgetExhausted, Ledger, Privacy
release = Privacy(Decimal("0.1"), unit="user", adjacency="replace")
os.write(1, b"r")
sys.stdin.read(1)
try:
    for turn in range(100):
        with Ledger(sys.argv[1], series="citizen survey") as ledger:
            ledger.spend(release, source=(sys.argv[2 + turn % 2], "a.csv"))
        os.write(1, b"p")
except BudgetExhausted:
    sys.exit(3)
"""


def test_processes_that_add_the_same_files_at_once(series):
    path = series("1.05")
    run = [sys.executable, "-c", JOINER, path, data(1)[0], data(2)[0]]
    processes = [
        subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)
    ]
    for process in processes:
        assert process.stdout.read(1) == b"r"
    for process in processes:
        process.stdin.write(b"g")
        process.stdin.flush()
    printed = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [3] * 4
    assert sum(map(len, printed)) == 10
    with Ledger(path) as ledger:
        assert ledger.spent()[0] == 1
        assert len(ledger.data_sets()) == 3
        assert sum(ledger.spent(one.number)[0] for one in ledger.data_sets()) == 1
