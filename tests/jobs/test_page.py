"""A page of a release: complete, closed tags, nothing from elsewhere, and text that is text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from privrank_jax import Guarantee, Privacy
from privrank_jax.jobs.result import Certainty, Ranking

VOID = {"meta", "br", "img"}


class Closed(HTMLParser):
    """Collects what is open at the end, and the addresses that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str | None] = []

    def handle_starttag(self, tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


ITEM = "<script>alert(1)</script>"


def written(folder, guarantee: Guarantee | None, seed: int | None = None, item: str = ITEM) -> str:
    ends = {"low": np.array([0.0, 2.0]), "high": np.array([1.0, 3.0])}
    Ranking(
        title="votes & more",
        items=(item, "b"),
        order=np.array([1, 0]),
        scores=np.array([0.5, 2.5]),
        certainty=Certainty(intervals=ends, words="for the scores"),
        guarantee=guarantee,
        facts={"method": "counts", "seed": seed},
        notes=("a <b>note</b>",),
    ).report(folder / "page.html")
    return (folder / "page.html").read_text("utf-8")


PROMISE = Privacy(0.5, unit="user", adjacency="flip", public=("items",))


@pytest.mark.parametrize("guarantee", [None, Guarantee(PROMISE, numerics="exact")])
def test_page_is_whole_and_fetches_nothing(tmp_path, guarantee):
    text = written(tmp_path, guarantee)
    reader = Closed()
    reader.feed(text)
    reader.close()
    assert (reader.open, reader.fetched) == ([], [])
    assert "<script" not in text
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "votes &amp; more" in text
    assert 'lang="en"' in text
    assert "viewport" in text


def test_what_must_not_be_published_says_so_first(tmp_path):
    for text, words in (
        (written(tmp_path, None), "NOT PRIVATE"),
        (written(tmp_path, Guarantee(PROMISE), seed=3), "This is a rehearsal"),
    ):
        warning = re.search(r'class="warning"[^>]*>([^<]*)', text)
        assert warning is not None
        assert words in warning[1]
        assert text.index('class="warning"') < text.index("<table")
        assert "spends the budget again" not in text
