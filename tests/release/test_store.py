"""The file of a ledger or of a leaderboard's state: who reads it, which files are refused, damage, other processes."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest

from privrank_jax.release.ledger import Ledger, content_sha256, create
from privrank_jax.release.store import LeaderboardError, LedgerError, Store, StoreError
from tests.release.ledgers import promise, spent


def altered(path, *statements):
    """Change a file behind the back of the library."""
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_the_file_tells_nothing_of_the_data_and_only_to_its_owner(made):
    content = "ab" * 32
    path, other = made(1), made(1, name="other")
    found = [file.read_bytes() for file in (path, other)]
    assert not any(content.encode() in one or bytes.fromhex(content) in one for one in found)
    with Ledger(path) as ledger, Ledger(other) as more:
        stored = [one.store.run("SELECT key, fingerprint FROM ledger")[0] for one in (ledger, more)]
        secret = [cell for row in stored for cell in row.values()]
        assert len(set(secret)) == 4
        with ledger.store.writing():
            ledger.spend(promise(0.1))
            beside = list(path.parent.glob(f"{path.name}*"))
            assert len(beside) == 2
            assert all(one.stat().st_mode & 0o777 == 0o600 for one in beside)
        ledger.check_data(content, "votes.csv")
        with pytest.raises(LedgerError, match="other content") as error:
            ledger.check_data("cd" * 32, "other.csv")
        said = str(error.value) + repr(ledger.account)
        assert not any(word[:8] in said for word in (content, "cd" * 32, *secret))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
@pytest.mark.parametrize("error", [LedgerError, LeaderboardError])
def test_a_file_that_others_may_read_or_write_is_refused(made, mode, error):
    path = made(1)
    path.chmod(mode)
    with pytest.raises(error, match="chmod 600"):
        Store.find(path, error)
    path.chmod(0o600)
    Store.find(path, error).close()


# --- making --------------------------------------------------------------------------------------


def test_making(made, tmp_path):
    path, strange = made(1), tmp_path / "it's ?#%25.ledger"
    with pytest.raises(LedgerError, match="never replaced"):
        made(2)
    assert spent(path) == 0
    strange.touch(0o644)  # what a creation leaves that was cut short
    assert Store.find(strange, LedgerError) is None
    create(strange, promise(1), data="it's \udcff", sha256="0" * 64)  # no valid text
    with Ledger(strange) as ledger:
        assert ledger.account.data == r"it's \udcff"


def test_of_two_that_make_a_file_one_does(tmp_path, monkeypatch):
    path, make = tmp_path / "file", Store.make

    def late(*given):
        store = make(*given)
        monkeypatch.setattr(Store, "make", make)
        create(path, promise(3), data="first", sha256="0" * 64)
        return store

    monkeypatch.setattr(Store, "make", late)
    with pytest.raises(LedgerError, match="never replaced"):
        create(path, promise(1), data="second", sha256="0" * 64)
    with Ledger(path) as ledger:
        assert ledger.account.data == "first"


# --- which files are refused ---------------------------------------------------------------------

SEVEN = """
CREATE TABLE ledger (one INTEGER PRIMARY KEY CHECK (one = 1), data TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT,
    epsilon TEXT, delta TEXT, unit TEXT, adjacency TEXT, contributions TEXT, public TEXT, users TEXT, created TEXT,
    slack TEXT NOT NULL DEFAULT '0', renyi_order TEXT NOT NULL DEFAULT '');
CREATE TABLE spends (number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT, command TEXT, method TEXT, epsilon TEXT,
    delta TEXT, unit TEXT, adjacency TEXT, contributions TEXT, public TEXT, users TEXT, trust TEXT, numerics TEXT,
    state TEXT NOT NULL DEFAULT 'spent', data_set INTEGER NOT NULL DEFAULT 1, changes TEXT NOT NULL DEFAULT '');
CREATE TABLE published (number INTEGER PRIMARY KEY AUTOINCREMENT, board TEXT, step INTEGER, witness TEXT,
    UNIQUE (board, step));
CREATE TABLE joined (number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT, series TEXT, data TEXT,
    fingerprint TEXT NOT NULL UNIQUE CHECK (length(fingerprint) = 64));
PRAGMA application_id = 0x50526C67;
PRAGMA user_version = 7;
"""


@pytest.mark.parametrize("at_once", [False, True])
def test_a_ledger_of_version_seven_goes_on(tmp_path, at_once, monkeypatch):
    """Its spends, numbers, series, slack and published steps, and the data by which it is known."""
    path, now = tmp_path / "ledger", tmp_path / "now"
    create(now, promise(3, "1e-5"), data="votes.csv", sha256="ab" * 32, slack="1e-6")
    with Ledger(now) as ledger:
        ledger.make_series("years")
        source = "ab" * 32, "votes.csv"
        ledger.spend(promise(1, "1e-6"), changes=(2, 2), command="rank", source=source)
        ledger.mark_printed(ledger.spend(promise("0.25"), source=source))
        ledger.store.remember("board", ["first", "second"])
        told = ledger.account, ledger.spends(), ledger.left(), ledger.series, ledger.data_sets()
    with contextlib.closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA journal_mode = WAL")
        old.executescript(SEVEN)
        old.execute("ATTACH ? AS now", (str(now),))
        for table, new in (("ledger", "ledger"), ("spends", "spends"), ("joined", "series")):
            rows = [row[1] for row in old.execute(f"PRAGMA table_info({table})")]
            columns = ", ".join("number" if row == "one" else row for row in rows)
            old.execute(f"INSERT INTO {table} SELECT {columns} FROM now.{new}")
        steps = "SELECT number, board, step, witness FROM now.steps WHERE step > 0"
        old.execute(f"INSERT INTO published {steps}")
        old.commit()
    path.chmod(0o600)
    bring_up = Store._bring_up

    def late(self):
        monkeypatch.setattr(Store, "_bring_up", bring_up)
        Ledger(path).close()
        bring_up(self)

    if at_once:
        monkeypatch.setattr(Store, "_bring_up", late)
    for _ in range(2):
        with Ledger(path, series="years") as ledger:
            found = ledger.account, ledger.spends(), ledger.left(), ledger.series
            assert (*found, ledger.data_sets()) == told
    with Ledger(path, series="years") as ledger:
        ledger.store.remember("board", ["first", "second", "third"])
        assert ledger.store.witnesses("board") == ["first", "second", "third"]
        assert ledger.store.run("PRAGMA journal_mode") == [
            {"journal_mode": "wal" if at_once else "delete"}
        ]
        assert ledger.store.run("SELECT * FROM boards") == []
        assert ledger.spend(promise("0.1"), source=source) == 3
        assert ledger.spends()[-1].data_set == 1
    assert [one.name for one in tmp_path.glob("ledger*")] == ["ledger"]


def written(content):
    return lambda path: path.write_bytes(content)


def of_version(version, application=0x50526C67):
    def make(path):
        create(path, promise(1), data="votes.csv", sha256="0" * 64)
        altered(path, f"PRAGMA user_version = {version}", f"PRAGMA application_id = {application}")

    return make


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda path: path.mkdir(), "not a file"),
        (written(b"user,winner,loser\n" * 100), "of privrank"),
        (written(b"published steps of the leaderboard 0123\n" * 20), "of privrank"),
        (written(b'{"steps": 365}' * 100), "of privrank"),
        (of_version(8, 0), "another SQLite"),
        (of_version(8, 7), "another SQLite"),
        (of_version(6), "commit f5aa864f"),
        (of_version(9), "later version"),
        (of_version(2, 0x50526C62), "leaderboard of"),
        (of_version(7, 0x50526C62), "commit f5aa864f"),
    ],
)
@pytest.mark.parametrize("error", [LedgerError, LeaderboardError])
def test_other_files_are_refused_and_stay(tmp_path, make, word, error):
    path = tmp_path / "file"
    make(path)
    before = path.is_file() and path.read_bytes()
    with pytest.raises(error, match=word):
        Store.find(path, error)
    assert (path.is_file() and path.read_bytes()) == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda path: Ledger(path / "missing"), "--budget"),
        (lambda path: Ledger(path / "state"), "no budget"),
        (lambda path: create(path / "no" / "such", promise(1), data="", sha256="0" * 64), "be made"),
        (lambda path: create(path / "new", promise(1), data="", sha256="xyz"), "hexadecimal"),
        (lambda path: create(path / "new", promise(1, public=("ties",)), data="", sha256=""), "ties"),
    ],
)  # fmt: skip
def test_refusals(tmp_path, call, word):
    with contextlib.closing(Store.make(tmp_path / "state", LeaderboardError)) as store:
        store.fill()
    with pytest.raises(LedgerError, match=word):
        call(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


# --- damage --------------------------------------------------------------------------------------


def test_damaged_files(made):
    path = made(100)
    with Ledger(path) as ledger:
        for _ in range(60):
            ledger.spend(promise(1))
    whole = path.read_bytes()
    assert len(whole) >= 12_288
    for damage in (
        whole[: len(whole) - 4096],
        whole[:5000],
        whole[:4096] + b"\x07" * (len(whole) - 4096),
        whole[:100] + bytes(len(whole) - 100),
    ):
        path.write_bytes(damage)
        with pytest.raises(LedgerError, match=r"damaged|no ledger"):
            Ledger(path)
    path.write_bytes(whole)
    assert spent(path) == 60


@pytest.mark.parametrize(
    "change",
    [
        "ledger SET public = 'everything'",
        "ledger SET data = CAST(data AS BLOB)",
        "spends SET epsilon = '99'",
        "spends SET changes = 'x'",
        "spends SET state = 'forgotten'",
        "spends SET data_set = 'first'",
    ],
)
def test_cells_that_no_ledger_writes(made, change):
    path = made("1.5")
    with Ledger(path) as ledger:
        ledger.spend(promise(1))
    altered(path, "PRAGMA ignore_check_constraints = ON", f"UPDATE {change}")
    with pytest.raises(LedgerError, match="damaged"), Ledger(path) as ledger:
        (ledger.spends(), ledger.left())


# --- other processes, and the disk ---------------------------------------------------------------


def test_a_transaction_is_on_the_disk_before_it_returns(made):
    with Ledger(made(1)) as ledger:
        names = ("journal_mode", "synchronous", "fullfsync")
        told = [ledger.store.run(f"PRAGMA {name}")[0][name] for name in names]
    assert told == ["delete", 3, 1]  # 3 is EXTRA


def test_a_file_in_use(made):
    path = made(1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Ledger(path, wait=0.05) as ledger:
        with pytest.raises(LedgerError, match="in use"):
            ledger.spend(promise(0.5))
        assert ledger.spent() == (0, 0)  # readers don't wait
        other.execute("ROLLBACK")
        ledger.spend(promise(0.5))
        assert ledger.spent() == (Decimal("0.5"), 0)
    other.close()


@pytest.mark.parametrize("error", [LedgerError, LeaderboardError])
@pytest.mark.parametrize(("file", "folder"), [(0o400, 0o555), (0o400, 0o777), (0o000, 0o777)])
def test_a_file_that_cannot_be_written(file, folder, error):
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from privrank_jax.release import store\n"
        "os.setuid(65534)\n"
        f"try:\n with store.Store.find(Path(sys.argv[1]), store.{error.__name__}).writing(): pass\n"
        f"except store.{error.__name__} as error: print(error)\n"
    )
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "votes.ledger"
        create(path, promise(1), data="votes.csv", sha256="0" * 64)
        path.chmod(file)
        path.parent.chmod(folder)
        done = subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
        )
        path.parent.chmod(0o700)
        assert "can't be" in done.stdout, done.stderr


def test_a_transaction_within_another_is_part_of_it(made):
    with Ledger(made(1)) as ledger:

        def twice():
            with ledger.store.writing():
                ledger.spend(promise(0.5))
                assert ledger.spent()[0] == Decimal("0.5")
                ledger.spend(promise(0.7))

        with pytest.raises(StoreError, match="nothing was spent"):
            twice()
        assert ledger.spent()[0] == 0


def test_content(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert content_sha256(path) == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
