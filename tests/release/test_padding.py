"""Exact releases publish no padded item: each of them refuses data whose mask pads, before anything is drawn."""

from __future__ import annotations

import secrets

import jax.numpy as jnp
import pytest

from privrank_jax import aggregation, pairwise
from privrank_jax.aggregation import PairWeights
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism import Local, Mechanism, Selection
from privrank_jax.pairwise import noisy_ties
from privrank_jax.pairwise.private_design import noisy_design
from privrank_jax.privacy import Privacy
from tests.promises import user

MASK = jnp.array([True, True, False])
WINS = WinCounts(jnp.array([[0.0, 3.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), MASK)
COMPARISONS = Privacy(1.0, unit="comparison", adjacency="replace")
FLIPS = Privacy(1.0, unit="comparison", adjacency="flip")
KINDS = {pairwise: (WINS, COMPARISONS), aggregation: (PairWeights(WINS.matrix, 4, MASK), user(1.0))}
# They take choices, covariates, rankings, ballots or comparisons with ties.
OTHERS = (
    "noisy_choices", "noisy_sums", "noisy_sums_and_ties", "noisy_ties", "dp_scores", "dp_footrule", "ldp_kwiksort",
    "shuffled_pair_weights", "sub_ranking_weights", "ldp_borda", "local_weights", "perturbed_choices",
    "perturbed_covariates",
)  # fmt: skip


def taken():
    yield noisy_design, (WINS, COMPARISONS, [0.0, 0.0])
    yield noisy_ties, (WinCounts(WINS.matrix, MASK, 0), FLIPS)
    for package, (data, promise) in KINDS.items():
        for name in package.__all__:
            record = getattr(package, name)
            local = not isinstance(record, Mechanism) or isinstance(record, Local)
            if not local and name not in OTHERS:
                yield record, (data, promise, *([2] if isinstance(record, Selection) else []))


def test_padded_data_are_refused_before_anything_is_drawn(monkeypatch):
    for source in ("token_bytes", "randbits", "randbelow"):
        monkeypatch.setattr(secrets, source, None)
    every = list(taken())
    assert len(every) >= 12
    for record, given in every:
        with pytest.raises(ValueError, match=r"padding|padded"):
            record.release(*given)


def test_a_mask_that_pads_nothing_is_no_padding():
    wins = WinCounts(WINS.matrix, jnp.ones(3, bool))
    assert len(pairwise.one_shot_top_k.release(wins, COMPARISONS, 2).value) == 2
