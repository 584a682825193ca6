"""Each method of ``privrank aggregate`` on a unanimous crowd, with next to no noise."""

from __future__ import annotations

import pytest

from privrank_jax.cli.aggregate.input import read_input
from privrank_jax.cli.aggregate.methods import release
from privrank_jax.cli.aggregate.request import Request


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


@pytest.mark.parametrize("method", ["auto", "borda", "kwiksort", "noise-all", "exponential"])
def test_central_methods_find_what_all_say(unanimous, method):
    names, result = found(unanimous, method=method)
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.guarantee.epsilon == 1000.0
    assert (result.guarantee.unit, result.guarantee.trust) == ("user", "central")


@pytest.mark.parametrize("method", ["borda", "kwiksort", "noise-all"])
def test_local_methods_find_what_all_say(unanimous, method):
    names, result = found(unanimous, method=method, trust="local")
    assert names == ["Rome", "Oslo", "Bern"]
    assert result.guarantee.trust == "local"


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
