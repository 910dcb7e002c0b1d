"""Geometry: MuJoCo's geoms as shapes that touch, or that are only seen.

A geom's margin is the distance at which MuJoCo holds surfaces apart, and the margins of two geoms add up: shapes are
larger by it all round. Its gap moves nothing.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sharnir.geometry.convex_hull import TOL_COPLANAR
from sharnir.io.convert.source import Source, placed
from sharnir.io.convex_decomposition import convex_parts
from sharnir.model.poses import Pose
from sharnir.rotations import Array, matrix_to_quat
from sharnir.spec.elements import (
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    HalfSpace,
    HeightField,
    Mesh,
    Shape,
    Sphere,
    Visual,
)
from sharnir.spec.import_report import CHANGED, UNSEEN

GEOM = mujoco.mjtGeom
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = (int(k) for k in (
    GEOM.mjGEOM_PLANE, GEOM.mjGEOM_HFIELD, GEOM.mjGEOM_SPHERE, GEOM.mjGEOM_CAPSULE, GEOM.mjGEOM_ELLIPSOID,
    GEOM.mjGEOM_CYLINDER, GEOM.mjGEOM_BOX, GEOM.mjGEOM_MESH,
))  # fmt: skip
ROUND = (SPHERE, CAPSULE, PLANE)  # larger all round, they are still of their kind
BALL_POINTS = 256  # of a polyhedron that stands for an ellipsoid
BALL_ERROR = 0.0074  # of its radius, by which it is off, inside or outside


def add_shapes(source: Source) -> None:
    """Shapes and visuals of all geoms; `source.shapes` says which geom became which shape."""
    bodies = {body.name: body for body in source.scene.bodies}
    shapes: dict[str, list[Shape]] = {name: [] for name in bodies}
    visuals: dict[str, list[Visual]] = {name: [] for name in bodies}
    for g in range(source.model.ngeom):
        carrier, pose = source.place(int(source.model.geom_bodyid[g]))
        pose = pose @ placed(source.model.geom_pos[g], source.model.geom_quat[g])
        if not touches(source, g):
            visual = _visual(source, g, pose)
            if visual is not None:
                (source.scene.visuals if carrier == 0 else visuals[source.body_names[carrier]]).append(visual)
            continue
        made = _shapes(source, g, pose, source.model.geom_margin[g])
        if not made:
            continue
        there = source.scene.shapes if carrier == 0 else shapes[source.body_names[carrier]]
        for shape in made:
            _set_surface_velocity(source, g, shape)
        source.shapes[g] = (carrier, range(len(there), len(there) + len(made)))
        there += made
    for name, body in bodies.items():
        body.shapes, body.visuals = tuple(shapes[name]), tuple(visuals[name])


def touches(source: Source, g: int) -> bool:
    """Whether a geom may touch any other, by its bits or by a pair."""
    m = source.model
    if not source.on("contact"):
        return False
    return bool(m.geom_contype[g] or m.geom_conaffinity[g] or g in m.pair_geom1 or g in m.pair_geom2)


def _shapes(source: Source, g: int, pose: Pose, margin: float) -> list[Shape]:
    """A geom as shapes at `pose`: one, or the convex parts of a mesh."""
    parts = mesh_parts(source, g)
    if len(parts) < 2:
        shape = _shape(source, g, pose, margin)
        return [] if shape is None else [shape]
    at: dict[str, Any] = {"position": pose.x, "orientation": matrix_to_quat(pose.R)}
    return [ConvexHull(points=_grown(points, margin), **at) for points in parts]


def mesh_parts(source: Source, g: int) -> list[Array]:
    """[n, 3] corners of the convex parts of a geom's mesh, in its frame, where they were asked for; reported once."""
    m = source.model
    if source.concavity is None or int(m.geom_type[g]) != MESH:
        return []
    if g not in source.parts:
        vertices, faces = mesh_of(source, int(m.geom_dataid[g]))
        where = f"geom {source.name('geom', g)!r}"
        found = [corners(points) for points in convex_parts(where, vertices, faces, source.concavity)]
        source.parts[g] = [points for points in found if points is not None]
        if len(source.parts[g]) > 1:
            reason = f"its mesh is {len(source.parts[g])} convex parts, where MuJoCo has its hull"
            source.report.add("geom", source.name("geom", g), reason, CHANGED)
    return source.parts[g]


def mesh_of(source: Source, mesh: int) -> tuple[Array, NDArray[np.int32]]:
    """Vertices [n, 3] m and faces [m, 3] of a mesh."""
    m = source.model
    vertices = m.mesh_vert[m.mesh_vertadr[mesh] :][: m.mesh_vertnum[mesh]].astype(float)
    return vertices, m.mesh_face[m.mesh_faceadr[mesh] :][: m.mesh_facenum[mesh]]


def _shape(source: Source, g: int, pose: Pose, margin: float) -> Shape | None:
    """A geom as a shape at `pose`, larger by `margin`; None where there is no such shape, which is reported."""
    m, kind, name = source.model, int(source.model.geom_type[g]), source.name("geom", g)
    at: dict[str, Any] = {"position": pose.x, "orientation": matrix_to_quat(pose.R)}
    if margin > 0 and kind not in ROUND:
        source.report.add(
            "geom", name, f"its margin of {margin:g} m moves its faces, and does not round edges", CHANGED
        )
    size = np.asarray(m.geom_size[g], dtype=float) + margin
    if kind == SPHERE:
        return Sphere(radius=size[0], **at)
    if kind == CAPSULE:
        return Capsule(radius=size[0], length=2 * (size[1] - margin), **at)
    if kind == CYLINDER:
        return Cylinder(radius=size[0], length=2 * size[1], **at)
    if kind == BOX:
        return Box(size=2 * size, **at)
    if kind == ELLIPSOID:
        off = BALL_ERROR * size.max()
        source.report.add("geom", name, f"an ellipsoid is a polyhedron, within {off:.1g} m of it", CHANGED)
        return ConvexHull(points=ball_points() * size, **at)
    if kind == PLANE:
        return HalfSpace(**at | {"position": pose.x + margin * pose.R[:, 2]})
    if kind == MESH:
        return _hull(source, g, at, margin)
    if kind == HFIELD:
        return _height_field(source, g, at, margin)
    source.report.add("geom", name, f"a geom of type {GEOM(kind).name[7:].lower()} is not known")
    return None


def _set_surface_velocity(source: Source, g: int, shape: Shape) -> None:
    """A belt's motion over the geom, in its axes."""
    velocity = np.asarray(source.model.geom_surfacevel[g], dtype=float)
    if velocity[3:].any():
        reason = "a surface that turns over its geom is not known; one that slides is"
        source.report.add("geom", source.name("geom", g), reason)
    if velocity[:3].any():
        shape.surface_velocity = tuple(velocity[:3].tolist())


def ball_points() -> Array:
    """[n, 3] points spread evenly over a sphere whose polyhedron is as far inside the unit sphere as outside."""
    k = np.arange(BALL_POINTS) + 0.5
    z = 1 - 2 * k / BALL_POINTS
    turn = np.pi * (1 + np.sqrt(5)) * k
    r = np.sqrt(1 - z * z)
    return (1 + BALL_ERROR) * np.column_stack([r * np.cos(turn), r * np.sin(turn), z])


def _hull(source: Source, g: int, at: dict[str, Any], margin: float) -> Shape | None:
    points = corners(mesh_of(source, int(source.model.geom_dataid[g]))[0])
    if points is None:
        source.report.add("geom", source.name("geom", g), "its mesh lies in one plane, which is no solid")
        return None
    return ConvexHull(points=_grown(points, margin), **at)


def _grown(points: Array, margin: float) -> Array:
    """Points [n, 3] further from their middle, by `margin` on average."""
    center = points.mean(axis=0)
    return center + (points - center) * (1 + margin / np.linalg.norm(points - center, axis=1).mean())


def corners(vertices: Array) -> Array | None:
    """Those of [n, 3] points that are corners of their hull; None if they lie in one plane."""
    from scipy.spatial import ConvexHull as Qhull
    from scipy.spatial import QhullError

    spread = vertices - vertices.mean(axis=0)
    size = np.abs(spread).max(initial=0.0)
    if size == 0 or np.linalg.svd(spread / size, compute_uv=False)[2] < TOL_COPLANAR:
        return None
    try:
        return np.asarray(vertices[Qhull(spread / size).vertices])
    except QhullError:
        return None


def _height_field(source: Source, g: int, at: dict[str, Any], margin: float) -> Shape | None:
    """Rows of MuJoCo's follow each other along y, ours along x."""
    m, field = source.model, int(source.model.geom_dataid[g])
    if source.place(int(m.geom_bodyid[g]))[0] != 0:
        source.report.add("geom", source.name("geom", g), "a height field on a body that moves is not known")
        return None
    rows, columns, first = int(m.hfield_nrow[field]), int(m.hfield_ncol[field]), int(m.hfield_adr[field])
    x, y, height, _ = m.hfield_size[field]
    data = m.hfield_data[first : first + rows * columns].reshape(rows, columns).astype(float)
    return HeightField(heights=margin + height * data.T, size=(2 * x, 2 * y), **at)


def _visual(source: Source, g: int, pose: Pose) -> Visual | None:
    """A geom that nothing touches."""
    m, kind = source.model, int(source.model.geom_type[g])
    color = tuple(float(c) for c in (m.mat_rgba[m.geom_matid[g]] if m.geom_matid[g] >= 0 else m.geom_rgba[g]))
    if kind == MESH:
        return _seen_mesh(source, g, pose, color)
    before = len(source.report)
    shape = _shape(source, g, pose, 0.0)
    del source.report[before:]
    if shape is None:
        source.report.add("geom", source.name("geom", g), "is seen only, and the scene shows no such surface", UNSEEN)
        return None
    return Visual(shape=shape, color=color)


def _seen_mesh(source: Source, g: int, pose: Pose, color: tuple[float, ...]) -> Visual:
    """A mesh that nothing touches: the file where it is used as it is, else its triangles. MuJoCo moves the vertices
    of a mesh to its centre of mass and principal axes."""
    m, mesh = source.model, int(source.model.geom_dataid[g])
    first = int(m.mesh_pathadr[mesh])
    path = m.paths[first:].split(b"\0", 1)[0].decode() if first >= 0 else ""
    if path in source.files:
        at = pose @ placed(m.mesh_pos[mesh], m.mesh_quat[mesh]).inverse()
        return Visual(
            file=str(source.files[path]), position=at.x, orientation=matrix_to_quat(at.R), scale=m.mesh_scale[mesh],
            color=color,
        )  # fmt: skip
    vertices, faces = mesh_of(source, mesh)
    surface = Mesh(vertices=vertices, faces=faces, position=pose.x, orientation=matrix_to_quat(pose.R))
    return Visual(shape=surface, color=color)
