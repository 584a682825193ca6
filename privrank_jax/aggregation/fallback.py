"""An expensive computation that is rarely needed, run only for the replicates that need it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from privrank_jax._types import Ranks


def replace_where(
    needed: Bool[Array, ""],
    ranks: Ranks,
    compute: Callable[..., Array],
    *arguments: Array,
) -> Ranks:
    """``compute(*arguments)`` where ``needed``, else ``ranks``; under ``vmap`` only those replicates compute it.

    A ``cond`` under ``vmap`` would compute the fallback for all replicates. Here the replicates that need it are
    handled one by one, so that a rare fallback costs almost no time or memory.
    """

    @jax.custom_batching.custom_vmap
    def choose(needed: Array, ranks: Array, *arguments: Array) -> Array:
        return jax.lax.cond(needed, lambda: compute(*arguments), lambda: ranks)

    @choose.def_vmap
    def batched(
        size: int, in_batched: Sequence[bool], needed: Array, ranks: Array, *arguments: Array
    ) -> tuple[Array, bool]:
        if not in_batched[0]:
            needed = jnp.broadcast_to(needed, (size,))
        if not in_batched[1]:
            ranks = jnp.broadcast_to(ranks, (size, *ranks.shape))
        in_need_first = jnp.argsort(~needed, stable=True)

        def one(number: Array, ranks: Array) -> Array:
            which = in_need_first[number]
            own = [x[which] if own else x for x, own in zip(arguments, in_batched[2:])]
            return ranks.at[which].set(choose(jnp.bool_(True), ranks[which], *own))

        return jax.lax.fori_loop(0, jnp.sum(needed), one, ranks), True

    return choose(needed, ranks, *arguments)
