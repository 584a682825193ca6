"""The crowds of ``hillebrand`` without a trusted curator: local and shuffled reports (study ``hillebrand-local``)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.shuffled_pairs import local_epsilons, weights_of_shuffled
from privrank_jax.experiments.alabi import common, pictures
from privrank_jax.experiments.alabi.common import BORDA, Answer, replaced_user
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from privrank_jax.experiments.hillebrand import ratio
from privrank_jax.simulate.study import Metrics, Parameters, Study

PAIR = "one pair"
SHUFFLED, SHUFFLED_BORDA = "shuffled pairs", "Borda of shuffled pairs"
CENTRAL, CENTRAL_GAUSS = "central weights", "central weights (ε, δ)"
NAMES: tuple[str, ...] = (BORDA, PAIR, SHUFFLED, SHUFFLED_BORDA, CENTRAL, CENTRAL_GAUSS)
PAIRS = (
    *((BORDA, PAIR), (PAIR, BORDA), (PAIR, SHUFFLED)),
    *((SHUFFLED_BORDA, SHUFFLED), (SHUFFLED, SHUFFLED_BORDA)),
    *((PAIR, CENTRAL), (SHUFFLED, CENTRAL_GAUSS)),
)
_LOOKS = {
    **{name: (color, 0) for color, name in enumerate((BORDA, PAIR))},
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


def places(config: TrustConfig) -> list[tuple[str, int]]:
    """Name and number of items of each crowd.

    Raises:
        ValueError: no crowd has that many items.
    """
    items = dict.fromkeys(items for items, _ in config.sizes)
    return crowds.places(items, config.crowds)


def trial(
    key: Key, cell: Parameters, *, held: Mapping[int, tuple[int, crowds.Stack]], config: TrustConfig
) -> Metrics:
    """All methods and all ε on one crowd.

    Args:
        key: PRNG key.
        cell: parameters; ``crowd`` is a number in :func:`places`.
        held: the number of the first crowd of so many items, and all of them.
        config: the grid.
    """
    items, users = cell["num_items"], cell["num_users"]
    first, here = held[items]
    number = cell["crowd"] - first
    assert here.ranks is not None
    ranks = fixed(here.ranks)[number]
    matrix = jnp.asarray(here.weights, jnp.result_type(float))[number]
    least = jnp.asarray(here.costs[:, 0], matrix.dtype)[number]
    everyone = jnp.tile(ranks, (users // crowds.VOTERS, 1))
    weights = PairWeights(matrix, jnp.asarray(users, matrix.dtype), jnp.ones(items, bool))

    # With ε alone, which is mapped over, they would be found by a callback in every batch.
    locals_ = local_epsilons(
        users, np.asarray(config.epsilons, matrix.dtype), np.asarray(config.delta)
    )

    def at(level: Array, local: Array) -> dict[str, Answer]:
        world = World(weights, None, ranks=everyone)
        return _answers(key, world, level, local, config.delta)

    return ratio.judged(at, config.epsilons, weights, least, PAIRS, {}, locals_)


def _answers(
    key: Key, world: World, epsilon: Array, shuffled_epsilon: Array, delta: float
) -> dict[str, Answer]:
    """The answer of each method at ε, and at the ε₀ of shuffled reports."""
    # The third key was that of a method that is gone: the others draw what they drew.
    first, second, _, *rest = jax.random.split(key, len(NAMES) + 1)
    keys = dict(zip(NAMES, (first, second, *rest), strict=True))
    local, ranks = replaced_user(epsilon), world.ranks
    assert ranks is not None
    shuffled = weights_of_shuffled(keys[SHUFFLED], ranks, shuffled_epsilon, "last")
    one_pair = aggregation.sub_ranking_weights(keys[PAIR], ranks, local, size=2).value
    return {
        BORDA: aggregation.ldp_borda(keys[BORDA], ranks, local).value,
        SHUFFLED_BORDA: aggregation.borda_scores(shuffled),
        PAIR: common.searched(one_pair, world),
        SHUFFLED: common.searched(shuffled, world),
        CENTRAL: common.private_weights("k-norm")(keys[CENTRAL], world, epsilon),
        CENTRAL_GAUSS: common.private_weights("gaussian", delta)(
            keys[CENTRAL_GAUSS], world, epsilon
        ),
    }


def build(config: TrustConfig) -> tuple[Study, ...]:
    """Build one study of all crowds; a program for each number of items and users, as every user reports."""
    at = places(config)
    numbers = {m: [n for n, (_, items) in enumerate(at) if items == m] for m, _ in config.sizes}
    cells = [
        {"num_items": items, "num_users": users, "crowd": number}
        for items, users in config.sizes
        for number in numbers[items]
    ]
    held = {m: (own[0], crowds.stack([at[one] for one in own])) for m, own in numbers.items()}
    run = functools.partial(trial, held=held, config=config)
    static = ("num_items", "num_users")
    return (Study(config.name, run, tuple(cells), static, ratio.AXES, optimized="some"),)


_RIGHT, _WRONG = {"study": crowds.RIGHT}, {"study": crowds.WRONG}
_NAMED = ", ".join(crowds.RIGHT)
_OF_PAIRS = "of shuffled pairs"
_CHEAPER = (
    (f"minorities and camps: {PAIR} never cost more than Borda", PAIR, BORDA, _WRONG),
    (
        f"minorities and camps: {SHUFFLED} never cost more than Borda {_OF_PAIRS}",
        SHUFFLED,
        SHUFFLED_BORDA,
        _WRONG,
    ),
    (f"{_NAMED}: Borda never costs more than {PAIR}", BORDA, PAIR, _RIGHT),
    (
        f"{_NAMED}: Borda {_OF_PAIRS} never costs more than {SHUFFLED}",
        SHUFFLED_BORDA,
        SHUFFLED,
        _RIGHT,
    ),
    (f"shuffled pairs never cost more than {PAIR}", SHUFFLED, PAIR, {}),
    ("central weights never cost more than one pair", CENTRAL, PAIR, {}),
    ("central weights (ε, δ) never cost more than shuffled pairs", CENTRAL_GAUSS, SHUFFLED, {}),
)

EXPERIMENTS = (
    Experiment(
        name="hillebrand-local",
        title="Crowds where Borda's order is far from the optimum, without a trusted curator",
        paper=f"{ratio.PAPER} (no experiments of its own)",
        config=TrustConfig("hillebrand-local"),
        build=build,
        annotate=lambda config, rows: ratio.by_crowd(places(config), rows),
        claims=(
            *common.each_cheaper(*_CHEAPER),
            common.falls(
                "30 items: excess costs of one pair fall with ε", "epsilon", (PAIR,), num_items=30
            ),
        ),
        draw=functools.partial(pictures.costs, looks=_LOOKS, label="reports", styles=_STYLES),
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
