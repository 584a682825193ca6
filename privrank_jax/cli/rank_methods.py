"""The methods of ``privrank rank``: from win counts to a result that may be published."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from privrank_jax import pairwise
from privrank_jax.cli.face import Refusal
from privrank_jax.cli.rank import Request
from privrank_jax.cli.rank_input import Input
from privrank_jax.estimate import Estimate
from privrank_jax.links import get_link
from privrank_jax.pairwise.intervals import Intervals, interval_estimates
from privrank_jax.pairwise.minimise import CODES
from privrank_jax.pairwise.perturbed_mle import default_gamma
from privrank_jax.privacy.guarantee import Guarantee


@dataclasses.dataclass(frozen=True)
class Result:
    """What a method found.

    Attributes:
        title: of the table.
        order: items from best to worst, all that may be shown.
        guarantee: None without privacy.
        diagnostics: public facts on the computation.
        scores: ``(m,)``, or None where none are released.
        score_name: heading of the scores.
        intervals: per item ``low``, ``high`` and, where known, ``rank_low``, ``rank_high`` (0 = best).
        interval_words: what the intervals say.
        notes: remarks that belong to the release.
        warnings: for the holder of the data.
    """

    title: str
    order: np.ndarray
    guarantee: Guarantee | None
    diagnostics: dict[str, Any]
    scores: np.ndarray | None = None
    score_name: str = "score"
    intervals: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    interval_words: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def release(data: Input, request: Request) -> Result:
    """Run the method that was asked for."""
    return _METHODS[request.method](data, request)


def _counts(data: Input, request: Request) -> Result:
    totals, exact, warnings = _noisy_totals(data, request)
    scores = np.asarray(totals.value)
    scale = float(totals.diagnostics["noise_scale"])
    if request.adjacency == "flip":
        found = interval_estimates(
            scores,
            data.wins.comparisons,
            method="counts",
            noise_scale=scale,
            noise=request.noise,
            level=request.level,
        )
        intervals = _as_dict(found)
        words = (
            "for the total to be expected from such users, and for the rank by it; they cover the chance "
            "in the answers (taken as independent) and the privacy noise"
        )
    else:
        reach = _noise_reach(scale, request.noise, request.level, scores.size) + 0.5 * exact
        intervals = {"low": scores - reach, "high": scores + reach}
        words = (
            "for the totals before the noise, all items together; they cover the privacy noise alone, not "
            "the chance in the answers"
        )
    return Result(
        title=f"{data.table.name}: {data.table.num_items} items by noisy win totals",
        order=_order(scores),
        guarantee=totals.guarantee,
        diagnostics=_diagnostics(
            data, request, noise_scale=scale, noise=_noise_name(request, exact)
        ),
        scores=scores,
        score_name="noisy wins",
        intervals=intervals,
        interval_words=words,
        notes=data.notes,
        warnings=warnings,
    )


def _mle(data: Input, request: Request) -> Result:
    on_totals = request.adjacency == "flip" and request.link == "logistic"
    return (_mle_on_totals if on_totals else _objective_perturbation)(data, request)


def _mle_on_totals(data: Input, request: Request) -> Result:
    """The comparison graph is public: noise on the totals, then an ordinary ridge fit to them."""
    if request.gamma == 0:
        raise Refusal("--gamma must be positive for --method mle; leave it out for a good default.")
    totals, exact, warnings = _noisy_totals(data, request)
    scale = float(totals.diagnostics["noise_scale"])
    gamma = request.gamma or float(
        default_gamma(
            data.wins,
            scale,
            unit=request.unit,
            adjacency="flip",
            calibration="tight",
            noise=request.noise,
        )
    )
    fit = pairwise.scores_from_totals(totals.value, data.wins.comparisons, gamma)
    scores = np.asarray(fit.value)
    found = interval_estimates(
        scores,
        data.wins.comparisons,
        noise_scale=scale,
        gamma=gamma,
        noise=request.noise,
        level=request.level,
    )
    return Result(
        title=f"{data.table.name}: {data.table.num_items} items by private scores (log-odds)",
        order=_order(scores),
        guarantee=totals.guarantee,
        diagnostics=_diagnostics(
            data,
            request,
            noise_scale=scale,
            noise=_noise_name(request, exact),
            link="logistic",
            gamma=gamma,
            solver=CODES[int(fit.diagnostics.code)],
        ),
        scores=scores,
        intervals=_as_dict(found),
        interval_words=(
            "for the true score and the rank by it; they cover the chance in the answers (taken as "
            "independent) and the privacy noise, and are centred where the ridge's pull is undone"
        ),
        notes=data.notes,
        warnings=warnings,
    )


def _objective_perturbation(data: Input, request: Request) -> Result:
    """The comparison graph is private, or the link not logistic: noise goes into the objective."""
    if math.isinf(get_link(request.link).kappa1):
        raise Refusal(
            f"the {request.link} link has an unbounded score (infinite kappa1), so no finite noise makes "
            "--method mle private. Use --link logistic or --link laplace, or --method counts, which needs "
            "no link."
        )
    if not request.simulate and not request.idealised:
        raise Refusal(
            f"--method mle with --adjacency {request.adjacency} and --link {request.link} adds noise to "
            "the objective of a fit, and its proof holds for real numbers, not for floating point. Add "
            "--idealised to accept that, --simulate for a rehearsal, or use --adjacency flip with --link "
            "logistic, or --method counts, which draw exact noise."
        )
    estimate = pairwise.perturbed_mle(
        data.entropy.key(),
        data.wins,
        request.epsilon,
        unit=request.unit,
        adjacency=request.adjacency,
        comparisons_per_user=data.per_user,
        link=request.link,
        gamma=request.gamma,
        delta=request.delta,
        noise=request.noise,
    )
    scores, used = np.asarray(estimate.value), estimate.diagnostics
    if not np.all(np.isfinite(scores)):
        raise Refusal("the fit did not end in finite numbers: choose a larger --gamma.")
    return Result(
        title=f"{data.table.name}: {data.table.num_items} items by private scores ({request.link} link)",
        order=_order(scores),
        guarantee=_labelled(estimate.guarantee, request, ""),
        diagnostics=_diagnostics(
            data,
            request,
            sensitivity=None,
            noise_scale=float(used.noise_scale),
            noise=_noise_name(request, exact=False),
            link=request.link,
            gamma=float(used.gamma),
        ),
        scores=scores,
        notes=(
            *data.notes,
            "no intervals: they would need the number of comparisons of each pair, which this adjacency "
            "or link keeps private",
        ),
    )


def _one_shot(data: Input, request: Request) -> Result:
    from privrank_jax.release import exact_samplers_available, exact_top_k

    assert request.top_k is not None
    exact = not request.simulate and exact_samplers_available()
    common = {"unit": request.unit, "adjacency": request.adjacency, "epsilon": request.epsilon}
    warnings = ()
    if exact:
        chosen = exact_top_k(
            data.wins,
            request.top_k,
            sensitivity=data.per_item,
            total_sensitivity=data.sensitivity["l1"],
            note=data.note,
            **common,
        )
        guarantee = chosen.guarantee
    else:
        chosen = pairwise.one_shot_top_k(
            data.entropy.key(),
            data.wins,
            request.top_k,
            comparisons_per_user=data.per_user,
            sensitivity=data.per_item,
            **common,
        )
        guarantee = _labelled(chosen.guarantee, request, data.note)
        warnings = _about_noise(request)
    order = np.asarray(chosen.value)
    return Result(
        title=f"{data.table.name}: the {order.size} best of {data.table.num_items} items",
        order=order,
        guarantee=guarantee,
        diagnostics=_diagnostics(
            data,
            request,
            sensitivity=None,
            level=None,
            noise_scale=float(chosen.diagnostics["noise_scale"]),
            noise=_noise_name(request, exact),
        ),
        notes=(*data.notes, "only the list is released: no scores, and nothing on the other items"),
        warnings=warnings,
    )


def _none(data: Input, request: Request) -> Result:
    ridge = request.gamma or 0.0
    estimate = pairwise.mle(data.wins, link=request.link, ridge=ridge)
    components = int(estimate.diagnostics.components)
    separated = bool(estimate.diagnostics.separated)
    warnings = []
    if ridge == 0 and (separated or components > 1):
        ridge = 1.0
        warnings.append(
            f"{_why_infinite(components)} The scores shown are a ridge fit with gamma = 1."
        )
        estimate = pairwise.mle(data.wins, link=request.link, ridge=ridge)
    if components > 1:
        warnings.append(
            f"the comparisons fall into {components} groups of items that were never compared with one "
            "another: the order of items of different groups means nothing."
        )
    code = int(estimate.diagnostics.code)
    if code > 1:
        warnings.append(f"the fit did not converge ({CODES[code]}); try a larger --gamma.")
    scores = np.asarray(estimate.value)
    intervals, words = {}, ""
    if components == 1:
        found = interval_estimates(
            scores, data.wins.comparisons, gamma=ridge, link=request.link, level=request.level
        )
        intervals = _as_dict(found)
        words = "for the true score and the rank by it; they cover the chance in the answers (taken as independent)"
    return Result(
        title=f"{data.table.name}: {data.table.num_items} items by fitted scores ({request.link} link)",
        order=_order(scores),
        guarantee=None,
        diagnostics={
            "method": "none",
            "data": data.table.name,
            "items": data.table.num_items,
            "comparisons": len(data.table),
            "ties": data.table.ties,
            "link": request.link,
            "gamma": ridge,
            "components": components,
            "separated": separated,
            "converged": code <= 1,
            "solver": CODES[code],
            "gradient_norm": float(estimate.diagnostics.gradient_norm),
            "level": request.level,
            "notes": list(data.notes),
        },
        scores=scores,
        intervals=intervals,
        interval_words=words,
        notes=data.notes,
        warnings=tuple(warnings),
    )


def _why_infinite(components: int) -> str:
    if components > 1:
        return "the comparisons do not link all items, so the likelihood has no single maximum."
    return "some items never lost to the rest (or never won), so no finite scores maximise the likelihood."


_METHODS = {"counts": _counts, "mle": _mle, "one-shot": _one_shot, "none": _none}


def _noisy_totals(data: Input, request: Request) -> tuple[Estimate, bool, tuple[str, ...]]:
    """Noisy win totals, whether their noise is exact, and warnings."""
    from privrank_jax.release import exact_noisy_totals, exact_samplers_available

    sensitivity = data.sensitivity["l2" if request.noise == "gaussian" else "l1"]
    exact = not request.simulate and exact_samplers_available()
    if exact:
        estimate = exact_noisy_totals(
            data.wins,
            sensitivity=sensitivity,
            epsilon=request.epsilon,
            delta=request.delta,
            noise=request.noise,
            unit=request.unit,
            adjacency=request.adjacency,
            note=data.note,
        )
        return estimate, True, ()
    estimate = pairwise.noisy_counts(
        data.entropy.key(),
        data.wins,
        request.epsilon,
        unit=request.unit,
        adjacency=request.adjacency,
        comparisons_per_user=data.per_user,
        delta=request.delta,
        noise=request.noise,
        sensitivity=sensitivity,
    )
    guarantee = _labelled(estimate.guarantee, request, data.note)
    return dataclasses.replace(estimate, guarantee=guarantee), False, _about_noise(request)


def _about_noise(request: Request) -> tuple[str, ...]:
    """The warning that goes with noise that is not exact."""
    if request.simulate:
        return ()
    return (
        "the noise comes from fast floating-point generators, keyed by the operating system: their low "
        'bits can give answers away. For exact noise: pip install "privrank-jax[release]".',
    )


def _labelled(guarantee: Guarantee | None, request: Request, note: str) -> Guarantee:
    assert guarantee is not None
    parts = [part for part in (guarantee.note, note) if part]
    if request.simulate:
        parts.append("A rehearsal, not to be published: who knows the seed can take the noise off.")
    numerics = "simulation" if request.simulate else guarantee.numerics
    return dataclasses.replace(guarantee, numerics=numerics, note=" ".join(parts))


def _diagnostics(data: Input, request: Request, **facts: Any) -> dict[str, Any]:
    """Public facts only: nothing that was counted in the data."""
    sensitivity = data.sensitivity["l2" if request.noise == "gaussian" else "l1"]
    common = {
        "method": request.method,
        "data": data.table.name,
        "items": data.table.num_items,
        "max_per_user": data.per_user if request.unit == "user" else None,
        "sensitivity": sensitivity,
        "level": request.level,
        "seed": data.entropy.seed,
        **facts,
        "notes": list(data.notes),
    }
    return {name: value for name, value in common.items() if value is not None}


def _noise_name(request: Request, exact: bool) -> str:
    name = "Gaussian" if request.noise == "gaussian" else "Laplace"
    return f"discrete {name}" if exact else name


def _noise_reach(scale: float, noise: str, level: float, items: int) -> float:
    """Half-width that holds the noise of all items with probability ``level``; draws are independent.

    Discrete noise on the halves needs half a win more: with α = e^(-1/s) on twice the totals, P(|X| > t + 1) is
    2α^(⌊t⌋ + 2)/(1 + α) <= α^t (Laplace), and at most P(|N| > t) (Gaussian; Canonne, Kamath, Steinke, 2020).

    >>> round(_noise_reach(1.0, "laplace", 0.95, 1), 3)  # log 20
    2.996
    """
    beyond = -math.expm1(math.log(level) / items)  # 1 - level^(1/items), for one item
    if noise == "laplace":
        return -scale * math.log(beyond)
    from statistics import NormalDist

    return scale * NormalDist().inv_cdf(1 - beyond / 2)


def _as_dict(found: Intervals) -> dict[str, np.ndarray]:
    names = ("low", "high", "rank_low", "rank_high")
    return {name: np.asarray(getattr(found, name)) for name in names}


def _order(scores: np.ndarray) -> np.ndarray:
    """Best first; equal scores in the order of the item list, which says nothing about the data."""
    return np.argsort(-scores, kind="stable")
