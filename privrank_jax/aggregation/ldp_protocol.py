r"""LDPKwikSort as messages, for real use: what the server asks, what each user sends, what the server sees.

Nothing here is vectorized or jitted: a :class:`Client` holds one user's ranking and never shows it, a
:class:`Server` holds none. Users need not trust the server: a client counts its own answers and refuses any beyond
the plan's τ, so its privacy holds whatever the server asks. Responses are drawn with 32-bit words from the operating
system's entropy source, from an exact grid of probabilities whose loss never exceeds ε₀; the fallback's report comes
from a floating-point sampler.

One round asks all open segments at once, O(log m) rounds in all::

    plan = local_plan(num_items, Privacy(1.0, unit="user", adjacency="replace"))
    server = Server(num_users, plan)
    while questions := server.next_round():
        server.receive([[clients[user].answer(q.item, q.pivot) for user in server.groups[q.group]] for q in questions])

:func:`run_protocol` does this, fallback included; its ranking has the distribution of
:func:`~privrank_jax.aggregation.ldp_kwiksort` (tested).
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float, Int

from privrank_jax._types import RanksLike
from privrank_jax._validate import check_choice
from privrank_jax.aggregation.counting import order_lead
from privrank_jax.aggregation.ldp_plan import LocalPlan, goes_left, respond
from privrank_jax.aggregation.local_search import local_search
from privrank_jax.aggregation.local_weights import local_weights_aggregate, local_weights_report
from privrank_jax.aggregation.weights import MISSING
from privrank_jax.privacy.local import flip_threshold


class Question(NamedTuple):
    """Do the users of ``group`` rank ``item`` before ``pivot``?"""

    item: int
    pivot: int
    group: int


class Exchange(NamedTuple):
    """One question and the responses to it, ±1 in the order of the group's users: all that the server sees."""

    question: Question
    responses: tuple[int, ...]


@functools.lru_cache(maxsize=64)
def _flip_count(epsilon_per_query: float) -> np.uint32:
    return np.uint32(flip_threshold(jnp.asarray(epsilon_per_query)))


class Client:
    """One user's side.

    Args:
        ranks: the user's ranking, ``(m,)`` integers, 0 = best, ties and missing items as in
            :func:`~privrank_jax.aggregation.ldp_kwiksort`.
        plan: the public terms, :func:`~privrank_jax.aggregation.ldp_plan.local_plan`.
        missing: ``"last"`` or ``"unknown"``.
        rng: source of 32-bit words; None is the operating system. Anything else is for tests.

    Raises:
        ValueError: a ranking whose length differs from the plan's.
    """

    def __init__(
        self,
        ranks: RanksLike,
        plan: LocalPlan,
        *,
        missing: str = "last",
        rng: random.Random | None = None,
    ) -> None:
        check_choice("missing", missing, MISSING)
        self._ranks = np.asarray(ranks).astype(np.int32)
        if len(self._ranks) != plan.num_items:
            raise ValueError(
                f"the plan has {plan.num_items} items, this ranking {len(self._ranks)}."
            )
        self._plan, self._missing = plan, missing
        self._rng = rng or random.SystemRandom()
        self._flip = _flip_count(float(plan.epsilon_per_query))
        self._answers_left, self._reports_left = plan.max_uses, int(plan.may_refuse)

    def answer(self, item: int, pivot: int) -> int:
        """Say by randomized response whether the user ranks ``item`` before ``pivot``: ε₀ of the user's budget.

        Returns:
            1 or -1.

        Raises:
            RuntimeError: the user has answered τ questions already; nothing is sent.
        """
        if self._answers_left < 1:
            raise RuntimeError(
                "this user has given all answers of the plan: the server asked beyond it."
            )
        self._answers_left -= 1
        lead = order_lead(self._ranks[item], self._ranks[pivot], self._missing)
        word = np.uint32(self._rng.getrandbits(32))
        return 1 if respond(word, lead, self._flip, self._plan.encoding) else -1

    def fallback_report(self) -> Float[np.ndarray, "pairs"]:
        """The user's one report on all pairs, for the fallback: ε₂ of the user's budget.

        Returns:
            ``(m(m-1)/2,)`` float, pairs i < j in row order.

        Raises:
            RuntimeError: already sent, or the plan has no fallback; nothing is sent.
        """
        if self._reports_left < 1:
            raise RuntimeError("this user's report is already sent, or the plan has no fallback.")
        self._reports_left -= 1
        words = np.array([self._rng.getrandbits(32), self._rng.getrandbits(32)], np.uint32)
        key = jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")
        ranks, epsilon = jnp.asarray(self._ranks), self._plan.fallback_epsilon
        return np.asarray(local_weights_report(key, ranks, epsilon, missing=self._missing))


class Server:
    """The server's side: it draws groups, pivots and the group of each question, and sees only responses.

    Attributes:
        groups: the users of each group, lists of user numbers.
        refused: whether a group would have been asked more than τ times: the fallback is needed.
        transcript: every :class:`Exchange` so far.

    Args:
        num_users: n >= m.
        plan: the public terms, :func:`~privrank_jax.aggregation.ldp_plan.local_plan`.
        rng: source of groups and pivots; None is the operating system.
    """

    def __init__(
        self, num_users: int, plan: LocalPlan, *, rng: random.Random | None = None
    ) -> None:
        if num_users < plan.num_items:
            raise ValueError(f"{plan.num_items} groups need as many users, got {num_users}.")
        self.plan, self._rng = plan, rng or random.SystemRandom()
        users = list(range(num_users))
        self._rng.shuffle(users)
        self.groups = [users[group :: plan.num_items] for group in range(plan.num_items)]
        self.refused = False
        self.transcript: list[Exchange] = []
        self._uses = [0] * plan.num_items
        self._segments: list[list[int]] = [list(range(plan.num_items))]
        self._asked: list[Question] = []

    def next_round(self) -> list[Question]:
        """The questions of the next round; none when the sort is done or a use is refused."""
        if self._asked:
            raise RuntimeError("the last round has not been answered yet: call receive.")
        questions = []
        for segment in self._segments:
            if len(segment) > 1:
                pivot = segment[self._rng.randrange(len(segment))]
                questions += [
                    Question(item, pivot, self._rng.randrange(self.plan.num_items))
                    for item in segment
                    if item != pivot
                ]
        uses = np.bincount([q.group for q in questions], minlength=len(self._uses)) + self._uses
        if self.refused or np.any(uses > self.plan.max_uses):
            self.refused = True
            return []
        self._uses, self._asked = uses.tolist(), questions
        return questions

    def receive(self, responses: Sequence[Sequence[int]]) -> None:
        """Receive the responses to the last round: ±1 from the users of each question's group, in the group's order."""
        if len(responses) != len(self._asked):
            raise ValueError(f"{len(self._asked)} questions were asked, {len(responses)} answered.")
        left: dict[int, bool] = {}
        pivots = {question.pivot for question in self._asked}
        for question, given in zip(self._asked, responses):
            if len(given) != len(self.groups[question.group]) or not set(given) <= {1, -1}:
                raise ValueError(
                    f"one response of 1 or -1 per user of the group needed: {question}."
                )
            self.transcript.append(Exchange(question, tuple(given)))
            plus = sum(response == 1 for response in given)
            ahead = goes_left(plus, len(given), self.plan.epsilon_per_query, self.plan.encoding)
            left[question.item] = bool(ahead)
        parts: list[list[int]] = []
        for segment in self._segments:
            pivot = [item for item in segment if item in pivots]
            sides = [[i for i in segment if i in left and left[i] == way] for way in (True, False)]
            parts += [sides[0], pivot, sides[1]] if pivot else [segment]
        self._segments = [part for part in parts if part]
        self._asked = []

    @property
    def ranks(self) -> Int[np.ndarray, "items"]:
        """The ranking, ``(m,)`` int32, 0 = best; ``RuntimeError`` until the sort is done."""
        if self.refused or self._asked or any(len(segment) > 1 for segment in self._segments):
            raise RuntimeError("the sort is not done; call next_round, or fall_back where refused.")
        ranks = np.empty(self.plan.num_items, np.int32)
        ranks[[segment[0] for segment in self._segments]] = np.arange(self.plan.num_items)
        return ranks

    def fall_back(self, reports: Float[ArrayLike, "users pairs"]) -> Int[np.ndarray, "items"]:
        """The ranking from one :meth:`Client.fallback_report` per user, ``(n, m(m-1)/2)``, for a refused sort."""
        if not self.refused:
            raise RuntimeError("no question was refused: the sort needs no fallback.")
        return np.asarray(local_search(jnp.clip(local_weights_aggregate(reports), 0, 1)))


def run_protocol(server: Server, clients: Sequence[Client]) -> Int[np.ndarray, "items"]:
    """Carry all messages between a server and its users, and return the ranking, ``(m,)`` int32."""
    while questions := server.next_round():
        server.receive(
            [
                [clients[user].answer(question.item, question.pivot) for user in users]
                for question in questions
                for users in [server.groups[question.group]]
            ]
        )
    if server.refused:
        return server.fall_back(np.stack([client.fallback_report() for client in clients]))
    return server.ranks
