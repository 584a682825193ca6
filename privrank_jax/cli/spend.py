"""With ``--ledger``: spending before anything is shown."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from privrank_jax import _interrupt
from privrank_jax._neighbors import COVERS, Neighbors
from privrank_jax.cli.console import Refusal, at_end, printable, say, warn
from privrank_jax.cli.request import Release
from privrank_jax.data.reader import sha256_of
from privrank_jax.jobs.result import Ranking
from privrank_jax.jobs.spending import left_in, price
from privrank_jax.release.ledger import Ledger, LedgerError, in_words, numbers

if TYPE_CHECKING:
    from privrank_jax._promise import Privacy
    from privrank_jax.privacy.guarantee import Guarantee


def begin(command: str, request: Release) -> Spending:
    """Open the ledger, and refuse before the work what it does not allow.

    Args:
        command: that releases.
        request: its options.
    """
    if request.ledger is not None and not request.private:
        raise Refusal(
            "--method none has no privacy guarantee, so no ledger covers it. Leave out --ledger, or choose a "
            "private method."
        )
    spending = Spending(command, request)
    promised = request.promised
    # A release keeps L comparisons of each user itself.
    spending.check(None if promised is None else promised.for_any_user())
    return spending


class Spending:
    """The spending of one release; without a ledger it only checks the numerics of the release.

    Args:
        command: that releases.
        request: its options; a rehearsal spends nothing.
        paid_as: what the ledger calls a release of several runs, the first of which pays for all: its method ends with
            this. "" for a release of one run.

    Attributes:
        unshown: what to say if the result is not shown in full; "" where nothing was spent.
    """

    def __init__(self, command: str, request: Release, paid_as: str = "") -> None:
        path = request.ledger
        self._ledger = None if path is None else Ledger(path, series=request.series)
        self._paid_as = paid_as
        if self._ledger is not None:
            at_end(self._ledger.close)
            _interrupt.say(_NOT_SPENT.format(self._name))
        self._command = command
        self._request = request
        self._number: int | None = None
        self._shown = "the result was shown"
        self.unshown = ""

    @property
    def paid_for_all(self) -> bool:
        """Whether the release has several runs, so that a later one shows again what this one did not."""
        return bool(self._paid_as)

    @property
    def ledger(self) -> Ledger | None:
        """The open ledger; None without one."""
        return self._ledger

    @property
    def unit(self) -> str | None:
        """What the ledger protects; None without one."""
        return None if self._ledger is None else self._ledger.account.budget.unit

    @property
    def _name(self) -> str:
        return "" if self._ledger is None else printable(self._ledger.path.name)

    def check(self, privacy: Privacy | None) -> None:
        """Refuse early what the ledger does not allow; with None the promise is not known yet."""
        if self._ledger is None or self._was_paid():
            return
        if privacy is not None:
            # What is public and what a user is follow from the data only.
            privacy = dataclasses.replace(privacy, users=self._ledger.account.budget.users)
            self._check_covers(privacy)
            self._ledger.check(privacy, None)
        known = sha256_of(self._request.file)
        if known is not None:  # otherwise reading it says what is wrong
            self._ledger.check_data(known, self._request.source)

    def _was_paid(self) -> bool:
        """Whether an earlier run has paid for this release. Its data may have grown since."""
        if self._ledger is None or not self._paid_as:
            return False
        return any(one.method.endswith(self._paid_as) for one in self._ledger.spends())

    def _check_covers(self, found: Privacy) -> None:
        """Refuse a guarantee that is weaker than the ledger's, and say which options would do."""
        assert self._ledger is not None
        try:
            self._ledger.check_covers(found)
        except LedgerError as error:
            wanted = self._ledger.account.budget.neighbors
            advice = _advice(self._command, found.neighbors, wanted)
            raise LedgerError(f"{error} {advice}") from None

    def spend(self, guarantee: Guarantee | None, method: str) -> str | None:
        """Spend what a result attains, or what was requested if that is more.

        Args:
            guarantee: guarantee of the result.
            method: method that found the result.

        Returns:
            The remaining budget, in words; None where nothing was spent, without a ledger or in a rehearsal.

        Raises:
            LedgerError: nothing was spent, nothing may be shown.
        """
        ledger = self._ledger
        if ledger is None:
            return None
        if guarantee is None:
            raise RuntimeError("a result without a guarantee has no budget to spend")
        if self._was_paid():
            return f"budget: an earlier run has paid for all steps ({ledger.path.name})"
        # The file was read between two checks of its content.
        source = (sha256_of(self._request.file) or "", self._request.file.name)
        ledger.check_data(*source)
        used, noise = price(guarantee, ledger)
        self._check_covers(used)
        if self._request.simulate:
            ledger.check(used, **noise)
            warn("a rehearsal spends nothing; the budget would have sufficed for the release.")
            return None
        with self._told(used):
            self._number = ledger.spend(
                used,
                **noise,
                trust=guarantee.trust,
                numerics=guarantee.numerics,
                command=self._command,
                method=f"{method}, {self._paid_as}" if self._paid_as else method,
                source=source,
            )
        return left_in(ledger)

    @contextlib.contextmanager
    def _told(self, paid: Privacy) -> Iterator[None]:
        """Until the result is shown, delay an interrupt or let it report what was spent."""
        price = in_words(*numbers(paid))
        _interrupt.hold(
            f"{price} may have been spent: `privrank ledger {self._name}` shows whether it was"
        )
        try:
            yield
        except LedgerError:
            _interrupt.release(_NOT_SPENT.format(self._name))
            raise
        spent = f"{price} was spent from {self._name}"
        self.unshown = f"{spent}, and the result was not shown in full"
        _interrupt.hold(self.unshown)
        self._shown = f"{spent}, and the result was shown"

    def pay(self, ranking: Ranking) -> Ranking:
        """:meth:`spend` for a ranking, which then says what is left."""
        ranking.check_finite()
        words = self.spend(ranking.guarantee, str(ranking.facts["method"]))
        if words is None:
            return ranking
        facts = {**ranking.facts, "ledger": words}
        return dataclasses.replace(ranking, notes=(*ranking.notes, words), facts=facts)

    def spend_and_report(self, guarantee: Guarantee, method: str, out: Path) -> None:
        """:meth:`spend` for a file that is written next; reports on stderr what is left."""
        words = self.spend(guarantee, method)
        file = printable(str(out))
        if self._number is None:
            _interrupt.hold(f"{file} may have been written")
            self._shown = f"{file} was written"
        else:
            self._shown += f": {file}"
        if words is not None:
            say(words)

    def printed(self) -> None:
        """Note that the result was shown."""
        sys.stdout.flush()
        if self._ledger is None:
            _interrupt.release(self._shown)
            return
        if self._number is not None:
            _interrupt.hold(self._shown)
            try:
                self._ledger.mark_printed(self._number)
            except LedgerError as error:
                warn(
                    f"{error} The budget for the result above was spent; only the note that it was shown is missing."
                )
        self._ledger.close()
        _interrupt.release(self._shown)


_NOT_SPENT = "nothing was spent from {}"


def _advice(command: str, found: Neighbors, wanted: Neighbors) -> str:
    """Say which options of a command would make its releases count in the ledger."""
    if found.kind not in COVERS[wanted.kind]:
        if command in ("rank", "leaderboard"):
            return f"Release with --unit {wanted.unit} --adjacency {wanted.adjacency}."
        return (
            f"privrank {command} has no other guarantee for these data: it counts in a ledger made with "
            f"--unit {found.unit} --adjacency {found.adjacency}."
        )
    revealed = [fact for fact in found.public if fact not in wanted.shared]
    if revealed:
        options = " ".join(f"--public {fact}" for fact in revealed)
        counted = f"Only a ledger made with {options} counts it."
        if "ties" in revealed:
            counted = "No ledger counts it."
        known = _WAYS | _WAYS_OF.get(command, {})
        return " ".join((*(known[fact] for fact in revealed if fact in known), counted))
    return (
        "A user must be the same in all releases that one budget counts: name the same column by --user, or none for "
        "one user per row."
    )


_WAYS = {
    "items": "Give the public list of items by --items.",
    "participation": "Give the public number of users by --users.",
    "questionnaire": "Give a bound that holds for any pairs by --max-per-user, at least the number of pairs.",
    "ties": "Use --ties coin.",
}
_WAYS_OF = {
    "privatize": {
        "participation": "Leave the users out by --drop-user, from a file that has a row for every user."
    },
}
