"""What functions of this folder refuse, and the word by which the message says it."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import (
    Choices,
    fit,
    intervals,
    mle,
    noisy_counts,
    noisy_sums,
    noisy_ties,
    perturbed_mle,
    private_design,
    questionnaire,
    report_theory,
    standard_errors,
    theory,
)
from privrank_jax.pairwise.choices import break_rankings
from privrank_jax.pairwise.continual import continual_score_sums, fit_score_sums
from privrank_jax.pairwise.covariates import resolution
from privrank_jax.pairwise.debiased_fit import DebiasedSums, report_standard_errors
from privrank_jax.pairwise.designs import Counts, ModelScores
from privrank_jax.pairwise.maximum_likelihood import select_link
from privrank_jax.pairwise.mixed_models import mixed_effects
from privrank_jax.pairwise.noisy_totals import of_comparisons
from privrank_jax.pairwise.report_sums import finish, init, merge, update
from privrank_jax.pairwise.spectral import rank_centrality
from privrank_jax.pairwise.transitivity import intransitivity
from privrank_jax.pairwise.uncertainty import clustered_covariance, totals_standard_errors
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Zonotope
from tests.promises import promise

KEY, NAN = jax.random.key(0), np.nan
MET = 10 * (1.0 - np.eye(3))
WINS = WinCounts(MET)
THETA = np.array([0.5, 0.0, -0.5])
TIED = WinCounts(MET, ties=4)
HALVES = ModelScores(jnp.asarray(THETA), log_tie=jnp.asarray(-0.2))
LEVEL = ModelScores(jnp.zeros(3), jnp.zeros(1))
STAGES = Choices.from_rankings([[0, 1, 2], [2, 1, 0]], num_items=3)
TOP = Choices.from_top1([(0, [1, 2]), (1, [0])], num_items=3)
PAIR_A_DAY = pairwise.questionnaire_counts([(0, 1), (1, 2)], 3)
RANKS = Privacy(1.0, unit="rank", adjacency="replace")
FLIP = promise(1.0, adjacency="flip")
USER = Privacy(1.0, unit="user", adjacency="flip", public=("questionnaire",))
UNBOUNDED = Privacy(1.0, unit="user", adjacency="replace")
LOOSE = promise(1.0, "user", "flip", 2, delta=1e-6)
SPENT = promise(1.0, "user", "replace", 3)
DESIGN = private_design.NoisyDesign(np.ones(2), np.array(1.0), 1.0)
APART = np.kron(np.eye(2), 50 * (1 - np.eye(2)))
THREES = ([0, 1, 2], [1, 2, 0])

of_rows = functools.partial(clustered_covariance, THETA)
errors = functools.partial(standard_errors, THETA)
totals = functools.partial(totals_standard_errors, THETA)
top1 = functools.partial(Choices.from_top1, num_items=3)
ranked = functools.partial(Choices.from_rankings, num_items=3)
broken = functools.partial(break_rankings, num_items=3)
scale = functools.partial(perturbed_mle.scale, facts=Facts(2))
NO_VARIANCE = dataclasses.replace(errors(MET), covariance=jnp.zeros((3, 3)))
THREE = Noise.independent("laplace", 1.0, 3)
by_item = functools.partial(questionnaire.totals_sensitivity, promise(1.0, "user", "flip", 3))
under = functools.partial(private_design.errors_under_private_design, [0.0, 0.0], DESIGN)

FIRST, SECOND = np.array([0, 1, 2, 0, 2, 1]), np.array([1, 2, 0, 2, 1, 0])
LENGTH, ONES = np.array([1.0, -2, 0.5, 3, 0, 1]), np.ones(6)
OF_ITEM = np.array([3.0, -1, 4])[FIRST] - np.array([3.0, -1, 4])[SECOND]


def table(columns=None, **changes):
    columns = {"length": LENGTH, "left": ONES} if columns is None else columns
    told = {"first": FIRST, "second": SECOND, "outcomes": ONES, "num_items": 3} | changes
    return pairwise.covariate_table(covariates=columns, **told)


TABLE = table()
SUMS = promise(1.0, adjacency="flip").given(public=["covariates"])


def answers(**changed):
    """Reports of two users on three pairs."""
    told = {"reports": np.ones((2, 3)), "observed": np.ones((2, 3)), "epsilon": 1.0}
    return pairwise.debiased_rr(**told | changed)


def told(**changed):
    rows = {"first": [0, 1], "second": [1, 2], "reports": [1, 0], "epsilon": 1.0}
    return update(init(3), **rows | changed)


def bootstrap(**changed):
    given = {"theta": THETA, "comparisons": MET, "refit": lambda _, wins: 0, "replicates": 2}
    return intervals.parametric_bootstrap(KEY, **given | changed)


@jax.jit
def traced_body(lengths):
    return standard_errors(THETA, MET, noise=Noise("k-norm", 1.0, Zonotope(lengths)))


@jax.jit
def traced_questionnaire(counts):
    return noisy_counts(KEY, WINS, USER, questionnaire=counts, noise="laplace").value


def read(counts=PAIR_A_DAY, privacy=USER, sensitivity=None):
    return questionnaire.read_questionnaire(counts, privacy, 3, "k-norm", sensitivity)


REFUSED = [
    # Fits.
    (lambda: mle(WINS, gamma=-1.0), "gamma"),
    (lambda: mle(WINS, "probit"), "link"),
    (lambda: mle(WinEdges(*np.ones((4, 2, 3)), 5)), "vmap"),
    (lambda: mle(WINS, ties="davidson"), "ties="),
    (lambda: mle(TIED, ties="davidson", tie_gamma=-1.0), "tie_gamma"),
    (lambda: mle(TABLE, "normal"), "logistic"),
    (lambda: mle(TABLE, ties="davidson"), "0 of 6"),
    (lambda: fit(Counts(MET), np.zeros(3), 0.0), "gamma"),
    (lambda: fit(Counts(MET), np.zeros(2), 1.0), "shape"),
    (lambda: fit(TABLE.design, np.zeros(3), 1.0), "shape"),
    (lambda: fit(STAGES.design, STAGES.totals, 1.0), "public"),
    (lambda: select_link(WINS, ("logistic",)), "link"),
    (lambda: select_link(WINS, ("logistic", "cauchy")), "link"),
    (lambda: select_link(WINS, gamma=-1.0), "gamma"),
    (lambda: rank_centrality(WINS, -1.0), "smoothing"),
    (lambda: intransitivity(np.ones((2, 3))), "square"),
    (lambda: mixed_effects(np.ones((3, 4))), "pairs"),
    (lambda: mixed_effects(np.ones((3, 3)), np.ones((3, 1), bool)), "shape"),
    (lambda: mixed_effects(np.ones((3, 3)), gamma=-1.0), "gamma"),
    (lambda: fit_score_sums(np.zeros(8), 3, 1.0), "shape"),
    (lambda: fit_score_sums(np.zeros(9), 3, -1.0), "deviation"),
    # Errors and intervals.
    *((lambda run=run: run(MET[:2, :2]), "counts") for run in (errors, totals)),
    *((lambda run=run: run(-MET), "at least 0") for run in (errors, totals)),
    *((lambda run=run: run(np.triu(MET)), "symmetric") for run in (errors, totals)),
    *((lambda run=run: run(MET, noise=-1.0), "noise") for run in (errors, totals)),
    *((lambda run=run: run(MET, mask=np.ones(3)), "mask") for run in (errors, totals)),
    *((lambda run=run: run(MET, ties=MET + 1 - np.eye(3)), "ties") for run in (errors, totals)),
    (lambda: errors(MET, noise=Noise.independent("gaussian", 1.0, 4)), "3 numbers"),
    (lambda: traced_body(1.0 * PAIR_A_DAY), "traced"),
    (lambda: errors(MET, noise=Noise("k-norm", 1.0, Zonotope(jnp.ones((4, 4))))), "3 numbers"),
    (lambda: standard_errors(np.ones((2, 3)), MET), "vmap"),
    (lambda: standard_errors(THETA * NAN, MET), "converge"),
    (lambda: errors(MET, gamma=-1.0), "gamma"),
    (lambda: errors(MET, target="moon"), "target"),
    (lambda: errors(MET, ties=MET / 2, outcomes=MET), "ties"),
    (lambda: errors(MET, outcomes=np.eye(2)), "outcomes"),
    (lambda: standard_errors(np.zeros(2), TOP.design), "3 scores"),
    (lambda: standard_errors(LEVEL, TABLE.design, noise=-1.0), "noise"),
    (lambda: standard_errors(LEVEL, TABLE.design, ties=ONES), "ties"),
    (lambda: standard_errors(HALVES, Counts(MET, ties=True), ties=np.zeros(3, bool)), "ties"),
    (lambda: standard_errors(HALVES, Counts(MET), noise=THREE), "4 numbers"),
    (lambda: of_rows([0.5, 1.0, 2.0], *THREES), "users"),
    (lambda: of_rows([0, 1, 2], [0, 1, 9], [1, 2, 0]), "winners"),
    (lambda: of_rows([0, 1, 2], [0, 1, 2], [0, 1, 2]), "itself"),
    (lambda: of_rows([0, 1, 2], *THREES, weights=[1.0, -1.0, 1.0]), "weights"),
    (lambda: of_rows([0, 1, 2], *THREES, tied=[True]), "shape"),
    (lambda: clustered_covariance(THETA * NAN, [0, 1, 2], *THREES), "finite"),
    (lambda: jax.jit(lambda x: clustered_covariance(x, [0, 1, 2], *THREES))(THETA), "jit"),
    *(
        (lambda level=level: pairwise.confidence_intervals(errors(MET), level), "level")
        for level in (0.0, 1.0, NAN)
    ),
    (lambda: intervals.quasi_variances(NO_VARIANCE), "variance"),
    (lambda: intervals.above_probabilities(standard_errors(np.zeros(4), APART)), "link"),
    (lambda: intervals.rank_probabilities(KEY, errors(MET), 0), "draws"),
    (lambda: bootstrap(replicates=0), "replicates"),
    (lambda: bootstrap(theta=THETA[:2]), "counts"),
    (lambda: bootstrap(comparisons=np.triu(MET)), "symmetric"),
    # Promises and noise on totals.
    (lambda: of_comparisons(promise(1.0), "it", "cauchy"), "noise"),
    (lambda: noisy_counts(KEY, WINS, RANKS, sensitivity=2.0), "comparisons"),
    (lambda: noisy_counts(KEY, WINS, FLIP, sensitivity=0.0), "sensitivity"),
    (lambda: noisy_counts(KEY, WINS, USER, noise="k-norm"), "questionnaire"),
    (
        lambda: noisy_counts(KEY, WINS, USER, questionnaire=PAIR_A_DAY, sensitivity=2.0),
        "sensitivity",
    ),
    (lambda: by_item("l2", per_item=0), "per_item"),
    (lambda: noisy_ties.release(WinCounts(MET, ties=0.5), FLIP), "whole"),
    (lambda: noisy_ties.release(WinCounts(0.33 * MET, ties=1), FLIP), "multiples"),
    (lambda: noisy_ties.release(WINS, FLIP), "say how many"),
    (lambda: noisy_ties(KEY, TIED, LOOSE, noise="gaussian", questionnaire=PAIR_A_DAY), "Gaussian"),
    (lambda: traced_questionnaire(PAIR_A_DAY), "traced"),
    (lambda: pairwise.noisy_choices(KEY, STAGES, FLIP), "break_rankings"),
    (lambda: pairwise.perturbed_choices(KEY, STAGES, promise(1.0)), "break_rankings"),
    (lambda: noisy_sums(KEY, TABLE, promise(1.0).given(public=["covariates"])), "noisy_sums"),
    (lambda: noisy_sums(KEY, TABLE, FLIP), "public="),
    (lambda: noisy_sums(KEY, TABLE, RANKS), "ranks"),
    (lambda: noisy_sums(KEY, TABLE, SUMS, noise="gaussian"), "delta"),
    (lambda: scale(promise(1.0), noise="gaussian"), "delta"),
    (lambda: scale(UNBOUNDED), "contributions"),
    (lambda: perturbed_mle(KEY, WINS, promise(1.0), link="normal"), "noisy_counts"),
    (lambda: perturbed_mle.release(WinCounts(MET / 1024), promise(1.0)), "1/2 "),
    (lambda: perturbed_mle.release(WinCounts(MET / 3), promise(1.0), weighted=True), "1/1024"),
    (lambda: pairwise.perturbed_fit.bounded_weights([1.0], 0.0), "most"),
    (lambda: pairwise.perturbed_fit.bounded_weights([NAN], 1.0), "weights"),
    (lambda: pairwise.perturbed_fit.bounded_weights([[1.0]], 1.0), "shape"),
    (lambda: private_design.noisy_design(KEY, WINS, FLIP, THETA), "public"),
    (lambda: private_design.noisy_design(KEY, WINS, SPENT, THETA * NAN), "3 finite"),
    (lambda: private_design.noisy_design.release(WINS, SPENT, [[0.0]]), "3 finite"),
    (lambda: private_design.noisy_design.release(WINS, FLIP, THETA), "public"),
    (lambda: private_design.noisy_design.release(WinCounts(0.33 * MET), SPENT, THETA), "1/2"),
    (
        lambda: private_design.noisy_design.release(WinCounts(2.0**50 * (MET > 0)), SPENT, THETA),
        "too many",
    ),
    (lambda: under(noise=-1.0, gamma=1.0), "noise"),
    # Questionnaires.
    (lambda: pairwise.questionnaire_counts([], 4), "empty"),
    (lambda: pairwise.questionnaire_counts([(0, 1, 2)], 4), "shape"),
    (lambda: pairwise.questionnaire_counts([(-1, 0)], 4), "items"),
    (lambda: pairwise.questionnaire_counts([(0, 1), (2, 2)], 4), "twice"),
    (lambda: questionnaire.questionnaire_sensitivity(PAIR_A_DAY, promise(1.0)), "user"),
    (lambda: questionnaire.questionnaire_sensitivity(PAIR_A_DAY, USER, norm="linf"), "norm"),
    (lambda: questionnaire.questionnaire_changes(PAIR_A_DAY, "add-remove"), "adjacency"),
    (lambda: read(privacy=FLIP), "user"),
    (lambda: read(privacy=UNBOUNDED), "public"),
    (lambda: read(privacy=dataclasses.replace(USER, contributions=3)), "contributions"),
    (lambda: read(sensitivity=2.0), "sensitivity"),
    (lambda: read(np.zeros((3, 3))), "0"),
    (lambda: read(np.eye(3)), "diagonal"),
    (lambda: read(np.triu(np.ones((3, 3)), 1)), "symmetric"),
    (lambda: read(0.5 * (1 - np.eye(3))), "whole"),
    (lambda: read(1 - np.eye(4)), "shape"),
    (lambda: read(None), "asked"),
    (
        lambda: jax.jit(lambda law: law.variance_per_dimension())(
            questionnaire.noise_on_totals("k-norm", 1.0, 3, PAIR_A_DAY, "flip")
        ),
        "gamma",
    ),
    # Choices and rankings.
    (lambda: top1([]), "choices"),
    (lambda: top1([(0, [1]), (0, [1, 1])]), "choice 1"),
    (lambda: top1([(0, [3])]), "items"),
    (lambda: top1([(0, [0.5])]), "items"),
    (lambda: top1([([0, 1], [2])]), "no ties"),
    (lambda: top1([(0, 1)]), "sequence"),
    (lambda: top1([(0,)]), "chosen"),
    *((lambda run=run: run([]), "no") for run in (ranked, broken)),
    *((lambda run=run: run([[0, 1], [0, 1, 0]]), "ranking 1") for run in (ranked, broken)),
    *((lambda run=run: run([[0, -1]]), "items") for run in (ranked, broken)),
    *((lambda run=run: run([[0, NAN, 1]]), "items") for run in (ranked, broken)),
    *((lambda run=run: run([[0, 1], [2, (0, 1)]]), "no ties") for run in (ranked, broken)),
    *((lambda run=run: run(["012"]), "sequence") for run in (ranked, broken)),
    # Tables with covariates.
    (lambda: table({"length": LENGTH, "none": 0 * ONES}), "'none'"),
    (lambda: table({"a": LENGTH, "left": ONES, "b": 2 * LENGTH - 3}), "'a' and 'left'"),
    (lambda: table({"left": ONES, "mean": OF_ITEM}), "scores"),
    (lambda: table({"left": ONES, "mix": ONES + OF_ITEM}), "'left' and"),
    (lambda: table({"left": ONES}, first=0 * FIRST, second=1 + FIRST % 2), "scores"),
    (lambda: table({"length": LENGTH * NAN}), "'length'"),
    (lambda: table({"length": LENGTH[1:]}), "'length'"),
    (lambda: table(outcomes=ONES - 0.7), "outcomes"),
    (lambda: table(second=FIRST), "itself"),
    (lambda: table(first=FIRST + 1), "items"),
    (lambda: table(first=[], second=[]), "N >= 1"),
    (lambda: table(users=[1]), "users"),
    (lambda: table(bounds={"length": (3.0, -3.0)}), "lower"),
    (lambda: table(bounds={"width": (0.0, 1.0)}), "'width'"),
    *((lambda x=x: resolution(np.array([[x]])), "multiples") for x in (1 / 3, NAN, 2.0**-31)),
    # Randomized answers.
    (lambda: answers(epsilon=0.0), "epsilon"),
    (lambda: answers(epsilon=np.ones(3)), "shape"),
    (lambda: answers(observed=np.ones((2, 4))), "shape"),
    (lambda: answers(observed=np.full((2, 3), 0.5)), "observed"),
    (lambda: answers(mask=np.ones(5, bool)), "mask"),
    (lambda: answers(reports=np.full((2, 3), NAN)), "0 or 1"),
    (lambda: answers(reports=np.array([[1, -1, 0], [1, 1, 1]])), "-1 or 1"),
    (lambda: answers(reports=np.ones((2, 5)), observed=np.ones((2, 5))), "items"),
    (lambda: answers(gamma=-1.0), "gamma"),
    (lambda: answers(link="cauchy"), "link"),
    (lambda: answers(mechanism="gauss"), "mechanism"),
    (lambda: answers(reports=np.full((2, 3), np.inf), mechanism="laplace"), "finite"),
    (lambda: report_standard_errors(THETA, DebiasedSums(MET, np.triu(MET))), "symmetric"),
    (lambda: report_standard_errors(THETA, DebiasedSums(MET, MET), gamma=-1.0), "gamma"),
    (lambda: told(epsilon=0.0), "epsilon"),
    (lambda: told(epsilon=np.ones(3)), "shape"),
    (lambda: told(reports=[1, 2]), "0 or 1"),
    (lambda: told(mask=[True]), "shape"),
    (lambda: told(first=[0, 3]), "outside"),
    (lambda: told(first=[0.0, 1.0]), "integer"),
    (lambda: told(first=[0, 2]), "itself"),
    *((lambda n=n: init(n), "num_items") for n in (1, 2.0, 50_000)),
    (lambda: merge(init(3), init(4)), "merged"),
    (lambda: finish(init(3)), "no reports"),
    (lambda: finish(told(), reports_per_user=0), "reports_per_user"),
    (lambda: finish(told(), gamma=-1.0), "gamma"),
    # Theory.
    (lambda: theory.edge_rate(1, 0.5, 1.0), "num_items"),
    (lambda: theory.edge_rate(10, 1.5, 1.0), "probability"),
    (lambda: theory.user_rate(10, 0, 1.0), "num_users"),
    (lambda: theory.top_k_threshold(10, 1.0, probability=0.5, num_users=5), "one"),
    (lambda: theory.top_k_gap(jnp.arange(6.0), 3, 3), "must lie"),
    (lambda: theory.score_attack_bound(THETA, THETA, WINS, -1.0), "epsilon"),
    (lambda: report_theory.reported_chance(0.0, 0.0), "epsilon"),
    (lambda: report_theory.report_rate(5, 0.0), "effective_users"),
    (lambda: report_theory.convexity_bound(5, 10.0, spread=-1.0), "spread"),
    (lambda: report_theory.convexity_bound(5, 10.0, 0.0, spread=1.0), "share_observed"),
    (lambda: report_theory.top_k_error_rate(-0.1, 5, 10.0), "gap"),
    (lambda: report_theory.ranking_error_rate([1.0], 10.0), "num_items"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_does_not_fit_is_refused(place):
    call, word = REFUSED[place]
    with pytest.raises(ValueError, match=word):
        call()


OF_ANOTHER_TYPE = [
    *(
        (lambda run=run, wins=wins: run(wins), "WinCounts")
        for wins in (MET, MET.tolist())
        for run in (
            mle,
            rank_centrality,
            lambda wins: noisy_counts(KEY, wins, FLIP),
            lambda wins: continual_score_sums(KEY, wins, FLIP),
            lambda wins: theory.score_attack(THETA, THETA, wins),
            lambda wins: theory.score_attack_bound(1.0, THETA, wins, 1.0),
        )
    ),
    (lambda: perturbed_mle(KEY, WinEdges([0], [1], [1.0], [0.0], 2), promise(1.0)), "WinEdges"),
    (lambda: noisy_sums(KEY, TABLE.design, SUMS), "covariate_table"),
    (lambda: of_comparisons(1.0, "it"), "Privacy"),
    (lambda: questionnaire.questionnaire_sensitivity(PAIR_A_DAY, "flip"), "Privacy"),
]


@pytest.mark.parametrize("place", range(len(OF_ANOTHER_TYPE)))
def test_another_type_is_refused_with_the_way_to_make_the_right_one(place):
    call, word = OF_ANOTHER_TYPE[place]
    with pytest.raises(TypeError, match=word):
        call()
