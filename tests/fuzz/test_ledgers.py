"""Ledgers that were damaged: refused in one paragraph, and never overspent."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from privrank_jax.release.ledger import Ledger, Privacy, create
from tests.fuzz import promise, strategies
from tests.fuzz.cases import FLAG, NAMED, numbers, words
from tests.fuzz.checks import tiers
from tests.fuzz.strategies import fuzz

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
