"""``pr.rank``: a ranking of items by comparisons, choices, rankings or randomized reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax

from privrank_jax._types import Key
from privrank_jax.data.choices import BestWorst, Choices
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.data.engine import ComparisonRows
from privrank_jax.data.randomized import Reports
from privrank_jax.data.rankings import Rankings
from privrank_jax.data.reader import RANKED, data_of
from privrank_jax.jobs import checks
from privrank_jax.jobs.answers import prepared
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.mechanisms import Randomness
from privrank_jax.jobs.reports import rank_reports
from privrank_jax.jobs.result import Ranking
from privrank_jax.jobs.spending import Payment
from privrank_jax.jobs.ways import ranking_of
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.ledger import Ledger

Data = Comparisons | ComparisonRows | Choices | BestWorst | Rankings | Reports


def rank(
    data: Data | Any,
    privacy: Privacy | None,
    *,
    method: str = "scores",
    noise: str | None = None,
    link: str = "logistic",
    ties: str = "half",
    gamma: float | None = None,
    max_per_item: int | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    weight_most: float | None = None,
    top_k: int | None = None,
    level: float = 0.95,
    intervals: str = "auto",
    key: Key | None = None,
    ledger: Ledger | None = None,
    **told: Any,
) -> Ranking:
    """Rank items, with or without privacy.

    Without ``key`` the noise is drawn exactly, from the entropy of the operating system, and what comes back may be
    published. The promise must hold for all who read it: every release of the same data adds to what is spent.

    Rankings are broken into the comparisons of their pairs. Of best-worst answers the best item is compared with the
    worst. Ranking reports spends nothing.

    A ``method`` is ``"scores"`` (fitted) or ``"counts"`` (noisy win totals, for items that are compared equally often).
    Three methods publish the ``top_k`` best items alone: ``"one-shot"`` (their list), ``"canonical"`` (their set) and
    ``"top-k"`` (one of these, by :func:`~privrank_jax.pairwise.top_k.choose_top_k`).

    Args:
        data: of :func:`privrank_jax.read`, or what that reads.
        privacy: the promise, whose ``contributions`` L leave a random choice of L rows of a user; None: no privacy.
        method: what is published, see above.
        noise: ``"laplace"``, ``"gaussian"`` (with a δ) or ``"k-norm"``; default: the best that keeps pure ε.
        link: ``"logistic"``, ``"laplace"``, or without privacy and for reports also ``"normal"``.
        ties: ``"half"``: half a win for both items; ``"davidson"``: an outcome of its own, whose frequency is fitted.
        gamma: ridge of fitted scores, in comparisons; default: chosen without the answers.
        max_per_item: the most comparisons of one user about one item: less Gaussian noise on win totals, or of top K.
        bounds: of covariates, name to (low, high), between which they are clipped; needed where they are private.
        weight_most: the largest weight, known without looking at the data; needed where weights are private.
        top_k: how many items are shown.
        level: confidence of the intervals.
        intervals: ``"auto"``: where who compared what is private, a tenth of ε buys them; ``"none"``: no such share.
        key: PRNG key of a rehearsal, whose noise is simulated and which must not be published.
        ledger: of the data; pays before anything is returned.
        told: of a file or a table, arguments of :func:`privrank_jax.read` or of the reader of a kind: ``items="seen"``.

    Returns:
        The ranking, with its guarantee, intervals and notes; ``warnings`` are for the holder of the data alone.

    Raises:
        ValueError: arguments, or data, that do not go together; nothing was spent.
        LedgerError: the ledger does not allow it; nothing was spent.

    >>> import privrank_jax as pr
    >>> votes = pr.read("coffee")
    >>> promise = pr.Privacy(1.0, unit="user", adjacency="flip")
    >>> ranking = pr.rank(votes, promise, key=jax.random.key(0))
    >>> ranking.names[:2], ranking.rehearsal
    (['Yirga', 'Huila'], True)
    """
    model = {"link": link, "ties": ties, "gamma": gamma, "level": level, "intervals": intervals}
    asked = Asked(
        **{"method": method, "noise": noise, "top_k": top_k, **model},
        bounds=dict(bounds or {}),
        max_per_item=max_per_item,
        weight_most=weight_most,
    )
    source = Randomness(key)
    checks.refuse(ledger is not None and privacy is None, checks.NOTHING_TO_PAY)
    data = data_of(data, told, RANKED)
    ranking = ranked(data, privacy, asked, source)
    return Payment(ledger, lambda: data.sha256, data.name, "rank").pay(ranking)


def ranked(data: Data, privacy: Privacy | None, asked: Asked, source: Randomness) -> Ranking:
    """The ranking, before anything is paid; ``ValueError``: what does not go together."""
    with jax.enable_x64(True):
        if isinstance(data, Reports):
            checks.check_spends_nothing(data.name, privacy is not None or source.rehearsal)
            return rank_reports(data, asked)
        if not isinstance(data, Comparisons | ComparisonRows | Choices | BestWorst | Rankings):
            raise ValueError(
                f"{checks.what_is(data)} is not ranked: synthetic rankings have a consensus (privrank_jax.consensus, "
                "`privrank aggregate`)."
            )
        warnings: tuple[str, ...] = ()
        if isinstance(data, Rankings | BestWorst):
            if privacy is not None:
                warnings = checks.check_rare_items(data, written=isinstance(data, Rankings))
            data = data.comparisons()
        found = ranking_of(prepared(data, privacy, asked, source))
    source.check(found.guarantee)
    return dataclasses.replace(found, warnings=(*warnings, *found.warnings))
