"""Scenario V of Xu, Sun and Cheng: ADRR against other methods (Tables 10 and 11); m and L random, one program."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Count, Key, Mask, Scalar
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments import claims, printed
from privrank_jax.experiments.claims import Claim, Wanted, minus
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.xu import common
from privrank_jax.experiments.xu import pictures as xu_pictures
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.experiments.xu.scenarios import twin
from privrank_jax.links import get_link
from privrank_jax.metrics import kendall_distance
from privrank_jax.pairwise import fit
from privrank_jax.pairwise.debiased_sums import DebiasedSums
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.perturbed_mle import calibrated_fit
from privrank_jax.privacy.local import report_information
from privrank_jax.privacy.noise import gaussian
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.study import Metrics, Parameters, Study
from privrank_jax.simulate.table_files import Row
from privrank_jax.simulate.worlds import reports

_ERRORS = (common.L2, common.LINF)
NOISY, NOISY_TIGHT = "NoisyObj", "NoisyObj tight"
_DELTA = 1e-6


@dataclass(frozen=True)
class MethodConfig:
    """Ranges of Scenario V.

    Attributes:
        name: name of the study.
        items: smallest and largest m; m is drawn in every replicate.
        users: smallest and largest L; L is drawn in every replicate.
        low: ε_l ~ Unif(low, high).
        high: see ``low``.
        probability: p that a user is asked a pair.
        gamma: ridge γ added to the sums; 2 is λ = 1/(L B(ε)).
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    items: tuple[int, int] = (10, 30)
    users: tuple[int, int] = (150, 400)
    low: float = 0.2
    high: float = 2.0
    probability: float = common.PROBABILITY
    gamma: float = common.GAMMA
    dtype: str = "float32"


def method_trial(key: Key, cell: Parameters, *, config: MethodConfig) -> Metrics:
    """One replicate with its own m and L: errors of all methods on the same answers, and paired differences."""
    keys = jax.random.split(key, 7)
    padded, most = config.items[1], config.users[1]
    items = jax.random.randint(keys[0], (), config.items[0], padded + 1)
    users = jax.random.randint(keys[1], (), config.users[0], most + 1)
    drawn, mask = reports.uniform_scores(keys[2], items, padded, config.dtype)
    theta = jnp.where(cell["even"], _even_scores(items, mask, config.dtype), drawn)
    epsilon = jax.random.uniform(keys[3], (most,), config.dtype, config.low, config.high)
    counted = jnp.arange(most) < users
    information = jnp.sum(jnp.where(counted, report_information(epsilon), 0))
    plain_gamma = config.gamma * users / information  # λ = γ/(2 L B) with weights 1/L
    smallest = jnp.min(jnp.where(counted, epsilon, jnp.inf))
    promise = Privacy(smallest, unit="comparison", adjacency="flip", delta=_DELTA)
    truth = ranks_from_scores(theta, mask)

    def ranking_error(value: Array) -> Array:
        ranks = ranks_from_scores(value, mask, keys[6])
        return kendall_distance(ranks, truth, normalized=True, mask=mask)

    # Both links share the uniforms of the answers, and all logistic fits are one batch.
    chances = jnp.stack([reports.pair_chances(theta, link) for link in common.LINKS.values()])
    draw = functools.partial(reports.mechanism_sums, keys[4])
    both = jax.vmap(lambda chance: draw(chance, epsilon, users, config.probability, mask))(chances)
    gammas = jnp.stack([jnp.asarray(config.gamma, config.dtype), plain_gamma, plain_gamma])

    found: dict[str, Any] = {}
    failed = jnp.zeros((), int)
    for row, link in enumerate(common.LINKS):
        sums = jax.tree.map(lambda leaf, row=row: leaf[row], both)
        stacked = jax.tree.map(
            lambda *leaves: jnp.stack(leaves), sums.adaptive, sums.laplace, sums.plain
        )
        methods = [common.ADRR, common.LAPLACE, common.CLASSIC]
        if link == "BTL":
            methods += [NOISY, NOISY_TIGHT]
            fits = _logistic_fits(keys[5], stacked, gammas, sums.wins, promise)
        else:
            fits = common.fits(stacked, link, gammas)
        values, codes = fits
        failed += codes
        errors = jax.vmap(functools.partial(common.score_errors, theta=theta, mask=mask))(values)
        table = jnp.stack([errors[metric] for metric in _ERRORS], axis=-1)
        ranking = jnp.stack([ranking_error(values[0]), ranking_error(sums.plain.wins.sum(-1))])
        found[link] = _labeled(methods, table, ranking)
    return {**found, common.FAILED: failed}


def _logistic_fits(
    key: Key, sums: DebiasedSums, gammas: Array, wins: WinCounts, privacy: Privacy
) -> tuple[Array, Array]:
    """Fits of :func:`~.common.fits` to stacked sums, then of objective perturbation, published and tight, ``(K, m)``.

    The logistic link needs the sums' totals alone, and objective perturbation is the fit to noisy totals.
    """
    noises = [_published_noise(privacy.epsilon), _tight_noise(wins, privacy)]
    totals = [
        wins.totals - gaussian(key, wins.totals.shape, scale, wins.matrix.dtype)
        for scale, _ in noises
    ]
    ridges = jnp.stack([jnp.asarray(ridge, gammas.dtype) for _, ridge in noises])
    found = jax.vmap(lambda met, *told: fit(Counts(met, wins.item_mask), *told))(
        jnp.concatenate([sums.weights, *[wins.comparisons[None]] * len(noises)]),
        jnp.concatenate([sums.wins.sum(-1), jnp.stack(totals)]),
        jnp.concatenate([gammas, ridges]),
    )
    return found.value, jnp.sum(found.diagnostics.code >= 2)


def _labeled(methods: Sequence[str], table: Array, ranking: Array) -> dict[str, Any]:
    """Errors by method and metric, and their differences from ADRR's, the first method.

    ``table``: ``(K, 2)`` estimation errors; ``ranking``: ranking errors of ADRR and of counts.
    """
    named = dict(zip(methods, table, strict=True))
    gaps = zip(methods[1:], table[1:] - table[0], strict=True)
    named |= {minus(method, common.ADRR): row for method, row in gaps}
    found: dict[str, Any] = {method: labeled(row, _ERRORS) for method, row in named.items()}
    found[common.ADRR] = {**found[common.ADRR], common.RANKING: ranking[0]}
    found[common.COUNT] = {common.RANKING: ranking[1]}
    found[minus(common.COUNT, common.ADRR)] = {common.RANKING: ranking[1] - ranking[0]}
    return found


def _even_scores(items: Count, mask: Mask, dtype: str) -> Array:
    """Scores from 1 down to -1 in equal steps."""
    steps = jnp.arange(mask.shape[0], dtype=jnp.dtype(dtype)) / (items - 1)
    return jnp.where(mask, 1 - 2 * steps, 0).astype(dtype)


def _published_noise(epsilon: Scalar) -> tuple[Scalar, Scalar]:
    """Noise scale and ridge of objective perturbation as Kifer, Smith and Thakurta (2012, Algorithm 1) calibrate it.

    A comparison's gradient has norm at most ζ = √2, its Hessian norm at most 1/2: noise of standard deviation
    ζ √(8 log(2/δ) + 4ε)/ε per coordinate, ridge γ = 2 (1/2)/ε.
    """
    return jnp.sqrt(2 * (8 * math.log(2 / _DELTA) + 4 * epsilon)) / epsilon, 1 / epsilon


def _tight_noise(wins: WinCounts, privacy: Privacy) -> tuple[Scalar, Scalar]:
    """Noise scale and ridge of :func:`~privrank_jax.pairwise.perturbed_mle` with Gaussian noise."""
    return calibrated_fit(wins, privacy, get_link("logistic"), None, "gaussian")


def build_methods(config: MethodConfig) -> tuple[Study, ...]:
    """Build one study with one compilation: m and L are drawn, padded and masked; θ is drawn or evenly spaced."""
    run = functools.partial(method_trial, config=config)
    return (Study(config.name, run, ({"even": False}, {"even": True}), axes=common.AXES),)


def beside_tables(config: MethodConfig, rows: list[Row]) -> list[Row]:
    """Compare rows with Tables 10 and 11; ``scores`` says how θ was chosen."""
    result = []
    for row in printed.beside(config, rows, printed=xu_printed.TABLES_10_11):
        even = row.pop("even")
        result.append({"study": row.pop("study"), "scores": "even" if even else "drawn", **row})
    return result


def _met(what: str, **wanted: Wanted) -> Claim:
    metric = f" {wanted['metric']}" if wanted["metric"] in _ERRORS else ""
    return printed.beside_printed(f"{common.NOT_WORSE}: {what}{metric}", least=True, **wanted)


def _better(text: str, method: str) -> Claim:
    return claims.paired(text, minus(method, common.ADRR), metric=_ERRORS, scores="drawn")


_BETTER = "ADRR has smaller errors than"
_TABLE_10 = Experiment(
    name="xu-table10",
    title="Scenario V: ADRR, objective perturbation, Laplace, classic RR and counts, random m and L",
    paper=f"{common.PAPER}, Tables 10 and 11, Figures 8, 9 and 13",
    config=MethodConfig("xu-table10"),
    build=build_methods,
    annotate=beside_tables,
    claims=(
        *(
            _met(f"{method}, estimation errors", estimator=method, metric=metric, scores="drawn")
            for method in (common.ADRR, NOISY, common.LAPLACE, common.CLASSIC)
            for metric in _ERRORS
        ),
        _met("full ranking errors, θ ~ Unif(-1, 1)", metric=common.RANKING, scores="drawn"),
        _met(
            "full ranking errors, θ evenly spaced in [-1, 1]", metric=common.RANKING, scores="even"
        ),
        _better(f"{_BETTER} Laplace on comparisons", common.LAPLACE),
        _better(f"{_BETTER} classic randomized response", common.CLASSIC),
        _better(f"{_BETTER} objective perturbation at min ε (BTL), noise as published", NOISY),
        _better(f"{_BETTER} objective perturbation at min ε (BTL), tight noise", NOISY_TIGHT),
        *(
            claims.paired(
                f"ADRR ranks better than counts (θ {scores})",
                minus(common.COUNT, common.ADRR),
                metric=common.RANKING,
                scores=scores,
            )
            for scores in ("drawn", "even")
        ),
    ),
    draw=functools.partial(
        xu_pictures.methods,
        panels=(
            (common.L2, {"scores": "drawn"}, ""),
            (common.LINF, {"scores": "drawn"}, ""),
            (common.RANKING, {"scores": "drawn"}, ", θ drawn"),
            (common.RANKING, {"scores": "even"}, ", θ even"),
        ),
    ),
    replicates=xu_printed.REPLICATES,
    outline=("replicates", "scores"),
    differences=(
        *common.COMMON_DIFFERENCES,
        common.HALF,
        "the noises of the mechanisms are coupled (one uniform per answer), so paired differences are sharper",
        f"{NOISY}: Gaussian objective perturbation at min ε_l and δ = {_DELTA:g} as Kifer, Smith and Thakurta (2012) "
        "calibrate it, with the least ridge that they allow (the paper prints neither; more ridge would lower its ℓ∞ "
        f"error); {NOISY_TIGHT}: the tight noise and the default ridge of this library (answers private, who compared "
        "what public)",
        "θ: with θ ~ Unif(-1, 1) as the paper states, estimation errors as small as printed give full ranking errors "
        "two to three times the printed ones; θ evenly spaced, as in Scenario IV, gives the printed ones. Both are run",
        "fits without weights keep the ridge λ = γ/(2 L B(ε))",
    ),
)

EXPERIMENTS = (_TABLE_10, twin(_TABLE_10, 11))
