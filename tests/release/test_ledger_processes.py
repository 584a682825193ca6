"""Processes that spend at the same time, or are killed at random points."""

from __future__ import annotations

import random
import select
import signal
import subprocess
import sys
import time
from decimal import Decimal
from typing import Any

import pytest

from privrank_jax.release.ledger import Ledger
from tests.quick import thorough

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


def spenders(path, epsilon, *per_opening):
    """Processes that spend, and begin at once."""
    run = [sys.executable, "-c", SPENDER, path, str(epsilon)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    processes = [subprocess.Popen([*run, str(number)], **pipes) for number in per_opening]
    assert all(process.stdout.read(1) == b"r" for process in processes)
    for process in processes:
        process.stdin.write(b"g")
    return processes


@pytest.mark.parametrize(
    ("epsilon", "budget", "paid"), [("0.1", "1.05", 10), thorough("0.07", "2.1", 30)]
)
def test_eight_processes_cannot_overspend(made, epsilon, budget, paid):
    path = made(budget)
    processes = spenders(path, epsilon, *[1, 2] * 4)
    printed = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [3] * 8
    assert sum(map(len, printed)) == paid
    with Ledger(path) as ledger:
        assert ledger.spent()[0] == paid * Decimal(epsilon)
        assert [one.state for one in ledger.spends()] == ["printed"] * paid
        assert [one.number for one in ledger.spends()] == list(range(1, paid + 1))


@pytest.mark.parametrize("rounds", [5, thorough(100)])
def test_kills_free_no_budget(made, rounds):
    """Kill spenders, two at a time, and compare the ledger with what they printed; most died at work."""
    path, epsilon, chance = made(25), Decimal("0.001"), random.Random(rounds)
    before, shown, amid = Decimal(0), 0, 0
    for _ in range(rounds):
        processes = spenders(path, epsilon, *chance.choices([1, 5], k=2))
        # From the first result on, so that few are killed before they do anything; half of them at once, amid a spend.
        select.select([process.stdout for process in processes], [], [])
        time.sleep(chance.choice([0, chance.uniform(0, 0.02)]))
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            shown += len(process.communicate()[0])
            amid += process.returncode == -signal.SIGKILL
        with Ledger(path) as ledger:  # checks the integrity of the file
            now, spends = ledger.spent()[0], ledger.spends()
            assert before <= now <= ledger.account.budget.epsilon
        assert now == len(spends) * epsilon
        assert sum(one.state == "printed" for one in spends) <= shown <= len(spends)
        before = now
    assert amid >= rounds
    assert before > epsilon * (rounds - 1)
