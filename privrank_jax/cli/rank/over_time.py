"""``privrank rank --every day``: the leaderboard of each step, from a file that grows, under one budget for all steps.

**Order of what happens.** The noise of new steps is drawn and is on disk in the state before anything else; then the
budget of all steps is spent, if this state has not spent it; then the leaderboards are shown. Killed at any point, a
later run shows what was drawn, draws nothing twice, and finds in the ledger that this state has paid. The ledger
remembers the published steps as well, so that an older copy of the state can't draw one of them from other data.

**What is public.** When steps end (``--every``, ``--start``, ``--steps``), how many have been published, the items, and
under ``flip`` who compared what and when. Which steps a run publishes depends on the clock or on ``--until``, never on
which rows have arrived: rows that come too late for their step are left out.

**What the holder alone may see.** Whether a run is refused depends on the data: for a new item, for a time that can't
be read, for rows before the first step, and, without ``--until``, for a newest row that is older than a step. A refusal
spends and publishes nothing, but that nothing was published on time is then seen by all, and no guarantee covers what
it tells. With ``--until`` the age of rows plays no part.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

import numpy as np

from privrank_jax import datasets, pairwise
from privrank_jax._host.evaluate import quickly
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal, Side, print_table, printable, warn
from privrank_jax.cli.core.entropy import Entropy
from privrank_jax.cli.core.output import print_result
from privrank_jax.cli.core.request import REHEARSAL
from privrank_jax.cli.core.result import (
    ANSWERS,
    SEVERAL_GROUPS,
    UNDONE,
    Certainty,
    Result,
    best_first,
    check_finite,
    each_by_itself,
    noise_reach,
    of_noise,
)
from privrank_jax.cli.core.saving import finish
from privrank_jax.cli.core.sources import large_delta, private_remark, users_of
from privrank_jax.cli.core.spending import Spending
from privrank_jax.cli.rank.arrivals import Arrivals, Counted, pairs_met, read_arrivals
from privrank_jax.cli.rank.certainty import of_fit
from privrank_jax.cli.rank.none import components_of
from privrank_jax.cli.rank.request import Request
from privrank_jax.cli.rank.schedule import Schedule, day, schedule_of
from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.pairwise.perturbed_mle import least_risk_gamma
from privrank_jax.pairwise.score_stream import continual_sums, fit_all_sums
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.release.leaderboard import Leaderboard
from privrank_jax.release.leaderboard_file import stored_terms

_PLACES: tuple[tuple[str, Side], ...] = (("first", "left"), ("second", "left"), ("third", "left"))


_NO_INTERVALS = "no intervals: how often each pair was compared is private here, and known by noisy counts alone"
_BY_EXPOSURE = (
    "win totals follow how often items were compared, so they order items by how good they are only where all were "
    "compared about equally often: --method scores publishes fitted scores instead."
)


def rank_over_time(request: Request) -> None:
    """Publish the steps that have ended, and show the leaderboards of all published steps."""
    known = None if request.state is None or request.simulate else stored_terms(request.state)
    request = _as_begun(request, known)
    _check(request)
    schedule = schedule_of(request)
    arrivals = read_arrivals(request, schedule, None if known is None else _items(known))
    privacy, table = _promise(request), arrivals.table
    warn(*large_delta(privacy, user=table.num_users, comparison=len(table)))
    if request.method == "counts" and request.adjacency != "flip":
        warn(_BY_EXPOSURE)
    if request.simulate:
        released = _rehearse(request, schedule, arrivals, privacy)
        words: tuple[str, ...] = (REHEARSAL,)
    else:
        released, words = _publish(request, schedule, arrivals, privacy)
    results = [_result(request, schedule, arrivals, released, step) for step in released.steps]
    certainty = _certainty(request, released, results[-1])
    notes = (*results[-1].notes, *certainty.notes, *words)
    latest = dataclasses.replace(results[-1], certainty=certainty, notes=notes)
    latest.diagnostics["notes"] = list(latest.notes)
    latest.diagnostics["steps"] = [_as_json(arrivals, one, request.top_k) for one in results]
    check_finite(latest)
    names, level, top_k = arrivals.table.item_names, request.level, request.top_k
    steps = functools.partial(_print_steps, arrivals, schedule, results)
    first = steps if len(results) > 1 else None
    shown = print_result(names, latest, level=level, top_k=top_k, as_json=request.json, first=first)
    finish(request, "rank", shown, released.spending)


@dataclasses.dataclass(frozen=True)
class Released:
    """What was published so far.

    Attributes:
        totals: ``(t, m)`` noisy totals after each step.
        scores: ``(t, m)`` of each step, where they are fitted to noisy sums because it is private who compared what.
        deviations: ``(t,)`` of the noise of win totals.
        guarantee: of all steps together.
        noise: its law, in words.
        met: how often each pair was compared in each step, as :func:`~privrank_jax.cli.rank.arrivals.pairs_met` has it.
        identifier: of the state; "" in a rehearsal.
        spending: to be told when the result was shown.
    """

    totals: np.ndarray
    scores: np.ndarray | None
    deviations: np.ndarray
    guarantee: Guarantee
    noise: str
    met: np.ndarray
    identifier: str = ""
    spending: Spending | None = None

    @property
    def steps(self) -> range:
        """Numbers of the published steps, from 0."""
        return range(len(self.totals))

    def comparisons(self, last: int) -> np.ndarray:
        """How often each pair was compared before step ``last``, ``(m, m)``, where that is public."""
        items = self.totals.shape[1]
        _, one, other, number = self.met[self.met[:, 0] < last].T
        found = np.bincount(one * items + other, number, minlength=items * items)
        return found.reshape(items, items) + found.reshape(items, items).T


def _check(request: Request) -> None:
    if request.source in datasets.available():
        raise Refusal(
            f"{request.source} is a named data set, and --every reads times from a column of a file: give a file."
        )
    if request.with_covariates:
        raise Refusal(
            "--every fits no covariates: leave them out, or release once, without --every."
        )
    if request.method not in ("counts", "scores"):
        raise Refusal("--every is for --method scores or counts.")
    if request.method == "scores" and request.link != "logistic":
        raise Refusal("--every fits scores with --link logistic; or use --method counts.")
    if request.gamma is not None and not request.gamma > 0:
        raise Refusal("--gamma must be positive for --every; leave it out for a good default.")
    if request.files:
        raise Refusal(
            f"--every prints a leaderboard per step, or --json: leave out {', '.join(request.files)}."
        )
    if request.noise == "k-norm":
        raise Refusal("--noise k-norm serves one release, not many: choose gaussian or laplace.")
    if request.unit == "user" and request.max_per_user is None:
        raise Refusal(
            "--every needs --max-per-user: the most comparisons that count of one user in all steps together, chosen "
            "without looking at the data; the first ones of users with more stay."
        )


def _as_begun(request: Request, known: dict[str, str] | None) -> Request:
    """The same; a leaderboard of win totals goes on as one where no method was given."""
    if known is None or "publishes" in known or "method" in request.given:
        return request
    return request if request.adjacency == "flip" else dataclasses.replace(request, method="counts")


def _publishes(request: Request) -> str:
    """What the state draws noise for; under flips, scores are fitted to totals."""
    private_design = request.method == "scores" and request.adjacency != "flip"
    return "scores" if private_design else "totals"


def _promise(request: Request) -> Privacy:
    most = request.max_per_user if request.unit == "user" else None
    privacy = dataclasses.replace(request.privacy, contributions=most)
    users = users_of(request.source, request.user) if request.unit == "user" else ""
    return privacy.given(public=() if request.items else ("items",), users=users)


def _items(terms: dict[str, str]) -> list[str]:
    return json.loads(terms["items"])


def _publish(
    request: Request, schedule: Schedule, arrivals: Arrivals, privacy: Privacy
) -> tuple[Released, tuple[str, ...]]:
    """Draw the steps that have ended, spend their budget once, and collect all that was published."""
    assert request.state is not None
    with Leaderboard(
        request.state,
        privacy,
        items=arrivals.table.item_names,
        steps=schedule.steps,
        noise=request.noise_drawn,
        schedule=schedule.words,
        publishes=_publishes(request),
    ) as board:
        spending = Spending("rank", request, paid_as=f"leaderboard {board.identifier}")
        spending.check(privacy.for_any_user())
        if spending.ledger is not None:
            board.remember_in(spending.ledger)
        done = board.published
        known = board.remembered  # more than the state has, if an older copy was put back
        last = max(known, schedule.ended)
        if not last:
            raise Refusal(
                f"no step has ended: the first ends at {day(schedule.starts[1])}, and steps are published until "
                f"{day(schedule.until)} (UTC). Nothing is published."
            )
        if not done:
            arrivals.check_dates(schedule)
        if last > known and request.until is None:
            schedule.check_recent(arrivals.times, arrivals.table.name)
        published = [Counted(**json.loads(note)) for note in board.notes]
        for remark in private_remark(*arrivals.left_out(published, schedule)):
            warn(remark)
        fresh = arrivals.after(published)
        counted = [*published, *fresh.counted(done, last)]
        if last > done:
            notes = [step.text for step in counted[done:]]
            counts = fresh.sums if _publishes(request) == "scores" else fresh.totals
            board.publish(counts(done, last), notes, after=done)
        guarantee = _about_all(board.guarantee, schedule)
        told = spending.spend(
            guarantee, f"{request.method} {schedule.words}, {schedule.steps} steps"
        )
        totals, identifier = board.totals, board.identifier
        scores = board.scores(request.gamma) if _publishes(request) == "scores" else None
        deviations = np.asarray(board.diagnostics.deviations)[: len(totals)]
    law = f"discrete {request.noise_drawn.capitalize()}, correlated over steps"
    met = pairs_met(counted)
    released = Released(totals, scores, deviations, guarantee, law, met, identifier, spending)
    return released, () if told is None else (told,)


def _rehearse(
    request: Request, schedule: Schedule, arrivals: Arrivals, privacy: Privacy
) -> Released:
    """The same steps with simulated noise, and no state."""
    last = schedule.ended
    if not last:
        raise Refusal(f"no step has ended: the first ends at {day(schedule.starts[1])}.")
    arrivals.check_dates(schedule)
    key, items = Entropy(request).key(), arrivals.table.num_items
    with_design = _publishes(request) == "scores"
    counted = arrivals.sums(0, last) if with_design else arrivals.totals(0, last)
    counts = np.zeros((schedule.steps, counted.shape[1]))
    counts[:last] = counted
    draw = functools.partial(continual_sums, num_items=items) if with_design else continual_totals
    found = draw(key, counts, privacy, noise=request.noise_drawn)
    guarantee = _about_all(found.guarantee, schedule)
    note = f"{guarantee.note} {REHEARSAL.capitalize()}"
    guarantee = dataclasses.replace(guarantee, note=note)
    told, sums = found.diagnostics, np.asarray(found.value)[:last]
    deviations = np.asarray(told.deviations)[:last]
    scores = fit_all_sums(sums, items, told, request.gamma) if with_design else None
    law = f"{request.noise_drawn.capitalize()}, correlated over steps"
    met = pairs_met(arrivals.counted(0, last))
    return Released(sums[:, :items], scores, deviations, guarantee, law, met)


def _about_all(guarantee: Guarantee | None, schedule: Schedule) -> Guarantee:
    assert guarantee is not None
    note = (
        f"It covers all {schedule.steps:,} steps together ({schedule.words}), those to come too, also where later "
        "comparisons depend on earlier leaderboards."
    )
    return dataclasses.replace(guarantee.for_any_user(), note=note)


def _result(
    request: Request, schedule: Schedule, arrivals: Arrivals, released: Released, step: int
) -> Result:
    """The leaderboard of one step, as the command shows those of one release."""
    totals, deviation = released.totals[step], float(released.deviations[step])
    name, items = arrivals.table.name, totals.size
    facts: dict[str, Any] = {}
    if released.scores is not None:
        scores = released.scores[step]
    elif request.method == "scores":
        met = released.comparisons(step + 1)
        facts["gamma"] = _gamma(request, met, deviation)
        fit = functools.partial(pairwise.scores_from_totals, gamma=facts["gamma"])
        scores = np.asarray(quickly(fit, totals, met).value)
    else:
        scores = totals
    end = day(schedule.starts[step + 1])
    what = "private scores (log-odds)" if request.method == "scores" else "noisy win totals"
    public = {
        "method": request.method,
        "data": name,
        "items": items,
        "max_per_user": released.guarantee.attained.contributions or request.max_per_user,
        "step": step + 1,
        "ends": end,
        "schedule": schedule.words,
        "num_steps": schedule.steps,
        "state": released.identifier or None,
        "noise": released.noise,
        "noise_deviation": deviation,
        "level": request.level,
        "seed": request.seed,
        **facts,
    }
    return Result(
        title=f"{name}: {items} items by {what}, step {step + 1} of {schedule.steps}, until {end}",
        order=best_first(scores),
        guarantee=released.guarantee,
        diagnostics={key: value for key, value in public.items() if value is not None},
        scores=scores,
        score_name="score" if request.method == "scores" else "noisy wins",
        notes=_notes(request, schedule),
    )


def _notes(request: Request, schedule: Schedule) -> tuple[str, ...]:
    public = "when steps end and how many there are"
    if request.adjacency == "flip":
        public += ", and when each comparison was made"
    notes = [f"taken as public: {public}"]
    if not request.items:
        notes.append(
            "the list of items was taken from the file of the first run and is treated as public"
        )
    return tuple(notes)


def _gamma(request: Request, met: np.ndarray, deviation: float) -> float:
    """The ridge as given, else that of the least first-order risk at this noise."""
    if request.gamma is not None:
        return request.gamma
    degree = float(met.sum()) / len(met)
    return float(quickly(least_risk_gamma, degree, deviation**2))


def _certainty(request: Request, released: Released, latest: Result) -> Certainty:
    """Certainty of the last step: the noise of its totals is normal, up to the rounding of its parts."""
    if released.scores is not None:
        return Certainty(notes=(_NO_INTERVALS,))
    if request.noise_drawn != "gaussian":
        return Certainty(notes=("no intervals: sums of Laplace noise have no simple law",))
    assert latest.scores is not None
    deviation = float(released.deviations[-1])
    if request.method == "counts":
        reach = noise_reach(deviation, "gaussian", request.level, latest.scores.size)
        more = ", not the chance in the answers; this step by itself"
        return of_noise(latest.scores, reach, what="totals", more=more)
    met = released.comparisons(len(released.totals))
    components = components_of(met)
    if components > 1:
        return Certainty(notes=(SEVERAL_GROUPS.format(components),))
    gamma: Any = latest.diagnostics["gamma"]
    cover = f"{ANSWERS} and the privacy noise{UNDONE}; this step by itself"
    return of_fit(
        latest.scores,
        met,
        gamma=gamma,
        link="logistic",
        level=request.level,
        words=each_by_itself("the true score", cover),
        noise_scale=deviation,
        noise="gaussian",
    )


def _as_json(arrivals: Arrivals, result: Result, top_k: int | None) -> dict[str, object]:
    """The leaderboard of a step, in short."""
    names = arrivals.table.item_names
    assert result.scores is not None
    ranking = [
        {"item": names[item], "rank": place, "score": float(result.scores[item])}
        for place, item in enumerate(result.order[:top_k].tolist(), start=1)
    ]
    return {**{name: result.diagnostics[name] for name in ("step", "ends")}, "ranking": ranking}


def _print_steps(arrivals: Arrivals, schedule: Schedule, results: list[Result]) -> None:
    """The first items of every step."""
    names, count = arrivals.table.item_names, min(len(_PLACES), arrivals.table.num_items)
    heads: list[tuple[str, Side]] = [("step", "right"), ("until", "left"), *_PLACES[:count]]
    rows = [
        [
            str(one.diagnostics["step"]),
            str(one.diagnostics["ends"]),
            *(printable(names[item]) for item in one.order[:count].tolist()),
        ]
        for one in results
    ]
    title = f"{arrivals.table.name}: published steps ({schedule.words})"
    print_table(title, heads, rows)
