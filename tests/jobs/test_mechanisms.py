"""The table of mechanisms: its names are the audit's, its functions exist, and it says what they protect."""

from __future__ import annotations

import inspect

import jax
import numpy as np
import pytest

from privrank_jax import privacy_audit, release
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


def test_all_that_is_released_is_in_the_table():
    exact = {mechanism.exact.partition(":")[2] for mechanism in MECHANISMS.values()}
    exact = {name for name in exact if not name.endswith(".release")}  # of records
    public = {"exact_bound"}  # what it returns depends on no answer
    offered = {name for name in release.__all__ if name.startswith("exact_")} - public
    samplers = {"flipped_bits"}  # of single answers, each at an ε of its own
    assert exact - {""} - samplers == offered
    simulated = {mechanism.simulated.partition(":")[2] for mechanism in MECHANISMS.values()}
    released = {row.function for row in ROWS if row.name in COMMANDS_OF}
    assert {FUNCTIONS.get(name, name) for name in simulated} == released


# Of these the simulated function adds Gaussian noise under flips alone, where the exact twin is another one.
UNDER_FLIPS = ("perturbed-covariates", "perturbed-davidson", "perturbed-choices")
EXCEPT = (
    *UNDER_FLIPS,
    "canonical-top-k",
)  # the noise of the last is that of a choice, not of numbers


@pytest.mark.parametrize("name", MECHANISMS)
def test_twins_take_the_same(name):
    mechanism = MECHANISMS[name]
    simulated = inspect.signature(mechanisms.function_of(mechanism.simulated)).parameters
    assert next(iter(simulated)) == "key"
    assert mechanism.numerics == ("exact" if mechanism.exact else mechanism.numerics)
    if "noise" in simulated:
        assert simulated["noise"].default in (mechanism.noises[0], None)
        # The first is for δ = 0.
        assert ("gaussian" in mechanism.noises[1:]) == (name not in EXCEPT)
    if not mechanism.exact:
        assert mechanism.numerics != "exact"
        return
    exact = inspect.signature(mechanisms.function_of(mechanism.exact)).parameters
    beside = (
        "key",
        "missing",
        "calibration",
        "mask",
        # of noise on totals, which has its own exact twin
        *(("sensitivity", "questionnaire", "tie_gamma") if name.startswith("perturbed-") else ()),
    )  # missing: where it counts votes itself
    shared = [set(found) - set(beside) for found in (simulated, exact)]
    data = [list(found)[place] for found, place in ((simulated, 1), (exact, 0))]
    assert shared[0] - {data[0]} == shared[1] - {data[1]}


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
