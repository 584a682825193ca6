"""From the FILE argument of ``privrank aggregate`` to rankings."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from privrank_jax import datasets
from privrank_jax._promise import Privacy
from privrank_jax.aggregation import PairWeights, PositionHistograms
from privrank_jax.cli.aggregate.request import Request
from privrank_jax.cli.core.checks import check_items
from privrank_jax.cli.core.entropy import Entropy
from privrank_jax.cli.core.sources import (
    check_rare_items,
    private_remark,
    ranking_roles,
    rankings_in_engine,
    read_rankings,
    say_reading,
    users_of,
)
from privrank_jax.release.exact_aggregation import counted_weights
from privrank_jax.release.footrule_costs import counted_histograms
from privrank_jax.tables import RankingRows, scan_rankings

MAX_ITEMS = 2_000
# Methods for which an engine may count how users order pairs; all others read users one by one.
_BY_PAIRS = ("auto", "weights", "borda", "kwiksort", "noise-all", "exponential", "none")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Input:
    """Rankings, ready for a consensus.

    Attributes:
        table: the table as the loader read it, with ``missing`` as requested; for a Parquet file that a curator
            releases from, the rows in the engine.
        complete: whether it is public, by the kind of file or the data set, that all users ranked all items.
        remarks: remarks for the holder of the data; not covered by the guarantee.
        entropy: source of keys.
    """

    table: datasets.RankingTable | RankingRows
    complete: bool
    remarks: tuple[str, ...]
    entropy: Entropy

    @property
    def ranks(self) -> np.ndarray:
        """``(n, m)``, where users were read one by one."""
        assert isinstance(self.table, datasets.RankingTable)
        return self.table.ranks

    @property
    def in_engine(self) -> bool:
        """Whether the rows stay in an engine, which counts how users order pairs."""
        return not isinstance(self.table, datasets.RankingTable)

    @functools.cached_property
    def weights(self) -> PairWeights:
        """How users order each pair, which is all that a curator uses."""
        if isinstance(self.table, datasets.RankingTable):
            return counted_weights(self.table.ranks, self.table.missing)
        return self.table.weights()

    @functools.cached_property
    def histograms(self) -> PositionHistograms:
        """How many users have each item at each position, which is all that a curator uses for footrules."""
        return counted_histograms(self.ranks, self.table.missing)

    @property
    def rule(self) -> str:
        """How the table treats an item that was not ranked, in words."""
        if self.table.missing == "last":
            return (
                "an item that a user did not rank counts as behind all that the user ranked "
                "(--missing last)"
            )
        return (
            "of pairs with an item that a user did not rank, that user gives both half a vote "
            "(--missing unknown)"
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrivateInput(Input):
    """The same, ready for a private release.

    Attributes:
        privacy: what is promised, with what is public and what a user is.
    """

    privacy: Privacy


def read_input(request: Request) -> Input:
    """Read a file or a named data set.

    Raises:
        Refusal, DataError: the message says what is wrong and what to do.
    """
    table = _read_table(request)
    check_items(table.name, table.num_items, MAX_ITEMS)
    if request.missing is not None:
        table = dataclasses.replace(table, missing=request.missing)
    remarks = private_remark(*table.remarks)
    if isinstance(table, datasets.RankingTable):
        partial = int(np.sum(np.any(table.ranks < 0, axis=1)))
    else:
        partial = table.partial_users
    if partial and request.missing is None:
        other = "unknown" if table.missing == "last" else "last"
        remarks += private_remark(
            f"{partial:,} of {table.num_users:,} users did not rank all items, which is taken as {table.missing}; "
            f"--missing {other} is the other rule."
        )
    known = request.source in datasets.available_rankings()
    known = known or request.file.suffix in (".soc", ".toc")
    complete, entropy = known and not partial, Entropy(request)
    if not request.private:
        return Input(table=table, complete=complete, remarks=remarks, entropy=entropy)
    check_rare_items(table, written=True)
    users = users_of(request.file, request.user, request.count)
    privacy = request.privacy.given(public=table.public, users=users)
    return PrivateInput(
        table=table, complete=complete, remarks=remarks, entropy=entropy, privacy=privacy
    )


def _read_table(request: Request) -> datasets.RankingTable | RankingRows:
    """Read a file or a named data set; a Parquet file stays in the engine where a curator needs pairs alone."""
    roles = ranking_roles(request, request.items)
    by_pairs = not request.at_home and request.method in _BY_PAIRS
    if not by_pairs or not rankings_in_engine(request.file, request, roles):
        return read_rankings(request.file, request, request.items, num_users=request.users)
    rows = scan_rankings(
        request.file.path,
        most_items=MAX_ITEMS,
        num_users=request.users,
        cells=request.cells,
        **roles,
    )
    say_reading(rows, listed=request.items is not None)
    return rows
