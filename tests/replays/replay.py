"""Replay audit of a whole program: a check that data influence its output only through its mechanisms.

Each mechanism is a release point of the program, a :class:`Door` (:mod:`tests.replays.doors` lists them).
The program runs on data D, and inputs and outputs of its mechanisms are recorded; then it runs on a neighbor D', and
each call returns what it returned on D. The program is as private as it claims if

- the same mechanisms are called in the same order with the same parameters (an ε that depends on the data is a leak),
- the losses of all calls, between their two inputs, add up to at most the ε that is claimed,
- everything computed from their outputs and from public facts is identical byte for byte.

Random draws outside mechanisms, such as which rows of a user stay, are called coins here and fixed to zeros or to a
seeded stream: a guarantee that holds for every fixed outcome of them holds for random ones. A longer draw begins with
the shorter one, so what belongs to rows in front of a change is unchanged.

Source: the idea of dp-recorder (arXiv:2602.17454).
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import importlib
import inspect
import itertools
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize

Run = Callable[[], Mapping[str, Any]]
"""Returns everything that is visible from outside, by name: output, files, exit code."""
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
        builds: whether the function returns ``(mechanism, scale)``; all calls of that mechanism together are one input.
        rows: whether the value has a row for each row of the data. Rows are then paired by content, not by place.
    """

    function: str
    data: str = ""
    loss: Loss
    read: Callable[[Any], np.ndarray] = np.asarray
    builds: bool = False
    rows: bool = False


@dataclass(frozen=True, eq=False)
class Crossing:
    """One call of a mechanism: public parameters (one object for all calls of one that was built), data and value."""

    door: Door
    facts: Mapping[str, Any]
    data: np.ndarray
    value: Any


@dataclass(frozen=True)
class Findings:
    """Two runs on neighbors: ε of all calls together, and what else differed, in words."""

    measured: float
    faults: tuple[str, ...]

    def violations(self, claimed: float) -> tuple[str, ...]:
        """What contradicts a claim of ε, in words; empty if nothing does."""
        if self.measured <= claimed * (1 + _ROUNDING):
            return self.faults
        above = f"the mechanisms lose epsilon = {self.measured:.6g}, claimed is {claimed:.6g}"
        return (above, *self.faults)


def audit(first: Run, second: Run, doors: Sequence[Door], coins: int | None = None) -> Findings:
    """Record the program on D, replay it on D' and compare the two runs; a call within a mechanism is not recorded."""
    recording = record(first, doors, coins)
    return compare(recording, record(second, doors, coins, recording))


def record(
    run: Run, doors: Sequence[Door], coins: int | None = None, earlier: Recording | None = None
) -> Recording:
    """Run the program; its mechanisms draw, or return what they returned ``earlier`` while calls agree with that.

    ``coins`` is the seed of the draws outside mechanisms; None for zeros.
    """
    tape, places = Recording(earlier), [door.function.partition(":") for door in doors]
    functions = [getattr(importlib.import_module(module), name) for module, _, name in places]
    watched = [tape.watched(door, function) for door, function in zip(doors, functions)]
    with contextlib.ExitStack() as stack:
        stack.callback(setattr, random, "_urandom", random._urandom)  # all of `secrets` ask it
        random._urandom = tape.coins(random._urandom, coins)
        stack.callback(_swap, watched, functions)
        _swap(functions, watched)
        tape.seen.update(run())
    return tape


def compare(first: Recording, second: Recording) -> Findings:
    """Compare a recording with its replay."""
    faults, pairs = list(second.faults), zip(first.crossings, second.crossings)
    of_each = itertools.groupby(pairs, key=lambda pair: id(pair[0].facts))
    measured = float(sum(_lost(*zip(*calls)) for _, calls in of_each))
    before, after = len(first.crossings), len(second.crossings)
    if before != after:
        faults.append(f"{before} calls of mechanisms, then {after}")
    if not before:
        faults.append("no mechanism was called")
    for name in dict.fromkeys([*first.seen, *second.seen]):
        one, other = (run.seen.get(name) for run in (first, second))
        if one != other:
            lines = itertools.zip_longest(str(one).splitlines(), str(other).splitlines())
            apart = (place for place in enumerate(lines, 1) if len({*place[1]}) > 1)
            number, (a, b) = next(apart, (0, (one, other)))
            where = f"{name}, line {number}" if isinstance(one, str) and number else name
            faults.append(f"{where}: {str(a).strip()[:80]}, then {str(b).strip()[:80]}")
    return Findings(measured, tuple(faults))


def _lost(first: Sequence[Crossing], second: Sequence[Crossing]) -> float:
    """The ε between all inputs of one mechanism in two runs."""
    if [one.data.shape for one in first] != [one.data.shape for one in second]:
        return np.inf
    asked, then = (np.concatenate([one.data for one in calls]) for calls in (first, second))
    return float(first[0].door.loss(asked, then, first[0].facts))


# --- mechanisms that record and replay -------------------------------------------------------------


class Recording:
    """One run, or one in which mechanisms return what they returned earlier.

    Attributes:
        seen: what was visible from outside.
        crossings: calls of mechanisms, in order.
        faults: where a replay departed from the recording, in words.
    """

    def __init__(self, earlier: Recording | None) -> None:
        self.seen: dict[str, Any] = {}
        self.crossings: list[Crossing] = []
        self.faults: list[str] = []
        self._earlier, self._inside = earlier, False

    def watched(self, door: Door, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, wrapped to record or replay its calls, or those of the mechanism that it builds."""
        signature = inspect.signature(function)

        @functools.wraps(function)
        def passed(*args: Any, **options: Any) -> Any:
            if self._inside:
                return function(*args, **options)
            bound = signature.bind(*args, **options)
            bound.apply_defaults()
            hidden = door.data, *_RANDOM
            facts = {name: x for name, x in bound.arguments.items() if name not in hidden}
            call = functools.partial(self._plainly, function, *args, **options)
            if not door.builds:
                return self._crossed(door, facts, door.read(bound.arguments[door.data]), call)
            mechanism, facts["scale"] = call()
            draw = functools.partial(functools.partial, self._plainly, mechanism)
            return lambda x: self._crossed(door, facts, x, draw(x)), facts["scale"]

        return passed

    def _crossed(
        self, door: Door, facts: Mapping[str, Any], data: Any, draw: Callable[[], Any]
    ) -> Any:
        """The value for these data: drawn, or replayed."""
        data = np.array(data)
        earlier = self._earlier and self._agreeing(self._earlier, door, facts, data)
        if not earlier:
            value = draw()
        else:
            value = copy.deepcopy(earlier.value)
            if door.rows:
                pairs = _paired(earlier.data, data)
                value, data = value[pairs], data[np.argsort(pairs)]
        self.crossings.append(Crossing(door, facts, data, copy.deepcopy(value)))
        return value

    def _agreeing(
        self, run: Recording, door: Door, facts: Mapping[str, Any], data: np.ndarray
    ) -> Crossing | None:
        """The call at this place of an earlier run, if it was of the same mechanism with the same parameters."""
        place = len(self.crossings)
        if place >= len(run.crossings):
            self.faults.append(f"call {place + 1}, of {door.function}, was not made before")
            return None
        before = run.crossings[place]
        if before.door is not door or not all(map(_same, before.facts.values(), facts.values())):
            was = f"{before.door.function} with {before.facts}"
            self.faults.append(f"call {place + 1}: {was}, then {door.function} with {facts}")
        elif before.data.shape != data.shape:
            self.faults.append(f"the input of {door.function} has another shape")
        else:
            return before
        return None

    def _plainly(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Inside a mechanism random draws are not fixed, and other mechanisms are plain functions."""
        was, self._inside = self._inside, True
        try:
            return function(*args, **options)
        finally:
            self._inside = was

    def coins(self, real: Callable[[int], bytes], seed: int | None) -> Callable[[int], bytes]:
        """Bytes of the operating system; outside mechanisms a seeded stream for each call, or zeros."""
        calls = itertools.count(1)

        def drawn(size: int) -> bytes:
            if self._inside:
                return real(size)
            stream = hashlib.shake_256(f"{seed}:{next(calls)}".encode())
            return bytes(size) if seed is None else stream.digest(size)

        return drawn


def _paired(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """For each row of ``second`` the row of ``first`` that it is paired with: an equal one, in its place, if any."""
    same = np.all(second[:, None] == first, axis=2)
    return optimize.linear_sum_assignment(same * (2 + np.eye(len(same))), maximize=True)[1]


def _same(first: Any, second: Any) -> bool:
    """Whether public parameters, which may be arrays, are equal."""
    return type(first) is type(second) and np.array_equal(first, second)


def _swap(these: Sequence[Any], those: Sequence[Any]) -> None:
    """Replace functions in all modules of their packages, also in those loaded meanwhile."""
    other = {id(this): that for this, that in zip(these, those)}
    packages = {function.__module__.partition(".")[0] for function in these}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages:
            for attribute, value in list(vars(module).items()):
                if id(value) in other:
                    setattr(module, attribute, other[id(value)])
