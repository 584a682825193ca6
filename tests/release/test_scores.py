from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax.aggregation import PointTotals
from privrank_jax.aggregation.scores import scores_scale
from privrank_jax.privacy import Privacy
from privrank_jax.release import exact_scores, scores
from tests.reference import scores as reference

NOISES = ("k-norm", "laplace", "gaussian")


def user(epsilon=1.0, adjacency="replace", delta=0.0):
    return Privacy(epsilon, unit="user", adjacency=adjacency, delta=delta)


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("noise", NOISES)
def test_integers_that_move_no_farther_than_the_noise_is_for(noise, adjacency, monkeypatch):
    """What noise is added to moves, over all neighbors of all ballots, by what the sampler is told, at most."""
    told = []

    def sampler(kind, privacy, change, body=None):
        told.append((change, body))
        return lambda values: seen.append(values) or values.astype(float), 1.0

    monkeypatch.setattr(scores, "integer_noise", sampler)
    size = {"k-norm": np.inf, "laplace": 1, "gaussian": 2}[noise]
    privacy = user(1.0, adjacency, 1e-3 if noise == "gaussian" else 0.0)
    for most, limit in itertools.product((1, 2), (None, 1)):
        seen, known = [], {}
        valid = [*reference.ballots(3, most, limit), None]
        for ballot in valid if adjacency == "add-remove" else valid[:-1]:
            rows = [[1, 0, 0], [0, 1, 0], *([] if ballot is None else [ballot])]
            found = exact_scores(
                PointTotals.from_points(np.array(rows), most=most, limit=limit),
                privacy,
                noise=noise,
            )
            known[ballot] = seen[-1]
            middle = float(found.diagnostics.middle)
            expected = np.array(reference.totals(rows, most, limit)) - middle * len(rows)
            np.testing.assert_array_equal(found.value, expected)
            assert seen[-1].dtype == np.int64
        pairs = itertools.combinations(known, 2)
        if adjacency == "add-remove":
            pairs = [(ballot, None) for ballot in known if ballot is not None]
        farthest = max(np.linalg.norm(known[one] - known[other], size) for one, other in pairs)
        assert [change for change, _ in told] == pytest.approx([farthest] * len(told))
        assert {body for _, body in told} == {3 if noise == "k-norm" else None}
        told.clear()


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_the_scale_is_that_of_the_twin(adjacency):
    data = PointTotals.from_points(np.eye(4, dtype=int), most=3, limit=2)
    for noise in NOISES:
        privacy = user(0.7, adjacency, 1e-4 if noise == "gaussian" else 0.0)
        found = exact_scores(data, privacy, noise=noise)
        scale, middle = scores_scale(4, privacy, most=3, limit=2, noise=noise)
        assert found.diagnostics.middle == middle
        share = float(found.diagnostics.noise_scale / scale)
        assert share == pytest.approx(1)
        assert found.guarantee.numerics == "exact"
        assert found.guarantee.promise == privacy


def test_noise_has_the_law_of_the_cube():
    """One item: P(x) is proportional to e^{-ε|x|}, so the chance of 0 is tanh(ε/2)."""
    data = PointTotals.from_points(np.ones((5, 1), int))
    found = np.array([exact_scores(data, user(1.0)).value[0] for _ in range(4000)])
    expected = np.tanh(0.5)
    assert abs(np.mean(found == 5) - expected) < 5 * (expected * (1 - expected) / 4000) ** 0.5
