r"""A leaderboard that is published again and again, with exact noise, and whose state survives crashes.

**Mechanism.** Twice the wins of each item in each step are integers, X. The strategy C of
:mod:`privrank_jax.privacy.prefix_sums` is replaced by an integer matrix: for the square root, the coefficients 2^b f_k
rounded to integers (b = 16, less where σ would exceed what can be drawn); tree and increments are integer as they are.
At each step the next row of Y = CX + Z is drawn, Z exact integer noise, and the totals are the rows of A C⁻¹ Y, halved:
post-processing. Nothing is lost by rounding C, for A = (A C⁻¹) C holds for the rounded matrix: the proof at the head of
that module asks only that C is lower triangular and nonnegative, and that its longest column is known, which is an
exact integer here. C is Toeplitz or has an explicit longest column, the first.

**Gaussian noise** is rounded to integers (:mod:`privrank_jax.exact.rounded_gaussian`), a function of the Gaussian
mechanism's output: CX is an integer. Its σ is at least Δ/μ, rounded up to a rational, with Δ² = 4kL²·Σ_t C_{t1}² for k
= 1 (``add-remove``) or 2, and μ proven (:mod:`privrank_jax.privacy.gaussian`). **Laplace noise** is one on
integers (:mod:`privrank_jax.exact.integer_laplace`) of scale Δ₁/ε, Δ₁ twice the ℓ₁ sensitivity of the totals times
that of the first column. Both hold for streams that depend on what was published before.

**Without a last step** C has infinitely many rows, of which each step draws one more, and columns whose length is
bounded for ever (:mod:`privrank_jax.privacy.unbounded_sums`): the root in integers with Σ_t C_{ts}² <= 4^b, or the
tree, whose rows have noise of 2^j times one scale. All that was said holds with that bound in place of the first
column, for all steps that will ever be.

**What a step holds** follows from the promise. Under ``flip`` it is public who compared what, and X holds win totals,
to which scores are fitted. Else X holds wins, losses and pair counts, drawn in the same way, with noise of two scales
(:mod:`privrank_jax.release.exact_strategy`), and scores are fitted to their noisy sums: post-processing of what is on
disk.

**One key** from the operating system, drawn for the first step, decides all noise. Row t of Z is drawn from a
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
import os
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Real

from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import exact_promise
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.score_stream import (
    MAX_PAIR_ITEMS,
    Part,
    fit_all_sums,
    parts_of,
)
from privrank_jax.pairwise.whole_counts import doubled_counts, doubled_totals
from privrank_jax.privacy.continual import ContinualDiagnostics
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.exact_strategy import ExactStrategy, Totals, strategy_of
from privrank_jax.release.leaderboard_file import SCORES, LeaderboardError, StateFile, Step
from privrank_jax.release.ledger_file import PROMISE, cells
from privrank_jax.release.published_steps import Memory
from privrank_jax.release.secret_stream import KEY_BYTES, SecretStream

_NO_END = "without end"


def strategy_for(
    privacy: Privacy,
    num_items: int,
    steps: int | None,
    noise: str,
) -> tuple[Privacy, tuple[Part, ...] | None, ExactStrategy]:
    """What a leaderboard attains of a promise, the parts of a step, and its noise.

    Args:
        privacy: the promise.
        num_items: m.
        steps: T, None without a last step.
        noise: ``"laplace"`` or ``"gaussian"``.

    Raises:
        ValueError: a promise that can't be kept, or noise that can't be drawn.
    """
    attained = exact_promise(of_comparisons(privacy, "Leaderboard", noise))
    parts = None if attained.adjacency == "flip" else parts_of(num_items)
    return attained, parts, strategy_of(attained, steps, noise, parts)


class Leaderboard:
    """Noisy sums after each step, with or without a last one, and scores by them; a context manager.

    **Guarantee.** (ε, δ)-DP for Gaussian noise, ε-DP for Laplace noise, for everything that all T steps publish, or all
    that will ever be, for the promised unit and adjacency, whichever steps the L comparisons of a user fall
    into, and where these depend on what was published before; proofs at the heads of this module, of
    :mod:`privrank_jax.privacy.prefix_sums`, of :mod:`privrank_jax.privacy.unbounded_sums` and of
    :mod:`privrank_jax.pairwise.score_stream`. T, and when steps end, are public.

    Args:
        path: the file that keeps the state (:mod:`privrank_jax.release.leaderboard_file`); made if there is none, else
            opened, on the same terms. It holds the key of all noise beside exact counts: never publish it. The file of
            that name and ``.published`` beside it belongs to it.
        privacy: what is promised for all steps together: unit comparison or user, any adjacency, ε finite. Users need
            ``contributions``: the most comparisons of one user in all steps together, which must hold in the data.
        items: the names of the m items, public.
        steps: T, the number of steps that will ever be published, at most 10,000; public. None: there is no last step,
            and the noise grows with how many there were.
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
    ...     board.published, bool(np.all(board.scores()[0] == day))
    (2, True)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        privacy: Privacy,
        *,
        items: Sequence[str],
        steps: int | None = None,
        noise: str = "gaussian",
        schedule: str = "",
    ) -> None:
        self.items, self.noise = tuple(items), noise
        self.steps = None if steps is None else int(steps)
        if not self.items:
            raise ValueError("a leaderboard needs items: give their names.")
        self._attained, self._parts, self._strategy = strategy_for(
            privacy, len(self.items), self.steps, noise
        )
        self.guarantee = Guarantee(privacy, self._attained, numerics="exact")
        terms: dict[str, str] = dict(zip(PROMISE.split(", "), cells(self._attained)))
        terms |= {"items": json.dumps(self.items), "steps": str(self.steps or _NO_END)}
        terms |= {"noise": noise, "schedule": schedule}
        if self._parts:  # the terms of a state say nothing of totals
            terms["publishes"] = SCORES
        self._terms = terms
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
    def sums(self) -> Totals:
        """All noisy sums after each published step, ``(t, d)`` float64, in wins, as they were published."""
        noisy = [step.noisy for step in self._file.steps()]
        return self._strategy.decoded(np.array(noisy, float).reshape(-1, self._size))

    @property
    def _size(self) -> int:
        """d, how many numbers a step has."""
        return sum(one.size for one in self._parts) if self._parts else len(self.items)

    @property
    def totals(self) -> Totals:
        """Noisy totals after each published step, ``(t, m)`` float64, in wins, as they were published."""
        return self.sums[:, : len(self.items)]

    def scores(self, gamma: float | None = None) -> Totals:
        """Scores after each published step, ``(t, m)`` float64, but under ``flip``.

        Args:
            gamma: ridge γ > 0; None as for :func:`~privrank_jax.pairwise.score_stream.fit_score_sums`.

        Raises:
            ValueError: adjacency ``flip``, where the fit needs how often each pair was compared, which is public.
        """
        if not self._parts:
            raise ValueError(
                "under adjacency='flip' a leaderboard publishes win totals: fit scores to a step of totals by "
                "pairwise.fit, with how often each pair was compared up to it."
            )
        with jax.enable_x64(True):
            return fit_all_sums(self.sums, len(self.items), self.diagnostics, gamma)

    @property
    def diagnostics(self) -> ContinualDiagnostics:
        """Scale of the noise drawn at the first step, and the standard deviation of the sums at each of the T steps.

        Without a last step: of the published ones.
        """
        strategy, steps = self._strategy, self.steps or self.published
        told = [
            (float(scale) / (2 * strategy.unit), strategy.deviations(steps, part))
            for part, scale in enumerate(strategy.scales)
        ]
        return ContinualDiagnostics(*told[0], *(told[1] if len(told) > 1 else (None, None)))

    def publish(
        self,
        wins: WinCounts | Real[np.ndarray, "*steps items"],
        notes: Sequence[str] = (),
        after: int | None = None,
    ) -> Estimate:
        """Draw the noise of the next step, or of several; it is on disk when this returns.

        After an older state was put back, steps that were published since come out as they were.

        Args:
            wins: counts of the comparisons that arrived in the step, ``(m, m)``, or of each of k steps, ``(k, m, m)``;
                or, under ``flip``, win totals, ``(m,)`` or ``(k, m)``; else what
                :func:`~privrank_jax.pairwise.score_stream.score_sums` gives, ``(d,)`` or ``(k, d)``. Multiples of 1/2.
            notes: a text to keep with each step, for :attr:`notes`; "" for those that are left out. A step that was
                published before must have the same note again: say there which rows were counted.
            after: how many steps the caller takes to be published; others are refused. None: any number.

        Returns:
            ``value``: scores, or under ``flip`` noisy totals in wins, after the step, ``(m,)``, or after each, ``(k,
            m)`` float64.
            ``guarantee``: of all steps together, with ``numerics="exact"``. ``diagnostics``:
            :class:`~privrank_jax.privacy.continual.ContinualDiagnostics`.

        Raises:
            LeaderboardError: more than T steps, another process has published, a step that was published before would
                not come out the same, or the file can't be written. Nothing was published.
            ValueError: counts of other items, or not multiples of 1/2, or too large.
        """
        given, alone = _by_step(wins)
        scores = bool(self._parts)
        double = _doubled_sums if scores else doubled_totals
        counts = np.array([double(one) for one in given], np.int64).reshape(len(given), -1)
        if counts.size and counts.shape[1] != self._size:
            sums = f", {self._size} numbers as score_sums gives them" if scores else ""
            raise ValueError(
                f"the counts of a step are for {len(self.items)} items{sums}, got {counts.shape[1]}."
            )
        counts = counts.reshape(-1, self._size)
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
            if self.steps is not None and first + len(counts) > self.steps:
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
        value = self.scores() if scores else self.totals
        value = value[first : first + len(counts)]
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


def _doubled_sums(wins: Any) -> np.ndarray:
    """Twice the wins, losses and pair counts, as int64, from win counts ``(m, m)`` or from such sums."""
    doubled = doubled_counts(wins)
    if not isinstance(wins, WinCounts):
        return doubled
    found = [doubled.sum(1), doubled.sum(0)]
    if len(doubled) <= MAX_PAIR_ITEMS:
        found.append((doubled + doubled.T)[np.triu_indices(len(doubled), 1)])
    return np.concatenate(found)


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
