"""Adding up by Rényi divergences: against enumeration, and against every strategy of choosing the next release."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from decimal import Decimal

import pytest

from privrank_jax.jobs.spending import price
from privrank_jax.privacy import Guarantee, LaplaceRelease, Neighbors, Privacy, compose
from privrank_jax.release.decimals import noise_cell, noise_from
from privrank_jax.release.ledger import BudgetExhausted, Ledger, LedgerError
from privrank_jax.release.ledger_filter import Filter
from tests.quick import thorough
from tests.reference import accounting as naive
from tests.release.conftest import USERS, promise

SPREAD = (2,) * 10
SLACK = {"delta": "1e-6", "slack": "1e-6"}


def rule(epsilon="3", slack="1e-6"):
    return Filter.of(Decimal(epsilon), Decimal(slack))


@pytest.mark.parametrize("changes", [(1,), (4,), (2, 2), (5, 3, 3, 1)])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "9"])
@pytest.mark.parametrize("slack", ["1e-9", "0.1"])
def test_costs_are_divergences(changes, epsilon, slack):
    one = rule(slack=slack)
    unit = float(epsilon) / sum(changes)
    exact = naive.laplace_divergence(unit, changes, float(one.order))
    found = one.cost(Decimal(epsilon), changes)
    assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-7)
    plain = naive.response_divergence(float(epsilon), float(one.order))
    assert one.cost(Decimal(epsilon)) == pytest.approx(plain, rel=1e-9)
    assert one.cost(Decimal(epsilon)) == one.cost(Decimal(epsilon), (1,))


def test_costs_at_the_ends():
    one = rule()
    for epsilon in map(Decimal, ("1e-300", "1e-12", "5000", "1e300")):
        for changes in ((), (10**30, 3)):
            assert 0 < one.cost(epsilon, changes) <= float(epsilon) * (1 + 1e-9)
    assert rule("1e12", "0.5").order == Decimal("1.01")
    assert 0 < rule("1", "1e-400").most < 1


@pytest.mark.parametrize(
    ("epsilon", "slack"), [("0.1", "1e-9"), ("1", "1e-6"), ("3", "1e-6"), ("20", "0.01")]
)
def test_what_may_be_spent(epsilon, slack):
    """The conversion at this order, and no other order allows noticeably more Gaussian-like releases."""
    one = rule(epsilon, slack)

    def most(alpha):
        shrunk = math.log1p(-1 / alpha) - math.log(float(slack) * alpha) / (alpha - 1)
        return float(epsilon) - shrunk

    exact = most(float(one.order))
    assert exact * (1 - 1e-9) <= one.most <= exact
    best = max(most(1 + 2**step) / (1 + 2**step) for step in [k / 8 for k in range(-40, 120)])
    assert one.most / float(one.order) >= 0.99 * best
    left = one.left(0.0)
    assert one.cost(left) <= one.most < one.cost(left * Decimal("1.0001"))
    assert one.left(one.most) == 0


@pytest.mark.parametrize(("epsilon", "slack"), [("1", "0.02"), ("0.5", "0.1"), ("2", "0.05")])
def test_no_strategy_exceeds_the_budget(epsilon, slack):
    one, single = rule(epsilon, slack), Decimal(epsilon) / 4
    kinds = [(single, ()), (single, (1, 1)), (3 * single, (4,))]

    def outcomes(of, changes):
        unit = float(of) / (sum(changes) or 1)
        each = [naive.laplace_outcomes(unit, change) for change in changes or (1,)]
        return [tuple(map(math.prod, zip(*several))) for several in itertools.product(*each)]

    releases = [(float(of), 0.0, one.cost(of, changes), False) for of, changes in kinds]
    of_ledger = naive.LedgerRule(float(epsilon), float(slack), float(slack), float(one.order))
    laws = [outcomes(*kind) for kind in kinds]
    found = naive.worst_adaptive_delta(of_ledger, releases, laws, float(epsilon))
    assert 0 < found <= float(slack)
    assert 5 * releases[1][2] <= of_ledger.most  # beyond the plain sum


@pytest.mark.parametrize("counts", [True, False])
def test_gaussian_noise_fails_within_the_plain_sum(counts):
    """If its δ counted nowhere, a release that fails could follow where it has not failed."""
    epsilon, delta, scale = 1.0, 0.06, 3.3
    one, rho = rule("1", "0.01"), 1 / (2 * 3.3**2)
    gaussian = naive.gaussian_outcomes(scale, 1, 14)
    failing, pure = [(0.05, 0.0), (0.0, 0.05), (0.95, 0.95)], naive.laplace_outcomes(0.7, 1)
    order = float(one.order)
    divergence = math.log(math.fsum(p**order * q ** (1 - order) for p, q in gaussian)) / (order - 1)
    cost = one.cost(Decimal("0.3"), (), Decimal(rho))
    assert 0.99 * cost < divergence <= cost
    failure = math.fsum(max(0.0, p - math.exp(0.3) * q) for p, q in gaussian)
    last = one.cost(Decimal("0.7"))
    releases = [(0.3, failure, cost, True), (1e-9, 0.05, 1e-9, False), (0.7, 0.0, last, False)]
    of_ledger = naive.LedgerRule(epsilon, delta, 0.01, order, counts)
    laws = [gaussian, failing, pure]
    found = naive.worst_adaptive_delta(of_ledger, releases, laws, epsilon, most=4)
    assert (found <= delta) == counts
    assert found > 0.05


@pytest.mark.parametrize(
    ("slack", "changes", "count"),
    [("1e-6", (), 40), ("1e-6", (2, 2), 76), thorough("1e-6", SPREAD, 370), (0, SPREAD, 30)],
)
def test_noise_on_several_numbers_allows_more_releases(made, slack, changes, count):
    path = made(3, **SLACK | {"slack": slack})
    with Ledger(path) as ledger:
        for _ in range(count):
            ledger.spend(promise("0.1"), changes=changes)
        with pytest.raises(BudgetExhausted):
            ledger.spend(promise("0.1"), changes=changes)
        assert ledger.spends()[-1].changes == tuple(sorted(changes))
        assert ledger.spent()[0] == count * Decimal("0.1")
        assert 0 <= ledger.left()[0] < Decimal("0.2")
    if slack:  # fixed ahead, at the same δ, as many compose to the budget or less
        release = LaplaceRelease(10 * (sum(changes) or 1), changes or (1,))
        together = compose([release] * count, delta=1e-6, neighbors=Neighbors(**USERS))
        assert 0.9 * 3 < together.epsilon <= 3


@pytest.mark.parametrize(("delta", "slack"), [("0.06", "0.01"), ("0.02", "0.02"), ("0.05", "0.02")])
@pytest.mark.parametrize("seed", range(2))
def test_a_ledger_keeps_the_rule_for_any_mixture(made, delta, slack, seed):
    """What may be spent, what is left, and that the plain sum suffices; δ of Gaussian noise counts while it holds."""
    draw = random.Random(seed)
    with Ledger(made(2, delta, slack=slack)) as ledger:
        one, most = ledger.account.filter, float(delta) - float(slack)
        of_ledger = naive.LedgerRule(2.0, float(delta), float(slack), float(one.order))
        state, refused, over, known = of_ledger.start, Counter(), 0, []
        for _ in range(40):
            epsilon, rho = (Decimal(draw.choice(["0.05", "0.2", "0.45"])) for _ in range(2))
            failure = Decimal(draw.choice(["0", "0.01", "0.003"]))
            noise = draw.choice(({"changes": (2, 2, 2)}, {"rho": rho / 20}, {}))
            release = float(epsilon), float(failure), one.cost(epsilon, **noise), "rho" in noise
            after = of_ledger.after(state, release)
            if after is None:
                refused["rho" in noise, failure > 0] += 1
                with pytest.raises(BudgetExhausted):
                    ledger.check(promise(epsilon, failure), **noise)
            else:
                state = after
                ledger.spend(promise(epsilon, failure), **noise)
                known.append((noise.get("changes", ()), noise.get("rho")))
            left = ledger.left()
            assert float(left[1]) == pytest.approx(most - state[1], abs=1e-12)
            plain = Decimal(2) - ledger.spent()[0] if state[3] else 0
            assert left[0] == max(plain, one.left(state[2]))
            over += not state[3]
        assert [(one.changes, one.rho) for one in ledger.spends()] == known
        assert over > 0
        assert refused.total() > 3


def test_a_ledger_beyond_its_rule_is_damaged(made, monkeypatch):
    with Ledger(made(3, **SLACK)) as ledger:
        monkeypatch.setattr(Ledger, "check", lambda *_: None)
        for _ in range(45):
            ledger.spend(promise("0.1"))
        with pytest.raises(LedgerError, match="damaged"):
            ledger.left()


def test_what_is_not_known_yet_is_not_refused_early(made):
    with Ledger(made(3, **SLACK)) as ledger:
        for _ in range(36):
            ledger.spend(promise("0.1"))
        with pytest.raises(BudgetExhausted):
            ledger.check(promise(1))
        ledger.check(promise(1), (2,) * 100)
        ledger.check(promise(1), None)
        ledger.check(promise(1, "1e-9"), None)  # which Gaussian noise does not spend
    with Ledger(made(1, name="full", **SLACK)) as ledger:
        ledger.spend(promise(1))
        with pytest.raises(BudgetExhausted):
            ledger.check(promise("1e-9"), None)


@pytest.mark.parametrize("noise", [{"changes": (2, 2), "rho": None}, {"changes": (), "rho": 0.01}])
def test_noise_is_paid_with_the_guarantee_that_it_is_of(made, noise):
    flips = Privacy.proven(0.1, unit="comparison", adjacency="flip")
    found = Guarantee(flips, also=(Privacy.proven(0.2, **USERS),), **noise)
    for kind, expected in (({}, {}), ({"unit": "comparison", "adjacency": "flip"}, noise)):
        with Ledger(made(1, name=f"{kind}", **kind)) as ledger:
            used, paid = price(found, ledger)
            assert (used.kind, paid) == (ledger.account.budget.kind, expected)


def test_what_is_known_of_noise_is_text(made):
    assert noise_from(noise_cell((3, 1, 3))) == ((1, 3, 3), None)
    assert noise_from(noise_cell(rho=0.25)) == ((), Decimal("0.25"))
    for cell in ("x", "2", "0*3", "2*3*4", "-1*2", "rho 0", "rho", "rho x"):
        with pytest.raises(ValueError, match=r"int|unpack|must"):
            noise_from(cell)
    with Ledger(made(3, **SLACK)) as ledger:
        for noise in ({"changes": (0,)}, *({"rho": rho} for rho in (0, -1, math.nan))):
            with pytest.raises(ValueError, match=next(iter(noise))):
                ledger.spend(promise(1), **noise)
    for rho in (0, -1.0, math.inf, True, "1"):
        with pytest.raises(ValueError, match="rho must"):
            Guarantee(Privacy.proven(0.1, **USERS), rho=rho)
