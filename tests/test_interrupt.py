"""Ctrl-C: it ends at once with one line and exit code 130, and the line reports a spent budget."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

from privrank_jax.release.ledger import Ledger
from tests.quick import thorough, with_cache

# A test run in the background ignores Ctrl-C, and so would what it starts.
HEED = "import os, signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)"
ENTRY = f"{HEED}; import runpy; runpy.run_module('privrank_jax', run_name='__main__')"
# The command as its entry point starts it, with more time for a section, and room for a patch.
DRIVER = (
    HEED
    + """
from privrank_jax import _interrupt
from privrank_jax.__main__ import main
_interrupt.install()
_interrupt.GRACE = {grace}
def interrupt(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
class At:
    def __init__(self, module):
        self.module = module
    def find_spec(self, name, *_):
        if name == self.module:
            interrupt()
{patch}
os.write(2, b"ready\\n")
main()
"""
)
EVER = 1e6  # seconds for a section that is not waited for


def driven(*arguments, patch="", grace=1.0, stdout=subprocess.PIPE):
    """The command; without a grace just as its entry point starts it."""
    entry = DRIVER.format(patch=patch, grace=grace) if grace else ENTRY
    return subprocess.Popen(
        [sys.executable, "-c", entry, *map(str, arguments)],
        env=with_cache(),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(process, text):
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the command ended without {text!r}")


def finish(process):
    """Interrupt it now: exit code, stdout, last line of stderr."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    return process.returncode, out, (err.splitlines() or [""])[-1]


@contextlib.contextmanager
def full_pipe():
    """The ends of a pipe that takes nothing more until it is read."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    filled = 0
    for size in (4096, 1):
        with contextlib.suppress(BlockingIOError):
            while True:
                filled += os.write(writing, b" " * size)
    os.set_blocking(writing, True)
    try:
        yield reading, writing, filled
    finally:
        os.close(reading)


def wait_for_spend(path, process):
    while not states(path):
        assert process.poll() is None, "nothing was spent"
        time.sleep(0.05)


def states(path):
    with Ledger(path) as found:
        return [one.state for one in found.spends()]


@pytest.fixture
def ledger(privrank, votes, tmp_path):
    path = tmp_path / "votes.ledger"
    assert privrank("ledger", path, "--data", votes, "--budget", 9, "--adjacency flip").code == 0
    return path


def released(votes, ledger):
    words = "--epsilon 1 --max-per-user 2 --items seen --method counts --ledger"
    return "rank", votes, *words.split(), ledger


# --- nothing was spent yet -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (("rank", "votes.csv", "--epsilon", "1"), "typer"),
        (("privatize", "votes.csv", "--epsilon", "1", "--out", "new.csv"), "jaxlib"),
        (("ledger", "votes.ledger"), "sqlite3"),
    ],
)
def test_during_imports(tmp_path, arguments, module):
    patch = f"sys.meta_path.insert(0, At({module!r}))\nos.chdir({str(tmp_path)!r})"
    process = driven(*arguments, patch=patch)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (130, "", "ready\nprivrank: interrupted\n")
    assert not list(tmp_path.iterdir())


def test_in_other_programs_ctrl_c_is_theirs(privrank, votes, ledger):
    before = signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)
    assert privrank(*released(votes, ledger)).code == 0
    assert (signal.getsignal(signal.SIGINT), signal.set_wakeup_fd(-1)) == before


def test_before_the_spending_it_says_that_nothing_was_spent(votes, ledger):
    patch = "from privrank_jax.cli import reading\nreading.read_data = interrupt"
    process = driven(*released(votes, ledger), patch=patch)
    out, err = process.communicate()
    assert (process.returncode, out, len(err.splitlines())) == (130, "", 2)
    assert "nothing was spent" in err
    assert states(ledger) == []


# --- from the spending to the result ---------------------------------------------------------------


@pytest.mark.parametrize("grace", [None, thorough(EVER)])
def test_a_result_that_nobody_takes_is_said_to_be_spent(votes, ledger, grace):
    """A second interrupt waits for nobody."""
    with full_pipe() as (_, writing, _):
        process = driven(*released(votes, ledger), grace=grace, stdout=writing)
        os.close(writing)
        wait_for_spend(ledger, process)
        while grace == EVER and process.poll() is None:  # two at once may arrive as one
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        code, _, said = finish(process)
    assert code == 130
    assert "epsilon 1 was spent" in said
    assert "not shown" in said
    assert states(ledger) == ["spent"]


def test_what_was_paid_for_is_shown_first(votes, ledger):
    with full_pipe() as (reading, writing, filled):
        process = driven(*released(votes, ledger), grace=EVER, stdout=writing)
        os.close(writing)
        wait_for_spend(ledger, process)
        process.send_signal(signal.SIGINT)
        with os.fdopen(os.dup(reading), encoding="utf-8") as file:
            out = file.read()[filled:]
    err = process.communicate()[1]
    assert process.returncode == 130
    assert err.splitlines()[-1].endswith("was shown")
    assert out.endswith("(votes.ledger)\n")
    assert states(ledger) == ["printed"]


TOLD = """
from privrank_jax.release.ledger import Ledger
spend = Ledger.spend
def told(*given, **named):
    os.write(2, b'spending\\n')
    return spend(*given, **named)
Ledger.spend = told
"""


@pytest.mark.slow
def test_a_ledger_in_use_does_not_hold_it(votes, ledger):
    with Ledger(ledger) as found:
        found.store.run("BEGIN IMMEDIATE")
        process = driven(*released(votes, ledger), patch=TOLD)
        read_until(process, "spending")
        code, out, said = finish(process)
        found.store.run("ROLLBACK")
    assert (code, out) == (130, "")
    assert "may have been spent" in said
    assert states(ledger) == []


CUT = """
from privrank_jax.data import randomized
def cut(file, **_):
    file.write('item_1')
    interrupt()
randomized.csv.writer = cut
"""


@pytest.mark.parametrize("paid", [True, thorough(False)])
def test_a_file_that_was_cut_short_leaves_nothing(votes, ledger, tmp_path, paid):
    out = tmp_path / "new" / "private.csv"
    out.parent.mkdir()
    words = ["--epsilon", 0.5, "--items", "seen", *(("--ledger", ledger) if paid else ())]
    process = driven("privatize", votes, *words, "--out", out, patch=CUT)
    err = process.communicate()[1]
    assert process.returncode == 130
    assert ("not shown" if paid else "may have been written") in err.splitlines()[-1]
    assert states(ledger) == ["spent"] * paid
    assert not list(out.parent.iterdir())
