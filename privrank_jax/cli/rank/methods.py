"""The methods of ``privrank rank``: from win counts to a result that may be published."""

from __future__ import annotations

import functools
import math

import numpy as np

from privrank_jax import pairwise
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.numerics import check_numerics, draws_exactly
from privrank_jax.cli.rank.certainty import Certainty, of_noise, of_scores
from privrank_jax.cli.rank.command import Request
from privrank_jax.cli.rank.input import Input, promised
from privrank_jax.cli.rank.noise import (
    about_noise,
    labeled,
    noise_name,
    noise_reach,
    noisy_totals,
    of_any_user,
    public_facts,
)
from privrank_jax.cli.rank.none import fit_without_privacy
from privrank_jax.cli.rank.result import SEVERAL_GROUPS, Result, as_dict, best_first
from privrank_jax.links import get_link
from privrank_jax.pairwise.intervals import interval_estimates
from privrank_jax.pairwise.minimize import CODES
from privrank_jax.pairwise.perturbed_mle import default_gamma
from privrank_jax.release import exact_top_k

_IDEALISED = (
    "this guarantee is proven for real numbers and an exact minimizer only; "
    "help(privrank_jax.privacy.calibration) explains what that may cost."
)

_PRIVATE_GRAPH = (
    "no intervals, and how much of the order is noise is not known: that needs the number of comparisons of each "
    "pair, which is private here"
)


def release(data: Input, request: Request) -> Result:
    """Run the method that was asked for; its guarantee says what is public, and what a user is."""
    result = _METHODS[request.method](data, request)
    return result.given(public=data.public, users=data.users)


def _counts(data: Input, request: Request) -> Result:
    totals, exact, warnings = noisy_totals(data, request)
    scores = np.asarray(totals.value)
    scale = float(totals.diagnostics.noise_scale)
    if request.adjacency == "flip":
        found = interval_estimates(
            scores,
            data.wins.comparisons,
            method="counts",
            noise_scale=scale,
            noise=request.noise,
            level=request.level,
        )
        intervals, better = as_dict(found), np.asarray(found.better)
        words = (
            "for the total to be expected from such users, and for the rank by it, each by itself; they cover the "
            "chance in the answers (taken as independent) and the privacy noise"
        )
    else:
        reach = noise_reach(scale, request.noise, request.level, scores.size) + 0.5 * exact
        better, intervals = of_noise(scores, reach)
        words = (
            "for the totals before the noise and the ranks by them, all items together; they cover the privacy "
            "noise alone, not the chance in the answers"
        )
    return Result(
        title=f"{data.table.name}: {data.table.num_items} items by noisy win totals",
        order=best_first(scores),
        guarantee=totals.guarantee,
        diagnostics=public_facts(
            data, request, noise_scale=scale, noise=noise_name(request, exact)
        ),
        scores=scores,
        score_name="noisy wins",
        intervals=intervals,
        interval_words=words,
        better=better,
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
    totals, exact, warnings = noisy_totals(data, request)
    scale = float(totals.diagnostics.noise_scale)
    gamma = request.gamma or float(
        default_gamma(data.wins, promised(request, data.per_user), scale, noise=request.noise)
    )
    fit = pairwise.scores_from_totals(totals.value, data.wins.comparisons, gamma)
    scores = np.asarray(fit.value)
    known = _certainty(data, request, scores, scale, gamma)
    return Result(
        title=f"{data.table.name}: {data.table.num_items} items by private scores (log-odds)",
        order=best_first(scores),
        guarantee=totals.guarantee,
        diagnostics=public_facts(
            data,
            request,
            noise_scale=scale,
            noise=noise_name(request, exact),
            link="logistic",
            gamma=gamma,
            solver=CODES[int(fit.diagnostics.code)],
        ),
        scores=scores,
        intervals=known.intervals,
        interval_words=known.words,
        better=known.better,
        notes=(*data.notes, *known.notes),
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
    check_numerics(
        "idealized", request, "use --adjacency flip with --link logistic, or --method counts"
    )
    estimate = pairwise.perturbed_mle(
        data.entropy.key(),
        data.wins,
        promised(request, data.per_user),
        link=request.link,
        gamma=request.gamma,
        noise=request.noise,
    )
    scores, used = np.asarray(estimate.value), estimate.diagnostics
    if not np.all(np.isfinite(scores)):
        raise Refusal("the fit did not end in finite numbers: choose a larger --gamma.")
    scale, gamma = float(used.noise_scale), float(used.gamma)
    known = _certainty(data, request, scores, scale, gamma)
    return Result(
        title=f"{data.table.name}: {data.table.num_items} items by private scores ({request.link} link)",
        order=best_first(scores),
        guarantee=labeled(estimate.guarantee, request),
        diagnostics=public_facts(
            data,
            request,
            sensitivity=None,
            noise_scale=scale,
            noise=noise_name(request, exact=False),
            link=request.link,
            gamma=gamma,
        ),
        scores=scores,
        intervals=known.intervals,
        interval_words=known.words,
        better=known.better,
        notes=(*data.notes, *known.notes),
        warnings=() if request.simulate else (_IDEALISED,),
    )


def _certainty(
    data: Input, request: Request, scores: np.ndarray, scale: float, gamma: float
) -> Certainty:
    """What is known of the scores; only where who compared what is public."""
    if request.adjacency != "flip":
        return Certainty(None, notes=(_PRIVATE_GRAPH,))
    comparisons = data.wins.comparisons
    about = functools.partial(
        pairwise.standard_errors,
        scores,
        comparisons,
        noise_scale=scale,
        gamma=gamma,
        link=request.link,
        noise=request.noise,
    )
    components = _components(data)
    words = (
        "for the true score and the rank by it, each by itself; they cover the chance in the answers (taken as "
        "independent) and the privacy noise, and are centered where the ridge's pull is undone"
    )
    found = of_scores(
        scores,
        comparisons,
        about(),
        functools.partial(about, target="penalized"),
        link=request.link,
        level=request.level,
        words=words,
    )
    if components == 1:
        return found
    return Certainty(found.better, notes=(SEVERAL_GROUPS.format(components),))


def _one_shot(data: Input, request: Request) -> Result:
    assert request.top_k is not None
    exact = draws_exactly(request)
    privacy = promised(request, data.per_user)
    warnings = ()
    if exact:
        chosen = exact_top_k(
            data.wins,
            privacy,
            request.top_k,
            sensitivity=data.per_item,
            total_sensitivity=data.sensitivity,
        )
        guarantee = of_any_user(chosen.guarantee)
    else:
        # Its noise is 2 k sensitivity/ε: no more than that of all totals with this one (half of it where
        # units come and go, there and here).
        sides = 1 if request.adjacency == "add-remove" else 2
        chosen = pairwise.one_shot_top_k(
            data.entropy.key(),
            data.wins,
            privacy,
            request.top_k,
            sensitivity=min(data.per_item, data.sensitivity / (sides * request.top_k)),
        )
        guarantee = labeled(chosen.guarantee, request)
        warnings = about_noise(request)
    order = np.asarray(chosen.value)
    return Result(
        title=f"{data.table.name}: the {order.size} best of {data.table.num_items} items",
        order=order,
        guarantee=guarantee,
        diagnostics=public_facts(
            data,
            request,
            sensitivity=None,
            level=None,
            noise_scale=float(chosen.diagnostics.noise_scale),
            noise=noise_name(request, exact),
        ),
        notes=(*data.notes, "only the list is released: no scores, and nothing on the other items"),
        warnings=warnings,
    )


def _components(data: Input) -> int:
    """Groups of items that comparisons link; public where the comparison graph is."""
    from scipy.sparse.csgraph import connected_components

    return int(connected_components(np.asarray(data.wins.comparisons) > 0, directed=False)[0])


_METHODS = {"counts": _counts, "mle": _mle, "one-shot": _one_shot, "none": fit_without_privacy}
