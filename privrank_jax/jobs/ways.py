"""From prepared answers to a ranking: what is drawn, the scores that follow from it, and how certain these are.

Noise on counts serves under any adjacency, and for scores where the design is public. Elsewhere the noise is in the
objective of the fit. One class for each model of answers says what differs.
"""

from __future__ import annotations

import dataclasses
import functools
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
from privrank_jax.jobs import certainty as certain
from privrank_jax.jobs import result
from privrank_jax.jobs.answers import Prepared
from privrank_jax.jobs.asked import MODELS
from privrank_jax.jobs.best import CHOSEN, draw_best
from privrank_jax.jobs.certainty import Sampling
from privrank_jax.jobs.mechanisms import Drawn, draw
from privrank_jax.jobs.result import Certainty, Ranking
from privrank_jax.mechanism.selection import BoundedScores
from privrank_jax.pairwise.designs import Design
from privrank_jax.pairwise.graph import has_maximum
from privrank_jax.pairwise.intervals import Intervals, confidence_intervals
from privrank_jax.pairwise.minimizer import CODES
from privrank_jax.pairwise.noisy_totals import noise_on_counted
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
_WEIGHTS = f"{_UNKNOWN} sums of squared weights, which are private here"
_NOISY = f"{result.ANSWERS} and the privacy noise"
_MOST_ITEMS = 2000  # for intervals where the design is private: matrices of pairs are inverted
_CERTAIN = 15.0  # log-odds of a comparison, reached only where the likelihood has no maximum


def ranking_of(data: Prepared) -> Ranking:
    """Rank the items: by the best alone, by noisy counts, or by scores; ``ValueError``: what a mechanism refuses."""
    if data.privacy is None:
        return _without_privacy(data)
    if data.asked.lists:
        return _best_alone(data)
    if data.asked.method == "counts":
        return _counts(data)
    on_counts = data.design is not None or data.mechanism == MODELS[data.model][0]
    return (_scores if on_counts else _in_objective)(data)


class _HalfWins:
    """What comparisons say where a tie is half a win for both; of other models what differs."""

    told = ("noise", "sensitivity", "questionnaire")  # what the mechanism of noisy counts is told
    objective = ("link", "gamma", "noise", "weighted")  # what noise in the objective is told
    linked = True  # whether the likelihood has no single maximum where the items fall into groups
    # Why it has no finite one, and why errors are not known where the design is private.
    why = "some group of items never lost to the rest, or never won, so no finite scores maximize the likelihood."
    hidden = f"{_GRAPH} (intervals 'auto' buy noisy ones for scores with the logistic link)"
    scale, rows, more = "log-odds", "comparisons", ""  # of scores; of answers; in titles of fits
    # Noisy counts, in titles and as scores; what they count, and how answers are called there.
    counts = ("noisy win totals", "noisy wins", "totals", "answers")
    notes: tuple[tuple[str, ...], ...] = ((), ())  # of counts, and of scores by a public design

    def __init__(self, data: Prepared) -> None:
        self.data, self.davidson = data, data.asked.ties == "davidson"

    def design(self, released: Any) -> Design:
        """How often each pair was compared; where that is private, as in the questionnaire, as often as totals say."""
        met = np.asarray(self.data.counted.comparisons)
        if self.data.design is not None:
            asked = np.asarray(self.data.design, float)
            met = asked * max(float(released.sum()) / (asked.sum() / 2), 1.0)
        return pairwise.designs.Counts(met, ties=self.davidson)

    def noise(self, scale: Any) -> Noise:
        """The noise on what is counted."""
        data = self.data
        told = data.table.num_items, data.questionnaire, data.privacy.adjacency
        return noise_on_totals(data.noise, scale, *told)

    def met(self, design: Any) -> PairMatrix | np.ndarray:
        """How often two items met."""
        return design.comparisons

    def sampling(self, scores: np.ndarray) -> Sampling:
        """How answers vary where there is no noise."""
        data = self.data
        return certain.sampling_of(data.table, data.weights, scores, data.asked.link)

    def unbounded(self, fit: Estimate | None) -> bool:
        """Whether the likelihood has no finite maximum, by a fit or, before it, by the answers."""
        return fit is not None and bool(fit.diagnostics.separated)


class _Ties(_HalfWins):
    """Ties are an outcome of their own."""

    told, objective, linked, hidden = ("noise", "questionnaire"), ("gamma",), False, _GRAPH
    why = "no finite scores maximize the likelihood: ties, or wins of both sides, are too rare in some group of items."
    scale = "log-odds of a win against a loss"

    def noise(self, scale: Any) -> Noise:
        return noise_on_counted(self.data.noise, scale, self.data.table.num_items, ties=True)

    def sampling(self, scores: np.ndarray) -> Sampling:
        return Sampling({})

    def unbounded(self, fit: Estimate | None) -> bool:
        return fit is None and has_maximum(self.data.counted) is False


class _Covariates(_HalfWins):
    """Comparisons with features, ties half wins or not."""

    told, objective, linked, hidden = ("noise",), ("gamma", "ties"), False, _GRAPH
    why = "no finite fit has the highest likelihood, as where scores and covariates predict some outcomes for sure."
    more = ", covariates held equal"

    def design(self, released: Any) -> Design:
        return dataclasses.replace(self.data.counted.design, ties=self.davidson)

    def noise(self, scale: Any) -> Noise:
        counted, noise = self.data.counted, self.data.noise
        return noise_on_counted(noise, scale, counted.design.size, ties=self.davidson)

    def met(self, design: Any) -> np.ndarray:
        met = np.zeros((design.num_items,) * 2)
        np.add.at(met, (np.asarray(design.first), np.asarray(design.second)), 1.0)
        return met + met.T

    def sampling(self, scores: np.ndarray) -> Sampling:
        tied = np.asarray(self.data.counted.outcomes) == 0.5
        return Sampling({} if self.davidson else {"ties": tied})

    def unbounded(self, fit: Estimate | None) -> bool:
        """Whether scores and covariates predict some outcome for sure, or ties can't be told from their number."""
        if self.data.asked.gamma:
            return False
        design, tied = self.data.counted.design, np.asarray(self.data.counted.outcomes) == 0.5
        if fit is None:
            return self.davidson and tied.all() == tied.any()
        surest = float(jnp.abs(design.log_odds(design.beta_of(fit.value))).max())
        return int(fit.diagnostics.code) > 1 or not surest < _CERTAIN


class _Chosen(_HalfWins):
    """One item is chosen from a set of them."""

    told, objective = ("noise",), ("gamma",)
    why = "some group of items was never, or always, chosen over the rest, so no finite scores maximize the likelihood."
    hidden = f"{_UNKNOWN} the sets that were shown, which are private here"
    rows, counts = "choices", ("noisy counts of choices", "noisy choices", "counts", "choices")
    notes = (
        ("items that are shown more often are chosen more often: unless sets are balanced, use scores",),
        ("a comparison is here a choice from the items shown, and who was shown which items is public",),
    )  # fmt: skip

    def design(self, released: Any) -> Design:
        return quickly(_sets, self.data.counted)

    def met(self, design: Any) -> PairMatrix:
        return quickly(_shown_together, self.data.counted)

    def sampling(self, scores: np.ndarray) -> Sampling:
        return Sampling({})


def _sets(choices: pairwise.Choices) -> Design:
    return choices.design


def _shown_together(choices: pairwise.Choices) -> PairMatrix:
    """Count for two items how often one was chosen where the other was shown."""
    return choices.wins.comparisons


# By model, see privrank_jax.jobs.asked.MODELS. Best and worst choices from sets would be one more.
_WAYS = {
    "comparisons": _HalfWins,
    "ties": _Ties,
    **dict.fromkeys(("covariates", "covariates and ties"), _Covariates),
    "choices": _Chosen,
}


def _drawn(data: Prepared) -> tuple[Drawn, np.ndarray, Noise]:
    """What is counted, with noise; its value, and the noise on it."""
    way = _WAYS[data.model](data)
    told = data.told(way.told)
    drawn = draw(MODELS[data.model][0], data.source, data.counted, data.privacy, **told)
    return drawn, np.asarray(drawn.value.value), way.noise(drawn.scale)


def _counts(data: Prepared) -> Ranking:
    """Noisy counts of wins or choices."""
    way, level, (drawn, scores, added) = _WAYS[data.model](data), data.asked.level, _drawn(data)
    title, name, what, answers = way.counts
    if data.privacy.adjacency == "flip" and way.rows == "comparisons":
        found = quickly(_of_totals, scores, data.counted.comparisons, added.known, level)
        words = result.each_by_itself("the total to be expected from such users", _NOISY)
        certainty = Certainty(np.asarray(found.better), certain.ends(found), words)
    else:
        more = f", not the chance in the {answers}"
        certainty = result.of_noise(scores, _reach(data, added, drawn.exact), what=what, more=more)
    return _ranking(
        data, drawn, title, scores, certainty, notes=way.notes[0], fields={"score_name": name}
    )


def _of_totals(totals: Any, met: PairMatrix, added: Noise, level: float) -> Intervals:
    return confidence_intervals(totals_standard_errors(totals, met, noise=added), level)


def _reach(data: Prepared, added: Noise, exact: bool) -> float:
    """Half-width that holds the noise of all totals."""
    level, epsilon = data.asked.level, data.privacy.epsilon
    if data.questionnaire is None or not exact:
        return added.reach(level) + 0.5 * exact  # the noise is on halves
    edges, parts = questionnaire_changes(data.questionnaire, data.privacy.adjacency)
    change = 2 // parts
    step = 0.5 / zonotope_parts(change, epsilon)
    lengths: Any = np.asarray(edges, float)
    body, slope = Zonotope(lengths), 2 * step * epsilon / change
    return step * noise_law.lattice_reach(body, level, slope, data.table.num_items)


def _scores(data: Prepared) -> Ranking:
    """A ridge fit to noisy counts, as the design is public."""
    way, (drawn, released, added) = _WAYS[data.model](data), _drawn(data)
    design = way.design(released)
    usual = functools.partial(default_ridges, added=added, gamma=data.asked.gamma)
    ridges = quickly(usual, design)
    fit = quickly(pairwise.fit, design, released, *ridges)
    cover = f"{_NOISY}{result.UNDONE}"
    certainty, facts = _certain(data, fit.value, design, *ridges, cover, noise=added)
    facts["solver"] = CODES[int(fit.diagnostics.code)]
    facts["notes"] = (*way.notes[1], *facts["notes"])
    title = f"private scores ({way.scale}){way.more}"
    return _ranking(data, drawn, title, fit.value, certainty, **facts)


def _in_objective(data: Prepared) -> Ranking:
    """Scores where the design is private, or the link not logistic: noise goes into the objective."""
    way, (of_scores, of_design) = _WAYS[data.model](data), _split(data)
    drawn = draw(data.mechanism, data.source, data.counted, of_scores, **data.told(way.objective))
    value, gamma = drawn.value.value, float(np.ravel(drawn.value.diagnostics.gamma)[0])
    facts, fields = {"gamma": gamma, **_parts_of(data, value, None, near=False)}, {}
    certainty = Certainty(notes=(_WEIGHTS if data.weighted else way.hidden,))
    if of_design is not None:
        counted = draw("noisy-design", data.source, data.counted, of_design, np.asarray(value))
        noise = Noise.independent(data.noise, drawn.scale, data.table.num_items)
        told = {"noise": noise, "gamma": gamma, "level": data.asked.level}
        certainty = certain.of_private_design(np.asarray(value), counted.value.value, **told)
        facts |= {"design_epsilon": of_design.epsilon, "design_noise_scale": counted.scale}
        fields["guarantee"] = _whole(drawn.guarantee, data.privacy.epsilon)
    scale = way.scale if data.asked.link == "logistic" else f"{data.asked.link} link"
    title = f"private scores ({scale}){way.more}"
    return _ranking(data, drawn, title, value, certainty, fields=fields, **facts)


def _split(data: Prepared) -> tuple[Privacy, Privacy | None]:
    """The promises of scores and of numbers of comparisons for their intervals, which add up to the whole one.

    In doubles both ε may add up to 2^-53 of themselves more; the noise of scores is larger than need be by more.
    """
    privacy, asked = data.privacy, data.asked
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
    both = {name: getattr(guarantee, name) for name in ("promise", "attained")}
    both = {name: dataclasses.replace(one, epsilon=epsilon) for name, one in both.items()}
    return dataclasses.replace(guarantee, **both, changes=(), rho=None)


def _best_alone(data: Prepared) -> Ranking:
    """The k best items, as a list or as a set, and nothing else."""
    name, k, promise = data.asked.method, data.asked.top_k, data.privacy
    assert k is not None
    moves = totals_moves(promise)
    moves = dataclasses.replace(moves, most=data.per_item, every=data.sensitivity)
    facts: dict[str, Any] = {"sensitivity": None, "level": None, "notes": ()}
    if name == "top-k":
        name = choose_top_k(data.table.num_items, k, promise, moves)
        facts |= {"notes": (CHOSEN.format(name),), "selected_by": name}
    totals = BoundedScores(np.asarray(data.counted.totals), moves)
    drawn, title, fields = draw_best(name, data.source, totals, promise, k)
    facts["notes"] += fields.pop("notes")
    return _ranking(data, drawn, title, fields=fields, **facts)


def _without_privacy(data: Prepared) -> Ranking:
    """The scores that maximize the likelihood, or a ridge fit where there are no finite ones."""
    way, asked, gamma = _WAYS[data.model](data), data.asked, data.asked.gamma or 0.0
    fit = functools.partial(_mle, link=asked.link, ties=asked.ties)
    design, warnings = way.design(None), []
    components = certain.components_of(way.met(design))
    separated = way.unbounded(None)
    found = quickly(fit, data.counted, 1.0 if separated and not gamma else gamma)
    separated = separated or way.unbounded(found)
    groups = way.linked and components > 1
    if gamma == 0 and (separated or groups):
        gamma, why = 1.0, way.why
        if groups:
            why = f"the {way.rows} do not link all items, so the likelihood has no single maximum."
        warnings = [f"{why} The scores shown are a ridge fit with gamma = 1."]
        found = quickly(fit, data.counted, gamma)
    about = found.diagnostics
    warnings += certain.doubts_of(components, int(about.code))
    sampling = way.sampling(np.asarray(getattr(found.value, "scores", found.value)))
    ridges = gamma, gamma if asked.ties == "davidson" else None
    told = {"cover": sampling.words, **sampling.told}
    certainty, facts = _certain(data, found.value, design, *ridges, **told)
    facts |= sampling.facts | {"components": components, "separated": separated}
    facts |= {"converged": int(about.code) <= 1, "solver": CODES[int(about.code)]}
    facts["gradient_norm"] = float(about.gradient_norm)
    scale = f"{asked.link} link" if data.model == "comparisons" else way.scale
    facts |= {"notes": (*sampling.notes, *facts["notes"]), "warnings": warnings}
    title = f"fitted scores ({scale}){way.more}"
    return _ranking(data, None, title, found.value, certainty, **facts)


def _mle(counted: Any, gamma: Scalar, *, link: str, ties: str) -> Estimate:
    return pairwise.mle(counted, link, gamma, ties=ties, tie_gamma=gamma)


def _certain(
    data: Prepared,
    value: Any,
    design: Design,
    gamma: Any,
    tie_gamma: Any,
    cover: str,
    noise: Noise | float = 0.0,
    **told: Any,
) -> tuple[Certainty, dict[str, Any]]:
    """Certainty of fitted scores, and facts with notes; ``cover``: by intervals; ``told``: how answers vary."""
    ridges = {"gamma": gamma} if tie_gamma is None else {"gamma": gamma, "tie_gamma": tie_gamma}
    told |= {**ridges, "level": data.asked.level, "link": data.asked.link, "noise": noise}
    words = result.each_by_itself("the true score", cover)
    certainty, found = certain.of_fit(value, design, words=words, **told)
    facts: dict[str, Any] = {name: float(np.ravel(ridge)[0]) for name, ridge in ridges.items()}
    facts |= _parts_of(data, value, found, near=certain.TOO_FAR not in certainty.notes)
    components = certain.components_of(_WAYS[data.model](data).met(design))
    if components > 1:  # without privacy a warning says it
        several = () if data.privacy is None else (result.SEVERAL_GROUPS.format(components),)
        certainty = Certainty(certainty.better, notes=several)
    return certainty, facts


def _parts_of(data: Prepared, value: Any, found: Any, *, near: bool) -> dict[str, Any]:
    """Facts, and ``notes``, on ties and covariates; ``found``: their intervals, if known and ``near``."""
    asked, facts, notes = data.asked, {}, ()
    if isinstance(data.table, Comparisons) and data.weighted:
        facts = {"weight": data.table.weight_column, "weight_most": asked.weight_most}
    if asked.ties == "davidson":
        tie, between = float(value.tie), ""
        facts = {"tie_model": "davidson", "tie_parameter": tie}
        ends = (-np.inf, np.inf) if found is None else (found.log_tie.low, found.log_tie.high)
        low, high = np.exp(ends).tolist()
        if low > 0 and high < np.inf:
            between = f", {100 * asked.level:g}% interval {low:.3g} to {high:.3g}"
            facts |= {"tie_parameter_low": low, "tie_parameter_high": high}
        notes = (
            f"ties are an outcome of their own (Davidson's model): nu = {tie:.3g}{between}, so that equal items tie in "
            f"{100 * tie / (2 + tie):.0f}% of comparisons; at nu = 2 ties would be like half wins",
        )
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
    return {"notes": notes, **facts}


def _ranking(
    data: Prepared,
    drawn: Drawn | None,
    title: str,
    value: Any = None,
    certainty: Certainty | None = None,
    *,
    notes: tuple[str, ...] = (),
    warnings: Any = (),
    fields: dict[str, Any] | None = None,
    **facts: Any,
) -> Ranking:
    """The result; ``facts`` are public, and None values are left out; ``fields``: more of the result."""
    fields = fields or {}
    table, asked, way = data.table, data.asked, _WAYS[data.model](data)
    scores = None if value is None else np.asarray(getattr(value, "scores", value))
    certainty = certainty or Certainty()
    notes = (*data.notes, *notes, *certainty.notes)
    if drawn is None:
        public: dict[str, Any] = {way.rows: len(table), "ties": getattr(table, "ties", None)}
        facts["warnings"] = list(warnings)  # else for their holder alone
        fields["told_by"] = f"By these {way.rows}"
    else:
        shaped = data.noise == "k-norm"
        public = {
            "max_per_user": data.privacy.contributions,
            "max_per_item": asked.max_per_item,
            "sensitivity": data.sensitivity,
            "noise_deviation": way.noise(drawn.scale).deviation() if shaped else None,
            "seed": data.source.seed,
            "noise_scale": drawn.scale,
            "noise": drawn.law,
        }
        warnings = (*data.warnings, *drawn.warnings)
        fields.setdefault("guarantee", drawn.guarantee)
    link = asked.link if "gamma" in facts else None
    public |= {"level": asked.level, "link": link, "notes": list(notes), **facts}
    fields |= {"scores": scores, "certainty": certainty, "level": asked.level, "top_k": asked.top_k}
    title = title if scores is None else f"{table.num_items} items by {title}"
    method, fields["warnings"] = "none" if drawn is None else asked.method, tuple(warnings)
    return result.made(table, title, method, public, notes=notes, **fields)
