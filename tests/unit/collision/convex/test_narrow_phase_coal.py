"""Every pair of kinds against coal, and against brute force where the two differ.

Let gap(n) be the gap between the slabs that hold A and B along a unit normal n. The signed distance is the greatest
gap(n): any normal bounds it from below. So a result is right if its gap is that of its own normal, and no other normal
known has a greater one; coal's normal is one, and where coal's distance is another one, brute force tries many.

Tolerances, of shapes of 0.2 to 2 m: 1e-8 m where there is one point; 4e-7 m between polyhedra, because of points
equally deep to 1e-7 of the size any may be kept, and corners beside a face by 1e-7 of its length count as above it;
with cylinders 4e-6 m, because points on a rim stay put up to a tilt that moves the deepest one by 1e-6 of the size.
A cylinder and another round shape deep in each other: 2e-4 of the depth, because the polytope that measures it ends
with 64 corners (of 20,000 pairs some 30 miss it by more than 1e-7).
"""

from __future__ import annotations

import numpy as np
import pytest
from narrow_pairs import Hulls, Points, Shapes, touch_all
from narrow_reference import HULLS, NAMES, Coal, gap_along, greatest_gap, outside, random_hulls, random_pairs

from sharnir.enums import ShapeKind

KINDS = [ShapeKind.SPHERE, ShapeKind.CAPSULE, ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.HULL, ShapeKind.HALF_SPACE]
PAIRS = [(a, b) for i, a in enumerate(KINDS) for b in KINDS[i:] if a != ShapeKind.HALF_SPACE]
MARGIN = 0.1
BRUTE = 6  # pairs for brute force, the worst ones


def _id(pair: tuple[int, int]) -> str:
    return f"{NAMES[pair[0]]}-{NAMES[pair[1]]}"


def _check_points(points: Points, A: Shapes, B: Shapes, hulls: Hulls, tolerance: float) -> None:
    """Points lie between the two surfaces; normals agree, are unit vectors; features differ."""
    for k in np.flatnonzero(points.count):
        normal, x, gap, feature = points.of(k)
        assert len(gap) <= 4
        assert np.all(np.isfinite(x)) and np.abs(np.linalg.norm(normal, axis=1) - 1).max() < 1e-12
        assert np.ptp(normal, axis=0).max() == 0
        assert len(set(feature)) == len(feature), (k, feature)
        # along a rim depth grows with the square of the distance: what changes it by 1e-10 moves the point by far more;
        # ends of edges that are parallel to a sine of 0.01 lie beside each other
        beside = 0.02 if len(gap) == 2 else 1e-5 if tolerance < 1e-6 else 1e-3
        for S in (A, B):
            assert np.all(outside(S, hulls, k, x) <= np.abs(gap) + beside), (k, gap)


def _check(pair: tuple[int, int], n: int, seed: int, hulls: Hulls | None = None) -> None:
    rng = np.random.default_rng([seed, *pair])
    hulls = hulls or random_hulls(rng)
    coal = Coal(hulls)
    A, B = random_pairs(rng, *pair, n, hulls, coal)
    tolerance = 4e-7 if set(pair) <= {ShapeKind.BOX, ShapeKind.HULL} else 1e-8
    if ShapeKind.CYLINDER in pair and ShapeKind.SPHERE not in pair:
        tolerance = 4e-6
    slack = tolerance
    points = touch_all(hulls, A, B, MARGIN)
    d, normals = coal.all(A, B)
    ours = points.least()
    found = points.count > 0
    if pair in ((ShapeKind.CYLINDER, ShapeKind.CYLINDER), (ShapeKind.CAPSULE, ShapeKind.CYLINDER)):
        slack = tolerance + 2e-4 * np.maximum(0.0, -ours)
    theirs = np.array([gap_along(A, B, hulls, k, normals[k]) for k in range(n)])
    assert np.all(found | (theirs > MARGIN - tolerance)), "near pairs without points"
    assert not np.any(found & (ours >= MARGIN))
    own = np.array([gap_along(A, B, hulls, k, points.normal[k, 0]) for k in np.flatnonzero(found)])
    assert np.abs(own - ours[found]).max() < tolerance, "the gap is not that of the normal"
    assert np.max((theirs - ours - slack)[found]) < 0, "coal knows a better normal"
    # apart the normal is unique: where coal agrees about the distance it does about the normal
    apart = found & (d > 1e-3) & (np.abs(d - ours) < 1e-6)
    off = np.linalg.norm(points.normal[apart, 0] - normals[apart], axis=1)
    assert off.max(initial=0) < 2e-3
    differ = np.flatnonzero(found & (np.abs(d - ours) > max(tolerance, 1e-6)))
    for k in differ[np.argsort(-np.abs(d - ours)[differ])][:BRUTE]:
        best = greatest_gap(A, B, hulls, k, [points.normal[k, 0], normals[k]])
        assert ours[k] > best - np.broadcast_to(slack, n)[k], (k, ours[k], best, d[k])
    _check_points(points, A, B, hulls, tolerance)


@pytest.mark.parametrize("pair", PAIRS, ids=_id)
def test_distance_is_that_of_coal_or_better(pair: tuple[int, int]) -> None:
    _check(pair, 450, 1)


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if ShapeKind.HULL in pair], ids=_id)
def test_large_hulls(pair: tuple[int, int]) -> None:
    """Hulls whose vertices are sought by cells of directions, and faces with more corners than are kept."""
    rng = np.random.default_rng(5)
    round_ones = [rng.normal(size=(rng.integers(60, 200), 3)) for _ in range(HULLS // 2)]
    round_ones = [0.7 * c / np.linalg.norm(c, axis=1, keepdims=True) for c in round_ones]
    angle = np.arange(24) * (np.pi / 12)
    prism = np.array([[np.cos(a), np.sin(a), z] for a in angle for z in (-0.5, 0.5)])
    prisms = [prism * rng.uniform(0.3, 1.0, size=3) for _ in range(HULLS // 2)]
    _check(pair, 300, 3, Hulls(round_ones + prisms))


@pytest.mark.parametrize("kind", [ShapeKind.BOX, ShapeKind.CYLINDER, ShapeKind.HULL], ids=NAMES.get)
def test_a_single_point_on_a_rim_has_the_gap_of_its_normal(kind: int) -> None:
    """Where nothing stays put for a small tilt: to 2e-8 m, also across gaps of 1e-5 m, where walks end in slivers."""
    rng = np.random.default_rng(6)
    hulls = random_hulls(rng)
    A, B = random_pairs(rng, ShapeKind.CYLINDER, kind, 900, hulls, Coal(hulls))
    points = touch_all(hulls, A, B, MARGIN)
    alone = [k for k in range(600, 900) if points.count[k] == 1]
    own = np.array([gap_along(A, B, hulls, k, points.normal[k, 0]) for k in alone])
    assert len(alone) > 150
    assert np.abs(own - points.gap[alone, 0]).max() < 2e-8


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=_id)
def test_distance_of_many_pairs(pair: tuple[int, int]) -> None:
    _check(pair, 20_000, 2)
