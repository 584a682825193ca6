"""With ``--ledger``: spending before anything is shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from privrank_jax import _interrupt
from privrank_jax._neighbors import COVERS, Neighbors
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal, at_end, printable, say, warn
from privrank_jax.cli.request import Release
from privrank_jax.data.reader import sha256_of
from privrank_jax.jobs.spending import Payment
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.release.ledger import Ledger, LedgerError, in_words, numbers


def begin(command: str, request: Release) -> Spending:
    """Open the ledger for a command, and refuse before the work what it does not allow."""
    if request.ledger is not None and not request.private:
        raise Refusal("no ledger covers --method none, which has no guarantee: leave --ledger out.")
    spending = Spending(command, request)
    promised = getattr(request, "promised", None)
    # A release keeps L comparisons of each user itself.
    spending.check(None if promised is None else promised.for_any_user())
    return spending


class Spending(Payment):
    """The payment of one release; what is not shown of it is said, also where an interrupt ends the command.

    ``unshown`` is what to say if the result is not shown in full; "" where nothing was spent.
    """

    def __init__(self, command: str, request: Release) -> None:
        path = request.ledger
        ledger = None if path is None else Ledger(path, series=request.series)
        super().__init__(ledger, lambda: sha256_of(request.file), request.file.name, command)
        self._name = "" if path is None else printable(path.name)
        if ledger is not None:
            at_end(ledger.close)
            _interrupt.say(_NOT_SPENT.format(self._name))
        self._command = command
        self._shown = "the result was shown"
        self.unshown = ""

    def _check_covers(self, ledger: Ledger, found: Privacy) -> None:
        """Say which options would do, too."""
        try:
            ledger.check_covers(found)
        except LedgerError as error:
            advice = _advice(self._command, found.neighbors, ledger.account.budget.neighbors)
            raise LedgerError(f"{error} {advice}") from None

    @contextlib.contextmanager
    def _holding(self, paid: Privacy) -> Iterator[None]:
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

    def spend(self, guarantee: Guarantee | None, method: str, *, rehearsal: bool = False) -> str:
        """:meth:`Payment.spend`, which says of a rehearsal that it spends nothing."""
        words = super().spend(guarantee, method, rehearsal=rehearsal)
        if rehearsal and self.ledger is not None:
            warn("a rehearsal spends nothing; the budget would have sufficed for the release.")
        return words

    def spend_and_report(
        self, guarantee: Guarantee, method: str, out: Path, *, rehearsal: bool
    ) -> None:
        """:meth:`spend` for a file that is written next; reports on stderr what is left."""
        words, file = self.spend(guarantee, method, rehearsal=rehearsal), printable(str(out))
        if self.number is None:
            _interrupt.hold(f"{file} may have been written")
            self._shown = f"{file} was written"
        else:
            self._shown += f": {file}"
        say(*filter(None, [words]))

    def printed(self) -> None:
        """Note that the result was shown."""
        sys.stdout.flush()
        if self.ledger is not None and self.number is not None:
            _interrupt.hold(self._shown)
            try:
                self.ledger.mark_printed(self.number)
            except LedgerError as error:
                lacks = "only the note that it was shown is missing."
                warn(f"{error} The budget for the result above was spent; {lacks}")
        if self.ledger is not None:
            self.ledger.close()
        _interrupt.release(self._shown)


_NOT_SPENT = "nothing was spent from {}"


def _advice(command: str, found: Neighbors, wanted: Neighbors) -> str:
    """Say which options of a command would make its releases count in the ledger."""
    if found.kind not in COVERS[wanted.kind]:
        if command in ("rank", "leaderboard"):
            return f"Release with --unit {wanted.unit} --adjacency {wanted.adjacency}."
        return f"It counts in a ledger made with --unit {found.unit} --adjacency {found.adjacency}."
    revealed = [fact for fact in found.public if fact not in wanted.shared]
    if not revealed:
        return "Name the same column by --user in all releases, or none for one user per row."
    options = " ".join(f"--public {fact}" for fact in revealed)
    counted = "No ledger" if "ties" in revealed else f"Only a ledger made with {options}"
    return " ".join((*(_WAYS[one] for one in revealed if one in _WAYS), f"{counted} counts it."))


_WAYS = {
    "items": "Give the public list of items by --items.",
    "participation": "Give the public number of users by --users; privatize can leave them out by --drop-user.",
    "questionnaire": "Give a bound that holds for any pairs by --max-per-user, at least the number of pairs.",
    "ties": "Use --ties coin.",
}
