"""Errors that readers raise."""

from __future__ import annotations

from privrank_jax._arguments import Argument, ArgumentError

ITEMS = Argument("items", quoted=True)  # as messages of loaders name the list of items


class DataError(ArgumentError):
    """Data that cannot be used as they are; the message says where, why, and what to do."""


class BadCell(ArgumentError):
    """What is wrong with a cell; the reader adds where it is."""
