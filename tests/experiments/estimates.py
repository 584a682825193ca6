"""The public estimators at the calibration of a study, one estimate at a time."""

from __future__ import annotations

import jax.numpy as jnp

from privrank_jax.simulate.axes import flatten


def by_mle(key, wins, unit, epsilon, calibration):
    """The public estimator, at its own calibration."""
    asked = unit.promise(epsilon, calibration.adjacency)
    return calibration.fit(key, wins, asked)


def by_counts(key, wins, unit, epsilon, calibration):
    """Noisy totals N + w, turned into N - w."""
    asked = unit.promise(epsilon, calibration.adjacency)
    return 2 * wins.totals - calibration.counts(key, wins, asked).value


def placed(found, axes):
    """What a trial returned, by the labels of each value along its axes."""
    outcome = flatten(found, axes)
    entries = [entry for value in outcome.values for entry in jnp.ravel(value)]
    return dict(zip(outcome.labels, (entries[place] for place in outcome.order), strict=True))
