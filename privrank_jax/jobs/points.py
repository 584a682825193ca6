"""The consensus by totals of approvals or points."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax.aggregation.scores import PointTotals, least_noise, selection_moves
from privrank_jax.data.rankings import Approvals, Rankings, Ratings
from privrank_jax.jobs.best import CHOSEN, draw_best
from privrank_jax.jobs.beyond_noise import points_reach
from privrank_jax.jobs.checks import private_remark, refuse
from privrank_jax.jobs.mechanisms import Drawn, draw
from privrank_jax.jobs.result import best_first, of_noise
from privrank_jax.mechanism.selection import BoundedScores
from privrank_jax.pairwise.top_k import choose_top_k

if TYPE_CHECKING:
    from privrank_jax.jobs.consensus import Work

_SCALE = re.compile(r"\s*(-?\d{1,6})\s*(?:-|:|to)\s*(-?\d{1,6})\s*")


def scale_of(points: str) -> tuple[int, int]:
    """The least and the most points of a scale such as ``"0-5"``; raises ``ValueError`` if it is none.

    >>> scale_of("1-5"), scale_of("-2:2")
    ((1, 5), (-2, 2))
    """
    found = _SCALE.fullmatch(points)
    low, high = map(int, found.groups()) if found else (0, 0)
    if low >= high:
        raise ValueError(
            f"points={points!r} is no scale: write the least and the most points that a user may give, such as 0-5."
        )
    return low, high


def by_points(work: Work) -> tuple[Drawn, dict[str, Any]]:
    """Noisy totals of approvals or points, or the best items by these alone."""
    totals, low, warnings = _totals(work)
    items, high, limit = totals.num_items, low + totals.most, totals.limit
    method, k = work.asked.method, work.asked.top_k or items
    moves = selection_moves(items, work.privacy, totals.most, limit)
    by = method
    if method == "top-k":
        found = choose_top_k(items, k, work.privacy, moves)
        by = "canonical" if found == "canonical" and k < items else "scores"
    if by == "scores":
        drawn, what, told = _all_totals(work, totals, low)
    else:
        scores = BoundedScores(totals.totals, moves)
        drawn, what, told = draw_best(by, work.source, scores, work.privacy, k)
    approved = (low, high) == (0, 1)
    about = [*told.pop("notes"), *([CHOSEN.format(by)] if method == "top-k" else [])]
    blank = "is not approved" if approved else f"gets {low} points"
    about.append(f"an item of which a user says nothing {blank}")
    if limit is not None:
        about.append(f"a ballot with more than {limit} item{'s' * (limit > 1)} counts as blank")
    if not approved:
        about.append(f"points outside of {low} to {high} count as the nearest of these")
    facts = {
        "selected_by": by if method == "top-k" else None,
        "points": [low, high],
        "limit": limit,
        "noise": drawn.law,
        "noise_scale": drawn.scale,
        "middle": float(drawn.value.diagnostics.center) if by == "scores" else None,
    }
    voters = f"{work.table.num_users:,} users" if work.open_number else "all users"
    title = f"{'approvals' if approved else 'points'} of {voters}, {what}"
    told |= {"title": title, "facts": facts, "about": (*about, *work.table.notes)}
    return drawn, {**told, "bounded": False, "warnings": warnings}


def _all_totals(work: Work, totals: PointTotals, low: int) -> tuple[Drawn, str, dict[str, Any]]:
    """Noisy totals: the release, what it is, and fields of the result."""
    promise, approved = work.privacy, (low, totals.most) == (0, 1)
    rules = {"most": totals.most, "limit": totals.limit}
    noise = work.asked.noise or least_noise(totals.num_items, promise, **rules)
    drawn = draw("dp-scores", work.source, totals, promise, noise=noise)
    reach, value = points_reach(totals, noise, drawn), np.asarray(drawn.value.value)
    hidden = "; how many users there are is not published"
    if work.open_number:  # means per user
        value, reach = value / totals.num_users + low, reach / int(totals.num_users)
        meaning = "the share of users who approve of it" if approved else "the mean of its points"
    elif float(drawn.value.diagnostics.center):
        meaning = f"how many more points it has than half of all that it could have{hidden}"
    else:
        meaning = f"its number of points{hidden}"
    more = f". The score of an item is {meaning}"
    told: dict[str, Any] = {"order": best_first(value), "scores": value, "notes": ()}
    told["certainty"] = of_noise(value, reach, what="scores", more=more)
    return drawn, f"noisy totals of {totals.num_items} items", told


def _totals(work: Work) -> tuple[PointTotals, int, tuple[str, ...]]:
    """The totals by the rules that were asked for, the least points of the scale, and remarks for the holder."""
    table, asked = work.table, work.asked
    held = table if isinstance(table, Rankings) else table.in_memory()
    if not isinstance(held, Ratings):
        raise ValueError(
            f"{asked.method} adds up approvals (kind='approvals') or points (ratings='1:5'), which {table.name} is no "
            "file of; rankings are added up by method='borda'."
        )
    ends = held.ends or ((0.0, 1.0) if isinstance(held, Approvals) else ())  # as declared
    if asked.points is not None:
        low, high = scale_of(asked.points)
    elif ends and all(float(end).is_integer() for end in ends):
        low, high = map(int, ends)
    else:
        raise ValueError(
            f"{table.name} holds ratings: say which points a user may give, such as points='0-5'; the noise grows with "
            "their range, which must not be read off the answers."
        )
    ratings = np.nan_to_num(held.ratings, nan=low)
    refuse(
        np.any(ratings != np.rint(ratings)),
        f"{asked.method} adds up whole numbers: multiply the ratings of {table.name} by one that makes them whole.",
    )
    cut, remarks = np.clip(ratings, low, high), []
    points = (cut - low).astype(np.int32)
    if beyond := int(np.sum(cut != ratings)):
        remarks.append(
            f"{beyond:,} ratings lie outside of {low} to {high} and count as the nearest of these."
        )
    if asked.limit is not None and (many := int(np.sum(np.sum(points > 0, axis=1) > asked.limit))):
        remarks.append(f"{many:,} ballots name more items than the limit and count as blank.")
    totals = PointTotals.from_points(points, most=high - low, limit=asked.limit)
    return totals, low, private_remark(*remarks)
