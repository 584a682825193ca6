"""The made-up data that come with the package: drawn from their model, and there without a folder of data."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.data import DataError, load, named
from tests.reference import coffee


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("PRIVRANK_DATA", raising=False)


def test_files_are_drawn_from_the_model():
    for name, text in coffee.files().items():
        assert named.read(f"coffee/{name}") == text


def test_every_taster_was_asked_every_pair():
    table = load("coffee")
    assert (len(table), table.num_users, table.ties) == (2841, 200, 223)
    assert table.item_names == tuple(coffee.QUALITY)
    pairs = np.sort(np.column_stack([table.winners, table.losers]), axis=1)
    asked = table.users * 36 + pairs[:, 0] * 6 + pairs[:, 1]
    assert len(set(asked.tolist())) == len(table)  # no pair twice
    assert table.questionnaire is not None
    assert set(map(tuple, pairs.tolist())) == set(map(tuple, table.questionnaire.tolist()))


def test_both_say_that_they_are_made_up():
    assert load("coffee").notes == load("coffee-rankings").notes == (named._MADE_UP,)


def test_a_changed_file_is_refused(monkeypatch):
    monkeypatch.setitem(named.FILES, "coffee/rankings.csv", named.KnownFile("0" * 64, "here"))
    with pytest.raises(DataError, match="is not the published file"):
        load("coffee-rankings")
