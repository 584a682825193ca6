"""Whole commands on neighboring files: what reaches a mechanism, and that nothing else reaches the world.

Every command line that a row of :mod:`privrank_jax.privacy_audit` names is replayed (tests/replays/replay.py) on the
edits that its own guarantee speaks of: the losses at its mechanisms add up to what it promises at most, and all that
it prints and writes afterwards is the same, as text and as JSON. Standard error is for the data holder.

Then the same with faults in the commands, each of which the replay has to see.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from privrank_jax.cli.console import Refusal
from privrank_jax.jobs import methods, ways
from privrank_jax.release.ledger import Ledger
from tests.cli import neighboring, replaying
from tests.cli.neighboring import ITEMS, Edit
from tests.cli.replaying import COMMANDS, FIRST, Command
from tests.replays import replay
from tests.replays.doors import DOORS

slow = pytest.mark.slow
COUNTS = Command("rank --method counts --max-per-user 2", rankings=False)
SCORES = Command("rank --max-per-user 2", rankings=False)
CONSENSUS = Command("aggregate --method borda", rankings=True)

# --- all rows --------------------------------------------------------------------------------------


def test_every_method_is_replayed():
    """A method of the command line that no row names would escape the replays."""
    said = [(command.words, "--trust local" in command.words) for command in COMMANDS]
    for method in methods.RANK:
        assert any(words.startswith("rank") and f"--method {method}" in words for words, _ in said)
    for method in methods.CONSENSUS.values():
        found = {local for words, local in said if f"aggregate --method {method.name}" in words}
        assert found >= {trust == "local" for trust in method.trusts if trust != "shuffled"}


@pytest.mark.parametrize("command", FIRST, ids=lambda command: command.words)
def test_a_command_of_every_row(command, tmp_path):
    kinds = command.kinds[:2]
    replaying.hold(tmp_path, command, kinds[COMMANDS.index(command) % 2], everything=False)


@slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
def test_every_command(command, tmp_path):
    """All edits, and some lose all that is promised; but a sort doesn't ask every user for all pairs."""
    kind = command.kinds[COMMANDS.index(command) % len(command.kinds)]
    largest = replaying.hold(tmp_path, command, kind)
    asks_some = "kwiksort" in command.words and "local" not in command.words
    assert asks_some or min(largest.values()) > 0.99, largest


KINDS = [
    pytest.param(command, kind, whole, marks=slow if whole else ())
    for command in (
        SCORES,
        CONSENSUS,
        Command("rank --max-per-user 2 --adjacency flip --items d,c,b,a,e", rankings=False),
        Command("rank --method counts --max-per-user 2", rankings=False, choices=True),
        Command("privatize --ties coin", rankings=False),
        Command("privatize --ties coin --drop-user", rankings=True, out="private.parquet"),
        Command("aggregate --method borda --trust local", rankings=True),
        Command("privatize --unit user", rankings=False, out="private.jsonl.gz", preferences=True),
    )
    for kind in (*command.kinds, *(() if command.preferences else command.objects))
    for whole in (False, True)
    if whole
    or (
        kind in ("jsonl", "wide.json", "places.json")
        or (command in (SCORES, CONSENSUS) and "json" in kind)
    )
]


@pytest.mark.parametrize(
    ("command", "kind", "whole"), KINDS, ids=lambda x: getattr(x, "words", str(x))
)
def test_every_kind_of_file(command, kind, whole, tmp_path):
    """Keys of JSON, their order, and keys that nothing reads are those of the user who differs.

    Where rows keep their places in both files, coins are random, but the same for all.
    """
    coins = 7 if whole and kind != "preflib" and "json" not in kind else None
    replaying.hold(tmp_path, command, kind, everything=whole, coins=coins)


@pytest.mark.parametrize(
    ("command", "name", "kind"), [(SCORES, "more", "csv"), (CONSENSUS, "reversed", "wide.csv")]
)
def test_a_release_through_a_ledger(command, name, kind, tmp_path):
    """What is left of a budget is printed as well; the ledger keeps what was promised, and how it was drawn."""
    (edit,) = (x for x in command.edits("user", "replace", kind) if x.name == name)
    for shape in ((), ("--json",)):
        runs = []
        for side, rows in (("first", edit.first), ("second", edit.second)):
            source = command.write(tmp_path / side, rows, kind)
            make = ["ledger", "data.ledger", "--data", source, "--budget", "3"]
            assert replaying.running(tmp_path / side, make)()["exit code"] == 0
            words = command.arguments(source, "--ledger", "data.ledger", *shape)
            runs.append(replaying.running(tmp_path / side, words))
        assert replay.audit(*runs, DOORS).violations(1.0) == ()
        with Ledger(tmp_path / "second" / "data.ledger") as ledger:
            (spend,) = ledger.spends()
            assert (spend.numerics, spend.privacy.epsilon, spend.privacy.delta) == ("exact", 1, 0)


@pytest.mark.parametrize(
    ("adjacency", "name", "options", "share"),
    [
        ("flip", "reversed", (), 1.0),
        ("replace", "others", (), 1.0),
        ("replace", "reversed", (), 1.0),  # a corner of what one user can change
        ("replace", "silent", (), 1.0),
        ("flip", "tied", (), 0.5),
        ("replace", "others", ("--noise", "k-norm", "--max-per-user", "3"), 1.0),
        ("flip", "reversed", ("--noise", "laplace"), 1.0),
        ("replace", "others", ("--noise", "laplace"), 1.0),
        ("replace", "reversed", ("--noise", "laplace"), 0.75),
        ("flip", "reversed", ("--method", "mle"), 1.0),
        ("flip", "reversed", ("--noise", "gaussian", "--delta", "1e-6"), 1.0),
        ("replace", "others", ("--method", "one-shot", "--top-k", "2"), 1.0),
        ("replace", "others", ("--max-per-user", "5"), 1.0),
    ],
)
def test_a_common_questionnaire(adjacency, name, options, share, monkeypatch, tmp_path):
    """Noise for users who are asked the same pairs; some move the totals by all that it is bought for."""
    (edit,) = (x for x in neighboring.survey_edits(adjacency) if x.name == name)
    options = (*options, "--adjacency", adjacency)
    found = replaying.survey_findings(tmp_path, monkeypatch, edit, *options)
    assert found.violations(1.0) == ()
    assert found.measured == pytest.approx(share)


# --- faults ----------------------------------------------------------------------------------------


def d_wins(data):
    """As it does in one of the neighbors of the edit ``others``."""
    totals = np.asarray(data.counted.matrix).sum(1)
    return totals[3] > totals[0]


def order_of_data(method, data):
    totals = np.asarray(data.counted.matrix).sum(1)
    return dataclasses.replace(method(data), order=np.argsort(-totals, kind="stable"))


def budget_by_data(method, data):
    privacy = dataclasses.replace(data.privacy, epsilon=0.5 if d_wins(data) else 1.0)
    return method(dataclasses.replace(data, privacy=privacy))


def twice_for_some(method, data):
    return [method(data) for _ in range(1 + d_wins(data))][-1]


def twice_for_all(method, data):
    return [method(data) for _ in range(2)][-1]


def refused_for_some(method, data):
    if d_wins(data):
        raise Refusal("too many wins of d: leave some out, or ask others.")
    return method(data)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (order_of_data, "output, line"),
        (budget_by_data, "call 1"),
        (twice_for_some, "1 calls of mechanisms, then 2"),
        (twice_for_all, "lose epsilon = 2"),
        (refused_for_some, "exit code: 0, then 2"),
    ],
)
def test_a_fault_in_a_command_is_seen(change, said, monkeypatch, tmp_path):
    method = ways._counts
    monkeypatch.setattr(ways, "_counts", lambda data: change(method, data))
    (edit,) = (x for x in COUNTS.edits("user", "replace", "csv") if x.name == "others")
    (found,) = replaying.findings(tmp_path, COUNTS, edit, "csv", shapes=[("--json",)])
    assert said in "; ".join(found.violations(1.0))


# --- what a release shows besides its mechanisms is public by its own guarantee


SYNTHETIC = Command("privatize --ties coin", rankings=True)
WITHOUT_USERS = Command("privatize --drop-user", rankings=True)
OF_RANKINGS = [
    pytest.param(Command(f"aggregate --method {method}", rankings=True), marks=marks)
    for method, marks in (
        ("borda", ()),
        ("borda --trust local", ()),
        ("kwiksort", pytest.mark.slow),
    )
]


def named(edits, *names):
    return [edit for edit in edits if edit.name in names]


# --- rankings with gaps ----------------------------------------------------------------------------

GAPS = named(
    neighboring.ranking_edits("user", ties=True, gaps=True, nothing=False),
    *("others", "one left", "the same two"),
)


@pytest.mark.parametrize("kind", ["wide.csv", "long.csv", "preflib"])
@pytest.mark.parametrize("edit", GAPS, ids=lambda edit: edit.name)
def test_which_items_a_user_ranked(edit, kind, tmp_path):
    assert replaying.leaks(tmp_path, SYNTHETIC, "user", "replace", edit, kind) == "refused"


@pytest.mark.parametrize("edit", GAPS, ids=lambda edit: edit.name)
def test_ranked_items_that_are_public(edit, tmp_path):
    """Then the order of these items is what is protected."""
    more = ("--public", "ranked-items")
    found = replaying.leaks(tmp_path, SYNTHETIC, "user", "replace", edit, "wide.csv", *more)
    assert found == ("" if edit.name == "the same two" else "not promised")


# --- ties ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["comparison", "user"])
@pytest.mark.parametrize("name", ["tied", "reversed"])
def test_dropped_ties(unit, name, tmp_path):
    command = Command("privatize --ties drop", rankings=False)
    (edit,) = named(neighboring.comparison_edits(unit, "flip", ties=True), name)
    found = replaying.leaks(tmp_path, command, unit, "flip", edit, "csv")
    assert found == ("" if name == "reversed" else "not promised")


# --- numbers of a loader ---------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), ("--json",)])
@pytest.mark.parametrize(
    ("adjacency", "name"),
    [("flip", "tied"), ("replace", "silent"), ("replace", "tied"), ("add-remove", "gone")],
)
def test_what_a_loader_counted(adjacency, name, shape, monkeypatch, tmp_path):
    (edit,) = named(neighboring.survey_edits(adjacency), name)
    options = ("--adjacency", adjacency, *shape)
    found = replaying.survey_findings(tmp_path, monkeypatch, edit, *options)
    assert found.violations(1.0) == ()


# --- who has no row --------------------------------------------------------------------------------

NOBODY = named(neighboring.ranking_edits("user", ties=True, gaps=True), "nothing", "something")


@pytest.mark.parametrize("command", OF_RANKINGS, ids=lambda command: command.words)
@pytest.mark.parametrize("edit", NOBODY, ids=lambda edit: edit.name)
def test_who_ranked_nothing_and_has_no_row(command, edit, tmp_path):
    found = replaying.leaks(tmp_path, command, "user", "replace", edit, "sparse.csv")
    assert found == "not promised"


@pytest.mark.parametrize("command", OF_RANKINGS, ids=lambda command: command.words)
@pytest.mark.parametrize("edit", NOBODY, ids=lambda edit: edit.name)
def test_users_without_a_row_who_were_counted(command, edit, tmp_path):
    """Where the number of users is given, participation differs as little as anything."""
    told = Edit(edit.name, edit.first, edit.second)
    more = ("--users", str(len(edit.first)), "--items", ",".join(ITEMS))
    assert replaying.leaks(tmp_path, command, "user", "replace", told, "sparse.csv", *more) == ""


@pytest.mark.parametrize("command", [SYNTHETIC, WITHOUT_USERS], ids=lambda command: command.words)
def test_a_synthetic_ranking_for_everybody_who_has_rows(command, tmp_path):
    """Everybody else ranked all items, so that there is no gap to refuse."""
    rows = [(f"u{k}", ranks) for k, ranks in enumerate(neighboring.STRICT)]
    gone = [rows[0], (rows[1][0], neighboring.NOTHING), *rows[2:]]
    for tables in ((rows, gone), (gone, rows)):
        edit = Edit("nothing", *tables, frozenset({"participation", "ranked-items"}))
        found = replaying.leaks(tmp_path, command, "user", "replace", edit, "sparse.csv")
        assert found == "not promised"


@pytest.mark.parametrize(
    "command", [SYNTHETIC, WITHOUT_USERS, *OF_RANKINGS], ids=lambda command: command.words
)
def test_names_of_users(command, tmp_path):
    """Somebody else answers the same: that shows where the file keeps its users, and nowhere else."""
    rows = [(f"u{k}", ranks) for k, ranks in enumerate([*neighboring.STRICT] * 2)]
    other = [*rows[:4], ("u99", rows[4][1]), *rows[5:]]
    edit = Edit("renamed", rows, other, frozenset({"participation"}))
    found = replaying.leaks(tmp_path, command, "user", "replace", edit, "wide.csv")
    assert found == ("not promised" if command is SYNTHETIC else "")


# --- items -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "adjacency", "name"),
    [
        ("user", "replace", "an item more"),
        ("user", "add-remove", "an item less"),
        ("comparison", "replace", "an item more"),
    ],
)
def test_items_that_one_user_alone_names(unit, adjacency, name, tmp_path):
    bound = "--max-per-user 2" if unit == "user" else "--unit comparison"
    command = Command(f"rank --adjacency {adjacency} {bound}", rankings=False)
    (edit,) = named(neighboring.comparison_edits(unit, adjacency, ties=True), name)
    assert replaying.leaks(tmp_path, command, unit, adjacency, edit, "csv") == "not promised"


@pytest.mark.parametrize("command", OF_RANKINGS, ids=lambda command: command.words)
def test_items_that_one_ranking_alone_has(command, tmp_path):
    others = [(f"u{k}", (1 + k % 3, 1 + (k + 1) % 3, 1 + (k + 2) % 3, None)) for k in range(9)]
    more = [*others[:4], ("u4", (4, 3, 2, 1)), *others[5:]]
    edit = Edit("an item more", others, more, frozenset({"items", "ranked-items"}))
    found = replaying.leaks(tmp_path, command, "user", "replace", edit, "long.csv")
    assert found == "not promised"


# --- budgets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("drop", ["", " --drop-user"])
def test_personal_budgets(drop, tmp_path):
    """Somebody with another ε, too."""
    command = Command(f"privatize --epsilon-column budget{drop}", rankings=True)
    rows = [(f"u{k}", ranks) for k, ranks in enumerate(neighboring.STRICT)]
    other = [*rows[:4], ("u99", rows[4][1]), *rows[5:]]
    edit = Edit("renamed", rows, other, frozenset({"participation", "budgets"}))
    found = replaying.leaks(tmp_path, command, "user", "replace", edit, "wide.csv")
    assert found == "not promised"
