"""Items that were chosen from sets: how often, or Plackett-Luce scores, privately or not.

Counts protect choices under any adjacency. Scores need the sets that were shown: under ``flip`` these are public, and
scores are fitted to noisy counts; otherwise the noise is in the objective of the fit.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from privrank_jax import pairwise
from privrank_jax._quickly import quickly
from privrank_jax._types import PairMatrix, Scalar, Scores
from privrank_jax.data.choices import Choices
from privrank_jax.estimate import Estimate
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.certainty import PRIVATE_SETS, components_of, doubts_of, of_fit
from privrank_jax.jobs.checks import check_items, check_rare_items
from privrank_jax.jobs.comparisons import MAX_ITEMS, bounded, notes_on
from privrank_jax.jobs.mechanisms import MECHANISMS, Drawn, Randomness, draw
from privrank_jax.jobs.result import (
    ANSWERS,
    SEVERAL_GROUPS,
    UNDONE,
    Certainty,
    Ranking,
    best_first,
    each_by_itself,
    of_noise,
)
from privrank_jax.pairwise.minimizer import CODES
from privrank_jax.pairwise.ridges import default_ridges
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.privacy import Privacy

_SETS = (
    "a comparison is here a choice from the items shown, and who was shown which items is public"
)
_BALANCE = (
    "items that are shown more often are chosen more often: unless sets are balanced, use scores"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """Choices, ready to be ranked.

    Attributes:
        table: as they were read.
        kept: those that were kept.
        warnings: remarks for the holder of the data; not covered by the guarantee.
        source: of the noise.
        privacy: what is promised; None without privacy.
    """

    table: Choices
    kept: pairwise.Choices
    warnings: tuple[str, ...]
    source: Randomness
    privacy: Privacy | None


def rank_choices(
    table: Choices, privacy: Privacy | None, asked: Asked, source: Randomness
) -> Ranking:
    """Noisy counts, a fit to them, or the fit without privacy."""
    _check(privacy, asked)
    check_items(table.name, table.num_items, MAX_ITEMS, asked.top_k)
    kept, warnings = None, ()
    if privacy is not None:
        warnings = check_rare_items(table, written=False)
        if privacy.unit == "user":
            privacy, kept, left_out = bounded(table, privacy, source, "choices")
            warnings += left_out
        users = table.users_are if privacy.unit == "user" else ""
        privacy = privacy.given(public=table.public, users=users)
    data = Prepared(
        table=table, kept=table.choices(kept), warnings=warnings, source=source, privacy=privacy
    )
    return _ranked(data, asked)


def _check(privacy: Privacy | None, asked: Asked) -> None:
    """Refuse what choices from sets have no use for."""
    if asked.ties != "half" or asked.link != "logistic" or asked.max_per_item is not None:
        raise ValueError(
            "choices from sets are fitted by the Plackett-Luce model, without ties, other links and bounds for each "
            "item: leave ties (--ties), link (--link) and max_per_item (--max-per-item) out."
        )
    if asked.lists:
        raise ValueError(
            f"{asked.method} is for comparisons: take method='counts' (--method counts) with top_k, which publishes "
            "all counts."
        )
    if privacy is None:
        return
    in_objective = asked.method == "scores" and privacy.adjacency != "flip"
    if asked.noise == "k-norm" or (in_objective and asked.noise == "gaussian"):
        raise ValueError(
            "counts of choices have Laplace or Gaussian noise, and scores Laplace noise unless who was shown what is "
            "public (adjacency='flip', --adjacency flip): leave noise (--noise) and delta out."
        )


def _ranked(data: Prepared, asked: Asked) -> Ranking:
    if data.privacy is None:
        return _without_privacy(data, asked)
    if asked.method == "scores" and data.privacy.adjacency != "flip":
        return _in_objective(data, asked, data.privacy)
    noise = MECHANISMS["noisy-choices"].noise_of(asked.noise)
    drawn = draw("noisy-choices", data.source, data.kept, data.privacy, noise=noise)
    totals = np.asarray(drawn.estimate.value)
    added = Noise.independent(noise, drawn.scale, totals.size)
    if asked.method == "counts":
        reach = added.reach(asked.level) + 0.5 * drawn.exact  # the noise is on halves
        certainty = of_noise(totals, reach, what="counts", more=", not the chance in the choices")
        return _result(
            data, asked, totals, certainty, drawn, "noisy counts of choices", (_BALANCE,)
        )
    usual = quickly(lambda kept: default_ridges(kept.design, added, asked.gamma)[0], data.kept)
    gamma = float(usual)
    fit = quickly(_fit_totals, data.kept, totals, gamma)
    scores = np.asarray(fit.value)
    certainty = _certainty(data, scores, asked, gamma, added)
    code = int(fit.diagnostics.code)
    title = "private scores (log-odds)"
    return _result(
        data, asked, scores, certainty, drawn, title, (_SETS,), gamma=gamma, solver=CODES[code]
    )


def _fit_totals(kept: pairwise.Choices, noisy: Scores, gamma: Scalar) -> Estimate:
    return pairwise.fit(kept.design, noisy, gamma)


def _in_objective(data: Prepared, asked: Asked, privacy: Privacy) -> Ranking:
    """Scores where the sets are private: noise goes into the objective."""
    drawn = draw("perturbed-choices", data.source, data.kept, privacy, gamma=asked.gamma)
    scores, gamma = np.asarray(drawn.estimate.value), float(drawn.estimate.diagnostics.gamma)
    certainty = Certainty(notes=(PRIVATE_SETS,))
    return _result(data, asked, scores, certainty, drawn, "private scores (log-odds)", gamma=gamma)


def _without_privacy(data: Prepared, asked: Asked) -> Ranking:
    """The fit of highest likelihood, or a ridge fit where there is none."""
    gamma, warnings = asked.gamma or 0.0, []
    fit = quickly(_fit, data.kept, gamma)
    components, separated = int(fit.diagnostics.components), bool(fit.diagnostics.separated)
    if gamma == 0 and (separated or components > 1):
        gamma = 1.0
        warnings.append(
            "no finite scores have the highest likelihood: some group of items was never, or always, chosen over the "
            "rest. The scores shown are a ridge fit with gamma = 1."
        )
        fit = quickly(_fit, data.kept, gamma)
    code = int(fit.diagnostics.code)
    warnings += doubts_of(components, code)
    scores = np.asarray(fit.value)
    found = _result(
        data,
        asked,
        scores,
        _certainty(data, scores, asked, gamma),
        None,
        "fitted scores",
        choices=len(data.table),
        gamma=gamma,
        components=components,
        solver=CODES[code],
        warnings=warnings,
    )
    warned = (*data.warnings, *warnings)
    return dataclasses.replace(found, warnings=warned, told_by="By these choices")


def _certainty(
    data: Prepared, scores: np.ndarray, asked: Asked, gamma: float, noise: Noise | None = None
) -> Certainty:
    """Certainty of fitted scores, from the release and the public sets."""
    cover = f"{ANSWERS} and the privacy noise{UNDONE}" if noise else ANSWERS
    words = each_by_itself("the true score", cover)
    design = quickly(lambda kept: kept.design, data.kept)
    told = {"level": asked.level, "words": words, "gamma": gamma, "noise": noise or 0.0}
    found, _ = of_fit(scores, design, **told)
    components = components_of(quickly(_shown_together, data.kept))
    if components == 1:
        return found
    return Certainty(found.better, notes=(SEVERAL_GROUPS.format(components),) if noise else ())


def _fit(choices: pairwise.Choices, gamma: Scalar) -> Estimate:
    return pairwise.mle(choices, gamma=gamma)


def _shown_together(choices: pairwise.Choices) -> PairMatrix:
    """How often one of two items was chosen where the other was shown."""
    return choices.wins.comparisons


def _result(
    data: Prepared,
    asked: Asked,
    scores: np.ndarray,
    certainty: Certainty,
    drawn: Drawn | None,
    title: str,
    notes: tuple[str, ...] = (),
    **facts: object,
) -> Ranking:
    """Build the result of a method; ``facts`` are public, and None values are left out."""
    table = data.table
    said = (*notes_on(table), *notes)
    method = asked.method if data.privacy is not None else "none"
    public: dict[str, object] = {"method": method, "data": table.name, "items": scores.size}
    if drawn is not None and data.privacy is not None:
        public |= {
            "max_per_user": data.privacy.contributions,
            "noise_scale": drawn.scale,
            "noise": drawn.law,
            "seed": data.source.seed,
        }
    public |= {"level": asked.level, **facts, "notes": list(said)}
    return Ranking(
        title=f"{table.name}: {scores.size} items by {title}",
        items=table.item_names,
        order=best_first(scores),
        guarantee=None if drawn is None else drawn.guarantee,
        facts={name: value for name, value in public.items() if value is not None},
        scores=scores,
        score_name="noisy choices" if method == "counts" else "score",
        certainty=certainty,
        level=asked.level,
        top_k=asked.top_k,
        notes=(*said, *certainty.notes),
        warnings=(*data.warnings, *(() if drawn is None else drawn.warnings)),
    )
