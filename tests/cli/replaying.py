"""Runs of whole commands on neighboring files, for replays (tests/replays/replay.py)."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path
from unittest import mock

from privrank_jax import privacy_audit
from privrank_jax.data import named
from privrank_jax.jobs.mechanisms import Randomness
from tests.cli import neighboring
from tests.invoked import invoke
from tests.replays import replay
from tests.replays.commands import COMMANDS_OF
from tests.replays.doors import DOORS


@dataclasses.dataclass(frozen=True)
class Command:
    """A command line without FILE, budget and output; the kind of file that it is for; the file that it may write."""

    words: str
    rankings: bool
    out: str = "private.csv"
    preferences: bool = False
    choices: bool = False

    @property
    def rated(self):
        """Whether its cells are ratings."""
        return "--ratings" in self.words

    @property
    def kinds(self):
        """Kinds of files, see :mod:`tests.cli.neighboring`; those of JSON are :attr:`objects`."""
        if self.preferences:
            return ("jsonl", "jsonl.gz")
        if not self.rankings:
            return ("csv", "tsv", "parquet")
        kinds = ("wide.csv", "long.csv", "wide.tsv", "wide.parquet", "long.parquet")
        # Files without columns have no column of budgets.
        without = "--epsilon-column" in self.words or self.rated
        return kinds if without else (*kinds, "preflib")

    @property
    def objects(self):
        """Kinds of files of JSON, with the keys of the user who differs, in every shape."""
        if self.preferences:
            return ()
        if not self.rankings:
            return ("json", "jsonl") if self.choices else ("json", "jsonl", "battles.jsonl")
        return ("wide.json", "wide.jsonl", "long.jsonl", "places.json", "orders.jsonl")

    def arguments(self, source, *more):
        first, *rest = self.words.split()
        budget = () if "--epsilon-column" in rest else ("--epsilon", "1")
        out = ("--out", self.out, "--force") if first == "privatize" else ()
        items = () if self.preferences or "--items" in (*rest, *more) else ("--items", "seen")
        return [first, source, *rest, *budget, *out, *items, *more]

    def listed(self, kind, edit):
        """All items of an edit, as an option; of a file that lists its items none."""
        if self.preferences or "--items" in self.words or kind == "preflib":
            return ()
        return ("--items", "e,d,c,b,a" if "items" in edit.changed else "d,c,b,a")

    def edits(self, unit, adjacency, kind, *, last=False):
        """Neighbors of which the command makes releases: no ties and no gaps where it refuses them."""
        private = self.words.startswith("privatize")
        ties = not (private or self.choices) or "--ties" in self.words
        if self.preferences:
            return neighboring.preference_edits(unit, ties=ties)
        if not self.rankings:
            return neighboring.comparison_edits(unit, adjacency, ties=ties, last=last)
        said = {
            "ties": ties and kind != "places.json",
            "gaps": not private and kind != "places.json",
            "nothing": kind != "preflib",
        }
        return neighboring.ranking_edits("rating" if self.rated else unit, adjacency, **said)

    def write(self, folder, rows, kind):
        folder.mkdir(exist_ok=True, parents=True)
        for path in folder.iterdir():
            path.unlink()
        if self.preferences:
            return neighboring.write_preferences(folder, rows, kind).name
        if self.choices:
            return neighboring.write_choices(folder, rows, kind).name
        made = neighboring.write_rankings if self.rankings else neighboring.write_comparisons
        return made(folder, rows, kind, self.words).name


COMMANDS = list(
    dict.fromkeys(
        Command(words, rankings=False, out="private.jsonl", preferences=True)
        if row.name == "preference-labels"
        else Command(
            words,
            words.startswith("aggregate") or row.function == "sample",
            choices=row.name.endswith("-choices"),
        )
        for row in map(privacy_audit.get, COMMANDS_OF)
        for words in COMMANDS_OF[row.name]
    )
)
FIRST = [
    command for command in COMMANDS if any(command.words == of[0] for of in COMMANDS_OF.values())
]


def running(folder, words):
    """The command in that folder, as a function; it returns what the world sees."""

    def run():
        for path in folder.glob("private.*"):  # of a run before this
            path.unlink()
        before = {path.name for path in folder.iterdir()}
        with contextlib.chdir(folder):
            result = invoke(words)
        files = {
            path.name: path.read_bytes() for path in folder.iterdir() if path.name not in before
        }
        return {"exit code": result.exit_code, "output": result.stdout, **files}

    return run


def promises(run):
    """All that a command promises: (unit, adjacency, facts that are public), and ε."""
    seen = run()
    assert seen["exit code"] == 0
    document = json.loads(seen["output"])
    whole = document["guarantee"]
    assert whole["numerics"] == "exact"
    assert "seed" not in document.get("diagnostics", {})
    return {
        (one["unit"], one["adjacency"], frozenset(one.get("public", ()))): one["epsilon"]
        for one in (whole, *whole.get("also", ()))
    }


def both(folder, command, edit, kind, *more):
    """The command on the two files of an edit, as functions."""
    runs = []
    for side, rows in (("first", edit.first), ("second", edit.second)):
        source = command.write(folder / side, rows, kind)
        runs.append(running(folder / side, command.arguments(source, *more)))
    return runs


def findings(folder, command, edit, kind, *more, shapes=((), ("--json",)), coins=None):
    """Replays of an edit: as text and as JSON; the first of two runs makes a release, or nothing would be compared."""
    for shape in shapes:
        first, second = both(folder, command, edit, kind, *more, *shape)
        recording = replay.record(first, DOORS, coins)
        assert recording.seen["exit code"] == 0, recording.seen
        yield replay.compare(recording, replay.record(second, DOORS, coins, recording))


def leaks(folder, command, unit, adjacency, edit, kind, *more):
    """What contradicts the promises of a command that speak of this edit, "" if nothing does.

    A promise speaks of it unless what differs is public by it. ``"not promised"`` where none does, ``"refused"`` where
    the command refuses both files alike.
    """
    runs = both(folder, command, edit, kind, *more, "--json")
    seen = [run() for run in runs]
    if seen[0]["exit code"]:
        same = seen[0] == seen[1] and seen[0].keys() == {"exit code", "output"}
        return "refused" if same else f"{seen[0]}, then {seen[1]}"
    claims = [
        claimed
        for (of, differing, public), claimed in promises(runs[0]).items()
        if (of, differing) == (unit, adjacency) and not edit.changed & public
    ]
    if not claims:
        return "not promised"
    found = findings(folder, command, edit, kind, *more)
    return "; ".join(words for each in found for words in each.violations(min(claims)))


def survey_findings(folder, monkeypatch, edit, *options):
    """Replay of ``rank cemspc`` on surveys of that form."""
    monkeypatch.setattr(named, "read", lambda file, _: Path(file).read_text())
    folders = [folder / side for side in ("first", "second")]
    for one, rows in zip(folders, (edit.first, edit.second)):
        neighboring.write_survey(one, rows)
    words = Command("rank", rankings=False).arguments("cemspc", *options)
    return replay.audit(*(running(one, words) for one in folders), DOORS)


def hold(folder, command, kind, *, everything=True, coins=None):
    """Hold a command to its promises on files of a kind: on all edits, or on the first and on another one.

    In every second run the items are listed, in the others those are public that the file names.

    Returns:
        The largest loss of each promise, as a share of its ε.
    """
    model = command.edits("user", "replace", kind)[0]
    with mock.patch.object(Randomness, "key", None):  # nothing comes from generators of JAX
        promised = promises(both(folder, command, model, kind, "--json")[0])
    assert promised
    largest = {}
    for (unit, adjacency, public), claimed in promised.items():
        edits = command.edits(unit, adjacency, kind, last=coins is not None)
        shapes = [((), ("--json",))] * len(edits)
        if not everything:
            first, *rest = edits
            if not command.rankings:  # programs for another number of items are compiled anew
                rest = [edit for edit in rest if "items" not in edit.changed]
            edits = [first, *rest[len(command.words) % max(len(rest), 1) :][:1]]
            shapes = [[()], [("--json",)]]
        for number, (edit, shown) in enumerate(zip(edits, shapes)):
            more = command.listed(kind, edit) if "items" in edit.changed or number % 2 else ()
            if edit.changed - {"items"} & public:
                continue
            for each in findings(folder, command, edit, kind, *more, shapes=shown, coins=coins):
                found = each.violations(claimed)
                assert not found, f"{unit} {adjacency}, {edit.name}: {'; '.join(found)}"
                share = max(largest.get((unit, adjacency), 0.0), each.measured / claimed)
                largest[unit, adjacency] = share
    return largest
