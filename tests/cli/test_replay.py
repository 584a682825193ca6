"""Whole commands on neighbouring files: what reaches a mechanism, and that nothing else reaches the world.

Every command line that a row of :mod:`privrank_jax.privacy_audit` names is replayed (privacy_audit/replay.py) on the
edits that its own guarantee speaks of: the losses at its mechanisms add up to what it promises at most, and all that
it prints and writes afterwards is the same, as text and as JSON. Standard error is for the holder of the data.

Then the same with faults in the commands, each of which the replay has to see.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import secrets

import numpy as np
import pytest
from typer.testing import CliRunner

from privrank_jax import datasets, privacy_audit
from privrank_jax.cli import app, rank_input, rank_methods, rank_noise
from privrank_jax.cli.aggregate import METHODS as CONSENSUS
from privrank_jax.cli.aggregate import TRUSTS
from privrank_jax.cli.face import Refusal
from privrank_jax.cli.rank import METHODS
from privrank_jax.privacy_audit import replay
from privrank_jax.privacy_audit.doors import DOORS, SHUFFLED
from privrank_jax.release import exact_bound, exact_noisy_totals
from tests.cli import neighbouring

slow = pytest.mark.slow
OUT = "private.csv"


@dataclasses.dataclass(frozen=True)
class Command:
    """A command line without FILE, budget and output, and the kind of file that it is for."""

    words: str
    rankings: bool

    @property
    def kinds(self):
        """Kinds of files, see :mod:`tests.cli.neighbouring`."""
        if not self.rankings:
            return ("csv", "tsv", "parquet")
        kinds = ("wide.csv", "long.csv", "wide.tsv", "wide.parquet", "long.parquet")
        # Files without columns have no column of budgets.
        return kinds if "--epsilon-column" in self.words else (*kinds, "preflib", "order")

    def arguments(self, source, *more):
        first, *rest = self.words.split()
        budget = () if "--epsilon-column" in rest else ("--epsilon", "1")
        out = ("--out", OUT, "--force") if first == "privatize" else ()
        return [first, source, *rest, *budget, *out, *more]

    def edits(self, unit, adjacency, kind, *, last=False):
        """Neighbours of which the command makes releases: no ties and no gaps where it refuses them."""
        private = self.words.startswith("privatize")
        ties = not private or "--ties coin" in self.words
        if not self.rankings:
            return neighbouring.comparison_edits(unit, adjacency, ties=ties, last=last)
        ties, gaps = ties and kind != "order", not private and kind != "order"
        return neighbouring.ranking_edits(unit, ties=ties, gaps=gaps, nothing=kind != "preflib")

    def write(self, folder, rows, kind):
        folder.mkdir(exist_ok=True, parents=True)
        for path in folder.iterdir():
            path.unlink()
        of = neighbouring.write_rankings if self.rankings else neighbouring.write_comparisons
        return of(folder, rows, kind, "budget" in self.words).name


ROWS = [privacy_audit.get(name) for name in privacy_audit.names()]
COMMANDS = list(
    dict.fromkeys(
        Command(words, words.startswith("aggregate") or row.function == "sample")
        for row in ROWS
        for words in row.commands
    )
)
FIRST = [command for command in COMMANDS if any(command.words in row.commands[:1] for row in ROWS)]


def running(folder, words):
    """The command in that folder, as a function; it returns what the world sees."""

    def run():
        before = {path.name for path in folder.iterdir()} - {OUT}
        with contextlib.chdir(folder):
            result = CliRunner().invoke(app, words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        files = {
            path.name: path.read_bytes() for path in folder.iterdir() if path.name not in before
        }
        return {"exit code": result.exit_code, "output": result.stdout, **files}

    return run


def promises(run):
    """All that a command promises: (unit, adjacency, facts that are public), and ε."""
    seen = run()
    assert seen["exit code"] == 0
    whole = json.loads(seen["output"])["guarantee"]
    return {
        (one["unit"], one["adjacency"], frozenset(one.get("public", ()))): one["epsilon"]
        for one in (whole, *whole.get("also", ()))
    }


def reports(folder, command, edit, kind, *more, shapes=((), ("--json",)), coins=None):
    """Replays of an edit: as text and as JSON."""
    folders = [folder / side for side in ("first", "second")]
    (source,) = {
        command.write(f, rows, kind) for f, rows in zip(folders, (edit.first, edit.second))
    }
    doors = SHUFFLED if kind in ("preflib", "sparse.csv") else DOORS
    for shape in shapes:
        words = command.arguments(source, *more, *shape)
        yield replay.audit(*(running(f, words) for f in folders), doors, coins)


def hold(folder, command, kind, *, everything=True, coins=None):
    """Hold a command to its promises on files of a kind: on all edits, or on the first and on another one.

    Returns:
        The largest loss of each promise, as a share of its ε.
    """
    model = command.edits("user", "replace", kind)[0].first
    source = command.write(folder / "model", model, kind)
    promised = promises(running(folder / "model", command.arguments(source, "--json")))
    assert promised
    largest = {}
    for (unit, adjacency, public), claimed in promised.items():
        edits = command.edits(unit, adjacency, kind, last=coins is not None)
        shapes = [((), ("--json",))] * len(edits)
        if not everything:
            edits = edits[:1] + edits[1:][len(command.words) % max(len(edits) - 1, 1) :][:1]
            shapes = [[("--json",)], [()]]
        for edit, shown in zip(edits, shapes):
            more = ("--items", "e,d,c,b,a") if "items" in edit.changed else ()
            if edit.changed - {"items"} & public:
                continue
            for report in reports(folder, command, edit, kind, *more, shapes=shown, coins=coins):
                found = report.violations(claimed)
                assert not found, f"{unit} {adjacency}, {edit.name}: {'; '.join(found)}"
                share = max(largest.get((unit, adjacency), 0.0), report.measured / claimed)
                largest[unit, adjacency] = share
    return largest


# --- all rows --------------------------------------------------------------------------------------


def test_every_release_has_a_command():
    assert not [row.name for row in ROWS if row.released_by and not row.commands]


def test_every_method_is_replayed():
    """A method of the command line that no row names would escape the replays."""
    said = [command.words for command in COMMANDS]
    for method in set(METHODS) - {"none", "counts"}:
        assert any(words.startswith("rank") and f"--method {method}" in words for words in said)
    for method in set(CONSENSUS) - {"none"}:
        for trust in TRUSTS if method != "exponential" else ("central",):
            wanted = [f"--method {method}", "--trust local"]
            assert any(
                wanted[0] in words and (wanted[1] in words) == (trust == "local") for words in said
            )


@pytest.mark.parametrize("command", FIRST, ids=lambda command: command.words)
def test_a_command_of_every_row(command, tmp_path):
    kinds = command.kinds[:2]
    hold(tmp_path, command, kinds[COMMANDS.index(command) % 2], everything=False)


@slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
def test_every_command(command, tmp_path):
    """All edits, and some lose all that is promised; but a sort doesn't ask every user for all pairs."""
    kind = command.kinds[COMMANDS.index(command) % len(command.kinds)]
    largest = hold(tmp_path, command, kind)
    asks_some = "kwiksort" in command.words and "local" not in command.words
    assert asks_some or min(largest.values()) > 0.99, largest


KINDS = [
    (command, kind)
    for command in (
        Command("rank --max-per-user 2", rankings=False),
        Command("rank --max-per-user 2 --adjacency flip --items d,c,b,a,e", rankings=False),
        Command("privatize --ties coin", rankings=False),
        Command("aggregate --method borda", rankings=True),
        Command("aggregate --method borda --trust local", rankings=True),
        Command("privatize --ties coin", rankings=True),
    )
    for kind in command.kinds
]


@slow
@pytest.mark.parametrize(
    ("command", "kind"), KINDS, ids=lambda x: x if isinstance(x, str) else x.words
)
def test_every_kind_of_file(command, kind, tmp_path):
    """Here the coins are random, but the same for all who have their places in both files."""
    hold(tmp_path, command, kind, coins=None if kind == "preflib" else 7)


# --- faults ----------------------------------------------------------------------------------------

COUNTS = Command("rank --max-per-user 2", rankings=False)
REPORTS = Command("privatize --ties coin", rankings=False)
CONSENSUS_BY_BORDA = Command("aggregate --method borda", rankings=True)


def found_by_replay(folder, command, name, adjacency="replace", kind="csv"):
    """Violations of ε = 1 on the edit of that name, in one text."""
    edits = command.edits("user", adjacency, kind)
    (edit,) = (edit for edit in edits if edit.name == name)
    (report,) = reports(folder, command, edit, kind, shapes=[("--json",)])
    return "; ".join(report.violations(1.0))


def changed_counts(monkeypatch, change):
    """``change(method, data, request)`` in place of the method ``counts``."""
    method = rank_methods._METHODS["counts"]
    monkeypatch.setitem(
        rank_methods._METHODS, "counts", lambda data, request: change(method, data, request)
    )


def d_wins(data):
    """As it does in one of the neighbours of the edit ``others``."""
    totals = np.asarray(data.wins.matrix).sum(1)
    return totals[3] > totals[0]


def test_a_sensitivity_that_is_too_small(monkeypatch, tmp_path):
    half = 0.5 * rank_input.totals_sensitivity("user", "replace", 2)
    monkeypatch.setattr(rank_input, "totals_sensitivity", lambda *_: half)
    found = found_by_replay(tmp_path, COUNTS, "others")
    assert "the doors lose epsilon = 2, claimed is 1 (discrete_laplace 2)" in found
    monkeypatch.setattr("privrank_jax.release.exact_aggregation.borda_sensitivity", lambda *_: 7.5)
    assert "the doors lose" in found_by_replay(
        tmp_path, CONSENSUS_BY_BORDA, "reversed", kind="wide.csv"
    )


def test_a_bound_that_keeps_one_comparison_more(monkeypatch, tmp_path):
    monkeypatch.setattr(rank_input, "exact_bound", lambda users, most: exact_bound(users, most + 1))
    assert "the doors lose epsilon = 1.5" in found_by_replay(tmp_path, COUNTS, "others")


def test_a_number_in_a_note(monkeypatch, tmp_path):
    notes = property(lambda self: (f"{len(self.table)} comparisons were read",))
    monkeypatch.setattr(rank_input.Input, "notes", notes)
    found = found_by_replay(tmp_path, COUNTS, "fewer")
    assert "16 comparisons were read\"', then '\"14 comparisons were read\"'" in found
    assert found_by_replay(tmp_path, COUNTS, "others") == ""


def test_a_branch_on_the_data(monkeypatch, tmp_path):
    def change(method, data, request):
        result = method(data, request)
        return dataclasses.replace(result, intervals={}) if d_wins(data) else result

    changed_counts(monkeypatch, change)
    assert "output, line" in found_by_replay(tmp_path, COUNTS, "others")


def test_an_order_that_the_data_settle(monkeypatch, tmp_path):
    def change(method, data, request):
        totals = np.asarray(data.wins.matrix).sum(1)
        return dataclasses.replace(method(data, request), order=np.argsort(-totals, kind="stable"))

    changed_counts(monkeypatch, change)
    assert "output, line" in found_by_replay(tmp_path, COUNTS, "others")


def test_a_budget_that_the_data_settle(monkeypatch, tmp_path):
    def change(method, data, request):
        epsilon = 0.5 if d_wins(data) else request.epsilon
        return method(data, dataclasses.replace(request, epsilon=epsilon))

    changed_counts(monkeypatch, change)
    assert "door 1" in found_by_replay(tmp_path, COUNTS, "others")


def test_a_second_release_for_some_data(monkeypatch, tmp_path):
    def change(method, data, request):
        if d_wins(data):
            method(data, request)
        return method(data, request)

    changed_counts(monkeypatch, change)
    found = found_by_replay(tmp_path, COUNTS, "others")
    assert "discrete_laplace, was not passed before; 1 doors were passed, then 2" in found


def test_a_release_twice_at_the_whole_budget(monkeypatch, tmp_path):
    changed_counts(monkeypatch, lambda method, *given: [method(*given), method(*given)][0])
    found = found_by_replay(tmp_path, COUNTS, "others")
    assert "the doors lose epsilon = 2, claimed is 1 (discrete_laplace 1, discrete_laplace 1)" in found  # fmt: skip


def test_a_refusal_that_tells(monkeypatch, tmp_path):
    def change(method, data, request):
        if d_wins(data):
            raise Refusal("too many wins of d: leave some out, or ask others.")
        return method(data, request)

    changed_counts(monkeypatch, change)
    assert "exit code: 0, then 2" in found_by_replay(tmp_path, COUNTS, "others")


def test_noise_of_ones_own(monkeypatch, tmp_path):
    def noisy(wins, **options):
        found = exact_noisy_totals(np.zeros(4), **options)
        own = np.array([secrets.randbelow(9) - 4 for _ in range(4)])
        return dataclasses.replace(found, value=np.asarray(wins.matrix).sum(1) + own)

    monkeypatch.setattr(rank_noise, "exact_noisy_totals", noisy)
    assert "output, line" in found_by_replay(tmp_path, COUNTS, "others")


def test_a_number_in_a_file(monkeypatch, tmp_path):
    write_reports = datasets.write_reports

    def write(path, table, **options):
        columns = write_reports(path, table, **options)
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"# {int(table.reports.sum())} reports, {first[0]}\n")
        return columns

    first = []
    read = rank_input.read_table

    def reading(*given, **options):
        table = read(*given, **options)
        first[:] = [table.ties]
        return table

    monkeypatch.setattr(rank_input, "read_table", reading)
    monkeypatch.setattr(datasets, "write_reports", write)
    assert "private.csv" in found_by_replay(tmp_path, REPORTS, "tied", "flip")
    assert "private.csv" not in found_by_replay(tmp_path, REPORTS, "reversed", "flip")
