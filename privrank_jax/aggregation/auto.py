"""Which private method to take when nobody says, from public facts alone."""

from __future__ import annotations

from privrank_jax._validate import check_choice, check_epsilon, check_users

TRUSTS = ("central", "local")


def choose_method(num_items: int, num_users: int, epsilon: float, trust: str = "central") -> str:
    """The method with the smallest error to be expected: ``"borda"``.

    The noise of Borda scores adds to the Kemeny cost, in pairs per user, of the order m³/(nε) in the central and
    m^2.5/(ε√n) in the local model, KwikSort's log m times that, and noise on all pairs m times it
    (:mod:`privrank_jax.aggregation.bounds`); so Borda wins where noise decides. Where next to none is left,
    the order of Borda itself may cost more than the best one, but little on rankings of people.

    Args:
        num_items: m >= 2.
        num_users: n.
        epsilon: ε.
        trust: ``"central"`` or ``"local"``.

    Returns:
        ``"borda"``, ``"kwiksort"``, ``"noise-all"`` or ``"exponential"``: a name of ``privrank aggregate``.

    Raises:
        ValueError: ε <= 0, n < 1, fewer than 2 items, an unknown trust.

    >>> choose_method(10, 5000, 1.0)
    'borda'
    """
    check_choice("trust", trust, TRUSTS)
    check_epsilon(epsilon)
    check_users(num_users)
    if num_items < 2:
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")
    return "borda"
