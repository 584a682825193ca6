"""``privrank reproduce``: what it prints and writes; the studies themselves are held in tests/experiments."""

from __future__ import annotations

import csv
import dataclasses

import pytest

from privrank_jax import experiments

NAME = "cai-fig5"


@pytest.fixture
def small(monkeypatch):
    """The study on a small grid."""
    study = experiments.get(NAME).configured(
        items=(4, 8), users=(60,), epsilons=(1.0, float("inf"))
    )
    study = dataclasses.replace(study, published=study.config)  # as if that were published
    monkeypatch.setattr(experiments, "get", lambda name: study)


def test_list(privrank):
    assert all(f"cai-fig{number}" in privrank("reproduce", "--list").out for number in range(1, 9))
    studies = privrank("reproduce", "--list", "--json").json()["studies"]
    facts = {"name", "title", "paper", "replicates", "data", "data_optional", "files_to_provide"}
    assert facts == set(studies[0])
    found = {one["name"]: (one["data"], one["files_to_provide"]) for one in studies}
    assert found["rdp-fig8"][1] == ["sushi/sushi_rankings.csv"]
    assert (found["xu-table2"], found["cai-fig1"]) == ((["cars"], []), ([], []))


def test_an_interrupted_study_goes_on_to_the_end(privrank, small, tmp_path, monkeypatch):
    folder, resumed = tmp_path / "new", f"privrank: {NAME}: resumed 16 of 16 replicates\n"
    run = ("reproduce", NAME, "--replicates", 8, "--out", folder, "--json")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("privrank_jax.experiments.runner._write", interrupt)
        result = privrank(*run)
    assert (result.code, result.out) == (130, "")
    assert [path.name for path in folder.iterdir()] == [f"{NAME}.unfinished"]
    result = privrank(*run)
    assert (result.code, result.err) == (0, resumed)
    document = result.json()
    assert (document["experiment"], document["replicates"], document["seed"]) == (NAME, 8, 0)
    assert document["diagnostics"]["compilations"] == 0
    assert "verdict" in document["verdicts"][0]
    with (folder / f"{NAME}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["num_items"] for row in rows} == {"4", "8"}
    assert {row["replicates"] for row in rows} == {"8"}
    assert (folder / f"{NAME}.png").stat().st_size > 10_000
    assert not (folder / f"{NAME}.unfinished").exists()
    assert privrank(*run, "--fresh").err != resumed
