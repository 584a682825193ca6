"""What ``privrank demo`` computes and tells: four voters ranked privately, and simulated surveys."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Array

from privrank_jax import pairwise, plotting
from privrank_jax._promise import Privacy
from privrank_jax._quickly import quickly
from privrank_jax._types import Key, Scalar
from privrank_jax.cli.console import print_paragraphs, print_table
from privrank_jax.comparisons import WinCounts
from privrank_jax.metrics import kendall_distance, top_k_error
from privrank_jax.pairwise.questionnaire import noise_on_totals, questionnaire_sensitivity
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate import Study, StudyResult, grid, run
from privrank_jax.simulate.worlds.comparisons import user_comparisons

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMES = ("Mountain View", "San Francisco", "New York", "Cambridge", "Accra")
OFFICES = {name[0]: name for name in _NAMES}
VOTERS = ("MSNCA", "AMCNS", "NCSMA", "MSCNA")  # best first; Alabi et al., Table 1
VOTER_BUDGETS = (1.0, 10.0, 100.0)
REPEATS = 10_000

STUDY_BUDGETS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, math.inf)
USERS, PER_USER, ITEMS, TOP = 400, 5, 12, 3
REPLICATES = 1000
METHODS = {"counts": "noisy counts", "mle": "perturbed MLE"}
METRICS = {"kendall": "share of pairs in the wrong order", "top": f"share of the top {TOP} missed"}
PICTURE = "privacy-and-utility.png"


def rank_voters(key: Key) -> dict[str, Any]:
    """Win totals of the offices: without noise, with noise at each budget, and how often the winner stays."""
    place = {letter: k for k, letter in enumerate(OFFICES)}
    ordered = [pair for voter in VOTERS for pair in itertools.combinations(voter, 2)]
    winners, losers = ([place[letter] for letter in side] for side in zip(*ordered, strict=True))
    wins = WinCounts.from_comparisons(winners, losers, num_items=len(OFFICES))
    pairs = list(itertools.combinations(range(len(OFFICES)), 2))
    # One voter may reverse the whole ranking; every pair is asked once.
    promise = Privacy(1.0, unit="user", adjacency="flip")
    asked = pairwise.questionnaire_counts(pairs, len(OFFICES))

    def noisy(key: Key, epsilon: Scalar) -> Array:
        privacy = dataclasses.replace(promise, epsilon=epsilon)
        return pairwise.noisy_counts(key, wins, privacy, questionnaire=asked).value

    many = jax.vmap(jax.vmap(noisy, (0, None)), (None, 0))
    totals = quickly(many, jax.random.split(key, REPEATS), np.array(VOTER_BUDGETS))
    kept = (totals.argmax(-1) == int(np.argmax(wins.totals))).mean(-1)
    return {
        "items": list(OFFICES.values()),
        "wins": np.asarray(wins.totals).tolist(),
        "sensitivity": questionnaire_sensitivity(asked, promise),
        "noise_deviation": noise_on_totals("k-norm", 1.0, len(OFFICES), asked, "flip").deviation(),
        "private": [
            {"epsilon": epsilon, "noisy_wins": drawn[0].tolist(), "winner_kept": float(share)}
            for epsilon, drawn, share in zip(VOTER_BUDGETS, totals, kept, strict=True)
        ],
    }


def run_study(key: Key) -> StudyResult:
    """Errors of both methods at each budget, all replicates of all budgets in one program."""
    study = Study("demo", _survey, grid(epsilon=STUDY_BUDGETS), axes=("method", "metric"))
    return run(key, study, REPLICATES)


def _survey(key: Key, parameters: dict[str, Scalar]) -> dict[str, dict[str, Array]]:
    """True scores, answers of the users, both private rankings, and their errors."""
    truth_key, answer_key, counts_key, mle_key, tie_key = jax.random.split(key, 5)
    scores = jax.random.normal(truth_key, (ITEMS,))
    wins = user_comparisons(answer_key, scores, USERS, PER_USER)
    privacy = Privacy(parameters["epsilon"], unit="user", adjacency="flip", contributions=PER_USER)
    truth = ranks_from_scores(scores)

    def errors(value: Array) -> dict[str, Array]:
        found = ranks_from_scores(value, key=tie_key)
        kendall = kendall_distance(found, truth, normalized=True)
        return {"kendall": kendall, "top": top_k_error(found, truth, TOP)}

    return {
        "counts": errors(pairwise.noisy_counts(counts_key, wins, privacy).value),
        "mle": errors(pairwise.perturbed_mle(mle_key, wins, privacy).value),
    }


def print_votes(votes: dict[str, Any]) -> None:
    """Print the wins of the voters' rankings, without noise and with."""
    private, size = votes["private"], votes["sensitivity"]
    noisy = zip(*(one["noisy_wins"] for one in private))
    rows = [
        (name, f"{wins:.0f}", *(f"{one:.1f}" for one in drawn))
        for name, wins, drawn in zip(votes["items"], votes["wins"], noisy)
    ]
    print_table(
        f"Four voters rank offices ({', '.join(VOTERS)}; Alabi et al., Table 1), each by 10 comparisons; wins, without "
        "noise and with",
        ("office", "wins", *(f"epsilon = {one['epsilon']:g}" for one in private)),
        rows,
    )
    kept = ", ".join(f"{one['winner_kept']:.0%} at epsilon = {one['epsilon']:g}" for one in private)
    print_paragraphs(
        f"One voter who changes the whole ranking moves the wins by up to {size:.0f} in all. K-norm noise, in the "
        "shape of what one voter can change, has standard deviation "
        f"{votes['noise_deviation']:.1f}/epsilon for each office (Laplace noise: {size * 2**0.5:.1f}/epsilon). Over "
        f"{REPEATS:,} repeats Mountain View stays first in {kept} (chance: 20%): with four voters, a ranking that "
        "protects each of them well can hardly depend on any. Privacy costs less the more voters there are:",
    )


def print_study(result: StudyResult) -> None:
    """Print the errors at each budget."""
    columns, rows = list(itertools.product(METRICS, METHODS)), []
    for epsilon in STUDY_BUDGETS:
        found = (result.row(metric, method=of, epsilon=epsilon) for metric, of in columns)
        head = f"{epsilon:g}" if math.isfinite(epsilon) else "no privacy"
        rows.append([head, *(f"{row['mean']:.3f}" for row in found)])
    print_table(
        f"{USERS} users compare {PER_USER} pairs each of {ITEMS} items; all answers of a user are protected, "
        "who met whom is public",
        ("epsilon", *map(", ".join, columns)),
        rows,
    )
    facts = result.diagnostics
    worst = max(row["standard_error"] for row in result.rows)
    print_paragraphs(
        f"kendall: share of the pairs of items in the wrong order; top: share of the {TOP} best that the ranking "
        "misses; counts: by noisy win totals; mle: by private scores, which allow for who met whom.",
        f"Means over {REPLICATES:,} surveys per budget (standard errors below {worst + 5e-4:.3f}), all in one "
        f"program, compiled in {facts.compile_seconds:.1f} s, run in {facts.run_seconds:.1f} s.",
    )


def figure_of(result: StudyResult) -> Figure:
    """The errors at each budget as curves."""
    finite = [row for row in result.rows if math.isfinite(row["epsilon"])]
    rows = [row | {"method": METHODS[row["method"]]} for row in finite]
    for metric, epsilon in itertools.product(METRICS, STUDY_BUDGETS[:-1]):
        free = {"method": "MLE without privacy", "epsilon": epsilon}
        rows.append(result.row(metric, method="mle", epsilon=math.inf) | free)
    return plotting.study_curves(
        [row | {"metric": METRICS[row["metric"]]} for row in rows],
        "epsilon",
        curve="method",
        x_label="privacy budget ε per user",
        title=f"{USERS} users, {PER_USER} comparisons each, {ITEMS} items",
        log_x=True,
    )
