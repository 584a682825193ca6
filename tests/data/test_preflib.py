"""PrefLib files, and what each refusal says."""

from __future__ import annotations

import pytest

from privrank_jax.data import DataError
from privrank_jax.data.elections import READERS
from privrank_jax.data.file import File
from tests.data.files import written as _written

HEAD = """# FILE NAME: votes.toi
# TITLE: Small: three
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 6
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bob: the elder
# ALTERNATIVE NAME 3: Cy, junior
"""
NEW = HEAD + "3: 2,1,3\n2: {1,3},2\n1: 3\n"
RANKS = [[1, 0, 2]] * 3 + [[0, 2, 0]] * 2 + [[-1, -1, 0]]


def written(folder, content, name="votes.toi"):
    return _written(folder, content, name)


def read_preflib(path):
    return READERS[path.suffix.lower()](File(path))


@pytest.mark.parametrize(
    "content",
    [
        NEW,
        "\ufeff" + NEW,
        NEW.replace("\n", "\r\n"),
        NEW.replace("\n", "\n\n"),
        NEW.replace(",", " , ").replace("{", " { ").replace("Cy ,  ", "Cy, "),
        NEW.replace("# ", "#"),
        "".join(line + "\n" for line in NEW.splitlines() if "NUMBER" not in line and "DATA" not in line),
    ],
)  # fmt: skip
def test_reads_orders(tmp_path, content):
    table = read_preflib(written(tmp_path, content))
    assert table.ranks.tolist() == RANKS
    assert table.item_names == ("Ann", "Bob: the elder", "Cy, junior")
    assert (table.num_users, table.missing, table.tied, table.complete) == (6, "last", True, False)


@pytest.mark.parametrize(
    ("old", "new", "name", "message"),
    [
        ("2: {1,3},2", "2: {1,4},2", "", "votes.toi, line 11: alternative is '4'"),
        ("2: {1,3},2", "2: {1,3},1", "", "line 11: alternative 1 stands there twice"),
        ("2: {1,3},2", "-2: {1,3},2", "", "line 11: the count of an order is '-2'"),
        ("2: {1,3},2", "0: {1,3},2", "", "line 11: .* is '0': write a whole number from 1"),
        ("2: {1,3},2", "2.5: {1,3},2", "", "'2.5': write a whole number"),
        ("2: {1,3},2", "2: {1,3,2", "", "line 11: .* is not an order"),
        ("2: {1,3},2", "2: {1,{3}},2", "", "is not an order"),
        ("2: {1,3},2", "2: 1,,2", "", "is not an order"),
        ("2: {1,3},2", "2: ", "", "is not an order"),
        ("2: {1,3},2", "2: ١,2", "", "is not an order"),
        ("2: {1,3},2", "hello", "", "line 11: 'hello' is not an order"),
        ("VOTERS: 6", "VOTERS: 7", "", "line 5: 7 voters are stated, 6 are there"),
        ("ORDERS: 3", "ORDERS: 4", "", "line 6: 4 unique orders are stated, 3 are there"),
        ("ALTERNATIVES: 3", "ALTERNATIVES: 4", "", "line 4: 4 alternatives are stated, 3 are there"),
        ("VOTERS: 6", "VOTERS: many", "", "NUMBER VOTERS is 'many': write a whole number"),
        ("NAME 3:", "NAME 2:", "", "must number"),
        ("NAME 3:", "NAME 4:", "", "must number"),
        ("NAME 3: Cy, junior", "NAME 3: ann ", "", "twice"),
        ("NAME 3: Cy, junior", "NAME 3:", "", "blank"),
        ("3: 2,1,3\n2: {1,3},2\n1: 3\n", "", "", "0 ballots of 3 items"),
        ("TYPE: toi", "TYPE: soi", "votes.soi", "line 11: .soi"),
        ("TYPE: toi", "TYPE: toc", "votes.toc", "line 12: .toc"),
        ("# ", "", "", "line 1: .* is not an order"),
        ("# ALTERNATIVE", "# CANDIDATE", "", "must number"),
        (NEW, "", "", "must number"),
        (NEW, "\0", "", "NUL"),
        ("6\n", "300000006\n", "", "line 5: 300000006 voters are stated"),
    ],
)  # fmt: skip
def test_new_format_refusals(tmp_path, old, new, name, message):
    assert old in NEW
    with pytest.raises(DataError, match=message):
        read_preflib(written(tmp_path, NEW.replace(old, new), name or "votes.toi"))


def test_too_many_voters_are_refused_before_they_are_counted_out(tmp_path):
    text = "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n999999999: 1,2\n"
    with pytest.raises(DataError, match="more than"):
        read_preflib(written(tmp_path, text, "votes.soc"))
