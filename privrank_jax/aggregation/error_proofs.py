r"""What is proven of every private consensus: one table of ratios and additive errors,.

**Rows.** A row bounds the Kemeny cost of one method, E K(σ, w) ≤ ratio·OPT + additive, whatever the rankings; with a
confidence the cost itself. Proofs and constants: :mod:`~privrank_jax.aggregation.bounds`.

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
(:mod:`~privrank_jax.aggregation.borda_theorem`). The means of sums and ranges of central noise are exact, or bounded to
within 13 %; those of local reports bound a mean by a root mean square, 1.25 times it for
normal errors. But errors rarely all count: cost lies far below these bounds in most crowds, as
:func:`~privrank_jax.plan` simulates them.
"""

from __future__ import annotations

import dataclasses

from privrank_jax._validate import check_choice, check_nonnegative
from privrank_jax.aggregation.bounds import ROWS, SUMMED, bound, check_sizes
from privrank_jax.privacy.guarantee import TRUSTS
from privrank_jax.privacy.privacy import Privacy

_TOLD = ("method", "function", "noise", "trust", "order", "source", "remark")


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
        >>> (row,) = proven_errors(10, 10_000, privacy, method="exponential")
        >>> round(row.cost(10.0), 2)
        0.14
        """
        highest = self.pairs / 2
        if optimum is not None:
            check_nonnegative("optimum", optimum)
            highest = min(optimum, highest)
        if self.additive >= self.pairs:
            return float(self.pairs)
        highest = min(highest, (self.pairs - self.additive) / (self.ratio + 1))
        return (self.ratio - 1) * highest + self.additive


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
        privacy: what is promised: unit user, adjacency replace, or add-remove, which only some methods of a curator
            keep; concrete. Methods of noise other than Gaussian keep it without δ.
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
    ('footrule', 'k-norm', 1.947, 0.417)
    """
    check_choice("trust", trust, TRUSTS)
    check_sizes(num_items, num_users)
    found = []
    for row in ROWS:
        wanted = row.trust == trust and method in (None, row.method) and noise in (None, row.noise)
        fits = num_items <= row.most_items and num_users >= row.least_users(num_items)
        pure = row.noise != "gaussian"
        summed = privacy.adjacency != "add-remove" or trust != "central" or row.method in SUMMED
        if not (wanted and fits and summed and (pure or float(privacy.delta) > 0)):
            continue
        settings = {"trust": trust, "noise": row.noise, "confidence": confidence}
        settings |= {"xi": xi} if row.solves else {}
        proven = bound(row.method, num_items, num_users, privacy, **settings)
        told = {field: getattr(row, field) for field in _TOLD}
        pairs = num_items * (num_items - 1) // 2
        found.append(
            ProvenError(**told, **proven._asdict(), pure=pure and trust != "shuffled", pairs=pairs)
        )
    return tuple(found)
