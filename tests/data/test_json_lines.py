"""Records of any table as a stream, and what is wrong with one."""

from __future__ import annotations

import datetime
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from privrank_jax.data import DataError
from privrank_jax.data.table import records_of

TEXT = b'\xef\xbb\xbf{"a": 1}\n\n  \n{"a": "\xc3\xa9"}'


@pytest.mark.parametrize("name", ["x.jsonl", "x.JSONL", "x.jsonl.gz"])
def test_objects_and_where_they_stand(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT) if name.endswith("gz") else TEXT)
    assert list(records_of(path)) == [("line 1", {"a": 1}), ("line 4", {"a": "é"})]


ROWS = [
    {"chosen": [{"role": "user", "content": f"{k}"}], "id": k, "day": datetime.date(2026, 1, k), "none": None}
    for k in range(1, 6)
]  # fmt: skip
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


class Formatted:
    """As a data set of Hugging Face, whose rows are tensors unless they are asked for as Python's objects."""

    column_names = tuple(COLUMNS)

    def __init__(self, plain=False):
        self.plain = plain

    def with_format(self, kind):
        return Formatted(plain=kind is None)

    def __iter__(self):
        return iter(ROWS if self.plain else [np.zeros(2)])


@pytest.mark.parametrize(
    "source",
    [
        ROWS,
        COLUMNS,
        COLUMNS | {"id": np.arange(1, 6)},
        pd.DataFrame(COLUMNS),
        pa.Table.from_pylist(ROWS),
        Formatted(),
    ],
    ids=["rows", "columns", "numpy", "pandas", "arrow", "hf"],
)
def test_tables_in_memory(source):
    rows = [(f"row {k}", {**row, "day": row["day"].isoformat()}) for k, row in enumerate(ROWS, 1)]
    assert list(records_of(source)) == rows


def test_blanks_of_frames_are_null():
    row = {
        "a": pd.NaT,
        "b": pd.NA,
        "c": np.float32("nan"),
        "d": np.datetime64("NaT", "s"),
        "e": np.True_,
    }
    assert next(records_of([row]))[1] == {**dict.fromkeys("abcd"), "e": True}


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (3, "'int' is no table"),
        (["a"], "row 1: str where an object"),
        ({"chosen": "a", "rejected": "b"}, "'chosen' is no list of cells"),
        (pd.DataFrame([["a", "b"]], columns=["a", "a"]), "one name"),
        ([{"a": 1}, {"a": b"b"}], "row 2: a cell holds bytes"),
        ([{"a": {1}}], "row 1: a cell holds set"),
        ([{"a": float("inf")}], "row 1: .*Infinity is no number"),
        ([{(1, 2): 3}], "row 1: keys"),
        ([{1: 2, "1": 3}], "row 1: .*'1' stands there twice"),
    ],
)
def test_what_is_no_table(source, said):
    with pytest.raises(DataError, match=said):
        list(records_of(source))


def test_a_line_of_json_has_no_nan(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": NaN}')
    with pytest.raises(DataError, match="NaN is no number"):
        list(records_of(tmp_path / "x.jsonl"))
