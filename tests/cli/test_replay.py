"""Whole commands on neighboring files: what reaches a mechanism, and that nothing else reaches the world.

Every command line that a row of :mod:`privrank_jax.privacy_audit` names is replayed (tests/replays/replay.py) on the
edits that its own guarantee speaks of: the losses at its mechanisms add up to what it promises at most, and all that
it prints and writes afterwards is the same, as text and as JSON. Standard error is for the data holder.

Then the same with faults in the commands, each of which the replay has to see.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from privrank_jax.cli.console import Refusal
from privrank_jax.jobs import methods, ways
from privrank_jax.release.ledger import Ledger
from tests.cli import neighboring, replaying
from tests.cli.neighboring import ITEMS, Edit
from tests.cli.replaying import COMMANDS, FIRST, Command
from tests.quick import thorough
from tests.replays import replay
from tests.replays.doors import DOORS

slow = pytest.mark.slow
OF_DESIGN = {f"rank --unit comparison{more}" for more in ("", " --method scores")} | {
    f"rank --max-per-user 2{more}"
    for more in ("", " --top-k 2", " --noise gaussian --delta 1e-6", " --adjacency add-remove")
}
COUNTS = Command("rank --method counts --max-per-user 2", rankings=False)
SCORES = Command("rank --max-per-user 2", rankings=False)
CONSENSUS = Command("aggregate --method borda", rankings=True)


def named(edits, *names):
    return [edit for edit in edits if edit.name in names]


# --- all rows --------------------------------------------------------------------------------------


def test_every_method_is_replayed():
    """A method of the command line that no row names would escape the replays."""
    said = [(command.words, "--trust local" in command.words) for command in COMMANDS]
    for method in methods.RANK:
        assert any(words.startswith("rank") and f"--method {method}" in words for words, _ in said)
    for method in methods.CONSENSUS.values():
        found = {local for words, local in said if f"aggregate --method {method.name}" in words}
        assert found >= {trust == "local" for trust in method.trusts if trust != "shuffled"}


def late(words):
    """Whether it has the mechanism of others with other noise or links, or one that is held in tests/release too."""
    return any(one in words for one in ("--method mle", "--noise", "--link"))


@pytest.mark.parametrize(
    "command",
    [pytest.param(one, marks=slow if late(one.words) else ()) for one in FIRST],
    ids=lambda command: command.words,
)
def test_a_command_of_every_row(command, tmp_path):
    kinds = command.kinds[:2]
    replaying.hold(tmp_path, command, kinds[COMMANDS.index(command) % 2], everything=False)


@slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
def test_every_command(command, tmp_path):
    """All edits, and some lose all that is promised; but a sort doesn't ask every user for all pairs.

    Of the tenth that buys intervals as much is lost as the scores allow that were drawn.
    """
    kind = command.kinds[COMMANDS.index(command) % len(command.kinds)]
    largest = replaying.hold(tmp_path, command, kind)
    asks_some = "kwiksort" in command.words and "local" not in command.words
    least = 0.899 if command.words in OF_DESIGN and not command.choices else 0.99
    assert asks_some or min(largest.values()) > least, largest


KINDS = [
    pytest.param(command, kind, whole, marks=slow if whole or ",e" in command.words else ())
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
    for kind in (*command.kinds, *command.objects)
    for whole in (False, True)
    if whole
    or kind in ("jsonl", "places.json")
    or (command in (SCORES, CONSENSUS) and kind in ("battles.jsonl", "wide.json", "orders.jsonl"))
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
    (edit,) = named(command.edits("user", "replace", kind), name)
    for shape in ((), ("--json",)):
        runs = replaying.both(tmp_path, command, edit, kind, "--ledger", "data.ledger", *shape)
        make = ["ledger", "data.ledger", "--data", f"data.{kind[-3:]}", "--budget", "3"]
        for side in ("first", "second"):
            assert replaying.running(tmp_path / side, make)()["exit code"] == 0
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
        ("flip", "tied", ("--json",), 0.5),
        ("replace", "silent", ("--json",), 1.0),
        ("replace", "tied", (), 1.0),
        ("add-remove", "gone", ("--json", "--intervals", "none"), 1.0),
        ("replace", "others", ("--noise", "k-norm", "--max-per-user", "3"), 1.0),
        thorough("flip", "reversed", ("--noise", "laplace"), 1.0),
        thorough("replace", "others", ("--noise", "laplace"), 1.0),
        thorough("replace", "reversed", ("--noise", "laplace"), 0.75),
        thorough("flip", "reversed", ("--method", "mle"), 1.0),
        thorough("flip", "reversed", ("--noise", "gaussian", "--delta", "1e-6"), 1.0),
        ("replace", "others", ("--method", "one-shot", "--top-k", "2"), 1.0),
        thorough("replace", "others", ("--max-per-user", "5"), 1.0),
    ],
)
def test_a_common_questionnaire(adjacency, name, options, share, monkeypatch, tmp_path):
    """Noise for users who are asked the same pairs; some move the totals by all that it is bought for."""
    (edit,) = named(neighboring.survey_edits(adjacency), name)
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
LOCAL = Command("aggregate --method borda --trust local", rankings=True)
KWIKSORT = Command("aggregate --method kwiksort", rankings=True)
OF_RANKINGS = (CONSENSUS, LOCAL, KWIKSORT)
BUDGETED = [
    Command(f"privatize --epsilon-column budget{drop}", rankings=True)
    for drop in ("", " --drop-user")
]


def replaced(first, second, *changed):
    return Edit("another", first, second, frozenset(changed))


GAPS = neighboring.ranking_edits("user", "replace", ties=True, gaps=True, nothing=False)
GAPS = named(GAPS, "others", "one left", "the same two")
NOBODY = neighboring.ranking_edits("user", "replace", ties=True, gaps=True)
NOBODY = named(NOBODY, "nothing", "something")
UNCHANGED = [dataclasses.replace(edit, changed=frozenset()) for edit in NOBODY]
RANKED = ("--public", "ranked-items")
GIVEN = ("--users", str(len(NOBODY[0].first)), "--items", ",".join(ITEMS))
STRICT = [(f"u{k}", ranks) for k, ranks in enumerate(neighboring.STRICT)]
GONE = [STRICT[0], ("u1", neighboring.NOTHING), *STRICT[2:]]
SPARSE = [replaced(*x, "participation", "ranked-items") for x in ((STRICT, GONE), (GONE, STRICT))]
RENAMED = [*STRICT[:4], ("u99", STRICT[4][1]), *STRICT[5:]]
THREE = [(f"u{k}", neighboring.ranks(("123.", "231.", "312.")[k % 3])) for k in range(9)]
FOUR = [*THREE[:4], ("u4", (4, 3, 2, 1)), *THREE[5:]]
WIDE, NOT = ("wide.csv",), "not promised"

# Commands, what one user changes, kinds of files, options, and what is found.
LEAKS = [
    # Which items a user ranked; the order of these is what is protected where they are public.
    ((SYNTHETIC,), GAPS, ("wide.csv", "long.csv", "preflib"), (), "refused"),
    ((SYNTHETIC,), GAPS[:2], WIDE, RANKED, NOT),
    ((SYNTHETIC,), GAPS[2:], WIDE, RANKED, ""),
    # Users without a row; where the number of users is given, participation differs as little as anything.
    (OF_RANKINGS, NOBODY, ("sparse.csv",), (), NOT),
    (OF_RANKINGS, UNCHANGED, ("sparse.csv",), GIVEN, ""),
    # Everybody else ranked all items, so that there is no gap to refuse.
    ((SYNTHETIC, WITHOUT_USERS), SPARSE, ("sparse.csv",), (), NOT),
    # Somebody else answers the same: that shows where the file keeps its users, and nowhere else.
    ((SYNTHETIC,), [replaced(STRICT, RENAMED, "participation")], WIDE, (), NOT),
    ((WITHOUT_USERS, CONSENSUS, LOCAL), [replaced(STRICT, RENAMED, "participation")], WIDE, (), ""),
    # Somebody with another ε, too.
    (BUDGETED, [replaced(STRICT, RENAMED, "participation", "budgets")], WIDE, (), NOT),
    # An item that one user alone names.
    (OF_RANKINGS, [replaced(THREE, FOUR, "items", "ranked-items")], ("long.csv",), (), NOT),
]
OF_USERS = [
    pytest.param(*row, more, found, marks=slow if row[0] in (LOCAL, KWIKSORT) else ())
    for commands, edits, kinds, more, found in LEAKS
    for row in itertools.product(commands, edits, kinds)
]


@pytest.mark.parametrize(("command", "edit", "kind", "more", "found"), OF_USERS)
def test_nothing_else_is_shown_of_rankings(command, edit, kind, more, found, tmp_path):
    assert replaying.leaks(tmp_path, command, "user", "replace", edit, kind, *more) == found


@pytest.mark.parametrize(
    ("words", "unit", "adjacency", "name", "found"),
    [
        ("privatize --ties drop", "user", "flip", "reversed", ""),
        ("privatize --ties drop", "comparison", "flip", "reversed", ""),
        ("privatize --ties drop", "user", "flip", "tied", NOT),
        ("privatize --ties drop", "comparison", "flip", "tied", NOT),
        ("rank --method counts --max-per-user 2", "user", "replace", "an item more", NOT),
        (
            "rank --method counts --max-per-user 2 --adjacency add-remove",
            "user",
            "add-remove",
            "an item less",
            NOT,
        ),
        ("rank --method counts --unit comparison", "comparison", "replace", "an item more", NOT),
    ],
)
def test_nothing_else_is_shown_of_comparisons(words, unit, adjacency, name, found, tmp_path):
    (edit,) = named(neighboring.comparison_edits(unit, adjacency, ties=True), name)
    command = Command(words, rankings=False)
    assert replaying.leaks(tmp_path, command, unit, adjacency, edit, "csv") == found
