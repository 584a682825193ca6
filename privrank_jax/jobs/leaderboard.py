"""A leaderboard that is published again and again, from data that grow, under one budget for all steps.

**Order of what happens.** New steps are on disk (:mod:`privrank_jax.release.leaderboard`); then the budget of all steps
is spent, unless this leaderboard has spent it, or in the same transaction if the state is the ledger's file; then the
leaderboards are returned, to be shown. Killed at any point, a later run shows what was drawn, draws nothing twice, and
finds in the ledger whether this leaderboard has paid.

**What is public.** When steps end, how many have been published, the items, and under ``flip`` who compared what and
when. Which steps a run publishes depends on the clock or on ``until``, never on which rows have arrived: rows that come
too late for their step are left out.

**What the holder alone may see.** Whether a run is refused depends on the data: for a new item, for rows before the
first step, and, without ``until``, for a newest row that is older than a step. A refusal spends and publishes nothing,
but that nothing was published on time is then seen by all, and no guarantee covers what it tells. With ``until`` the
age of rows plays no part.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from privrank_jax import pairwise, release
from privrank_jax._promise import Privacy
from privrank_jax._quickly import quickly
from privrank_jax._types import Key
from privrank_jax._validate import check_choice
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.jobs.arrivals import Arrivals, Counted, arrivals_of
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.certainty import components_of, of_fit
from privrank_jax.jobs.checks import (
    check_items,
    check_noise,
    check_rare_items,
    hardly_private,
    large_delta,
    private_remark,
    what_is,
)
from privrank_jax.jobs.mechanisms import LAWS, ON_INTEGERS, REHEARSAL, Randomness, rehearsed
from privrank_jax.jobs.result import (
    ANSWERS,
    SEVERAL_GROUPS,
    UNDONE,
    Certainty,
    Ranking,
    best_first,
    each_by_itself,
)
from privrank_jax.jobs.schedule import Schedule, Time, day, schedule_of
from privrank_jax.jobs.spending import Payment
from privrank_jax.pairwise.continual import ContinualDiagnostics, fit_all_sums, fit_score_sums
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
_NO_LAW = "no intervals: sums of Laplace noise have no simple law"


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
    times: Shaped[np.ndarray, "rows"] | None = None,
    noise: str | None = None,
    gamma: float | None = None,
    top_k: int | None = None,
    level: float = 0.95,
    key: Key | None = None,
    ledger: Ledger | Payment | None = None,
) -> Board:
    """Publish the steps that have ended, and return the leaderboards of all published steps.

    Call it again, with the same promise, schedule and state, when more rows have arrived: steps that were published
    come out as they were, and the budget is that of one release for all steps together.

    Args:
        data: the comparisons so far.
        privacy: what is promised for all steps together; for users with ``contributions``, the most comparisons that
            count of one of them in all steps, chosen without looking at the data: their first ones stay.
        every: ``"hour"``, ``"day"``, ``"week"`` or ``"month"``.
        start: public start of the first step, such as ``"2026-01-01"`` (UTC).
        steps: public number of steps that will ever be published, at most 10,000; the noise grows little with it.
            Default: there is no last step, and the noise grows with how many there were
            (:mod:`privrank_jax.privacy.prefix_sums` compares both).
        until: publish the steps that end by then: the data are complete up to it. Default: now, and data whose newest
            row is older than a step are refused.
        state: the file that keeps what was drawn and the key of all noise, so that a step comes out once; made with
            the first step, and one of that name and ``.published`` beside it. It is as private as the data: never
            publish it.
        times: ``(N,)`` datetime64, UTC, when each comparison was made. Default: those of the data.
        noise: ``"laplace"``, or ``"gaussian"`` at the δ of the promise. Default: Laplace.
        gamma: ridge of scores. Default: chosen without the answers.
        top_k: how many items are shown. Default: all.
        level: confidence of the intervals.
        key: makes a rehearsal with simulated noise, without a state.
        ledger: pays for all steps before anything is returned; nothing where an earlier call has. Or how it is paid.

    Returns:
        The leaderboard of the latest step, with those of all steps.

    Raises:
        ValueError: options that don't go together, no step has ended, or data that can't be used; see above.
        LeaderboardError: the state is on other terms, or can't be used. Nothing was published.
        LedgerError: the ledger does not allow it. Nothing was spent, and nothing is returned.

    >>> import privrank_jax as pr
    >>> rows = {"user": ["ann", "bob"], "winner": ["tea", "tea"], "loser": ["milk", "milk"]}
    >>> votes = pr.read({**rows, "when": ["2026-01-01", "2026-01-02"]}, time="when", name="votes")
    >>> found = leaderboard(
    ...     votes,
    ...     Privacy(5.0, unit="user", adjacency="replace", contributions=1),
    ...     **{"every": "day", "start": "2026-01-01", "steps": 365, "until": "2026-01-03"},
    ...     key=jax.random.key(0),
    ... )
    >>> found.title, len(found.steps)
    ('votes: 2 items by private scores (log-odds), step 2 of 365, until 2026-01-03', 2)
    """
    rehearsal = key is not None
    if state is None and not rehearsal:
        raise ValueError("a leaderboard needs a state (--state), which keeps what was drawn.")
    known = None if state is None or rehearsal else stored_board(state)
    if not isinstance(data, Comparisons):
        raise ValueError(f"a leaderboard takes comparisons in memory, got {what_is(data)}.")
    users = getattr(data, "users_are", "") if privacy.unit == "user" else ""
    job = _Job(
        data=data,
        promise=privacy.given(public=data.public, users=users),
        schedule=schedule_of(every, start, steps, until),
        noise=noise or _NOISES[0],
        gamma=gamma,
        top_k=top_k,
        level=level,
        source=Randomness(key),
    )
    job.check()
    when = data.times if times is None else times
    if when is None or when.shape != (len(data),):
        raise ValueError(
            f"{data.name} does not say when each comparison was made: give times (--time), one for each."
        )
    items = None if known is None else tuple(json.loads(known["terms"]["items"]))
    flip, limit = privacy.adjacency == "flip", privacy.contributions
    arrivals = arrivals_of(data, when, job.schedule, limit, flip, items)
    check_items(data.name, arrivals.data.num_items, _MOST_ITEMS, top_k)
    rare = check_rare_items(data, written=False) if known is None else ()
    asked = isinstance(ledger, Payment)
    payment = ledger if asked else Payment(ledger, lambda: data.sha256, data.name, "leaderboard")
    with jax.enable_x64(True):
        if state is None or rehearsal:
            found = job.rehearse(arrivals)
        else:
            if known is not None:
                payment.paid_as = job.paid_as(known["identifier"])
            payment.check(job.promise.for_any_user())
            found = job.publish(arrivals, state, payment, fixed=until is not None)
        board = job.board(arrivals, found, rare)
    return board if asked else payment.pay(board)


@dataclasses.dataclass(frozen=True)
class _Published:
    """What was published so far, a row per step; ``scores`` where they are fitted to noisy sums."""

    sums: Float[np.ndarray, "t numbers"]
    scores: Float[np.ndarray, "t items"] | None
    told: ContinualDiagnostics
    guarantee: Guarantee | None
    counted: list[Counted]
    identifier: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Job:
    """What was asked for, see :func:`leaderboard`."""

    data: Comparisons
    promise: Privacy
    schedule: Schedule
    noise: str
    gamma: float | None
    top_k: int | None
    level: float
    source: Randomness

    @property
    def fits_sums(self) -> bool:
        """Whether scores are fitted to wins, losses and pair counts; under flips they are fitted to win totals."""
        return self.promise.adjacency != "flip"

    def check(self) -> None:
        """Refuse options that don't go together."""
        check_choice("noise", self.noise, _NOISES)
        check_noise(self.promise, self.noise)
        if self.promise.unit == "user" and self.promise.contributions is None:
            raise ValueError(
                "a leaderboard needs contributions (--max-per-user): the most comparisons that count of one user in "
                "all steps together, chosen without looking at the data; the first ones of users with more stay."
            )
        elif self.promise.unit == "user" and not self.data.has_users:
            raise ValueError(
                f"{self.data.name} does not say who compared, so users can't be protected as a whole: name the column "
                'of users (--user), or protect single comparisons by unit="comparison" (--unit comparison).'
            )
        Asked(gamma=self.gamma, top_k=self.top_k, level=self.level).check_scores()
        if self.gamma == 0:
            raise ValueError("gamma (--gamma) must be positive; leave it out for a good default.")

    def publish(
        self,
        arrivals: Arrivals,
        state: str | os.PathLike[str],
        payment: Payment,
        *,
        fixed: bool,
    ) -> _Published:
        """Draw the steps that have ended, and collect all; ``fixed``: whether the data are complete up to a time."""
        with release.Leaderboard(
            state,
            self.promise,
            items=arrivals.data.item_names,
            steps=self.schedule.steps,
            noise=self.noise,
            schedule=self.schedule.words,
            ledger=payment.ledger,
        ) as board:
            payment.paid_as = self.paid_as(board.identifier)
            done = board.published
            known = board.remembered  # more than the state has, if an older copy was put back
            last = max(known, self.schedule.ended)
            self.schedule.check_ended(last, known)
            if not done:
                arrivals.check_dates()
            if last > known and not fixed:
                self.schedule.check_recent(arrivals.times, self.data.name)
            published = [Counted(**json.loads(note)) for note in board.notes]
            fresh = arrivals.after(published)
            counted = [*published, *fresh.counted(done, last)]
            if last > done:
                notes = [step.text for step in counted[done:]]
                counts = fresh.sums if self.fits_sums else fresh.totals
                promised = board.guarantee.for_any_user()
                pay = functools.partial(payment.spend, promised, "scores")
                board.publish(counts(done, last), notes, after=done, pay=pay)
            scores = board.scores(self.gamma) if self.fits_sums else None
            return _Published(
                board.sums, scores, board.diagnostics, board.guarantee, counted, board.identifier
            )

    def rehearse(self, arrivals: Arrivals) -> _Published:
        """The same steps with simulated noise, and no state."""
        last, items = self.schedule.ended, arrivals.data.num_items
        self.schedule.check_ended(last)
        arrivals.check_dates()
        counted = arrivals.sums(0, last) if self.fits_sums else arrivals.totals(0, last)
        counts = np.zeros((self.schedule.steps or last, counted.shape[1]))
        counts[:last] = counted
        draw, key = stream_of(self.promise).of_numbers, self.source.key()
        strategy = None if self.schedule.steps else usual_strategy(None, self.noise)
        found = draw(key, jnp.asarray(counts), self.promise, items, self.noise, strategy)
        told, noisy = found.diagnostics, np.asarray(found.value)[:last]
        scores = fit_all_sums(noisy, items, told, self.gamma) if self.fits_sums else None
        return _Published(noisy, scores, told, found.guarantee, arrivals.counted(0, last))

    def paid_as(self, identifier: str) -> str:
        """What a ledger calls all steps together."""
        steps = f"{self.schedule.steps} steps" if self.schedule.steps else "no last step"
        return f"{self.schedule.words}, {steps}, leaderboard {identifier}"

    def board(self, arrivals: Arrivals, found: _Published, rare: tuple[str, ...]) -> Board:
        """The leaderboards of all published steps."""
        assert found.guarantee is not None
        number = f"{self.schedule.steps:,} " if self.schedule.steps else ""
        guarantee = dataclasses.replace(
            found.guarantee.for_any_user(),
            note=f"It covers all {number}steps together ({self.schedule.words}), those to come too, also "
            "where later comparisons depend on earlier leaderboards.",
        )
        rehearsal = self.source.rehearsal
        guarantee = rehearsed(guarantee) if rehearsal else guarantee
        items, steps = arrivals.data.item_names, []
        met = np.zeros((len(items), len(items)), np.int64)
        for step, counted in enumerate(found.counted):
            one, other, number = np.array(counted.met, np.int64).reshape(-1, 3).T
            met[one, other] += number
            met[other, one] += number
            steps.append(self.ranking(items, found, step, guarantee, met))
        latest, certainty = steps[-1], self.certainty(found, steps[-1], met)
        unsure = certainty.better is not None and not certainty.better.any()
        notes = (*latest.notes, *certainty.notes, *((REHEARSAL,) if rehearsal else ()))
        in_short = [
            {name: one.facts[name] for name in ("step", "ends")}
            | {"ranking": [{k: row[k] for k in ("item", "rank", "score")} for row in one.rows]}
            for one in steps
        ]
        changed = {
            "facts": latest.facts | {"notes": list(notes), "steps": in_short},
            "certainty": certainty,
            "notes": notes,
            "warnings": (
                *hardly_private(float(self.promise.epsilon)),
                *rare,
                *large_delta(
                    self.promise, user=self.data.num_users, comparison=len(arrivals.times)
                ),
                *(
                    (
                        f"no two items can be told apart. Less noise: {self.less_noise(len(items), len(steps))}.",
                    )
                    if unsure
                    else ()
                ),
                *private_remark(*arrivals.left_out(found.counted)),
            ),
        }
        return Board(**{**vars(latest), **changed}, steps=tuple(steps))

    def ranking(
        self,
        items: tuple[str, ...],
        found: _Published,
        step: int,
        guarantee: Guarantee,
        met: Int[np.ndarray, "items items"],
    ) -> Ranking:
        """The leaderboard of one step; ``met``: how often pairs were compared until its end, where that is public."""
        totals = found.sums[step, : len(items)]
        deviation = float(np.asarray(found.told.deviations)[step])
        name, gamma = self.data.name, None
        scores = totals if found.scores is None else found.scores[step]
        if found.scores is None:
            gamma = self.gamma or float(
                quickly(least_risk_gamma, float(met.sum()) / len(met), deviation**2)
            )
            design = pairwise.Counts(met)
            scores = np.asarray(quickly(pairwise.fit, design, totals, gamma).value)
        of_all = f" of {self.schedule.steps}" if self.schedule.steps else ""
        end, rehearsal = day(self.schedule.starts[step + 1]), self.source.rehearsal
        facts = {
            "method": "scores",
            "data": name,
            "items": len(items),
            "max_per_user": self.promise.contributions,
            "step": step + 1,
            "ends": end,
            "schedule": self.schedule.words,
            "num_steps": self.schedule.steps,
            "state": found.identifier or None,
            "noise": f"{(LAWS if rehearsal else ON_INTEGERS)[self.noise]}, correlated over steps",
            "noise_deviation": deviation,
            "level": self.level,
            "seed": self.source.seed,
            "gamma": gamma,
        }
        when = ", and when each comparison was made" * (self.promise.adjacency == "flip")
        notes = [f"taken as public: when steps end and how many there are{when}"]
        if "items" in self.data.public:
            notes.append(
                "the list of items was taken from the data of the first run and is treated as public"
            )
        return Ranking(
            title=f"{name}: {len(items)} items by private scores (log-odds), step {step + 1}{of_all}, until {end}",
            items=items,
            order=best_first(scores),
            guarantee=guarantee,
            facts={name: value for name, value in facts.items() if value is not None},
            scores=scores,
            score_name="score",
            level=self.level,
            top_k=self.top_k,
            notes=tuple(notes),
        )

    def certainty(
        self, found: _Published, latest: Ranking, met: Int[np.ndarray, "items items"]
    ) -> Certainty:
        """Certainty of the last step: the noise of its totals is normal, up to the rounding of its parts."""
        assert latest.scores is not None
        deviation = latest.facts["noise_deviation"]
        moved, unsure = self.unless_apart(found, latest, met)
        error = f"the noise moves a score by {moved:.2g}, simulated from what is published (standard deviation)"
        if found.scores is not None:
            return Certainty(unsure, notes=(_NO_DESIGN, error))
        if self.noise != "gaussian":
            return Certainty(unsure, notes=(_NO_LAW, error))
        if (components := components_of(met)) > 1:
            return Certainty(notes=(SEVERAL_GROUPS.format(components),))
        cover = f"{ANSWERS} and the privacy noise{UNDONE}; this step by itself"
        certain, _ = of_fit(
            latest.scores,
            met,
            gamma=latest.facts["gamma"],
            link="logistic",
            level=self.level,
            words=each_by_itself("the true score", cover),
            noise=Noise.independent("gaussian", deviation, len(met)),
        )
        return dataclasses.replace(certain, notes=(*certain.notes, error))

    def unless_apart(
        self, found: _Published, latest: Ranking, met: Int[np.ndarray, "items items"]
    ) -> tuple[float, Bool[np.ndarray, "items items"] | None]:
        """By how much noise moves a score of the last step, and that no item is surely better than another.

        None instead of that where scores spread by more than noise parts equal ones. Normal noise is added to the
        published sums once more, and scores are fitted to them: a function of the release.
        """
        assert latest.scores is not None
        sums, items = found.sums[-1], latest.scores.size
        place, told = len(found.sums) - 1, found.told
        deviations = [np.asarray(told.deviations)[place]]
        if told.pair_deviations is not None:
            deviations.append(np.asarray(told.pair_deviations)[place])
        parts = (2 * items, sums.size - 2 * items) if found.scores is not None else (items,)
        spread = np.repeat(deviations[: len(parts)], parts[: len(deviations)])
        draws = max(10, min(_DRAWS, 100 * _DRAWS // items))
        moved = sums + spread * np.random.default_rng(0).standard_normal((draws, sums.size))

        def fitted(one: np.ndarray) -> np.ndarray:
            if found.scores is not None:
                return np.asarray(fit_score_sums(one, items, *deviations, gamma=self.gamma))
            design, gamma = pairwise.Counts(met), latest.facts["gamma"]
            return np.asarray(quickly(pairwise.fit, design, one, gamma).value)

        scores = np.stack([fitted(one) for one in moved])
        errors = scores - scores.mean(0)
        widest = float(np.quantile(np.ptp(errors, axis=1), self.level))
        unsure = None if np.ptp(latest.scores) > widest else np.zeros((items, items), bool)
        return float(errors.std()), unsure

    def less_noise(self, num_items: int, published: int) -> str:
        """What would lessen the noise of the last published step, in words; Gaussian noise has δ = 10⁻⁶ there."""
        steps, gaussian = self.schedule.steps, dataclasses.replace(self.promise, delta=1e-6)

        def deviation(promise: Privacy, steps: int | None, noise: str, after: int) -> float:
            try:
                rows = stream_of(promise).rows(promise, num_items, steps, noise)
            except ValueError:  # no exact noise can be drawn
                return math.inf
            return float(rows.deviations(after)[-1])

        def same(steps: int | None, after: int) -> float:
            return deviation(self.promise, steps, self.noise, after)

        now, ways = same(steps, published), []
        if same(1, 1) < now:
            ways.append("fewer, longer steps (--every)")
        if steps is None and same(published, published) < now:
            ways.append("a last step (--steps)")
        if self.noise != "gaussian" and deviation(gaussian, steps, "gaussian", published) < now:
            ways.append("noise='gaussian' (--noise gaussian) and a delta")
        if self.promise.adjacency != "flip":
            ways.append(
                "adjacency='flip' (--adjacency flip), where who compared what may be public"
            )
        return ", ".join(ways) or "a larger epsilon"
