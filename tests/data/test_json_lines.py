"""JSON Lines as a stream, and what is wrong with a line."""

from __future__ import annotations

import gzip
import hashlib

import pytest

from privrank_jax.data import DataError
from privrank_jax.data.json_lines import JsonLines

TEXT = b'\xef\xbb\xbf{"a": 1}\n\n  \n{"a": "\xc3\xa9"}'


@pytest.mark.parametrize("name", ["x.jsonl", "x.JSONL", "x.jsonl.gz"])
def test_objects_and_where_they_stand(name, tmp_path):
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT) if name.endswith("gz") else TEXT)
    lines = JsonLines(path)
    assert [(lines.line, found) for found in lines] == [(1, {"a": 1}), (4, {"a": "é"})]
    text = TEXT.decode("utf-8-sig")
    assert lines.size == len(text)
    assert lines.checksum == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a": 1}\n{"a": 1,}', "line 2: not JSON"),
        (b'{"a": 1}\n[1]', "line 2: list where an object"),
        (b'{"a": 1, "a": 2}', "line 1: .*'a' stands there twice"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": "\xff"}', "line 1: bytes that are not UTF-8"),
        (b"[" * 100_000, "line 1: not JSON"),
    ],
)
def test_broken_lines_are_named(text, said, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(text)
    with pytest.raises(DataError, match=said):
        list(JsonLines(path))


@pytest.mark.parametrize("cut", [True, False])
def test_broken_archives(cut, tmp_path):
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(TEXT)[:-9] if cut else TEXT)
    with pytest.raises(DataError, match="is damaged"):
        list(JsonLines(path))


def test_other_files(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        JsonLines(tmp_path / "x.jsonl")
    (tmp_path / "x.toml").write_bytes(TEXT)
    with pytest.raises(DataError, match="unknown kind of file"):
        JsonLines(tmp_path / "x.toml")
    (tmp_path / "x.parquet").write_bytes(TEXT)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(JsonLines(tmp_path / "x.parquet"))


@pytest.mark.parametrize(
    ("text", "found"),
    [('[{"a": 1},\n {"a": 2}]', [1, 2]), ('{"a": 1}\n\n{"a": 2}\n', [1, 2]), ('{"a": 1}', [1])],
)
def test_a_json_file_is_a_list_or_lines(tmp_path, text, found):
    path = tmp_path / "x.json"
    path.write_text(text)
    assert [one["a"] for one in JsonLines(path)] == found
    path.write_text('[{"a": 1}, 2]')
    with pytest.raises(DataError, match="object 2: int where an object is expected"):
        list(JsonLines(path))
    path.write_text('[{"a": 1, "a": 2}]')
    with pytest.raises(DataError, match="'a' stands there twice"):
        list(JsonLines(path))
