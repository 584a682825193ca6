"""Whole commands on neighbouring files: what reaches a mechanism, and that nothing else reaches the world.

Every command line that a row of :mod:`privrank_jax.privacy_audit` names is replayed (privacy_audit/replay.py) on all
edits that its own guarantee speaks of: the losses at its mechanisms add up to what it promises at most, and all that
it prints and writes afterwards is the same, as text and as JSON. Standard error is for the holder of the data.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privrank_jax import privacy_audit
from privrank_jax.cli import app
from privrank_jax.privacy_audit import replay
from privrank_jax.privacy_audit.doors import DOORS, SHUFFLED
from tests.cli import neighbouring

slow = pytest.mark.slow
EPSILON = 1.0
OUT = "private.csv"
COMMANDS = {
    command: row
    for row in map(privacy_audit.get, privacy_audit.names())
    for command in (f"{line} # {row.name}" for line in row.commands)
}


def rankings_of(command):
    return command.startswith("aggregate") or "mallows" in command


def arguments(command, source, *more):
    words = command.partition(" #")[0].split()
    budget = () if "--epsilon-column" in words else ("--epsilon", str(EPSILON))
    out = ("--out", OUT, "--force") if words[0] == "privatize" else ()
    return [words[0], source, *words[1:], *budget, *out, *more]


def running(folder, words):
    """The command in that folder, as a function; what the world sees of it."""

    def run():
        before = {path.name for path in folder.iterdir()} - {OUT}
        with contextlib.chdir(folder):
            result = CliRunner().invoke(app, words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        files = {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in before}
        return {"exit code": result.exit_code, "output": result.stdout, **files}

    return run


def promises(run):
    """(unit, adjacency) to ε of all that a command promises."""
    seen = run()
    assert seen["exit code"] == 0
    whole = json.loads(seen["output"])["guarantee"]
    return {(one["unit"], one["adjacency"]): one["epsilon"] for one in (whole, *whole.get("also", ()))}


def edits_of(command, unit, adjacency, kind, last=False):
    if rankings_of(command):
        private = command.startswith("privatize")
        return neighbouring.ranking_edits(
            unit,
            ties="--ties coin" in command or not (private or kind == "order"),
            gaps=not private and kind != "order",
            nothing=kind != "preflib",
        )
    ties = not command.startswith("privatize") or "--ties coin" in command
    return neighbouring.comparison_edits(unit, adjacency, ties=ties, last=last)


def write(folder, command, rows, kind):
    folder.mkdir(exist_ok=True, parents=True)
    for path in folder.iterdir():
        path.unlink()
    writer = neighbouring.write_rankings if rankings_of(command) else neighbouring.write_comparisons
    return writer(folder, rows, kind, "budget" in command).name


def replayed(folder, command, edit, kind, *more, coins=None, doors=None):
    """Reports on an edit: as text and as JSON."""
    folders = [folder / side for side in ("first", "second")]
    sources = [write(f, command, rows, kind) for f, rows in zip(folders, (edit.first, edit.second))]
    assert len(set(sources)) == 1
    if edit.public:
        more = (*more, "--items", "e,d,c,b,a")
    if doors is None:
        doors = SHUFFLED if kind == "preflib" else DOORS
    reports = []
    for shape in ((), ("--json",)):
        words = arguments(command, sources[0], *more, *shape)
        reports.append(replay.audit(*(running(f, words) for f in folders), doors, coins))
    return reports


KINDS = {
    True: ("wide.csv", "long.csv", "preflib", "wide.parquet", "order", "long.parquet", "wide.tsv"),
    False: ("csv", "parquet", "tsv"),
}


def everything(folder, command, kind, coins=None):
    """Replay all that the command promises; the largest loss by (unit, adjacency), in shares of the promise."""
    first = edits_of(command, *next(iter(MODEL[rankings_of(command)])), kind)[0]
    folder.mkdir()
    source = write(folder / "base", command, first.first, kind)
    promised = promises(running(folder / "base", arguments(command, source, "--json")))
    largest = {}
    for (unit, adjacency), claimed in promised.items():
        for edit in edits_of(command, unit, adjacency, kind, last=coins is not None):
            for report in replayed(folder, command, edit, kind, coins=coins):
                found = report.violations(claimed)
                assert not found, f"{unit} {adjacency}, {edit.name}: {'; '.join(found)}"
                key = (unit, adjacency)
                largest[key] = max(largest.get(key, 0), report.measured / claimed)
    assert largest
    return largest


MODEL = {True: [("user", "replace")], False: [("user", "flip")]}


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command, tmp_path):
    kinds = KINDS[rankings_of(command)]
    kind = kinds[list(COMMANDS).index(command) % len(kinds)]
    print(everything(tmp_path / "x", command, kind))
