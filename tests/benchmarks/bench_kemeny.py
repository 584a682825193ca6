"""Exact Kemeny rankings: 1,000 instances of 10 items in one batch, one of 20 items against HiGHS, and up to 40 items.

``python -m tests.benchmarks kemeny [--short] [--large] [--sets] [--seconds=60] [--instances=3] [--corankco=PYTHON]``:
``--large`` prints only the tables of 20, 30 and 40 items, ``--short`` takes one instance of each and at most 10 seconds
for it. ``--sets`` prints only what is proved for the named sets of rankings and for votes like those of PrefLib, with
``--corankco`` beside the exact methods of corankco, run by an interpreter that has it (version 7.2.0, whose free solver
is CBC; ParCons splits the problem first, and here solves its parts exactly, too). It counts the rankings in its time,
which matters for sushi; our time is that of ``kemeny`` for counted weights. No printed times of exact solvers were
found for data that are at hand, neither for corankco nor for PrefLib.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import time

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
import scipy.sparse

import privrank_jax as pr
from privrank_jax.aggregation.dynamic_program import exact_kemeny
from privrank_jax.aggregation.kemeny_rule import ProvenRanking
from privrank_jax.data import named_rankings
from tests.benchmarks.harness import print_table, ratios, side_by_side
from tests.reference import aggregation as reference

INSTANCES, ITEMS, MORE_ITEMS = 1_000, 10, 20
HEADER = ("method", "median time", "times ours")


def full_integer_program(w: np.ndarray) -> float:
    """All pairs and all triangles at once, as one writes it for SciPy."""
    items = len(w)
    first, second = np.triu_indices(items, 1)
    column = np.zeros((items, items), int)
    column[first, second] = np.arange(len(first))
    i, j, k = np.array([t for t in np.ndindex(items, items, items) if t[0] < t[1] < t[2]]).T
    rows = np.repeat(np.arange(len(i)), 3)
    columns = np.stack([column[i, j], column[j, k], column[i, k]], 1).ravel()
    matrix = scipy.sparse.csr_matrix((np.tile([1.0, 1.0, -1.0], len(i)), (rows, columns)))
    result = scipy.optimize.milp(
        (w.T - w)[first, second],
        constraints=scipy.optimize.LinearConstraint(matrix, 0, 1),
        bounds=(0, 1),
        integrality=np.ones(len(first)),
    )
    return float(result.fun + w[first, second].sum())


def batch() -> None:
    """Print the table of the small instances."""
    problems = reference.tournaments("uniform", INSTANCES, ITEMS)
    layers = reference.subset_layers(ITEMS)
    solve = jax.jit(jax.vmap(exact_kemeny))
    score = jax.jit(jax.vmap(pr.aggregation.kemeny_score))
    on_device = jnp.asarray(problems)

    def by_layers() -> list[float]:
        return [reference.subset_program_by_layers(w, layers)[0] for w in problems]

    runs = {
        "privrank_jax, one batch": lambda: solve(on_device),
        "loop over NumPy, all subsets of one size at once": by_layers,
    }
    least = np.array(by_layers())
    found = np.asarray(score(solve(on_device), on_device))
    assert np.abs(found / least - 1).max() < 1e-5
    seconds = side_by_side(runs, rounds=9)
    few = {"": lambda: [reference.subset_program(w) for w in problems[:20]]}
    textbook = side_by_side(few, rounds=1)[""] * INSTANCES / 20
    seconds["loop over NumPy, a subset at a time (from 20 instances)"] = textbook
    title = f"{INSTANCES:,} exact Kemeny rankings of {ITEMS} items"
    print_table(title, HEADER, ratios(seconds, "privrank_jax, one batch"))


def single() -> None:
    """Print a table for each kind of instance: votes are easy for HiGHS, tournaments without any order are not."""
    exact_kemeny(np.zeros((MORE_ITEMS, MORE_ITEMS))).block_until_ready()
    for kind in ("votes", "uniform", "majority"):
        problems = reference.tournaments(kind, 5, MORE_ITEMS)
        for w in problems:
            score = float(pr.aggregation.kemeny_score(exact_kemeny(w), w))
            assert abs(score / full_integer_program(w) - 1) < 1e-5
        runs = {
            "privrank_jax, subsets": lambda p=problems: [
                jax.block_until_ready(exact_kemeny(w)) for w in p
            ],
            "privrank_jax, HiGHS with triangles added when violated": lambda p=problems: [
                pr.aggregation.kemeny(w) for w in p
            ],
            "SciPy milp (HiGHS), all triangles": lambda p=problems: [
                full_integer_program(w) for w in p
            ],
        }
        seconds = {name: value / 5 for name, value in side_by_side(runs, rounds=5).items()}
        title = f"exact Kemeny ranking of {MORE_ITEMS} items, {kind}: mean of 5 instances"
        print_table(title, HEADER, ratios(seconds, "privrank_jax, subsets"))


FAMILIES = (
    "Mallows, theta 0.03",
    "Mallows, theta 0.1",
    "Mallows, theta 0.5",
    "Plackett-Luce",
    "three camps",
    "urn",
    "random votes, 5 users",
    "random votes, 11 users",
    "random votes, 101 users",
    "inconsistent weights",
    "uniform weights",
    "tournaments of 0 and 1",
)


def votes(family: str, items: int, seed: int) -> np.ndarray | None:
    """Ranks (users, items) of a crowd; None for families of weights that no votes stand behind."""
    rng = np.random.default_rng([seed, items])

    def ranked(scores: np.ndarray) -> np.ndarray:
        return np.argsort(np.argsort(-scores, axis=1), axis=1)

    kind, _, size = family.partition(", ")
    if kind == "Mallows":
        keys = jax.random.split(jax.random.key(seed), 25)
        epsilon = float(size[6:]) * (items - 1)  # of a decay of theta
        draw = jax.vmap(lambda key: pr.mallows.sample(key, np.arange(items), epsilon))
        return np.asarray(draw(keys))
    if kind == "Plackett-Luce":
        return ranked(rng.normal(size=items) * 0.3 + rng.gumbel(size=(25, items)))
    if kind == "three camps":
        centers = np.argsort(rng.random((3, items)), axis=1)
        return ranked(centers[np.arange(30) % 3] + rng.normal(size=(30, items)) * items / 4)
    if kind == "urn":  # a voter copies an earlier one with odds of a tenth of their number
        found: list[np.ndarray] = []
        for user in range(101):
            copies = rng.random() < 0.1 * user / (1 + 0.1 * user)
            found.append(found[rng.integers(user)] if copies else rng.permutation(items))
        return np.array(found)
    if kind == "random votes":
        return ranked(rng.random((int(size.split()[0]), items)))
    return None


def weights_of(family: str, items: int, seed: int) -> np.ndarray:
    """A weight matrix of the family."""
    ranks = votes(family, items, seed)
    if ranks is not None:
        return np.asarray(pr.aggregation.PairWeights.from_ranks(ranks).matrix, float)
    kinds = {"inconsistent weights": "inconsistent", "uniform weights": "uniform"}
    return reference.tournaments(kinds.get(family, "majority"), 1, items, seed)[0]


def _timed(w: np.ndarray, limit: float) -> tuple[ProvenRanking, float]:
    started = time.process_time()
    return pr.aggregation.kemeny(w, time_limit=limit), time.process_time() - started


def large(instances: int, limit: float) -> None:
    """Print what is proved within the time limit, and how far other methods are from the best ranking found."""
    proofs, ratios_of = [], []
    for family in FAMILIES:
        for items in (20, 30, 40):
            runs = []
            excess: dict[str, list[float]] = {}
            for seed in range(instances):
                w = weights_of(family, items, seed)
                runs.append(_timed(w, limit))
                least = runs[-1][0].cost
                for name, ranks in _cheap(family, items, seed, w).items():
                    score = reference.kemeny_score(np.asarray(ranks), w)
                    excess.setdefault(name, []).append(score / least)
            gap = np.mean([best.ratio - 1 for best, _ in runs])
            row = [
                family,
                str(items),
                f"{sum(best.ratio == 1 for best, _ in runs)}/{instances}",
                f"{np.median([seconds for _, seconds in runs]):.2f} s",
                f"{100 * gap:.2f} %" if gap > 0 else "",
            ]
            proofs.append(tuple(row))
            print("  ".join(row), flush=True)
            means = [f"{np.mean(excess[n]):.4f}" if n in excess else "" for n in CHEAP]
            ratios_of.append((family, str(items), *means))
    header = ("family", "items", "proved", "processor", "gap")
    title = f"exact Kemeny rankings within {limit:g} s each (medians of processor time, mean gaps)"
    print_table(title, header, proofs)
    title = "Kemeny score relative to the best ranking found (means)"
    print_table(title, ("family", "items", *CHEAP), ratios_of)


SIMULATED = (
    *(("Mallows, theta 0.03", 30), ("Mallows, theta 0.1", 30), ("Mallows, theta 0.5", 30)),
    *(("Plackett-Luce", 16), ("Plackett-Luce", 40), ("three camps", 30), ("urn", 30)),
    *(
        ("random votes, 11 users", 16),
        ("random votes, 11 users", 24),
        ("random votes, 11 users", 40),
    ),
    *(("random votes, 101 users", 40), ("uniform weights", 30), ("uniform weights", 40)),
)
CORANKCO = """
import json, resource, sys
from corankco.algorithms.exact.exactalgorithmpulp import ExactAlgorithmPulp
from corankco.algorithms.parcons.parcons import ParCons
from corankco.dataset import Dataset
from corankco.scoringscheme import ScoringScheme

def busy():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)

def solve(method, orders):
    rankings = Dataset.from_raw_list([[{item} for item in order] for order in orders])
    started = busy()
    found = method.compute_consensus_rankings(rankings, penalties, True)
    return found.kemeny_score, busy() - started

penalties = ScoringScheme([[0.0, 1.0, 1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0, 1.0, 0.0]])
orders, name = json.load(sys.stdin)
exact = ExactAlgorithmPulp()
method = exact if name == "exact" else ParCons(auxiliary_algorithm=exact, bound_for_exact=0)
solve(method, [[0, 1, 2], [1, 2, 0], [2, 0, 1]])
print(json.dumps(solve(method, orders)))
"""


def by_corankco(
    python: str, name: str, ranks: np.ndarray, limit: float
) -> tuple[float, float] | None:
    """Score and seconds of processors of a method of corankco; None if the limit of time on the wall was reached."""
    command = [python, "-c", CORANKCO]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, start_new_session=True
    ) as child:
        try:
            text, _ = child.communicate(
                json.dumps([np.argsort(ranks, axis=1).tolist(), name]), timeout=limit
            )
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # with its solver
            return None
    assert child.returncode == 0
    return tuple(json.loads(text.splitlines()[-1]))


def sets(limit: float, python: str | None) -> None:
    """Print what is proved for sets of rankings, and the time it takes."""
    rows = []
    held: list[tuple[str, np.ndarray | None, np.ndarray]] = []
    for name in named_rankings.available_rankings():
        table = named_rankings.load_rankings(name)
        weights = pr.aggregation.PairWeights.from_ranks(table.ranks, missing=table.missing)
        strict = table.ranks if table.complete and not table.tied else None
        held.append((name, strict, np.asarray(weights.matrix, float)))
    for family, items in SIMULATED:
        held.append((family, votes(family, items, 0), weights_of(family, items, 0)))
    for name, ranks, w in held:
        best, seconds = _timed(w, limit)
        row = [
            name,
            str(len(w)),
            f"{best.cost:.6g}",
            f"{best.ratio:.6f}",
            f"{seconds:.3f} s",
            best.solver,
        ]
        for method in ("exact", "ParCons") if python else ():
            other = None if ranks is None else by_corankco(python or "", method, ranks, limit)
            if other is None:
                row += ["" if ranks is None else f"> {limit:g} s", ""]
                continue
            score, busy = other
            assert best.ratio > 1 + 1e-9 or abs(score / (best.cost * len(ranks)) - 1) < 1e-6  # type: ignore[arg-type]
            row += [f"{busy:.3f} s", f"{busy / seconds:.1f}"]
        rows.append(tuple(row))
        print("  ".join(row), flush=True)
    header = ("rankings", "items", "score", "proved ratio", "processor", "solver")
    if python:
        header += ("corankco", "times ours", "ParCons", "times ours")
    print_table(f"Kemeny rankings of sets, at most {limit:g} s each", header, rows)


CHEAP = ("Borda", "Copeland", "KwikSort", "footrule", "local search")


def _cheap(family: str, items: int, seed: int, w: np.ndarray) -> dict[str, np.ndarray]:
    with jax.enable_x64(True):
        found = {
            "Borda": np.argsort(np.argsort(-np.asarray(pr.aggregation.borda_scores(w)))),
            "Copeland": pr.aggregation.copeland(w),
            "KwikSort": pr.aggregation.kwiksort(jax.random.key(seed), w),
            "local search": pr.aggregation.local_search(w),
        }
    ranks = votes(family, items, seed)
    if ranks is not None:
        histograms = pr.aggregation.PositionHistograms.from_ranks(ranks)
        found["footrule"] = pr.aggregation.footrule_optimal(histograms).ranks
    return {name: np.asarray(ranks) for name, ranks in found.items()}


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks kemeny")
    parser.add_argument("--short", action="store_true", help="one instance of each family, 10 s")
    parser.add_argument("--large", action="store_true", help="only the tables of 20 to 40 items")
    parser.add_argument("--sets", action="store_true", help="only the table of sets of rankings")
    parser.add_argument("--corankco", metavar="PYTHON", help="an interpreter that has corankco")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit for each proof")
    parser.add_argument("--instances", type=int, default=3, help="instances of each family")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    if given.sets:
        sets(given.seconds, given.corankco)
        raise SystemExit
    if not given.large:
        batch()
        single()
    large(1 if given.short else given.instances, 10.0 if given.short else given.seconds)
