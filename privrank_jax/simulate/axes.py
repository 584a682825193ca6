"""Named axes of metrics: nested dicts of one replicate in, flat values with a label on each axis out."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._pytrees import pytree, static

METRIC = "metric"

Label = bool | int | float | str
"""A name on an axis, or a value of a parameter."""
Labels = tuple[Label | None, ...]  # one per axis, None where a metric does not have that axis


class Labeled(Mapping[Label, Any]):
    """The entries of an array under labels, one level of a mapping per axis: what :func:`labeled` returns.

    A trial may return it in place of nested dicts: XLA compiles an array of many metrics faster than as many scalars.
    The last axes of the array are those with ``labels``, then the ``inner`` ones of an entry.
    """

    def __init__(self, values: Any, labels: tuple[tuple[Label, ...], ...], inner: int = 0):
        self.array, self.labels, self.inner = values, labels, inner

    def __getitem__(self, label: Label) -> Any:
        axis = self.array.ndim - self.inner - len(self.labels)
        entry = self.array[(slice(None),) * axis + (self.labels[0].index(label),)]
        return Labeled(entry, self.labels[1:], self.inner) if self.labels[1:] else entry

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels[0])

    def __len__(self) -> int:
        return len(self.labels[0])

    def __repr__(self) -> str:
        return repr(dict(self))


jax.tree_util.register_pytree_node(
    Labeled,
    lambda one: ((one.array,), (one.labels, one.inner)),
    lambda static, leaves: Labeled(*leaves, *static),
)


@pytree
class Outcome:
    """The metrics of one replicate, or of a batch of replicates."""

    values: tuple[Any, ...]  # scalars, or vectors of several metrics; with a batch in front
    # The labels of each entry of each value on every axis.
    places: tuple[tuple[Labels, ...], ...] = static()
    order: tuple[int, ...] = static()  # all entries, sorted by metric, then by their labels

    @property
    def labels(self) -> tuple[Labels, ...]:
        """The labels of all metrics, sorted."""
        every = [*itertools.chain(*self.places)]
        return tuple(every[place] for place in self.order)


def labeled(values: Any, *labels: Sequence[Label]) -> Labeled:
    """Put labels on the leading axes of an array: a mapping with one level for each of them.

    >>> float(labeled([[1.0, 2.0], [3.0, 4.0]], ("mle", "counts"), (0.5, 1.0))["counts"][0.5])
    3.0

    Args:
        values: array whose leading axes have as many entries as there are labels.
        labels: along each of these axes.

    Returns:
        A :class:`Labeled`; entries of the last level are arrays of the remaining axes.

    Raises:
        ValueError: an axis has a different number of entries than labels.
    """
    array = jnp.asarray(values)
    named = tuple(tuple(_label(label) for label in names) for names in labels)
    if array.shape[: len(named)] != tuple(map(len, named)):
        sizes = " x ".join(str(len(names)) for names in named)
        raise ValueError(f"{sizes} labels do not fit an array of shape {array.shape}")
    return Labeled(array, named, array.ndim - len(named))


def check_axes(axes: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    """Names of axes as a tuple; ``ValueError`` unless all differ, also from ``taken``, and ``"metric"`` is one."""
    names = (axes,) if isinstance(axes, str) else tuple(axes)
    if METRIC not in names or len(set(names)) != len(names):
        raise ValueError(f"axes must be different names, {METRIC!r} among them; got {names}")
    if both := sorted(set(names) & set(taken)):
        raise ValueError(f"axes {both} are parameters, or columns of the result; rename them")
    return names


def flatten(found: object, axes: tuple[str, ...]) -> Outcome:
    """Flatten the metrics of a trial, or raise ``ValueError`` on what are none.

    Each key on the way to a value is its label on one axis, in the order of ``axes``. A value at a higher level lacks
    the axes below it; if ``metric`` is one of those, its last key is its metric.
    """
    if not isinstance(found, Mapping) or not found:
        raise ValueError("must return a dict of metrics with an entry")
    leaves = list(_leaves(found, ()))
    places = []
    for keys, value in leaves:
        below = itertools.product(*value.labels) if isinstance(value, Labeled) else [()]
        places.append(tuple(_place((*keys, *labels), axes) for labels in below))
    every = [*itertools.chain(*places)]
    for place, count in Counter(every).items():
        if count > 1:
            raise ValueError(f"returns two values for {dict(zip(axes, place))}")
    metric = axes.index(METRIC)
    order = sorted(
        range(len(every)), key=lambda n: [_rank(every[n][metric]), *map(_rank, every[n])]
    )
    values = [value for _, value in leaves]
    for at, value in enumerate(values):
        if isinstance(value, Labeled):  # all entries in row order; the entry itself if there is one
            values[at] = value.array.reshape(() if value.array.size == 1 else (value.array.size,))
    return Outcome(tuple(values), tuple(places), tuple(order))


def columns(labels: Labels, axes: tuple[str, ...]) -> dict[str, Label | None]:
    """The columns of a metric's row: every other axis, then the metric."""
    found = dict(zip(axes, labels, strict=True))
    metric = found.pop(METRIC)
    return {**found, METRIC: metric}


def _leaves(node: object, keys: tuple[Label, ...]) -> Iterator[tuple[tuple[Label, ...], object]]:
    if not isinstance(node, Mapping) or (isinstance(node, Labeled) and not node.inner):
        yield keys, node
        return
    for key, below in node.items():
        yield from _leaves(below, (*keys, _label(key)))


def _label(key: object) -> Label:
    label = key.item() if isinstance(key, np.generic) else key
    if not isinstance(label, Label):
        raise ValueError(f"must have names, numbers or truth values as keys; got {key!r}")
    return label


def _place(keys: tuple[Label, ...], axes: tuple[str, ...]) -> Labels:
    if len(keys) > len(axes):
        raise ValueError(f"returns dicts of {len(keys)} levels, but its axes are {axes}: name all")
    named = dict(zip(axes, keys))
    if METRIC not in named:
        named = {**dict(zip(axes, keys[:-1])), METRIC: keys[-1]}
    if not isinstance(named[METRIC], str):
        raise ValueError(f"must name its metrics by strings; got {named[METRIC]!r}")
    return tuple(named.get(axis) for axis in axes)


def _rank(label: Label | None) -> tuple[int, Label]:
    """Sort key for labels of any kind: None first, then numbers, then names."""
    return (0, 0) if label is None else (2 if isinstance(label, str) else 1, label)
