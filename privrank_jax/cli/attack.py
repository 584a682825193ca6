"""``privrank demo --attack``: what exact leaderboards and totals tell of one person, and what private ones do.

All data are made up. The best guess of the private publications is that of somebody who knows everything else and the
law of the noise; it is measured over many draws, and held against :func:`privrank_jax.privacy_audit.guess_bound`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import aggregation, pairwise, privacy
from privrank_jax._promise import Privacy
from privrank_jax._types import Key
from privrank_jax.aggregation import PairWeights
from privrank_jax.cli.console import print_json, print_paragraphs, print_table, saved
from privrank_jax.comparisons import WinCounts
from privrank_jax.plotting.revealed import Guess, best_guesses, changed_leaderboards
from privrank_jax.privacy.geometry import Zonotope, gauge
from privrank_jax.privacy_audit.guesses import Battles, battles_between, guess_bound, right_guesses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODELS = ("Aster", "Birch", "Cedar", "Dahlia", "Elm", "Fern")
VOTERS, MOST = 40, 3  # battles of a voter
PROJECTS = ("playground", "library", "bike lane", "market hall")
STREET = 12  # ballots
EPSILON, DRAWS = 1.0, 40_000
PICTURES = ("one-voter-on-a-leaderboard.png", "guesses-about-one-person.png")
PROMISE = Privacy(EPSILON, unit="user", adjacency="replace")


def made_up_arena(seed: int) -> tuple[np.ndarray, list[list[Battles]]]:
    """``(voters + 1, models, 2)`` wins and losses after each voter, and the battles that explain each change."""
    random = np.random.default_rng(seed)
    pairs = list(itertools.combinations(range(len(MODELS)), 2))
    boards = [np.zeros((len(MODELS), 2), int)]
    for _ in range(VOTERS):
        board = boards[-1].copy()
        for pair in random.choice(pairs, random.integers(1, MOST + 1), replace=False):
            better = random.random() < 1 / (1 + math.exp(0.5 * (pair[0] - pair[1])))
            board[pair[:: 1 if better else -1], (0, 1)] += 1
        boards.append(board)
    return np.array(boards), [battles_between(*two) for two in itertools.pairwise(boards)]


def target_of(explained: list[list[Battles]]) -> int:
    """The voter with the most battles, the last one of these, among those of whom all battles are revealed."""
    return max((len(one[0]), voter) for voter, one in enumerate(explained) if len(one) == 1)[1]


def made_up_ballots(seed: int) -> np.ndarray:
    """``(street, projects)`` ranks of the projects, 0 = best."""
    random = np.random.default_rng(seed)
    return np.array([random.permutation(len(PROJECTS)) for _ in range(STREET)])


def guess_votes(key: Key, battles: Battles) -> tuple[list[Guess], np.ndarray]:
    """Guesses about a voter's battles from private win totals, and how these show the true ones."""
    outcomes = np.array(list(itertools.product((0, 1), repeat=len(battles))))
    possible = np.zeros((len(outcomes), len(MODELS), len(MODELS)))
    for (winner, loser), turned in zip(battles, outcomes.T):
        possible[turned == 0, winner, loser] += 1
        possible[turned == 1, loser, winner] += 1
    promise = Privacy(EPSILON, unit="user", adjacency="replace", contributions=MOST)

    # The wins of all others are known, so they are left out: they would only be subtracted again.
    def once(key: Key, matrix: Any) -> Any:
        found = pairwise.noisy_counts(key, WinCounts(matrix), promise)
        moved = jnp.abs(found.value - possible.sum(2)).sum(1)
        return -moved / found.diagnostics.noise_scale, found.value

    questions: dict[str, Any] = {"who won one of the battles": outcomes[:, 0]}
    if len(battles) > 1:
        questions[f"who won all {len(battles)} battles"] = None
    found, truth, published = _guesses(key, once, possible, possible.sum(2), questions)
    return found, published[truth == 0][0]


def guess_ballot(key: Key, ballots: np.ndarray) -> list[Guess]:
    """Guesses about the last ballot from private Borda scores of all."""
    orders = np.array(list(itertools.permutations(range(len(PROJECTS)))))
    crowds = [np.concatenate([ballots[:-1], order[None]]) for order in orders]
    matrices = np.array([PairWeights.from_ranks(ranks).matrix for ranks in crowds])
    body = Zonotope.of_all_pairs(len(PROJECTS))

    def once(key: Key, matrix: Any) -> Any:
        published = aggregation.dp_borda(key, PairWeights(matrix, STREET), PROMISE).value
        noise = STREET * (published - matrices.sum(2))
        return -jax.vmap(lambda one: gauge(body, one))(noise) * EPSILON, published

    questions = {"which project came first": orders.argmin(1), "the whole ballot": None}
    return _guesses(key, once, matrices, matrices.sum(2).round(6), questions)[0]


def guess_answer(key: Key) -> list[Guess]:
    """Guesses of an answer that a person randomizes before it leaves home: the report itself is the best guess."""
    bits = np.array([False, True])

    def once(key: Key, bit: Any) -> Any:
        published = privacy.randomized_response(key, bit, EPSILON)
        return (published == bits) * EPSILON, published

    return _guesses(key, once, bits, bits[:, None], {"an answer, randomized at home": None})[0]


def _guesses(
    key: Key, once: Callable[..., Any], possible: Any, totals: np.ndarray, questions: dict[str, Any]
) -> tuple[list[Guess], np.ndarray, np.ndarray]:
    """How often questions are answered rightly; which value was the true one; and what was published.

    ``once`` draws log densities under all possible values, and what is published; ``totals`` are exact publications.
    """
    choice, noise = jax.random.split(key)
    truth = jax.random.randint(choice, (DRAWS,), 0, len(possible))
    draw = jax.jit(jax.vmap(lambda key, value: once(key, jnp.asarray(possible)[value])))
    logs, published = draw(jax.random.split(noise, DRAWS), truth)
    exactly = np.where((totals[:, None] == totals).all(-1), 0.0, -np.inf)
    found = []
    for question, answers in questions.items():
        given = np.arange(len(totals)) if answers is None else answers
        prior = np.unique(given, return_counts=True)[1] / len(given)
        best = float(right_guesses(logs, truth, answers).mean())
        exact = float(right_guesses(exactly, np.arange(len(totals)), answers).mean())
        found.append(Guess(question, float(prior.max()), best, guess_bound(EPSILON, prior), exact))
    return found, np.asarray(truth), np.asarray(published)


def run(key: Key, seed: int, out: Path, *, as_json: bool) -> None:
    """Make up the data, attack both kinds of publications, draw the pictures, and tell it."""
    (boards, explained), ballots = made_up_arena(seed), made_up_ballots(seed)
    target, keys = target_of(explained), jax.random.split(key, 3)
    (battles,), (before, after) = explained[target], boards[target : target + 2]
    votes, noisy = guess_votes(keys[0], battles)
    guesses = [*votes, *guess_ballot(keys[1], ballots), *guess_answer(keys[2])]
    pictures, remark = saved(out, lambda: _figures(after - before, noisy, guesses))
    points = len(PROJECTS) - 1 - ballots
    ballot = [PROJECTS[k] for k in (points.sum(0) - points[:-1].sum(0)).argsort()[::-1]]
    revealed = sum(len(sets) == 1 for sets in explained)
    if as_json:
        facts = {"voters": VOTERS, "voters_revealed": revealed, "ballot": ballot}
        facts |= {"battles": [[MODELS[item] for item in pair] for pair in battles]}
        facts |= {"epsilon": EPSILON, "draws": DRAWS, "pictures": pictures}
        return print_json(facts | {"guesses": [one._asdict() for one in guesses]})
    words = ", ".join(f"{MODELS[winner]} beat {MODELS[loser]}" for winner, loser in battles)
    print_table(
        "Two exact leaderboards of an arena (made up); one person voted in between",
        ("model", "before: won", "lost", "after: won", "lost"),
        [(name, *map(str, (*old, *new))) for name, old, new in zip(MODELS, before, after)],
    )
    print_paragraphs(
        f"Subtract one from the other, and her votes are left: {words}. Nothing else explains the change. Of "
        f"{revealed} of the {VOTERS} voters all votes can be told in this way, of the others a few possibilities stay.",
        f"{STREET} neighbors rank {len(PROJECTS)} projects, and the council publishes the exact points. Who knows all "
        f"ballots but one subtracts them, and that one is left, from first to last: {', '.join(ballot)}.",
        "",
    )
    print_table(
        f"The same published with epsilon = {EPSILON:g}: how often the best guess is right, in {DRAWS:,} draws",
        ("what is asked", "blind guess", "best guess", "promise", "exact"),
        [[one.question, *(f"{share:.1%}" for share in one[1:])] for one in guesses],
    )
    print_paragraphs(
        f"The best guess knows everything but this person's answers. The promise: nobody guesses more than "
        f"{guesses[0].bound:.1%} of two equally likely answers rightly, e^epsilon/(1 + e^epsilon).",
        f"Pictures: {', '.join(pictures)}" if pictures else f"No pictures: {remark}",
    )


def _figures(change: np.ndarray, noisy: np.ndarray, guesses: list[Guess]) -> dict[str, Figure]:
    title = "One person voted: what does the next leaderboard tell?"
    boards = changed_leaderboards(MODELS, change[:, 0], noisy, epsilon=EPSILON, title=title)
    shares = best_guesses(guesses, epsilon=EPSILON, title="How often is a guess right?")
    return dict(zip(PICTURES, (boards, shares), strict=True))
