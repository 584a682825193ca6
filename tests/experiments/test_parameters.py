"""Parameters of studies: what may replace the published values, in Python and as text."""

from __future__ import annotations

import math

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
        ("cai-intervals", "exposure=0", 0.0),
        ("hillebrand", "crowds=turned, with noise,Mallows", ("turned, with noise", "Mallows")),
    ],
)
def test_text_is_read_by_the_type_of_the_published_value(study, text, value):
    (found,) = experiments.get(study).read([text]).values()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("study", "text", "said"),
    [
        (
            "cai-fig6",
            "users=a",
            "whole numbers of at least 1, none twice, such as users=250,500,750",
        ),
        ("cai-fig6", "users=2.5", "whole numbers"),
        ("cai-fig6", "users=0", "at least 1"),
        ("cai-fig6", "users=-1", "at least 1"),
        ("cai-fig6", "users=9999999999", "got '9999999999'"),
        ("cai-fig6", "users=", "whole numbers"),
        ("cai-fig6", "users=250,,500", "whole numbers"),
        ("cai-fig6", "users=250,250", "none twice"),
        ("cai-fig6", "items=1", "at least 2"),
        ("cai-fig6", "per_user=1,2", "a whole number of at least 1, such as per_user=5"),
        ("cai-fig6", "epsilons=0", "numbers above 0 (inf for no privacy)"),
        ("cai-fig6", "epsilons=nan", "numbers above 0"),
        ("cai-fig6", "dtype=int8", "one of 'float32', 'float64'"),
        ("cai-fig1", "probabilities=1.5", "above 0 and at most 1"),
        ("cai-fig8", "epsilons=inf", "numbers above 0, none twice"),
        ("cai-fig8", "ties=both", "words among 'half', 'dropped'"),
        ("alabi-local", "sizes=10,20", "rows of 2 whole numbers of at least 1, none twice"),
        ("xu-table10", "items=7,5", "ascending: 2 whole numbers of at least 2"),
    ],
)
def test_a_text_that_is_no_value_is_refused_with_what_it_must_look_like(study, text, said):
    name = text.partition("=")[0]
    with pytest.raises(ValueError, match=f"^{study}: {name} must be ") as error:
        experiments.get(study).read([text])
    assert said in str(error.value)


def test_what_sets_nothing_is_refused():
    study = experiments.get("cai-fig6")
    with pytest.raises(ValueError, match="'users' sets nothing: write PARAMETER=VALUE"):
        study.read(["users"])
    with pytest.raises(ValueError, match="users is set twice"):
        study.read(["users=3", "users=4"])
    with pytest.raises(ValueError, match=r"no parameter 'user'; did you mean .*users=250,500,750,"):
        study.read(["user=3"])


@pytest.mark.parametrize(
    ("value", "taken"),
    [((250, 500), (250, 500)), ([250], (250,)), (250, (250,)), (np.arange(1, 3), (1, 2))],
)
def test_python_may_give_one_value_or_a_list(value, taken):
    found = experiments.get("cai-fig6").configured(users=value).config.users
    assert found == taken
    assert all(type(one) is int for one in found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"users": "many"}, r"users must be .* users=\(250, 500, 750\); got 'many'"),
        ({"users": 2.5}, "whole numbers"),
        ({"users": True}, "whole numbers"),
        ({"users": ()}, "whole numbers"),
        ({"epsilons": (1.0, math.nan)}, "numbers above 0"),
        ({"epsilons": None}, "numbers above 0"),
        ({"name": "mine"}, "no parameter 'name'"),
    ],
)
def test_python_is_told_what_a_value_must_look_like(changes, said):
    with pytest.raises(ValueError, match=f"^cai-fig6.*{said}"):
        experiments.get("cai-fig6").configured(**changes)


@pytest.mark.parametrize(
    ("study", "changes", "said"),
    [
        ("xu-table5", {"low": 6.0}, "low must be at most high"),
        ("rdp-fig7", {"held_out": 200}, "users must be more than held_out"),
        ("rdp-fig4", {"items": 8}, "items must be at most 7"),
        ("hillebrand", {"items": 2}, "items must be at least 3"),
        ("cai-fig8", {"data": ()}, "data must name a survey"),
    ],
)
def test_values_that_do_not_go_together_are_refused(study, changes, said):
    with pytest.raises(ValueError, match=f"^{study}: .*{said}"):
        experiments.get(study).configured(**changes)


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
