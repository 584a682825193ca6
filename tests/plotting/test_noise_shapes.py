"""Noise on three totals: what is drawn where."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax import plotting

CHANGES = np.array(list(itertools.permutations((2, 0, -2))))


def test_draws_lie_in_the_plane_and_the_hexagon_is_filled(tmp_path):
    noise = np.random.default_rng(0).laplace(size=(5000, 3))
    figure = plotting.noise_shapes(
        {"Laplace": 4 * noise, "half": 2 * noise},
        np.concatenate([CHANGES, 0 * CHANGES]),
        balls={"Laplace": 4 * np.concatenate([np.eye(3), -np.eye(3)])},
        title="Noise",
        guarantee_text="ε = 1",
    )
    first, second = figure.axes
    centered = 4 * (noise - noise.mean(axis=1, keepdims=True))
    assert first.get_title() == f"Laplace: standard deviation {np.sqrt(np.mean(centered**2)):.3g}"
    shown = np.asarray(first.lines[0].get_xydata())
    assert shown.shape == (4000, 2)
    np.testing.assert_allclose(np.sum(shown**2, axis=1), np.sum(centered[:4000] ** 2, axis=1))
    np.testing.assert_allclose(np.asarray(second.lines[0].get_xydata()), shown / 2)
    assert first.get_xlim() == second.get_xlim()
    corners = first.patches[0].get_path().vertices
    assert len(np.unique(corners.round(9), axis=0)) == 6
    np.testing.assert_allclose(np.sum(corners**2, axis=1), 8)
    outline = np.asarray(first.lines[1].get_xydata())
    np.testing.assert_allclose(np.sum(outline**2, axis=1), 16 * 2 / 3)
    assert not any(line.get_label() == "shape of the noise" for line in second.lines)
    plotting.save(figure, tmp_path / "noise.png")


def test_item_one_is_on_top():
    draws = np.array([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0]])
    figure = plotting.noise_shapes({"two": draws}, CHANGES)
    top, left = np.asarray(figure.axes[0].lines[0].get_xydata())
    assert top[0] == pytest.approx(0)
    assert top[1] > 0
    assert left[0] < 0
    assert left[1] < 0


@pytest.mark.parametrize("draws", [{}, {"none": np.zeros((0, 3))}, {"two items": np.zeros((5, 2))}])
def test_what_is_not_noise_on_three_totals_is_refused(draws):
    with pytest.raises(ValueError, match=r"no draws|three totals"):
        plotting.noise_shapes(draws, CHANGES)
