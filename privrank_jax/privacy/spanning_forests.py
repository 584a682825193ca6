"""Random spanning forests of graphs with lengths, one for each key, for simulation.

A forest has one tree for each component of the graph; its probability is ∝ the product of the lengths of its pairs. It
is returned as the parent of each item; the parent of a root, and of an item without pairs, is the item itself.

*All pairs*: the i-th item of a random order is joined to item number min(U_i, i - 1), U_i uniform on all numbers
(Aldous 1990, Algorithm 2). The order is shuffled by Durstenfeld's method.

*Other graphs* are taken apart item by item and put together again. Let v be an item with pairs of lengths c_x to
others, D = Σ_x c_x > 0. Without v, and with another pair of length c_a c_b/D between any a and b, G turns into G'.
**Lemma.** Draw a forest of G', and draw whether each of its pairs is an old one of G or a new one, with odds ∝ the
lengths. The new pairs join k + 1 parts, k >= 0, of the tree in which they lie. Drop them and join v to one item of
each part: to an endpoint of a new pair in that part, or if k = 0 to an item drawn with odds ∝ c. Which endpoint is
chosen may depend on which pairs of parts are joined and on the endpoints in other parts. The result is a forest of G
with its probability. *Proof.* Given the old pairs F, whose parts A_i have C_i = Σ_{A_i} c_x, a way to join the parts by
new pairs has weight D^{-k} ∏ c over all endpoints. Their sum is w(F) D^{-k} ∏ C_i (ΣC_i)^{k-1} = w(F) ∏ C_i/D (Cayley),
ΣC_i = D. Given which parts are joined, all endpoints are independent, with odds ∝ c in their part, and so are the
chosen ones. In G, F with the pairs (v, x_i) has weight w(F) ∏ c_{x_i}: the sum over all x_i is w(F) ∏ C_i, and the x_i
are independent with odds ∝ c.

Item m - 1 is taken out first and put back last; the lowest item of a component has D = 0 and becomes a root. A part
without the root has one new pair toward it, and v becomes the parent of that pair's child. In the part with the root
the endpoint is the parent's end of the last new pair on the way from the lowest of these children to the root. A pair
of length w_s in the graph of the items up to s and of length w_t <= w_s in that up to t > s is still an old one at t
with probability w_t/w_s: one uniform number U for each pair, kept until U w_s >= w_t, decides it at all steps. All
terms are sums and products of numbers >= 0, so the error of rounding is relative to each. About √m of the graphs are
kept, and those between two of these are found again when needed: memory ∝ m^2.5, time ∝ m² for each draw.
"""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from privrank_jax._types import Key, Mask, PairMatrix
from privrank_jax._workarounds.threefry import below


def all_pairs_forest(key: Key, mask: Mask) -> Int[Array, "items"]:
    """Parents in a uniform spanning tree of all pairs of real items, ``(m,)`` by the mask."""
    item = jnp.arange(mask.shape[0], dtype=jnp.int32)
    place = jnp.cumsum(mask, dtype=jnp.int32) - 1  # among real items
    swaps, others = jax.random.bits(key, (2, item.size), jnp.uint32)
    swap = below(swaps, place + 1)

    def shuffle(i: Int[Array, ""], order: Int[Array, "items"]) -> Int[Array, "items"]:
        moved = order.at[place[i]].set(order[swap[i]]).at[swap[i]].set(i)
        return jnp.where(mask[i], moved, order)

    order = jax.lax.fori_loop(0, item.size, shuffle, item)  # the real items first
    joined = jnp.minimum(below(others, jnp.sum(mask)), item - 1)
    inner = (item > 0) & (item < jnp.sum(mask))
    return item.at[jnp.where(inner, order, item.size)].set(order[joined], mode="drop")


def weighted_forest(key: Key, lengths: PairMatrix) -> Int[Array, "items"]:
    """Parents in a spanning forest, with probability ∝ the product of the symmetric lengths of its pairs."""
    num_items, dtype = lengths.shape[0], lengths.dtype
    item = jnp.arange(num_items, dtype=jnp.int32)

    def insert(state: tuple[Array, Array], step: _Step) -> tuple[tuple[Array, Array], None]:
        parent, least = state  # a pair stays while its length is above ``least``
        drawn = jax.random.uniform(step.key, (num_items + 1,), dtype)
        new = (parent != item) & (step.lengths[item, parent] <= least)
        child = jnp.argmax(new).astype(jnp.int32)
        endpoint = jnp.where(new[child], _last_new(parent, new, child), step.draw(drawn[-1]))
        inserted = item == step.item
        joined = jnp.where(step.sums[-1] > 0, endpoint, step.item)
        parent = jnp.where(new, step.item, jnp.where(inserted, joined, parent))
        own = jnp.where(inserted, step.lengths[step.item, joined], step.lengths[step.item])
        return (parent, jnp.where(new | inserted, drawn[:-1] * own, least)), None

    start = item, jnp.zeros(num_items, dtype)
    blocks = _blocks(key, lengths)
    return jax.lax.scan(lambda at, block: jax.lax.scan(insert, at, block.steps()), start, blocks)[
        0
    ][0]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _Step:
    """What a forest of the items below ``item`` needs to take it in."""

    key: Key
    item: Int[Array, ""]  # v
    lengths: PairMatrix  # of the graph of the items up to v
    sums: Float[Array, "items"]  # cumulative c, the lengths between v and the items below it
    nearest: Int[Array, "items"]  # for each item, the next one down, or else up, with c > 0

    def draw(self, uniform: Float[Array, ""]) -> Int[Array, ""]:
        """An item with odds ∝ c, by binary search; never one with c = 0, whatever is rounded."""
        size, found = self.sums.shape[0], jnp.int32(0)
        wanted = uniform * self.sums[-1]
        width = 1 << size.bit_length()
        while width := width >> 1:  # how many sums are at most ``wanted``
            middle = found + width
            ahead = self.sums[jnp.minimum(middle, size) - 1]
            found = jnp.where((middle <= size) & (ahead <= wanted), middle, found)
        return self.nearest[jnp.minimum(found, size - 1)]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _Block:
    """Successive steps, and the graph of the items up to the last of them."""

    keys: Shaped[Array, "steps *key"]
    items: Int[Array, "steps"]  # those that are no items of the graph change nothing
    top: PairMatrix  # lengths

    def steps(self) -> _Step:
        """The steps, stacked."""
        item = jnp.arange(self.top.shape[0], dtype=jnp.int32)

        def remove(graph: PairMatrix, step: tuple[Key, Array]) -> tuple[PairMatrix, _Step]:
            key, v = step
            c = _below(graph, v)
            lower = jax.lax.cummax(jnp.where(c > 0, item, -1))
            nearest = jnp.where(lower < 0, jnp.argmax(c > 0).astype(jnp.int32), lower)
            return _without(graph, v), _Step(key, v, graph, jnp.cumsum(c), nearest)

        return jax.lax.scan(remove, self.top, (self.keys, self.items), reverse=True)[1]


def _blocks(key: Key, lengths: PairMatrix) -> _Block:
    """The steps that insert items 1, 2, ..., in about √m blocks, stacked."""
    number = lengths.shape[0] - 1
    width = max(math.isqrt(number), 1)
    items = jnp.arange(1, -(-number // width) * width + 1, dtype=jnp.int32)
    keys = jax.random.split(key, items.size)
    most = jnp.max(lengths, initial=0)
    lengths = lengths / jnp.where(most > 0, most, 1)  # squares stay finite

    def remove(graph: PairMatrix, items: Int[Array, "steps"]) -> tuple[PairMatrix, PairMatrix]:
        left, _ = jax.lax.scan(lambda g, v: (_without(g, v), None), graph, items, reverse=True)
        return left, graph

    items = items.reshape(-1, width)
    tops = jax.lax.scan(remove, lengths, items, reverse=True)[1]
    return _Block(keys.reshape(*items.shape, *keys.shape[1:]), items, tops)


def _below(graph: PairMatrix, v: Int[Array, ""]) -> Float[Array, "items"]:
    """c, the lengths between v and the items below it; 0 for a v that is no item."""
    item = jnp.arange(graph.shape[0])
    return jnp.where((item < v) & (v < item.size), graph[v], 0)


def _without(graph: PairMatrix, v: Int[Array, ""]) -> PairMatrix:
    """The graph of the items below v."""
    c, item = _below(graph, v), jnp.arange(graph.shape[0])
    left = (item < v) & (item < v)[:, None] & (item != item[:, None])
    total = jnp.sum(c)
    return jnp.where(left, graph + c * c[:, None] / jnp.where(total > 0, total, 1), 0)


def _last_new(
    parent: Int[Array, "items"], new: Bool[Array, "items"], child: Int[Array, ""]
) -> Int[Array, ""]:
    """The parent's end of the last new pair, given by its child, on the way from an item to its root."""

    def up(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        item, _, found = state
        above = parent[item]
        return above, above == item, jnp.where(new[item], above, found)

    return jax.lax.while_loop(lambda state: ~state[1], up, (child, ~new[child], child))[2]
