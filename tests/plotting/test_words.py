"""Words in pictures: names as they are, cut where long, in their own direction, and characters that the font lacks."""

from __future__ import annotations

import warnings

import matplotlib
import pytest
from matplotlib.text import Text

from privrank_jax import plotting
from privrank_jax.plotting.words import MissingCharacters, label, literal, told_by

MATHEMATICS = "$x_1$ and $y$"
LACKING = "日本"  # DejaVu Sans, which comes with matplotlib, has none of these


def ranked(name, **more):
    return plotting.ranking_intervals([name], [1.0], [0.0], [2.0], **more)


def drawn(figure, words):
    """Whether the figure is drawn with these words as they are: mathematics is drawn from other glyphs."""
    texts = [text for text in figure.findobj(Text) if words in text.get_text()]
    found = [text._preprocess_math(text.get_text()) for text in texts]
    return texts and all(kind is False and MATHEMATICS in shown for shown, kind in found)


def test_names_titles_and_guarantees_are_no_mathematics():
    words = literal(MATHEMATICS)
    assert drawn(ranked(MATHEMATICS), words)
    assert drawn(ranked("a", title=MATHEMATICS), words)
    row = {"metric": "m", "group": MATHEMATICS, "other": 1, "mean": 1.0, "standard_error": 0.1}
    rows = [{**row, "x": x} for x in (1, 2)]
    assert drawn(plotting.study_curves(rows, "x", curve="group"), words)
    assert drawn(plotting.study_curves(rows, "x", curve="other", panel="group"), words)
    assert literal(r"a\$b") == r"a\\$b"


@pytest.mark.parametrize("name", ["قهوة عربية", "קפה"])
def test_a_rank_stays_before_a_name_read_from_the_right(name, monkeypatch):
    monkeypatch.setattr(matplotlib, "__version_info__", (3, 11, 0))
    assert label(name, "1. ") == f"1. \u2068{name}\u2069"
    assert label("word " * 10) == "word word word word word word w…"
    assert label("two\nlines") == "two lines"
    assert label(name) == name
    assert label("plain", "1. ") == "1. plain"
    monkeypatch.setattr(matplotlib, "__version_info__", (3, 10, 0))  # would draw boxes for these
    assert label(name, "1. ") == f"1. {name}"


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_characters_that_the_font_lacks_give_one_warning(tmp_path, suffix):
    with pytest.warns() as found:
        plotting.save(ranked(LACKING), tmp_path / f"a.{suffix}")
    (one,) = found
    assert one.category is MissingCharacters
    assert one.filename == __file__
    assert "'日'" in str(one.message)


def test_a_reader_is_told_each_sentence_once_and_other_warnings_stay(tmp_path):
    """Isolates, which are not drawn, give none."""
    told = []
    with warnings.catch_warnings(record=True) as found, told_by(told.append):
        for name in ("a.png", "b.png"):
            plotting.save(ranked(LACKING), tmp_path / name)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        if matplotlib.__version_info__ >= (3, 11):
            plotting.save(ranked("قهوة"), tmp_path / "c.png")
    assert len(told) == 1
    assert [str(one.message) for one in found] == ["old"]
