"""The plan of a consensus in words: a table of methods, what suffices, and what the numbers mean."""

from __future__ import annotations

from privrank_jax.cli.console import busy, print_json, print_paragraphs, print_table
from privrank_jax.cli.plan.opening import who_sees_rankings
from privrank_jax.cli.plan.rankings import Method, Needed, Plan, name_of, solve
from privrank_jax.cli.plan.request import Design

_PUBLISHED = "hay-kwiksort"
KNOWN = 1e-3  # below it simulations of a few dozen crowds differ by chance


def report(design: Design) -> Plan:
    """Print the plan of a consensus, and return it."""
    with busy("planning"):
        found = solve(design)
    if design.json:
        print_json(found)
    else:
        _print_plan(design, found)
    return found


def _print_plan(design: Design, found: Plan) -> None:
    rows = [
        (
            name_of(one["method"], one["noise"]),
            f"{one['ratio']:.3g}",
            f"{one['additive']:.3g}" if one["additive"] < found["pairs"] else "none",
            f"{one['proven_cost']:.3g}" if one["proven_cost"] < found["pairs"] else "none",
            _small(one["expected_cost"]),
        )
        for one in by_proof(found)
    ]
    print_paragraphs(who_sees_rankings(design))
    print_table(
        headline(found),
        [("method", "left"), ("ratio", "right"), ("additive", "right"), ("proven", "right"), ("expected", "right")],
        rows,
    )  # fmt: skip
    known = (
        f"if the best order costs at most {found['optimum']:g}"
        if found["optimum"] is not None
        else "whatever the best order costs (say how much at most by --optimum, if that is public)"
    )
    print_paragraphs(
        *_answers(design, found),
        f"Numbers are pairs of items that the average user sees in the other order. Proven, {sure(found)} over the "
        "noise and whatever the users prefer: a cost of at most ratio times that of the best order plus additive, and "
        f"so proven above it, {known}. Expected: on average above the best order where users prefer items by scores "
        f"from {-found['spread']:g} to {found['spread']:g} (--spread). noise-all and weights take the best ranking for "
        "noisy votes, which is found and proven for about 30 items.",
    )


def by_proof(found: Plan) -> list[Method]:
    """The methods, the least proven cost first."""
    return sorted(found["methods"], key=lambda one: (one["proven_cost"], one["additive"]))


def headline(found: Plan) -> str:
    """What is planned, in one line."""
    return (
        f"{found['items']} items ({found['pairs']} pairs), {found['users']:,} users, {budget(found)}, trust "
        f"{found['trust']}"
    )


def budget(found: Plan) -> str:
    """The budget of a user, in words."""
    delta = f", delta = {found['delta']:g}" if found["delta"] else ""
    return f"epsilon = {found['epsilon']:.3g}{delta}"


def sure(found: Plan) -> str:
    """How surely a proven cost holds."""
    if found["confidence"] is None:
        return "on average"
    return f"with probability {found['confidence']:g}"


def _small(cost: float | None) -> str:
    """A simulated cost, as far as it is known."""
    if cost is None:
        return ""
    return f"{cost:.2g}" if cost >= KNOWN else f"< {KNOWN:g}"


def _answers(design: Design, found: Plan) -> list[str]:
    best = f"Least proven cost: {found['proven_best']}."
    if found["expected_best"] is not None:
        best += f" Least expected cost: {found['expected_best']}."
    lines = [best]
    if design.method is None:
        lines.append(
            f"Where no method is named, aggregate takes {found['auto']} here: chosen to lose little in every crowd. "
            "Expected costs are those of crowds that scores describe, which suit borda best."
        )
    for what in ("proven", "expected"):
        needed = found["proven_needed"] if what == "proven" else found["expected_needed"]
        if found["target"] is None:
            continue
        goal = f"For {what} {found['target']:g} above the best order"
        if needed is None:
            lines.append(f"{goal}: no {found['quantity']} found that suffices.")
            continue
        by = name_of(needed["method"], needed["noise"])
        value = (
            f"{int(needed['value']):,} user{'s' * (needed['value'] > 1)}"
            if found["quantity"] == "users"
            else f"epsilon = {needed['value']:.3g}"
        )
        lines.append(f"{goal}: {value}, by {by}{_how_to_get(design, needed)}.")
    if any(one["method"] == _PUBLISHED for one in found["methods"]):
        lines.append(
            f"{_PUBLISHED} is the published method, for comparison only: aggregate does not offer it."
        )
    return lines


def _how_to_get(design: Design, needed: Needed) -> str:
    """What ``privrank aggregate`` needs for the method that was found, which it may not take by itself."""
    if design.method is not None or needed["method"] == _PUBLISHED:
        return ""
    return f", which aggregate takes by --method {needed['method']}"
