"""Naive twins of mixed effects."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special

from tests.reference.label_losses import clean_loss


def mixed_loss(theta, gamma, answers, observed, ridge):
    """Negative log-likelihood with its ridges, answer by answer."""
    total = ridge * sum(x * x for x in theta)
    pairs = list(itertools.combinations(range(len(theta)), 2))
    for user, row in enumerate(answers):
        for (i, j), answer, seen in zip(pairs, row, observed[user], strict=True):
            if seen:
                logit = gamma[user] + theta[i] - theta[j]
                total += answer * clean_loss(logit, 1) + (1 - answer) * clean_loss(logit, 0)
    return total


def mixed_fit(answers, observed, num_items, ridge):
    """``(theta, gamma)`` by a general-purpose minimizer."""
    users = len(answers)
    found = scipy.optimize.minimize(
        lambda x: mixed_loss(x[:num_items], x[num_items:], answers, observed, ridge),
        np.zeros(num_items + users),
        method="BFGS",
        options={"gtol": 1e-7, "maxiter": 2000},
    )
    return found.x[:num_items], found.x[num_items:]
