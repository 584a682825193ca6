"""Parameters of studies: what may replace the published values, in Python and as text."""

from __future__ import annotations

import math
import re

import jax
import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.experiments import parameters

STUDIES = experiments.names()


def known(name):
    return experiments.get(name).parameters


@pytest.mark.parametrize("name", STUDIES)
def test_published_values_are_explained_and_read_back(name):
    study = experiments.get(name)
    assert (study.changes, study.full_name, study.file_name) == ({}, name, name)
    assert "name" not in study.parameters
    for one in study.parameters.values():
        assert one.meaning
        assert one.checked(one.published) == one.published
        if one.published is not None:
            assert one.read(parameters.written(one.published)) == one.published
    assert study.configured(**{n: one.published for n, one in study.parameters.items()}) == study


def test_what_rules_name_are_parameters():
    """A rule under a name that no study has any more would be lost in silence."""
    names = {name for study in STUDIES for name in known(study)}
    ruled = (
        *parameters.COMPUTING,
        *parameters._CHOICES,
        *parameters._FREE,
        *parameters._MAY_BE_EMPTY,
        *parameters._FROM_ZERO,
        *parameters._FROM_TWO,
        *parameters._AT_MOST_ONE,
    )
    assert set(ruled) <= names


@pytest.mark.parametrize(
    ("study", "text", "value"),
    [
        ("cai-fig6", "users=250,500", (250, 500)),
        ("cai-fig6", " users = 250, 500 ", (250, 500)),
        ("cai-fig6", "users=250", (250,)),
        ("cai-fig6", "per_user=10", 10),
        ("cai-fig6", "per-user=10", 10),
        ("cai-fig6", "epsilons=0.5,1,inf", (0.5, 1.0, math.inf)),
        ("cai-fig8", "ties=dropped", ("dropped",)),
        ("alabi-central", "data=", ()),
        ("alabi-central", "flips=0", 0),
        ("alabi-local", "sizes=10:300,20:3000", ((10, 300), (20, 3000))),
        ("xu-table8", "gaps=", ()),
        ("xu-table10", "items=5,7", (5, 7)),
        ("xu-fig10", "link=normal", "normal"),
        ("cai-intervals", "sizes=30:200:5", ((30, 200, 5),)),
        ("cai-intervals", "exposures=0", (0.0,)),
        ("hillebrand", "crowds=turned, with noise,Mallows", ("turned, with noise", "Mallows")),
    ],
)
def test_text_is_read_by_the_type_of_the_published_value(study, text, value):
    (found,) = experiments.get(study).read([text]).values()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("value", "taken"),
    [((250, 500), (250, 500)), ([250], (250,)), (250, (250,)), (np.arange(1, 3), (1, 2))],
)
def test_python_may_give_one_value_or_a_list(value, taken):
    found = experiments.get("cai-fig6").configured(users=value).config.users
    assert found == taken
    assert all(type(one) is int for one in found)


def test_double_precision_needs_jax_to_have_it():
    study = experiments.get("cai-fig6")
    with jax.enable_x64(False), pytest.raises(ValueError, match="JAX_ENABLE_X64"):
        study.configured(dtype="float64")
    with jax.enable_x64(True):
        assert study.configured(dtype="float64").changes == {}


def test_other_parameters_have_files_of_their_own():
    study = experiments.get("cai-fig6")
    changed = study.configured(users=(250, 500), per_user=10, dtype="float32")
    assert changed.changes == {"users": (250, 500), "per_user": 10}
    assert changed.full_name == "cai-fig6 with users=250,500, per_user=10"
    assert changed.file_name == "cai-fig6-users=250,500-per_user=10"
    assert changed.configured(users=study.config.users, per_user=5) == study

    crowds = [(30, 200 + more, 5) for more in range(19)]
    names = {
        experiments.get("cai-intervals").configured(sizes=chosen).file_name
        for chosen in (crowds, crowds[:18], crowds[:1], [(30, 200, 6)])
    }
    assert len(names) == 4
    assert all(len(name) <= 80 and name.isascii() and ":" not in name for name in names)


def test_with_other_parameters_nothing_stands_beside_printed_values():
    changed = experiments.get("xu-table5").configured(items=10, users=100, gamma=3)
    assert [claim.of_printed for claim in changed.claims].count(True) > 1
    row = {
        "study": "xu-table5", "num_items": 10, "num_users": 100, "link": "BTL", "metric": "l2_error",
        "estimator": "ADRR", "mean": 0.1, "standard_error": 0.01, "replicates": 50, "nonfinite": 0,
    }  # fmt: skip
    for study, printed in ((changed, False), (experiments.get("xu-table5"), True)):
        table = study.table(experiments.runner.StudyResult("x", [dict(row)]))
        assert math.isfinite(table.rows[0]["printed"]) == printed
        assert bool(table.rows[0]["verdict"]) == printed
        judged = [claim for claim, _ in study.judged(table)]
        assert any(claim.of_printed for claim in judged) == printed
        assert judged
        assert bool(study.note) != printed
    assert (
        "Changed: gamma=3, items=10, users=100 (published: gamma=2, items=10,20,30, users="
        in changed.note
    )


@pytest.mark.parametrize(
    ("study", "given", "named"),
    [
        ("cai-fig6", "users=a", "users="),
        ("cai-fig6", "users=2.5", "users="),
        ("cai-fig6", "users=0", "at least"),
        ("cai-fig6", "users=9999999999", "'9999999999'"),
        ("cai-fig6", "users=", "users="),
        ("cai-fig6", "users=250,,500", "users="),
        ("cai-fig6", "users=250,250", "none twice"),
        ("cai-fig6", "items=1", "at least"),
        ("cai-fig6", "per_user=1,2", "per_user="),
        ("cai-fig6", "epsilons=0", "epsilons="),
        ("cai-fig6", "epsilons=nan", "epsilons="),
        ("cai-fig6", "dtype=int8", "'float32'"),
        ("cai-fig6", "users", "PARAMETER=VALUE"),
        ("cai-fig6", "users=3 users=4", "set twice"),
        ("cai-fig6", "user=3", "users="),
        ("cai-fig1", "probabilities=1.5", "at most"),
        ("cai-fig8", "epsilons=inf", "epsilons="),
        ("cai-fig8", "ties=both", "'dropped'"),
        ("alabi-local", "sizes=10,20", "sizes="),
        ("xu-table10", "items=7,5", "ascending"),
        ("cai-fig6", {"users": "many"}, "'many'"),
        ("cai-fig6", {"users": 2.5}, "users="),
        ("cai-fig6", {"users": True}, "users="),
        ("cai-fig6", {"users": ()}, "users="),
        ("cai-fig6", {"epsilons": None}, "epsilons="),
        ("cai-fig6", {"name": "mine"}, "'name'"),
        ("xu-table5", {"low": 6.0}, "high"),
        ("rdp-fig7", {"held_out": 200}, "held_out"),
        ("rdp-fig4", {"items": 8}, "at most"),
        ("hillebrand", {"items": 2}, "at least"),
        ("cai-fig8", {"data": ()}, "data"),
    ],
)
def test_what_is_no_value_is_refused(study, given, named):
    one = experiments.get(study)
    with pytest.raises(ValueError, match=re.escape(named)):
        one.configured(**given) if isinstance(given, dict) else one.read(given.split())
