r"""K-norm noise, in the shape of what one user can change, for simulation: cubes and zonotopes of pairs.

**Mechanism.** T is a vector whose differences between neighbors lie in a convex body K, symmetric around 0, of
dimension p. Noise Z of density ∝ e^{-ε‖z‖_K}, ‖z‖_K = min{r : z ∈ rK}, makes T + Z ε-DP: ‖·‖_K is a norm and at most 1
on the differences, so the density at a point changes by a factor of at most e^ε between neighbors. It is attained along
every vertex of K that is a difference (Hardt and Talwar 2010).

Z is r·U with U uniform in K and r ~ Gamma(p + 1, 1/ε), since the volume of rK grows as r^p.
:mod:`privrank_jax.exact.k_norm` is its twin on a lattice.

**Cube** [-1, 1]^d: each coordinate changes by at most 1, whatever the others do. An example is the number of users who
rank i before j, for every pair, when one ranking is replaced.

**Zonotope** Z = Σ_{i<j} [-l_ij, l_ij](e_i - e_j), l_ij >= 0 the lengths: each pair moves at most l_ij points from one
of its items to the other. Win totals change within it where a user is asked each pair l_ij times and changes all
answers; so do n times the Borda scores, with all lengths 1 (a *complete* zonotope), when one ranking is replaced.

Entries sum to 0 over each component of the graph of pairs of positive length, and p is the number of items less that of
components. By the max-flow min-cut theorem the norm of z is the maximum of z(S)/cut(S) over the sets S of items, cut(S)
the sum of the lengths between S and the others: max over k of (sum of the k largest entries)/(k(m - k)) if complete.

**A uniform point.** Lift e_i - e_j to (e_i - e_j, h_ij) with generic heights: the lower faces of the lifted zonotope
project onto tiles that cover Z, one for each spanning forest S (Shephard 1974). Its volume is ∝ ∏_S l_ij, since the e_i
- e_j of a forest are a basis of the same lattice.

So draw a forest with these odds (below) and a uniform point of its tile: with y_i - y_j = h_ij on S, t_ij is uniform in
[-l_ij, l_ij] on S, l_ij where y_i - y_j > h_ij and -l_ij elsewhere. Heights are fixed and have two parts of 30 - log₂ m
random bits, the second of which decides where sums of the first agree. Over their choice, both sums over the cycle that
a pair closes are 0 with a chance of at most (m/2^30)²; its side is arbitrary then. The exact twin has no such ties.

**A random spanning forest** has one tree for each component of the graph; its probability is ∝ the product of the
lengths of its pairs. It is given by the parent of each item; that of a root, or of an item without pairs, is itself. Of
*all pairs*, the i-th item of a random order is joined to item number min(U_i, i - 1), U_i uniform on all numbers
(Aldous 1990, Algorithm 2). The order is shuffled by Durstenfeld's method.

*Other graphs* are taken apart item by item and put together again. Let v be an item with pairs of lengths c_x to
others, D = Σ_x c_x > 0.

Without v, and with another pair of length c_a c_b/D between any a and b, G turns into G'. **Lemma.** Draw a forest of
G', and draw whether each of its pairs is an old one of G or a new one, with odds ∝ the lengths. The new pairs join k +
1 parts, k >= 0, of the tree in which they lie.

Drop them and join v to one item of each part: to an endpoint of a new pair in that part, or if k = 0 to an item drawn
with odds ∝ c. Which endpoint is chosen may depend on which pairs of parts are joined and on the endpoints in other
parts. The result is a forest of G with its probability.

*Proof.* Given the old pairs F, whose parts A_i have C_i = Σ_{A_i} c_x, a way to join the parts by new pairs has weight
D^{-k} ∏ c over all endpoints. Their sum is w(F) D^{-k} ∏ C_i (ΣC_i)^{k-1} = w(F) ∏ C_i/D (Cayley), ΣC_i = D. Given
which parts are joined, all endpoints are independent, with odds ∝ c in their part, and so are the chosen ones. In G, F
with the pairs (v, x_i) has weight w(F) ∏ c_{x_i}: the sum over all x_i is w(F) ∏ C_i, and the x_i are independent with
odds ∝ c.

Item m - 1 is taken out first and put back last; the lowest item of a component has D = 0 and becomes a root. A part
without the root has one new pair toward it, and v becomes the parent of that pair's child. In the part with the root
the endpoint is the parent's end of the last new pair on the way from the lowest of these children to the root.

A pair of length w_s in the graph of the items up to s and of length w_t <= w_s in that up to t > s is still an old one
at t with probability w_t/w_s: one uniform number U for each pair, kept until U w_s >= w_t, decides it at all steps. All
terms are sums and products of numbers >= 0, so the error of rounding is relative to each. About √m of the graphs are
kept, and those between two of these are found again when needed: memory ∝ m^2.5, time ∝ m² for each draw.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int, Shaped

from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Key, Mask, MaskLike, NumbersLike, PairMatrix, Scalar, Scores
from privrank_jax._validate import check_nonnegative, is_traced
from privrank_jax._workarounds.threefry import below, fused
from privrank_jax._workarounds.xla import materialized
from privrank_jax.comparisons import default_float


@pytree
class Cube:
    """[-1, 1]^d.

    Attributes:
        real: the coordinates that exist, True ``d`` times; noise has this shape and is 0 elsewhere.
    """

    real: Bool[Array, "..."]

    @classmethod
    def of_pairs(cls, num_items: int, mask: MaskLike | None = None) -> Cube:
        """One coordinate for each pair i < j of items that are real by the mask, ``(m,)``, in an ``(m, m)`` matrix."""
        return cls(
            _placed(np.triu(np.ones((num_items, num_items), bool)) & _real_pairs(num_items, mask))
        )

    @classmethod
    def of_numbers(cls, dimension: int) -> Cube:
        """[-1, 1]^d."""
        return cls(_placed(np.ones(dimension, bool)))


@pytree
class Zonotope:
    """Σ_{i<j} [-l_ij, l_ij](e_i - e_j).

    Attributes:
        lengths: ``(m, m)``, l, symmetric, >= 0, with a zero diagonal: how often one user is asked each pair.
        complete: all lengths between real items are 1, and the others 0; draws are faster.
    """

    lengths: Float[Array, "*batch items items"]
    complete: bool = static(default=False)

    @classmethod
    def of_all_pairs(cls, num_items: int, mask: MaskLike | None = None) -> Zonotope:
        """Each pair of items once that are real by the mask, ``(m,)``."""
        return cls(_placed(_real_pairs(num_items, mask), default_float()), complete=True)


Body: TypeAlias = Cube | Zonotope


def k_norm(
    key: Key, body: Body, scale: Scalar, dtype: DTypeLike | None = None
) -> Float[Array, "..."]:
    """Noise of density ∝ e^{-‖z‖/scale}, ‖·‖ the norm whose unit ball is the body; scale 0 gives zeros."""
    check_nonnegative("scale", scale)
    dtype = jnp.zeros(0, dtype).dtype
    return _k_norm(key, body, jnp.asarray(scale, dtype))


@jax.jit
def gauge(body: Body, point: NumbersLike) -> Float[Array, ""]:
    """The least r such that r times a cube or a complete zonotope holds the point; what isn't real is ignored.

    >>> float(gauge(Zonotope.of_all_pairs(3), jnp.array([2.0, 0.0, -2.0])))
    1.0
    """
    point = jnp.asarray(point) * 1.0
    if isinstance(body, Cube):
        return jnp.max(jnp.where(body.real, jnp.abs(point), 0), initial=0)
    assert body.complete
    mask = jnp.any(body.lengths > 0, axis=1)
    number = jnp.sum(mask)
    ordered = -jnp.sort(jnp.where(mask, -point, jnp.inf))
    size = jnp.arange(1, point.shape[0] + 1)
    sums = jnp.cumsum(jnp.where(size <= number, ordered, 0))
    cut = size * (number - size)
    return jnp.max(jnp.where(cut > 0, sums / jnp.maximum(cut, 1), 0))


def _placed(array: Mask | np.ndarray, dtype: DTypeLike = bool) -> Array:
    """A traced array as it is, one on the host moved to the device: no program is compiled for it."""
    if isinstance(array, jax.Array):
        return array.astype(dtype)
    return jax.device_put(np.asarray(array, dtype))


def _real_pairs(num_items: int, mask: MaskLike | None) -> Mask | np.ndarray:
    """Which pairs of different items are real, ``(m, m)``."""
    real = np.ones(num_items, bool) if mask is None else mask
    real = jnp.asarray(real, bool) if is_traced(real) else np.asarray(real, bool)
    return ~np.eye(num_items, dtype=bool) & real[:, None] & real[None, :]


@jax.jit
def _k_norm(key: Key, body: Body, scale: Float[Array, ""]) -> Float[Array, "..."]:
    """A uniform point of K, scaled by its random radius, which is Gamma(p + 1) times the scale."""
    key, dtype = fused(key), scale.dtype
    if isinstance(body, Cube):
        of_radius, of_place = jax.random.split(key)
        shape = jnp.asarray(jnp.sum(body.real) + 1, dtype)
        radius = jax.random.gamma(of_radius, shape, dtype=dtype)
        place = materialized(uniform(of_place, body, dtype))  # read at every scale of a batch
    else:
        of_forest, of_place = jax.random.split(key)
        parent = _forest(of_forest, body)
        item = jnp.arange(parent.size)
        drawn = jax.random.uniform(of_place, (2 * parent.size + 1,), dtype)
        place = _tile(parent, body.lengths.astype(dtype), 2 * drawn[: parent.size] - 1)
        # One exponential number for each of the p pairs of the forest, and one more.
        counted = jnp.append(parent != item, True)
        radius = -jnp.sum(jnp.where(counted, jnp.log1p(-drawn[parent.size :]), 0))
    return jnp.where(scale == 0, 0, scale * radius * place)


@functools.partial(jax.jit, static_argnames=("dtype",))
def uniform(key: Key, body: Body, dtype: DTypeLike | None = None) -> Float[Array, "..."]:
    """A uniform point of the body, of the shape of ``real`` for a cube, ``(m,)`` for a zonotope."""
    key, dtype = fused(key), jnp.zeros(0, dtype).dtype
    if isinstance(body, Cube):
        drawn = jax.random.uniform(key, body.real.shape, dtype, -1, 1)
        return jnp.where(body.real, drawn, 0)
    of_forest, of_place = jax.random.split(key)
    parent = _forest(of_forest, body)
    inside = jax.random.uniform(of_place, parent.shape, dtype, -1, 1)
    return _tile(parent, body.lengths.astype(dtype), inside)


def _forest(key: Key, body: Zonotope) -> Int[Array, "items"]:
    if body.complete:
        return all_pairs_forest(key, jnp.any(body.lengths > 0, axis=1))
    return weighted_forest(key, body.lengths)


def _tile(
    parent: Int[Array, "items"], lengths: PairMatrix, inside: Float[Array, "items"]
) -> Scores:
    """The point of the forest's tile whose coordinate on the pair of an item and its parent is ``inside``."""
    num_items = parent.shape[0]
    item = jnp.arange(num_items)
    first, second = (jnp.asarray(part) for part in _heights(num_items))
    y = _sum_to_root(jnp.stack([first[item, parent], second[item, parent]], axis=1), parent)

    # One row at a time: a draw needs memory for m numbers, not for all pairs.
    def add(corner: Scores, row: tuple[Array, ...]) -> tuple[Scores, None]:
        other, height, second_height, length = row
        more = y[other, 0] - y[:, 0] - height
        # Where both parts agree, as they do on the forest, the item of the higher number gains.
        tie = y[other, 1] - y[:, 1] - second_height + (other > item)
        loses = (more > 0) | ((more == 0) & (tie > 0))
        return corner + jnp.where(loses, -length, length), None

    corner, _ = jax.lax.scan(add, jnp.zeros_like(inside), (item, first, second, lengths))
    change = lengths[item, parent] * (inside - jnp.where(item > parent, 1, -1))
    return (corner + change).at[parent].add(-change)


@functools.lru_cache(maxsize=8)
def _heights(num_items: int) -> tuple[np.ndarray, np.ndarray]:
    """Fixed heights of the pairs in two parts, antisymmetric; sums over a path stay below 2^30."""
    most = (1 << 30) // num_items
    drawn = np.random.default_rng(num_items).integers(1, most, (2, num_items, num_items))
    first, second = np.triu(drawn, 1).astype(np.int32)
    return first - first.T, second - second.T


def _sum_to_root(
    step: Int[Array, "items parts"], parent: Int[Array, "items"]
) -> Int[Array, "items parts"]:
    """Sums of the steps from each item up to its root, by doubling."""
    for _ in range(max(step.shape[0] - 1, 1).bit_length()):
        step, parent = step + step[parent], parent[parent]
    return step


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
    end, _ = jax.lax.scan(lambda at, block: jax.lax.scan(insert, at, block.steps()), start, blocks)
    return end[0]


class _Step(NamedTuple):
    """The data by which a forest of the items below ``item`` takes it in."""

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


class _Block(NamedTuple):
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
