"""Cast-vote records in JSON: NIST SP 1500-103, and exports of Dominion. Each ballot with the contest is a row.

**NIST** An object with ``CVR`` and ``Election``. Of each record the snapshot ``CurrentSnapshotId`` counts, of its
``CVRContest`` the ``CVRContestSelection``; the rank stands there, or in ``SelectionPosition``. A position with
``HasIndication: no`` is no mark, one with ``IsAllocable: no`` a mark that does not count by itself. Names come from
``ContestSelection`` and ``Candidate``.

**Dominion** ``CvrExport.json``, an object with ``Sessions``. ``CandidateManifest.json`` in the same folder has the
names, ``ContestManifest.json`` those of contests. Of each session ``Original`` counts, or ``Modified`` where the former
is not current, of its ``Cards`` the ``Contests`` with their ``Marks``. A mark with ``IsAmbiguous`` is none, one with
``IsVote: false`` does not count by itself.

Two marks for one place that count, or several none of which does, are an overvote. A write-in is ``write-in``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from privrank_jax.data.ballots import Ballots, table_of
from privrank_jax.data.errors import DataError, quoted
from privrank_jax.data.file import File
from privrank_jax.data.names import is_overvote
from privrank_jax.data.questions import CAST, chosen
from privrank_jax.data.table import single_object

WRITE_IN = "write-in"
_RANKED = (None, "rcv", "borda", "other")  # kinds of contests that may have ranks
_RANK = re.compile(r"\d{1,4}", re.ASCII)
_WHO = "each ballot with the contest is a ranking"


class Mark(NamedTuple):
    """A mark on a ballot: its place, the name of its candidate, and whether it counts by itself."""

    rank: str | None
    name: str
    counts: bool


def order_of(marks: Sequence[Mark], where: str) -> tuple[str, ...]:
    """The names on a ballot, the best first, by the rules of :data:`privrank_jax.data.questions.CAST`.

    >>> order_of([Mark("2", "Bo", True), Mark("1", "Ann", True), Mark("3", "Ann", True)], "")
    ('Ann', 'Bo')
    >>> order_of([Mark("1", "Ann", True), Mark("2", "Bo", True), Mark("2", "Cy", True), Mark("3", "Di", True)], "")
    ('Ann',)
    """
    places: dict[int, list[Mark]] = {}
    for mark in marks:
        if mark.rank is None or not _RANK.fullmatch(mark.rank):
            raise DataError(
                f"{where}: a mark has the rank {quoted(mark.rank)}: is this a ranked contest?"
            )
        places.setdefault(int(mark.rank), []).append(mark)
    found: dict[str, None] = {}
    for place in sorted(places):
        counting = {mark.name for mark in places[place] if mark.counts}
        if len(counting) > 1 or any(map(is_overvote, counting)):
            break
        if not counting and len({mark.name for mark in places[place]}) > 1:
            break
        found |= dict.fromkeys(counting)
    return tuple(found)


def read_nist(file: File, found: Mapping[str, Any], order: str | None) -> Ballots:
    """Read one contest of a report in the Common Data Format of NIST."""
    elections = _listed(found, "Election")
    candidates = {
        one["@id"]: one["Name"] for each in elections for one in _listed(each, "Candidate")
    }
    all_contests = [one for each in elections for one in _listed(each, "Contest")]
    contests = {one["Name"]: one for one in all_contests if one.get("VoteVariation") in _RANKED}
    contest = contests[_contest(file, contests, order)]
    names = {}
    for one in _listed(contest, "ContestSelection"):
        ids = [] if _is(one, "IsWriteIn", True) else one.get("CandidateIds", [])
        names[one["@id"]] = " / ".join(candidates[k] for k in ids) or WRITE_IN

    def marks_of(selection: Mapping[str, Any]) -> Iterator[Mark]:
        name = names[selection["ContestSelectionId"]]
        for one in _listed(selection, "SelectionPosition") or [selection]:
            if not _is(one, "HasIndication", False):
                written = WRITE_IN if "CVRWriteIn" in one else name
                rank = selection.get("Rank", one.get("Rank"))
                yield Mark(rank, written, not _is(one, "IsAllocable", False))

    def ballots() -> Iterator[list[Mark]]:
        for cvr in _listed(found, "CVR"):
            for snapshot in _listed(cvr, "CVRSnapshot"):
                if snapshot.get("@id") != cvr.get("CurrentSnapshotId", snapshot.get("@id")):
                    continue
                for one in _listed(snapshot, "CVRContest"):
                    if one["ContestId"] == contest["@id"]:
                        selections = _listed(one, "CVRContestSelection")
                        yield [mark for each in selections for mark in marks_of(each)]

    return _made(file, ballots(), [name for name in names.values() if not is_overvote(name)])


def read_dominion(file: File, found: Mapping[str, Any], order: str | None) -> Ballots:
    """Read one contest of an export of Dominion."""
    listed = _manifest(file, "CandidateManifest.json")
    about = {one["Id"]: one for one in _manifest(file, "ContestManifest.json", needed=False)}
    contests = {
        about[k]["Description"] if k in about else f"contest {k}": k
        for k in dict.fromkeys(one["ContestId"] for one in listed)
        if int(about.get(k, {}).get("NumOfRanks", 2)) > 1
    }
    contest = contests[_contest(file, contests, order)]
    names = {
        one["Id"]: WRITE_IN if one.get("Type") == "WriteIn" else one["Description"]
        for one in listed
        if one["ContestId"] == contest
    }

    def ballots() -> Iterator[list[Mark]]:
        for session in _listed(found, "Sessions"):
            changed, first = session.get("Modified"), session["Original"]
            current = first if changed is None or _is(first, "IsCurrent", True) else changed
            for card in _listed(current, "Cards") or [current]:
                for one in _listed(card, "Contests"):
                    if one["Id"] == contest:
                        yield [
                            Mark(
                                mark.get("Rank"),
                                names[mark["CandidateId"]],
                                not _is(mark, "IsVote", False),
                            )
                            for mark in _listed(one, "Marks")
                            if not _is(mark, "IsAmbiguous", True)
                        ]

    return _made(file, ballots(), list(names.values()))


_KINDS = {"CVR": read_nist, "Sessions": read_dominion}


def cast_vote_reader(file: File) -> Any:
    """What reads the cast-vote records in a file; None where it holds something else, by its outermost keys."""
    if file.suffix != ".json":
        return None
    file.checked((".json",), "")
    lines = file.lines()
    first = next((line for line in lines if line.strip()), "")
    # A look at the text takes a fraction of parsing it, which a file of another kind is spared.
    named = (f'"{key}"' in line for line in itertools.chain([first], lines) for key in _KINDS)
    if not (first.lstrip().startswith("{") and any(named)):
        return None
    found = single_object(file)
    key = next((key for key in _KINDS if found and isinstance(found.get(key), list)), None)
    if found is None or key is None:
        return None

    def read(file: File, order: str | None) -> Ballots:
        try:
            return _KINDS[key](file, found, order)
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{file.name}: these are no cast-vote records of a form that is read ({error!r}): see the page on files"
            ) from error

    return read


def _contest(file: File, contests: Mapping[str, Any], order: str | None) -> str:
    name = chosen(file.name, contests, order)
    if name is None:
        raise DataError(f"{file.name} names no contest with ranks: there is nothing to rank")
    return name


def _listed(found: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    """The list below a key; one that is not there is empty."""
    listed = found.get(key) or []
    return [listed] if isinstance(listed, dict) else listed


def _is(found: Mapping[str, Any], key: str, value: bool) -> bool:
    """Whether a field that may be absent is this truth value."""
    return str(found.get(key)).lower() in (("true", "yes", "1") if value else ("false", "no", "0"))


def _manifest(file: File, name: str, *, needed: bool = True) -> Sequence[Mapping[str, Any]]:
    """The list of a file beside the export; none where it need not be there."""
    beside = File(file.path.with_name(name))
    if file.piped or not beside.exists:
        if needed:
            raise DataError(
                f"{file.name}: the names of its candidates stand in {name}: put that into the same folder"
            )
        return []
    return _listed(single_object(beside) or {}, "List")


def _made(file: File, ballots: Iterator[list[Mark]], names: Sequence[str]) -> Ballots:
    words = [
        order_of(marks, f"{file.name}, ballot {k}") for k, marks in enumerate(ballots, start=1)
    ]
    items = tuple(dict.fromkeys(name for name in names if name != WRITE_IN))
    table = table_of(file.name, {"order": words}, lambda row: f"ballot {row + 1}", (CAST, _WHO))
    return Ballots(table, items, public=("participation",))
