"""The promise that a private function is asked to keep, as a pytree, and which promise a mechanism attains."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import jax

from privrank_jax._neighbors import ADJACENCIES, COMPARISON_KINDS, COVERS, UNITS, in_words
from privrank_jax._promise import LEAVES, STATIC, Kind, Privacy, unflattened

__all__ = ["ADJACENCIES", "COMPARISON_KINDS", "UNITS", "Kind", "Privacy"]


def _flatten(privacy: Privacy) -> tuple[tuple[object, ...], tuple[object, ...]]:
    leaves = tuple(getattr(privacy, name) for name in LEAVES)
    return leaves, tuple(getattr(privacy, name) for name in STATIC)


def _flatten_with_keys(privacy: Privacy) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    leaves, static = _flatten(privacy)
    return tuple(zip(map(jax.tree_util.GetAttrKey, LEAVES), leaves)), static


def _unflatten(static: tuple[Any, ...], leaves: Iterable[Any]) -> Privacy:
    return unflattened(dict(zip((*LEAVES, *STATIC), (*leaves, *static))))


# Not register_dataclass: it would validate whatever a transformation puts in place of ε and δ.
jax.tree_util.register_pytree_with_keys(Privacy, _flatten_with_keys, _unflatten, _flatten)


def kept(privacy: Privacy, by: str, *kinds: Kind) -> Privacy:
    """The promise that a mechanism for these ``kinds``, the weakest first, attains when ``privacy`` is asked for.

    That is ``privacy`` itself if its kind is one of them, else the same ε and δ for the first kind that covers it.
    """
    check_privacy(privacy)
    if privacy.kind in kinds:
        return privacy
    for unit, adjacency in kinds:
        if (unit, adjacency) in COVERS[privacy.kind]:
            contributions = privacy.contributions if unit == "user" else None
            return dataclasses.replace(
                privacy, unit=unit, adjacency=adjacency, contributions=contributions
            )
    raise ValueError(
        f"{by} can't promise unit {privacy.unit!r}, adjacency {privacy.adjacency!r}: it protects {in_words(kinds)}."
    )


def check_privacy(privacy: object) -> None:
    """Raise ``TypeError`` unless ``privacy`` is a :class:`Privacy`."""
    if not isinstance(privacy, Privacy):
        raise TypeError(
            f"privacy must be a Privacy, got {privacy!r}: say what is protected, as in "
            "Privacy(1.0, unit='user', adjacency='replace')."
        )
