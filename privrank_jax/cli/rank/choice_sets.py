"""``privrank rank`` on choices from sets: how often items were chosen, or Plackett-Luce scores, privately or not.

Counts protect choices under any adjacency. Scores need the sets that were shown: under ``flip`` these are public, and
scores are fitted to noisy counts; otherwise the noise is in the objective of the fit.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from privrank_jax import datasets, pairwise
from privrank_jax._cells.choice_shapes import choice_columns
from privrank_jax._cells.columns import without
from privrank_jax._host.evaluate import quickly
from privrank_jax._promise import Privacy
from privrank_jax._types import PairMatrix
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
    noise_reach,
    of_noise,
)
from privrank_jax.cli.core.sources import (
    COMPARING,
    check_rare_items,
    item_list,
    named_column,
    say_reading,
    users_of,
)
from privrank_jax.cli.options import option
from privrank_jax.cli.rank.certainty import PRIVATE_SETS, certain
from privrank_jax.cli.rank.input import MAX_ITEMS, bounded, notes_on
from privrank_jax.cli.rank.none import components_of, doubts_of
from privrank_jax.cli.rank.request import Request
from privrank_jax.datasets.formats import read_header
from privrank_jax.pairwise.choice_errors import choice_center_is_near
from privrank_jax.pairwise.minimize import CODES
from privrank_jax.pairwise.noisy_choices import default_choice_gamma
from privrank_jax.pairwise.standard_errors import noise_variance

_OTHER_COLUMNS = (*COMPARING, "order_separator")
_SETS = (
    "a comparison is here a choice from the items shown, and who was shown which items is public"
)
_BALANCE = "items that are shown more often are chosen more often: unless sets are balanced, use --method scores"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChoiceInput:
    """Choices, ready to be ranked.

    Attributes:
        table: as the loader read them.
        kept: those that were kept.
        remarks: remarks for the holder of the data; not covered by the guarantee.
        entropy: source of keys.
        privacy: what is promised; None without privacy.
    """

    table: datasets.ChoiceTable
    kept: pairwise.Choices
    remarks: tuple[str, ...]
    entropy: Entropy
    privacy: Privacy | None


def holds_choices(request: Request) -> bool:
    """Whether FILE holds choices from sets, by options or by its header; if so, other options are checked."""
    if request.chosen is None and not request.shown:
        if any(getattr(request, name) is not None for name in (*_OTHER_COLUMNS, "blank")):
            return False
        header = without(request.file.name, read_header(request.file), request.ignore or ())
        if choice_columns(header) is None:
            return False
    _check(request)
    return True


def _check(request: Request) -> None:
    """Refuse options that choices from sets have no use for, before a budget is spent."""
    given = [option(name) for name in _OTHER_COLUMNS if getattr(request, name) is not None]
    if given:
        raise Refusal(
            f"{', '.join(given)} name columns of comparisons, and {request.source} holds choices from sets: leave them "
            "out, or leave out --chosen and --shown."
        )
    if request.with_covariates or request.ties != "half" or request.link != "logistic":
        raise Refusal(
            "choices from sets are fitted by the Plackett-Luce model, without covariates, ties or other links: leave "
            "these options out."
        )
    if request.max_per_item is not None:
        raise Refusal(
            "--max-per-item is for comparisons of two items, not for choices: leave it out."
        )
    if request.method == "one-shot":
        raise Refusal(
            "--method one-shot is for comparisons: use --method counts with --top-k, which publishes all counts."
        )
    if not request.private:
        return
    if request.noise == "k-norm":
        raise Refusal(
            "--noise k-norm has no shape for choices from sets: leave --noise out, or choose gaussian."
        )
    if request.method == "scores" and request.adjacency != "flip" and request.noise == "gaussian":
        raise Refusal(
            "scores of choices have Laplace noise where the sets that were shown are private: leave --noise and "
            "--delta out, use --method counts, or add --adjacency flip if who was shown what is public."
        )
    if request.method == "scores" and request.gamma == 0:
        raise Refusal(
            "--gamma must be positive for --method scores; leave it out for a good default."
        )


def read_choices(request: Request) -> ChoiceInput:
    """Read choices, and bound the contributions of users."""
    if request.weight is not None:
        raise Refusal("--weight is for comparisons of two items, not for choices: leave it out.")
    by_user = request.unit == "user" and request.private
    user = named_column(request.user, "user" if by_user else None)
    items = None if request.items is None else item_list(request.items)
    table = datasets.read_choices(
        request.file,
        user=user,
        chosen=request.chosen,
        shown=request.shown or (),
        items=items,
        count=request.count,
        ignore=request.ignore or (),
    )
    say_reading(table, listed=items is not None)
    check_items(table.name, table.num_items, MAX_ITEMS, request.top_k)
    entropy, kept, remarks, privacy = Entropy(request), None, (), None
    if request.private:
        check_rare_items(table, written=False)
        privacy = request.privacy
        if by_user:
            privacy, kept, remarks = bounded(table, request, entropy, "choices")
        users = users_of(request.file, request.user) if by_user else ""
        privacy = privacy.given(public=table.public, users=users)
    return ChoiceInput(
        table=table, kept=table.choices(kept), remarks=remarks, entropy=entropy, privacy=privacy
    )


def fit_choices(data: ChoiceInput, request: Request) -> Result:
    """Noisy counts, a fit to them, or the fit without privacy."""
    if data.privacy is None:
        return _without_privacy(data, request)
    if request.method == "scores" and data.privacy.adjacency != "flip":
        return _in_objective(data, request, data.privacy)
    noise = request.noise_drawn
    drawn = draw("noisy-choices", request, data.entropy, data.kept, data.privacy, noise=noise)
    totals = np.asarray(drawn.estimate.value)
    if request.method == "counts":
        reach = noise_reach(drawn.scale, noise, request.level, totals.size) + 0.5 * drawn.exact
        certainty = of_noise(totals, reach, what="counts", more=", not the chance in the choices")
        return _result(
            data, request, totals, certainty, drawn, "noisy counts of choices", (_BALANCE,)
        )
    variance = noise_variance(drawn.scale, noise)
    gamma = request.gamma or float(quickly(default_choice_gamma, data.kept, variance))
    fit = quickly(pairwise.plackett_luce_from_totals, totals, data.kept, gamma)
    scores = np.asarray(fit.value)
    certainty = _certainty(data, scores, request, gamma, noise_scale=drawn.scale, noise=noise)
    code = int(fit.diagnostics.code)
    title = "private scores (log-odds)"
    return _result(
        data, request, scores, certainty, drawn, title, (_SETS,), gamma=gamma, solver=CODES[code]
    )


def _in_objective(data: ChoiceInput, request: Request, privacy: Privacy) -> Result:
    """Scores where the sets are private: noise goes into the objective."""
    drawn = draw(
        "perturbed-choices", request, data.entropy, data.kept, privacy, gamma=request.gamma
    )
    scores, gamma = np.asarray(drawn.estimate.value), float(drawn.estimate.diagnostics.gamma)
    certainty = Certainty(notes=(PRIVATE_SETS,))
    return _result(
        data, request, scores, certainty, drawn, "private scores (log-odds)", gamma=gamma
    )


def _without_privacy(data: ChoiceInput, request: Request) -> Result:
    """The fit of highest likelihood, or a ridge fit where there is none."""
    gamma, warnings = request.gamma or 0.0, []
    fit = quickly(pairwise.plackett_luce, data.kept, gamma)
    components, separated = int(fit.diagnostics.components), bool(fit.diagnostics.separated)
    if gamma == 0 and (separated or components > 1):
        gamma = 1.0
        warnings.append(
            "no finite scores have the highest likelihood: some group of items was never, or always, chosen over the "
            "rest. The scores shown are a ridge fit with gamma = 1."
        )
        fit = quickly(pairwise.plackett_luce, data.kept, gamma)
    code = int(fit.diagnostics.code)
    warnings += doubts_of(components, code)
    scores = np.asarray(fit.value)
    found = _result(
        data,
        request,
        scores,
        _certainty(data, scores, request, gamma),
        None,
        "fitted scores",
        choices=len(data.table),
        gamma=gamma,
        components=components,
        solver=CODES[code],
        warnings=warnings,
    )
    return dataclasses.replace(found, warnings=tuple(warnings), told_by="By these choices")


def _certainty(
    data: ChoiceInput, scores: np.ndarray, request: Request, gamma: float, **noise: Any
) -> Certainty:
    """Certainty of fitted scores, from the release and the public sets."""
    about = functools.partial(pairwise.choice_errors, gamma=gamma, **noise)
    errors = quickly(about, scores, data.kept)
    near = bool(quickly(choice_center_is_near, scores, data.kept, errors))
    shrunk = functools.partial(
        quickly, functools.partial(about, target="penalized"), scores, data.kept
    )
    cover = f"{ANSWERS} and the privacy noise{UNDONE}" if noise else ANSWERS
    words = each_by_itself("the true score", cover)
    found = certain(scores, errors, near, shrunk, level=request.level, words=words)
    components = components_of(quickly(_shown_together, data.kept))
    if components == 1:
        return found
    return Certainty(found.better, notes=(SEVERAL_GROUPS.format(components),) if noise else ())


def _shown_together(choices: pairwise.Choices) -> PairMatrix:
    """How often one of two items was chosen where the other was shown."""
    return choices.wins.comparisons


def _result(
    data: ChoiceInput,
    request: Request,
    scores: np.ndarray,
    certainty: Certainty,
    drawn: Drawn | None,
    title: str,
    notes: tuple[str, ...] = (),
    **facts: object,
) -> Result:
    """Build the result of a method; ``facts`` are public, and None values are left out."""
    table = data.table
    said = (*notes_on(table), *notes)
    public: dict[str, object] = {"method": request.method, "data": table.name, "items": scores.size}
    if drawn is not None and data.privacy is not None:
        public |= {
            "max_per_user": data.privacy.contributions,
            "noise_scale": drawn.scale,
            "noise": drawn.law,
            "seed": data.entropy.seed,
        }
    public |= {"level": request.level, **facts, "notes": list(said)}
    return Result(
        title=f"{table.name}: {scores.size} items by {title}",
        order=best_first(scores),
        guarantee=None if drawn is None else drawn.guarantee,
        diagnostics={name: value for name, value in public.items() if value is not None},
        scores=scores,
        score_name="noisy choices" if request.method == "counts" else "score",
        certainty=certainty,
        notes=(*said, *certainty.notes),
        warnings=() if drawn is None else drawn.warnings,
    )
