r"""What is proven of every private consensus: one table of ratios and additive errors, and the method of least cost.

**Rows.** A row bounds the Kemeny cost of one method, E K(σ, w) ≤ ratio·OPT + additive, whatever the rankings; with a
confidence the cost itself. Proofs and constants: :mod:`~privrank_jax.aggregation.bounds`,
:mod:`~privrank_jax.aggregation.local_bounds`.

**Cost above the optimum.** K - OPT ≤ (ratio - 1)·OPT + additive. Also K(σ, w) + K(reversed σ, w) = N, the number of
pairs, so that K ≤ N - OPT and OPT ≤ N/2 for any crowd and any ranking. If OPT is at most o, K - OPT is thus at most the
largest of min((ratio - 1)x + additive, N - 2x) over x ≤ o: the first grows with x and the second falls, so it is at x =
o, or where both are equal, at x = (N - additive)/(ratio + 1). (For the mean both hold as well, since OPT is fixed.)
Without an upper estimate of OPT o is N/2. An estimate must be public: the smallest cost of private data is private.

**What the papers have**, without constants, as they state it, is on the page "Which method when".

*How sharp.* Whatever its ratio, no ε-DP method has an additive error of 0.01 m² while n = o(m/ε), and for each ratio
there is a c > 0 such that no (ε, δ)-DP method, ε ≤ 1 and δ = o(1/n), has one of c m² while n = o(√m/ε) (Alabi, Ghazi,
Kumar and Manurangsi 2022, Theorems 13 and 14). m³/(εn) and m^2.5/(εn) are that small from n of order m/ε and √m/ε on,
so up to logarithms no method needs fewer users for an error of this size. How fast errors fall with more users the
theorems do not say. Borda's ratio 5 and its factor 2 of the noise are attained by some crowds
(:mod:`~privrank_jax.aggregation.borda_theorem`). The means of sums and ranges of central noise are exact, or simulated
and rounded up by four standard errors; those of local reports bound a mean by a root mean square, 1.25 times it for
normal errors. But errors rarely all count: cost lies far below these bounds in most crowds, see
:mod:`~privrank_jax.aggregation.planned_errors`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from privrank_jax._host.evaluate import quickly
from privrank_jax._validate import check_choice, check_nonnegative
from privrank_jax.aggregation.bounds import (
    Bound,
    borda_bound,
    check_sizes,
    exponential_bound,
    footrule_bound,
    hay_kwiksort_bound,
    kwiksort_bound,
    noise_all_bound,
    private_weights_bound,
)
from privrank_jax.aggregation.exponential import MAX_ITEMS as MOST_OF_EXPONENTIAL
from privrank_jax.aggregation.footrule_cuts import MAX_ITEMS as MOST_OF_FOOTRULE
from privrank_jax.aggregation.ldp_plan import local_plan
from privrank_jax.aggregation.local_bounds import (
    ldp_borda_bound,
    ldp_footrule_bound,
    ldp_kwiksort_bound,
    local_noise_all_bound,
)
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budget import MAX_ITEMS as MOST_OF_KWIKSORT
from privrank_jax.aggregation.query_budget import refusal_bound
from privrank_jax.aggregation.shuffled_pairs import promise_of_shuffled
from privrank_jax.aggregation.subset_designs import MAX_ITEMS as MOST_OF_SUBSETS
from privrank_jax.privacy.guarantee import TRUSTS
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon

SPLIT = 0.9
"""Share of ε for the comparisons of KwikSort; the rest is for its fallback, which is rarely used."""

_ALABI = "Alabi et al. (2022)"
_OURS = "ours"


@dataclasses.dataclass(frozen=True)
class ProvenError:
    """What is proven of one method at given numbers of items and users.

    Attributes:
        method: name, as of ``privrank aggregate --method`` where it is offered there.
        function: the function of :mod:`privrank_jax.aggregation`.
        noise: kind of the noise, or mechanism of users' reports.
        trust: ``"central"``, ``"shuffled"`` or ``"local"``.
        pure: whether it is ε-DP, else (ε, δ)-DP.
        ratio: α.
        additive: β, in pairs per user.
        order: of β, in m, n, ε and δ.
        source: who proved ratio and order; the constants are proven in this library.
        pairs: N, the number of pairs.
        remark: what the bound presumes, or how sharp it is.
    """

    method: str
    function: str
    noise: str
    trust: str
    pure: bool
    ratio: float
    additive: float
    order: str
    source: str
    pairs: int
    remark: str

    def cost(self, optimum: float | None = None) -> float:
        """Proven Kemeny cost above the optimum, in pairs per user, where the optimum is at most ``optimum``.

        Args:
            optimum: public upper estimate of OPT, in pairs per user; None for N/2, above which it never is.

        Raises:
            ValueError: a negative estimate.

        >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
        >>> row = least_proven_error(10, 10_000, privacy, optimum=10.0)
        >>> row.method, round(row.cost(10.0), 2)
        ('exponential', 0.14)
        """
        highest = self.pairs / 2
        if optimum is not None:
            check_nonnegative("optimum", optimum)
            highest = min(optimum, highest)
        if self.additive >= self.pairs:
            return float(self.pairs)
        highest = min(highest, (self.pairs - self.additive) / (self.ratio + 1))
        return (self.ratio - 1) * highest + self.additive


class _Kind(NamedTuple):
    """A method with one kind of noise: its bound, and the number of items up to which it is computed."""

    method: str
    function: str
    noise: str
    bound: Callable[..., Bound]
    order: str
    source: str
    remark: str
    most: float = float("inf")


_SOLVED = "needs a solver that proves its ratio 1 + ξ on the noisy weights (kemeny)"
_SORTED = "presumes that majorities have no cycle, unless all pairs may be asked; a ratio of means over pivots"
_EXACT = "ratio and factor of the noise are the best possible"
_TWICE = "ratio of Diaconis and Graham's inequality; noise as if it moved all items"

_CENTRAL = (
    _Kind("borda", "dp_borda", "k-norm", borda_bound, "m³/(εn)", _OURS, _EXACT),
    _Kind("borda", "dp_borda", "laplace", borda_bound, "m³/(εn)", _OURS, _EXACT),
    _Kind("borda", "dp_borda", "gaussian", borda_bound, "m^2.5 √log(1/δ)/(εn)", _OURS, _EXACT),
    _Kind("footrule", "dp_footrule", "tree", footrule_bound, "m³/(εn)", _OURS, _TWICE),
    _Kind("footrule", "dp_footrule", "k-norm", footrule_bound, "m^3.5/(εn)", _OURS, _TWICE),
    _Kind(
        "footrule",
        "dp_footrule",
        "gaussian",
        footrule_bound,
        "m^2.5 √log(1/δ)/(εn)",
        _OURS,
        _TWICE,
    ),
    _Kind("noise-all", "noise_all", "k-norm", noise_all_bound, "m⁴/(εn)", f"{_ALABI}, 3", _SOLVED),
    _Kind("noise-all", "noise_all", "laplace", noise_all_bound, "m⁴/(εn)", f"{_ALABI}, 3", _SOLVED),
    _Kind(
        "noise-all",
        "noise_all",
        "gaussian",
        noise_all_bound,
        "m³ √log(1/δ)/(εn)",
        f"{_ALABI}, 4",
        _SOLVED,
    ),
    _Kind("weights", "private_weights", "k-norm", private_weights_bound, "m⁴/(εn)", _OURS, _SOLVED),
    _Kind(
        "weights",
        "private_weights",
        "gaussian",
        private_weights_bound,
        "m³ √log(1/δ)/(εn)",
        _OURS,
        _SOLVED,
    ),
    _Kind(
        "kwiksort",
        "dp_kwiksort",
        "laplace",
        functools.partial(kwiksort_bound, split=SPLIT),
        "m³ log m/(εn)",
        f"{_ALABI}, 6",
        _SORTED,
        MOST_OF_KWIKSORT,
    ),
    _Kind(
        "kwiksort",
        "dp_kwiksort",
        "gaussian",
        functools.partial(kwiksort_bound, split=SPLIT),
        "m^2.5 √(log m log(1/δ))/(εn)",
        f"{_ALABI}, 7",
        _SORTED,
        MOST_OF_KWIKSORT,
    ),
    _Kind(
        "hay-kwiksort",
        "hay_kwiksort",
        "laplace",
        lambda *given, noise, **options: hay_kwiksort_bound(*given, **options),
        "m² where the budget runs out",
        _OURS,
        _SORTED,
        MOST_OF_KWIKSORT,
    ),
    _Kind(
        "exponential",
        "exponential_kemeny",
        "none",
        lambda *given, noise, **options: exponential_bound(*given, **options),
        "m³ log m/(εn)",
        "Hay et al. (2017); McSherry and Talwar (2007)",
        "best possible ratio; time grows as 2^m",
        MOST_OF_EXPONENTIAL,
    ),
)
_BORDA_OF_REPORTS = "the ratio is the best possible; not interactive; full rankings"
_WEIGHTS_OF_REPORTS = f"{_SOLVED}; full rankings"
_REPORTS = (
    ("duchi", "ldp_borda", "local_weights", float("inf")),
    ("privunit", "ldp_borda", "local_weights", float("inf")),
    ("subset-selection", "ldp_borda", "", MOST_OF_SUBSETS),
    ("randomized-response", "", "local_weights", float("inf")),
    ("one-pair", "one_pair_weights", "one_pair_weights", float("inf")),
)
_SHUFFLED = ("shuffled-pair", "shuffled_pair_weights", "shuffled_pair_weights", float("inf"))


def proven_errors(
    num_items: int,
    num_users: int,
    privacy: Privacy,
    *,
    trust: str = "central",
    xi: float = 0.0,
    confidence: float | None = None,
    method: str | None = None,
    noise: str | None = None,
) -> tuple[ProvenError, ...]:
    """What is proven of every method that keeps a promise with this trust: one table.

    Args:
        num_items: m >= 2.
        num_users: n >= 1.
        privacy: what is promised: unit user, adjacency replace; concrete. Methods of noise other than Gaussian keep it
            without δ.
        trust: ``"central"``, ``"shuffled"`` (needs δ > 0) or ``"local"``. Methods of less trust keep the promise too,
            with larger errors but in tiny crowds.
        xi: ξ >= 0 of the solver of methods that need one, 0 if it finds the optimum.
        confidence: None for bounds on the mean cost; else the probability with which they bound the cost itself.
        method: None for all methods; else the name of one.
        noise: None for all noises and mechanisms; else the name of one.

    Returns:
        A row for each method and noise; those that can't take so many items or so few users are left out.

    Raises:
        ValueError: a promise that the methods can't keep, fewer than 2 items or no users, ξ < 0, an unknown trust.

    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> for row in proven_errors(10, 10_000, privacy)[:3]:
    ...     row.method, row.noise, round(row.ratio, 3), round(row.additive, 3)
    ('borda', 'k-norm', 5.0, 0.078)
    ('borda', 'laplace', 5.0, 0.1)
    ('footrule', 'tree', 1.947, 0.332)
    """
    check_choice("trust", trust, TRUSTS)
    check_sizes(num_items, num_users)
    if trust == "central":
        found = _central(num_items, num_users, privacy)
    elif trust == "shuffled":
        attained = promise_of_shuffled(privacy, "proven_errors")
        local = shuffled_local_epsilon(num_users, attained.epsilon, attained.delta)
        found = _reported(num_items, num_users, local, trust)
    else:
        epsilon = float(of_rankings(privacy, "proven_errors").epsilon)
        found = [
            *_reported(num_items, num_users, epsilon, trust),
            *_local_only(num_items, num_users, privacy),
        ]
    rows = []
    for kind in found:
        if (method or kind.method) == kind.method and (noise or kind.noise) == kind.noise:
            options = {"xi": xi} if kind.remark in (_SOLVED, _WEIGHTS_OF_REPORTS) else {}
            bound = kind.bound(confidence=confidence, **options)
            rows.append(_row(kind, bound, trust, num_items))
    return tuple(rows)


def least_proven_error(
    num_items: int,
    num_users: int,
    privacy: Privacy,
    *,
    trust: str = "central",
    optimum: float | None = None,
    xi: float = 0.0,
    confidence: float | None = None,
) -> ProvenError:
    """The method of least proven cost (ratio - 1)·OPT + additive, from public facts only.

    Args:
        num_items, num_users, privacy, trust, xi, confidence: as for :func:`proven_errors`.
        optimum: public upper estimate of OPT, in pairs per user, such as the cost of a former consensus; None if there
            is none.

    Returns:
        Its row; ``row.cost(optimum)`` is the least.

    Raises:
        ValueError: as :func:`proven_errors`; a negative estimate.

    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> [least_proven_error(50, 3_000, privacy, optimum=o).method for o in (0.0, 100.0, None)]
    ['borda', 'footrule', 'noise-all']
    """
    rows = proven_errors(num_items, num_users, privacy, trust=trust, xi=xi, confidence=confidence)
    return min(rows, key=lambda row: (row.cost(optimum), row.additive))


def _some_delta(privacy: Privacy) -> bool:
    return float(privacy.delta) > 0


def _central(items: int, users: int, privacy: Privacy) -> Iterator[_Kind]:
    for kind in _CENTRAL:
        if items <= kind.most and (kind.noise != "gaussian" or _some_delta(privacy)):
            yield kind._replace(
                bound=functools.partial(kind.bound, items, users, privacy, noise=kind.noise)
            )


def _reported(items: int, users: int, epsilon: float, trust: str) -> Iterator[_Kind]:
    """Local or shuffled reports; ``epsilon`` is that of a report."""
    where = "" if trust == "local" else ", ε of a report"
    for mechanism, scores, weights, most in _REPORTS if trust == "local" else (_SHUFFLED,):
        answers = mechanism in ("one-pair", "shuffled-pair")
        if items > most or (answers and users < items * (items - 1) // 2):
            continue
        given = items, users, epsilon
        if scores:
            bound = _on_host(ldp_borda_bound, *given, mechanism=mechanism)
            order = f"m^2.5/(ε√n){where}"
            yield _Kind("borda", scores, mechanism, bound, order, _OURS, _BORDA_OF_REPORTS)
        if weights:
            bound = _on_host(local_noise_all_bound, *given, mechanism=mechanism)
            order = f"{'m⁴' if mechanism == 'randomized-response' else 'm³'}/(ε√n){where}"
            source = f"{_ALABI}, 9" if mechanism == "duchi" else _OURS
            yield _Kind("noise-all", weights, mechanism, bound, order, source, _WEIGHTS_OF_REPORTS)


def _local_only(items: int, users: int, privacy: Privacy) -> Iterator[_Kind]:
    """Methods without a shuffled form."""
    epsilon = float(privacy.epsilon)
    if items <= MOST_OF_FOOTRULE:
        bound = _on_host(ldp_footrule_bound, items, users, epsilon)
        yield _Kind("footrule", "ldp_footrule", "cut", bound, "m³/(ε√n)", _OURS, _TWICE)
    if items <= min(users, MOST_OF_KWIKSORT):
        uses = int(local_plan(items, privacy, split=SPLIT).max_uses)
        never = uses >= items * (items - 1) // 2
        failure = 0.0 if never else refusal_bound(items, uses)
        share = 1 - 1e-12 if never else SPLIT
        bound = _on_host(
            ldp_kwiksort_bound, items, users, epsilon, max_uses=uses, failure=failure, split=share
        )
        order, source = "m^2.5 log m/(ε√n)", f"{_ALABI}, 12"
        yield _Kind(
            "kwiksort", "ldp_kwiksort", "randomized-response", bound, order, source, _SORTED
        )


def _on_host(
    function: Callable[..., Bound], items: int, users: int, epsilon: float, **options: Any
) -> Callable[..., Bound]:
    """The bound as a function of its other options, by NumPy."""

    def bound(**others: Any) -> Bound:
        return quickly(functools.partial(function, items, users, **options, **others), epsilon)

    return bound


def _row(kind: _Kind, bound: Bound, trust: str, items: int) -> ProvenError:
    return ProvenError(
        kind.method,
        kind.function,
        kind.noise,
        trust,
        trust == "local" or (trust == "central" and kind.noise != "gaussian"),
        float(bound.ratio),
        float(bound.additive),
        kind.order,
        kind.source,
        items * (items - 1) // 2,
        kind.remark,
    )
