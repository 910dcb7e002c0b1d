"""Random pairs of shapes, and what coal and brute force say about their distance."""

from __future__ import annotations

import coal
import numpy as np
from narrow_pairs import Hulls, Shapes
from scipy.optimize import minimize

from sharnir.enums import ShapeKind

NAMES = {
    ShapeKind.SPHERE: "sphere",
    ShapeKind.CAPSULE: "capsule",
    ShapeKind.BOX: "box",
    ShapeKind.CYLINDER: "cylinder",
    ShapeKind.HULL: "hull",
    ShapeKind.HALF_SPACE: "half-space",
}
HULLS = 40  # different ones in a test


def rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    """[n, 3, 3] evenly distributed."""
    w, x, y, z = np.moveaxis(_unit(rng.normal(size=(n, 4))), 1, 0)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]).transpose(2, 0, 1)  # fmt: skip


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def random_hulls(rng: np.random.Generator) -> Hulls:
    """Points on and in ellipsoids: 8 to 30 of them."""
    return Hulls([
        _unit(rng.normal(size=(rng.integers(8, 31), 3))) * rng.uniform(0.2, 1.0, size=3) for _ in range(HULLS)
    ])  # fmt: skip


def random_shapes(rng: np.random.Generator, kind: int, n: int) -> Shapes:
    """About 1 m large, anywhere within 1 m, turned anyhow."""
    size = rng.uniform(0.2, 1.0, size=(n, 3))
    data = rng.integers(0, HULLS, size=n) if kind == ShapeKind.HULL else np.zeros(n, dtype=int)
    return Shapes.of(kind, size, rotations(rng, n), rng.uniform(-1, 1, size=(n, 3)), data)


class Coal:
    """Signed distance by coal, one pair at a time."""

    def __init__(self, hulls: Hulls | None = None) -> None:
        self.convex = []
        for points in hulls.points if hulls else []:
            cloud = coal.StdVec_Vec3s()
            cloud.extend(list(points))
            self.convex.append(coal.Convex.convexHull(cloud, True, "Qt"))
        self.request = coal.DistanceRequest()
        self.request.enable_signed_distance = True
        self.request.gjk_tolerance = 1e-9
        self.request.epa_tolerance = 1e-9
        self.request.gjk_max_iterations = 500
        self.request.epa_max_iterations = 500

    def shape(self, S: Shapes, k: int) -> coal.CollisionGeometry:
        a, b, c = S.size[k]
        kind = S.kind[k]
        if kind == ShapeKind.SPHERE:
            return coal.Sphere(a)
        if kind == ShapeKind.CAPSULE:
            return coal.Capsule(a, 2 * b)
        if kind == ShapeKind.BOX:
            return coal.Box(2 * a, 2 * b, 2 * c)
        if kind == ShapeKind.CYLINDER:
            return coal.Cylinder(a, 2 * b)
        if kind == ShapeKind.HULL:
            return self.convex[S.data[k]]
        return coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)

    def pair(self, A: Shapes, B: Shapes, k: int) -> tuple[float, np.ndarray]:
        """Signed distance (m) and normal from A to B."""
        result = coal.DistanceResult()
        place_a, place_b = coal.Transform3s(A.R[k], A.x[k]), coal.Transform3s(B.R[k], B.x[k])
        d = coal.distance(self.shape(A, k), place_a, self.shape(B, k), place_b, self.request, result)
        return d, np.array(result.normal).ravel()

    def all(self, A: Shapes, B: Shapes) -> tuple[np.ndarray, np.ndarray]:
        found = [self.pair(A, B, k) for k in range(len(A.kind))]
        return np.array([d for d, _ in found]), np.array([n for _, n in found])


def support(S: Shapes, hulls: Hulls | None, k: int, d: np.ndarray) -> float:
    """Farthest reach of shape k along the unit vector d, m."""
    e = S.R[k].T @ d
    a, b, _ = S.size[k]
    kind = S.kind[k]
    base = float(S.x[k] @ d)
    if kind == ShapeKind.TRIANGLE:
        return base + float(e.max())
    if kind == ShapeKind.SPHERE:
        return base + a
    if kind == ShapeKind.CAPSULE:
        return base + a + b * abs(e[2])
    if kind == ShapeKind.BOX:
        return base + float(S.size[k] @ np.abs(e))
    if kind == ShapeKind.CYLINDER:
        return base + a * float(np.hypot(e[0], e[1])) + b * abs(e[2])
    if kind == ShapeKind.HULL:
        return base + float((hulls.points[S.data[k]] @ e).max())
    return base if e[2] > 1 - 1e-9 else np.inf


def outside(S: Shapes, hulls: Hulls, k: int, x: np.ndarray) -> np.ndarray:
    """How far points x [n, 3] are outside of shape k, m (a lower bound near edges); negative inside."""
    p = (x - S.x[k]) @ S.R[k]
    a, b, _ = S.size[k]
    kind = S.kind[k]
    if kind == ShapeKind.SPHERE:
        return np.linalg.norm(p, axis=1) - a
    if kind == ShapeKind.CAPSULE:
        return np.linalg.norm(p - np.clip(p[:, 2:], -b, b) * [[0, 0, 1]], axis=1) - a
    if kind == ShapeKind.BOX:
        return (np.abs(p) - S.size[k]).max(axis=1)
    if kind == ShapeKind.CYLINDER:
        return np.maximum(np.hypot(p[:, 0], p[:, 1]) - a, np.abs(p[:, 2]) - b)
    if kind == ShapeKind.HULL:
        faces = slice(hulls.faces_of[S.data[k]], hulls.faces_of[S.data[k] + 1])
        normals = np.array(hulls.face_normal[faces])
        reach = (hulls.points[S.data[k]] @ normals.T).max(axis=0)
        return (p @ normals.T - reach).max(axis=1)
    return p[:, 2]


def gap_along(A: Shapes, B: Shapes, hulls: Hulls | None, k: int, n: np.ndarray) -> float:
    """Gap between the slabs that hold A and B along n, m: the signed distance is its greatest over all n."""
    return -support(B, hulls, k, -n) - support(A, hulls, k, n)


def greatest_gap(A: Shapes, B: Shapes, hulls: Hulls | None, k: int, near: list[np.ndarray]) -> float:
    """Signed distance by brute force: the greatest gap found from many directions, and from those given."""
    rng = np.random.default_rng(k)
    starts = _unit(rng.normal(size=(400, 3)))
    values = np.array([gap_along(A, B, hulls, k, n) for n in starts])
    starts = [*near, *starts[np.argsort(values)[-8:]]]
    best = -np.inf
    for n in starts:
        t1 = _unit(np.cross(n, np.eye(3)[np.argmin(np.abs(n))]))
        t2 = np.cross(n, t1)

        def negative(y: np.ndarray, n: np.ndarray = n, t1: np.ndarray = t1, t2: np.ndarray = t2) -> float:
            return -gap_along(A, B, hulls, k, _unit(n + y[0] * t1 + y[1] * t2))

        options = {"xatol": 1e-12, "fatol": 1e-14, "initial_simplex": [[0, 0], [0.05, 0], [0, 0.05]], "maxfev": 2000}
        best = max(best, -minimize(negative, np.zeros(2), method="Nelder-Mead", options=options).fun)
    return best


def random_pairs(
    rng: np.random.Generator, kind_a: int, kind_b: int, n: int, hulls: Hulls, reference: Coal
) -> tuple[Shapes, Shapes]:
    """A third of them deep in each other, a third just touching, a third just apart."""
    A, B = random_shapes(rng, kind_a, n), random_shapes(rng, kind_b, n)
    deep = n // 3
    B.x[:deep] = A.x[:deep] + rng.uniform(-0.3, 0.3, size=(deep, 3))
    for k in range(deep, n):
        out = _unit(rng.normal(size=3))
        if kind_a == ShapeKind.HALF_SPACE:
            out = A.R[k] @ np.array([0.0, 0.0, 1.0])
        elif kind_b == ShapeKind.HALF_SPACE:
            out = -B.R[k] @ np.array([0.0, 0.0, 1.0])
        B.x[k] = A.x[k] + 6.0 * out
        d, normal = reference.pair(A, B, k)
        wanted = -(10 ** rng.uniform(-5, -1.5)) if k < 2 * deep else 10 ** rng.uniform(-5, -1.5)
        B.x[k] -= normal * (d - wanted)
    return A, B
