"""Exact releases that can be repeated: entropy of the operating system and draws of OpenDP from a seed.

``secrets`` gives a stream for each function and call, so that a draw more in one place moves few others. OpenDP draws
in compiled code: in its place noise is added, or bits are flipped, by the loss that its mechanism proves, which is
recorded too.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np


@contextlib.contextmanager
def frozen(seed: int) -> Iterator[list[Any]]:
    """Draw from ``seed``; yields changes and the losses that OpenDP proves for them, a pair for each call."""
    from opendp.mod import Measurement  # pyright: ignore[reportMissingImports]

    calls: Counter[str] = Counter()
    losses: list[Any] = []

    def number_of(name: str) -> int:
        calls[name] += 1
        return calls[name]

    def coin(name: str) -> Callable[..., Any]:
        def drawn(size: int) -> bytes:
            told = f"{seed}:{name}:{number_of(name)}"
            return hashlib.shake_256(told.encode()).digest(size)

        return lambda *args: _COINS[name](drawn, *args)

    def release(mechanism: Any, values: Any) -> Any:
        change, loss = 1, _epsilon(mechanism.map(1))
        while not loss:  # Gaussian noise proves no loss of changes far below its scale
            change *= 10
            loss = _epsilon(mechanism.map(change))
        losses.append([change, loss])
        generator = np.random.default_rng([seed, number_of("OpenDP")])
        return _noisy(generator, values, loss / change)

    with contextlib.ExitStack() as stack:
        for name in _COINS:
            stack.enter_context(mock.patch.object(secrets, name, coin(name)))
        for name in ("__call__", "invoke"):
            stack.enter_context(mock.patch.object(Measurement, name, release))
        yield losses


def _epsilon(loss: Any) -> float:
    return loss[0] if isinstance(loss, tuple) else loss


def _noisy(generator: np.random.Generator, values: Any, epsilon: float) -> Any:
    if isinstance(values, bytes):
        bits = np.unpackbits(np.frombuffer(values, np.uint8))
        flips = generator.random(bits.size) < 0.5 * (1 - math.tanh(epsilon / 2))
        return np.packbits(bits ^ flips).tobytes()
    noise = np.rint(generator.laplace(size=len(values)) / epsilon)
    return [int(value) + int(more) for value, more in zip(values, noise)]


_COINS: dict[str, Callable[..., Any]] = {
    "token_bytes": lambda draw, size=32: draw(size),
    "token_hex": lambda draw, size=32: draw(size).hex(),
    "randbits": lambda draw, bits: int.from_bytes(draw(-(-bits // 8))) >> -bits % 8,
    "randbelow": lambda draw, bound: int.from_bytes(draw(32)) % bound,
    "SystemRandom": lambda draw: random.Random(draw(32)),
}
