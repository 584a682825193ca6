"""Cast-vote records: NIST's common data format, exports of Dominion, sheets of ES&S; made up in their public form."""

from __future__ import annotations

import copy
import gzip
import io
import json
import sys
from types import SimpleNamespace

import openpyxl
import pytest

import privrank_jax as pr
from privrank_jax.data import DataError
from tests.data.files import written


def selection(name, rank, **position):
    return {
        "ContestSelectionId": name,
        "Rank": rank,
        "SelectionPosition": [{"HasIndication": "yes", **position}],
    }


def position(name, *positions):
    marked = ({"HasIndication": "yes", **one} for one in positions)
    return {"ContestSelectionId": name, "SelectionPosition": list(marked)}


def record(*selections, contest="c1", **more):
    mayor = {"ContestId": contest, "CVRContestSelection": list(selections)}
    before = {"ContestId": "c1", "CVRContestSelection": [selection("cs3", 1)]}
    return {"CurrentSnapshotId": "s2", "CVRSnapshot": [
        {"@id": "s1", "Type": "original", "CVRContest": [before]},
        {"@id": "s2", "Type": "interpreted", "CVRContest": [mayor, {"ContestId": "c2"}]},
    ], **more}  # fmt: skip


RECORDS = [
    record(selection("cs1", 1), selection("cs2", 2)),
    record(
        position("cs2", {"Rank": 2}, {"Rank": 3, "HasIndication": "no"}),
        position("cs1", {"Rank": 1}),
    ),
    record(selection("cs1", 1), selection("cs3", 3)),  # a place that was skipped
    record(selection("cs1", 1), selection("cs2", 2), selection("cs3", 2), selection("cs2", 3)),
    record(
        selection("cs1", 1, IsAllocable="yes"),
        selection("cs2", 2, IsAllocable="no"),
        selection("cs3", 2, IsAllocable="no"),
        selection("cs3", 3),
    ),
    record(selection("cs3", 1), selection("cs3", 2), selection("cs1", 3)),  # named twice
    record(
        selection("cs2", 1), selection("cs3", 1, IsAllocable="no")
    ),  # a mark that does not count
    record(),
    record(selection("x1", 1), contest="c3"),  # another contest
]
RANKS = [[0, 1, -1], [0, 1, -1], [0, -1, 1], [0, -1, -1], [0, -1, -1]]
RANKS += [[1, -1, 0], [-1, 0, -1], [-1, -1, -1]]


def contest(key, name, *selections, **more):
    listed = [{"@id": one, "CandidateIds": [who]} for one, who in selections]
    return {
        "@id": key,
        "Name": name,
        "ContestSelection": [*listed, {"@id": f"{key}w", "IsWriteIn": True}],
        **more,
    }


def report(records=RECORDS, *more):
    people = [
        {"@id": f"k{n}", "Name": name} for n, name in enumerate(("Ann", "Bo", "Cy", "Di"), start=1)
    ]
    mayor = contest("c1", "Mayor", ("cs1", "k1"), ("cs2", "k2"), ("cs3", "k3"), VoteVariation="rcv")
    dams = contest("c2", "Dams", ("d1", "k1"), ("d2", "k2"), VoteVariation="plurality")
    election = {"@id": "e", "Candidate": people, "Contest": [mayor, dams, *more]}
    return {"@type": "CVR.CastVoteRecordReport", "CVR": list(records), "Election": [election]}


def saved(tmp_path, found, name="cvr.json", indent=1):
    return written(tmp_path, json.dumps(found, indent=indent), name)


@pytest.mark.parametrize("indent", [1, None])
def test_nist(tmp_path, indent):
    found = pr.read(saved(tmp_path, report(), indent=indent))
    assert (found.item_names, found.ranks.tolist()) == (("Ann", "Bo", "Cy"), RANKS)
    assert (found.missing, found.public) == ("last", ("participation",))
    assert "all choices from an overvote on are blank" in found.notes[0]
    assert found.users_are == pr.read("coffee-rankings").users_are
    stated = pr.read(saved(tmp_path, report()), num_users=9)
    assert (stated.ranks.tolist(), stated.public) == ([*RANKS, [-1] * 3], ())
    with pytest.raises(DataError, match="more ballots than the 7 that were stated"):
        pr.read(saved(tmp_path, report()), num_users=7)


def test_compressed_and_piped(tmp_path, monkeypatch):
    packed = gzip.compress(json.dumps(report()).encode())
    assert pr.read(written(tmp_path, packed, "cvr.json.gz")).ranks.tolist() == RANKS
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(isatty=lambda: False, buffer=io.BytesIO(packed))
    )
    assert pr.read("-").ranks.tolist() == RANKS


def test_one_of_several_contests(tmp_path):
    path = saved(tmp_path, report(RECORDS, contest("c3", "Council", ("x1", "k4"), ("x2", "k1"))))
    with pytest.raises(
        DataError,
        match=r"unclear which of its questions or contests.*'Mayor', 'Council'.*--order Mayor",
    ):
        pr.read(path)
    assert pr.read(path, order="mayor").ranks.tolist() == RANKS
    council = pr.read(path, order="Council")
    assert (council.item_names, council.ranks.tolist()) == (("Di", "Ann"), [[0, -1]])
    with pytest.raises(
        DataError, match=r"no question or contest 'Major' \(did you mean 'Mayor'\?\)"
    ):
        pr.read(path, order="Major")


def test_write_ins_need_a_word_of_the_holder(tmp_path):
    ballots = [record(selection("cs2", 1), selection("c1w", 2), selection("cs1", 3))] * 2
    ballots.append(record(selection("cs3", 1), selection("cs1", 2, CVRWriteIn=[{"Text": "Zoe"}])))
    path = saved(tmp_path, report(ballots))
    with pytest.raises(
        DataError, match=r"ballot 1.*'write-in' is not in the list.*--blank write-in"
    ):
        pr.read(path)
    found = pr.read(path, blank=["write-in"])
    assert found.ranks.tolist() == [[1, 0, -1]] * 2 + [[-1, -1, 0]]
    found = pr.read(path, items=["Ann", "Bo", "Cy", "write-in"])
    assert found.ranks.tolist() == [[2, 0, -1, 1]] * 2 + [[-1, -1, 0, 1]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found["CVR"].append(record(selection("cs9", 1))), "no cast-vote records of a form"),
        (lambda found: found["CVR"].append(record(position("cs1", {}))), "ballot 9: a mark has the rank None"),
        (lambda found: found["CVR"].append(record(selection("cs1", "first"))), "ballot 9.*'first'.*ranked contest"),
        (lambda found: found["CVR"].clear(), "nothing to rank"),
        (lambda found: found["Election"].clear(), "names no contest with ranks"),
        (lambda found: found["Election"][0]["Candidate"].pop(1), "no cast-vote records of a form"),
    ],
)  # fmt: skip
def test_faulty_reports_are_refused(tmp_path, change, said):
    found = copy.deepcopy(report())
    change(found)
    with pytest.raises(DataError, match=said):
        pr.read(saved(tmp_path, found))


def mark(candidate, rank, ambiguous=False, vote=True):
    return {"CandidateId": candidate, "Rank": rank, "IsAmbiguous": ambiguous, "IsVote": vote}


def card(*marks, contest=1):
    return {"PrecinctPortionId": 3, "BallotTypeId": 1, "IsCurrent": True, "Cards": [
        {"Id": 1, "Contests": [{"Id": 2, "Marks": [mark(20, 1)]}]},
        {"Id": 2, "Contests": [{"Id": contest, "Marks": list(marks)}]},
    ]}  # fmt: skip


SESSIONS = [
    {"Original": card(mark(11, 1), mark(10, 2), mark(12, 2, ambiguous=True, vote=False))},
    {
        "Original": {**card(mark(10, 1)), "IsCurrent": False},
        "Modified": card(mark(12, 1), mark(10, 3)),
    },
    {
        "Original": {"IsCurrent": True, "Contests": [{"Id": 1, "Marks": [mark(10, 1)]}]},
        "Modified": card(mark(12, 1)),
    },
    {"Original": card(mark(10, 1), mark(11, 2, vote=False), mark(12, 2, vote=False), mark(11, 3))},
    {"Original": card(mark(10, 1), mark(11, 2), mark(12, 2), mark(11, 3))},
    {"Original": card(mark(11, 1), mark(11, 2), mark(12, 3))},
    {"Original": card()},
    {"Original": card(contest=3)},
]
SESSION_RANKS = [[1, 0, -1], [1, -1, 0], [0, -1, -1], [0, -1, -1], [0, -1, -1], [-1, 0, 1], [-1, -1, -1]]  # fmt: skip


def export(folder, sessions=SESSIONS, ranks=0):
    names = (
        ("ANN", 10, 1),
        ("BO", 11, 1),
        ("CY", 12, 1),
        ("Write-in", 13, 1),
        ("YES", 20, 2),
        ("NO", 21, 2),
    )
    people = [
        {
            "Description": name,
            "Id": key,
            "ExternalId": "",
            "ContestId": where,
            "Type": "WriteIn" if key == 13 else "Regular",
        }
        for name, key, where in names
    ]
    contests = [
        {"Description": "MAYOR", "Id": 1, "VoteFor": 1, "NumOfRanks": 3},
        {"Description": "DAMS", "Id": 2, "VoteFor": 1, "NumOfRanks": ranks},
    ]
    for name, found in (("CandidateManifest", people), ("ContestManifest", contests)):
        saved(folder, {"Version": "5.10.50.85", "List": found}, f"{name}.json")
    found = {"Version": "5.10.50.85", "ElectionId": "made up", "Sessions": list(sessions)}
    return saved(folder, found, "CvrExport.json")


def test_dominion(tmp_path):
    found = pr.read(export(tmp_path))
    assert (found.item_names, found.ranks.tolist()) == (("ANN", "BO", "CY"), SESSION_RANKS)
    assert found.public == ("participation",)
    (tmp_path / "ContestManifest.json").unlink()
    with pytest.raises(DataError, match="'contest 1', 'contest 2'"):
        pr.read(tmp_path / "CvrExport.json")
    assert pr.read(tmp_path / "CvrExport.json", order="contest 1").ranks.tolist() == SESSION_RANKS


def test_contests_and_names_of_dominion(tmp_path):
    path = export(tmp_path, [*SESSIONS, {"Original": card(mark(13, 1), mark(10, 2))}], ranks=2)
    with pytest.raises(DataError, match="'MAYOR', 'DAMS'"):
        pr.read(path)
    with pytest.raises(DataError, match=r"ballot 8.*--blank write-in"):
        pr.read(path, order="MAYOR")
    assert pr.read(path, order="MAYOR", blank=["write-in"]).ranks.tolist()[-1] == [0, -1, -1]
    dams = pr.read(path, order="DAMS")
    assert (dams.item_names, dams.num_users) == (("YES", "NO"), 8)
    (tmp_path / "CandidateManifest.json").unlink()
    with pytest.raises(DataError, match="put that into the same folder"):
        pr.read(path)


def test_other_objects_are_no_records(tmp_path):
    rows = [{"user": "u", "winner": "a", "loser": "b"}]
    assert len(pr.read(saved(tmp_path, {"battles": rows}, "battles.json"))) == 1
    assert len(pr.read(saved(tmp_path, {**rows[0], "CVR": "x"}, "one.json"))) == 1


HEADER = [
    "Cast Vote Record",
    "Precinct",
    "Ballot Style",
    *(f"DEM Mayor Choice {k} of 3 Citywide (0{k})" for k in (1, 2, 3)),
]
SHEET = [
    [["Ann", "Bo", "undervote"], [0, 1, -1]],
    [["Bo", "undervote", "Ann"], [1, 0, -1]],
    [["Cy", "overvote", "Bo"], [-1, -1, 0]],
    [["Overvote", "Ann", "Bo"], [-1, -1, -1]],
    [["Ann ", "Ann", "Cy "], [0, -1, 1]],
    [["skipped", None, "Bo"], [-1, 0, -1]],
]


def sheet(folder, rows, header=HEADER):
    book = openpyxl.Workbook()
    book.active.append(header)
    for number, row in enumerate(rows, start=1):
        book.active.append([number, "D1", "D1", *row])
    book.save(folder / "cvr.xlsx")
    return folder / "cvr.xlsx"


def test_sheets_of_choices(tmp_path):
    path = sheet(tmp_path, [cells for cells, _ in SHEET])
    found = pr.read(path, user=None)
    assert (found.item_names, found.ranks.tolist()) == (
        ("Ann", "Bo", "Cy"),
        [ranks for _, ranks in SHEET],
    )
    assert any("all choices from an overvote on are blank" in note for note in found.notes)
    assert "columns not used: Cast Vote Record, Precinct, Ballot Style" in found.notes
    skipped = pr.read(path, user=None, blank=["overvote"])  # to the next choice
    assert skipped.ranks.tolist()[2:4] == [[-1, 1, 0], [0, 1, -1]]
    named = pr.read(path, user="Cast Vote Record")
    assert named.user_names == tuple("123456")
    with pytest.raises(DataError, match=r"'Write-in' may be a mark.*--blank Write-in"):
        pr.read(sheet(tmp_path, [["Ann", "Write-in", "Bo"]]), user=None)
    two = [*HEADER, *(f"Council Choice {k} (1{k})" for k in (1, 2))]
    path = sheet(tmp_path, [["Ann", "Bo", "Cy", "Di", "Ed"]], two)
    with pytest.raises(DataError, match="'DEM Mayor Citywide', 'Council'"):
        pr.read(path, user=None)
    assert pr.read(path, user=None, order="council").item_names == ("Di", "Ed")


@pytest.mark.parametrize(
    ("record", "places"),
    [
        ("Cast Vote Record", "Rep. to Congress {} Choice District 2"),  # of Maine
        ("Tabulator Id", "Rank {}"),  # as RCTab writes them
    ],
)
def test_other_sheets_of_records(tmp_path, record, places):
    header = [record, "Precinct", "Batch Id", *(places.format(k) for k in ("1st", "2nd", "3rd"))]
    found = pr.read(sheet(tmp_path, [cells for cells, _ in SHEET], header), user=None)
    assert found.ranks.tolist() == [ranks for _, ranks in SHEET]


def test_overvotes_of_other_tables_need_a_word_of_the_holder(tmp_path):
    path = sheet(tmp_path, [["Ann", "overvote", "Bo"]], ["id", "a", "b", "1st", "2nd", "3rd"])
    with pytest.raises(DataError, match=r"'overvote' may be a mark"):
        pr.read(path, user=None)
