"""Many pairs of shapes at once, for tests and benchmarks of the narrow phase."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import warp as wp
from scipy.spatial import ConvexHull

from sharnir.collision.convex.narrow_phase import collide_convex
from sharnir.collision.shapes import ContactList, Geometry, ShapePose, make_narrow_phase_context
from sharnir.geometry.convex_hull import build_vertex_faces
from sharnir.geometry.support_table import build_support_table
from sharnir.kernels.columns import get, get3, get_int, ints2
from sharnir.kernels.types import KERNEL_OPTIONS, array2, np_real, real, vec3
from sharnir.kernels.vector_ops import indices

wp.set_module_options(KERNEL_OPTIONS)
ROOM = 8  # points looked for: more than touch may give
placed = wp.array(dtype=ShapePose)


@wp.kernel
def _touch_all(
    geo: Geometry, A: placed, B: placed, margin: real, repeat: int, found: ContactList,
    normal: array2, point: array2, gap: array2, feature: ints2, count: indices,
):  # fmt: skip
    w = wp.tid()
    n = wp.int32(0)
    r = wp.int32(0)
    while r < repeat:
        ctx = make_narrow_phase_context(geo, found, w)
        ctx.margin = margin
        n = collide_convex(ctx, A[w], B[w], 0)
        r += 1
    count[w] = n
    k = wp.int32(0)
    while k < n:
        x = get3(found.point, k, w)
        e = get3(found.normal, k, w)
        for c in range(3):
            normal[w, 3 * k + c] = e[c]
            point[w, 3 * k + c] = x[c]
        gap[w, k] = get(found.gap, k, w)
        feature[w, k] = get_int(found.feature, k, w)
        k += 1


@dataclass
class Points:
    """What was found: count [pair], normal and point [pair, 8, 3], gap and feature [pair, 8]; unused ones are 0."""

    count: np.ndarray
    normal: np.ndarray
    point: np.ndarray
    gap: np.ndarray
    feature: np.ndarray

    def of(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Normal, point, gap and feature of the points of pair k."""
        n = self.count[k]
        return self.normal[k, :n], self.point[k, :n], self.gap[k, :n], self.feature[k, :n]

    def least(self) -> np.ndarray:
        """[pair] the least gap, +inf where there is no point."""
        used = np.arange(ROOM)[None, :] < self.count[:, None]
        return np.where(used, self.gap, np.inf).min(axis=1)


class Hulls:
    """Convex polyhedra of points, with coplanar triangles as one face."""

    def __init__(self, clouds: list[np.ndarray]) -> None:
        self.vertex: list[np.ndarray] = []
        self.first, self.faces_of, self.edge, self.neighbour = [0], [0], [0], []
        self.face_corner, self.corner, self.face_normal = [0], [], []
        self.points: list[np.ndarray] = []
        for cloud in clouds:
            self._add(np.asarray(cloud, dtype=float))

    def _add(self, cloud: np.ndarray) -> None:
        hull = ConvexHull(cloud)
        used = np.unique(hull.simplices)
        place = {old: new for new, old in enumerate(used)}
        base = self.first[-1]
        points = cloud[used]
        self.points.append(points)
        groups: dict[tuple, list[np.ndarray]] = {}
        for simplex, plane in zip(hull.simplices, hull.equations, strict=True):
            groups.setdefault(tuple(np.round(plane, 8)), []).append(simplex)
        beside: dict[int, set[int]] = {k: set() for k in range(len(used))}
        for plane, simplices in groups.items():
            normal = np.array(plane[:3]) / np.linalg.norm(plane[:3])
            ring = np.unique([place[i] for s in simplices for i in s])
            middle = points[ring].mean(axis=0)
            e1 = points[ring[0]] - middle
            e2 = np.cross(normal, e1)
            around = points[ring] - middle
            ring = ring[np.argsort(np.arctan2(around @ e2, around @ e1))]
            for i, j in zip(ring, np.roll(ring, -1), strict=True):
                beside[int(i)].add(int(j))
                beside[int(j)].add(int(i))
            self.corner += [base + int(i) for i in ring]
            self.face_corner.append(len(self.corner))
            self.face_normal.append(normal)
        for k in range(len(used)):
            self.neighbour += [base + j for j in sorted(beside[k])]
            self.edge.append(len(self.neighbour))
        self.vertex += list(points)
        self.first.append(base + len(used))
        self.faces_of.append(len(self.face_normal))

    def geometry(self, device: str) -> Geometry:
        geo = Geometry()

        def ints(values: list[int]) -> wp.array:
            return wp.array(np.array(values or [0], dtype=np.int32), dtype=int, device=device)

        def vectors(values: list[np.ndarray]) -> wp.array:
            return wp.array(np.array(values or [np.zeros(3)], dtype=np_real), dtype=vec3, device=device)

        geo.hull_vertex_start, geo.hull_face_start = ints(self.first), ints(self.faces_of)
        geo.vertex_neighbour_start, geo.vertex_neighbour = ints(self.edge), ints(self.neighbour)
        geo.face_corner_start, geo.face_vertex = ints(self.face_corner), ints(self.corner)
        start, around = build_vertex_faces(
            np.array(self.face_corner), np.array(self.corner, dtype=np.int32), len(self.vertex)
        )
        geo.vertex_face_start, geo.vertex_face = ints(start.tolist()), ints(around.tolist())
        cells = build_support_table(np.array(self.first), np.array(self.vertex).reshape(-1, 3))
        geo.hull_cell_start, geo.cell_vertex_start, geo.cell_vertex = (ints(a.tolist()) for a in cells)
        geo.cell_vertex_position = vectors([self.vertex[k] for k in cells[2]])
        geo.vertex, geo.face_normal = vectors(self.vertex), vectors(self.face_normal)
        return geo


@dataclass
class Shapes:
    """A shape a row: kind, data [pair], size [pair, 3], R [pair, 3, 3], x [pair, 3]."""

    kind: np.ndarray
    data: np.ndarray
    size: np.ndarray
    R: np.ndarray
    x: np.ndarray

    @classmethod
    def of(cls, kind: int, size: np.ndarray, R: np.ndarray, x: np.ndarray, data: np.ndarray | None = None) -> Shapes:
        x = np.atleast_2d(np.asarray(x, dtype=float))
        n = len(x)
        return cls(
            np.full(n, kind),
            np.zeros(n, dtype=int) if data is None else np.asarray(data),
            np.broadcast_to(np.asarray(size, dtype=float), (n, 3)).copy(),
            np.broadcast_to(np.asarray(R, dtype=float), (n, 3, 3)).copy(),
            x,
        )

    def moved(self, Q: np.ndarray, t: np.ndarray) -> Shapes:
        """All of them turned by Q about the world origin and shifted by t."""
        return Shapes(self.kind, self.data, self.size, Q @ self.R, self.x @ Q.T + t)

    def pick(self, chosen: np.ndarray) -> Shapes:
        return Shapes(self.kind[chosen], self.data[chosen], self.size[chosen], self.R[chosen], self.x[chosen])

    def array(self, device: str) -> wp.array:
        rows = np.zeros(len(self.kind), dtype=ShapePose.numpy_dtype())
        rows["kind"], rows["data"] = self.kind, self.data
        rows["R"], rows["x"], rows["size"] = self.R, self.x, self.size
        return wp.array(rows, dtype=ShapePose, device=device)


class Narrow:
    """A prepared launch of `touch` over pairs."""

    def __init__(
        self, hulls: Hulls | None, A: Shapes, B: Shapes, margin: float, repeat: int = 1, device: str = "cpu"
    ) -> None:
        n = len(A.kind)
        hulls = hulls or Hulls([])
        columns = n if wp.get_device(device).is_cuda else 1
        found = ContactList()
        found.capacity = ROOM
        found.normal = wp.zeros((3 * ROOM, columns), dtype=real, device=device)
        found.point = wp.zeros((3 * ROOM, columns), dtype=real, device=device)
        found.gap = wp.zeros((ROOM, columns), dtype=real, device=device)
        found.feature = wp.zeros((ROOM, columns), dtype=int, device=device)
        self.n, self.device = n, device
        self.out = [
            wp.zeros((n, 3 * ROOM), dtype=real, device=device),
            wp.zeros((n, 3 * ROOM), dtype=real, device=device),
            wp.zeros((n, ROOM), dtype=real, device=device),
            wp.zeros((n, ROOM), dtype=int, device=device),
            wp.zeros(n, dtype=int, device=device),
        ]
        head = [hulls.geometry(device), A.array(device), B.array(device), real(margin), repeat, found]
        self.command = wp.launch(
            _touch_all, dim=n, inputs=[*head, *self.out], device=device, record_cmd=True, block_dim=64
        )

    def run(self) -> Points:
        self.command.launch()
        normal, point, gap, feature, count = (a.numpy() for a in self.out)
        shape = (self.n, ROOM, 3)
        return Points(count, normal.reshape(shape), point.reshape(shape), gap, feature)


def touch_all(hulls: Hulls | None, A: Shapes, B: Shapes, margin: float) -> Points:
    """Points of every pair closer than `margin` (m)."""
    return Narrow(hulls, A, B, margin).run()
