"""Audited sums over outcomes of public meetings: questionnaires, covariates, the number of ties, choices."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.contents import (
    Units,
    choices,
    comparisons,
    covariates,
    questionnaire_facets,
    with_ties,
)
from privrank_jax.privacy_audit.registry import Audited
from privrank_jax.privacy_audit.rows import additive

ANSWER = Privacy(1.0, unit="comparison", adjacency="flip")
ANSWERS = Privacy(1.0, unit="user", adjacency="flip", contributions=2)
ASKED = Privacy(1.0, unit="user", adjacency="flip")
_REPLACED = Privacy(1.0, unit="user", adjacency="replace", public=("questionnaire",))
_GAUSSIAN = "Balle and Wang (2018)"
_MLE = "rank --method mle --adjacency flip"

# --- questionnaires --------------------------------------------------------------------------------

Questions = Sequence[tuple[int, int]]
_TWICE: Questions = ((0, 1), (0, 1), (0, 2), (1, 2))
_APART: Questions = (
    (0, 1),
    (2, 3),
    (2, 3),
)  # two components, and an item that nobody is asked about


def _asked(name: str, title: str, asked: Questions, num_items: int, promise: Privacy) -> Audited:
    facets = questionnaire_facets(num_items, asked, promise.adjacency)
    units = comparisons(num_items, asked=asked, facets=facets)
    given = {"questionnaire": pairwise.questionnaire_counts(asked, num_items)}
    note = "pairwise/questionnaire.py"
    told = name, title, pairwise.noisy_counts, units, promise, "k-norm"
    return additive(*told, given=given, note=note)


_QUESTIONNAIRES = (
    _asked(
        "noisy-counts-questionnaire",
        "win totals + K-norm noise of a public questionnaire, answers flip",
        *(_TWICE, 3, ASKED),
    ),
    _asked(
        "questionnaire-replace",
        "win totals + K-norm noise of a public questionnaire, answers are replaced or missing",
        *(_TWICE, 3, _REPLACED),
    ),
    _asked(
        "questionnaire-components",
        "win totals + K-norm noise, a questionnaire of two components and an item in none",
        *(_APART, 5, ASKED),
    ),
)

# --- covariates ------------------------------------------------------------------------------------

# Rows 0 and 2 are equal, so that their outcomes move all sums in one direction.
_ROWS = ((0, 1, (0.5, 0.25)), (1, 2, (0.5, -0.5)), (0, 1, (0.5, 0.25)))


def _units(promise: Privacy, ties: bool) -> Units:
    """Each row has a user of its own, or two of them have the same."""
    users = (0, 1, 2) if promise.unit == "comparison" else (0, 1, 0)
    return covariates(_ROWS, users, ties=ties)


def _covariates(
    name: str,
    title: str,
    promise: Privacy,
    *commands: str,
    ties: bool = False,
    noise: str = "laplace",
    **note: Any,
) -> Audited:
    function = pairwise.noisy_sums_and_ties if ties else pairwise.noisy_sums
    kept = dataclasses.replace(promise, contributions=None, public=("covariates",))
    unit = "--unit comparison" if promise.unit == "comparison" else "--max-per-user 2"
    words = tuple(f"{_MLE} {unit} --side left {command}" for command in commands)
    return additive(name, title, function, _units(promise, ties), kept, noise, words, **note)


_COVARIATES = (
    _covariates(
        "covariate-sums",
        "sums of comparisons with covariates + Laplace(max ‖z‖/ε), one outcome flips",
        *(ANSWER, "--covariate length", "--covariate-group judge"),
        note="pairwise/covariates.py",
    ),
    _covariates(
        "covariate-sums-users",
        "sums of comparisons with covariates + Laplace(Σ‖z‖/ε), the outcomes of one user flip",
        *(ANSWERS, "--covariate length:-1:2"),
        note="pairwise/covariates.py",
    ),
    _covariates(
        "covariate-sums-gaussian",
        "sums of comparisons with covariates + Gaussian noise at δ = 0.01, outcomes of one user flip",
        *(ANSWERS, "--covariate length --noise gaussian --delta 1e-6"),
        noise="gaussian",
        note=f"pairwise/covariates.py; {_GAUSSIAN}",
    ),
    _covariates(
        "covariate-ties",
        "sums with covariates and ties + Laplace(max ‖z‖/ε), one win becomes a tie",
        *(ANSWER, "--covariate length --ties davidson"),
        ties=True,
    ),
    _covariates(
        "covariate-ties-users",
        "sums with covariates and ties + Laplace(Σ‖z‖/ε), the outcomes of one user change",
        *(ANSWERS, "--covariate length:-1:2 --ties davidson"),
        ties=True,
    ),
    _covariates(
        "covariate-ties-gaussian",
        "sums with covariates and ties + Gaussian noise at δ = 0.01, outcomes of one user change",
        *(ANSWERS, "--covariate length --ties davidson --noise gaussian --delta 1e-6"),
        ties=True,
        noise="gaussian",
        remark=_GAUSSIAN,
    ),
)

# --- ties and choices --------------------------------------------------------------------------------

_THREE: Questions = ((0, 1), (0, 1), (1, 2))
_ties = functools.partial(additive, function=pairwise.noisy_ties)
_choices = functools.partial(additive, function=pairwise.noisy_choices)
_USERS = "rank --method mle --max-per-user 2 --adjacency flip"

AUDITED = (
    *_QUESTIONNAIRES,
    *_COVARIATES,
    _ties(
        "noisy-tie-counts",
        "win totals and ties + Laplace(2/ε), one outcome changes",
        units=with_ties(3),
        promise=ANSWER,
        commands=("rank --method mle --unit comparison --adjacency flip --ties davidson",),
    ),
    _ties(
        "noisy-tie-counts-users",
        "win totals and ties + Laplace(2L/ε), one user of L = 2 comparisons",
        units=with_ties(3, 2),
        promise=ANSWERS,
        commands=(f"{_USERS} --ties davidson",),
    ),
    _ties(
        "noisy-tie-counts-gaussian",
        "win totals and ties + Gaussian noise at δ = 0.01, one user of L = 2 comparisons",
        units=with_ties(3, 2),
        promise=ANSWERS,
        noise="gaussian",
        commands=(f"{_USERS} --ties davidson --noise gaussian --delta 1e-6",),
        remark=_GAUSSIAN,
    ),
    _ties(
        "noisy-tie-counts-questionnaire-laplace",
        "win totals and ties + Laplace noise for a public questionnaire, answers flip",
        units=with_ties(3, asked=_THREE),
        promise=ASKED,
        given={"questionnaire": pairwise.questionnaire_counts(_THREE, 3), "noise": "laplace"},
    ),
    _choices(
        "noisy-choices",
        "totals of choices + Laplace(2/ε), one choice changes",
        units=choices(),
        promise=ANSWER,
        commands=("rank --method mle --unit comparison --adjacency flip",),
    ),
    _choices(
        "noisy-choices-users",
        "totals of choices + Laplace(2L/ε), one user of L = 2 choices",
        units=choices(2),
        promise=ANSWERS,
        commands=("rank --max-per-user 2 --method mle --adjacency flip", "rank --max-per-user 2"),
    ),
    _choices(
        "noisy-choices-gaussian",
        "totals of choices + Gaussian noise at δ = 0.01, one user of L = 2 choices",
        units=choices(2),
        promise=ANSWERS,
        noise="gaussian",
        remark=_GAUSSIAN,
    ),
)
