"""``pr.consensus``: one ranking of many rankings, or ratings, by users.

Each method runs the same steps. A curator counts the rankings, or each user randomizes their own; the mechanism of the
method draws; a function turns what was drawn into an order, with what the noise leaves certain of it
(:mod:`privrank_jax.jobs.beyond_noise`); and :func:`_published` makes the :class:`~privrank_jax.jobs.result.Ranking`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from privrank_jax import aggregation
from privrank_jax._quickly import quickly
from privrank_jax._types import Key
from privrank_jax._validate import check_choice
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.auto import choose_method, choose_report
from privrank_jax.aggregation.bounds import SPLIT, proven_errors, report_deviation
from privrank_jax.aggregation.footrule import cost_deviation, counted_histograms
from privrank_jax.aggregation.kemeny_rule import ProvenRanking
from privrank_jax.aggregation.split_weights import shrunk_weights
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.data.randomized import SyntheticRankings
from privrank_jax.data.rankings import Approvals, Rankings
from privrank_jax.data.reader import AGREED, data_of
from privrank_jax.jobs import beyond_noise, checks, methods
from privrank_jax.jobs.mechanisms import LAWS, MECHANISMS, Drawn, Randomness, draw
from privrank_jax.jobs.methods import CONSENSUS, RULES, TRUSTS, Method, ordered
from privrank_jax.jobs.points import by_points, scale_of
from privrank_jax.jobs.result import Certainty, Ranking, best_first, made, of_noise
from privrank_jax.jobs.spending import Payment
from privrank_jax.jobs.synthetic import consensus_of_synthetic
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.ledger import Ledger

METHODS = ("auto", *CONSENSUS)
MAX_ITEMS = 2_000
# How users report, as bounds name it, by mechanism.
_REPORTS = {
    "ldp-borda-subsets": "subset-selection",
    "sub-ranking-weights": "sub-ranking",
    "shuffled-pair-weights": "shuffled-pair",
}
_ANSWERS = ("sub-ranking-weights", "shuffled-pair-weights")  # by users who give one answer each
_SIMULATED = {
    "local": "local trust: the users' reports, of which the guarantee is, were drawn here as each user would at home, "
    "from a file of raw rankings, whose holder knows them",
    "shuffled": "shuffled trust: users and shuffler were simulated here, from a file of raw rankings, whose holder "
    "knows them. The shuffler must get one report of each user unread, remove names and times, pass all on in random "
    "order, and collude with nobody; the guarantee counts all users of the file as honest",
}
_MISSING = {
    "last": "an item that a user did not rank counts as behind all that the user ranked (missing='last')",
    "unknown": "of pairs with an item that a user did not rank, that user gives both half a vote (missing='unknown')",
}
_NO_CYCLES = (
    "with so few users at this epsilon weights are made of scores alone, by which every rule ranks"
)


def consensus(
    data: Rankings | SyntheticRankings | Any,
    privacy: Privacy | None,
    *,
    method: str = "auto",
    trust: str = "central",
    noise: str | None = None,
    xi: float = 0.0,
    rule: str | None = None,
    points: str | None = None,
    limit: int | None = None,
    top_k: int | None = None,
    key: Key | None = None,
    ledger: Ledger | None = None,
    **told: Any,
) -> Ranking:
    """Find one ranking for many, with or without privacy.

    Without ``key`` the noise is drawn exactly, from the operating system's entropy, and the result may be published.

    A ``method`` is one of these; ``"auto"`` is weights, borda or noise-all, by error; of approvals scores or top-k.
    Without privacy the ranking is that of the ``rule``.

    - ``"weights"``: the best ranking for noisy majorities whose cycles are reduced by as much as may be noise;
    - ``"borda"``: noisy mean scores;
    - ``"kwiksort"``: a sort by noisy majorities;
    - ``"noise-all"``: the best ranking for noisy majorities;
    - ``"footrule"``: the least sum of distances to noisy positions;
    - ``"exponential"``: a random ranking, better ones more likely; up to 20 items;
    - ``"scores"``: noisy totals of approvals or points, of which the next three publish the ``top_k`` best items alone;
    - ``"canonical"``: their set; ``"one-shot"``: their list;
    - ``"top-k"``: the set, or scores where ballots may name fewer items.

    Weights, borda, scores, canonical, one-shot and top-k also protect users who are added or removed (adjacency
    ``add-remove``), whose number is then private. A ``rule`` takes ``method="weights"`` or ``"noise-all"``, which
    release the weights of all pairs as ``matrix``; ``"auto"`` is one of them then.

    Args:
        data: of :func:`privrank_jax.read`, or what that reads. Synthetic rankings are debiased, which spends nothing.
        privacy: the promise, such as ``Privacy(1.0, unit="user", adjacency="replace")``; None: no privacy.
        method: how the rankings become one, see above.
        trust: ``"central"`` (you hold the rankings), ``"local"`` (each user randomizes their own; simulated here) or
            ``"shuffled"`` (likewise, and a shuffler removes names and order; needs a δ).
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"`` (with a δ). Default: the best.
        xi: accept a ranking proven to cost at most 1 + ξ times the smallest cost.
        rule: ``"kemeny"`` (the default), ``"copeland"``, ``"ranked-pairs"``, ``"schulze"``, ``"minimax"``, ``"borda"``.
        points: of scores, the public scale, such as ``"0-5"``; of approvals it is ``"0-1"``.
        limit: of scores, the most items that one user may give points to; a ballot with more counts as blank.
        top_k: how many items are shown.
        key: PRNG key of a rehearsal, whose noise is simulated and which must not be published.
        ledger: of the data; pays before anything is returned.
        told: of a file or a table, arguments of :func:`privrank_jax.read` or of the reader of a kind: ``items="seen"``.

    Returns:
        The ranking, with its guarantee, bounds and notes; ``warnings`` are for the holder of the data alone.

    Raises:
        ValueError: arguments, or data, that do not go together; nothing was spent.
        LedgerError: the ledger does not allow it; nothing was spent.

    >>> import privrank_jax as pr
    >>> ballots = pr.read("coffee-rankings")
    >>> promise = pr.Privacy(1.0, unit="user", adjacency="replace")
    >>> pr.consensus(ballots, promise, key=jax.random.key(0)).names[0]
    'Huila'
    """
    rest = {"xi": xi, "rule": rule, "points": points, "limit": limit, "top_k": top_k}
    asked = Asked(method=method, trust=trust, noise=noise, **rest)
    source = Randomness(key)
    checks.refuse(ledger is not None and privacy is None, checks.NOTHING_TO_PAY)
    data = data_of(data, told, AGREED)
    sha256 = "" if isinstance(data, SyntheticRankings) else data.sha256
    ranking = agreed(data, privacy, asked, source)
    return Payment(ledger, lambda: sha256, ranking.facts["data"], "aggregate").pay(ranking)


def agreed(
    data: Rankings | SyntheticRankings, privacy: Privacy | None, asked: Asked, source: Randomness
) -> Ranking:
    """The consensus, before anything is paid; arguments and errors as of :func:`consensus`."""
    with jax.enable_x64(True):
        if isinstance(data, SyntheticRankings):
            checks.check_items(data.table.name, data.table.num_items, MAX_ITEMS, asked.top_k)
            checks.check_spends_nothing(data.table.name, privacy is not None or source.rehearsal)
            found = consensus_of_synthetic(data, asked.method, asked.xi, asked.rule)
        elif not isinstance(data, Rankings):
            raise ValueError(
                f"a consensus is of rankings; {checks.what_is(data)} is ranked by privrank_jax.rank (`privrank rank`)."
            )
        else:
            central = privacy is not None and asked.trust == "central"
            if central and asked.is_open and isinstance(data, Approvals):
                asked = dataclasses.replace(asked, method="top-k" if asked.top_k else "scores")
            asked.check(privacy)
            work = _prepared(data, privacy, asked, source)
            found = _without_privacy(work) if privacy is None else _private(work)
            source.check(found.guarantee)
        return dataclasses.replace(found, top_k=asked.top_k)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """The arguments of :func:`consensus`, but for the data, the promise and the randomness."""

    method: str = "auto"
    trust: str = "central"
    noise: str | None = None
    xi: float = 0.0
    rule: str | None = None
    points: str | None = None
    limit: int | None = None
    top_k: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether the method is still to be chosen."""
        return self.method == "auto" and self.rule is None

    @property
    def at_home(self) -> bool:
        """Whether users randomize their own rankings, whatever happens to their reports."""
        return self.trust != "central"

    @property
    def record(self) -> Method:
        """That of the method; auto counts as borda, and with a rule as one that releases the weights of all pairs."""
        of_pairs = "noise-all" if self.at_home else "weights"
        auto = "borda" if self.rule is None else of_pairs
        return CONSENSUS[auto if self.method == "auto" else self.method]

    @property
    def mechanism(self) -> str:
        """Name in the table of mechanisms; auto counts as borda, which offers the same noises."""
        return self.record.mechanism(self.trust)

    @property
    def noise_drawn(self) -> str:
        """The noise: as requested, or the default of the mechanism."""
        return MECHANISMS[self.mechanism].noise_of(self.noise)

    def check(self, privacy: Privacy | None) -> None:
        """Refuse what does not go together: raises ``ValueError``."""
        check_choice("method", self.method, METHODS)
        check_choice("trust", self.trust, TRUSTS)
        if self.noise is not None:
            check_choice("noise", self.noise, tuple(LAWS))
        methods.check_rule(self.rule, self.xi)
        checks.check_top_k(self.top_k)
        if privacy is None:
            spare = [name for name in _PRIVATE if getattr(self, name) != getattr(Asked, name)]
            left_out = ", ".join(f"`{name}`" for name in spare)
            checks.refuse(
                spare, f"without privacy a consensus is that of the `rule`: leave out {left_out}."
            )
            return
        record, shuffled = self.record, self.trust == "shuffled"
        for name, takes in _TAKEN.items():
            asked = getattr(self, name) is not None and getattr(self, name) != 0.0
            if asked and not takes(record) and not (self.is_open and name in ("points", "limit")):
                able = ", ".join(other.name for other in CONSENSUS.values() if takes(other))
                words = "`rule` or `matrix`" if name == "rule" else f"`{name}`"
                raise ValueError(f"{words} is for {able}: leave it out of {record.name}.")
        kept = record.adjacencies if self.trust == "central" else record.adjacencies[:1]
        added = (name for name, one in CONSENSUS.items() if "add-remove" in one.adjacencies)
        checks.refuse(
            privacy.unit != "user" or privacy.adjacency not in kept,
            "a consensus protects users who are replaced: take unit='user' and adjacency='replace'; also "
            f"'add-remove' for {', '.join(added)} with trust='central'.",
            self.xi and privacy.adjacency == "add-remove",
            "`xi` is a share of disagreements, of which add-remove hides the number: leave it out.",
            self.limit is not None and self.limit < 1,
            f"`limit` must be at least 1, got {self.limit}.",
        )
        checks.check_top_k(self.top_k, needed_by=self.method if record.lists else "")
        if self.points is not None:
            scale_of(self.points)
        methods.check_trust(record, self.trust, CONSENSUS)
        checks.check_noise(privacy, self.noise, shuffled=shuffled)
        noises = MECHANISMS[self.mechanism].noises
        if self.noise_drawn not in noises or (shuffled and self.noise is not None):
            raise ValueError(
                f"{self.method} with trust={self.trust!r} has no {self.noise} noise: leave `noise` out; this "
                f"one has {'that of its reports' if shuffled else ' or '.join(noises)}."
            )


_PRIVATE = ("method", "trust", "noise", "points", "limit")  # how a release is made
# Which methods take an argument that not all do.
_TAKEN: dict[str, Callable[[Method], bool]] = {
    "rule": lambda method: method.solves,
    "xi": lambda method: method.solves,
    "points": lambda method: method.adds_points,
    "limit": lambda method: method.adds_points,
    "noise": lambda method: not method.lists,  # which select by noise of their own
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Work:
    """Rankings, ready for a consensus, and what was asked for."""

    table: Rankings  # as they were read
    asked: Asked  # with the method that was chosen
    # Privacy | None, with what is public and what a user is; None: nothing is promised.
    privacy: Any
    source: Randomness
    warnings: tuple[str, ...]  # for the holder of the data; not covered by the guarantee

    @property
    def open_number(self) -> bool:
        """Whether the number of users is public: it is, unless users may be added or removed."""
        return self.privacy is None or self.privacy.adjacency != "add-remove"

    @property
    def complete(self) -> bool:
        """Whether it is public that all users ranked all items."""
        return self.table.whole and not self.table.partial_users

    @functools.cached_property
    def mechanism(self) -> str:
        """That draws: where there are two, that of smaller error for so many users and items."""
        found, items, sets = self.asked.mechanism, self.table.num_items, "ldp-borda-subsets"
        if self.asked.method != "borda" or found != "sub-ranking-weights":
            return found
        better = choose_report(items, self.table.num_users, self.privacy)
        return sets if better == _REPORTS[sets] else found

    @property
    def reported(self) -> str | None:
        """How users report, as bounds name it; None where a curator draws, or users answer queries."""
        if self.asked.method == "borda" and self.mechanism == "sub-ranking-weights":
            return "one-pair"
        return _REPORTS.get(self.mechanism)

    @functools.cached_property
    def weights(self) -> PairWeights:
        """How users order each pair."""
        return counted_weights(self.table.ranks, self.table.missing)

    def draw(self) -> Drawn:
        """A release by the mechanism: users answer for themselves, a curator uses counts."""
        own: Any = {"dp-kwiksort": {"split": SPLIT}, "private-weights": {"shrink": "none"}}
        missing, options = self.table.missing, own.get(self.mechanism, {})
        if self.reported == "one-pair":
            options["size"] = 2
        if len(MECHANISMS[self.mechanism].noises) > 1:
            options["noise"] = self.asked.noise_drawn
        if self.asked.at_home:
            votes, options["missing"] = self.table.ranks, missing
        elif self.mechanism == "dp-footrule":
            votes = counted_histograms(self.table.ranks, missing)
        else:
            votes = self.weights
        return draw(self.mechanism, self.source, votes, self.privacy, **options)

    def reach(self, drawn: Drawn, *, of_scores: bool) -> tuple[float | None, str]:
        """Reach of the noise of Borda scores, or of weights, if that is known; and what it takes for granted."""
        sizes = self.table.num_items, self.table.num_users
        if self.reported is None:
            reach = beyond_noise.score_reach if of_scores else beyond_noise.weight_reach
            return reach(*sizes, self.asked.noise_drawn, drawn), ""
        # Of a report, whose ε is larger where a shuffler hides its sender.
        own = float(getattr(drawn.value.diagnostics, "local_epsilon", self.privacy.epsilon))
        found = beyond_noise.answers_reach(*sizes, self.reported, own, of_scores=of_scores)
        return found, beyond_noise.TAKEN_AS_NORMAL


def _prepared(table: Rankings, privacy: Privacy | None, asked: Asked, source: Randomness) -> Work:
    """Check the data and choose the method and its mechanism, by public facts alone."""
    checks.check_items(table.name, table.num_items, MAX_ITEMS, asked.top_k)
    warnings, partial = checks.private_remark(*table.remarks), table.partial_users
    if partial and not asked.record.adds_points:
        other = "unknown" if table.missing == "last" else "last"
        warnings += checks.private_remark(
            f"{partial:,} of {table.num_users:,} users did not rank all items, which is taken as {table.missing}; "
            f"missing={other!r} is the other rule."
        )
    if privacy is not None:
        checks.check_rare_items(table, written=True)
        warnings += checks.about_promise(privacy, user=table.num_users)
        privacy = privacy.given(public=table.public, users=table.users_are)
        asked = dataclasses.replace(asked, method=_method(table, privacy, asked))
    work = Work(table=table, asked=asked, privacy=privacy, source=source, warnings=warnings)
    if privacy is not None:
        _check_sizes(work)
    return work


def _method(table: Rankings, privacy: Privacy, asked: Asked) -> str:
    """The method; where it is open, the better one for so many users, if their number is public."""
    if not asked.is_open:
        return asked.record.name
    checks.refuse(
        asked.points or asked.limit,
        f"weights and borda, which rank {table.name}, take no `points` and no `limit`: say method='scores'.",
    )
    if privacy.adjacency == "add-remove":
        return "borda"
    told = {"trust": asked.trust, "noise": asked.noise_drawn}
    return choose_method(table.num_items, table.num_users, privacy, **told)


def _check_sizes(work: Work) -> None:
    """Refuse more items than a method takes, and too few users for reports of one answer; public numbers say it."""
    asked, items, users = work.asked, work.table.num_items, work.table.num_users
    most, pairs = asked.record.most_items, items * (items - 1) // 2
    numbers = f"{work.table.name} has {users:,} users and {items:,} items"
    few = work.mechanism in _ANSWERS and users < pairs
    if few and asked.trust == "local" and asked.method == "noise-all":  # one user orders several
        few = report_deviation(items, users, work.privacy.epsilon, "sub-ranking") > 0.5
    ways = "trust='central'"
    if few and choose_report(items, users, work.privacy) == "subset-selection":
        ways += ", or trust='local' and method='borda'"
    checks.refuse(
        most and items > most,
        f"{asked.method} takes at most {most} items, and {numbers}: use method='borda'.",
        few,
        f"{numbers}: too few to ask each user about one or a few pairs, as exact local and shuffled reports do. "
        f"Use {ways}.",
    )


def by_scores(work: Work) -> tuple[Drawn, dict[str, Any]]:
    """Noisy Borda scores."""
    drawn, told = work.draw(), {}
    scores, about = np.asarray(drawn.value.value), drawn.value.diagnostics
    if work.mechanism in _ANSWERS:
        scores = np.asarray(quickly(aggregation.borda_scores, drawn.value.value))
        told["named"] = f"Borda scores from {MECHANISMS[work.mechanism].label}"
    if work.mechanism in _ANSWERS or work.reported is None:
        reach, more = work.reach(drawn, of_scores=True)
        assert reach is not None
        more += f". {beyond_noise.SCORE if work.open_number else beyond_noise.SUM}"
        told["certainty"] = of_noise(scores, reach, what="scores", more=more)
    else:
        told["certainty"] = beyond_noise.of_reports(scores, work.table.num_users, about)
    return drawn, {"order": best_first(scores), "scores": scores, **told}


def by_ranks(work: Work) -> tuple[Drawn, dict[str, Any]]:
    """The ranks that a mechanism draws."""
    drawn = work.draw()
    return drawn, {"order": np.argsort(np.asarray(drawn.value.value))}


def by_places(work: Work) -> tuple[Drawn, dict[str, Any]]:
    """Items assigned to places at the least noisy cost."""
    from scipy.optimize import linear_sum_assignment

    drawn = work.draw()
    costs = np.asarray(drawn.value.value, np.float64)
    items, ranks = linear_sum_assignment(costs)
    spent = float(costs[items, ranks].sum())
    deviation = cost_deviation(len(costs), drawn.scale, work.asked.noise_drawn)
    words = (
        "released: noisy counts of the places at which users have each item, which no order is nearer to than this; "
        f"the mean distance of an item from a place has noise of {deviation:.2g}"
    )
    facts = {"noisy_footrule": spent, "cost_deviation": deviation}
    return drawn, {"order": np.argsort(ranks), "notes": (words,), "facts": facts}


def by_weights(work: Work) -> tuple[Drawn, dict[str, Any]]:
    """The order that a rule makes of noisy weights, which are published."""
    drawn, rule, summed = work.draw(), work.asked.rule, not work.open_number
    weights, about = np.asarray(drawn.value.value), drawn.value.diagnostics
    # Of sums over users: majorities are above 1/2 as those of shares are.
    middle = 0.5 * (1 - np.eye(len(weights))) if summed else 0.0
    unshrunk = weights + middle
    facts: dict[str, Any] = {"rule": rule}
    if hasattr(about, "cycle_scale"):
        value, factor = quickly(shrunk_weights, unshrunk, about.cycle_scale)
        weights, facts["cycle_factor"] = np.asarray(value) - middle, float(factor)
    if rule in RULES:
        told, _ = ordered(rule, weights)
        told |= {"named": f"{RULES[rule].title} on noisy weights", "bounded": False}
    else:
        # Weights outside of [0, 1] are clipped, so that costs and their certificate are those of votes.
        votes = np.clip(weights, 0, 1)
        if summed:
            votes = 0.5 + weights / max(2 * np.abs(weights).max(), 1)
        told, best = ordered(None, votes, xi=work.asked.xi)
        certificate = _certificate(best, len(weights), noisy=True, summed=summed)
        facts["certificate"], told["notes"] = certificate[0], certificate[1:]
        # The theorem is for a ratio fixed beforehand, not for the one that happened to be proven.
        told |= {"named": "Kemeny ranking of noisy weights", "bounded": not told["warnings"]}
    if work.asked.trust == "local":
        size = int(about.items_per_user)
        words = f"released: the order that each user gives to {size} of the items, drawn by chance"
        told["notes"] = (words, *told["notes"])
    reach, more = work.reach(drawn, of_scores=False)
    if reach is not None:
        published = unshrunk, np.argsort(told["order"]), reach
        told["certainty"] = beyond_noise.of_weights(rule, *published, summed=summed, more=more)
    elif rule is not None:
        told["remarks"] = (_NO_CYCLES,)
    return drawn, {**told, "matrix": weights, "facts": facts}


def _private(work: Work) -> Ranking:
    """Run the method, by a function that is looked up at each call, so that a test can replace it."""
    record, runs = work.asked.record, {"borda": by_scores, "footrule": by_places}
    usual = by_points if record.adds_points else by_weights if record.solves else by_ranks
    drawn, told = runs.get(record.name, usual)(work)
    about = vars(drawn.value.diagnostics).items()
    numbers = {name: np.asarray(one).item() for name, one in about if np.ndim(one) == 0}
    facts = {name: x for name, x in numbers.items() if math.isfinite(x) and name != "center"}
    if not work.asked.at_home and {"noise_scale", "gradient_scale"} & {*facts}:
        facts["noise"] = drawn.law
    facts |= {"mechanism": work.reported, **told.pop("facts", {})}
    named, notes = told.pop("named", MECHANISMS[work.mechanism].label), told.pop("notes", ())
    if told.pop("bounded", True) and work.open_number:
        limit, words = _bound(work)
        facts, notes = facts | limit, (*notes, *words)
    return _published(work, drawn, named, facts=facts, notes=notes, **told)


def _without_privacy(work: Work) -> Ranking:
    """The consensus of least disagreement, with its certificate, or that of another rule."""
    weights, rule, xi = work.weights, work.asked.rule, work.asked.xi
    divisor = 1.0 if rule == "copeland" else 2.0 * int(weights.num_users)
    twice = weights.twice.astype(float)  # whole numbers are tied where the votes are
    told, best = ordered(rule, twice, votes=weights, xi=xi, divisor=divisor)
    facts: dict[str, Any] = {"rule": rule}
    if best is None:
        named = RULES[rule or ""].title
    else:
        named, certificate = "least disagreement (Kemeny)", _certificate(best, work.table.num_items)
        facts |= {"certificate": certificate[0], "xi": xi}
        told["notes"] = certificate[1:]
    told |= {"matrix": np.asarray(weights.matrix), "remarks": work.table.remarks}
    return _published(work, None, f"{named}, without privacy", facts=facts, **told)


def _published(
    work: Work,
    drawn: Drawn | None,
    named: str,
    *,
    facts: dict[str, Any],
    title: str = "",
    about: tuple[str, ...] | None = None,
    notes: tuple[str, ...] = (),
    remarks: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    **fields: Any,
) -> Ranking:
    """Build the result; ``about``: how the data are taken, with ``notes`` before it and ``remarks`` behind."""
    table, trust, seen = work.table, work.asked.trust, work.open_number
    if about is None:
        about = (*(() if work.complete else (_MISSING[table.missing],)), *table.notes)
        facts = {"missing": table.missing, **facts}
    facts = {"users": table.num_users if seen else None, **facts, "seed": work.source.seed}
    facts["notes"] = list(about)
    of = f"{table.num_users:,}" if seen else "all users'"
    of = f"consensus of {of} rankings of {table.num_items} items"
    simulated = (_SIMULATED[trust],) if drawn is not None and trust in _SIMULATED else ()
    warnings = (*work.warnings, *(() if drawn is None else drawn.warnings), *warnings)
    if drawn is not None:
        fields["guarantee"] = drawn.guarantee
    fields |= {"notes": (*notes, *about, *simulated, *remarks), "warnings": warnings}
    title, certainty = title or f"{of}, by {named}", fields.pop("certainty", Certainty())
    method = "none" if drawn is None else work.asked.method
    return _with_certainty(made(table, title, method, facts, **fields), certainty)


def _with_certainty(found: Ranking, certainty: Certainty) -> Ranking:
    """Add what the noise leaves certain, or why that is little.

    Intervals are found before cycles of weights are reduced, so a number that is shown may lie outside: they are made
    to hold it, and hold the truth all the more. Of tied items both the rank that they share and the place hold.
    """
    ends, places = dict(certainty.intervals), np.argsort(found.order)
    for name, shown in (("rank_", found.ranks[places] - 1), ("rank_", places), ("", found.scores)):
        if shown is not None and f"{name}low" in ends:
            ends[f"{name}low"] = np.minimum(ends[f"{name}low"], shown)
            ends[f"{name}high"] = np.maximum(ends[f"{name}high"], shown)
    certainty = dataclasses.replace(certainty, intervals=ends)
    return dataclasses.replace(found, certainty=certainty, notes=(*found.notes, *certainty.notes))


def _certificate(
    best: ProvenRanking | None, items: int, *, noisy: bool = False, summed: bool = False
) -> tuple[dict[str, object], str]:
    """The certificate of a ranking, for JSON and in words; of sums, costs are known up to a factor alone."""
    assert best is not None
    found: dict[str, object] = {"solver": best.solver, **({"of": "noisy weights"} if noisy else {})}
    proven, pairs = best.ratio <= 1 + 1e-9, items * (items - 1) // 2
    least = f"at least as many of any other (proven by {best.solver})"
    if summed:
        least = f"proven by {best.solver}" if proven else "without a proof"
        return (
            found,
            f"the order that agrees with most of the noisy majorities, by their size; {least}",
        )
    ratio = best.ratio if math.isfinite(best.ratio) else None
    found |= {"cost": best.cost, "lower_bound": best.lower_bound, "ratio": ratio, "pairs": pairs}
    if not proven:
        near = (
            "" if ratio is None else f", so this one is within {100 * (ratio - 1):.2g}% of the best"
        )
        least = f"at least {best.lower_bound:.4g} of any order{near}"
    words = f"the average user disagrees with {best.cost:.4g} of the {pairs} pairs of this order, and with {least}"
    return found, "by the noisy votes, " * noisy + words


def _bound(work: Work) -> tuple[dict[str, object], tuple[str, ...]]:
    """The bound that is proven on the expected cost, as a fact and in words, if there is one."""
    asked, items, noise = work.asked, work.table.num_items, work.reported
    if noise is None and len(MECHANISMS[work.mechanism].noises) > 1:
        noise = asked.noise_drawn
    told = {"trust": asked.trust, "xi": asked.xi, "method": asked.method, "noise": noise}
    proven = proven_errors(items, work.table.num_users, work.privacy, **told)
    if not proven:
        return {}, ()
    ratio, additive, pairs = proven[0].ratio, proven[0].additive, items * (items - 1) // 2
    times = "" if ratio == 1 else f"{ratio:.4g} times "
    # The probability that KwikSort falls back depends on cycles.
    sorts = asked.method == "kwiksort" and ratio > 5
    votes = "where majorities have no cycle" if sorts else "whatever the votes"
    full = ", where all users rank all items" * (asked.at_home and not work.complete)
    words = (
        f"proven error, {votes}{full}: the average user disagrees, in expectation, with at most {times}the fewest "
        f"possible pairs plus {additive:.2g} of {pairs}"
    )
    if 2 * additive >= pairs:  # a random order has as much
        words = "proven error: no useful bound at this number of users and epsilon; the consensus may be mostly noise"
    return {"expected_cost_bound": {"ratio": ratio, "additive": additive}}, (words,)
