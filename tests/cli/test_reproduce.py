"""``privrank reproduce``: what it prints and writes; the studies themselves are held in tests/experiments."""

from __future__ import annotations

import csv

import pytest

from privrank_jax import experiments
from tests.experiments.rows import as_published

NAME = "cai-fig5"


@pytest.fixture
def small(monkeypatch):
    """The study on a small grid."""
    study = experiments.get(NAME).configured(
        items=(4, 8), users=(60,), epsilons=(1.0, float("inf"))
    )
    monkeypatch.setattr(experiments, "get", lambda name: as_published(study))


def test_list(privrank):
    result = privrank("reproduce", "--list")
    assert result.code == 0
    assert all(f"cai-fig{number}" in result.out for number in range(1, 9))
    studies = privrank("reproduce", "--list", "--json").json()["studies"]
    facts = {"name", "title", "paper", "replicates", "data", "data_optional", "files_to_provide"}
    assert facts == set(studies[0])
    found = {one["name"]: one for one in studies}
    assert found["rdp-fig8"]["files_to_provide"] == ["sushi/sushi_rankings.csv"]
    assert (found["xu-table2"]["data"], found["xu-table2"]["files_to_provide"]) == (["cars"], [])
    assert (found["cai-fig1"]["data"], found["cai-fig1"]["files_to_provide"]) == ([], [])


def test_parameters_of_a_study_are_listed(privrank):
    assert "per_user" in privrank("reproduce", "cai-fig6", "--list").out
    (study,) = privrank("reproduce", "cai-fig6", "--list", "--json").json()["studies"]
    known = {one["name"]: one["published"] for one in study["parameters"]}
    assert (study["name"], known["items"], known["epsilons"]) == ("cai-fig6", "16", "0.5,1,2.5,inf")


def test_an_interrupted_study_goes_on_to_the_end(privrank, small, tmp_path, monkeypatch):
    folder = tmp_path / "new"
    arguments = ("reproduce", NAME, "--replicates", 8, "--out", folder, "--json")

    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("privrank_jax.experiments.runner._write", interrupt)
        result = privrank(*arguments)
    assert (result.code, result.out) == (130, "")
    assert result.err.startswith("privrank: interrupted; the same command resumes")
    assert [path.name for path in folder.iterdir()] == [f"{NAME}.unfinished"]

    result = privrank(*arguments)
    assert (result.code, result.err) == (0, f"privrank: {NAME}: resumed 16 of 16 replicates\n")
    document = result.json()
    assert (document["experiment"], document["replicates"], document["seed"]) == (NAME, 8, 0)
    assert document["diagnostics"]["compilations"] == 0
    assert {verdict["verdict"] for verdict in document["verdicts"]} <= {
        "holds", "does not hold", "undecided",
    }  # fmt: skip
    with (folder / f"{NAME}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["num_items"] for row in rows} == {"4", "8"}
    assert {row["replicates"] for row in rows} == {"8"}
    assert (folder / f"{NAME}.png").stat().st_size > 10_000
    assert not (folder / f"{NAME}.unfinished").exists()


def test_fresh_starts_over(privrank, small, tmp_path, monkeypatch):
    asked = []

    def open_only(self, program, moments):
        asked.append(self.fresh)
        raise KeyboardInterrupt

    monkeypatch.setattr("privrank_jax.simulate.Checkpoints.open", open_only)
    for options in ((), ("--fresh",)):
        privrank("reproduce", NAME, "--replicates", 8, "--out", tmp_path, *options)
    assert asked == [False, True]
