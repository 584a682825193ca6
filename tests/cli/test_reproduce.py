"""``privrank reproduce``: what it prints and writes; the studies themselves are held in tests/experiments."""

from __future__ import annotations

import csv
import signal
import sys
import threading
import time

import pytest

from privrank_jax import _interrupt, experiments
from privrank_jax.cli.reproduce import run_all
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
    assert all(f"cai-fig{number}" in privrank("reproduce", "--list").out for number in range(1, 9))
    studies = privrank("reproduce", "--list", "--json").json()["studies"]
    facts = {"name", "title", "paper", "replicates", "data", "data_optional", "files_to_provide"}
    assert facts == set(studies[0])
    found = {one["name"]: (one["data"], one["files_to_provide"]) for one in studies}
    assert found["rdp-fig8"][1] == ["sushi/sushi_rankings.csv"]
    assert (found["xu-table2"], found["cai-fig1"]) == ((["cars"], []), ([], []))
    (study,) = privrank("reproduce", "cai-fig6", "--list", "--json").json()["studies"]
    known = {one["name"]: one["published"] for one in study["parameters"]}
    assert (study["name"], known["items"], known["epsilons"]) == ("cai-fig6", "16", "0.5,1,2.5,inf")


@pytest.mark.slow
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


# --- several studies at once, each a process of its own


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A command in place of ``python``: a script that is told the name of a study and the options."""

    def write(body):
        path = tmp_path / "fake"
        path.write_text(
            f"#!{sys.executable}\nimport json, os, sys, time\nname = sys.argv[4]\n{body}"
        )
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return write


def test_studies_end_in_any_order_and_are_told_apart(fake, tmp_path):
    fake(
        "print(f'privrank: {name}: begins', file=sys.stderr)\n"
        "print('noise of a library', file=sys.stderr)\n"
        "while name == 'a' and not os.path.exists(sys.argv[6]): time.sleep(0.01)\n"
        "print(json.dumps({'given': sys.argv[1:], 'long': 'x' * 200_000}))"
    )
    told, order, flag = [], [], tmp_path / "flag"
    for study in run_all(("a", "b"), ("--out", str(flag)), 2, told.append):
        order.append((study.name, study.code, study.reason))
        flag.touch()  # a waits until b has been told, so both run at once and b ends first
        given = ["-m", "privrank_jax", "reproduce", study.name, "--out", str(flag), "--json"]
        assert study.document["given"] == given
    assert order == [("b", 0, ""), ("a", 0, "")]
    assert sorted(told) == ["a: a: begins", "b: b: begins"]


@pytest.mark.parametrize(
    ("jobs", "names", "own", "part"),
    [
        (4, ("a", "b", "c"), {}, "0.300"),
        (2, ("a",), {}, None),
        (2, ("a", "b"), {"XLA_CLIENT_MEM_FRACTION": "0.2"}, "0.2"),
        (2, ("a", "b"), {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.2"}, None),
    ],
)
def test_studies_share_the_memory_of_an_accelerator(fake, monkeypatch, jobs, names, own, part):
    for name in ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    fake("print(json.dumps({'part': os.environ.get('XLA_CLIENT_MEM_FRACTION')}))")
    assert {one.document["part"] for one in run_all(names, (), jobs, print)} == {part}


def test_one_failure_does_not_stop_the_others(fake):
    fake(
        "if name == 'broken': sys.exit('Traceback\\nValueError: why')\n"
        "if name == 'killed': os.kill(os.getpid(), 9)\n"
        "print(json.dumps({}))"
    )
    studies = run_all(("broken", "killed", "fine"), (), 1, print)
    assert [(one.name, one.code, one.reason, one.document) for one in studies] == [
        ("broken", 1, "ValueError: why", None),
        ("killed", -9, "it ended without a word", None),
        ("fine", 0, "", {}),
    ]


def test_an_interrupt_ends_the_processes(tmp_path, fake):
    fake("open(f'{sys.argv[6]}-{os.getpid()}', 'w').close()\ntime.sleep(600)")

    def consume():
        codes.extend(study.code for study in run_all(("a", "b"), ("--out", place), 2, print))

    codes, place = [], str(tmp_path / "pid")
    thread = threading.Thread(target=consume)
    thread.start()
    while len(list(tmp_path.glob("pid-*"))) < 2:
        time.sleep(0.01)
    for end in list(_interrupt._COMMAND.endings):
        end()
    thread.join()
    assert codes == [-signal.SIGTERM] * 2
    assert _interrupt._COMMAND.endings == []


TIMES = {"total_seconds": 9.0, "compile_seconds": 4.0, "run_seconds": 2.5}
DOCUMENT = {
    "verdicts": [{"verdict": word} for word in ("holds", "holds", "undecided")],
    "diagnostics": TIMES,
}


def test_the_command_prints_all_and_fails_if_one_does(fake, privrank, tmp_path):
    fake(
        "if name == 'cai-fig8': sys.exit('privrank: no data')\n"
        f"print(json.dumps({DOCUMENT!r} | {{'given': sys.argv[5:]}}))"
    )
    command = ("reproduce", "xu-fig3", "cai-fig8", "xu-fig3", "--out", tmp_path, "--fresh")
    found = privrank(*command, "--seed", 7)
    assert found.code == 2
    assert "xu-fig3 done" in found.err
    assert "cai-fig8 failed: no data" in found.out
    line = next(line for line in found.out.splitlines() if "xu-fig3" in line)
    assert line.split() == ["xu-fig3", "2", "0", "1", "9.0", "4.0", "2.5"]
    document = privrank(*command, "--replicates", 3, "--json").json()
    given = ["--out", str(tmp_path), "--seed", "0", "--replicates", "3", "--fresh", "--json"]
    assert document["studies"] == [DOCUMENT | {"given": given}]
    assert (document["failed"], document["seed"]) == ({"cai-fig8": "no data"}, 0)
