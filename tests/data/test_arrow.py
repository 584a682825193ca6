"""Large CSV files, which PyArrow reads: the same columns, errors and lines as by the standard library."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privrank_jax as pr
from privrank_jax.data import DataError, table
from privrank_jax.data.file import File
from tests.data.files import GOOD, HEAD, rows_of, written

CELL = st.text(
    st.sampled_from('ab1é "\t;\u2028\x0b\x1c\u00a0\u200b\ufeff\r\0'), max_size=3
) | st.sampled_from(
    ["", " ", "NA", "null", "nan", "1.0", "01", "1e5", "true", "2024-01-01", "\U0001f3f4"]
)
PLAIN = st.sampled_from(["", " ", "a", "b", "1", "01", "é", "NA", " x ", "\u2028", "\x0b"])
END = st.sampled_from(["\n", "\r\n", "\n\n", "\n \n", "\r\n\r\n"])


@st.composite
def texts(draw):
    """Mostly plain rows of equal length, with now and then something that PyArrow must not see."""
    width, sign, end = draw(st.integers(1, 4)), draw(st.sampled_from(",,;\t|")), draw(END)
    cells = draw(st.sampled_from([PLAIN, PLAIN, CELL]))
    odd = draw(st.booleans())
    row = st.lists(cells, min_size=max(1, width - odd), max_size=width + odd)
    rows = [[f"c{k}" for k in range(width)], *draw(st.lists(row, max_size=6))]
    begin = draw(st.sampled_from(["", "", "\n", "\r\n\n", "\ufeff"]))
    text = begin + end.join(sign.join(one) for one in rows) + draw(st.sampled_from(["", "\n"]))
    return text, sign, draw(st.permutations([f"c{k}" for k in range(width)]))


def read(path, sign, names):
    """Columns, and the line of each row; or the error."""
    try:
        found = table.open_file(File(path, separator=sign))
        columns = [(one.name, one.codes.tolist(), one.words) for one in found.columns(names)]
        return found.header, columns, [found.where(k) for k in range(len(columns[0][1]))]
    except DataError as error:
        return str(error)


@settings(max_examples=120)
@given(texts())
def test_the_same_as_by_the_standard_library(one):
    text, sign, names = one
    large, by_arrow, arrow = table._LARGE, [], table._by_arrow
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v.csv"
        path.write_bytes(text.encode())
        expected = read(path, sign, names)
        table._LARGE, table._by_arrow = 0, lambda *given: by_arrow.append(1) or arrow(*given)
        try:
            assert read(path, sign, names) == expected
        finally:
            table._LARGE, table._by_arrow = large, arrow
    assert not (by_arrow and set('"\0') & set(text))


@pytest.fixture
def used(monkeypatch):
    """How often PyArrow read a file."""
    used, there = [], table._by_arrow
    monkeypatch.setattr(table, "_LARGE", 0)
    monkeypatch.setattr(table, "_by_arrow", lambda *given: used.append(1) or there(*given))
    return used


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_a_large_file_is_read_by_pyarrow(tmp_path, monkeypatch, packed, used):
    import gzip

    monkeypatch.setattr(table, "_LARGE", 2**18)
    text = HEAD + "".join(f"u{k},a{k % 7},b{k % 5},{k % 2}\n" for k in range(20_000))
    path = written(tmp_path, gzip.compress(text.encode()) if packed else text, f"v.csv{packed}")
    found = pr.read(path)
    assert (len(found), found.num_items, used) == (20_000, 12, [1])
    bad = written(tmp_path, text + "u,a1,a1,0\n")
    with pytest.raises(DataError, match=r"line 20002, column 'loser'.*itself"):
        pr.read(bad)
    with pytest.raises(DataError, match="line 20002: 5 fields"):
        pr.read(written(tmp_path, text + "u,a1,b1,0,7\n"))


def test_what_pyarrow_may_not_see(tmp_path, used):
    plain = rows_of(pr.read(written(tmp_path, GOOD)))
    assert used
    for change in (
        lambda text: text.replace("Oslo", '"Oslo"').encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.encode("utf-16"),
    ):
        used.clear()
        assert rows_of(pr.read(written(tmp_path, change(GOOD)))) == plain
        assert not used
    assert (
        rows_of(pr.read(written(tmp_path, GOOD.replace(",", "§")), separator="§")) == plain
    )  # two bytes


def test_bytes_that_are_no_text_in_a_column_that_is_not_read(tmp_path, used):
    path = written(tmp_path, b"user,winner,loser,note\n" + b"u,a,b,c\n" * 9_000 + b"u,a,b,\xe9\n")
    with pytest.raises(DataError, match="line 9002: no UTF-8"):
        pr.read(path)
