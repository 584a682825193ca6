"""Privacy: guarantees, calibration of noise, noise."""

from privrank_jax.privacy.calibration import (
    gaussian_delta,
    gaussian_scale,
    laplace_scale,
    objective_perturbation,
)
from privrank_jax.privacy.guarantee import ADJACENCIES, UNITS, Guarantee

__all__ = [
    "ADJACENCIES",
    "UNITS",
    "Guarantee",
    "gaussian_delta",
    "gaussian_scale",
    "laplace_scale",
    "objective_perturbation",
]
