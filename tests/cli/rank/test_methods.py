"""Each method of ``privrank rank`` on votes whose order is known, with next to no noise."""

from __future__ import annotations

import pytest

from privrank_jax.cli.rank.input import read_input
from privrank_jax.cli.rank.methods import release
from privrank_jax.cli.rank.request import Request


def found(votes, method, **options):
    request = Request(
        source=str(votes), method=method, simulate=True, seed=3,
        **{"epsilon": 1e6, "max_per_user": 2, **options},
    )  # fmt: skip
    data = read_input(request)
    return data, release(data, request)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("counts", {}),
        ("counts", {"adjacency": "flip"}),
        ("counts", {"noise": "gaussian", "delta": 1e-6}),
        ("mle", {"adjacency": "flip"}),
        ("mle", {}),
        ("one-shot", {"top_k": 1}),
    ],
)
def test_with_next_to_no_noise_the_order_is_that_of_the_votes(votes, method, options):
    data, result = found(votes, method, **options)
    names = [data.table.item_names[item] for item in result.order.tolist()]
    # a beats b and b beats c by 6 to 3, but b is compared twice as often.
    assert names == {"counts": ["b", "a", "c"], "mle": ["a", "b", "c"], "one-shot": ["b"]}[method]
    assert result.guarantee.epsilon == 1e6
    assert result.guarantee.unit == "user"
    assert result.diagnostics["method"] == method
    assert (result.scores is None) == (method == "one-shot")


def test_intervals_are_known_where_the_comparison_graph_is_public_or_noise_is_all(votes):
    _, counts = found(votes, "counts")
    assert set(counts.certainty.intervals) == {"low", "high", "rank_low", "rank_high"}
    _, flips = found(votes, "counts", adjacency="flip", epsilon=1.0)
    assert "answers" in flips.certainty.words
    _, fit = found(votes, "mle")
    assert not fit.certainty.intervals
    assert any("no intervals" in note for note in (*fit.certainty.notes, *fit.notes))


def test_noise_grows_with_what_a_user_may_give(votes):
    _, two = found(votes, "counts", epsilon=1.0)
    _, one = found(votes, "counts", epsilon=1.0, max_per_user=1)
    assert two.diagnostics["noise_scale"] == 2 * one.diagnostics["noise_scale"]
