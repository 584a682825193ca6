"""Exact releases publish no padded item: each of them refuses data whose mask pads, before anything is drawn."""

from __future__ import annotations

import inspect
import secrets

import jax.numpy as jnp
import pytest

from privrank_jax import pairwise, release
from privrank_jax.aggregation import PairWeights
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism import BoundedScores, Moves
from privrank_jax.pairwise import noisy_ties
from privrank_jax.pairwise.private_design import noisy_design
from privrank_jax.privacy import Privacy

MASK = jnp.array([True, True, False])
WINS = WinCounts(jnp.array([[0.0, 3.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), MASK)
PADDED = {
    "WinCounts": WINS,
    "PairWeights": PairWeights(WINS.matrix, 4, MASK),
}
COMPARISONS = Privacy(1.0, unit="comparison", adjacency="replace")
RANKINGS = Privacy(1.0, unit="user", adjacency="replace")


def taken():
    """Exact releases of the library, with the kinds of padded data that they take."""
    for name in release.__all__:
        function = getattr(release, name)
        if not name.startswith("exact_") or "privacy" not in inspect.signature(function).parameters:
            continue
        first = next(iter(inspect.signature(function).parameters.values()))
        words = first.annotation
        for kind in PADDED:
            if kind in words:
                yield name, kind


@pytest.mark.parametrize(("name", "kind"), list(taken()))
def test_padded_data_are_refused_before_anything_is_drawn(name, kind, monkeypatch):
    for source in ("token_bytes", "randbits", "randbelow"):
        monkeypatch.setattr(secrets, source, None)
    function = getattr(release, name)
    more = {"k": 2} if "k" in inspect.signature(function).parameters else {}
    promise = COMPARISONS if kind == "WinCounts" else RANKINGS
    with pytest.raises(ValueError, match="exact releases take no padding"):
        function(PADDED[kind], promise, **more)


def test_win_counts_with_ties_and_designs_are_refused():
    """Records and programs that the list above does not find."""
    with pytest.raises(ValueError, match="take no padding"):
        noisy_design.release(WINS, COMPARISONS)
    flip = Privacy(1.0, unit="comparison", adjacency="flip")
    with pytest.raises(ValueError, match="take no padding"):
        noisy_ties.release(WinCounts(WINS.matrix, MASK, 0), flip)


def test_a_mask_that_pads_nothing_is_no_padding():
    wins = WinCounts(WINS.matrix, jnp.ones(3, bool))
    assert len(pairwise.one_shot_top_k.release(wins, COMPARISONS, 2).value) == 2


@pytest.mark.parametrize(
    "name", ["one_shot_top_k", "peeling_top_k", "permute_and_flip_top_k", "canonical_top_k"]
)
@pytest.mark.parametrize("k", [0, -1, 4, True, 2.0, "2", None])
def test_bad_numbers_of_items_are_refused_before_anything_is_drawn(name, k, monkeypatch):
    for source in ("token_bytes", "randbits", "randbelow"):
        monkeypatch.setattr(secrets, source, None)
    with pytest.raises(ValueError, match="k must be an integer from 1 to m = 3"):
        getattr(pairwise, name).release(BoundedScores([90, 10, 80], Moves(1)), COMPARISONS, k)
