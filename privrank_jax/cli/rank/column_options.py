"""Options of ``privrank rank`` for columns beside the answers: covariates, weights, and the sets that were shown."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Annotated, ClassVar

import typer

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import Options


@dataclasses.dataclass(frozen=True, kw_only=True)
class Covariates(Options):
    """Columns of covariates; public under flips, as is who compared what, and else private but for their bounds."""

    PANEL: ClassVar[str] = "Covariates (scores and none)"

    covariate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:LOW:HIGH]",
            help="Fit what NAME adds to the odds: a column of how much more of it the item of --side has, or two "
            "columns winner_NAME and loser_NAME. Clipped between LOW and HIGH, which must be known without looking at "
            "the data; under --adjacency flip values are public, and their range is the default. Once for each "
            "covariate.",
        ),
    ] = None
    side: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Fit the advantage of the item shown first (left, at home), which COLUMN names; blank: neither.",
        ),
    ] = None
    covariate_group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Fit that advantage for each group of judges by itself; COLUMN names the group.",
        ),
    ] = None

    @property
    def with_covariates(self) -> bool:
        """Whether any was given."""
        return bool(self.covariate or self.side or self.covariate_group)

    @functools.cached_property
    def covariate_bounds(self) -> dict[str, tuple[float, float] | None]:
        """Names of covariates, and between what they are clipped."""
        found: dict[str, tuple[float, float] | None] = {}
        for given in self.covariate or ():
            name, *ends = given.rsplit(":", 2) if given.count(":") >= 2 else (given,)
            try:
                low, high = map(float, ends) if ends else (-1.0, 1.0)
            except ValueError:
                low = high = math.nan
            if not -math.inf < low < high < math.inf or not name:
                raise Refusal(
                    f"--covariate {given}: give the name of a column, or NAME:LOW:HIGH with two numbers, the lower "
                    "first, such as length:-3:3."
                )
            if name in found:
                raise Refusal(f"--covariate {name} is given twice.")
            found[name] = (low, high) if ends else None
        return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Weighted(Options):
    """Weights of comparisons."""

    PANEL: ClassVar[str] = "Columns of FILE"

    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[:MOST]",
            help="Column of weights of comparisons, such as 1 divided by the probability with which the pair is shown; "
            "larger ones than MOST count as MOST, which must be known without looking at the data where privacy is "
            "asked.",
        ),
    ] = None

    @functools.cached_property
    def weights(self) -> tuple[str | None, float | None]:
        """The column of weights and the largest one, as far as they are given."""
        name, _, last = (self.weight or "").rpartition(":")
        if not name:
            return self.weight or None, None
        try:
            most = float(last)
        except ValueError:
            return self.weight, None
        if not 0 < most < math.inf:
            raise Refusal(f"--weight {self.weight}: MOST must be positive and finite.")
        return name, most

    @property
    def weight_facts(self) -> dict[str, object]:
        """The same as diagnostics."""
        facts = zip(("weight", "weight_most"), self.weights, strict=True)
        return {name: fact for name, fact in facts if fact is not None}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChoiceOptions(Options):
    """Columns of a file of choices from sets, where they do not go by usual names."""

    PANEL: ClassVar[str] = "Columns of FILE"

    chosen: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the item that was chosen from those shown. Default: chosen, where others are shown.",
        ),
    ] = None
    shown: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of the items shown, such as A|B|C; or once for each column of one item. Default: shown, "
            "options; shown_1, shown_2, ..., option_1, ...",
        ),
    ] = None
