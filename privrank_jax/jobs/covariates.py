"""Scores of items that meet on equal terms, and what each covariate of a comparison adds."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax._quickly import quickly
from privrank_jax._types import Scalar
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.estimate import Estimate
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.certainty import PRIVATE_GRAPH, TOO_FAR, components_of, of_fit, tie_facts
from privrank_jax.jobs.checks import check_items, check_rare_items, private_remark
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
)
from privrank_jax.pairwise.covariate_noise import noise_on_sums
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.pairwise.fits import FitDiagnostics
from privrank_jax.pairwise.minimizer import CODES
from privrank_jax.pairwise.ridges import default_ridges
from privrank_jax.privacy.privacy import Privacy

_CERTAIN = 15.0  # log-odds of a comparison, reached only where the likelihood has no maximum


@dataclasses.dataclass(frozen=True)
class Fitted:
    """What is known of a fit.

    Attributes:
        noise_scale: of the noise on each sum; 0 without privacy.
        gamma: the ridge of each score and feature, or of all.
        fit: diagnostics of the solver.
        tie_gamma: the ridge of log ν.
    """

    noise_scale: float
    gamma: Any
    fit: FitDiagnostics
    tie_gamma: Any = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """Comparisons with covariates, ready to be fitted.

    Attributes:
        table: the comparisons, as they were read.
        kept: those of them that were kept, with covariates.
        warnings: remarks for the holder of the data; not covered by the guarantee.
        source: of the noise.
        privacy: what is promised; None without privacy.
        noise: its kind.
    """

    table: Comparisons
    kept: CovariateTable
    warnings: tuple[str, ...]
    source: Randomness
    privacy: Privacy | None
    noise: str

    @property
    def private_design(self) -> bool:
        """Whether covariates, and who compared what, are private too."""
        return self.privacy is not None and self.privacy.adjacency != "flip"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the reader, on the form of the file alone."""
        return notes_on(self.table)


def rank_covariates(
    table: Comparisons, privacy: Privacy | None, asked: Asked, source: Randomness
) -> Ranking:
    """Rank items that meet on equal terms, and say what each covariate adds."""
    check_items(table.name, table.num_items, MAX_ITEMS, asked.top_k)
    warnings, kept, noise = private_remark(*table.remarks), None, ""
    if privacy is not None:
        hidden = privacy.adjacency != "flip"
        if hidden and table.covariates is not None and table.covariates.grouped:
            raise ValueError(
                "the groups of judges would be published as they occur in the data, by group (--covariate-group): take "
                "adjacency='flip' (--adjacency flip) if covariates and who compared what are public; otherwise leave "
                "them out."
            )
        warnings += check_rare_items(table, written=False)
        if privacy.unit == "user":
            privacy, kept, left_out = bounded(table, privacy, source)
            warnings += left_out
        users = table.users_are if privacy.unit == "user" else ""
        public = table.public if hidden else (*table.public, "covariates")
        privacy = privacy.given(public=public, users=users)
    hidden = privacy is not None and privacy.adjacency != "flip"
    bounds = {name: ends for name, ends in asked.bounds.items() if ends is not None}
    fitted = table.covariate_table(bounds, kept, private=hidden)
    if privacy is not None:
        noise = MECHANISMS[asked.mechanism(privacy, covariates=True)].noise_of(asked.noise)
    data = Prepared(
        table=table, kept=fitted, warnings=warnings, source=source, privacy=privacy, noise=noise
    )
    return _fitted(data, asked)


def _fitted(data: Prepared, asked: Asked) -> Ranking:
    """A ridge fit to noisy sums or, without privacy, the maximum of the likelihood, with intervals."""
    design, public, words, drawn = data.kept.design, {}, ANSWERS, None
    if data.privacy is None:
        fit, gamma, warnings = _without_privacy(data.kept, asked)
    else:
        drawn = _drawn(data, asked)
        fit = drawn.estimate
        if not data.private_design:
            fit = _fit_released(fit.value, design, asked.gamma, drawn.scale, data.noise)
        gamma = float(np.ravel(fit.diagnostics.gamma)[0])
        words, warnings = f"{ANSWERS} and the privacy noise", drawn.warnings
        public = {
            "max_per_user": data.privacy.contributions,
            "noise_scale": drawn.scale,
            "noise": drawn.law,
            "seed": data.source.seed,
        }
    scores = np.asarray(fit.value.scores)
    certainty, covariates, ties = _certainty(fit, data, asked, words)
    tie_note = (ties.pop("tie_note"),) if ties else ()
    title = "fitted scores" if drawn is None else "private scores (log-odds)"
    facts = {
        "method": asked.method if data.privacy is not None else "none",
        "data": data.table.name,
        "items": scores.size,
        **public,
        "link": "logistic",
        "gamma": gamma,
        # Not told where the fit saw answers without noise.
        "solver": None if data.private_design else CODES[int(fit.diagnostics.fit.code)],
        "level": asked.level,
        **ties,
        "covariates": covariates,
        "notes": list(data.notes),
    }
    said = tuple(_in_words(name, one, asked.level) for name, one in covariates.items())
    return Ranking(
        title=f"{data.table.name}: {scores.size} items by {title}, covariates held equal",
        items=data.table.item_names,
        order=best_first(scores),
        guarantee=None if drawn is None else drawn.guarantee,
        facts={name: value for name, value in facts.items() if value is not None},
        scores=scores,
        certainty=certainty,
        level=asked.level,
        top_k=asked.top_k,
        told_by="At this budget" if drawn is not None else "By these comparisons",
        notes=(*tie_note, *said, *data.notes, *certainty.notes),
        warnings=(*data.warnings, *warnings),
    )


def _drawn(data: Prepared, asked: Asked) -> Drawn:
    """Noisy sums, or where the design is private the fit with noise in its objective."""
    assert data.privacy is not None
    about: dict[str, Any] = {"noise": data.noise}
    name = asked.mechanism(data.privacy, covariates=True)
    if data.private_design:
        about = {"gamma": asked.gamma, "ties": asked.ties}
    return draw(name, data.source, data.kept, data.privacy, **about)


def _fit_released(
    value: np.ndarray,
    design: CovariateDesign,
    gamma: float | None,
    scale: float,
    noise: str,
) -> Estimate:
    """The fit to noisy sums, or to noisy sums and ties."""
    design = dataclasses.replace(design, ties=value.size > design.size)
    added = noise_on_sums(design, noise, scale, ties=design.ties)
    ridges = quickly(functools.partial(default_ridges, added=added, gamma=gamma), design)
    fit = quickly(pairwise.fit, design, value, *ridges)
    diagnostics = Fitted(scale, ridges[0], fit.diagnostics, ridges[1])
    return dataclasses.replace(fit, diagnostics=diagnostics)


def _mle(table: CovariateTable, gamma: Scalar, *, ties: str) -> Estimate:
    return pairwise.mle(table, ties=ties, gamma=gamma, tie_gamma=gamma)


def _without_privacy(
    table: CovariateTable, asked: Asked
) -> tuple[Estimate, float, tuple[str, ...]]:
    """The fit of highest likelihood, its ridge, and what to know of it; a ridge fit where there is no finite one."""
    gamma, davidson = asked.gamma or 0.0, asked.ties == "davidson"
    tied = np.asarray(table.outcomes) == 0.5

    def fitted(ridge: float) -> Estimate:
        fit = quickly(functools.partial(_mle, ties=asked.ties), table, ridge)
        diagnostics = Fitted(0.0, ridge, fit.diagnostics, ridge if davidson else None)
        return dataclasses.replace(fit, diagnostics=diagnostics)

    none = gamma == 0 and davidson and tied.all() == tied.any()
    fit = fitted(1.0 if none else gamma)
    beta = table.design.beta_of(fit.value)
    surest = float(jnp.abs(table.design.log_odds(beta)).max())
    code = int(fit.diagnostics.fit.code)
    if gamma == 0 and (none or code > 1 or not surest < _CERTAIN):
        why = (
            "no finite fit has the highest likelihood, as where scores and covariates predict some outcomes for sure. "
            "The scores shown are a ridge fit with gamma = 1."
        )
        return fitted(1.0), 1.0, (why,)
    if code > 1:
        return (
            fit,
            gamma,
            (f"the fit did not converge ({CODES[code]}); try a larger gamma (--gamma).",),
        )
    return fit, gamma, ()


def _certainty(
    fit: Estimate, data: Prepared, asked: Asked, words: str
) -> tuple[Certainty, dict[str, dict[str, float]], dict[str, Any]]:
    """Certainty of the scores; of each covariate its coefficient, with an interval where one is known; ties."""
    design, ties = data.kept.design, {}
    covariates = {
        name: {"coefficient": float(fit.value.coefficients[k])}
        for k, name in enumerate(design.names)
    }
    if data.private_design:
        if asked.ties == "davidson":
            ties = tie_facts(fit.value, None, asked.level)
        return Certainty(notes=(PRIVATE_GRAPH,)), covariates, ties
    facts, cover = fit.diagnostics, words + (UNDONE if data.privacy is not None else "")
    davidson, told = asked.ties == "davidson", {"gamma": facts.gamma}
    if davidson:
        told["tie_gamma"] = facts.tie_gamma
    if data.privacy is not None:
        told["noise"] = noise_on_sums(design, data.noise, float(facts.noise_scale), ties=davidson)
    elif not davidson:
        told["ties"] = np.asarray(data.kept.outcomes) == 0.5
    cover = each_by_itself("the true score", cover)
    certainty, found = of_fit(fit.value, design, level=asked.level, words=cover, **told)
    if davidson:
        ties = tie_facts(fit.value, found.log_tie, asked.level)
    if TOO_FAR in certainty.notes:
        return certainty, covariates, ties
    low, high = np.asarray(found.coefficients.low), np.asarray(found.coefficients.high)
    for k, name in enumerate(design.names):
        covariates[name] |= {"low": float(low[k]), "high": float(high[k])}
    components = components_of(_met(design))
    if components > 1:
        note = SEVERAL_GROUPS.format(components)
        certainty = Certainty(certainty.better, notes=(note,))
    return certainty, covariates, ties


def _met(design: CovariateDesign) -> np.ndarray:
    """How often two items met."""
    met = np.zeros((design.num_items,) * 2)
    np.add.at(met, (np.asarray(design.first), np.asarray(design.second)), 1.0)
    return met + met.T


def _in_words(name: str, found: dict[str, float], level: float) -> str:
    """A covariate's coefficient, in a sentence."""
    interval = ""
    if "low" in found:
        interval = f" ({100 * level:g}% interval {found['low']:.3g} to {found['high']:.3g})"
    return f"covariate {name}: {found['coefficient']:.3g} log-odds per unit{interval}"
