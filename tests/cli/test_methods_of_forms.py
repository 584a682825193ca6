"""Methods on forms of files: the release of the CSV file with the same answers, or the same refusal.

Methods, ways to trust and kinds of files are those of the tables of commands and loaders: one that is added there is
run here. Each method of ``aggregate`` reads a third of the forms, and each form is read for several methods.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from privrank_jax.data.table import DELIMITERS, OBJECTS, PARQUET, SHEETS, TABLES
from privrank_jax.jobs.methods import RANK, TRUSTS
from tests.of_rankings import CONSENSUS
from tests.parquet import as_parquet

ITEMS = ("ash", "elm", "oak")
ORDERS = [np.random.default_rng(k).permutation(3) for k in range(14)]
NAMED = [[ITEMS[i] for i in order] for order in ORDERS]


def table(header, cells):
    """Columns in the order of their names, which that of the keys of JSON is taken for."""
    return [[*header, "user"], *([*row, f"u{user}"] for user, row in enumerate(cells))]


RANKINGS = {
    "wide": table(ITEMS, ([str(1 + p) for p in np.argsort(order)] for order in ORDERS)),
    "places": table(("rank_1", "rank_2", "rank_3"), NAMED),
    "order": table(("order",), ([">".join(names)] for names in NAMED)),
    "long": [
        ["item", "rank", "user"],
        *([name, str(1 + p), f"u{user}"] for user, names in enumerate(NAMED) for p, name in enumerate(names)),
    ],
}  # fmt: skip
COMPARISONS = {
    "winners": table(("winner", "loser"), (names[:2] for names in NAMED)),
    "battles": table(("model_a", "model_b", "winner"), ([*names[1::-1], "model_b"] for names in NAMED)),
}  # fmt: skip
CHOICES = {"choices": table(("chosen", "shown"), ([names[0], "|".join(ITEMS)] for names in NAMED))}


def written(folder, name, rows, suffix):
    path = folder / f"{name}{suffix}"
    objects = [dict(zip(rows[0], row)) for row in rows[1:]]
    if suffix in DELIMITERS:
        path.write_text("\n".join(map(DELIMITERS[suffix].join, rows)) + "\n")
    elif suffix in OBJECTS:
        lines = map(json.dumps, objects)
        path.write_text(json.dumps(objects) if suffix == ".json" else "\n".join(lines))
    elif suffix in PARQUET:
        csv = folder / f"{name}.of{suffix}"
        csv.write_text("\n".join(map(",".join, rows)) + "\n")
        as_parquet(csv).rename(path)
    else:
        assert suffix in SHEETS, f"{suffix}: write such a file here"
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(path)
    return path


KINDS = (DELIMITERS, OBJECTS, PARQUET, SHEETS)


@pytest.fixture(scope="module")
def forms(tmp_path_factory):
    """Files by what they hold, shape and suffix: three kinds of each shape, and all kinds of the first ones."""
    folder, found = tmp_path_factory.mktemp("forms"), {}
    assert sorted(TABLES) == sorted(suffix for kind in KINDS for suffix in kind)
    for shapes in (RANKINGS, COMPARISONS, CHOICES):
        for name, rows in shapes.items():
            usual, every = (".csv", ".json", ".parquet"), (".csv", *OBJECTS, ".parquet", ".xlsx")
            for suffix in every if name in ("wide", "winners") else usual:
                found[name, suffix] = written(folder, name, rows, suffix)
    return found


def outcome(result, name):
    """The ranking, or the refusal without the name of the file; and what is promised."""
    if result.code == 0:
        return result.json()["ranking"], result.json()["guarantee"]
    assert result.code == 2
    assert result.out == ""
    assert result.err.splitlines()[-1].startswith("privrank: ")
    told = result.err.splitlines()[-1].replace(name, "FILE")
    return told.replace(name.partition(".")[0], ""), None


def outcomes(privrank, forms, shapes, *command, part=slice(None)):
    """Outcomes by form: of all forms, or of a part of them beside two that are read in memory and in an engine."""
    chosen = [form for form in forms if form[0] in shapes]
    found, promised = {}, {}
    for form in [*chosen[part], (chosen[0][0], ".csv"), (chosen[0][0], ".parquet")]:
        path = forms[form]
        if form not in found:
            run = privrank(command[0], path, *command[1:], "--simulate", "--seed", 1, "--json")
            found[form], promised[form] = outcome(run, path.name)
    assert promised[chosen[0][0], ".parquet"] == promised[chosen[0][0], ".csv"]
    return found


TRUSTED = [(method, trust) for method in ("auto", *CONSENSUS, "none") for trust in TRUSTS]


@pytest.mark.parametrize(("method", "trust"), TRUSTED)
def test_methods_of_aggregate_on_forms(privrank, forms, method, trust):
    budget = ("--epsilon", 1, *(("--delta", 1e-3) if trust == "shuffled" else ()))
    run = ("aggregate", "--method", method, "--trust", trust, *budget)
    known = method in ("auto", "none") or trust in CONSENSUS[method].trusts
    part = slice(TRUSTED.index((method, trust)) % 3, None, 3) if known else slice(0)
    found = outcomes(privrank, forms, RANKINGS, *run, part=part)
    expected = found["wide", ".csv"]
    assert found == dict.fromkeys(found, expected)
    assert isinstance(expected, list) == known


@pytest.mark.parametrize("method", [*RANK, "none"])
def test_each_method_of_rank_on_each_form(privrank, forms, method):
    top = ("--top-k", 2) if method != "none" and RANK[method].lists else ()
    run = ("rank", "--epsilon", 1, "--method", method, "--adjacency", "flip", *top)
    found = outcomes(privrank, forms, COMPARISONS, *run)
    assert found == dict.fromkeys(found, found["winners", ".csv"])
    assert isinstance(found["winners", ".csv"], list)
    found = outcomes(privrank, forms, CHOICES, *run)
    assert found == dict.fromkeys(found, found["choices", ".csv"])
    found = outcomes(privrank, forms, RANKINGS, *run, "--max-per-user", 3)
    read = [told for told in found.values() if isinstance(told, list)]
    assert read == [found["places", ".csv"]] * len(read)  # others are refused
    assert found == {(shape, suffix): found[shape, ".csv"] for shape, suffix in found}


@pytest.mark.parametrize("shapes", [RANKINGS, COMPARISONS])
def test_each_form_is_privatized_alike(privrank, forms, tmp_path, shapes):
    seen = {}
    for (shape, suffix), path in forms.items():
        if shape in shapes:
            out = tmp_path / f"{shape}{suffix}.csv"
            told = privrank(
                "privatize", path, "--epsilon", 1, "--out", out, "--simulate", "--seed", 1
            )
            assert told.code in (0, 2), (shape, suffix, told.err)
            if told.code:
                assert told.err.startswith("privrank: ")
                seen[shape, suffix] = "refused"
            else:
                seen[shape, suffix] = out.read_text()
    first = seen[next(iter(shapes)), ".csv"]
    assert seen == dict.fromkeys(seen, first)
