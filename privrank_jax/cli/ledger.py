"""``privrank ledger``: create the budget of a data set, and show what was spent."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import shlex
from decimal import Decimal
from pathlib import Path

from privrank_jax import _interrupt
from privrank_jax._neighbors import NO_COLUMN, OWN, PUBLIC, listed, of_column
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal, print_json, print_paragraphs, print_table
from privrank_jax.cli.options import Json, argument, command
from privrank_jax.data.file import File
from privrank_jax.release import ledger as ledgers
from privrank_jax.release.ledger import Account, Ledger, Spend, amount, in_words, numbers, plain


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Json):
    """The options of one run.

    Attributes:
        data: make a ledger of this file, or named data set.
        budget: epsilon of all releases together; it can't be changed.
        budget_delta: delta of all releases together; it can't be changed. 0 allows no release with a --delta.
        slack: part of --budget-delta to keep for adding releases up by Rényi divergences too, which allows more of
            them, most where Laplace noise (--noise laplace) is on many numbers. It can't be changed.
        series: public name of a series of data sets, such as 'citizen survey', which share this budget; a ledger that
            exists becomes that of the series.
        count: another ledger of data of the series, which counts at its whole budget, whatever it spends of that.
        unit: what is protected: user, comparison or rank.
        adjacency: how neighboring data differ: replace (which protects more than flip), flip or add-remove. Releases
            that protect less are refused. Default: replace; flip for preferences, as privatize protects which answer
            was chosen.
        public: a fact that is public anyway, which releases may show: items (which there are), participation (which
            users answered at all), questionnaire (which pairs each user was asked), ranked-items (which items each user
            ranked), budgets (each user's epsilon), covariates (of each comparison, and which item was first), or none.
            Once for each fact. Default: items; none for a PrefLib file, which lists its items whatever was answered;
            for a named data set the facts that it defines.
        user: column of users; none: each row is another user. Default: user.
        delta: show also the epsilon of all releases together at this delta, by tighter accounting. That is valid only
            if the releases were fixed ahead of time, which is not enforced.
    """

    file: Path = argument("LEDGER", "The file of the ledger.")
    data: str | None = None
    budget: str | None = None
    budget_delta: str = "0"
    slack: str = "0"
    series: str | None = None
    count: Path | None = None
    unit: str = "user"
    adjacency: str | None = None
    public: list[str] | None = None
    user: str | None = None
    delta: str | None = None


@command
def ledger(request: Request) -> None:
    """Make the privacy budget of a data set, or show what was spent of it.

    Each data set has its own ledger file, which knows the data by their content. Releases with --ledger spend from it
    before they print, and are refused beyond its budget. Nothing is refunded: the budget of a release that was killed
    stays spent. A series of data sets about the same people has one ledger and one budget: a release with --series NAME
    adds its file to the series. Examples:
        privrank ledger votes.ledger --data votes.csv --budget 3     (make it, once)
        privrank aggregate votes.csv --epsilon 0.5 --ledger votes.ledger
        privrank ledger votes.ledger                                 (what was spent, what is left)
        privrank ledger votes.ledger --delta 1e-6                    (and what that comes to, tightly)
        privrank ledger survey.ledger --series 'citizen survey' --data 2025.csv --budget 3
        privrank aggregate 2026.csv --epsilon 0.5 --ledger survey.ledger --series 'citizen survey'
    """
    if request.count is not None and request.series is None:
        raise Refusal("--count is for the ledger of a series: say which by --series NAME.")
    with contextlib.ExitStack() as undo:  # what is refused leaves no file behind
        if request.given - {"file", "json", "delta", "series", "count"}:
            if request.data is None or request.budget is None or request.delta is not None:
                raise Refusal(
                    "--data FILE and --budget EPSILON together make a ledger: give both, perhaps with --budget-delta; "
                    f"without them, {request.file} is shown, and --delta is for that."
                )
            _make(request, request.data, request.budget)
            undo.callback(request.file.unlink)
        if request.series is not None:
            with Ledger(request.file) as found:
                found.make_series(request.series)
        if request.count is not None:
            with (
                Ledger(request.file, series=request.series) as found,
                Ledger(request.count) as other,
            ):
                found.count(other)
        undo.pop_all()
    delta = None if request.delta is None else amount(request.delta, "--delta", zero=True)
    with Ledger(request.file) as found:
        _show(found, delta, as_json=request.json)


def _make(request: Request, data: str, budget: str) -> None:
    from privrank_jax.data import reader

    file, named = File(data), data in reader.named_sets()  # a file keeps what is piped in
    sha256 = reader.sha256_of(file)
    if sha256 is None:
        raise Refusal(f"--data {data} is neither a file nor a named data set.")
    header = [] if named else reader.header_of(file)
    labels = reader.kind_of(file.name, header, {}) == "preferences"  # whose labels are swapped
    if request.public is not None:
        facts = [fact for fact in request.public if fact != "none"]
    elif named:
        asked = getattr(reader.load(data), "questionnaire", None)
        facts = [] if asked is None else ["questionnaire"]
    else:
        facts = [] if reader.defines_users(file) else ["items"]
    promise = Privacy(
        amount(budget, "--budget"),
        unit=request.unit,
        adjacency=request.adjacency or ("flip" if labels else "replace"),
        delta=amount(request.budget_delta, "--budget-delta", zero=True),
        public=tuple(facts),
        users=_users(request, file, header),
    )
    with _interrupt.whole(f"{request.file} may be unfinished", f"{request.file} was made"):
        slack = amount(request.slack, "--slack", zero=True)
        ledgers.create(request.file, promise, data=file.name, sha256=sha256, slack=slack)


def _users(request: Request, data: File, header: list[str]) -> str:
    """What one user is."""
    from privrank_jax.data.header import spelled_in
    from privrank_jax.data.reader import defines_users

    if request.unit == "comparison":  # belongs to one unnamed user
        return ""
    if defines_users(data):
        if request.user is not None:
            raise Refusal(f"{data} defines its users itself: leave out --user.")
        return OWN
    if request.user == "none":
        return NO_COLUMN
    column = request.user or "user"
    if header and spelled_in(header, column) not in header:
        raise Refusal(
            f"{data} has no column {column!r}, and a budget for users needs to know what a user is: name the column by "
            "--user, say --user none where each row is one user, or protect single answers by --unit comparison."
        )
    return of_column(column)


def _show(found: Ledger, delta: Decimal | None, *, as_json: bool) -> None:
    account, spends, series = found.account, found.spends(), found.series
    budget, left, spent = numbers(account.budget), found.left(), found.spent()
    together = {} if delta is None else _together(account, spends, delta)
    sets = [(one, found.spent(one.number)) for one in found.data_sets()] if series else []
    if as_json:
        of_sets = [{**vars(one), "spent": _pair(of)} for one, of in sets]
        document: dict[str, object] = {"ledger": str(found.path), "data": account.data}
        document |= {"series": series, "data_sets": of_sets} if series else {}
        document |= _facts(account.budget) | {"created": account.created}
        document |= {"budget": _pair(budget), "spent": _pair(spent), "left": _pair(left)}
        document |= {} if account.filter is None else {"slack": float(account.filter.slack)}
        document |= {"together": together} if together else {}
        return print_json(document | {"releases": [_release(one) for one in spends]})
    table = [
        {"no.": str(one.number)}
        | ({"data set": str(one.data_set)} if series else {})
        | {"time (UTC)": one.time[:19].replace("T", " ")}
        | {"command": one.command, "method": one.method}
        | dict(zip(("epsilon", "delta"), map(plain, numbers(one.privacy))))
        | {"protects": f"{one.privacy.unit}, {one.privacy.adjacency}"}
        | {"public": ", ".join(one.privacy.public), "trust": one.trust, "state": one.state}
        for one in spends
    ]
    if table:
        print_table(_title(found), table[0], [list(row.values()) for row in table])
    else:
        named = f" --series {shlex.quote(series)}" if series else ""
        print_paragraphs(_title(found), _NOTHING_SPENT.format(found.path.name + named))
    if series:
        counts = collections.Counter(one.data_set for one in spends)
        rows = [
            (str(one.number), one.data, one.time[:10], str(counts[one.number]), *map(plain, of))
            for one, of in sets
        ]
        print_table(f"The data sets of the series {series!r}", _HEADS, rows)
        print_paragraphs(_SUM)
    shown, whole = (in_words(*of, budget[1]) for of in (left, spent)), in_words(*budget)
    print_paragraphs(f"Left: {next(shown)} of {whole}. Spent: {next(shown)}.")
    if account.filter is not None:
        print_paragraphs(_SLACK.format(plain(account.filter.slack)))
    if together:
        words = "epsilon {epsilon:.6g} at delta {delta:g}. {holds}".format(**together)
        print_paragraphs(f"Together, by privacy loss distributions: {words}")
    if lost := sum(one.state == "spent" for one in spends):
        print_paragraphs(_LOST.format(lost))


def _release(one: Spend) -> dict[str, object]:
    """A release as plain values."""
    apart = ("privacy", "changes", "rho")
    facts = {name: fact for name, fact in vars(one).items() if name not in apart}
    facts |= {"changes": ledgers.noise_cell(one.changes)} if one.changes else {}
    facts |= {} if one.rho is None else {"rho": float(one.rho)}
    return facts | _facts(one.privacy) | _pair(numbers(one.privacy))


def _title(found: Ledger) -> str:
    account, promised = found.account, found.account.budget.neighbors
    of = f"the series {found.series!r}" if found.series else account.data
    title = f"{found.path.name}: releases from {of}, {dataclasses.replace(promised, public=()).in_words()}"
    facts = [PUBLIC[fact] for fact in promised.public]
    return f"{title}; they may take as public {listed(facts)}" if facts else title


def _together(account: Account, spends: list[Spend], delta: Decimal) -> dict[str, object]:
    """Joint guarantee of the spends if they were fixed ahead of time."""
    from privrank_jax.privacy import Guarantee, compose

    releases = []
    for one in spends:
        privacy = dataclasses.replace(one.privacy, users=account.budget.users)
        noise = {"changes": one.changes, "rho": None if one.rho is None else float(one.rho)}
        releases.append(Guarantee(privacy, trust=one.trust, numerics=one.numerics, **noise))
    found = compose(releases, delta=delta, neighbors=account.budget)
    return {"epsilon": found.epsilon, "delta": found.delta, "holds": _HOLDS}


def _facts(privacy: Privacy) -> dict[str, object]:
    return {**vars(privacy.neighbors), "public": list(privacy.public)}


def _pair(of: tuple[Decimal, Decimal]) -> dict[str, float]:
    return {"epsilon": float(of[0]), "delta": float(of[1])}


_HEADS = ("data set", "name", "joined", "releases", "epsilon", "delta")
_NOTHING_SPENT = (
    "Nothing was spent yet: this ledger will add up what all releases of these data with --ledger {} spend, and refuse "
    "one that goes beyond the budget."
)
_SLACK = (
    "Releases add up by Rényi divergences, for which delta {} is kept, or plainly, whichever is less. What is left is "
    "for one more release, whatever its noise; with noise on several numbers it may ask for more."
)
_HOLDS = (
    "That holds only if the number of releases and their budgets were fixed ahead of time, and is not enforced: "
    "what is left is counted by the plain sum."
)
_LOST = (
    "State spent ({}): the command has not finished, or failed before its result was known to be shown. It counts, for "
    "the result may have been seen."
)
_SUM = "As the same person may be in all of these data sets, what is spent from them adds up."
