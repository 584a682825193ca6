"""The methods of ``privrank rank``: from win counts to a publishable result."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from privrank_jax import pairwise
from privrank_jax._host.evaluate import quickly
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.mechanisms import Drawn, draw
from privrank_jax.cli.core.result import (
    ANSWERS,
    SEVERAL_GROUPS,
    UNDONE,
    Certainty,
    Result,
    best_first,
    each_by_itself,
    noise_reach,
    of_noise,
)
from privrank_jax.cli.rank.certainty import (
    PRIVATE_GRAPH,
    PRIVATE_WEIGHTS,
    ends,
    of_davidson,
    of_fit,
    of_private_design,
    tie_facts,
)
from privrank_jax.cli.rank.input import Input, PrivateInput
from privrank_jax.cli.rank.none import components_of, fit_without_privacy
from privrank_jax.cli.rank.request import Request
from privrank_jax.links import get_link
from privrank_jax.pairwise.intervals import interval_estimates
from privrank_jax.pairwise.minimize import CODES
from privrank_jax.pairwise.noisy_ties import tie_noise
from privrank_jax.pairwise.perturbed_davidson import default_ridges
from privrank_jax.pairwise.perturbed_mle import least_risk_gamma
from privrank_jax.pairwise.private_design import DESIGN_SHARE, design_scales
from privrank_jax.pairwise.questionnaire_noise import (
    noise_shape,
    questionnaire_changes,
    unit_variance,
)
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.integer_laplace import LARGEST
from privrank_jax.release.k_norm import zonotope_parts

_NOISY_GRAPH = (
    f"{PRIVATE_GRAPH} (--intervals auto buys noisy ones for scores with the logistic link)"
)
_MOST_ITEMS = 2000  # for intervals where the design is private: noise is drawn for all pairs


def release(data: Input, request: Request) -> Result:
    """Run the requested method."""
    if not isinstance(data, PrivateInput):
        return fit_without_privacy(data, request)
    return _METHODS[request.method](data, request)


def _counts(data: PrivateInput, request: Request) -> Result:
    drawn = _noisy_totals(data, request)
    scores = np.asarray(drawn.estimate.value)
    if data.privacy.adjacency == "flip":
        intervals = functools.partial(
            interval_estimates,
            method="counts",
            noise_scale=drawn.scale,
            noise=data.noise,
            questionnaire=data.questionnaire,
            level=request.level,
        )
        found = quickly(intervals, scores, data.wins.comparisons)
        of = "the total to be expected from such users"
        words = each_by_itself(of, f"{ANSWERS} and the privacy noise")
        certainty = Certainty(np.asarray(found.better), ends(found), words)
    else:
        certainty = of_noise(
            scores,
            _reach(data, request, drawn),
            what="totals",
            more=", not the chance in the answers",
        )
    return _result(
        data,
        request,
        drawn,
        f"{scores.size} items by noisy win totals",
        scores,
        certainty,
        score_name="noisy wins",
    )


def _scores(data: PrivateInput, request: Request) -> Result:
    if request.gamma == 0:
        raise Refusal(
            "--gamma must be positive for --method scores; leave it out for a good default."
        )
    if request.ties == "davidson":
        flips = data.privacy.adjacency == "flip"
        return (_scores_with_ties if flips else _ties_in_objective)(data, request)
    on_totals = request.mechanism == "noisy-counts" or data.design is not None
    return (_scores_from_totals if on_totals else _objective_perturbation)(data, request)


def _scores_from_totals(data: PrivateInput, request: Request) -> Result:
    """It is public who compared what, or what all were asked: noise on the totals, then a ridge fit to them."""
    drawn = _noisy_totals(data, request)
    totals = np.asarray(drawn.estimate.value)
    design = _public_design(data, totals)
    degree = float(np.sum(design)) / len(totals)
    variance = unit_variance(data.noise, _shape(data)) * drawn.scale**2
    gamma = request.gamma or float(quickly(least_risk_gamma, degree, variance))
    fit = quickly(pairwise.scores_from_totals, totals, design, gamma)
    scores = np.asarray(fit.value)
    return _result(
        data,
        request,
        drawn,
        f"{scores.size} items by private scores (log-odds)",
        scores,
        _certainty(data, request, scores, drawn.scale, gamma, design),
        link="logistic",
        gamma=gamma,
        solver=CODES[int(fit.diagnostics.code)],
    )


def _public_design(data: PrivateInput, totals: np.ndarray) -> np.ndarray:
    """How often each pair was compared: known under flips; else as in the questionnaire, as often as the totals say."""
    if data.privacy.adjacency == "flip":
        return np.asarray(data.wins.comparisons)
    assert data.design is not None
    asked = np.asarray(data.design, float)
    return asked * max(float(totals.sum()) / (asked.sum() / 2), 1.0)


def _scores_with_ties(data: PrivateInput, request: Request) -> Result:
    """Ties are an outcome of their own: noise on the totals and their number, then a ridge fit to them."""
    shared: dict[str, Any] = {"noise": data.noise, "questionnaire": data.questionnaire}
    drawn = draw("noisy-tie-counts", request, data.entropy, data.wins, data.privacy, **shared)
    law = tie_noise(data.privacy, "rank", data.table.num_items, **shared)[1]
    default = functools.partial(default_ridges, law=law._replace(scale=drawn.scale))
    usual, tie_gamma = map(float, quickly(default, data.wins))
    gamma, met, counts = request.gamma or usual, data.wins.comparisons, drawn.estimate.value
    fit = quickly(pairwise.davidson_from_totals, counts.totals, counts.ties, met, gamma, tie_gamma)
    certainty, interval = of_davidson(
        fit.value,
        met,
        level=request.level,
        words=each_by_itself("the true score", f"{ANSWERS} and the privacy noise{UNDONE}"),
        gamma=gamma,
        tie_gamma=tie_gamma,
        noise_scale=drawn.scale,
        **shared,
    )
    components = components_of(met)
    notes = certainty.notes if components == 1 else (SEVERAL_GROUPS.format(components),)
    facts = tie_facts(fit.value, interval, request.level)
    certainty = dataclasses.replace(certainty, notes=(facts.pop("tie_note"), *notes))
    deviation = None
    if law.shape is not None:
        most = noise_law.variances(law.shape)[: data.table.num_items].max()
        deviation = drawn.scale * math.sqrt(most)
    scores = np.asarray(fit.value.scores)
    return _result(
        data,
        request,
        drawn,
        f"{scores.size} items by private scores (log-odds of a win against a loss)",
        scores,
        certainty,
        link="logistic",
        gamma=gamma,
        tie_gamma=tie_gamma,
        noise_deviation=deviation,
        solver=CODES[int(fit.diagnostics.code)],
        **facts,
    )


def _ties_in_objective(data: PrivateInput, request: Request) -> Result:
    """The same where the comparison graph is private: noise goes into the objective."""
    drawn = draw(
        "perturbed-davidson", request, data.entropy, data.wins, data.privacy, gamma=request.gamma
    )
    value, gamma = drawn.estimate.value, float(drawn.estimate.diagnostics.gamma)
    facts = tie_facts(value, None, request.level)
    certainty = Certainty(notes=(facts.pop("tie_note"), PRIVATE_GRAPH))
    scores = np.asarray(value.scores)
    title = f"{scores.size} items by private scores (log-odds of a win against a loss)"
    facts |= {"link": "logistic", "gamma": gamma}
    return _result(data, request, drawn, title, scores, certainty, **facts)


def _objective_perturbation(data: PrivateInput, request: Request) -> Result:
    """The comparison graph is private, or the link not logistic: noise goes into the objective."""
    if math.isinf(get_link(request.link).kappa1):
        raise Refusal(
            f"the {request.link} link has an unbounded score (infinite kappa1), so no finite noise makes "
            "--method scores private. Use --link logistic or --link laplace, or --method counts, which needs "
            "no link."
        )
    options: dict[str, Any] = {"link": request.link, "gamma": request.gamma}
    options |= {"noise": request.noise_drawn, "weighted": data.weights is not None}
    of_scores, of_design = _split(data.privacy, request, data.table.num_items)
    drawn = draw("perturbed-mle", request, data.entropy, data.wins, of_scores, **options)
    scores = np.asarray(drawn.estimate.value)
    if not np.all(np.isfinite(scores)):
        raise Refusal("the fit did not end in finite numbers: choose a larger --gamma.")
    gamma = float(drawn.estimate.diagnostics.gamma)
    facts: dict[str, Any] = {"link": request.link, "gamma": gamma, **request.weight_facts}
    if of_design is None:
        certainty = _certainty(data, request, scores, drawn.scale, gamma, None)
    else:
        counted = draw("noisy-design", request, data.entropy, data.wins, of_design)
        certainty = of_private_design(
            scores,
            counted.estimate.value,
            noise_scale=drawn.scale,
            gamma=gamma,
            noise=request.noise_drawn,
            level=request.level,
        )
        facts |= {"design_epsilon": of_design.epsilon, "design_noise_scale": counted.scale}
        drawn = dataclasses.replace(drawn, guarantee=_whole(drawn.guarantee, data.privacy.epsilon))
    return _result(
        data,
        request,
        drawn,
        f"{scores.size} items by private scores ({request.link} link)",
        scores,
        certainty,
        **facts,
    )


def _split(privacy: Privacy, request: Request, items: int) -> tuple[Privacy, Privacy | None]:
    """The promises of scores and of numbers of comparisons for their intervals, which add up to the whole one.

    In doubles both ε may add up to 2^-53 of themselves more; the noise of scores is larger than need be by more.
    """
    known = privacy.adjacency == "flip" or request.link != "logistic"
    if known or request.weight is not None or request.intervals == "none" or items > _MOST_ITEMS:
        return privacy, None
    part = dataclasses.replace(privacy, epsilon=DESIGN_SHARE * privacy.epsilon, delta=0.0)
    if max(design_scales(part)) > LARGEST / 2:
        return privacy, None
    rest = dataclasses.replace(privacy, epsilon=privacy.epsilon - part.epsilon)
    return rest, part


def _whole(guarantee: Guarantee, epsilon: float) -> Guarantee:
    """The guarantee of both parts."""
    promise, attained = (
        dataclasses.replace(one, epsilon=epsilon) for one in (guarantee.promise, guarantee.attained)
    )
    return dataclasses.replace(guarantee, promise=promise, attained=attained)


def _one_shot(data: PrivateInput, request: Request) -> Result:
    assert request.top_k is not None
    drawn = draw(
        "one-shot-top-k",
        request,
        data.entropy,
        data.wins,
        data.privacy,
        request.top_k,
        sensitivity=data.per_item,
        total_sensitivity=data.sensitivity,
    )
    order = np.asarray(drawn.estimate.value)
    found = _result(
        data,
        request,
        drawn,
        f"the {order.size} best of {data.table.num_items} items",
        sensitivity=None,
        level=None,
    )
    only = "only the list is released: no scores, and nothing on the other items"
    return dataclasses.replace(found, order=order, notes=(*found.notes, only))


def _noisy_totals(data: PrivateInput, request: Request) -> Drawn:
    return draw(
        "noisy-counts",
        request,
        data.entropy,
        data.wins,
        data.privacy,
        noise=data.noise,
        sensitivity=data.sensitivity,
        questionnaire=data.questionnaire,
    )


def _shape(data: PrivateInput) -> Zonotope | None:
    """Shape of K-norm noise."""
    if data.questionnaire is None:
        return None
    return noise_shape(data.questionnaire, data.privacy.adjacency)


def _reach(data: PrivateInput, request: Request, drawn: Drawn) -> float:
    """Half-width that holds the noise of all totals."""
    shape, items = _shape(data), data.table.num_items
    if shape is None:
        reach = noise_reach(drawn.scale, data.noise, request.level, items)
        return reach + 0.5 * drawn.exact  # the noise is on halves
    if not drawn.exact:
        return drawn.scale * noise_law.reach(shape, request.level, items)
    assert data.questionnaire is not None
    edges, parts = questionnaire_changes(data.questionnaire, data.privacy.adjacency)
    change = 2 // parts
    step = 0.5 / zonotope_parts(change, data.privacy.epsilon)
    lengths: Any = np.asarray(edges, float)
    body = Zonotope(lengths)
    return step * noise_law.lattice_reach(
        body, request.level, 2 * step * data.privacy.epsilon / change, items
    )


def _certainty(
    data: PrivateInput,
    request: Request,
    scores: np.ndarray,
    scale: float,
    gamma: float,
    design: np.ndarray | None,
) -> Certainty:
    """Certainty of the scores; known only where it is public how often each pair was compared."""
    if design is None:
        return Certainty(notes=(_NOISY_GRAPH if data.weights is None else PRIVATE_WEIGHTS,))
    cover = f"{ANSWERS} and the privacy noise{UNDONE}"
    found = of_fit(
        scores,
        design,
        gamma=gamma,
        link=request.link,
        level=request.level,
        words=each_by_itself("the true score", cover),
        noise_scale=scale,
        noise=data.noise,
        questionnaire=data.questionnaire,
        unanswered=data.privacy.adjacency == "replace",
    )
    components = components_of(design)
    if components == 1:
        return found
    return Certainty(found.better, notes=(SEVERAL_GROUPS.format(components),))


def _result(
    data: PrivateInput,
    request: Request,
    drawn: Drawn,
    title: str,
    scores: np.ndarray | None = None,
    certainty: Certainty | None = None,
    *,
    score_name: str = "score",
    **facts: object,
) -> Result:
    """Build the result of a method; ``facts`` are public, and None values are left out."""
    certainty = certainty or Certainty()
    public = {
        "method": request.method,
        "data": data.table.name,
        "items": data.table.num_items,
        "max_per_user": data.privacy.contributions,
        "max_per_item": request.max_per_item,
        "sensitivity": data.sensitivity,
        "noise_deviation": _deviation(data, drawn),
        "level": request.level,
        "seed": data.entropy.seed,
        "noise_scale": drawn.scale,
        "noise": drawn.law,
        **facts,
        "notes": list(data.notes),
    }
    return Result(
        title=f"{data.table.name}: {title}",
        order=np.arange(0) if scores is None else best_first(scores),
        guarantee=drawn.guarantee,
        diagnostics={name: value for name, value in public.items() if value is not None},
        scores=scores,
        score_name=score_name,
        certainty=certainty,
        notes=(*data.notes, *certainty.notes),
        warnings=drawn.warnings,
    )


def _deviation(data: PrivateInput, drawn: Drawn) -> float | None:
    """Standard deviation of K-norm noise on the total that has most of it."""
    shape = _shape(data)
    if shape is None:
        return None
    return drawn.scale * math.sqrt(noise_law.variances(shape)[: data.table.num_items].max())


_METHODS = {"scores": _scores, "counts": _counts, "one-shot": _one_shot}
