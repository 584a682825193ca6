"""Replays of small programs, and the losses of the mechanisms of the package against naive enumeration."""

from __future__ import annotations

import secrets
import sys
import types

import numpy as np
import pytest

from privrank_jax.exact import discrete_noise
from privrank_jax.exact import integer_noise as exact
from privrank_jax.pairwise import noisy_counts
from tests.promises import promise
from tests.replays import doors, replay
from tests.totals import wins_of

LAPLACE = doors.DOORS[:1]


def noisy(totals, epsilon=1.0):
    found = noisy_counts.release(wins_of(totals), promise(epsilon), sensitivity=2)
    return {"totals": found.value.tolist(), "first": int(found.value.argmax())}


def test_the_same_output_at_the_loss_of_the_inputs():
    near = replay.audit(lambda: noisy([5, 3, 1]), lambda: noisy([4, 4, 1]), LAPLACE)
    assert (near.measured, near.violations(1.0)) == (pytest.approx(1.0), ())
    far = replay.audit(lambda: noisy([5, 3, 1]), lambda: noisy([4, 5, 1]), LAPLACE)
    assert (far.measured, far.violations(1.5)) == (pytest.approx(1.5), ())
    (words,) = far.violations(1.0)
    assert "epsilon = 1.5" in words


def test_a_recording_draws_and_a_replay_does_not():
    """At this scale two draws are equal once in 10^15 times."""
    drawn = [replay.record(lambda: noisy([10**9] * 9, 1e-5), LAPLACE) for _ in range(2)]
    assert drawn[0].seen != drawn[1].seen
    again = replay.record(lambda: noisy([0] * 9, 1e-5), LAPLACE, earlier=drawn[0])
    assert again.seen == drawn[0].seen


@pytest.mark.parametrize(
    ("second", "fault"),
    [
        (lambda: noisy([5, 3, 1], 2.0), "'scale': 4.0}, then"),
        (lambda: noisy([5, 3]), "another shape"),
        (lambda: {"totals": [0]}, "1 calls of mechanisms, then 0"),
        (lambda: noisy([5, 3, 1]) | noisy([5, 3, 1]), "not made before"),
        (lambda: noisy([5, 3, 1]) | {"more": 1}, "more: None, then 1"),
    ],
)
def test_faults(second, fault):
    found = replay.audit(lambda: noisy([5, 3, 1]), second, LAPLACE)
    assert any(fault in one for one in found.faults), found.faults
    silent = replay.audit(lambda: {"sum": 1}, lambda: {"sum": 1}, LAPLACE)
    assert "no mechanism" in silent.violations(1.0)[0]


def test_all_calls_of_one_mechanism_are_one_input():
    """Gaussian noise: changes of 3 and 4 are one of 5."""
    gaussian = [door for door in doors.DOORS if door.function.endswith(":discrete_gaussian")]

    def run(totals):
        add_noise, _ = discrete_noise.discrete_gaussian(5.0, 1.0, 1e-6)
        return {"totals": [add_noise(np.array([one])).tolist() for one in totals]}

    found = replay.audit(lambda: run([3, 4]), lambda: run([0, 0]), gaussian)
    assert found.faults == ()
    assert found.measured == pytest.approx(1.0)


def test_afterwards_all_is_as_before(monkeypatch):
    """Also in a module that was loaded while the mechanisms were watched."""
    before = exact.discrete_laplace, secrets.token_bytes
    late = types.ModuleType("privrank_jax.late")
    monkeypatch.setitem(sys.modules, late.__name__, late)

    def run():
        late.imported = exact.discrete_laplace
        assert late.imported is not before[0]
        return noisy([5, 3, 1])

    replay.audit(run, run, doors.DOORS)
    assert (exact.discrete_laplace, secrets.token_bytes) == before
    assert late.imported is before[0]


def test_coins_are_the_same_for_what_stands_before():
    def draw(size):
        return {"bytes": secrets.token_bytes(size), "more": secrets.token_bytes(4)}

    seen = {
        seed: [replay.record(lambda n=n: draw(n), LAPLACE, seed).seen for n in (8, 16)]
        for seed in (1, 2, None)
    }
    for short, long in seen.values():
        assert (long["bytes"][:8], long["more"]) == (short["bytes"], short["more"])
    assert len({pair[0]["bytes"] for pair in seen.values()}) == 3
    assert seen[None][1]["bytes"] == bytes(16)

    def bounded():
        return {"x": [secrets.randbelow(3), secrets.randbits(5), len(secrets.token_hex(4))]}

    one, two, three = replay.record(bounded, LAPLACE, 1).seen["x"]
    assert (one < 3, two < 32, three) == (True, True, 8)
