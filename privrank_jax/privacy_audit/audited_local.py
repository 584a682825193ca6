"""Audited mechanisms by which users randomize: answers, labels, vectors, ranks, and the messages of consensus."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from privrank_jax import aggregation, mallows, preferences, privacy
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.ldp_sorting import local_plan, respond
from privrank_jax.aggregation.published import published_local_plan, zero_one_response
from privrank_jax.aggregation.query_reduction import local_by_queries
from privrank_jax.aggregation.subset_designs import designs
from privrank_jax.aggregation.subset_selection import last_accepted
from privrank_jax.estimate import Estimate
from privrank_jax.mallows.laplace import laplace_rank_scale, laplace_ranks
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.local import flip_threshold, laplace_reports
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.vectors import duchi_vectors, privunit_cap, privunit_vectors
from privrank_jax.privacy_audit import contents, laws, neighbors, rows
from privrank_jax.privacy_audit.audited_rankings import NUM_ITEMS, ORDERS, QUERIES, number
from privrank_jax.privacy_audit.registry import Audited, Facts, Release
from privrank_jax.privacy_audit.rows import USER, audited, like, named, on, reported

Array = jax.Array

_PAIRS, _USERS = NUM_ITEMS * (NUM_ITEMS - 1) // 2, 3
_RANKING, _REVERSAL = np.array([0, 1, 2]), np.array([2, 1, 0])
_ABOVE = np.triu_indices(NUM_ITEMS, 1)

# --- laws ------------------------------------------------------------------------------------------


def flip_share(epsilon: float) -> float:
    """The exact flip probability of randomized response, given the 32-bit words with which it is drawn."""
    return float(flip_threshold(jnp.asarray(epsilon, jnp.float64))) / 2.0**32


def vector_law(
    vectors: np.ndarray, epsilon: float, mechanism: str, radius: float = 1.0, zero_sum: bool = False
) -> np.ndarray:
    """Log densities of ``"duchi"`` or ``"privunit"`` reports on ``vectors (D, d)``, which may sum to 0 publicly.

    See :func:`~privrank_jax.privacy_audit.laws.two_density_vectors`; the odds of PrivUnit's two densities follow from
    the probability of leaving its cap, as it is drawn, and from the cap's share.
    """
    if mechanism == "duchi":
        return laws.two_density_vectors(vectors, radius, 0.0, epsilon)
    cap = privunit_cap(vectors.shape[1] - zero_sum, epsilon)
    high, low = (int(word) for word in cap.off)
    off, share = (high * 2**32 + low) / 2**64, float(cap.share)
    odds = np.log((1 - off) / off) - np.log(share / (1 - share))
    return laws.two_density_vectors(vectors, radius, float(cap.height), odds)


def _signs(ranks: np.ndarray) -> np.ndarray:
    """For each pair i < j: 1 where i is before j, -1 where it is behind, 0 where they are tied."""
    first, second = _ABOVE
    return np.sign(ranks[:, second] - ranks[:, first]).astype(float)


def _centered_scores(ranks: np.ndarray) -> np.ndarray:
    """Items beaten, ties counting half, minus their mean."""
    return np.sum(np.sign(ranks[:, None, :] - ranks[:, :, None]), axis=-1) / 2


def _flips_law(bits: np.ndarray, epsilon: float) -> np.ndarray:
    """Log probabilities of what is told of k bits ``(D, k)``, each at ε/k, in binary order."""
    size = bits.shape[1]
    told = np.array(list(itertools.product((0, 1), repeat=size)))
    wrong, flip = np.sum(bits[:, None, :] != told, axis=-1), flip_share(epsilon / size)
    return wrong * math.log(flip) + (size - wrong) * math.log1p(-flip)


def _two_sets_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    """Log probabilities of type, side and sets: with ties, the mean over the strict rankings that agree otherwise."""
    table, orders = designs(NUM_ITEMS), neighbors.strict_orders(NUM_ITEMS)
    costs = table.costs(float(privacy.epsilon))
    row = int(np.argmin(costs.sum(axis=1)))
    used = np.flatnonzero(table.weight[row])
    types = np.stack([column[row, used] for column in (table.ahead, table.behind, table.threshold)])
    last = last_accepted(jnp.asarray(privacy.epsilon, jnp.float64))
    chances, kept = costs[row, used] / costs[row].sum(), (float(last) + 1) / 2.0**32
    law = laws.two_item_sets(NUM_ITEMS - 1 - orders, types.T.tolist(), chances, kept)
    lead, strict = _signs(ranks), _signs(orders)
    agree = np.all((lead[:, None] == 0) | (lead[:, None] == strict), axis=2)
    return np.log(agree / agree.sum(axis=1, keepdims=True) @ np.exp(law))


def _together(
    profiles: np.ndarray, epsilon: float, told: Callable[[list[int], list[int]], Any]
) -> np.ndarray:
    """Probabilities of what is told of the pairs and answers of three users; None of deals that are not made."""
    flip, signs = flip_share(epsilon), _signs(profiles.reshape(-1, NUM_ITEMS))
    ahead = np.where(signs == 0, 0.5, np.where(signs > 0, 1 - flip, flip))
    reports = np.stack([1 - ahead, ahead], axis=-1).reshape(len(profiles), _USERS, _PAIRS, 2)
    found: dict[Any, np.ndarray] = {}
    for pairs in itertools.product(range(_PAIRS), repeat=_USERS):
        for answers in itertools.product((0, 1), repeat=_USERS):
            seen = told([*pairs], [*answers])
            chance = reports[:, range(_USERS), pairs, answers].prod(axis=1)
            found[seen] = found.get(seen, 0) + chance
    found.pop(None, None)
    law = np.stack([found[seen] for seen in sorted(found)], axis=1)
    return law / law.sum(axis=1, keepdims=True)


def _dealt(pairs: list[int], answers: list[int]) -> Any:
    """Three answers, if each user has another pair; who has which is unknown to the observer."""
    return tuple(dict(sorted(zip(pairs, answers))).values()) if len({*pairs}) == _PAIRS else None


def _shuffled_loss(first: np.ndarray, second: np.ndarray, promise: Privacy, _: Facts) -> np.ndarray:
    """Smallest ε at δ between the laws of the multisets of three reports."""
    local = privacy.shuffled_local_epsilon(_USERS, float(promise.epsilon), float(promise.delta))
    multiset = lambda *told: tuple(sorted(zip(*told)))  # noqa: E731
    one, other = (_together(profiles, local, multiset) for profiles in (first, second))
    return laws.least_epsilon(one, other, promise.delta)


# --- consensus -------------------------------------------------------------------------------------


def _three_users() -> neighbors.Instances:
    """Two users keep their rankings; the third has any ranking."""
    orders = neighbors.strict_orders(NUM_ITEMS)
    others = itertools.combinations_with_replacement(orders, 2)
    data = np.array([[*two, own] for two in others for own in orders])
    return neighbors.those_near(data, lambda one, other: np.array_equal(one[:2], other[:2]))


def _strict() -> neighbors.Instances:
    return neighbors.of_values(*neighbors.strict_orders(NUM_ITEMS))


def _row(name: str, release: Release, words: str = "", **fields: Any) -> Audited:
    """A row on one user who holds any ranking, if not told otherwise."""
    usual = {
        "neighbors": (_RANKING, _REVERSAL),
        "promise": USER,
        "trust": "local",
        "instances": lambda: neighbors.of_values(*contents.weak_orders(NUM_ITEMS)),
    }
    return audited(name, release, words, **usual | fields)


def _alone(function: Callable[..., Any]) -> Release:
    """A protocol of one user."""
    return on(function, lambda ranks: ranks[None])


def _vectors() -> neighbors.Instances:
    """Axes, their opposites, shorter vectors, the zero vector, and some oblique ones."""
    across = np.array([[0.5, 0.5, 0.5, 0.5], [0.6, -0.8, 0, 0], [0.1, 0.2, 0.3, -0.1]])
    axes = np.eye(4)
    return neighbors.of_values(*axes, *-axes, *0.3 * axes, 0 * axes[0], *across)


_SCORES: dict[str, Any] = {
    "reduce": lambda scores: scores[0] - scores[2],
    "sees": "the score of item 0 less that of item 2",
}
_WEIGHTS: dict[str, Any] = {
    "reduce": lambda w: jnp.sum(w[_ABOVE]),
    "sees": "the sum of the weights above the diagonal",
}
_VECTOR: dict[str, Any] = {
    "neighbors": (np.eye(4)[0], -np.eye(4)[0]),
    "instances": _vectors,
    "reduce": lambda report: report[0],
    "sees": "the first coordinate of the report",
}
_HELD: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Borda scores": (_centered_scores, _SCORES),
    "pairwise weights": (_signs, _WEIGHTS),
    "a vector": (lambda vectors: vectors, _VECTOR),
}
_PATTERNS: dict[str, Any] = {
    "reduce": lambda w: jnp.sum((w[_ABOVE] > 0.5) * np.array([4, 2, 1])).astype(jnp.int32),
    "outcomes": tuple("".join(signs) for signs in itertools.product("-+", repeat=_PAIRS)),
    "finite": True,
}
_OF_THREE: dict[str, Any] = {
    "neighbors": tuple(np.stack([_RANKING, _RANKING, last]) for last in (_RANKING, _REVERSAL)),
    "instances": _three_users,
}


def _by(mechanism: str, what: str, name: str, release: Release) -> Audited:
    """A row on what one user holds, told by a mechanism for vectors of one length."""
    vectors, seen = _HELD[what]
    longest = vectors(seen.get("neighbors", (_RANKING,))[0][None])
    told = mechanism, float(np.linalg.norm(longest)), not longest.sum()

    def law(data: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
        return vector_law(vectors(data), privacy.epsilon, *told)

    return _row(name, release, f"{what} by {mechanism}", law=law, **seen)


# --- sorting ---------------------------------------------------------------------------------------


def _session(
    key: Array, ranks: Array, privacy: Privacy, planned: Callable[..., Any], response: Any
) -> Array:
    """The messages of one user in a sort that is refused: τ = 1 response (is 0 before 2?) and the report."""
    plan = planned(NUM_ITEMS, privacy, max_queries=QUERIES)
    response_key, report_key = jax.random.split(fused(key))
    lead = jnp.sign(ranks[2] - ranks[0])
    flip = flip_threshold(jnp.asarray(plan.epsilon_per_query, jnp.result_type(float)))
    plus = response(jax.random.bits(response_key, (), jnp.uint32), lead, flip)
    report = aggregation.local_weights.report(report_key, ranks, plan.fallback_epsilon)
    return 2 * plus.astype(jnp.int32) + (jnp.sum(report) > 0).astype(jnp.int32)


def _session_law(
    ranks: np.ndarray, privacy: Privacy, _: Facts, planned: Callable[..., Any], response: Any
) -> np.ndarray:
    """Law of the response, from how many of the 2^32 random words give it, and of the report."""
    plan = planned(NUM_ITEMS, privacy, max_queries=QUERIES)
    flip = flip_share(float(plan.epsilon_per_query))
    chances = {
        respond: {1: 1 - flip, 0: 0.5, -1: flip},
        zero_one_response: {1: 1 - flip, 0: 0.75 - flip / 2, -1: 0.5},
    }[response]
    leads = np.sign(ranks[:, 2] - ranks[:, 0])
    plus = np.array([chances[lead] for lead in leads.tolist()])
    report = vector_law(_signs(ranks), float(plan.fallback_epsilon), "duchi", math.sqrt(_PAIRS))
    return np.concatenate([np.log(p)[:, None] + report for p in (plus, 1 - plus)], axis=1)


def _sorting(
    name: str,
    words: str,
    function: Callable[..., Any] = aggregation.ldp_kwiksort,
    *,
    planned: Callable[..., Any] = local_plan,
    response: Any = respond,
    **fields: Any,
) -> Audited:
    terms = {"planned": planned, "response": response}
    return _row(
        name,
        named(function, functools.partial(_session, **terms)),
        f"messages to {words} that is refused, τ = 1",
        outcomes=tuple(f"response {r}, report {side}" for r in "-+" for side in "-+"),
        law=functools.partial(_session_law, **terms),
        **fields,
    )


# --- synthetic and noisy ranks ---------------------------------------------------------------------

_MOVED = np.array([2, 0, 1])  # item 0 goes from the first place to the last


def _per_rank(privacy: Privacy) -> Any:
    """ε for one rank; a synthetic ranking loses m/2 times that for all ranks of a user together."""
    return privacy.epsilon if privacy.unit == "rank" else 2 * privacy.epsilon / NUM_ITEMS


def _sample(key: Array, ranks: Array, privacy: Privacy) -> Array:
    return mallows.sample(key, ranks, _per_rank(privacy))


def _mallows_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    distances = laws.kendall_distances(ranks, neighbors.strict_orders(NUM_ITEMS))
    return laws.softmax(-_per_rank(privacy) / (NUM_ITEMS - 1) * distances)


_ONE_RANK: dict[str, Any] = {
    "neighbors": (_RANKING, _MOVED),
    "instances": functools.partial(neighbors.moved_ranks, NUM_ITEMS),
    "promise": Privacy(1.0, unit="rank", adjacency="replace"),
}
_SYNTHETIC: dict[str, Any] = {
    "release": named(mallows.sample, _sample),
    "reduce": number,
    "outcomes": ORDERS,
    "finite": True,
    "law": _mallows_law,
}


# --- answers and labels ----------------------------------------------------------------------------

_PROMPTS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])  # two of one user, and one of another


def _label_sums(labels: np.ndarray) -> np.ndarray:
    """Sums over both users of what their labels say, ``(D, 2)``, each of at most the length that training clips to."""
    each = (labels[:, :, None] - 0.5) * _PROMPTS
    users = np.stack([each[:, :2].sum(1), each[:, 2]], axis=1)
    bound = np.sqrt(len(_PROMPTS) / 8)  # of the mean of 2/4 and 1/4
    lengths = np.linalg.norm(users, axis=2, keepdims=True)
    return np.sum(users * np.minimum(1, bound / lengths), axis=1)


def _trained(key: Array, data: Array, privacy: Privacy) -> Estimate:
    """One whole step of training, which ends at the noisy sum."""
    score = lambda weights, prompt: jnp.sum(weights * prompt)  # noqa: E731
    given = data, privacy, score, jnp.zeros(2), jnp.asarray(_PROMPTS)
    terms = {"steps": 1, "clip": 1.0, "optimizer": optax.sgd(3.0)}  # of a mean over three labels
    found = preferences.train_on_labels(key, *given, users=np.array([0, 0, 1]), **terms)
    (scale,) = found.diagnostics.noise_scale
    return dataclasses.replace(found, diagnostics=NoiseDiagnostics(scale))


def _labels_of_users() -> neighbors.Instances:
    """All labels of both users; neighbors are those of which one user's differ."""
    labels = np.array(list(itertools.product((0, 1), repeat=3)))
    alike = lambda one, other: (one[:2] == other[:2]).all() or one[2] == other[2]  # noqa: E731
    return neighbors.those_near(labels, alike)


_ANSWER: dict[str, Any] = {
    "promise": like(rows.ANSWER, "flip"),
    "neighbors": (np.array(1), np.array(0)),
    "instances": lambda: neighbors.of_values(0, 1),
    "sees": "the report",
}

AUDITED = (
    _by("duchi", "Borda scores", "ldp-borda", _alone(aggregation.ldp_borda)),
    _by(
        "privunit",
        "Borda scores",
        "ldp-borda-privunit",
        _alone(aggregation.vector_reports.ldp_borda_privunit),
    ),
    _by("duchi", "pairwise weights", "local-weights-duchi", _alone(aggregation.local_weights)),
    _by(
        "privunit",
        "pairwise weights",
        "local-weights-privunit",
        _alone(aggregation.vector_reports.local_weights_privunit),
    ),
    _by("duchi", "a vector", "duchi-vectors", reported(duchi_vectors)),
    _by("privunit", "a vector", "privunit-vectors", reported(privunit_vectors)),
    _row(
        "ldp-borda-subsets",
        _alone(aggregation.ldp_borda_subsets),
        law=_two_sets_law,
        **_SCORES,
    ),
    _row(
        "local-weights-rr",
        _alone(aggregation.vector_reports.local_weights_rr),
        law=lambda ranks, privacy, _: _flips_law(_signs(ranks) > 0, privacy.epsilon),
        instances=_strict,
        **_PATTERNS,
    ),
    _row(
        "sub-ranking-weights",
        on(aggregation.sub_ranking_weights, jnp.asarray),
        "weights from one answer of each of three users, about a pair; who was asked what is hidden",
        law=lambda ranks, privacy, _: np.log(_together(ranks, privacy.epsilon, _dealt)),
        **_PATTERNS,
        **_OF_THREE,
    ),
    _row(
        "shuffled-pair-weights",
        on(aggregation.shuffled_pair_weights, jnp.asarray),
        loss=_shuffled_loss,
        promise=like(USER, delta=rows.DELTA),
        trust="shuffled",
        **_WEIGHTS,
        **_OF_THREE,
    ),
    _sorting("ldp-kwiksort", "a local KwikSort"),
    _sorting("local-by-queries", "an algorithm that asks for weights", local_by_queries),
    _sorting(
        "ldp-kwiksort-zero-one",
        "a local KwikSort with the published {0, 1} response",
        response=zero_one_response,
        calibration="sound",
        note="Alabi et al., Algorithm 3: this response spends only log((e^ε₀+1)/2) of its ε₀",
    ),
    _sorting(
        "ldp-kwiksort-published",
        "a local KwikSort with all of ε for the response and ε/2 for the fallback, as published,",
        planned=published_local_plan,
        note="Alabi et al., Algorithm 3: the responses spend ε, the fallback's report adds ε/2",
        **rows.PUBLISHED,
    ),
    _row("mallows-sample", words="synthetic ranking", **_SYNTHETIC, **_ONE_RANK),
    _row(
        "mallows-sample-users",
        words="synthetic ranking at 2ε/m for each rank",
        instances=_strict,
        **_SYNTHETIC,
    ),
    _row(
        "laplace-ranks",
        reported(laplace_ranks),
        law=lambda ranks, privacy, _: laws.additive_laplace(
            ranks.astype(float), float(laplace_rank_scale(NUM_ITEMS, privacy.epsilon))
        ),
        reduce=lambda noisy: jnp.min((noisy - _RANKING) * np.sign(_RANKING - _MOVED)),
        sees="the least shift of the ranks, away from the neighbor",
        **_ONE_RANK,
    ),
    _row(
        "randomized-response",
        reported(privacy.randomized_response),
        outcomes=("0", "1"),
        finite=True,
        law=lambda bits, claim, _: _flips_law(bits[:, None], claim.epsilon),
        **_ANSWER,
    ),
    _row(
        "preference-labels",
        on(preferences.randomized_labels, jnp.asarray, users=np.zeros(2, int)),
        neighbors=(np.array([1, 1]), np.array([0, 0])),
        reduce=lambda reports: 2 * reports[0] + reports[1],
        outcomes=("00", "01", "10", "11"),
        finite=True,
        instances=lambda: neighbors.of_values([0, 0], [0, 1], [1, 0], [1, 1]),
        law=lambda labels, claim, _: _flips_law(labels, claim.epsilon),
        promise=like(USER, "flip"),
    ),
    _row(
        "laplace-reports",
        reported(laplace_reports),
        law=lambda bits, claim, _: laws.additive_laplace(
            bits[:, None], float(privacy.laplace_scale(1.0, claim.epsilon))
        ),
        **_ANSWER,
    ),
    audited(
        "train-on-labels",
        named(preferences.train_on_labels, _trained),
        neighbors=(np.array([1, 1, 0]), np.array([0, 0, 0])),
        reduce=lambda weights: jnp.sum(weights * (_PROMPTS[0] + _PROMPTS[1])),
        sees="the noisy sum, along what both labels of a user say",
        instances=_labels_of_users,
        loss=rows.gaussian(lambda labels, facts: _label_sums(labels) / facts["noise_scale"]),
        promise=like(USER, "flip", delta=rows.DELTA),
    ),
)
