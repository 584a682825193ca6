"""``privrank rank``: its document, seeds, what it reads, and what only the holder of the data is told."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from tests.cli.results import assert_schema, items

REHEARSAL = ("--simulate", "--seed", 1)
COUNTS = ("--method", "counts")


@pytest.mark.parametrize(
    ("method", "unit", "adjacency"),
    [("scores", "comparison", "replace"), ("one-shot", "user", "add-remove")],
)
def test_the_document_says_what_was_asked(privrank, votes, method, unit, adjacency):
    """A seed repeats a rehearsal; seeds beyond 32 bits are their own."""
    run = ("rank", votes, "--epsilon 0.2 --top-k 2 --json --simulate --method", method)
    run += ("--unit", unit, "--adjacency", adjacency)
    run += ("--max-per-user", 2) if unit == "user" else ()
    result = privrank(*run, "--seed", 2**33 + 5)
    assert result.code == 0, result.err
    document = result.json()
    assert_schema(document, scores=method != "one-shot")
    assert len(document["ranking"]) == 2
    guarantee = document["guarantee"]
    told = (guarantee["epsilon"], guarantee["unit"], guarantee["adjacency"])
    assert told == (0.2, unit, adjacency)
    assert guarantee["numerics"] == "simulation"
    assert "rehearsal" in guarantee["note"]
    assert document["diagnostics"]["seed"] == 2**33 + 5
    assert privrank(*run, "--seed", 2**33 + 5).json() == document
    others = [privrank(*run, "--seed", seed).json()["ranking"] for seed in (5, 6, 7)]
    assert any(other != document["ranking"] for other in others)


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


def test_counts_at_a_huge_epsilon_are_the_win_totals(privrank, write):
    """Ties count half, a blank tie cell is a decision, an item never met is ranked last."""
    path = write("u1,a,b,0", "u2,a,c,", "u3,b,c,1", "u4,a,b,yes", header="user,winner,loser,tie")
    result = privrank("rank", path, *COUNTS, "--epsilon", 1000, "--items", "a, b, c, d", "--json")
    assert [(row["item"], row["score"]) for row in result.json()["ranking"]] == [
        ("a", 2.5), ("b", 1.0), ("c", 0.5), ("d", 0.0),
    ]  # fmt: skip
    assert "almost no protection" in result.err


def test_the_mle_is_the_fit_to_the_noisy_totals(privrank, votes):
    """At epsilon = 900 the noise is 0 but for 1e-90; mle is an old name of scores."""
    run = ("rank", votes, "--adjacency flip --epsilon 900 --gamma 0.5 --max-per-user 2 --json")
    document = privrank(*run, "--method", "mle").json()
    matrix = np.array([[0, 6.0, 0], [3, 0, 6], [0, 3, 0]])  # as the fixture says
    expected = pairwise.mle(WinCounts.from_matrix(matrix), gamma=0.5).value
    assert document["guarantee"]["numerics"] == "exact"
    assert items(document) == ["a", "b", "c"]
    np.testing.assert_allclose([row["score"] for row in document["ranking"]], expected, atol=1e-8)
    assert privrank(*run, "--method", "scores").json() == document


# --- what is read ----------------------------------------------------------------------------------


def test_items_from_a_file_and_their_names(privrank, write, tmp_path):
    path, listed = write("u1,a,b[bold]b[/bold]"), tmp_path / "items.txt"
    listed.write_text("a\n\nb[bold]b[/bold]\nzebra\n", encoding="utf-8")
    run = ("rank", path, "--method", "counts", "--epsilon", 900, "--items", listed)
    assert items(privrank(*run, "--json").json()) == ["a", "b[bold]b[/bold]", "zebra"]
    assert "[bold]b[/bold]" in privrank(*run).out


def test_a_bound_for_each_item_lowers_gaussian_noise(privrank, write):
    """One pairing of four items has two rows: three of five are left out."""
    path = write(*(f"u{n},{a},{b}" for n in range(40) for a, b in ("ab", "cd", "ac", "bd", "ab")))
    run = ("rank", path, "--epsilon 1 --noise gaussian --delta 1e-6 --max-per-user 4", *COUNTS)
    wide = privrank(*run, "--json").json()["diagnostics"]
    result = privrank(*run, "--max-per-item", 1, "--json")
    narrow = result.json()["diagnostics"]
    assert narrow["sensitivity"] == pytest.approx(8**0.5)
    assert narrow["noise_scale"] == pytest.approx(wide["noise_scale"] / 2, rel=1e-3)
    assert "120 of 200 comparisons" in " ".join(result.err.split())
    assert "120 of 200" not in result.out


# --- what only the holder is told ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "told"), [("no om mn", None), ("no" + " om mo" * 9, "3 to 57"), ("om", "0 to 3")]
)
def test_items_compared_unequally_often_are_named_to_the_holder(privrank, write, pairs, told):
    """By win totals the item that was compared least is last, however good it is."""
    source = write(*(f"u{k},{pair[0]},{pair[1]}" for k, pair in enumerate(pairs.split() * 3)))
    run = ("rank", source, "--epsilon", 1, "--items", "n,o,m", *REHEARSAL)
    found = privrank(*run, *COUNTS)
    assert f"{told}" in found.err if told else "were compared" not in found.err, found.err
    assert "were compared" not in found.out
    other = privrank(*run, "--method scores --adjacency flip --max-per-user 1")
    assert "were compared" not in other.err
