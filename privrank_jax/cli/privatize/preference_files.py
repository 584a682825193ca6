"""``privrank privatize`` on preferences (JSON Lines): the order of chosen and rejected answers, randomized."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np

from privrank_jax.cli.console import Refusal, warn
from privrank_jax.cli.core.checks import check_size
from privrank_jax.cli.core.entropy import Entropy
from privrank_jax.cli.core.mechanisms import Sampled, sample
from privrank_jax.cli.core.request import REHEARSAL
from privrank_jax.cli.core.sources import named_column, private_remark, users_of
from privrank_jax.cli.core.spending import Spending, begin
from privrank_jax.cli.privatize.request import Request
from privrank_jax.cli.privatize.summary import Summary, from_to, print_summary
from privrank_jax.datasets import PreferenceFields, scan_preferences, write_preferences
from privrank_jax.datasets.preferences_file import PreferenceScan, labels_guarantee
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.contributions import exact_bound
from privrank_jax.release.ledger import BudgetExhausted

_BEST_SHARE = 2.1773189849653067  # 2x where tanh(x)^2/x is largest


def privatize_preferences(request: Request) -> None:
    """Read, draw, write, print."""
    spending = begin("privatize", request)
    scan = scan_preferences(
        request.source, _fields(request), keep=request.keep or (), epsilon=request.epsilon_column
    )
    if request.unit == "user" and not scan.has_users:
        raise Refusal(
            f"{scan.path.name} has no field 'user', so what a user gave is not known: name the field by --user, or use "
            "--unit comparison."
        )
    kept, remarks = _kept(scan, request)
    warn(*_about_limit(scan, request))  # before the budget is spent
    entropy = Entropy(request)
    with jax.enable_x64(True):
        drawn, epsilon = randomize(scan, kept, request, entropy)
    note = "prompts and the texts of both answers are public."
    if request.simulate:
        note += f" {REHEARSAL.capitalize()}"
    guarantee = labels_guarantee(
        scan, kept, epsilon, asked=_promise(request), numerics=drawn.numerics, note=note
    )
    user = None if scan.has_users else "none"
    guarantee = guarantee.given(users=users_of(request.source, request.user or user))
    request.check_out()  # again, as the files may have changed meanwhile
    try:
        spending.spend_and_report(guarantee, "randomized response", request.out)
    except BudgetExhausted as error:
        raise BudgetExhausted(f"{error}{_why_so_much(request, scan, kept, spending)}") from None
    written = write_preferences(
        request.out, scan, kept, drawn.value, epsilon, users=not request.drop_user
    )
    if scan.ignored:  # fields of the first line may tell which answer was chosen
        left = f"fields left out: {', '.join(scan.ignored)}; --keep NAME keeps one."
        remarks += private_remark(left)
    warn(*remarks, *drawn.remarks)
    _print(request, scan, kept, epsilon, guarantee, written, entropy.seed)
    spending.printed()


def _why_so_much(
    request: Request, scan: PreferenceScan, kept: np.ndarray, spending: Spending
) -> str:
    """Why a ledger that counts users asks for more than the epsilon of a label; who answered what is public."""
    most = int(np.unique(scan.users[kept], return_counts=True)[1].max())
    if spending.unit != "user" or request.unit == "user" or most == 1:
        return ""
    share = "" if request.epsilon is None else " with --unit user they share one epsilon;"
    each = "" if request.epsilon is None else f", at epsilon {request.epsilon:g} each"
    return (
        f" (This ledger counts all labels of a user together, and a user has up to {most:,}{each}:{share} a ledger "
        "made with --unit comparison counts labels one by one.)"
    )


def _fields(request: Request) -> PreferenceFields:
    usual = PreferenceFields()
    return PreferenceFields(
        chosen=request.chosen or usual.chosen,
        rejected=request.rejected or usual.rejected,
        prompt=named_column(request.prompt, usual.prompt),
        id=named_column(request.id, usual.id),
        user=named_column(request.user, usual.user),
    )


def _promise(request: Request) -> Privacy | None:
    """What was asked for; None for personal ε."""
    if request.epsilon is None:
        return None
    return Privacy(request.epsilon, unit=request.unit or "comparison", adjacency="flip")


def _about_limit(scan: PreferenceScan, request: Request) -> tuple[str, ...]:
    """Which limit makes the labels of users say most, where another one was chosen; who answered what is public."""
    if request.unit != "user" or request.epsilon is None:
        return ()
    rows = np.ones(len(scan), bool)
    if request.ties == "drop":
        rows[list(scan.ties)] = False
    counts = np.unique(scan.users[rows], return_counts=True)[1]
    given, best = request.max_per_user or int(counts.max()), best_limit(request.epsilon)
    now, most = (
        worth(request.epsilon / held, held)
        for held in (np.minimum(counts, given), np.minimum(counts, best))
    )
    if now >= 0.99 * most:
        return ()
    return private_remark(
        f"the labels of a user share epsilon = {request.epsilon:g}, and what a label says falls faster than its "
        f"share: these say as much as {now:.3g} labels that were not randomized, with --max-per-user {best} as much as "
        f"{most:.3g}. Who answered what is public here, so the limit may be chosen so."
    )


def worth(epsilon: np.ndarray | float, labels: np.ndarray | int = 1) -> float:
    """How many labels without randomization say as much: Σ tanh²(ε/2), the information of reports of ε each."""
    return float(np.sum(labels * np.square(np.tanh(0.5 * epsilon))))


def best_limit(epsilon: float) -> int:
    """The L for which users who share ε among at most L labels tell most, whatever number of labels they have.

    k labels of one user say f(k) = k tanh²(ε/2k). With x = ε/2k it is (ε/2) tanh²(x)/x, which rises until
    sinh(2x) = 4x, at x = 1.0886, and falls then. So f rises up to some k and falls from there, and its maximum over
    whole numbers is the best limit for each user: one who has fewer labels keeps all.
    """
    least = max(1, int(epsilon / _BEST_SHARE))
    return max((least, least + 1), key=lambda most: worth(epsilon / most, most))


def _kept(scan: PreferenceScan, request: Request) -> tuple[np.ndarray, tuple[str, ...]]:
    """The rows to write, ``(N,)`` bool, and remarks for the holder of the data; depends on public facts and coins."""
    kept, remarks = np.ones(len(scan), bool), ()
    if scan.ties:
        if request.ties == "refuse":
            raise Refusal(
                f"{scan.path.name}: chosen and rejected are the same in {len(scan.ties):,} lines, first in row "
                f"{scan.ties[0] + 1}. --ties drop leaves them out, for there is nothing to learn from them "
                "(which shows nothing, as the texts are public); --ties coin keeps them."
            )
        if request.ties == "drop":
            kept[list(scan.ties)] = False
            if not kept.any():
                raise Refusal("all pairs are ties: --ties drop would leave nothing.")
            remarks = (f"{len(scan.ties):,} lines of two equal answers were left out.",)
    if request.max_per_user is not None:
        rows = np.flatnonzero(kept)
        stay = exact_bound(scan.users[rows], request.max_per_user)
        kept[rows[~stay]] = False
        if not stay.all():
            remarks += (f"{int(np.sum(~stay)):,} labels beyond the limit were left out.",)
    return kept, remarks


def randomize(
    scan: PreferenceScan, kept: np.ndarray, request: Request, entropy: Entropy
) -> tuple[Sampled, np.ndarray]:
    """Draw a report for each row that stays: whether its first answer is written as chosen; and its ε."""
    bits, privacy = scan.bits[kept], _promise(request)
    if privacy is None:
        assert scan.epsilon is not None
        epsilon = scan.epsilon[kept]
        for budget in {float(epsilon.min()), float(epsilon.max())}:
            check_size(budget)
        drawn = sample("randomized-response", request, entropy, bits, epsilon)
        return dataclasses.replace(drawn, value=np.asarray(drawn.value)), epsilon
    drawn = sample("preference-labels", request, entropy, bits, privacy, users=scan.users[kept])
    epsilon = np.asarray(drawn.value.diagnostics.epsilon)
    if float(epsilon.min()) != privacy.epsilon:  # which was checked
        check_size(float(epsilon.min()))
    return dataclasses.replace(drawn, value=np.asarray(drawn.value.value)), epsilon


def _print(
    request: Request,
    scan: PreferenceScan,
    kept: np.ndarray,
    epsilon: np.ndarray,
    guarantee: Guarantee,
    written: tuple[str, ...],
    seed: int | None,
) -> None:
    notes = [
        f"for training, these labels say about as much as {worth(epsilon):.3g} that were not randomized: the sum of "
        "tanh^2(epsilon/2)",
        "public: prompts, the texts of both answers, who answered which prompt, at which epsilon"
        + (", and the fields " + ", ".join(scan.keep) if scan.keep else "")
        + "; protected: which answer was chosen",
        "the file keeps the users" if "user" in written else "the file leaves the users out",
        "the lines are sorted by what is public in them, so their order reveals nothing"
        + ("; join them by id" if "id" in written else ""),
    ]
    if not scan.has_users:
        notes.append("the data name no users: a user with several labels spends their sum")
    counts = {"labels": int(np.sum(kept))}
    if scan.has_users:
        counts["users"] = int(np.unique(scan.users[kept]).size)
    epsilons = [("epsilon of a label", from_to(float(epsilon.min()), float(epsilon.max())))]
    for one in (guarantee.attained, *guarantee.also):
        if one.unit == "user":
            whole = f"{float(one.epsilon):g}"
            epsilons.append(("epsilon of a user, all labels, at most", whole))
    summary = Summary(
        data=scan.path.name,
        kind="fields",
        names=written,
        counts=counts,
        epsilons=epsilons,
        guarantee=guarantee,
        notes=notes,
        seed=seed,
        follow=f"Next, in Python: privrank_jax.datasets.read_preferences({str(request.out)!r})",
    )
    print_summary(request, summary)
