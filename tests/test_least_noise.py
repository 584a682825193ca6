"""The functions of the notebook ``least_noise`` against naive twins: coupling, Hall's condition, exact duality."""

from __future__ import annotations

import ast
import itertools
import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, spatial, stats

from tests.notebook_outputs import read
from tests.reference import geometry as naive
from tests.reference.aggregation import pairwise_weights
from tests.reference.private_weights import parts as weight_parts
from tests.reference.private_weights import shrunk

ALARM = 1e-6
NOTEBOOK = Path(__file__).parent.parent / "notebooks" / "least_noise.ipynb"


@pytest.fixture(scope="module")
def least():
    """The functions of the notebook, without what its cells print."""
    found = {"__name__": "least_noise"}
    for cell in read(NOTEBOOK).cells:
        if cell.cell_type == "code":
            tree = ast.parse(cell.source.replace("%matplotlib inline", ""))
            kept = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
            tree.body = [node for node in tree.body if isinstance(node, kept)]
            exec(compile(tree, cell.id, "exec"), found)
    return SimpleNamespace(**found)


# --- the coupling of Theorem 2


def evenness(counts):
    return stats.chisquare(counts).pvalue


@pytest.mark.parametrize(("d", "r"), [(1, 1), (2, 1), (2, 9), (3, 2), (4, 2), (6, 1)])
def test_the_coupling_matches_shells_of_cubes(least, d, r):
    X, Y = least.matched_points(np.random.default_rng(1), d, r, 200_000)
    for drawn, radius in ((X, r), (Y, r + 1)):
        assert set(np.abs(drawn).max(axis=1)) == {radius}
        counts = least.counted(drawn)
        assert counts.size == (2 * radius + 1) ** d - (2 * radius - 1) ** d
        assert evenness(counts) > ALARM
    assert np.abs(Y - X).max() == 1


def test_an_uneven_coupling_would_be_noticed(least):
    """Points of the surface of a cube, scaled to r and rounded, are not uniform on the shell."""
    _, Y = least.matched_points(np.random.default_rng(1), 3, 2, 200_000)
    sides = Y / np.abs(Y).max(axis=1, keepdims=True)
    assert evenness(least.counted(np.rint(2 * sides))) < ALARM


# --- matching


def hall(shape, r):
    """Hall's condition of all sets of points of the shell r, one by one."""
    points = shape.points(r + 1)
    radii = shape.radius(points)
    inner, outer = points[radii == r].tolist(), points[radii == r + 1].tolist()
    steps = set(map(tuple, shape.points(1).tolist()))
    near = [
        sum(1 << j for j, y in enumerate(outer) if tuple(np.subtract(y, x)) in steps) for x in inner
    ]
    for size in range(1, len(inner) + 1):
        for chosen in itertools.combinations(near, size):
            reached = 0
            for bits in chosen:
                reached |= bits
            if reached.bit_count() * len(inner) < size * len(outer):
                return False
    return True


def test_flows_agree_with_halls_condition(least):
    straight = least.cube(2)._replace(
        points=lambda r: (
            least.grid(r, r) if r != 1 else np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]])
        )
    )
    shapes = {
        "line": least.cube(1),
        "square": least.cube(2),
        "hexagon": least.hexagon(),
        "path": least.zonotope([(0, 1), (1, 2)], 3),
        "corners out of reach": straight,
        "half a step too few": least.hexagon()._replace(gauge=lambda x: np.abs(x).sum(axis=-1) / 3),
    }
    found = {
        name: [(least.matches(shape, r)[0], hall(shape, r)) for r in (0, 1)]
        for name, shape in shapes.items()
    }
    for name, answers in found.items():
        assert all(flow == condition for flow, condition in answers), name
    assert all(flow for name in ("line", "square", "hexagon", "path") for flow, _ in found[name])
    assert not all(flow for flow, _ in found["corners out of reach"])


def test_zonotopes_hold_the_points_that_they_should(least):
    pairs = [(0, 1), (0, 1), (1, 2), (0, 2)]
    shape = least.zonotope(pairs, 3)
    for r in (1, 2):
        points = set(map(tuple, shape.points(r).tolist()))
        assert points == naive.lattice_points(pairs, 3, r)
        orbits, number = shape.orbits(r)
        assert number.sum() == len(points)
        assert {tuple(point) for point in orbits.tolist()} <= points
    assert least.matches(shape, 1)[1:] == (28, 68)


# --- staircases


def test_no_radial_mechanism_beats_the_best_staircase(least):
    random, radii = np.random.default_rng(0), np.arange(60)
    for d, change, epsilon in itertools.product((1, 2, 4), (1, 2, 3), (0.7, 2.0)):
        shells = least.cube_shells(d, len(radii))
        best = least.least_radius(shells, change, epsilon)
        assert best <= least.our_radius(shells, change, epsilon) * (1 + 1e-12)
        for _ in range(50):
            logs = -random.exponential(20, len(radii)) + random.choice((0, 10), p=(0.9, 0.1))
            logs[random.integers(3)] += random.exponential(20)
            apart = np.ceil(np.abs(radii[:, None] - radii) / change)
            private = np.max(logs - epsilon * apart, axis=1)  # at most ε within c steps
            assert least.mean_radius(shells, private) >= best - 1e-9


def test_what_pages_say_of_staircases_holds(least):
    """At most 0.13 % less noise for three or more numbers, c = 2 or 5, at any ε <= 1; none for c = 1."""
    for d, epsilon in itertools.product((3, 4, 6, 10), np.linspace(0.2, 1, 17)):
        shells = least.cube_shells(d, 1500)
        for change, most in ((1, 1e-12), (2, 0.0013), (5, 0.0013)):
            ours, best = (
                f(shells, change, epsilon) for f in (least.our_radius, least.least_radius)
            )
            assert 1 - 1e-12 <= ours / best <= 1 + most
    shells = least.cube_shells(3, 1500)
    assert least.our_radius(shells, 5, 1.0) > 1.001 * least.least_radius(shells, 5, 1.0)


def test_our_radius_has_the_law_of_the_sampler(least):
    for forests, shells in ([[1, 3, 3], None], [None, least.cube_shells(2, 300)]):
        numbers = naive.numbers_of_points(forests, 299) if shells is None else np.cumsum(shells)
        law = naive.gauge_law(numbers, 0.5)
        mean = least.our_radius(np.diff(numbers, prepend=0.0), 2, 1.0)
        assert mean == pytest.approx(np.sum(law * np.arange(law.size)))


# --- bounds


def exact_bound(shape, steps, loss, factor, most):
    """Weak duality in fractions, point by point, without symmetries: f from a solver, then the least bracket."""
    points = [tuple(point) for point in shape.points(most).tolist()]
    place = {point: z for z, point in enumerate(points)}
    pairs = [
        (z, place[y])
        for z, x in enumerate(points)
        for step in steps.tolist()
        if any(step) and (y := tuple(np.add(x, step).tolist())) in place
    ]
    rows = np.zeros((len(pairs), len(points)))
    for row, (x, y) in enumerate(pairs):
        rows[row, x], rows[row, y] = 1, -factor
    costs = loss(np.array(points))
    solved = optimize.linprog(costs, rows, np.zeros(len(pairs)), np.ones((1, len(points))), [1.0])
    brackets = [Fraction(float(cost)).limit_denominator(10**6) for cost in costs]
    for (x, y), weight in zip(pairs, -solved.ineqlin.marginals):
        f = Fraction(max(float(weight), 0.0))
        brackets[x] += f
        brackets[y] -= factor * f
    return min(brackets)


@pytest.mark.parametrize(
    ("build", "change", "most"),
    [
        (lambda least: least.cube(1), 1, 8),
        (lambda least: least.cube(1), 2, 9),
        (lambda least: least.cube(2), 1, 4),
        (lambda least: least.cube(2), 2, 7),
        (lambda least: least.hexagon(), 1, 4),
        (lambda least: least.zonotope([(0, 1), (0, 1), (1, 2)], 3), 1, 3),
    ],
)
def test_bounds_are_those_of_exact_duality(least, build, change, most):
    shape, factor = build(least), 16
    epsilon = math.log(factor)
    steps = shape.points(change)
    bounds, _ = least.lower_bounds(shape, steps, epsilon, most)
    laws = [least.staircase(k, change, epsilon) for k in range(1, change + 1)]
    means = np.min([least.expected(shape, law, most + 12) for law in laws], axis=0)
    ours = least.expected(shape, lambda r: np.exp(-epsilon / change * r), most + 12)
    less = least.expected(shape, lambda r: np.exp(-1.3 * epsilon / change * r), most + 12)
    for (loss, beyond), bound, mean, our, lower in zip(
        least.losses(shape).values(), bounds, means, ours, less
    ):
        exact = exact_bound(shape, steps, loss, factor, most)
        assert exact < beyond * most
        assert bound == pytest.approx(float(exact), abs=1e-7)
        assert exact <= mean <= our + 1e-9
        if change == 1:
            assert lower < exact  # a law with less noise than that is not ε-DP
    assert bounds[0] > 0.97 * means[0]


def test_points_beyond_the_radius_have_at_least_the_loss_that_is_taken(least):
    for shape in (least.cube(3), least.hexagon(), least.zonotope([(0, 1)] * 3 + [(1, 2)], 3)):
        points = shape.points(4)
        points = points[shape.gauge(points) > 2]
        for loss, beyond in least.losses(shape).values():
            assert loss(points).min() >= 2 * beyond


def test_changes_of_weights_are_those_of_all_rankings(least):
    shape, steps = least.weights_of_three()
    assert len(steps) == 67  # of 125 in twice the cube
    assert np.abs(steps @ [1, -1, 1]).max() == 2
    assert {tuple(-step) for step in steps} == set(map(tuple, steps.tolist()))
    points = shape.points(1)
    assert len(np.unique(shape.fold(points))) < len(np.unique(points, axis=0)) / 3
    images = shape.fold(np.array([[1, 1, 1], [-1, -1, -1], [1, 1, -1], [1, -1, 1]]))
    assert len(set(images[:3])) == 1  # the ranking abc, its reversal and acb
    assert images[3] != images[0]  # a circle


@pytest.mark.parametrize(("m", "changes"), [(3, 61), (4, 1289)])
def test_rankings_change_borda_scores_by_every_point_of_twice_the_body(least, m, changes):
    pairs = least.complete(m)
    pulls = np.array([np.eye(m, dtype=int)[i] - np.eye(m, dtype=int)[j] for i, j in pairs])
    users = {
        tuple(np.array([np.sign(level[j] - level[i]) for i, j in pairs]) @ pulls)
        for level in itertools.product(range(m), repeat=m)
    }
    found = {tuple(np.subtract(one, other)) for one in users for other in users}
    assert found == set(map(tuple, least.zonotope(pairs, m).points(2).tolist()))
    assert len(found) == changes


# --- weights of rankings


def above(w):
    return w[np.triu_indices(len(w), 1)]


@pytest.mark.parametrize("m", [3, 4])
def test_weights_of_a_ballot_are_the_mean_of_those_of_two_rankings(least, m):
    """So they lie in the hull of rankings, whichever rule there is for items that are not ranked."""
    orders = [above(pairwise_weights(np.array([p]))) for p in itertools.permutations(range(m))]
    means = {tuple(one + other - 1) for one in orders for other in orders}
    cast = set(map(tuple, least.ballots(m).tolist()))
    found = {
        tuple(2 * above(pairwise_weights(np.array([level]), missing)) - 1)
        for level in itertools.product(range(-1, m), repeat=m)
        for missing in ("last", "unknown")
    }
    assert found == cast
    assert cast <= means
    circle = np.ones(m * (m - 1) // 2)
    circle[1] = -1  # 0 before 1 before 2 before 0
    assert tuple(circle) not in means
    assert [int(one) for one in least.radii(circle, m)] == [1, 3]


@pytest.mark.parametrize("m", [3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_the_body_of_few_items_is_the_hull_of_what_rankings_change(least, m):
    d = m * (m - 1) // 2
    at = {pair: k for k, pair in enumerate(least.complete(m))}
    circles = np.zeros((math.comb(m, 3), d))
    for row, (i, j, k) in zip(circles, itertools.combinations(range(m), 3)):
        row[[at[i, j], at[j, k], at[i, k]]] = 1, 1, -1
    sides = np.concatenate([np.eye(d), circles])
    sides = np.concatenate([sides, -sides])
    cut = np.append(sides, -np.ones((len(sides), 1)), axis=1)
    corners = spatial.HalfspaceIntersection(cut, np.zeros(d)).intersections
    orders = {
        tuple(2 * above(pairwise_weights(np.array([p]))) - 1)
        for p in itertools.permutations(range(m))
    }
    assert np.all(least.radii(np.array(list(orders)), m)[1] == 1)
    assert set(map(tuple, np.rint(corners))) == orders
    assert np.abs(corners - np.rint(corners)).max() < 1e-9


def test_accepted_noise_of_the_cube_has_the_law_of_the_body(least):
    random, epsilon = np.random.default_rng(2), 1.2
    points = least.cube(3).points(14)
    of_cube, of_body = least.radii(points, 3)
    law = np.exp(-epsilon * of_cube)
    drawn = random.choice(len(points), 200_000, p=law / law.sum())
    kept = drawn[random.random(drawn.size) < np.exp(epsilon * (of_cube - of_body)[drawn])]
    target = np.exp(-epsilon * of_body)
    target *= kept.size / target.sum()
    many = target > 20
    counts = np.bincount(kept, minlength=len(points))[many]
    assert evenness_of(counts, target[many]) > ALARM
    assert evenness_of(counts, law[many] * target[many].sum() / law[many].sum()) < ALARM


def evenness_of(counts, expected):
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue


def test_uniform_points_of_the_body_are_those_of_the_cube_that_lie_in_it(least):
    random = np.random.default_rng(3)
    least.uniform_points.__globals__["random"] = np.random.default_rng(4)
    m = 4
    x = np.triu(random.uniform(-1, 1, (60_000, m, m)), 1)
    x -= x.swapaxes(1, 2)
    pairs = np.stack([x[:, i, j] for i, j in least.complete(m)], axis=1)
    kept = x[least.radii(pairs, m)[1] <= 1]
    assert len(kept) / len(x) == pytest.approx(0.25, abs=0.01)
    rejected, gibbs = (np.array(least.deviations(one)) for one in (kept, least.uniform_points(m)))
    np.testing.assert_allclose(gibbs, rejected, rtol=0.03)
    assert rejected[1] > 3**-0.5 * 1.1  # more than the cube, in scores
    assert rejected[2] < 3**-0.5 * 0.6


def test_parts_and_shrinkage_are_those_of_private_weights(least):
    w = np.random.default_rng(5).random((4, 4))
    x = np.triu(w - 0.5, 1)
    x -= x.T
    slope, cycle = least.parts(x[None])
    gradient, rest = weight_parts(x + 0.5 * (1 - np.eye(4)))
    np.testing.assert_allclose(slope[0], gradient, atol=1e-12)
    np.testing.assert_allclose(cycle[0], rest, atol=1e-12)
    for scale in (0.1, 10.0):
        expected = shrunk(x + 0.5 * (1 - np.eye(4)), scale)[0] - 0.5 * (1 - np.eye(4))
        np.testing.assert_allclose(least.shrunk(x[None], scale)[0], expected, atol=1e-12)
