"""``privrank plan --rankings``: the table, what is needed for a target, against the library."""

from __future__ import annotations

import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation.auto import choose_method
from tests.promises import user

BASE = ("plan", "--rankings", "--items", 6, "--json")


def test_the_table_is_the_librarys(privrank):
    found = privrank(*BASE, "--users", 400, "--epsilon", 0.5, "--optimum", 3).json()
    rows = aggregation.proven_errors(6, 400, user(0.5))
    assert [(one["method"], one["noise"]) for one in found["methods"]] == [
        (row.method, row.noise) for row in rows
    ]
    for one, row in zip(found["methods"], rows, strict=True):
        assert one["proven_cost"] == pytest.approx(row.cost(3), rel=1e-5)
        planned = aggregation.planned_costs(row, 6, [aggregation.Setting(400, user(0.5))])
        if planned is None:
            assert one["expected_cost"] is None
        else:
            assert one["expected_cost"] == pytest.approx(planned[0], rel=1e-3)
    least = aggregation.least_proven_error(6, 400, user(0.5), optimum=3)
    assert found["proven_best"].split()[0] == least.method
    assert found["auto"] == choose_method(6, 400, user(0.5))
    assert (found["pairs"], found["trust"], found["quantity"]) == (15, "central", None)
    assert found["proven_needed"] is found["expected_needed"] is None


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--method", "borda", "--optimum", 0.1),
        ("--trust", "local", "--confidence", 0.9),
        ("--trust", "shuffled", "--delta", 1e-6),
    ],
)
def test_users_for_a_target_suffice_and_few_less_do_not(privrank, options):
    found = privrank(*BASE, "--epsilon", 1, "--target", 0.8, *options).json()
    needed = found["proven_needed"]
    assert found["users"] == needed["value"] == int(needed["value"])

    def proven(users):
        again = privrank(*BASE, "--epsilon", 1, "--users", int(users), *options).json()
        (one,) = (
            one
            for one in again["methods"]
            if (one["method"], one["noise"]) == (needed["method"], needed["noise"])
        )
        return one["proven_cost"]

    assert proven(needed["value"]) <= 0.8 < proven(0.99 * needed["value"])
    expected = found["expected_needed"]
    assert 0 < expected["value"] < needed["value"]
    again = privrank(*BASE, "--epsilon", 1, "--users", int(expected["value"]), *options).json()
    (cost,) = (
        one["expected_cost"]
        for one in again["methods"]
        if (one["method"], one["noise"]) == (expected["method"], expected["noise"])
    )
    assert cost <= 0.8 * (1 + 1e-6)
    assert cost > 0.4


def test_epsilon_for_a_target(privrank):
    found = privrank(*BASE, "--users", 2000, "--target", 0.5).json()
    assert found["quantity"] == "epsilon"
    assert found["epsilon"] == found["proven_needed"]["value"]
    best = min(one["proven_cost"] for one in found["methods"])
    assert 0.499 < best <= 0.5
    assert found["expected_needed"]["value"] < found["epsilon"]
    enough = privrank(*BASE, "--users", 2000, "--epsilon", 1, "--target", 0.5).json()
    assert (enough["users"], enough["epsilon"], enough["quantity"]) == (2000, 1, "users")
    assert enough["proven_needed"]["value"] <= 2000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--items", 201, "--users", 9, "--epsilon", 1), "at most 200"),
        (("--items", 21, "--users", 9, "--epsilon", 1, "--method", "exponential"), "no method fits"),
        (("--items", 6, "--users", 9, "--epsilon", 1, "--trust", "shuffled", "--delta", 1e-4), "no method fits"),
        (("--items", 6, "--users", 9, "--target", 0, "--trust", "local"), "--target"),
        (("--items", 6, "--users", 9, "--target", 1e-9, "--method", "kwiksort"), "no method is proven"),
        (("--items", 6, "--users", 9, "--epsilon", 1, "--link", "normal"), "--link does not apply"),
        (("--items", 6, "--users", 9, "--epsilon", 1, "--method", "bordo"), "Did you mean"),
        (("--items", 6, "--users", 9, "--epsilon", 1, "--optimum", -1), "--optimum"),
    ],
)  # fmt: skip
def test_refusals(privrank, options, message):
    result = privrank("plan", "--rankings", *options)
    assert (result.code, result.out) == (2, "")
    assert message.lower() in result.err.lower()
