"""Whole commands on neighboring files: what reaches a mechanism, and that nothing else reaches the world.

Every command line that a row of :mod:`privrank_jax.privacy_audit` names is replayed (privacy_audit/replay.py) on the
edits that its own guarantee speaks of: the losses at its mechanisms add up to what it promises at most, and all that
it prints and writes afterwards is the same, as text and as JSON. Standard error is for the data holder.

Then the same with faults in the commands, each of which the replay has to see.
"""

from __future__ import annotations

import dataclasses
import itertools
import secrets
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.cli.console import Refusal
from privrank_jax.comparisons import WinCounts
from privrank_jax.exact.spanning_trees import Graph
from privrank_jax.jobs import comparisons as of_comparisons
from privrank_jax.jobs import methods, randomize
from privrank_jax.jobs.result import Certainty
from privrank_jax.mechanism import Change
from privrank_jax.pairwise import noisy_counts, perturbed_mle
from privrank_jax.pairwise.questionnaire_noise import questionnaire_changes
from privrank_jax.pairwise.totals_noise import totals_sensitivity
from privrank_jax.privacy_audit import replay
from privrank_jax.privacy_audit.doors import DOORS
from privrank_jax.release import exact_bound
from privrank_jax.release import perturbed_mle as exact_scores
from privrank_jax.release.ledger import Ledger
from tests.cli import neighboring, replaying
from tests.cli.replaying import COMMANDS, FIRST, Command
from tests.promises import promise

slow = pytest.mark.slow
COUNTS = Command("rank --method counts --max-per-user 2", rankings=False)
SCORES = Command("rank --max-per-user 2", rankings=False)
CONSENSUS = Command("aggregate --method borda", rankings=True)

# --- all rows --------------------------------------------------------------------------------------


def test_every_method_is_replayed():
    """A method of the command line that no row names would escape the replays."""
    said = [command.words for command in COMMANDS]
    for method in methods.RANK:
        assert any(words.startswith("rank") and f"--method {method}" in words for words in said)
    for method in methods.CONSENSUS.values():
        for trust in method.trusts:
            wanted = [f"--method {method.name}", "--trust local"]
            assert any(
                words.startswith("aggregate")
                and wanted[0] in words
                and (wanted[1] in words) == (trust == "local")
                for words in said
            )


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


OBJECTS = [
    (command, kind)
    for command in (
        COUNTS,
        SCORES,
        CONSENSUS,
        Command("privatize --ties coin", rankings=False),
        Command("privatize --ties coin --drop-user", rankings=True),
        Command("rank --method counts --max-per-user 2", rankings=False, choices=True),
    )
    for kind in command.objects
    if command in (SCORES, CONSENSUS) or kind in ("jsonl", "wide.json", "places.json")
]


@pytest.mark.parametrize(
    ("command", "kind"), OBJECTS, ids=lambda x: x if isinstance(x, str) else x.words
)
def test_objects_of_json(command, kind, tmp_path):
    """Keys, their order, and keys that nothing reads are those of the user who differs."""
    replaying.hold(tmp_path, command, kind, everything=False)


KINDS = [
    (command, kind)
    for command in (
        SCORES,
        Command("rank --max-per-user 2 --adjacency flip --items d,c,b,a,e", rankings=False),
        Command("privatize --ties coin", rankings=False),
        Command("privatize --ties coin --drop-user", rankings=False, out="private.parquet"),
        Command("aggregate --method borda", rankings=True),
        Command("aggregate --method borda --trust local", rankings=True),
        Command("privatize --ties coin", rankings=True, out="private.parquet"),
        Command("privatize --unit user", rankings=False, out="private.jsonl.gz", preferences=True),
    )
    for kind in (*command.kinds, *(() if command.preferences else command.objects))
]


@slow
@pytest.mark.parametrize(
    ("command", "kind"), KINDS, ids=lambda x: x if isinstance(x, str) else x.words
)
def test_every_kind_of_file(command, kind, tmp_path):
    """Here the coins are random, but the same for all who have their places in both files."""
    replaying.hold(
        tmp_path, command, kind, coins=None if kind == "preflib" or "json" in kind else 7
    )


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

REPORTS = Command("privatize --ties coin", rankings=False)
CONSENSUS_BY_LAPLACE = Command("aggregate --method borda --noise laplace", rankings=True)


def found_by_replay(folder, command, name, adjacency="replace", kind="csv"):
    """Violations of ε = 1 on the edit of that name, in one text."""
    edits = command.edits("user", adjacency, kind)
    (edit,) = (edit for edit in edits if edit.name == name)
    (found,) = replaying.findings(folder, command, edit, kind, shapes=[("--json",)])
    return "; ".join(found.violations(1.0))


def changed_counts(monkeypatch, change):
    """``change(method, data, asked)`` in place of the method ``counts``."""
    method = of_comparisons._counts
    monkeypatch.setattr(of_comparisons, "_counts", lambda data, asked: change(method, data, asked))


def d_wins(data):
    """As it does in one of the neighbors of the edit ``others``."""
    totals = np.asarray(data.wins.matrix).sum(1)
    return totals[3] > totals[0]


def test_a_sensitivity_that_is_too_small(monkeypatch, tmp_path):
    half = 0.5 * totals_sensitivity(promise(1.0, "user", contributions=2))
    monkeypatch.setattr(of_comparisons, "totals_sensitivity", lambda *_, **__: half)
    found = found_by_replay(tmp_path, COUNTS, "others")
    assert "the mechanisms lose epsilon = 2, claimed is 1 (discrete_laplace 2)" in found
    monkeypatch.setattr("privrank_jax.mechanism.change.Change.size", lambda *_: 7.5)
    assert "the mechanisms lose" in found_by_replay(
        tmp_path, CONSENSUS_BY_LAPLACE, "reversed", kind="wide.csv"
    )


@pytest.mark.parametrize(("method", "name"), [("borda", "zonotope"), ("noise-all", "cube")])
def test_a_change_that_is_too_small(method, name, monkeypatch, tmp_path):
    """K-norm noise for users of whom each moves a pair by half of what a reversed ranking does."""
    made = Change.__init__
    monkeypatch.setattr(
        Change,
        "__init__",
        lambda one, largest, body, _, **more: made(one, largest, body, 1, **more),
    )
    command = Command(f"aggregate --method {method}", rankings=True)
    found = found_by_replay(tmp_path, command, "reversed", kind="wide.csv")
    assert f"the mechanisms lose epsilon = 2, claimed is 1 (discrete_{name} 2)" in found


def test_a_shape_that_leaves_pairs_out(monkeypatch, tmp_path):
    """A path of the items: all pairs of two from two others move along its middle. And two components."""
    for left_out, lost in ((), "4"), (((1, 2),), "inf"):
        monkeypatch.setattr(
            "privrank_jax.exact.spanning_trees.Graph.of_counts",
            lambda counts, left_out=left_out: Graph(
                [pair for pair in itertools.pairwise(range(len(counts))) if pair not in left_out],
                len(counts),
            ),
        )
        found = found_by_replay(tmp_path, CONSENSUS, "reversed", kind="wide.csv")
        assert f"the mechanisms lose epsilon = {lost}, claimed is 1 (discrete_zonotope" in found


def survey_leaks(folder, monkeypatch, name, adjacency="replace"):
    (edit,) = (x for x in neighboring.survey_edits(adjacency) if x.name == name)
    options = ("--adjacency", adjacency)
    found = replaying.survey_findings(folder, monkeypatch, edit, *options)
    return "; ".join(found.violations(1.0))


def test_answers_that_flip_but_are_never_missing(monkeypatch, tmp_path):
    """K-norm noise for flips, where users may be replaced by some who leave questions out."""
    monkeypatch.setattr(
        "privrank_jax.pairwise.questionnaire_noise.questionnaire_changes",
        lambda counts, adjacency: questionnaire_changes(counts, "flip"),
    )
    found = survey_leaks(tmp_path, monkeypatch, "silent")
    assert "the mechanisms lose epsilon = inf, claimed is 1 (discrete_zonotope inf)" in found


def test_a_questionnaire_that_the_data_settle(monkeypatch, tmp_path):
    """Pairs that are asked are public, those that are answered are not."""

    def answered(table, *_, **__):
        return "k-norm", table.questionnaire[: 14 if len(table) % 2 else 15]

    monkeypatch.setattr(of_comparisons, "_noise", answered)
    found = survey_leaks(tmp_path, monkeypatch, "silent")
    assert "call 1: privrank_jax.exact.k_norm:discrete_zonotope with" in found


def test_a_bound_that_keeps_one_comparison_more(monkeypatch, tmp_path):
    monkeypatch.setattr(
        of_comparisons, "exact_bound", lambda users, most: exact_bound(users, most + 1)
    )
    assert "the mechanisms lose epsilon = 1.5" in found_by_replay(tmp_path, COUNTS, "others")


def test_a_ridge_that_the_data_settle(monkeypatch, tmp_path):
    """How many comparisons there are is private, where users are replaced by others."""
    module = sys.modules[perturbed_mle.__module__]
    monkeypatch.setattr(module, "default_gamma", lambda wins, *_, **__: 9.0 + wins.matrix.sum())
    assert "call 1" in found_by_replay(tmp_path, SCORES, "fewer")
    assert found_by_replay(tmp_path, SCORES, "others") == ""


def test_noise_of_objective_perturbation_that_is_too_small(monkeypatch, tmp_path):
    """As if users had one comparison each."""
    calibrated = exact_scores.calibrated_fit

    def short(wins, privacy, **options):
        return calibrated(wins, dataclasses.replace(privacy, contributions=1), **options)

    monkeypatch.setattr(exact_scores, "calibrated_fit", short)
    found = found_by_replay(tmp_path, SCORES, "others")
    assert (
        "claimed is 1 (perturbed_scores 1.8, laplace_mechanism 0.0225, laplace_mechanism 0.07)"
        in found
    )


def test_a_number_in_a_note(monkeypatch, tmp_path):
    notes = of_comparisons.notes_on

    def telling(table):
        return (*notes(table), f"{len(table)} comparisons were read")

    monkeypatch.setattr(of_comparisons, "notes_on", telling)
    found = found_by_replay(tmp_path, COUNTS, "fewer")
    assert "16 comparisons were read\"', then '\"14 comparisons were read\"'" in found
    assert found_by_replay(tmp_path, COUNTS, "others") == ""


def test_a_branch_on_the_data(monkeypatch, tmp_path):
    def change(method, data, asked):
        result = method(data, asked)
        return dataclasses.replace(result, certainty=Certainty()) if d_wins(data) else result

    changed_counts(monkeypatch, change)
    assert "output, line" in found_by_replay(tmp_path, COUNTS, "others")


def test_an_order_that_the_data_settle(monkeypatch, tmp_path):
    def change(method, data, asked):
        totals = np.asarray(data.wins.matrix).sum(1)
        return dataclasses.replace(method(data, asked), order=np.argsort(-totals, kind="stable"))

    changed_counts(monkeypatch, change)
    assert "output, line" in found_by_replay(tmp_path, COUNTS, "others")


def test_a_budget_that_the_data_settle(monkeypatch, tmp_path):
    def change(method, data, asked):
        epsilon = 0.5 if d_wins(data) else data.promise.epsilon
        privacy = dataclasses.replace(data.privacy, epsilon=epsilon)
        return method(dataclasses.replace(data, privacy=privacy), asked)

    changed_counts(monkeypatch, change)
    assert "call 1" in found_by_replay(tmp_path, COUNTS, "others")


def test_a_second_release_for_some_data(monkeypatch, tmp_path):
    def change(method, data, asked):
        if d_wins(data):
            method(data, asked)
        return method(data, asked)

    changed_counts(monkeypatch, change)
    found = found_by_replay(tmp_path, COUNTS, "others")
    assert "discrete_laplace, was not made before; 1 calls of mechanisms, then 2" in found


def test_a_release_twice_at_the_whole_budget(monkeypatch, tmp_path):
    changed_counts(monkeypatch, lambda method, *given: [method(*given), method(*given)][0])
    found = found_by_replay(tmp_path, COUNTS, "others")
    assert "lose epsilon = 2, claimed is 1 (discrete_laplace 1, discrete_laplace 1)" in found


def test_a_refusal_that_tells(monkeypatch, tmp_path):
    def change(method, data, asked):
        if d_wins(data):
            raise Refusal("too many wins of d: leave some out, or ask others.")
        return method(data, asked)

    changed_counts(monkeypatch, change)
    assert "exit code: 0, then 2" in found_by_replay(tmp_path, COUNTS, "others")


def test_noise_of_ones_own(monkeypatch, tmp_path):
    released = noisy_counts.release

    def noisy(wins, privacy, **options):
        found = released(WinCounts(np.zeros((4, 4))), privacy, **options)
        own = np.array([secrets.randbelow(9) - 4 for _ in range(4)])
        return dataclasses.replace(found, value=np.asarray(wins.matrix).sum(1) + own)

    monkeypatch.setattr(pairwise, "noisy_counts", SimpleNamespace(release=noisy))
    assert "output, line" in found_by_replay(tmp_path, COUNTS, "others")


def test_a_number_in_a_file(monkeypatch, tmp_path):
    write_reports = randomize.write_reports

    def write(path, table, **options):
        columns = write_reports(path, table, **options)
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"# {int(table.reports.sum())} reports, {first[0]}\n")
        return columns

    first = []
    compared = randomize.randomize_comparisons

    def counting(table, *given, **options):
        first[:] = [table.ties]
        return compared(table, *given, **options)

    monkeypatch.setattr(randomize, "randomize_comparisons", counting)
    monkeypatch.setattr(randomize, "write_reports", write)
    assert "private.csv" in found_by_replay(tmp_path, REPORTS, "tied", "flip")
    assert "private.csv" not in found_by_replay(tmp_path, REPORTS, "reversed", "flip")
