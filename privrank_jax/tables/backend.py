"""Tables in an engine: a file through embedded DuckDB, or a table of any Ibis backend.

Ibis and DuckDB are imported where they are needed, so that importing this module is cheap and works without them.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from privrank_jax import _interrupt
from privrank_jax._cells.errors import DataError

# Ibis knows the columns of a table and the operations of their types only at run time.
Backend: TypeAlias = Any
Table: TypeAlias = Any
Expression: TypeAlias = Any
Source: TypeAlias = str | os.PathLike[str] | Table

MEMORY = "1GB"  # that DuckDB may take; what does not fit goes to a folder for temporary files, private to this user
_THREADS = 8  # each may use an eighth of that memory
_CSV = {"header": True, "all_varchar": True, "quote": '"', "escape": '"', "nullstr": ""}
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def check_installed(name: str) -> None:
    """Raise :class:`DataError`, naming the extra, unless Ibis and DuckDB are installed; ``name`` is the file's."""
    try:
        import duckdb  # noqa: F401
        import ibis  # noqa: F401
    except ImportError as error:
        raise DataError(
            f'{name}: reading Parquet needs DuckDB and Ibis: pip install "privrank-jax[tables]"'
        ) from error


def connect(memory: str = MEMORY, *, ordered: bool = False) -> Backend:
    """Open a new in-memory DuckDB as an Ibis backend.

    Args:
        memory: limit, such as ``"1GB"``; beyond it DuckDB works on disk.
        ordered: whether results keep the order of the rows, which takes memory.
    """
    import ibis

    folder = tempfile.TemporaryDirectory(prefix="privrank-", ignore_cleanup_errors=True)
    _interrupt.remove_on_interrupt(folder.name)
    backend = ibis.duckdb.connect(
        memory_limit=memory,
        temp_directory=folder.name,
        preserve_insertion_order=ordered,
        threads=min(os.cpu_count() or 1, _THREADS),
    )
    weakref.finalize(backend, folder.cleanup)
    return backend


def open_table(path: Path, backend: Backend = None, **options: Any) -> Table:
    """Open a Parquet, CSV or TSV file as an Ibis table.

    Args:
        path: ends in .csv, .tsv, .parquet or .pq.
        backend: as of :func:`connect`; default: a new one.
        options: of DuckDB's reader of Parquet.

    Raises:
        DataError: the extra is missing, or DuckDB can't read the file.
    """
    check_installed(path.name)
    with explained(path):
        backend = connect() if backend is None else backend
        file = glob.escape(str(path))
        if path.suffix.lower() in _DELIMITERS:
            return backend.read_csv(file, delim=_DELIMITERS[path.suffix.lower()], **_CSV)
        table = backend.read_parquet(file, hive_partitioning=False, **options)
        _check_names(path.name, table.columns, backend, file)
        return table


def _check_names(name: str, columns: Sequence[str], backend: Backend, file: str) -> None:
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
def explained(path: Path | None) -> Iterator[None]:
    """Turn engine errors on a file into :class:`DataError`; leave errors on a table of another engine as they are."""
    if path is None:
        yield
        return
    import duckdb
    import pyarrow
    from ibis.common.exceptions import IbisError

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
        kind = "CSV" if path.suffix.lower() in _DELIMITERS else "Parquet"
        raise DataError(
            f"{path.name} is not a {kind} file that DuckDB can read ({_first_line(error)}): write it again, or give "
            "a .csv file"
        ) from error


def text(table: Table, column: str, name: str) -> Expression:
    """Return a column as text, by which cells and names are compared.

    Raises:
        DataError: its cells are lists, structures or bytes.
    """
    dtype = table[column].type()
    if dtype.is_nested() or dtype.is_binary() or dtype.is_json() or dtype.is_geospatial():
        raise DataError(
            f"{name}: column {column!r} is of type {dtype}: store it as text or whole numbers"
        )
    return table[column].cast("string")


def stream(expression: Table) -> Iterator[tuple[Any, ...]]:
    """Stream the rows of a table from the engine, without holding them all."""
    backend = expression.get_backend()
    if (
        backend.name == "duckdb"
    ):  # Ibis 12 streams from there by a method that DuckDB 2 no longer has
        cursor = backend.raw_sql(backend.compile(expression))
        while chunk := cursor.fetchmany(65536):
            yield from chunk
        return
    for batch in expression.to_pyarrow_batches():
        yield from zip(*batch.to_pydict().values())


def one_row(expression: Table) -> dict[str, Any]:
    """The single row of an aggregate."""
    return expression.to_pyarrow().to_pylist()[0]


def held(expression: Table) -> Table:
    """The rows of a table, computed once and held by the engine."""
    backend = expression.get_backend()
    if backend.name == "duckdb":  # Ibis 12 can't drop what it caches there, with sqlglot 30
        return backend.create_table(f"held_{secrets.token_hex(8)}", expression, temp=True)
    expression.limit(
        0
    ).to_pyarrow()  # moves tables of this process to the engine, which caching does not
    return expression.cache()


def _first_line(error: Exception) -> str:
    return "".join(str(error).splitlines()[:1])
