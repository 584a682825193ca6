"""What is asked of a ranking: the mechanism that keeps it."""

from __future__ import annotations

import pytest

from privrank_jax import Privacy
from privrank_jax.jobs.asked import Asked


@pytest.mark.parametrize(
    ("options", "adjacency", "mechanism"),
    [
        ({"method": "counts"}, "replace", "noisy-counts"),
        ({"method": "counts"}, "add-remove", "noisy-counts"),
        ({}, "replace", "perturbed-mle"),
        ({}, "add-remove", "perturbed-mle"),
        ({"link": "laplace"}, "flip", "perturbed-mle"),
        ({}, "flip", "noisy-counts"),
        ({"method": "one-shot"}, "replace", "one-shot-top-k"),
        ({"method": "canonical"}, "replace", "canonical-top-k"),
        ({"method": "top-k"}, "replace", "canonical-top-k"),
    ],
)
def test_each_method_has_a_mechanism_that_keeps_the_promise(options, adjacency, mechanism):
    promise = Privacy(1.0, unit="user", adjacency=adjacency)
    assert Asked(**options).mechanism(promise) == mechanism
