"""Privacy: guarantees, calibration of noise, samplers of noise, local randomizers and accounting.

Accounting needs the extra ``release``; its library is loaded on first use.
"""

from privrank_jax._neighbors import Neighbors
from privrank_jax.privacy.accounting import GaussianRelease, LaplaceRelease, compose
from privrank_jax.privacy.calibration import gaussian_scale, laplace_scale
from privrank_jax.privacy.gaussian import calibrate_gaussian
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import (
    flip_probability,
    laplace_reports,
    local_guarantee,
    randomized_response,
    report_information,
)
from privrank_jax.privacy.prefix_sums import prefix_sum_errors
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_delta, shuffled_epsilon, shuffled_local_epsilon
from privrank_jax.privacy.vectors import duchi_vectors, privunit_vectors

__all__ = [
    "GaussianRelease",
    "Guarantee",
    "LaplaceRelease",
    "Neighbors",
    "Privacy",
    "calibrate_gaussian",
    "compose",
    "duchi_vectors",
    "flip_probability",
    "gaussian_scale",
    "laplace_reports",
    "laplace_scale",
    "local_guarantee",
    "prefix_sum_errors",
    "privunit_vectors",
    "randomized_response",
    "report_information",
    "shuffled_delta",
    "shuffled_epsilon",
    "shuffled_local_epsilon",
]
