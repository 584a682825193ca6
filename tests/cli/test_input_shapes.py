"""Files of another shape than they are taken for: refused in words that help, or read as the options say."""

from __future__ import annotations

import os
import re
import threading

import pytest

from tests.parquet import as_parquet

ARENA = ("j1,gpt,llama,model_a", "j2,llama,phi,model_b", "j3,gpt,phi,tie", "j4,phi,gpt,both bad")
COMMANDS = {
    "rank": ("--epsilon", 1),
    "aggregate": ("--epsilon", 1),
    "privatize": ("--epsilon", 1, "--out", "OUT"),
}


@pytest.fixture
def refused(privrank, tmp_path):
    """What a command says that refuses, of nothing else."""

    def run(command, path, *options):
        usual = [tmp_path / "out.csv" if part == "OUT" else part for part in COMMANDS[command]]
        result = privrank(command, path, *usual, *options)
        assert (result.code, result.out) == (2, ""), result.out
        assert not (tmp_path / "out.csv").exists()
        return " ".join(result.err.split())

    return run


# --- battles: two items and an outcome; tests/cli/test_file_forms.py reads them where their columns are known

NAME_THEM = (
    "name the columns of the two items by --left and --right, and that of the outcome by --outcome"
)


@pytest.mark.parametrize("command", ["rank", "privatize"])
@pytest.mark.parametrize("parquet", [False, True])
@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        ("judge,model_a,model_b,winner", ("--winner", "model_a", "--loser", "model_b"),
         "column 'winner' looks like the outcome of comparing 'model_a' and 'model_b', and would not be used"),
        ("judge,home,away,Result", ("--winner", "home", "--loser", "away"), "column 'Result' looks like the outcome"),
        ("judge,model_a,model_b,winner_model_a", ("--winner", "model_a", "--loser", "model_b"),
         "column 'winner_model_a' looks like the outcome"),
        ("judge,model_a,model_b,winner", ("--loser", "model_b"),
         "columns 'model_b' and 'model_a' look like the two items of a comparison, and 'winner' like its outcome"),
        ("judge,model_a,model_b,winner", ("--winner", "model_a", "--loser", "winner"),
         "columns 'model_a' and 'model_b' look like the two items of a comparison, and 'winner' like its outcome"),
        ("judge,left model,right model,verdict", ("--winner", "verdict", "--loser", "left model"),
         "columns 'left model' and 'right model' look like the two items of a comparison, and 'verdict'"),
        ("judge,model_a,model_b,said", ("--winner", "said", "--loser", "model_b"), "'model_a' is the name of a column"),
        ("judge,Model_A,other,said", ("--winner", "said", "--loser", "other"), "'model_a' is the name of a column"),
        ("judge,home,away,Result", (), "If 'Result' says which of two items is preferred"),
        ("judge,dish a,dish b,result", (), "If 'dish a' and 'dish b' are the items and 'result' says which"),
    ],
)  # fmt: skip
def test_battles_are_refused_not_misread(
    refused, write, command, parquet, header, options, message
):
    path = write(*ARENA, header=header)
    said = refused(command, as_parquet(path) if parquet else path, "--user", "judge", *options)
    if command == "privatize" and not options:  # it reads rankings, too
        assert "is not a rank" in said
        return
    assert message in said
    assert NAME_THEM in said or re.search(r"say --left \S+.* --right \S+.* --outcome \S+", said)


def test_items_named_like_a_column_are_taken_where_they_are_listed(privrank, refused, write):
    path = write("u,tie,b", "v,b,tie")
    assert privrank("rank", path, "--epsilon", 1).code == 0  # there is no column of that name
    path = write("u,tie,b,0", "v,b,tie,0", header="user,winner,loser,tie")
    for file in (path, as_parquet(path)):
        assert "'tie' is the name of a column" in refused("rank", file)
    spelled = write("u, Tie,b,0", "v,b, Tie,0", header="user,winner,loser,tie", name="spelled.csv")
    for file in (spelled, as_parquet(spelled)):
        assert "' Tie' is the name of a column" in refused("rank", file)
    for file in (path, path.with_suffix(".parquet")):
        assert privrank("rank", file, "--epsilon", 1, "--items", "tie,b").code == 0


def test_columns_beside_the_usual_ones_and_others_are_left_alone(privrank, write):
    path = write("u,a,b,x", "v,b,a,y", header="user,winner,loser,result")
    assert privrank("rank", path, "--epsilon", 1).code == 0
    path = write("u,a,b,7,9", "v,b,a,7,9", header="user,winner_name,loser_name,winner_id,score")
    options = ("--winner", "winner_name", "--loser", "loser_name")
    assert privrank("rank", path, "--epsilon", 1, *options).code == 0


# --- ratings

STARS = ("u1,5,4,1", "u2,5,3,2", "u3,4,4,1", "u4,5,5,2", "u5,3,2,1")
RANKED = ("u1,1,2,3", "u2,1,2,3", "u3,1,1,2", "u4,1,1,2", "u5,1,2,3")


def long(lines):
    return [
        f"{user},{item},{cell}"
        for user, *cells in (line.split(",") for line in lines)
        for item, cell in zip("abc", cells)
    ]


@pytest.mark.parametrize("method", ["none", "borda"])
@pytest.mark.parametrize("shape", ["wide", "long"])
def test_ratings_come_out_as_the_ranks_that_they_mean(privrank, refused, write, shape, method):
    wide = shape == "wide"
    header = "user,a,b,c" if wide else "user,item,rank"
    stars = write(*(STARS if wide else long(STARS)), header=header, name="stars.csv")
    ranks = write(*(RANKED if wide else long(RANKED)), header=header, name="ranks.csv")
    budget = () if method == "none" else ("--epsilon", 900, "--noise", "laplace")
    run = ("--method", method, *budget, "--json")
    expected = privrank("aggregate", ranks, *run).json()
    assert [row["item"] for row in expected["ranking"]] == ["a", "b", "c"]
    assert "the cells are ranks, 1 = best" in expected["diagnostics"]["notes"]
    for file in (stars, as_parquet(stars)):
        said = refused("aggregate", file)
        assert "not a rank, 1 = best, of 3 items" in said
        assert "ratings are read by --higher-is-better or --lower-is-better" in said
        assert "whatever they look like, by --ranks" in said
        found = privrank("aggregate", file, *run, "--higher-is-better", "--missing", "last").json()
        assert [row["item"] for row in found["ranking"]] == ["a", "b", "c"]
        notes = found["diagnostics"]["notes"]
        assert "the cells are ratings, the larger the better; equal ones are ties" in notes
        for option in ("--ranks", "--lower-is-better"):
            upside_down = privrank("aggregate", file, *run, option)
            assert [row["item"] for row in upside_down.json()["ranking"]] == ["c", "b", "a"]
        assert "1 = best" in privrank("aggregate", file, *run[:-1], "--ranks").out
        for document in (found, expected):
            document["diagnostics"] = {
                name: fact
                for name, fact in document["diagnostics"].items()
                if name not in ("data", "notes", "certificate")
            }
        assert found == expected


def test_the_notes_on_cells_depend_on_the_options_alone(privrank, write):
    """A file of ranks and one of ratings, read by the same option, say the same of their cells."""
    for option, words in (
        ("--ranks", "1 = best"),
        ("--higher-is-better", "the larger the better"),
        ("--lower-is-better", "the smaller the better"),
    ):
        for lines in (STARS, RANKED):
            path = write(*lines, header="user,a,b,c")
            assert words in privrank("aggregate", path, "--epsilon", 1, option).out


def test_ratings_are_privatized_as_the_ranks_that_they_mean(privrank, write, tmp_path):
    stars, ranks = (
        write(*lines, header="user,a,b,c", name=name)
        for lines, name in ((STARS, "s.csv"), (RANKED, "r.csv"))
    )
    found = []
    for path, options in ((stars, ("--higher-is-better",)), (ranks, ())):
        out = tmp_path / f"of_{path.name}"
        rehearsal = ("--simulate", "--seed", 1, "--ties", "coin")
        result = privrank("privatize", path, "--epsilon", 1, "--out", out, *rehearsal, *options)
        assert result.code == 0, result.err
        found.append(out.read_text())
    assert found[0] == found[1]
    assert "1 = best" in result.out


def test_what_has_no_cells_of_ranks(privrank, refused, tmp_path, data_folder):
    orders = tmp_path / "votes.soc"
    orders.write_text("# ALTERNATIVE NAME 1: x\n# ALTERNATIVE NAME 2: y\n3: 2,1\n")
    assert (
        "lists its items and a row for every user itself: leave out --higher-is-better"
        in refused("aggregate", orders, "--higher-is-better")
    )
    assert "leave out --ranks" in refused("aggregate", "sushi", "--ranks")
    assert "give --ranks (1 = best), --higher-is-better or --lower-is-better" in refused(
        "aggregate", orders, "--ranks", "--higher-is-better"
    )


# --- columns


@pytest.mark.parametrize("command", ["aggregate", "privatize"])
@pytest.mark.parametrize(
    "places",
    ["rank1,rank2", "Rank 1,Rank 2", "1st,2nd", "choice-1,choice-2", "1st choice,2nd choice", "RANK_1,RANK_2",
     "top1,top2", "First choice,Second choice", "rank (1),rank (2)", "1. place,2. place", "pref#1,pref#2",
     "rank_0,rank_1"],
)  # fmt: skip
@pytest.mark.parametrize("before", ["user,", "", "voter,age,"])
def test_numbers_below_places_are_not_guessed(refused, write, command, places, before):
    lines = [",".join([row[0]] * before.count(",") + [row]) for row in ("1,2", "2,1")]
    users = () if before == "user," else ("--user", "none")
    said = refused(command, write(*lines, header=before + places), *users)
    first, second = places.split(",")
    assert f"its columns {first!r}, {second!r}, ... are places, but all their cells are" in said
    assert "list the --items" in said


@pytest.mark.parametrize(
    "names", ["P1,P2", "Place de la Paix,Top Gun", "rank,ranking", "item_1x,item_2x", "1,2"]
)
def test_items_are_no_places(privrank, write, names):
    path = write("u,1,2", "v,2,1", header=f"user,{names}")
    assert privrank("aggregate", path, "--epsilon", 1).code == 0
    listed = write("u,1,2", "v,2,1", header="user,rank1,rank2")
    assert privrank("aggregate", listed, "--epsilon", 1, "--items", "rank1,rank2").code == 0


def test_files_of_one_item(refused, write):
    path = write("u,1", "v,1", header="user,a")
    for file in (path, as_parquet(path)):
        assert "a ranking needs at least two items; the columns are 'user', 'a'" in refused(
            "aggregate", file
        )
    assert "a ranking needs at least two items" in refused("privatize", path)
    alone = write("1", "1", header="a")
    assert "the only column is 'a'; a file of rankings has one column per item" in refused(
        "aggregate", alone
    )
    said = refused("aggregate", write("u|1|2", header="user|a|b"))
    assert "Separate cells by commas, semicolons or tabs, or say --separator '|'" in said


@pytest.mark.parametrize("command", ["rank", "privatize"])
def test_no_column_with_another_role_is_proposed(refused, write, command):
    path = write("a,b", "b,a", header="winner,loser")
    for file in (path, as_parquet(path)):
        said = refused(command, file)
        assert "the columns are 'winner', 'loser'. Name the user column" in said
        assert "--user none" in said
    said = refused(command, write("u,a,b", header="users,winner,losers"))
    assert "no column 'user' (did you mean 'users'?)" in said


def test_a_long_file_needs_its_users(refused, write):
    path = write("u,a,1", "u,b,2", header="who,item,rank")
    for file in (path, as_parquet(path)):
        said = refused("aggregate", file)
        assert (
            "no column 'user'; the columns are 'who', 'item', 'rank'. Name the user column of this file"
            in said
        )


# --- cells


@pytest.mark.parametrize("command", ["rank", "privatize"])
@pytest.mark.parametrize("row", ["u2,draw,", "u2,,b", "u2,NA,b", "u2,,"])
def test_a_blank_item_may_be_a_tie(refused, write, command, row):
    path = write("u1,a,b", row)
    for file in (path, as_parquet(path)):
        said = refused(command, file)
        assert "the item is" in said
        assert (
            "name both items of a comparison. A tie has both of them and a 1 in a column `tie`"
            in said
        )
        assert "remove" not in said
    assert "fill it in or remove the row" in refused(command, write("u1,a,b", ",a,b"))


def test_names_that_differ_in_their_encoding(refused, write):
    path = write("u,Orl\u00e9ans,b", "v,b,Orle\u0301ans")
    for file in (path, as_parquet(path)):
        said = refused("rank", file)
        assert "look the same but are encoded differently" in said
        assert "Save the file in one Unicode form, such as NFC" in said
        assert "differ only" not in said
    users = write("Orl\u00e9ans,a,b", "Orle\u0301ans,b,a")
    for file in (users, as_parquet(users)):
        assert "look the same but are encoded differently" in refused("rank", file)
    both = refused("rank", write("u,\u00c9,b", "v,b,e\u0301"))
    assert "differ only by blanks or case, and are encoded differently" in both
    assert "'B' and 'b' differ only by blanks or case. Spell" in refused(
        "rank", write("u,a,B", "v,a,b")
    )


# --- streams


@pytest.mark.parametrize("command", COMMANDS)
def test_streams_are_named(refused, tmp_path, command):
    for name in ("pipe", "pipe.csv", "pipe.parquet", "pipe.soc"):
        os.mkfifo(tmp_path / name)
        assert "is a stream" in refused(command, tmp_path / name)
    assert "is a stream" in refused(command, "/dev/null")


@pytest.mark.parametrize("command", COMMANDS)
def test_standard_input_is_no_file(refused, tmp_path, command):
    """Descriptor 0 is a file of votes, as a shell would open it."""
    votes = tmp_path / "votes.csv"
    votes.write_text("user,winner,loser\nu,a,b\n")
    before = os.dup(0)
    with votes.open() as file:
        os.dup2(file.fileno(), 0)
    try:
        said = refused(command, "/dev/stdin")
    finally:
        os.dup2(before, 0)
        os.close(before)
    assert "/dev/stdin is a stream (standard input, a pipe or a device)" in said
    assert "write them to a file first" in said
    assert "pipe them in and give - for the file" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["votes.csv"]


def test_a_pipe_is_not_waited_for(refused, tmp_path):
    """Nobody writes to the pipe: a command that opened it would hang."""
    os.mkfifo(tmp_path / "votes.csv")
    found = []
    thread = threading.Thread(
        target=lambda: found.append(refused("aggregate", tmp_path / "votes.csv")), daemon=True
    )
    thread.start()
    thread.join(60)
    assert found
    assert "stream" in found[0]
