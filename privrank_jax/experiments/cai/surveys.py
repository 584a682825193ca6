"""Figure 8 of Cai, Chakraborty and Wang: individual differential privacy on two surveys."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import data
from privrank_jax._types import Key
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments import claims
from privrank_jax.experiments.cai import common
from privrank_jax.experiments.cai.common import COUNTS, DIFFERENCE, MLE, NAMES, RANKS, Unit
from privrank_jax.experiments.study import P, number, study, word
from privrank_jax.metrics import mean_rank_difference
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics
from privrank_jax.simulate.table_files import Row

HALF: dict[str, Any] = {"metric": RANKS, "ties": "half"}  # what claims and the picture are about


def survey(table: data.Comparisons, ties: str, max_items: int) -> tuple[WinCounts, Array]:
    """Wins of a survey, padded, and L; ``ValueError`` if users were not all asked the same pairs."""
    if table.questionnaire is None:
        raise ValueError(f"{table.name} has no common questionnaire; choose cemspc, immig or cars")
    kept = ~table.tied | (ties == "half")
    wins = WinCounts.from_comparisons(
        table.winners[kept],
        table.losers[kept],
        num_items=max_items,
        tied=table.tied[kept],
        mask=np.arange(max_items) < table.num_items,
    )
    return wins, jnp.asarray(len(table.questionnaire), float)


def kinds(p: P) -> list[tuple[str, str]]:
    """Survey and rule for ties of each number."""
    return list(itertools.product(p.data, p.ties))


def load(p: P) -> Mapping[str, Any]:
    """The surveys, padded and stacked, so that one program serves all; ``ValueError`` if data are missing."""
    tables = {name: data.load(name) for name in p.data}
    largest = max(table.num_items for table in tables.values())
    each = [survey(tables[name], ties, largest) for name, ties in kinds(p)]
    return {"tables": tables, "surveys": jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)}


def named_rows(p: P, rows: list[Row]) -> Iterator[Row]:
    """The rows with the names of the survey and of the rule for ties.

    Where ties are dropped, a changed answer changes how often a pair was compared, so rows that take the comparison
    graph as public are left out.
    """
    for row in rows:
        name, ties = kinds(p)[row["survey"]]
        if ties == "half" or row["calibration"] != "tight flip":
            rest = {c: v for c, v in row.items() if c not in ("study", "survey")}
            yield {"study": row["study"], "data": name, "ties": ties, **rest}


def random_difference(num_items: int) -> float:
    """Return the expected mean rank difference of two independent uniform rankings, (m² - 1)/(3m).

    >>> random_difference(4)
    1.25
    """
    return (num_items**2 - 1) / (3 * num_items)


def near(table: StudyResult, calibration: str, share: float = 0.25) -> claims.Verdict:
    """At the largest ε, do all mean rank differences lie below this share of a random ranking's, by the slack?"""
    where = {**HALF, "calibration": calibration, "estimator": (MLE, COUNTS)}
    rows = claims.selected(table.rows, where)
    most = max((row["epsilon"] for row in rows), default=math.nan)
    rows = [row for row in rows if row["epsilon"] == most]
    if not rows:
        return claims.NO_CELLS
    means, slack = (np.array([row[c] for row in rows]) for c in ("mean", "standard_error"))
    random = np.array([random_difference(row["num_items"]) for row in rows])
    figures = "; ".join(
        f"{row['data']} {row['estimator']} {row['mean']:.3f} ± {row['standard_error']:.3f} ({part:.0%})"
        for row, part in zip(rows, means / random, strict=True)
    )
    evidence = f"at ε = {most:g}, in ranks (share of a random ranking's): {figures}"
    if np.all(means + claims.SLACK * slack < share * random):
        return claims.Verdict(True, evidence)
    above = np.any(means - claims.SLACK * slack > share * random)
    return claims.Verdict(False if above else None, evidence)


_BOTH = {**HALF, "estimator": (MLE, COUNTS)}
_NOISES = {
    "published": "MLE 8L/ε, counts L/ε",
    "tight replace": "MLE 4L/ε, counts 2L/ε",
    "tight flip": "both 2L/ε",
}


@study(
    "cai-fig8",
    "Individual DP on two surveys: mean rank difference against ε",
    f"{common.PAPER}, section 4.3 and Figure 8",
    data=word(("cemspc", "immig"), "named data sets whose users were all asked the same pairs"),
    ties=word(
        ("half", "dropped"),
        '"half" a win for both, as this library counts, or "dropped", as the published code does',
        among=("half", "dropped"),
    ),
    epsilons=number((0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0), "ε"),
    prepare=load,
    cells=lambda p: [
        {
            "survey": place,
            "num_items": p.tables[name].num_items,
            "num_users": p.tables[name].num_users,
        }
        for place, (name, _) in enumerate(kinds(p))
    ],
    axes=common.AXES,
    optimized=False,
    rows=named_rows,
    claims=[
        *(
            claims.falls(
                f"the rank difference falls as ε grows ({n})", "epsilon", **_BOTH, calibration=n
            )
            for n in NAMES
        ),
        *(
            claims.beats(
                f"counts move less than the MLE ({name}: {noise})",
                DIFFERENCE,
                "half",
                **HALF,
                calibration=name,
            )
            for name, noise in _NOISES.items()
        ),
        *(
            claims.claim(
                f"private ranks come close to the non-private ones ({name}; within a quarter of a random ranking's)",
                near,
                calibration=name,
            )
            for name in NAMES
        ),
    ],
    picture={
        "x": "epsilon",
        "y": {RANKS: "mean rank difference"},
        "panel": ("data", "calibration"),
        "where": HALF,
        "looks": {MLE: (0, 0), COUNTS: (1, 0)},
        "names": common.WRITTEN,
        "log_x": True,
        "from_zero": True,
        "wide": 3,
    },
    replicates=1000,
    outline=("epsilon", "data"),
    differences=(
        common.PUBLISHED_GRID,
        "ties: the published code drops them; claims and picture take them as half a win; the table has both",
        "cemspc: the file of the R package prefmod, which the paper names, has the pair Barcelona-Stockholm reversed "
        "by accident; here it is put right (the published code reads the survey from the package BradleyTerry2)",
        "the MLE without privacy has no ridge here; in the published code it keeps that of the private one, 2L/ε",
        common.USER_NOISE,
    ),
)
def trial(key: Key, p: P) -> Metrics:
    """One replicate: mean rank differences between private and non-private rankings of the same method."""
    noise_key, tie_key = jax.random.split(key)
    wins, per_user = jax.tree.map(lambda leaf: leaf[p.survey], p.surveys)
    mask, plain = wins.item_mask, mle(wins)
    scores, totals, failed = common.private_estimates(
        noise_key, wins, Unit("user", per_user), p.epsilons
    )

    def ranked(values: Array) -> Array:
        return ranks_from_scores(values, mask, tie_key)

    def moved(values: Array, reference: Array) -> Array:
        each = jax.vmap(
            jax.vmap(lambda row: mean_rank_difference(ranked(row), ranked(reference), mask))
        )
        return each(values)

    moves = {MLE: moved(scores, plain.value), COUNTS: moved(totals, wins.totals)}
    moves[DIFFERENCE] = moves[MLE] - moves[COUNTS]
    tables = {name: labeled(table, NAMES, p.epsilons) for name, table in moves.items()}
    return {RANKS: tables, common.FAILED: failed + (plain.diagnostics.code >= 2)}
