"""Each method of ``privrank aggregate`` on a unanimous crowd, with next to no noise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privrank_jax.cli.aggregate.input import read_input
from privrank_jax.cli.aggregate.methods import release
from privrank_jax.cli.aggregate.request import Request
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.release.k_norm import discrete_zonotope
from privrank_jax.release.spanning_trees import Graph


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
    "method", ["auto", "weights", "borda", "kwiksort", "noise-all", "exponential"]
)
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


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 9.0])
def test_intervals_hold_the_scores_before_exact_noise(privrank, unanimous, epsilon):
    """At ε = 9 the noise is on quarters. The share of 1,500 draws within is below 0.95 by less than chance allows."""
    run = ("aggregate", unanimous, "--method", "borda", "--epsilon", epsilon, "--json")
    rows = privrank(*run).json()["ranking"]
    (reach,) = {round((row["high"] - row["low"]) / 2, 9) for row in rows}
    users, graph = 60, Graph.of_all_pairs(3)
    add_noise, scale = discrete_zonotope(graph, 2, epsilon)
    noise = np.array([np.abs(add_noise(np.zeros(3))).max() for _ in range(1500)]) / (2 * users)
    within = int(np.sum(noise <= reach + 1e-9))
    assert stats.binomtest(within, noise.size, 0.95, alternative="less").pvalue > 1e-6
    # And it is no more than the grid makes it: two steps for every other item beyond the law on real numbers.
    plain = noise_law.reach(Zonotope.of_all_pairs(3), 0.95) * scale / (2 * users)
    assert reach < plain + 4 / (2 * users)


@pytest.mark.parametrize("method", ["kwiksort", "exponential"])
def test_k_norm_noise_is_for_methods_that_have_a_shape(privrank, unanimous, method):
    run = ("aggregate", unanimous, "--method", method, "--epsilon", 1, "--noise", "k-norm")
    result = privrank(*run)
    assert (result.code, result.out) == (2, "")
    advice = "--noise laplace or gaussian" if method == "kwiksort" else "leave --noise and --delta"
    assert advice in result.err.replace("\n", " ")
