"""Calibration of composed releases, and what composition refuses."""

from __future__ import annotations

import functools
import math
import sys
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.privacy import (
    GaussianRelease,
    Guarantee,
    LaplaceRelease,
    Neighbors,
    Privacy,
    calibrate_gaussian,
    compose,
    gaussian_scale,
    local_guarantee,
)
from privrank_jax.privacy.host import host_number
from privrank_jax.privacy.loss_distribution import load_dp_accounting
from tests import reference
from tests.privacy.releases import KIND, USERS, epsilon

ONE = [(0.5, 0)]
FLIPS = Neighbors("comparison", "flip")
USER = Guarantee(Privacy.proven(0.5, **KIND))
ANSWER = Guarantee(Privacy.proven(0.2, unit="comparison", adjacency="flip"))
FEW, MANY = (Privacy(0.5, contributions=count, **KIND) for count in (3, 10))
BY_ROW, BY_NAME = (
    Guarantee(Privacy.proven(0.1, users=x, **KIND)) for x in ("each row", "column 'id'")
)
ALIKE = functools.partial(compose, delta=1e-6, **USERS)


def test_calibration_agrees_with_the_traced_one():
    epsilons, deltas = np.array(
        [(e, d) for e in (0.01, 0.1, 1.0, 10.0, 100.0) for d in (1e-12, 1e-6, 1e-3, 0.3)]
    ).T
    ours = jax.jit(jax.vmap(lambda e, d: gaussian_scale(2.0, e, d)))(epsilons, deltas)
    theirs = [calibrate_gaussian(e, d, 2.0) for e, d in zip(epsilons, deltas)]
    np.testing.assert_allclose(theirs, ours, rtol=1e-6)
    assert calibrate_gaussian(math.inf, 1e-6) == gaussian_scale(1.0, math.inf, 1e-6) == 0


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_calibrated_releases_compose_to_the_budget(count):
    scale = calibrate_gaussian(0.8, 1e-7, 3.0, releases=count)
    found = epsilon([GaussianRelease(scale, 3.0)] * count, 1e-7)
    assert found == pytest.approx(0.8, rel=1e-6)
    assert reference.gaussian_delta(scale, 3.0 * math.sqrt(count), 0.8) <= 1e-7
    looser = [GaussianRelease(0.999 * scale, 3.0)] * count
    assert epsilon(looser, 1e-7) > 0.8


@pytest.mark.parametrize(
    ("call", "word"),
    [
        *(
            (functools.partial(ALIKE, releases), word)
            for releases, word in (
                ([(-1, 0)], "release 1"),
                ([(0.1, 0), (math.nan, 0)], "release 2"),
                ([("0.5", 0)], "release 1"),
                ([(True, 0)], "release 1"),
                ([(np.array([1.0, 2.0]), 0)], "release 1"),
                ([(1, 1)], "delta of"),
                ([(1, -1e-9)], "delta of"),
                ([0.5], "release 1"),
                ([(0.5, 0, 0)], "release 1"),
                (USER, "a list"),
                (FEW, "a list"),
                (LaplaceRelease(1, (1,)), "a list"),
                ([Guarantee(Privacy.proven(jnp.ones(3), **KIND))], "release 1"),
                ([(0.1, 1e-6)] * 2, "2e-06"),  # δ below those of the releases
                ([(0.1, 0.9)] * 400, "the sum"),  # so many that 1 - Π(1-δ_i) is 1
                ([Guarantee(Privacy.proven(0.1, public=("items",), **KIND))], "list of items"),
                ([FEW, MANY], "3 comparisons"),
            )
        ),
        *((lambda d=d: compose(ONE, delta=d, **USERS), "delta") for d in (1, -1e-6, math.nan, "1")),
        *((lambda e=e: compose(ONE, epsilon=e, **USERS), "epsilon") for e in (-1, math.nan, math.inf)),
        (lambda: compose(ONE, **USERS), "the two"),
        (lambda: compose(ONE, delta=1e-6, epsilon=1, **USERS), "the two"),
        (lambda: compose(ONE, delta=0, trust="none", **USERS), "trust"),
        (lambda: compose([GaussianRelease(1.0)], delta=0, **USERS), "Gaussian"),
        *(  # -expm1(log1p(-δ)) is an ulp less
            (lambda d=d: epsilon([(1.0, d), GaussianRelease(1.0)], d), "Gaussian")
            for d in (0.03121, 0.003906, 0.08891)
        ),
        (lambda: compose([USER, ANSWER], delta=0), "adjacency 'flip'"),
        (lambda: compose([USER, ANSWER], delta=0, **USERS), "release 2"),
        (lambda: compose([USER], delta=0, neighbors=Neighbors("rank", "flip")), "'rank'"),
        (lambda: compose([USER, (0.5, 0)], delta=0), "neighbors="),
        (lambda: compose([], delta=0), "neighbors="),
        (lambda: compose([FEW, MANY], delta=0, neighbors=MANY), "3 comparisons"),
        (lambda: compose([BY_ROW, BY_NAME], delta=0), "each row"),
        (lambda: compose([BY_ROW, USER], delta=0), "not said"),
        (lambda: GaussianRelease(-1.0), "scale"),
        (lambda: GaussianRelease(1.0, 0.0), "sensitivity"),
        (lambda: GaussianRelease(1.0, math.inf), "sensitivity"),
        (lambda: LaplaceRelease(-1, (1,)), "scale"),
        (lambda: LaplaceRelease(1, ()), "at least"),
        *((lambda c=c: LaplaceRelease(1, c), "changes") for c in ((0,), (1.5,), (True,), [1], 2)),
        (lambda: Guarantee(Privacy.proven(0.1, **KIND), changes=[1]), "changes"),
        *(
            (lambda told=told: calibrate_gaussian(*told), "must be")
            for told in ((0, 1e-6), (1, 0), (1, 1), (-1, 1e-6), (1, 1e-6, 0))
        ),
        *((lambda n=n: calibrate_gaussian(1, 1e-6, releases=n), "releases") for n in (0, 1.5, True)),
        (lambda: jax.jit(lambda e: compose([(e, 0)], delta=0, **USERS).epsilon)(1.0), "the host"),
        *(
            (lambda one=one: host_number("epsilon", one), "epsilon")
            for one in (-1, math.nan, "1", True, [1.0], np.ones(1), None)
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_composed_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()


def test_the_result_is_for_what_all_releases_cover():
    both = compose([USER, ANSWER], delta=0, neighbors=FLIPS)
    assert (both.epsilon, both.unit, both.adjacency) == (0.7, "comparison", "flip")
    both = compose([FEW, MANY], delta=0)
    assert (both.epsilon, both.attained.contributions, both.trust) == (1.0, 3, "central")
    assert compose([FEW, MANY], delta=0, neighbors=FEW).attained.contributions == 3
    reports = local_guarantee(jnp.array([1.0, 2.0]), jnp.array([10, 3]))
    assert compose([reports] * 2, delta=0).epsilon == 4.0
    assert compose([reports] * 2, delta=0, neighbors=Neighbors("user", "flip")).epsilon == 20.0
    assert compose([BY_ROW, BY_ROW], delta=0).attained.users == "each row"
    both = compose([BY_ROW, BY_NAME], delta=0, neighbors=FLIPS)
    assert (both.epsilon, both.attained.users) == (0.2, "")


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (3, Fraction(3)),
        (np.float32(0.1), Fraction(1, 10)),
        (jnp.float32(0.1), Fraction(1, 10)),
        (np.array(2, np.uint8), Fraction(2)),
        (Decimal("1e-400"), Fraction(1, 10**400)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.float32(np.inf), math.inf),
    ],
)
def test_numbers_are_decimals_as_people_write_them(given, exact):
    found = host_number("epsilon", given)
    assert found == exact
    assert isinstance(found, float if math.isinf(exact) else Fraction)
    assert epsilon([(0.1, 0)] * 10, 0) == 1.0


def test_without_the_library_the_message_names_the_extra(monkeypatch):
    assert load_dp_accounting().__name__ == "dp_accounting"
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match="accounting"):
        compose([(0.5, 0)], delta=1e-6, **USERS)
    assert compose([(0.5, 0)], delta=0, **USERS).epsilon == 0.5
