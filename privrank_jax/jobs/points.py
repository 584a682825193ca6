"""The consensus by totals of approvals or points."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax.aggregation.scores import PointTotals, least_noise, selection_moves
from privrank_jax.data.rankings import Approvals, Rankings, Ratings
from privrank_jax.jobs.best_items import chosen_by_facts, draw_best
from privrank_jax.jobs.beyond_noise import reach_of_points
from privrank_jax.jobs.checks import private_remark
from privrank_jax.jobs.mechanisms import Drawn, draw
from privrank_jax.jobs.result import Ranking, best_first, of_noise
from privrank_jax.mechanism.selection import BoundedScores
from privrank_jax.pairwise.top_k import choose_top_k

if TYPE_CHECKING:
    from privrank_jax.jobs.consensus import Asked, Prepared

_SCALE = re.compile(r"\s*(-?\d{1,6})\s*(?:-|:|to)\s*(-?\d{1,6})\s*")


def scale_of(points: str) -> tuple[int, int]:
    """The least and the most points of a scale.

    Args:
        points: such as ``"0-5"``.

    Raises:
        ValueError: with what to write instead.

    >>> scale_of("1-5"), scale_of("-2:2")
    ((1, 5), (-2, 2))
    """
    found = _SCALE.fullmatch(points)
    low, high = map(int, found.groups()) if found else (0, 0)
    if low >= high:
        raise ValueError(
            f"points (--points) {points!r} is no scale: write the least and the most points that a user may give, such "
            "as 0-5."
        )
    return low, high


def by_points(data: Prepared, asked: Asked) -> Ranking:
    """Rank items by noisy totals of approvals or points, or publish which are the best alone."""
    totals, low, warnings = _totals(data, asked)
    items, private, rules = totals.num_items, data.promise, (totals.most, totals.limit)
    by, k = asked.method, asked.top_k or items
    moves = selection_moves(items, private, *rules)
    if by == "top-k":
        found = choose_top_k(items, k, private, moves)
        by = "canonical" if found == "canonical" and k < items else "scores"
    if by == "scores":
        drawn, what, fields = _all_totals(data, asked, totals, low)
    else:
        drawn, what, fields = draw_best(
            by, data.source, BoundedScores(totals.totals, moves), private, k
        )
    open_number, approved = data.open_number, totals.most == 1 and low == 0
    notes = [*fields["notes"], *([chosen_by_facts(by)] if asked.method == "top-k" else [])]
    blank = "is not approved" if approved else f"gets {low} points"
    notes.append(f"an item of which a user says nothing {blank}")
    if totals.limit is not None:
        several = "s" * (totals.limit > 1)
        notes.append(f"a ballot with more than {totals.limit} item{several} counts as blank")
    if low or totals.most > 1:
        notes.append(
            f"points outside of {low} to {low + totals.most} count as the nearest of these"
        )
    notes += data.table.notes
    facts = {
        "method": asked.method,
        "selected_by": by if asked.method == "top-k" else None,
        "data": data.table.name,
        "items": items,
        "users": int(totals.num_users) if open_number else None,
        "points": [low, low + totals.most],
        "limit": totals.limit,
        "noise": drawn.law,
        "noise_scale": drawn.scale,
        "middle": float(drawn.estimate.diagnostics.center) if by == "scores" else None,
        "seed": data.source.seed,
        "notes": notes,
    }
    voters = f"{int(totals.num_users):,} users" if open_number else "all users"
    given = "approvals" if approved else "points"
    return Ranking(
        title=f"{data.table.name}: {given} of {voters}, {what}",
        items=data.table.item_names,
        guarantee=drawn.guarantee,
        facts={name: one for name, one in facts.items() if one is not None},
        warnings=(*data.warnings, *warnings, *drawn.warnings),
        **{**fields, "notes": tuple(notes)},
    )


def _all_totals(
    data: Prepared, asked: Asked, totals: PointTotals, low: int
) -> tuple[Drawn, str, dict[str, Any]]:
    """Noisy totals: the release, what it is, and fields of the result."""
    private = data.promise
    rules = {"most": totals.most, "limit": totals.limit}
    noise = asked.noise or least_noise(totals.num_items, private, **rules)
    drawn = draw("dp-scores", data.source, totals, private, noise=noise)
    reach = reach_of_points(totals, noise, drawn)
    value, middle = np.asarray(drawn.estimate.value), float(drawn.estimate.diagnostics.center)
    approved = totals.most == 1 and low == 0
    if data.open_number:  # n is public: means per user
        value, reach = value / totals.num_users + low, reach / int(totals.num_users)
    certainty = of_noise(
        value, reach, what="scores", more=f". {_meaning(data.open_number, middle, approved)}"
    )
    half = (low + totals.most / 2) if data.open_number else 0.0
    notes = ()
    if data.open_number or middle:
        sure = value - reach > half, value + reach < half
        notes = (_majority(data.table.item_names, *sure, approved),)
    fields = {"order": best_first(value), "scores": value, "certainty": certainty, "notes": notes}
    return drawn, f"noisy totals of {totals.num_items} items", fields


def _totals(data: Prepared, asked: Asked) -> tuple[PointTotals, int, tuple[str, ...]]:
    """The totals by the rules that were asked for, the least points of the scale, and remarks for the holder."""
    table = data.table
    held = table if isinstance(table, Rankings) else table.in_memory()
    if not isinstance(held, Ratings) or (held.scale.size > 1 and held.scale[0] < held.scale[-1]):
        raise ValueError(
            f"{table.name} holds no approvals or points, which {asked.method} adds up: read its cells as approvals "
            "(--approvals) or as ratings, the larger the better (--higher-is-better); rankings are added up by "
            "method='borda' (--method borda)."
        )
    if asked.points is None and not isinstance(held, Approvals):
        raise ValueError(
            f"{table.name} holds ratings: say which points a user may give, by points='0-5' (--points 0-5), as they "
            "stand on the ballot. The noise grows with the range, so it must not be read off the answers."
        )
    low, high = (0, 1) if asked.points is None else scale_of(asked.points)
    ratings = np.nan_to_num(held.ratings, nan=low)
    if np.any(ratings != np.rint(ratings)):
        raise ValueError(
            f"{table.name} has ratings that are no whole numbers, and {asked.method} adds up whole ones: multiply all "
            "of them by a number that makes them whole."
        )
    cut = np.clip(ratings, low, high)
    points = (cut - low).astype(np.int32)
    remarks = []
    if beyond := int(np.sum(cut != ratings)):
        remarks.append(
            f"{beyond:,} ratings lie outside of {low} to {high} and count as the nearest of these."
        )
    if asked.limit is not None and (many := int(np.sum(np.sum(points > 0, axis=1) > asked.limit))):
        remarks.append(f"{many:,} ballots name more items than the limit and count as blank.")
    totals = PointTotals.from_points(points, most=high - low, limit=asked.limit)
    return totals, low, private_remark(*remarks)


def _meaning(open_number: bool, middle: float, approved: bool) -> str:
    if open_number:
        return (
            "The score of an item is the share of users who approve of it"
            if approved
            else "The score of an item is the mean of its points"
        )
    if middle:
        return (
            "The score of an item is how many more points it has than half of all that it could have; how many users "
            "there are is not published"
        )
    return "The score of an item is its number of points; how many users there are is not published"


def _majority(items: tuple[str, ...], more: np.ndarray, less: np.ndarray, approved: bool) -> str:
    """Which items surely have more, or less, than half of what they could have."""
    told = "above the middle of the scale", "below it"
    if approved:
        told = "approved by more than half of the users", "approved by fewer than half"
    sure = [
        f"surely {words}: {', '.join(items[k] for k in np.flatnonzero(which))}"
        for words, which in zip(told, (more, less))
        if which.any()
    ]
    return "; ".join(sure) or f"no item is surely {told[0]}, or {told[1]}"
