"""Naive NumPy twins of what extends randomized response: losses, mixed effects, intransitivity, planner.

Plain loops over plain numbers, no JAX, as in ``tests.reference``.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special

from tests import reference

# --- loss ----------------------------------------------------------------------------------------


def clean_loss(difference, label):
    """-log P(label) of the logistic model."""
    return math.log1p(math.exp(-abs(difference))) + max(0.0, -difference if label else difference)


def preference_loss(difference, report, epsilon):
    """Natarajan's unbiased estimator, from the flip probability."""
    flip = 1 / (1 + math.exp(epsilon))
    kept, flipped = clean_loss(difference, report), clean_loss(difference, 1 - report)
    return ((1 - flip) * kept - flip * flipped) / (1 - 2 * flip)


# --- mixed effects -------------------------------------------------------------------------------


def mixed_loss(theta, gamma, answers, observed, ridge, user_ridge=0.0):
    """Negative log-likelihood with its ridges, answer by answer."""
    total = ridge * sum(x * x for x in theta) + 0.5 * user_ridge * sum(x * x for x in gamma)
    pairs = list(itertools.combinations(range(len(theta)), 2))
    for user, row in enumerate(answers):
        for (i, j), answer, seen in zip(pairs, row, observed[user], strict=True):
            if seen:
                logit = gamma[user] + theta[i] - theta[j]
                total += answer * clean_loss(logit, 1) + (1 - answer) * clean_loss(logit, 0)
    return total


def mixed_fit(answers, observed, num_items, ridge, user_ridge=0.0):
    """``(theta, gamma)`` by a general-purpose minimizer."""
    users = len(answers)
    found = scipy.optimize.minimize(
        lambda x: mixed_loss(x[:num_items], x[num_items:], answers, observed, ridge, user_ridge),
        np.zeros(num_items + users),
        method="BFGS",
        options={"gtol": 1e-7, "maxiter": 2000},
    )
    return found.x[:num_items], found.x[num_items:]


# --- transitivity --------------------------------------------------------------------------------


def intransitivity(wins):
    """The statistics of one user by enumeration of triads and by search for cycles."""
    size = len(wins)
    beats = [[wins[i][j] > wins[j][i] for j in range(size)] for i in range(size)]
    circular = decided = 0
    for i, j, k in itertools.combinations(range(size), 3):
        decided += all(beats[a][b] or beats[b][a] for a, b in ((i, j), (j, k), (i, k)))
        circular += beats[i][j] and beats[j][k] and beats[k][i]
        circular += beats[j][i] and beats[k][j] and beats[i][k]

    def reaches(start):
        seen, queue = set(), [start]
        while queue:
            at = queue.pop()
            fresh = [b for b in range(size) if beats[at][b] and b not in seen]
            seen.update(fresh)
            queue += fresh
        return start in seen

    counts = [sum(row) for row in wins]
    pairs = [(i, j) for i in range(size) for j in range(size) if i != j]
    complete = all(beats[i][j] or beats[j][i] for i, j in pairs)
    most = (size**3 - (size if size % 2 else 4 * size)) / 24
    return {
        "circular_triads": circular,
        "decided_triads": decided,
        "consistence": 1 - circular / most if complete else math.nan,
        "intransitive": any(reaches(item) for item in range(size)),
        "tied_counts": len(set(counts)) < size,
        "comparisons": sum(counts),
        "conflicts": sum(wins[i][j] for i, j in pairs if counts[i] < counts[j]),
        "level": sum(wins[i][j] for i, j in pairs if counts[i] == counts[j]),
    }


# --- planner -------------------------------------------------------------------------------------


def planned_covariance(link, scores, epsilons, share):
    """Sandwich of the weighted estimating equation, user by user and pair by pair."""
    size = len(scores)
    information = [math.tanh(epsilon / 2) ** 2 for epsilon in epsilons]
    hessian, scatter = np.zeros((size, size)), np.zeros((size, size))
    for i, j in itertools.combinations(range(size), 2):
        chance, _, hazard, _ = reference.link(link, float(scores[i] - scores[j]))
        density = hazard * chance
        direction = np.eye(size)[i] - np.eye(size)[j]
        block = np.outer(direction, direction)
        pull = density / (chance * (1 - chance))
        for value in information:
            weight = value / sum(information)
            variance = 0.25 * (1 / value - (2 * chance - 1) ** 2)
            hessian += share * weight * density * pull * block
            scatter += share * weight**2 * variance * pull**2 * block
    inverse = np.linalg.pinv(hessian)
    return inverse @ scatter @ inverse


def expected_maximum(spread):
    """E max |Z_i| of independent normal variables, by quadrature."""
    below = lambda x: math.prod(scipy.special.erf(x / (s * math.sqrt(2))) for s in spread)  # noqa: E731
    return scipy.integrate.quad(lambda x: 1 - below(x), 0, 12 * max(spread), limit=200)[0]
