"""Options of ``privrank rank``: what they promise, which mechanism they mean, and what they refuse."""

from __future__ import annotations

import math

import pytest
from privrank_jax.cli.rank.request import Request

from privrank_jax.cli.console import Refusal


def request(**options):
    return Request(source="votes.csv", **{"epsilon": 1.0, **options})


@pytest.mark.parametrize(
    ("options", "adjacency", "mechanism"),
    [
        ({"method": "counts"}, "replace", "noisy-counts"),
        ({"method": "counts", "adjacency": "add-remove"}, "add-remove", "noisy-counts"),
        ({}, "replace", "perturbed-mle"),
        ({"method": "mle"}, "replace", "perturbed-mle"),
        ({"adjacency": "add-remove"}, "add-remove", "perturbed-mle"),
        ({"method": "scores"}, "replace", "perturbed-mle"),
        ({"method": "scores", "adjacency": "flip", "link": "laplace"}, "flip", "perturbed-mle"),
        ({"method": "scores", "adjacency": "flip"}, "flip", "noisy-counts"),
        ({"method": "one-shot"}, "replace", "one-shot-top-k"),
    ],
)
def test_every_method_promises_the_same_by_a_mechanism_that_keeps_it(options, adjacency, mechanism):
    found = request(**options)
    assert (found.privacy.unit, found.privacy.adjacency) == ("user", adjacency)
    assert found.promised is found.privacy
    assert found.mechanism == mechanism


def test_without_a_method_that_protects_there_is_no_promise():
    found = request(method="none")
    assert not found.private
    assert found.promised is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "--epsilon is missing"),
        ({"method": "mean"}, "--method 'mean' is unknown"),
        ({"unit": "voter"}, "--unit 'voter' is unknown"),
        ({"adjacency": "change"}, "--adjacency 'change' is unknown"),
        ({"link": "linear"}, "--link 'linear' is unknown"),
        ({"max_per_user": 0}, "--max-per-user must be at least 1"),
        ({"max_per_user": 2**31}, "--max-per-user must be at most"),
        ({"top_k": 0}, "--top-k must be at least 1"),
        ({"level": 1.0}, "--level must lie between 0 and 1"),
        ({"level": 1.5}, "--level must lie between"),
        ({"gamma": -1.0}, "--gamma must be finite"),
        ({"gamma": math.inf}, "--gamma must be finite"),
        ({"seed": 3}, "--seed makes the noise predictable"),
    ],
)
def test_what_is_refused_without_the_data(options, message):
    request().check()
    with pytest.raises(Refusal, match=message):
        request(**options).check()


def test_options_of_noise_are_useless_without_privacy(capsys):
    request(method="none", given=frozenset({"epsilon"})).check()
    assert "--method none adds no noise" in capsys.readouterr().err
