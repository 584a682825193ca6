"""Files of another shape than they are taken for: refused in words that help, or read as the options say."""

from __future__ import annotations

import os
import threading

import pytest

from tests.parquet import as_parquet

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


@pytest.mark.parametrize("command", ["rank", "privatize"])
@pytest.mark.parametrize("parquet", [False, True])
def test_battles_are_refused_not_misread(refused, write, command, parquet):
    path = write("j1,gpt,llama,model_a", "j2,llama,phi,tie", header="judge,model_a,model_b,winner")
    path = as_parquet(path) if parquet else path
    said = refused(command, path, "--user", "judge", "--winner", "model_a", "--loser", "model_b")
    assert "column 'winner' looks like the outcome of comparing 'model_a' and 'model_b'" in said
    assert "say --column left=model_a, --column right=model_b, --column outcome=winner" in said


# --- ratings

STARS = ("u1,5,4,1", "u2,5,3,2", "u3,4,4,1", "u4,5,5,2", "u5,3,2,1")
RANKED = ("u1,1,2,3", "u2,1,2,3", "u3,1,1,2", "u4,1,1,2", "u5,1,2,3")


def long(lines):
    return [
        f"{user},{item},{cell}"
        for user, *cells in (line.split(",") for line in lines)
        for item, cell in zip("abc", cells)
    ]


@pytest.mark.parametrize("wide", [True, False])
def test_ratings_come_out_as_the_ranks_that_they_mean(privrank, refused, write, wide):
    header = "user,a,b,c" if wide else "user,item,rank"
    stars = write(*(STARS if wide else long(STARS)), header=header, name="stars.csv")
    ranks = write(*(RANKED if wide else long(RANKED)), header=header, name="ranks.csv")
    run = ("--method", "borda", "--epsilon", 900, "--noise", "laplace", "--json")
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


# --- streams


def test_standard_input_is_no_file(refused, tmp_path):
    """Descriptor 0 is a file of votes, as a shell would open it."""
    votes = tmp_path / "votes.csv"
    votes.write_text("user,winner,loser\nu,a,b\n")
    before = os.dup(0)
    with votes.open() as file:
        os.dup2(file.fileno(), 0)
    try:
        said = refused("rank", "/dev/stdin")
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
