"""The records of methods: complete, true, and what else must say the same says it."""

from __future__ import annotations

import pytest

from privrank_jax.aggregation.bounds import proven_errors
from privrank_jax.jobs.mechanisms import MECHANISMS
from privrank_jax.jobs.methods import CONSENSUS, RANK
from privrank_jax.privacy import Privacy
from tests import methods_table, of_rankings

RECORDS = [*CONSENSUS.values(), *RANK.values()]
OF_OTHER_JOBS = {"noisy-design", "randomized-response", "preference-labels", "mallows-sample"}
AT_LARGE_EPSILON = {"ldp-borda-privunit"}  # in place of ldp-borda, where its reports are shorter


@pytest.mark.parametrize("method", RECORDS, ids=lambda method: method.name)
def test_its_functions_exist_and_its_mechanisms_have_its_trust(method):
    for trust in method.trusts:
        for name in method.mechanisms[trust]:
            assert MECHANISMS[name].trust == trust
    if method.idealized:
        assert MECHANISMS[method.idealized].trust == "local"


def test_each_mechanism_is_drawn_by_a_method_or_another_job():
    drawn = {name for method in RECORDS for names in method.mechanisms.values() for name in names}
    drawn |= {method.idealized for method in RECORDS if method.idealized}
    assert drawn | OF_OTHER_JOBS | AT_LARGE_EPSILON == set(MECHANISMS)


@pytest.mark.parametrize("method", of_rankings.CONSENSUS.values(), ids=lambda method: method.name)
def test_all_that_a_curator_can_draw_is_planned(method):
    """Points have no disagreement that a bound could be of."""
    rows = proven_errors(
        5, 100, Privacy(1.0, unit="user", adjacency="replace", delta=1e-6), method=method.name
    )
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
