"""``privrank audit``: what it prints, its exit codes, its picture; the audit itself is held in tests/privacy_audit."""

from __future__ import annotations

import pytest

FEW = ("--draws", 50_000)


def test_help_has_an_example_and_the_exit_codes(privrank):
    result = privrank("audit", "--help")
    assert result.code == 0
    assert "privrank audit --list" in result.out
    assert "Exit code" in result.out


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
    for text in (
        "claimed epsilon",
        "consistent",
        "Event tested: the report is",
        "50,000",
        "show no more",
    ):
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
    assert "refuted" in words.out


def test_the_shape_of_noise_is_drawn(privrank, tmp_path):
    picture = tmp_path / "noise.svg"
    result = privrank("audit", "noisy-counts-questionnaire", *FEW, "--shape", picture)
    assert (result.code, result.err) == (0, "")
    assert "Written:" in result.out
    assert picture.stat().st_size > 10_000


def test_too_few_draws_for_an_unsound_one_say_so(privrank):
    result = privrank("audit", "noisy-counts-users-published", "--draws", 1000, "--epsilon", 0.01)
    assert result.code == 0
    assert "known to be wrong" in result.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "audit --list"),
        (("randomized-respons",), "did you mean randomized-response"),
        (("dp-borda", "--epsilon", 0), "epsilon must be positive"),
        (("dp-borda", "--epsilon", "inf"), "at most 1e+09"),
        (("dp-borda", "--draws", 10), "at least 1,000"),
        (("dp-borda", "--confidence", 1), "between 0 and 1"),
        (("dp-borda", "--plot", "audit.exe"), "use .png"),
        (("dp-borda", "--plot", "a/audit.png"), "there is no folder a"),
        (("dp-borda", "--plot", "a.png", "--shape", "a.png"), "need a file each"),
        (("dp-borda", "--shape", "noise.exe"), "use .png"),
        (("randomized-response", "--shape", "noise.png"), "these do: "),
    ],
)
def test_refusals(privrank, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = privrank("audit", *arguments)
    assert result.code == 2
    assert message in result.err
    assert "Traceback" not in result.err
    assert not list(tmp_path.iterdir())
