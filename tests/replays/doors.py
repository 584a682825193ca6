r"""The release points of this package for :mod:`tests.replays.replay`: where data receive noise.

Each comes with the ε that its mechanism loses between two inputs, independently of what its caller assumes about them.
They are named, not imported, since releases depend on this package.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from privrank_jax.privacy_audit import laws
from tests.replays.replay import Door, Loss

Facts = Mapping[str, Any]
_BINS = 2**16


# --- noise on numbers ------------------------------------------------------------------------------


def _laplace(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """Log-probabilities of integer Laplace noise move by at most \\|x - x'\\|/s in each number."""
    scale = facts["scale"] if "scale" in facts else facts["noise_scale"]
    return float(np.abs(first - second).sum() / scale)


def _gaussian(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """The share of the ℓ₂ distance to which (ε, δ) was calibrated: up to it the loss at δ is at most that of ε.

    The distance is in units of σ where these differ between the parts of the input.
    """
    parts = facts.get("parts", ((first.size, 1),))
    units = np.repeat([float(scale) for _, scale in parts], [number for number, _ in parts])
    moved = np.linalg.norm((first - second).ravel() / units)
    return facts["epsilon"] * moved / float(facts["budget" if "parts" in facts else "sensitivity"])


def _cube(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """ε/c times the norm of the cube."""
    return facts["epsilon"] * np.abs(first - second).max() / facts["change"]


def _zonotope(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """ε/c times the least whole r for which flows of at most r along the edges lead from x' to x; ∞ if none do.

    By all cuts: a side's sum moves by at most r for each edge that leaves it, and such flows exist if that holds.
    """
    moved = first - second
    lengths = np.zeros((moved.size, moved.size))
    np.add.at(lengths, tuple(facts["graph"].edges.T), 1)
    sides, cuts = laws.cuts(lengths + lengths.T)
    sums = np.abs(sides @ moved)
    if moved.sum() or sums[cuts == 0].any():
        return np.inf
    shares = sums[cuts > 0] / cuts[cuts > 0]
    return facts["epsilon"] * np.ceil(shares.max() - 1e-6) / facts["change"]


# --- selections and single answers -----------------------------------------------------------------


def _top_list(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """ε times the share of λε that a list needs for these moves, less a number: k ranges, or all of them added up."""
    moves = (second - first) / 2
    needed = min(facts["k"] * np.ptp(moves), np.abs(moves - np.median(moves)).sum())
    return float(facts["epsilon"] * needed / facts["change"])


def _selected(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """ε times the share of what utilities may move apart, or of what two scores may.

    Of two sets the utilities move apart by two moves less two others, of which one two are of different items.
    """
    moves = np.sort((second - first) / 2)
    apart = reach = np.ptp(moves)
    if facts["k"] > 1:
        apart = max(moves[-2:].sum() - 2 * moves[0], 2 * moves[-1] - moves[:2].sum())
    return float(facts["epsilon"] * max(apart / facts["change"], reach / facts["reach"]))


def _costs(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """γ times the range of c(σ) - c'(σ), which no pair widens by more than the change between its two costs."""
    moved = (first - first.T) - (second - second.T)
    return float(facts["rate"]) * np.abs(moved[np.triu_indices(len(moved), 1)]).sum()


def _flips(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """The sum of ε over the bits that differ."""
    return float(np.broadcast_to(facts["epsilon"], first.shape)[first != second].sum())


def _turned(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """ε/(k-1) for every pair of items in another order, where k items are ranked; ∞ if other items were ranked."""
    if np.any((first < 0) != (second < 0)):
        return np.inf
    pairs = [np.sign(r[:, :, None] - r[:, None, :]) for r in (first, second)]
    both = (first[:, :, None] >= 0) & (first[:, None, :] >= 0)
    turned = ((pairs[0] != pairs[1]) & both).sum((1, 2)) / 2
    steps = np.maximum((first >= 0).sum(1) - 1, 1)
    return float((turned * np.broadcast_to(facts["epsilon"], len(first)) / steps).sum())


def _users(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """The sum of ε over users of the first data set who are missing from the second; their order is ignored."""
    rows = [Counter(map(bytes, np.ascontiguousarray(r, np.int64))) for r in (first, second)]
    each = facts["epsilon"] if "epsilon" in facts else facts["privacy"].epsilon
    return float(each) * (rows[0] - rows[1]).total()


# --- noise in the objective ------------------------------------------------------------------------


def _gradients(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """How far sums of ℓ₁ norms of gradients and curvatures moved over λ; ∞ without a ridge of λ, where no proof is."""
    scale = float(facts["tilt"].scale)
    enough = facts["tilt"].gamma >= scale * (1 - 1e-9)
    return float(np.abs(first - second).sum() / scale) if enough else np.inf


def _objective(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """2/λ for each comparison added, removed or flipped; by its promise for other noise, and for another link."""
    link, weighted = facts["facts"].rules
    tilt, parts = facts["tilt"], 2048 if weighted else 2
    moved, promise = np.abs(first - second).sum() / parts, tilt.privacy
    flips = promise.adjacency == "flip"
    if flips and np.any(first + first.T != second + second.T):
        return np.inf
    if link.name != "logistic" or tilt.noise != "laplace":
        each = 1 if promise.adjacency == "add-remove" else 2
        return promise.epsilon * moved / (promise.comparisons_per_unit * each)
    if flips:  # of which each moves two counts, and no curvature
        return float(moved / float(tilt.scale))
    return _gradients(2 * first / parts, 2 * second / parts, facts)


def _choices(first: np.ndarray, second: np.ndarray, facts: Facts) -> float:
    """2/λ for each choice, and once V/γ for each that is replaced, V = (m - 2)/(m - 1)."""
    moved, spread = (first - second) / 2, 1 - 1 / max(facts["facts"].num_items - 1, 1)
    one_way = max(moved.clip(0).sum(), -moved.clip(None, 0).sum())
    return _gradients(first, second, facts) + one_way * spread / float(facts["tilt"].gamma)


def _binned(rows: np.ndarray, times: np.ndarray | None = None) -> np.ndarray:
    """How many rows have each hash, so that tables of different lengths compare."""
    hashes = [zlib.crc32(row.tobytes()) % _BINS for row in np.ascontiguousarray(rows)]
    return np.bincount(np.array(hashes, int), times, _BINS)


def _meetings(rows: np.ndarray) -> np.ndarray:
    """2 + p/4 for each answer with p features."""
    return (2 + (rows.shape[1] - 3) / 4) * _binned(rows)


def _door(place: str, loss: Loss, data: str = "", **how: Any) -> Door:
    return Door(function=f"privrank_jax.{place}", data=data, loss=loss, **how)


_OF_CHOICES = {"read": lambda rows: 2 * _binned(rows[:, 1:], rows[:, 0])}
_OF_TIES = {"read": lambda counts: np.array(counts)[:-1]}  # doubled wins; a tie is counted half

DOORS = (
    _door("exact.discrete_noise:discrete_laplace", _laplace, builds=True),
    _door("exact.discrete_noise:discrete_gaussian", _gaussian, builds=True),
    _door("exact.k_norm:discrete_cube", _cube, builds=True),
    _door("exact.k_norm:discrete_zonotope", _zonotope, builds=True),
    _door("exact.rounded_gaussian:gaussian_mechanism", _gaussian, "values"),
    _door("exact.integer_laplace:laplace_mechanism", _laplace, "values"),
    _door("exact.selection:one_shot", _top_list, "doubled"),
    _door("exact.selection:best_set", _selected, "doubled"),
    _door("exact.randomized_response:flipped_bits", _flips, "bits"),
    _door("exact.exponential:best_first", _costs, "costs"),
    _door("exact.mallows:synthetic_ranks", _turned, "ranks", rows=True),
    _door("pairwise.perturbed_fit:perturbed_scores", _objective, "counts"),
    _door("pairwise.perturbed_answers:perturbed_meetings", _gradients, "rows", read=_meetings),
    _door("pairwise.perturbed_answers:perturbed_ties", _gradients, "counts", **_OF_TIES),
    _door("pairwise.perturbed_answers:perturbed_sets", _choices, "rows", **_OF_CHOICES),
    _door("exact.local_reports:leads", _users, "ranks"),
    _door("exact.local_reports:shuffled_leads", _users, "ranks"),
    _door("exact.local_reports:two_sets", _users, "ranks"),
    _door("aggregation.vector_reports:ldp_borda", _users, "data"),
    _door("aggregation.vector_reports:ldp_borda_privunit", _users, "data"),
    _door("aggregation.ldp_sorting:ldp_kwiksort", _users, "ranks"),
)
"""All release points; everything that the command line releases passes through them."""
