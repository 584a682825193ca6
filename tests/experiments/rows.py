"""Rows made by hand."""

from __future__ import annotations

import dataclasses

from privrank_jax import experiments
from privrank_jax.experiments.study import P
from privrank_jax.simulate.result import StudyResult

ONE = {"metric": ("log_linf_error",), "estimator": ("mle",), "calibration": "published"}


def row(mean, error=0.1, metric="log_linf_error", estimator="mle", **cell):
    head = {"study": "s", "num_items": 10, "epsilon": 1.0, "calibration": "published"}
    return {
        **head, **cell, "estimator": estimator, "metric": metric,
        "mean": mean, "standard_error": error, "replicates": 100, "nonfinite": 0,
    }  # fmt: skip


def table(*rows):
    return StudyResult("s", list(rows))


def cells(name, study=0, **changes):
    return experiments.get(name).configured(**changes).studies()[study].cells


def p_of(name, prepared=None, **cell):
    """What the trial of a study sees: its parameters, changed where ``cell`` names them, and a cell."""
    return P(**{**experiments.get(name).values, **(prepared or {}), **cell})


def as_published(study):
    """A changed study, as if its parameters were the published ones."""
    known = {
        name: dataclasses.replace(one, published=study.values[name])
        for name, one in study.parameters.items()
    }
    return dataclasses.replace(study, parameters=known)
