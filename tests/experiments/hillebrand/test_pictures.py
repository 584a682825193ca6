"""The picture of the study ``hillebrand``."""

from __future__ import annotations

import numpy as np

from privrank_jax.experiments.alabi import pictures
from privrank_jax.experiments.alabi.common import EXCESS
from tests.experiments.rows import row, table

LOOKS = {"a": (0, 0), "b": (1, 1)}


def test_a_panel_for_each_crowd_against_epsilon_and_against_users():
    rows = [
        row(
            0.1 * epsilon,
            0.01,
            EXCESS,
            name,
            study=study,
            num_items=m,
            num_users=n,
            epsilon=epsilon,
        )
        for name in (*LOOKS, "not drawn")
        for study, m in (("one", 4), ("one", 8), ("two", 4))
        for n in (10, 100, 1000)
        for epsilon in (0.5, 1.0, 2.0)
    ]
    figure = pictures.costs(table(*rows), LOOKS, "noise", ("one", "other"))
    shown = {axis.get_title(): axis for axis in figure.axes if axis.axison}
    assert set(shown) == {
        f"{study}\nm = {m}, {at}"
        for study, m in (("one", 4), ("one", 8), ("two", 4))
        for at in ("n = 100", "ε = 1")
    }
    assert len(figure.axes) == 8
    for axis in shown.values():
        assert len(axis.lines) == len(LOOKS)
        low, high = axis.get_ylim()
        assert low < 0
        assert high > max(np.max(np.asarray(line.get_ydata())) for line in axis.lines)


def test_no_panels_against_users_where_their_number_does_not_vary():
    rows = [
        row(
            0.1 * epsilon,
            0.01,
            EXCESS,
            "a",
            study="one",
            num_items=m,
            num_users=90,
            epsilon=epsilon,
        )
        for m in (4, 8)
        for epsilon in (0.5, 1.0)
    ]
    figure = pictures.costs(table(*rows), LOOKS, "noise", ("one", "other"))
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["one\nm = 4, n = 90", "one\nm = 8, n = 90"]
