"""Every command on bad files and bad options: an answer, or one paragraph of advice and nothing else."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax.release.ledger import Ledger, Privacy, create
from tests.cli.results import check_ranking
from tests.declared import declared
from tests.fuzz import promise, strategies
from tests.fuzz.strategies import fuzz, tiers
from tests.invoked import invoke
from tests.quick import thorough

THOROUGH = 500  # runs of each kind
NUMBERS = (
    "nan", "inf", "-inf", "-1", "-0.0", "0", "5e-324", "1e-320", "1e-300", "1e-12", "1e-9", "0.5",
    "0.9999999999999999", "1", "1.0000001", "20", "745", "1e4", "1e10", "1e300", "1.7e308", "1e309", "", "abc", "1,5",
    "１", "0x10", "1_0", " 1", "1e", "--json",
)  # fmt: skip
WORDS = (
    "",
    "none",
    "None",
    "a",
    "user",
    "winner",
    "\u202e",
    "\udcff",
    "x" * 10_000,
    "\x1b[2J",
    "a\nb",
)
FLAG = st.just(None)
NAMED = ("cemspc", "sushi", "cemsp", "folder", "folder.csv", "no.csv", "link.csv", "", "\udcff.csv")


def numbers(*usual: str):
    return st.sampled_from(NUMBERS + usual * 8)


def words(*usual: str):
    return st.sampled_from(WORDS + usual * 3)


INTEGERS = (
    "-9223372036854775809", "-1", "0", "1", "2", "3", "4", "1000", "2147483648", "4294967296", "9223372036854775807",
    "9223372036854775808", "1" + "0" * 40, "1" + "0" * 400, "1" + "0" * 5000, "1.0", "1e3", "", "x", "１", "1_0",
)  # fmt: skip
PATHS = (
    "new.csv", "new.tsv", "new.parquet", "new.CSV", "new", "new.xlsx", "folder", "folder/", "folder.csv", "no/new.csv",
    "votes.csv", "./votes.csv", "folder/../votes.csv", "old.csv", "y" * 250 + ".csv", "y" * 300 + ".csv", "", ".",
    ".csv", "é\u202e.csv", "\udcff.csv", "old.csv/new.csv", "a\nb.csv", "link.csv", "/proc/new.csv", "it's.parquet",
)  # fmt: skip
LISTS = (
    "seen", "seen", "a..c", "c..a", "a..", "..",
    "a,b,c", "a,b", "c,b,a,zebra", "a,b,c,a", "a,b,A,c", "", ",", "a", ",,,", "votes.csv", "names.txt", "utf16.txt",
    "no.txt", "folder", "folder.csv", "a,b,c,\udcff", "a,\u202eb,c", "a,b,c," + "d" * 10_000, "a,b,c,nan",
)  # fmt: skip


def integers(*usual: str):
    return st.sampled_from(INTEGERS + usual * 5)


COLUMNS = {
    f"--{name}": words(name, "none") for name in ("user", "winner", "loser", "tie", "item", "rank")
}
RELEASE = {
    "--epsilon": numbers("1", "2"),
    "--delta": numbers("0", "1e-6"),
    "--noise": words("laplace", "gaussian"),
    "--simulate": FLAG,
    "--seed": integers("1"),
    "--series": words("survey", "", "\x1b"),
    "--ledger": st.sampled_from(("votes.ledger",) * 4 + ("no.ledger", "votes.csv", "folder", "", "other.ledger")),
    "--items": st.sampled_from(LISTS),
    "--json": FLAG,
}  # fmt: skip
OF_LISTS = {
    "--ranks": FLAG,
    "--approvals": FLAG,
    "--ratings": words("1:5", "5:1", "-1:100", "good,bad", "1:", ":"),
    "--order-separator": words(">", ";", "newline"),
    "--count": words("n", "a"),
}
OPTIONS = {
    "rank": {
        **RELEASE,
        **{name: COLUMNS[name] for name in ("--user", "--winner", "--loser", "--tie")},
        "--method": words("counts", "one-shot"),
        "--unit": words("user", "comparison", "rank"),
        "--adjacency": words("flip", "replace", "add-remove"),
        "--max-per-user": integers("2"),
        "--top-k": integers("1", "2"),
        "--link": words("logistic", "laplace", "normal"),
        "--left": words("model_a", "a"),
        "--outcome": words("winner", "Result"),
        "--left-wins": words("a", "n"),
        "--weight": words("a", "n:2"),
        "--gamma": numbers("1"),
        "--level": numbers("0.5", "0.95"),
    },
    "aggregate": {
        **RELEASE,
        **OF_LISTS,
        **{name: COLUMNS[name] for name in ("--user", "--item", "--rank")},
        "--method": words("borda", "none", "noise-all"),
        "--trust": words("central", "local"),
        "--missing": words("last", "unknown"),
        "--xi": numbers("0", "0.5"),
    },
    "privatize": {
        **RELEASE,
        **OF_LISTS,
        **COLUMNS,
        "--out": st.sampled_from(PATHS),
        "--epsilon-column": words("budget", "epsilon"),
        "--ties": words("refuse", "coin", "drop"),
        "--drop-user": FLAG,
        "--force": FLAG,
    },
    "plan": {
        "--items": integers("3", "3", "5"),
        "--epsilon": numbers("1", "1"),
        "--target": numbers("0.1", "0.1"),
        "--error": words("largest", "pairs", "first", "place"),
        "--users": integers("500", "500"),
        "--share-observed": numbers("0.5"),
        "--spread": numbers("1"),
        "--link": words("logistic", "normal", "laplace"),
        "--confidence": numbers("0.9"),
    },
    "audit": {
        "--epsilon": numbers("1"),
        "--draws": integers("1000"),
        "--confidence": numbers("0.9"),
        "--seed": integers("1"),
        "--out": st.sampled_from((*PATHS, "new.png", "folder/new.svg", "no/new.png", "new.gif", "folder.png")),
        "--list": FLAG,
    },
    "reproduce": {
        "--replicates": st.sampled_from(("-1", "0", "1", "x", "", "1.5", "1" + "0" * 400)),
        "--seed": integers(),
        "--out": st.sampled_from(PATHS),
        "--list": FLAG,
    },
}  # fmt: skip
KINDS = {
    "rank": (("comparisons",) * 6 + ("reports",) * 3 + ("wide", "preflib", "outcomes", "pairs", "one-hot")),
    "aggregate": (("wide",) * 4 + ("long", "preflib", "orders", "synthetic", "synthetic", "comparisons", "shapes",
                                   "ratings", "ratings")),
    "privatize": (("comparisons",) * 3 + ("wide", "wide", "long", "preflib", "reports", "synthetic", "orders", "shapes",
                                          "ratings", "outcomes", "pairs", "one-hot")),
}  # fmt: skip
USUAL = {
    "rank": {"--epsilon": "1", "--max-per-user": "3", "--items": "seen"},
    "aggregate": {"--epsilon": "1", "--method": "borda", "--items": "seen"},
    "privatize": {"--epsilon": "1", "--out": "new.csv", "--items": "seen"},
    "plan": {"--items": "3", "--epsilon": "1", "--users": "500", "--draws": "50"},
    "audit": {"--draws": "1000"},
    "reproduce": {"--replicates": "1"},  # no study is ever run
}
NAMES = {
    "audit": ("randomized-response", "randomized-response", "top-list", "", "cars", "\udcff", "\x1b[2J", "x" * 5000),
    "reproduce": ("cai-fig1", "cai-fig", "", "\udcff", "../cai-fig1", "\x1b[2J", "x" * 5000),
    "plan": ("",),
}  # fmt: skip


@st.composite
def cases(draw, command: str):
    """Name and content of a file, and options: damage to the one, or odd ones of the others; rarely both."""
    kind = draw(st.sampled_from(KINDS[command]))
    damage = draw(st.booleans())
    texts, _ = strategies.TEXTS[kind]
    content = draw(strategies.contents(kind)) if damage else draw(st.sampled_from(texts)).encode()
    suffixes = {"preflib": (".soc", ".soi", ".toc", ".toi"), "orders": (".order",)}.get(kind, (".csv",))  # fmt: skip
    name = f"votes{draw(st.sampled_from(suffixes))}"
    if draw(st.integers(0, 19)) == 19:
        name = draw(st.sampled_from(NAMED))
    usual = {} if kind in ("reports", "synthetic") and command != "privatize" else USUAL[command]
    pool = OPTIONS[command]
    odd = draw(st.lists(st.sampled_from(sorted(pool)), max_size=1 if damage else 4))
    pairs = [*usual.items(), *((name, draw(pool[name])) for name in odd)]
    if command != "rank" and b"user" not in content[:80] and draw(st.booleans()):
        pairs.append(("--user", "none"))
    if kind == "ratings" and command != "rank" and draw(st.booleans()):
        pairs.append(("--ratings", "-1:100"))
    if draw(st.integers(0, 15)) == 7:
        pairs = pairs[1:]
    if usual and draw(st.integers(0, 3)) == 3:
        pairs.append(("--ledger", "votes.ledger"))
    return name, content, pairs


@st.composite
def without_data(draw, command: str):
    pool = OPTIONS[command]
    odd = draw(st.lists(st.sampled_from(sorted(pool)), min_size=1, max_size=3))
    options = {**USUAL[command], **{name: draw(pool[name]) for name in odd}}
    return draw(st.sampled_from(NAMES[command])), b"", [*options.items()]


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    """Named data sets are never fetched: their folder is there, and damaged."""
    data = tmp_path / "data"
    (data / "cemspc").mkdir(parents=True)
    (data / "cemspc" / "cemspc.csv").write_text("V1\n1\n", encoding="utf-8")
    monkeypatch.setenv("PRIVRANK_DATA", str(data))


def furnish(folder: Path) -> None:
    """Files and folders that options may name."""
    for one in ("folder", "folder.csv", "folder.png"):
        (folder / one).mkdir()
    (folder / "link.csv").symlink_to("gone.csv")
    (folder / "old.csv").write_bytes(b"precious")
    (folder / "names.txt").write_text("a\nb\nc\n\nOslo\nParis\nRome\n", encoding="utf-8")
    (folder / "utf16.txt").write_text("a\nb\nc\n", encoding="utf-16")


def make_ledgers(folder: Path, name: str, unit: str, adjacency: str) -> Path:
    """Ledgers of the file and of another; the first."""
    for path, data in (("votes.ledger", name), ("other.ledger", "old.csv")):
        making = ["ledger", path, "--data", data, "--budget", "2.5", "--budget-delta", "1e-5", "--unit", unit,
                  "--adjacency", adjacency, "--public", "participation", "--public", "items"]  # fmt: skip
        made = promise.run(folder, making)
        promise.check(made)
        if made.code == 2:  # no column names the users
            made = promise.run(folder, [*making, "--user", "none"])
            promise.check(made)
        assert made.code == 0
    return folder / "votes.ledger"


@pytest.mark.parametrize(
    ("command", "examples"),
    [one for x in OPTIONS for one in ((x, 4 if x == "plan" else 12), thorough(x, THOROUGH))],
)
def test_files_and_options(command, examples):
    usual = [("user", "replace")] * 4
    if command == "privatize":  # a ledger of what is written counts comparisons, or ranks
        usual = [("comparison", "flip"), ("rank", "replace")]
    units = [*usual, ("user", "replace"), ("comparison", "flip"), ("user", "add-remove")]

    @fuzz(examples)
    @given(
        case=cases(command) if command in KINDS else without_data(command),
        unit=st.sampled_from(units),
        form=st.sampled_from(([], ["--json"])),
    )
    def run(case, unit, form):
        name, content, pairs = case
        options = dict(pairs)  # the last of each counts
        given = [part for pair in pairs for part in pair if part is not None]
        arguments = [command, *([] if command == "plan" else [name]), *given, *form]
        with tempfile.TemporaryDirectory() as place:
            folder, ledger = Path(place), None
            furnish(folder)
            if name.startswith("votes."):
                (folder / name).write_bytes(content)
            if "--ledger" in options and (folder / name).is_file():
                ledger = make_ledgers(folder, name, *unit)
            found, out = promise.run(folder, arguments, ledger), options.get("--out")
            document = promise.check(found, None if out is None else os.path.normpath(out))
        if found.code == 0:
            paid = options.get("--ledger") is not None and "--simulate" not in options
            assert len(found.spent) == paid, arguments
        if document is not None and "ranking" in document:
            check_ranking(document)
        if document is not None and command == "plan":
            errors = (value for one in document["error"].values() for value in one.values())
            assert min(document["users"] - 1, document["epsilon"], *errors) >= 0

    run()


# --- ledgers that were damaged


LEDGERS = (
    "new.ledger", "whole.ledger", "votes.csv", "folder", "no/new.ledger", "", "x" * 300, "\udcff.ledger",
    "a'b\n;.ledger", "odd?mode=ro#.ledger",
)  # fmt: skip


MAKING = {
    "--data": st.sampled_from((*NAMED, "votes.csv", "votes.csv", "odd\n.csv")),
    "--budget": numbers("1", "2.5"),
    "--budget-delta": numbers("0", "1e-6"),
    "--slack": numbers("0", "1e-6"),
    "--unit": words("user", "comparison", "rank"),
    "--adjacency": words("replace", "flip", "add-remove"),
    "--public": words("items", "ranked-items", "ties", "none"),
    "--user": words("user", "none", "winner"),
    "--delta": numbers("1e-6"),
    "--series": words("survey", "", "\x1b"),
    "--count": st.sampled_from(("whole.ledger", "votes.csv", "no.ledger", "folder")),
    "--json": FLAG,
}


@tiers(12)
def test_ledgers(tmp_path, examples):
    whole = tmp_path / "made.ledger"
    budget, quarter = (Privacy(n, unit="user", adjacency="replace") for n in (2.5, 0.25))
    create(whole, budget, data="votes.csv", sha256="0" * 64)
    with Ledger(whole) as ledger:
        for _ in range(2):
            ledger.mark_printed(ledger.spend(quarter, command="rank"))

    @fuzz(examples)
    @given(
        path=st.sampled_from(LEDGERS),
        content=strategies.damaged_bytes((whole.read_bytes(),)),
        options=st.lists(st.sampled_from(sorted(MAKING)), max_size=3).flatmap(
            lambda names: st.tuples(*(st.tuples(st.just(name), MAKING[name]) for name in names))
        ),
        making=st.sampled_from(((), (("--data", "votes.csv"), ("--budget", "1")))),
    )
    def run(path, content, options, making):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "folder").mkdir()
            for name in ("votes.csv", "\udcff.csv", "odd\n.csv"):
                (folder / name).write_bytes(b"user,winner,loser\nu,a,b\n")
            (folder / "whole.ledger").write_bytes(content)
            arguments = [part for pair in (*making, *options) for part in pair if part is not None]
            found = promise.run(folder, ["ledger", path, *arguments])
            promise.check(found)
            if found.code == 2 and path != "whole.ledger":
                assert (folder / "whole.ledger").read_bytes() == content
                assert path == "votes.csv" or not os.path.isfile(folder / path)

    run()


# --- terminals and files that refuse


def test_names_that_stdout_cannot_show(tmp_path):
    """Names are still told apart, and no half of a table is printed."""
    text = "user,winner,loser\nu,東京,大阪\nv,東京,é\n"
    (tmp_path / "votes.csv").write_text(text, encoding="utf-8")
    run = declared(["rank", "votes.csv", "--epsilon", "1"])
    with contextlib.chdir(tmp_path):
        found = invoke(run, charset="ascii")
    assert found.exit_code == 0, found.stderr
    assert r"\u6771\u4eac" in found.stdout
    assert r"\xe9" in found.stdout


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_nothing_is_spent_where_nothing_can_be_written(tmp_path, suffix):
    (tmp_path / "votes.csv").write_text("id,user,b\nu,1,2\nv,2,1\n", encoding="utf-8")
    make = ["ledger", "votes.ledger", "--data", "votes.csv", "--budget", "9", "--unit", "rank"]
    promise.check(promise.run(tmp_path, make))
    run = ["privatize", "votes.csv", "--epsilon", "1", "--ledger", "votes.ledger"]
    for out, user in (
        (f"new{suffix}", "id"),  # an item is named user
        (f"/proc/new{suffix}", "none"),
        ("y" * 300 + suffix, "none"),
    ):
        words = declared([*run, "--out", out, "--user", user])
        found = promise.run(tmp_path, words, tmp_path / "votes.ledger")
        assert found.code == 2, (out, found.err)
        promise.check(found)


# --- ends of ranges

ENDS = [
    "rank votes.csv --epsilon 1 --max-per-user " + "9" * 30,
    "rank votes.csv --epsilon 1e300",
    "rank votes.csv --epsilon 1e-9 --max-per-user 2147483647",
    "rank votes.csv --epsilon 1 --noise gaussian --delta 5e-324 --level 0.9999999999999999",
    "aggregate wide.csv --epsilon 1e9 --method borda --noise gaussian --delta 1e-300",
    "privatize votes.csv --out new.csv --epsilon 1e9",
    "privatize votes.csv --out new.csv --epsilon 1e-9",
    "privatize wide.csv --out new.csv --epsilon 1e9",
    "privatize wide.csv --out new.csv --epsilon 1e-9",
    "rank large.csv",
    "rank small.csv",
    "rank mixed.csv",
    "aggregate synthetic.csv",
    "demo --seed -1",
    "demo --out votes.csv",
]

COMPILING = [
    "rank votes.csv --epsilon 1e-9 --noise gaussian --delta 1e-300",
    "rank votes.csv --epsilon 1 --noise gaussian --delta 0.9999999999999999 --level 5e-324",
    "aggregate wide.csv --epsilon 1e-9 --method noise-all",
    "aggregate wide.csv --epsilon 1e-9 --method kwiksort",
    "rank reports.csv --level 0.9999999999999999",
    "plan --items 3 --epsilon 1e-9 --target 1e-300",
    "rank reports.csv --gamma 1.7e308",
    "rank mixed.csv --gamma 0",
    "aggregate synthetic.csv --method none",
]


@pytest.mark.parametrize("command", [*ENDS, *map(thorough, COMPILING)])
def test_extremes(tmp_path, command):
    head = "item_1,item_2,report,epsilon\n"
    for name, text in {
        "votes.csv": strategies.COMPARISONS[0],
        "wide.csv": strategies.WIDE[0],
        "reports.csv": strategies.REPORTS[0],
        "large.csv": f"user,{head}u,a,b,1,1e308\nu,b,c,1,1e308\n",
        "small.csv": f"{head}a,b,1,5e-324\nb,c,1,5e-324\n",
        "mixed.csv": f"{head}a,b,1,1e-9\nb,c,1,1e9\nc,a,1,1e-9\n",
        "synthetic.csv": "synthetic_epsilon,a,b,c\n1e-9,1,2,3\n1e9,3,2,1\n1e9,,2,1\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    form = ["--json"] * (len(command) % 2)
    promise.check(promise.run(tmp_path, declared([*command.split(), *form])), "new.csv")
