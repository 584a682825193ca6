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

from privrank_jax.release import store
from privrank_jax.release.ledger import Ledger, content_sha256, create
from privrank_jax.release.store import LeaderboardError, LedgerError, Store, StoreError
from tests.release.conftest import promise, spent

CONTENT = "ab" * 32
KINDS = pytest.mark.parametrize("error", [LedgerError, LeaderboardError])


def altered(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_the_file_tells_nothing_of_the_data_and_only_to_its_owner(made):
    path, other = made(1), made(1, name="other")
    found = [file.read_bytes() for file in (path, other)]
    assert not any(CONTENT.encode() in one or bytes.fromhex(CONTENT) in one for one in found)
    with Ledger(path) as ledger, Ledger(other) as more:
        stored = [one.store.run("SELECT key, fingerprint FROM ledger")[0] for one in (ledger, more)]
        secret = [cell for row in stored for cell in row.values()]
        assert len(set(secret)) == 4
        with ledger.store.writing():
            ledger.spend(promise(0.1))
            beside = list(path.parent.glob(f"{path.name}*"))
            assert len(beside) == 2
            assert all(one.stat().st_mode & 0o777 == 0o600 for one in beside)
        ledger.check_data(CONTENT, "votes.csv")
        with pytest.raises(LedgerError, match="other content") as error:
            ledger.check_data("cd" * 32, "other.csv")
        said = str(error.value) + repr(ledger.account)
        assert not any(word[:8] in said for word in (CONTENT, "cd" * 32, *secret))


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
@KINDS
def test_a_file_that_others_may_read_or_write_is_refused(made, mode, error):
    path = made(1)
    path.chmod(mode)
    with pytest.raises(error, match="chmod 600"):
        Store.find(path, error)
    path.chmod(0o600)
    Store.find(path, error).close()


def test_making(made, tmp_path, monkeypatch):
    path, strange, late = made(1), tmp_path / "it's ?#%25.ledger", tmp_path / "late"
    with pytest.raises(LedgerError, match="never replaced"):
        made(2)
    assert spent(path) == 0
    strange.touch(0o644)  # what a creation leaves that was cut short
    assert Store.find(strange, LedgerError) is None
    create(strange, promise(1), data="it's \udcff", sha256="0" * 64)  # no valid text
    with Ledger(strange) as ledger:
        assert ledger.account.data == r"it's \udcff"
    make = Store.make

    def another_is_first(*given):
        found = make(*given)
        monkeypatch.setattr(Store, "make", make)
        create(late, promise(3), data="first", sha256="0" * 64)
        return found

    monkeypatch.setattr(Store, "make", another_is_first)
    with pytest.raises(LedgerError, match="never replaced"):
        create(late, promise(1), data="second", sha256="0" * 64)
    with Ledger(late) as ledger:
        assert ledger.account.data == "first"
    late.write_bytes(b"abc")
    assert content_sha256(late)[:8] == "ba7816bf"  # as FIPS 180 prints it


def of_version(version, application=0x50526C67):
    def make(path):
        create(path, promise(1), data="votes.csv", sha256="0" * 64)
        altered(path, f"PRAGMA user_version = {version}", f"PRAGMA application_id = {application}")

    return make


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda path: path.mkdir(), "unable to"),
        (lambda path: path.write_bytes(b"user,winner,loser\n" * 100), "database"),
        *((of_version(8, of), "another file") for of in (0, 7)),
        *((of_version(*of), "f5aa864f") for of in ((7,), (9,), (2, 0x50526C62))),
    ],
)
@KINDS
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
        *((lambda path, slack=slack: create(path / "new", promise(3, "1e-6"), data="", sha256="0" * 64, slack=slack),
           "slack") for slack in ("2e-6", -1, "nan", "x")),
    ],
)  # fmt: skip
def test_refusals(tmp_path, call, word):
    with contextlib.closing(Store.make(tmp_path / "state", LeaderboardError)) as state:
        state.fill()
    with pytest.raises(LedgerError, match=word):
        call(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


def test_damaged_files(made):
    path = made(100)
    with Ledger(path) as ledger:
        for _ in range(60):
            ledger.spend(promise(1))
    whole = path.read_bytes()
    assert len(whole) >= 12_288
    rest = len(whole) - 4096
    pages, zeros = whole[:4096] + b"\x07" * rest, whole[:100] + bytes(len(whole) - 100)
    for damage in (whole[:rest], whole[:5000], pages, zeros):
        path.write_bytes(damage)
        with pytest.raises(LedgerError, match=r"damaged|no ledger"):
            Ledger(path)
    path.write_bytes(whole)
    assert spent(path) == 60


@pytest.mark.parametrize(
    "change",
    ["ledger SET public = 'everything'", "ledger SET data = CAST(data AS BLOB)",
     "spends SET epsilon = '99'", "spends SET changes = 'x'", "spends SET state = 'forgotten'",
     "spends SET data_set = 'first'"],
)  # fmt: skip
def test_cells_that_no_ledger_writes(made, change):
    path = made("1.5")
    with Ledger(path) as ledger:
        ledger.spend(promise(1))
    altered(path, "PRAGMA ignore_check_constraints = ON", f"UPDATE {change}")
    with pytest.raises(LedgerError, match="damaged"), Ledger(path) as ledger:
        (ledger.spends(), ledger.left())


def test_a_transaction_is_on_the_disk_before_it_returns_and_holds_those_within(made):
    with Ledger(made(1)) as ledger:

        def twice():
            with ledger.store.writing():
                names = ("journal_mode", "synchronous", "fullfsync")
                told = [ledger.store.run(f"PRAGMA {name}")[0][name] for name in names]
                assert told == ["delete", 3, 1]  # 3 is EXTRA
                ledger.spend(promise(0.5))
                assert ledger.spent()[0] == Decimal("0.5")
                ledger.spend(promise(0.7))

        with pytest.raises(StoreError, match="nothing was spent"):
            twice()
        assert ledger.spent()[0] == 0


def test_a_file_in_use(made, monkeypatch):
    monkeypatch.setattr(store, "WAIT", 0.05)
    path = made(1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Ledger(path) as ledger:
        with pytest.raises(LedgerError, match="in use"):
            ledger.spend(promise(0.5))
        assert ledger.spent() == (0, 0)  # readers don't wait
        other.execute("ROLLBACK")
        ledger.spend(promise(0.5))
        assert ledger.spent() == (Decimal("0.5"), 0)
    other.close()


CLOSED = """
import os, sys
from pathlib import Path
from privrank_jax.release import store
os.setuid(65534)
for error in (store.LedgerError, store.LeaderboardError):
    try:
        with store.Store.find(Path(sys.argv[1]), error).writing(): pass
    except error as found: print(found)
"""


@pytest.mark.parametrize(("file", "folder"), [(0o400, 0o555), (0o400, 0o777), (0o000, 0o777)])
def test_a_file_that_cannot_be_written(file, folder):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "votes.ledger"
        create(path, promise(1), data="votes.csv", sha256="0" * 64)
        path.chmod(file)
        path.parent.chmod(folder)
        run = [sys.executable, "-c", CLOSED, path]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
        path.parent.chmod(0o700)
        assert done.stdout.count("can't be") == 2, done.stderr
