"""``privrank rank`` with covariates: scores of items that meet on equal terms, and what each covariate adds."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax import datasets, pairwise
from privrank_jax._cells.columns import without
from privrank_jax._host.evaluate import quickly
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.checks import check_items
from privrank_jax.cli.core.entropy import Entropy
from privrank_jax.cli.core.mechanisms import Drawn, draw
from privrank_jax.cli.core.result import (
    ANSWERS,
    SEVERAL_GROUPS,
    UNDONE,
    Certainty,
    Result,
    best_first,
    each_by_itself,
)
from privrank_jax.cli.core.sources import (
    COUNTING,
    check_rare_items,
    comparison_roles,
    found_columns,
    given_columns,
    private_remark,
    say_reading,
    shape_roles,
    sides_of,
    users_of,
)
from privrank_jax.cli.rank.certainty import PRIVATE_GRAPH, TOO_FAR, ends, tie_facts
from privrank_jax.cli.rank.input import MAX_ITEMS, bounded, notes_on
from privrank_jax.cli.rank.none import components_of
from privrank_jax.cli.rank.request import Request
from privrank_jax.datasets.comparisons_file import shape_in
from privrank_jax.datasets.covariate_rows import item_columns
from privrank_jax.datasets.formats import read_header
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.covariate_shape import shaped_law
from privrank_jax.pairwise.minimize import CODES
from privrank_jax.release.perturbed_mle import ExactFit

_CERTAIN = 15.0  # log-odds of a comparison, reached only where the likelihood has no maximum


@dataclasses.dataclass(frozen=True, kw_only=True)
class CovariateInput:
    """Comparisons with covariates, ready to be fitted.

    Attributes:
        table: the comparisons, as the loader read them.
        kept: those of them that were kept, with covariates.
        remarks: remarks for the holder of the data; not covered by the guarantee.
        entropy: source of keys.
        privacy: what is promised; None without privacy.
        noise: its kind.
    """

    table: datasets.ComparisonTable
    kept: pairwise.CovariateTable
    remarks: tuple[str, ...]
    entropy: Entropy
    privacy: Privacy | None
    noise: str

    @property
    def private_design(self) -> bool:
        """Whether covariates, and who compared what, are private too."""
        return self.privacy is not None and self.privacy.adjacency != "flip"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the loader, on the form of the file alone."""
        return notes_on(self.table)


def read_with_covariates(request: Request) -> CovariateInput:
    """Read comparisons and covariates, and bound the contributions of users."""
    if request.source in datasets.available():
        raise Refusal(
            f"{request.source} is a named data set without covariates: leave out --covariate, --side and "
            "--covariate-group."
        )
    if several := given_columns(request, COUNTING):
        raise Refusal(
            f"{', '.join(several)}: a row is several comparisons, and covariates are read of each row: repeat the rows "
            "in the file instead."
        )
    by_user = request.unit == "user" and request.private
    roles = comparison_roles(request, request.items, by_user=by_user)
    path = request.file
    shape = shape_roles(request)
    header = without(path.name, read_header(path), roles["ignore"])
    found = shape_in(path.name, header, roles["winner"], roles["loser"], sides_of(request))
    of_items = () if found is None else item_columns(path.name, found)
    named = (request.side, request.covariate_group, *request.covariate_bounds)
    others = [column for column in named if column not in of_items]
    roles["ignore"] = [*roles["ignore"], *found_columns(path, *others)]
    table = datasets.read_comparisons(path, **roles, **shape)
    say_reading(table, listed=request.items is not None)
    check_items(table.name, table.num_items, MAX_ITEMS, request.top_k)
    rows = datasets.add_covariates(
        path,
        table,
        covariates=tuple(request.covariate_bounds),
        side=request.side,
        group=request.covariate_group,
        user=roles["user"],
        winner=roles["winner"],
        loser=roles["loser"],
        tie=roles["tie"],
        left=request.left,
        right=request.right,
        outcome=request.outcome,
        left_score=request.left_score,
        right_score=request.right_score,
    )
    entropy, remarks, kept = Entropy(request), private_remark(*table.remarks), None
    privacy = request.privacy if request.private else None
    if privacy is not None:
        check_rare_items(table, written=False)
    if privacy is not None and by_user:
        privacy, kept, left_out = bounded(table, request, entropy)
        remarks += left_out
    if privacy is not None:
        users = users_of(request.file, request.user) if by_user else ""
        privacy = privacy.given(public=table.public, users=users)
    bounds = {name: ends for name, ends in request.covariate_bounds.items() if ends is not None}
    hidden = privacy is not None and privacy.adjacency != "flip"
    fitted = rows.covariate_table(bounds, kept, private=hidden)
    noise = request.noise_drawn
    if privacy is not None and request.noise is None and not hidden:
        ties = request.ties == "davidson"
        noise = pairwise.least_covariate_noise(fitted.design, privacy, ties=ties)
    return CovariateInput(
        table=rows.table,
        kept=fitted,
        remarks=remarks,
        entropy=entropy,
        privacy=privacy,
        noise=noise,
    )


def fit_covariates(data: CovariateInput, request: Request) -> Result:
    """A ridge fit to noisy sums or, without privacy, the maximum of the likelihood, with intervals."""
    design, public, words, drawn = data.kept.design, {}, ANSWERS, None
    if data.privacy is None:
        fit, gamma, warnings = _without_privacy(data.kept, request)
    else:
        drawn = _drawn(data, request)
        fit = drawn.estimate
        if not data.private_design:
            fit = _fit_released(fit.value, design, request.gamma, drawn.scale, data.noise)
        found = fit.diagnostics
        gamma = float(found.gamma if isinstance(found, ExactFit) else found.ridge[0])
        words, warnings = f"{ANSWERS} and the privacy noise", drawn.warnings
        public = {
            "max_per_user": data.privacy.contributions,
            "noise_deviation": _deviation(data, request, drawn.scale),
            "noise_scale": drawn.scale,
            "noise": drawn.law,
            "seed": data.entropy.seed,
        }
    scores = np.asarray(fit.value.scores)
    certainty, covariates, ties = _certainty(fit, data, request, words)
    tie_note = (ties.pop("tie_note"),) if ties else ()
    title = "fitted scores" if drawn is None else "private scores (log-odds)"
    facts = {
        "method": request.method,
        "data": data.table.name,
        "items": scores.size,
        **public,
        "link": "logistic",
        "gamma": gamma,
        # Not told where the fit saw answers without noise.
        "solver": None if data.private_design else CODES[int(fit.diagnostics.fit.code)],
        "level": request.level,
        **ties,
        "covariates": covariates,
        "notes": list(data.notes),
    }
    said = tuple(_in_words(name, one, request.level) for name, one in covariates.items())
    return Result(
        title=f"{data.table.name}: {scores.size} items by {title}, covariates held equal",
        order=best_first(scores),
        guarantee=None if drawn is None else drawn.guarantee,
        diagnostics={name: value for name, value in facts.items() if value is not None},
        scores=scores,
        certainty=certainty,
        told_by="At this budget" if drawn is not None else "By these comparisons",
        notes=(*tie_note, *said, *data.notes, *certainty.notes),
        warnings=warnings,
    )


def _drawn(data: CovariateInput, request: Request) -> Drawn:
    """Noisy sums, or where the design is private the fit with noise in its objective."""
    assert data.privacy is not None
    about: dict[str, Any] = {"noise": data.noise}
    if data.private_design:
        about = {"ties": request.ties, "gamma": request.gamma}
    return draw(request.mechanism, request, data.entropy, data.kept, data.privacy, **about)


def _fit_released(
    value: np.ndarray | pairwise.CovariateTies,
    design: pairwise.CovariateDesign,
    gamma: float | None,
    scale: float,
    noise: str,
) -> Estimate:
    """The fit to noisy sums, or to noisy sums and ties."""
    told = {"noise_scale": scale, "noise": noise}
    if isinstance(value, pairwise.CovariateTies):
        fitted = functools.partial(pairwise.davidson_from_covariate_sums, **told)
        return _on_design(
            design, lambda *sums: fitted(*sums, design, gamma), value.sums, value.ties
        )
    fitted = functools.partial(pairwise.scores_from_covariate_sums, **told)
    return _on_design(design, lambda sums: fitted(sums, design, gamma), value)


def _on_design(
    design: pairwise.CovariateDesign, function: Callable[..., Any], *arguments: Any
) -> Any:
    """``function(*arguments)`` that has the design in it, which K-norm noise needs to see untraced.

    It is an argument beside the others only so that :func:`quickly` sees how large it is.
    """
    return quickly(lambda _, *others: function(*others), design, *arguments)


def _without_privacy(
    table: pairwise.CovariateTable, request: Request
) -> tuple[Estimate, float, tuple[str, ...]]:
    """The fit of highest likelihood, its ridge, and what to know of it; a ridge fit where there is no finite one."""
    gamma, davidson = request.gamma or 0.0, request.ties == "davidson"
    tied = np.asarray(table.outcomes) == 0.5

    def fitted(ridge: float) -> Estimate:
        if davidson:
            return quickly(pairwise.davidson_with_covariates, table, ridge, ridge)
        return quickly(pairwise.mle_with_covariates, table, ridge)

    none = gamma == 0 and davidson and tied.all() == tied.any()
    fit = fitted(1.0 if none else gamma)
    units = np.asarray(table.design.units)
    beta = np.concatenate([fit.value.scores, np.asarray(fit.value.coefficients) * units])
    surest = float(jnp.abs(table.design.log_odds(jnp.asarray(beta))).max())
    code = int(fit.diagnostics.fit.code)
    if gamma == 0 and (none or code > 1 or not surest < _CERTAIN):
        why = (
            "no finite fit has the highest likelihood, as where scores and covariates predict some outcomes for sure. "
            "The scores shown are a ridge fit with gamma = 1."
        )
        return fitted(1.0), 1.0, (why,)
    if code > 1:
        return fit, gamma, (f"the fit did not converge ({CODES[code]}); try a larger --gamma.",)
    return fit, gamma, ()


def _certainty(
    fit: Estimate, data: CovariateInput, request: Request, words: str
) -> tuple[Certainty, dict[str, dict[str, float]], dict[str, Any]]:
    """Certainty of the scores; of each covariate its coefficient, with an interval where one is known; ties."""
    design, ties = data.kept.design, {}
    covariates = {
        name: {"coefficient": float(fit.value.coefficients[k])}
        for k, name in enumerate(design.names)
    }
    if data.private_design:
        if request.ties == "davidson":
            ties = tie_facts(fit.value, None, request.level)
        return Certainty(notes=(PRIVATE_GRAPH,)), covariates, ties
    errors, interval = _intervals(fit, data, request)
    if request.ties == "davidson":
        ties = tie_facts(fit.value, interval, request.level)
    low, high = (np.asarray(end) for end in (errors.low, errors.high))
    if low.size and not np.all(np.isfinite(low)):
        return Certainty(notes=(TOO_FAR,)), covariates, ties
    for k, name in enumerate(design.names):
        covariates[name] |= {"low": float(low[k]), "high": float(high[k])}
    components = components_of(_met(design))
    better = np.asarray(errors.items.better)
    if components > 1:
        certainty = Certainty(better, notes=(SEVERAL_GROUPS.format(components),))
        return certainty, covariates, ties
    cover = words + (UNDONE if data.privacy is not None else "")
    certainty = Certainty(better, ends(errors.items), each_by_itself("the true score", cover))
    return certainty, covariates, ties


def _intervals(
    fit: Estimate, data: CovariateInput, request: Request
) -> tuple[pairwise.CovariateIntervals, tuple[float, float] | None]:
    """Intervals of scores and coefficients; and of ν, where ties have a model and one is known."""
    design, facts = data.kept.design, fit.diagnostics
    told = {
        "noise_scale": float(facts.noise_scale),
        "noise": "laplace" if data.privacy is None else data.noise,
        "level": request.level,
    }
    if request.ties != "davidson":
        about = functools.partial(pairwise.covariate_intervals, **told)
        tied = np.asarray(data.kept.outcomes) == 0.5 if data.privacy is None else None
        found = _on_design(
            design,
            lambda value, ridge, tied: about(value, design, ridge, tied=tied),
            *(fit.value, facts.ridge, tied),
        )
        return found, None
    about = functools.partial(pairwise.covariate_davidson_intervals, **told)
    found = _on_design(
        design,
        lambda value, *ridges: about(value, design, *ridges),
        *(fit.value, facts.ridge, facts.tie_gamma),
    )
    low, high = (float(np.exp(np.asarray(end))) for end in (found.log_tie_low, found.log_tie_high))
    return found.model, (low, high) if low > 0 and high < np.inf else None


def _deviation(data: CovariateInput, request: Request, scale: float) -> float | None:
    """Standard deviation of K-norm noise on the item's sum that has most of it."""
    if data.noise != "k-norm":
        return None
    law = shaped_law(data.kept.design, ties=request.ties == "davidson")
    return scale * math.sqrt(np.diag(law.covariance)[: data.kept.design.num_items].max())


def _met(design: pairwise.CovariateDesign) -> np.ndarray:
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
