"""Files of preferences for training, as JSON Lines: ``prompt``, ``chosen``, ``rejected``, perhaps ``id`` and ``user``.

The answers are texts, or lists of messages with ``role`` and ``content``, as TRL's data sets have them; ``prompt`` may
be absent where it is the beginning of both. What is protected is the *order*: which of the two answers was chosen.
Prompts and texts of both answers are public, and so is who answered which prompt.

**A randomized file** has the same fields, so that whatever trains on such data reads it, and ``label_epsilon``, by
which it is known: the ε at which the order of its line was randomized. ``chosen`` is the answer that the report names.

**What must not tell the order.** The two answers are read as a set: the bit that is randomized says whether the chosen
one is the first when both are sorted as text, and each answer is written in one form, whatever the order of its keys.
Lines are sorted by a hash of what is public in them, since their order in the source may follow the answers. Other
fields are left out unless they are named, and refused if their names or contents tell of the order.

**Memory.** A file is read twice as a stream. Kept between are ten to thirty bytes for each line, and the names of the
users; sorting takes place in parts on disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import json
import os
import shutil
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Bool, Float, Integer

from privrank_jax._neighbors import NO_COLUMN, of_column
from privrank_jax._validate import check_choice
from privrank_jax._whole_file import beside, whole_file
from privrank_jax.data.errors import BadCell, DataError, say
from privrank_jax.data.file import File, Origin
from privrank_jax.data.json_lines import SUFFIXES, JsonLines, is_json_lines
from privrank_jax.data.names import Names
from privrank_jax.data.preference_pairs import (
    MARK,
    OPTIONAL,
    Pair,
    PreferenceFields,
    check_answers,
    check_fields,
    field,
    roles_of,
    written,
)
from privrank_jax.data.reports import check_writable, epsilon_of, largest_sum
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import CODINGS
from privrank_jax.privacy.privacy import Privacy

_PART = 1 << 25  # bytes of a part that is sorted in memory
_MOST_PARTS = 200  # files that are open at once


@dataclasses.dataclass(frozen=True, eq=False)
class PreferenceScan:
    """What a first reading of N lines finds; the texts stay in the file.

    Attributes:
        path: the file.
        names: role to field of ``chosen``, ``rejected``, and of ``prompt``, ``id`` and ``user`` where the file has it.
        keep: further fields that are carried over.
        bits: ``(N,)`` bool, whether the chosen answer is the first of the two sorted as text; what is protected.
        users: ``(N,)`` int, a number for each user; the row number where the file names no users.
        epsilon: ``(N,)`` float64, personal ε; None without a field of these.
        ties: numbers of the rows whose answers are equal.
        size: bytes of text.
        checksum: SHA-256 of the text.
        ignored: names of fields that are left out, of the first line.
    """

    path: File
    names: dict[str, str]
    keep: tuple[str, ...]
    bits: Bool[np.ndarray, "rows"]
    users: Integer[np.ndarray, "rows"]
    epsilon: Float[np.ndarray, "rows"] | None
    ties: tuple[int, ...]
    size: int
    checksum: str
    ignored: tuple[str, ...]

    def __len__(self) -> int:
        return self.bits.size

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path.name!r}; users and answers not shown>"

    @property
    def has_users(self) -> bool:
        """Whether the file names users."""
        return "user" in self.names

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    @property
    def users_are(self) -> str:
        """What one user is."""
        return of_column(self.names["user"]) if self.has_users else NO_COLUMN

    @property
    def sha256(self) -> str:
        """Checksum of the file as it is now; what is written is checked against what was read."""
        return Origin(self.path).sha256

    def check_no_ties(self) -> None:
        """Raise :class:`DataError` if some pairs are twice the same answer."""
        if self.ties:
            raise DataError(
                f"{self.path.name}: chosen and rejected are the same in {len(self.ties):,} lines, first in row "
                f"{self.ties[0] + 1}: there is no order to protect or to learn from. Remove them"
            )

    def check_users(self) -> None:
        """Raise :class:`DataError` unless the file names users."""
        if not self.has_users:
            raise DataError(
                f"{self.path.name} has no field 'user', so what a user gave is not known: name the field of users, or "
                "protect each comparison by itself"
            )


def scan_preferences(
    path: str | os.PathLike[str],
    fields: PreferenceFields,
    *,
    keep: str | Sequence[str] = (),
    epsilon: str | None = None,
) -> PreferenceScan:
    """Read and check a file of preferences.

    Args:
        path: a .jsonl, .ndjson or .json file, also .gz, or Parquet.
        fields: their names.
        keep: further fields to carry over, or one name.
        epsilon: field of personal ε.

    Returns:
        What is needed to randomize it.

    Raises:
        DataError: what is wrong, in which line, and how to fix it.
    """
    lines = JsonLines(path)
    keep = (keep,) if isinstance(keep, str) else tuple(keep)
    check_fields(lines.path.name, fields, keep)
    names: dict[str, str] | None = None
    bits, users, budgets, ties = array("b"), array("i"), array("d"), array("q")
    people = Names("user", False)
    first: dict[str, Any] = {}
    absent: set[str | None] = set()
    for record in lines:
        try:
            if names is None:
                check_answers(record, fields)
                names, first = roles_of(record, fields), record
                absent = {getattr(fields, role) for role in OPTIONAL if role not in names}
            if late := absent & record.keys():
                raise BadCell(f"a field {next(iter(late))!r}, which the first line does not have")
            pair = Pair.of(record, names, keep)
            if pair.tied:
                ties.append(len(bits))
            bits.append(pair.chosen_first)
            if "user" in names:
                users.append(people[cell_of_user(record[names["user"]])])
            if epsilon is not None:
                budgets.append(epsilon_of(_number(field(record, epsilon))))
        except BadCell as error:
            raise lines.fault(str(error)) from None
    if names is None:
        raise DataError(f"{lines.path.name} is empty: it needs one JSON object per line")
    used = {*names.values(), *keep, epsilon}
    ignored = tuple(name for name in first if name not in used)
    if ignored and not keep and fields.prompt is not None and not {"prompt", "id"} & names.keys():
        _refuse_loose_ends(lines.path.name, ignored)
    return PreferenceScan(
        path=lines.path,
        names=names,
        keep=keep,
        bits=np.frombuffer(bits, np.int8).astype(bool),
        users=np.frombuffer(users, np.int32) if "user" in names else np.arange(len(bits)),
        epsilon=None if epsilon is None else np.frombuffer(budgets, np.float64),
        ties=tuple(ties),
        size=lines.size,
        checksum=lines.checksum,
        ignored=ignored,
    )


def _refuse_loose_ends(source: str, ignored: tuple[str, ...]) -> NoReturn:
    """Raise :class:`DataError`: the lines would be written sorted, with nothing to join them to their prompts by."""
    raise DataError(
        f"{source} has no prompt and no id, as far as named, so its lines, which are written sorted, could not be "
        f"joined to the fields left out: {', '.join(ignored)}. Name the field of prompts by {say('prompt')} or that of "
        f"ids by {say('id')}, or carry a field over by {say('keep')}; {say('prompt', None)} if the answers need no "
        "prompt"
    )


def labels_guarantee(
    scan: PreferenceScan,
    kept: Bool[np.ndarray, "rows"],
    epsilon: Float[np.ndarray, "labels"],
    *,
    asked: Privacy | None,
    numerics: str,
    note: str = "",
) -> Guarantee:
    """Guarantee of randomized labels: for one comparison, and for a user where the file names users.

    Args:
        scan: the file.
        kept: the rows that are written.
        epsilon: ε of each of them.
        asked: what was asked for; None for personal ε of comparisons.
        numerics: how they were drawn.
        note: for the reader.
    """
    comparison = Privacy.proven(float(epsilon.max()), unit="comparison", adjacency="flip")
    found = [comparison]
    if scan.has_users:
        whole = largest_sum(scan.users[kept], epsilon)
        found.append(Privacy.proven(whole, unit="user", adjacency="flip"))
    if asked is not None and asked.unit == "user":
        found = [Privacy.proven(float(asked.epsilon), unit="user", adjacency="flip"), comparison]
    return Guarantee(found[0], trust="local", numerics=numerics, note=note, also=tuple(found[1:]))


def check_preferences_destination(path: str | os.PathLike[str]) -> None:
    """Raise :class:`DataError` unless preferences can be written to a file of this name."""
    path = Path(path)
    if not is_json_lines(path):
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
    lines = JsonLines(scan.path)
    rows = _randomized(lines, names, scan, kept, reports.tolist(), epsilon.tolist())
    folder = beside(path.with_name(f"{path.name}.parts"))  # beside the file that takes its place
    try:
        folder.mkdir(mode=0o700)
        parts = _dealt(rows, folder, min(_MOST_PARTS, 1 + scan.size // _PART))
        if lines.checksum != scan.checksum:
            raise DataError(f"{scan.path.name} has changed while it was read: nothing was written")
        with (
            whole_file(path) as temporary,
            temporary.open("wb") as file,
            _compressed(file, path) as out,
        ):
            for one in parts:
                with one.open("rb") as lines_of_part:
                    out.writelines(line[_DIGITS:] for line in sorted(lines_of_part))
                one.unlink()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    order = [role for role in ("id", "user", "prompt") if role in names]
    return (*order, "chosen", "rejected", MARK, *scan.keep)


_DIGITS = 32  # of the hash in front of each line while lines are sorted


def _randomized(
    lines: JsonLines,
    names: dict[str, str],
    scan: PreferenceScan,
    kept: np.ndarray,
    reports: list[bool],
    epsilon: list[float],
) -> Iterator[str]:
    """The lines to write, each after a hash of what is public in it."""
    found = 0
    for row, record in enumerate(lines):
        if row < len(kept) and kept[row]:
            pair = Pair.of(record, scan.names, scan.keep)
            chosen, rejected = pair.answers if reports[found] else pair.answers[::-1]
            before = {
                role: written(record[names[role]])
                for role in ("id", "user", "prompt")
                if role in names
            }
            after = {MARK: repr(epsilon[found])}
            after |= {name: written(record[name]) for name in scan.keep}
            public = json.dumps([before, after, pair.answers])
            key = hashlib.sha256(public.encode()).hexdigest()[:_DIGITS]
            cells = {**before, "chosen": chosen, "rejected": rejected, **after}
            text = ", ".join(f"{written(name)}: {cell}" for name, cell in cells.items())
            yield f"{key}{{{text}}}\n"
            found += 1


def _dealt(rows: Iterator[str], folder: Path, count: int) -> list[Path]:
    """Files of the rows, so that all those of one come before all those of the next."""
    paths = [folder / f"{k}" for k in range(count)]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(path.open("wb")) for path in paths]
        for row in rows:
            files[int(row[:8], 16) * count >> 32].write(row.encode())
    return paths


def _compressed(file: Any, path: Path) -> contextlib.AbstractContextManager[Any]:
    if path.name.lower().endswith(".gz"):
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    return contextlib.nullcontext(file)


def cell_of_user(given: Any) -> str:
    """A user as text; :class:`BadCell` for what is neither a text nor a whole number."""
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise BadCell(f"the user is {written(given)[:40]}: write a text or a whole number")
    return str(given)


def _number(given: Any) -> str:
    return given if isinstance(given, str) else written(given)


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


def read_preferences(path: str | os.PathLike[str]) -> Preferences:
    """Read randomized preferences, as ``privrank privatize`` writes them.

    Args:
        path: such a file with the fields ``chosen``, ``rejected`` and ``label_epsilon``, and perhaps
            ``prompt``, ``id``, ``user`` and others.

    Returns:
        The texts in the memory of the host, with arrays for the losses: ``epsilon`` for
        :func:`~privrank_jax.preferences.reward_loss` and :func:`~privrank_jax.preferences.dpo_loss`, which take the
        answers as chosen and rejected; ``weights`` for the mean of the losses; ``labels`` for the losses of a
        difference ``first - second``.

    Raises:
        DataError: what is wrong, in which line, and how to fix it; a file whose order was not randomized.
    """
    lines = JsonLines(path)
    names: dict[str, str] = {}
    others: dict[str, list[Any]] = {}
    columns: dict[str, list[Any]] = {role: [] for role in ("chosen", "rejected", *OPTIONAL)}
    reports, epsilon, users = array("b"), array("d"), array("i")
    people = Names("user", False)
    for record in lines:
        try:
            if MARK not in record:
                raise BadCell(
                    f"no field {MARK!r}, so its order was not randomized: privatize the file first (privrank privatize)"
                )
            epsilon.append(epsilon_of(json.dumps(record.pop(MARK))))
            if not names:
                names = roles_of(record, PreferenceFields())
                others = {name: [] for name in record if name not in names}
            reports.append(Pair.of(record, names, ()).chosen_first)
            if record.keys() != {*names, *others}:
                raise BadCell("other fields than in the first line")
            if "user" in names:
                users.append(people[cell_of_user(record["user"])])
        except BadCell as error:
            raise lines.fault(str(error)) from None
        for name in names:
            columns[name].append(record[name])
        for name, values in others.items():
            values.append(record[name])
    if not reports:
        raise DataError(f"{lines.path.name} is empty: it needs one JSON object per line")
    return Preferences(
        chosen=tuple(columns["chosen"]),
        rejected=tuple(columns["rejected"]),
        reports=np.frombuffer(reports, np.int8).astype(bool),
        epsilon=np.frombuffer(epsilon, np.float64),
        prompts=tuple(columns["prompt"]),
        ids=tuple(columns["id"]),
        users=np.frombuffer(users, np.int32) if "user" in names else np.arange(len(reports)),
        user_names=tuple(people),
        others={name: tuple(values) for name, values in others.items()},
        name=lines.path.name,
    )
