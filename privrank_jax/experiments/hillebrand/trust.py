"""The crowds of ``hillebrand`` without a trusted curator: local and shuffled reports (study ``hillebrand-local``)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.bounds import Bound, bound
from privrank_jax.aggregation.shuffled_pairs import local_epsilons, weights_of_shuffled
from privrank_jax.experiments import claims
from privrank_jax.experiments.alabi import common
from privrank_jax.experiments.alabi.common import BORDA, replaced_user
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from privrank_jax.experiments.hillebrand import pictures, ratio, shared
from privrank_jax.simulate.study import Metrics, Parameters, Study

PAIR, FOOTRULE = "one pair", "footrule"
SHUFFLED, SHUFFLED_BORDA = "shuffled pairs", "Borda of shuffled pairs"
CENTRAL, CENTRAL_GAUSS = "central weights", "central weights (ε, δ)"
NAMES: tuple[str, ...] = (BORDA, PAIR, FOOTRULE, SHUFFLED, SHUFFLED_BORDA, CENTRAL, CENTRAL_GAUSS)
PAIRS = (
    *((BORDA, FOOTRULE), (FOOTRULE, BORDA), (BORDA, PAIR), (PAIR, BORDA), (FOOTRULE, PAIR)),
    *((PAIR, SHUFFLED), (FOOTRULE, SHUFFLED)),
    *((SHUFFLED_BORDA, SHUFFLED), (SHUFFLED, SHUFFLED_BORDA)),
    *((PAIR, CENTRAL), (SHUFFLED, CENTRAL_GAUSS)),
)
_LOOKS = {
    **{name: (color, 0) for color, name in enumerate((BORDA, PAIR, FOOTRULE))},
    SHUFFLED_BORDA: (0, 1),
    SHUFFLED: (1, 1),
    CENTRAL: (1, 2),
}
_STYLES = ("local", "shuffled", "central")


@dataclass(frozen=True)
class TrustConfig:
    """Grid of ``hillebrand-local``.

    Attributes:
        name: name of the study.
        sizes: (m, n), n a multiple of the 300 voters of a crowd and at least m(m-1)/2; a program for each.
        epsilons: ε.
        delta: δ of shuffled reports and of Gaussian noise.
        crowds: names of crowds.
    """

    name: str
    sizes: tuple[tuple[int, int], ...] = ((10, 6000), (30, 6000))
    epsilons: tuple[float, ...] = (1.0, 3.0)
    delta: float = 1e-6
    crowds: tuple[str, ...] = crowds.NAMES

    def __post_init__(self) -> None:
        for items, users in self.sizes:
            if (
                items < crowds.LEAST_ITEMS
                or users % crowds.VOTERS
                or users < items * (items - 1) / 2
            ):
                raise ValueError(
                    f"sizes must be (m, n) with m at least {crowds.LEAST_ITEMS}, n a multiple of {crowds.VOTERS} "
                    f"and at least m(m-1)/2; got ({items}, {users})"
                )


class Group(NamedTuple):
    """All crowds of as many items.

    Attributes:
        first: number of the first one in :func:`places`.
        ranks: of the 300 voters of each crowd.
        weights: of each crowd.
        optima: the least Kemeny score of each.
    """

    first: int
    ranks: Int[np.ndarray, "crowds voters items"]
    weights: Float[np.ndarray, "crowds items items"]
    optima: Float[np.ndarray, "crowds"]


def places(config: TrustConfig) -> list[tuple[str, int]]:
    """Name and number of items of each crowd.

    Raises:
        ValueError: no crowd has that many items.
    """
    items = dict.fromkeys(items for items, _ in config.sizes)
    return crowds.places(items, config.crowds)


def _group(at: list[tuple[str, int]], first: int) -> Group:
    held = [crowds.crowd(*place) for place in at]
    return Group(
        first,
        np.array([crowd.ranks for crowd in held], np.int32),
        np.array([crowd.weights for crowd in held]),
        np.array([crowd.optimum for crowd in held]),
    )


def trial(key: Key, cell: Parameters, *, held: Mapping[int, Group], config: TrustConfig) -> Metrics:
    """All methods and all ε on one crowd.

    Args:
        key: PRNG key.
        cell: parameters; ``crowd`` is a number in :func:`places`.
        held: the crowds of each number of items.
        config: the grid.
    """
    items, users = cell["num_items"], cell["num_users"]
    here = held[items]
    number = cell["crowd"] - here.first
    ranks = fixed(here.ranks)[number]
    matrix = jnp.asarray(here.weights, jnp.result_type(float))[number]
    least = jnp.asarray(here.optima, matrix.dtype)[number]
    everyone = jnp.tile(ranks, (users // crowds.VOTERS, 1))
    weights = PairWeights(matrix, jnp.asarray(users, matrix.dtype), jnp.ones(items, bool))

    # With ε alone, which is mapped over, they would be found by a callback in every batch.
    locals_ = local_epsilons(
        users, np.asarray(config.epsilons, matrix.dtype), np.asarray(config.delta)
    )

    def at(level: Array, local: Array) -> dict[str, Array]:
        return _rankings(key, everyone, weights, (level, local), config)

    return shared.judged(at, config.epsilons, matrix, least, items, PAIRS, {}, locals_)


def _rankings(
    key: Key,
    ranks: Array,
    weights: PairWeights,
    level: tuple[Array, Array],
    config: TrustConfig,
) -> dict[str, Array]:
    """The ranking of each method at ε and the ε₀ of shuffled reports."""
    epsilon, shuffled_epsilon = level
    keys = dict(zip(NAMES, jax.random.split(key, len(NAMES)), strict=True))
    local, some = replaced_user(epsilon), replaced_user(epsilon, config.delta)
    shuffled = weights_of_shuffled(keys[SHUFFLED], ranks, shuffled_epsilon, "last")
    scores = {
        BORDA: aggregation.ldp_borda(keys[BORDA], ranks, local).value,
        SHUFFLED_BORDA: aggregation.borda_scores(shuffled),
    }
    noised = {
        PAIR: aggregation.one_pair_weights(keys[PAIR], ranks, local).value,
        SHUFFLED: shuffled,
    }
    for name, promise, noise in (
        (CENTRAL, local, "k-norm"),
        (CENTRAL_GAUSS, some, "gaussian"),
    ):
        noised[name] = aggregation.private_weights(keys[name], weights, promise, noise=noise).value
    costs = {FOOTRULE: aggregation.ldp_footrule(keys[FOOTRULE], ranks, local).value}
    return shared.solved(scores, noised, costs, weights.item_mask)


def build(config: TrustConfig) -> tuple[Study, ...]:
    """Build one study of all crowds; a program for each number of items and users, as every user reports."""
    at = places(config)
    numbers = {m: [n for n, (_, items) in enumerate(at) if items == m] for m, _ in config.sizes}
    cells = [
        {"num_items": items, "num_users": users, "crowd": number}
        for items, users in config.sizes
        for number in numbers[items]
    ]
    held = {m: _group([at[number] for number in own], own[0]) for m, own in numbers.items()}
    run = functools.partial(trial, held=held, config=config)
    static = ("num_items", "num_users")
    return (Study(config.name, run, tuple(cells), static, ratio.AXES, optimized="some"),)


def proven(num_items: int, num_users: int, epsilon: float) -> Bound:
    """Bound on the mean cost of local footrule."""
    return bound("footrule", num_items, num_users, replaced_user(epsilon), trust="local")


EXPERIMENTS = (
    Experiment(
        name="hillebrand-local",
        title="A consensus within twice the optimum without a trusted curator: where it matters",
        paper=f"{ratio.PAPER} (no experiments of its own)",
        config=TrustConfig("hillebrand-local"),
        build=build,
        annotate=lambda config, rows: shared.by_crowd(places(config), rows),
        claims=(
            claims.claim(
                "footrule: mean cost within 2 - 1/(m-1) times the optimum, plus the proven error of reports",
                shared.within,
                method=FOOTRULE,
                bound=proven,
            ),
            common.cheaper(
                "minorities: footrule never costs more than Borda",
                FOOTRULE,
                BORDA,
                study=crowds.MINORITIES,
            ),
            *(
                common.cheaper(
                    f"{text}: Borda never costs more than footrule", BORDA, FOOTRULE, study=study
                )
                for text, study in (
                    (crowds.CAMPS, crowds.CAMPS),
                    (", ".join(crowds.RIGHT), crowds.RIGHT),
                )
            ),
            *(
                common.cheaper(
                    f"minorities and camps: {better} never cost more than Borda{note}",
                    better,
                    worse,
                    study=crowds.WRONG,
                )
                for better, worse, note in (
                    (PAIR, BORDA, ""),
                    (SHUFFLED, SHUFFLED_BORDA, " of shuffled pairs"),
                )
            ),
            *(
                common.cheaper(
                    f"{', '.join(crowds.RIGHT)}: Borda{note} never costs more than {worse}",
                    better,
                    worse,
                    study=crowds.RIGHT,
                )
                for better, worse, note in (
                    (BORDA, PAIR, ""),
                    (SHUFFLED_BORDA, SHUFFLED, " of shuffled pairs"),
                )
            ),
            common.cheaper("one pair never costs more than footrule", PAIR, FOOTRULE),
            *(
                common.cheaper(f"shuffled pairs never cost more than {other}", SHUFFLED, other)
                for other in (PAIR, FOOTRULE)
            ),
            common.cheaper("central weights never cost more than one pair", CENTRAL, PAIR),
            common.cheaper(
                "central weights (ε, δ) never cost more than shuffled pairs",
                CENTRAL_GAUSS,
                SHUFFLED,
            ),
            common.falls(
                "30 items: excess costs of one pair and footrule fall with ε",
                "epsilon",
                (PAIR, FOOTRULE),
                num_items=30,
            ),
        ),
        draw=lambda table: pictures.costs(table, _LOOKS, "reports", _STYLES),
        replicates=30,
        outline=("epsilon", "num_items"),
        differences=(
            "the paper has no experiments: crowds, grid and claims are ours",
            "excess cost: (K(σ, w) - OPT) over the number of pairs; OPT is proved for every crowd",
            "crowds are fixed, and larger ones are copies of 300 voters: replicates differ in reports alone",
            "Borda scores: the mechanism of Duchi and others; noised weights: local search from their Borda ranking",
            "shuffled reports: of one pair drawn in secret, at the local ε that n, ε and δ allow",
        ),
    ),
)
