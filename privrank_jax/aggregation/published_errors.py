"""What papers prove of private consensus, in orders of magnitude as they state it, and what of it is built here.

Constants for the methods of this library are in :func:`~privrank_jax.aggregation.proven_errors`.
"""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """A published bound, in orders of magnitude.

    Attributes:
        source: where it is stated.
        setting: trust, and pure or (ε, δ).
        ratio: α.
        order: of the additive error, in pairs.
        built: the function of this library, or what is missing.
    """

    source: str
    setting: str
    ratio: str
    order: str
    built: str


PUBLISHED = (
    Published("Alabi et al. (2022), Corollary 3", "central, pure", "1 + ξ", "m⁴/(εn)", "noise_all"),
    Published(
        "Alabi et al. (2022), Corollary 4", "central", "1 + ξ", "m³ √log(1/δ)/(εn)", "noise_all"
    ),
    Published(
        "Alabi et al. (2022), Corollary 6", "central, pure", "5 + ξ", "m³ log m/(εn)", "dp_kwiksort"
    ),
    Published(
        "Alabi et al. (2022), Corollary 7",
        "central",
        "5 + ξ",
        "m^2.5 √(log m log(1/δ))/(εn)",
        "dp_kwiksort",
    ),
    Published("Alabi et al. (2022), Corollary 9", "local", "1 + ξ", "m³/(ε√n)", "local_weights"),
    Published(
        "Alabi et al. (2022), Corollary 12", "local", "5 + ξ", "m^2.5 log m/(ε√n)", "ldp_kwiksort"
    ),
    Published(
        "Alabi et al. (2022), Theorem 13",
        "central, pure: no method has this error while n = o(m/ε)",
        "any",
        "0.01 m²",
        "pure_lower_bound",
    ),
    Published(
        "Alabi et al. (2022), Theorem 14",
        "central, ε ≤ 1, δ = o(1/n): no method has this error while n = o(√m/ε)",
        "any constant",
        "c m², c > 0 by the ratio",
        "approximate_lower_bound",
    ),
    Published(
        "Hillebrand et al. (2026)",
        "by footrule and a tree mechanism",
        "2",
        "with logarithms of m",
        "dp_footrule, ratio 2 - 1/(2m-1), without the logarithms; ldp_footrule",
    ),
    Published(
        "Hillebrand et al. (2026)",
        "by two-way marginals and unbiased estimates",
        "1 + ξ",
        "m^(65/22) where the exponent was 3",
        "not built; noise_all and local_weights have the exponent 3",
    ),
)
