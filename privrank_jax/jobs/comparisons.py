"""Scores and win totals of items that were compared in pairs, with privacy and without."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, TypeAlias

import jax
import numpy as np

from privrank_jax import pairwise
from privrank_jax._counting import count_on_host, count_ties
from privrank_jax._quickly import quickly
from privrank_jax._types import PairMatrix, Scalar
from privrank_jax.comparisons import WinCounts, bound_contributions
from privrank_jax.data.choices import Choices
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.data.engine_counts import ComparisonRows
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_laplace import LARGEST
from privrank_jax.exact.k_norm import zonotope_parts
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.best_items import chosen_by_facts, draw_best
from privrank_jax.jobs.certainty import (
    PRIVATE_GRAPH,
    PRIVATE_WEIGHTS,
    components_of,
    doubts_of,
    ends,
    of_fit,
    of_private_design,
    sampling_of,
    tie_facts,
)
from privrank_jax.jobs.checks import check_items, check_rare_items, private_remark
from privrank_jax.jobs.mechanisms import MECHANISMS, Drawn, Randomness, draw
from privrank_jax.jobs.methods import RANK
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
from privrank_jax.links import get_link
from privrank_jax.mechanism.selection import BoundedScores
from privrank_jax.pairwise.graph import has_maximum
from privrank_jax.pairwise.intervals import Intervals, confidence_intervals
from privrank_jax.pairwise.minimizer import CODES
from privrank_jax.pairwise.noisy_totals import noise_on_ties
from privrank_jax.pairwise.private_design import DESIGN_SHARE, design_scale
from privrank_jax.pairwise.questionnaire import (
    noise_on_totals,
    questionnaire_changes,
    questionnaire_sensitivity,
    totals_sensitivity,
)
from privrank_jax.pairwise.ridges import default_ridges, least_risk_gamma
from privrank_jax.pairwise.top_k import choose_top_k, totals_moves
from privrank_jax.pairwise.uncertainty import totals_standard_errors
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import norm_of
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release import exact_bound
from privrank_jax.release.contributions import capped_rows

MAX_ITEMS = 10_000
_UNEQUAL = (
    2  # times as often as another item: beyond it an item's total says little of how good it is
)
_NOISY_GRAPH = (
    f"{PRIVATE_GRAPH} (intervals 'auto' buy noisy ones for scores with the logistic link)"
)
_MOST_ITEMS = 2000  # for intervals where the design is private: matrices of pairs are inverted

Table: TypeAlias = Comparisons | ComparisonRows


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """Comparisons, ready to be ranked.

    Attributes:
        table: as they were read.
        wins: win counts of the comparisons that were kept.
        warnings: remarks for the holder of the data; not covered by the guarantee.
        source: of the noise.
        privacy: what is promised, with L, what is public and what a user is; None: nothing.
        weights: ``(N,)``, what each comparison counts; None: all count once.
        noise: the noise.
        questionnaire: for K-norm noise, and for Laplace noise with ties: ``(m, m)``, how often each user is asked each
            pair.
        design: the same where scores are fitted to it, as who compared what is private.
        sensitivity: for other noise on win totals: their sensitivity to one unit, ℓ₁ for Laplace noise, ℓ₂ for Gaussian
            noise.
        per_item: most that one unit can move the total of one item.
    """

    table: Table
    wins: WinCounts
    warnings: tuple[str, ...]
    source: Randomness
    privacy: Privacy | None
    weights: np.ndarray | None = None
    noise: str = ""
    questionnaire: np.ndarray | None = None
    design: np.ndarray | None = None
    sensitivity: float | None = None
    per_item: float = 0.0

    @property
    def promise(self) -> Privacy:
        """What is promised."""
        assert self.privacy is not None
        return self.privacy


def rank_comparisons(
    table: Table, privacy: Privacy | None, asked: Asked, source: Randomness
) -> Ranking:
    """Rank the items of comparisons."""
    data = _prepared(table, privacy, asked, source)
    if privacy is None:
        return (_ties_without_privacy if asked.ties == "davidson" else _without_privacy)(
            data, asked
        )
    return RANK[asked.method].runner()(data, asked)


# --- from rows to counts with a known sensitivity -----------------------------------------------------


def _prepared(table: Table, privacy: Privacy | None, asked: Asked, source: Randomness) -> Prepared:
    """Bound the contributions of users, and work out the sensitivity."""
    check_items(table.name, table.num_items, MAX_ITEMS, asked.top_k)
    warnings = private_remark(*table.remarks)
    weights = _weights(table, asked, private=privacy is not None)
    if privacy is None:
        wins = _count(table, None, source, weights)[0]
        return Prepared(
            table=table, wins=wins, warnings=warnings, source=source, privacy=None, weights=weights
        )
    warnings += check_rare_items(table, written=False)
    by_user, limit, most = privacy.unit == "user", None, 1
    if by_user:
        most = user_limit(table, privacy)
        privacy = dataclasses.replace(privacy, contributions=most)
        over = table.comparisons_per_user > most or asked.max_per_item is not None
        limit = most if over else None
    wins, kept = _count(table, limit, source, weights, asked.max_per_item)
    if asked.method == "counts" or asked.lists:
        warnings += private_remark(*_unequal_exposure(wins))
    if limit is not None and kept < len(table):
        warnings += left_out(len(table), kept, limit, per_item=asked.max_per_item)
    mechanism = asked.mechanism(privacy, weighted=weights is not None)
    noise, pairs = _noise(table, asked, privacy, mechanism, weighted=weights is not None)
    design = None
    if (
        table.questionnaire is not None
        and mechanism == "perturbed-mle"
        and asked.fits_questionnaire(privacy, weights is not None)
    ):
        design = pairwise.questionnaire_counts(table.questionnaire, table.num_items)
    questionnaire, sensitivity, per_item, public = None, None, 0.0, table.public
    in_objective = mechanism in ("perturbed-mle", "perturbed-davidson")
    if pairs is None and (not in_objective or design is not None):
        sensitivity, per_item, public = _sensitivity(table, asked, privacy, noise)
    elif pairs is not None:
        questionnaire = pairwise.questionnaire_counts(pairs, table.num_items)
        public = (*table.public, "questionnaire")
        privacy = dataclasses.replace(privacy, contributions=min(most, len(pairs)))
    return Prepared(
        table=table,
        wins=wins,
        warnings=warnings,
        source=source,
        weights=weights,
        privacy=privacy.given(public=public, users=table.users_are if by_user else ""),
        noise=noise,
        questionnaire=questionnaire,
        design=design,
        sensitivity=sensitivity,
        per_item=per_item,
    )


def user_limit(table: Table | Choices, privacy: Privacy) -> int:
    """L; where it is not promised no user may exceed the questionnaire, or 1."""
    if not table.has_users:
        raise ValueError(
            f"{table.name} does not say who compared, so users can't be protected as a whole: name the column by user "
            "(--user), or protect single comparisons by unit='comparison' (--unit comparison)."
        )
    if privacy.contributions is not None:
        return int(privacy.contributions)
    asked = 1 if table.questionnaire is None else len(table.questionnaire)
    if table.comparisons_per_user > asked:
        raise ValueError(
            f"a user of {table.name} gave more than {asked} comparison{'s' * (asked > 1)}, and a guarantee for users "
            "needs a bound: choose one by contributions (--max-per-user), without looking at the data, such as the "
            "number of questions that every user was asked. It is published with the result; users with more keep a "
            "random choice of that many; a smaller bound means less noise. unit='comparison' (--unit comparison) "
            "protects single comparisons only."
        )
    return asked


def bounded(
    table: Comparisons | Choices, privacy: Privacy, source: Randomness, what: str = "comparisons"
) -> tuple[Privacy, np.ndarray | None, tuple[str, ...]]:
    """The promise for users of at most L rows, the rows that stay (None: all), and a remark on the others.

    Args:
        table: rows of users.
        privacy: the promise, perhaps without L.
        source: what decides which rows stay.
        what: what a row is, for the remark.
    """
    most = user_limit(table, privacy)
    privacy = dataclasses.replace(privacy, contributions=most)
    if table.comparisons_per_user <= most:
        return privacy, None, ()
    kept = kept_rows(table.users, most, source)
    return privacy, kept, left_out(len(table), int(kept.sum()), most, what)


def left_out(
    rows: int, kept: int, most: int, what: str = "comparisons", per_item: int | None = None
) -> tuple[str, ...]:
    """A remark on rows that do not count."""
    also = "" if per_item is None else f", and {per_item} of them about one item"
    return private_remark(
        f"{rows - kept} of {rows} {what} were left out, chosen at random, to keep at most {most} per user{also}."
    )


def kept_rows(users: np.ndarray, most: int, source: Randomness) -> np.ndarray:
    """``(N,)`` bool, the rows that stay: ``most`` random ones of each user, whatever they say."""
    if not source.rehearsal:
        return exact_bound(users, most)
    return np.asarray(bound_contributions(source.key(), users, most))


def _capped_rows(table: Comparisons, most: int, source: Randomness, per_item: int) -> np.ndarray:
    """The same with at most ``per_item`` rows of a user about one item."""
    items = table.winners, table.losers
    if not source.rehearsal:
        return exact_bound(table.users, most, items=items, max_per_item=per_item)
    drawn = np.asarray(jax.random.bits(source.key(), (len(table),)))
    return capped_rows(table.users, np.lexsort((drawn, table.users)), most, items, per_item)


def _weights(table: Table, asked: Asked, *, private: bool) -> np.ndarray | None:
    """``(N,)``, what each comparison counts; None: all count once.

    Weights up to their bound, in units of it under privacy, else in units of their mean.
    """
    if table.weights is None:
        return None
    most = np.inf if asked.weight_most is None else asked.weight_most
    if private:
        bound = functools.partial(pairwise.bounded_weights, most=most)
        return np.asarray(quickly(bound, table.weights))
    weights = np.minimum(table.weights, most)
    if not np.any(weights > 0):
        raise ValueError(f"all weights in {table.name} are 0: there is nothing to rank.")
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # below 1, so that no sum overflows
    return weights / weights.mean()


def _count(
    table: Table,
    limit: int | None,
    source: Randomness,
    weights: np.ndarray | None = None,
    per_item: int | None = None,
) -> tuple[WinCounts, int]:
    """Win counts of all comparisons, or of ``limit`` random ones of each user, and how many are kept.

    Args:
        table: the comparisons.
        limit: L; None for all.
        source: what decides which rows stay.
        weights: ``(N,)``, what each row counts, of a table in memory; None: all count once.
        per_item: the most rows of a user about one item; None for any number.
    """
    if isinstance(table, ComparisonRows) and per_item is not None:
        table = table.in_memory()  # for the rows of a user about an item
    if isinstance(table, ComparisonRows):
        wins = table.win_counts(limit, None if limit is None else source.salt())
        counts: Any = np.asarray(wins.matrix)
        ties: Any = np.asarray(wins.ties)
        return WinCounts(counts, ties=ties), round(float(counts.sum()))
    kept = None
    if limit is not None and per_item is not None:
        kept = _capped_rows(table, limit, source, per_item)
    elif limit is not None:
        kept = kept_rows(table.users, limit, source)
    number = len(table) if kept is None else int(kept.sum())
    if kept is not None:
        weights = kept * (1.0 if weights is None else weights)
    tied = table.tied if table.ties else None
    counts: Any = count_on_host(table.winners, table.losers, table.num_items, weights, tied)
    ties: Any = np.asarray(0.0 if tied is None else count_ties(tied, weights))
    return WinCounts(counts, ties=ties), number


def _unequal_exposure(wins: WinCounts) -> tuple[str, ...]:
    """A remark where win totals would order items by how often they were compared."""
    matrix = np.asarray(wins.matrix)
    compared = matrix.sum(0) + matrix.sum(1)
    least, most = compared.min(), compared.max()
    if most < _UNEQUAL * least:
        return ()
    return (
        f"items were compared {least:,.0f} to {most:,.0f} times, and win totals follow that more than how good items "
        "are: method 'scores' publishes fitted scores instead.",
    )


def _noise(
    table: Table, asked: Asked, privacy: Privacy, mechanism: str, *, weighted: bool
) -> tuple[str, np.ndarray | None]:
    """The noise, and the pairs that every user was asked, for K-norm noise, and for Laplace noise with ties.

    K-norm noise is the default where these are known, unless users keep fewer comparisons than they were asked for,
    which may change less than all answers together.
    """
    shaped = asked.shapes_noise(privacy, mechanism, weighted)
    pairs = table.questionnaire if shaped else None
    if asked.noise == "k-norm" and pairs is None:
        raise ValueError(
            f"k-norm noise has the shape of the pairs that all users were asked, which {table.name} does not say (the "
            "named data sets coffee, cemspc, immig and cars do): leave noise (--noise) out."
        )
    whole = pairs is not None and privacy.comparisons_per_unit >= len(pairs)
    if asked.noise == "k-norm" or (asked.noise is None and whole):
        return "k-norm", pairs
    noise = MECHANISMS[mechanism].noise_of(asked.noise)
    # The number of ties is released too, which costs less where all are asked the same.
    with_ties = mechanism == "noisy-tie-counts" and noise == "laplace" and privacy.unit == "user"
    return noise, table.questionnaire if with_ties else None


def _sensitivity(
    table: Table, asked: Asked, privacy: Privacy, noise: str
) -> tuple[float, float, tuple[str, ...]]:
    """How far one unit moves all win totals together and a single one, and the public facts that this relies on."""
    norm = norm_of(noise)
    total = float(totals_sensitivity(privacy, norm, per_item=asked.max_per_item))
    one = float(min(privacy.comparisons_per_unit, asked.max_per_item or math.inf))
    if privacy.unit != "user" or table.questionnaire is None or asked.ties == "davidson":
        return total, one, table.public
    pairs = table.questionnaire
    asked_pairs = pairwise.questionnaire_counts(pairs, table.num_items)
    known = questionnaire_sensitivity(asked_pairs, privacy, norm)
    meetings = float(np.bincount(pairs.ravel()).max())
    used = known < total or (asked.lists and meetings < one)
    public = (*table.public, "questionnaire") if used else table.public
    return min(known, total), min(meetings, one), public


def notes_on(table: Table | Choices) -> tuple[str, ...]:
    """Notes of the reader but that no users are named, where each comparison is protected by itself."""
    if table.has_users:
        return table.notes
    return tuple(note for note in table.notes if "names no users" not in note)


# --- with privacy -------------------------------------------------------------------------------------


def _counts(data: Prepared, asked: Asked) -> Ranking:
    drawn = _noisy_totals(data)
    scores = np.asarray(drawn.estimate.value)
    if data.promise.adjacency == "flip":
        added = _added(data, drawn).known
        found = quickly(_of_totals, scores, data.wins.comparisons, added, asked.level)
        of = "the total to be expected from such users"
        words = each_by_itself(of, f"{ANSWERS} and the privacy noise")
        certainty = Certainty(np.asarray(found.better), ends(found), words)
    else:
        certainty = of_noise(
            scores,
            _reach(data, asked, drawn),
            what="totals",
            more=", not the chance in the answers",
        )
    return _result(
        data,
        asked,
        drawn,
        f"{scores.size} items by noisy win totals",
        scores,
        certainty,
        score_name="noisy wins",
    )


def _scores(data: Prepared, asked: Asked) -> Ranking:
    if asked.ties == "davidson":
        flips = data.promise.adjacency == "flip"
        return (_scores_with_ties if flips else _ties_in_objective)(data, asked)
    mechanism = asked.mechanism(data.promise, weighted=data.weights is not None)
    on_totals = mechanism == "noisy-counts" or data.design is not None
    return (_scores_from_totals if on_totals else _objective_perturbation)(data, asked)


def _scores_from_totals(data: Prepared, asked: Asked) -> Ranking:
    """It is public who compared what, or what all were asked: noise on the totals, then a ridge fit to them."""
    drawn = _noisy_totals(data)
    totals = np.asarray(drawn.estimate.value)
    design = _public_design(data, totals)
    degree = float(np.sum(design)) / len(totals)
    variance = _added(data, drawn).variance_per_dimension()
    gamma = asked.gamma or float(quickly(least_risk_gamma, degree, variance))
    fit = quickly(pairwise.fit, pairwise.Counts(design), totals, gamma)
    scores = np.asarray(fit.value)
    return _result(
        data,
        asked,
        drawn,
        f"{scores.size} items by private scores (log-odds)",
        scores,
        _certainty(data, asked, scores, drawn, gamma, design),
        link="logistic",
        gamma=gamma,
        solver=CODES[int(fit.diagnostics.code)],
    )


def _public_design(data: Prepared, totals: np.ndarray) -> np.ndarray:
    """How often each pair was compared: known under flips; else as in the questionnaire, as often as the totals say."""
    if data.promise.adjacency == "flip":
        return np.asarray(data.wins.comparisons)
    assert data.design is not None
    asked = np.asarray(data.design, float)
    return asked * max(float(totals.sum()) / (asked.sum() / 2), 1.0)


def _scores_with_ties(data: Prepared, asked: Asked) -> Ranking:
    """Ties are an outcome of their own: noise on the totals and their number, then a ridge fit to them."""
    told = {"noise": data.noise, "questionnaire": data.questionnaire}
    drawn = draw("noisy-tie-counts", data.source, data.wins, data.promise, **told)
    law = noise_on_ties(data.noise, drawn.scale, data.table.num_items)
    met, counted = data.wins.comparisons, drawn.estimate.value
    design = pairwise.Counts(met, ties=True)
    usual = functools.partial(default_ridges, added=law, gamma=asked.gamma)
    gamma, tie_gamma = map(float, quickly(usual, design))
    fit = quickly(pairwise.fit, design, counted, gamma, tie_gamma)
    certainty, intervals = of_fit(
        fit.value,
        design,
        level=asked.level,
        words=each_by_itself("the true score", f"{ANSWERS} and the privacy noise{UNDONE}"),
        gamma=gamma,
        tie_gamma=tie_gamma,
        noise=law,
    )
    components = components_of(met)
    notes = certainty.notes if components == 1 else (SEVERAL_GROUPS.format(components),)
    facts = tie_facts(fit.value, intervals.log_tie, asked.level)
    certainty = dataclasses.replace(certainty, notes=(facts.pop("tie_note"), *notes))
    scores = np.asarray(fit.value.scores)
    return _result(
        data,
        asked,
        drawn,
        f"{scores.size} items by private scores (log-odds of a win against a loss)",
        scores,
        certainty,
        link="logistic",
        gamma=gamma,
        tie_gamma=tie_gamma,
        solver=CODES[int(fit.diagnostics.code)],
        **facts,
    )


def _ties_in_objective(data: Prepared, asked: Asked) -> Ranking:
    """The same where the comparison graph is private: noise goes into the objective."""
    drawn = draw("perturbed-davidson", data.source, data.wins, data.promise, gamma=asked.gamma)
    value, gamma = drawn.estimate.value, float(drawn.estimate.diagnostics.gamma)
    facts = tie_facts(value, None, asked.level)
    certainty = Certainty(notes=(facts.pop("tie_note"), PRIVATE_GRAPH))
    scores = np.asarray(value.scores)
    title = f"{scores.size} items by private scores (log-odds of a win against a loss)"
    facts |= {"link": "logistic", "gamma": gamma}
    return _result(data, asked, drawn, title, scores, certainty, **facts)


def _objective_perturbation(data: Prepared, asked: Asked) -> Ranking:
    """The comparison graph is private, or the link not logistic: noise goes into the objective."""
    if math.isinf(get_link(asked.link).kappa1):
        raise ValueError(
            f"the {asked.link} link has an unbounded score (infinite kappa1), so no finite noise makes "
            "scores private. Use the logistic or the laplace link, or counts, which need no link."
        )
    options: dict[str, Any] = {"link": asked.link, "gamma": asked.gamma}
    options |= {"noise": data.noise, "weighted": data.weights is not None}
    of_scores, of_design = _split(data.promise, asked, data)
    drawn = draw("perturbed-mle", data.source, data.wins, of_scores, **options)
    scores = np.asarray(drawn.estimate.value)
    if not np.all(np.isfinite(scores)):
        raise ValueError("the fit did not end in finite numbers: choose a larger gamma (--gamma).")
    gamma = float(drawn.estimate.diagnostics.gamma)
    facts: dict[str, Any] = {"link": asked.link, "gamma": gamma, **_weight_facts(data, asked)}
    if of_design is None:
        certainty = _certainty(data, asked, scores, drawn, gamma, None)
    else:
        counted = draw("noisy-design", data.source, data.wins, of_design, scores)
        certainty = of_private_design(
            scores,
            counted.estimate.value,
            noise=Noise.independent(data.noise, drawn.scale, scores.size),
            gamma=gamma,
            level=asked.level,
        )
        facts |= {"design_epsilon": of_design.epsilon, "design_noise_scale": counted.scale}
        drawn = dataclasses.replace(drawn, guarantee=_whole(drawn.guarantee, data.promise.epsilon))
    return _result(
        data,
        asked,
        drawn,
        f"{scores.size} items by private scores ({asked.link} link)",
        scores,
        certainty,
        **facts,
    )


def _split(privacy: Privacy, asked: Asked, data: Prepared) -> tuple[Privacy, Privacy | None]:
    """The promises of scores and of numbers of comparisons for their intervals, which add up to the whole one.

    In doubles both ε may add up to 2^-53 of themselves more; the noise of scores is larger than need be by more.
    """
    known = privacy.adjacency == "flip" or asked.link != "logistic"
    many = data.table.num_items > _MOST_ITEMS
    if known or data.weights is not None or asked.intervals == "none" or many:
        return privacy, None
    part = dataclasses.replace(privacy, epsilon=DESIGN_SHARE * privacy.epsilon, delta=0.0)
    if 2**11 * design_scale(part) > LARGEST:
        return privacy, None
    rest = dataclasses.replace(privacy, epsilon=privacy.epsilon - part.epsilon)
    return rest, part


def _whole(guarantee: Guarantee, epsilon: float) -> Guarantee:
    """The guarantee of both parts."""
    promise, attained = (
        dataclasses.replace(one, epsilon=epsilon) for one in (guarantee.promise, guarantee.attained)
    )
    return dataclasses.replace(guarantee, promise=promise, attained=attained, changes=(), rho=None)


def _top_list(data: Prepared, asked: Asked) -> Ranking:
    """The k best items alone, as a list or as a set."""
    assert asked.top_k is not None
    name, chosen, items = asked.method, (), data.table.num_items
    moves = dataclasses.replace(
        totals_moves(data.promise), most=data.per_item, every=data.sensitivity
    )
    if name == "top-k":
        name = choose_top_k(items, asked.top_k, data.promise, moves)
        chosen = (chosen_by_facts(name),)
    drawn, title, fields = draw_best(
        name,
        data.source,
        BoundedScores(np.asarray(data.wins.totals), moves),
        data.promise,
        asked.top_k,
    )
    by = name if chosen else None
    facts = {"sensitivity": None, "level": None, "selected_by": by}
    found = _result(data, asked, drawn, title, **facts)
    notes = (*found.notes, *chosen, *fields.pop("notes"))
    return dataclasses.replace(found, notes=notes, **fields)


def _noisy_totals(data: Prepared) -> Drawn:
    return draw(
        "noisy-counts",
        data.source,
        data.wins,
        data.promise,
        noise=data.noise,
        sensitivity=data.sensitivity,
        questionnaire=data.questionnaire,
    )


def _added(data: Prepared, drawn: Drawn) -> Noise:
    """The noise on the totals."""
    items, adjacency = data.table.num_items, data.promise.adjacency
    return noise_on_totals(data.noise, drawn.scale, items, data.questionnaire, adjacency)


def _of_totals(totals: Any, met: PairMatrix, added: Noise, level: float) -> Intervals:
    return confidence_intervals(totals_standard_errors(totals, met, noise=added), level)


def _reach(data: Prepared, asked: Asked, drawn: Drawn) -> float:
    """Half-width that holds the noise of all totals."""
    if data.questionnaire is None:
        return _added(data, drawn).reach(asked.level) + 0.5 * drawn.exact  # the noise is on halves
    if not drawn.exact:
        return _added(data, drawn).reach(asked.level)
    edges, parts = questionnaire_changes(data.questionnaire, data.promise.adjacency)
    change = 2 // parts
    step = 0.5 / zonotope_parts(change, data.promise.epsilon)
    lengths: Any = np.asarray(edges, float)
    body = Zonotope(lengths)
    return step * noise_law.lattice_reach(
        body, asked.level, 2 * step * data.promise.epsilon / change, data.table.num_items
    )


def _certainty(
    data: Prepared,
    asked: Asked,
    scores: np.ndarray,
    drawn: Drawn,
    gamma: float,
    design: np.ndarray | None,
) -> Certainty:
    """Certainty of the scores; known only where it is public how often each pair was compared."""
    if design is None:
        return Certainty(notes=(_NOISY_GRAPH if data.weights is None else PRIVATE_WEIGHTS,))
    cover = f"{ANSWERS} and the privacy noise{UNDONE}"
    found, _ = of_fit(
        scores,
        design,
        gamma=gamma,
        link=asked.link,
        level=asked.level,
        words=each_by_itself("the true score", cover),
        noise=_added(data, drawn),
    )
    components = components_of(design)
    if components == 1:
        return found
    return Certainty(found.better, notes=(SEVERAL_GROUPS.format(components),))


def _result(
    data: Prepared,
    asked: Asked,
    drawn: Drawn,
    title: str,
    scores: np.ndarray | None = None,
    certainty: Certainty | None = None,
    *,
    score_name: str = "score",
    **facts: object,
) -> Ranking:
    """Build the result of a method; ``facts`` are public, and None values are left out."""
    certainty, notes = certainty or Certainty(), notes_on(data.table)
    public = {
        "method": asked.method,
        "data": data.table.name,
        "items": data.table.num_items,
        "max_per_user": data.promise.contributions,
        "max_per_item": asked.max_per_item,
        "sensitivity": data.sensitivity,
        "noise_deviation": _deviation(data, drawn),
        "level": asked.level,
        "seed": data.source.seed,
        "noise_scale": drawn.scale,
        "noise": drawn.law,
        **facts,
        "notes": list(notes),
    }
    return Ranking(
        title=f"{data.table.name}: {title}",
        items=data.table.item_names,
        order=np.arange(0) if scores is None else best_first(scores),
        guarantee=drawn.guarantee,
        facts={name: value for name, value in public.items() if value is not None},
        scores=scores,
        score_name=score_name,
        certainty=certainty,
        level=asked.level,
        top_k=asked.top_k,
        notes=(*notes, *certainty.notes),
        warnings=(*data.warnings, *drawn.warnings),
    )


def _weight_facts(data: Prepared, asked: Asked) -> dict[str, Any]:
    """The column of weights and the largest one, as facts."""
    if data.weights is None or not isinstance(data.table, Comparisons):
        return {}
    return {"weight": data.table.weight_column, **asked.weight_facts}


def _deviation(data: Prepared, drawn: Drawn) -> float | None:
    """Standard deviation of K-norm noise on the total that has most of it."""
    return _added(data, drawn).deviation() if data.noise == "k-norm" else None


# --- without privacy ----------------------------------------------------------------------------------


def _mle(wins: WinCounts, gamma: Scalar, *, link: str) -> Estimate:
    return pairwise.mle(wins, link=link, gamma=gamma)


def _without_privacy(data: Prepared, asked: Asked) -> Ranking:
    """Fit maximum likelihood scores, or a ridge fit where they do not exist."""
    gamma, fit = asked.gamma or 0.0, functools.partial(_mle, link=asked.link)
    estimate = quickly(fit, data.wins, gamma)
    components = int(estimate.diagnostics.components)
    separated = bool(estimate.diagnostics.separated)
    warnings = []
    if gamma == 0 and (separated or components > 1):
        gamma = 1.0
        warnings.append(
            f"{_why_infinite(components)} The scores shown are a ridge fit with gamma = 1."
        )
        estimate = quickly(fit, data.wins, gamma)
    warnings += doubts_of(components, int(estimate.diagnostics.code))
    scores = np.asarray(estimate.value)
    sampling = sampling_of(data.table, data.weights, scores, asked.link)
    certainty, _ = of_fit(
        scores,
        data.wins.comparisons,
        gamma=gamma,
        link=asked.link,
        level=asked.level,
        words=each_by_itself("the true score", sampling.words),
        **sampling.told,
    )
    notes = (*sampling.notes, *(certainty.notes if components == 1 else ()))
    return _fitted(
        data,
        asked,
        estimate,
        scores,
        certainty,
        f"({asked.link} link)",
        notes,
        warnings,
        gamma=gamma,
        **_weight_facts(data, asked),
        **sampling.facts,
        components=components,
        separated=separated,
    )


def _ties_without_privacy(data: Prepared, asked: Asked) -> Ranking:
    """The same for Davidson's model, with the test whether half wins would do."""
    gamma, wins = asked.gamma or 0.0, data.wins
    warnings, separated = [], has_maximum(wins) is False
    if gamma == 0 and separated:
        gamma = 1.0
        warnings.append(
            "no finite scores maximize the likelihood: ties, or wins of both sides, are too rare in some group of "
            "items. The scores shown are a ridge fit with gamma = 1."
        )
    estimate = quickly(_fit_ties, wins, gamma)
    components = components_of(wins.comparisons)
    warnings += doubts_of(components, int(estimate.diagnostics.code))
    scores = np.asarray(estimate.value.scores)
    words = each_by_itself("the true score", ANSWERS)
    certainty, intervals = of_fit(
        estimate.value,
        pairwise.Counts(wins.comparisons),
        level=asked.level,
        words=words,
        gamma=gamma,
        tie_gamma=gamma,
    )
    facts = tie_facts(estimate.value, intervals.log_tie, asked.level)
    told = [facts.pop("tie_note")]
    return _fitted(
        data,
        asked,
        estimate,
        scores,
        certainty,
        "(log-odds of a win against a loss)",
        (*told, *certainty.notes),
        warnings,
        gamma=gamma,
        **facts,
        components=components,
        separated=separated,
    )


def _fitted(
    data: Prepared,
    asked: Asked,
    estimate: Estimate,
    scores: np.ndarray,
    certainty: Certainty,
    named: str,
    notes: tuple[str, ...],
    warnings: list[str],
    **facts: object,
) -> Ranking:
    """The result of a fit.

    Args:
        data: the comparisons.
        asked: of the fit.
        estimate: the fit.
        scores: its scores.
        certainty: what they imply.
        named: the kind of scores, in parentheses.
        notes: what to say beyond the notes on the data.
        warnings: what the holder of the data must know.
        facts: diagnostics between those of the arguments and those of the solver.
    """
    table, code = data.table, int(estimate.diagnostics.code)
    notes = (*notes_on(table), *table.remarks, *notes)
    return Ranking(
        title=f"{table.name}: {table.num_items} items by fitted scores {named}",
        items=table.item_names,
        order=best_first(scores),
        guarantee=None,
        facts={
            "method": "none",
            "data": table.name,
            "items": table.num_items,
            "comparisons": len(table),
            "ties": table.ties,
            "link": asked.link,
            **facts,
            "converged": code <= 1,
            "solver": CODES[code],
            "gradient_norm": float(estimate.diagnostics.gradient_norm),
            "level": asked.level,
            "notes": list(notes),
            "warnings": warnings,
        },
        scores=scores,
        certainty=certainty,
        level=asked.level,
        top_k=asked.top_k,
        told_by="By these comparisons",
        notes=notes,
        warnings=tuple(warnings),
    )


def _fit_ties(wins: WinCounts, gamma: Scalar) -> Estimate:
    return pairwise.mle(wins, gamma=gamma, ties="davidson", tie_gamma=gamma)


def _why_infinite(components: int) -> str:
    if components > 1:
        return "the comparisons do not link all items, so the likelihood has no single maximum."
    return (
        "some group of items never lost to the rest, or never won, so no finite scores maximize the "
        "likelihood."
    )
