"""Exports of Google Forms, LimeSurvey, Qualtrics, SurveyMonkey and KoboToolbox: made up in their public form."""

from __future__ import annotations

import csv
import io
import json

import openpyxl
import pandas
import pytest

import privrank_jax as pr
from privrank_jax.data import DataError
from privrank_jax.data.questions import asked_place, grids, places_of_questions
from tests.data.files import written

SNACKS = ("Apples", "Pears", "Plums - dried")


def text_of(*rows, separator=","):
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue()


def sheet(folder, *rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append([cell or None for cell in row])
    book.save(folder / "answers.xlsx")
    return folder / "answers.xlsx"


# --- grids

GOOGLE = (
    ("Timestamp", "Username", *(f"Rank the snacks [{snack}]" for snack in SNACKS), "Why?"),
    ("2024/03/01 10:00:00 AM GMT+1", "a@example.org", "1st", "2nd", "3rd", "Fresh"),
    ("2024/03/01 10:01:00 AM GMT+1", "b@example.org", "2nd choice", "1st choice", "3rd choice", ""),
    ("2024/03/01 10:02:00 AM GMT+1", "c@example.org", "First choice", "", "2", ""),
)
GOOGLE_RANKS = [[0, 1, 2], [1, 0, 2], [0, -1, 1]]


def test_google_forms(tmp_path):
    path = written(tmp_path, text_of(*GOOGLE), "answers.csv")
    found = pr.read(path, user="Username")
    assert (found.item_names, found.ranks.tolist()) == (SNACKS, GOOGLE_RANKS)
    assert found.user_names == ("a@example.org", "b@example.org", "c@example.org")
    assert (found.public, found.users_are) == ((), "column 'Username'")
    assert "columns not used: Timestamp, Why?" in found.notes
    assert "which brackets name" in found.reading[0]
    assert pr.read(path, user=None).ranks.tolist() == GOOGLE_RANKS
    assert pr.read(sheet(tmp_path, *GOOGLE), user="Username").ranks.tolist() == GOOGLE_RANKS
    frame = pandas.DataFrame(list(GOOGLE[1:]), columns=list(GOOGLE[0]))
    assert pr.read(frame, user="Username").ranks.tolist() == GOOGLE_RANKS
    frame.to_parquet(tmp_path / "answers.parquet")
    assert pr.read(tmp_path / "answers.parquet", user="Username").ranks.tolist() == GOOGLE_RANKS


def test_items_of_a_grid(tmp_path):
    path = written(tmp_path, text_of(*GOOGLE), "answers.csv")
    found = pr.read(path, user="Username", items=["Pears", "Apples"])
    assert found.ranks.tolist() == [[1, 0], [0, 1], [-1, 0]]
    whole = list(GOOGLE[0][2:5])
    found = pr.read(path, user="Username", items=whole)
    assert (found.item_names, found.ranks.tolist()) == (tuple(whole), GOOGLE_RANKS)
    left = pr.read(path, user="Username", ignore=whole[:1], cells="ranks")
    assert left.item_names == SNACKS[1:]
    changed = [*GOOGLE[:2], (*GOOGLE[2][:3], "1st!", *GOOGLE[2][4:])]
    other = written(tmp_path, text_of(*changed), "other.csv")
    with pytest.raises(DataError, match=r"line 3, column 'Rank the snacks \[Pears\]': '1st!' is"):
        pr.read(other, user="Username")
    with pytest.raises(
        DataError, match=r"no column 'user'.*the columns are 'Timestamp', 'Username'"
    ):
        pr.read(path)


def test_one_of_several_grids():
    table = {
        "id": ["u", "v"],
        "Best [A]": [1, 2],
        "Best [B]": [2, 1],
        "Like [A]": [5, 3],
        "Like [C]": [1, 4],
    }
    with pytest.raises(
        DataError, match=r"questions or contests is ranked: 'Best', 'Like'.*--order Best"
    ):
        pr.read(table, user="id")
    assert pr.read(table, user="id", order="best").ranks.tolist() == [[0, 1], [1, 0]]
    found = pr.read(table, user="id", items=["C", "A"], cells="ratings")
    assert found.ratings.tolist() == [[1, 5], [4, 3]]
    with pytest.raises(DataError, match="no question or contest 'Worst', but 'Best', 'Like'"):
        pr.read(table, user="id", order="Worst")


def test_a_rank_beyond_the_options_is_refused():
    table = {"id": ["u"], "Tea": [2], "Coffee [small]": [3], "Coffee [large]": [1]}
    with pytest.raises(DataError, match="'3' is not a rank, 1 = best, of 2 items"):
        pr.read(table, user="id")


def test_keys_of_json_are_no_grid(tmp_path):
    rows = [{"user": "u", "Q [A]": 1, "Q [B]": 2}, {"user": "v", "Q [A]": 2, "Q [B]": 1}]
    found = pr.read(written(tmp_path, "\n".join(map(json.dumps, rows)), "answers.jsonl"))
    assert found.item_names == ("Q [A]", "Q [B]")


# --- places

COLOURS = "Please rank the colours."


@pytest.mark.parametrize(
    "columns",
    [
        [f"{COLOURS} [Rank {k}]" for k in (1, 2, 3)],  # LimeSurvey, full texts
        ["Q1[1]", "Q1[2]", "Q1[3]"],  # and codes
        ["Colours [1st choice]", "Colours [2nd choice]", "Colours [3rd choice]"],
        ["Colours/_1st_choice", "Colours/_2nd_choice", "Colours/_3rd_choice"],  # KoboToolbox
        ["Colours Choice 1 of 3", "Colours Choice 2 of 3", "Colours Choice 3 of 3"],
        ["Sixth Ward 1st Choice", "Sixth Ward 2nd Choice", "Sixth Ward 3rd Choice"],
    ],
)
def test_places_of_a_question(tmp_path, columns):
    rows = [
        ("Response ID", "Date submitted", "Seed", *columns),
        ("1", "2024-03-02", "123451", "Green", "Light, blue", "Red"),
        ("2", "2024-03-03", "123452", "Red", "", ""),
        ("3", "2024-03-03", "123453", "", "", ""),
    ]
    found = pr.read(written(tmp_path, text_of(*rows), "answers.csv"), user="Response ID")
    assert found.item_names == ("Green", "Light, blue", "Red")
    assert found.ranks.tolist() == [[0, 1, 2], [-1, -1, 0], [-1, -1, -1]]
    assert "columns not used: Date submitted, Seed" in found.notes


def test_one_of_several_questions():
    table = {f"Q{q}[{k}]": [f"{q}{k}", f"{q}{3 - k}"] for q in "12" for k in (1, 2)}
    table = {one: [f"A{cell}" for cell in cells] for one, cells in table.items()}
    with pytest.raises(DataError, match=r"'Q1', 'Q2'. Say which, such as order='Q1'"):
        pr.read(table, user=None)
    found = pr.read(table, user=None, order="q2")
    assert (found.item_names, found.ranks.tolist()) == (("A21", "A22"), [[0, 1], [1, 0]])


def test_ranks_below_places_are_refused():
    with pytest.raises(DataError, match="are places, but all their cells are numbers"):
        pr.read({"Q1[1]": [1, 2], "Q1[2]": [2, 1]}, user=None)


@pytest.mark.parametrize(
    ("column", "found"),
    [
        ("Q1[2]", ("Q1", 2)),
        ("Q1[SQ001]", None),
        ("Best? [Rank 10]", ("Best?", 10)),
        ("For Mayor Choice 1 (45)", ("For Mayor", 1)),
        ("DEM Mayor Choice 2 of 5 Citywide (026916)", ("DEM Mayor Citywide", 2)),
        ("Rep. to Congress 1st Choice District 2", ("Rep. to Congress District 2", 1)),
        ("snacks/_3rd_choice", ("snacks", 3)),
        ("tenth choice", ("", 10)),
        ("Frank 1", None),
        ("Choice", None),
        ("Tea [large]", None),
    ],
)
def test_names_of_places(column, found):
    assert asked_place(column) == found


def test_a_gap_or_a_second_column_is_no_question():
    header = ["Q1[1]", "Q1[3]", "Q2[1]", "Q2[1]", "Q2[2]", "Q3[2]", "Q3[3]", "Q4[1]"]
    assert places_of_questions(header) == {}
    assert places_of_questions(["rank 1", "rank 2", "rank 1 why", "rank 2 why"]) == {
        "": ("rank 1", "rank 2")
    }
    assert grids(["Q [A]", "R [A]", "R [B]"]) == {"R": {"R [A]": "A", "R [B]": "B"}}


# --- further rows of headers

QUALTRICS = (
    ("StartDate", "Progress", "Duration (in seconds)", "Finished", "ResponseId", "Q5_1", "Q5_2", "Q5_4", "Q6",
     "Q7_1_TEXT"),
    ("Start Date", "Progress", "Duration (in seconds)", "Finished", "Response ID",
     *(f"Rank the snacks - really - please: - {snack}" for snack in SNACKS), "Why?", "Other - Text"),
    tuple(json.dumps({"ImportId": f"QID{k}"}, separators=(",", ":")) for k in range(10)),
    ("2024-03-01 10:00:00", "100", "61", "True", "R_1", "1", "2", "3", "Fresh", ""),
    ("2024-03-01 10:01:00", "100", "62", "True", "R_2", "2", "1", "3", "", ""),
    ("2024-03-01 10:02:00", "50", "63", "False", "R_3", "", "1", "", "", ""),
)  # fmt: skip


def written_as(folder, form, *rows):
    if form == "xlsx":
        return sheet(folder, *rows)
    if form == "tsv":
        return written(folder, text_of(*rows, separator="\t").encode("utf-16"), "answers.tsv")
    return written(folder, text_of(*rows), "answers.csv")


SURVEY_MONKEY = (
    ("Respondent ID", "Collector ID", "Start Date", "Why?", "Please rank [them]", "", ""),
    ("", "", "", "Open-Ended Response", *SNACKS),
    ("117", "4", "03/01/2024", "Fresh", "1", "2", "3"),
    ("118", "4", "03/01/2024", "", "3", "1", "2"),
)


@pytest.mark.parametrize("form", ["csv", "tsv", "xlsx"])
@pytest.mark.parametrize(
    ("rows", "below", "names"),
    [
        (QUALTRICS, 2, (*QUALTRICS[0][:5], *SNACKS, *QUALTRICS[0][8:])),
        (SURVEY_MONKEY, 1, (*SURVEY_MONKEY[0][:4], *SNACKS)),
    ],
)
def test_further_rows_of_a_header_are_to_be_deleted(tmp_path, form, rows, below, names):
    user = {QUALTRICS: "ResponseId", SURVEY_MONKEY: "Respondent ID"}[rows]
    told = {"user": user, "items": SNACKS}
    with pytest.raises(DataError, match=r"a second header row.*: delete the rows between"):
        pr.read(written_as(tmp_path, form, *rows), user=user)
    found = pr.read(written_as(tmp_path, form, names, *rows[1 + below :]), **told)
    assert found.num_users == len(rows) - 1 - below
    assert found.ranks[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("form", ["csv", "tsv", "xlsx"])
def test_no_row_of_answers_is_a_header(tmp_path, form):
    """The name of the first user is that of a column."""
    names = ("Response ID", "R_1", "R_2")
    orders = [(name, "Tea>Milk") for name in names]
    path = written_as(tmp_path, form, ("ResponseId", "order"), *orders)
    assert pr.read(path, user="ResponseId").user_names == names
    ranks = [(name, "1", "2") for name in names]
    path = written_as(tmp_path, form, ("ResponseId", "Q_1", "Q_2"), *ranks)
    assert pr.read(path, user="ResponseId").ranks.tolist() == [[0, 1]] * 3
    path = written_as(tmp_path, form, ("Respondent ID", "order"), ("", "Tea>Milk"), *orders)
    with pytest.raises(DataError, match="2, column 'Respondent ID': the user is missing"):
        pr.read(path, user="Respondent ID")


# --- keys of JSON objects


def test_keys_of_json_are_no_question(tmp_path):
    rows = [{"user": "u", "Q[1]": "A", "Q[2]": "B"}, {"user": "v", "Q[1]": "B", "Q[2]": "A"}]
    path = written(tmp_path, json.dumps(rows), "a.json")
    with pytest.raises(DataError, match="no column 'Q'"):  # which one user could add
        pr.read(path, order="Q")


def test_facts_beside_places_in_json(tmp_path):
    rows = [{"user": "u", "age": 30, "rank_1": "A", "rank_2": "B"}, {"user": "v", "rank_1": "B"}]
    found = pr.read(written(tmp_path, json.dumps(rows), "a.json"))
    assert found.ranks.tolist() == [[0, 1], [-1, 0]]
    rows[0]["team"] = "x"
    path = written(tmp_path, json.dumps(rows), "a.json")
    with pytest.raises(DataError, match=r"--ignore team"):
        pr.read(path)
    assert pr.read(path, ignore=["team"]).ranks.tolist() == [[0, 1], [-1, 0]]
