"""Fits to released counts where the design is public, as the documentation does them."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax

from privrank_jax import pairwise
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.maximum_likelihood import design_of
from privrank_jax.pairwise.ridges import default_ridges


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known of a fit."""

    noise_scale: Any
    gamma: Any
    tie_gamma: Any
    fit: Any


def released(key, data, privacy, *, ties="half", noise=None, gamma=None, tie_gamma=None):
    """The ridge fit to noisy counts of a table or of choices, with its noise and ridges."""
    davidson = ties == "davidson"
    record = pairwise.noisy_sums_and_ties if davidson else pairwise.noisy_sums
    if isinstance(data, pairwise.Choices):
        record = pairwise.noisy_choices
    noisy = record(key, data, privacy, noise=noise)
    design = design_of(data, davidson)[0]
    added = record.noise(privacy, record.data.floats(data)[1], noise)
    ridges = default_ridges(design, added, gamma, tie_gamma)
    found = pairwise.fit(design, noisy.value, *ridges)
    return Estimate(found.value, noisy.guarantee, Facts(added.scale, *ridges, found.diagnostics))
