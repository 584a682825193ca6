"""``pr.consensus``: each method on a unanimous crowd, what is public, what was not ranked, and certificates."""

from __future__ import annotations

import itertools
import re

import jax
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.aggregation import bounds
from privrank_jax.aggregation.footrule import cost_deviation, dp_footrule
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.data import Rankings
from privrank_jax.jobs import consensus
from privrank_jax.mechanism import Facts
from privrank_jax.privacy import Privacy
from tests.jobs.released import agreed
from tests.of_rankings import CONSENSUS
from tests.parquet import as_parquet
from tests.promises import user


@pytest.fixture
def unanimous(write):
    rows = [f"u{k},2,1,3" for k in range(60)]
    return write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")


def found(path, **options):
    result = agreed(path, **{"epsilon": 1000.0, "seed": 5, **options})
    return result.names, result


@pytest.mark.parametrize("method", ["auto", *CONSENSUS])
def test_central_methods_find_what_all_say(unanimous, method):
    names, result = found(unanimous, method=method)
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.guarantee.epsilon == 1000.0
    assert (result.guarantee.unit, result.guarantee.trust) == ("user", "central")


@pytest.mark.parametrize("method", [name for name, of in CONSENSUS.items() if "local" in of.trusts])
def test_local_methods_find_what_all_say(unanimous, method):
    names, result = found(unanimous, method=method, trust="local")
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.guarantee.trust == "local"


@pytest.mark.parametrize("method", ["auto", "borda", "noise-all"])
@pytest.mark.parametrize("numerics", ["exact", "simulation"])
def test_shuffled_methods_find_what_all_say(unanimous, method, numerics):
    seed = None if numerics == "exact" else 5
    names, result = found(unanimous, method=method, trust="shuffled", seed=seed, delta=1e-6)
    assert names == ["Rome", "Oslo", "Bern"]
    assert (result.guarantee.trust, result.guarantee.numerics) == ("shuffled", numerics)
    assert (result.guarantee.epsilon, result.guarantee.delta) == (1000.0, 1e-6)
    assert any("remove names" in note for note in result.notes)
    assert "local_epsilon" in result.facts


@pytest.mark.parametrize(
    ("epsilon", "named", "mechanism"),
    [
        (0.5, "one answer per user", "one-pair"),
        (4, "two sets of items per user", "subset-selection"),
    ],
)
@pytest.mark.parametrize("numerics", ["exact", "simulation"])
def test_users_report_in_the_way_of_less_error(write, epsilon, named, mechanism, numerics):
    many = write(*[f"u{k},2,1,3" for k in range(900)], header="user,Oslo,Rome,Bern", name="r.csv")
    rehearsal = {"seed": 5 if numerics != "exact" else None}
    _, result = found(many, method="borda", trust="local", epsilon=epsilon, **rehearsal)
    assert result.title.endswith(f"by Borda scores from {named}")
    assert result.facts["mechanism"] == mechanism
    assert (result.guarantee.numerics, result.guarantee.trust) == (numerics, "local")


@pytest.mark.parametrize(
    ("noise", "delta"), [("k-norm", 0.0), ("laplace", 0.0), ("gaussian", 1e-6)]
)
@pytest.mark.parametrize("numerics", ["exact", "simulation"])
def test_footrule_says_what_was_released_and_what_is_proved(unanimous, noise, delta, numerics):
    rehearsal = {"seed": 5 if numerics != "exact" else None}
    asked = {} if noise == "k-norm" else {"noise": noise}
    names, result = found(
        unanimous, method="footrule", delta=delta, epsilon=500, **asked, **rehearsal
    )
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.title.endswith("by least footrule on noisy counts of positions")
    assert (result.guarantee.numerics, result.guarantee.delta) == (numerics, delta)
    limit, promise = result.facts["expected_cost_bound"], user(500.0, delta)
    proved = bounds.bound("footrule", 3, 60, promise, noise=noise)
    assert limit == {"ratio": pytest.approx(1.8), "additive": pytest.approx(proved.additive)}
    deviation = cost_deviation(3, dp_footrule.scale(promise, Facts(3, 60), noise), noise)
    assert result.facts["cost_deviation"] == pytest.approx(float(deviation), rel=1e-4)
    said = [note for note in result.notes if note.startswith("released: noisy counts")]
    assert len(said) == 1
    assert "at most 1.8 times the fewest possible pairs" in " ".join(result.notes)
    # Nobody is off by more than noise.
    assert abs(result.facts["noisy_footrule"]) < 0.5


def test_footrule_follows_the_rule_for_items_not_ranked(write):
    """Two leave Bern out, which is first for the third: last, it loses to Oslo; unknown, it is in the middle."""
    rows = ["u1,1,2,", "u2,1,2,", "u3,3,2,1"] * 20
    rows = [f"{k}{row}" for k, row in enumerate(rows)]
    path = write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")
    last, _ = found(path, method="footrule", read={"missing": "last"})
    unknown, _ = found(path, method="footrule", read={"missing": "unknown"})
    assert last == ["Oslo", "Rome", "Bern"]
    assert unknown != last


# --- what is read, promised and refused ------------------------------------------------------------

ROWS = ("ann,1,2,3", "bob,2,1,3", "cy,,1,")


def rankings(write, *rows):
    return write(*(rows or ROWS), header="user,Oslo,Rome,Bern", name="rankings.csv")


def test_users_items_and_the_promise(write):
    found = agreed(rankings(write), method="borda", seed=1)
    assert found.facts["users"] == 3
    assert found.guarantee.attained.users == "column 'user'"
    assert found.guarantee.attained.public == ()


def test_what_was_not_ranked_is_taken_as_said_and_the_other_rule_is_named(write):
    path = rankings(write)
    last = agreed(path, method="borda", seed=1)
    unknown = agreed(path, method="borda", seed=1, read={"missing": "unknown"})
    assert any("1 of 3 users did not rank all items" in one for one in last.warnings)
    assert any("missing='unknown'" in one for one in last.warnings)
    assert not any("missing='unknown'" in one for one in unknown.warnings)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_parquet_file_gives_the_same_consensus(write, shuffled):
    rows = (
        "ann,Oslo,1",
        "ann,Rome,2",
        "ann,Bern,3",
        "bob,Rome,1",
        "bob,Oslo,2",
        "bob,Bern,3",
        "cy,Rome,1",
    )
    path = write(*rows, header="user,item,rank", name="rankings.csv")
    options = {"trust": "shuffled", "delta": 1e-3} if shuffled else {"method": "borda"}
    one, other = (agreed(file, seed=2, **options) for file in (path, as_parquet(path)))
    assert one.names == other.names
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-12)


def test_trust_chooses_who_randomizes():
    def mechanism(**given):
        return consensus.Asked(**given).mechanism

    assert mechanism() == mechanism(method="borda")
    assert mechanism(method="borda", trust="local") == "sub-ranking-weights"
    assert mechanism(method="borda", trust="shuffled") == "shuffled-pair-weights"
    assert mechanism(method="borda", trust="local", accepts=True) == "ldp-borda"


@pytest.mark.parametrize(
    ("options", "delta", "message"),
    [
        ({"method": "mean"}, 0, "method .*must be one of"),
        ({"trust": "nobody"}, 0, "trust .*must be one of"),
        ({"xi": -0.1}, 0, "`xi` must be finite"),
        ({"xi": 0.5, "method": "borda"}, 0, "`xi` is for weights, noise-all"),
        ({"method": "exponential", "trust": "local"}, 0, "exponential takes trust=central"),
        ({"method": "footrule", "trust": "local"}, 0, "footrule takes trust=central"),
        ({"noise": "normal"}, 0, "noise .*must be one of"),
        ({"trust": "shuffled"}, 0, "need a `delta`"),
        ({"trust": "shuffled", "noise": "gaussian"}, 1e-6, "leave `noise` out"),
        ({"trust": "shuffled", "method": "kwiksort"}, 1e-6, "kwiksort takes trust="),
        ({"method": "exponential", "noise": "gaussian"}, 1e-6, "has no gaussian noise"),
    ],
)
def test_what_is_refused_without_the_data(options, delta, message):
    promise = Privacy(1.0, unit="user", adjacency="replace", delta=delta)
    with pytest.raises(ValueError, match=message):
        consensus.Asked(**options).check(promise)
    weaker = Privacy(1.0, unit="comparison", adjacency="replace")
    with pytest.raises(ValueError, match="take unit='user' and adjacency='replace'"):
        consensus.Asked().check(weaker)


# --- certificates ----------------------------------------------------------------------------------

FIVE = ["u0,1,2,3", "u1,1,3,2", "u2,2,1,3", "u3,3,1,2", "u4,1,2,3"]


def test_the_consensus_is_that_of_all_orders_and_its_certificate_proves_it(write):
    result = agreed(rankings(write, *FIVE), epsilon=None)
    rows = [tuple(map(int, row.split(",")[1:])) for row in FIVE]

    def disagreements(order):
        return sum(
            row[first] > row[second]
            for row in rows
            for first, second in itertools.combinations(order, 2)
        )

    best = min(itertools.permutations(range(3)), key=disagreements)
    order = [("Oslo", "Rome", "Bern").index(name) for name in result.names]
    assert disagreements(order) == disagreements(best)
    certificate = result.facts["certificate"]
    assert certificate["lower_bound"] == pytest.approx(certificate["cost"])
    assert certificate["ratio"] == 1
    assert (result.guarantee, result.warnings, result.facts["method"]) == (None, (), "none")
    assert result.notes[0].startswith("the average user disagrees with ")
    assert "of the 3 pairs of this order, and with at least as many of any other" in result.notes[0]
    assert "without privacy" in result.title
    assert agreed(rankings(write, *FIVE), epsilon=None, xi=0.5).facts["xi"] == 0.5


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize(
    ("method", "noise", "delta"),
    [
        ("borda", "k-norm", 0.0),
        ("borda", "laplace", 0.0),
        ("borda", "gaussian", 1e-4),
        ("weights", "k-norm", 0.0),
        ("weights", "gaussian", 1e-4),
    ],
)
@pytest.mark.parametrize("simulated", [False, True])
def test_users_who_may_come_or_go(write, method, noise, delta, missing, simulated, key):
    """Of 20 releases at 95 %, fewer than 14 hold all true values with probability 3e-5; their number is not told."""
    rows = [f"u{k},{'1,2,3' if k % 4 else '2,,1'}" for k in range(37)]
    path = write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")
    data, held = Rankings.read(path, missing=missing, items="seen"), 0
    margins = 37 * (np.asarray(counted_weights(data.ranks, missing).matrix) - 0.5)
    np.fill_diagonal(margins, 0.0)
    promise = pr.Privacy(0.5, unit="user", adjacency="add-remove", delta=delta)
    for number in range(20):
        drawn = jax.random.fold_in(key, number) if simulated else None
        found = pr.consensus(data, promise, method=method, noise=noise, key=drawn)
        if method == "borda":
            low, high = (found.certainty.intervals[end] for end in ("low", "high"))
            true = margins.sum(1)
            held += bool(np.all((low - 1e-9 <= true) & (true <= high + 1e-9)))
        else:
            held += bool(np.all(margins[found.certainty.better] > 0))
    assert held >= 14
    said = " ".join([found.title, *found.notes, found.certainty.words, repr(found.facts)])
    assert found.guarantee.adjacency == "add-remove"
    assert not re.search(r"\b37\b", said)


def test_the_method_of_a_private_number_of_users_does_not_depend_on_it(write):
    promise = pr.Privacy(1.0, unit="user", adjacency="add-remove")
    for users in (3, 3000):
        rows = (f"u{k},1,2,3" for k in range(users))
        data = pr.read(
            write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv"), items="seen"
        )
        assert pr.consensus(data, promise).facts["method"] == "borda"
        with pytest.raises(ValueError, match="leave it out"):
            pr.consensus(data, promise, method="weights", xi=0.1)
