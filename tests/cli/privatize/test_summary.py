"""What is printed about a file of randomized answers: the same facts as a table and as JSON."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from privrank_jax.cli.privatize.request import Request
from privrank_jax.cli.privatize.summary import Summary, print_summary

from privrank_jax import Guarantee, Privacy

SUMMARY = Summary(
    data="votes.csv",
    names=("user", "item_1", "item_2"),
    counts={"reports": 1234, "users": None},
    epsilons=[("epsilon of a comparison", "1")],
    guarantee=Guarantee(Privacy(1.0, unit="comparison", adjacency="flip"), trust="local"),
    notes=["the file keeps the users"],
    seed=None,
    follow="Next: privrank rank out.csv",
)


def request(**options) -> Request:
    return Request(source="votes.csv", out=Path("out.csv"), epsilon=1.0, **options)


@pytest.mark.parametrize(
    ("most", "shown"),
    [(None, "user, item_1, item_2"), (3, "user, item_1, item_2"), (2, "user, item_1, ...")],
)
def test_a_table_shows_names_counts_guarantee_and_what_is_next(most, shown, capsys):
    print_summary(request(), dataclasses.replace(SUMMARY, most_names=most))
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == f"out.csv: columns {shown}"
    assert [line.split() for line in lines if "reports" in line] == [["reports", "1,234"]]
    assert not any(line.startswith("users") for line in lines)
    assert "- the answers were randomized here" in lines[-3]
    assert "about what out.csv tells, and whoever holds votes.csv" in lines[-3]
    assert not any("each user randomizes the answers" in line for line in lines)
    assert lines[-2:] == ["- the file keeps the users", "Next: privrank rank out.csv"]


def test_json_has_all_names_and_no_fact_that_is_not_known(capsys):
    print_summary(request(json=True), dataclasses.replace(SUMMARY, kind="fields", most_names=1))
    document = json.loads(capsys.readouterr().out)
    assert document["fields"] == ["user", "item_1", "item_2"]
    assert document["counts"] == {"reports": 1234}
    assert document["guarantee"]["epsilon"] == 1.0
    assert "seed" not in document["diagnostics"]
    assert "randomized here" in document["diagnostics"]["notes"][0]
