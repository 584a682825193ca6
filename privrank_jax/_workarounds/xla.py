"""Workarounds that keep XLA from recomputing values, from folding constants and from optimizing; memory that ran out.

``materialized``. Upstream: none known; https://github.com/openxla/xla/issues/20440 has another barrier that XLA's CPU
compiler does not keep. To reproduce: ``tests/workarounds/test_xla.py`` counts what the compiled program computes again.
Remove when: that test passes with ``jax.lax.optimization_barrier`` in its place.

``fixed``. Upstream: https://github.com/openxla/xla/issues/1652, https://github.com/jax-ml/jax/issues/14655.
Remove when: XLA bounds the time that it spends on folding constants.

``compiled``. Upstream: none known. To reproduce: run a study with it and without; whole studies take 0.64 to 0.99 of
the processor time (``cai-fig8``, ``xu-table3``). Remove when: JAX passes on an option of XLA for fast compilation
(``xla_cpu_opt_preset`` had no effect in JAX 0.10.2).

``out_of_memory``. Upstream: none known. Remove when: JAX raises an exception of its own where memory runs out.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Shaped


def materialized(values: Shaped[Array, "*shape"]) -> Shaped[Array, "*shape"]:
    """The same values, kept in memory: what follows reads them, and does not compute them again for each use.

    XLA fuses element-wise operations into whatever reads them, even where each value is read many times, as by a gather
    or by all pairs of items. ``optimization_barrier`` prevents that on a GPU; on a CPU, XLA drops it first.
    """
    return jax.lax.platform_dependent(values, cpu=_kept, default=jax.lax.optimization_barrier)


def _kept(values: Shaped[Array, "*shape"]) -> Shaped[Array, "*shape"]:
    """A branch that XLA can't choose as it compiles."""
    here = jax.lax.optimization_barrier(jnp.bool_(True))
    return jax.lax.cond(here, lambda x: x, jnp.zeros_like, values)


def fixed(values: Shaped[ArrayLike, "*shape"]) -> Shaped[Array, "*shape"]:
    """Values that are the same in every replicate of a batch, for a trial: kept from XLA's constant folding.

    XLA evaluates what depends on constants alone as it compiles, with an interpreter that takes seconds for what the
    program itself does in milliseconds. Behind a barrier the values, an array of any shape and dtype, are no constants.

    Args:
        values: an array.

    Returns:
        The same values.

    >>> fixed(jnp.array([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    return jax.lax.optimization_barrier(jnp.asarray(values))


Optimized: TypeAlias = bool | Literal["some"]
"""How far to optimize a program: fully, some, not."""
_LEVELS: dict[Optimized, int] = {False: 0, "some": 1}


def compiled(lowered: Any, *, optimized: Optimized = True) -> Any:
    """Compile a lowered program, on a CPU with less optimization or none if that is asked for.

    Without it compiling takes about 0.4 of the time, and running 4 to 17 times as long. With some of it, and XLA's
    older code for fused loops, compiling takes 0.65 to 0.7 of the time, and running less for programs of many draws and
    sums: measure. Releases of JAX that do not know these options optimize: with the level alone a tanh differs in its
    last bit between two programs.
    """
    if optimized is not True and jax.default_backend() == "cpu":
        options = {
            "xla_backend_optimization_level": _LEVELS[optimized],
            "xla_cpu_use_fusion_emitters": False,
        }
        if not optimized:  # such programs are small: threads cost more than they save
            options["xla_cpu_parallel_codegen_split_count"] = 1
        try:
            return lowered.compile(compiler_options=options)
        except jax.errors.JaxRuntimeError as error:
            if "No such compile option" not in str(error):
                raise
    return lowered.compile()


def out_of_memory(error: Exception) -> bool:
    """Whether this is what JAX raises where a device has no memory left: it has no exception of its own for that."""
    return "RESOURCE_EXHAUSTED" in str(error)
