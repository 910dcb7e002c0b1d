"""How many points pairs have and where; degenerate positions; symmetry, stability and determinism."""

from __future__ import annotations

import numpy as np
import pytest
from narrow_pairs import Hulls, Points, Shapes, touch_all
from narrow_reference import random_hulls, random_shapes, rotations

from sharnir.enums import ShapeKind

UP = np.eye(3)
CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
GROUND = np.array([[4.0, -2.0, -2.0], [0.0, 3.0, -3.0], [0.0, 0.0, 0.0]])  # corners as columns, front up
KINDS = [
    ShapeKind.SPHERE,
    ShapeKind.CAPSULE,
    ShapeKind.BOX,
    ShapeKind.CYLINDER,
    ShapeKind.HULL,
    ShapeKind.HALF_SPACE,
    ShapeKind.TRIANGLE,
]
HALF_SIZE = {
    ShapeKind.SPHERE: [0.5, 0, 0],
    ShapeKind.CAPSULE: [0.3, 0.5, 0],
    ShapeKind.BOX: [0.5, 0.5, 0.5],
    ShapeKind.CYLINDER: [0.5, 0.5, 0],
}


def turn(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.roll(np.roll(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), axis + 1, 0), axis + 1, 1)


def one(kind: int, x: object, R: np.ndarray = UP, size: object = None) -> Shapes:
    if kind == ShapeKind.TRIANGLE:
        R = R @ GROUND
    return Shapes.of(kind, HALF_SIZE.get(kind, [0, 0, 0]) if size is None else size, R, [x])


def meet(A: Shapes, B: Shapes, margin: float = 0.01) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    return touch_all(Hulls([CUBE]), A, B, margin).of(0)


LYING = turn(0, np.pi / 2)
# on a floor (top at z = 0, kind given) lies a shape at a height: how many points, how far they spread along x and y
RESTING = [
    (ShapeKind.SPHERE, UP, 0.5, 1, 0, 0),
    (ShapeKind.CAPSULE, UP, 0.8, 1, 0, 0),
    (ShapeKind.CAPSULE, LYING, 0.3, 2, 0, 1),
    (ShapeKind.BOX, UP, 0.5, 4, 1, 1),
    (ShapeKind.BOX, turn(0, np.pi / 4), np.sqrt(0.5), 2, 1, 0),
    (ShapeKind.CYLINDER, UP, 0.5, 4, 1, 1),
    (ShapeKind.CYLINDER, LYING, 0.5, 2, 0, 1),
    (ShapeKind.HULL, UP, 0.5, 4, 1, 1),
    (ShapeKind.HULL, turn(0, np.pi / 4), np.sqrt(0.5), 2, 1, 0),
]
FLOORS = [(ShapeKind.HALF_SPACE, None, 0.0), (ShapeKind.BOX, [2.0, 2.0, 1.0], -1.0), (ShapeKind.TRIANGLE, None, 0.0)]


@pytest.mark.parametrize("gap", [-0.003, 0.004])
@pytest.mark.parametrize("floor", FLOORS, ids=["half-space", "box", "triangle"])
@pytest.mark.parametrize("case", RESTING, ids=lambda c: f"{c[0]}-{c[3]}")
def test_points_of_a_shape_on_a_floor(case: tuple, floor: tuple, gap: float) -> None:
    kind, R, height, count, wide, deep = case
    normal, x, gaps, feature = meet(
        one(floor[0], [0, 0, floor[2]], size=floor[1]), one(kind, [0.1, 0.2, height + gap], R)
    )
    assert len(gaps) == count
    assert np.allclose(normal, [0, 0, 1], atol=1e-9)
    assert np.allclose(gaps, gap, atol=1e-9)
    assert np.allclose(x[:, 2], gap / 2, atol=1e-9)
    assert np.allclose(np.ptp(x[:, :2], axis=0), [wide, deep], atol=1e-6)
    assert len(set(feature)) == count


def test_a_box_on_a_turned_box_keeps_four_points_that_span_the_overlap() -> None:
    _, x, gap, _ = meet(one(ShapeKind.BOX, [0, 0, 0]), one(ShapeKind.BOX, [0, 0, 0.999], turn(2, np.pi / 4)))
    assert len(gap) == 4 and np.allclose(gap, -0.001)
    area = 0.5 * np.linalg.norm(np.cross(x[2] - x[3], x[0] - x[1]))
    assert area > 0.55  # the octagon has 0.828


def test_overhanging_box_has_points_at_the_rim_of_the_overlap() -> None:
    _, x, gap, _ = meet(one(ShapeKind.BOX, [0, 0, 0]), one(ShapeKind.BOX, [0.7, 0, 0.999]))
    assert len(gap) == 4
    assert np.allclose(sorted(x[:, 0]), [0.2, 0.2, 0.5, 0.5], atol=1e-6)


def test_crossed_edges_have_one_point() -> None:
    A = one(ShapeKind.BOX, [0, 0, 0], turn(0, np.pi / 4))
    B = one(ShapeKind.BOX, [0.1, 0.05, 2 * np.sqrt(0.5) - 0.01], turn(1, np.pi / 4))
    normal, x, gap, _ = meet(A, B)
    assert len(gap) == 1 and np.isclose(gap[0], -0.01)
    assert np.allclose(normal, [[0, 0, 1]]) and np.allclose(x[0, :2], [0.1, 0], atol=1e-9)


def test_crossed_capsules_have_one_point_and_parallel_ones_two() -> None:
    A = one(ShapeKind.CAPSULE, [0, 0, 0], LYING)
    assert len(meet(A, one(ShapeKind.CAPSULE, [0, 0, 0.59], turn(1, np.pi / 2)))[2]) == 1
    _, x, gap, _ = meet(A, one(ShapeKind.CAPSULE, [0, 0.4, 0.59], LYING))
    assert len(gap) == 2 and np.allclose(gap, -0.01)
    assert np.allclose(sorted(x[:, 1]), [-0.1, 0.5])


@pytest.mark.parametrize("a", KINDS)
@pytest.mark.parametrize("b", KINDS)
def test_degenerate_positions_give_finite_answers(a: int, b: int) -> None:
    """Centres that coincide; one inside the other; faces, edges and corners that just touch, aligned."""
    if a == b and a in (ShapeKind.HALF_SPACE, ShapeKind.TRIANGLE):
        return
    spots = [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 0, 0.5], [0.5, 0.5, 0.5], [1e-12, 0, 1e-9], [0, 0, 0.8]]
    turns = [UP, turn(2, np.pi / 4), turn(0, np.pi / 4), LYING, turn(0, 1e-9), turn(1, 1e-5)]
    x = np.repeat(np.array(spots, dtype=float), len(turns), axis=0)
    R = np.tile(np.array(turns), (len(spots), 1, 1))
    n = len(x)
    A = Shapes.of(a, HALF_SIZE.get(a, [0, 0, 0]), GROUND if a == ShapeKind.TRIANGLE else UP, np.zeros((n, 3)))
    B = Shapes.of(b, HALF_SIZE.get(b, [0, 0, 0]), R @ GROUND if b == ShapeKind.TRIANGLE else R, x)
    points = touch_all(Hulls([CUBE]), A, B, 0.05)
    for k in range(n):
        normal, at, gap, feature = points.of(k)
        assert np.all(np.isfinite(at)) and np.all(np.isfinite(gap))
        assert np.allclose(np.linalg.norm(normal, axis=1), 1)
        assert np.all(gap < 0.05) and np.all(gap > -5)
        assert len(gap) <= 4 and len(set(feature)) == len(feature)
    assert points.count[:6].min() > 0 or ShapeKind.TRIANGLE in (a, b)


@pytest.mark.parametrize("inner", [ShapeKind.SPHERE, ShapeKind.CAPSULE, ShapeKind.BOX, ShapeKind.CYLINDER])
@pytest.mark.parametrize("outer", [ShapeKind.SPHERE, ShapeKind.BOX, ShapeKind.CYLINDER])
def test_a_shape_inside_another_goes_out_the_short_way(inner: int, outer: int) -> None:
    size = np.array([0.2, 0.1, 0.1])
    reach = {ShapeKind.SPHERE: 0.2, ShapeKind.CAPSULE: 0.3, ShapeKind.BOX: 0.1, ShapeKind.CYLINDER: 0.1}[inner]
    big = [2.0, 2.0, 1.0] if outer == ShapeKind.BOX else [2.0, 1.0, 0.0]
    normal, _, gap, _ = meet(one(outer, [0, 0, 0], size=big), one(inner, [0, 0, 0.4], size=size))
    if outer == ShapeKind.SPHERE:
        assert gap.min() > -(1.6 + reach) - 1e-9
    else:
        assert np.allclose(normal, [0, 0, 1]) and np.isclose(gap.min(), -(0.6 + reach))


def _random(a: int, b: int, n: int, seed: int) -> tuple[Hulls, Shapes, Shapes]:
    rng = np.random.default_rng([seed, a, b])
    hulls = random_hulls(rng)
    A, B = random_shapes(rng, a, n), random_shapes(rng, b, n)
    for S, kind in ((A, a), (B, b)):
        if kind == ShapeKind.TRIANGLE:
            S.R[:] = rng.uniform(-1, 1, size=(n, 3, 3))
    return hulls, A, B


def _same_set(P: Points, Q: Points, k: int, move: np.ndarray, shift: np.ndarray, sign: float, tolerance: float) -> None:
    """Points of pair k of Q are those of P, moved; in any order; some of them if there were more than four."""
    n, x, g, _ = P.of(k)
    m, y, h, _ = Q.of(k)
    assert np.isclose(g.min(), h.min(), atol=tolerance), k
    assert np.allclose(sign * (n[0] @ move.T), m[0], atol=1e-4), k
    if len(g) == len(h) < 4:
        apart = np.linalg.norm((x @ move.T + shift)[:, None] - y[None], axis=2)
        assert apart.min(axis=1).max() < 1e-4, k


PAIRS = [(a, b) for a in KINDS for b in KINDS if a != b or a not in (ShapeKind.HALF_SPACE, ShapeKind.TRIANGLE)]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_order_of_the_shapes_only_turns_the_normals(pair: tuple[int, int]) -> None:
    hulls, A, B = _random(*pair, 60, 5)
    P, Q = touch_all(hulls, A, B, 0.05), touch_all(hulls, B, A, 0.05)
    assert np.array_equal(P.count > 0, Q.count > 0)
    for k in np.flatnonzero(P.count):
        _same_set(P, Q, k, UP, np.zeros(3), -1.0, 5e-6)


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_moving_both_shapes_moves_the_points(pair: tuple[int, int]) -> None:
    hulls, A, B = _random(*pair, 60, 6)
    move, shift = rotations(np.random.default_rng(7), 1)[0], np.array([100.0, -50.0, 20.0])
    P, Q = touch_all(hulls, A, B, 0.05), touch_all(hulls, A.moved(move, shift), B.moved(move, shift), 0.05)
    assert np.array_equal(P.count > 0, Q.count > 0)
    for k in np.flatnonzero(P.count):
        _same_set(P, Q, k, move, shift, 1.0, 5e-6)


@pytest.mark.parametrize("case", RESTING, ids=lambda c: f"{c[0]}-{c[3]}")
@pytest.mark.parametrize("floor", FLOORS, ids=["half-space", "box", "triangle"])
def test_features_and_points_stay_under_small_motions(case: tuple, floor: tuple) -> None:
    """A body at rest trembles by 1e-7 m and rad: the same features meet, and no point moves by more than 1e-5 m."""
    kind, R, height = case[:3]
    rng = np.random.default_rng(4)
    n = 50
    A = Shapes.of(
        floor[0],
        floor[1] or [0, 0, 0],
        GROUND if floor[0] == ShapeKind.TRIANGLE else UP,
        np.tile([0, 0, floor[2]], (n, 1)),
    )
    small = rng.uniform(-1e-7, 1e-7, size=(n, 3))
    tilt = np.array([turn(0, a) @ turn(1, b) @ turn(2, c) for a, b, c in small])
    x = np.array([0.1, 0.2, height - 0.001]) + rng.uniform(-1e-7, 1e-7, size=(n, 3))
    points = touch_all(Hulls([CUBE]), A, Shapes.of(kind, HALF_SIZE.get(kind, [0, 0, 0]), tilt @ R, x), 0.01)
    first = {f: p for f, p in zip(points.of(0)[3], points.of(0)[1], strict=True)}
    for k in range(n):
        _, x, gap, feature = points.of(k)
        assert set(feature) == set(first)
        assert max(np.linalg.norm(first[f] - p) for f, p in zip(feature, x, strict=True)) < 1e-5
        assert np.ptp(gap) < 1e-6


def test_the_same_input_gives_the_same_bits() -> None:
    for pair in [
        (ShapeKind.BOX, ShapeKind.BOX),
        (ShapeKind.CYLINDER, ShapeKind.CYLINDER),
        (ShapeKind.HULL, ShapeKind.HULL),
        (ShapeKind.CAPSULE, ShapeKind.CYLINDER),
    ]:
        hulls, A, B = _random(*pair, 200, 8)
        P, Q = touch_all(hulls, A, B, 0.05), touch_all(hulls, A, B, 0.05)
        for name in ("count", "normal", "point", "gap", "feature"):
            assert np.array_equal(getattr(P, name), getattr(Q, name))


def test_features_do_not_depend_on_the_place_in_a_launch() -> None:
    """The workspace column is shared on the CPU: what one pair leaves there must not reach the next."""
    hulls, A, B = _random(ShapeKind.HULL, ShapeKind.BOX, 100, 9)
    P = touch_all(hulls, A, B, 0.05)
    back = np.arange(100)[::-1]
    Q = touch_all(hulls, A.pick(back), B.pick(back), 0.05)
    assert np.array_equal(P.gap, Q.gap[back]) and np.array_equal(P.feature, Q.feature[back])
