"""Parameters of studies: what may replace the published values, in Python and as text."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.experiments.study import written

STUDIES = experiments.names()


@pytest.mark.parametrize("name", STUDIES)
def test_published_values_are_explained_and_read_back(name):
    study = experiments.get(name)
    assert (study.changes, study.full_name, study.file_name) == ({}, name, name)
    for one in study.parameters.values():
        assert one.meaning
        assert one.checked(one.published) == one.published
        assert one.read(written(one.published)) == one.published
    assert study.configured(**{n: one.published for n, one in study.parameters.items()}) == study


@pytest.mark.parametrize(
    ("study", "text", "value"),
    [
        ("cai-fig6", "users=250,500", (250, 500)),
        ("cai-fig6", " users = 250, 500 ", (250, 500)),
        ("cai-fig6", "users=250", (250,)),
        ("cai-fig6", "per-user=10", 10),
        ("cai-fig6", "epsilons=0.5,1,inf", (0.5, 1.0, math.inf)),
        ("cai-fig8", "ties=dropped", ("dropped",)),
        ("alabi-central", "data=", ()),
        ("alabi-central", "flips=0", 0),
        ("alabi-local", "sizes=10:300,20:3000", ((10, 300), (20, 3000))),
        ("xu-table10", "items=5,7", (5, 7)),
        ("xu-fig3", "link=logistic", "logistic"),
        ("cai-intervals", "sizes=30:200:5", ((30, 200, 5),)),
        ("cai-intervals", "exposures=0", (0.0,)),
        ("rdp-fig6", "schemes=(m-1)/√N", ("(m-1)/√N",)),
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
    found = experiments.get("cai-fig6").configured(users=value).values["users"]
    assert found == taken
    assert all(type(one) is int for one in found)


def test_other_parameters_have_files_of_their_own():
    study = experiments.get("cai-fig6")
    changed = study.configured(users=(250, 500), per_user=10)
    assert changed.changes == {"users": (250, 500), "per_user": 10}
    assert changed.full_name == "cai-fig6 with users=250,500, per_user=10"
    assert changed.file_name == "cai-fig6-users=250,500-per_user=10"
    assert changed.configured(users=study.values["users"], per_user=5) == study

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


@pytest.mark.parametrize(
    ("study", "given"),
    [
        ("cai-fig6", "users=a"),
        ("cai-fig6", "users=2.5"),
        ("cai-fig6", "users=0"),
        ("cai-fig6", "users=9999999999"),
        ("cai-fig6", "users="),
        ("cai-fig6", "users=250,,500"),
        ("cai-fig6", "users=250,250"),
        ("cai-fig6", "items=1"),
        ("cai-fig6", "per_user=1,2"),
        ("cai-fig6", "epsilons=0"),
        ("cai-fig6", "epsilons=nan"),
        ("cai-fig6", "users"),
        ("cai-fig6", "users=3 users=4"),
        ("cai-fig6", "user=3"),
        ("cai-fig1", "probabilities=1.5"),
        ("cai-fig8", "epsilons=inf"),
        ("cai-fig8", "ties=both"),
        ("alabi-local", "sizes=10,20"),
        ("xu-table10", "items=7,5"),
        ("cai-fig6", {"users": "many"}),
        ("cai-fig6", {"users": 2.5}),
        ("cai-fig6", {"users": True}),
        ("cai-fig6", {"users": ()}),
        ("cai-fig6", {"epsilons": None}),
        ("cai-fig6", {"name": "mine"}),
        ("xu-table5", {"low": 6.0}),
        ("rdp-fig7", {"held_out": 200}),
        ("rdp-fig4", {"items": 8}),
        ("continual", {"per_pair": 15}),
        ("cai-fig8", {"data": ()}),
    ],
)
def test_what_is_no_value_is_refused(study, given):
    """The message names the study and the parameter, or how one is set."""
    one = experiments.get(study)
    with pytest.raises(ValueError, match=f"^{study}: |no parameter|PARAMETER=VALUE"):
        one.configured(**given) if isinstance(given, dict) else one.read(given.split())
