"""Maps over two parameters, audit bounds, and captions: what is drawn, where, and how it is said."""

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
        x_label="ε of each user",
        y_label="users n",
        value_label="error",
        panel_titles={"a": "method A"},
        guarantee_text="ε for each user",
        title="Map",
    )


def test_every_field_has_its_value_between_its_edges(utility):
    first, second, bar = utility.axes
    assert (first.get_title(), second.get_title()) == ("method A", "method = b")
    assert (first.get_xlabel(), first.get_ylabel(), second.get_ylabel()) == (
        "ε of each user", "users n", "",
    )  # fmt: skip
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
    unreached = plotting.utility_map(rows(("a",)), "epsilon", "users", target=99.0)
    assert len(unreached.axes[0].collections) == 1


@pytest.mark.parametrize(("better", "good"), [("low", 0), ("high", -1)])
def test_bright_is_good_and_gets_darker_evenly_in_gray(better, good):
    figure = plotting.utility_map(rows(("a",)), "epsilon", "users", better=better)
    mesh = next(c for c in figure.axes[0].collections if isinstance(c, QuadMesh))
    gray = mesh.cmap(np.linspace(0, 1, 21))[:, :3] @ [0.299, 0.587, 0.114]
    assert gray.argmax() == np.arange(21)[good]
    assert np.all(np.diff(gray) * (1 if good else -1) > 0)


def test_missing_fields_are_hatched_and_gaps_have_no_color():
    chosen = [row for row in rows(("a",)) if (row["epsilon"], row["users"]) != (0.1, 100)]
    chosen[0]["mean"] = math.nan
    axis = plotting.utility_map(chosen, "epsilon", "users").axes[0]
    mesh = next(c for c in axis.collections if isinstance(c, QuadMesh))
    assert np.ma.count_masked(np.ma.masked_invalid(mesh.get_array())) == 2
    assert axis.patch.get_hatch()


def marks(axis):
    return {
        (line.get_xdata()[0], line.get_ydata()[0]): (
            line.get_marker(),
            line.get_markerfacecolor() != "none",
        )
        for line in axis.get_lines()
    }


def test_the_best_method_marks_its_field_and_pale_is_unclear():
    figure = plotting.method_map(
        rows(), "epsilon", "users", "method", group_label="mechanism", guarantee_text="ε"
    )
    first, second = plotting.MARKERS[:2]
    assert marks(figure.axes[0]) == {
        (0.1, 100): (first, True), (1.0, 100): (first, True), (10.0, 100): (first, False),
        (0.1, 1000): (second, True), (1.0, 1000): (second, True), (10.0, 1000): (first, False),
    }  # fmt: skip
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    title = "mechanism (pale: lead below 2 standard errors)"
    assert legend.get_title().get_text() == title


def test_clear_leads_need_two_standard_errors_of_the_difference():
    wide = rows(error=0.36)  # 2√2 of it is more than the lead, 1
    fields = marks(plotting.method_map(wide, "epsilon", "users", "method").axes[0])
    assert not any(clear for _, clear in fields.values())
    exact = [{k: v for k, v in row.items() if k != "standard_error"} for row in wide]
    fields = marks(plotting.method_map(exact, "epsilon", "users", "method").axes[0])
    assert fields[0.1, 100] == (plotting.MARKERS[0], True)


def test_high_may_be_better_and_what_is_not_finite_does_not_compete():
    chosen = rows()
    for row in chosen:
        if row["method"] == "b" and row["epsilon"] == 1.0:
            row["mean"] = math.nan
    fields = marks(plotting.method_map(chosen, "epsilon", "users", "method", better="high").axes[0])
    first, second = plotting.MARKERS[:2]
    assert fields[0.1, 100] == (second, True)
    assert fields[1.0, 100] == fields[1.0, 1000] == (first, True)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"better": "small"}, "better must be"),
        ({"epsilon": 0.0}, {}, "logarithmic"),
        ({"epsilon": math.inf}, {}, "no place on an axis"),
        ({"mean": math.nan}, {}, "no finite value"),
        ({}, {"panel": "town"}, "no column 'town'"),
    ],
)
def test_maps_are_checked(change, options, message):
    row = {"epsilon": 1.0, "users": np.int64(10), "mean": 0.1, **change}
    with pytest.raises(ValueError, match=message):
        plotting.utility_map([row], "epsilon", "users", **options)


def test_doubled_fields_and_too_many_methods_are_refused():
    with pytest.raises(ValueError, match="two rows"):
        plotting.utility_map(rows(), "epsilon", "users")
    with pytest.raises(ValueError, match="colors"):
        plotting.method_map(rows("abcdefgh"), "epsilon", "users", "method")


def test_a_linear_map_of_one_field_is_drawn(tmp_path):
    row = {"k": 0, "users": np.int64(10), "mean": np.float32(0.1)}
    figure = plotting.utility_map([row], "k", "users", log_x=False, target=0.1)
    assert figure.axes[0].get_xlim() == (-0.5, 0.5)
    plotting.save(figure, tmp_path / "one.png")


def test_nothing_overlaps_and_no_print_is_small(utility):
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
        labels = [label for axis in picture.axes for label in axis.get_xticklabels()]
        assert min(label.get_fontsize() for label in [*labels, words]) >= 8
        assert words.get_window_extent().xmin >= 0
