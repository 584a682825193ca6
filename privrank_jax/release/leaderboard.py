r"""A leaderboard that is published again and again, with exact noise, and whose state survives crashes.

**Mechanism.** Each step publishes the next row of Y = CX + Z, exact noise by an integer strategy, and the sums by the
rows so far: :meth:`PrefixSums.rows <privrank_jax.pairwise.continual.PrefixSums.rows>`, with its proof at the head of
that module. Under ``flip`` it is public who compared what, and X holds win totals, to which scores are fitted. Else X
holds wins, losses and pair counts, and scores are fitted to their noisy sums: post-processing of what is on disk.

**One key** from the operating system, drawn for the first step, decides all noise. Row t of Z is drawn from a secret
stream (:mod:`privrank_jax.exact.entropy`) whose label is the terms of the leaderboard and all of X_1, ..., X_t. So a
step that is drawn again from the same data, by a copy or an older state, comes out the same, bit for bit. One that is
drawn from other data has independent noise, never the same noise, which would reveal what has changed.

*Proof.* Where each step is published once, or again from equal data, each label is used for one row. If HMAC-SHA-256 is
a pseudorandom function, its streams can't be told from independent uniform bits, whatever labels were chosen after
seeing earlier outputs, and with these the noise has the law above. So (ε, δ) holds against observers who can't break
the function, as it does for every draw from an operating system, whose generator rests on the like; not against
unbounded ones.

*Where a step would be published from other data*, two publications lose more than one: their equality tells whether the
data are equal, and unequal ones add up. So each step has a *witness*, a keyed hash of what was published, of all counts
behind it and of a note. It is kept in the state, in a file of that name and ``.published`` beside it, and in a ledger
if one is used.

A step is published only if its witness is that of each memory which has one: an older state goes on from any of the
three. A state with steps and no file beside it is refused, and so is a new state beside the steps of another one.

Nobody can notice if all of them were put back to the same day, or if two copies of a state are run on different data
with no ledger that both share. Then the guarantee covers only what one of them published.

**Order.** Steps are on disk in the state, then in the other memories, then they are returned. A process killed in
between leaves steps that nobody has seen; the next one to open the state catches up. Steps are drawn in the transaction
that writes them, so of several processes each goes on from the steps of those before. The first makes the state: what
is refused before it fixes no terms. Where the state is the ledger's file, a step and its spend are one transaction.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Real

from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.entropy import KEY_BYTES, SecretStream
from privrank_jax.pairwise.continual import (
    ContinualDiagnostics,
    PrefixSums,
    continual_score_sums,
    continual_totals,
    fit_all_sums,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.decimals import cells
from privrank_jax.release.ledger import Ledger
from privrank_jax.release.store import LeaderboardError, Row, Store

Sums = Float[np.ndarray, "steps numbers"]


def stream_of(privacy: Privacy) -> PrefixSums:
    """The record of what a step holds under a promise."""
    return continual_totals if privacy.adjacency == "flip" else continual_score_sums


class Leaderboard(contextlib.AbstractContextManager["Leaderboard"]):
    """Noisy sums after each step, with or without a last one, and scores by them; a context manager.

    **Guarantee.** (ε, δ)-DP for Gaussian noise, ε-DP for Laplace noise, for everything that all steps together publish,
    for the promised unit and adjacency. It holds whichever steps the L comparisons of a user fall into, and where these
    depend on what was published before (heads of this module, of :mod:`privrank_jax.privacy.prefix_sums` and of
    :mod:`privrank_jax.pairwise.continual`).

    Args:
        path: the file of the state (:mod:`privrank_jax.release.store`), which may be the ledger's; made with the first
            step if there is none. It holds exact counts and the key of all noise: never publish it. The file of that
            name and ``.published`` beside it belongs to it.
        privacy: what is promised for all steps together: unit comparison or user, any adjacency, ε finite. Users need
            ``contributions``: the most comparisons of one user in all steps together, which must hold in the data.
        items: the names of the m items, public.
        steps: T, how many steps will ever be published, at most 10,000; public. None: there is no last step.
        noise: ``"gaussian"`` at the δ of the promise, or ``"laplace"``.
        schedule: when steps end, which is public, in words; the same whenever the state is opened.
        ledger: remembers the published steps too; it does not pay for them.

    Raises:
        LeaderboardError, LedgerError: a file can't be used, is on other terms, or has not the steps of the others.
        ValueError: a promise that can't be kept, T out of range, an ε too small for exact noise.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/board.state"
    >>> promise = Privacy(2.0, unit="user", adjacency="replace", delta=1e-6, contributions=1)
    >>> for _ in ("one day", "the next"):
    ...     with Leaderboard(path, promise, items=("a", "b"), steps=365) as board:
    ...         day = board.publish(WinCounts.from_matrix([[0, 900], [100, 0]])).value
    >>> bool(day[0] > day[1])
    True
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
        ledger: Ledger | None = None,
    ) -> None:
        self.path, self.items, self.steps = Path(path), tuple(items), steps
        self._stream = stream_of(privacy)
        self._rows = self._stream.rows(privacy, len(self.items), self.steps, noise)
        self.guarantee = Guarantee(privacy, self._rows.attained, numerics="exact")
        told = {"items": json.dumps(self.items), "steps": str(self.steps or "without end")}
        self._terms = cells(self.guarantee.attained) | told | {"noise": noise, "schedule": schedule}
        made = {"identifier": secrets.token_hex(8), "key": secrets.token_hex(KEY_BYTES)}
        self._board = made | {"terms": json.dumps(self._terms)}
        self._ledger = None if ledger is None else ledger.store
        self._shared = ledger is not None and self.path.exists() and self.path.samefile(ledger.path)
        self._store = self._ledger if self._shared else Store.find(self.path, LeaderboardError)
        self._beside: Store | None = None
        with contextlib.ExitStack() as files:
            files.callback(self.close)
            self._open()
            files.pop_all()

    def _open(self) -> None:
        """Go on with the board that the file has: on its terms, with the steps that were published."""
        for row in [] if self._store is None else self._store.run("SELECT * FROM boards"):
            self._board = {name: row[name] for name in self._board}
            found = json.loads(self._board["terms"])
            if differing := [name for name in self._terms if found.get(name) != self._terms[name]]:
                told = (f"{name}: {found.get(name)}, not {self._terms[name]}" for name in differing)
                raise LeaderboardError(
                    f"{self.path} holds a leaderboard on other terms ({'; '.join(told)}). All of its steps share one "
                    "promise, made at the first: go on with the same terms, or begin another leaderboard in another "
                    "file, at its own price."
                )
        self.identifier = self._board["identifier"]
        path, witnesses = Path(f"{self.path.resolve()}.published"), self._witnesses()
        self._beside = Store.find(path, LeaderboardError)
        query = "SELECT board, max(step) AS last FROM steps GROUP BY board"
        rows = [] if self._beside is None else self._beside.run(query)
        last = {row["board"]: row["last"] for row in rows}
        others = any(last[board] for board in last if board != self.identifier)
        if others or (witnesses and self.identifier not in last):
            raise LeaderboardError(
                f"{path}, which tells whether {self.path} is the newest state, is missing, or has steps of another "
                "leaderboard. Put both back as they were together; or name another file for a new leaderboard, at its "
                "own price."
            )
        for memory in self._memories:
            memory.remember(self.identifier, witnesses)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files, but that of the ledger."""
        for store in (self._store, self._beside):
            if store is not None and store is not self._ledger:
                store.close()

    @property
    def _memories(self) -> list[Store]:
        others = self._beside, None if self._shared else self._ledger
        return [one for one in others if one is not None]

    def _witnesses(self) -> list[str]:
        return [] if self._store is None else self._store.witnesses(self.identifier)

    @property
    def published(self) -> int:
        """Number of published steps that the state has."""
        return len(self._witnesses())

    @property
    def remembered(self) -> int:
        """Number of steps that were ever published; more than :attr:`published` after an older state was put back."""
        known = [one.witnesses(self.identifier) for one in self._memories]
        return max(map(len, (self._witnesses(), *known)))

    def _steps(self, store: Store | None = None) -> list[Row]:
        """The published steps: twice the counts of each, what was drawn, its note and its witness."""
        store = store or self._store
        if store is None:
            return []
        query = "SELECT * FROM steps WHERE board = ? AND step > 0 ORDER BY step"
        rows = store.run(query, (self.identifier,))
        lists = ("counts", "noisy")
        return [row | {name: store.read(json.loads, row[name]) for name in lists} for row in rows]

    @property
    def notes(self) -> list[str]:
        """What :meth:`publish` was told to keep with each published step."""
        return [step["note"] for step in self._steps()]

    @property
    def sums(self) -> Sums:
        """All noisy sums after each published step, ``(t, d)`` float64, in wins; the first m are win totals."""
        noisy = [step["noisy"] for step in self._steps()]
        return self._rows.decoded(np.array(noisy, float).reshape(-1, self._rows.size))

    def scores(self, gamma: float | None = None) -> Sums:
        """Scores after each published step, ``(t, m)`` float64, not under ``flip``; ridge γ > 0, None as of the fit."""
        if not self._stream.hidden:
            raise ValueError(
                "under adjacency='flip' a leaderboard publishes win totals: fit scores to those of a step by "
                "pairwise.fit, with how often each pair was compared up to it."
            )
        with jax.enable_x64(True):
            return fit_all_sums(self.sums, len(self.items), self.diagnostics, gamma)

    @property
    def diagnostics(self) -> ContinualDiagnostics:
        """Scale of the noise at the first step, and deviations of the sums at each of T, or else published, steps."""
        return ContinualDiagnostics(*self._rows.told(self.steps or self.published))

    def publish(
        self,
        wins: WinCounts | Real[np.ndarray, "*steps items"],
        notes: Sequence[str] = (),
        after: int | None = None,
        pay: Callable[[], object] | None = None,
    ) -> Estimate:
        """Draw the noise of the next step, or of several; it is on disk when this returns.

        Args:
            wins: counts of the comparisons that arrived in the step, or of each of k steps: ``(m, m)`` or ``(k, m,
                m)``; or, under ``flip``, win totals, ``(m,)`` or ``(k, m)``; else what
                :func:`~privrank_jax.pairwise.continual.score_sums` gives, ``(d,)`` or ``(k, d)``. Multiples of 1/2.
            notes: a text to keep with each step, default "". A step that was published before must have the same note
                again: say there which rows were counted.
            after: how many steps the caller takes to be published; others are refused. None: any number.
            pay: spends from the ledger, in the transaction of the steps, if the state is the ledger's file; else it is
                not called, and the caller pays before anything is shown.

        Returns:
            ``value``: scores, or under ``flip`` noisy totals in wins, after the step, ``(m,)``, or after each, ``(k,
            m)`` float64. ``guarantee``: of all steps together. ``diagnostics``: :attr:`diagnostics`.

        Raises:
            LeaderboardError: more than T steps, another process published, a step that was published before would not
                come out the same, or the file can't be written. Nothing was published.
            ValueError: counts of other items, or not multiples of 1/2, or too large.
        """
        counts, size = self._stream.whole(wins), self._rows.size
        alone = counts.ndim == 1
        if counts.ndim not in (1, 2) or counts.shape[-1] != size:
            raise ValueError(
                f"the counts of a step are {size} numbers for {len(self.items)} items, got shape {counts.shape}."
            )
        counts = counts.reshape(-1, size)
        store = self._store or Store.make(self.path, LeaderboardError)
        try:
            with store.writing():
                store.fill()
                before = self._steps(store)
                first = len(before)
                if after not in (None, first):
                    raise LeaderboardError(
                        f"{self.path} has {first} steps by now, not {after}: another process published. Run again."
                    )
                if self.steps is not None and first + len(counts) > self.steps:
                    raise LeaderboardError(
                        f"{self.path} was promised {self.steps} steps, of which {first} are published: no budget is "
                        "left for more. Begin another leaderboard, at its own price."
                    )
                new = self._drawn(before, counts, notes)
                self._begin(store)
                witnesses = [step["witness"] for step in (*before, *new)]
                for memory in self._memories:
                    memory.check_witnesses(self.identifier, witnesses)
                for step in new:
                    store.insert("steps", board=self.identifier, **step)
                if pay is not None and self._shared:
                    pay()
            self._store = store
        finally:
            if self._store is not store:
                store.close()
        for memory in self._memories:
            memory.remember(self.identifier, witnesses)
        value = self.scores() if self._stream.hidden else self.sums
        value = value[first : first + len(counts)]
        return Estimate(value[0] if alone else value, self.guarantee, self.diagnostics)

    def _drawn(self, before: list[Row], counts: np.ndarray, notes: Sequence[str]) -> list[Row]:
        """The next steps, as rows of the file, from those before and twice the counts of each."""
        first = len(before)
        every = np.array([*(step["counts"] for step in before), *counts], np.int64)
        key = SecretStream(bytes.fromhex(self._board["key"]))
        root = key.branch(json.dumps(self._terms, sort_keys=True))
        labels = (f"counts {row}" for row in every.tolist())
        streams = list(itertools.accumulate(labels, SecretStream.branch, initial=root))[1:]
        for number, (step, stream) in enumerate(zip(before, streams), 1):
            if step["witness"] != _witness(stream, step["noisy"], step["note"]):
                raise LeaderboardError(
                    f"{self.path} was altered: step {number} is not what was drawn. Put back a copy that was not."
                )
        streams = streams[first:]
        sources = [stream.branch("noise") for stream in streams]
        rows = self._rows.drawn(every, first, sources).astype(np.int64).tolist()
        each = zip(counts.tolist(), rows, streams, itertools.chain(notes, itertools.repeat("")))
        return [
            {"step": step, "counts": json.dumps(row), "noisy": json.dumps(noisy), "note": note}
            | {"witness": _witness(stream, noisy, note)}
            for step, (row, noisy, stream, note) in enumerate(each, first + 1)
        ]

    def _begin(self, store: Store) -> None:
        """Make the board, unless it is there, and the file beside, which must be there before a step is."""
        for known in store.run("SELECT identifier FROM boards"):
            if known["identifier"] != self.identifier:
                raise LeaderboardError(
                    f"{self.path}: another process began a leaderboard there. Nothing was published: run again."
                )
            return
        store.insert("boards", **self._board)
        if self._beside is None:
            self._beside = Store.make(Path(f"{self.path.resolve()}.published"), LeaderboardError)
        with self._beside.writing():
            self._beside.fill()
            named = "INSERT OR IGNORE INTO steps (board, step) VALUES (?, 0)"
            self._beside.run(named, (self.identifier,))


def stored_board(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Identifier and terms of the leaderboard in a file; None if there is none yet."""
    rows = []
    if store := Store.find(Path(path), LeaderboardError):
        with contextlib.closing(store):
            rows = store.run("SELECT identifier, terms FROM boards")
    return next((row | {"terms": json.loads(row["terms"])} for row in rows), None)


def _witness(stream: SecretStream, noisy: Sequence[int], note: str) -> str:
    """Keyed hash of what was published for the step of that stream, and of its note."""
    label = f"witness {json.dumps([noisy, note])}"
    return stream.branch(label).token_bytes(KEY_BYTES).hex()
