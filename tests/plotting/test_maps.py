"""Maps over two parameters: what is drawn and where."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from privrank_jax import plotting

EPSILONS, USERS = (0.1, 1.0, 10.0), (100, 1000)


def rows(methods=("a", "b"), error=0.01):
    """Method a is the better one at few users, b at many; all alike at the largest ε."""
    return [
        {
            "epsilon": epsilon,
            "users": users,
            "method": method,
            "mean": 0.0 if epsilon == 10 else abs((method == "a") - (users == 100)) + 1 / epsilon,
            "standard_error": error,
        }
        for method in methods
        for epsilon in EPSILONS
        for users in USERS
    ]


@pytest.fixture(scope="module")
def utility():
    return plotting.utility_map(
        rows(),
        "epsilon",
        "users",
        panel="method",
        target=0.5,
        value_label="error",
        guarantee_text="ε for each user",
        title="Map",
    )


def test_every_field_has_its_value_between_its_edges(utility):
    first, second, bar = utility.axes
    assert (first.get_title(), second.get_title()) == ("method = a", "method = b")
    assert first.get_xscale() == first.get_yscale() == "log"
    mesh = next(c for c in first.collections if isinstance(c, QuadMesh))
    np.testing.assert_allclose(mesh.get_array(), [[10, 1, 0], [11, 2, 0]])
    corners = np.asarray(mesh.get_coordinates())
    np.testing.assert_allclose(corners[0, :, 0], 10.0 ** np.array([-1.5, -0.5, 0.5, 1.5]))
    np.testing.assert_allclose(corners[:, 0, 1], 10.0 ** np.array([1.5, 2.5, 3.5]))
    other = next(c for c in second.collections if isinstance(c, QuadMesh))
    assert mesh.get_clim() == other.get_clim() == (0, 11)
    assert bar.get_ylabel() == "error"


def test_the_target_is_a_line_where_the_value_is_reached(utility):
    (legend,) = utility.legends
    assert [text.get_text() for text in legend.get_texts()] == ["error = 0.5"]
    lines = [c for c in utility.axes[0].collections if not isinstance(c, QuadMesh)]
    vertices = np.concatenate([path.vertices for line in lines for path in line.get_paths()])
    low = vertices[np.isclose(vertices[:, 1], 100)]  # from 1 to 0 between ε = 1 and 10
    np.testing.assert_allclose(low[:, 0], 5.5)


def test_nothing_overlaps(utility):
    """Legend, caption and axes each have their place, in a figure that grew by its caption."""
    text = "Each user's answer is protected. " * 12
    figure = plotting.method_map(
        rows(), "epsilon", "users", "method", guarantee_text=text, title="A title " * 8
    )
    for picture in (figure, utility):
        picture.draw_without_rendering()
        (words,) = [text for text in picture.texts if text is not picture._suptitle]
        boxes = [words.get_window_extent(), picture.legends[0].get_window_extent()]
        boxes.append(picture.axes[0].get_tightbbox())
        assert boxes[0].ymin >= 0
        assert all(a.ymax <= b.ymin for a, b in itertools.pairwise(boxes))
        assert words.get_window_extent().xmin >= 0


@pytest.mark.parametrize(("better", "good"), [("low", 0), ("high", -1)])
def test_bright_is_good_and_gets_darker_evenly_in_gray(better, good):
    """And what has no value has no color, but is hatched."""
    chosen = [row for row in rows(("a",)) if (row["epsilon"], row["users"]) != (0.1, 100)]
    chosen[0]["mean"] = math.nan
    axis = plotting.utility_map(chosen, "epsilon", "users", better=better).axes[0]
    mesh = next(c for c in axis.collections if isinstance(c, QuadMesh))
    gray = mesh.cmap(np.linspace(0, 1, 21))[:, :3] @ [0.299, 0.587, 0.114]
    assert gray.argmax() == np.arange(21)[good]
    assert np.all(np.diff(gray) * (1 if good else -1) > 0)
    assert np.ma.count_masked(np.ma.masked_invalid(mesh.get_array())) == 2
    assert axis.patch.get_hatch()


def marks(figure):
    """Field -> marker, and whether the lead is clear."""
    return {
        (line.get_xdata()[0], line.get_ydata()[0]): (
            line.get_marker(),
            line.get_markerfacecolor() != "none",
        )
        for line in figure.axes[0].get_lines()
    }


def test_the_best_method_marks_its_field_and_pale_is_unclear():
    """Leads are clear from two standard errors of the difference on; without errors all are."""
    first, second = plotting.MARKERS[:2]
    place = "epsilon", "users", "method"
    assert marks(plotting.method_map(rows(), *place)) == {
        (0.1, 100): (first, True), (1.0, 100): (first, True), (10.0, 100): (first, False),
        (0.1, 1000): (second, True), (1.0, 1000): (second, True), (10.0, 1000): (first, False),
    }  # fmt: skip
    wide = rows(error=0.36)  # 2√2 of it is more than the lead, 1
    assert not any(clear for _, clear in marks(plotting.method_map(wide, *place)).values())
    exact = [{k: v for k, v in row.items() if k != "standard_error"} for row in wide]
    assert marks(plotting.method_map(exact, *place))[0.1, 100] == (first, True)
    chosen = rows()
    for row in chosen:  # what is not finite does not compete
        if row["method"] == "b" and row["epsilon"] == 1.0:
            row["mean"] = math.nan
    fields = marks(plotting.method_map(chosen, *place, better="high"))
    assert fields[0.1, 100] == (second, True)
    assert fields[1.0, 100] == fields[1.0, 1000] == (first, True)


ROW = {"epsilon": 1.0, "users": np.int64(10), "mean": 0.1}


@pytest.mark.parametrize(
    ("given", "options", "word"),
    [
        ([ROW], {"better": "small"}, "better"),
        ([ROW | {"epsilon": 0.0}], {}, "logarithmic"),
        ([ROW | {"epsilon": math.inf}], {}, "no place"),
        ([ROW | {"mean": math.nan}], {}, "finite"),
        ([ROW], {"panel": "town"}, "'town'"),
        (rows(), {}, "two rows"),
    ],
)
def test_what_has_no_map_is_refused(given, options, word):
    with pytest.raises(ValueError, match=word):
        plotting.utility_map(given, "epsilon", "users", **options)
