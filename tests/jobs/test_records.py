"""The tables of mechanisms and methods: audited under their names, complete, and the table of the page."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import privacy_audit
from privrank_jax.aggregation.bounds import proven_errors
from privrank_jax.jobs import mechanisms
from privrank_jax.jobs.mechanisms import MECHANISMS, Randomness
from privrank_jax.jobs.methods import CONSENSUS, RANK
from tests import methods_table, of_rankings
from tests.promises import user
from tests.replays.commands import COMMANDS_OF

ROWS = [privacy_audit.get(name) for name in privacy_audit.names()]
FUNCTIONS = {"simulated_mallows": "sample"}  # of many users, where the audit has one


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_is_audited_under_its_name(name):
    mechanism = MECHANISMS[name]
    row = privacy_audit.get(name)
    function = mechanism.simulated.partition(":")[2]
    assert row.function == FUNCTIONS.get(function, function)
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


# --- methods ---------------------------------------------------------------------------------------

RECORDS = [*CONSENSUS.values(), *RANK.values()]
OF_OTHER_JOBS = {"noisy-design", "randomized-response", "preference-labels", "mallows-sample"}


@pytest.mark.parametrize("method", RECORDS, ids=lambda method: method.name)
def test_its_functions_exist_and_its_mechanisms_have_its_trust(method):
    for trust in method.trusts:
        for name in method.mechanisms[trust]:
            assert MECHANISMS[name].trust == trust


def test_each_mechanism_is_drawn_by_a_method_or_another_job():
    drawn = {name for method in RECORDS for names in method.mechanisms.values() for name in names}
    assert drawn | OF_OTHER_JOBS == set(MECHANISMS)


@pytest.mark.parametrize("method", of_rankings.CONSENSUS.values(), ids=lambda method: method.name)
def test_all_that_a_curator_can_draw_is_planned(method):
    """Points have no disagreement that a bound could be of."""
    rows = proven_errors(5, 100, user(1.0, 1e-6), method=method.name)
    (name,) = method.mechanisms["central"]
    noises = set(MECHANISMS[name].noises)
    if method.name == "exponential":  # it adds none
        noises = {"none"}
    assert {row.noise for row in rows} == noises
    assert {row.function for row in rows} == {MECHANISMS[name].simulated.partition(":")[2]}


def test_the_page_has_the_table_of_the_records():
    """After a change of a record: ``python -m tests.methods_table``."""
    page = methods_table.PAGE.read_text(encoding="utf-8")
    assert methods_table.written(page) == page
