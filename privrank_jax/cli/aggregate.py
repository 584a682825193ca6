"""``privrank aggregate``: one private consensus from rankings."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from privrank_jax.cli.options import argument, command, said, taken
from privrank_jax.cli.request import Published
from privrank_jax.jobs.methods import CONSENSUS, KEMENY, RULES_HELP, described

if TYPE_CHECKING:
    from privrank_jax.jobs.consensus import Asked

_SOLVERS = ", ".join(["none", *(one.name for one in CONSENSUS.values() if one.solves)])
_TAKEN = ("trust", "noise", "xi", "rule", "points", "limit", "top_k")
_Asked: Any = taken("jobs.consensus:consensus", *_TAKEN)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(_Asked, Published):
    """The options of one run."""

    source: str = argument(
        "FILE",
        "CSV, TSV, Excel (.xlsx), JSON Lines, Parquet, PrefLib, OpaVote (.blt) or Pabulib file (.pb; - is standard "
        "input); or a named data set: coffee-rankings, sushi, apa, apa1998 to apa2009, aspen, aspen-mayor, german, "
        "nascar, potato, potato-weighing, salad.",
    )
    method: str = said(
        "auto (weights, or borda where noise is large; of approvals scores, or with --top-k top-k), "
        f"{described(CONSENSUS)}, none (not private: the best ranking, with a proof).",
        "auto",
    )
    rule: str | None = said(
        f"{_SOLVERS}: how the noisy majorities of all pairs become an order, which costs nothing more: {RULES_HELP}. "
        "Without --method it takes weights, or noise-all where users randomize."
    )
    matrix: Path | None = said(
        f"{_SOLVERS}: write the shares of users who rank the item of a row before that of a column, with the noise, "
        "for other tools (.csv, .tsv, .xlsx, .json)."
    )

    LEFT_OUT: ClassVar[tuple[str, ...]] = ("unit", "max_per_user")

    @functools.cached_property
    def asked(self) -> Asked:
        """What is asked of the consensus."""
        from privrank_jax.jobs.consensus import Asked

        named: dict[str, Any] = {name: getattr(self, name) for name in _TAKEN}
        if self.matrix and self.rule is None:
            named["rule"] = KEMENY
        if self.private:
            return Asked(method=self.method, **named)
        named |= {"points": None, "limit": None}
        asked = Asked(**named)
        asked.check(None)  # trust and noise are not used, and must be some that there are
        return dataclasses.replace(asked, trust="central", noise=None)


@command
def aggregate(request: Request) -> None:
    """Release a consensus of many rankings, ratings or approvals under differential privacy.

    Prints the consensus and the guarantee in words: little can be learned about any one user's whole ranking. The noise
    comes from the entropy of the operating system. The guarantee covers all on standard output; remarks for the holder
    of the data go to standard error. Synthetic rankings of privatize are debiased, and spend nothing. Examples:
        privrank aggregate ballots.csv --epsilon 1 --items Q1_1..Q1_9
        privrank aggregate stars.csv --epsilon 1 --items seen --ratings 1:5 --user voter
        privrank aggregate approvals.csv --epsilon 1 --items tea,milk,water --approvals --top-k 2
        privrank aggregate votes.toi --method none     (the best ranking there is, with a proof)
    """
    request.check()
    from privrank_jax.cli.show import release
    from privrank_jax.jobs.consensus import agreed

    release("aggregate", request, ("rankings", "synthetic"), request.asked.check, agreed)
