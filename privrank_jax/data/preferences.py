"""Preferences for training: ``prompt``, ``chosen``, ``rejected``, perhaps ``id`` and ``user``, in a table of any kind.

The answers are texts, or lists of messages with ``role`` and ``content``, as TRL's data sets have them; ``prompt`` may
be absent where it is the beginning of both. What is protected is the *order*: which of the two answers was chosen.
Prompts and texts of both answers are public, and so is who answered which prompt.

**A randomized file** of JSON Lines has the same fields, so that whatever trains on such data reads it, and
``label_epsilon``, by which it is known: the ε at which the order of its line was randomized. ``chosen`` is the answer
that the report names.

**What must not tell the order.** The two answers are read as a set: the bit that is randomized says whether the chosen
one is the first when both are sorted as text, and each answer is written in one form, whatever the order of its keys.
Lines are sorted by a hash of what is public in them, since their order in the source may follow the answers. Other
fields are left out unless they are named, and refused if their names or contents tell of the order.

**Memory.** A source is read twice, a file as a stream. Kept between are some fifty bytes for each line, and the names
of the users; lines are sorted on disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import json
import os
import tempfile
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer

from privrank_jax._neighbors import NO_COLUMN, of_column
from privrank_jax._validate import check_choice
from privrank_jax._whole_file import whole_file
from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.file import Origin
from privrank_jax.data.json_lines import SUFFIXES, Records
from privrank_jax.data.names import Names
from privrank_jax.data.preference_pairs import (
    MARK,
    OPTIONAL,
    Pair,
    PreferenceFields,
    check_fields,
    field,
    roles_of,
    written,
)
from privrank_jax.data.randomized import check_writable, epsilon_of, largest_sum
from privrank_jax.data.roles import PreferenceRoles, reader_of
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import CODINGS
from privrank_jax.privacy.privacy import Privacy


@dataclasses.dataclass(frozen=True, eq=False)
class PreferenceScan:
    """What a first reading of N records finds; the texts stay in their table.

    Attributes:
        source: the table.
        names: role to field of ``chosen``, ``rejected``, and of ``prompt``, ``id`` and ``user`` where the table has it.
        keep: further fields that are carried over.
        bits: ``(N,)`` bool, whether the chosen answer is the first of the two sorted as text; what is protected.
        users: ``(N,)`` int, a number for each user; the row number where the table names no users.
        epsilon: ``(N,)`` float64, personal ε; None without a field of these.
        ties: numbers of the rows whose answers are equal.
        checksum: SHA-256 of the text.
        ignored: names of fields that are left out, of the first record.
        user_names: names of the users, or ().
    """

    source: Records
    names: dict[str, str]
    keep: tuple[str, ...]
    bits: Bool[np.ndarray, "rows"]
    users: Integer[np.ndarray, "rows"]
    epsilon: Float[np.ndarray, "rows"] | None
    ties: tuple[int, ...]
    checksum: str
    ignored: tuple[str, ...]
    user_names: tuple[str, ...]

    def __len__(self) -> int:
        return self.bits.size

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}; users and answers not shown>"

    @property
    def has_users(self) -> bool:
        """Whether the table names users."""
        return "user" in self.names

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.source.name

    @property
    def users_are(self) -> str:
        """What one user is."""
        return of_column(self.names["user"]) if self.has_users else NO_COLUMN

    @property
    def sha256(self) -> str:
        """Checksum of the file as it is now, or of the table; what is written is checked against what was read."""
        return self.checksum if self.source.file is None else Origin(self.source.file).sha256

    def check_no_ties(self) -> None:
        """Raise :class:`DataError` if some pairs are twice the same answer."""
        if self.ties:
            raise DataError(
                f"{self.name}: chosen and rejected are the same in {len(self.ties):,} lines, first in row "
                f"{self.ties[0] + 1}: there is no order to protect or to learn from. Remove them"
            )

    def check_users(self) -> None:
        """Raise :class:`DataError` unless the table names users."""
        if not self.has_users:
            raise DataError(
                f"{self.name} has no field 'user', so what a user gave is not known: name the field of users, or "
                "protect each comparison by itself"
            )


def scan_preferences(
    source: Any,
    fields: PreferenceFields,
    *,
    keep: str | Sequence[str] = (),
    epsilon: str | None = None,
) -> PreferenceScan:
    """Read and check preferences.

    Args:
        source: a .jsonl, .ndjson or .json file, also .gz, or Parquet; a frame, a dict of columns, dicts, or a data set
            of Hugging Face, as :class:`~privrank_jax.data.json_lines.Records` takes them.
        fields: their names.
        keep: further fields to carry over, or one name.
        epsilon: field of personal ε.

    Returns:
        What is needed to randomize it.

    Raises:
        DataError: what is wrong, in which line, and how to fix it.
    """
    records, keep = Records.of(source), (keep,) if isinstance(keep, str) else tuple(keep)
    check_fields(records.name, fields, keep)
    found, _ = _scanned(records, fields, keep, epsilon)
    loose = not keep and fields.prompt is not None and not {"prompt", "id"} & found.names.keys()
    if (
        found.ignored and loose
    ):  # lines are written sorted, and nothing would join them to their prompts
        raise DataError(
            f"{records.name} has no prompt and no id, as far as named, so its lines, which are written sorted, could "
            f"not be joined to the fields left out: {', '.join(found.ignored)}. Name the field of prompts by `prompt` "
            "or that of ids by `id`, or carry a field over by `keep`; prompt=None if the answers need no prompt"
        )
    return found


def _scanned(
    records: Records,
    fields: PreferenceFields,
    keep: tuple[str, ...],
    epsilon: str | None,
    randomized: bool = False,
) -> tuple[PreferenceScan, dict[str, list[Any]]]:
    """Read all records; the columns of those that are randomized are held, of others none."""
    names: dict[str, str] = {}
    first: dict[str, Any] = {}
    absent: set[str | None] = set()
    held: dict[str, list[Any]] = {}
    bits, ties, budgets, users = array("b"), array("b"), array("d"), array("i")
    people = Names("user")
    for record in records:
        try:
            if randomized and MARK not in record:
                raise BadCell(f"no field {MARK!r}, so its order was not randomized: privatize it")
            if epsilon is not None:
                given = field(record, epsilon)
                budgets.append(epsilon_of(given if isinstance(given, str) else written(given)))
            if randomized:
                del record[MARK]
            if not names:
                names, first = roles_of(record, fields), record
                absent = {getattr(fields, role) for role in OPTIONAL if role not in names}
            if late := absent & record.keys():
                raise BadCell(f"a field {late.pop()!r}, which the first line does not have")
            pair = Pair.of(record, names, keep)
            if "user" in names:
                users.append(people[_user(record[names["user"]])])
            if randomized and record.keys() != first.keys():
                raise BadCell("other fields than in the first line")
        except BadCell as error:
            raise records.fault(str(error)) from None
        bits.append(pair.chosen_first)
        ties.append(pair.tied)
        for name in first if randomized else ():
            held.setdefault(name, []).append(record[name])
    if not names:
        raise DataError(f"{records.name} is empty: it needs one JSON object per line")
    used = {*names.values(), *keep, epsilon}
    scan = PreferenceScan(
        *(records, names, keep, np.frombuffer(bits, np.int8).astype(bool)),
        users=np.frombuffer(users, np.int32) if "user" in names else np.arange(len(bits)),
        epsilon=None if epsilon is None else np.frombuffer(budgets, np.float64),
        ties=tuple(np.flatnonzero(ties).tolist()),
        checksum=records.checksum(),
        ignored=tuple(name for name in first if name not in used),
        user_names=tuple(people),
    )
    return scan, held


def _user(given: Any) -> str:
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise BadCell(f"the user is {written(given)[:40]}: write a text or a whole number")
    return str(given)


def labels_guarantee(
    scan: PreferenceScan,
    kept: Bool[np.ndarray, "rows"],
    epsilon: Float[np.ndarray, "labels"],
    *,
    asked: Privacy | None,
    numerics: str,
    note: str = "",
) -> Guarantee:
    """Guarantee of randomized labels of the rows that are ``kept``: for a comparison, and for a user if there are some.

    ``epsilon`` is that of each label, ``asked`` what was asked for, None for personal ε of comparisons.
    """
    found = [Privacy.proven(float(epsilon.max()), unit="comparison", adjacency="flip")]
    if asked is not None and asked.unit == "user":
        found.insert(0, Privacy.proven(float(asked.epsilon), unit="user", adjacency="flip"))
    elif scan.has_users:
        whole = largest_sum(scan.users[kept], epsilon)
        found.append(Privacy.proven(whole, unit="user", adjacency="flip"))
    return Guarantee(found[0], trust="local", numerics=numerics, note=note, also=tuple(found[1:]))


def check_preferences_destination(path: str | os.PathLike[str]) -> None:
    """Raise :class:`DataError` unless preferences can be written to a file of this name."""
    path = Path(path)
    if not path.name.lower().endswith(SUFFIXES):
        raise DataError(
            f"{path.name}: preferences are written as JSON Lines: name a {' or '.join(SUFFIXES)} file"
        )
    check_writable(path)


def write_preferences(
    path: str | os.PathLike[str],
    scan: PreferenceScan,
    kept: Bool[np.ndarray, "rows"],
    reports: Bool[np.ndarray, "labels"],
    epsilon: Float[np.ndarray, "labels"],
    *,
    users: bool = True,
) -> tuple[str, ...]:
    """Read the source again and write randomized preferences atomically, replacing an existing file.

    Lines are sorted by a hash of what is public in them, so that their order depends on the *set* of lines alone.

    Args:
        path: ends in .jsonl or .jsonl.gz.
        scan: of the source.
        kept: the rows to write.
        reports: for each of these, whether the first answer of its pair is written as the chosen one.
        epsilon: ε of each report.
        users: whether to write the users.

    Returns:
        The fields written.

    Raises:
        DataError: as :func:`check_preferences_destination`; the source has changed since it was read.
    """
    path = Path(path)
    check_preferences_destination(path)
    names = {role: name for role, name in scan.names.items() if users or role != "user"}
    keys, starts, labels = bytearray(), array("q"), zip(reports.tolist(), epsilon.tolist())
    with (
        whole_file(path) as temporary,
        temporary.open("wb") as file,
        _compressed(file, path) as out,
        tempfile.TemporaryFile(dir=path.absolute().parent) as unsorted,
    ):
        for row, record in enumerate(scan.source):
            if row < len(kept) and kept[row]:
                line, public = _line(record, scan, names, *next(labels))
                keys += _digest(public) + _digest(line)  # several lines may share what is public
                starts.append(unsorted.tell())
                unsorted.write(line)
        if scan.source.checksum() != scan.checksum:
            raise DataError(f"{scan.name} has changed while it was read: nothing was written")
        for k in np.argsort(np.frombuffer(keys, f"S{2 * _DIGEST}"), kind="stable").tolist():
            unsorted.seek(starts[k])
            out.write(unsorted.readline())
    order = [role for role in ("id", "user", "prompt") if role in names]
    return (*order, "chosen", "rejected", MARK, *scan.keep)


_DIGEST = 16  # bytes


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:_DIGEST]


def _line(
    record: dict[str, Any],
    scan: PreferenceScan,
    names: dict[str, str],
    report: bool,
    epsilon: float,
) -> tuple[bytes, bytes]:
    """The line to write for a record, and what is public in it."""
    pair = Pair.of(record, scan.names, scan.keep)
    before = {
        role: written(record[names[role]]) for role in ("id", "user", "prompt") if role in names
    }
    after = {MARK: repr(epsilon)} | {name: written(record[name]) for name in scan.keep}
    chosen, rejected = pair.answers if report else pair.answers[::-1]
    cells = {**before, "chosen": chosen, "rejected": rejected, **after}
    line = ", ".join(f"{written(name)}: {cell}" for name, cell in cells.items())
    return f"{{{line}}}\n".encode(), json.dumps([before, after, pair.answers]).encode()


def _compressed(file: Any, path: Path) -> contextlib.AbstractContextManager[Any]:
    if path.name.lower().endswith(".gz"):
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    return contextlib.nullcontext(file)


# --- randomized preferences, read back ----------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Preferences:
    """N randomized preferences.

    Attributes:
        chosen: the N answers that the reports name, each a text or a list of messages.
        rejected: the other ones.
        reports: ``(N,)`` bool, whether the chosen one is ``first``.
        epsilon: ``(N,)`` float64, the ε of each report.
        prompts: N prompts; empty where the file has none.
        ids: N ids of lines, texts or whole numbers; empty where the file has none.
        users: ``(N,)`` int, a number for each user; the row number where the file names no users.
        user_names: names of the users, or ().
        others: further fields that were kept, N values each.
        name: name of the file.
    """

    chosen: tuple[Any, ...]
    rejected: tuple[Any, ...]
    reports: Bool[np.ndarray, "rows"]
    epsilon: Float[np.ndarray, "rows"]
    prompts: tuple[Any, ...]
    ids: tuple[Any, ...]
    users: Integer[np.ndarray, "rows"]
    user_names: tuple[str, ...]
    others: Mapping[str, tuple[Any, ...]]
    name: str = ""

    read = reader_of(PreferenceRoles)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {len(self):,} randomized preferences>"

    def __len__(self) -> int:
        return self.reports.size

    @property
    def first(self) -> tuple[Any, ...]:
        """The answer of each pair that comes first as text, whatever the report."""
        return tuple(c if r else j for c, j, r in zip(self.chosen, self.rejected, self.reports))

    @property
    def second(self) -> tuple[Any, ...]:
        """The other answer of each pair."""
        return tuple(j if r else c for c, j, r in zip(self.chosen, self.rejected, self.reports))

    def labels(self, coding: str) -> Integer[np.ndarray, "rows"]:
        """The reports as labels of the pairs ``(first, second)``, for a loss with the same ``coding``.

        Args:
            coding: ``"0/1"`` or ``"-1/1"``; 1 says that ``first`` was reported as the chosen one.
        """
        check_choice("coding", coding, tuple(CODINGS))
        return np.where(self.reports, *CODINGS[coding][::-1]).astype(np.int8)

    @property
    def weights(self) -> Float[np.ndarray, "rows"]:
        """tanh²(ε/2), the information of each report: weights for the mean of any loss but the likelihood."""
        return np.tanh(0.5 * self.epsilon) ** 2

    @property
    def largest_epsilon(self) -> float:
        """Largest ε of a report."""
        return float(self.epsilon.max())

    @property
    def largest_epsilon_of_a_user(self) -> float | None:
        """Largest sum of the ε of one user's reports; None without users."""
        return largest_sum(self.users, self.epsilon) if self.user_names else None


def read_preferences(source: Any) -> Preferences:
    """Read randomized preferences, as ``privrank privatize`` writes them.

    Args:
        source: a file or another table, as of :func:`scan_preferences`, with the fields ``chosen``, ``rejected`` and
            ``label_epsilon``, and perhaps ``prompt``, ``id``, ``user`` and others.

    Returns:
        The texts in the memory of the host, with arrays for the losses: ``epsilon`` for
        :func:`~privrank_jax.preferences.reward_loss` and :func:`~privrank_jax.preferences.dpo_loss`, which take the
        answers as chosen and rejected; ``weights`` for the mean of the losses; ``labels`` for the losses of a
        difference ``first - second``.

    Raises:
        DataError: what is wrong, in which line, and how to fix it; a file whose order was not randomized.
    """
    found, held = _scanned(Records.of(source), PreferenceFields(), (), MARK, randomized=True)
    columns = {name: tuple(values) for name, values in held.items()}
    chosen, rejected, prompts, ids, _ = (
        columns.pop(role, ()) for role in ("chosen", "rejected", "prompt", "id", "user")
    )
    assert found.epsilon is not None
    return Preferences(
        *(chosen, rejected, found.bits, found.epsilon, prompts, ids, found.users, found.user_names),
        others=columns,
        name=found.name,
    )
