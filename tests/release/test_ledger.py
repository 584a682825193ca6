"""The budget ledger: exact sums, refusals, concurrent spenders, and processes killed at random points."""

from __future__ import annotations

import math
import os
import random
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import Privacy
from privrank_jax._neighbors import COVERS, PUBLIC, Neighbors
from privrank_jax.release.ledger import (
    BudgetExhausted,
    Ledger,
    LedgerError,
    amount,
    content_sha256,
    create,
)

USERS = {"unit": "user", "adjacency": "replace"}


def promise(epsilon, delta=0, **kind):
    """Of one user who is replaced, unless said otherwise; texts stand for decimals."""
    epsilon, delta = (Decimal(one) if isinstance(one, str) else one for one in (epsilon, delta))
    return Privacy(epsilon, delta=delta, **{**USERS, **kind})


@pytest.fixture
def made(tmp_path):
    """Make a ledger with some budget; its path."""

    def make(epsilon, delta=0, name="votes.ledger", **protects):
        path = tmp_path / name
        create(path, promise(epsilon, delta, **protects), data="votes.csv", sha256="ab" * 32)
        return path

    return make


def spent(path):
    with Ledger(path) as ledger:
        return ledger.spent()[0]


def test_decimals_add_up_exactly(made):
    path = made(1)
    with Ledger(path) as ledger:
        for _ in range(10):
            ledger.spend(promise(0.1))  # ten such doubles are exactly more than 1
        assert ledger.left() == (0, 0)
        with pytest.raises(
            BudgetExhausted, match=r"epsilon 0 left of epsilon 1, .* epsilon 5e-324"
        ):
            ledger.spend(promise(5e-324))
    with Ledger(made("0.30", name="other")) as ledger:
        ledger.spend(promise(0.2))
        ledger.spend(promise("1e-300"))
        with pytest.raises(BudgetExhausted, match="Ask for less"):
            ledger.spend(promise("0.1"))  # 1e-300 too much
        assert sum(one.privacy.epsilon == Decimal("1e-300") for one in ledger.spends()) == 1


def test_huge_beside_tiny(made):
    with Ledger(made("1e308", "0.5")) as ledger:
        ledger.spend(promise(1.5e307, 5e-324))
        ledger.spend(promise(5e-324, 0.1))
        epsilon, delta = ledger.left()
        assert Fraction(epsilon) == Fraction("8.5e307") - Fraction("5e-324")
        assert Fraction(delta) == Fraction("0.4") - Fraction("5e-324")


@pytest.mark.parametrize(
    "bad", [0, 0.0, -1, "-1", "nan", float("nan"), float("inf"), "inf", "1e400", "1e-400", "", "1,5",
            "0x1", "1_000", True, "1e99999999999", " ", "１"],
)  # fmt: skip
def test_amounts_out_of_range(made, bad):
    with pytest.raises(LedgerError, match="positive number"):
        amount(bad, "epsilon")


@pytest.mark.parametrize("bad", [0, 0.0, -1.0, float("nan"), float("inf"), Decimal("1e-400")])
def test_promises_out_of_range(made, bad):
    path = made(1)
    with Ledger(path) as ledger, pytest.raises(LedgerError, match="positive number"):
        ledger.spend(Privacy.proven(bad, **USERS))
    assert spent(path) == 0


def test_numbers_of_arrays_are_taken_in_full(made):
    """As doubles: what NumPy and JAX print of them has fewer digits."""
    with Ledger(made(2)) as ledger:
        for epsilon in (np.float64(1 / 3), jnp.asarray(1 / 3), np.asarray(1 / 3), np.float32(0.1)):
            ledger.spend(promise(epsilon))
            assert ledger.spends()[-1].privacy.epsilon == Decimal(repr(float(epsilon)))


def test_delta_has_a_budget_of_its_own(made):
    with Ledger(made(3)) as pure:
        with pytest.raises(BudgetExhausted, match=r"delta 0 left of .* Leave --delta out"):
            pure.spend(promise(1, 1e-9))
        assert pure.spent() == (0, 0)
    with Ledger(made(3, "2e-9", name="other")) as ledger:
        ledger.spend(promise(1, 1e-9))
        ledger.spend(promise(1, 1e-9))
        with pytest.raises(BudgetExhausted, match="epsilon 1, delta 0 left"):
            ledger.spend(promise(0.5, 1e-12))
        ledger.spend(promise(1))
        assert ledger.left() == (0, 0)


def test_history(made):
    path = made("2.5")
    with Ledger(path) as ledger:
        number = ledger.spend(
            promise(1), trust="local", numerics="exact", command="rank", method="m"
        )
        ledger.mark_printed(number)
        ledger.spend(promise(1))
        with pytest.raises(LedgerError, match="no spend number 7"):
            ledger.mark_printed(7)
    with Ledger(path) as ledger:
        first, second = ledger.spends()
        assert (first.number, first.state, second.state) == (1, "printed", "spent")
        assert (first.trust, first.numerics, first.command) == ("local", "exact", "rank")
        assert first.time.endswith("+00:00")
        assert ledger.account.data == "votes.csv"
        assert ledger.account.budget == promise("2.5", "0")
        assert first.privacy == promise("1", "0")
        assert ledger.left()[0] == Decimal("0.5")


@pytest.mark.parametrize("promised", COVERS)
def test_only_guarantees_as_strong_as_the_promise_count(made, promised):
    path = made(1, unit=promised[0], adjacency=promised[1])
    for unit, adjacency in COVERS:
        release = promise(0.01, unit=unit, adjacency=adjacency)
        with Ledger(path) as ledger:
            assert ledger.covers(Neighbors(unit, adjacency)) == ledger.covers(release)
            if ledger.covers(release):
                ledger.spend(release)
            else:
                with pytest.raises(LedgerError, match="not enough to be counted"):
                    ledger.spend(release)
    with Ledger(path) as ledger:
        counted = {one.privacy.kind for one in ledger.spends()}
    assert promised in counted
    # A guarantee for less never counts for more.
    assert not (promised[0] == "user" and any(unit != "user" for unit, _ in counted))
    assert not (promised[1] == "replace" and any(other == "flip" for _, other in counted))


@pytest.mark.parametrize("fact", sorted(set(PUBLIC) - {"ties"}))
def test_what_a_release_takes_as_public_must_be_public_in_the_ledger(made, fact):
    with Ledger(made(1)) as strict:
        with pytest.raises(LedgerError, match=f"it takes as public {PUBLIC[fact]}"):
            strict.spend(promise(0.1, public=(fact,)))
        assert strict.spent() == (0, 0)
    with Ledger(made(1, public=(fact, "items"), name="open")) as ledger:
        ledger.spend(promise(0.1, public=(fact,)))
        ledger.spend(promise(0.1))  # what takes less as public is stronger
        assert [one.privacy.public for one in ledger.spends()] == [(fact,), ()]


def test_neighbors_that_differ_in_answers_share_who_said_what(made):
    """Under flip the pairs of each user are public, so items, questionnaire and participation are; ties are answers."""
    flips = {"unit": "user", "adjacency": "flip"}
    with Ledger(made(1, **flips)) as ledger:
        ledger.spend(promise(0.1, public=("items", "participation", "questionnaire", "budgets")))
        ledger.spend(promise(0.1, **flips, public=("questionnaire",)))
        for public in (("ties",), ("ranked items",)):
            with pytest.raises(LedgerError, match="takes as public which"):
                ledger.spend(promise(0.1, **flips, public=public))
    with pytest.raises(LedgerError, match="which answers are ties"):
        made(1, public=("ties",), name="ties", **flips)


def test_a_user_is_the_same_in_all_releases(made):
    by_column = promise(0.1, users="column 'voter'")
    with Ledger(made(1, users="column 'voter'")) as ledger:
        for users in ("each row", "column 'zip'", ""):
            with pytest.raises(LedgerError, match="its users are"):
                ledger.spend(promise(0.1, users=users))
        ledger.spend(by_column)
        assert [one.privacy.users for one in ledger.spends()] == ["column 'voter'"]
    with Ledger(made(1, unit="comparison", adjacency="flip", name="comparisons")) as ledger:
        ledger.spend(by_column)  # a comparison belongs to one user, whoever that is


def test_users_of_few_comparisons_are_not_all_users(made):
    few, many = (promise(0.1, contributions=count) for count in (3, 10))
    with Ledger(made(1)) as ledger:
        with pytest.raises(LedgerError, match="it is for users of at most 3 comparisons"):
            ledger.spend(few)
        ledger.spend(few.for_any_user())
    with Ledger(made(1, contributions=5, name="five")) as ledger:
        assert ledger.account.budget.contributions == 5
        with pytest.raises(LedgerError, match="at most 3 comparisons, not 5"):
            ledger.spend(few)
        ledger.spend(many)
        ledger.spend(promise(0.1))
        assert [one.privacy.contributions for one in ledger.spends()] == [10, None]


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


def test_rows_can_be_neither_altered_nor_deleted(made):
    path = made(1)
    with Ledger(path) as ledger:
        ledger.mark_printed(ledger.spend(promise(0.5)))
    connection = sqlite3.connect(path)
    for statement in (
        "DELETE FROM spends",
        "UPDATE spends SET epsilon = '0.1'",
        "UPDATE spends SET state = 'spent'",
        "UPDATE ledger SET epsilon = '9'",
        "DELETE FROM ledger",
        "UPDATE spends SET public = 'items'",
        "UPDATE spends SET users = 'each row'",
        "UPDATE spends SET contributions = '9'",
        "UPDATE ledger SET users = 'each row'",
        "INSERT INTO ledger SELECT 2, data, key, fingerprint, epsilon, delta, unit, adjacency, contributions, "
        "public, users, created "
        "FROM ledger",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)
        connection.rollback()
    connection.close()
    assert spent(path) == Decimal("0.5")


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
    with pytest.raises(LedgerError, match="no ledger of privrank"):
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
    newer = made(1)
    connection = sqlite3.connect(newer)
    for version in (2, 4):
        connection.execute(f"PRAGMA user_version = {version}")
        with pytest.raises(LedgerError, match=f"version {version}, and this privrank reads"):
            Ledger(newer)
    connection.close()


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
    connection.execute("INSERT INTO spends SELECT 99, time, command, method, '50', delta, unit, adjacency, "
                       "contributions, public, users, trust, numerics, state FROM spends WHERE number = 1")  # fmt: skip
    connection.commit()
    connection.close()
    with Ledger(path) as ledger, pytest.raises(LedgerError, match="more was spent"):
        ledger.spend(promise(1))


def test_a_cell_that_names_no_fact(made):
    path = made(1)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER ledger_as_it_is")
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


# Real processes. A spender prints one byte per result, after it was spent; it needs no JAX, so it starts at once.
SPENDER = """
import os, sys
from decimal import Decimal
from privrank_jax.release.ledger import BudgetExhausted, Ledger, Privacy
release = Privacy(Decimal(sys.argv[2]), unit="user", adjacency="replace")
os.write(1, b"r")
sys.stdin.read(1)
while True:
    try:
        with Ledger(sys.argv[1]) as ledger:
            for _ in range(int(sys.argv[3])):
                number = ledger.spend(release)
                os.write(1, b"p")
                ledger.mark_printed(number)
    except BudgetExhausted:
        sys.exit(3)
"""


def spender(path, epsilon, per_opening):
    run = [sys.executable, "-c", SPENDER, path, str(epsilon), str(per_opening)]
    return subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def ready(process):
    assert os.read(process.stdout.fileno(), 1) == b"r"


def start(process):
    process.stdin.write(b"g")
    process.stdin.flush()


@pytest.mark.parametrize(("epsilon", "budget", "paid"), [("0.1", "1.05", 10), ("0.07", "2.1", 30)])
def test_eight_processes_cannot_overspend(made, epsilon, budget, paid):
    path = made(budget)
    processes = [spender(path, epsilon, 1 + k % 2) for k in range(8)]
    for process in processes:
        ready(process)
    for process in processes:
        start(process)
    printed = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [3] * 8
    assert sum(map(len, printed)) == paid
    with Ledger(path) as ledger:
        assert ledger.spent()[0] == paid * Decimal(epsilon)
        assert [one.state for one in ledger.spends()] == ["printed"] * paid
        assert [one.number for one in ledger.spends()] == list(range(1, paid + 1))


def kill_at_random(path, epsilon, rounds, seed):
    """Kill spenders, two at a time, and hold the ledger to what they printed; how many were killed amid work."""
    chance = random.Random(seed)
    budget = None
    before = Decimal(0)
    shown = amid = 0
    for _ in range(rounds):
        processes = [spender(path, epsilon, chance.choice([1, 5])) for _ in range(2)]
        for process in processes:
            ready(process)
        for process in processes:
            start(process)
        # From the first result on, so that few are killed before they do anything; half of them at once, amid a spend.
        select.select([process.stdout for process in processes], [], [], 10)
        time.sleep(chance.choice([0, chance.uniform(0, 0.02)]))
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            shown += len(process.communicate(timeout=60)[0])
            amid += process.returncode == -signal.SIGKILL
        with Ledger(path) as ledger:  # checks the integrity of the file
            now, spends = ledger.spent()[0], ledger.spends()
            budget = ledger.account.budget.epsilon
        assert before <= now <= budget
        assert now == len(spends) * Decimal(epsilon)
        assert sum(one.state == "printed" for one in spends) <= shown <= len(spends)
        before = now
    return amid, before


def test_kills_free_no_budget(made):
    amid, total = kill_at_random(made(5), "0.001", rounds=5, seed=1)
    assert amid >= 5
    assert total > 0


@pytest.mark.slow
def test_two_hundred_kills_free_no_budget(made):
    path = made(25)
    amid, total = kill_at_random(path, "0.001", rounds=100, seed=2)
    assert amid >= 195
    assert total > Decimal("0.1")
    with Ledger(path) as ledger:
        states = [one.state for one in ledger.spends()]
    assert states.count("spent") > 10  # killed between spending and printing, or just after


MAKER = """
import os, sys
from privrank_jax.release.ledger import Privacy, create
budget = Privacy(1, unit="user", adjacency="replace")
os.write(1, b"r")
sys.stdin.read(1)
create(sys.argv[1], budget, data="votes.csv", sha256="0" * 64)
"""


@pytest.mark.slow
def test_a_making_cut_short_leaves_no_budget_or_a_whole_one(tmp_path):
    chance = random.Random(3)
    outcomes = set()
    for round in range(60):
        path = tmp_path / f"{round}.ledger"
        process = subprocess.Popen(
            [sys.executable, "-c", MAKER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        ready(process)
        start(process)
        time.sleep(chance.uniform(0, 0.012))
        process.kill()
        process.communicate(timeout=60)
        if not path.exists():
            outcomes.add("none")
            continue
        try:
            assert spent(path) == 0
            outcomes.add("whole")
        except LedgerError as error:
            assert "empty" in str(error)  # noqa: PT017 - either outcome will do
            outcomes.add("empty")
    assert "whole" in outcomes
