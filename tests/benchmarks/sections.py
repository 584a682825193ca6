"""The sections of the benchmarks: ``python -m tests.benchmarks.sections NAME [--quick]`` prints the rows of one.

A section takes whether its problems are as small as a test wants them, and yields rows as soon as they are there. It
checks what it times.
"""

from __future__ import annotations

import functools
import itertools
import json
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import choix
import duckdb
import evalica
import jax
import jax.numpy as jnp
import numpy as np
import pyarrow.csv
from jax.typing import DTypeLike

import privrank_jax as pr
from privrank_jax._backend import memory_for_batches, on_cpu, product
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.kemeny_rule import exact_kemeny
from privrank_jax.exact import randomized_response
from privrank_jax.privacy import local
from privrank_jax.simulate import Study, grid, run
from tests.benchmarks import peers
from tests.benchmarks.harness import Row, clocked, floor_row, row, show, span, spent
from tests.reference import aggregation as reference

T = TypeVar("T")
Section = Callable[[bool], Iterator[Row]]


def scaled(quick: bool, small: T, cpu: T, accelerator: T) -> T:
    """What suits the device."""
    return small if quick else cpu if on_cpu() else accelerator


def device(quick: bool) -> Iterator[Row]:
    """Hardware and versions, and the memory that a batch of a study takes by default."""
    del quick
    (first, *_) = jax.local_devices()
    jax_, numpy = version("jax"), version("numpy")
    versions = (
        f"{platform.machine()}, Python {platform.python_version()}, JAX {jax_}, NumPy {numpy}"
    )
    yield Row("device", f"{first.platform} ({first.device_kind}) x {jax.device_count()}", versions)
    yield Row("memory for a batch of a study", f"{memory_for_batches([first]) / 2**30:.1f} GiB")


# Fits.

PER_PAIR, FIT_ITEMS = 300, 30


def btl_counts(key: jax.Array, batch: int, items: int, dtype: DTypeLike) -> jax.Array:
    """Win counts ``(batch, items, items)`` of standard normal scores, with a normal law for the binomial one."""
    score_key, win_key = jax.random.split(key)
    scores = jax.random.normal(score_key, (batch, items))
    chance = jax.nn.sigmoid(scores[:, :, None] - scores[:, None, :])
    noise = jax.random.normal(win_key, chance.shape) * jnp.sqrt(chance * (1 - chance) / PER_PAIR)
    upper = jnp.triu(jnp.clip(jnp.round(PER_PAIR * (chance + noise)), 0, PER_PAIR), 1)
    lower = jnp.triu(PER_PAIR - upper, 1).swapaxes(1, 2)
    return (upper + lower).astype(dtype)


def fitted(wins: jax.Array) -> jax.Array:
    """Scores of a batch of BTL fits."""
    return jax.vmap(lambda w: pr.pairwise.mle(pr.comparisons.WinCounts(w)).value)(wins)


def fits(quick: bool) -> Iterator[Row]:
    """Batches of BTL fits beside NumPy at the same dtype and tolerance; in float64 beside packages that fit one."""
    batches = scaled(quick, (10,), (1_000, 10_000), (1_000, 100_000, 1_000_000))
    fit, count = jax.jit(fitted), jax.jit(btl_counts, static_argnums=(1, 2, 3))
    for dtype, tolerance, most in (("float64", 1e-10, 1e-8), ("float32", 1e-6, 1e-3)):
        for batch in batches:
            wins = count(jax.random.key(0), batch, FIT_ITEMS, dtype)
            runs: dict[str, Callable[[], object]] = {"ours": functools.partial(fit, wins)}
            longer = {}
            if batch == batches[0]:
                few, host = 10, np.asarray(wins)
                exact = peers.batched_newton(host.astype(float), tolerance=1e-14)
                error = float(np.abs(np.asarray(fit(wins)) - exact).max())
                assert error < most, f"{dtype} scores are wrong by {error}"
                runs["NumPy"] = functools.partial(peers.batched_newton, host, tolerance)
                if dtype == "float64":
                    runs["choix, one by one"] = functools.partial(by_choix, host[:few])
                    runs["evalica, one by one"] = functools.partial(by_evalica, host[:few])
                    longer = dict.fromkeys([*runs][2:], batch / few)
            yield row(f"{batch:,} BTL fits of {FIT_ITEMS} items, {dtype}", runs, longer=longer)


def by_choix(wins: np.ndarray) -> list[np.ndarray]:
    """Scores of one problem after another."""
    return [choix.ilsr_pairwise_dense(count, tol=1e-8) for count in wins]


def by_evalica(wins: np.ndarray) -> list[Any]:
    """Scores of one problem after another."""
    first, second = np.nonzero(~np.eye(wins.shape[-1], dtype=bool))
    won = [evalica.Winner.X] * first.size
    fit = functools.partial(evalica.bradley_terry, first, second, won, tolerance=1e-8, limit=10_000)
    return [fit(weights=count[first, second]) for count in wins]


# Rankings and counts.


@functools.partial(jax.jit, static_argnums=(1, 2))
def orders(key: jax.Array, users: int, items: int) -> jax.Array:
    """Random rankings, int32."""
    uniform = jax.random.uniform(key, (users, items), jnp.float32)
    return jnp.argsort(uniform, axis=1).astype(jnp.int32)


def mallows(quick: bool) -> Iterator[Row]:
    """Synthetic rankings, a key, a center and an ε each."""
    users = scaled(quick, 64, 100_000, 1_000_000)
    rng, keys = np.random.default_rng(0), jax.random.split(jax.random.key(0), users)
    epsilon, sample = jnp.full(users, 2.0, jnp.float32), jax.jit(jax.vmap(pr.mallows.sample))
    for items in (20, 50, 100):
        given = keys, orders(jax.random.key(1), users, items), epsilon
        numpy = functools.partial(peers.insertions, rng, *(np.asarray(x) for x in given[1:]))
        used, pairs = min(users, 1000), items * (items - 1) / 2
        wanted = float(pr.mallows.distribution.expected_concordance(items, 2.0))
        for ranks in (sample(*given), numpy()):
            apart = jax.vmap(pr.metrics.kendall_distance)(ranks[:used], given[1][:used])
            assert abs((pairs - float(jnp.mean(apart))) / wanted - 1) < 0.02 * (1000 / used) ** 0.5
        yield floor_row(
            f"{users:,} Mallows draws of {items} items",
            functools.partial(sample, *given),
            given,
            words=users * items,
            peers={"NumPy": numpy},
        )


def kendall(quick: bool) -> Iterator[Row]:
    """Kendall distances of pairs of rankings."""
    users, items = scaled(quick, 64, 100_000, 1_000_000), 50
    a, b = (orders(jax.random.key(seed), users, items) for seed in (2, 3))
    distances = jax.jit(jax.vmap(pr.metrics.kendall_distance))
    numpy = functools.partial(peers.kendall, np.asarray(a), np.asarray(b))
    assert np.array_equal(distances(a, b), numpy())
    name = f"{users:,} Kendall distances of {items} items"
    run = functools.partial(distances, a, b)
    yield floor_row(name, run, (a, b), peers={"NumPy": numpy})


def counted(winners: Any, losers: Any) -> jax.Array:
    """Wins of each of 100 items against each other, float32."""
    count = pr.comparisons.WinCounts.from_comparisons
    return count(winners, losers, num_items=100, dtype=jnp.float32).matrix


def counts(quick: bool) -> Iterator[Row]:
    """Comparisons counted, from arrays of NumPy with their checks, and in a program."""
    number, rng = scaled(quick, 1_000, 1_000_000, 10_000_000), np.random.default_rng(0)
    winners = rng.integers(0, 100, number, np.int32)
    losers = (winners + rng.integers(1, 100, number, np.int32)) % 100
    given, traced = (jnp.asarray(winners), jnp.asarray(losers)), jax.jit(counted)

    def numpy() -> np.ndarray:
        return np.bincount(winners * 100 + losers, minlength=10_000)

    assert np.array_equal(np.ravel(traced(*given)), numpy())
    assert np.array_equal(traced(*given), counted(winners, losers))
    name, beside = f"{number:,} comparisons counted, 100 items", {"np.bincount": numpy}
    yield floor_row(name, functools.partial(traced, *given), given, peers=beside)
    yield floor_row(f"{name}, from NumPy", functools.partial(counted, winners, losers), given)


# Tables.

# Item k has score k / 50, users have 20 rows on average, and rows are in no order of users.
ROWS = """
WITH drawn AS (
  SELECT hash(i, 'user') % greatest({rows} // 20, 1) AS number, (hash(i, 'pair') % 100)::INT AS a,
    1 + (hash(i, 'pair') // 100) % 99 AS step, (hash(i, 'won') % 1000000) / 1e6 AS lot
  FROM range({rows}) t(i)
), met AS (SELECT *, ((a + step) % 100)::INT AS b FROM drawn),
played AS (SELECT *, lot < 1 / (1 + exp((b - a) / 50)) AS first FROM met)
SELECT 'u' || number AS "user", 'item' || lpad(if(first, a, b)::VARCHAR, 2, '0') AS winner,
  'item' || lpad(if(first, b, a)::VARCHAR, 2, '0') AS loser
FROM played
"""
GROUPED = """
import duckdb, sys
ask = "SELECT winner, loser, count(*) FROM read_parquet('{}') GROUP BY ALL"
print(len(duckdb.sql(ask.format(sys.argv[1])).fetchall()))
"""


def table(rows: int, path: Path) -> Path:
    """A file of comparisons, written in 2 GB of memory."""
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '2GB'; SET preserve_insertion_order = false")
    connection.execute(f"COPY ({ROWS.format(rows=rows)}) TO '{path}'")
    return path


def tables(quick: bool) -> Iterator[Row]:
    """Comparisons of 100 items: CSV read, and Parquet ranked by the command; in seconds of processors."""
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), 2_000 if quick else 1_000_000
        path = table(rows, folder / "votes.csv")
        runs = {"ours": lambda: pr.read(path), "peer": lambda: pyarrow.csv.read_csv(path)}
        busy = {one: min(times) for one, times in clocked(runs, 3)[1].items()}
        beside = f"pyarrow.csv {busy['peer'] / busy['ours']:.2g}"
        yield Row(f"{rows:,} rows of CSV read, processors", span(busy["ours"]), beside)
        for rows in (2_000,) if quick else (1_000_000, 10_000_000):
            path = table(rows, folder / f"votes{rows}.parquet")
            bare = spent([sys.executable, "-c", GROUPED, str(path)], folder).processor
            for words in ("--unit comparison", "--max-per-user 40"):
                asked = f"rank {path} --epsilon 1 --method counts --items seen {words}".split()
                took = spent([sys.executable, "-m", "privrank_jax", *asked], folder)
                ours = f"{span(took.processor)}, {took.peak:,.0f} MiB"
                beside = f"DuckDB's GROUP BY {bare / took.processor:.2g}"
                told = f"{rows:,} rows of Parquet counted by the command, {words}, processors"
                yield Row(told, ours, beside)


# Kemeny.


def mallows_votes(rng: np.random.Generator, items: int) -> np.ndarray:
    """Rankings of 25 users with a decay of 0.03 per discordant pair."""
    keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), 25)
    draw = jax.vmap(lambda key: pr.mallows.sample(key, np.arange(items), 0.03 * (items - 1)))
    return np.asarray(draw(keys))


def urn(rng: np.random.Generator, items: int) -> np.ndarray:
    """Rankings of 101 users; one copies an earlier one with odds of a tenth of their number."""
    found: list[np.ndarray] = []
    for user in range(101):
        copies = rng.random() < 0.1 * user / (1 + 0.1 * user)
        found.append(found[rng.integers(user)] if copies else rng.permutation(items))
    return np.array(found)


CROWDS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "Mallows votes": mallows_votes,
    "an urn": urn,
    "101 random votes": lambda rng, items: rng.random((101, items)).argsort(axis=1),
}


def kemeny(quick: bool) -> Iterator[Row]:
    """Exact rankings: many small ones in a batch beside NumPy, and crowds by HiGHS beside all triangles at once."""
    number, items = (20, 6) if quick else (1_000, 10)
    problems, layers = (
        reference.tournaments("uniform", number, items),
        reference.subset_layers(items),
    )
    solve, score = (jax.jit(jax.vmap(one)) for one in (exact_kemeny, pr.aggregation.kemeny_score))

    def numpy() -> list[float]:
        return [reference.subset_program_by_layers(w, layers)[0] for w in problems]

    weights = jnp.asarray(problems)
    assert np.allclose(score(solve(weights), weights), numpy(), rtol=1e-5)
    runs = {"ours": lambda: solve(weights), "NumPy, one by one": numpy}
    yield row(f"{number:,} exact Kemeny rankings of {items} items", runs)
    limit, sizes, seeds = (10.0, (8,), 1) if quick else (20.0, (20, 30, 40), 3)
    for name, votes in CROWDS.items():
        for items in sizes:
            yield crowd(f"{items} items, {name}", votes, items, seeds, limit)


def crowd(
    name: str,
    votes: Callable[[np.random.Generator, int], np.ndarray],
    items: int,
    seeds: int,
    limit: float,
) -> Row:
    """What is proved of some crowds, in seconds of processors; of few items beside all triangles at once."""
    proved, gaps, ours, others = 0, [], [], []
    for seed in range(seeds):
        ranks = votes(np.random.default_rng([seed, items]), items)
        w = np.asarray(pr.aggregation.PairWeights.from_ranks(ranks).matrix, float)
        runs: dict[str, Callable[[], Any]] = {
            "ours": functools.partial(pr.aggregation.kemeny, w, time_limit=limit)
        }
        best = runs["ours"]()
        if items <= 20:
            least = peers.integer_program(w)
            assert best.ratio > 1 or abs(best.cost / least - 1) < 1e-6
            runs["SciPy"] = functools.partial(peers.integer_program, w)
        busy = clocked(runs, 1)[1]
        ours.append(min(busy["ours"]))
        others += [min(busy[one]) for one in runs if one != "ours"]
        proved += best.ratio == 1
        gaps.append(best.ratio - 1)
    words = f"{proved} of {seeds} proved, {span(statistics.median(ours))}"
    if proved < seeds:
        words += f", mean gap {100 * statistics.mean(gaps):.2g} %"
    ratio = statistics.median(others) / statistics.median(ours) if others else 0
    return Row(name, words, f"SciPy's milp, all triangles, {ratio:.2g}" if others else "")


# Exact releases.


def releases(quick: bool) -> Iterator[Row]:
    """One exact release of each kind of noise, beside its simulated twin in a compiled program."""
    items, users = 10, 50 if quick else 2_000
    wins = np.asarray(btl_counts(jax.random.key(0), 1, items, float)[0])
    data = pr.comparisons.WinCounts.from_matrix(wins)
    ranks = np.asarray(orders(jax.random.key(1), users, items))
    weights = pr.aggregation.PairWeights.from_ranks(ranks)
    pure = pr.Privacy(1.0, unit="comparison", adjacency="flip")
    user = pr.Privacy(1.0, unit="user", adjacency="replace")
    bits = ranks[:, 0] < ranks[:, 1]
    aggregation, pairwise = pr.aggregation, pr.pairwise
    exact = aggregation.weights.counted_weights(ranks)
    kinds: dict[str, tuple[Callable[[], Any], Callable[[jax.Array], Any]]] = {
        "Laplace noise on win totals": (
            lambda: pairwise.noisy_counts.release(data, pure, noise="laplace"),
            lambda key: pairwise.noisy_counts(key, data, pure, noise="laplace").value,
        ),
        "K-norm noise on Borda scores": (
            lambda: aggregation.dp_borda.release(exact, user),
            lambda key: aggregation.dp_borda(key, weights, user).value,
        ),
        "noise in the objective of a fit": (
            lambda: pairwise.perturbed_mle.release(data, pure),
            lambda key: pairwise.perturbed_mle(key, data, pure).value,
        ),
        "exponential mechanism on rankings": (
            lambda: aggregation.exponential_kemeny.release(exact, user),
            lambda key: aggregation.exponential_kemeny(key, weights, user).value,
        ),
        "KwikSort": (
            lambda: aggregation.dp_kwiksort.release(exact, user),
            lambda key: aggregation.dp_kwiksort(key, weights, user).value,
        ),
        f"randomized response of {users:,} users": (
            lambda: randomized_response.flipped_bits(bits, 1.0),
            lambda key: local.randomized_response(key, bits, 1.0),
        ),
        f"subset selection of {users:,} users": (
            lambda: aggregation.ldp_borda_subsets.release(ranks, user),
            lambda key: aggregation.ldp_borda_subsets(key, ranks, user).value,
        ),
    }
    for name, (released, simulated) in kinds.items():
        twin = functools.partial(jax.jit(simulated), jax.random.key(2))
        yield row(f"exact: {name}, {items} items", {"ours": released, "the simulated twin": twin})


# Commands and studies.

BARE = "import jax.numpy as jnp; (jnp.arange(3) + 1).block_until_ready()"
COMMANDS = (
    "--help",
    "rank coffee --epsilon 1",
    "rank coffee --epsilon 1 --adjacency flip --method mle",
    "rank pairs.csv --epsilon 1 --max-per-user 3 --items seen",
    "aggregate coffee-rankings --epsilon 1",
    "plan --items 10 --epsilon 1 --target 0.1",
    "demo",
)


def first_answers(quick: bool) -> Iterator[Row]:
    """Commands in fresh processes without a cache, beside a bare start of JAX with one operation; medians."""
    commands = COMMANDS[:2] if quick else COMMANDS
    runs = {words: ["-m", "privrank_jax", *words.split()] for words in commands}
    runs = {"bare": ["-c", BARE], **runs}
    with tempfile.TemporaryDirectory() as name:
        folder, took = Path(name), {one: [] for one in runs}
        pairs = "\n".join(f"u{user},{pair}" for user in range(5) for pair in ("a,b", "a,c", "b,c"))
        (folder / "pairs.csv").write_text(f"user,winner,loser\n{pairs}\n", encoding="utf-8")
        for round_ in range(1 if quick else 4):
            for one, words in runs.items():
                measured = spent([sys.executable, *words], folder)
                if round_ or quick:  # the first fills the page cache
                    took[one].append(measured[:2])
    median = {one: [statistics.median(x) for x in zip(*found)] for one, found in took.items()}
    bare = median.pop("bare")
    yield Row("a bare start of JAX; processors", f"{span(bare[0])}; {span(bare[1])}")
    for words, (wall, processor) in median.items():
        beside = f"ours is {wall / bare[0]:.1f} and {processor / bare[1]:.1f} times a bare start"
        yield Row(f"`privrank {words}`; processors", f"{span(wall)}; {span(processor)}", beside)


STUDIES = ("cai-fig1", "rdp-fig7", "xu-table6", "alabi-central")


def studies(quick: bool) -> Iterator[Row]:
    """A long study of each paper as the command runs it, which compiles everything anew."""
    for name in ("xu-fig5",) if quick else STUDIES:
        options = ["--replicates", "2"] if quick else []
        with tempfile.TemporaryDirectory() as folder:
            words = ["reproduce", name, "--out", folder, "--json", *options]
            took = spent([sys.executable, "-m", "privrank_jax", *words], Path(folder))
        document = json.loads(took.output)
        facts = document["diagnostics"]
        yield Row(
            f"study `{name}`, {document['replicates']:,} replicates, cold; processors",
            f"{span(took.wall)}; {span(took.processor)}",
            f"programs: {facts['compilations']}, compiled in {span(facts['compile_seconds'])}, "
            f"run in {span(facts['run_seconds'])}",
        )


# Figure 10 of Xu, Sun and Cheng: the cost of an estimate is linear in users and quadratic in items.


def reports(quick: bool) -> Iterator[Row]:
    """Scores from the reports of growing numbers of users on growing numbers of items; least times."""
    users, items = ((50, 100), (4, 8)) if quick else ((200, 800, 3200), (10, 40, 160))
    rng, scores = np.random.default_rng(0), jax.jit(pr.pairwise.debiased_rr)
    least: dict[tuple[int, int], float] = {}
    for count, number in itertools.product(items, users):
        shape = (number, count * (count - 1) // 2)
        says, asked = (jnp.asarray(rng.random(shape) < 0.5) for _ in range(2))
        epsilon = jnp.asarray(rng.uniform(1, 5, number), jnp.float32)
        run_one = functools.partial(scores, says, asked, epsilon)
        wall, _ = clocked({"ours": run_one}, 7)
        least[count, number] = min(wall["ours"])
        yield Row(f"scores of {count} items from {number:,} users", span(least[count, number]))
    (few, many), (small, large) = users[-2:], items[-2:]
    by_users = np.log(least[large, many] / least[large, few]) / np.log(many / few)
    by_items = np.log(least[large, many] / least[small, many]) / np.log(large / small)
    powers = f"users^{by_users:.2f}, items^{by_items:.2f}"
    yield Row("scores from reports, growth at the end", powers, "users^1, items^2 in the paper")


# The same as on a CPU.


def fit_trial(key: jax.Array, cell: dict) -> dict:
    """The error of a BTL fit and the number of comparisons won by the first item."""
    wins = btl_counts(key, 1, cell["num_items"], jnp.result_type(float))
    return {"largest": jnp.max(fitted(wins)), "won": wins[0, 0].sum()}


def on_both(
    function: Callable[..., jax.Array], *arguments: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What a function computes on the first device and on a CPU."""
    found = []
    for where in (jax.local_devices()[0], jax.devices("cpu")[0]):
        with jax.default_device(where):
            given = [jax.device_put(argument, where) for argument in arguments]
            found.append(np.asarray(jax.jit(lambda *given: function(*given))(*given)))
    return found[0], found[1]


def wrapped(data: jax.Array) -> jax.Array:
    """The key of two words, with the generator that a program on the device takes."""
    return fused(jax.random.wrap_key_data(data, impl="threefry2x32"))


def drawn(data: jax.Array, centers: jax.Array) -> jax.Array:
    """Mallows rankings."""
    keys = jax.random.split(wrapped(data), len(centers))
    return jax.vmap(pr.mallows.sample, (0, 0, None))(keys, centers, 2.0)


def doubled_votes(ranks: jax.Array) -> jax.Array:
    """Votes of each pair, doubled, as ties are half: the weights themselves are rounded."""
    return jnp.rint(2 * len(ranks) * pr.aggregation.PairWeights.from_ranks(ranks).matrix)


def equality(quick: bool) -> Iterator[Row]:
    """The same numbers as on a CPU: words and counts to the last bit, fits and means of a study to rounding."""
    users, rng, data = (
        64 if quick else 20_000,
        np.random.default_rng(0),
        np.array([0, 3], np.uint32),
    )
    ranks, others = (rng.random((users, 20)).argsort(axis=1).astype(np.int32) for _ in range(2))
    first = rng.integers(0, 100, 50_000)
    second = (first + rng.integers(1, 100, first.size)) % 100
    left, right = rng.integers(-(2**14), 2**14, (64, 64)), rng.integers(-4, 5, (64, 64))
    exact = {
        "random words": (lambda data: jax.random.bits(wrapped(data), (10_000,)), [data]),
        "counts of comparisons": (counted, [first, second]),
        "Kendall distances": (jax.vmap(pr.metrics.kendall_distance), [ranks, others]),
        "rankings counted for weights": (doubled_votes, [ranks]),
        "float32 products of integers": (product, [x.astype(np.float32) for x in (left, right)]),
    }
    for name, (function, arguments) in exact.items():
        assert np.array_equal(*on_both(function, *arguments)), f"{name} differ from those of a CPU"
        yield Row(f"the same as on a CPU: {name}", "to the last bit")
    wins = np.asarray(btl_counts(jax.random.key(7), 20, FIT_ITEMS, np.float64))
    for dtype, most in (("float32", 1e-3), ("float64", 1e-8)):
        ours, theirs = on_both(fitted, wins.astype(dtype))
        error = float(np.abs(ours - theirs).max())
        assert error < most, f"{dtype} fits differ by {error} from those of a CPU"
        yield Row(f"the same as on a CPU: {dtype} fits", f"to {error:.0e}")
    ours, theirs = on_both(drawn, data, ranks)
    share = float(np.mean(np.any(ours != theirs, axis=1)))
    assert share < 1e-3, f"a share of {share} of the Mallows draws differ from a CPU's"
    yield Row("the same as on a CPU: Mallows draws", f"all but a share of {share:.1e}")
    study, means = Study("equality", fit_trial, grid(num_items=(10,)), static=("num_items",)), []
    for where in (None, jax.devices("cpu")[0]):
        with jax.default_device(where):
            found = run(jax.random.key(7), study, 20 if quick else 200)
            means.append([one["mean"] for one in found.rows])
    error = float(np.abs(np.subtract(*means)).max())
    assert error < 1e-8, f"the means of a study differ by {error} from those of a CPU"
    yield Row("the same as on a CPU: means of a study", f"to {error:.0e}")


ALL: tuple[Section, ...] = (
    device,
    equality,
    fits,
    mallows,
    kendall,
    counts,
    tables,
    kemeny,
    releases,
    reports,
    first_answers,
    studies,
)
SECTIONS: dict[str, Section] = {section.__name__: section for section in ALL}
GPU = ("device", "equality", "fits", "mallows", "kendall", "counts", "studies")
DOUBLE = ("equality", "fits", "releases")  # in float64

if __name__ == "__main__":
    chosen, *options = sys.argv[1:]
    jax.config.update("jax_enable_x64", chosen in DOUBLE)
    for measured in SECTIONS[chosen]("--quick" in options):
        show(measured)
