"""Where data files come from: the package, a folder, a fetch (no test touches the network); checksums."""

from __future__ import annotations

import hashlib
import sys
import types
from pathlib import Path

import pytest

from privrank_jax.data import DataError, load, named
from tests.reference import coffee


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("PRIVRANK_DATA", raising=False)


def fake_pooch(monkeypatch, tmp_path: Path, retrieve) -> None:
    module = types.ModuleType("pooch")
    module.retrieve = retrieve
    module.os_cache = lambda name: tmp_path / name
    monkeypatch.setitem(sys.modules, "pooch", module)


def test_every_checksum_is_that_of_the_file(data_folder):
    for file, known in named.FILES.items():
        if known.where != "here":
            content = (data_folder / file).read_bytes()
            assert hashlib.sha256(content).hexdigest() == known.sha256


def test_folder_argument_goes_before_the_environment(data_folder, monkeypatch, tmp_path):
    monkeypatch.setenv("PRIVRANK_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"cannot read .*immig\.csv"):
        named.read("immig/immig.csv")
    assert named.read("immig/immig.csv", data_folder).startswith("V12,V13,V23,V14,V24,V34,")
    monkeypatch.setenv("PRIVRANK_DATA", str(data_folder))
    assert named.read("immig/immig.csv").startswith("V12,")


def test_what_cannot_be_fetched_names_the_package_that_holds_it(monkeypatch):
    monkeypatch.delenv("PRIVRANK_DATA", raising=False)
    for file, known in named.FILES.items():
        if known.where.isalnum() and known.where != "here":
            with pytest.raises(DataError, match=rf"R package {known.where}\b"):
                named.read(file)
    assert named.not_fetched("immig") == {"immig/immig.csv": "prefmod"}
    assert named.not_fetched("cars") == {}


def test_without_pooch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataError, match=r"privrank-jax\[data\].*PRIVRANK_DATA"):
        load("cars")


def test_without_network_the_way_by_hand_is_named(monkeypatch, tmp_path):
    def offline(*args, **kwargs):
        raise ConnectionError("name not resolved")

    fake_pooch(monkeypatch, tmp_path, offline)
    with pytest.raises(DataError, match=r"not resolved.*https://.*PRIVRANK_DATA"):
        load("cars")


@pytest.mark.parametrize("name", ["cars", "cars2"])
def test_public_files_are_fetched_with_their_checksum(name, data_folder, monkeypatch, tmp_path):
    asked = {}

    def retrieve(url, known_hash, fname, path):
        asked[url.rsplit("/", 1)[1]] = (url, known_hash)
        return str(data_folder / "cars" / url.rsplit("/", 1)[1])

    fake_pooch(monkeypatch, tmp_path, retrieve)
    table = load(name)
    experiment = "2" if name == "cars2" else "1"
    assert sorted(asked) == [f"items{experiment}.csv", f"prefs{experiment}.csv"]
    for file, (url, known_hash) in asked.items():
        assert known_hash == f"sha256:{named.FILES[f'cars/{file}'].sha256}"
        assert f"/exp{experiment}-prefs/" in url
    assert len(table) == len(load(name, data_folder))


def test_a_fetched_file_is_verified_again(monkeypatch, tmp_path):
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("Item ID\n")
    fake_pooch(monkeypatch, tmp_path, lambda *args, **kwargs: str(wrong))
    with pytest.raises(DataError, match="sha256"):
        load("cars")


def test_made_up_data_are_drawn_from_their_model_and_a_changed_file_is_refused(monkeypatch):
    """They come with the package, and are there without a folder of data."""
    for name, text in coffee.files().items():
        assert named.read(f"coffee/{name}") == text
    assert load("coffee").item_names == tuple(coffee.QUALITY)
    assert load("coffee").notes == load("coffee-rankings").notes == (named._MADE_UP,)
    monkeypatch.setitem(named.FILES, "coffee/rankings.csv", named.KnownFile("0" * 64, "here"))
    with pytest.raises(DataError, match="is not the published file"):
        load("coffee-rankings")
