r"""The release points of this package for :mod:`privrank_jax.privacy_audit.replay`: where data receive noise.

Each comes with the ε that its mechanism loses between two inputs, independently of what its caller assumes about them.
They are named, not imported, since releases depend on this package.

- *Discrete Laplace*: log-probabilities move by at most \|x - x'\|/s in each coordinate.
- *Rounded Gaussian*: the noise was calibrated to (ε, δ) for an ℓ₂ distance; up to that distance the loss at δ is at
  most ε times the share of the distance that was used, and beyond it the loss is larger. *Of several parts* likewise,
  with the distance in units of σ, which differs between the parts of the input.
- *Discrete K-norm*: ε/c times the integer gauge of x - x', that is max \|x - x'\| for the cube, also at least the sums
  over its positive and negative entries divided by k for the cube cut by a limit of k, and, for the zonotope of
  a graph, the smallest r for which flows of at most r along its edges lead from x' to x; ∞ if none do. For rows of
  blocks, the largest sum over a row of the largest differences in its blocks; for a zonotope times intervals, the
  larger of the least r in each part.
- *One-shot top list*: by the range of the changes of scores, and by their sum, see ``_top_list``.
- *One draw among all sets*: by the largest changes of two scores, see ``_selected``.
- *Randomized response*: the sum of ε over the bits that differ.
- *Exponential mechanism*: γ times the range of c(σ) - c'(σ) over σ, which no pair of items can widen by more than
  the change of the difference between its two costs.
- *Mallows*: ε/(k-1) for every pair of items in another order, where k items are ranked; ∞ if other items were ranked.
- *Objective perturbation* with the logistic link, Laplace noise of scale λ and a ridge of at least λ (any ridge under
  flips): 2/λ for each comparison that is added, removed or flipped. Otherwise it is calibrated to ε for one unit, so
  units are counted.
- *Objective perturbation* with features, ties or sets: for each answer added or removed (2 + p/4)/λ with p features,
  2/λ with ties alone (an answer that becomes a tie is counted half, at least), 2/λ for choices, and once V/γ for each
  that is replaced, V = (m - 2)/(m - 1). Rows are counted by a hash of what they say.
- *Shuffled answers*, *reports of two item sets*, *reports of real numbers*: likewise.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import optimize

from privrank_jax.privacy_audit.replay import Door, Loss


def _halves(counts: np.ndarray) -> np.ndarray:
    return np.asarray(counts) / 2


def _laplace(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    return np.abs(first - second).sum() / facts["scale"]


def _integer_laplace(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    return float(np.abs(first - second).sum() / facts["noise_scale"])


def _gaussian(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    moved = np.linalg.norm((first - second).astype(float))
    return facts["epsilon"] * moved / facts["sensitivity"]


def _gaussian_parts(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    scales = [float(scale) for number, scale in facts["parts"] for _ in range(number)]
    moved = np.linalg.norm((first - second) / np.array(scales))
    return facts["epsilon"] * moved / float(facts["budget"])


def _cube(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    return facts["epsilon"] * np.abs(first - second).max() / facts["change"]


def _zonotope(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    return facts["epsilon"] * _least_flow(first - second, facts["graph"].edges) / facts["change"]


def _least_flow(moved: np.ndarray, edges: np.ndarray) -> float:
    """The smallest whole r such that ``moved`` is Σ_e t_e(e_i - e_j) with |t_e| <= r; ∞ if there are no such t_e."""
    columns = np.arange(len(edges))
    incidence = np.zeros((moved.size, len(edges) + 1))
    incidence[edges[:, 0], columns], incidence[edges[:, 1], columns] = 1, -1
    limits = np.hstack(
        [np.vstack([np.eye(len(edges)), -np.eye(len(edges))]), -np.ones((2 * len(edges), 1))]
    )
    found = optimize.linprog(
        np.append(np.zeros(len(edges)), 1.0),
        A_ub=limits,
        b_ub=np.zeros(len(limits)),
        A_eq=incidence,
        b_eq=moved,
        bounds=(None, None),
    )
    return np.ceil(found.fun - 1e-6) if found.success else np.inf


def _top_list(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    """ε times the share of λε that a list needs for these moves, less a number: k ranges, or all of them added up."""
    moves = (second - first) / 2
    needed = min(facts["k"] * np.ptp(moves), np.abs(moves - np.median(moves)).sum())
    return float(facts["epsilon"] * needed / facts["change"])


def _selected(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    """ε times the share of what utilities may move apart, or of what two scores may.

    Of two sets the utilities move apart by two moves less two others, of which one two are of different items.
    """
    moves = np.sort((second - first) / 2)
    apart = reach = np.ptp(moves)
    if facts["k"] > 1:
        apart = max(moves[-2:].sum() - 2 * moves[0], 2 * moves[-1] - moves[:2].sum())
    return float(facts["epsilon"] * max(apart / facts["change"], reach / facts["reach"]))


def _flips(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    return float(np.broadcast_to(facts["epsilon"], first.shape)[first != second].sum())


def _costs(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    moved = (first - first.T) - (second - second.T)
    return float(facts["rate"]) * np.abs(moved[np.triu_indices(len(moved), 1)]).sum()


def _turned(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    if np.any((first < 0) != (second < 0)):
        return np.inf
    pairs = [np.sign(r[:, :, None] - r[:, None, :]) for r in (first, second)]
    both = (first[:, :, None] >= 0) & (first[:, None, :] >= 0)
    turned = ((pairs[0] != pairs[1]) & both).sum((1, 2)) / 2
    steps = np.maximum((first >= 0).sum(1) - 1, 1)
    return float((turned * np.broadcast_to(facts["epsilon"], len(first)) / steps).sum())


def _comparisons(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    """ε times the share of a unit's comparisons that were flipped, moved to another pair, added or removed."""
    moved, promise = np.abs(first - second).sum(), facts["privacy"]
    if promise.adjacency == "flip" and np.any(first + first.T != second + second.T):
        return np.inf
    limit = promise.comparisons_per_unit
    return promise.epsilon * moved / (limit * (1 if promise.adjacency == "add-remove" else 2))


def _objective(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    """2/λ for each comparison added, removed or flipped; by its promise for other noise, and for another link."""
    link, weighted = facts["facts"].rules
    tilt, parts = facts["tilt"], 2048 if weighted else 2
    first, second = first / parts, second / parts
    promised = _comparisons(first, second, {"privacy": tilt.privacy})
    if link.name != "logistic" or tilt.noise != "laplace" or not np.isfinite(promised):
        return promised
    flips = tilt.privacy.adjacency == "flip"
    if not flips and _too_small(tilt):
        return np.inf
    moved = np.abs(first - second).sum() / (2 if flips else 1)
    return float(2 * moved / float(tilt.scale))


def _too_small(tilt: Any) -> bool:
    """No ridge, no proof."""
    return tilt.gamma < float(tilt.scale) * (1 - 1e-9)


_BINS = 2**16


def _binned(rows: np.ndarray, times: np.ndarray) -> np.ndarray:
    """How many rows have each hash, so that tables of different lengths compare."""
    found = np.zeros(_BINS)
    for row, number in zip(np.ascontiguousarray(rows), times):
        found[zlib.crc32(row.tobytes()) % _BINS] += number
    return found


def _meeting_rows(rows: np.ndarray) -> np.ndarray:
    """The number of features, then the binned rows."""
    return np.append(rows.shape[1] - 3, _binned(rows, np.ones(len(rows))))


def _meetings(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    tilt = facts["tilt"]
    if _too_small(tilt) or first[0] != second[0]:
        return np.inf
    return float(np.abs(first - second).sum() * (2 + first[0] / 4) / float(tilt.scale))


def _tied(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    """Doubled win counts, then the number of ties."""
    tilt = facts["tilt"]
    return np.inf if _too_small(tilt) else np.abs(first - second)[:-1].sum() / float(tilt.scale)


def _choice_rows(rows: np.ndarray) -> np.ndarray:
    return _binned(rows[:, 1:], rows[:, 0])


def _choices(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    tilt = facts["tilt"]
    if _too_small(tilt):
        return np.inf
    moved, spread = first - second, 1 - 1 / max(facts["facts"].num_items - 1, 1)
    one_way = max(moved.clip(0).sum(), -moved.clip(None, 0).sum())
    return float(2 * np.abs(moved).sum() / float(tilt.scale) + one_way * spread / float(tilt.gamma))


def _users(first: np.ndarray, second: np.ndarray, facts: Mapping[str, Any]) -> float:
    """The sum of ε over users of the first data set who are missing from the second; their order is ignored."""
    rows = [Counter(map(bytes, np.ascontiguousarray(r, np.int64))) for r in (first, second)]
    each = facts["epsilon"] if "epsilon" in facts else facts["privacy"].epsilon
    return float(each) * (rows[0] - rows[1]).total()


def _door(place: str, loss: Loss, data: str = "", **how: Any) -> Door:
    return Door(function=f"privrank_jax.{place}", data=data, loss=loss, **how)


DOORS = (
    _door("exact.discrete_noise:discrete_laplace", _laplace, builds=True),
    _door("exact.discrete_noise:discrete_gaussian", _gaussian, builds=True),
    _door("exact.k_norm:discrete_cube", _cube, builds=True),
    _door("exact.k_norm:discrete_zonotope", _zonotope, builds=True),
    _door("exact.rounded_gaussian:gaussian_mechanism", _gaussian_parts, "values"),
    _door("exact.integer_laplace:laplace_mechanism", _integer_laplace, "values"),
    _door("exact.selection:one_shot", _top_list, "doubled"),
    _door("exact.selection:best_set", _selected, "doubled"),
    _door("exact.randomized_response:flipped_bits", _flips, "bits"),
    _door("exact.exponential:best_first", _costs, "costs"),
    _door("exact.mallows:synthetic_ranks", _turned, "ranks", rows=True),
    _door("pairwise.perturbed_fit:perturbed_scores", _objective, "counts"),
    _door("pairwise.perturbed_answers:perturbed_meetings", _meetings, "rows", read=_meeting_rows),
    _door("pairwise.perturbed_answers:perturbed_ties", _tied, "counts"),
    _door("pairwise.perturbed_answers:perturbed_sets", _choices, "rows", read=_choice_rows),
    _door("exact.local_reports:leads", _users, "ranks"),
    _door("exact.local_reports:shuffled_leads", _users, "ranks"),
    _door("exact.local_reports:two_sets", _users, "ranks"),
    _door("aggregation.local_borda:ldp_borda", _users, "data"),
    _door("aggregation.local_borda:ldp_borda_privunit", _users, "data"),
    _door("aggregation.ldp_sorting:ldp_kwiksort", _users, "ranks"),
)
"""All release points; everything that the command line releases passes through them."""
