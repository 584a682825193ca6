"""Paying for a result from a ledger before anything of it is returned."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

from privrank_jax._neighbors import COVERS
from privrank_jax.jobs.result import Ranking
from privrank_jax.release.ledger import Ledger, in_words, numbers

if TYPE_CHECKING:
    from privrank_jax._promise import Privacy
    from privrank_jax.privacy.guarantee import Guarantee

Paid = TypeVar("Paid", bound=Ranking)


def paid(
    ranking: Paid, ledger: Ledger | None, *, sha256: str, name: str, job: str, paid_as: str = ""
) -> Paid:
    """The ranking after its budget was spent, with a note of what is left; a rehearsal spends nothing.

    Args:
        ranking: the result.
        ledger: of the data; None: nothing is to be spent.
        sha256: checksum of the data.
        name: of the data.
        job: that made the ranking, for readers of the ledger.
        paid_as: what the ledger calls a ranking of several runs, the first of which pays for all: its method ends with
            this. "" for a ranking of one run.

    Raises:
        LedgerError: nothing was spent.
        ValueError: a ranking without a guarantee, or with numbers that are not finite.
    """
    ranking.check_finite()
    name = name or "this data set"
    if ledger is None:
        return ranking
    if ranking.guarantee is None:
        raise ValueError("a ranking without a guarantee can't be paid for: leave out the ledger.")
    if was_paid(ledger, paid_as):
        words = f"budget: an earlier run has paid for all steps ({ledger.path.name})"
    else:
        ledger.check_data(sha256, name)
        used, noise = price(ranking.guarantee, ledger)
        ledger.check(used, **noise)
        if ranking.rehearsal:
            return ranking
        method = str(ranking.facts["method"])
        ledger.spend(
            used,
            **noise,
            trust=ranking.guarantee.trust,
            numerics=ranking.guarantee.numerics,
            command=job,
            method=f"{method}, {paid_as}" if paid_as else method,
            source=(sha256, name),
        )
        words = left_in(ledger)
    return dataclasses.replace(
        ranking, notes=(*ranking.notes, words), facts={**ranking.facts, "ledger": words}
    )


def was_paid(ledger: Ledger, paid_as: str) -> bool:
    """Whether an earlier run has paid for all; its data may have grown since."""
    return bool(paid_as) and any(one.method.endswith(paid_as) for one in ledger.spends())


def left_in(ledger: Ledger) -> str:
    """What is left of a budget, in words."""
    epsilon, delta = numbers(ledger.account.budget)
    left, whole = in_words(*ledger.left(), delta), in_words(epsilon, delta)
    of = f" of the series {ledger.series!r}" if ledger.series else ""
    return f"budget: {left} is left of {whole}{of} ({ledger.path.name})"


def price(guarantee: Guarantee, ledger: Ledger) -> tuple[Privacy, dict[str, Any]]:
    """What a result costs: what it attains, or what was promised if that is more, as the ledger can add it up.

    Of several guarantees of one result it is that with the smallest ε; the first if the ledger takes none. And what is
    known of its noise, ``changes`` and ``rho`` of :meth:`Ledger.spend`.
    """
    promised = (guarantee.attained, *guarantee.also)
    covering = [one for one in promised if ledger.covers(one)]
    if not covering:  # the one that is refused for the least reason
        kinds = COVERS[ledger.account.budget.kind]
        covering = [one for one in promised if one.neighbors.kind in kinds]
    used = min(covering, key=lambda one: float(one.epsilon), default=guarantee.attained)
    if used is not guarantee.attained:
        return used, {}
    promise = guarantee.promise
    noise = {"changes": guarantee.changes, "rho": guarantee.rho}
    epsilon = max(float(used.epsilon), float(promise.epsilon))
    delta = max(float(used.delta), float(promise.delta))
    return dataclasses.replace(used, epsilon=epsilon, delta=delta), noise
