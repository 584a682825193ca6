"""What a release shows of data besides its mechanisms is public by its own guarantee: replays on neighboring files.

Each of these was once published under a guarantee that did not say so.
"""

from __future__ import annotations

import pytest

from tests.cli import neighboring, replaying
from tests.cli.neighboring import ITEMS, Edit
from tests.cli.replaying import Command

SYNTHETIC = Command("privatize --ties coin", rankings=True)
WITHOUT_USERS = Command("privatize --drop-user", rankings=True)
CONSENSUS = [
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


@pytest.mark.parametrize("command", CONSENSUS, ids=lambda command: command.words)
@pytest.mark.parametrize("edit", NOBODY, ids=lambda edit: edit.name)
def test_who_ranked_nothing_and_has_no_row(command, edit, tmp_path):
    found = replaying.leaks(tmp_path, command, "user", "replace", edit, "sparse.csv")
    assert found == "not promised"


@pytest.mark.parametrize("command", CONSENSUS, ids=lambda command: command.words)
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
    "command", [SYNTHETIC, WITHOUT_USERS, *CONSENSUS], ids=lambda command: command.words
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


@pytest.mark.parametrize("command", CONSENSUS, ids=lambda command: command.words)
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
