"""Every loader on bad input: a table that says what the file says, or a ``DataError`` that says what to do."""

from __future__ import annotations

import csv
import functools
import io
import math
import os
import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from privrank_jax import datasets
from privrank_jax._cells.names import form
from privrank_jax.datasets import DataError
from privrank_jax.datasets.formats import read_header
from privrank_jax.datasets.kamishima import read_kamishima
from privrank_jax.datasets.ranking_table import RankingTable
from privrank_jax.datasets.source import FILES
from tests.fuzz import strategies
from tests.fuzz.strategies import fuzz
from tests.reference import cells as reference

QUICK, THOROUGH = 20, 1_000  # files of each kind
ITEMS = st.none() | st.lists(st.sampled_from(strategies.CELLS[-40:]), max_size=4)
COLUMN = st.sampled_from(
    ("user", "user", "user", "user", None, "note", "a", "winner", "", "\ud800")
)

# --- what each loader takes, and what its table must say


def _cells(content: bytes, delimiter: str) -> list[dict[str, str]]:
    """Rows of a CSV file as the standard library reads them."""
    lines = io.StringIO(content.decode("utf-8-sig"), newline="")
    header, *rows = (row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row)
    return [dict(zip(header, row, strict=True)) for row in rows]


def _rank(cell: str) -> int | None:
    known = cell.strip() and cell.casefold().strip() not in ("na", "nan", "none")
    return int(float(cell)) if known else None


def _before(ranks: list[str], sign: int) -> list[int]:
    """How many items are ranked before each, or rated above where the sign is -1; -1 where it is not ranked."""
    known = [sign * float(rank) if rank.strip() and rank.casefold().strip() not in ("na", "nan", "none") else math.inf
             for rank in ranks]  # fmt: skip
    return [sum(x < y for x in known) if y < math.inf else -1 for y in known]


def comparisons_as_written(table, rows, options):
    names = table.item_names
    assert [names[k] for k in table.winners] == [row["winner"] for row in rows]
    assert [names[k] for k in table.losers] == [row["loser"] for row in rows]
    assert np.all(table.winners != table.losers)
    yes = [row.get("tie", "").strip().casefold() in ("1", "1.0", "true", "yes") for row in rows]
    assert options.get("tie", "tie") is None or table.tied.tolist() == yes
    if options["user"] is not None:
        assert [table.user_names[k] for k in table.users] == [row[options["user"]] for row in rows]
    if options["items"] is None:
        assert not {form(name) for name in names} & {form(column) for column in rows[0]}


def rankings_as_written(table, rows, options):
    for ranks, row in zip(table.ranks.tolist(), rows, strict=True):
        assert ranks == _before([row[name] for name in table.item_names], options["sign"])
    if table.user_names:
        assert list(table.user_names) == [row[options["user"]] for row in rows]


def rows_as_written(table, rows, options):
    """Of rankings with one row per user and item."""
    found = {(row[options["user"]], row["item"]): row["rank"] for row in rows}
    assert len(found) == len(rows)
    for user, ranks in zip(table.user_names, table.ranks.tolist(), strict=True):
        cells = [found.get((user, name), "") for name in table.item_names]
        assert ranks == _before(cells, options["sign"])


def table_as_written(table, rows, options):
    long = rows and {"item", "rank"} <= set(rows[0])
    (rows_as_written if long else rankings_as_written)(table, rows, options)


def ranks_as_written(table, rows, options):
    """And nothing in them is unlike ranks; no column that says who ranked is an item."""
    table_as_written(table, rows, {**options, "sign": 1})
    if {"item", "rank"} <= set(rows[0]):
        found = {(row[options["user"]], row["item"]): _rank(row["rank"]) for row in rows}
        written = [[found.get((u, i)) for i in table.item_names] for u in table.user_names]
        others = 0
    else:
        assert options["user"] is not None or options["items"] or "user" not in rows[0]
        written = [[_rank(row[name]) for name in table.item_names] for row in rows]
        others = len(rows[0]) - (options["user"] is not None) - table.num_items
        others -= "synthetic_epsilon" in rows[0]
        if options["user"] is None and options["items"] is None:
            numbers = (reference.numbers_rows(written, k) for k in range(table.num_items))
            assert not any(numbers)
    assert max(rank or 0 for row in written for rank in row) <= table.num_items + others
    unlike, users = reference.unlike(written, others > 0)
    assert 2 * unlike <= users


def ratings_as_written(table, rows, options):
    table_as_written(table, rows, {**options, "sign": -1})


def reports_as_written(table, rows, options):
    names = table.item_names
    assert [names[k] for k in table.first] == [row["item_1"] for row in rows]
    assert [names[k] for k in table.second] == [row["item_2"] for row in rows]
    assert table.epsilon.tolist() == [float(row["epsilon"]) for row in rows]
    assert np.all((table.epsilon > 0) & np.isfinite(table.epsilon))


def synthetic_as_written(found, rows, options):
    rankings_as_written(found.table, rows, {**options, "sign": 1})
    assert found.epsilon.tolist() == [float(row["synthetic_epsilon"]) for row in rows]
    assert not found.table.tied


def budgets_as_written(epsilon, rows, options):
    assert set(epsilon.tolist()) == {float(row["budget"]) for row in rows}
    assert np.all((epsilon > 0) & np.isfinite(epsilon))


def read_budgets(path, user, items):
    return datasets.read_user_epsilon(path, "budget", user or "user")


def _of_items(header: list[str]) -> list[str]:
    """Columns that a user may name, who has two columns of items."""
    usual = {"winner", "loser"} <= set(header) or len(header) < 3
    return ["winner", "loser"] if usual else header[1:3]


def read_battles(path, user, items):
    winner, loser = _of_items(read_header(path))
    return datasets.read_comparisons(path, user=user, items=items, winner=winner, loser=loser)


def battles_as_written(table, rows, options):
    winner, loser = _of_items(list(rows[0]))
    assert (winner, loser) == ("winner", "loser") or not {"winner", "result", "Result"} & (
        set(rows[0]) - {winner, loser}
    )
    renamed = [{**row, "winner": row[winner], "loser": row[loser]} for row in rows]
    comparisons_as_written(table, renamed, options)


LOADERS = {
    "comparisons": (datasets.read_comparisons, comparisons_as_written),
    "wide": (datasets.read_rankings, ranks_as_written),
    "long": (datasets.read_rankings, ranks_as_written),
    "shapes": (datasets.read_rankings, ranks_as_written),
    "ratings": (functools.partial(datasets.read_rankings, cells="ratings"), ratings_as_written),
    "battles": (read_battles, battles_as_written),
    "reports": (datasets.read_reports, reports_as_written),
    "synthetic": (datasets.read_synthetic_rankings, synthetic_as_written),
    "budgets": (read_budgets, budgets_as_written),
}  # fmt: skip


def _plain(message: str, path: Path) -> None:
    """A refusal that names the file, or the list of items, and speaks of it, not of the inside of Python."""
    assert path.name in message or message.startswith(("items ", "items: "))
    assert not re.search(
        r"\[Errno|codec|invalid literal|cannot convert|could not convert|out of range|too large to convert|"
        r"null byte|np\.|array\(|NoneType|Exceeds the limit",
        message.replace(path.name, "").split("(")[0],
    ), message


def _names(names) -> None:
    assert len(set(names)) == len(names)
    assert all(name.strip() for name in names)


def _check_text(folder: Path, kind: str, content: bytes, suffix: str, user, items) -> None:
    path = folder / f"votes{suffix}"
    path.write_bytes(content)
    load, as_written = LOADERS[kind]
    try:
        found = load(path, user=user, items=items)
    except DataError as error:
        _plain(str(error), path)
        return
    finally:
        path.unlink()
    table = getattr(found, "table", found)
    if kind != "budgets":
        _names(table.item_names)
        _names(table.user_names)
        assert len(table.item_names) >= 1 + (kind != "reports")
        if items is not None:
            assert list(table.item_names) == [str(item) for item in items]
    delimiter = "\t" if suffix.lower() == ".tsv" else ","
    as_written(found, _cells(content, delimiter), {"user": user, "items": items})


SUFFIXES = st.sampled_from((".csv",) * 8 + (".CSV", ".tsv", ".txt", ""))


def text_test(kind, examples):
    @fuzz(examples)
    @given(content=strategies.contents(kind), suffix=SUFFIXES, user=COLUMN, items=ITEMS)
    def run(folder, content, suffix, user, items):
        # Options are refused early: most files are read with the default ones.
        usual = len(content) % 4
        default = "user" if b"user" in content[:80] else None
        _check_text(folder, kind, content, suffix, default if usual else user, None if usual else items)  # fmt: skip

    return run


@pytest.mark.parametrize("kind", LOADERS)
def test_tables(tmp_path, kind):
    for text in strategies.TEXTS[kind][0]:
        for user in ("user", None):
            _check_text(tmp_path, kind, text.encode(), ".csv", user, None)
    text_test(kind, QUICK)(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LOADERS)
def test_tables_thoroughly(tmp_path, kind):
    text_test(kind, THOROUGH)(tmp_path)


# --- PrefLib's files and Kamishima's


def _check_preflib(folder: Path, content: bytes, suffix: str) -> None:
    path = folder / f"votes{suffix}"
    path.write_bytes(content)
    try:
        table = datasets.read_preflib(path)
    except DataError as error:
        _plain(str(error), path)
        return
    _names(table.item_names)
    assert np.all(np.any(table.ranks == 0, axis=1))
    assert table.complete or suffix[3] == "i"
    assert not table.tied or suffix[1] == "t"
    text = content.decode("utf-8-sig")
    assert all(name in text for name in table.item_names)


def _check_orders(folder: Path, content: bytes, names: bytes | None) -> None:
    path, beside = folder / "votes.order", folder / "sushi3.idata"
    path.write_bytes(content)
    beside.unlink(missing_ok=True)
    if names is not None:
        beside.write_bytes(names)
    try:
        table = read_kamishima(path)
    except DataError as error:
        _plain(str(error).replace(beside.name, path.name), path)
        return
    _names(table.item_names)
    assert not table.tied
    lines = [line.split() for line in content.decode("utf-8-sig").split("\n") if line.strip()]
    if len(table.ranks) == len(lines) - 1:  # other line ends are read too
        for ranks, (_, length, *order) in zip(table.ranks.tolist(), lines[1:]):
            assert [ranks[int(k)] for k in order] == list(range(int(length)))


def preflib_test(examples):
    suffixes = st.sampled_from((".soc", ".soi", ".toc", ".toi", ".TOI"))

    @fuzz(examples)
    @given(content=strategies.contents("preflib"), suffix=suffixes)
    def run(folder, content, suffix):
        _check_preflib(folder, content, suffix.lower())

    return run


def orders_test(examples):
    names = st.none() | strategies.damaged(strategies.ITEM_NAMES, "\t", 2)

    @fuzz(examples)
    @given(content=strategies.contents("orders"), names=names)
    @example(content=b"3 1\n7\n", names=None)  # a line of one number
    @example(content=b"999999999 1\n0 2 1 5\n", names=None)  # more items than memory
    @example(content=strategies.ORDERS[2].encode(), names=b"0\ta\n1\tb\n2\ta\n")  # a name twice
    @example(content=strategies.ORDERS[2].encode(), names=b"0\ta\n1\tb\n2\t \n")  # a blank one
    @example(content=strategies.ORDERS[2].encode(), names=b"9" * 5000 + b"\ta\n")
    def run(folder, content, names):
        _check_orders(folder, content, names)

    return run


def test_preflib(tmp_path):
    preflib_test(2 * QUICK)(tmp_path)


@pytest.mark.slow
def test_preflib_thoroughly(tmp_path):
    preflib_test(THOROUGH)(tmp_path)


def test_orders(tmp_path):
    orders_test(QUICK)(tmp_path)


@pytest.mark.slow
def test_orders_thoroughly(tmp_path):
    orders_test(THOROUGH)(tmp_path)


def test_many_alternatives_are_read_in_a_moment(tmp_path):
    path, many = tmp_path / "many.soi", 3_000
    lines = [f"# ALTERNATIVE NAME {k}: name {k}" for k in range(1, many + 1)]
    path.write_text("\n".join([*lines, "1: 1,2"]), encoding="utf-8")
    assert datasets.read_preflib(path).num_items == many


# --- Parquet

SELECTS = (
    "SELECT * FROM (VALUES ('u1', 'a', 'b'), ('u2', 'b', 'c'), ('u3', 'c', 'a')) t(\"user\", winner, loser)",
    'SELECT i AS "user", i % 3 AS winner, (i + 1) % 3 AS loser, i = 2 AS tie FROM range(9) t(i)',
    'SELECT i AS "user", 1 + i % 2 AS a, 2 - i % 2 AS b FROM range(4) t(i)',
    "SELECT * FROM (VALUES ('u1', 'a', 'b', 1, 1.0), ('u2', 'b', 'c', 0, 2.5)) "
    't("user", item_1, item_2, report, epsilon)',
    'SELECT i AS "user", 1.5 AS synthetic_epsilon, 1 + i % 2 AS a, 2 - i % 2 AS b FROM range(4) t(i)',
)
# Cells of other types, and columns that no loader expects.
VALUES = (
    "NULL", "''", "'NA'", "'a'", "chr(0) || 'a'", "'nan'::DOUBLE", "'-inf'::FLOAT", "1e308", "1.5", "-1", "true",
    "170141183460469231731687303715884105727::HUGEINT", "0.3::DECIMAL(9, 4)", "[1, 2]", "{'a': 1}", "MAP {'k': 1}",
    "'a'::BLOB", "TIMESTAMP '2020-01-01 00:00:00'", "DATE '2020-01-01'", "INTERVAL 1 DAY", "TIME '01:02:03'",
    "uuid()", "'101'::BIT", "'x'::ENUM ('x', 'y')", "repeat('z', 200000)", "[[1], []]", "NULL::INTEGER",
)  # fmt: skip
NAMES = ("user", "User", "USER", "winner", "Winner", "loser", "tie", "a", "A", "", " ", 'q"', "é", "rank", "item",
         "item_1", "item_2", "report", "epsilon", "synthetic_epsilon", "x\ny", "../z", "budget")  # fmt: skip


def _parquet(path: Path, select: str) -> bytes | None:
    """Content of a file; None where DuckDB does not write such a table."""
    quoted = str(path).replace("'", "''")
    with duckdb.connect() as connection:
        try:
            connection.execute(f"COPY ({select}) TO '{quoted}' (FORMAT parquet)")
        except duckdb.Error:
            return None
    return path.read_bytes()


@st.composite
def selects(draw) -> str:
    """A table of some columns and few rows, all of one odd type."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5))
    names += draw(st.sampled_from(((), ("user", "winner", "loser"), ("user", "a", "b"))))
    values = [draw(st.sampled_from(VALUES)) for _ in names]
    columns = ", ".join(
        f'{value} AS "{name.replace(chr(34), 2 * chr(34)) or "_"}"'
        for name, value in zip(names, values)
    )
    return f"SELECT {columns} FROM range({draw(st.integers(0, 3))})"


PARQUET_LOADERS = (
    datasets.read_comparisons, datasets.read_rankings, datasets.read_reports, datasets.read_synthetic_rankings,
    lambda path: datasets.read_user_epsilon(path, "budget", "user"),
)  # fmt: skip


def _check_parquet(path: Path, content: bytes, load) -> None:
    path.write_bytes(content)
    try:
        found = load(path)
    except DataError as error:
        _plain(str(error), path)
        return
    table = getattr(found, "table", found)
    if not isinstance(table, np.ndarray):
        _names(table.item_names)
        _names(table.user_names)


def parquet_test(examples, folder):
    valid = tuple(_parquet(folder / "valid.parquet", select) for select in SELECTS)
    assert all(valid)

    @fuzz(examples)
    @given(content=strategies.damaged_bytes(valid), load=st.sampled_from(PARQUET_LOADERS))
    def damaged(content, load):
        _check_parquet(folder / "votes.parquet", content, load)

    @fuzz(examples)
    @given(select=selects(), load=st.sampled_from(PARQUET_LOADERS))
    def odd(select, load):
        content = _parquet(folder / "odd.parquet", select)
        if content is not None:
            _check_parquet(folder / "votes.parquet", content, load)

    damaged()
    odd()
    latin = valid[0].replace(b"user", b"us\xe9r").replace(b"u1", b"\xe9\xe9")
    for load in PARQUET_LOADERS[:2]:  # names, and cells, that are not UTF-8
        _check_parquet(folder / "votes.parquet", latin, load)
        _check_parquet(folder / "votes.parquet", valid[0].replace(b"u1", b"\xe9\xe9"), load)


def test_parquet(tmp_path):
    parquet_test(QUICK // 4, tmp_path)


@pytest.mark.slow
def test_parquet_thoroughly(tmp_path):
    parquet_test(THOROUGH // 4, tmp_path)


# --- files that are none


TEXT_LOADERS = (
    *PARQUET_LOADERS, datasets.read_preflib, read_kamishima, lambda path: datasets.read_epsilon(path, "budget"),
)  # fmt: skip


def _odd_paths(folder: Path, endings: tuple[str, ...]):
    """Folders, links to nowhere and to themselves, a file that can't be read; names that no file has."""
    for ending in endings:
        made = folder / f"made{ending}"
        made.mkdir()
        yield made
        for name, target in (("none", folder / "gone"), ("loop", folder / f"loop{ending}")):
            (folder / f"{name}{ending}").symlink_to(target)
            yield folder / f"{name}{ending}"
        yield folder / f"{'x' * 300}{ending}"
        yield folder / f"nul\0{ending}"
        yield made / f"below{ending}"
        (folder / f"empty{ending}").touch()
        yield folder / f"empty{ending}"
        yield folder / f"empty{ending}" / f"x{ending}"
        yield folder / f"\udcff{ending}"
        if Path("/proc/self/mem").exists():  # reads fail with an I/O error, for the superuser too
            (folder / f"mem{ending}").symlink_to("/proc/self/mem")
            yield folder / f"mem{ending}"


def _check_paths(folder: Path, endings: tuple[str, ...], loaders) -> None:
    for path in _odd_paths(folder, endings):
        for load in loaders:
            with pytest.raises(DataError) as refused:
                load(path)
            _plain(str(refused.value), path)
        assert not datasets.is_report_file(path)
        assert not datasets.is_synthetic_rankings_file(path)


def test_paths_that_are_no_files(tmp_path):
    _check_paths(tmp_path, (".csv", ".soc", ".order", ".xlsx", ""), TEXT_LOADERS)
    _check_paths(tmp_path, (".parquet",), TEXT_LOADERS[:1])


@pytest.mark.slow
def test_paths_that_are_no_files_thoroughly(tmp_path):
    _check_paths(tmp_path, (".tsv", ".parquet", ".pq", ".soi", ".toc", ".toi"), TEXT_LOADERS)


# --- named data sets

NAMED = [
    *((name, datasets.load) for name in datasets.available()),
    *((name, datasets.load_rankings) for name in datasets.available_rankings()),
]


def named_test(examples):
    @fuzz(examples)
    @given(content=strategies.contents("wide"), folders=st.booleans())
    def run(folder, content, folders):
        """Whatever the files hold, they are not the published ones."""
        for file in FILES:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
            if folders:
                path.mkdir()
            else:
                path.write_bytes(content)
        for name, load in NAMED:
            with pytest.raises(DataError, match=r"cannot read|not the published file"):
                load(name, folder)

    return run


def test_named_data_sets(tmp_path):
    named_test(3)(tmp_path)


@pytest.mark.slow
def test_named_data_sets_thoroughly(tmp_path):
    named_test(THOROUGH // 10)(tmp_path)


def test_named_data_sets_that_are_damaged_in_one_place(data_folder, tmp_path):
    for name, load in NAMED:
        load(name, data_folder)
    for file in FILES:
        content = bytearray((data_folder / file).read_bytes())
        content[len(content) // 2] ^= 1
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name, load in NAMED:
        with pytest.raises(DataError, match=r"not the published file.*Restore"):
            load(name, tmp_path)


@pytest.mark.parametrize("name", ["", "cars ", "\0", "\ud800", "../cars", "x" * 10_000, os.sep])
def test_names_of_no_data_set(name):
    for load in (datasets.load, datasets.load_rankings):
        with pytest.raises(DataError, match="named"):
            load(name)


# --- what is written is read

USABLE = [name for name in strategies.CELLS if name.strip() and not {"\0", "\ud800"} & set(name)]


def _write_and_read(path: Path, items: tuple[str, str], users: tuple[str, str]) -> None:
    table = RankingTable(np.array([[0, 1], [1, 0]]), items, users)
    rankings = datasets.SyntheticRankings(table, np.array([1.0, 2.0]))
    try:
        datasets.write_synthetic_rankings(path, rankings)
    except DataError as error:
        assert "like a column of" in str(error)  # noqa: PT017
        return
    try:
        found = datasets.read_synthetic_rankings(path).table
    except DataError as error:
        assert "which marks a missing value" in str(error)  # noqa: PT017
        return
    assert found.item_names == items
    assert dict(zip(found.user_names, found.ranks.tolist())) == dict(zip(users, [[0, 1], [1, 0]]))


@pytest.mark.parametrize(
    "suffix", [".csv", ".tsv", pytest.param(".parquet", marks=pytest.mark.slow)]
)
def test_names_survive_writing(tmp_path, suffix):
    for name in [*USABLE, "User", "Synthetic_Epsilon", "a\rb", "\rb", "a\r\nb", "a\nb"]:
        if len(name) < 1_000:
            _write_and_read(tmp_path / f"new{suffix}", (name, "another"), ("u1", "u2"))
            _write_and_read(tmp_path / f"new{suffix}", ("p", "q"), (name, "another"))


def test_names_in_parquet_survive_writing(tmp_path):
    for name in ("User", "USER", "Synthetic_Epsilon", "a\rb", "é"):
        _write_and_read(tmp_path / "new.parquet", (name, "another"), ("u1", "u2"))


def test_parquet_columns_that_differ_by_case(tmp_path):
    """DuckDB would give the second another name."""
    path = tmp_path / "votes.parquet"
    content = _parquet(path, 'SELECT 1 AS "user", 1 AS usex, 2 AS b')
    for twin in (b"User", b"user"):
        path.write_bytes(content.replace(b"usex", twin))
        with pytest.raises(DataError, match="differ only by case"):
            datasets.read_rankings(path)
