"""Files of a plan: its table, and a picture of the errors beside what was asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from privrank_jax.cli.core.saving import write_table
from privrank_jax.cli.plan import comparisons, curator, rankings, rankings_in_words
from privrank_jax.cli.plan.request import MOST_SHUFFLED, MOST_USERS, Design

_OnePlan = TypeVar("_OnePlan", comparisons.Plan, curator.Plan)

_STEPS = 8  # between the fewest users drawn and the most
_WIDTH = 10  # factor of users to either side of the plan


def save_survey(design: Design, found: comparisons.Plan) -> None:
    """Write what the options ask for.

    Args:
        design: the design.
        found: its solution.
    """
    _save_one(design, found, _draw_survey)


def save_release(design: Design, found: curator.Plan) -> None:
    """Write what the options ask for.

    Args:
        design: the design.
        found: its solution.
    """
    _save_one(design, found, _draw_release)


def _save_one(
    design: Design, found: _OnePlan, draw: Callable[[Design, _OnePlan, Path], None]
) -> None:
    if design.out is not None:
        write_table(design.out, [_flat(found)], found)
    if design.plot is not None:
        draw(design, found, design.plot)


def save_consensus(design: Design, found: rankings.Plan) -> None:
    """Write what the options ask for.

    Args:
        design: the design.
        found: its solution.
    """
    if design.out is not None:
        write_table(design.out, found["methods"], found)
    if design.plot is not None:
        _draw_consensus(found, design.plot)


def _flat(found: Mapping[str, object]) -> dict[str, object]:
    """The plan as one row; a group becomes columns such as ``error_expected``."""
    row: dict[str, object] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            row |= {f"{name}_{part}": one for part, one in value.items()}
        else:
            row[name] = value
    return row


def _draw_survey(design: Design, found: comparisons.Plan, path: Path) -> None:
    """Draw the errors of a survey by its number of users, the plan itself, and the target."""
    from privrank_jax import plotting

    low, high = found["epsilon"]["min"], found["epsilon"]["max"]
    rows = []
    for users in _numbers(found["users"], design):
        error, clear, _ = comparisons.errors_at(design, users, low, high)
        ours = {"expected": float(error.expected), "upper": float(error.upper)}
        rows.append({"users": users, **ours, "clear": float(clear.expected)})
    figure = plotting.planned_errors(
        rows,
        {
            "expected": "expected",
            "upper": f"not exceeded with probability {found['confidence']:g}",
            "clear": "expected, without privacy",
        },
        (found["users"], found["error"]["expected" if design.confidence is None else "upper"]),
        target=design.target,
        guarantee_text=comparisons.protection(design, found),
        title=comparisons.headline(design),
    )
    plotting.save(figure, path)


def _draw_release(design: Design, found: curator.Plan, path: Path) -> None:
    """Draw the errors of a release of scores by the number of users, the plan itself, and the target."""
    from privrank_jax import plotting

    pairs = found["criterion"] == "wrong_pairs"
    meant = "wrong_pairs" if pairs else "expected"
    curves = {meant: "expected", "clear": "expected, without privacy"}
    if not pairs:
        curves["upper"] = f"not exceeded with probability {found['confidence']:g}"
    rows = []
    for users in _numbers(found["users"], design):
        error, clear = (
            curator.errors_at(design, users, epsilon) for epsilon in (found["epsilon"], math.inf)
        )
        ours = {name: float(getattr(error, name)) for name in curves if name != "clear"}
        rows.append({"users": users, **ours, "clear": float(getattr(clear, meant))})
    figure = plotting.planned_errors(
        rows,
        curves,
        (found["users"], found["error"][found["criterion"]]),
        target=design.target,
        guarantee_text=curator.protection(design, found),
        title=curator.headline(design),
        **({"y_label": "share of pairs in the wrong order"} if pairs else {}),
    )
    plotting.save(figure, path)


def _numbers(users: int, design: Design) -> list[int]:
    """Numbers of users about a plan, evenly spaced on a logarithmic axis; the plan's is one of them."""
    most = MOST_SHUFFLED if design.trusted == "shuffled" else MOST_USERS
    steps = (_WIDTH ** (2 * k / _STEPS - 1) for k in range(_STEPS + 1))
    return sorted({min(max(round(users * step), 1), most) for step in steps})


def _draw_consensus(found: rankings.Plan, path: Path) -> None:
    """Draw what each method is proven and expected to cost, and the target."""
    from privrank_jax import plotting

    rows = [
        {**one, "name": rankings.name_of(one["method"], one["noise"])}
        for one in rankings_in_words.by_proof(found)
    ]
    missing = ""
    if any(row["expected_cost"] is None for row in rows):
        missing = (
            " Where there is no blue mark, the expected cost of the method is not computed for "
            f"{found['items']} items."
        )
    figure = plotting.planned_costs(
        rows,
        most=found["pairs"],
        least=rankings_in_words.KNOWN,
        target=found["target"],
        label="name",
        guarantee_text=f"Each user (one ranking) is protected with {rankings_in_words.budget(found)}. Proven: "
        f"{rankings_in_words.sure(found)} over the noise, whatever the users prefer. Expected: where they prefer items "
        f"by scores from {-found['spread']:g} to {found['spread']:g}.{missing}",
        title=rankings_in_words.headline(found),
    )
    plotting.save(figure, path)
