"""One MLIR context for many programs: JAX creates one for each, which takes longer than lowering a small program to it.

Creating a context registers all dialects, about 4 ms and 1 MB, and the caches of JAX keep it with the program. Files of
small programs take an eighth less time without that, and half of the memory. A context keeps what it has seen, so every
200 programs a new one begins. A program that is compiled while another is lowered (JAX may compute a constant then) has
its own: in the same context, what is cloned would be inserted into the other program.

Upstream: https://github.com/llvm/llvm-project/pull/217320 (contexts that can be reset, since creating them is slow).
To reproduce: profile a loop that compiles ``jax.jit(lambda x: x + i)``, and look for ``make_ir_context``.
Remove when: JAX reuses contexts itself. Releases of JAX in which this was not tried keep their own way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import jax

PROGRAMS_OF_A_CONTEXT = 200

Context = TypeVar("Context")


def shared(
    make: Callable[[], Context],
    programs: int = PROGRAMS_OF_A_CONTEXT,
    busy: Callable[[], bool] = lambda: False,
):
    """``make`` whose results serve ``programs`` calls each, by thread; one call alone where the thread is ``busy``."""
    local = threading.local()

    def context() -> Context:
        if busy():
            return make()
        if getattr(local, "left", 0) == 0:
            local.context, local.left = make(), programs
        local.left -= 1
        return local.context

    return context


def share_contexts() -> None:
    """Let the programs of this process share contexts where that was tried."""
    if jax.__version_info__ >= (0, 11):
        return
    from jax._src.interpreters import mlir

    def lowering() -> bool:
        try:
            return mlir.ir.Context.current is not None
        except ValueError:
            return False

    mlir.make_ir_context = shared(mlir.make_ir_context, busy=lowering)
