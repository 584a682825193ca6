"""The ledger's file: its contents, its permissions, and which files are refused."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

import pytest

from privrank_jax import Privacy
from privrank_jax.release.ledger import (
    Ledger,
    LedgerError,
    content_sha256,
    create,
)
from tests.release.ledgers import USERS, promise, spent


def test_the_file_tells_nothing_of_the_data_and_only_to_its_owner(made):
    content = "ab" * 32
    path, other = made(1), made(1, name="other")
    found = [file.read_bytes() for file in (path, other)]
    assert not any(content.encode() in one or bytes.fromhex(content) in one for one in found)
    stored = [sqlite3.connect(file).execute("SELECT key, fingerprint FROM ledger").fetchone()
              for file in (path, other)]  # fmt: skip
    assert stored[0][0] != stored[1][0]
    assert stored[0][1] != stored[1][1]
    assert path.stat().st_mode & 0o777 == 0o600
    with Ledger(path) as ledger:
        ledger.spend(promise(0.1))
        for beside in path.parent.glob(f"{path.name}*"):
            assert beside.stat().st_mode & 0o077 == 0
        ledger.check_data(content, "votes.csv")
        with pytest.raises(LedgerError, match="has other content") as error:
            ledger.check_data("cd" * 32, "other.csv")
        said = str(error.value) + repr(ledger.account)
        assert not any(word[:8] in said for word in (content, "cd" * 32, *stored[0]))


def test_making(made, tmp_path):
    path = made(1)
    with pytest.raises(LedgerError, match="exists, and a ledger is never replaced"):
        made(2)
    with Ledger(path) as ledger:
        assert ledger.account.budget.epsilon == 1
    for budget, sha256, message in (
        (Privacy.proven(0.0, **USERS), "0" * 64, "epsilon must be a positive number"),
        (promise(math.inf), "0" * 64, "epsilon must be a positive number"),
        (promise(1), "xyz", "hexadecimal"),
    ):
        with pytest.raises(LedgerError, match=message):
            create(tmp_path / "new", budget, data="it's", sha256=sha256)
        assert not (tmp_path / "new").exists()
    create(tmp_path / "it's ?#%25.ledger", promise(1), data="it's", sha256="0" * 64)
    with Ledger(tmp_path / "it's ?#%25.ledger") as ledger:
        assert ledger.account.data == "it's"
    with pytest.raises(LedgerError, match="can't be made"):
        create(tmp_path / "no" / "such", promise(1), data="", sha256="0" * 64)


def test_files_that_are_no_ledgers(made, tmp_path):
    path = tmp_path / "file"
    with pytest.raises(LedgerError, match=r"there is no ledger .* --budget"):
        Ledger(path)
    with pytest.raises(LedgerError, match="not a file"):
        Ledger(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(LedgerError, match=r"empty.*nothing was ever spent"):
        Ledger(path)
    path.write_text("user,winner,loser\n" * 100)
    with pytest.raises(LedgerError, match="not a ledger of privrank"):
        Ledger(path)
    assert path.read_text().startswith("user")
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE t (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="another SQLite database"):
        Ledger(path)
    assert path.read_bytes() == before
    other = sqlite3.connect(path)
    other.execute("PRAGMA application_id = 7")
    other.close()
    with pytest.raises(LedgerError, match="another SQLite database"):
        Ledger(path)
    newer = made(1)
    connection = sqlite3.connect(newer)
    for version in (6, 8):
        connection.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(LedgerError, match=f"version {version}, and this privrank reads"):
            Ledger(newer)
    connection.close()


def test_a_spend_is_on_the_disk_before_it_returns(made):
    with Ledger(made(1)) as ledger:
        told = {
            name: ledger._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "fullfsync")
        }
    assert told == {"journal_mode": "wal", "synchronous": 2, "fullfsync": 1}  # 2 is FULL


def test_a_row_that_no_ledger_writes(made):
    path = made(1)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    row = ", ".join(["'x'"] * 12)
    connection.execute(f"INSERT INTO spends VALUES (1, {row}, 'forgotten', 1, '')")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match=r"damaged \(CHECK constraint failed"):
        Ledger(path)


def test_damaged_ledgers(made):
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
        with pytest.raises(LedgerError, match=r"damaged|no ledger|empty"):
            Ledger(path)
    path.write_bytes(whole)
    assert spent(path) == 60
    connection = sqlite3.connect(path)
    connection.execute("UPDATE spends SET epsilon = '99' WHERE number = 1")
    connection.commit()
    connection.close()
    with Ledger(path) as ledger, pytest.raises(LedgerError, match="more was spent"):
        ledger.spend(promise(1))


def test_a_cell_that_names_no_fact(made):
    path = made(1)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE ledger SET public = 'everything'")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path)


def test_a_busy_ledger(made):
    path = made(1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with Ledger(path, wait=0.05) as ledger:
        with pytest.raises(LedgerError, match="in use by another process"):
            ledger.spend(promise(0.5))
        assert ledger.spent() == (0, 0)  # readers don't wait
        other.execute("ROLLBACK")
        ledger.spend(promise(0.5))
        assert ledger.spent() == (Decimal("0.5"), 0)
    other.close()


@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o555), (0o444, 0o777), (0o000, 0o777)])
def test_a_ledger_that_cannot_be_written(file, folder):
    code = (
        "import os, sys\n"
        "from privrank_jax.release.ledger import Ledger, LedgerError, Privacy\n"
        "os.geteuid() or os.setuid(65534)\n"  # root may write anywhere
        "half = Privacy(0.5, unit='user', adjacency='replace')\n"
        "try: Ledger(sys.argv[1]).spend(half)\n"
        "except LedgerError as error: print(error)\n"
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
        path.chmod(0o600)
        assert "can't be" in done.stdout, done.stderr
        assert spent(path) == 0


def test_content(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert content_sha256(path) == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
