"""From the FILE argument to win counts with a known sensitivity."""

from __future__ import annotations

import dataclasses
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from privrank_jax import datasets
from privrank_jax._cells.columns import PARQUET
from privrank_jax._cells.names import did_you_mean
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.spending import users_of
from privrank_jax.cli.rank.command import Request
from privrank_jax.comparisons import WinCounts
from privrank_jax.datasets.formats import read_lines
from privrank_jax.pairwise import questionnaire_sensitivity, totals_sensitivity
from privrank_jax.privacy import Privacy
from privrank_jax.release import exact_bound

if TYPE_CHECKING:
    from privrank_jax.tables import ComparisonRows

MAX_ITEMS = 10_000


class Entropy:
    """PRNG keys: from the operating system, or from a seed in a rehearsal."""

    def __init__(self, simulate: bool, seed: int | None) -> None:
        self.seed = None
        if simulate:
            self.seed = secrets.randbits(31) if seed is None else seed
        self._drawn = 0

    def key(self) -> Any:
        """A fresh key."""
        if self.seed is None:
            data = np.frombuffer(secrets.token_bytes(8), np.uint32)
            return jax.random.wrap_key_data(jax.numpy.asarray(data), impl="threefry2x32")
        self._drawn += 1
        return jax.random.fold_in(jax.random.key(self.seed), self._drawn)

    def salt(self) -> str:
        """A fresh salt of a keyed hash, as text."""
        if self.seed is None:
            return secrets.token_hex()
        return np.asarray(jax.random.key_data(self.key())).tobytes().hex()


@dataclasses.dataclass(frozen=True)
class Input:
    """Comparisons, ready for a release.

    Attributes:
        table: as the loader read it; of a Parquet file the rows in the engine, which holds them.
        wins: win counts of the comparisons that were kept.
        per_user: L, the most comparisons of one user; 1 for ``--unit comparison``.
        sensitivity: of the win totals to one unit: ℓ₁ for Laplace noise, ℓ₂ for Gaussian.
        per_item: most that one unit can move the total of one item.
        public: what neighbors share beyond the adjacency's own, for the guarantee.
        users: what one user is, likewise.
        remarks: for the data holder; not covered by the guarantee.
        entropy: keys.
    """

    table: datasets.ComparisonTable | ComparisonRows
    wins: WinCounts
    per_user: int
    sensitivity: float
    per_item: float
    public: tuple[str, ...]
    users: str
    remarks: tuple[str, ...]
    entropy: Entropy

    @property
    def notes(self) -> tuple[str, ...]:
        """What the loader did; of a file only its form, of a named data set public facts."""
        if self.table.has_users:
            return self.table.notes
        return tuple(note for note in self.table.notes if "names no users" not in note)


def read_input(request: Request) -> Input:
    """Read, bound the contributions of users, and work out the sensitivity."""
    by_user = request.unit == "user" and request.method != "none"
    read = _scan_table if Path(request.source).suffix.lower() in PARQUET else read_table
    table = read(request.source, request.columns, request.items, by_user=by_user)
    if request.top_k is not None and request.top_k > table.num_items:
        raise Refusal(
            f"--top-k {request.top_k} is more than there are items: {table.name} has {table.num_items}."
        )
    if table.num_items > MAX_ITEMS:
        raise Refusal(
            f"{table.name} has {table.num_items:,} items; this command keeps a table of all pairs and "
            f"takes at most {MAX_ITEMS:,}. From Python, comparisons.WinEdges serves more."
        )
    entropy = Entropy(request.simulate, request.seed)
    per_user = _limit(table, request) if by_user else 1
    limit = per_user if by_user and table.comparisons_per_user > per_user else None
    wins, kept = _count(table, limit, entropy)
    remarks = private_remarks(table)
    if kept < len(table):
        remarks += (
            f"{len(table) - kept} of {len(table)} comparisons were left out, chosen at random, to keep at most "
            f"{per_user} per user. (For you alone: these numbers are not covered by the guarantee.)",
        )
    sensitivity, per_item, public = _sensitivity(table, request, per_user)
    if request.adjacency == "flip":  # keeps who compared what, and so all of these
        public = ()
    users = users_of(request.source, request.columns["user"]) if by_user else ""
    return Input(table, wins, per_user, sensitivity, per_item, public, users, remarks, entropy)


def private_remarks(table: Any) -> tuple[str, ...]:
    """What a loader counted, for the data holder only."""
    alone = "(For you alone: this is not covered by the guarantee.)"
    return tuple(f"{remark} {alone}" for remark in table.remarks)


def _count(
    table: datasets.ComparisonTable | ComparisonRows, limit: int | None, entropy: Entropy
) -> tuple[WinCounts, int]:
    """Win counts of all comparisons, or of ``limit`` of each user, chosen at random; and how many these are."""
    if not isinstance(table, datasets.ComparisonTable):
        wins = table.win_counts(limit, None if limit is None else entropy.salt())
        return wins, round(float(wins.matrix.sum()))
    comparisons = table.comparisons()
    if limit is None:
        return comparisons.win_counts(), len(table)
    if entropy.seed is not None:
        comparisons = comparisons.bounded(entropy.key(), limit)
    else:
        kept = jax.numpy.asarray(exact_bound(table.users, limit))
        comparisons = dataclasses.replace(comparisons, mask=kept)
    return comparisons.win_counts(), int(comparisons.mask.sum())


def read_table(
    source: str, columns: dict[str, str | None], items: str | None, *, by_user: bool
) -> datasets.ComparisonTable:
    """A file or a named data set; ``columns`` and ``items`` are the options as given.

    Args:
        source: FILE.
        columns: role to column; None where the option was left out.
        items: ``--items``.
        by_user: whether a file must name its users, unless ``--user none`` says that it doesn't.
    """
    if source in datasets.available():
        given = [f"--{role}" for role, column in columns.items() if column is not None]
        given += ["--items"] if items is not None else []
        if given:
            raise Refusal(
                f"{source} is a named data set with its own columns and items: leave out "
                f"{', '.join(given)}."
            )
        return datasets.load(source)
    path = Path(source)
    if not path.suffix and not path.exists():
        known = datasets.available()
        if source in datasets.available_rankings():
            raise Refusal(
                f"{source} holds rankings, not comparisons: privrank aggregate {source} makes one of them."
            )
        raise Refusal(
            f"{source!r} is neither a file nor a named data set{did_you_mean(source, known)}; the named "
            f"ones are {', '.join(known)}."
        )
    return datasets.read_comparisons(path, **_roles(columns, items, by_user=by_user))


def _scan_table(
    source: str, columns: dict[str, str | None], items: str | None, *, by_user: bool
) -> ComparisonRows:
    """A Parquet file, however large; arguments as of :func:`read_table`."""
    from privrank_jax.tables import scan_comparisons

    roles = _roles(columns, items, by_user=by_user)
    return scan_comparisons(Path(source), most_items=MAX_ITEMS, **roles)


def _roles(columns: dict[str, str | None], items: str | None, *, by_user: bool) -> dict[str, Any]:
    """The options of columns and items as arguments of a loader."""
    return {
        "user": named_column(columns["user"], "user" if by_user else None),
        "winner": columns["winner"] or "winner",
        "loser": columns["loser"] or "loser",
        "tie": named_column(columns["tie"], "tie"),
        "items": None if items is None else item_list(items),
    }


def named_column(given: str | None, default: str | None) -> str | None:
    """The column that an option names: ``none`` stands for no column, an option left out for the default."""
    if given is None:
        return default
    return None if given == "none" else given


def item_list(given: str) -> list[str]:
    """Lines of a text file, or names between commas."""
    if "," in given or not Path(given).suffix:
        return [name.strip() for name in given.split(",")]
    path = Path(given)
    try:
        lines = list(read_lines(path))
    except ValueError as error:
        raise Refusal(
            f"--items {given}: {error}. Give a text file with one item per line, or names separated by commas."
        ) from error
    return [line.strip() for line in lines if line.strip()]


def _limit(table: datasets.ComparisonTable | ComparisonRows, request: Request) -> int:
    """L; without ``--max-per-user`` nobody may exceed the questionnaire, or 1."""
    if not table.has_users:
        raise Refusal(
            f"{table.name} does not say who compared, so users can't be protected as a whole: name the "
            "column by --user, or protect single comparisons by --unit comparison."
        )
    if request.max_per_user is not None:
        return request.max_per_user
    asked = 1 if table.questionnaire is None else len(table.questionnaire)
    if table.comparisons_per_user > asked:
        raise Refusal(
            f"a user of {table.name} gave more than {asked} comparison{'s' * (asked > 1)}, and a guarantee for users "
            "needs a bound: choose one by --max-per-user, without looking at the data, such as the number of "
            "questions that everybody was asked. It is published with the result, and who gave more keeps a random "
            "choice of that many; less of it means less noise. --unit comparison protects single comparisons only."
        )
    return asked


def promised(request: Request, per_user: int) -> Privacy:
    """What the options promise, where nobody has more than ``per_user`` comparisons."""
    return Privacy(
        request.epsilon,
        unit=request.unit,
        adjacency=request.adjacency,
        delta=request.delta,
        contributions=per_user if request.unit == "user" else None,
    )


def _sensitivity(
    table: datasets.ComparisonTable | ComparisonRows, request: Request, per_user: int
) -> tuple[float, float, tuple[str, ...]]:
    """How far one unit moves all win totals, and one of them; what is public, for the guarantee."""
    norm = "l1" if request.noise == "laplace" else "l2"
    total = float(totals_sensitivity(promised(request, per_user), norm))
    one = float(per_user)
    if request.unit != "user" or table.questionnaire is None:
        return total, one, table.public
    pairs = table.questionnaire
    known = questionnaire_sensitivity(pairs, table.num_items, request.adjacency, norm)
    meetings = float(np.bincount(pairs.ravel()).max())
    used = known < total or (request.method == "one-shot" and meetings < one)
    public = (*table.public, "questionnaire") if used else table.public
    return min(known, total), min(meetings, one), public
