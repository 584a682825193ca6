"""Parameters at which the conditions of theorems hold."""

from __future__ import annotations

from privrank_jax.pairwise.theory import theorem_conditions


def held(theorem, **arguments):
    return [bool(value) for value in theorem_conditions(theorem, **arguments).values()]


def test_conditions_switch_where_the_theorems_say():
    m = 100  # log m = 4.6, 1/√log m = 0.47
    assert held("2.1", num_items=m, probability=0.2, epsilon=0.5) == [True, True, True]
    assert held("2.1", num_items=m, probability=0.09, epsilon=0.5) == [True, True, False]
    assert held("2.1", num_items=m, probability=0.2, epsilon=0.4) == [False, True, True]
    assert held("2.1", num_items=m, probability=0.2, epsilon=1.0) == [True, False, True]
    loose = {"large_constant": 0.5}
    assert held("2.1", num_items=m, probability=0.09, epsilon=0.4, **loose) == [True, True, True]
    assert held("2.2", num_items=m, probability=0.28, epsilon=0.22, delta=0.01) == [True] * 4
    assert held("2.2", num_items=m, probability=0.27, epsilon=0.21, delta=0.02) == [
        False,
        False,
        True,
        False,
    ]
    edge = {"num_items": m, "probability": 0.2, "epsilon": 0.5, "k": 20}
    assert held("2.4", **edge, tolerance=3) == [True, True, True]
    assert held("2.4", **edge, tolerance=4) == [False, True, True]  # 8 > 10/1.5
    assert held("2.4", **edge, delta=0.5) == [True, True, True]  # exact recovery: δ is free
    assert held("2.4", **edge, tolerance=1, delta=1e-20) == [True, True, False]
    assert held("2.4", **edge, tolerance=1, delta=1e-22) == [True, True, True]
    assert held("2.4", **{**edge, "epsilon": 0.2}) == [True, False, True]
    users = {"num_items": 10, "epsilon": 0.8}
    assert held("3.1", **users, num_users=29) == [True, True, True]
    assert held("3.1", **users, num_users=28) == [True, True, False]
    assert held("3.2", **users, num_users=80, delta=0.03) == [True, True]
    assert held("3.2", **users, num_users=60, delta=0.04) == [False, False]
    assert held("3.4", **users, num_users=80, tolerance=1, delta=1e-10) == [True, False]
    assert held("3.4", **users, num_users=80, tolerance=1, delta=1e-11) == [True, True]
    assert held("2.3", num_items=m, probability=0.1, epsilon=1.0) == []
    assert held("3.3", num_items=m, num_users=5, epsilon=1.0) == []
