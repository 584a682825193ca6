"""``pr.consensus``: one ranking of many rankings, or ratings, by users."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import TypedDict

import jax
import numpy as np
from jaxtyping import Float

from privrank_jax import aggregation
from privrank_jax._quickly import quickly
from privrank_jax._types import Key
from privrank_jax._validate import check_choice
from privrank_jax.aggregation import PairWeights, PositionHistograms
from privrank_jax.aggregation.auto import choose_method, choose_report
from privrank_jax.aggregation.bounds import (
    SPLIT,
    ProvenError,
    proven_errors,
    report_deviation,
)
from privrank_jax.aggregation.footrule import cost_deviation, counted_histograms
from privrank_jax.aggregation.kemeny_rule import ProvenRanking
from privrank_jax.aggregation.split_weights import shrunk_weights
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.data.engine_counts import RankingRows
from privrank_jax.data.rankings import Approvals, Rankings
from privrank_jax.data.synthetic import SyntheticRankings
from privrank_jax.jobs.beyond_noise import (
    of_majorities,
    of_majorities_from_answers,
    of_scores,
    of_scores_from_answers,
    of_scores_from_reports,
)
from privrank_jax.jobs.checks import (
    check_items,
    check_noise,
    check_rare_items,
    check_top_k,
    hardly_private,
    large_delta,
    needs_top_k,
    private_remark,
    rule_of,
    what_is,
)
from privrank_jax.jobs.mechanisms import LAWS, MECHANISMS, Drawn, Randomness, draw
from privrank_jax.jobs.methods import (
    CONSENSUS,
    TRUSTS,
    Method,
    check_items_of,
    check_trust,
    solvers,
)
from privrank_jax.jobs.points import scale_of
from privrank_jax.jobs.result import Certainty, Ranking, best_first
from privrank_jax.jobs.rules import RULES, check_rule, explained, scores_by, tied_at_least_cost
from privrank_jax.jobs.spending import Payment
from privrank_jax.jobs.synthetic import consensus_of_synthetic
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.vectors import report_norm
from privrank_jax.release.ledger import Ledger

METHODS = ("auto", *CONSENSUS)
MAX_ITEMS = 2_000
# How users report unless idealized reports are accepted.
_ONE_PAIR, _TWO_SETS = "one-pair", "subset-selection"
# Mechanisms of users who give one answer: their names in the library, and of scores from one pair.
_ANSWERS = {
    "sub-ranking-weights": (_ONE_PAIR, "Borda scores from one answer per user"),
    "shuffled-pair-weights": ("shuffled-pair", "Borda scores from one shuffled answer per user"),
}
_SIMULATED_USERS = (
    "local trust: the users' reports were drawn here, from a file of raw rankings, just as each user would draw "
    "it at home; the guarantee is that of the reports, and the holder of the file knows the rankings"
)

_NO_CYCLES = (
    "with so few users at this epsilon all of the budget went to scores, of which the weights of pairs are made: they "
    "have no cycles, and every rule ranks by these scores"
)
_SCORES_ALONE = "method='borda' (--method borda) spends all of the budget on these scores."
_SIMULATED_SHUFFLER = (
    "shuffled trust: users and shuffler were simulated here, from a file of raw rankings, whose holder knows them. The "
    "shuffler must receive one report of each user over channels that nobody else reads, wait until all are there, "
    "remove names, addresses, times and anything else that came with them, pass them on in random order or as counts, "
    "and collude with nobody; the guarantee counts all users of the file as honest"
)

# Mechanisms for real vectors of scores, by name.
_REPORTS = {"ldp-borda": "duchi", "ldp-borda-privunit": "privunit"}


class Limit(TypedDict):
    """A bound on the expected cost, for JSON."""

    ratio: float
    additive: float


def consensus(
    data: Rankings | RankingRows | SyntheticRankings,
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
    accept_idealized: bool = False,
    ledger: Ledger | None = None,
) -> Ranking:
    """Find one ranking for many, with or without privacy.

    Without ``key`` the noise is drawn exactly, from the entropy of the operating system, and what comes back may be
    published.

    Args:
        data: of :func:`privrank_jax.read`. Synthetic rankings are randomized already: they are debiased, and that
            spends nothing.
        privacy: the promise, for users who are replaced: ``Privacy(1.0, unit="user", adjacency="replace")``; of borda,
            weights and scores also for users who are added or removed, whose number is then private. None: no privacy,
            the best ranking there is, with a proof; of synthetic rankings debiased Borda scores.
        method: ``"auto"`` (weights, or borda where noise is large), ``"weights"`` (the best ranking for noisy
            majorities whose cycles are reduced by as much as may be noise), ``"borda"`` (noisy mean scores),
            ``"kwiksort"`` (a sort by noisy majorities), ``"noise-all"`` (the best ranking for noisy majorities of all
            pairs), ``"footrule"`` (the least sum of distances to noisy positions), ``"scores"`` (noisy totals of
            approvals or points; ``"auto"`` for approvals) or ``"exponential"`` (a random ranking, better ones more
            likely; up to 20 items). Of approvals or points, which items are the ``top_k`` best alone: ``"canonical"``
            (their set), ``"one-shot"`` (their list), or ``"top-k"`` (``"canonical"``, or ``"scores"``
            where ballots may name fewer than ``top_k`` items; ``"auto"`` for approvals with ``top_k``).
        trust: ``"central"`` (you hold the rankings), ``"local"`` (each user randomizes their own; simulated here) or
            ``"shuffled"`` (likewise, and a shuffler removes names and order; needs a δ).
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"`` (with a δ). Default: the best.
        xi: accept a ranking proven to cost at most 1 + ξ times the smallest cost.
        rule: how the noisy weights of all pairs become an order, at no further cost: ``"kemeny"``, the default,
            ``"copeland"``, ``"ranked-pairs"``, ``"schulze"``, ``"minimax"`` or ``"borda"``
            (:mod:`privrank_jax.aggregation.majority_rules`). It takes ``method="weights"`` or ``"noise-all"``, which
            release them as ``matrix``; ``"auto"`` is weights then, and noise-all where users randomize.
        points: of scores, the public scale, such as ``"0-5"``; of approvals it is ``"0-1"``.
        limit: of scores, the most items that one user may approve of, or give points to; a ballot with more counts as
            blank. Default: any number.
        top_k: how many items are shown.
        key: PRNG key of a rehearsal, whose noise is simulated and which must not be published.
        accept_idealized: release even what can't be drawn exactly; the guarantee then says so.
        ledger: of the data; pays before anything is returned.

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
    asked = Asked(
        method=method,
        trust=trust,
        noise=noise,
        xi=xi,
        rule=rule,
        points=points,
        limit=limit,
        top_k=top_k,
        accepts=accept_idealized,
    )
    source = Randomness(key, accept_idealized=accept_idealized)
    if ledger is not None and privacy is None:
        raise ValueError("without privacy there is nothing to pay for: leave out the ledger.")
    ranking = agreed(data, privacy, asked, source)
    sha256 = "" if isinstance(data, SyntheticRankings) else data.sha256
    return Payment(ledger, lambda: sha256, ranking.facts["data"], "aggregate").pay(ranking)


def agreed(
    data: Rankings | RankingRows | SyntheticRankings,
    privacy: Privacy | None,
    asked: Asked,
    source: Randomness,
) -> Ranking:
    """The consensus, before anything is paid.

    Args:
        data, privacy: as for :func:`consensus`.
        asked: further arguments.
        source: of the noise.

    Raises:
        ValueError: what does not go together.
    """
    with jax.enable_x64(True):
        if isinstance(data, SyntheticRankings):
            check_items(data.table.name, data.table.num_items, MAX_ITEMS, asked.top_k)
            if privacy is not None or source.rehearsal:
                raise ValueError(
                    f"{data.table.name} holds synthetic rankings, each drawn with the epsilon of its row: their "
                    "consensus adds no noise and spends nothing more. Leave out the promise; for another epsilon, "
                    "randomize the rankings again (both together then spend the sum)."
                )
            found = consensus_of_synthetic(data, asked.method, asked.xi, asked.rule)
            return dataclasses.replace(found, top_k=asked.top_k)
        if not isinstance(data, Rankings | RankingRows):
            raise ValueError(
                f"a consensus is of rankings, not of {what_is(data)}: comparisons, choices and reports are ranked by "
                "privrank_jax.rank (`privrank rank`)."
            )
        asked.check(privacy)
        central = privacy is not None and asked.trust == "central"
        if central and asked.is_open and isinstance(data, Approvals):
            asked = dataclasses.replace(asked, method="top-k" if asked.top_k else "scores")
            asked.check(privacy)
        found = _release(_prepared(data, privacy, asked, source), asked)
        found = dataclasses.replace(found, top_k=asked.top_k)
        if found.guarantee is not None:
            source.check(found.guarantee.numerics)
        return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """The arguments of :func:`consensus`, but for the data, the promise and the randomness.

    Attributes:
        method, trust, noise, xi, rule, points, limit, top_k: as there.
        accepts: whether idealized reports are accepted.
        private: whether there is a promise.
    """

    method: str = "auto"
    trust: str = "central"
    noise: str | None = None
    xi: float = 0.0
    rule: str | None = None
    points: str | None = None
    limit: int | None = None
    top_k: int | None = None
    accepts: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the method is still to be chosen."""
        return self.method == "auto" and self.rule is None

    @property
    def local(self) -> bool:
        """Whether users randomize their own rankings, and no one hides who sent which report."""
        return self.trust == "local"

    @property
    def shuffled(self) -> bool:
        """Whether a shuffler hides who sent which report."""
        return self.trust == "shuffled"

    @property
    def at_home(self) -> bool:
        """Whether users randomize their own rankings, whatever happens to their reports."""
        return self.local or self.shuffled

    @property
    def mechanism(self) -> str:
        """Name in the table of mechanisms; auto counts as borda, which offers the same noises."""
        return self.record.mechanism(self.trust, self.accepts)

    @property
    def named(self) -> str:
        """The method; auto counts as borda, and with a rule it is one that releases the weights of all pairs."""
        if self.method != "auto":
            return self.method
        return "borda" if self.rule is None else "noise-all" if self.at_home else "weights"

    @property
    def of_points(self) -> bool:
        """Whether approvals or points are added up."""
        return self.method == "scores" or self.record.lists

    @property
    def record(self) -> Method:
        """The record of the method."""
        return CONSENSUS[self.named]

    @property
    def noise_drawn(self) -> str:
        """The noise: as requested, or the default of the mechanism."""
        return MECHANISMS[self.mechanism].noise_of(self.noise)

    @property
    def adjacencies(self) -> tuple[str, ...]:
        """How neighboring data may differ."""
        return self.record.adjacencies if self.trust == "central" else self.record.adjacencies[:1]

    def _check_points(self) -> None:
        if self.points is not None:
            scale_of(self.points)
        if self.limit is not None and self.limit < 1:
            raise ValueError(f"limit (--limit) must be at least 1, got {self.limit}.")
        if not self.is_open and not self.of_points and (self.points or self.limit):
            raise ValueError(
                f"points (--points) and limit (--limit) are for scores: leave them out of {self.named}."
            )
        if self.record.lists and self.top_k is None:
            raise ValueError(needs_top_k(self.method))
        if self.record.lists and self.noise is not None:
            raise ValueError(
                f"{self.method} selects by noise of its own: leave noise (--noise) and delta out, or take "
                "method='scores' (--method scores), which publishes all totals."
            )

    def check(self, privacy: Privacy | None) -> None:
        """Refuse what does not go together, before any data are read.

        Raises:
            ValueError: with what to do.
        """
        check_choice("method (--method)", self.method, METHODS)
        check_choice("trust (--trust)", self.trust, TRUSTS)
        if not 0 <= self.xi < math.inf:
            raise ValueError(f"xi (--xi) must be finite and at least 0, got {self.xi:g}.")
        if self.noise is not None:
            check_choice("noise (--noise)", self.noise, tuple(LAWS))
        check_rule(self.rule, self.xi)
        check_top_k(self.top_k)
        if privacy is None:
            return
        if self.rule is not None and not self.record.solves:
            raise ValueError(
                f"{self.method} does not release the noisy weights of all pairs, of which a rule (--rule) makes an "
                f"order and a matrix (--matrix) consists: take {solvers(CONSENSUS)}, or leave method (--method) out."
            )
        if self.xi and not self.record.solves:
            raise ValueError(
                "xi (--xi) is for the methods that look for the best ranking: "
                f"{solvers(CONSENSUS)}, or none."
            )
        if privacy.kind not in [("user", adjacency) for adjacency in self.adjacencies]:
            added = [name for name, one in CONSENSUS.items() if "add-remove" in one.adjacencies]
            raise ValueError(
                "a consensus protects users who are replaced: take unit='user' and adjacency='replace'. With trust "
                f"central {', '.join(added)} protect users who are added or removed as well."
            )
        if self.xi and privacy.adjacency == "add-remove":
            raise ValueError(
                "xi (--xi) is a share of the disagreements of all users, whose number is private under adjacency "
                "add-remove: leave it out."
            )
        self._check_points()
        if self.shuffled and self.noise is not None:
            raise ValueError("shuffled answers add no noise to sums: leave noise (--noise) out.")
        check_trust(self.record, self.trust, CONSENSUS)
        check_noise(privacy, self.noise, always_delta=self.shuffled)
        noises = MECHANISMS[self.mechanism].noises
        if self.noise_drawn not in noises:
            raise ValueError(
                f"{self.method} with trust={self.trust!r} has no {self.noise} noise: choose {' or '.join(noises)}, or "
                "leave noise (--noise) and delta out."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Prepared:
    """Rankings, ready for a consensus.

    Attributes:
        table: as they were read.
        complete: whether it is public, by the kind of file or the data set, that all users ranked all items.
        warnings: remarks for the holder of the data; not covered by the guarantee.
        source: of the noise.
        privacy: what is promised, with what is public and what a user is; None: nothing.
    """

    table: Rankings | RankingRows
    complete: bool
    warnings: tuple[str, ...]
    source: Randomness
    privacy: Privacy | None

    @property
    def promise(self) -> Privacy:
        """What is promised."""
        assert self.privacy is not None
        return self.privacy

    @property
    def open_number(self) -> bool:
        """Whether the number of users is public: it is, unless users may be added or removed."""
        return self.privacy is None or self.privacy.adjacency != "add-remove"

    @functools.cached_property
    def ranks(self) -> np.ndarray:
        """``(n, m)``, of users one by one."""
        table = self.table
        return (table if isinstance(table, Rankings) else table.in_memory()).ranks

    @property
    def in_engine(self) -> bool:
        """Whether the rows stay in an engine, which counts how users order pairs."""
        return not isinstance(self.table, Rankings)

    @functools.cached_property
    def weights(self) -> PairWeights:
        """How users order each pair, which is all that a curator uses."""
        if isinstance(self.table, Rankings):
            return counted_weights(self.table.ranks, self.table.missing)
        return self.table.weights()

    @functools.cached_property
    def histograms(self) -> PositionHistograms:
        """How many users have each item at each position, which is all that a curator uses for footrules."""
        return counted_histograms(self.ranks, self.table.missing)


def _prepared(
    table: Rankings | RankingRows, privacy: Privacy | None, asked: Asked, source: Randomness
) -> Prepared:
    check_items(table.name, table.num_items, MAX_ITEMS, asked.top_k)
    warnings, partial = private_remark(*table.remarks), table.partial_users
    if partial and not asked.of_points:
        other = "unknown" if table.missing == "last" else "last"
        warnings += private_remark(
            f"{partial:,} of {table.num_users:,} users did not rank all items, which is taken as {table.missing}; "
            f"missing={other!r} (--missing {other}) is the other rule."
        )
    if privacy is not None:
        check_rare_items(table, written=True)
        warnings += hardly_private(float(privacy.epsilon))
        warnings += large_delta(privacy, user=table.num_users)
        privacy = privacy.given(public=table.public, users=table.users_are)
    complete = table.whole and not partial
    return Prepared(
        table=table, complete=complete, warnings=warnings, source=source, privacy=privacy
    )


def _release(data: Prepared, asked: Asked) -> Ranking:
    """Run the requested method."""
    table = data.table
    if data.privacy is None:
        return without_privacy(data, asked)
    if asked.is_open:
        if asked.points or asked.limit:
            raise ValueError(
                f"{table.name} is ranked by weights or borda, which take no points (--points) and no limit (--limit): "
                "say method='scores' (--method scores) for totals of points."
            )
        method = "borda"
        if data.open_number:  # or else nothing may depend on it
            method = choose_method(
                table.num_items,
                table.num_users,
                data.promise,
                trust=asked.trust,
                noise=asked.noise_drawn,
            )
        asked = dataclasses.replace(asked, method=method)
    asked = dataclasses.replace(asked, method=asked.named)
    check_items_of(asked.record, table.name, table.num_items)
    mechanism = _mechanism(data, asked)
    MECHANISMS[mechanism].drawn_exactly(data.source)  # refuses early
    if mechanism in _ANSWERS:
        _check_pairs(data, asked)
    return asked.record.runner(asked.trust)(data, asked)


def _mechanism(data: Prepared, asked: Asked) -> str:
    """Name in the table of mechanisms, once the method and the numbers of users and items are known."""
    if asked.method == "borda" and asked.mechanism == "sub-ranking-weights":
        items, users = data.table.num_items, data.table.num_users
        if choose_report(items, users, data.promise) == _TWO_SETS:
            return "ldp-borda-subsets"
    if asked.mechanism == "ldp-borda":  # of the two the one with shorter reports, by public facts
        norm = functools.partial(
            report_norm, dimension=data.table.num_items - 1, epsilon=data.promise.epsilon
        )
        return min(_REPORTS, key=lambda name: float(norm(_REPORTS[name])))
    return asked.mechanism


def _draw(data: Prepared, asked: Asked, **options: object) -> Drawn:
    """A release by the mechanism of the method: users answer for themselves, a curator uses weights."""
    mechanism = _mechanism(data, asked)
    if asked.at_home:
        votes, options = data.ranks, {**options, "missing": data.table.missing}
    else:
        votes = data.weights
    return draw(mechanism, data.source, votes, data.promise, **options)


def _central_borda(data: Prepared, asked: Asked) -> Ranking:
    table = data.table
    drawn = _draw(data, asked, noise=asked.noise_drawn)
    scores = np.asarray(drawn.estimate.value)
    certainty = of_scores(scores, table.num_users, asked, drawn)
    found = result(data, asked, drawn, scores=scores, noise=asked.noise_drawn)
    return dataclasses.replace(found, certainty=certainty)


def _check_pairs(data: Prepared, asked: Asked) -> None:
    """Check that there is a user for every pair, or that all can order all items; public numbers say it."""
    items, users = data.table.num_items, data.table.num_users
    if users >= items * (items - 1) // 2:
        return
    orders = asked.local and asked.method == "noise-all"
    if not orders or report_deviation(items, users, data.promise.epsilon, "sub-ranking") > 0.5:
        raise ValueError(
            f"{data.table.name} has {users:,} users and {items * (items - 1) // 2:,} pairs of items: too few to ask "
            "each user about one or a few, as exact local and shuffled reports require. Use central trust, or local "
            "trust and borda (--method borda), with more than 20 items by accept_idealized (--accept-idealized)."
        )


def _reported_borda(data: Prepared, asked: Asked) -> Ranking:
    users, found = data.table.num_users, _mechanism(data, asked)
    if found in _ANSWERS:
        mechanism, named = _ANSWERS[found]
        drawn = _draw(data, asked, **({"size": 2} if asked.local else {}))
        scores = np.asarray(quickly(aggregation.borda_scores, drawn.estimate.value))
    else:
        mechanism, named = (
            {**_REPORTS, "ldp-borda-subsets": _TWO_SETS}[found],
            MECHANISMS[found].label,
        )
        drawn = _draw(data, asked)
        scores = np.asarray(drawn.estimate.value)
    epsilon = _report_epsilon(data, asked, drawn)
    whole = result(
        data,
        asked,
        drawn,
        named=named,
        scores=scores,
        noise=mechanism,
        facts={"mechanism": mechanism},
    )
    if found in _ANSWERS:
        certainty = of_scores_from_answers(scores, users, mechanism, epsilon)
    else:
        certainty = of_scores_from_reports(scores, users, drawn.estimate.diagnostics)
    return _with_certainty(whole, certainty)


def _report_epsilon(data: Prepared, asked: Asked, drawn: Drawn) -> float:
    """ε of one report, which is larger than that of the release if a shuffler hides its sender."""
    if asked.shuffled:
        return float(drawn.estimate.diagnostics.local_epsilon)
    return float(data.promise.epsilon)


def _central_kwiksort(data: Prepared, asked: Asked) -> Ranking:
    drawn = _draw(data, asked, noise=asked.noise_drawn, split=SPLIT)
    return result(data, asked, drawn, noise=asked.noise_drawn)


def _local_kwiksort(data: Prepared, asked: Asked) -> Ranking:
    items, users = data.table.num_items, data.table.num_users
    if users < items:
        raise ValueError(
            f"kwiksort with local trust splits the users into as many groups as there are items, and "
            f"{data.table.name} has {users:,} users for {items:,} items: use method='borda' (--method borda)."
        )
    return result(data, asked, _draw(data, asked, split=SPLIT))


def _central_noise_all(data: Prepared, asked: Asked) -> Ranking:
    users = data.table.num_users
    drawn = _draw(data, asked, noise=asked.noise_drawn)
    weights = np.asarray(drawn.estimate.value)
    found = by_weights(data, asked, drawn, weights, asked.noise_drawn)
    ranks = np.argsort(found.order)
    return _with_certainty(found, of_majorities(weights, ranks, users, asked, drawn))


def _with_certainty(found: Ranking, certainty: Certainty) -> Ranking:
    """Add what the noise leaves certain, or why that is little.

    What is shown may lie outside of intervals that were found before cycles of weights were reduced: they are made to
    hold it, and the truth all the more. Of tied items both the rank that they share and the place hold.
    """
    ends, places = dict(certainty.intervals), np.argsort(found.order)
    for name, shown in (("rank_", found.ranks[places] - 1), ("rank_", places), ("", found.scores)):
        if shown is not None and f"{name}low" in ends:
            ends[f"{name}low"] = np.minimum(ends[f"{name}low"], shown)
            ends[f"{name}high"] = np.maximum(ends[f"{name}high"], shown)
    certainty = dataclasses.replace(certainty, intervals=ends)
    return dataclasses.replace(found, certainty=certainty, notes=(*found.notes, *certainty.notes))


def _central_weights(data: Prepared, asked: Asked) -> Ranking:
    drawn = _draw(data, asked, noise=asked.noise_drawn, shrink="none")
    released, users, middle = np.asarray(drawn.estimate.value), data.table.num_users, 0.0
    if not data.open_number:  # sums over users: majorities are above 1/2 as those of shares are
        middle = 0.5 * (1 - np.eye(len(released)))
    unshrunk, about = released + middle, drawn.estimate.diagnostics
    value, factor = quickly(shrunk_weights, unshrunk, about.cycle_scale)
    about = dataclasses.replace(about, cycle_factor=factor)
    drawn = dataclasses.replace(
        drawn, estimate=dataclasses.replace(drawn.estimate, diagnostics=about)
    )
    found = by_weights(data, asked, drawn, np.asarray(value) - middle, asked.noise_drawn)
    if asked.rule is not None and not math.isfinite(float(about.cycle_scale)):
        found = dataclasses.replace(found, notes=(*found.notes, _NO_CYCLES))
    ranks = np.argsort(found.order)
    return _with_certainty(found, of_majorities(unshrunk, ranks, users, asked, drawn))


def _reported_noise_all(data: Prepared, asked: Asked) -> Ranking:
    users, drawn = data.table.num_users, _draw(data, asked)
    mechanism = "sub-ranking" if asked.local else "shuffled-pair"
    weights = np.asarray(drawn.estimate.value)
    found = by_weights(data, asked, drawn, weights, mechanism, mechanism=mechanism)
    if asked.local:
        size = int(drawn.estimate.diagnostics.items_per_user)
        words = f"released: the order that each user gives to {size} of the items, drawn by chance"
        found = dataclasses.replace(found, notes=(words, *found.notes))
    ranks = np.argsort(found.order)
    epsilon = _report_epsilon(data, asked, drawn)
    certainty = of_majorities_from_answers(weights, ranks, users, mechanism, epsilon, asked.rule)
    return _with_certainty(found, certainty)


def _exponential(data: Prepared, asked: Asked) -> Ranking:
    return result(data, asked, _draw(data, asked))


# --- results ------------------------------------------------------------------------------------------


def without_privacy(data: Prepared, asked: Asked) -> Ranking:
    """Find the consensus of least disagreement, with its certificate, or that of another rule."""
    weights = data.weights
    told = {
        "items": data.table.item_names,
        "guarantee": None,
        "matrix": np.asarray(weights.matrix),
        "warnings": data.warnings,
    }
    remarks = (*_notes(data), *data.table.remarks)
    if asked.rule in RULES:
        # Whole numbers are tied where the votes are.
        scores = scores_by(asked.rule, weights.twice.astype(float))
        if asked.rule != "copeland":
            scores = scores / (2 * weights.num_users)
        found = Ranking(
            title=_title(data, f"{RULES[asked.rule].title}, without privacy"),
            order=best_first(scores),
            facts=_facts(data, asked, rule=asked.rule),
            scores=scores,
            notes=remarks,
            **told,
        )
        return explained(found, asked.rule, weights.twice.astype(float))
    best = aggregation.kemeny(weights, asked.xi)
    certificate, words = _certificate(best, data.table.num_items, "")
    found = Ranking(
        title=_title(data, "least disagreement (Kemeny), without privacy"),
        order=np.argsort(best.ranks),
        tied=tied_at_least_cost(weights.twice, np.argsort(best.ranks)),
        facts=_facts(data, asked, rule=asked.rule, certificate=certificate, xi=asked.xi),
        notes=(words, *remarks),
        **told,
    )
    return _unless_proven(found, best, asked)


def by_weights(
    data: Prepared,
    asked: Asked,
    drawn: Drawn,
    weights: Float[np.ndarray, "items items"],
    noise: str,
    **facts: str,
) -> Ranking:
    """Rank by noisy weights, as the rule says, and publish them; what is said depends on them alone."""
    given = {"noise": noise, "facts": {"rule": asked.rule, **facts}}
    if asked.rule in RULES:
        scores, named = scores_by(asked.rule, weights), RULES[asked.rule].title
        told = {"named": f"{named} on noisy weights", "scores": scores, "bounded": False}
        found = result(data, asked, drawn, **told, **given)
        found = explained(found, asked.rule, weights, summed=not data.open_number)
        if asked.rule == "borda" and not asked.at_home:
            found = dataclasses.replace(found, warnings=(*found.warnings, _SCORES_ALONE))
    else:
        # Weights outside of [0, 1] are clipped, so that costs and their certificate are those of votes.
        votes = np.clip(weights, 0, 1)
        if not data.open_number:
            votes = 0.5 + weights / max(2 * np.abs(weights).max(), 1)
        best = aggregation.kemeny(votes, asked.xi)
        if data.open_number:
            found = _certificate(best, data.table.num_items, "by the noisy votes, ")
        else:
            found = _certificate_of_sums(best)
        given["facts"]["certificate"], words = found
        # The theorem is for a ratio fixed beforehand, not for the one that happened to be proven.
        bounded = best.ratio <= 1 + asked.xi
        named = "Kemeny ranking of noisy weights"
        found = result(data, asked, drawn, named=named, ranks=best.ranks, bounded=bounded, **given)
        tied = tied_at_least_cost(votes, found.order)
        found = dataclasses.replace(found, tied=tied, notes=(words, *found.notes))
        found = _unless_proven(found, best, asked)
    return dataclasses.replace(found, matrix=weights)


def by_footrule(data: Prepared, asked: Asked) -> Ranking:
    """Assign items to places at the least noisy cost; what is said depends on the costs alone."""
    from scipy.optimize import linear_sum_assignment

    noise = asked.noise_drawn
    drawn = draw(asked.mechanism, data.source, data.histograms, data.promise, noise=noise)
    costs = np.asarray(drawn.estimate.value, np.float64)
    ranks = linear_sum_assignment(costs)[1]
    items = len(costs)
    spent = float(costs[np.arange(items), ranks].sum())
    deviation = cost_deviation(items, drawn.scale, noise)
    words = (
        "released: noisy counts of the places at which users have each item; the mean distance of an item from a place "
        f"has noise of {deviation:.2g}. By these counts no order is nearer to the users' than this one"
    )
    if 0 <= spent <= items * items // 2:
        words += f": {spent:.4g} places off on average, summed over items"
    facts = {"noisy_footrule": spent, "cost_deviation": deviation}
    whole = result(data, asked, drawn, ranks=ranks, noise=noise, facts=facts)
    return dataclasses.replace(whole, notes=(words, *whole.notes))


def _unless_proven(found: Ranking, best: ProvenRanking, asked: Asked) -> Ranking:
    """Warn if the solver ran out of time."""
    if best.ratio <= 1 + asked.xi:
        return found
    warning = (
        f"no ranking was proven to be within xi (--xi) {asked.xi:g} of the best in a minute; the best one found is "
        "shown, and the notes say what is proven of it. A larger xi ends sooner."
    )
    return dataclasses.replace(found, warnings=(*found.warnings, warning))


def result(
    data: Prepared,
    asked: Asked,
    drawn: Drawn,
    *,
    named: str | None = None,
    scores: np.ndarray | None = None,
    ranks: np.ndarray | None = None,
    noise: str | None = None,
    bounded: bool = True,
    facts: Mapping[str, object] | None = None,
) -> Ranking:
    """Build the result of a private method.

    Args:
        data: the rankings.
        request: the options.
        drawn: the release.
        named: name of the method; None for the label of the mechanism.
        scores: scores that determine the order.
        ranks: ranks that determine the order; without either, the value of the release holds them.
        noise: kind of the noise, or mechanism of the reports, that a bound on the expected cost depends on.
        bounded: whether there is such a bound.
        facts: further diagnostics.
    """
    if scores is not None:
        order = best_first(scores)
    else:
        order = np.argsort(np.asarray(drawn.estimate.value if ranks is None else ranks))
    notes, facts = list(_notes(data)), dict(facts or {})
    proven = _proven(data, asked, noise) if bounded and data.open_number else ()
    for row in proven:
        limit: Limit = {"ratio": row.ratio, "additive": row.additive}
        facts["expected_cost_bound"] = limit
        notes.insert(0, _bound_words(limit, data, asked))
    if asked.local:
        notes.append(_SIMULATED_USERS)
    if asked.shuffled:
        notes.append(_SIMULATED_SHUFFLER)
    found = {
        name: np.asarray(value).item()
        for name, value in vars(drawn.estimate.diagnostics).items()
        if np.ndim(value) == 0 and name != "center"
    }
    found = {name: value for name, value in found.items() if math.isfinite(value)}
    with_noise = not asked.at_home and bool({"noise_scale", "gradient_scale"} & set(found))
    return Ranking(
        title=_title(data, named or MECHANISMS[asked.mechanism].label),
        items=data.table.item_names,
        order=order,
        guarantee=drawn.guarantee,
        facts=_facts(data, asked, noise=drawn.law if with_noise else None, **found, **facts),
        scores=scores,
        notes=tuple(notes),
        warnings=(*data.warnings, *drawn.warnings),
    )


def _proven(data: Prepared, asked: Asked, noise: str | None) -> tuple[ProvenError, ...]:
    """What is proven of the expected cost: one row, or none."""
    items, users = data.table.num_items, data.table.num_users
    told = {"trust": asked.trust, "xi": asked.xi, "method": asked.method, "noise": noise}
    return proven_errors(items, users, data.promise, **told)


def _certificate(best: ProvenRanking, items: int, where: str) -> tuple[dict[str, object], str]:
    """The certificate of a ranking, for JSON and in words."""
    pairs = items * (items - 1) // 2
    ratio = best.ratio if math.isfinite(best.ratio) else None
    found: dict[str, object] = {
        "cost": best.cost,
        "lower_bound": best.lower_bound,
        "ratio": ratio,
        "solver": best.solver,
        "pairs": pairs,
    }
    if where:
        found["of"] = "noisy weights"
    words = f"{where}the average user disagrees with {best.cost:.4g} of the {pairs} pairs of this order, and with "
    if best.ratio <= 1 + 1e-9:
        return found, f"{words}at least as many of any other (proven by {best.solver})"
    near = "" if ratio is None else f", so this one is within {100 * (ratio - 1):.2g}% of the best"
    return found, f"{words}at least {best.lower_bound:.4g} of any order{near}"


def _certificate_of_sums(best: ProvenRanking) -> tuple[dict[str, object], str]:
    """The same where the number of users is private, and costs are known up to a factor alone."""
    words = f"no order agrees with more of the noisy majorities, by their size (proven by {best.solver})"
    if best.ratio > 1 + 1e-9:
        words = "the order found to agree with most of the noisy majorities, by their size; without a proof"
    return {"solver": best.solver, "of": "noisy weights"}, words


def _bound_words(limit: Limit, data: Prepared, asked: Asked) -> str:
    pairs = data.table.num_items * (data.table.num_items - 1) // 2
    full = ""
    if asked.at_home and not data.complete:
        full = ", where all users rank all items"
    if 2 * limit["additive"] >= pairs:  # a random order has as much
        return (
            "proven error: no useful bound at this number of users and epsilon; the consensus may be "
            "mostly noise"
        )
    times = "" if limit["ratio"] == 1 else f"{limit['ratio']:.4g} times "
    votes = "whatever the votes"
    if (
        asked.method == "kwiksort" and limit["ratio"] > 5
    ):  # the probability of its fallback depends on that
        votes = "where majorities have no cycle"
    return (
        f"proven error, {votes}{full}: the average user disagrees, in expectation, with at most "
        f"{times}the fewest possible pairs plus {limit['additive']:.2g} of {pairs}"
    )


def _title(data: Prepared, named: str) -> str:
    table = data.table
    of = f"{table.num_users:,}" if data.open_number else "all users'"
    return f"{table.name}: consensus of {of} rankings of {table.num_items} items, by {named}"


def _notes(data: Prepared) -> tuple[str, ...]:
    rule = () if data.complete else (rule_of(data.table.missing),)
    return (*rule, *data.table.notes)


def _facts(data: Prepared, asked: Asked, **facts: object) -> dict[str, object]:
    """Diagnostics: public facts, and values computed from private releases."""
    table = data.table
    common = {
        "method": asked.method if data.privacy is not None else "none",
        "data": table.name,
        "items": table.num_items,
        "users": table.num_users if data.open_number else None,
        "missing": table.missing,
        **facts,
        "seed": data.source.seed,
        "notes": list(_notes(data)),
    }
    return {name: value for name, value in common.items() if value is not None}
