"""A page of a release: closed tags, nothing from elsewhere, text that is text, and first what must not be published."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from privrank_jax import Guarantee, Privacy
from privrank_jax.jobs.result import Certainty, Ranking

VOID = {"meta", "br", "img"}
PROMISE = Privacy(0.5, unit="user", adjacency="flip", public=("items",))


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


@pytest.mark.parametrize(
    ("guarantee", "seed", "warning"),
    [
        (None, None, "NOT PRIVATE"),
        (Guarantee(PROMISE), 3, "rehearsal"),
        (Guarantee(PROMISE, numerics="exact"), None, ""),
    ],
)
def test_a_page_is_whole_fetches_nothing_and_warns_first(tmp_path, guarantee, seed, warning):
    ends = {"low": np.array([0.0, 2.0]), "high": np.array([1.0, 3.0])}
    Ranking(
        title="votes & more",
        items=("<script>alert(1)</script>", "b"),
        order=np.array([1, 0]),
        scores=np.array([0.5, 2.5]),
        certainty=Certainty(intervals=ends, words="for the scores"),
        guarantee=guarantee,
        facts={"method": "counts", "seed": seed},
        notes=("a <b>note</b>",),
    ).report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    reader = Closed()
    reader.feed(text)
    reader.close()
    assert (reader.open, reader.fetched) == ([], [])
    assert not re.search(r"url\((?!#)|@import|<script", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "votes &amp; more" in text
    assert "viewport" in text
    if warning:
        found = re.search(r'class="warning"[^>]*>([^<]*)', text)
        assert warning in found[1]
        assert found.start() < text.index("<table")
