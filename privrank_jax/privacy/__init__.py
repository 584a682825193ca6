"""Privacy: guarantees, calibration of noise, noise, answers randomised by the users themselves."""

from privrank_jax.privacy.calibration import (
    gaussian_delta,
    gaussian_scale,
    laplace_scale,
    objective_perturbation,
)
from privrank_jax.privacy.guarantee import ADJACENCIES, UNITS, Guarantee
from privrank_jax.privacy.local import (
    debias,
    flip_probability,
    laplace_reports,
    randomized_response,
    report_guarantee,
    report_information,
)
from privrank_jax.privacy.vectors import duchi_vectors, privunit_vectors, report_norm

__all__ = [
    "ADJACENCIES",
    "UNITS",
    "Guarantee",
    "debias",
    "duchi_vectors",
    "flip_probability",
    "gaussian_delta",
    "gaussian_scale",
    "laplace_reports",
    "laplace_scale",
    "objective_perturbation",
    "privunit_vectors",
    "randomized_response",
    "report_guarantee",
    "report_information",
    "report_norm",
]
