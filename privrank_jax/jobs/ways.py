"""From prepared answers to a ranking: what is drawn, the scores that follow from it, and how certain these are.

Noise on what is counted serves under any adjacency, and for scores where the design is public: who compared what, or
what all were asked. Elsewhere the noise is in the objective of the fit. One record for each model of answers says what
differs (:data:`WAYS`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax._quickly import quickly
from privrank_jax._types import PairMatrix, Scalar
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_laplace import LARGEST
from privrank_jax.exact.k_norm import zonotope_parts
from privrank_jax.jobs.answers import Prepared
from privrank_jax.jobs.asked import MODELS
from privrank_jax.jobs.best_items import chosen_by_facts, draw_best
from privrank_jax.jobs.certainty import (
    TOO_FAR,
    Sampling,
    components_of,
    doubts_of,
    ends,
    of_fit,
    of_private_design,
    sampling_of,
    tie_facts,
)
from privrank_jax.jobs.mechanisms import Drawn, draw
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
from privrank_jax.mechanism.selection import BoundedScores
from privrank_jax.pairwise.covariate_noise import noise_on_sums
from privrank_jax.pairwise.designs import Design
from privrank_jax.pairwise.graph import has_maximum
from privrank_jax.pairwise.intervals import Intervals, confidence_intervals
from privrank_jax.pairwise.minimizer import CODES
from privrank_jax.pairwise.noisy_totals import noise_on_ties
from privrank_jax.pairwise.private_design import DESIGN_SHARE, design_scale
from privrank_jax.pairwise.questionnaire import noise_on_totals, questionnaire_changes
from privrank_jax.pairwise.ridges import default_ridges
from privrank_jax.pairwise.top_k import choose_top_k, totals_moves
from privrank_jax.pairwise.uncertainty import totals_standard_errors
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

_UNKNOWN = "no intervals, and how much of the order is noise is not known: that needs"
_GRAPH = f"{_UNKNOWN} the number of comparisons of each pair, which is private here"
_NOISY_GRAPH = f"{_GRAPH} (intervals 'auto' buy noisy ones for scores with the logistic link)"
_WEIGHTS = f"{_UNKNOWN} sums of squared weights, which are private here"
_SETS = f"{_UNKNOWN} the sets that were shown, which are private here"
_NOISY = f"{ANSWERS} and the privacy noise"
_MOST_ITEMS = 2000  # for intervals where the design is private: matrices of pairs are inverted
_CERTAIN = 15.0  # log-odds of a comparison, reached only where the likelihood has no maximum


def ranking_of(data: Prepared) -> Ranking:
    """Rank the items: by the best alone, by noisy counts, or by scores.

    Raises:
        ValueError: what the mechanism refuses.
    """
    if data.privacy is None:
        return _without_privacy(data)
    if data.asked.lists:
        return _best_alone(data)
    if data.asked.method == "counts":
        return _counts(data)
    on_counts = data.design is not None or data.mechanism == MODELS[data.model][0]
    return (_scores if on_counts else _in_objective)(data)


# --- what differs between models of answers -----------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class Way:
    """What a model of answers sees of them.

    Attributes:
        design: of prepared answers and what was released of them, the public part, which a fit needs.
        noise: of prepared answers and its scale, the noise on what is counted.
        met: of prepared answers and their design, how often two items met; public where the design is.
        told: fields of prepared answers that the mechanism of noisy counts is told.
        objective: those, and arguments, that the mechanism with noise in the objective is told.
        sampling: of prepared answers and scores, how answers vary where there is no noise.
        unbounded: of prepared answers and a fit, or None before it, whether the likelihood has no finite maximum.
        linked: whether it has no single one where the items fall into groups.
        why: there is none.
        hidden: why errors are not known where the design is private.
        scale: of scores with the logistic link.
        rows: what the answers are.
        counts: noisy counts, in titles and as scores; how answers are called there.
        notes: of counts, and of scores, whose design is public.
        more: what is said of fits, in titles.
    """

    design: Callable[[Prepared, Any], Design]
    noise: Callable[[Prepared, Any], Noise]
    met: Callable[[Prepared, Any], PairMatrix | np.ndarray]
    told: tuple[str, ...] = ("noise",)
    objective: tuple[str, ...] = ("gamma",)
    sampling: Callable[[Prepared, np.ndarray], Sampling] = lambda data, scores: Sampling({})
    unbounded: Callable[[Prepared, Estimate | None], bool]
    linked: bool = False
    why: str
    hidden: str = _GRAPH
    scale: str = "log-odds"
    rows: str = "comparisons"
    counts: tuple[str, str, str, str] = ("noisy win totals", "noisy wins", "totals", "answers")
    notes: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    more: str = ""


def _pairs(data: Prepared, released: Any) -> Design:
    """How often each pair was compared; where that is private, as in the questionnaire, as often as the totals say."""
    met, ties = np.asarray(data.counted.comparisons), data.asked.ties == "davidson"
    if data.design is not None:
        asked = np.asarray(data.design, float)
        met = asked * max(float(released.sum()) / (asked.sum() / 2), 1.0)
    return pairwise.Counts(met, ties=ties)


def _on_totals(data: Prepared, scale: Any) -> Noise:
    items, adjacency = data.table.num_items, data.promise.adjacency
    return noise_on_totals(data.noise, scale, items, data.questionnaire, adjacency)


def _separated(data: Prepared, fit: Estimate | None) -> bool:
    return fit is not None and bool(fit.diagnostics.separated)


_HALF_WINS = Way(
    design=_pairs,
    noise=_on_totals,
    met=lambda data, design: design.comparisons,
    told=("noise", "sensitivity", "questionnaire"),
    objective=("link", "gamma", "noise", "weighted"),
    sampling=lambda data, scores: sampling_of(data.table, data.weights, scores, data.asked.link),
    unbounded=_separated,
    linked=True,
    why="some group of items never lost to the rest, or never won, so no finite scores maximize the likelihood.",
    hidden=_NOISY_GRAPH,
)
_TIES = dataclasses.replace(
    _HALF_WINS,
    noise=lambda data, scale: noise_on_ties(data.noise, scale, data.table.num_items),
    told=("noise", "questionnaire"),
    objective=("gamma",),
    sampling=Way.sampling,
    unbounded=lambda data, fit: fit is None and has_maximum(data.counted) is False,
    linked=False,
    why="no finite scores maximize the likelihood: ties, or wins of both sides, are too rare in some group of items.",
    hidden=_GRAPH,
    scale="log-odds of a win against a loss",
)


def _with_features(data: Prepared, released: Any) -> Design:
    return dataclasses.replace(data.counted.design, ties=data.asked.ties == "davidson")


def _on_sums(data: Prepared, scale: Any) -> Noise:
    ties = data.asked.ties == "davidson"
    return noise_on_sums(data.counted.design, data.noise, scale, ties=ties)


def _met_in_rows(data: Prepared, design: Any) -> np.ndarray:
    met = np.zeros((design.num_items,) * 2)
    np.add.at(met, (np.asarray(design.first), np.asarray(design.second)), 1.0)
    return met + met.T


def _predicted_for_sure(data: Prepared, fit: Estimate | None) -> bool:
    """Whether scores and covariates predict some outcome for sure, or ties can't be told from their number."""
    if data.asked.gamma:
        return False
    if fit is None:
        tied = np.asarray(data.counted.outcomes) == 0.5
        return data.asked.ties == "davidson" and tied.all() == tied.any()
    design = data.counted.design
    surest = float(jnp.abs(design.log_odds(design.beta_of(fit.value))).max())
    return int(fit.diagnostics.code) > 1 or not surest < _CERTAIN


def _tied_rows(data: Prepared, scores: np.ndarray) -> Sampling:
    half = data.asked.ties == "half"
    return Sampling({"ties": np.asarray(data.counted.outcomes) == 0.5} if half else {})


_COVARIATES = Way(
    design=_with_features,
    noise=_on_sums,
    met=_met_in_rows,
    objective=("gamma", "ties"),
    sampling=_tied_rows,
    unbounded=_predicted_for_sure,
    why="no finite fit has the highest likelihood, as where scores and covariates predict some outcomes for sure.",
    more=", covariates held equal",
)
WAYS = {
    "comparisons": _HALF_WINS,
    "ties": _TIES,
    "covariates": _COVARIATES,
    "covariates and ties": _COVARIATES,
    "choices": Way(
        design=lambda data, released: quickly(_sets, data.counted),
        noise=_on_totals,
        met=lambda data, design: quickly(_shown_together, data.counted),
        unbounded=_separated,
        linked=True,
        why="some group of items was never, or always, chosen over the rest, so no finite scores maximize the "
        "likelihood.",
        hidden=_SETS,
        rows="choices",
        counts=("noisy counts of choices", "noisy choices", "counts", "choices"),
        notes=(
            ("items that are shown more often are chosen more often: unless sets are balanced, use scores",),
            ("a comparison is here a choice from the items shown, and who was shown which items is public",),
        ),
    ),
}  # fmt: skip
"""By model, see :data:`~privrank_jax.jobs.asked.MODELS`. Best and worst choices from sets would be one more."""


def _sets(choices: pairwise.Choices) -> Design:
    return choices.design


def _shown_together(choices: pairwise.Choices) -> PairMatrix:
    """How often one of two items was chosen where the other was shown."""
    return choices.wins.comparisons


# --- with privacy -------------------------------------------------------------------------------------


def _drawn(data: Prepared) -> Drawn:
    """What is counted, with noise."""
    told = data.told(WAYS[data.model].told)
    return draw(MODELS[data.model][0], data.source, data.counted, data.promise, **told)


def _counts(data: Prepared) -> Ranking:
    """Noisy counts of wins or choices."""
    way, level, drawn = WAYS[data.model], data.asked.level, _drawn(data)
    scores, added = np.asarray(drawn.estimate.value), way.noise(data, drawn.scale)
    title, name, what, answers = way.counts
    if data.promise.adjacency == "flip" and way.rows == "comparisons":
        found = quickly(_of_totals, scores, data.counted.comparisons, added.known, level)
        words = each_by_itself("the total to be expected from such users", _NOISY)
        certainty = Certainty(np.asarray(found.better), ends(found), words)
    else:
        more = f", not the chance in the {answers}"
        certainty = of_noise(scores, _reach(data, added, drawn.exact), what=what, more=more)
    return _ranking(data, drawn, title, scores, certainty, notes=way.notes[0], score_name=name)


def _of_totals(totals: Any, met: PairMatrix, added: Noise, level: float) -> Intervals:
    return confidence_intervals(totals_standard_errors(totals, met, noise=added), level)


def _reach(data: Prepared, added: Noise, exact: bool) -> float:
    """Half-width that holds the noise of all totals."""
    level, epsilon = data.asked.level, data.promise.epsilon
    if data.questionnaire is None or not exact:
        return added.reach(level) + 0.5 * exact  # the noise is on halves
    edges, parts = questionnaire_changes(data.questionnaire, data.promise.adjacency)
    change = 2 // parts
    step = 0.5 / zonotope_parts(change, epsilon)
    lengths: Any = np.asarray(edges, float)
    body, slope = Zonotope(lengths), 2 * step * epsilon / change
    return step * noise_law.lattice_reach(body, level, slope, data.table.num_items)


def _scores(data: Prepared) -> Ranking:
    """A ridge fit to noisy counts, as the design is public."""
    way, drawn = WAYS[data.model], _drawn(data)
    released, added = np.asarray(drawn.estimate.value), way.noise(data, drawn.scale)
    design = way.design(data, released)
    usual = functools.partial(default_ridges, added=added, gamma=data.asked.gamma)
    ridges = quickly(usual, design)
    fit = quickly(pairwise.fit, design, released, *ridges)
    certainty, facts, notes = _certain(
        data, fit.value, design, *ridges, f"{_NOISY}{UNDONE}", noise=added
    )
    facts |= {"solver": CODES[int(fit.diagnostics.code)]}
    notes = (*way.notes[1], *notes)
    title = f"private scores ({way.scale}){way.more}"
    return _ranking(data, drawn, title, fit.value, certainty, notes=notes, **facts)


def _in_objective(data: Prepared) -> Ranking:
    """Scores where the design is private, or the link not logistic: noise goes into the objective."""
    way, (of_scores, of_design) = WAYS[data.model], _split(data)
    drawn = draw(data.mechanism, data.source, data.counted, of_scores, **data.told(way.objective))
    value, gamma = drawn.estimate.value, _number(drawn.estimate.diagnostics.gamma)
    facts, notes = _parts_of(data, value, None, near=False)
    facts = {"gamma": gamma, **facts}
    certainty = Certainty(notes=(_WEIGHTS if data.weighted else way.hidden,))
    if of_design is not None:
        counted = draw("noisy-design", data.source, data.counted, of_design, np.asarray(value))
        noise = Noise.independent(data.noise, drawn.scale, data.table.num_items)
        told = {"noise": noise, "gamma": gamma, "level": data.asked.level}
        certainty = of_private_design(np.asarray(value), counted.estimate.value, **told)
        facts |= {"design_epsilon": of_design.epsilon, "design_noise_scale": counted.scale}
        drawn = dataclasses.replace(drawn, guarantee=_whole(drawn.guarantee, data.promise.epsilon))
    scale = way.scale if data.asked.link == "logistic" else f"{data.asked.link} link"
    title = f"private scores ({scale}){way.more}"
    return _ranking(data, drawn, title, value, certainty, notes=notes, **facts)


def _split(data: Prepared) -> tuple[Privacy, Privacy | None]:
    """The promises of scores and of numbers of comparisons for their intervals, which add up to the whole one.

    In doubles both ε may add up to 2^-53 of themselves more; the noise of scores is larger than need be by more.
    """
    privacy, asked = data.promise, data.asked
    known = privacy.adjacency == "flip" or asked.link != "logistic" or data.model != "comparisons"
    many = data.table.num_items > _MOST_ITEMS
    if known or data.weighted or asked.intervals == "none" or many:
        return privacy, None
    part = dataclasses.replace(privacy, epsilon=DESIGN_SHARE * privacy.epsilon, delta=0.0)
    if 2**11 * design_scale(part) > LARGEST:
        return privacy, None
    return dataclasses.replace(privacy, epsilon=privacy.epsilon - part.epsilon), part


def _whole(guarantee: Guarantee, epsilon: float) -> Guarantee:
    """The guarantee of both parts."""
    promise, attained = (
        dataclasses.replace(one, epsilon=epsilon) for one in (guarantee.promise, guarantee.attained)
    )
    return dataclasses.replace(guarantee, promise=promise, attained=attained, changes=(), rho=None)


def _best_alone(data: Prepared) -> Ranking:
    """The k best items, as a list or as a set, and nothing else."""
    name, k, promise = data.asked.method, data.asked.top_k, data.promise
    assert k is not None
    moves = totals_moves(promise)
    moves = dataclasses.replace(moves, most=data.per_item, every=data.sensitivity)
    chosen: tuple[str, ...] = ()
    facts: dict[str, Any] = {"sensitivity": None, "level": None}
    if name == "top-k":
        name = choose_top_k(data.table.num_items, k, promise, moves)
        chosen, facts["selected_by"] = (chosen_by_facts(name),), name
    totals = BoundedScores(np.asarray(data.counted.totals), moves)
    drawn, title, fields = draw_best(name, data.source, totals, promise, k)
    fields["notes"] = (*chosen, *fields["notes"])
    return _ranking(data, drawn, title, **fields, **facts)


# --- without privacy ----------------------------------------------------------------------------------


def _mle(counted: Any, gamma: Scalar, *, link: str, ties: str) -> Estimate:
    return pairwise.mle(counted, link, gamma, ties=ties, tie_gamma=gamma)


def _without_privacy(data: Prepared) -> Ranking:
    """The scores that maximize the likelihood, or a ridge fit where there are no finite ones."""
    way, asked, gamma = WAYS[data.model], data.asked, data.asked.gamma or 0.0
    fit = functools.partial(_mle, link=asked.link, ties=asked.ties)
    design, warnings = way.design(data, None), []
    components = components_of(way.met(data, design))
    separated = way.unbounded(data, None)
    found = quickly(fit, data.counted, 1.0 if separated and not gamma else gamma)
    separated = separated or way.unbounded(data, found)
    groups = way.linked and components > 1
    if gamma == 0 and (separated or groups):
        gamma, why = 1.0, way.why
        if groups:
            why = f"the {way.rows} do not link all items, so the likelihood has no single maximum."
        warnings = [f"{why} The scores shown are a ridge fit with gamma = 1."]
        found = quickly(fit, data.counted, gamma)
    code = int(found.diagnostics.code)
    warnings += doubts_of(components, code)
    sampling = way.sampling(data, np.asarray(_scores_of(found.value)))
    tie_gamma = gamma if asked.ties == "davidson" else None
    certainty, facts, notes = _certain(
        data, found.value, design, gamma, tie_gamma, sampling.words, **sampling.told
    )
    facts |= {
        **sampling.facts,
        "components": components,
        "separated": separated,
        "converged": code <= 1,
        "solver": CODES[code],
        "gradient_norm": float(found.diagnostics.gradient_norm),
    }
    scale = f"{asked.link} link" if data.model == "comparisons" else way.scale
    title, notes = f"fitted scores ({scale}){way.more}", (*sampling.notes, *notes)
    return _ranking(
        data, None, title, found.value, certainty, notes=notes, warnings=warnings, **facts
    )


# --- certainty, and the result ------------------------------------------------------------------------


def _number(value: Any) -> float:
    """The first of some numbers, or the only one."""
    return float(np.ravel(value)[0])


def _scores_of(value: Any) -> Any:
    return getattr(value, "scores", value)


def _certain(
    data: Prepared,
    value: Any,
    design: Design,
    gamma: Any,
    tie_gamma: Any,
    cover: str,
    noise: Noise | float = 0.0,
    **told: Any,
) -> tuple[Certainty, dict[str, Any], tuple[str, ...]]:
    """Certainty of fitted scores, facts, and notes; ``cover``: by intervals; ``told``: how answers vary."""
    words = each_by_itself("the true score", cover)
    told |= {"gamma": gamma} if tie_gamma is None else {"gamma": gamma, "tie_gamma": tie_gamma}
    known = {"level": data.asked.level, "words": words, "link": data.asked.link, "noise": noise}
    certainty, found = of_fit(value, design, **known, **told)
    near = TOO_FAR not in certainty.notes
    facts, notes = _parts_of(data, value, found, near=near)
    facts = {"gamma": _number(gamma), **facts}
    if tie_gamma is not None:
        facts["tie_gamma"] = float(tie_gamma)
    components = components_of(WAYS[data.model].met(data, design))
    if components > 1:  # without privacy a warning says it
        several = () if data.privacy is None else (SEVERAL_GROUPS.format(components),)
        certainty = Certainty(certainty.better, notes=several)
    return certainty, facts, notes


def _parts_of(
    data: Prepared, value: Any, found: Any, *, near: bool
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Facts and notes on ties and covariates; ``found``: intervals, if known, of covariates if they are ``near``."""
    asked, facts, notes = data.asked, {}, ()
    if isinstance(data.table, Comparisons) and data.weighted:
        facts = {"weight": data.table.weight_column, "weight_most": asked.weight_most}
    if asked.ties == "davidson":
        facts, note = tie_facts(value, None if found is None else found.log_tie, asked.level)
        notes = (note,)
    if data.model.startswith("covariates"):
        covariates: dict[str, dict[str, float]] = {}
        for k, name in enumerate(data.counted.design.names):
            one = covariates[name] = {"coefficient": float(value.coefficients[k])}
            between = ""
            if near and found is not None:
                low, high = (float(getattr(found.coefficients, end)[k]) for end in ("low", "high"))
                one |= {"low": low, "high": high}
                between = f" ({100 * asked.level:g}% interval {low:.3g} to {high:.3g})"
            notes += (f"covariate {name}: {one['coefficient']:.3g} log-odds per unit{between}",)
        facts["covariates"] = covariates
    return facts, notes


def _ranking(
    data: Prepared,
    drawn: Drawn | None,
    title: str,
    value: Any = None,
    certainty: Certainty | None = None,
    *,
    notes: tuple[str, ...] = (),
    warnings: Any = (),
    score_name: str = "score",
    order: np.ndarray | None = None,
    in_order: bool = True,
    **facts: Any,
) -> Ranking:
    """The result; ``facts`` are public, and None values are left out."""
    table, asked, way = data.table, data.asked, WAYS[data.model]
    scores = None if value is None else np.asarray(_scores_of(value))
    certainty, notes = certainty or Certainty(), (*data.notes, *notes)
    public: dict[str, Any] = {"method": asked.method, "data": table.name, "items": table.num_items}
    if drawn is None:
        public |= {"method": "none", way.rows: len(table), "ties": getattr(table, "ties", None)}
    else:
        shaped = data.noise == "k-norm"
        public |= {
            "max_per_user": data.promise.contributions,
            "max_per_item": asked.max_per_item,
            "sensitivity": data.sensitivity,
            "noise_deviation": way.noise(data, drawn.scale).deviation() if shaped else None,
            "seed": data.source.seed,
            "noise_scale": drawn.scale,
            "noise": drawn.law,
        }
        warnings = (*data.warnings, *drawn.warnings)
    link = asked.link if "gamma" in facts else None
    public |= {"level": asked.level, "link": link, **facts, "notes": [*notes, *certainty.notes]}
    public["warnings"] = list(warnings) if drawn is None else None  # else for their holder alone
    if scores is not None:
        title, order = f"{table.num_items} items by {title}", best_first(scores)
    return Ranking(
        title=f"{table.name}: {title}",
        items=table.item_names,
        order=order,  # pyright: ignore
        guarantee=None if drawn is None else drawn.guarantee,
        facts={name: one for name, one in public.items() if one is not None},
        scores=scores,
        score_name=score_name,
        certainty=certainty,
        level=asked.level,
        top_k=asked.top_k,
        in_order=in_order,
        told_by=f"By these {way.rows}" if drawn is None else "At this budget",
        notes=(*notes, *certainty.notes),
        warnings=tuple(warnings),
    )
