r"""Privacy amplification by shuffling, on the host: what n randomized reports reveal once nobody knows whose each is.

**Setting.** Each of n users sends one report, ε₀-DP by itself; a trusted shuffler publishes the multiset of reports and
nothing else. Unit user, adjacency replace. Notation: p = 1/(e^{ε₀}+1) the flip probability, q = 1-p, H(P, Q) = Σ(P -
e^ε Q)₊ the hockey-stick divergence, so that δ(ε) is the largest H of neighbors.

**Reports of one pair** (``question="secret"``). A user draws one of N questions uniformly, in secret, and sends it with
its answer, one bit by randomized response at ε₀ (a fair coin where the user has no answer). Let users 2..n hold any
data, and let user 1 hold x or x', whose answers differ in a share d > 0 of the questions. With probability 1-d user 1
draws another question, and sends the same under x and x'. Otherwise the report is uniform on the dN questions, with x's
answer with probability q (under x) or p (under x').

For every other user, each of the 2dN reports "question and answer" has probability at least p/N, so this user's law is
a mixture that with probability 2pd is uniform on them: a *clone*.

Tell the observer more: all reports that are not clones, whose law is the same under x and x'. Let the observer learn of
the clones, and of user 1's report where it differs, only how many agree with x and how many with x'; which of the
questions each has is independent of this.

Let there be C ~ Bin(n-1, 2pd) clones, A ~ Bin(C, 1/2) of them as x and B = C - A as x'. The observer holds (A + Δ, B +
1 - Δ) with probability d, with Δ ~ Bernoulli(q) under x and Bernoulli(p) under x', and (A, B) otherwise. All of this is
what remains of the pair at d = 1 if each report is kept with probability d: post-processing. So

.. math:: δ(ε) ≤ \sum_c \Pr[C = c]\, δ_c(ε), \qquad C \sim \mathrm{Bin}(n-1, 2p),

with δ_c = H of Bin(c, 1/2) + Bernoulli(q) and Bin(c, 1/2) + Bernoulli(p); swapping A and B swaps the two. Let a = q -
e^ε p and b = e^ε q - p, and let f, T be the probability and the upper tail of Bin(c, 1/2). The likelihood ratio of s is
above e^ε iff f(s-1)/f(s) = s/(c-s+1) > b/a, that is c+1-s < (c+1) a/(a+b). With s* the first such s, δ_c = a T(s*-1) -
b T(s*). A larger n and a smaller ε₀ only decrease δ: reports of known data can be added, and bits flipped again.

The questions must be drawn independently by the users and stay secret; else a report is only hidden among the answers
to its own question:

**One question** (``question="public"``). All n users answer the same question, and the multiset is the number of ones.
If k of the other n-1 answer 1, it is S_k = Bin(k, q) + Bin(n-1-k, p) plus the report of user 1, and the law of S_k is
log-concave; as above δ_k = max_s a P(S_k ≥ s-1) - b P(S_k ≥ s), and δ(ε) is exactly the largest of them over k (the
other direction is that of n-1-k).

A user without an answer sends a fair coin, which is a mixture of the laws of 0 and 1 in equal parts; H is convex, so
such users never make it larger. Beyond n = 500 users the smaller of δ at 500 and of the bound above is used, which both
hold.

**Against the shuffler** only ε₀ holds: n must count honest users alone. A user who sends S reports is protected only by
the composition of S releases. Numbers are rounded up by a relative 1e-9 of the largest terms.

Source: Feldman, McMillan and Talwar (2022, 2023) for clones; the proof for secret questions and the exact value for a
public one are ours.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from privrank_jax._search import furthest
from privrank_jax._validate import check_choice, check_delta, check_positive
from privrank_jax.privacy.host import HostNumber, host_number

QUESTIONS = ("secret", "public")
MOST_USERS = 10**9
_EXACT_USERS = 500  # of one question up to whom all numbers of ones are compared
# Numbers of clones; of more, blocks count as their smallest, which only adds to δ.
_MOST_TERMS = 10_000
_SAFETY = 1e-9
_LARGEST_EPSILON = 600.0  # e^ε is finite
_OUTSIDE = 1e-38  # more than the tails of a binomial law that are left out


def shuffled_delta(
    num_users: int, local_epsilon: HostNumber, epsilon: HostNumber, *, question: str = "secret"
) -> float:
    """δ at which the shuffled reports of n users, one bit each by randomized response at ε₀, are (ε, δ)-DP.

    **Guarantee.** Unit user, adjacency replace, trust shuffled; theorems and source head this module.

    Args:
        num_users: n >= 1, those who are honest; at most 10⁹.
        local_epsilon: ε₀ > 0 of each report; ∞ sends the answer itself.
        epsilon: ε >= 0.
        question: ``"secret"``, each user draws one of several, or ``"public"``, all n users answer the same one.

    Returns:
        δ, a float in [0, 1]; 0 for ε >= ε₀.

    Raises:
        ValueError: arguments out of range, an unknown kind of question.

    >>> f"{shuffled_delta(400, 2.0, 0.5):.2g}", f"{shuffled_delta(400, 2.0, 0.5, question='public'):.2g}"
    ('4.8e-05', '6.2e-06')
    """
    _check(num_users, question)
    local = _positive("local_epsilon", local_epsilon)
    return _delta(int(num_users), local, float(host_number("epsilon", epsilon)), question)


def shuffled_epsilon(
    num_users: int, local_epsilon: HostNumber, delta: HostNumber, *, question: str = "secret"
) -> float:
    """ε of the shuffled reports at a given δ in [0, 1); other arguments and errors as of :func:`shuffled_delta`.

    Returns:
        The smallest ε in [0, ε₀], rounded up by less than 1e-9 of ε₀.

    >>> round(shuffled_epsilon(10_000, 4.0, 1e-6), 3)
    0.411
    """
    wanted = _check(num_users, question, delta)
    local = _positive("local_epsilon", local_epsilon)

    def enough(epsilon: float) -> bool:
        return _delta(int(num_users), local, epsilon, question) <= wanted

    if enough(0.0):
        return 0.0
    high = _LARGEST_EPSILON if math.isinf(local) else local
    if math.isinf(local) and not enough(high):
        return math.inf
    return furthest(enough, high, 0.0, absolute=1e-9 * high)


def shuffled_local_epsilon(
    num_users: int, epsilon: HostNumber, delta: HostNumber, *, question: str = "secret"
) -> float:
    """The largest ε₀ whose shuffled reports are (ε, δ)-DP, 0 < ε < ∞; arguments and errors as of the other two.

    Returns:
        ε₀ >= ε, rounded down by less than 1e-4 of itself; at most 600, or ε.

    >>> round(shuffled_local_epsilon(10_000, 1.0, 1e-6), 2)
    5.47
    """
    wanted = _check(num_users, question, delta)
    target = _positive("epsilon", epsilon, infinite=False)

    def enough(local: float) -> bool:
        return _delta(int(num_users), local, target, question) <= wanted

    if target >= _LARGEST_EPSILON:
        return target
    low, high = target, target + 1.0
    if question == "public" and num_users > 1:  # the other kind needs less, and less time
        low = shuffled_local_epsilon(num_users, epsilon, delta)
        high = low + 0.25
    while enough(high):
        low, high = high, high + 2.0
        if high > _LARGEST_EPSILON:
            return low
    return furthest(enough, low, high, relative=1e-4)


def _check(num_users: int, question: str, delta: HostNumber = 0) -> float:
    """δ as a float; raises for arguments out of range."""
    check_choice("question", question, QUESTIONS)
    if not 1 <= num_users <= MOST_USERS or num_users != int(num_users):  # NaN too
        raise ValueError(f"num_users must be an integer from 1 to {MOST_USERS:,}, got {num_users}.")
    value = float(host_number("delta", delta))
    check_delta(value)
    return value


def _positive(name: str, value: HostNumber, infinite: bool = True) -> float:
    found = float(host_number(name, value))
    check_positive(name, found, infinite=infinite)
    return found


def _delta(users: int, local: float, epsilon: float, question: str) -> float:
    if epsilon >= local:
        return 0.0
    epsilon = min(epsilon, _LARGEST_EPSILON)  # δ only falls beyond
    if question == "secret":
        return _of_clones(users, local, epsilon)
    exact = _of_one_question(min(users, _EXACT_USERS), local, epsilon)
    return exact if users <= _EXACT_USERS else min(exact, _of_clones(users, local, epsilon))


def _flip(local: float) -> float:
    return math.exp(-local) / (1 + math.exp(-local))


def _lines(local: float, epsilon: float) -> tuple[float, float]:
    """a = q - e^ε p and b = e^ε q - p, without cancellation."""
    less, whole = -math.expm1(-epsilon - local), 1 + math.exp(-local)
    return -math.expm1(epsilon - local) / whole, math.exp(epsilon) * less / whole


def _of_clones(users: int, local: float, epsilon: float) -> float:
    """The bound for secret questions: the mean over the number c of clones of δ_c."""
    chances, clones = _numbers_of_clones(users, local)
    a, b = _lines(local, epsilon)
    least = clones + 2 - np.ceil((clones + 1) * (a / (a + b)))
    reached, beyond = _coin_tail(clones, least - 1), _coin_tail(clones, least)
    each = np.maximum(a * reached - b * beyond, 0) + _SAFETY * a * reached
    return min(float(chances @ each) + _OUTSIDE, 1.0)


@functools.lru_cache(maxsize=4)
def _numbers_of_clones(users: int, local: float) -> tuple[np.ndarray, np.ndarray]:
    """The law of C: probabilities and numbers, in blocks where they are many."""
    chances, first = _binomial(users - 1, 2 * _flip(local))
    clones = first + np.arange(len(chances), dtype=float)
    if len(chances) > _MOST_TERMS:
        starts = np.arange(0, len(chances), -(-len(chances) // _MOST_TERMS))
        chances, clones = np.add.reduceat(chances, starts), clones[starts]
    return chances, clones


def _coin_tail(coins: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Pr[Bin(coins, 1/2) >= least], least >= 0."""
    from scipy import special  # takes long to import, and few releases are shuffled

    inner = (least >= 1) & (least <= coins)
    tail = special.betainc(np.where(inner, least, 1), np.where(inner, coins - least + 1, 1), 0.5)
    return np.where(inner, tail, least < 1)


def _of_one_question(users: int, local: float, epsilon: float) -> float:
    """The largest divergence over the answers of the other users."""
    a, b = _lines(local, epsilon)
    ones = _numbers_of_ones(users, local)
    gain = a * ones[:, :-1] - b * ones[:, 1:]  # the first and the last column are 0
    most = float(np.max(np.sum(np.maximum(gain, 0), axis=1)))
    reached = float(np.max(np.sum(ones[:, :-1], axis=1, where=gain > 0)))
    return min(most + _SAFETY * a * reached, 1.0)


@functools.lru_cache(maxsize=4)
def _numbers_of_ones(users: int, local: float) -> np.ndarray:
    """Laws of S_k, ``(n, n + 2)``: row k, column s + 1 is Pr[S_k = s], s = -1..n."""
    others, flip = users - 1, _flip(local)
    laws = np.zeros((users, users + 2))
    for ones in range(users):
        kept, at = _binomial(ones, 1 - flip)
        flipped, start = _binomial(others - ones, flip)
        both = np.convolve(kept, flipped)
        laws[ones, 1 + at + start : 1 + at + start + len(both)] = both
    return laws


def _binomial(trials: int, chance: float) -> tuple[np.ndarray, int]:
    """Probabilities of Bin(trials, chance) without tails of less than 1e-38, and the first number they are for."""
    if trials == 0 or chance <= 0 or chance >= 1:
        return np.ones(1), trials if chance >= 1 else 0
    mean = trials * chance
    # Bernstein: outside, both tails together have less than 2 e^-90.
    reach = 14 * math.sqrt(mean * (1 - chance)) + 60
    first, last = max(math.floor(mean - reach), 0), min(math.ceil(mean + reach), trials)
    numbers = np.arange(first, last, dtype=float)
    odds = math.log(chance) - math.log1p(-chance)
    steps = np.log(trials - numbers) - np.log(numbers + 1) + odds
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.exp(logs - np.max(logs))
    return chances / math.fsum(chances), first
