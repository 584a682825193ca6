"""The budget ledger: exact sums, refusals, concurrent spenders, and processes killed at random points."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import Privacy
from privrank_jax._neighbors import COVERS, PUBLIC, Neighbors
from privrank_jax.release.ledger import BudgetExhausted, Ledger, LedgerError, amount
from tests.release.ledgers import USERS, promise, spent


def test_decimals_add_up_exactly(made):
    path = made(1)
    with Ledger(path) as ledger:
        for _ in range(10):
            ledger.spend(promise(0.1))  # ten such doubles are exactly more than 1
        assert ledger.left() == (0, 0)
        with pytest.raises(BudgetExhausted, match="5e-324"):
            ledger.spend(promise(5e-324))
    with Ledger(made("0.30", name="other")) as ledger:
        ledger.spend(promise(0.2))
        ledger.spend(promise("1e-300"))
        with pytest.raises(BudgetExhausted, match="Ask for less"):
            ledger.spend(promise("0.1"))  # 1e-300 too much
        assert sum(one.privacy.epsilon == Decimal("1e-300") for one in ledger.spends()) == 1


def test_huge_beside_tiny(made):
    with Ledger(made("1e308", "0.5")) as ledger:
        ledger.spend(promise(1.5e307, 5e-324))
        ledger.spend(promise(5e-324, 0.1))
        epsilon, delta = ledger.left()
        assert Fraction(epsilon) == Fraction("8.5e307") - Fraction("5e-324")
        assert Fraction(delta) == Fraction("0.4") - Fraction("5e-324")


@pytest.mark.parametrize(
    "bad", [0, 0.0, -1, "-1", "nan", float("nan"), float("inf"), "inf", "1e400", "1e-400", "", "1,5",
            "0x1", "1_000", True, "1e99999999999", " ", "１"],
)  # fmt: skip
def test_amounts_out_of_range(made, bad):
    with pytest.raises(LedgerError, match="positive number"):
        amount(bad, "epsilon")


@pytest.mark.parametrize("bad", [0, 0.0, -1.0, float("nan"), float("inf"), Decimal("1e-400")])
def test_promises_out_of_range(made, bad):
    path = made(1)
    with Ledger(path) as ledger, pytest.raises(LedgerError, match="positive number"):
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
    with Ledger(made(3, "2e-9", name="other")) as ledger:
        ledger.spend(promise(1, 1e-9))
        ledger.spend(promise(1, 1e-9))
        with pytest.raises(BudgetExhausted, match="delta 0"):
            ledger.spend(promise(0.5, 1e-12))
        ledger.spend(promise(1))
        assert ledger.left() == (0, 0)


def test_history(made):
    path = made("2.5")
    with Ledger(path) as ledger:
        number = ledger.spend(
            promise(1), trust="local", numerics="exact", command="rank", method="m"
        )
        ledger.mark_printed(number)
        ledger.spend(promise(1))
        with pytest.raises(LedgerError, match="number 7"):
            ledger.mark_printed(7)
    with Ledger(path) as ledger:
        first, second = ledger.spends()
        assert (first.number, first.state, second.state) == (1, "printed", "spent")
        assert (first.trust, first.numerics, first.command) == ("local", "exact", "rank")
        assert first.time.endswith("+00:00")
        assert ledger.account.data == "votes.csv"
        assert ledger.account.budget == promise("2.5", "0")
        assert first.privacy == promise("1", "0")
        assert ledger.left()[0] == Decimal("0.5")


@pytest.mark.parametrize("promised", COVERS)
def test_only_guarantees_as_strong_as_the_promise_count(made, promised):
    path = made(1, unit=promised[0], adjacency=promised[1])
    for unit, adjacency in COVERS:
        release = promise(0.01, unit=unit, adjacency=adjacency)
        with Ledger(path) as ledger:
            assert ledger.covers(Neighbors(unit, adjacency)) == ledger.covers(release)
            if ledger.covers(release):
                ledger.spend(release)
            else:
                with pytest.raises(LedgerError, match="not enough"):
                    ledger.spend(release)
    with Ledger(path) as ledger:
        counted = {one.privacy.kind for one in ledger.spends()}
    assert promised in counted
    # A weaker guarantee never counts as a stronger one.
    assert not (promised[0] == "user" and any(unit != "user" for unit, _ in counted))
    assert not (promised[1] == "replace" and any(other == "flip" for _, other in counted))


@pytest.mark.parametrize("fact", sorted(set(PUBLIC) - {"ties"}))
def test_what_a_release_takes_as_public_must_be_public_in_the_ledger(made, fact):
    with Ledger(made(1)) as strict:
        with pytest.raises(LedgerError, match=PUBLIC[fact]):
            strict.spend(promise(0.1, public=(fact,)))
        assert strict.spent() == (0, 0)
    with Ledger(made(1, public=(fact, "items"), name="open")) as ledger:
        ledger.spend(promise(0.1, public=(fact,)))
        ledger.spend(promise(0.1))  # what takes less as public is stronger
        assert [one.privacy.public for one in ledger.spends()] == [(fact,), ()]


def test_neighbors_that_differ_in_answers_share_who_said_what(made):
    """Under flip the pairs of each user are public, so items, questionnaire and participation are; ties are answers."""
    flips = {"unit": "user", "adjacency": "flip"}
    with Ledger(made(1, **flips)) as ledger:
        ledger.spend(promise(0.1, public=("items", "participation", "questionnaire", "budgets")))
        ledger.spend(promise(0.1, **flips, public=("questionnaire",)))
        for public in (("ties",), ("ranked-items",)):
            with pytest.raises(LedgerError, match="public which"):
                ledger.spend(promise(0.1, **flips, public=public))
    with pytest.raises(LedgerError, match="are ties"):
        made(1, public=("ties",), name="ties", **flips)


def test_a_user_is_the_same_in_all_releases(made):
    by_column = promise(0.1, users="column 'voter'")
    with Ledger(made(1, users="column 'voter'")) as ledger:
        for users in ("each row", "column 'zip'", ""):
            with pytest.raises(LedgerError, match="users are"):
                ledger.spend(promise(0.1, users=users))
        ledger.spend(by_column)
        assert [one.privacy.users for one in ledger.spends()] == ["column 'voter'"]
    with Ledger(made(1, unit="comparison", adjacency="flip", name="comparisons")) as ledger:
        ledger.spend(by_column)  # a comparison belongs to one user under any definition of users


def test_users_of_few_comparisons_are_not_all_users(made):
    few, many = (promise(0.1, contributions=count) for count in (3, 10))
    with Ledger(made(1)) as ledger:
        with pytest.raises(LedgerError, match="most 3"):
            ledger.spend(few)
        ledger.spend(few.for_any_user())
    with Ledger(made(1, contributions=5, name="five")) as ledger:
        assert ledger.account.budget.contributions == 5
        with pytest.raises(LedgerError, match="not 5"):
            ledger.spend(few)
        ledger.spend(many)
        ledger.spend(promise(0.1))
        assert [one.privacy.contributions for one in ledger.spends()] == [10, None]
