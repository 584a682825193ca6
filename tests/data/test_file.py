"""Files as bytes that become text: compression, encodings, separators, standard input; where data come from."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pytest

from privrank_jax.data import reader
from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File, Origin
from privrank_jax.data.reader import read
from tests.data.files import GOOD, written
from tests.parquet import as_parquet

TEXT = "user,winner\nGötz,Ærø\n"


@pytest.fixture
def piped(monkeypatch):
    """Standard input with this content."""

    def pipe(content):
        stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False)
        monkeypatch.setattr(sys, "stdin", stdin)
        return File("-")

    return pipe


def zstandard(content):
    return pyarrow.compress(content, codec="zstd", asbytes=True)


PACKS = {"gz": gzip.compress, "zst": zstandard}


@pytest.mark.parametrize(
    ("content", "encoding", "said"),
    [
        (TEXT.encode(), None, ""),
        (TEXT.encode("utf-8-sig"), None, ""),
        (TEXT.encode("utf-8-sig"), "UTF8", ""),
        (TEXT.encode("utf-16"), None, "UTF-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), None, "UTF-16"),
        (TEXT.encode("utf-16"), "utf-16-le", ""),
        (TEXT.encode("utf-16-be"), "utf-16-be", ""),
        (TEXT.encode("latin-1"), "Latin-1", ""),
        (TEXT.encode("cp1252"), "cp1252", ""),
    ],
)
@pytest.mark.parametrize("packed", [None, "gz", "zst"])
def test_encodings(tmp_path, content, encoding, said, packed):
    path = tmp_path / ("votes.csv" if packed is None else f"votes.csv.{packed}")
    path.write_bytes(PACKS.get(packed, bytes)(content))
    file = File(path, encoding=encoding)
    assert "".join(file.lines()) == TEXT
    assert said in "".join(file.reading)
    assert bool(said) == bool(file.reading)
    assert file.suffix == ".csv"


@pytest.mark.parametrize(
    ("content", "encoding", "named"),
    [
        (TEXT.encode("latin-1"), None, "line 2.*latin-1"),
        (TEXT.encode("utf-16-le"), None, "utf-16"),
        (TEXT.encode("utf-16")[:-1], None, "UTF-16"),
        (TEXT.encode("utf-8-sig"), "latin-1", "encoding="),
        (TEXT.encode("utf-16"), "utf-8", "encoding="),
        (b"a\x81b", "cp1252", "CP1252"),
    ],
)
def test_bytes_that_are_no_text(tmp_path, content, encoding, named):
    path = written(tmp_path, content)
    with pytest.raises(DataError, match=named):
        list(File(path, encoding=encoding).lines())


@pytest.mark.parametrize("packed", ["gz", "zst"])
@pytest.mark.parametrize("damage", [lambda packed: packed[:-6], lambda packed: b"user" + packed])
def test_damaged_archives(tmp_path, packed, damage):
    path = written(tmp_path, damage(PACKS[packed](TEXT.encode() * 99)), f"votes.csv.{packed}")
    with pytest.raises(DataError, match=r"damaged|cannot be read"):
        list(File(path).lines())


def test_zstandard_without_a_reader_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path, zstandard(TEXT.encode()), "votes.csv.zst")
    for name in ("compression.zstd", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DataError, match="PyArrow"):
        list(File(path).lines())


@pytest.mark.parametrize(
    ("given", "sign"), [(";", ";"), ("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), ("Pipe", "|"), (" ", " ")]
)  # fmt: skip
def test_separators(given, sign):
    assert File("votes.txt", separator=given).separator == sign


@pytest.mark.parametrize("given", ["", "ab", "a", '"', "\n", "7", "\0"])
def test_no_separators(given):
    with pytest.raises(DataError, match="separator"):
        File("votes.txt", separator=given)


@pytest.mark.parametrize("given", ["", "utf-9", "rot13", "base64", "x" * 300, "\0"])
def test_no_encodings(given):
    with pytest.raises(DataError, match="encoding"):
        File("votes.txt", encoding=given)


@pytest.mark.parametrize(
    ("content", "suffix", "text"),
    [
        (TEXT.encode(), ".csv", TEXT),
        (gzip.compress(TEXT.encode(), mtime=0), ".csv", TEXT),
        (b'\n{"user": 1}\n', ".json", '\n{"user": 1}\n'),
        (codecs.BOM_UTF8 + b'[{"user": 1}]', ".json", '[{"user": 1}]'),
        (b"", ".csv", ""),
        (b"4 2\n1 3 2 0\n", ".blt", "4 2\n1 3 2 0\n"),
        (b"1 2,3\n1,2\n", ".csv", "1 2,3\n1,2\n"),
        (b"1\t2\n1\t2\n", ".csv", "1\t2\n1\t2\n"),
        (b"# FILE NAME: a.soc\n3: 1,2\n", ".csv", "# FILE NAME: a.soc\n3: 1,2\n"),
    ],
)
def test_standard_input_is_read_once_and_known_by_its_start(piped, content, suffix, text):
    file = piped(content)
    assert (file.name, str(file), file.suffix) == ("standard input", "standard input", suffix)
    for _ in range(2):
        assert "".join(file.lines()) == text
    assert bool(file.reading) == (content[:2] == b"\x1f\x8b")
    assert Origin(file).sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_parquet_is_read_as_it_is(tmp_path, piped, suffix):
    votes = as_parquet(written(tmp_path, GOOD))
    packed = tmp_path / f"votes.parquet{suffix}"
    packed.write_bytes(gzip.compress(votes.read_bytes()) if suffix else votes.read_bytes())
    with pytest.raises(
        DataError, match=r"standard input: Parquet .*: write it to a file and name that"
    ):
        read(piped(packed.read_bytes()))
    if suffix:
        with pytest.raises(DataError, match=r"votes.parquet.gz: Parquet .*: decompress it first"):
            read(packed)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_file_is_opened_once_for_its_header_and_its_rows(tmp_path, monkeypatch, suffix):
    path, times = written(tmp_path, GOOD), []
    if suffix == ".jsonl":
        header, *rows = (line.split(",") for line in GOOD.splitlines())
        path = written(
            tmp_path, "\n".join(json.dumps(dict(zip(header, row))) for row in rows), "v.jsonl"
        )
    file = File(as_parquet(path) if suffix == ".parquet" else path)
    there = reader._open
    monkeypatch.setattr(reader, "_open", lambda *given: times.append(given) or there(*given))
    assert (
        set(reader.header_of(file))
        == set(reader.header_of(file))
        == set(GOOD.split("\n")[0].split(","))
    )
    assert read(file).sha256 == hashlib.sha256(file.path.read_bytes()).hexdigest()
    assert len(times) == 1
    assert len(read(file)) == 3  # again, from its start
    file = File(path)
    reader.header_of(file)
    path.write_text(path.read_text().replace("Oslo", "Bonn"))
    os.utime(path, ns=(1, 1))
    if suffix != ".parquet":
        with pytest.raises(DataError, match="changed while it was read"):
            _ = read(file).sha256


def test_a_keyboard_is_no_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(DataError, match="pipe data into the command"):
        list(File("-").lines())


def test_a_file_stays_the_same_where_it_is_given_again(tmp_path):
    file = File(tmp_path / "votes.csv", encoding="latin-1")
    assert File.of(file) is file
    assert File.of("a.CSV.gz").suffix == ".csv"


def test_paths_that_are_no_readable_file(tmp_path):
    kinds = (".csv",)
    for path, named in (
        (tmp_path / "nothing.csv", "no such file"),
        (tmp_path, "folder"),
        (written(tmp_path, GOOD, "votes.ods"), r"\.ods"),
        (written(tmp_path, GOOD, "votes"), "no suffix"),
        (Path("/dev/null"), "is a stream"),
        (Path("/dev/stdin"), "is a stream"),
        *((tmp_path / name, "is a stream") for name in ("pipe", "pipe.csv", "pipe.soc")),
    ):
        if path.name.startswith("pipe"):
            os.mkfifo(path)
        with pytest.raises(DataError, match=named):
            File(path).checked(kinds, "give a .csv file")


def test_an_origin_knows_its_content(tmp_path):
    path = written(tmp_path, GOOD)
    origin = Origin(File(path))
    assert origin.sha256 == hashlib.sha256(GOOD.encode()).hexdigest()
    changed = Origin(File(path))
    path.write_text(GOOD + "cy,Oslo,Rome,0\n")
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="changed while it was read"):
        _ = changed.sha256
