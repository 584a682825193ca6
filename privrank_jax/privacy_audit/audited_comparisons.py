"""Audited mechanisms on comparisons: win totals, and scores from a perturbed likelihood; neighbors are small."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.private_design import noisy_design
from privrank_jax.pairwise.published import published_counts, published_mle
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws, minimizers
from privrank_jax.privacy_audit.contents import comparisons, protecting, win_matrix
from privrank_jax.privacy_audit.registry import Audited, Release
from privrank_jax.privacy_audit.rows import PUBLISHED, additive, audited, named, on

Array = jax.Array


def on_wins(function: Any, *args: Any, **options: Any) -> Release:
    """Turn a function of win counts into ``(key, matrix, privacy) -> Estimate``."""
    return on(function, WinCounts, *args, **options)


# Item 1 is far ahead, where "item 0 is on top" has nearly its largest loss.
_FAR_APART = (win_matrix(2, (0, 1, 3), (1, 0, 5)), win_matrix(2, (1, 0, 8)))
_L = 3
COMPARISON = Privacy(1.0, unit="comparison", adjacency="replace")
FLIPPED = dataclasses.replace(COMPARISON, adjacency="flip")
ADDED = dataclasses.replace(COMPARISON, adjacency="add-remove")
USER = Privacy(1.0, unit="user", adjacency="replace", contributions=_L)
_TWO_EACH = dataclasses.replace(USER, contributions=2)

_TRIPLE = np.zeros((3, 3))
# Item 1 is ahead by up to 5,000 wins, where "item 0 is on top" loses all but 0.01 ε for ε >= 0.3.
_GAPS = tuple(win_matrix(2, (1, 0, ahead)) for ahead in (0, 4, 60, 5000))

# --- win totals ------------------------------------------------------------------------------------


def gap(values: Array) -> Array:
    """The first number less the second."""
    return values[0] - values[1]


_TOP: dict[str, Any] = {
    "law": lambda data, _, facts: laws.one_shot(data.sum(-1), facts["noise_scale"], 1),
    "sees": "the item on top",
    "outcomes": ("0", "1"),
    "finite": True,
    "reduce": lambda noisy: (noisy[1] > noisy[0]).astype(jnp.int32),
    "neighbors": _FAR_APART,
    **protecting(USER, *_GAPS),
}

_TOTALS = (
    additive(
        "noisy-counts",
        "win totals + Laplace(2/ε), one comparison",
        *(pairwise.noisy_counts, comparisons(3), COMPARISON),
        commands=(
            "rank --method counts --unit comparison",
            "rank --method counts --unit comparison --adjacency flip",
        ),
    ),
    additive(
        "noisy-counts-add-remove",
        "win totals + Laplace(1/ε), one comparison added or removed",
        *(pairwise.noisy_counts, comparisons(3), ADDED),
        commands=(
            "rank --method counts --unit comparison --adjacency add-remove",
            "rank --method counts --max-per-user 2 --adjacency add-remove",
        ),
    ),
    additive(
        "noisy-counts-users",
        "win totals + Laplace(2L/ε), one user of L = 3 comparisons",
        *(pairwise.noisy_counts, comparisons(2, _L), USER),
        commands=(
            "rank --method counts --max-per-user 2",
            "rank --method counts --max-per-user 2 --adjacency flip",
            "rank --method counts --max-per-user 2 --top-k 2",
            "rank --method scores --max-per-user 2 --adjacency flip",
            "rank --unit comparison --adjacency flip",
        ),
    ),
    additive(
        "noisy-counts-users-published",
        "win totals + Laplace(L/ε) as published for users, L = 3",
        *(published_counts, comparisons(2, _L), USER),
        given={},
        note="Cai, Algorithm 3: replacing a user moves the totals by 2L in ℓ₁, so the loss is 2ε",
        **PUBLISHED,
    ),
    audited(
        "top-item",
        "the item with most wins + Laplace(2L/ε), one user of L = 3 comparisons",
        on_wins(pairwise.noisy_counts),
        remark="the loss tends to ε far from a tie",
        **_TOP,
    ),
    audited(
        "top-item-published",
        "the item with most wins + Laplace(L/ε) as published for users, L = 3",
        on_wins(published_counts),
        note="Cai, Algorithm 3: even the top item alone loses 2ε far from a tie",
        **PUBLISHED,
        **_TOP,
    ),
)

# Two pairs compared so often that they fix the signs of the noise, where replacements lose all of ε.
_CHAIN = win_matrix(3, (0, 1, 5000), (1, 2, 5000))

# --- scores ----------------------------------------------------------------------------------------

# Item 0 wins one of four comparisons, or none.
FEW_WINS = (win_matrix(2, (0, 1, 1), (1, 0, 3)), win_matrix(2, (1, 0, 4)))


def _fit(
    name: str,
    title: str,
    promise: Privacy,
    *commands: str,
    function: Callable[..., Any] = pairwise.perturbed_mle,
    link: str = "logistic",
    **fields: Any,
) -> Audited:
    """A row on scores from a perturbed likelihood, of which the gap of two is seen."""
    told = {
        "neighbors": FEW_WINS,
        "reduce": gap,
        "sees": "the gap between the scores",
        "law": minimizers.law(minimizers.of_wins(link)),
        "note": "pairwise/perturbed_fit.py",
        **protecting(promise, _CHAIN, _TRIPLE),
    }
    release = on_wins(function, **({} if link == "logistic" else {"link": link}))
    return audited(name, title, release, commands=commands, **told | fields)


_FITS = (
    _fit(
        "perturbed-mle",
        "perturbed MLE, outcomes flip, Laplace(2/ε)",
        *(FLIPPED, "rank --method scores --max-per-user 2 --adjacency flip --link laplace"),
        note="pairwise/perturbed_fit.py; the loss of the gap tends to ε in its tails",
    ),
    _fit(
        "perturbed-mle-replace",
        "perturbed MLE, a comparison is replaced, Laplace(4/ε), γ ≥ λ",
        *(COMPARISON, "rank --unit comparison"),
    ),
    _fit(
        "perturbed-mle-users",
        "perturbed MLE, a user's L = 2 comparisons are replaced, Laplace(4L/ε), γ ≥ λ",
        _TWO_EACH,
        "rank --max-per-user 2",
        "rank --max-per-user 2 --top-k 2",
        "rank --max-per-user 2 --noise gaussian --delta 1e-6",
    ),
    _fit(
        "perturbed-mle-laplace-link",
        "perturbed MLE, Laplace link, a comparison is added or removed",
        ADDED,
        "rank --max-per-user 2 --adjacency add-remove --link laplace",
        "rank --max-per-user 2 --adjacency add-remove",
        link="laplace",
        neighbors=(win_matrix(2, (1, 0, 4)), win_matrix(2, (1, 0, 3))),
    ),
    _fit(
        "perturbed-mle-published",
        "perturbed MLE, Laplace(8/ε) as published",
        COMPARISON,
        function=published_mle,
        calibration="published",
        note="Cai, Proposition 2.1: sound, with twice the noise that replacement needs, four times that of flips",
    ),
)

# --- designs ---------------------------------------------------------------------------------------

# Noise on appearances, which have 0.3 of ε and move by twice as much, in units of that on pairs.
_UNITS = np.repeat([2 * 0.7 / 0.3, 1.0], (4, 6))


def _counted(data: np.ndarray) -> np.ndarray:
    """Appearances of items and comparisons of pairs i < j."""
    met = data + data.swapaxes(-1, -2)
    return np.concatenate([met.sum(-1), met[..., *np.triu_indices(4, 1)]], axis=-1)


def _counted_noisily(key: Array, matrix: Array, privacy: Privacy) -> Estimate:
    """The noisy numbers side by side."""
    found = noisy_design(key, WinCounts(matrix), privacy)
    pairs = found.value.pairs[np.triu_indices(4, 1)]
    return dataclasses.replace(found, value=jnp.append(found.value.appearances, pairs))


_DESIGNS = (
    additive(
        "noisy-design",
        "comparisons of items and pairs + Laplace(4/(0.3ε)), Laplace(2/(0.7ε)), one comparison",
        noisy_design,
        dataclasses.replace(
            comparisons(4), numbers=_counted, scales=lambda facts, _: facts["noise_scale"] * _UNITS
        ),
        COMPARISON,
        release=named(noisy_design, _counted_noisily),
        commands=("rank --unit comparison --method scores",),
    ),
)

AUDITED = _TOTALS + _FITS + _DESIGNS
