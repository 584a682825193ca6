"""Options of ``privrank aggregate``: what they promise, which mechanism they mean, and what they refuse."""

from __future__ import annotations

import pytest
from privrank_jax.cli.aggregate.request import Request

from privrank_jax.cli.console import Refusal


def request(**options):
    return Request(source="votes.soc", **{"epsilon": 1.0, **options})


def test_every_release_promises_users_who_are_replaced():
    found = request(noise="gaussian", delta=1e-6).privacy
    assert (found.unit, found.adjacency, found.epsilon, found.delta) == (
        "user",
        "replace",
        1.0,
        1e-6,
    )
    assert request(method="none").promised is None


def test_trust_chooses_who_randomizes():
    assert not request().local
    assert request(trust="local").local
    assert not request(trust="local", method="none").local
    assert request(method="auto").mechanism == request(method="borda").mechanism
    assert request(method="borda", trust="local").mechanism == "one-pair-weights"
    shuffled = request(method="borda", trust="shuffled", delta=1e-6)
    assert (shuffled.mechanism, shuffled.local, shuffled.at_home) == (
        "shuffled-pair-weights",
        False,
        True,
    )
    assert shuffled.privacy.delta == 1e-6
    idealized = request(method="borda", trust="local", accept_idealized=True).mechanism
    assert idealized != "one-pair-weights"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "--epsilon is missing"),
        ({"method": "mean"}, "--method 'mean' is unknown"),
        ({"trust": "nobody"}, "--trust 'nobody' is unknown"),
        ({"missing": "first"}, "--missing 'first' is unknown"),
        ({"xi": -0.1}, "--xi must be finite"),
        ({"xi": 0.5, "method": "borda"}, "--xi is for the methods"),
        ({"users": 0}, "--users must be at least 1"),
        ({"method": "exponential", "trust": "local"}, "--method exponential needs someone"),
        ({"method": "footrule", "trust": "local", "noise": "gaussian"}, "pure epsilon"),
        ({"method": "footrule", "trust": "local", "noise": "tree"}, "choose k-norm"),
        ({"method": "footrule", "noise": "laplace"}, "choose tree, k-norm or gaussian"),
        ({"method": "borda", "noise": "tree"}, "choose k-norm, laplace or gaussian"),
        ({"trust": "shuffled"}, "--trust shuffled needs a --delta"),
        ({"trust": "shuffled", "delta": 1.0}, "--trust shuffled needs a --delta"),
        ({"trust": "shuffled", "delta": 1e-6, "noise": "gaussian"}, "leave --noise out"),
        ({"trust": "shuffled", "delta": 1e-6, "method": "kwiksort"}, "does not work on shuffled"),
        ({"trust": "shuffled", "delta": 1e-6, "epsilon": 0.0}, "--epsilon must be a positive"),
        ({"method": "exponential", "noise": "gaussian", "delta": 1e-6}, "gives pure epsilon"),
    ],
)
def test_what_is_refused_without_the_data(options, message):
    request(method="borda").check()
    with pytest.raises(Refusal, match=message):
        request(**options).check()
