"""Each method of ``privrank aggregate`` on a unanimous crowd, with next to no noise."""

from __future__ import annotations

import pytest
from privrank_jax.cli.aggregate.input import read_input
from privrank_jax.cli.aggregate.methods import release
from privrank_jax.cli.aggregate.request import Request

from privrank_jax.aggregation import dp_footrule_deviation, footrule_bound
from tests.promises import user


@pytest.fixture
def unanimous(write):
    rows = [f"u{k},2,1,3" for k in range(60)]
    return write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")


def found(path, **options):
    request = Request(
        source=str(path), **{"epsilon": 1000.0, "simulate": True, "seed": 5, **options}
    )
    data = read_input(request)
    return [data.table.item_names[item] for item in release(data, request).order.tolist()], release(
        data, request
    )


@pytest.mark.parametrize(
    "method", ["auto", "weights", "borda", "kwiksort", "noise-all", "footrule", "exponential"]
)
def test_central_methods_find_what_all_say(unanimous, method):
    names, result = found(unanimous, method=method)
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.guarantee.epsilon == 1000.0
    assert (result.guarantee.unit, result.guarantee.trust) == ("user", "central")


@pytest.mark.parametrize("method", ["borda", "kwiksort", "noise-all", "footrule"])
def test_local_methods_find_what_all_say(unanimous, method):
    names, result = found(unanimous, method=method, trust="local")
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.guarantee.trust == "local"


@pytest.mark.parametrize("method", ["auto", "borda", "noise-all"])
@pytest.mark.parametrize("numerics", ["exact", "simulation"])
def test_shuffled_methods_find_what_all_say(unanimous, method, numerics):
    rehearsal = {} if numerics == "exact" else {"simulate": True, "seed": 5}
    request = {"simulate": False, "seed": None, **rehearsal, "delta": 1e-6}
    names, result = found(unanimous, method=method, trust="shuffled", **request)
    assert names == ["Rome", "Oslo", "Bern"]
    assert (result.guarantee.trust, result.guarantee.numerics) == ("shuffled", numerics)
    assert (result.guarantee.epsilon, result.guarantee.delta) == (1000.0, 1e-6)
    assert any("remove names" in note for note in result.notes)
    assert "local_epsilon" in result.diagnostics


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
    rehearsal = {"simulate": numerics == "simulation", "seed": 5 if numerics != "exact" else None}
    _, result = found(many, method="borda", trust="local", epsilon=epsilon, **rehearsal)
    assert result.title.endswith(f"by Borda scores from {named}")
    assert result.diagnostics["mechanism"] == mechanism
    assert (result.guarantee.numerics, result.guarantee.trust) == (numerics, "local")


def test_gaussian_noise_is_said_to_be_approximate(unanimous):
    _, result = found(unanimous, method="borda", noise="gaussian", delta=1e-6)
    assert result.guarantee.delta == 1e-6


def test_without_privacy_there_is_no_guarantee(unanimous):
    names, result = found(unanimous, method="none")
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.guarantee is None


@pytest.mark.parametrize(("noise", "delta"), [("tree", 0.0), ("k-norm", 0.0), ("gaussian", 1e-6)])
@pytest.mark.parametrize("numerics", ["exact", "simulation"])
def test_footrule_says_what_was_released_and_what_is_proved(unanimous, noise, delta, numerics):
    rehearsal = {"simulate": numerics == "simulation", "seed": 5 if numerics != "exact" else None}
    asked = {} if noise == "tree" else {"noise": noise}
    names, result = found(
        unanimous, method="footrule", delta=delta, epsilon=500, **asked, **rehearsal
    )
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.title.endswith("by least footrule on noisy counts of positions")
    assert (result.guarantee.numerics, result.guarantee.delta) == (numerics, delta)
    limit, promise = result.diagnostics["expected_cost_bound"], user(500.0, delta)
    proved = footrule_bound(3, 60, promise, noise=noise)
    assert limit == {"ratio": pytest.approx(1.8), "additive": pytest.approx(proved.additive)}
    deviation = dp_footrule_deviation(3, 60, promise, noise=noise)
    assert result.diagnostics["cost_deviation"] == pytest.approx(float(deviation), rel=1e-4)
    said = [note for note in result.notes if note.startswith("released: noisy counts")]
    assert len(said) == 1
    assert "at most 1.8 times the fewest possible pairs" in " ".join(result.notes)
    # Nobody is off by more than noise.
    assert abs(result.diagnostics["noisy_footrule"]) < 0.5


def test_footrule_follows_the_rule_for_items_not_ranked(write):
    """Two leave Bern out, which is first for the third: last, it loses to Oslo; unknown, it is in the middle."""
    rows = ["u1,1,2,", "u2,1,2,", "u3,3,2,1"] * 20
    rows = [f"{k}{row}" for k, row in enumerate(rows)]
    path = write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")
    last, _ = found(path, method="footrule", missing="last")
    unknown, _ = found(path, method="footrule", missing="unknown")
    assert last == ["Oslo", "Rome", "Bern"]
    assert unknown != last


def test_what_is_mostly_noise_is_not_given_as_a_distance(unanimous):
    notes = [found(unanimous, method="footrule", epsilon=0.001, seed=seed)[1] for seed in range(4)]
    for result in notes:
        said = " ".join(result.notes)
        within = 0 <= result.diagnostics["noisy_footrule"] <= 4
        assert ("places off on average" in said) == within
        assert "no useful bound" in said


@pytest.mark.parametrize("method", ["kwiksort", "exponential"])
def test_k_norm_noise_is_for_methods_that_have_a_shape(privrank, unanimous, method):
    run = ("aggregate", unanimous, "--method", method, "--epsilon", 1, "--noise", "k-norm")
    result = privrank(*run)
    assert (result.code, result.out) == (2, "")
    advice = "--noise laplace or gaussian" if method == "kwiksort" else "leave --noise and --delta"
    assert advice in result.err.replace("\n", " ")
