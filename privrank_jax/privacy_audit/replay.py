"""Replay audit of a whole program: a check that data influence its output only through its mechanisms.

A program that releases is as private as its mechanisms only if everything else that it does uses the data in ways that
the guarantee allows. Its mechanisms are functions; each one is a release point of the program, a :class:`Door`
(:mod:`privrank_jax.privacy_audit.doors` lists them), and each call of one is a :class:`Crossing`. The program runs on
data D, and the inputs and outputs of all calls are recorded; then it runs on a neighbor D' and each call returns what
it returned on D, so that

- the same mechanisms are called in the same order with the same parameters (an ε or a sensitivity that depends on the
  data is a leak),
- their inputs differ by no more than the claim allows: the losses of all calls add up to at most its ε,
- everything computed from their outputs and from public facts is identical byte for byte.

The program also draws random numbers outside its mechanisms: which rows of a user stay, how a tie is broken. These
draws, called coins here, are fixed to zeros or to a seeded stream: a guarantee that holds for every fixed outcome of
them, with those of all other users unchanged, holds for random ones. A longer draw begins with the shorter one, so what
belongs to rows in front of a change is unchanged.

Source: the idea of dp-recorder (arXiv:2602.17454).
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import importlib
import inspect
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Run = Callable[[], Mapping[str, Any]]
"""Runs the program and returns everything that is visible from outside, by name: output, files, exit code."""
Loss = Callable[[np.ndarray, np.ndarray, Mapping[str, Any]], float]
"""Maps ``(first, second, facts)`` to the ε that a mechanism loses between two inputs; ``facts`` are public."""

_RANDOM = ("key", "sources")
_ROUNDING = 1e-9  # relative to ε, which is a quotient of doubles


@dataclass(frozen=True, eq=False, kw_only=True)
class Door:
    """A release point: a mechanism of the program, the only place where data receive noise.

    Attributes:
        function: ``"module:name"``. Wherever the package of that module holds this function, it is replaced.
        data: its parameter that holds data; all others are public, except ``key`` and ``sources`` of noise.
        loss: the ε that it loses between two inputs.
        read: converts that parameter to an array.
        builds: whether the function instead returns ``(mechanism, scale)``, where ``mechanism`` takes the data and may
            be called any number of times. All its calls together are one input; ``scale`` is added to the facts.
        rows: whether the value has a row for each row of the data. Rows are then paired by content, not by place.
    """

    function: str
    data: str = ""
    loss: Loss
    read: Callable[[Any], np.ndarray] = np.asarray
    builds: bool = False
    rows: bool = False


@dataclass(eq=False)
class Crossing:
    """One call of a mechanism, or one mechanism that was built.

    Attributes:
        door: the release point.
        facts: its public parameters.
        inputs: data, one array for each call.
        values: what was returned, one value for each call.
    """

    door: Door
    facts: dict[str, Any]
    inputs: list[np.ndarray] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Recording:
    """One run.

    Attributes:
        seen: what was visible from outside.
        crossings: calls of mechanisms, in order.
        faults: where a replay departed from the recording, in words.
    """

    seen: Mapping[str, Any]
    crossings: tuple[Crossing, ...]
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class Findings:
    """The result of comparing two runs on neighbors.

    Attributes:
        measured: ε, the sum over all calls.
        doors: name of the mechanism and ε of each call.
        faults: what else differed, in words.
    """

    measured: float
    doors: tuple[tuple[str, float], ...]
    faults: tuple[str, ...]

    def violations(self, claimed: float) -> tuple[str, ...]:
        """What contradicts a claim of ε, in words; empty if nothing does."""
        if self.measured <= claimed * (1 + _ROUNDING):
            return self.faults
        each = ", ".join(f"{name} {epsilon:.6g}" for name, epsilon in self.doors)
        above = (
            f"the mechanisms lose epsilon = {self.measured:.6g}, claimed is {claimed:.6g} ({each})"
        )
        return (above, *self.faults)


def audit(first: Run, second: Run, doors: Sequence[Door], coins: int | None = None) -> Findings:
    """Record the program on D, replay it on D' and compare the two runs.

    Args:
        first: runs it on D.
        second: runs it on D', in the same way.
        doors: its mechanisms. A call within another mechanism is not recorded.
        coins: seed of the draws outside mechanisms; None for zeros.
    """
    recording = record(first, doors, coins)
    return compare(recording, replay(second, doors, recording, coins))


def record(run: Run, doors: Sequence[Door], coins: int | None = None) -> Recording:
    """Run the program with mechanisms that draw, and record their inputs and outputs."""
    return _run(run, doors, None, coins)


def replay(
    run: Run, doors: Sequence[Door], recording: Recording, coins: int | None = None
) -> Recording:
    """Run the program with mechanisms that return what they returned in ``recording``, while calls agree with it."""
    return _run(run, doors, recording, coins)


def compare(first: Recording, second: Recording) -> Findings:
    """Compare a recording with its replay."""
    pairs = list(zip(first.crossings, second.crossings))
    losses = [(a.door.function.partition(":")[2], _lost(a, b)) for a, b in pairs]
    faults = list(second.faults)
    if len(first.crossings) != len(second.crossings):
        calls = f"{len(first.crossings)} calls of mechanisms, then {len(second.crossings)}"
        faults.append(calls)
    if not first.crossings:
        faults.append(
            "no mechanism was called: the output depends on no data, or avoids the mechanisms"
        )
    names = dict.fromkeys([*first.seen, *second.seen])
    faults += [
        _difference(name, first.seen.get(name), second.seen.get(name))
        for name in names
        if first.seen.get(name) != second.seen.get(name)
    ]
    return Findings(float(sum(loss for _, loss in losses)), tuple(losses), tuple(faults))


def _lost(first: Crossing, second: Crossing) -> float:
    """The ε between all inputs of one mechanism in two runs."""
    if [x.shape for x in first.inputs] != [x.shape for x in second.inputs]:
        return np.inf
    if not first.inputs:  # a mechanism that was built but never called
        return 0.0
    if len(first.inputs) == 1:
        return float(first.door.loss(first.inputs[0], second.inputs[0], first.facts))
    asked, then = (np.concatenate([x.ravel() for x in one.inputs]) for one in (first, second))
    return float(first.door.loss(asked, then, first.facts))


def _difference(name: str, first: object, second: object) -> str:
    """The first place where two outputs differ, in words."""
    if isinstance(first, str) and isinstance(second, str):
        lines = (one.splitlines() for one in (first, second))
        for number, (a, b) in enumerate(zip(*lines), start=1):
            if a != b:
                return f"{name}, line {number}: {a.strip()!r}, then {b.strip()!r}"
        return f"{name}: {len(first.splitlines())} lines, then {len(second.splitlines())}"
    return f"{name}: {str(first)[:80]}, then {str(second)[:80]}"


# --- mechanisms that record and replay -------------------------------------------------------------


def _run(
    run: Run, doors: Sequence[Door], recording: Recording | None, coins: int | None
) -> Recording:
    tape = _Tape(recording)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_frozen_coins(tape, coins))
        functions = [_function(door) for door in doors]
        watched = [tape.watched(door, function) for door, function in zip(doors, functions)]
        stack.enter_context(_everywhere(functions, watched))
        seen = dict(run())
    return Recording(seen, tuple(tape.crossings), tuple(tape.faults))


def _function(door: Door) -> Callable[..., Any]:
    module, _, name = door.function.partition(":")
    return getattr(importlib.import_module(module), name)


class _Tape:
    """The mechanisms of one run; they return what ``recording`` holds, or draw if it is None."""

    def __init__(self, recording: Recording | None) -> None:
        self.recording = recording
        self.crossings: list[Crossing] = []
        self.faults: list[str] = []
        self.inside = False

    def watched(self, door: Door, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, wrapped to record or replay its calls."""
        signature = inspect.signature(function)

        @functools.wraps(function)
        def passed(*args: Any, **options: Any) -> Any:
            if self.inside:
                return function(*args, **options)
            bound = signature.bind(*args, **options)
            bound.apply_defaults()
            unlike = door.data, *_RANDOM
            facts = {k: v for k, v in bound.arguments.items() if k not in unlike}
            crossing, earlier = self._begin(door, facts)
            if door.builds:
                return self._built(crossing, earlier, lambda: function(*args, **options))
            draw = functools.partial(function, *args, **options)
            return self._ask(crossing, earlier, door.read(bound.arguments[door.data]), draw)

        return passed

    def _begin(self, door: Door, facts: dict[str, Any]) -> tuple[Crossing, Crossing | None]:
        """A new call, and the recorded one if it called the same mechanism with the same parameters."""
        crossing, place = Crossing(door, facts), len(self.crossings)
        self.crossings.append(crossing)
        if self.recording is None:
            return crossing, None
        if place >= len(self.recording.crossings):
            self.faults.append(f"call {place + 1}, of {door.function}, was not made before")
            return crossing, None
        earlier = self.recording.crossings[place]
        before = {name: value for name, value in earlier.facts.items() if name != "scale"}
        if earlier.door is not door or not _same(before, facts):
            was = f"{earlier.door.function} with {before}"
            self.faults.append(f"call {place + 1}: {was}, then {door.function} with {facts}")
            return crossing, None
        return crossing, earlier

    def _built(
        self, crossing: Crossing, earlier: Crossing | None, build: Callable[[], Any]
    ) -> tuple[Callable[[Any], Any], Any]:
        """A mechanism whose calls are recorded or replayed, and its scale; for a replay it is built only if needed."""
        built: list[Any] = []

        def mechanism() -> Any:
            if not built:
                with self._real():
                    built.append(build())
            return built[0]

        scale = mechanism()[1] if earlier is None else earlier.facts["scale"]
        crossing.facts["scale"] = scale

        def asked(values: Any) -> Any:
            draw = lambda: mechanism()[0](values)  # noqa: E731
            return self._ask(crossing, earlier, np.asarray(values), draw)

        return asked, scale

    def _ask(
        self,
        crossing: Crossing,
        earlier: Crossing | None,
        data: np.ndarray,
        draw: Callable[[], Any],
    ) -> Any:
        """The value for these data: drawn, or replayed."""
        place, pairs = len(crossing.inputs), None
        data = np.array(data)
        if earlier is not None and place < len(earlier.inputs):
            before = earlier.inputs[place]
            if before.shape == data.shape:
                pairs = _paired(before, data) if crossing.door.rows else np.arange(len(data))
        if earlier is not None and pairs is not None:
            value = copy.deepcopy(earlier.values[place])
            if crossing.door.rows:
                value, data = value[pairs], data[np.argsort(pairs)]
        else:
            if earlier is not None:
                self.faults.append(f"the input of {crossing.door.function} has another shape")
            with self._real():
                value = draw()
        crossing.inputs.append(data)
        crossing.values.append(copy.deepcopy(value))
        return value

    @contextlib.contextmanager
    def _real(self) -> Iterator[None]:
        """Inside a mechanism, random draws are not fixed and other mechanisms are plain functions."""
        was, self.inside = self.inside, True
        try:
            yield
        finally:
            self.inside = was


def _paired(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """For each row of ``second`` the row of ``first`` that it is paired with, an equal one if there is one left.

    >>> _paired(np.array([[0, 1], [2, 3], [4, 5]]), np.array([[4, 5], [2, 3], [9, 9]])).tolist()
    [2, 1, 0]
    """
    found = np.where(np.all(first == second, axis=1), np.arange(len(first)), -1)  # in their places
    free: dict[tuple[Any, ...], list[int]] = {}
    for place in np.flatnonzero(found < 0)[::-1]:
        free.setdefault(tuple(first[place]), []).append(place)
    for place in np.flatnonzero(found < 0):
        if same := free.get(tuple(second[place])):
            found[place] = same.pop()
    left = np.setdiff1d(np.arange(len(first)), found)
    found[found < 0] = left
    return found


def _same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether public parameters, which may be arrays, are equal."""
    return first.keys() == second.keys() and all(
        type(first[name]) is type(second[name]) and np.array_equal(first[name], second[name])
        for name in first
    )


@contextlib.contextmanager
def _everywhere(old: Sequence[Any], new: Sequence[Any]) -> Iterator[None]:
    """Replace functions in all modules of their packages, and undo it on exit, also in modules loaded meanwhile."""
    packages = {function.__module__.partition(".")[0] for function in old}

    def swap(these: Sequence[Any], those: Sequence[Any]) -> None:
        by_identity = {id(this): that for this, that in zip(these, those)}
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] not in packages:
                continue
            values = vars(module)
            if by_identity.keys().isdisjoint(map(id, values.values())):  # most modules
                continue
            for attribute, value in list(values.items()):
                if id(value) in by_identity:
                    setattr(module, attribute, by_identity[id(value)])

    swap(old, new)
    try:
        yield
    finally:
        swap(new, old)


@contextlib.contextmanager
def _frozen_coins(tape: _Tape, seed: int | None) -> Iterator[None]:
    """Fix draws of :mod:`secrets` outside mechanisms: a seeded stream for each function and call, or zeros."""
    real = {name: getattr(secrets, name) for name in _COINS}
    calls = dict.fromkeys(_COINS, 0)

    def drawn(name: str, size: int) -> bytes:
        calls[name] += 1
        if seed is None:
            return bytes(size)
        return hashlib.shake_256(f"{seed}:{name}:{calls[name]}".encode()).digest(size)

    def frozen(name: str) -> Callable[..., Any]:
        def coin(*args: Any) -> Any:
            if tape.inside:
                return real[name](*args)
            return _COINS[name](functools.partial(drawn, name), *args)

        return coin

    for name in _COINS:
        setattr(secrets, name, frozen(name))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(secrets, name, function)


_COINS: dict[str, Callable[..., Any]] = {
    "token_bytes": lambda draw, size=32: draw(size),
    "token_hex": lambda draw, size=32: draw(size).hex(),
    "randbits": lambda draw, bits: int.from_bytes(draw(-(-bits // 8))) >> -bits % 8,
    "randbelow": lambda draw, bound: int.from_bytes(draw(16)) % bound,
}
