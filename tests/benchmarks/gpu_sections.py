"""What ``python -m tests.benchmarks gpu`` measures on one device, section by section.

A section is a function of :class:`Sizes` that yields rows (what, measured) as soon as they are there.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

import privrank_jax as pr
from privrank_jax._backend import bytes_limit, memory_for_batches, product
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.geometry import Zonotope, k_norm
from privrank_jax.simulate import Study, grid, run
from tests.benchmarks.gpu_equality import (
    COMPARISONS,
    btl_counts,
    compared,
    counted,
    fit_trial,
    fitted,
    weighed,
)
from tests.benchmarks.harness import clocked, floors, machine

Row = tuple[str, str]
Section = Callable[["Sizes"], Iterator[Row]]


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the problems are.

    Attributes:
        numbers: numbers that are copied, drawn and exponentiated.
        batches: BTL fits at once.
        users: rankings drawn, compared and counted.
        comparisons: comparisons counted.
        draws: draws of noise.
        systems: (items, how many) systems of equations.
        steps: steps of a loop, and of batches that are fetched.
        rounds: times each program runs; the shortest time counts.
    """

    numbers: int
    batches: tuple[int, ...]
    users: int
    comparisons: int
    draws: int
    systems: tuple[tuple[int, int], ...]
    steps: int
    rounds: int


LARGE = Sizes(
    1 << 28,
    (1_000, 10_000, 100_000),
    1_000_000,
    10_000_000,
    20_000,
    ((30, 20_000), (100, 2_000), (300, 200)),
    300,
    5,
)
MEDIUM = Sizes(
    1 << 24, (100, 1_000, 10_000), 100_000, 1_000_000, 4_000, ((30, 1_000), (100, 100)), 300, 5
)
SMALL = Sizes(1 << 12, (2,), 64, 1_000, 8, ((5, 3),), 5, 2)


def best(runs: dict[str, Callable[[], object]], sizes: Sizes) -> dict[str, float]:
    """Shortest seconds of each of some programs, round after round."""
    wall, _ = clocked(runs, sizes.rounds)
    return {name: min(times) for name, times in wall.items()}


def device(sizes: Sizes) -> Iterator[Row]:
    """The device, and the memory that a study takes of it by default."""
    del sizes
    yield "device and versions", machine()
    (first, *_) = jax.local_devices()
    limit = bytes_limit(first)
    told = "not reported" if limit is None else f"{limit / 2**30:.1f} GiB"
    default = memory_for_batches([first]) / 2**30
    yield "memory that JAX may use; for a batch of a study", f"{told}; {default:.1f} GiB"
    study = Study("memory", fit_trial, grid(num_items=(30,)), static=("num_items",))
    result = run(jax.random.key(0), study, 50_000 if default > 2 else 500)
    (facts,) = result.diagnostics.programs
    peak = (facts.compiled_peak_bytes or 0) / 2**20
    yield (
        "replicates of a BTL study at once; memory of that batch",
        (f"{facts.batch_size:,}; {peak:,.0f} MiB"),
    )


def bare_floors(sizes: Sizes) -> Iterator[Row]:
    """What no program can go below: copying, drawing words, exponentiating."""
    number, depth = sizes.numbers, 64
    array = jnp.ones(number, jnp.float32)
    with jax.default_device(
        jax.devices("cpu")[0]
    ):  # the generator that is written out, on any device
        data = np.asarray(jax.random.key_data(jax.random.key(0)))
        kind = jax.random.key_impl(fused(jax.random.key(0)))

    def words(data: jax.Array, impl: object) -> jax.Array:
        key = jax.random.wrap_key_data(data, impl=impl)
        return (jax.random.bits(key, (number,)) >> 24).astype(jnp.uint8)

    def exps(x: jax.Array) -> jax.Array:
        for _ in range(depth):
            x = jnp.exp(-x)
        return x

    few = array[: max(1, number // depth)]
    copy, chain = jax.jit(lambda x: x + 1), jax.jit(exps)
    drawn = jax.jit(words, static_argnums=1)
    double = few.astype(jnp.float64)
    seconds = best(
        {
            "copy": lambda: copy(array),
            "jax": lambda: drawn(data, "threefry2x32"),
            "fused": lambda: drawn(data, kind),
            "float32": lambda: chain(few),
            "float64": lambda: chain(double),
        },
        sizes,
    )
    yield "floor: copying float32", f"{8e-9 * number / seconds['copy']:,.0f} GB/s"
    yield (
        "floor: random words, JAX's own; written out",
        "; ".join(f"{1e-9 * number / seconds[name]:,.2f} billion/s" for name in ("jax", "fused")),
    )
    yield (
        "floor: exponentials, float32; float64",
        "; ".join(
            f"{1e-9 * len(few) * depth / seconds[name]:,.2f} billion/s"
            for name in ("float32", "float64")
        ),
    )


def fits(sizes: Sizes) -> Iterator[Row]:
    """BTL fits per second for growing batches, in both precisions."""
    counts = jax.jit(btl_counts, static_argnums=(1, 2, 3))
    fit = jax.jit(fitted)
    for dtype in ("float32", "float64"):
        for batch in sizes.batches:
            wins = counts(jax.random.key(0), batch, 30, dtype)
            seconds = best({"": lambda wins=wins: fit(wins)}, sizes)[""]
            what = f"BTL fits, 30 items, {dtype}, {batch:,} at once"
            yield what, f"{batch / seconds:,.0f} fits/s"


def against_floor(
    kernel: Callable[..., jax.Array], arguments: tuple[jax.Array, ...], words: int, sizes: Sizes
) -> str:
    """Milliseconds of a kernel, and how many times those of its floor."""
    lower = floors(arguments, kernel(*arguments), words)
    seconds = best({"ours": lambda: kernel(*arguments), **lower}, sizes)
    floor = max(seconds[name] for name in lower)
    return f"{1e3 * seconds['ours']:.2f} ms; {seconds['ours'] / floor:.1f} times the floor"


def kernels(sizes: Sizes) -> Iterator[Row]:
    """Synthetic rankings, distances, weights, and counts, each beside its floor."""
    users, sample = sizes.users, jax.jit(jax.vmap(pr.mallows.sample))
    orders = jax.jit(
        lambda key, items: jnp.argsort(jax.random.uniform(key, (users, items)), axis=1).astype(
            jnp.int32
        ),
        static_argnums=1,
    )
    keys, epsilon = jax.random.split(jax.random.key(0), users), jnp.full(users, 2.0, jnp.float32)
    for items in (20, 50, 100):
        given = keys, orders(jax.random.key(1), items), epsilon
        what = f"{users:,} synthetic rankings of {items} items"
        yield what, against_floor(sample, given, users * items, sizes)
    kendall = jax.jit(jax.vmap(pr.metrics.kendall_distance))
    for items in (50, 100):
        a, b = (orders(jax.random.key(seed), items) for seed in (2, 3))
        what = f"Kendall distances of {users:,} pairs of rankings of {items} items"
        yield what, against_floor(kendall, (a, b), 0, sizes)
    a = orders(jax.random.key(2), 50)
    what = f"weights of {users:,} rankings of 50 items"
    yield what, against_floor(weighed, (a,), 0, sizes)
    yield f"{what}, in a program", against_floor(jax.jit(weighed), (a,), 0, sizes)
    first = jax.random.randint(jax.random.key(4), (sizes.comparisons,), 0, 100, jnp.int32)
    second = (first + jax.random.randint(jax.random.key(5), first.shape, 1, 100, jnp.int32)) % 100
    count = jax.jit(functools.partial(counted, items=100))
    what = f"{sizes.comparisons:,} comparisons counted, 100 items"
    yield what, against_floor(count, (first, second), 0, sizes)


def noise(sizes: Sizes) -> Iterator[Row]:
    """Draws of K-norm noise, beside Laplace noise of as many numbers."""
    keys = jax.random.split(fused(jax.random.key(0)), sizes.draws)
    for items in (10, 50):
        body = Zonotope.of_all_pairs(items)
        shaped = jax.jit(jax.vmap(lambda key, b: k_norm(key, b, 1.0, jnp.float32), (0, None)))
        plain = jax.jit(jax.vmap(lambda key, m=items: jax.random.laplace(key, (m,), jnp.float32)))
        seconds = best(
            {
                "k-norm": lambda shaped=shaped, body=body: shaped(keys, body),
                "laplace": lambda plain=plain: plain(keys),
            },
            sizes,
        )
        yield (
            f"{sizes.draws:,} draws of K-norm noise on {items} totals",
            (
                f"{1e6 * seconds['k-norm'] / sizes.draws:.3f} µs a draw; "
                f"{seconds['k-norm'] / seconds['laplace']:.1f} times Laplace noise"
            ),
        )


def conjugate_gradients(matrix: jax.Array, right: jax.Array, steps: int) -> jax.Array:
    """A fixed number of steps with the diagonal as preconditioner: no step asks the host whether to go on."""
    diagonal = jnp.diagonal(matrix)

    def step(_: int, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        x, rest, way, size = state
        ahead = product(matrix, way)
        length = size / jnp.maximum(product(way, ahead), 1e-30)
        x, rest = x + length * way, rest - length * ahead
        scaled = rest / diagonal
        new = product(rest, scaled)
        return x, rest, scaled + new / jnp.maximum(size, 1e-30) * way, new

    scaled = right / diagonal
    start = (jnp.zeros_like(right), right, scaled, product(right, scaled))
    return jax.lax.fori_loop(0, steps, step, start)[0]


def solvers(sizes: Sizes) -> Iterator[Row]:
    """Cholesky against conjugate gradients, on the Hessians of BTL fits: with a fixed number of steps, and with a loop
    that stops at a residual, whose condition a GPU copies to the host in each step."""
    for items, batch in sizes.systems:
        wins = btl_counts(jax.random.key(0), batch, items, jnp.float32)
        slope = (wins + wins.swapaxes(1, 2)) / COMPARISONS / 4
        matrix = jnp.eye(items) * (slope.sum(-1)[..., None] + 0.01) - slope + 1 / items
        matrix = matrix.astype(jnp.float32)
        right = jax.random.normal(jax.random.key(1), (batch, items), jnp.float32)

        def stopped(matrix: jax.Array, right: jax.Array) -> jax.Array:
            diagonal = jnp.diagonal(matrix)
            return jax.scipy.sparse.linalg.cg(
                lambda x: product(matrix, x), right, tol=1e-3, maxiter=50, M=lambda x: x / diagonal
            )[0]

        ways = {
            "Cholesky": solve_positive_definite,
            "10 steps of CG": lambda a, b: conjugate_gradients(a, b, 10),
            "CG to 1e-3": stopped,
        }
        programs = {name: jax.jit(jax.vmap(way)) for name, way in ways.items()}
        seconds = best(
            {name: lambda way=way, a=matrix, b=right: way(a, b) for name, way in programs.items()},
            sizes,
        )
        yield (
            f"{batch:,} float32 systems of {items} items: {'; '.join(seconds)}",
            "; ".join(f"{1e3 * value:.2f} ms" for value in seconds.values()),
        )


def loops(sizes: Sizes) -> Iterator[Row]:
    """What a step of a loop costs beside its work."""
    array, steps = jnp.ones(1_000, jnp.float32), sizes.steps

    def body(x: jax.Array) -> jax.Array:
        return x * 0.999 + 0.001

    def stopping(x: jax.Array) -> jax.Array:
        def goes_on(state: tuple[jax.Array, jax.Array]) -> jax.Array:
            return (state[0] < steps) & (jnp.max(state[1]) < 2)

        first = (jnp.int32(0), x)
        return jax.lax.while_loop(goes_on, lambda s: (s[0] + 1, body(s[1])), first)[1]

    fixed = jax.jit(lambda x: jax.lax.fori_loop(0, steps, lambda _, x: body(x), x))
    stopped = jax.jit(stopping)
    seconds = best({"while": lambda: stopped(array), "for": lambda: fixed(array)}, sizes)
    yield (
        "a step of a loop that stops by what it computes; of a counted one",
        "; ".join(f"{1e6 * value / steps:.2f} µs" for value in seconds.values()),
    )


def overlap(sizes: Sizes) -> Iterator[Row]:
    """Batches fetched one behind, as studies do it, against one after another."""
    work = jax.jit(
        lambda seed: jax.random.normal(
            jax.random.key(seed), (max(1000, sizes.numbers // 16), 8)
        ).std(1)
    )

    def on_host(values: jax.Array) -> float:
        found = np.asarray(values, float)
        return float(np.sort(found[: len(found) // 4]).sum())

    def apart() -> float:
        return sum(on_host(work(seed)) for seed in range(10))

    def ahead() -> float:
        total, waiting = 0.0, work(0)
        for seed in range(1, 10):
            waiting, done = work(seed), waiting
            total += on_host(done)
        return total + on_host(waiting)

    assert apart() == ahead()
    seconds = best({"apart": apart, "ahead": ahead}, sizes)
    yield (
        "10 batches, the next started before the last is fetched",
        (
            f"{1e3 * seconds['ahead']:.1f} ms; {seconds['ahead'] / seconds['apart']:.2f} of the time one by one"
        ),
    )


def equality(sizes: Sizes) -> Iterator[Row]:
    """The same numbers as on a CPU."""
    yield from compared(min(sizes.users, 20_000))


SECTIONS: dict[str, Section] = {
    section.__name__: section
    for section in (device, equality, bare_floors, fits, kernels, noise, solvers, loops, overlap)
}
