"""Paying for a result from a ledger before anything of it is returned or shown."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from privrank_jax._neighbors import COVERS
from privrank_jax._promise import Privacy
from privrank_jax.jobs.result import Ranking
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.release.ledger import Ledger, in_words, numbers

Paid = TypeVar("Paid", bound=Ranking)


class Payment:
    """The payment of one result, which is made once; without a ledger nothing is to be paid.

    Args:
        ledger: of the data; None: there is none.
        content: gives the checksum of the data; None where they can't be read, "" where they have none.
        name, job: of the data, and what makes the result, for readers of the ledger.
    """

    paid_as = ""  # how the method of a result of several runs ends, the first of which pays for all
    number: int | None = None  # of the spend; None where nothing was spent

    def __init__(
        self, ledger: Ledger | None, content: Callable[[], str | None], name: str, job: str
    ) -> None:
        self.ledger, self._content = ledger, content
        self._data, self._job = name or "this data set", job

    def _was_paid(self, ledger: Ledger) -> bool:
        """Whether an earlier run has paid for all; its data may have grown since."""
        paid = self.paid_as
        return bool(paid) and any(one.method.endswith(paid) for one in ledger.spends())

    def check(self, privacy: Privacy | None) -> None:
        """Refuse early what the ledger does not allow; with None the promise is not known yet."""
        ledger = self.ledger
        if ledger is None or self._was_paid(ledger):
            return
        if (known := self._content()) is not None:
            ledger.check_data(known, self._data)
        if privacy is not None:
            users = privacy.users or ledger.account.budget.users  # which may follow from the data
            privacy = dataclasses.replace(privacy, users=users)
            self._check_covers(ledger, privacy)
            ledger.check(privacy, None)

    def spend(self, guarantee: Guarantee | None, method: str, *, rehearsal: bool = False) -> str:
        """Spend what a result attains, or what was promised if that is more; once, whatever is asked again.

        Returns what is left, in words; "" where there is no ledger, and in a rehearsal, which spends nothing and is
        refused what the release would be. After ``LedgerError`` nothing was spent, and nothing may be shown.
        """
        ledger = self.ledger
        if ledger is None:
            return ""
        if guarantee is None:
            raise ValueError("a ranking without a guarantee can't be paid for: leave out `ledger`.")
        if self.number is None and self._was_paid(ledger):
            return f"budget: an earlier run has paid for all steps ({ledger.path.name})"
        if self.number is None:
            source = self._content() or "", self._data  # they were read between two checks
            used, noise = price(guarantee, ledger)
            self._check_covers(ledger, used)
            if rehearsal:
                ledger.check_data(*source)
                ledger.check(used, **noise)
                return ""
            noise |= {"trust": guarantee.trust, "numerics": guarantee.numerics}
            noise["method"] = f"{method}, {self.paid_as}" if self.paid_as else method
            with self._holding(used):
                self.number = ledger.spend(used, **noise, command=self._job, source=source)
        epsilon, delta = numbers(ledger.account.budget)
        left, whole = in_words(*ledger.left(), delta), in_words(epsilon, delta)
        of = f" of the series {ledger.series!r}" if ledger.series else ""
        return f"budget: {left} is left of {whole}{of} ({ledger.path.name})"

    def pay(self, ranking: Paid) -> Paid:
        """:meth:`spend` for a ranking, which then says what is left."""
        ranking.check_finite()
        method = str(ranking.facts["method"])
        words = self.spend(ranking.guarantee, method, rehearsal=ranking.rehearsal)
        if not words:
            return ranking
        facts = {**ranking.facts, "ledger": words}
        return dataclasses.replace(ranking, notes=(*ranking.notes, words), facts=facts)

    def _check_covers(self, ledger: Ledger, found: Privacy) -> None:
        """Refuse a guarantee that is weaker than the ledger's."""
        ledger.check_covers(found)

    def _holding(self, paid: Privacy) -> AbstractContextManager[None]:
        """What goes on while the budget is spent."""
        return contextlib.nullcontext()


def price(guarantee: Guarantee, ledger: Ledger) -> tuple[Privacy, dict[str, Any]]:
    """What a result costs: what it attains, or what was promised if that is more, as the ledger can add it up.

    Of several guarantees of one result it is that with the smallest ε; the first if the ledger takes none. And what is
    known of its noise, ``changes`` and ``rho`` of :meth:`Ledger.spend`.
    """
    promised, kinds = (guarantee.attained, *guarantee.also), COVERS[ledger.account.budget.kind]
    covering = [one for one in promised if one.covers(ledger.account.budget)]
    # Else the one that is refused for the least reason.
    covering = covering or [one for one in promised if one.neighbors.kind in kinds]
    used = min(covering, key=lambda one: float(one.epsilon), default=guarantee.attained)
    if used is not guarantee.attained:
        return used, {}
    promise = guarantee.promise
    epsilon = max(float(used.epsilon), float(promise.epsilon))
    delta = max(float(used.delta), float(promise.delta))
    used = dataclasses.replace(used, epsilon=epsilon, delta=delta)
    return used, {"changes": guarantee.changes, "rho": guarantee.rho}
