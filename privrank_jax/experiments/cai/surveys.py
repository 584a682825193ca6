"""Figure 8 of Cai, Chakraborty and Wang: individual differential privacy on two surveys."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import data
from privrank_jax._types import Key
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.cai import common
from privrank_jax.experiments.cai.common import COUNTS, DIFFERENCE, MLE, NAMES, RANKS, Unit
from privrank_jax.experiments.claims import (
    NO_CELLS,
    SLACK,
    Verdict,
    beats,
    claim,
    falls,
    selected,
)
from privrank_jax.experiments.study import P, number, study, word
from privrank_jax.metrics import mean_rank_difference
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.noisy_totals import noisy_counts
from privrank_jax.pairwise.perturbed_fit import default_gamma
from privrank_jax.pairwise.questionnaire import (
    noise_on_totals,
    questionnaire_counts,
    questionnaire_sensitivity,
)
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics
from privrank_jax.simulate.table_files import Row

ASKED_FLIP, ASKED_REPLACE = "questionnaire flip", "questionnaire replace"
SHAPED_FLIP, SHAPED_REPLACE = "questionnaire flip, K-norm", "questionnaire replace, K-norm"
ALL = (*NAMES, ASKED_FLIP, ASKED_REPLACE, SHAPED_FLIP, SHAPED_REPLACE)
HALF: dict[str, Any] = {"metric": RANKS, "ties": "half"}  # what claims and the picture are about


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Survey:
    """The data of one survey that a trial needs; several surveys stack into one batch.

    Attributes:
        wins: counts of all users, padded to a common number of items.
        per_user: L, the number of questions.
        flip: ℓ₁ sensitivity of the totals when one user's answers are changed.
        replace: the same when answers may also go missing.
        asked: ``(m, m)``, how often each user is asked each pair.
        variance: of K-norm noise under flips, at scale 1 per dimension.
    """

    wins: WinCounts
    per_user: Array
    flip: Array
    replace: Array
    asked: Array
    variance: Array


def survey(table: data.Comparisons, ties: str, max_items: int) -> Survey:
    """Count the wins of a survey, with its sensitivities; ``ValueError`` if questions differ between users."""
    pairs = table.questionnaire
    if pairs is None:
        raise ValueError(f"{table.name} has no common questionnaire; choose cemspc, immig or cars")
    kept = ~table.tied | (ties == "half")
    wins = WinCounts.from_comparisons(
        table.winners[kept],
        table.losers[kept],
        num_items=max_items,
        tied=table.tied[kept],
        mask=np.arange(max_items) < table.num_items,
    )
    asked = questionnaire_counts(pairs, max_items)
    flip, replace = (
        questionnaire_sensitivity(asked, Privacy(1.0, unit="user", adjacency=how))
        for how in ("flip", "replace")
    )
    variance = noise_on_totals("k-norm", 1.0, max_items, asked, "flip").variance_per_dimension()
    numbers = (len(pairs), flip, replace, asked, variance)
    return Survey(wins, *(jnp.asarray(number, float) for number in numbers))


def _kinds(p: P) -> list[tuple[str, str]]:
    return list(itertools.product(p.data, p.ties))


def load(p: P) -> Mapping[str, Any]:
    """The surveys, padded and stacked, so that one program serves all; ``ValueError`` if data are missing."""
    tables = {name: data.load(name) for name in p.data}
    largest = max(table.num_items for table in tables.values())
    each = [survey(tables[name], ties, largest) for name, ties in _kinds(p)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)
    sizes = {
        name: {"num_items": one.num_items, "num_users": one.num_users}
        for name, one in tables.items()
    }
    return {"surveys": stacked, "sizes": sizes}


def named_rows(p: P, rows: list[Row]) -> list[Row]:
    """The rows with the names of the survey and of the tie rule.

    Where ties are dropped, a changed answer changes how often a pair was compared, so rows that take the comparison
    graph as public are left out.
    """
    result = []
    for row in rows:
        row = dict(row)
        name, ties = _kinds(p)[row.pop("survey")]
        if ties == "half" or row["calibration"] not in ("tight flip", ASKED_FLIP, SHAPED_FLIP):
            result.append({"study": row.pop("study"), "data": name, "ties": ties, **row})
    return result


def random_difference(num_items: int) -> float:
    """Return the expected mean rank difference of two independent uniform rankings, (m² - 1)/(3m).

    >>> random_difference(4)
    1.25
    """
    return (num_items**2 - 1) / (3 * num_items)


def near(table: StudyResult, calibration: str, share: float = 0.25) -> Verdict:
    """At the largest ε, do all mean rank differences lie below this share of a random ranking's, by the slack?"""
    where = {**HALF, "calibration": calibration, "estimator": (MLE, COUNTS)}
    rows = selected(table.rows, where)
    if not rows:
        return NO_CELLS
    most = max(row["epsilon"] for row in rows)
    rows = [row for row in rows if row["epsilon"] == most]
    allowed = [share * random_difference(row["num_items"]) for row in rows]
    ends = [
        (row["mean"] - SLACK * row["standard_error"], row["mean"] + SLACK * row["standard_error"])
        for row in rows
    ]
    figures = "; ".join(
        f"{row['data']} {row['estimator']} {row['mean']:.3f} ± {row['standard_error']:.3f} "
        f"({share * row['mean'] / limit:.0%})"
        for row, limit in zip(rows, allowed, strict=True)
    )
    evidence = f"at ε = {most:g}, in ranks (share of a random ranking's): {figures}"
    if all(high < limit for (_, high), limit in zip(ends, allowed, strict=True)):
        return Verdict(True, evidence)
    above = any(low > limit for (low, _), limit in zip(ends, allowed, strict=True))
    return Verdict(False if above else None, evidence)


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
        {"survey": place, **p.sizes[name]} for place, (name, _) in enumerate(_kinds(p))
    ],
    axes=common.AXES,
    optimized=False,
    rows=named_rows,
    claims=[
        *(
            falls(
                f"the rank difference falls as ε grows ({name})",
                "epsilon",
                **HALF,
                estimator=(MLE, COUNTS),
                calibration=name,
            )
            for name in ALL
        ),
        *(
            beats(
                f"counts move less than the MLE ({name}{noise})",
                DIFFERENCE,
                "half",
                **HALF,
                calibration=name,
                epsilon=math.isfinite,
            )
            for name, noise in (
                ("published", ": MLE 8L/ε, counts L/ε"),
                ("tight replace", ": MLE 4L/ε, counts 2L/ε"),
                ("tight flip", ": both 2L/ε"),
                (ASKED_FLIP, ": both 2 maxcut/ε"),
                (SHAPED_FLIP, ": the same noise"),
            )
        ),
        *(
            claim(
                f"private ranks come close to the non-private ones ({name}; within a quarter of a random ranking's)",
                near,
                calibration=name,
            )
            for name in ALL
        ),
    ],
    picture={
        "lines": [{"where": {**HALF, "data": name}} for name in ("cemspc", "immig")],
        "x": "epsilon",
        "y": {RANKS: "mean rank difference"},
        "panel": ("data", "calibration"),
        "looks": {MLE: (0, 0), COUNTS: (1, 0)},
        "names": common.WRITTEN,
        "log_x": True,
        "from_zero": True,
        "wide": 4,
    },
    replicates=1000,
    outline=("epsilon", "data"),
    differences=(
        common.PUBLISHED_GRID,
        "ties: the published code drops them; here they count half a win for both (ties = half, which the claims "
        "and the picture use); the table has both",
        "cemspc: the file distributed with the R package prefmod, which the paper names, has the pair "
        "Barcelona-Stockholm reversed by accident; here it is put right (the published code reads the same "
        "survey from the package BradleyTerry2)",
        "the MLE without privacy has no ridge here; in the published code it keeps that of the private one, 2L/ε",
        common.USER_NOISE,
        "questionnaire: every user was asked every pair, so changed answers move the totals by at most 2 maxcut "
        "(18 for cemspc, 8 for immig; generic bound 30 and 12), and by pairs + maxcut (24 and 10) where an answer "
        "may also go missing; the second covers the counts only",
        "questionnaire, K-norm: noise in the shape of all that the answers of one user can change, at the same "
        "promises",
    ),
)
def trial(key: Key, p: P) -> Metrics:
    """One replicate: mean rank differences between private and non-private rankings of the same method."""
    noise_key, tie_key = jax.random.split(key)
    found = jax.tree.map(lambda leaf: leaf[p.survey], p.surveys)
    wins, mask = found.wins, found.wins.item_mask
    levels = jnp.asarray(p.epsilons, wins.matrix.dtype)
    unit = Unit("user", found.per_user)
    scores, totals, failed = common.private_estimates(noise_key, wins, unit, p.epsilons)
    values = {(MLE, name): scores[row] for row, name in enumerate(NAMES)}
    values |= {(COUNTS, name): totals[row] for row, name in enumerate(NAMES)}
    values[MLE, ASKED_FLIP], codes = _asked_scores(noise_key, found, levels)
    noisy = functools.partial(common.private_totals, noise_key, wins)
    for name, bound in ((ASKED_FLIP, found.flip), (ASKED_REPLACE, found.replace)):
        promise = functools.partial(_promise, "replace")
        values[COUNTS, name] = noisy(promise, levels, sensitivity=bound)
    values[MLE, SHAPED_FLIP], shaped_codes = _shaped_scores(noise_key, found, levels)
    for name, adjacency in ((SHAPED_FLIP, "flip"), (SHAPED_REPLACE, "replace")):
        promise = functools.partial(_promise, adjacency, public=("questionnaire",))
        values[COUNTS, name] = noisy(promise, levels, questionnaire=found.asked)
    plain = mle(wins)
    references = {
        MLE: ranks_from_scores(plain.value, mask, tie_key),
        COUNTS: ranks_from_scores(wins.totals, mask, tie_key),
    }
    reference = jnp.stack([references[estimator] for estimator, _ in values])

    def moved(row: Array, other: Array) -> Array:
        return mean_rank_difference(ranks_from_scores(row, mask, tie_key), other, mask)

    over_levels = jax.vmap(moved, in_axes=(0, None))
    differences = jax.vmap(over_levels)(jnp.stack(list(values.values())), reference)
    tables = dict(zip(values, differences, strict=True))
    moves: dict[str, dict[str, Any]] = {MLE: {}, COUNTS: {}, DIFFERENCE: {}}
    for (estimator, name), row in tables.items():
        moves[estimator][name] = labeled(row, p.epsilons)
        if estimator == MLE:
            moves[DIFFERENCE][name] = labeled(row - tables[COUNTS, name], p.epsilons)
    failed += jnp.sum(codes >= 2) + jnp.sum(shaped_codes >= 2) + (plain.diagnostics.code >= 2)
    return {RANKS: moves, common.FAILED: failed}


def _promise(adjacency: str, epsilon: Array, public: tuple[str, ...] = ()) -> Privacy:
    return Privacy(epsilon, unit="user", adjacency=adjacency, public=public)


def _asked_scores(key: Key, found: Survey, levels: Array) -> tuple[Array, Array]:
    """Scores ``(E, m)`` with Laplace noise on the totals under flips, and solver codes ``(E,)``."""
    scales = found.flip / levels
    variances = Noise.independent("laplace", scales).variance_per_dimension()
    gammas = jnp.asarray(default_gamma(found.wins, _promise("flip", levels), variances))
    return common.private_scores(key, found.wins, scales, gammas)


def _shaped_scores(key: Key, found: Survey, levels: Array) -> tuple[Array, Array]:
    """The same with K-norm noise."""

    def fitted(epsilon: Array) -> tuple[Array, Array]:
        privacy = _promise("flip", epsilon, ("questionnaire",))
        gamma = default_gamma(found.wins, privacy, found.variance * jnp.square(1 / epsilon))
        totals = noisy_counts(key, found.wins, privacy, questionnaire=found.asked).value
        design = Counts(found.wins.comparisons, found.wins.mask)
        estimate = fit(design, common.reflected(found.wins, totals), jnp.asarray(gamma))
        return estimate.value, estimate.diagnostics.code

    return jax.vmap(fitted)(levels)
