"""Scenario V of Xu, Sun and Cheng: ADRR beside other methods (Tables 10 and 11); m and L random, one program."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax.experiments import xu_common as common
from privrank_jax.experiments import xu_pictures, xu_printed
from privrank_jax.experiments.registry import Experiment
from privrank_jax.experiments.xu_scenarios import twin
from privrank_jax.metrics import kendall_tau
from privrank_jax.pairwise.perturbed_mle import perturbed_mle
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate import reports
from privrank_jax.simulate.engine import Study

Array = jax.Array

_ERRORS = (common.L2, common.LINF)
_DELTA = 1e-6


@dataclass(frozen=True)
class MethodConfig:
    """Ranges of Scenario V.

    Attributes:
        name: of the study.
        items: least and most m, drawn in every replicate.
        users: least and most L, likewise.
        low: ε_l ~ Unif(low, high).
        high: see ``low``.
        probability: p that a user is asked a pair.
        ridge: c of the ridge c/(L B(ε)).
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    items: tuple[int, int] = (10, 30)
    users: tuple[int, int] = (150, 400)
    low: float = 0.2
    high: float = 2.0
    probability: float = common.PROBABILITY
    ridge: float = common.RIDGE
    dtype: str = "float32"


def method_trial(key: Array, cell: dict[str, Any], *, config: MethodConfig) -> dict[str, Array]:
    """One replicate with its own m and L: errors of all methods on the same answers, and paired differences."""
    del cell
    keys = jax.random.split(key, 7)
    padded, most = config.items[1], config.users[1]
    items = jax.random.randint(keys[0], (), config.items[0], padded + 1)
    users = jax.random.randint(keys[1], (), config.users[0], most + 1)
    theta, mask = reports.uniform_scores(keys[2], items, padded, config.dtype)
    epsilon = jax.random.uniform(keys[3], (most,), config.dtype, config.low, config.high)
    counted = jnp.arange(most) < users
    information = jnp.sum(jnp.where(counted, jnp.tanh(0.5 * epsilon) ** 2, 0))
    plain_ridge = config.ridge * users / information  # λ = c/(L B) beside weights 1/L
    smallest = jnp.min(jnp.where(counted, epsilon, jnp.inf))
    truth = ranks_from_scores(theta, mask)

    def ranking_error(value: Array) -> Array:
        ranks = ranks_from_scores(value, mask, keys[6])
        return kendall_tau(ranks, truth, normalized=True, mask=mask)

    found, failed = {}, jnp.zeros((), int)
    for link, spelled in common.LINKS.items():
        chance = reports.pair_chances(theta, spelled)
        sums = reports.mechanism_sums(keys[4], chance, epsilon, users, config.probability, mask)
        stacked = jax.tree.map(
            lambda *leaves: jnp.stack(leaves), sums.adaptive, sums.laplace, sums.plain
        )
        ridges = jnp.stack([jnp.asarray(config.ridge, config.dtype), plain_ridge, plain_ridge])
        values, codes = _fits_with(stacked, link, ridges)
        failed += codes
        scores = dict(zip((common.ADRR, common.LAPLACE, common.CLASSIC), values, strict=True))
        if link == "BTL":
            noisy = perturbed_mle(keys[5], sums.wins, smallest, delta=_DELTA, noise="gaussian")
            failed += noisy.diagnostics.fit.code >= 2
            scores["NoisyObj"] = noisy.value
        errors = {
            method: common.score_errors(value, theta, mask) for method, value in scores.items()
        }
        errors[common.ADRR][common.RANKING] = ranking_error(scores[common.ADRR])
        errors[common.COUNT] = {common.RANKING: ranking_error(sums.plain.wins.sum(-1))}
        found.update(common.with_differences(errors, link))
    return {**found, common.FAILED: failed}


def _fits_with(stacked: Any, link: str, ridges: Array) -> tuple[Array, Array]:
    """As :func:`~.xu_common.fits`, each problem with its own ridge."""
    found = jax.vmap(lambda one, ridge: common.scores_from_sums(one, common.LINKS[link], ridge))(
        stacked, ridges
    )
    return found.value, jnp.sum(found.diagnostics.fit.code >= 2)


def build_methods(config: MethodConfig) -> tuple[Study, ...]:
    """One study of one cell, one compilation: m and L are drawn, padded and masked."""
    return (Study(config.name, functools.partial(method_trial, config=config), ({},)),)


_BETTER = "ADRR has smaller errors than"
_TABLE_10 = Experiment(
    name="xu-table10",
    title="Scenario V: ADRR, objective perturbation, Laplace, classic RR and counts, random m and L",
    paper=f"{common.PAPER}, Tables 10 and 11, Figures 8, 9 and 13",
    config=MethodConfig("xu-table10"),
    build=build_methods,
    tidy=functools.partial(common.tidy, printed=xu_printed.TABLES_10_11),
    claims=(
        *(
            common.beside_printed(
                f"{common.NOT_WORSE}: {method}",
                where=functools.partial(common.matches, wanted={"estimator": method}),
            )
            for method in (common.ADRR, "NoisyObj", common.LAPLACE, common.CLASSIC, common.COUNT)
        ),
        common.paired(
            f"{_BETTER} Laplace on comparisons", f"{common.LAPLACE} minus {common.ADRR}", _ERRORS
        ),
        common.paired(
            f"{_BETTER} classic randomised response",
            f"{common.CLASSIC} minus {common.ADRR}",
            _ERRORS,
        ),
        common.paired(
            f"{_BETTER} objective perturbation at min ε (BTL)",
            f"NoisyObj minus {common.ADRR}",
            _ERRORS,
        ),
        common.paired(
            "ADRR ranks better than counts",
            f"{common.COUNT} minus {common.ADRR}",
            (common.RANKING,),
        ),
    ),
    draw=functools.partial(xu_pictures.methods, metrics=(*_ERRORS, common.RANKING)),
    replicates=xu_printed.REPLICATES,
    outline=("replicates", "link"),
    differences=(
        *common.COMMON_DIFFERENCES,
        common.HALF,
        "the noises of the mechanisms are coupled (one uniform per answer), so paired differences are sharper",
        f"NoisyObj: Gaussian objective perturbation at min ε_l and δ = {_DELTA:g} with this library's tight noise "
        "(answers private, who compared what public) and default ridge; the paper's calibration is not stated",
        "fits without weights keep the ridge λ = c/(L B(ε))",
    ),
)

EXPERIMENTS = (_TABLE_10, twin(_TABLE_10, 11))
