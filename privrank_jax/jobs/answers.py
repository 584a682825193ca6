"""Answers, ready to be ranked: rows of each user bounded, what they say counted, and the noise chosen for it."""

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
from privrank_jax.comparisons import WinCounts, bound_contributions
from privrank_jax.data.choices import Choices
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.data.engine import ComparisonRows
from privrank_jax.jobs import checks
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.checks import private_remark, refuse
from privrank_jax.jobs.mechanisms import MECHANISMS, Randomness
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.questionnaire import questionnaire_sensitivity, totals_sensitivity
from privrank_jax.privacy.noise import norm_of
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release import exact_bound
from privrank_jax.release.contributions import capped_rows

MAX_ITEMS = 10_000
_UNEQUAL = 2  # times as often as another item: beyond it a total says little of how good an item is

Table: TypeAlias = Comparisons | ComparisonRows | Choices


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """Answers, ready to be ranked."""

    table: Table  # as they were read
    asked: Asked
    source: Randomness
    model: str  # of the answers, see privrank_jax.jobs.asked.MODELS
    counted: Any  # what the model sees of rows that stay: WinCounts, Choices or a CovariateTable
    # Privacy | None, with L, what is public and what a user is; None: nothing is promised.
    privacy: Any
    warnings: tuple[str, ...] = ()  # for the holder of the data; not covered by the guarantee
    weights: np.ndarray | None = None  # (N,), what each comparison counts; None: all count once
    noise: str = ""
    # (m, m), how often each user is asked each pair: where noise has its shape, and where scores are fitted to it.
    questionnaire: np.ndarray | None = None
    design: np.ndarray | None = None
    sensitivity: float | None = None  # of win totals to one unit: ℓ₁ for Laplace, ℓ₂ for Gaussian
    per_item: float = 0.0  # most that one unit can move the total of one item

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that keeps the promise."""
        return self.asked.mechanism(self.privacy, self.model, self.weighted)

    @property
    def weighted(self) -> bool:
        """Whether comparisons have weights."""
        return self.weights is not None

    def told(self, names: tuple[str, ...]) -> dict[str, Any]:
        """What a mechanism is told: these fields, and of what was asked those that have no field."""
        return {name: getattr(self if hasattr(self, name) else self.asked, name) for name in names}

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the reader but that no users are named, where each comparison is protected by itself."""
        table, alone = self.table, not self.table.has_users
        notes = tuple(one for one in table.notes if not (alone and "names no users" in one))
        return notes if self.privacy is not None else (*notes, *table.remarks)


def prepared(table: Table, privacy: Privacy | None, asked: Asked, source: Randomness) -> Prepared:
    """Bound the contributions of users, count, and work out the sensitivity; ``ValueError`` for what does not fit."""
    covariates, weighted = getattr(table, "covariates", None), getattr(table, "weights", None)
    told = {"covariates": covariates is not None, "choices": isinstance(table, Choices)}
    asked.check(privacy, weighted=weighted is not None, **told)
    hidden = privacy is not None and privacy.adjacency != "flip"
    more = {} if covariates is None else asked.bounds.keys() - covariates.values.keys()
    refuse(
        more,
        f"`bounds` are of no covariate of {table.name}: {', '.join(sorted(more))}.",
        covariates is not None and covariates.grouped and hidden,
        "`group` publishes groups of judges as they occur in the data: take adjacency='flip' if who compared what is "
        "public, or leave it out.",
    )
    checks.check_items(table.name, table.num_items, MAX_ITEMS, asked.top_k)
    weights = None if weighted is None else _weights(table, asked, private=privacy is not None)
    given: dict[str, Any] = {"table": table, "asked": asked, "source": source, "weights": weights}
    given["model"] = asked.model(**told)
    if privacy is None:
        return Prepared(**given, counted=_counted(table, asked, weights), privacy=None)
    warnings = checks.about_promise(privacy, user=table.num_users, comparison=len(table))
    warnings += private_remark(*table.remarks) + checks.check_rare_items(table, written=False)
    if isinstance(table, ComparisonRows) and asked.max_per_item is None:
        privacy, limit = _limit(table, privacy)
        wins = table.win_counts(limit, None if limit is None else source.salt())
        counted: Any = jax.tree.map(np.asarray, wins)
        left_out = _left_out(table, round(float(counted.matrix.sum())), limit)
    else:
        held = table.in_memory() if isinstance(table, ComparisonRows) else table
        privacy, kept, left_out = bounded(held, privacy, source, asked.max_per_item)
        counted = _counted(held, asked, weights, kept, hidden=hidden)
    warnings += left_out
    if isinstance(counted, WinCounts) and (asked.method == "counts" or asked.lists):
        warnings += _unequal_exposure(counted)
    users = table.users_are if privacy.unit == "user" else ""
    shown = ("covariates",) if covariates is not None and not hidden else ()
    privacy = privacy.given(public=(*table.public, *shown), users=users)
    found = Prepared(**given, counted=counted, privacy=privacy, warnings=warnings)
    if isinstance(table, Choices) or covariates is not None:
        noise = MECHANISMS[found.mechanism].noise_of(asked.noise)
        return dataclasses.replace(found, noise=noise)
    return _with_noise(found, table)


def _limit(
    table: Table, privacy: Privacy, per_item: int | None = None
) -> tuple[Privacy, int | None]:
    """The promise with L, and how many rows of a user stay, or None: all.

    Where L is not promised no user may exceed the questionnaire, or 1.
    """
    if privacy.unit != "user":
        return privacy, None
    asked = 1 if table.questionnaire is None else len(table.questionnaire)
    most = asked if privacy.contributions is None else int(privacy.contributions)
    over = table.has_users and table.comparisons_per_user > most
    refuse(
        not table.has_users,
        f"{table.name} does not say who compared: name the column by `user`, or protect single comparisons by "
        "unit='comparison'.",
        over and privacy.contributions is None,
        f"a user of {table.name} gave more than {asked} comparison{'s' * (asked > 1)}: choose a bound by "
        "`contributions`, without looking at the data, such as the number of questions that all were asked. Users "
        "with more keep a random choice. Or protect single comparisons by unit='comparison'.",
    )
    limit = most if over or per_item is not None else None
    return dataclasses.replace(privacy, contributions=most), limit


def bounded(
    table: Comparisons | Choices, privacy: Privacy, source: Randomness, per_item: int | None = None
) -> tuple[Privacy, np.ndarray | None, tuple[str, ...]]:
    """The promise for users of at most L rows, the rows that stay (None: all), and a remark on the others.

    ``per_item``: the most rows of a user about one item; None for any number.
    """
    privacy, most = _limit(table, privacy, per_item)
    if most is None:
        return privacy, None, ()
    pairs = (table.winners, table.losers) if isinstance(table, Comparisons) else None
    kept = kept_rows(table.users, most, source, pairs, per_item)
    return privacy, kept, _left_out(table, int(kept.sum()), most, per_item)


def _left_out(
    table: Table, kept: int, most: int | None, per_item: int | None = None
) -> tuple[str, ...]:
    """A remark on rows that do not count."""
    if most is None or kept == len(table):
        return ()
    what = "choices" if isinstance(table, Choices) else "comparisons"
    also = "" if per_item is None else f", and {per_item} of them about one item"
    return private_remark(
        f"{len(table) - kept} of {len(table)} {what} were left out, chosen at random, to keep at most {most} per "
        f"user{also}."
    )


def kept_rows(
    users: np.ndarray, most: int, source: Randomness, items: Any = None, per_item: int | None = None
) -> np.ndarray:
    """``(N,)`` bool, the rows that stay: ``most`` random ones of each user, ``per_item`` of them about one item."""
    if not source.rehearsal:
        items = None if per_item is None else items
        return exact_bound(users, most, items=items, max_per_item=per_item)
    if per_item is None:
        return np.asarray(bound_contributions(source.key(), users, most))
    drawn = np.asarray(jax.random.bits(source.key(), (len(users),)))
    return capped_rows(users, np.lexsort((drawn, users)), most, items, per_item)


def _weights(table: Any, asked: Asked, *, private: bool) -> np.ndarray:
    """``(N,)``, weights up to their bound, in units of it under privacy, else in units of their mean."""
    most = np.inf if asked.weight_most is None else asked.weight_most
    if private:
        bound = functools.partial(pairwise.perturbed_fit.bounded_weights, most=most)
        return np.asarray(quickly(bound, table.weights))
    weights = np.minimum(table.weights, most)
    if not np.any(weights > 0):
        raise ValueError(f"all weights in {table.name} are 0: there is nothing to rank.")
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # below 1, so that no sum overflows
    return weights / weights.mean()


def _counted(
    table: Table,
    asked: Asked,
    weights: np.ndarray | None,
    kept: np.ndarray | None = None,
    *,
    hidden: bool = False,
) -> WinCounts | pairwise.Choices | CovariateTable:
    """Count all rows, or those that are kept, as a model sees them; ``hidden``: covariates are private."""
    if isinstance(table, Choices):
        return table.choices(kept)
    if isinstance(table, ComparisonRows):
        return jax.tree.map(np.asarray, table.win_counts())
    if table.covariates is not None:
        bounds = {name: ends for name, ends in asked.bounds.items() if ends is not None}
        return table.covariate_table(bounds, kept, private=hidden)
    if kept is not None:
        weights = kept * (1.0 if weights is None else weights)
    tied = table.tied if table.ties else None
    counts: Any = count_on_host(table.winners, table.losers, table.num_items, weights, tied)
    ties: Any = np.asarray(0.0 if tied is None else count_ties(tied, weights))
    return WinCounts(counts, ties=ties)


def _unequal_exposure(wins: WinCounts) -> tuple[str, ...]:
    """A remark where win totals would order items by how often they were compared."""
    compared = np.asarray(wins.matrix).sum(0) + np.asarray(wins.matrix).sum(1)
    words = (
        f"items were compared {compared.min():,.0f} to {compared.max():,.0f} times, and win totals follow that more "
        "than how good items are: method 'scores' publishes fitted scores instead."
    )
    return private_remark(words) if compared.max() >= _UNEQUAL * compared.min() else ()


def _with_noise(data: Prepared, table: Comparisons | ComparisonRows) -> Prepared:
    """Add to the answers the noise on win totals, or in the objective of a fit to wins, and what it covers.

    K-norm noise is the default where the pairs are known that every user was asked, unless users keep fewer comparisons
    than they were asked for, which may change less than all answers together.
    """
    asked, privacy, mechanism = data.asked, data.privacy, data.mechanism
    questions = table.questionnaire
    pairs = questions if asked.shapes_noise(privacy, mechanism, data.weighted) else None
    if asked.noise == "k-norm" and pairs is None:
        raise ValueError(
            f"k-norm noise has the shape of the pairs that all users were asked, which named data sets say, and not "
            f"{table.name}: leave `noise` out."
        )
    whole = pairs is not None and privacy.comparisons_per_unit >= len(pairs)
    if asked.noise == "k-norm" or (asked.noise is None and whole):
        noise = "k-norm"
    else:
        noise = MECHANISMS[mechanism].noise_of(asked.noise)
        # The number of ties is released too, which costs less where all are asked the same.
        with_ties = mechanism == "noisy-tie-counts" and noise == "laplace"
        pairs = questions if with_ties and privacy.unit == "user" else None
    found: dict[str, Any] = {"noise": noise}
    count = functools.partial(pairwise.questionnaire_counts, num_items=table.num_items)
    in_objective = mechanism in ("perturbed-mle", "perturbed-davidson")
    fitted = in_objective and asked.fits_questionnaire(privacy, data.weighted)
    if fitted and questions is not None:
        found["design"] = count(questions)
    if pairs is not None:
        most = min(privacy.contributions, len(pairs))
        privacy = dataclasses.replace(privacy, contributions=most).given(public=("questionnaire",))
        found |= {"questionnaire": count(pairs), "privacy": privacy}
    elif not in_objective or "design" in found:
        norm, each = norm_of(noise), asked.max_per_item
        total = float(totals_sensitivity(privacy, norm, per_item=each))
        one = float(min(privacy.comparisons_per_unit, each or math.inf))
        if privacy.unit == "user" and questions is not None and asked.ties != "davidson":
            known = questionnaire_sensitivity(count(questions), privacy, norm)
            meetings = float(np.bincount(questions.ravel()).max())
            if known < total or (asked.lists and meetings < one):
                found["privacy"] = privacy.given(public=("questionnaire",))
            total, one = min(known, total), min(meetings, one)
        found |= {"sensitivity": total, "per_item": one}
    return dataclasses.replace(data, **found)
