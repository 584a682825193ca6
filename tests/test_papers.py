"""What the pages say of the four papers: nothing is left out, and all of it is where they say."""

from __future__ import annotations

from collections import Counter

import pytest

from tests import papers_table
from tests.papers_table import STATUSES, labels, link, numbered, status

PAPERS = papers_table.papers()
ITEMS = [(key, item) for key, paper in PAPERS.items() for item in paper["items"]]


def test_the_page_has_the_tables_of_the_file():
    """After a change of the file: ``python -m tests.papers_table``."""
    page = papers_table.PAGE.read_text(encoding="utf-8")
    assert papers_table.written(page) == page


@pytest.mark.parametrize("key", PAPERS)
def test_every_numbered_item_has_a_row_and_every_row_of_one_exists(key):
    paper = PAPERS[key]
    wanted = numbered(paper)
    assert not [label for label, count in Counter(wanted).items() if count > 1]
    assert {label for item in paper["items"] for label in labels(item)} == set(wanted)


@pytest.mark.parametrize(
    ("key", "item"), ITEMS, ids=lambda x: x if isinstance(x, str) else x["place"]
)
def test_a_row_says_where_it_is_and_why_it_does_not_agree(key, item):
    assert status(item) in STATUSES
    assert ("why" in item) == (status(item) != "agrees")
    assert item["where"] or status(item) in ("step", "open")
    for place in item["where"]:
        assert link(place)
    if status(item) == "corrected":  # the error stands in the notebook of errors
        assert any(place.startswith("#") for place in item["where"])
