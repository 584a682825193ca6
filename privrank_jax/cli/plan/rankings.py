"""A consensus of rankings: what methods are proven and expected to cost, and how many users or which ε it takes."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypedDict

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.plan.request import MOST_SHUFFLED, MOST_USERS, Design

if TYPE_CHECKING:
    from privrank_jax.aggregation import ProvenError

_MOST_ITEMS = 200
_SHARP = 1e-3  # how far a needed number may lie above the least one


class Method(TypedDict):
    """One method, as in the JSON document."""

    method: str
    noise: str
    function: str
    pure: bool
    ratio: float
    additive: float
    proven_cost: float
    expected_cost: float | None
    order: str
    source: str
    remark: str


class Needed(TypedDict):
    """The least number of users, or the least ε, that reaches the target, and the method that needs it."""

    value: float
    method: str
    noise: str


class Plan(TypedDict):
    """The plan, as in the JSON document; costs are pairs per user above the best order."""

    items: int
    pairs: int
    trust: str
    users: int
    epsilon: float
    delta: float
    optimum: float | None
    confidence: float | None
    spread: float
    target: float | None
    methods: list[Method]
    proven_best: str
    expected_best: str | None
    auto: str
    quantity: str | None
    proven_needed: Needed | None
    expected_needed: Needed | None


@dataclasses.dataclass(frozen=True)
class _Point:
    """Number of users and ε; one of them is looked for."""

    users: int
    epsilon: float


def solve(design: Design) -> Plan:
    """Solve the design; return the plan as plain Python values."""
    if design.items > _MOST_ITEMS:
        raise Refusal(f"--items must be at most {_MOST_ITEMS} with --rankings.")
    quantity = None
    if design.target is not None:
        quantity = "epsilon" if design.epsilon is None else "users"
    proven = expected = None
    point = _Point(design.users or 1000, design.epsilon or 1.0)
    if quantity is not None:
        proven = _proven_needed(design, quantity, point)
        expected = _expected_needed(
            design, quantity, point if proven is None else _moved(point, quantity, proven["value"])
        )
        if design.users is None or design.epsilon is None:
            reached = proven or expected
            if reached is None:
                raise Refusal(
                    f"no method is proven or expected to cost at most --target {design.target:g} above the best order: "
                    "take a larger target, or more users."
                )
            point = _moved(point, quantity, reached["value"])
    rows = _rows(design, point)
    costs = [_expected(design, row, [point]) for row in rows]
    methods: list[Method] = [
        {
            "method": row.method,
            "noise": row.noise,
            "function": row.function,
            "pure": row.pure,
            "ratio": row.ratio,
            "additive": row.additive,
            "proven_cost": row.cost(design.optimum),
            "expected_cost": None if cost is None else cost[0],
            "order": row.order,
            "source": row.source,
            "remark": row.remark,
        }
        for row, cost in zip(rows, costs, strict=True)
    ]
    planned = [one for one in methods if one["expected_cost"] is not None]
    best = min(methods, key=lambda one: (one["proven_cost"], one["additive"]))
    likely = min(
        planned,
        key=lambda one: (round(one["expected_cost"] or 0, 4), one["proven_cost"]),
        default=None,
    )
    return {
        "items": design.items,
        "pairs": rows[0].pairs,
        "trust": design.trusted,
        "users": point.users,
        "epsilon": point.epsilon,
        "delta": design.delta,
        "optimum": design.optimum,
        "confidence": design.confidence,
        "spread": design.spread,
        "target": design.target,
        "methods": methods,
        "proven_best": name_of(best["method"], best["noise"]),
        "expected_best": None if likely is None else name_of(likely["method"], likely["noise"]),
        "auto": _auto(design, point),
        "quantity": quantity,
        "proven_needed": proven,
        "expected_needed": expected,
    }


def name_of(method: str, noise: str) -> str:
    """A method with its noise, for readers."""
    return method if noise == "none" else f"{method} ({noise})"


def _auto(design: Design, point: _Point) -> str:
    """What ``privrank aggregate`` takes at a point if no method is named."""
    from privrank_jax.aggregation.auto import choose_method

    trust, privacy = design.trusted, _privacy(design, point)
    return choose_method(design.items, point.users, privacy, trust=trust, mechanism="one-pair")


def _moved(point: _Point, quantity: str, value: float) -> _Point:
    if quantity == "users":
        return dataclasses.replace(point, users=int(value))
    return dataclasses.replace(point, epsilon=value)


def _privacy(design: Design, point: _Point) -> Privacy:
    return Privacy(point.epsilon, unit="user", adjacency="replace", delta=design.delta)


def _rows(design: Design, point: _Point, like: ProvenError | None = None) -> list[ProvenError]:
    """Proven rows at a point: all that were asked for, or one."""
    from privrank_jax.aggregation import proven_errors

    rows = proven_errors(
        design.items,
        point.users,
        _privacy(design, point),
        trust=design.trusted,
        confidence=design.confidence,
        method=design.method if like is None else like.method,
        noise=None if like is None else like.noise,
    )
    if not rows and like is None:
        raise Refusal(
            "no method fits: it takes fewer items, more users than pairs of items (to ask each user for one pair), or "
            "another --method or --trust."
        )
    return list(rows)


def _expected(design: Design, row: ProvenError, points: list[_Point]) -> list[float] | None:
    from privrank_jax.aggregation import Setting, planned_costs

    settings = [Setting(point.users, _privacy(design, point)) for point in points]
    found = planned_costs(row, design.items, settings, spread=design.spread)
    return None if found is None else found.tolist()


def _proven_needed(design: Design, quantity: str, start: _Point) -> Needed | None:
    """The least users, or ε, for the proven cost, by the method that needs least as errors grow near the start."""
    assert design.target is not None
    pairs = design.items * (design.items - 1) // 2
    if quantity == "users":
        start = dataclasses.replace(start, users=max(start.users, 10 * pairs))
    power = 1.0 if design.trusted == "central" or quantity == "epsilon" else 2.0
    near: list[tuple[float, ProvenError]] = []
    for row in _rows(design, start):
        allowed = _allowed(row, design.target, design.optimum)
        if allowed > 0:
            near.append(((row.additive / allowed) ** power, row))
    for _, row in sorted(near, key=lambda one: one[0]):
        value = _least(functools.partial(_reaches, design, quantity, start, row), quantity, design)
        if value is not None:
            return {"value": value, "method": row.method, "noise": row.noise}
    return None


def _allowed(row: ProvenError, target: float, optimum: float | None) -> float:
    """The largest additive error at which the row reaches the target; 0 if there is none."""

    def cost(additive: float) -> float:
        return dataclasses.replace(row, additive=additive).cost(optimum)

    low, high = 0.0, float(row.pairs)
    if cost(low) > target:
        return 0.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if cost(middle) <= target else (low, middle)
    return low


def _reaches(design: Design, quantity: str, start: _Point, like: ProvenError, value: float) -> bool:
    rows = _rows(design, _moved(start, quantity, value), like)
    assert design.target is not None
    return bool(rows) and rows[0].cost(design.optimum) <= design.target


def _least(reached: Callable[[float], bool], quantity: str, design: Design) -> float | None:
    """The least number of users, or ε, that suffices, to a thousandth; None if there is none."""
    most = MOST_SHUFFLED if design.trusted == "shuffled" else MOST_USERS
    ends = (1.0, float(most)) if quantity == "users" else (SMALLEST_EPSILON, LARGEST_EPSILON)
    value = (
        (1000.0 if design.users is None else float(design.users)) if quantity == "users" else 1.0
    )
    value = min(max(value, ends[0]), ends[1])
    low, high = 0.0, math.inf
    while not (high < math.inf and (low > 0 or high <= ends[0])):
        if reached(value):
            high, value = value, max(value / 8, ends[0])
        elif value >= ends[1]:
            return None
        else:
            low, value = value, min(value * 8, ends[1])
        if quantity == "users":
            value = float(int(value))
    while high / max(low, ends[0]) > 1 + _SHARP and (quantity != "users" or high - low > 1):
        middle = math.sqrt(low * high) if quantity != "users" else float(int(math.sqrt(low * high)))
        middle = max(middle, low + 1) if quantity == "users" else middle
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def _expected_needed(design: Design, quantity: str, start: _Point) -> Needed | None:
    """The least users, or ε, for the expected cost: on a grid, then between two of its points, for the best method."""
    best: tuple[float, ProvenError] | None = None
    most = MOST_SHUFFLED if design.trusted == "shuffled" else MOST_USERS
    top = float(start.users) if quantity == "users" else start.epsilon
    pairs = design.items * (design.items - 1) // 2
    bottom = float(pairs if design.trusted != "central" else 1)
    if quantity == "users":
        grid = [min(max(top * 10 ** -(k / 2), bottom), most) for k in range(-2, 13)]
        grid = sorted({float(math.ceil(one)) for one in grid})
    else:
        grid = [
            min(max(top * 10 ** -(k / 2), SMALLEST_EPSILON), LARGEST_EPSILON) for k in range(-2, 9)
        ]
        grid = sorted(set(grid))
    for row in _rows(design, start):
        if row.noise in ("laplace", "duchi", "randomized-response") and design.method is None:
            continue  # worse than others at all numbers
        found = _crossing(design, quantity, start, row, grid)
        if found is not None and (best is None or found < best[0]):
            best = found, row
    if best is None:
        return None
    value, row = best
    low = max((one for one in grid if one < value), default=grid[0])
    high = min(one for one in grid if one >= value)
    inner = [low * (high / low) ** (k / 12) for k in range(13)]
    if quantity == "users":
        inner = sorted({float(math.ceil(one)) for one in inner})
    finer = _crossing(design, quantity, start, row, inner) or value
    return {"value": finer, "method": row.method, "noise": row.noise}


def _crossing(
    design: Design, quantity: str, start: _Point, row: ProvenError, grid: list[float]
) -> float | None:
    """The first value of the grid from which on the expected cost is at most the target."""
    costs = _expected(design, row, [_moved(start, quantity, one) for one in grid])
    if costs is None or design.target is None or costs[-1] > design.target:
        return None
    beyond = [k for k, cost in enumerate(costs) if cost > design.target]
    return grid[beyond[-1] + 1 if beyond else 0]
