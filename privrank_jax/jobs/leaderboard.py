"""A leaderboard that is published again and again, from data that grow, under one budget for all steps.

**Order of what happens.** New steps are on disk (:mod:`privrank_jax.release.leaderboard`); then the budget of all steps
is spent, unless this leaderboard has spent it, or in the same transaction if the state is the ledger's file; then the
leaderboards are returned, to be shown. Killed at any point, a later run shows what was drawn, draws nothing twice, and
finds in the ledger whether this leaderboard has paid. After a kill between state and ledger, if these are two files, it
needs the same data: for data that have grown since, the ledger does not pay.

**What is public.** When steps end, how many have been published, the items, and under ``flip`` who compared what and
when. Which steps a run publishes depends on the clock or on ``until``, never on which rows have arrived: rows that come
too late for their step are left out. A refusal may depend on the data (a new item, rows before the first step, without
``until`` an old newest row): it spends and publishes nothing, but no guarantee covers what its being seen tells.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from privrank_jax import pairwise, release
from privrank_jax._promise import Privacy
from privrank_jax._quickly import quickly
from privrank_jax._types import Key
from privrank_jax._validate import check_choice
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.jobs import checks, result
from privrank_jax.jobs.arrivals import Arrivals, Time, arrivals_of, day, schedule_of
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.certainty import components_of, of_fit
from privrank_jax.jobs.mechanisms import LAWS, ON_INTEGERS, REHEARSAL, Randomness, rehearsed
from privrank_jax.jobs.result import Certainty, Ranking
from privrank_jax.jobs.spending import Payment
from privrank_jax.pairwise.continual import fit_score_sums
from privrank_jax.pairwise.ridges import least_risk_gamma
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.prefix_sums import usual_strategy
from privrank_jax.release.leaderboard import stored_board, stream_of
from privrank_jax.release.ledger import Ledger

_NOISES = ("laplace", "gaussian")
_MOST_ITEMS = 10_000
_PLACES = ("first", "second", "third")
_DRAWS = 100  # of the noise, for its effect on scores; fewer for hundreds of items
_NO_DESIGN = "no intervals: how often each pair was compared is private here, and known by noisy counts alone"
_LESS_NOISE = "noise is less with longer steps, a last step, Gaussian noise, or adjacency='flip'"
_NO_LAW = "no intervals: sums of Laplace noise have no simple law"
_COVER = f"{result.ANSWERS} and the privacy noise{result.UNDONE}; this step by itself"


@dataclasses.dataclass(frozen=True, repr=False)
class Board(Ranking):
    """The leaderboard of the latest step, with those of all published steps.

    Attributes:
        steps: the leaderboard of each published step; intervals has the latest alone.
    """

    steps: tuple[Ranking, ...] = ()

    @property
    def history(self) -> list[dict[str, str]]:
        """The first items of each step, as text: cells by heading."""
        return [
            {"step": str(one.facts["step"]), "until": str(one.facts["ends"])}
            | dict(zip(_PLACES, one.marked))
            for one in self.steps
        ]


def leaderboard(
    data: Comparisons,
    privacy: Privacy,
    *,
    every: str,
    start: Time,
    steps: int | None = None,
    until: Time | None = None,
    state: str | os.PathLike[str] | None = None,
    noise: str | None = None,
    top_k: int | None = None,
    level: float = 0.95,
    key: Key | None = None,
    ledger: Ledger | Payment | None = None,
) -> Board:
    """Publish the steps that have ended, and return the leaderboards of all published steps.

    Call it again, with the same promise, schedule and state, when more rows have arrived: published steps come out as
    they were, and the budget is that of one release for all steps together.

    The first step makes the ``state``, and a file of that name with ``.published`` beside it. The state keeps what was
    drawn and the key of all noise, so that a step comes out once. It is as private as the data: never publish it.

    To protect users the promise needs ``contributions``, chosen without looking at the data: the most comparisons of
    one user that count in all steps, of which the first ones stay.

    Args:
        data: the comparisons so far, with their ``times``.
        privacy: what is promised for all steps together.
        every: ``"hour"``, ``"day"``, ``"week"`` or ``"month"``.
        start: public start of the first step, such as ``"2026-01-01"`` (UTC).
        steps: public number of all steps, at most 10,000; the noise grows little with it. Default: there is no last
            step, and the noise grows with how many there were.
        until: publish the steps that end by then: the data are complete up to it. Default: now, and data whose newest
            row is older than a step are refused.
        state: the file that keeps what was drawn; needed but in a rehearsal.
        noise: ``"laplace"``, or ``"gaussian"`` at the δ of the promise. Default: Laplace.
        top_k: how many items are shown. Default: all.
        level: confidence of the intervals.
        key: makes a rehearsal with simulated noise, without a state.
        ledger: pays for all steps before anything is returned; nothing where an earlier call has. Or how it is paid.

    Returns:
        The leaderboard of the latest step, with those of all steps.

    Raises:
        ValueError: options that don't go together, no step has ended, or data that can't be used.
        LeaderboardError: the state is on other terms, or can't be used. Nothing was published.
        LedgerError: the ledger does not allow it. Nothing was spent, and nothing is returned.

    >>> import privrank_jax as pr
    >>> rows = {"user": ["ann", "bob"], "winner": ["tea", "tea"], "loser": ["milk", "milk"]}
    >>> rows["when"] = ["2026-01-01", "2026-01-02"]
    >>> votes = pr.data.Comparisons.read(rows, time="when", items="seen", name="votes")
    >>> promise = Privacy(5.0, unit="user", adjacency="replace", contributions=1)
    >>> when = {"every": "day", "start": "2026-01-01", "steps": 365, "until": "2026-01-03"}
    >>> found = leaderboard(votes, promise, **when, key=jax.random.key(0))
    >>> found.title, len(found.steps)
    ('votes: 2 items by private scores (log-odds), step 2 of 365, until 2026-01-03', 2)
    """
    if key is None and state is None:
        raise ValueError("a leaderboard needs a `state`, which keeps what was drawn.")
    state = state if key is None else None
    known = None if state is None else stored_board(state)
    if not isinstance(data, Comparisons):
        raise ValueError(f"a leaderboard takes comparisons, got {checks.what_is(data)}.")
    of_users, noise = privacy.unit == "user", noise or _NOISES[0]
    check_choice("noise", noise, _NOISES)
    checks.check_noise(privacy, noise)
    if of_users and not (privacy.contributions and data.has_users):
        raise ValueError(
            "to protect users, a leaderboard needs `contributions`, the most comparisons of one of them in all steps, "
            "and a column of users (`user`)."
        )
    asked = Asked(top_k=top_k, level=level)
    asked.check_scores()
    schedule = schedule_of(every, start, steps, until)
    items = None if known is None else tuple(json.loads(known["terms"]["items"]))
    flip, limit = privacy.adjacency == "flip", privacy.contributions
    arrivals = arrivals_of(data, schedule, limit, flip, items)
    checks.check_items(data.name, arrivals.data.num_items, _MOST_ITEMS, top_k)
    rare = checks.check_rare_items(data, written=False) if known is None else ()
    promise = privacy.given(public=data.public, users=data.users_are if of_users else "")
    job = _Job(arrivals, promise, noise, asked, Randomness(key))
    bill = isinstance(ledger, Payment)
    payment = ledger if bill else Payment(ledger, lambda: data.sha256, data.name, "leaderboard")
    with jax.enable_x64(True):
        if state is None:
            found = job.rehearse()
        else:
            if known is not None:
                payment.paid_as = job.paid_as(known["identifier"])
            payment.check(promise.for_any_user())
            found = job.publish(state, payment, fixed=until is not None)
        board = job.board(found, rare)
    return board if bill else payment.pay(board)


@dataclasses.dataclass(frozen=True)
class _Published:
    """What was published so far, a row per step."""

    sums: Float[np.ndarray, "t numbers"]
    told: Any  # ContinualDiagnostics
    guarantee: Guarantee | None
    counted: list[dict[str, Any]]
    identifier: str = ""


@dataclasses.dataclass(frozen=True)
class _Job:
    """What was asked for, see :func:`leaderboard`, and the data by steps."""

    arrivals: Arrivals
    promise: Privacy
    noise: str
    asked: Asked
    source: Randomness

    def publish(
        self, state: str | os.PathLike[str], payment: Payment, *, fixed: bool
    ) -> _Published:
        """Draw the steps that have ended, and collect all; ``fixed``: whether the data are complete up to a time."""
        arrivals, schedule, data = self.arrivals, self.arrivals.schedule, self.arrivals.data
        terms = {"steps": schedule.steps, "noise": self.noise, "schedule": schedule.words}
        terms |= {"items": data.item_names, "ledger": payment.ledger}
        with release.Leaderboard(state, self.promise, **terms) as board:
            payment.paid_as = self.paid_as(board.identifier)
            done = board.published
            known = board.remembered  # more than the state has, if an older copy was put back
            last = max(known, schedule.ended)
            schedule.check_ended(last, known)
            if not done:
                arrivals.check_dates()
            if last > known and not fixed:
                schedule.check_recent(arrivals.times, data.name)
            counted = [json.loads(note) for note in board.notes]
            fresh = arrivals.after(counted)
            if last > done:
                new = fresh.counted(done, last)
                notes = [json.dumps(step, sort_keys=True) for step in new]
                promised = board.guarantee.for_any_user()
                pay = functools.partial(payment.spend, promised, "scores")
                board.publish(fresh.sums(done, last), notes, after=done, pay=pay)
                counted += new
            told = board.diagnostics, board.guarantee, counted, board.identifier
            return _Published(board.sums, *told)

    def rehearse(self) -> _Published:
        """The same steps with simulated noise, and no state."""
        arrivals, schedule = self.arrivals, self.arrivals.schedule
        schedule.check_ended(last := schedule.ended)
        arrivals.check_dates()
        counts = arrivals.sums(0, last)
        counts = np.pad(counts, ((0, (schedule.steps or last) - last), (0, 0)))
        draw, strategy = stream_of(self.promise).of_numbers, usual_strategy(None, self.noise)
        told = arrivals.data.num_items, self.noise, None if schedule.steps else strategy
        found = draw(self.source.key(), jnp.asarray(counts), self.promise, *told)
        noisy = np.asarray(found.value)[:last]
        return _Published(noisy, found.diagnostics, found.guarantee, arrivals.counted(0, last))

    def paid_as(self, identifier: str) -> str:
        """What a ledger calls all steps together."""
        schedule = self.arrivals.schedule
        steps = f"{schedule.steps} steps" if schedule.steps else "no last step"
        return f"{schedule.words}, {steps}, leaderboard {identifier}"

    def board(self, found: _Published, rare: tuple[str, ...]) -> Board:
        """The leaderboards of all published steps."""
        assert found.guarantee is not None
        data, schedule, promise = self.arrivals.data, self.arrivals.schedule, self.promise
        number = f"{schedule.steps:,} " if schedule.steps else ""
        note = (
            f"It covers all {number}steps together ({schedule.words}), those to come too, also where later comparisons "
            "depend on earlier leaderboards."
        )
        guarantee = dataclasses.replace(found.guarantee.for_any_user(), note=note)
        rehearsal, steps = self.source.rehearsal, []
        guarantee = rehearsed(guarantee) if rehearsal else guarantee
        met = np.zeros((data.num_items, data.num_items), np.int64)
        for step, counted in enumerate(found.counted):
            one, other, times = np.array(counted["met"], np.int64).reshape(-1, 3).T
            met[one, other] += times
            met[other, one] += times
            steps.append(self.ranking(found, step, guarantee, met))
        latest, certainty = steps[-1], self.certainty(found, steps[-1], met)
        notes = (*latest.notes, *certainty.notes, *((REHEARSAL,) if rehearsal else ()))
        in_short = [
            {name: one.facts[name] for name in ("step", "ends")}
            | {"ranking": [{k: row[k] for k in ("item", "rank", "score")} for row in one.rows]}
            for one in steps
        ]
        sizes = {"user": data.num_users, "comparison": len(data)}
        warnings = [*rare, *checks.about_promise(promise, **sizes)]
        if certainty.better is not None and not certainty.better.any():
            warnings.append(f"no two items can be told apart: {_LESS_NOISE}.")
        warnings += checks.private_remark(*self.arrivals.left_out(found.counted))
        changed = {"notes": notes, "warnings": tuple(warnings), "certainty": certainty}
        changed["facts"] = latest.facts | {"notes": list(notes), "steps": in_short}
        return Board(**{**vars(latest), **changed}, steps=tuple(steps))

    def fit(
        self, found: _Published, step: int, met: np.ndarray, *, moved: np.ndarray | float = 0.0
    ) -> tuple[Float[np.ndarray, "items"], float | None]:
        """Scores of a step, where its sums are ``moved``, and the ridge where a public design is fitted.

        ``met`` is that: how often pairs were compared until its end.
        """
        sums, items = found.sums[step] + moved, len(met)
        deviation, pairs = found.told.deviations[step], found.told.pair_deviations
        if not self.arrivals.pairs_are_public:
            apart = 0.0 if pairs is None else pairs[step]
            return np.asarray(fit_score_sums(sums, items, deviation, apart)), None
        mean, variance = float(met.sum()) / items, float(deviation) ** 2
        gamma = float(quickly(least_risk_gamma, mean, variance))
        design = pairwise.designs.Counts(met)
        return np.asarray(quickly(pairwise.fit, design, sums[:items], gamma).value), gamma

    def ranking(
        self, found: _Published, step: int, guarantee: Guarantee, met: np.ndarray
    ) -> Ranking:
        """The leaderboard of one step; ``met`` as of :meth:`fit`."""
        scores, gamma = self.fit(found, step, met)
        schedule, data = self.arrivals.schedule, self.arrivals.data
        of_all = f" of {schedule.steps}" if schedule.steps else ""
        end = day(schedule.starts[step + 1])
        law = (LAWS if self.source.rehearsal else ON_INTEGERS)[self.noise]
        facts = {
            "max_per_user": self.promise.contributions,
            "step": step + 1,
            "ends": end,
            "schedule": schedule.words,
            "num_steps": schedule.steps,
            "state": found.identifier or None,
            "noise": f"{law}, correlated over steps",
            "noise_deviation": float(found.told.deviations[step]),
            "level": self.asked.level,
            "seed": self.source.seed,
            "gamma": gamma,
        }
        when = ", and when each comparison was made" * self.arrivals.pairs_are_public
        public = f"taken as public: when steps end and how many there are{when}"
        seen = "the list of items was taken from the data of the first run and is treated as public"
        title = f"{data.num_items} items by private scores (log-odds), step {step + 1}{of_all}"
        told: dict[str, Any] = {"level": self.asked.level, "top_k": self.asked.top_k}
        told["notes"] = (public, seen) if "items" in data.public else (public,)
        told |= {"guarantee": guarantee, "scores": scores}
        return result.made(data, f"{title}, until {end}", "scores", facts, **told)

    def certainty(self, found: _Published, latest: Ranking, met: np.ndarray) -> Certainty:
        """Certainty of the last step: the noise of its totals is normal, up to the rounding of its parts.

        To say how far noise moves a score, normal noise is added to the published sums once more, and scores are fitted
        to them: a function of the release. Where scores spread no more than noise parts equal ones, no item is surely
        better than another.
        """
        assert latest.scores is not None
        items, last, sums = len(met), len(found.sums) - 1, found.sums[-1]
        spread = np.full(sums.size, found.told.deviations[last])
        if sums.size > 2 * items:
            spread[2 * items :] = found.told.pair_deviations[last]
        draws = max(10, min(_DRAWS, 100 * _DRAWS // items))
        noise = spread * np.random.default_rng(0).standard_normal((draws, sums.size))
        errors = np.stack([self.fit(found, last, met, moved=one)[0] for one in noise])
        errors -= errors.mean(0)
        widest = float(np.quantile(np.ptp(errors, axis=1), self.asked.level))
        unsure = None if np.ptp(latest.scores) > widest else np.zeros((items, items), bool)
        error = f"the noise moves a score by {errors.std():.2g}, simulated from what is published (standard deviation)"
        if not self.arrivals.pairs_are_public:
            return Certainty(unsure, notes=(_NO_DESIGN, error))
        if self.noise != "gaussian":
            return Certainty(unsure, notes=(_NO_LAW, error))
        if (components := components_of(met)) > 1:
            return Certainty(notes=(result.SEVERAL_GROUPS.format(components),))
        law = Noise.independent("gaussian", latest.facts["noise_deviation"], items)
        words = result.each_by_itself("the true score", _COVER)
        told = {"link": "logistic", "level": self.asked.level, "words": words, "noise": law}
        certain, _ = of_fit(latest.scores, met, gamma=latest.facts["gamma"], **told)
        return dataclasses.replace(certain, notes=(*certain.notes, error))
