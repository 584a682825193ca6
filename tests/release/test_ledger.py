"""The budget ledger: exact sums, what is counted, and what is recorded."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import Privacy
from privrank_jax._neighbors import COVERS, PUBLIC
from privrank_jax.release.ledger import BudgetExhausted, Ledger, LedgerError, amount
from tests.release.conftest import USERS, promise, spent


def test_decimals_add_up_exactly(made):
    with Ledger(made(1)) as ledger:
        for _ in range(10):
            ledger.spend(promise(0.1))  # ten such doubles are exactly more than 1
        assert ledger.left() == (0, 0)
        with pytest.raises(BudgetExhausted, match="5e-324"):
            ledger.spend(promise(5e-324))
    with Ledger(made("0.30", name="other")) as ledger:
        ledger.spend(promise(0.2))
        ledger.spend(promise("1e-300"))
        with pytest.raises(BudgetExhausted):
            ledger.spend(promise("0.1"))  # 1e-300 too much
        assert sum(one.privacy.epsilon == Decimal("1e-300") for one in ledger.spends()) == 1
    with Ledger(made("1e308", "0.5", name="huge")) as ledger:
        ledger.spend(promise(1.5e307, 5e-324))
        ledger.spend(promise(5e-324, 0.1))
        epsilon, delta = map(Fraction, ledger.left())
        assert epsilon == Fraction("8.5e307") - Fraction("5e-324")
        assert delta == Fraction("0.4") - Fraction("5e-324")


@pytest.mark.parametrize(
    "bad", [0, 0.0, -1, "-1", "nan", float("nan"), float("inf"), "inf", "1e400", "1e-400", "", "1,5",
            "0x1", "1_000", True, "1e99999999999", " ", "１"],
)  # fmt: skip
def test_amounts_out_of_range(made, bad):
    with pytest.raises(LedgerError, match="epsilon must"):
        amount(bad, "epsilon")
    path = made(1)
    if not isinstance(bad, (str, bool)):
        with Ledger(path) as ledger, pytest.raises(LedgerError, match="epsilon must"):
            ledger.spend(Privacy.proven(bad, **USERS))
    assert spent(path) == 0


def test_numbers_of_arrays_are_taken_in_full(made):
    """As doubles: what NumPy and JAX print of them has fewer digits."""
    with Ledger(made(2)) as ledger:
        for epsilon in (np.float64(1 / 3), jnp.asarray(1 / 3), np.asarray(1 / 3), np.float32(0.1)):
            ledger.spend(promise(epsilon))
            assert ledger.spends()[-1].privacy.epsilon == Decimal(repr(float(epsilon)))


def test_delta_has_a_budget_of_its_own(made):
    with Ledger(made(3)) as pure:
        with pytest.raises(BudgetExhausted, match="--noise gaussian"):
            pure.spend(promise(1, 1e-9))
        assert pure.spent() == (0, 0)


def test_history(made):
    path = made("2.5")
    told = {"trust": "local", "numerics": "exact", "command": "rank", "method": "m"}
    with Ledger(path) as ledger:
        ledger.mark_printed(ledger.spend(promise(1), **told))
        ledger.spend(promise(1))
        with pytest.raises(LedgerError, match="number 7"):
            ledger.mark_printed(7)
    with Ledger(path) as ledger:
        first, second = ledger.spends()
        assert (first.number, first.state, second.state) == (1, "printed", "spent")
        assert {name: getattr(first, name) for name in told} == told
        assert first.time.endswith("+00:00")
        assert ledger.account.data == "votes.csv"
        assert ledger.account.budget == promise("2.5", "0")
        assert first.privacy == promise("1", "0")
        assert ledger.left()[0] == Decimal("0.5")


FACTS = sorted(set(PUBLIC) - {"ties"})
FLIP, COMPARISON = {"adjacency": "flip"}, {"unit": "comparison", "adjacency": "flip"}
VOTER = {"users": "column 'voter'"}


def of_kind(kind):
    return dict(zip(USERS, kind))


def test_a_weaker_guarantee_never_counts_as_a_stronger_one():
    for (unit, adjacency), kinds in COVERS.items():
        assert unit != "user" or {one for one, _ in kinds} == {"user"}
        assert adjacency != "replace" or "flip" not in {one for _, one in kinds}


@pytest.mark.parametrize(
    ("kept", "asked", "word"),
    [
        *((of_kind(kept), of_kind(asked), None if asked in COVERS[kept] else "not enough")
          for kept in COVERS for asked in COVERS),
        # What a release takes as public must be public in the ledger; what takes less as public is stronger.
        *(({}, {"public": (fact,)}, PUBLIC[fact]) for fact in FACTS),
        *(({"public": (fact, "items")}, {"public": (fact,)}, None) for fact in FACTS),
        ({"public": ("budgets", "items")}, {}, None),
        # Under flip the pairs of each user are public, so items, questionnaire and participation are; ties are answers.
        (FLIP, {"public": ("items", "participation", "questionnaire", "budgets")}, None),
        (FLIP, FLIP | {"public": ("questionnaire",)}, None),
        (FLIP, FLIP | {"public": ("ties",)}, "public which"),
        (FLIP, FLIP | {"public": ("ranked-items",)}, "public which"),
        # A user is the same in all releases; a comparison belongs to one user under any definition of users.
        *((VOTER, {"users": users}, "users are") for users in ("each row", "column 'zip'", "")),
        (VOTER, VOTER, None),
        (COMPARISON, VOTER, None),
        # Users of few comparisons are not all users.
        ({}, {"contributions": 3}, "most 3"),
        ({"contributions": 5}, {"contributions": 3}, "not 5"),
        ({"contributions": 5}, {"contributions": 10}, None),
        ({"contributions": 5}, {}, None),
    ],
)  # fmt: skip
def test_a_release_is_as_strong_as_the_ledger_or_refused(made, kept, asked, word):
    release = promise(0.1, **asked)
    with Ledger(made(1, **kept)) as ledger:
        assert ledger.account.budget == promise("1", "0", **kept)
        if word is None:
            ledger.spend(release)
            exact = dataclasses.replace(release, epsilon=Decimal("0.1"), delta=Decimal(0))
            assert [one.privacy for one in ledger.spends()] == [exact]
        else:
            with pytest.raises(LedgerError, match=word):
                ledger.spend(release)
            assert ledger.spent() == (0, 0)
