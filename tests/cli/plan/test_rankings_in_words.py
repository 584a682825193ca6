"""The plan of a consensus, in words."""

from __future__ import annotations


def test_in_words(privrank):
    result = privrank("plan", "--rankings", "--items", 6, "--epsilon", 1, "--target", 0.8)
    assert result.code == 0, result.err
    for words in (
        "Least proven cost: exponential",
        "For proven 0.8",
        "users, by",
        "whatever the users prefer",
    ):
        assert words in result.out
    assert "by exponential, which aggregate takes by --method exponential." in result.out
    assert "hay-kwiksort is the published method, for comparison only" in result.out
    far = privrank(
        "plan", "--rankings", "--items", 6, "--epsilon", 1, "--target", 0.2, "--method", "borda"
    )
    assert "For proven 0.2 above the best order: no users found" in far.out
