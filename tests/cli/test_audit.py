"""``privrank audit``: what it prints, its exit codes, its picture; the audit itself is held in tests/privacy_audit."""

from __future__ import annotations

FEW = ("--draws", 50_000)


def test_list(privrank):
    result = privrank("audit", "--list")
    assert result.code == 0
    for text in ("randomized-response", "dp-borda", "unsound", "rank, replace, local"):
        assert text in result.out
    rows = privrank("audit", "--list", "--json").json()["mechanisms"]
    assert {row["name"]: row["sound"] for row in rows}["dp-kwiksort-published"] is False


def test_a_sound_mechanism_is_consistent(privrank):
    result = privrank("audit", "randomized-response", "--epsilon", 0.5, *FEW)
    assert (result.code, result.err) == (0, "")
    for text in ("claimed epsilon", "consistent", "Event tested", "50,000"):
        assert text in result.out


def test_an_unsound_one_is_violated_and_drawn(privrank, tmp_path):
    picture = tmp_path / "audit.png"
    result = privrank("audit", "noisy-counts-users-published", *FEW, "--plot", picture, "--json")
    assert (result.code, result.err) == (1, "")
    found = result.json()
    assert found["verdict"] == "violated"
    assert found["epsilon"] == 1
    assert 1.6 < found["lower_bound"] < found["exact_epsilon"] == 2
    assert (found["draws"], found["confidence"], found["seed"]) == (50_000, 0.999, 0)
    assert found["picture"] == str(picture)
    assert picture.stat().st_size > 10_000
    words = privrank("audit", "noisy-counts-users-published", *FEW)
    assert words.code == 1
    assert "Violated" in words.out
