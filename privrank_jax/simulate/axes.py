"""Named axes of metrics: nested dicts of one replicate in, flat values with a label on each axis out."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

METRIC = "metric"

Label = bool | int | float | str
Labels = tuple[Label | None, ...]  # one per axis, None where a metric does not have that axis


@functools.partial(jax.tree_util.register_dataclass, data_fields=["values"], meta_fields=["labels"])
@dataclass(frozen=True)
class Outcome:
    """The metrics of one replicate, or of a batch of replicates.

    Attributes:
        values: one scalar (or one array over the batch) per metric.
        labels: the label of each value on every axis.
    """

    values: tuple[Any, ...]
    labels: tuple[Labels, ...]


def labeled(values: Any, *labels: Sequence[Label]) -> dict[Label, Any]:
    """Nest the entries of an array in dicts under their labels, one level per leading axis.

    >>> labeled([[1.0, 2.0], [3.0, 4.0]], ("mle", "counts"), (0.5, 1.0))
    {'mle': {0.5: 1.0, 1.0: 2.0}, 'counts': {0.5: 3.0, 1.0: 4.0}}

    Args:
        values: array whose leading axes have as many entries as there are labels.
        labels: the labels along each of these axes.

    Returns:
        Nested dicts; entries of the last level are arrays of the remaining axes.

    Raises:
        ValueError: an axis has a different number of entries than labels.
    """
    first, *rest = labels
    return {
        label: labeled(entry, *rest) if rest else entry
        for label, entry in zip(first, values, strict=True)
    }


def check_axes(axes: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    """Check the names of the axes and return them as a tuple.

    Raises:
        ValueError: ``"metric"`` is not among them, or a name is repeated or is one of the ``taken`` columns.
    """
    names = (axes,) if isinstance(axes, str) else tuple(axes)
    if METRIC not in names or len(set(names)) != len(names):
        raise ValueError(f"axes must be different names, {METRIC!r} among them; got {names}")
    if both := sorted(set(names) & set(taken)):
        raise ValueError(f"axes {both} are parameters, or columns of the result; rename them")
    return names


def flatten(found: object, axes: tuple[str, ...]) -> Outcome:
    """Flatten the metrics of a trial, sorted by metric, then by their labels along the axes.

    Each key on the way to a value is its label on one axis, in the order of ``axes``. A value at a higher level lacks
    the axes below it; if ``metric`` is one of those, its last key is its metric.

    Raises:
        ValueError: not a dict, an empty dict, more levels than axes, an invalid key, or two values with the same
            labels.
    """
    if not isinstance(found, Mapping) or not found:
        raise ValueError("must return a dict of metrics with an entry")
    placed: dict[Labels, Any] = {}
    for keys, value in _leaves(found, ()):
        place = _place(keys, axes)
        if place in placed:
            raise ValueError(f"returns two values for {dict(zip(axes, place))}")
        placed[place] = value
    metric = axes.index(METRIC)
    order = sorted(placed, key=lambda place: [_rank(place[metric]), *map(_rank, place)])
    return Outcome(tuple(placed[place] for place in order), tuple(order))


def columns(labels: Labels, axes: tuple[str, ...]) -> dict[str, Label | None]:
    """Return the columns of a metric's row: every other axis, then the metric.

    >>> columns(("l2_error", "mle"), ("metric", "estimator"))
    {'estimator': 'mle', 'metric': 'l2_error'}
    """
    found = dict(zip(axes, labels, strict=True))
    metric = found.pop(METRIC)
    return {**found, METRIC: metric}


def _leaves(node: object, keys: tuple[Label, ...]) -> Iterator[tuple[tuple[Label, ...], object]]:
    if not isinstance(node, Mapping):
        yield keys, node
        return
    for key, below in node.items():
        label = key.item() if isinstance(key, np.generic) else key
        if not isinstance(label, Label):
            raise ValueError(f"must have names, numbers or truth values as keys; got {key!r}")
        yield from _leaves(below, (*keys, label))


def _place(keys: tuple[Label, ...], axes: tuple[str, ...]) -> Labels:
    if len(keys) > len(axes):
        raise ValueError(
            f"returns dicts of {len(keys)} levels, with keys such as {keys}, but its axes are {axes}: "
            "name every level in `axes`"
        )
    named = dict(zip(axes, keys))
    if METRIC not in named:
        named = {**dict(zip(axes, keys[:-1])), METRIC: keys[-1]}
    if not isinstance(named[METRIC], str):
        raise ValueError(f"must name its metrics by strings; got {named[METRIC]!r}")
    return tuple(named.get(axis) for axis in axes)


def _rank(label: Label | None) -> tuple[int, Label]:
    """Sort key for labels of any kind: None first, then numbers, then names."""
    if label is None:
        return 0, 0
    return (2, label) if isinstance(label, str) else (1, label)
