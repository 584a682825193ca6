r"""Composition of several releases by privacy loss distributions (extra ``release``), on the host.

**When the bound holds.** Let each of k releases be (ε_i, δ_i)-DP, or a Gaussian mechanism with scale σ_i and ℓ₂
sensitivity Δ_i, conditionally on all earlier releases, for the same neighbors. If k and the ε_i, δ_i, Δ_i/σ_i were
fixed before the first release, all of them together are (ε, δ)-DP for the ε that :func:`compose` returns (Kairouz, Oh
and Viswanath 2015; Zhu, Dong and Wang 2022, Theorem 10).

*What* a release asks may depend on the results so far; its budget, and whether there is a next release, may not.
Budgets chosen along the way need a privacy filter, for which only the plain sum (Σε_i, Σδ_i) is proven here (Dwork and
Roth 2014, Theorem 3.16; Rogers, Roth, Ullman and Vadhan 2016). At the δ Σδ_i :func:`compose` gives that sum, and it
needs no library; the budget ledger enforces it.

**Neighbors.** The bounds hold for the neighboring relation for which the releases are private, which is also that of a
Gaussian's Δ. Promises for different neighbors are composed only for neighbors that all of them cover
(:meth:`Privacy.covers`). Central and local releases may be mixed. Facts that any of the releases takes as public are
public in the result, and all of them must agree on what a user is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from privrank_jax._neighbors import COVERS, Neighbors, in_words
from privrank_jax._promise import check_changes
from privrank_jax._validate import check_choice, check_delta, check_positive
from privrank_jax.privacy.gaussian import rounded_up
from privrank_jax.privacy.guarantee import TRUSTS, Guarantee
from privrank_jax.privacy.host import HostNumber, host_number
from privrank_jax.privacy.loss_distribution import Budget, delta_at, epsilon_at, unbounded
from privrank_jax.privacy.privacy import Privacy, check_privacy

_NUMERICS = ("exact", "idealized", "simulation", "unknown")  # the last of several counts


@dataclasses.dataclass(frozen=True)
class GaussianRelease:
    """A Gaussian mechanism: a vector plus noise N(0, σ²) in each coordinate.

    Attributes:
        scale: σ >= 0, else ``ValueError``; 0 means no privacy.
        sensitivity: Δ₂ > 0, the largest ℓ₂ change of the vector between neighbors.
    """

    scale: HostNumber
    sensitivity: HostNumber = 1.0

    def __post_init__(self) -> None:
        host_number("scale", self.scale)
        sensitivity = float(host_number("sensitivity", self.sensitivity))
        check_positive("sensitivity", sensitivity, infinite=False)

    @property
    def shift(self) -> float:
        """The ratio Δ₂/σ, never rounded down."""
        scale, sensitivity = float(self.scale), float(self.sensitivity)
        if scale == 0:
            return math.inf
        return rounded_up(max(sensitivity / scale, math.ulp(0.0))) if math.isfinite(scale) else 0.0


@dataclasses.dataclass(frozen=True)
class LaplaceRelease:
    """Numbers plus independent Laplace noise, P(x) ∝ e^{-\\|x\\|/scale}, on integers or real numbers.

    It composes to less than its pure ε does (:mod:`~privrank_jax.privacy.loss_distribution`). For real numbers take as
    unit a small part of their change.

    Attributes:
        scale: >= 0, else ``ValueError``; 0 means no privacy.
        changes: whole numbers c >= 1; the k largest changes between neighbors add up to at most the k largest c.

    >>> LaplaceRelease(40, (2, 2)).epsilon
    Fraction(1, 10)
    """

    scale: HostNumber
    changes: tuple[int, ...]

    def __post_init__(self) -> None:
        host_number("scale", self.scale)
        check_changes(self.changes)
        if not self.changes:
            raise ValueError("changes must name at least one number that changes.")

    @property
    def epsilon(self) -> Fraction | float:
        """ε of the release alone, Σc/scale."""
        scale = host_number("scale", self.scale)
        if not scale or math.isinf(scale):
            return Fraction(0) if scale else math.inf
        return sum(self.changes) / Fraction(scale)


Release = Guarantee | Privacy | GaussianRelease | LaplaceRelease | tuple[HostNumber, HostNumber]


def compose(
    releases: Iterable[Release],
    *,
    delta: HostNumber | None = None,
    epsilon: HostNumber | None = None,
    neighbors: Neighbors | Privacy | None = None,
    trust: str = "central",
) -> Guarantee:
    """Compose releases whose budgets are fixed ahead of time: ε at ``delta``, or δ at ``epsilon``.

    The result is an upper bound, for pairs of ε and δ within 1 % of optimal; for δ near 1e-12, more than 2^18 releases,
    2^12 different ε or an ε beyond 500 that of zCDP or of the plain sum, which may be 10 % too large or more.

    Args:
        releases: guarantees, whose ``changes`` and ``rho`` count, promises, (ε, δ) pairs and those two.
        delta: δ in [0, 1), at which to give ε.
        epsilon: ε >= 0, at which to give δ. Give either ``delta`` or ``epsilon``.
        neighbors: that the result is for; needed unless all releases are guarantees or promises of one kind. A
            guarantee counts at the smallest of its own ε and those in ``also`` that cover these neighbors.
        trust: the trust model of releases that are not guarantees.

    Returns:
        The guarantee of all releases together, with the weakest trust and numerics; its note states the plain sum.

    Raises:
        ImportError: without dp-accounting.
        ValueError: a release that does not cover ``neighbors``, numbers out of range, a δ at which no ε holds.

    >>> both = compose([(0.1, 0)] * 100, delta=1e-6, neighbors=Neighbors("user", "replace"))
    >>> round(both.epsilon, 3), "plain sum: epsilon 10" in both.note
    (4.775, True)
    """
    if (delta is None) == (epsilon is None):
        raise ValueError(
            "give one of the two: delta, to get an epsilon, or epsilon, to get a delta."
        )
    budgets, about = _gathered(releases, neighbors, trust)
    if epsilon is not None:
        at = host_number("epsilon", epsilon)
        if math.isinf(at):
            raise ValueError("epsilon must be finite.")
        return _stated(about, budgets, float(at), delta_at(budgets, Fraction(at)))
    at = host_number("delta", delta)  # type: ignore[arg-type]
    check_delta(float(at))
    found = epsilon_at(budgets, Fraction(at))
    if math.isinf(found) and not unbounded(budgets):
        least = float(sum(one.delta for one in budgets))
        raise ValueError(
            f"a Gaussian release has no epsilon at delta = {float(at):g}: ask for a larger delta."
            if any(one.shift for one in budgets)
            else f"delta = {float(at):g} is below {least:g}, the sum of the releases' own deltas: no epsilon holds "
            "there. Ask for a larger delta."
        )
    return _stated(about, budgets, found, float(at))


def _stated(about: Guarantee, budgets: Sequence[Budget], epsilon: float, delta: float) -> Guarantee:
    """The guarantee of all releases, with these ε and δ."""
    note = ", by privacy loss distributions: their number and budgets must have been fixed ahead of time"
    if not any(one.shift for one in budgets) and not unbounded(budgets):
        total = float(sum(one.epsilon for one in budgets)), float(sum(one.delta for one in budgets))
        note += ". The plain sum: epsilon {:.6g}, delta {:.6g}, ".format(*total)
        note += "holds for budgets chosen along the way too"
    together = Privacy.proven(**{**vars(about.promise), "epsilon": epsilon, "delta": delta})
    note = f"{len(budgets)} releases together{note}." if len(budgets) > 1 else ""
    return dataclasses.replace(about, promise=together, attained=together, note=note)


def _gathered(
    releases: Iterable[Release], neighbors: Neighbors | Privacy | None, trust: str
) -> tuple[list[Budget], Guarantee]:
    """The budget of each release, and a guarantee with all but the ε and δ of their composition."""
    if isinstance(releases, (Guarantee, Privacy, GaussianRelease, LaplaceRelease)):
        raise ValueError("give a list of releases; one release is a list of one.")
    releases = list(releases)
    check_choice("trust", trust, TRUSTS)
    promised = _common(releases) if neighbors is None else neighbors
    if isinstance(promised, Neighbors):
        promised = Privacy.proven(0.0, **vars(promised))
    check_privacy(promised)
    budgets = [_budget(one, promised, number) for number, one in enumerate(releases, 1)]
    trusts = {getattr(one, "trust", trust) for one in releases} or {"central"}
    numerics = {getattr(one, "numerics", "unknown") for one in releases}
    known = numerics and numerics <= {*_NUMERICS}
    weakest = max(numerics, key=_NUMERICS.index) if known else "unknown"
    return budgets, Guarantee(promised, trust=min(trusts, key=TRUSTS.index), numerics=weakest)


def _budget(release: Release, promised: Privacy, number: int) -> Budget:
    """What is known of a release for neighbors that are promised."""
    if isinstance(release, GaussianRelease):
        return Budget(Fraction(0), shift=release.shift)
    if isinstance(release, LaplaceRelease):
        return Budget(release.epsilon, changes=release.changes)
    if not isinstance(release, (Guarantee, Privacy)):
        return Budget(*_pair(release, number))
    whole = isinstance(release, Guarantee)
    every = (release.attained, *release.also) if whole else (release,)
    enough = [one for one in every if one.covers(promised)]
    if not enough:
        raise ValueError(
            f"release {number} is not enough for {promised.neighbors.in_words()}: {every[0].lacks(promised)}."
        )
    best = min(enough, key=lambda one: _pair((one.epsilon, one.delta), number))
    pair = _pair((best.epsilon, best.delta), number)
    if whole and best is release.attained:
        return Budget(*pair, release.changes or (1,), release.rho)
    return Budget(*pair)


def _common(releases: Sequence[Release]) -> Privacy:
    """The neighbors that guarantees of one kind have in common."""
    told = [getattr(one, "attained", one) for one in releases]
    told = [one for one in told if isinstance(one, Privacy)]
    kinds = {one.kind for one in told}
    if len(kinds) > 1:
        common = [kind for kind, stronger in COVERS.items() if kinds <= stronger]
        remedy = f"All of them cover {in_words(common)}: pass that as neighbors=." if common else ""
        raise ValueError(
            f"the releases protect {in_words(sorted(kinds))}: budgets of different units or adjacencies don't add up. "
            f"{remedy or 'Compose those of one kind.'}"
        )
    if not told or len(told) < len(releases):
        raise ValueError(
            "pass neighbors=, such as Neighbors('user', 'replace'), to say what the releases protect: (epsilon, delta) "
            "pairs, Laplace and Gaussian releases don't state it."
        )
    unit, adjacency = kinds.pop()
    users = {one.users for one in told} if unit != "comparison" else {""}
    if len(users) > 1:
        raise ValueError(
            "the releases differ in what one user is: "
            + "; ".join(sorted(name or "not said" for name in users))
            + ". Compose those of one kind; guarantee.given(users=...) sets what is not said."
        )
    bounds = [one.contributions for one in told if one.contributions is not None]
    return Privacy.proven(
        0.0,
        unit=unit,
        adjacency=adjacency,
        contributions=min(bounds, default=None),
        public=tuple({fact for one in told for fact in one.public}),
        users=users.pop(),
    )


def _pair(release: object, number: int) -> tuple[Fraction | float, Fraction | float]:
    try:
        epsilon, delta = release  # pyright: ignore[reportGeneralTypeIssues]
    except (TypeError, ValueError):
        raise ValueError(
            f"release {number} must be a Guarantee, a Privacy, an (epsilon, delta) pair, a LaplaceRelease or a "
            f"GaussianRelease, got {release!r}."
        ) from None
    exact = host_number(f"delta of release {number}", delta)
    if exact >= 1:
        raise ValueError(f"delta of release {number} must be below 1, got {delta!r}.")
    return host_number(f"epsilon of release {number}", epsilon), exact
