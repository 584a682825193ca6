"""Naive twins of objective perturbation for answers with several alternatives: densities and minimizers by loops.

An answer is ``(alternatives, chosen, times)``: a list of feature vectors, the number of the one that was given, and how
often.
"""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np


def meeting(first, second, outcome, features=(), *, items, davidson=False, times=1):
    """Answers about two items: one, or halves of a win and a loss where a tie is half a win; ``outcome`` is 0, ½, 1."""
    z = [0.0] * items + list(features)
    z[first] += 1
    z[second] -= 1
    tau = [0.0] if davidson else []
    win, loss = [x / 2 for x in z] + tau, [-x / 2 for x in z] + tau
    if davidson:
        tie = [0.0] * len(z) + [0.5]
        return [([loss, tie, win], round(2 * outcome), times)]
    shares = ((0, 1 - outcome), (1, outcome))
    return [([loss, win], which, share * times) for which, share in shares if share]


def choice(offered, chosen, *, items, times=1):
    vectors = [[float(k == item) for k in range(items)] for item in offered]
    return [(vectors, list(offered).index(chosen), times)]


def derivatives(answers, beta, gamma):
    """Gradient and second derivative of the objective without noise."""
    beta = np.asarray(beta, float)
    slope, bend = gamma * beta, gamma * np.eye(len(beta))
    for vectors, chosen, times in answers:
        vectors = np.array(vectors)
        logs = vectors @ beta
        chances = np.exp(logs - logs.max())
        chances /= chances.sum()
        mean = chances @ vectors
        slope = slope + times * (mean - vectors[chosen])
        for chance, vector in zip(chances, vectors):
            bend += times * chance * np.outer(vector - mean, vector - mean)
    return slope, bend


def log_density(answers, beta, scales, gamma):
    """Log density of the minimizer at β where the noise is Laplace with these scales."""
    slope, bend = derivatives(answers, beta, gamma)
    noise = sum(-abs(x) / s - math.log(2 * s) for x, s in zip(slope, scales))
    return noise + np.linalg.slogdet(bend)[1]


def worst_loss(bases, contents, points, scales, gamma, adjacency, group=lambda content: None):
    """The largest log ratio of densities between neighbors: contents of one unit, beside each base, at any point.

    Under flips neighbors have contents of one group.
    """
    worst = 0.0
    for base in bases:
        logs = np.array(
            [
                [log_density(base + content, point, scales, gamma) for point in points]
                for content in contents
            ]
        )
        groups = [group(content) for content in contents]
        near = [
            (a, b)
            for a, b in itertools.combinations(range(len(contents)), 2)
            if groups[a] == groups[b]
        ]
        if adjacency == "add-remove":
            empty = next(k for k, content in enumerate(contents) if not content)
            near = ((empty, k) for k in range(len(contents)))
        worst = max(worst, *(np.abs(logs[a] - logs[b]).max() for a, b in near))
    return worst


def exact_slope(answers, beta):
    """The gradient of minus the log-likelihood, with the digits that ``mpmath`` has."""
    slope = [mpmath.mpf(0)] * len(beta)
    for vectors, chosen, times in answers:
        powers = [mpmath.exp(sum(x * b for x, b in zip(v, beta))) for v in vectors]
        for k in range(len(beta)):
            mean = sum(power * v[k] for power, v in zip(powers, vectors)) / sum(powers)
            slope[k] += times * (mean - vectors[chosen][k])
    return slope


def exact_minimizer(answers, tilt, gamma, scores, digits=50):
    """The minimizer with many digits by Newton's method, halving long steps; its first ``scores`` entries centered."""
    # The last fall of the loss has twice as many digits behind the point, and must not end in rounding.
    with mpmath.workdps(3 * digits):
        gamma, size = mpmath.mpf(gamma), len(tilt)

        def at(beta):
            value = sum(gamma * b * b / 2 + w * b for b, w in zip(beta, tilt))
            slope = [gamma * b + w for b, w in zip(beta, tilt)]
            bend = mpmath.diag([gamma] * size)
            for vectors, chosen, times in answers:
                logs = [sum(x * b for x, b in zip(v, beta)) for v in vectors]
                total = mpmath.log(sum(map(mpmath.exp, logs)))
                value += times * (total - logs[chosen])
                chances = [mpmath.exp(one - total) for one in logs]
                mean = [sum(c * v[k] for c, v in zip(chances, vectors)) for k in range(size)]
                for k in range(size):
                    slope[k] += times * (mean[k] - vectors[chosen][k])
                    for j in range(size):
                        bend[k, j] += times * sum(
                            c * (v[k] - mean[k]) * (v[j] - mean[j])
                            for c, v in zip(chances, vectors)
                        )
            return value, slope, bend

        beta = [mpmath.mpf(0)] * size
        value, slope, bend = at(beta)
        while max(map(abs, slope)) > mpmath.mpf(10) ** -digits:
            step, length = mpmath.lu_solve(bend, mpmath.matrix(slope)), mpmath.mpf(1)
            fall = sum(s * d for s, d in zip(slope, step))
            while True:
                moved = [b - length * d for b, d in zip(beta, step)]
                found = at(moved)
                if found[0] <= value - length * fall / 4:
                    break
                length /= 2
            beta, (value, slope, bend) = moved, found
        mean = sum(beta[:scores]) / scores
        return [b - mean for b in beta[:scores]] + beta[scores:]
