"""``privrank rank``: comparisons, choices, rankings or randomized reports to a private ranking."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import argument, command, said, taken
from privrank_jax.cli.request import Published
from privrank_jax.jobs.methods import RANK, described

if TYPE_CHECKING:
    from privrank_jax.jobs.asked import Asked

_KINDS = ("comparisons", "choices", "best-worst", "rankings", "reports")
_TAKEN = ("noise", "link", "ties", "gamma", "max_per_item", "top_k", "level", "intervals")
_Asked: Any = taken("jobs.rank:rank", *_TAKEN)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(_Asked, Published):
    """The options of one run.

    Attributes:
        probabilities: write the probabilities that the item of a row is better than that of a column, which follow from
            the release at no further cost (.csv, .tsv, .xlsx; .json: those of all ranks too).
    """

    source: str = argument(
        "FILE",
        "CSV, TSV, Excel (.xlsx), JSON Lines or Parquet file (- is standard input) with a header row; or a named data "
        "set: coffee, cemspc, immig, cars, cars2.",
    )
    method: str = said(f"{described(RANK)}, none (not private).", "scores")
    probabilities: Path | None = None

    @functools.cached_property
    def asked(self) -> Asked:
        """What is asked of the ranking."""
        from privrank_jax.jobs.asked import Asked

        method = {"mle": "scores", "none": "scores"}.get(self.method, self.method)
        named = {name: getattr(self, name) for name in _TAKEN}
        return Asked(method=method, bounds=self.bounds, weight_most=self.weights[1], **named)

    @functools.cached_property
    def bounds(self) -> dict[str, tuple[float, float] | None]:
        """Names of covariates, and between what they are clipped."""
        from privrank_jax.data.cells import number_of

        found: dict[str, tuple[float, float] | None] = {}
        for given in self.covariates or ():
            name, *ends = given.rsplit(":", 2) if given.count(":") >= 2 else (given,)
            low, high = map(number_of, ends or ("-1", "1"))
            if low is None or high is None or low >= high or not name or name in found:
                raise Refusal(
                    f"--covariate {given}: give the name of a column, once, or NAME:LOW:HIGH with two numbers, the "
                    "lower first, such as length:-3:3."
                )
            found[name] = (low, high) if ends else None
        return found

    @functools.cached_property
    def weights(self) -> tuple[str | None, float | None]:
        """The column of weights and the largest one, as far as they are given."""
        from privrank_jax.data.cells import number_of

        name, _, last = (self.weight or "").rpartition(":")
        try:
            most = float(last)
        except ValueError:
            most = None
        if not name or most is None:
            return self.weight, None
        if number_of(last) != most or most <= 0:
            raise Refusal(f"--weight {self.weight}: MOST must be positive and finite.")
        return name, most

    def check(self) -> None:
        """Refuse options that do not go together."""
        super().check()
        if self.probabilities and self.method not in ("scores", "mle", "none"):
            raise Refusal(
                "--probabilities need scores with errors: take --method scores, or leave it out."
            )


@command
def rank(request: Request) -> None:
    """Rank items by comparisons, choices, or best and worst items, under differential privacy.

    Prints the ranking, with intervals, and the guarantee in words. The noise comes from the entropy of the operating
    system. The guarantee covers all on standard output; remarks for the holder of the data go to standard error.
    Rankings are broken into pairs; reports that privrank privatize wrote need no epsilon, and spend nothing. Examples:
        privrank rank votes.csv --epsilon 1 --items seen --max-per-user 10
        privrank rank games.csv --epsilon 1 --items teams.txt --unit comparison --left home --right away
            --outcome result
        privrank rank coffee --epsilon 1     (made-up data, to try it)
        privrank rank votes.csv --method none
    """
    request.check()
    from privrank_jax.cli.reading import no_users
    from privrank_jax.cli.show import release
    from privrank_jax.jobs.rank import ranked

    columns: dict[str, Any] = {"covariates": tuple(request.bounds), "weight": request.weights[0]}
    columns = {one: value for one, value in columns.items() if value}
    of_rows = bool({"covariates", "side", "covariate_group"} & (request.told | columns).keys())
    check = functools.partial(request.asked.check, covariates=of_rows, weighted="weight" in columns)
    release("rank", request, _KINDS, check, ranked, **columns, **no_users(request))
