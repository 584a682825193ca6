"""``privrank rank``: what it reads, and how it bounds what a user gives."""

from __future__ import annotations

import pytest

from tests.cli.results import items

# --- columns and files


def test_columns_by_other_names(privrank, write):
    path = write("x,a,b,1", "y,b,c,0", header="judge,better,worse,draw")
    named = "--user judge --winner better --loser worse"
    run = ("rank", path, "--epsilon 900 --method counts --json", named)
    scores = {r["item"]: r["score"] for r in privrank(*run, "--tie", "draw").json()["ranking"]}
    assert scores == {"a": 0.5, "b": 1.5, "c": 0.0}
    scores = {r["item"]: r["score"] for r in privrank(*run, "--tie", "none").json()["ranking"]}
    assert scores == {"a": 1.0, "b": 1.0, "c": 0.0}


def test_a_file_without_users_serves_single_comparisons(privrank, write):
    path = write("a,b", "b,c", header="winner,loser")
    for user in ((), ("--user", "none")):
        refused = privrank("rank", path, "--epsilon", 1, *user)
        assert (refused.code, "--unit comparison" in refused.err) == (2, True)
    assert privrank("rank", path, "--epsilon", 1, "--unit", "comparison").code == 0


def test_items_from_a_file(privrank, write, tmp_path):
    path = write("u1,a,b")
    listed = tmp_path / "items.txt"
    listed.write_text("a\n\nb\nzebra\n", encoding="utf-8")
    run = ("rank", path, "--method", "counts", "--epsilon", 900, "--items", listed, "--json")
    document = privrank(*run).json()
    assert items(document) == ["a", "b", "zebra"]
    assert privrank("rank", path, "--epsilon", 1, "--items", tmp_path / "no.txt").code == 2


def test_a_refusal_does_not_tell_how_much_a_user_gave(privrank, write):
    result = privrank("rank", write(*["x,a,b"] * 38), "--epsilon", 1)
    assert result.code == 2
    assert "38" not in result.err


# --- bounds and seeds

GAUSSIAN = ("--epsilon", 1, "--noise", "gaussian", "--delta", "1e-6", "--max-per-user", 4)


@pytest.mark.parametrize("method", [("--method", "counts"), ("--adjacency", "flip")])
def test_a_bound_for_each_item_lowers_gaussian_noise(privrank, write, method):
    rows = [f"u{n},{a},{b}" for n in range(40) for a, b in ("ab", "cd", "ac", "bd", "ab")]
    path = write(*rows)
    wide = privrank("rank", path, *GAUSSIAN, *method, "--json").json()["diagnostics"]
    result = privrank("rank", path, *GAUSSIAN, *method, "--max-per-item", 1, "--json")
    narrow = result.json()["diagnostics"]
    assert narrow["max_per_item"] == 1
    assert narrow["sensitivity"] == pytest.approx(8**0.5)
    assert narrow["noise_scale"] == pytest.approx(wide["noise_scale"] / 2, rel=1e-3)
    # One pairing of four items has two rows: three of five are left out.
    assert "120 of 200 comparisons were left out" in " ".join(result.err.split())
    again = ("rank", path, *GAUSSIAN, *method, "--max-per-item", 1, "--simulate", "--seed", 5)
    assert privrank(*again).out == privrank(*again).out


def test_seeds_beyond_32_bits_are_their_own(privrank, votes):
    run = ("rank", votes, "--epsilon", 1, "--max-per-user", 2, "--simulate", "--json", "--seed")
    one, other = (privrank(*run, seed).json() for seed in (2**33 + 5, 5))
    assert one["diagnostics"]["seed"] == 2**33 + 5
    assert one["ranking"] != other["ranking"]
