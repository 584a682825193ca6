"""Mechanisms by which each user randomizes what is told of her: a randomizer, and what is made of all messages."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._backend import sum_of_parts
from privrank_jax._types import Epsilon, Key, Mask
from privrank_jax._validate import check_epsilon
from privrank_jax._workarounds.threefry import fused
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.program import Record
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

_BLOCK = 1 << 18  # numbers in the messages under one key; another number draws other messages
_BYTES = 40  # of the working set, for each of them


@dataclasses.dataclass(frozen=True, eq=False)
class Local(Record):
    """A randomizer of one user, and the aggregate of all messages, which is post-processing.

    Called with ``(key, data, privacy)`` it simulates all users at once: pure, for ``jit``, ``vmap`` and ``grad``.
    :meth:`release` draws exact messages from the operating system's entropy, on the host.

    Attributes:
        attain: (promise, name) -> what is attained of it; raises for one that can't be kept.
        read: (data, rules by name) -> what users hold, an array with a leading axis of users, checked; what is public.
        send: (key, contents, tuned, facts) -> the messages of users, each drawn by itself.
        finish: (messages, or their tally, tuned, facts) -> value, diagnostics; for NumPy and JAX.
        spread: (ε of a report, facts) -> what stands for the scale of the noise, as the theorem says.
        check: facts -> None; raises where these users are too few. One user may report all the same.
        tune: (ε of a report, facts) -> public numbers of the randomizer; default ε itself.
        assign: (key, facts) -> what each user is asked for, whatever the data; contents are then pairs of what a user
            holds and is asked for. None: all are asked for the same.
        tally: (messages, which users are real, tuned, facts) -> sums over users, so that blocks of users suffice.
        width: facts -> numbers in the message of one user.
        exact: (what users hold, attained, facts) -> tuned, messages or tally. None: no exact draw is known.
        own: (ε, δ, facts) -> ε of a report; numbers, or arrays that may be traced. Default ε.
        trust, note: as of a :class:`~privrank_jax.privacy.Guarantee`.
    """

    attain: Callable[[Privacy, str], Privacy]
    read: Callable[..., tuple[Any, Facts]]
    send: Callable[[Key, Any, Any, Facts], Any]
    finish: Callable[[Any, Any, Facts], tuple[Any, Any]]
    spread: Callable[[Any, Facts], Any]
    check: Callable[[Facts], None] = lambda facts: None
    tune: Callable[[Any, Facts], Any] = lambda epsilon, facts: epsilon
    assign: Callable[[Key, Facts], Any] | None = None
    tally: Callable[[Any, Mask, Any, Facts], Any] | None = None
    width: Callable[[Facts], int] = lambda facts: facts.num_items
    exact: Callable[[Any, Privacy, Facts], tuple[Any, Any]] | None = None
    own: Callable[[Any, Any, Facts], Any] = lambda epsilon, delta, facts: epsilon
    trust: str = "local"
    note: str = ""

    def __post_init__(self) -> None:
        self.read_in(self.spread)

    def scale(self, privacy: Privacy, facts: Facts) -> Any:
        """What stands for the scale of the noise, from public facts: numbers of items and users, rules."""
        attained = self.attain(privacy, self.name)
        return self.spread(self.own(attained.epsilon, attained.delta, facts), facts)

    def __call__(self, key: Key, data: Any, privacy: Privacy, **rules: Any) -> Estimate:
        """Simulate all users.

        Args:
            key: PRNG key.
            data: as the record says, one row for each user; may be traced.
            privacy: what is promised; ε may be traced, and at ε = ∞ users tell what they hold.
            rules: as the record says; public.

        Returns:
            ``value`` and ``diagnostics``, as the record says, and the guarantee.

        Raises:
            TypeError, ValueError: a promise that this can't keep, data that are wrong.
        """
        attained = self.attain(privacy, self.name)
        given, facts = self.read(data, **rules)
        self.check(facts)
        kind = jnp.result_type(float)
        promised = jnp.asarray(attained.epsilon, kind), jnp.asarray(attained.delta, kind)
        epsilon = self.own(*promised, facts)
        value, about = _simulated(self, key, given, epsilon, facts.rules)
        guarantee = Guarantee(privacy, attained, trust=self.trust, note=self.note)
        return Estimate(value, guarantee, about)

    def report(self, key: Key, data: Any, epsilon: Epsilon, *, asked: Any = 0, **rules: Any) -> Any:
        """What one user sends, or several, each by herself; ε-local DP, simulated; arguments as of a simulation.

        The message has an axis of users if the data have one. ``asked`` is what the user is asked for, where that
        differs between users; public.
        """
        epsilon = jnp.asarray(check_epsilon(epsilon), jnp.result_type(float))
        alone = np.ndim(data) == 1
        if alone:
            data = data[None] if hasattr(data, "ndim") else [data]
        given, facts = self.read(data, **rules)
        found = _sent(self, key, given, jnp.asarray(asked), epsilon, facts.rules)
        return jax.tree.map(lambda x: x[0], found) if alone else found

    def release(self, data: Any, privacy: Privacy, **rules: Any) -> Estimate:
        """Release with exact messages, from the operating system's entropy, for users who tell what is drawn here.

        Arguments, results and errors are as of a simulation, in NumPy and float64; ε = ∞, several ε, and records
        without an exact draw are refused.
        """
        from privrank_jax.exact.integer_noise import exact_estimate, exact_promise

        if self.exact is None:
            raise ValueError(
                f"{self.name} has no exact release, as its messages are real numbers: take one with finitely many."
            )
        attained = exact_promise(self.attain(privacy, self.name))
        _, facts = self.read(data, **rules)
        self.check(facts)
        tuned, collected = self.exact(np.asarray(data), attained, facts)
        value, about = self.finish(collected, tuned, facts)
        value = np.asarray(value)
        return exact_estimate(value, privacy, attained, about, trust=self.trust, note=self.note)


@functools.partial(jax.jit, static_argnames=("record", "rules"))
def _simulated(
    record: Local, key: Key, given: Array, epsilon: Array, rules: tuple[Any, ...]
) -> tuple[Any, Any]:
    facts = Facts(given.shape[-1], given.shape[0], rules=rules)
    tuned, contents = record.tune(epsilon, facts), given
    if record.assign is not None:
        asked_key, key = jax.random.split(fused(key))
        contents = given, record.assign(asked_key, facts)
    return record.finish(_collected(record, key, contents, tuned, facts), tuned, facts)


@functools.partial(jax.jit, static_argnames=("record", "rules"))
def _sent(
    record: Local, key: Key, given: Array, asked: Array, epsilon: Array, rules: tuple[Any, ...]
) -> Any:
    facts = Facts(given.shape[-1], given.shape[0], rules=rules)
    contents = given
    if record.assign is not None:
        contents = given, jnp.broadcast_to(asked, given.shape[:1])
    return record.send(key, contents, record.tune(epsilon, facts), facts)


def _collected(record: Local, key: Key, contents: Any, tuned: Any, facts: Facts) -> Any:
    tally = record.tally
    if tally is None:
        return record.send(key, contents, tuned, facts)
    users, width = facts.num_users, record.width(facts)
    block = max(1, min(users, _BLOCK // width))
    blocks = -(-users // block)

    def in_blocks(x: Array) -> Array:
        more = jnp.pad(x, ((0, blocks * block - users), *[(0, 0)] * (x.ndim - 1)))
        return more.reshape(blocks, block, *x.shape[1:])

    def tallied(part: tuple[Array, Any, Array]) -> Any:
        key, own, real = part
        return tally(record.send(key, own, tuned, facts), real, tuned, facts)

    real = (jnp.arange(blocks * block) < users).reshape(blocks, block)
    parts = jax.random.split(fused(key), blocks), jax.tree.map(in_blocks, contents), real
    return sum_of_parts(tallied, parts, _BYTES * block * (width + facts.num_items))
