r"""What several releases promise together: composition by privacy loss distributions (extra ``release``), on the host.

**When it holds.** Let each of k releases be (ε_i, δ_i)-DP, or a Gaussian mechanism with scale σ_i and ℓ₂ sensitivity
Δ_i, given all that was released before, for one unit and adjacency. If k and the ε_i, δ_i, Δ_i/σ_i were fixed before
the first release, all of them together are (ε, δ)-DP for the ε that :func:`compose` returns (Kairouz, Oh and
Viswanath 2015; Zhu, Dong and Wang 2022, Theorem 10). *What* is asked in a release may depend on the results so far; its
budget may not, nor whether there is a next one: that would take a privacy filter, and then only the plain sum
(:func:`compose_basic`) is proven here. It is what the budget ledger enforces.

**Neighbors.** The bounds hold for whichever neighboring relation the releases are private for, and for that one. An
(ε, δ) is dominated by randomized response that fails with probability δ; a Gaussian mechanism by N(0, σ²) against
N(Δ, σ²), a shift by Δ, where Δ is the ℓ₂ sensitivity under that same relation: for replacement, the change when one
unit is replaced. (dp-accounting's own ``REPLACE_ONE`` takes the sensitivity to adding one unit, and shifts by twice
that; it is not used.) See :mod:`~privrank_jax.privacy.loss_distribution`.

**Mixed releases.** Guarantees for different units or adjacencies are composed only for one that all of them cover, by
the rule of the ledger; central and local releases may be mixed, as there. What any of them takes as public is public
in the result, and all of them must mean the same by a user.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from privrank_jax._neighbors import COVERS, Neighbors
from privrank_jax._validate import check_choice, check_delta, check_epsilon, check_positive
from privrank_jax.privacy.gaussian import gaussian_ratio_at, rounded_up
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.host import host_number
from privrank_jax.privacy.loss_distribution import Budgets, delta_at, epsilon_at
from privrank_jax.privacy.privacy import Privacy

_TRUSTS = ("central", "local")
_NUMERICS = ("exact", "idealized", "simulation", "unknown")  # the last of several counts
FIXED_AHEAD = "their number and budgets must have been fixed ahead of time"


@dataclasses.dataclass(frozen=True)
class GaussianRelease:
    """A Gaussian mechanism: a vector plus noise N(0, σ²) in each coordinate.

    Attributes:
        scale: σ >= 0; 0 is no privacy.
        sensitivity: Δ₂ > 0, the largest ℓ₂ change of the vector between neighbors, for the adjacency in question.

    Raises:
        ValueError: arguments out of range.
    """

    scale: Any
    sensitivity: Any = 1.0

    def __post_init__(self) -> None:
        host_number("scale", self.scale)
        check_positive(
            "sensitivity", float(host_number("sensitivity", self.sensitivity)), infinite=False
        )

    @property
    def shift(self) -> float:
        """Δ₂/σ, never rounded down."""
        scale, sensitivity = float(self.scale), float(self.sensitivity)
        if scale == 0:
            return math.inf
        return rounded_up(max(sensitivity / scale, math.ulp(0.0))) if math.isfinite(scale) else 0.0


Release = Guarantee | tuple[Any, Any] | GaussianRelease


def compose(
    releases: Iterable[Release],
    *,
    delta: Any = None,
    epsilon: Any = None,
    unit: str | None = None,
    adjacency: str | None = None,
    trust: str = "central",
) -> Guarantee:
    """What releases with budgets fixed ahead of time promise together: ε at ``delta``, or δ at ``epsilon``.

    The theorem heads this module; it does not hold for budgets chosen along the way. The result is an upper bound:
    the optimal one for pairs where their ε are multiples of a common step (up to 1e-12 in δ), within 1 % otherwise.
    With δ near 1e-12, more than 2^18 releases or 2^12 different ε it is that of zCDP or of the plain sum, which may be
    10 % above or more.

    Args:
        releases: guarantees of this library, (ε, δ) pairs with ε, δ >= 0, :class:`GaussianRelease` objects.
        delta: δ in [0, 1), at which to give ε.
        epsilon: ε >= 0, at which to give δ; one of the two.
        unit: what the result is for; needed unless all releases are guarantees for the same unit and adjacency.
        adjacency: likewise. A guarantee counts at the best of its own ε and those in ``also`` that cover both.
        trust: that of pairs and of Gaussian releases.

    Returns:
        The guarantee of all together; its note tells the plain sum. Local only if all are; the weakest numerics.
        ε = ∞ if one of the releases has no privacy.

    Raises:
        ImportError: without dp-accounting.
        ValueError: units that don't fit, numbers out of range, ``delta`` at which no finite ε exists.

    >>> both = compose([(0.1, 0)] * 100, delta=1e-6, unit="user", adjacency="replace")
    >>> round(both.epsilon, 3), "plain sum: epsilon 10" in both.note
    (4.775, True)
    """
    gathered = _gather(releases, unit, adjacency, trust)
    if (delta is None) == (epsilon is None):
        raise ValueError("give delta, for an epsilon, or epsilon, for a delta: one of the two.")
    if epsilon is not None:
        wanted = host_number("epsilon", epsilon)
        if math.isinf(wanted):
            raise ValueError("epsilon must be finite.")
        found = 1.0 if gathered.unbounded else delta_at(gathered.budgets, Fraction(wanted))
        return gathered.guarantee(float(wanted), found, composed=True)
    wanted = host_number("delta", delta)
    check_delta(float(wanted))
    found = math.inf if gathered.unbounded else epsilon_at(gathered.budgets, Fraction(wanted))
    if math.isinf(found) and not gathered.unbounded:
        raise ValueError(_too_small(gathered.budgets, float(wanted)))
    return gathered.guarantee(found, float(wanted), composed=True)


def compose_basic(
    releases: Iterable[Release],
    *,
    unit: str | None = None,
    adjacency: str | None = None,
    trust: str = "central",
) -> Guarantee:
    """The plain sum (Σε_i, Σδ_i), which holds for budgets chosen along the way too, and needs no library.

    Args:
        releases: as for :func:`compose`, but no :class:`GaussianRelease`, which has no ε of its own.
        unit, adjacency, trust: as for :func:`compose`.

    Raises:
        ValueError: as :func:`compose`.

    Source: Dwork and Roth (2014), Theorem 3.16; Rogers, Roth, Ullman and Vadhan (2016) for budgets chosen along
    the way, of which the sum is bounded ahead.

    >>> total = compose_basic([(0.1, 1e-7), (0.2, 0)], unit="user", adjacency="replace")
    >>> total.epsilon, total.delta
    (0.3, 1e-07)
    """
    gathered = _gather(releases, unit, adjacency, trust)
    if gathered.budgets.shift:
        raise ValueError(
            "a Gaussian release has no epsilon of its own to be added: give it as (epsilon, delta), with delta = "
            "gaussian_delta(scale, sensitivity, epsilon), or use compose."
        )
    epsilon = math.inf if gathered.unbounded else float(gathered.budgets.epsilon_sum)
    return gathered.guarantee(epsilon, float(gathered.budgets.delta_sum))


def calibrate_gaussian(
    epsilon: Any, delta: Any, sensitivity: Any = 1.0, *, releases: int = 1
) -> float:
    """σ of each of several Gaussian releases that are together (ε, δ)-DP, on the host, never rounded down.

    k mechanisms with Δ₂/σ each are one with √k Δ₂/σ, so σ grows as √k, where it would grow as k by the plain sum.
    For one release, :func:`~privrank_jax.privacy.gaussian_scale` computes the same inside ``jit`` and ``vmap``.

    Args:
        epsilon: ε > 0 of all releases together; ∞ gives 0.
        delta: δ in (0, 1), likewise.
        sensitivity: Δ₂ > 0 of each release.
        releases: k >= 1, fixed ahead of time.

    Raises:
        ImportError: without dp-accounting.
        ValueError: arguments out of range.

    Source: Balle and Wang (2018).

    >>> round(calibrate_gaussian(1.0, 1e-5), 4), round(calibrate_gaussian(1.0, 1e-5, releases=100), 3)
    (3.7306, 37.306)
    """
    total = host_number("epsilon", epsilon)
    check_epsilon(float(total))
    check_delta(float(host_number("delta", delta)), positive=True)
    check_positive("sensitivity", float(host_number("sensitivity", sensitivity)), infinite=False)
    if isinstance(releases, bool) or not isinstance(releases, (int, np.integer)) or releases < 1:
        raise ValueError(f"releases must be a whole number, at least 1, got {releases!r}.")
    if math.isinf(total):
        return 0.0
    ratio = gaussian_ratio_at(Fraction(total), Fraction(host_number("delta", delta)))
    return rounded_up(float(sensitivity) * math.sqrt(releases) * ratio)


@dataclasses.dataclass(frozen=True)
class _Gathered:
    """Releases, read: their budgets, and what the result says of itself."""

    budgets: Budgets
    unbounded: bool
    count: int
    neighbors: Neighbors
    trust: str
    numerics: str

    def guarantee(self, epsilon: float, delta: float, *, composed: bool = False) -> Guarantee:
        note = ""
        if self.count > 1:
            note = f"{self.count} releases together"
            if composed:
                note += f", by privacy loss distributions: {FIXED_AHEAD}"
            if composed and not self.budgets.shift and not self.unbounded:
                note += (
                    f". The plain sum: epsilon {float(self.budgets.epsilon_sum):.6g}, "
                    f"delta {float(self.budgets.delta_sum):.6g}, holds for budgets chosen along the way too"
                )
            note += "."
        together = Privacy.proven(epsilon, delta=delta, **vars(self.neighbors))
        return Guarantee(together, trust=self.trust, numerics=self.numerics, note=note)


def _gather(
    releases: Iterable[Release], unit: str | None, adjacency: str | None, trust: str
) -> _Gathered:
    if isinstance(releases, (Guarantee, GaussianRelease)):
        raise ValueError("give a list of releases; one release is a list of one.")
    releases = list(releases)
    check_choice("trust", trust, _TRUSTS)
    promised = _promise(releases, unit, adjacency)
    pairs, shifts, trusts, numerics, counted = [], [], set(), set(), []
    for number, release in enumerate(releases, 1):
        if isinstance(release, Guarantee):
            counted.append(_best(release, promised, number))
            pairs.append(_pair((counted[-1].epsilon, counted[-1].delta), number))
            trusts.add(release.trust)
            numerics.add(release.numerics if release.numerics in _NUMERICS else "unknown")
            continue
        trusts.add(trust)
        numerics.add("unknown")
        if isinstance(release, GaussianRelease):
            shifts.append(release.shift)
        else:
            pairs.append(_pair(release, number))
    unbounded = math.inf in shifts or any(math.isinf(epsilon) for epsilon, _ in pairs)
    budgets = Budgets() if unbounded else Budgets.gather(pairs, shifts)
    weakest = max(numerics, key=_NUMERICS.index, default="unknown")
    together = "local" if trusts == {"local"} else "central"
    neighbors = _common(promised, counted)
    return _Gathered(budgets, unbounded, len(releases), neighbors, together, weakest)


def _common(promised: tuple[str, str], counted: Sequence[Privacy]) -> Neighbors:
    """The neighbors that all guarantees are for: what any takes as public is, and all mean the same by a user."""
    public = {fact for one in counted for fact in one.public}
    users = {one.users for one in counted} if promised[0] != "comparison" else set()
    if len(users) > 1:
        raise ValueError(
            "the releases mean different things by a user: "
            + "; ".join(sorted(name or "not said" for name in users))
            + ". Compose those of one kind; guarantee.given(users=...) says what nobody said."
        )
    return Neighbors(*promised, tuple(public), users.pop() if users else "")


def _promise(
    releases: Sequence[Release], unit: str | None, adjacency: str | None
) -> tuple[str, str]:
    """Unit and adjacency of the result."""
    if unit is not None and adjacency is not None:
        check_kind(unit, adjacency, "central")
        return unit, adjacency
    kinds = {
        (release.unit, release.adjacency) for release in releases if isinstance(release, Guarantee)
    }
    if len(kinds) == 1 and all(isinstance(release, Guarantee) for release in releases):
        found = next(iter(kinds))
        if unit in (None, found[0]) and adjacency in (None, found[1]):
            return found
    if len(kinds) > 1:
        common = [kind for kind, stronger in COVERS.items() if kinds <= stronger]
        raise ValueError(
            f"the releases protect {_listed(kinds)}: budgets of different units or adjacencies don't add up. "
            + (
                f"All of them cover {_listed(common)}: ask for that by unit= and adjacency=."
                if common
                else "Compose those of one kind."
            )
        )
    raise ValueError(
        "say by unit= and adjacency= what the releases protect: (epsilon, delta) pairs and Gaussian releases "
        "don't tell."
    )


def _listed(kinds: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"unit {unit}, adjacency {adjacency}" for unit, adjacency in sorted(kinds))


def check_kind(unit: str, adjacency: str, trust: str) -> None:
    """Refuse what no guarantee has."""
    check_choice("trust", trust, _TRUSTS)
    if (unit, adjacency) not in COVERS:
        raise ValueError(
            f"no guarantee has unit {unit!r} and adjacency {adjacency!r}: choose of {_listed(COVERS)}."
        )


def _best(release: Guarantee, promised: tuple[str, str], number: int) -> Privacy:
    """That of a release and what it promises as well which costs the least for what is promised."""
    enough = [one for one in (release.attained, *release.also) if one.kind in COVERS[promised]]
    if not enough:
        raise ValueError(
            f"release {number} protects unit {release.unit}, adjacency {release.adjacency}, which is not enough for "
            f"unit {promised[0]}, adjacency {promised[1]}."
        )
    return min(enough, key=lambda one: _pair((one.epsilon, one.delta), number))


def _pair(release: Any, number: int) -> tuple[Any, Any]:
    try:
        epsilon, delta = release
    except (TypeError, ValueError):
        raise ValueError(
            f"release {number} must be a Guarantee, an (epsilon, delta) pair or a GaussianRelease, got {release!r}."
        ) from None
    pair = (
        host_number(f"epsilon of release {number}", epsilon),
        host_number(f"delta of release {number}", delta),
    )
    if pair[1] >= 1:
        raise ValueError(f"delta of release {number} must be below 1, got {delta!r}.")
    return pair


def _too_small(budgets: Budgets, delta: float) -> str:
    if budgets.shift and delta <= float(budgets.delta_sum):
        return f"a Gaussian release has no epsilon at delta = {delta:g}: ask for a larger delta."
    return (
        f"delta = {delta:g} is below {float(budgets.delta_sum):g}, the sum of the releases' own: no epsilon holds "
        "there. Ask for a larger delta."
    )
