"""Privacy: guarantees, calibration of noise, samplers of noise, local randomizers and accounting.

Accounting needs the extra ``release``; its library is loaded on first use.
"""

from privrank_jax._neighbors import Neighbors
from privrank_jax.privacy.accounting import GaussianRelease, LaplaceRelease, compose
from privrank_jax.privacy.calibration import gaussian_scale, laplace_scale
from privrank_jax.privacy.gaussian import calibrate_gaussian
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import (
    debias,
    flip_probability,
    laplace_reports,
    local_guarantee,
    randomized_response,
    report_information,
)
from privrank_jax.privacy.prefix_sums import (
    prefix_sum_error_bound,
    prefix_sum_errors,
    strategy_matrices,
)
from privrank_jax.privacy.privacy import ADJACENCIES, UNITS, Privacy
from privrank_jax.privacy.shuffling import shuffled_delta, shuffled_epsilon, shuffled_local_epsilon
from privrank_jax.privacy.vectors import duchi_vectors, privunit_vectors, report_norm

__all__ = [
    "ADJACENCIES",
    "UNITS",
    "GaussianRelease",
    "Guarantee",
    "LaplaceRelease",
    "Neighbors",
    "Privacy",
    "calibrate_gaussian",
    "compose",
    "debias",
    "duchi_vectors",
    "flip_probability",
    "gaussian_scale",
    "laplace_reports",
    "laplace_scale",
    "local_guarantee",
    "prefix_sum_error_bound",
    "prefix_sum_errors",
    "privunit_vectors",
    "randomized_response",
    "report_information",
    "report_norm",
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_local_epsilon",
    "strategy_matrices",
]
