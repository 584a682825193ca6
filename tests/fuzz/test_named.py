"""The named data sets on bad names, bad folders and damaged files."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax.data.errors import DataError
from privrank_jax.data.named import FILES, load, named_sets
from tests.fuzz import strategies
from tests.fuzz.checks import THOROUGH, tiers
from tests.fuzz.strategies import fuzz

# Without those that are part of the package, which no folder changes.
NAMED = [name for name in named_sets() if not name.startswith("coffee")]
FOLDER = [file for file, known in FILES.items() if known.where != "here"]


def named_test(examples):
    @fuzz(examples)
    @given(content=strategies.contents("wide"), folders=st.booleans())
    def run(folder, content, folders):
        """Whatever the files hold, they are not the published ones."""
        for file in FOLDER:
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
        for name in NAMED:
            with pytest.raises(DataError, match=r"cannot read|not the published file"):
                load(name, folder)

    return run


@tiers(3, THOROUGH // 10)
def test_named_data_sets(tmp_path, examples):
    named_test(examples)(tmp_path)


def test_named_data_sets_that_are_damaged_in_one_place(data_folder, tmp_path):
    for name in NAMED:
        load(name, data_folder)
    for file in FOLDER:
        content = bytearray((data_folder / file).read_bytes())
        content[len(content) // 2] ^= 1
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for name in NAMED:
        with pytest.raises(DataError, match=r"not the published file.*Restore"):
            load(name, tmp_path)


@pytest.mark.parametrize("name", ["", "cars ", "\0", "\ud800", "../cars", "x" * 10_000, os.sep])
def test_names_of_no_data_set(name):
    with pytest.raises(DataError, match="named"):
        load(name)
