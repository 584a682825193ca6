"""First answers come quickly: commands on small files compile few programs, and import nothing heavy without need.

Programs are counted, not seconds.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys

import pytest

from privrank_jax.release.ledger import Privacy, create
from tests.declared import declared
from tests.quick import thorough

# Runs the commands given as JSON on stdin; prints for each its exit code, the programs compiled, and modules imported.
RUN = """
import json, sys
from typer.testing import CliRunner
from privrank_jax.cli import app
programs, found, each = [], [], 1
def count(event, *_, **__):
    if event == "/jax/core/compile/backend_compile_duration":
        programs.append(event)
for words in json.load(sys.stdin):
    programs.clear()
    if words[-1:] != ["--help"] and words[0] != "ledger" and "jax" not in sys.modules:
        import jax.monitoring
        jax.monitoring.register_event_duration_secs_listener(count)
        import numpy
        from privrank_jax._quickly import quickly
        quickly(lambda x: x + 1, numpy.zeros(2))
        each = len(programs)  # JAX 0.12 tells of a program twice
        programs.clear()
    result = CliRunner().invoke(app, words)
    found.append([result.exit_code, len(programs) // each, result.output, sorted(sys.modules)])
print(json.dumps(found))
"""
HEAVY = {
    *("dp_accounting", "duckdb", "ibis", "matplotlib", "mpmath", "pandas", "pooch", "pyarrow"),
    *("scipy.optimize", "scipy.stats"),
}
# Their majorities are a cycle: a before b before c before a.
PEOPLE = [("u1", "abc"), ("u2", "bca"), ("u3", "cab"), ("u4", "abc"), ("u5", "cab")]
COMPARISONS = "user,winner,loser\n" + "".join(
    f"{user},{order[i]},{order[j]}\n" for user, order in PEOPLE for i, j in ((0, 1), (1, 2), (0, 2))
)
RANKINGS = "user,a,b,c\n" + "".join(
    f"{user},{','.join(str(order.index(item) + 1) for item in 'abc')}\n" for user, order in PEOPLE
)
BOUND = "--epsilon 1 --max-per-user 3"

LIGHT = ["--help", "rank --help", "aggregate --help", "ledger votes.ledger"]
COMMANDS = {  # in this order: what the first of them import is looked at
    "counts": f"rank pairs.csv {BOUND} --method counts",
    "flip": f"rank pairs.csv {BOUND} --adjacency flip",
    "scores": f"rank pairs.csv {BOUND} --adjacency flip --method scores",
    "list": f"rank pairs.csv {BOUND} --method one-shot --top-k 1",
    "kwiksort": "aggregate votes.csv --epsilon 1 --method kwiksort",
    "approvals": "aggregate approvals.csv --epsilon 1 --approvals",
}
LATER = {  # in a process of their own
    "private design": f"rank pairs.csv {BOUND}",
    "no privacy": "rank pairs.csv --method none",
    "reports": "privatize pairs.csv --epsilon 1 --out out.csv",
    "fit of reports": "rank out.csv",
    "consensus": "aggregate votes.csv --epsilon 1",
    "plan of a survey": "plan --items 4 --epsilon 1 --target 0.1 --draws 50",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What each command did, all of them, or all later ones, in one process; the others after the pages of help."""

    @functools.cache
    def run(later):
        named = LATER if later else dict(zip(LIGHT, LIGHT)) | COMMANDS
        folder = tmp_path_factory.mktemp("answers")
        for name, text in {
            "pairs.csv": COMPARISONS,
            "votes.csv": RANKINGS,
            "approvals.csv": "user,a,b,c\nu1,x,,x\nu2,x,x,\n",
        }.items():
            (folder / name).write_text(text, encoding="utf-8")
        budget = Privacy(1, unit="user", adjacency="replace")
        create(folder / "votes.ledger", budget, data="votes.csv", sha256="0" * 64)
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            input=json.dumps([declared(words.split()) for words in named.values()]),
            capture_output=True,
            text=True,
            cwd=folder,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return dict(zip(named, json.loads(done.stdout), strict=True))

    return run


@pytest.mark.parametrize("name", [*COMMANDS, *map(thorough, LATER)])
def test_a_small_file_needs_few_programs(ran, name):
    code, programs, output, _ = ran(name in LATER)[name]
    assert code == 0, output
    assert programs <= (50 if name.startswith("plan") else 7)


def test_the_count_sees_a_program(ran):
    code, programs, output, _ = ran(False)["flip"]
    assert (code, programs > 0) == (0, True), output


@pytest.mark.parametrize("words", LIGHT)
def test_help_and_the_history_of_a_ledger_import_nothing_heavy(ran, words):
    code, _, output, modules = ran(False)[words]
    assert code == 0, output
    assert not (HEAVY | {"jax", "jaxlib", "numpy", "scipy", "optax", "flint"}) & set(modules)


def test_a_release_imports_only_what_it_uses(ran):
    """For counts, none of the special functions that intervals of scores need."""
    assert [*COMMANDS][:3] == ["counts", "flip", "scores"]  # what these import counts for the third
    for name, unused in (("counts", {"scipy.special"}), ("scores", set())):
        modules = set(ran(False)[name][3])
        assert "privrank_jax.pairwise.noisy_totals" in modules
        assert not (HEAVY | unused) & modules
