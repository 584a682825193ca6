"""A plan of a consensus: what each method is proven and expected to cost, and the users or the ε that it takes."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._promise import Privacy
from privrank_jax._search import furthest
from privrank_jax.jobs.plan_design import Design, Plan

if TYPE_CHECKING:
    from privrank_jax.aggregation.error_proofs import ProvenError

_PUBLISHED = "hay-kwiksort"
_KNOWN = 1e-3  # below it simulations of a few dozen crowds differ by chance
_SHARP = 1e-3  # how far a needed number may lie above the least one

Point = tuple[int, float]
"""Number of users and ε; one of them may be looked for."""


def plan_consensus(design: Design) -> Plan:
    """Plan a consensus of rankings."""
    from privrank_jax.aggregation.auto import choose_method

    quantity = "epsilon" if design.epsilon is None else "users"
    point, proven, expected = (design.users or 1000, design.epsilon or 1.0), None, None
    search = _Search(design, quantity, point)
    if design.target is not None:
        proven = search.proven_needed()
        near = point if proven is None else search.moved(proven["value"])
        expected = _Search(design, quantity, near).expected_needed()
        if design.users is None or design.epsilon is None:
            if (reached := proven or expected) is None:
                raise ValueError(
                    f"no method is proven or expected to cost at most the target (--target) {design.target:g} above "
                    "the best order: take a larger target, or more users."
                )
            point = search.moved(reached["value"])
    methods: list[dict[str, Any]] = []
    for row in search.rows(point):
        first, costs = vars(row), search.expected(row, [point])
        costs = {"proven_cost": row.cost(design.optimum), "expected_cost": costs and costs[0]}
        names = ("method", "noise", "function", "pure", "ratio", "additive")
        last = {name: first[name] for name in ("order", "source", "remark")}
        methods.append({name: first[name] for name in names} | costs | last)
    by_proof = sorted(methods, key=lambda one: (one["proven_cost"], one["additive"]))
    likely = min(
        (one for one in methods if one["expected_cost"] is not None),
        key=lambda one: (round(one["expected_cost"], 4), one["proven_cost"]),
        default=None,
    )
    users, epsilon = point
    found = {
        **design.told("items", "pairs", "trust", "adjacency"),
        "users": users,
        "epsilon": epsilon,
        **design.told("delta", "optimum"),
        "confidence": design.confidence,
        **design.told("spread", "target"),
        "methods": methods,
        "proven_best": _named(by_proof[0]),
        "expected_best": None if likely is None else _named(likely),
        "auto": "borda"  # nothing may depend on a private number of users
        if design.adjacency == "add-remove"
        else choose_method(design.items, users, search.privacy(point), trust=design.trusted),
        "quantity": quantity if design.target is not None else None,
        "proven_needed": proven,
        "expected_needed": expected,
    }
    budget = f"epsilon = {epsilon:.3g}" + f", delta = {design.delta:g}" * bool(design.delta)
    title = f"{design.items} items ({design.pairs} pairs), {users:,} users, {budget}, trust {design.trusted}"
    title += ", users added or removed" * (design.adjacency == "add-remove")
    table = [
        (
            _named(one),
            f"{one['ratio']:.3g}",
            *(
                f"{one[n]:.3g}" if one[n] < design.pairs else "none"
                for n in ("additive", "proven_cost")
            ),
            small_cost(one["expected_cost"]),
        )
        for one in by_proof
    ]
    heads: tuple[str, ...] = ("method", "ratio", "additive", "proven", "expected")
    columns: dict[str, list[str]] = dict(zip(heads, map(list, zip(*table))))
    sure = "on average"
    if design.confidence is not None:
        sure = f"with probability {design.confidence:g}"

    def draw() -> Any:
        from privrank_jax.plotting import planned_costs

        missing = (
            " Where there is no blue mark, the expected cost of the method is not computed for "
        )
        missing += f"{design.items} items."
        known = all(one["expected_cost"] is not None for one in methods)
        return planned_costs(
            [{**one, "name": _named(one)} for one in by_proof],
            most=design.pairs,
            least=_KNOWN,
            target=design.target,
            label="name",
            guarantee_text=f"Each user (one ranking) is protected with {budget}. Proven: {sure} over the noise, "
            "whatever the users prefer. Expected: where they prefer items by scores from "
            f"{-design.spread:g} to {design.spread:g}.{'' if known else missing}",
            title=title,
        )

    seen = {
        "central": "a curator sees all rankings and publishes only a noisy consensus",
        "local": "users randomize their own rankings before sending them, so that nobody else sees one as it was meant",
        "shuffled": "users randomize their own rankings before sending them, and a shuffler hides who sent which",
    }[design.trusted]
    opening = f"In this plan {seen} (--trust {design.trusted}). epsilon counts for a user, with the whole ranking."
    if design.adjacency == "add-remove":
        opening += (
            " A user who is there can't be told from one who is not (--adjacency add-remove), and how many users there "
            "are is not published."
        )
    paragraphs = (*_answers(design, found), _meaning(design, sure))
    return Plan(title, opening, columns, paragraphs, found, methods, (), draw)


def _answers(design: Design, found: dict[str, Any]) -> list[str]:
    best = f"Least proven cost: {found['proven_best']}."
    if found["expected_best"] is not None:
        best += f" Least expected cost: {found['expected_best']}."
    lines = [best]
    if design.method is None:
        lines.append(
            f"Where no method is named, aggregate takes {found['auto']} here: chosen to lose little in every crowd. "
            "Expected costs are those of crowds that scores describe, which suit borda best."
        )
    for what in ("proven", "expected") if design.target is not None else ():
        needed, goal = found[f"{what}_needed"], f"For {what} {design.target:g} above the best order"
        if needed is None:
            lines.append(f"{goal}: no {found['quantity']} found that suffices.")
            continue
        value = f"epsilon = {needed['value']:.3g}"
        if found["quantity"] == "users":
            value = f"{int(needed['value']):,} user{'s' * (needed['value'] > 1)}"
        chosen = design.method is not None or needed["method"] == _PUBLISHED
        how = "" if chosen else f", which aggregate takes by --method {needed['method']}"
        lines.append(f"{goal}: {value}, by {_named(needed)}{how}.")
    if any(one["method"] == _PUBLISHED for one in found["methods"]):
        lines.append(
            f"{_PUBLISHED} is the published method, for comparison only: aggregate does not offer it."
        )
    return lines


def _meaning(design: Design, sure: str) -> str:
    known = "whatever the best order costs (say how much at most by --optimum, if that is public)"
    if design.optimum is not None:
        known = f"if the best order costs at most {design.optimum:g}"
    return (
        f"Numbers are pairs of items that the average user sees in the other order. Proven, {sure} over the noise and "
        "whatever the users prefer: a cost of at most ratio times that of the best order plus additive, and so proven "
        f"above it, {known}. Expected: on average above the best order where users prefer items by scores from "
        f"{-design.spread:g} to {design.spread:g} (--spread). noise-all and weights take the best ranking for noisy "
        "votes, which is found and proven for about 30 items."
    )


def _named(found: dict[str, Any]) -> str:
    """A method with its noise, for readers."""
    return found["method"] if found["noise"] == "none" else f"{found['method']} ({found['noise']})"


def small_cost(cost: float | None) -> str:
    """A simulated cost, as far as it is known."""
    if cost is None:
        return ""
    return f"{cost:.2g}" if cost >= _KNOWN else f"< {_KNOWN:g}"


@dataclasses.dataclass(frozen=True)
class _Search:
    """The least number of users, or the least ε, that reaches the target; the other stays as at the start."""

    design: Design
    quantity: str
    start: Point

    def privacy(self, point: Point) -> Privacy:
        return Privacy(
            point[1], unit="user", adjacency=self.design.adjacency, delta=self.design.delta
        )

    def rows(self, point: Point, like: ProvenError | None = None) -> list[ProvenError]:
        """Proven rows at a point: all that were asked for, or one."""
        from privrank_jax.aggregation import proven_errors

        rows = proven_errors(
            self.design.items,
            point[0],
            self.privacy(point),
            trust=self.design.trusted,
            confidence=self.design.confidence,
            method=self.design.method if like is None else like.method,
            noise=None if like is None else like.noise,
        )
        if not rows and like is None:
            raise ValueError(
                "no method fits: it takes fewer items, more users than pairs of items (to ask each user for one pair), "
                "or another method (--method) or trust (--trust)."
            )
        return list(rows)

    def expected(self, row: ProvenError, points: list[Point]) -> list[float] | None:
        from privrank_jax.aggregation import planned_costs
        from privrank_jax.aggregation.planned_errors import Setting

        settings = [Setting(point[0], self.privacy(point)) for point in points]
        found = planned_costs(row, self.design.items, settings, spread=self.design.spread)
        return None if found is None else found.tolist()

    @property
    def of_users(self) -> bool:
        return self.quantity == "users"

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        users = (1.0, float(self.design.most_users))
        return users if self.of_users else (SMALLEST_EPSILON, LARGEST_EPSILON)

    def moved(self, value: float) -> Point:
        return (int(value), self.start[1]) if self.of_users else (self.start[0], value)

    def proven_needed(self) -> dict[str, Any] | None:
        """For the proven cost, by the method that needs least as errors grow near the start."""
        design, (users, epsilon) = self.design, self.start
        start = (max(users, 10 * design.pairs), epsilon) if self.of_users else self.start
        power = 1.0 if design.trusted == "central" or not self.of_users else 2.0
        near = [(self.allowed(row), row) for row in self.rows(start)]
        for _, row in sorted(
            (((row.additive / allowed) ** power, row) for allowed, row in near if allowed > 0),
            key=lambda one: one[0],
        ):
            value = self.least(functools.partial(self.reaches, row))
            if value is not None:
                return {"value": value, "method": row.method, "noise": row.noise}
        return None

    def allowed(self, row: ProvenError) -> float:
        """The largest additive error at which the row reaches the target; 0 if there is none."""

        def reaches(additive: float) -> bool:
            cost = dataclasses.replace(row, additive=additive).cost(self.design.optimum)
            return cost <= self.design.target

        return furthest(reaches, 0.0, float(row.pairs)) if reaches(0.0) else 0.0

    def reaches(self, like: ProvenError, value: float) -> bool:
        rows = self.rows(self.moved(value), like)
        return bool(rows) and rows[0].cost(self.design.optimum) <= self.design.target

    def least(self, reached: Callable[[float], bool]) -> float | None:
        """The least value that suffices, to a thousandth; None if there is none."""
        ends, whole = self.ends, self.of_users
        value = min(max(float(self.design.users or 1000) if whole else 1.0, ends[0]), ends[1])
        low, high = 0.0, math.inf
        while not (high < math.inf and (low > 0 or high <= ends[0])):
            if reached(value):
                high, value = value, max(value / 8, ends[0])
            elif value >= ends[1]:
                return None
            else:
                low, value = value, min(value * 8, ends[1])
            value = float(int(value)) if whole else value
        while high / max(low, ends[0]) > 1 + _SHARP and not (whole and high - low <= 1):
            middle = math.sqrt(low * high)
            middle = max(float(int(middle)), low + 1) if whole else middle
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    def expected_needed(self) -> dict[str, Any] | None:
        """For the expected cost: on a grid, then between two of its points, for the best method."""
        top = float(self.start[0]) if self.of_users else self.start[1]
        bottom = float(self.design.pairs if self.design.trusted != "central" else 1)
        low, high = (bottom, self.ends[1]) if self.of_users else self.ends
        halves = range(-2, 13 if self.of_users else 9)
        grid = self.grid(min(max(top * 10 ** -(k / 2), low), high) for k in halves)
        best: tuple[float, ProvenError] | None = None
        for row in self.rows(self.start):
            if row.noise in ("laplace", "duchi", "randomized-response") and not self.design.method:
                continue  # worse than others at all numbers
            found = self.crossing(row, grid)
            if found is not None and (best is None or found < best[0]):
                best = found, row
        if best is None:
            return None
        value, row = best
        low = max((one for one in grid if one < value), default=grid[0])
        high = min(one for one in grid if one >= value)
        inner = self.grid(low * (high / low) ** (k / 12) for k in range(13))
        finer = self.crossing(row, inner) or value
        return {"value": finer, "method": row.method, "noise": row.noise}

    def grid(self, values: Iterable[float]) -> list[float]:
        return sorted({float(math.ceil(one)) if self.of_users else one for one in values})

    def crossing(self, row: ProvenError, grid: list[float]) -> float | None:
        """The first value of the grid from which on the expected cost is at most the target."""
        costs = self.expected(row, [self.moved(one) for one in grid])
        if costs is None or costs[-1] > self.design.target:
            return None
        beyond = [k for k, cost in enumerate(costs) if cost > self.design.target]
        return grid[beyond[-1] + 1 if beyond else 0]
