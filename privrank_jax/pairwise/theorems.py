"""Conditions of the theorems of Cai, Chakraborty and Wang (2025), checked one by one; names as in ``rates``."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool

from privrank_jax._types import Numbers
from privrank_jax._validate import check_choice
from privrank_jax.pairwise.rates import checked_items, user_rate

THEOREMS = ("2.1", "2.2", "2.3", "2.4", "3.1", "3.2", "3.3", "3.4")


def theorem_conditions(
    theorem: str,
    *,
    num_items: Numbers,
    epsilon: Numbers,
    probability: Numbers | None = None,
    num_users: Numbers | None = None,
    delta: Numbers = 0.0,
    k: Numbers | None = None,
    tolerance: Numbers = 0,
    small_constant: Numbers = 1.0,
    large_constant: Numbers = 1.0,
    item_exponent: Numbers = 0.5,
    item_margin: Numbers = 0.5,
) -> dict[str, Bool[Array, "..."]]:
    """Whether the conditions of a theorem hold, one by one.

    Most conditions have a constant that the paper does not specify; here it is ``small_constant`` in upper bounds
    (on ε, δ, rates) and ``large_constant`` in lower bounds (on p, ε). So True means "holds with this constant".

    Args:
        theorem: ``"2.1"`` ... ``"2.4"`` (edge DP, need ``probability``), ``"3.1"`` ... ``"3.4"`` (users,
            need ``num_users``).
        num_items: m.
        epsilon: ε.
        probability: p.
        num_users: n.
        delta: δ of the estimators to which a lower bound applies.
        k: size of the set, for 2.4.
        tolerance: u, for 2.4 and 3.4.
        small_constant: the paper's "sufficiently small" constant.
        large_constant: the paper's "sufficiently large" constant.
        item_exponent: ν₁ of 2.4, ω of 3.2.
        item_margin: ν₂ of 2.4.

    Returns:
        A dict from each condition, as text, to a bool array. It is empty for theorems without conditions (2.3, 3.3).

    Raises:
        ValueError: unknown theorem, or an argument that it needs is missing.

    >>> found = theorem_conditions("2.1", num_items=300, probability=1.0, epsilon=0.5)
    >>> {name: bool(holds) for name, holds in found.items()}
    {'ε > c/√log m': True, 'ε < 1': True, 'p ≥ c log m/(mε)': True}
    """
    check_choice("theorem", theorem, THEOREMS)
    edge = theorem.startswith("2")
    chance, users, size = (
        _needed(theorem, name, value, needed)
        for name, value, needed in (
            ("probability", probability, edge),
            ("num_users", num_users, not edge),
            ("k", k, theorem == "2.4"),
        )
    )
    small, large, allowed = map(jnp.asarray, (small_constant, large_constant, tolerance))
    items = checked_items(num_items)
    log_items = jnp.log(items)
    epsilon = jnp.asarray(epsilon)
    below_one = {"ε < 1": epsilon < 1}
    if theorem in ("2.1", "3.1"):
        found = {"ε > c/√log m": epsilon > large / jnp.sqrt(log_items), **below_one}
        if edge:
            found["p ≥ c log m/(mε)"] = chance >= large * log_items / (items * epsilon)
        else:
            found["m log m/(nε) ≤ c"] = items * log_items / (users * epsilon) <= small
        return found
    if theorem == "2.2":
        return {
            "p > 6 log m/m": chance > 6 * log_items / items,
            "ε ≥ c/log m": epsilon >= large / log_items,
            **below_one,
            "δ ≤ c/m": jnp.asarray(delta) <= small / items,
        }
    if theorem in ("2.3", "3.3"):
        return {}
    if theorem == "2.4":
        room = jnp.minimum(items ** (1 - item_exponent), jnp.minimum(size, items - size))
        found = {
            "2u ≤ min(m^(1-ν₁), k, m-k)/(1+ν₂)": 2 * allowed <= room / (1 + item_margin),
            "log m/(mpε) < c": log_items / (items * chance * epsilon) < small,
        }
    else:
        found = {"√(m log m/n) + m log m/(nε) < c": user_rate(items, users, epsilon) < small}
        if theorem == "3.2":
            found["δ ≤ c m^(-1-ω)"] = jnp.asarray(delta) <= small * items ** (-1.0 - item_exponent)
            return found
    # The condition is multiplied out so that u = 0 (no condition) needs no division by 0.
    weight = allowed * log_items * items ** (10.0 * allowed) / epsilon
    found["δ < c ε/(u log m m^(10u))"] = jnp.asarray(delta) * weight < small
    return found


def _needed(theorem: str, name: str, value: Numbers | None, needed: bool) -> Array:
    if value is not None:
        return jnp.asarray(value)
    if needed:
        raise ValueError(f"Theorem {theorem} needs {name}: pass it.")
    return jnp.zeros(())
