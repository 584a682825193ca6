"""The table of mechanisms: its names are the audit's, its functions exist, and it says what they protect."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import privacy_audit
from privrank_jax.jobs import mechanisms
from privrank_jax.jobs.mechanisms import MECHANISMS, Randomness
from tests.replays.commands import COMMANDS_OF

ROWS = [privacy_audit.get(name) for name in privacy_audit.names()]
FUNCTIONS = {"simulated_mallows": "sample"}  # of many users, where the audit has one


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_is_audited_under_its_name(name):
    mechanism = MECHANISMS[name]
    row = privacy_audit.get(name)
    function = mechanism.simulated.partition(":")[2]
    assert row.function == FUNCTIONS.get(function, function)
    assert bool(mechanism.exact) != any(
        "--accept-idealized" in words for words in COMMANDS_OF.get(name, ())
    )
    assert row.trust == mechanism.trust


def test_each_noise_has_a_row_that_tells_its_law_or_releases_it():
    missing = set()
    for name, mechanism in MECHANISMS.items():
        function = privacy_audit.get(name).function
        shared = [other for other in MECHANISMS if privacy_audit.get(other).function == function]
        of_it = [
            row
            for row in ROWS
            if row.function == function and (len(shared) == 1 or row.name.startswith(name))
        ]
        for noise in mechanism.noises[1:]:
            law = mechanisms.LAWS[noise].partition(",")[0]
            said = [row.title for row in of_it if law in row.title]
            said += [
                words
                for row in of_it
                for words in COMMANDS_OF.get(row.name, ())
                if f"--noise {noise}" in words
            ]
            missing |= set() if said else {(name, noise)}
    assert not missing


def test_a_mechanism_without_twin_needs_consent():
    mechanism = MECHANISMS["ldp-borda"]
    with pytest.raises(ValueError, match="accept_idealized"):
        mechanism.drawn_exactly(Randomness())
    for source in (Randomness(accept_idealized=True), Randomness(jax.random.key(0))):
        assert not mechanism.drawn_exactly(source)


def words(source, count=4):
    return [tuple(np.asarray(jax.random.key_data(source.key())).tolist()) for _ in range(count)]


def test_releases_take_fresh_keys_of_the_usual_kind():
    source = Randomness()
    assert source.seed is None
    assert len({*words(source), *words(Randomness())}) == 8
    assert jax.random.key_impl(source.key()) == jax.random.key_impl(jax.random.key(0))
    assert source.salt() != source.salt()


@pytest.mark.parametrize("seed", [7, 2**40 + 3])
def test_a_rehearsal_repeats_itself_and_none_of_its_own_keys(seed):
    with jax.enable_x64(True):
        key = jax.random.key(seed)
    first, second = Randomness(key), Randomness(key)
    assert first.seed == seed
    assert words(first) == words(second)
    assert len(set(words(first))) == 4
    assert Randomness(key).salt() == Randomness(key).salt()
