"""Tables in an engine: a Parquet file through embedded DuckDB, or a table of any Ibis backend, such as Spark.

The expressions are Ibis's, so what runs in this process on a file runs on a cluster as well. Ibis and DuckDB are
imported where they are needed, so that importing this module is cheap and works without them.
"""

from __future__ import annotations

import contextlib
import glob
import itertools
import os
import re
import secrets
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from privrank_jax import _interrupt
from privrank_jax.data.columns import Column, Table, encode
from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.file import File, Origin
from privrank_jax.data.likeness import MOST_NAMED
from privrank_jax.data.names import MISSING, check_present, named_twice, person
from privrank_jax.data.table import word_of

# Ibis knows the columns of a table and the operations of their types only at run time.
Relation: TypeAlias = Any
Expression: TypeAlias = Any

MEMORY = "1GB"  # that DuckDB may take; what does not fit goes to a folder for temporary files, private to this user
ROW = "file_row_number"  # as DuckDB names the number of a row, from 0
_THREADS = 8  # each may use an eighth of that memory


def connect() -> Any:
    """Open a new in-memory DuckDB as an Ibis backend.

    Raises:
        DataError: DuckDB or Ibis is missing.
    """
    try:
        import duckdb  # noqa: F401
        import ibis
    except ImportError as error:
        raise DataError(
            'reading Parquet needs DuckDB and Ibis: pip install "privrank-jax[tables]"'
        ) from error
    folder = tempfile.TemporaryDirectory(prefix="privrank-", ignore_cleanup_errors=True)
    _interrupt.remove_on_interrupt(folder.name)
    backend = ibis.duckdb.connect(
        memory_limit=MEMORY,
        temp_directory=folder.name,
        preserve_insertion_order=False,
        threads=min(os.cpu_count() or 1, _THREADS),
    )
    weakref.finalize(backend, folder.cleanup)
    return backend


class Source:
    """A table of an engine: its columns as text, and where its rows are.

    Args:
        relation: Ibis table.
        name: of the data.
        path: of a Parquet file; None for other tables.

    Attributes:
        origin: of the data.
        header: names of the columns.
    """

    def __init__(self, relation: Relation, name: str, path: Path | None = None) -> None:
        self.relation, self.name, self.path = relation, name, path
        self.origin = Origin(None if path is None else File(path))
        self.header = [column for column in relation.columns if path is None or column != ROW]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}; rows not shown>"  # Ibis shows the rows of a table in memory

    @property
    def numbered(self) -> bool:
        """Whether the rows have numbers."""
        return self.path is not None and ROW in self.relation.columns

    def texts(self, columns: Sequence[str]) -> Relation:
        """Some columns as text, by which cells and names are compared; a null is a blank.

        Raises:
            DataError: their cells are structures or bytes.
        """
        cells = {}
        for column in columns:
            dtype = self.relation[column].type()
            if dtype.is_nested() or dtype.is_binary() or dtype.is_json() or dtype.is_geospatial():
                raise DataError(
                    f"{self.name}: column {column!r} is of type {dtype}: store it as text or whole numbers"
                )
            cells[column] = self.relation[column].cast("string").fill_null("")
        if self.numbered:
            cells[ROW] = self.relation[ROW]
        return self.relation.select(**cells)

    def table(self) -> Table:
        """The rows in memory, in order, as columns are asked for; :class:`DataError` if the file changed."""

        def columns(names: Sequence[str]) -> list[Column]:
            rows = self.relation.order_by(ROW) if self.numbered else self.relation
            if not names:
                return []
            with self.explained():
                found = rows.select(*map(self._cells, names)).to_pyarrow()
            self.origin.check_unchanged()
            return [self.column(name, found.column(k)) for k, name in enumerate(names)]

        return Table(self.name, self.header, columns, lambda row: f"row {row + 1}")

    def _cells(self, column: str) -> Expression:
        dtype = self.relation[column].type()
        if dtype.is_array() or dtype.is_struct() or dtype.is_binary() or dtype.is_map():
            return self.relation[column]
        return self.relation[column].cast("string").name(column)

    def column(self, name: str, cells: Any) -> Column:
        """A column of Arrow's as codes and words."""
        import pyarrow

        if not (pyarrow.types.is_string(cells.type) or pyarrow.types.is_large_string(cells.type)):
            places = (f"{self.name}, row {row}" for row in itertools.count(1))
            words = ((word_of(cell, place),) for cell, place in zip(cells.to_pylist(), places))
            return encode(words, {name: 0})[0]
        coded = cells.combine_chunks().dictionary_encode(null_encoding="encode")
        coded = coded.combine_chunks() if isinstance(coded, pyarrow.ChunkedArray) else coded
        return Column(name, coded.indices.to_numpy().astype(np.int32), coded.dictionary.to_pylist())

    def explained(self) -> contextlib.AbstractContextManager[None]:
        """Turn engine errors on a file into :class:`DataError`; leave errors of another engine as they are."""
        return contextlib.nullcontext() if self.path is None else _explained(self.path)


def open_parquet(path: Path) -> Source:
    """Open a Parquet file in a DuckDB of its own.

    Raises:
        DataError: the extra is missing, or DuckDB can't read the file.
    """
    with _explained(path):
        backend, file = connect(), glob.escape(str(path))
        relation = backend.read_parquet(file, hive_partitioning=False)
        _check_names(path.name, relation.columns, backend, file)
        if ROW not in relation.columns:
            relation = backend.read_parquet(file, hive_partitioning=False, file_row_number=True)
        return Source(relation, path.name, path)


def of_spark(frame: Any) -> Relation:
    """A data frame of Spark as a table of Ibis, whose expressions run on its cluster."""
    import ibis

    view = f"privrank_{secrets.token_hex(8)}"
    frame.createOrReplaceTempView(view)
    return ibis.pyspark.connect(frame.sparkSession).table(view)


def _check_names(name: str, columns: Sequence[str], backend: Any, file: str) -> None:
    """Refuse Parquet columns with names that are equal or differ only by case: DuckDB renames the later ones."""
    renamed = [column for column in columns if re.fullmatch(r".*_\d+", column, re.DOTALL)]
    if not renamed:
        return
    stored = backend.con.execute("SELECT name FROM parquet_schema(?)", [file]).fetchall()
    for column in renamed:
        if (column,) not in stored and column.rpartition("_")[0] in {one for (one,) in stored}:
            raise DataError(
                f"{name}: two columns have the same name, or differ only by case, and one of them would be read as "
                f"{column!r}: rename one"
            )


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        import duckdb
        import pyarrow
        from ibis.common.exceptions import IbisError
    except ImportError:
        connect()  # which says what to install
        raise
    try:
        yield
    except DataError:
        raise
    except duckdb.OutOfMemoryException as error:
        raise DataError(
            f"{path.name}: DuckDB needs more than {MEMORY} of memory or more room for temporary files "
            f"({_first_line(error)})"
        ) from error
    except (duckdb.Error, IbisError, pyarrow.ArrowException, RuntimeError, UnicodeError) as error:
        raise DataError(
            f"{path.name} is not a Parquet file that DuckDB can read ({_first_line(error)}): write it again, or give a "
            ".csv file"
        ) from error


def _first_line(error: Exception) -> str:
    return "".join(str(error).splitlines()[:1])


def one_row(expression: Relation) -> dict[str, Any]:
    """The single row of an aggregate."""
    return expression.to_pyarrow().to_pylist()[0]


def held(expression: Relation) -> Relation:
    """The rows of a table, computed once and held by the engine."""
    backend = expression.get_backend()
    if backend.name == "duckdb":  # Ibis 12 can't drop what it caches there, with sqlglot 30
        return backend.create_table(f"held_{secrets.token_hex(8)}", expression, temp=True)
    expression.limit(0).to_pyarrow()  # moves tables of this process there, as caching does not
    return expression.cache()


# --- users --------------------------------------------------------------------------------------------


class People(NamedTuple):
    """The number of users of a table, the most rows of one, and pairs of names that differ by case alone."""

    users: int
    most: int
    alike: tuple[tuple[str, str], ...] = ()


def check_users(source: Source, column: str) -> People:
    """Check the users of a table.

    Names are compared in the engine, except for those with blanks or non-ASCII characters.

    Raises:
        DataError: a user is missing or named twice.
    """
    table = source.texts([column]).rename(user=column)
    first = {"first": table[ROW].min()} if source.numbered else {}
    counted = table.group_by("user").aggregate(rows=table.count(), **first)
    name = counted.user
    capitals = name != name.lower()
    odd = (name == "") | name.re_search("[^!-~]") | name.lower().isin(sorted(MISSING))
    odd = odd | (capitals & name.contains("@"))  # case makes no other user of an e-mail address
    counts = {"odd": odd.sum(), "capitals": capitals.sum()}
    found = one_row(counted.aggregate(users=counted.count(), most=counted.rows.max(), **counts))
    if found["odd"]:
        _check_odd(source, column, counted, odd)
    alike = []
    if found["capitals"]:
        both = counted.group_by(low=name.lower()).aggregate(one=name.min(), other=name.max())
        pairs = both.filter(both.one != both.other).order_by("low").limit(MOST_NAMED)
        alike = [(pair["one"], pair["other"]) for pair in pairs.to_pyarrow().to_pylist()]
    return People(found["users"], found["most"] or 0, tuple(alike))


def _check_odd(source: Source, column: str, counted: Relation, odd: Expression) -> None:
    """Check names that are not plain words: of two spellings of a name, at least one is not in its normal form."""
    import ibis
    import pyarrow

    suspects: dict[str, dict[str, Any]] = {}
    row: dict[str, Any] = {}
    try:
        for batch in counted.filter(odd).to_pyarrow().to_batches(max_chunksize=65536):
            for row in batch.to_pylist():
                name = check_present(row["user"], "user")
                shared = person(name)
                if shared != name and suspects.setdefault(shared, row)["user"] != name:
                    raise named_twice("user", suspects[shared]["user"], name)
        normal = ibis.memtable(pyarrow.table({"user": pyarrow.array(suspects, pyarrow.string())}))
        for twin in counted.semi_join(normal, "user").limit(1).to_pyarrow().to_pylist():
            row = suspects[twin["user"]]
            raise named_twice("user", twin["user"], row["user"])
    except BadCell as error:
        place = f", row {row['first'] + 1}" if "first" in row else ""
        raise DataError(f"{source.name}{place}, column {column!r}: {error}") from None
