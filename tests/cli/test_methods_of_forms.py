"""Every method releases the same from CSV, from objects of JSON, and from Parquet that an engine counts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from privrank_jax.data import engine
from privrank_jax.jobs.methods import RANK, TRUSTS
from tests.of_rankings import CONSENSUS
from tests.parquet import as_parquet

ITEMS = ("ash", "elm", "oak")
ORDERS = [np.random.default_rng(k).permutation(3) for k in range(14)]
NAMED = [[ITEMS[i] for i in order] for order in ORDERS]
TABLES = {
    "wide": ("user", *ITEMS, *([str(1 + p) for p in np.argsort(order)] for order in ORDERS)),
    "orders": ("user", "order", *([">".join(names)] for names in NAMED)),
    "winners": ("user", "winner", "loser", *(names[:2] for names in NAMED)),
    "choices": ("user", "chosen", "shown", *([names[0], "|".join(ITEMS)] for names in NAMED)),
}


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Files of each table: text, objects and Parquet."""
    found = {}
    for name, cells in TABLES.items():
        header = [one for one in cells if isinstance(one, str)]
        rows = [[f"u{k}", *row] for k, row in enumerate(cells[len(header) :])]
        folder = tmp_path_factory.mktemp(name)
        path, objects = folder / "votes.csv", folder / "votes.json"
        path.write_text("\n".join(map(",".join, [header, *rows])) + "\n")
        objects.write_text(json.dumps([dict(zip(header, row)) for row in rows]))
        found[name] = (path, objects, as_parquet(path))
    return found


def one_outcome(privrank, paths, *run):
    """The same ranking and guarantee from all, or the same exit code."""
    seen = []
    for path in paths:
        result = privrank(run[0], path, *run[1:], "--simulate", "--seed", 1, "--json")
        assert result.code in (0, 2), result.err
        document = result.json() if result.code == 0 else {}
        seen.append((result.code, document.get("ranking"), document.get("guarantee")))
    assert seen == [seen[0]] * len(seen)
    return seen[0]


@pytest.mark.parametrize("method", ["auto", *CONSENSUS, "none"])
def test_methods_of_aggregate(privrank, forms, method):
    for number, trust in enumerate(TRUSTS):
        delta = ("--delta", 1e-3) if trust == "shuffled" else ()
        run = ("aggregate", "--method", method, "--trust", trust, "--epsilon", 1, *delta)
        paths = forms[("wide", "orders")[number % 2]]
        code, ranking, _ = one_outcome(privrank, (*paths, forms["wide"][0]), *run)
        known = method in ("auto", "none") or trust in CONSENSUS[method].trusts
        assert (code == 0, ranking is not None) == (known, known)


@pytest.mark.parametrize("method", [*RANK, "none"])
def test_methods_of_rank(privrank, forms, method, monkeypatch):
    monkeypatch.setattr(engine, "_LARGE", 1)
    top = ("--top-k", 2) if method != "none" and RANK[method].lists else ()
    run = ("rank", "--epsilon", 1, "--method", method, "--adjacency", "flip", *top)
    for name in ("winners", "choices"):
        one_outcome(privrank, forms[name], *run)
    assert one_outcome(privrank, forms["winners"], *run)[0] == 0


@pytest.mark.parametrize("name", ["wide", "winners"])
def test_what_is_privatized(privrank, forms, tmp_path, name):
    seen = []
    for path in forms[name]:
        out = tmp_path / f"{len(seen)}.csv"
        run = ("privatize", path, "--epsilon", 1, "--out", out, "--simulate", "--seed", 1)
        assert privrank(*run).code == 0
        seen.append(out.read_text())
    assert seen == [seen[0]] * 3
