"""``privrank rank`` on small files and on the real data sets."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from tests.cli.results import assert_schema, items

CEMSPC_ORDER = ["London", "Paris", "Barcelona", "St.Gallen", "Milano", "Stockholm"]
REHEARSAL = ("--simulate", "--seed", 1)
COUNTS = ("--method", "counts")


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
@pytest.mark.parametrize("unit", ["user", "comparison"])
@pytest.mark.parametrize("method", ["counts", "scores", "one-shot"])
def test_json_of_every_private_method(privrank, votes, method, unit, adjacency):
    bound = ("--max-per-user", 2) if unit == "user" else ()
    result = privrank(
        "rank", votes, "--method", method, "--epsilon", 2, "--unit", unit, "--adjacency", adjacency,
        "--top-k", 2, "--json", *bound, *REHEARSAL,
    )  # fmt: skip
    assert result.code == 0, result.err
    document = result.json()
    assert_schema(document, scores=method != "one-shot")
    assert len(document["ranking"]) == 2
    assert document["guarantee"]["epsilon"] == 2
    assert document["guarantee"]["unit"] == unit
    assert document["guarantee"]["adjacency"] == adjacency
    assert document["guarantee"]["numerics"] == "simulation"
    assert "rehearsal" in document["guarantee"]["note"]


@pytest.mark.parametrize("method", ["counts", "scores", "one-shot"])
def test_a_seed_repeats_a_rehearsal_and_another_does_not(privrank, votes, method):
    def run(seed):
        return privrank(
            "rank", votes, "--method", method, "--epsilon", 0.2, "--max-per-user", 1, "--top-k", 3,
            "--simulate", "--seed", seed, "--json",
        ).out  # fmt: skip

    assert run(5) == run(5)
    assert len({run(seed) for seed in range(6)}) > 1


def test_a_release_is_exact_and_never_repeats(privrank, votes):
    run = ("rank", votes, *COUNTS, "--epsilon", 0.01, "--max-per-user", 2, "--json")
    first, second = privrank(*run).json(), privrank(*run).json()
    for document in (first, second):
        assert_schema(document)
        assert document["guarantee"]["numerics"] == "exact"
        assert document["diagnostics"]["noise_scale"] == pytest.approx(400)
        assert all((2 * row["score"]).is_integer() for row in document["ranking"])
    # Discrete noise of scale 400 on three items is equal twice with probability below 1e-9.
    assert first != second


def test_mle_is_an_old_name_of_scores(privrank, votes):
    run = ("rank", votes, "--epsilon", 1, "--max-per-user", 2, "--json", *REHEARSAL)
    assert privrank(*run, "--method", "mle").json() == privrank(*run).json()


def test_counts_at_a_huge_epsilon_are_the_win_totals(privrank, write):
    # Ties count half, a blank tie cell is a decision, an item never met is ranked last.
    path = write("u1,a,b,0", "u2,a,c,", "u3,b,c,1", "u4,a,b,yes", header="user,winner,loser,tie")
    result = privrank("rank", path, *COUNTS, "--epsilon", 1000, "--items", "a, b, c, d", "--json")
    document = result.json()
    assert [(row["item"], row["score"]) for row in document["ranking"]] == [
        ("a", 2.5), ("b", 1.0), ("c", 0.5), ("d", 0.0),
    ]  # fmt: skip
    assert "gives almost no protection" in result.err


def test_the_mle_is_the_fit_to_the_noisy_totals(privrank, votes):
    document = privrank(
        "rank",
        votes,
        "--method scores --adjacency flip --epsilon 900 --gamma 0.5 --max-per-user 2 --json",
    ).json()
    matrix = np.array([[0, 6.0, 0], [3, 0, 6], [0, 3, 0]])  # as the fixture says
    wins = WinCounts.from_matrix(matrix)
    expected = pairwise.mle(wins, gamma=0.5).value  # at ε = 900 the noise is 0 but for 1e-90
    assert document["guarantee"]["numerics"] == "exact"
    assert items(document) == ["a", "b", "c"]
    found = [row["score"] for row in document["ranking"]]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_a_bound_keeps_that_many_and_reports_to_the_holder_alone(privrank, votes):
    run = ("rank", votes, *COUNTS, "--epsilon", 900, "--max-per-user", 1, "--json")
    result = privrank(*run, *REHEARSAL)
    document = result.json()
    assert "9 of 18 comparisons were left out" in result.err
    assert document["diagnostics"]["max_per_user"] == 1
    assert document["diagnostics"]["sensitivity"] == 2
    assert sum(row["score"] for row in document["ranking"]) == pytest.approx(9, abs=0.5)
    assert "18" not in result.out


def test_public_diagnostics_do_not_depend_on_the_answers(privrank, write):
    found = []
    for winner, loser in (("a", "b"), ("b", "a")):
        path = write(*(f"u{k},{winner},{loser}" for k in range(8)))
        for adjacency in ("flip", "replace"):
            run = ("rank", path, "--epsilon", 1, "--adjacency", adjacency, "--json", *REHEARSAL)
            found.append(privrank(*run).json()["diagnostics"])
            for name in ("told_apart", "design_noise_scale"):  # of the released values
                found[-1].pop(name, None)
    assert found[0] == found[2]
    assert found[1] == found[3]


def test_names_from_a_file_cannot_drive_the_terminal(privrank, write):
    path = write("u1,\x1b[31mred,b[bold]b[/bold]")
    result = privrank("rank", path, "--epsilon", 1)
    assert "\x1b" not in result.out
    assert "[bold]b[/bold]" in result.out


# --- without privacy


def test_none_is_the_maximum_likelihood_fit(privrank, votes):
    document = privrank("rank", votes, "--method", "none", "--json").json()
    assert_schema(document)
    assert document["guarantee"] is None
    scores = {row["item"]: row["score"] for row in document["ranking"]}
    assert scores["a"] - scores["b"] == pytest.approx(
        math.log(2), abs=1e-8
    )  # a tree: each pair on its own
    assert scores["b"] - scores["c"] == pytest.approx(math.log(2), abs=1e-8)
    assert document["diagnostics"]["converged"] is True
    assert document["diagnostics"]["components"] == 1


@pytest.mark.parametrize("link", ["logistic", "normal", "laplace"])
def test_none_takes_every_link(privrank, votes, link):
    document = privrank("rank", votes, "--method", "none", "--link", link, "--json").json()
    assert items(document) == ["a", "b", "c"]


# --- real data


def test_cemspc_without_privacy(privrank, data_folder):
    document = privrank("rank", "cemspc", "--method", "none", "--json").json()
    assert items(document) == CEMSPC_ORDER
    assert document["diagnostics"]["ties"] == 487
    assert any("reversed" in note for note in document["diagnostics"]["notes"])


@pytest.mark.parametrize("how", [(), REHEARSAL])
def test_one_shot_uses_how_often_a_user_meets_one_item(privrank, data_folder, how):
    run = ("rank", "cemspc", "--method", "one-shot", "--epsilon", 1, "--json", *how)
    for adjacency, scales in (("replace", {1: 10, 3: 24}), ("add-remove", {1: 5, 4: 15})):
        for k, scale in scales.items():
            document = privrank(*run, "--top-k", k, "--adjacency", adjacency).json()
            assert document["diagnostics"]["noise_scale"] == pytest.approx(scale)


def test_the_voters_of_the_demo():
    from privrank_jax.cli.survey import VOTERS, voter_wins

    wins = np.asarray(voter_wins().matrix)
    expected = np.zeros((5, 5))
    for voter, pair in itertools.product(VOTERS, itertools.combinations(range(5), 2)):
        expected["MSNCA".index(voter[pair[0]]), "MSNCA".index(voter[pair[1]])] += 1
    np.testing.assert_array_equal(wins, expected)
    assert wins.sum() == 40


@pytest.mark.parametrize(("pairs", "told"), [
    (["no", "om", "mn"], None), (["no", *["om", "mo"] * 9], "3 to 57"), (["om"], "0 to 3"),
])  # fmt: skip
def test_items_compared_unequally_often_are_named_to_the_holder(privrank, write, pairs, told):
    """By win totals the item that was compared least is last, however good it is."""
    rows = [f"u{k},{pair[0]},{pair[1]}" for k, pair in enumerate(pairs * 3)]
    source = write(*rows, header="user,winner,loser")
    run = ("rank", source, "--epsilon", 1, "--items", "n,o,m", "--simulate", "--seed", 1)
    found = privrank(*run, "--method", "counts")
    assert ("items were compared" in found.err) == (told is not None)
    assert told is None or f"items were compared {told} times" in found.err
    assert "were compared" not in found.out
    other = privrank(*run, "--method", "scores", "--adjacency", "flip", "--max-per-user", 1)
    assert "items were compared" not in other.err
