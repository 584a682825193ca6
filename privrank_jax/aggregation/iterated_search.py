"""Iterated local search for a ranking of low Kemeny score: many orders side by side, on integers, in NumPy.

:func:`~privrank_jax.aggregation.local_search` descends once, inside ``jit``; here each order is perturbed and descends
again, hundreds of times, because a bound can only drop what is worse than the best ranking known.
"""

from __future__ import annotations

import time

import numpy as np

_COPIES, _IDLE = 32, 150


class BestOrder:
    """The best order so far, and local search in batches from perturbed copies of it."""

    def __init__(self, prices: np.ndarray, order: np.ndarray) -> None:
        self.prices, self.order = prices, np.asarray(order)
        self.value = int(order_values(prices, self.order[None])[0])
        self.rng = np.random.default_rng(0)

    def offer(self, orders: np.ndarray) -> None:
        """Take the best of some orders if it is better."""
        values = order_values(self.prices, orders)
        if len(values) and values.min() < self.value:
            self.order, self.value = orders[values.argmin()], int(values.min())

    def search(self, deadline: float) -> None:
        """Iterated local search: move a few items of each of 32 orders anywhere, descend, and keep what is no worse.

        It ends when 150 rounds have found nothing better.
        """
        shape = _COPIES, len(self.order)
        orders = self.rng.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1)
        orders[0] = self.order
        orders, idle, rounds = descend_orders(self.prices, orders), 0, 0
        values = order_values(self.prices, orders)
        while idle < _IDLE and time.monotonic() < deadline:
            moved = self.rng.random(shape) < self.rng.uniform(2, 6, (shape[0], 1)) / shape[1]
            place = np.where(moved, self.rng.uniform(0, shape[1], shape), np.arange(shape[1]))
            tried = np.take_along_axis(orders, np.argsort(place, axis=1), axis=1)
            tried = descend_orders(self.prices, tried)
            now = order_values(self.prices, tried)
            better = now <= values
            orders[better], values[better] = tried[better], now[better]
            rounds += 1
            if rounds % 10 == 0:
                orders[values.argmax()], values[values.argmax()] = (
                    orders[values.argmin()],
                    values.min(),
                )
            before = self.value
            self.offer(orders)
            idle = 0 if self.value < before else idle + 1


def order_values(prices: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """V of each order, (orders,)."""
    return np.triu(prices[orders[:, :, None], orders[:, None, :]]).sum((1, 2))


def descend_orders(prices: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Make the best insertion in each order, until none lowers V."""
    orders, items = orders.copy(), orders.shape[1]
    active, gaps = np.arange(len(orders)), np.arange(items)
    while len(active):
        now = orders[active]
        passed = np.zeros((len(now), items, items + 1), prices.dtype)
        np.cumsum(prices[now[:, :, None], now[:, None, :]], axis=2, out=passed[:, :, 1:])
        change = (passed[:, gaps, gaps][:, :, None] - passed).reshape(len(now), -1)
        move = change.argmin(1)
        falls = change[np.arange(len(now)), move] < 0
        active, now, move = active[falls], now[falls], move[falls]
        place, gap = np.divmod(move, items + 1)
        target = gap - (gap > place)
        key = np.where(gaps == place[:, None], target[:, None] * 2 + (target > place)[:, None] * 2 - 1,
                       gaps * 2)  # fmt: skip
        orders[active] = np.take_along_axis(now, np.argsort(key, axis=1), axis=1)
    return orders
