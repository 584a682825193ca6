"""Exact releases publish no padded item: each of them refuses data whose mask pads, before anything is drawn."""

from __future__ import annotations

import secrets

import jax.numpy as jnp
import pytest

from privrank_jax import aggregation, pairwise
from privrank_jax.aggregation import PairWeights
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism import BoundedScores, Local, Mechanism, Moves, Selection
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


RELEASES = {
    **{f"pairwise.{name}": "WinCounts" for name in pairwise.__all__},
    **{f"aggregation.{name}": "PairWeights" for name in aggregation.__all__},
}
"""Mechanisms, and what they take if it can pad; others refuse its type."""


def taken():
    """Mechanisms with exact releases of data that can pad."""
    for path, kind in RELEASES.items():
        package, _, name = path.partition(".")
        record = getattr({"pairwise": pairwise, "aggregation": aggregation}[package], name)
        if isinstance(record, Mechanism) and not isinstance(record, Local) and name not in OTHERS:
            yield pytest.param(record, kind, id=path)


# They take choices, covariates, rankings, ballots or comparisons with ties.
OTHERS = (
    "noisy_choices", "noisy_sums", "noisy_sums_and_ties", "noisy_ties", "dp_scores", "dp_footrule", "ldp_kwiksort",
    "shuffled_pair_weights", "sub_ranking_weights", "ldp_borda", "local_weights", "perturbed_choices",
    "perturbed_covariates",
)  # fmt: skip


@pytest.mark.parametrize(("record", "kind"), list(taken()))
def test_padded_data_are_refused_before_anything_is_drawn(record, kind, monkeypatch):
    for source in ("token_bytes", "randbits", "randbelow"):
        monkeypatch.setattr(secrets, source, None)
    promise = COMPARISONS if kind == "WinCounts" else RANKINGS
    more = (2,) if isinstance(record, Selection) else ()
    with pytest.raises(ValueError, match=r"no padding|leave padded items out"):
        record.release(PADDED[kind], promise, *more)


def test_win_counts_with_ties_and_designs_are_refused():
    """Mechanisms that the list above does not find; it finds many."""
    assert len(list(taken())) >= 10
    with pytest.raises(ValueError, match="take no padding"):
        noisy_design.release(WINS, COMPARISONS, [0.0, 0.0])
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
