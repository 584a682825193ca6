"""Bad input: small valid files with damage in their bytes, cells and lines, and values that options don't expect."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from tests.quick import thorough

# Cells and names: blanks, marks of missing values, numbers at and beyond the ends of ranges, digits of other scripts;
# letters that combine, turn the direction, show nothing or rewrite a terminal; words that are columns elsewhere.
CELLS = (
    "", " ", "\t", "nan", "NA", "None", "inf", "-inf", "-1", "0", "00", "1", "1.", "1.5", "2", "3", "+1", "1e3",
    "1e400", "5e-324", "1e-320", "1e308", "0x1", "1_0", "１", "٣", "²", "2147483647", "2147483648", "9" * 40,
    "9" * 5000,
    "a", "b", "c", "A", " a", "a ", "Ａ", "é", "e\u0301", "ß", "\u202eb", "a\u200b", "\u200b", "\ufeff", "\ufeffa",
    "\xa0", "a\u2028b", "a\x85b", "a\x0cb", "\ud800", "\0", "a\0", "\x1b[2J", "\x7f", "\U0001f3c6", "\U000e0001",
    "z" * 300,
    "y" * 140_000, '"', '""', '"a', 'a"b', '"a,b"', '"a\nb"', '"a\rb"', "'", ";", "=1+1", "#", "true", "yes", "no",
    "none", "user", "winner", "loser", "tie", "draw", "item", "rank", "report", "epsilon", "item_1",
    "synthetic_epsilon", "{1,2}", "model_a", "both bad", "result", "rank1", "1st", "id", "4.5", "5", "99", "e\u0301 ",
)  # fmt: skip
# Bytes of Latin-1 and cp1252, UTF-16 marks, half and overlong UTF-8, NUL, escape, lone line ends.
BYTES = (
    b"\xe9", b"\x80", b"\xff\xfe", b"\xfe\xff", b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf5", b"\xef\xbb\xbf", b"\0",
    b"\0\0\0\0", b"\x1a", b"\x1b", b"\r", b"\n", b"\r\n", b'"', b",", b"\t", b"{", b"}", b":", b"#", b"-", b"9",
)  # fmt: skip
_ENDS = ("\n", "\r\n", "\r", "\n\r", "\n\n", "\u2028", "\x0b")
_PLACE = st.integers(0, 2**16)


def tiers(quick: int, many: int = 1_000) -> pytest.MarkDecorator:
    """How many ``examples`` a test has: in the quick tier, and in the thorough one."""
    return pytest.mark.parametrize("examples", [quick, thorough(many)])


def fuzz(examples: int) -> settings:
    """So many examples, the same ones in every run; nothing is kept on disk."""
    return settings(
        max_examples=examples,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )


Draw = Callable[[st.SearchStrategy], object]


def _cut(text: str, draw: Draw, _: str) -> str:
    """Some letters, or all to the end."""
    start = draw(_PLACE) % (len(text) + 1)
    return text[:start] + text[start + draw(st.sampled_from((*range(12), len(text)))) :]


def _put(text: str, draw: Draw, _: str) -> str:
    at = draw(_PLACE) % (len(text) + 1)
    return text[:at] + draw(st.sampled_from(CELLS)) + text[at:]


def _parts(parts: list[str], draw: Draw, new: st.SearchStrategy[str]) -> list[str]:
    """Drop, repeat, swap, add or overwrite a part."""
    at, to = draw(_PLACE) % len(parts), draw(_PLACE) % len(parts)
    what = draw(st.sampled_from(("drop", "repeat", "swap", "add", "set", "set")))
    if what == "drop":
        del parts[at]
    elif what == "repeat":
        parts.insert(to, parts[at])
    elif what == "swap":
        parts[at], parts[to] = parts[to], parts[at]
    else:
        parts[at : at + (what == "set")] = [draw(new)]
    return parts


def _line(text: str, draw: Draw, separator: str) -> str:
    cells = st.lists(st.sampled_from(CELLS), max_size=5).map(separator.join)
    new = st.one_of(cells, st.sampled_from(("", " ", separator, '""')))
    return "\n".join(_parts(text.split("\n"), draw, new))


def _cell(text: str, draw: Draw, separator: str) -> str:
    lines = text.split("\n")
    at = draw(_PLACE) % len(lines)
    cells = _parts(lines[at].split(separator), draw, st.sampled_from(CELLS))
    lines[at] = separator.join(cells)
    return "\n".join(lines)


def _column(text: str, draw: Draw, separator: str) -> str:
    """Drop or repeat a column, or fill one below its name."""
    rows = [line.split(separator) for line in text.split("\n")]
    k, fill = draw(_PLACE) % len(rows[0]), draw(st.sampled_from(CELLS))
    what = draw(st.sampled_from(("drop", "repeat", "fill")))
    for number, row in enumerate(rows):
        if k < len(row):
            if what == "fill":
                row[k] = fill if number else row[k]
            else:
                row[k : k + 1] = [row[k]] * (2 * (what == "repeat"))
    return "\n".join(separator.join(row) for row in rows)


def _everywhere(text: str, draw: Draw, _: str) -> str:
    """One name or number by something else wherever it stands."""
    words = sorted(set(re.findall(r"\w+", text))) or [""]
    return text.replace(draw(st.sampled_from(words)) or "\n", draw(st.sampled_from(CELLS)))


def _ends(text: str, draw: Draw, _: str) -> str:
    """Other line ends, everywhere or here and there."""
    ends = draw(st.lists(st.sampled_from(_ENDS), min_size=1, max_size=3))
    lines = text.split("\n")
    return "".join(line + ends[k % len(ends)] for k, line in enumerate(lines))


_DAMAGES = (_cell, _cell, _cell, _cut, _cut, _put, _line, _column, _everywhere, _ends)
_ENCODINGS = ("utf-8",) * 8 + ("utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252")


def _bytes(content: bytes, draw: Draw) -> bytes:
    at = draw(_PLACE) % (len(content) + 1)
    what = draw(st.sampled_from(("put", "set", "flip", "cut", "repeat")))
    more = draw(st.sampled_from(BYTES))
    if what == "put":
        return content[:at] + more + content[at:]
    if what == "set":
        return content[:at] + more + content[at + len(more) :]
    if what == "flip":
        bit = 1 << draw(st.integers(0, 7))
        return content[:at] + bytes(byte ^ bit for byte in content[at : at + 1]) + content[at + 1 :]
    if what == "cut":
        return content[:at]
    return content[:at] + content[at : at + draw(st.integers(0, 40))] * 2 + content[at + 40 :]


@st.composite
def damaged(draw: Draw, texts: tuple[str, ...], separator: str = ",", most: int = 3) -> bytes:
    """One of ``texts`` with up to ``most`` damages, in some encoding, its bytes damaged now and then."""
    text = draw(st.sampled_from(texts))
    for damage in draw(st.lists(st.sampled_from(_DAMAGES), max_size=most)):
        text = damage(text, draw, separator)
    encoding = draw(st.sampled_from(_ENCODINGS))
    escape = "surrogatepass" if encoding.startswith("utf") else "replace"
    content = text.encode(encoding, escape)
    return _bytes(content, draw) if draw(st.integers(0, 4)) == 4 else content


@st.composite
def damaged_bytes(draw: Draw, contents: tuple[bytes, ...], most: int = 3) -> bytes:
    """One of some binary files with up to ``most`` damages."""
    content = draw(st.sampled_from(contents))
    for _ in range(draw(st.integers(0, most))):
        content = _bytes(content, draw)
    return content


COMPARISONS = (
    "user,winner,loser\nu1,a,b\nu2,b,c\nu3,a,c\nu4,c,a\n",
    "user,winner,loser,tie\nann,Oslo,Paris,0\nbob,Paris,Rome,1\ncy,Oslo,Rome,\ndee,Rome,Oslo,yes\n",
    'note,loser,winner,user\nx,"b, c",a,1\ny,a,"b, c",2\nz,a,d,3\nz,d,"b, c",4\n',
)
WIDE = (
    "user,a,b,c\nu1,1,2,3\nu2,2,1,3\nu3,1,3,2\nu4,3,1,2\n",
    "a,b,c\n1,2,3\n1,,2\n1,1,2\n,,1\n",
    'user,"x, y",é,Z\nu1,1,2,3\nu2,3,2,1\nu3,2,NA,1\nu4,1.0,2.0,3.0\n',
)
# Ids under another name, row numbers, ratings, order lists: none of them rankings of the other columns.
SHAPES = (
    "voterid,a,b,c\nv1,1,2,3\nv2,2,1,3\nv3,3,1,2\n",
    "id,a,b,c\n1,1,2,3\n2,2,1,3\n3,1,3,2\n",
    "id,a,b,c\n1001,1,2,3\n1002,2,1,3\n1003,1,3,2\n",
    "user,rank1,rank2,rank3\nu1,a,b,c\nu2,b,a,c\n",
    "1st,2nd\n1,2\n2,1\n",
    "user,a\nu1,1\nu2,1\n",
)
RATINGS = (
    "user,a,b,c,d,e,f\nu1,5,4,4,5,3,4\nu2,4,4,5,,5,3\nu3,1,5,5,4,,4\nu4,2,3,3,5,5,5\n",
    "user,a,b,c\nu1,4.5,-1,3\nu2,0,100,1e2\nu3,,2,2\n",
    "a,b,c\n5,3,3\n4,4,5\n2,5,5\n",
    "user,item,rank\nu1,a,5\nu1,b,4\nu2,a,4\nu2,b,4.5\nu3,c,5\n",
)
OUTCOMES = (
    "user,left,right,winner\nu1,gpt,phi,left\nu2,phi,gpt,tie\nu3,gpt,yi,yi\nu4,yi,phi,B\n",
    "judge,user,model_a,Model_B,Winner\nx,u1,gpt,phi,model_a\nx,u2,gpt,phi,tie (bothbad)\nx,u3,phi,yi,model_b\n",
    "user;item_1;item_2;outcome\nu1;a;c;1\nu2;c;d;0.5\nu3;a;d;0\n",
)
PAIRS = (
    "user,a vs b,b vs c,a vs c\nu1,a,b,\nu2,,tie,c\nu3,left,c,A\n",
    "who,Oslo_vs_Rome,user,Rome versus Bonn\nx,Oslo,u1,NA\ny,B,u2,Bonn\n",
)
ONE_HOT = (
    "user,model_a,model_b,winner_model_a,winner_model_b,winner_tie\nu1,gpt,phi,1,0,0\nu2,phi,gpt,0,0,1\nu3,gpt,yi,0,1,\n",
    "id,user,left,right,winner_left,winner_right\n1,u1,a,b,1,0\n2,u2,b,c,0,1\n",
)
LISTS = (
    "user,rank_1,rank_2,rank_3\nu1,x,y,z\nu2,y,,\nu3,z,x,\nu4,,,\n",
    "2nd choice,user,note,1st choice\nx,u1,n,y\n,u2,n,x\n",
    "user,order\nu1,x>y=z\nu2, z > x\nu3,\nu4,y\n",
    "user,order\nu1,x;y;z;\nu2,z; x\nu3,\nu4,y\n",
    'user,ranking\nu1,"x,y z"\nu2,"y z,x"\nu3,x\n',
    "ballot,user\nx y z,u1\nz x,u2\ny z,u3\n",
)
OBJECTS = (
    '{"user":"u1","winner":"a","loser":"b"}\n{"user":2,"winner":"b","loser":"c"}\n{"user":"u3","winner":"a","loser":"c"}\n',
    '{"winner":"a","user":"u1","loser":"b","tie":false}\n{"user":"u2","winner":"b","loser":"a","tie":true}\n',
    '{"user":"u1","winner":"a","loser":"b","n":[1,{"k":null}]}\n{"winner":"c","loser":"b","user":1.50}\n',
)
LONG = (
    "user,item,rank\nu1,a,1\nu1,b,2\nu1,c,3\nu2,b,1\nu2,a,2\nu2,c,3\n",
    "rank,note,item,user\n1,x,a,u1\n1,y,b,u1\n,z,c,u2\n1,w,a,u2\n",
)
REPORTS = (
    "user,item_1,item_2,report,epsilon\nu1,a,b,1,1.0\nu2,a,c,0,1.0\nu3,b,c,1,0.5\nu3,a,b,1,2\n",
    "item_1,item_2,report,epsilon\na,b,1,1\na,b,0,3\nb,c,yes,1\na,c,true,1e-3\n",
)
SYNTHETIC = (
    "user,synthetic_epsilon,a,b,c\nu1,1.0,1,2,3\nu2,1.0,2,1,3\nu3,2.5,3,1,2\nu4,0.5,1,2,3\n",
    "synthetic_epsilon,a,b,c\n1,1,2,3\n2,2,1,\n3,1,2,3\n4,,1,2\n",
)
BUDGETS = ("user,budget\nu1,1\nu2,0.5\nu1,1.0\nu3,1e-3\n",)
_HEAD = "# FILE NAME: odd.soc\n# TITLE: Odd\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: {}\n# NUMBER UNIQUE ORDERS: 2\n"
_NAMES = "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n"
PREFLIB = (
    _HEAD.format(5) + "# DATA TYPE: soc\n" + _NAMES + "3: 1,2,3\n2: 3,1,2\n",
    _HEAD.format(4) + _NAMES + "3: 1,2\n1: 3\n",
    _HEAD.format(7) + _NAMES + "4: {1,2},3\n3: 2,{1,3}\n",
)
ORDERS = (
    "10 1\n0 10 5 0 3 4 6 9 8 1 7 2\n0 10 0 9 6 3 7 2 8 1 5 4\n",
    "100 1\n0 3 5 0 99\n0 3 1 2 3\n",
    "3 1\n0 3 0 1 2\n0 3 2 1 0\n",
)
TEXTS = {  # and what separates their cells
    "comparisons": (COMPARISONS, ","),
    "wide": (WIDE, ","),
    "long": (LONG, ","),
    "shapes": (SHAPES, ","),
    "ratings": (RATINGS, ","),
    "costs": (RATINGS, ","),
    "outcomes": (OUTCOMES, ","),
    "pairs": (PAIRS, ","),
    "one-hot": (ONE_HOT, ","),
    "lists": (LISTS, ","),
    "objects": (OBJECTS, ","),
    "reports": (REPORTS, ","),
    "synthetic": (SYNTHETIC, ","),
    "budgets": (BUDGETS, ","),
    "preflib": (PREFLIB, ","),
    "orders": (ORDERS, " "),
}


def contents(kind: str) -> st.SearchStrategy[bytes]:
    """Files of a kind, mostly damaged."""
    texts, separator = TEXTS[kind]
    near = damaged(texts, separator)
    return st.one_of(
        near, near, near, near, damaged(texts[:1], separator, 1), st.binary(max_size=40)
    )
