"""``privrank demo``: four voters ranked privately, then a study of what privacy costs."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from privrank_jax.cli import hardware
from privrank_jax.cli.console import (
    Side,
    check_folder,
    check_seed,
    print_json,
    print_paragraphs,
    print_table,
)
from privrank_jax.cli.options import Folder, Json, Seed, command

if TYPE_CHECKING:
    from jaxtyping import Array

    from privrank_jax._types import Key, Scalar
    from privrank_jax.comparisons import WinCounts
    from privrank_jax.simulate import StudyResult

OFFICES = {
    "M": "Mountain View",
    "S": "San Francisco",
    "N": "New York",
    "C": "Cambridge",
    "A": "Accra",
}
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


class Votes(TypedDict):
    """Win totals of the offices, without noise and with noise, by budget."""

    wins: list[float]
    sensitivity: float
    deviation: float  # of the noise of each total, at ε = 1
    noisy: dict[float, list[float]]
    winner_kept: dict[float, float]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Folder, Seed, Json):
    """The options of one run."""

    attack: Annotated[
        bool,
        typer.Option(
            "--attack",
            help="Read one person's answers off exact rankings, and guess them from private ones.",
        ),
    ] = False


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
        print_paragraphs(
            "", f"Running {REPLICATES:,} surveys for each of {len(STUDY_BUDGETS)} budgets ..."
        )
    result = run_study(study_key)
    picture, remark = _draw(result, request.out)
    if request.json:
        print_json(_document(votes, result, picture))
        return
    _print_study(result)
    print_paragraphs(
        f"Picture: {picture}" if picture else remark,
        f"{time.perf_counter() - started:.0f} s in all. Next: privrank rank --help",
    )


def voter_wins() -> WinCounts:
    """Each voter's ranking as 10 comparisons: ``(5, 5)`` win counts of the offices."""
    from privrank_jax.comparisons import WinCounts

    place = {letter: k for k, letter in enumerate(OFFICES)}
    pairs = [pair for voter in VOTERS for pair in itertools.combinations(voter, 2)]
    winners, losers = ([place[letter] for letter in side] for side in zip(*pairs, strict=True))
    return WinCounts.from_comparisons(winners, losers, num_items=len(OFFICES))


def rank_voters(key: Key) -> Votes:
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
    sensitivity = questionnaire_sensitivity(asked, promise)

    def noisy(key: Key, epsilon: Scalar) -> Array:
        privacy = dataclasses.replace(promise, epsilon=epsilon)
        return pairwise.noisy_counts(key, wins, privacy, questionnaire=asked).value

    repeats = jax.random.split(key, REPEATS)
    many = jax.vmap(jax.vmap(noisy, (0, None)), (None, 0))
    totals = quickly(many, repeats, np.array(VOTER_BUDGETS))
    winners, best = totals.argmax(-1), int(np.argmax(wins.totals))
    return {
        "wins": np.asarray(wins.totals).tolist(),
        "sensitivity": sensitivity,
        "deviation": noise_on_totals("k-norm", 1.0, len(OFFICES), asked, "flip").deviation(),
        "noisy": dict(zip(VOTER_BUDGETS, totals[:, 0].tolist(), strict=True)),
        "winner_kept": dict(zip(VOTER_BUDGETS, (winners == best).mean(-1).tolist(), strict=True)),
    }


def run_study(key: Key) -> StudyResult:
    """Errors of both methods at each budget, all replicates of all budgets in one program."""
    from privrank_jax.simulate import Study, grid, run

    cells = grid(epsilon=STUDY_BUDGETS)
    study = Study("demo", _survey, cells, axes=("method", "metric"))
    return run(key, study, REPLICATES)


def _survey(key: Key, parameters: dict[str, Scalar]) -> dict[str, dict[str, Array]]:
    """One simulated survey: true scores, answers of the users, both private rankings, their errors."""
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
    errors = {}
    for method, value in values.items():
        ranks = ranks_from_scores(value, key=tie_key)
        errors[method] = {
            "kendall": kendall_distance(ranks, truth, normalized=True),
            "top": top_k_error(ranks, truth, TOP),
        }
    return errors


def _print_votes(votes: Votes) -> None:
    places: list[tuple[str, Side]] = [(f"{place}.", "left") for place in range(1, 6)]
    print_table(
        "Four voters rank the offices (Alabi et al., Table 1), best first",
        [("voter", "right"), *places],
        [
            [str(number), *(OFFICES[letter] for letter in voter)]
            for number, voter in enumerate(VOTERS, start=1)
        ],
    )
    columns: list[tuple[str, Side]] = [("office", "left"), ("wins", "right")]
    for epsilon in VOTER_BUDGETS:
        columns.append((f"epsilon = {epsilon:g}", "right"))
    order = sorted(range(len(OFFICES)), key=lambda item: -votes["wins"][item])
    names = list(OFFICES.values())
    cells = [_ranked(votes["wins"], "{:.0f}")]
    cells += [_ranked(votes["noisy"][epsilon], "{:.1f}") for epsilon in VOTER_BUDGETS]
    print_table(
        "Each ranking is 10 comparisons; wins of each office with its rank, without noise and with",
        columns,
        [[names[item], *(column[item] for column in cells)] for item in order],
    )
    kept = ", ".join(
        f"{share:.0%} at epsilon = {epsilon:g}" for epsilon, share in votes["winner_kept"].items()
    )
    print_paragraphs(
        f"One voter who changes the whole ranking moves the wins by up to {votes['sensitivity']:.0f} in all. K-norm "
        f"noise, in the shape of what one voter can change, has standard deviation {votes['deviation']:.1f}/epsilon "
        f"for each office (Laplace noise: {votes['sensitivity'] * 2**0.5:.1f}/epsilon), and the wins lie between 0 "
        "and 16.",
        f"Over {REPEATS:,} repeats Mountain View stays first in {kept} (chance: 20%). With four voters, "
        "each has a large influence: a ranking that protects each of them well can hardly depend on any. "
        "Privacy costs less accuracy the more voters there are, as the study below shows.",
    )


def _ranked(values: list[float], form: str) -> list[str]:
    """Each value with its rank, 1 = best; equal values share a rank."""
    return [f"{form.format(v)} ({1 + sum(other > v for other in values)})" for v in values]


def _print_study(result: StudyResult) -> None:
    columns: list[tuple[str, Side]] = [("epsilon", "right")]
    for short, m in itertools.product(("wrong pairs", f"missed top {TOP}"), METHODS):
        columns.append((f"{short}, {m}", "right"))
    rows = []
    for epsilon in STUDY_BUDGETS:
        cells = [
            result.row(metric, method=method, epsilon=epsilon)["mean"]
            for metric in METRICS
            for method in METHODS
        ]
        name = "no privacy" if math.isinf(epsilon) else f"{epsilon:g}"
        rows.append([name, *(f"{cell:.3f}" for cell in cells)])
    print_table(
        f"{USERS} users compare {PER_USER} pairs each of {ITEMS} items; all answers of a user are protected, "
        "who met whom is public",
        columns,
        rows,
    )
    facts = result.diagnostics
    worst = max(row["standard_error"] for row in result.rows)
    print_paragraphs(
        f"Wrong pairs: share of the pairs of items in the wrong order; missed top {TOP}: share of the {TOP} "
        "best that the ranking misses; counts: by noisy win totals; mle: by private scores, which allow for "
        "who met whom.",
        f"Means over {REPLICATES:,} surveys per budget (standard errors below {worst + 5e-4:.3f}); "
        f"{len(STUDY_BUDGETS) * REPLICATES:,} surveys in one program, compiled {facts.compilations} "
        f"time(s) in {facts.compile_seconds:.1f} s, run in {facts.run_seconds:.1f} s.",
    )


def _draw(result: StudyResult, out: Path) -> tuple[str | None, str]:
    """Path of the picture, or None and why there is none."""
    from privrank_jax import plotting

    rows = [
        {**row, "method": METHODS[row["method"]], "metric": METRICS[row["metric"]]}
        for row in result.rows
        if math.isfinite(row["epsilon"])
    ]
    for metric in METRICS:  # the best that either method could do, a horizontal line
        free = result.row(metric, method="mle", epsilon=math.inf)
        rows += [
            {**free, "epsilon": epsilon, "method": "MLE without privacy", "metric": METRICS[metric]}
            for epsilon in STUDY_BUDGETS
            if math.isfinite(epsilon)
        ]
    try:
        figure = plotting.study_curves(
            rows,
            "epsilon",
            curve="method",
            x_label="privacy budget ε per user",
            title=f"{USERS} users, {PER_USER} comparisons each, {ITEMS} items",
            log_x=True,
        )
    except ImportError as error:
        return None, f"No picture: {error}"
    out.mkdir(parents=True, exist_ok=True)
    path = out / PICTURE
    plotting.save(figure, path)
    return str(path), ""


def _document(votes: Votes, result: StudyResult, picture: str | None) -> dict[str, object]:
    def budget(epsilon: float) -> float | None:
        return epsilon if math.isfinite(epsilon) else None

    return {
        "voters": {
            "items": list(OFFICES.values()),
            "wins": votes["wins"],
            "sensitivity": votes["sensitivity"],
            "noise_deviation": votes["deviation"],
            "private": [
                {
                    "epsilon": e,
                    "noisy_wins": votes["noisy"][e],
                    "winner_kept": votes["winner_kept"][e],
                }
                for e in VOTER_BUDGETS
            ],
        },
        "study": [{**row, "epsilon": budget(row["epsilon"])} for row in result.rows],
        "picture": picture,
    }
