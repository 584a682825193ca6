"""Python's collector of reference cycles, paused while JAX traces.

A trace allocates many objects and drops few, so that the collector walks again and again through all objects of JAX:
a third of the processor time that tracing and lowering the programs of ``alabi-local`` takes, for no less memory.

Upstream: none known. Remove when: tracing a study takes no longer with the collector than without it.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Leave reference cycles alone within the context, and let them be collected again after it, if they were."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
