"""What is asked of a ranking: the mechanism that keeps it, and what is refused before any data are read."""

from __future__ import annotations

import math

import pytest

from privrank_jax import Privacy
from privrank_jax.jobs.asked import Asked


def promise(adjacency="replace", **given):
    return Privacy(1.0, unit="user", adjacency=adjacency, **given)


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
    assert Asked(**options).mechanism(promise(adjacency)) == mechanism


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mean"}, "`method` must be one of"),
        ({"link": "linear"}, "`link` must be one of"),
        ({"ties": "rao-kupper"}, "`ties` must be one of"),
        ({"top_k": 0}, "`top_k` must be at least 1"),
        ({"top_k": True}, "`top_k` must be at least 1, and whole"),
        ({"top_k": 2.0}, "`top_k` must be at least 1, and whole"),
        ({"level": 1.0}, "`level` must lie between 0 and 1"),
        ({"level": math.nan}, "`level` must lie between"),
        ({"gamma": -1.0}, "`gamma` must be finite"),
        ({"gamma": math.inf}, "`gamma` must be finite"),
        ({"gamma": 0.0}, "`gamma` must be positive"),
        ({"ties": "davidson", "method": "counts"}, "fitted with scores of the logistic link"),
        ({"ties": "davidson", "link": "laplace"}, "fitted with scores of the logistic link"),
        ({"method": "one-shot"}, "top_k=3"),
        ({"method": "canonical"}, "canonical selects the best items.*top_k=3"),
        ({"method": "top-k", "top_k": 2, "noise": "laplace"}, "one kind of noise"),
        ({"method": "counts", "max_per_item": 1}, "`max_per_item` lowers"),
    ],
)
def test_what_is_refused_without_the_data(options, message):
    Asked().check(promise())
    with pytest.raises(ValueError, match=message):
        Asked(**options).check(promise())


@pytest.mark.parametrize(
    ("options", "adjacency", "message"),
    [
        ({}, "replace", "`weight_most`, is needed"),
        ({"weight_most": 3.0, "method": "counts"}, "replace", "are for scores"),
        ({"weight_most": 3.0, "method": "one-shot", "top_k": 1}, "replace", "are for scores"),
        ({"weight_most": 3.0}, "flip", "adjacency='replace'"),
    ],
)
def test_private_weights_have_a_public_bound_and_one_method(options, adjacency, message):
    with pytest.raises(ValueError, match=message):
        Asked(**options).check(promise(adjacency), weighted=True)


def test_more_of_a_user_than_noise_is_for():
    with pytest.raises(ValueError, match="must be at most"):
        Asked().check(promise(contributions=2**31))


def test_what_matches_nothing_is_refused():
    rank_unit = Privacy(1.0, unit="rank", adjacency="replace")
    with pytest.raises(ValueError, match=r"`unit` must be one of"):
        Asked().check(rank_unit)
    with pytest.raises(ValueError, match=r"`bounds` .*of which the data have none"):
        Asked(bounds={"x": (0.0, 1.0)}).check(promise())
    for most in (0.0, -1.0, math.inf, 1.0):
        with pytest.raises(ValueError, match="weight_most"):
            Asked(weight_most=most).check(None, weighted=most != 1.0)
