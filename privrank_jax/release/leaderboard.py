r"""A leaderboard that is published again and again, with exact noise, and whose state survives crashes.

**Mechanism.** Twice the wins of each item in each step are integers, X. The strategy C of
:mod:`privrank_jax.privacy.prefix_sums` is replaced by an integer matrix: for the square root, the coefficients 2^b f_k
rounded to integers (b = 16, less where σ would exceed what can be drawn); tree and increments are integer as they are.
At each step the next row of Y = CX + Z is drawn, Z exact integer noise, and the totals are the rows of A C⁻¹ Y, halved:
post-processing. Nothing is lost by rounding C, for A = (A C⁻¹) C holds for the rounded matrix: the proof at the head of
that module asks only that C is lower triangular and nonnegative, and that its longest column is known, which is an
exact integer here. C is Toeplitz or has an explicit longest column, the first.

**Gaussian noise** is rounded to integers (:mod:`privrank_jax.release.rounded_gaussian`), a function of the Gaussian
mechanism's output: CX is an integer. Its σ is at least Δ/μ, rounded up to a rational, with Δ² = 4kL²·Σ_t C_{t1}² for k
= 1 (``add-remove``) or 2, and μ proven (:mod:`privrank_jax.release.gaussian_budget`). **Laplace noise** is one on
integers (:mod:`privrank_jax.release.integer_laplace`) of scale Δ₁/ε, Δ₁ twice the ℓ₁ sensitivity of the totals times
that of the first column. Both hold for streams that depend on what was published before.

**One key** from the operating system, drawn when the state is made, decides all noise. Row t of Z is drawn from a
secret stream (:mod:`privrank_jax.release.secret_stream`) whose label is the terms of the leaderboard and all of X_1,
..., X_t. So a step that is drawn again from the same data comes out the same, bit for bit, and one that is drawn from
other data has independent noise, never the same noise, which would reveal what has changed.

*Proof.* Where each step is published once, or again from equal data, each label is used for one row. If HMAC-SHA-256 is
a pseudorandom function, its streams can't be told from independent uniform bits, whatever labels were chosen after
seeing earlier outputs, and with these the noise has the law above. So (ε, δ) holds against observers who can't break
the function, as it does for every draw from an operating system, whose generator rests on the like; not against
unbounded ones.

*Where a step would be published from other data*, two publications lose more than one: their equality tells whether the
data are equal, and unequal ones add up. This is refused wherever a memory of published steps survives: the state, the
file beside it, or a ledger (:mod:`privrank_jax.release.leaderboard_file`). If an older copy of the state is put back,
it goes on from any of the three; if all of them were put back to the same day, or if two copies of a state are run on
different data with no ledger that both share, nobody can notice, and the guarantee covers only what one of them
published.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float, Real

from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.continual import ContinualDiagnostics
from privrank_jax.pairwise.noisy_counts import totals_sensitivity
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.prefix_sums import (
    check_steps,
    square_root_coefficients,
    usual_strategy,
)
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.entropy import Source
from privrank_jax.release.gaussian_budget import gaussian_budget
from privrank_jax.release.integer_laplace import LARGEST, laplace_mechanism
from privrank_jax.release.leaderboard_file import LeaderboardError, StateFile, Step
from privrank_jax.release.ledger_file import PROMISE, cells
from privrank_jax.release.noisy_totals import doubled_totals, in_floats
from privrank_jax.release.published_steps import Memory
from privrank_jax.release.secret_stream import KEY_BYTES, SecretStream
from privrank_jax.release.weights_in_parts import gaussian_mechanism, root_above

MAX_STEPS = 10_000
_DIGITS = 16
_LARGEST_COUNT = 2**44  # of twice the wins of an item, so that CX is an exact int64

Totals = Float[np.ndarray, "steps items"]


class Leaderboard:
    """Noisy win totals after each of T steps under one promise for all of them; a context manager.

    **Guarantee.** (ε, δ)-DP for Gaussian noise, ε-DP for Laplace noise, for everything that all T steps publish, for
    the promised unit and adjacency, whichever steps the L comparisons of a user fall into, and where comparisons depend
    on what was published before; proofs at the heads of this module and of :mod:`privrank_jax.privacy.prefix_sums`. T,
    and when steps end, are public.

    Args:
        path: the file that keeps the state (:mod:`privrank_jax.release.leaderboard_file`); made if there is none, else
            opened, on the same terms. It holds the key of all noise beside exact counts: never publish it. The file of
            that name and ``.published`` beside it belongs to it.
        privacy: what is promised for all steps together: unit comparison or user, any adjacency, ε finite. Users need
            ``contributions``: the most comparisons of one user in all steps together, which must hold in the data.
        items: the names of the m items, public.
        steps: T, the number of steps that will ever be published, at most 10,000; public.
        noise: ``"gaussian"`` at the δ of the promise, or ``"laplace"``.
        schedule: when steps end, in words or as the caller likes; must be the same whenever the state is opened.

    Raises:
        LeaderboardError: the state is on other terms, can't be used, or has not the steps that were published.
        ValueError: a promise that can't be kept, T out of range, an ε too small for exact noise.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/board.state"
    >>> promise = Privacy(2.0, unit="user", adjacency="replace", delta=1e-6, contributions=1)
    >>> with Leaderboard(path, promise, items=("a", "b"), steps=365) as board:
    ...     day = board.publish(WinCounts.from_matrix([[0, 900], [100, 0]])).value
    >>> bool(day[0] > day[1])
    True
    >>> with Leaderboard(path, promise, items=("a", "b"), steps=365) as board:  # the next day
    ...     _ = board.publish(WinCounts.from_matrix([[0, 90], [10, 0]]))
    ...     board.published, bool(np.all(board.totals[0] == day))
    (2, True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        privacy: Privacy,
        *,
        items: Sequence[str],
        steps: int,
        noise: str = "gaussian",
        schedule: str = "",
    ) -> None:
        self._attained = in_floats(of_comparisons(privacy, "Leaderboard", noise))
        self.items, self.steps, self.noise = tuple(items), int(steps), noise
        if not self.items:
            raise ValueError("a leaderboard needs items: give their names.")
        self._strategy = strategy_of(self._attained, self.steps, noise)
        self.guarantee = Guarantee(privacy, self._attained, numerics="exact")
        terms = dict(zip(PROMISE.split(", "), cells(self._attained)))
        terms |= {"items": json.dumps(self.items), "steps": str(self.steps)}
        self._terms = {**terms, "noise": noise, "schedule": schedule}
        self._file = StateFile(path, self._terms)
        self.identifier = self._file.identifier

    def __enter__(self) -> Leaderboard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def remember_in(self, ledger: Memory) -> None:
        """Let a ledger remember the published steps too, from now on; it does not pay for them.

        Args:
            ledger: a :class:`~privrank_jax.release.Ledger`.

        Raises:
            LeaderboardError: it remembers steps that would not come out the same here.
            LedgerError: the ledger can't be used.
        """
        self._file.remember_in(ledger)

    @property
    def published(self) -> int:
        """Number of published steps that the state has."""
        return len(self._file.steps())

    @property
    def remembered(self) -> int:
        """Number of steps that were ever published; more than :attr:`published` after an older state was put back."""
        return self._file.remembered

    @property
    def notes(self) -> list[str]:
        """What :meth:`publish` was told to keep with each published step."""
        return [step.note for step in self._file.steps()]

    @property
    def totals(self) -> Totals:
        """Noisy totals after each published step, ``(t, m)`` float64, in wins, as they were published."""
        noisy = [step.noisy for step in self._file.steps()]
        return self._strategy.decoded(np.array(noisy, float).reshape(-1, len(self.items)))

    @property
    def diagnostics(self) -> ContinualDiagnostics:
        """Scale of the noise drawn at a step, and the standard deviation of the totals at each of the T steps."""
        unit = 2 * self._strategy.unit
        return ContinualDiagnostics(
            float(self._strategy.scale) / unit, self._strategy.deviations(self.steps)
        )

    def publish(
        self,
        wins: WinCounts | Real[np.ndarray, "*steps items"],
        notes: Sequence[str] = (),
        after: int | None = None,
    ) -> Estimate:
        """Draw the noisy totals of the next step, or of several; they are on disk when this returns.

        After an older state was put back, steps that were published since come out as they were.

        Args:
            wins: counts of the comparisons that arrived in the step, ``(m, m)``, or of each of k steps, ``(k, m, m)``;
                or win totals, ``(m,)`` or ``(k, m)``. Multiples of 1/2.
            notes: a text to keep with each step, for :attr:`notes`; "" for those that are left out. A step that was
                published before must have the same note again: say there which rows were counted.
            after: how many steps the caller takes to be published; others are refused. None: any number.

        Returns:
            ``value``: noisy totals after the step, ``(m,)``, or after each of them, ``(k, m)`` float64, in wins.
            ``guarantee``: of all T steps together, with ``numerics="exact"``. ``diagnostics``:
            :class:`~privrank_jax.pairwise.ContinualDiagnostics`.

        Raises:
            LeaderboardError: more than T steps, another process has published, a step that was published before would
                not come out the same, or the file can't be written. Nothing was published.
            ValueError: counts of other items, or not multiples of 1/2, or too large.
        """
        given, alone = _by_step(wins)
        counts = np.array([doubled_totals(one) for one in given], np.int64).reshape(len(given), -1)
        if counts.size and counts.shape[1] != len(self.items):
            raise ValueError(
                f"the counts of a step are for {len(self.items)} items, got {counts.shape[1]}."
            )
        counts = counts.reshape(-1, len(self.items))
        texts = [*notes, *[""] * (len(counts) - len(notes))]
        first = 0

        def draw(before: list[Step]) -> list[Step]:
            nonlocal first
            first = len(before)
            if after not in (None, first):
                raise LeaderboardError(
                    f"{self._file.path} has {first} published steps by now, not {after}: another process published. "
                    "Run again."
                )
            if first + len(counts) > self.steps:
                raise LeaderboardError(
                    f"{self._file.path} was promised {self.steps} steps, of which {first} are published: no budget is "
                    "left for more. Begin another leaderboard, at its own price."
                )
            every = np.array([*(step.counts for step in before), *counts], np.int64)
            streams = self._streams(every)
            for number, (step, stream) in enumerate(zip(before, streams), 1):
                if step.witness != _witness(stream, step.noisy, step.note):
                    raise LeaderboardError(
                        f"{self._file.path} was altered: step {number} is not what was drawn. Put a copy back that was "
                        "not. Nothing is published."
                    )
            sources = [stream.branch("noise") for stream in streams[first:]]
            rows = self._strategy.drawn(every, first, sources).astype(np.int64).tolist()
            return [
                Step(tuple(row), tuple(noisy), text, _witness(stream, noisy, text))
                for row, noisy, text, stream in zip(counts.tolist(), rows, texts, streams[first:])
            ]

        self._file.extend(draw)
        value = self.totals[first : first + len(counts)]
        return Estimate(value[0] if alone else value, self.guarantee, self.diagnostics)

    def _streams(self, counts: np.ndarray) -> list[SecretStream]:
        """The stream of each step, keyed by the terms and by the counts of this step and of all before it."""
        root = self._file.stream.branch(json.dumps(self._terms, sort_keys=True))
        labels = (f"counts {row}" for row in counts.tolist())
        return list(itertools.accumulate(labels, SecretStream.branch, initial=root))[1:]


def _witness(stream: SecretStream, noisy: Sequence[int], note: str) -> str:
    """Keyed hash of what was published for the step of that stream, and of its note."""
    label = f"witness {json.dumps([noisy, note])}"
    return stream.branch(label).token_bytes(KEY_BYTES).hex()


def _by_step(wins: Any) -> tuple[list[Any], bool]:
    """What arrived in each step, and whether there is one step without an axis of steps."""
    counted = isinstance(wins, WinCounts)
    given = np.asarray(wins.matrix if counted else wins)
    of_one = 2 if counted else 1
    if given.ndim not in (of_one, of_one + 1):
        raise ValueError(
            f"the counts of a step are win counts (m, m) or totals (m,), stacked for several steps; got {given.shape}."
        )
    alone = given.ndim == of_one
    stacked = given[None] if alone else given
    return [WinCounts(one) if counted else one for one in stacked], alone


def strategy_of(privacy: Privacy, steps: int, noise: str) -> ExactStrategy:
    """The integer strategy with the least error, and its noise."""
    check_steps(steps)
    if steps > MAX_STEPS:
        raise ValueError(
            f"steps must be at most {MAX_STEPS:,}, got {steps:,}: choose longer steps, such as weeks."
        )
    kind = usual_strategy(steps, noise)
    for digits in range(_DIGITS, 7, -1) if kind == "square-root" else (0,):
        rounded = ExactStrategy(privacy, kind, steps, digits)
        if rounded.scale <= LARGEST:
            return rounded
    raise ValueError(
        "no exact noise can be drawn for this epsilon, delta and number of contributions: the noise would be too "
        "large for any use. Choose values closer to usual ones, such as 1 and 1e-6."
    )


class ExactStrategy:
    """Integer C, row by row, with exact noise.

    Args:
        privacy: the promise, with Gaussian noise for the square root and Laplace noise else.
        kind: one of :data:`~privrank_jax.privacy.prefix_sums.STRATEGIES`, not ``"independent"``.
        steps: T.
        digits: b, binary digits of the coefficients of the square root.

    Attributes:
        unit: 2^b, or 1.
        scale: σ or the scale s, a fraction, in units of Y.
    """

    def __init__(self, privacy: Privacy, kind: str, steps: int, digits: int = 0) -> None:
        self._kind, self._steps, self.unit = kind, steps, 1 << digits
        self._privacy = privacy
        if kind == "square-root":
            self.coefficients = np.rint(square_root_coefficients(steps) * self.unit).astype(
                np.int64
            )
            self._response = np.cumsum(_inverse(self.coefficients / self.unit))
            self._budget = gaussian_budget(privacy.epsilon, privacy.delta)
            self.scale = root_above(Fraction(self.squared_sensitivity) / self._budget**2)
            return
        longest = steps.bit_length() if kind == "tree" else 1
        of_totals = int(totals_sensitivity(privacy, "l1"))
        self.scale = Fraction(2 * of_totals * longest) / Fraction(privacy.epsilon)

    @property
    def squared_sensitivity(self) -> int:
        """Δ² of CX in ℓ₂, for Gaussian noise."""
        moves = 1 if self._privacy.adjacency == "add-remove" else 2
        of_totals = moves * int(self._privacy.comparisons_per_unit) ** 2
        return 4 * of_totals * sum(one * one for one in self.coefficients.tolist())

    def encoding(self, step: int) -> np.ndarray:
        """Row ``step`` (from 0) of C, up to its diagonal."""
        if self._kind == "square-root":
            return self.coefficients[step::-1]
        row = np.zeros(step + 1, np.int64)
        width = (step + 1) & -(step + 1) if self._kind == "tree" else 1
        row[step + 1 - width :] = 1
        return row

    def decoding(self, step: int) -> np.ndarray:
        """Row ``step`` of A C⁻¹, times 2^b, up to its diagonal."""
        if self._kind == "square-root":
            return self._response[step::-1]
        if self._kind == "increments":
            return np.ones(step + 1)
        row, end = np.zeros(step + 1), step + 1
        while end:
            row[end - 1] = 1
            end -= end & -end
        return row

    def drawn(self, counts: np.ndarray, first: int, sources: Sequence[Source]) -> np.ndarray:
        """Rows of Y from ``first`` on, float64, each with noise from a source of its own.

        Args:
            counts: twice the wins in all steps so far, ``(t, m)`` int64.
            first: number of steps that are not drawn.
            sources: one for each of the others.
        """
        if np.abs(counts).sum(0, float).max(initial=0) > _LARGEST_COUNT:  # int64 might wrap around
            raise ValueError(
                f"exact noise over time needs at most {_LARGEST_COUNT // 2:,} wins of one item."
            )
        rows = [self.encoding(step) @ counts[: step + 1] for step in range(first, len(counts))]
        values = np.array(rows).reshape(-1, counts.shape[1])
        if self._kind == "square-root":
            parts = ((counts.shape[1], self.scale),) * len(values)
            epsilon, budget = self._privacy.epsilon, self._budget
            noisy = gaussian_mechanism(values.ravel(), parts, epsilon, budget, sources)
            return noisy.reshape(values.shape)
        return laplace_mechanism(values, self.scale, sources)

    def decoded(self, noisy: np.ndarray) -> Totals:
        """Totals after each step, in wins, from the rows of Y so far, ``(t, m)``."""
        rows = [self.decoding(step) @ noisy[: step + 1] for step in range(len(noisy))]
        return np.array(rows).reshape(noisy.shape) / (2 * self.unit)

    def deviations(self, steps: int) -> Float[np.ndarray, "steps"]:
        """Standard deviation of the noise of a total at each step, in wins."""
        one = float(self.scale)
        if self._kind != "square-root":
            one = 1 / (math.sqrt(2) * math.sinh(0.5 / one))
        if self._kind == "square-root":
            squares = np.cumsum(self._response[:steps] ** 2)
        else:
            squares = np.array([self.decoding(step).sum() for step in range(steps)])
        return one * np.sqrt(squares) / (2 * self.unit)


def _inverse(series: np.ndarray) -> np.ndarray:
    """Coefficients of 1/f(x), where f(0) = 1."""
    found = np.zeros(series.size)
    found[0] = 1.0
    for place in range(1, series.size):
        found[place] = -(series[1 : place + 1] @ found[place - 1 :: -1])
    return found
