"""Commands on exports of surveys and elections, which give the right ranking as they are, or as a message says."""

from __future__ import annotations

import json
import re
import shlex

from tests.cli.results import items
from tests.data.files import written
from tests.data.test_survey_exports import GOOGLE, SNACKS, text_of


def ranked(privrank, command, path, *options):
    result = privrank(command, path, "--method", "none", "--json", *options)
    assert result.code == 0, result.err
    return items(json.loads(result.out))


def said(privrank, command, path, *options):
    result = privrank(command, path, "--method", "none", *options)
    assert (result.code, result.out) == (2, "")
    return " ".join(result.err.split())


def test_a_contest_of_several(privrank, tmp_path):
    header = [f"{of} Choice {k} ({k})" for of in ("Mayor", "Council") for k in (1, 2, 3)]
    ballot = ["Bo", "Cy", "Ann", "Di", "Ed", ""]
    path = written(tmp_path, text_of(header, ballot, ballot), "sheet.csv")
    for command in ("aggregate", "rank"):
        message = said(privrank, command, path, "--user", "none")
        option = re.search(r"(--order \S+)", message)[1]
        found = ranked(privrank, command, path, "--user", "none", *shlex.split(option))
        assert found == ["Bo", "Cy", "Ann"]


def test_surveys(privrank, tmp_path):
    path = written(tmp_path, text_of(*GOOGLE), "answers.csv")
    assert "say --user none" in said(privrank, "aggregate", path)
    found = ranked(privrank, "aggregate", path, "--user", "Username")
    assert sorted(found) == sorted(SNACKS)
    assert found[0] == "Apples"


def test_goals(privrank, tmp_path):
    path = written(
        tmp_path,
        "home,away,home_score,away_score\nOslo,Rome,2,1\nRome,Paris,0,0\nParis,Oslo,3,1\n",
        "g.csv",
    )
    message = said(privrank, "rank", path)
    options = message[message.index("--column left=") :].replace(",", "").split()
    assert ranked(privrank, "rank", path, *options) == ["Paris", "Oslo", "Rome"]
