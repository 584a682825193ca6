"""Naive twins of the accounting: exact composition by sums over all outcomes, exact conversions."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import scipy.optimize
from scipy.special import gammaln

from tests import reference


def response_delta(epsilons, epsilon):
    """δ at ε of independent randomized responses, one outcome after the other (Murtagh and Vadhan 2016)."""
    terms = []
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        likely = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons))
        loss = sum(s * e for s, e in zip(signs, epsilons))
        terms.append(likely * max(0.0, -math.expm1(epsilon - loss)))
    return math.fsum(terms)


def repeated_response_delta(single, count, epsilon):
    """The same for ``count`` equal ones, by a binomial sum (Kairouz, Oh and Viswanath 2015)."""
    kept = np.arange(count + 1)
    loss = (2 * kept - count) * single
    ways = gammaln(count + 1) - gammaln(kept + 1) - gammaln(count - kept + 1)
    likely = np.exp(ways + kept * single - count * np.log1p(np.exp(single)))
    return float(np.sum(likely * -np.expm1(np.minimum(epsilon - loss, 0))))


def with_failures(delta, deltas):
    """δ when each release also fails altogether, with its own δ."""
    return 1 - math.prod(1 - one for one in deltas) * (1 - delta)


def response_and_gaussian_delta(single, shift, epsilon):
    """One randomized response beside N(0, 1) against N(shift, 1)."""
    return sum(
        reference.gaussian_delta(1.0, shift, epsilon - loss) / (1 + math.exp(-loss))
        for loss in (single, -single)
    )


def gaussian_delta(precision, epsilon, digits=60):
    """δ of a Gaussian mechanism of (Δ₂/σ)² = ``precision`` to 30 digits, both fractions (Balle and Wang 2018)."""
    with mpmath.workdps(digits):
        shift = mpmath.sqrt(mpmath.mpf(precision.numerator) / precision.denominator)
        at = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        lost = int(max(0, mpmath.log10((1 + at / shift) / shift)))
    with mpmath.workdps(digits + lost):  # digits that cancel
        shift = mpmath.sqrt(mpmath.mpf(precision.numerator) / precision.denominator)
        at = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        first = mpmath.ncdf(shift / 2 - at / shift)
        return first - mpmath.exp(at) * mpmath.ncdf(-shift / 2 - at / shift)


def least_epsilon(delta_of, delta, most):
    """Smallest ε >= 0 with delta_of(ε) <= δ, by Brent's method in log δ; ``most`` is an ε that suffices."""
    if delta_of(0.0) <= delta:
        return 0.0

    def excess(epsilon):
        return math.log(max(delta_of(epsilon), 1e-300)) - math.log(delta)

    return scipy.optimize.brentq(excess, 0.0, most, xtol=1e-13)


def bun_steinke_epsilon(rho, delta):
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def canonne_kamath_steinke_epsilon(rho, delta):
    """Proposition 12, minimized over the order."""

    def bound(log_excess):
        alpha = 1 + math.exp(log_excess)
        return rho * alpha + math.log1p(-1 / alpha) - math.log(delta * alpha) / (alpha - 1)

    start = math.log(math.sqrt(math.log(1 / delta) / rho))
    found = scipy.optimize.minimize_scalar(
        bound, bounds=(start - 3, start + 3), method="bounded", options={"xatol": 1e-10}
    )
    return max(0.0, found.fun)


def response_divergence(epsilon, alpha):
    """Rényi's divergence of order α between the two laws of randomized response."""
    kept, flipped = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))
    total = kept**alpha * flipped ** (1 - alpha) + flipped**alpha * kept ** (1 - alpha)
    return math.log(total) / (alpha - 1)


def laplace_outcomes(unit, change):
    """The outcomes of integer Laplace noise of scale 1/``unit`` that two laws, ``change`` apart, tell apart.

    Pairs of their probabilities around 0 and around ``change``: everything up to 0, each x between, all from there on.
    """
    ratio = math.exp(-unit)
    tail, single = 1 / (1 + ratio), (1 - ratio) / (1 + ratio)
    if not change:
        return [(1.0, 1.0)]
    first = [(tail, ratio**change * tail)]
    between = [(single * ratio**x, single * ratio ** (change - x)) for x in range(1, change)]
    return [*first, *between, (ratio**change * tail, tail)]


def laplace_delta(unit, changes, epsilon):
    """δ at ε of independent integer noise of scale 1/``unit`` on numbers with these changes, outcome by outcome."""
    total = 0.0
    for outcome in itertools.product(*(laplace_outcomes(unit, one) for one in changes)):
        p, q = (math.prod(law) for law in zip(*outcome))
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


def convolved_delta(unit, changes, count, epsilon):
    """The same of ``count`` such releases, by a convolution of the losses, all multiples of ``unit``."""
    law = np.ones(1)
    for change in list(changes) * count:
        masses = np.zeros(2 * change + 1)
        masses[::2] = [p for p, _ in reversed(laplace_outcomes(unit, change))]
        law = np.convolve(law, masses)
    loss = (np.arange(len(law)) - len(law) // 2) * unit
    return float(np.sum(law * -np.expm1(np.minimum(epsilon - loss, 0))))


def laplace_divergence(unit, changes, alpha):
    """Rényi's divergence of order α of the two laws of integer noise of scale 1/``unit``, outcome by outcome."""
    total = 0.0
    for change in changes:
        powers = (p**alpha * q ** (1 - alpha) for p, q in laplace_outcomes(unit, change))
        total += math.log(math.fsum(powers)) / (alpha - 1)
    return total


def gaussian_outcomes(scale, change, reach):
    """Outcomes of discrete Gaussian noise around 0 and around ``change``, pairs of probabilities; tails are merged."""
    x = np.arange(-40 * reach, 40 * reach)
    laws = []
    for center in (0, change):
        law = np.exp(-((x - center) ** 2) / (2 * scale**2))
        places = np.clip(x, -reach, change + reach) + reach
        laws.append(np.bincount(places, law / law.sum()).tolist())
    return list(zip(*laws))


class LedgerRule:
    """What a ledger allows, one release after the other; ``counts`` says whether δ of Gaussian noise ever counts.

    A release is (ε, δ, r, whether its noise is Gaussian); a state is Σε, Σδ, Σr, and whether the plain sum holds.
    """

    start = (0.0, 0.0, 0.0, True)

    def __init__(self, epsilon, delta, slack, order, counts=True):
        self.epsilon, self.failures, self.counts = epsilon, delta - slack, counts
        constant = (1 - 1 / order) ** (order - 1) / order
        self.most = epsilon - math.log(constant / slack) / (order - 1)

    def after(self, state, release):
        """The state after a further release; None if it is refused."""
        spent, failures, divergence, plain = state
        epsilon, delta, cost, gaussian = release
        spent, divergence = round(spent + epsilon, 12), round(divergence + cost, 12)
        plain = plain and spent <= self.epsilon and failures + delta <= self.failures + 1e-12
        if not gaussian or (plain and self.counts):
            failures = round(failures + delta, 12)
        if failures > self.failures + 1e-12 or not (plain or divergence <= self.most):
            return None
        return spent, failures, divergence, plain


def worst_adaptive_delta(rule, releases, laws, epsilon, most=math.inf):
    """The largest δ at ε of at most so many releases, each chosen after the outcomes so far from those given.

    ``laws`` are the (p, q) of the outcomes of each. The search goes through all strategies that the rule allows.
    """
    seen = {}

    def worst(state, loss, made):
        key = state, round(loss, 9), made if most < math.inf else 0
        if key not in seen:
            seen[key] = max(0.0, -math.expm1(min(0.0, epsilon - loss)))
            for release, outcomes in zip(releases, laws) if made < most else ():
                after = rule.after(state, release)
                if after is not None:
                    found = math.fsum(
                        p * worst(after, loss + (math.log(p / q) if q else math.inf), made + 1)
                        for p, q in outcomes
                        if p
                    )
                    seen[key] = max(seen[key], found)
        return seen[key]

    return worst(rule.start, 0.0, 0)
