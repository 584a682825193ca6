"""The list of experiments: names, hints, settings, and the grids that the paper states."""

from __future__ import annotations

import math
import subprocess
import sys

import jax
import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.experiments.study import MODULES
from privrank_jax.simulate.axes import flatten
from tests.experiments.alabi.shared import KEY
from tests.experiments.rows import cells
from tests.quick import thorough, thorough_but

ALABI = ["alabi-central", "alabi-local"]


@pytest.mark.parametrize("name", experiments.names())
def test_a_study_has_claims_that_differ_and_says_what_differs(name):
    one = experiments.get(name)
    assert one.name == name
    least = 1 if name == "xu-fig14" else 2
    assert len({claim.text for claim in one.claims}) == len(one.claims) >= least
    assert one.differences or name == "cai-intervals"


@pytest.mark.parametrize("name", ["cai-fig8", "rdp-fig8", "xu-table2"])
def test_studies_whose_data_are_not_optional_need_them(name, monkeypatch, tmp_path):
    monkeypatch.setenv("PRIVRANK_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="PRIVRANK_DATA"):
        experiments.run(KEY, name, 2)


def test_every_study_is_in_one_module_which_declares_it():
    held = " ".join(MODULES.values()).split()
    assert sorted(held) == experiments.names()
    assert len(set(held)) == len(held)
    assert [experiments.get(name).name for name in held] == held


def test_asking_for_one_study_imports_its_paper_alone():
    script = """
import sys
from privrank_jax import experiments
experiments.names()
papers = ("alabi", "cai", "rdp", "xu")
inside = [f"privrank_jax.experiments.{paper}" for paper in papers]
assert not [name for name in sys.modules if name.startswith(tuple(inside))]
experiments.get("cai-fig1")
held = {name for name in sys.modules if name.startswith(tuple(inside))}
others = [name for name in held if not name.startswith("privrank_jax.experiments.cai")]
assert not others, others
assert not {f"privrank_jax.experiments.cai.{name}" for name in ("one_shot", "surveys")} & held
assert "matplotlib" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize(
    ("name", "column", "values", "fixed"),
    [
        (
            "cai-fig1",
            "num_items",
            [100, 175, 250, 325, 400, 475, 550, 625, 700],
            {"probability": 1},
        ),
        (
            "cai-fig2",
            "probability",
            [round(0.1 + 0.075 * i, 3) for i in range(13)],
            {"num_items": 300},
        ),
        ("cai-fig3", "probability", [0.25, 0.5, 0.75, 1], {"num_items": 300}),
        ("cai-fig4", "num_items", [150, 250, 350, 450, 550, 650], {}),
        ("cai-fig5", "num_items", [12, 16, 20, 24, 28, 32], {"num_users": 1000, "max_items": 32}),
        ("cai-fig6", "num_users", [250, 500, 750, 1000, 1500, 2000], {"num_items": 16}),
        ("cai-fig7", "num_users", [250, 500, 1000, 2000], {"num_items": 16, "max_users": 2000}),
    ],
)
def test_grids_are_those_of_the_paper(name, column, values, fixed):
    grid = cells(name)
    assert [cell[column] for cell in grid] == values
    assert all(cell[key] == value for cell in grid for key, value in fixed.items())


def test_privacy_levels_are_those_of_the_paper():
    for name in ("cai-fig1", "cai-fig2", "cai-fig5", "cai-fig6"):
        assert experiments.get(name).p.epsilons == (0.5, 1.0, 2.5, math.inf)
    assert experiments.get("cai-fig3").p.epsilons == (
        1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0, 1.5, 2.0, 2.5, 5.0, math.inf,
    )  # fmt: skip
    four = experiments.get("cai-fig4").p
    assert four.levels == (0.1, 2.0, math.inf)
    assert four.epsilons == (0.1, 0.5, 1.0, 2.0, 5.0)
    assert cells("cai-fig4", study=1) == ({"num_items": 350, "max_items": 350},)
    assert experiments.get("cai-fig8").p.epsilons == (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0)
    assert {experiments.get(f"cai-fig{n}").p.per_user for n in (5, 6, 7)} == {5}


@pytest.mark.parametrize("sizes", [slice(1), thorough(slice(1, None))])
@pytest.mark.parametrize("name", thorough_but(ALABI, "alabi-local"))
def test_worst_cases_and_data_are_part_of_a_study(name, sizes, data_folder):
    one = experiments.get(name)
    rows = [{"study": study.name, **cell} for study in one.studies() for cell in study.cells]
    rows = list(one.rows(one.p, rows))
    assert list(dict.fromkeys(row["study"] for row in rows)) == [
        "Mallows", "worst case", "sushi", "apa",
    ]  # fmt: skip
    for study in one.studies():
        for first, *_ in study.groups()[sizes]:
            cell = {k: v for k, v in study.cells[first].items() if k not in study.static}
            static = {k: study.cells[first][k] for k in study.static}

            traced = []

            def trial(key, traced, study=study, static=static, traces=traced):
                traces.append(flatten(study.trial(key, {**traced, **static}), study.axes))

            jax.eval_shape(trial, KEY, cell)
            for value, places in zip(traced[0].values, traced[0].places, strict=True):
                assert value.shape == (() if len(places) == 1 else (len(places),))


def test_grids_of_rdp_are_those_of_the_paper():
    fig4, fig5, fig6 = (experiments.get(f"rdp-fig{number}") for number in (4, 5, 6))
    assert (fig4.p.draws, fig4.p.items) == (10**7, (3, 4, 5))
    assert fig4.p.epsilons == tuple(0.5 + 0.25 * i for i in range(7))
    assert (fig5.replicates, fig6.replicates) == (1000, 5000)
    assert fig5.p.epsilons == (1, 2, 3, 4)
    assert fig5.p.rankings == tuple(range(10, 101, 10))


def test_grids_of_personal_rankings_are_those_of_the_paper():
    network = experiments.get("rdp-fig7")
    (study,) = network.studies()
    cells = {(cell["num_items"], cell["num_users"], cell["epsilon"]) for cell in study.cells}
    assert cells == {
        (m, n, e) for m in (15, 30) for n in (200, 250, 300, 350) for e in (1, 2, 3, 4)
    }
    assert (network.replicates, network.p.held_out, network.p.new_users) == (50, 100, 1000)
    sushi = experiments.get("rdp-fig8").p
    assert (sushi.epsilons[0], sushi.epsilons[-1], sushi.train_users) == (0.06, 0.5, 3000)
    np.testing.assert_allclose(np.diff(sushi.epsilons), 0.04)
