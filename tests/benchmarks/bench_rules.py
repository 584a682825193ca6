"""Rules that rank by majorities: what noise does to each, and how often pref_voting says the same.

``python -m tests.benchmarks rules [--draws=200] [--pref_voting=PYTHON]``: with ``--pref_voting`` only the comparison,
by an interpreter that has it (version 1.18.2), on all named sets of rankings under both meanings of gaps, on 2,000
matrices of leads that are all different, and on 1,000 with many ties. Where leads are equal, ranked pairs of
pref_voting have the winners of all orders of locking, which are tried for up to 6 items and a second each; ours must
be among them.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import subprocess
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import privrank_jax as pr
from privrank_jax.aggregation import PairWeights, majority_rules, private_weights
from privrank_jax.aggregation.split_weights import shrunk_weights
from privrank_jax.data import named_rankings
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.release.exact_aggregation import counted_weights
from tests.benchmarks.harness import print_table

NOISY, EPSILONS = ("aspen", "sushi"), (0.3, 1.0)

_PEER = """
import json, signal, sys
from pref_voting import c1_methods as c1, margin_based_methods as mb
from pref_voting.weighted_majority_graphs import MarginGraph

def late(*_):
    raise TimeoutError

signal.signal(signal.SIGALRM, late)
for line in sys.stdin:
    lead = json.loads(line)
    items = range(len(lead))
    graph = MarginGraph(list(items), [(i, j, lead[i][j]) for i in items for j in items if lead[i][j] > 0])
    scores = graph.copeland_scores(scores=(1, 0.5, 0))
    found = {"copeland": [scores[i] for i in items], "minimax": sorted(mb.minimax(graph))}
    found["copeland winners"] = sorted(c1.copeland(graph))
    found["schulze winners"] = sorted(mb.beat_path(graph))
    if len(lead) <= 20:
        found["schulze"] = sorted(mb.beat_path_defeat(graph).edges)
    sizes = [abs(lead[i][j]) for i in items for j in range(i)]
    if len({*sizes, 0}) == len(sizes) + 1 and len(lead) <= 20:
        found["ranked pairs"] = sorted(mb.ranked_pairs_defeats(graph)[0].edges)
    elif len(lead) <= 6:
        signal.alarm(1)
        try:
            found["ranked pairs winners"] = [int(i) for i in mb.ranked_pairs(graph)]
        except TimeoutError:
            pass
        signal.alarm(0)
    print(json.dumps(found))
"""


def leads() -> dict[str, list[np.ndarray]]:
    """Matrices of leads by the family that they are of."""
    rng = np.random.default_rng(7)
    sets = [
        counted_weights(pr.read(name).ranks, missing).twice
        for name in named_rankings.available_rankings()
        for missing in ("last", "unknown")
    ]
    sizes = rng.integers(3, 11, 2000), rng.integers(3, 9, 1000)
    different = [rng.permutation(m * m).reshape(m, m) + 1 for m in sizes[0]]
    different = [np.triu(one * rng.choice([-1, 1], one.shape), 1) for one in different]
    tied = [np.triu(rng.integers(-3, 4, (m, m)), 1) for m in sizes[1]]
    families = {"sets": sets, "all leads different": different, "many ties": tied}
    return {name: [one - one.T for one in family] for name, family in families.items()}


def agreements(lead: np.ndarray, theirs: dict) -> dict[str, bool]:
    """Which of pref_voting's answers ours agree with."""
    ours = {name: np.asarray(rule(lead / 2)) for name, rule in majority_rules.RULES.items()}
    paths = np.asarray(majority_rules.schulze_paths(lead / 2))
    stronger = paths > paths.T

    def winners(scores: np.ndarray) -> list[int]:
        return np.flatnonzero(scores == scores.max()).tolist()

    order = np.argsort(-ours["ranked-pairs"])
    found = {
        "copeland scores": ours["copeland"].tolist() == theirs["copeland"],
        "copeland winners": winners(ours["copeland"]) == theirs["copeland winners"],
        "minimax winners": winners(ours["minimax"]) == theirs["minimax"],
        "schulze winners": np.flatnonzero(~stronger.any(0)).tolist() == theirs["schulze winners"],
    }
    if "schulze" in theirs:
        found["schulze relation"] = np.argwhere(stronger).tolist() == theirs["schulze"]
    if (
        "ranked pairs" in theirs
    ):  # their locked pairs all lead down our order, and no other order does that
        places = np.argsort(order)
        steps = {tuple(pair) for pair in theirs["ranked pairs"]}
        down = all(places[i] < places[j] for i, j in steps)
        found["ranked pairs order"] = down and {*itertools.pairwise(order.tolist())} <= steps
    if "ranked pairs winners" in theirs:
        found["ranked pairs winner"] = int(order[0]) in theirs["ranked pairs winners"]
    return found


def compared(python: str) -> None:
    """Print how often pref_voting says the same."""
    for family, matrices in leads().items():
        lines = "\n".join(json.dumps(one.tolist()) for one in matrices)
        peer = [python, "-c", _PEER]
        said = subprocess.run(peer, input=lines, capture_output=True, text=True, check=True)
        counts: dict[str, list[bool]] = {}
        for lead, line in zip(matrices, said.stdout.splitlines(), strict=True):
            for name, same in agreements(lead, json.loads(line)).items():
                counts.setdefault(name, []).append(same)
        rows = [(name, f"{sum(same)} of {len(same)}") for name, same in counts.items()]
        print_table(f"pref_voting says the same: {family}", ("what", "cases"), rows)


def noisy(draws: int) -> None:
    """Print how many pairs noise turns in the order of each rule, with cycles as published and reduced."""
    for name in NOISY:
        table = pr.read(name)
        weights = PairWeights.from_ranks(table.ranks, missing=table.missing)
        rows = []
        for epsilon in EPSILONS:
            promise = pr.Privacy(epsilon, unit="user", adjacency="replace")
            keys = jax.random.split(jax.random.key(1), draws)
            release = functools.partial(
                private_weights, weights=weights, privacy=promise, shrink="none"
            )
            found = jax.vmap(release)(keys)
            reduced = jax.vmap(shrunk_weights)(found.value, found.diagnostics.cycle_scale)[0]
            for rule, scores in majority_rules.RULES.items():
                told = functools.partial(_turned, scores, weights.matrix)
                turned = [jnp.mean(jax.vmap(told)(noisy)) for noisy in (found.value, reduced)]
                rows.append((f"{epsilon:g}", rule, *(f"{one:.2f}" for one in turned)))
        title = f"{name}: {table.num_items} items, {table.num_users:,} users, pairs turned by noise"
        print_table(title, ("epsilon", "rule", "as released", "cycles reduced"), rows)


def _turned(scores: Callable[..., Any], exact: Any, noisy: Any) -> Any:
    truth, found = (ranks_from_scores(scores(weights)) for weights in (exact, noisy))
    return pr.metrics.kendall_distance(found, truth)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks rules")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--pref_voting", metavar="PYTHON", help="an interpreter that has it")
    given = parser.parse_args()
    with jax.enable_x64(True):
        if given.pref_voting:
            compared(given.pref_voting)
        else:
            noisy(given.draws)
