"""Convex hull of points: vertices, polygonal faces, adjacency, and volume, center and inertia."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RealArray = NDArray[np.float64]
IntArray = NDArray[np.int32]

# relative to the hull's extent: coplanarity of triangles merged into one face; flatter point sets have no hull
TOL_COPLANAR = (
    1e-6  # of the hull's extent: triangles whose corners lie this near to a plane are one face; thinner hulls none
)


class Hull(NamedTuple):
    """A convex polyhedron with its center of volume as origin."""

    center: RealArray  # [3] m, centre of volume in the frame of the points
    volume: float  # m³
    inertia: RealArray  # [3, 3] m⁵, about the centre, at density 1
    vertices: RealArray  # [n, 3] m, from the centre
    faces: list[IntArray]  # corners, counter-clockwise seen from outside
    normals: RealArray  # [faces, 3] outward
    neighbours: list[IntArray]  # [n] vertices along edges


def convex_hull(points: RealArray) -> Hull | None:
    """Convex hull of points [n, 3] m; None if they are coplanar to TOL_COPLANAR of their extent."""
    from scipy.spatial import ConvexHull, QhullError

    middle = points.mean(axis=0)
    scale = float(np.abs(points - middle).max())
    if scale == 0 or len(points) < 4:
        return None
    unit = (points - middle) / scale
    if np.linalg.svd(unit, compute_uv=False)[2] < TOL_COPLANAR:
        return None
    try:
        raw = ConvexHull(unit)
    except QhullError:
        return None
    triangles = orient_triangles(unit, raw.simplices, raw.neighbors)
    volume, center, inertia = compute_solid_moments(unit, triangles)
    loops, normals = merge_coplanar(unit, triangles, raw.neighbors, raw.equations)
    kept = np.unique(np.concatenate(loops))
    number = np.full(len(unit), -1, dtype=np.int32)
    number[kept] = np.arange(len(kept))
    faces = [number[loop] for loop in loops]
    return Hull(
        middle + scale * center, volume * scale**3, inertia * scale**5, (unit[kept] - center) * scale, faces, normals,
        build_vertex_neighbours(faces, len(kept)),
    )  # fmt: skip


def orient_triangles(points: RealArray, triangles: IntArray, neighbours: IntArray) -> IntArray:
    """Orient the triangles of a hull counter-clockwise seen from outside, by propagation from the largest one:
    triangles without area have no normal of their own. neighbours: [triangles, 3] across the edge opposite to each
    corner."""
    out = triangles.copy()
    inside = points[np.unique(triangles)].mean(axis=0)
    a, b, c = (points[out[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    first = int(np.argmax(np.einsum("ij,ij->i", normal, normal)))
    if normal[first] @ (a[first] - inside) < 0:
        out[first] = out[first, ::-1]
    done = np.zeros(len(out), dtype=bool)
    done[first] = True
    stack = [first]
    while stack:
        k = stack.pop()
        own_edges = {(int(out[k, i]), int(out[k, (i + 1) % 3])) for i in range(3)}
        for other in neighbours[k].tolist():
            if not done[other]:
                if own_edges & {(int(out[other, i]), int(out[other, (i + 1) % 3])) for i in range(3)}:
                    out[other] = out[other, ::-1]
                done[other] = True
                stack.append(other)
    return out


def compute_solid_moments(points: RealArray, triangles: IntArray) -> tuple[float, RealArray, RealArray]:
    """Volume (m³), center (m) and inertia (m⁵, density 1) about the center of the solid that closed triangles bound, as
    a sum of tetrahedra."""
    inside = points[np.unique(triangles)].mean(axis=0)
    corners = points[triangles] - inside  # [t, 3, 3]
    volumes = np.linalg.det(corners) / 6
    volume = float(volumes.sum())
    sums = corners.sum(axis=1)
    center = volumes @ sums / 4 / volume
    # ∫ x xᵀ over a tetrahedron with a corner at 0: V/20 (s sᵀ + Σ cᵢ cᵢᵀ)
    second = np.einsum("t,tki,tkj->ij", volumes, corners, corners) + np.einsum("t,ti,tj->ij", volumes, sums, sums)
    second = second / 20 - volume * np.outer(center, center)
    return volume, inside + center, np.trace(second) * np.eye(3) - second


def merge_coplanar(
    points: RealArray, triangles: IntArray, neighbours: IntArray, planes: RealArray
) -> tuple[list[IntArray], RealArray]:
    """Merge triangles into polygonal faces: corner loops and outward normals. A triangle in the plane of a larger one
    joins it.

    planes: [triangles, 4] outward normal and offset.
    """
    a, b, c = (points[triangles[:, k]] for k in range(3))
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    owner = np.full(len(triangles), -1)
    loops, normals = [], []
    for seed in np.argsort(-areas, kind="stable").tolist():
        if owner[seed] >= 0:
            continue
        n, offset = planes[seed, :3], planes[seed, 3]
        group, stack = [], [seed]
        owner[seed] = seed
        while stack:
            k = stack.pop()
            group.append(k)
            for other in neighbours[k].tolist():
                if owner[other] < 0 and np.abs(points[triangles[other]] @ n + offset).max() <= TOL_COPLANAR:
                    owner[other] = seed
                    stack.append(other)
        for loop in trace_outlines(triangles[sorted(group)]):
            loops.append(loop)
            normals.append(n / np.linalg.norm(n))
    return loops, np.array(normals)


def trace_outlines(triangles: IntArray) -> list[IntArray]:
    """Boundary loop of connected triangles; the triangles themselves if it is not a single loop."""
    directed = [(int(t[i]), int(t[(i + 1) % 3])) for t in triangles for i in range(3)]
    inner = set(directed)
    following = {a: b for a, b in directed if (b, a) not in inner}
    loop = [min(following)]
    while following[loop[-1]] != loop[0] and len(loop) <= len(following):
        loop.append(following[loop[-1]])
    count = sum((b, a) not in inner for a, b in directed)
    return [np.array(loop, dtype=np.int32)] if len(loop) == count else [*triangles.astype(np.int32)]


def build_vertex_faces(corner_start: IntArray, corners: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """Faces around each of `count` vertices: first index of each vertex [count + 1], and the faces, in increasing
    order."""
    faces = np.repeat(np.arange(len(corner_start) - 1, dtype=np.int32), np.diff(corner_start))
    order = np.argsort(corners, kind="stable")
    return np.searchsorted(corners[order], np.arange(count + 1)).astype(np.int32), faces[order]


def build_vertex_neighbours(faces: list[IntArray], count: int) -> list[IntArray]:
    """Neighbours of each vertex along edges, in increasing order."""
    near: list[set[int]] = [set() for _ in range(count)]
    for face in faces:
        for a, b in zip(face.tolist(), np.roll(face, -1).tolist(), strict=True):
            near[a].add(b)
            near[b].add(a)
    return [np.array(sorted(n), dtype=np.int32) for n in near]
