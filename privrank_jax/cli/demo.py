"""``privrank demo``: four voters ranked privately, then a study of what privacy costs."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from typing import TYPE_CHECKING, Any

from privrank_jax.cli import hardware
from privrank_jax.cli.console import (
    check_folder,
    check_seed,
    print_json,
    print_paragraphs,
    print_table,
    saved,
)
from privrank_jax.cli.options import Folder, Json, Seed, command, said

if TYPE_CHECKING:
    from jaxtyping import Array
    from matplotlib.figure import Figure

    from privrank_jax._types import Key, Scalar
    from privrank_jax.comparisons import WinCounts
    from privrank_jax.simulate import StudyResult

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

HELP = (
    "See private ranking at work on data that come with the program.\n\n"
    "First the four voters of Alabi et al., Table 1, ranked with and without privacy; then 1,000 simulated "
    "surveys for each of several privacy budgets, run as one batched program, with a table and a picture. "
    "Takes less than a minute.\n\n"
    "With --attack it shows instead what exact rankings reveal of one person, and how little private ones do.\n\n"
    "Examples:\n\n"
    "  privrank demo --out pictures\n\n"
    "  privrank demo --attack"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Folder, Seed, Json):
    """The options of one run."""

    attack: bool = said(
        "Read one person's answers off exact rankings, and guess them from private ones.",
        default=False,
    )


@command
def demo(request: Request) -> None:
    """See private ranking at work on data that come with the program."""
    check_seed(request.seed)
    check_folder(request.out)
    import jax

    hardware.keep_programs()
    if request.attack:
        from privrank_jax.cli import attack

        attack.run(jax.random.key(request.seed), request.seed, request.out, as_json=request.json)
        return
    started = time.perf_counter()
    vote_key, study_key = jax.random.split(jax.random.key(request.seed))
    votes = rank_voters(vote_key)
    if not request.json:
        _print_votes(votes)
        surveys = f"{REPLICATES:,} surveys for each of {len(STUDY_BUDGETS)} budgets"
        print_paragraphs("", f"Running {surveys} ...")
    result = run_study(study_key)
    pictures, remark = saved(request.out, lambda: {PICTURE: _figure(result)})
    if request.json:
        unbounded = {"epsilon": None}
        study = [row if math.isfinite(row["epsilon"]) else row | unbounded for row in result.rows]
        print_json({"voters": votes, "study": study, "picture": next(iter(pictures), None)})
        return
    _print_study(result)
    print_paragraphs(
        f"Picture: {pictures[0]}" if pictures else f"No picture: {remark}",
        f"{time.perf_counter() - started:.0f} s in all. Next: privrank rank --help",
    )


def voter_wins() -> WinCounts:
    """Each voter's ranking as 10 comparisons: ``(5, 5)`` win counts of the offices."""
    from privrank_jax.comparisons import WinCounts

    place = {letter: k for k, letter in enumerate(OFFICES)}
    pairs = [pair for voter in VOTERS for pair in itertools.combinations(voter, 2)]
    winners, losers = ([place[letter] for letter in side] for side in zip(*pairs, strict=True))
    return WinCounts.from_comparisons(winners, losers, num_items=len(OFFICES))


def rank_voters(key: Key) -> dict[str, Any]:
    """Win totals of the offices: without noise, with noise at each budget, and how often the winner stays."""
    import jax
    import numpy as np

    from privrank_jax import pairwise
    from privrank_jax._promise import Privacy
    from privrank_jax._quickly import quickly
    from privrank_jax.pairwise.questionnaire import noise_on_totals, questionnaire_sensitivity

    wins = voter_wins()
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
    from privrank_jax.simulate import Study, grid, run

    study = Study("demo", _survey, grid(epsilon=STUDY_BUDGETS), axes=("method", "metric"))
    return run(key, study, REPLICATES)


def _survey(key: Key, parameters: dict[str, Scalar]) -> dict[str, dict[str, Array]]:
    """True scores, answers of the users, both private rankings, and their errors."""
    import jax

    from privrank_jax import pairwise
    from privrank_jax._promise import Privacy
    from privrank_jax.metrics import kendall_distance, top_k_error
    from privrank_jax.rankings import ranks_from_scores
    from privrank_jax.simulate.worlds.comparisons import user_comparisons

    truth_key, answer_key, counts_key, mle_key, tie_key = jax.random.split(key, 5)
    scores = jax.random.normal(truth_key, (ITEMS,))
    wins = user_comparisons(answer_key, scores, USERS, PER_USER)
    privacy = Privacy(parameters["epsilon"], unit="user", adjacency="flip", contributions=PER_USER)
    values = {
        "counts": pairwise.noisy_counts(counts_key, wins, privacy).value,
        "mle": pairwise.perturbed_mle(mle_key, wins, privacy).value,
    }
    truth = ranks_from_scores(scores)
    ranks = {method: ranks_from_scores(value, key=tie_key) for method, value in values.items()}
    return {
        method: {
            "kendall": kendall_distance(found, truth, normalized=True),
            "top": top_k_error(found, truth, TOP),
        }
        for method, found in ranks.items()
    }


def _print_votes(votes: dict[str, Any]) -> None:
    print_table(
        "Four voters rank the offices (Alabi et al., Table 1), best first",
        ("voter", *(f"{place}." for place in range(1, 6))),
        [[str(k), *map(OFFICES.__getitem__, voter)] for k, voter in enumerate(VOTERS, start=1)],
    )
    private, size = votes["private"], votes["sensitivity"]
    noisy = zip(*(one["noisy_wins"] for one in private))
    rows = [
        (name, f"{wins:.0f}", *(f"{one:.1f}" for one in drawn))
        for name, wins, drawn in zip(votes["items"], votes["wins"], noisy)
    ]
    print_table(
        "Each ranking is 10 comparisons; wins of each office, without noise and with",
        ("office", "wins", *(f"epsilon = {one['epsilon']:g}" for one in private)),
        sorted(rows, key=lambda row: -float(row[1])),
    )
    kept = ", ".join(f"{one['winner_kept']:.0%} at epsilon = {one['epsilon']:g}" for one in private)
    print_paragraphs(
        f"One voter who changes the whole ranking moves the wins by up to {size:.0f} in all. K-norm noise, in the "
        "shape of what one voter can change, has standard deviation "
        f"{votes['noise_deviation']:.1f}/epsilon for each office (Laplace noise: {size * 2**0.5:.1f}/epsilon), and the "
        "wins lie between 0 and 16.",
        f"Over {REPEATS:,} repeats Mountain View stays first in {kept} (chance: 20%). With four voters, each has a "
        "large influence: a ranking that protects each of them well can hardly depend on any. Privacy costs less "
        "accuracy the more voters there are, as the study below shows.",
    )


def _print_study(result: StudyResult) -> None:
    names = ("wrong pairs", f"missed top {TOP}")
    rows = [
        [f"{epsilon:g}" if math.isfinite(epsilon) else "no privacy"]
        + [
            f"{result.row(metric, method=method, epsilon=epsilon)['mean']:.3f}"
            for metric, method in itertools.product(METRICS, METHODS)
        ]
        for epsilon in STUDY_BUDGETS
    ]
    print_table(
        f"{USERS} users compare {PER_USER} pairs each of {ITEMS} items; all answers of a user are protected, "
        "who met whom is public",
        ("epsilon", *(f"{name}, {of}" for name in names for of in METHODS)),
        rows,
    )
    facts = result.diagnostics
    worst = max(row["standard_error"] for row in result.rows)
    print_paragraphs(
        f"Wrong pairs: share of the pairs of items in the wrong order; missed top {TOP}: share of the {TOP} best that "
        "the ranking misses; counts: by noisy win totals; mle: by private scores, which allow for who met whom.",
        f"Means over {REPLICATES:,} surveys per budget (standard errors below {worst + 5e-4:.3f}); "
        f"{len(STUDY_BUDGETS) * REPLICATES:,} surveys in one program, compiled {facts.compilations} "
        f"time(s) in {facts.compile_seconds:.1f} s, run in {facts.run_seconds:.1f} s.",
    )


def _figure(result: StudyResult) -> Figure:
    from privrank_jax import plotting

    rows = [row for row in result.rows if math.isfinite(row["epsilon"])]
    rows = [row | {"method": METHODS[row["method"]]} for row in rows]
    for metric in METRICS:  # the best that either method could do, a horizontal line
        free = result.row(metric, method="mle", epsilon=math.inf)
        free |= {"method": "MLE without privacy"}
        rows += [free | {"epsilon": one} for one in STUDY_BUDGETS if math.isfinite(one)]
    return plotting.study_curves(
        [row | {"metric": METRICS[row["metric"]]} for row in rows],
        "epsilon",
        curve="method",
        x_label="privacy budget ε per user",
        title=f"{USERS} users, {PER_USER} comparisons each, {ITEMS} items",
        log_x=True,
    )
