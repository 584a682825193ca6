"""What audits refuse, by what is wrong, and a mechanism of one's own that they take."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights
from privrank_jax.mechanism import Mechanism
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import (
    Audited,
    audit,
    battles_between,
    enumeration,
    get,
    guess_bound,
    worst_case,
)

KEY, ZEROS = jax.random.key(0), [[0, 0], [0, 0]]
WEIGHTS = PairWeights.from_ranks([[0, 1]])
BARE = dataclasses.replace(get("dp-borda"), law=None, instances=None)


def noisy(key, data, privacy):
    return data + jax.random.laplace(key, data.shape) / privacy.epsilon


def own(**changed):
    """Noise that is enough for one of two totals, where a comparison turned moves both."""
    row = {
        "name": "own",
        "neighbors": (np.array([5.0, 3.0]), np.array([4.0, 4.0])),
        "release": noisy,
        "promise": Privacy(1.0, unit="comparison", adjacency="flip"),
        "reduce": lambda value: value[0] - value[1],
    }
    return Audited(**row | changed)


def test_a_mechanism_of_ones_own_needs_no_words():
    found = audit(KEY, own(neighbors=([5.0, 3.0], [4.0, 4.0])), draws=20_000)
    assert found.verdict == "violated"
    facts = found.as_dict()
    assert (facts["name"], facts["title"], facts["function"]) == ("own", "own", "noisy")


def run(mechanism="randomized-response", epsilon=1.0, **told):
    return audit(KEY, mechanism, epsilon, **told)


def reduced(**changed):
    return audit(KEY, own(**changed), draws=1000)


REFUSED = [
    (lambda: run("randomized-respons"), "did you mean"),
    (lambda: run(epsilon=0.0), "epsilon"),
    (lambda: run(epsilon=np.inf), "finite"),
    (lambda: run(draws=10), "draws"),
    (lambda: run(draws=1e6), "draws"),
    (lambda: run(confidence=1.0), "level"),
    (lambda: own(neighbors=(np.ones(2), np.ones(1))), "shape"),
    (lambda: own(neighbors=(np.ones(2),)), "two arrays"),
    (lambda: own(neighbors={"a": 1}), "two arrays"),
    (lambda: own(neighbors=(WEIGHTS, WEIGHTS)), "PairWeights"),
    (lambda: own(neighbors=(np.ones(2) + 1j,) * 2), "complex128"),
    (lambda: own(neighbors=(np.array(["a"]),) * 2), "<U1"),
    (lambda: reduced(reduce=lambda value: value), "reduce"),
    (lambda: reduced(reduce=lambda value: {"a": value[0]}), "dict"),
    (lambda: reduced(reduce=lambda value: value[0] + 1j), "complex128"),
    (lambda: reduced(reduce=lambda value: value[0] * jnp.nan), "NaN"),
    (lambda: reduced(outcomes=("a", "b")), "outcome"),
    (lambda: reduced(outcomes=("a", "b"), reduce=lambda value: jnp.int32(2)), "no name"),
    (lambda: worst_case("dp-bordda"), "did you mean"),
    (lambda: worst_case("dp-borda", np.inf), "finite"),
    (lambda: worst_case("dp-borda", less=1.0), "share"),
    (lambda: worst_case("dp-borda", less=-0.1), "share"),
    (lambda: Mechanism.audit(worst_case), "no audit"),
    (lambda: worst_case(BARE), "instances"),
    (lambda: enumeration.exact_loss(BARE), "neither"),
    (lambda: battles_between([[1, 1]], [[1, 1], [0, 0]]), "same items"),
    (lambda: battles_between([1, 2], [1, 2]), "same items"),
    (lambda: battles_between([[1, 0], [0, 1]], [[0, 0], [1, 1]]), "falls"),
    (lambda: battles_between(ZEROS, [[1, 0], [0, 0]]), "alike"),
    (lambda: battles_between(ZEROS, [[9, 0], [0, 9]]), "at most"),
    *(
        (lambda prior=prior: guess_bound(1.0, prior), "sum")
        for prior in ([], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0])
    ),
    *(
        (lambda epsilon=epsilon: guess_bound(epsilon, [0.5, 0.5]), "epsilon")
        for epsilon in (0.0, -1.0, np.nan)
    ),
]


@pytest.mark.parametrize(("call", "word"), REFUSED)
def test_what_does_not_fit_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()


def test_a_promise_is_no_number():
    with pytest.raises(TypeError, match="Privacy"):
        own(promise=1.0)
