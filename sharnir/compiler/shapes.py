"""Shapes as arrays: those of the bodies in the order of links, then those fixed to the world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sharnir.checks import MAX_MAGNITUDE, number, quaternion, vector
from sharnir.compiler.materials import material_arrays
from sharnir.compiler.pairs import contact_pair_arrays
from sharnir.errors import fail, shown
from sharnir.geometry.convex_hull import Hull, convex_hull
from sharnir.geometry.mesh_bvh import SurfaceMesh, build_surface_mesh
from sharnir.model.model import Ints
from sharnir.model.poses import Pose
from sharnir.rotations import Array, quat_to_matrix
from sharnir.spec.elements import Body, Box, Capsule, ConvexHull, Cylinder, HalfSpace, HeightField, Mesh, Shape, Sphere
from sharnir.spec.scene import WORLD, Scene

# in the order of sharnir.enums
SHAPES: tuple[type[Shape], ...] = (Sphere, Box, Cylinder, Capsule, HalfSpace, ConvexHull, HeightField, Mesh)
MIN_TRIANGLE_AREA_RATIO = 1e-12  # area of a triangle over the square of its longest edge: below it, there is no normal


def shape_kind(element: str, shape: Shape) -> int:
    """Index into SHAPES."""
    for kind, cls in enumerate(SHAPES):
        if isinstance(shape, cls):
            return kind
    raise fail(element, "unknown shape", type(shape).__name__, ", ".join(s.__name__ for s in SHAPES))


def check_table(element: str, field: str, value: Any, columns: int, least: int) -> Array:
    """Numbers [n, columns], n ≥ least; any number of columns ≥ 2 for columns 0. Checked at once: there may be many."""
    allowed = f"at least {least} rows of {columns or 'as many, at least 2,'} finite numbers"
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        raise fail(element, f"{field} has the wrong shape", shown(value), allowed) from None
    if array.ndim != 2 or len(array) < least or array.shape[1] < 2 or (columns and array.shape[1] != columns):
        raise fail(element, f"{field} has the wrong shape", shown(value), allowed)
    if array.dtype.kind not in "iuf":
        raise fail(element, f"{field} is not made of numbers", shown(value), allowed)
    wrong = np.argwhere(~(np.abs(array) <= MAX_MAGNITUDE))
    if len(wrong):
        i, j = wrong[0]
        raise fail(element, f"{field}[{i}, {j}] is not a finite number", float(array[i, j]), "finite numbers")
    return array.astype(float)


def hull_of(element: str, shape: ConvexHull) -> Hull:
    """The hull of its points."""
    points = check_table(element, "points", shape.points, 3, 4)
    hull = convex_hull(points)
    if hull is None:
        given = f"{len(points)} points: {shown(shape.points)}"
        raise fail(element, "points lie in one plane", given, "points that span a volume")
    return hull


def heights_of(element: str, shape: HeightField) -> Array:
    """[rows, columns] m."""
    return check_table(element, "heights", shape.heights, 0, 2)


def surface_of(element: str, shape: Mesh) -> SurfaceMesh:
    """The mesh with its neighbourhoods and tree."""
    vertices = check_table(element, "vertices", shape.vertices, 3, 3)
    faces = check_table(element, "faces", shape.faces, 3, 1)
    wrong = np.argwhere((faces != np.floor(faces)) | (faces < 0) | (faces >= len(vertices)))
    if len(wrong):
        k = int(wrong[0, 0])
        allowed = f"whole numbers from 0 to {len(vertices) - 1}"
        raise fail(element, f"faces[{k}] names no vertices", faces[k].tolist(), allowed)
    whole = faces.astype(np.int32)
    a, b, c = (vertices[whole[:, k]] for k in range(3))
    scale = np.max([np.abs(b - a), np.abs(c - b), np.abs(a - c)], axis=(0, 2))
    scale = np.where(scale > 0, scale, 1.0)[:, None]
    area = np.linalg.norm(np.cross((b - a) / scale, (c - a) / scale), axis=1)
    thin = np.flatnonzero(area < MIN_TRIANGLE_AREA_RATIO)
    if len(thin):
        k = int(thin[0])
        raise fail(element, f"faces[{k}] has no area", vertices[whole[k]].tolist(), "corners that are not in one line")
    return build_surface_mesh(vertices, whole)


def dimensions(element: str, shape: Shape) -> Array:
    """[3] m: radius of a sphere, edges of a box, radius and length of a cylinder or capsule, extent of a height field
    along x and y; zeros of others."""
    if isinstance(shape, Box):
        size = vector(element, "size", shape.size, 3)
        for edge in size:
            number(element, "size component", float(edge), above=0)
        return size
    if isinstance(shape, (Sphere, Cylinder, Capsule)):
        radius = number(element, "radius", shape.radius, above=0)
        length = 0.0 if isinstance(shape, Sphere) else number(element, "length", shape.length, above=0)
        return np.array([radius, length, 0.0])
    if isinstance(shape, HeightField):
        x, y = (number(element, "size component", float(s), above=0) for s in vector(element, "size", shape.size, 2))
        return np.array([x, y, 0.0])
    return np.zeros(3)


def shape_pose(element: str, shape: Shape, hull: Hull | None = None) -> Pose:
    """Pose of a shape in its body, or in the world; a hull's origin is its centre of volume."""
    R = quat_to_matrix(quaternion(element, "orientation", shape.orientation))
    x = vector(element, "position", shape.position, 3)
    return Pose(R, x if hull is None else x + R @ hull.center)


def iterate_shapes(bodies: Iterable[Body], scene: Scene) -> Iterator[tuple[str, str, Shape]]:
    """(what carries it, how a message names it, shape), in the order of the arrays."""
    for body in bodies:
        for k, shape in enumerate(body.shapes):
            yield body.name, f"body {body.name!r}, shape {k}", shape
    for k, shape in enumerate(scene.shapes):
        yield WORLD, f"{WORLD}, shape {k}", shape


def check_bit_set(element: str, name: str, value: Any) -> int:
    """A set of bits."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise fail(element, f"{name} is out of range", shown(value), "a whole number from 0 to 2**31 - 1")
    return value


def shape_arrays(
    bodies: Iterable[Body], scene: Scene, index: dict[str, int], in_link: dict[str, Pose]
) -> dict[str, Any]:
    """Kinds, poses in link frames, sizes, materials and filters of all shapes."""
    kinds, carriers, poses, sizes, materials, drifts, filters, data = [], [], [], [], [], [], [], []
    hulls: list[Hull] = []
    fields: list[Array] = []
    meshes: list[SurfaceMesh] = []
    for carrier, element, shape in iterate_shapes(bodies, scene):
        kinds.append(shape_kind(element, shape))
        carriers.append(carrier)
        hull, number_of = None, -1
        if isinstance(shape, ConvexHull):
            hull, number_of = hull_of(element, shape), len(hulls)
            hulls.append(hull)
        elif isinstance(shape, HeightField):
            number_of = len(fields)
            fields.append(heights_of(element, shape))
        elif isinstance(shape, Mesh):
            number_of = len(meshes)
            meshes.append(surface_of(element, shape))
        data.append(number_of)
        poses.append(in_link[carrier] @ shape_pose(element, shape, hull))
        sizes.append(dimensions(element, shape))
        materials.append((element, shape.material))
        filters.append([check_bit_set(element, name, getattr(shape, name)) for name in ("group", "mask")])
        drifts.append(poses[-1].R @ vector(element, "surface_velocity", shape.surface_velocity, 3))
        number(element, "density", shape.density, least=0)
    return {
        "shape_kind": np.array(kinds, dtype=np.int32),
        "shape_link": np.array([index[carrier] for carrier in carriers], dtype=np.int32),
        "shape_rot": np.array([p.R for p in poses], dtype=float).reshape(-1, 3, 3),
        "shape_pos": np.array([p.x for p in poses], dtype=float).reshape(-1, 3),
        "shape_size": np.array(sizes, dtype=float).reshape(-1, 3),
        "shape_drift": np.array(drifts, dtype=float).reshape(-1, 3),
        "shape_filter": np.array(filters, dtype=np.int32).reshape(-1, 2),
        **material_arrays(materials, scene.material_pairs), **contact_pair_arrays(scene, carriers),
        "shape_data": np.array(data, dtype=np.int32),
        **hull_arrays(hulls), **field_arrays(fields), **mesh_arrays(meshes),
    }  # fmt: skip


def start_offsets(parts: Sequence[Any]) -> Ints:
    """[n + 1] where each of n parts begins if they follow each other."""
    return np.cumsum([0, *(len(p) for p in parts)], dtype=np.int32)


def concatenate_parts(parts: Sequence[Any], width: int = 0, dtype: Any = float) -> Any:
    """Parts one after another, [n] or [n, width]."""
    shape = (0, width) if width else (0,)
    return np.concatenate(
        [np.zeros(shape, dtype=dtype), *(np.asarray(p, dtype=dtype).reshape(-1, *shape[1:]) for p in parts)]
    )


def hull_arrays(hulls: list[Hull]) -> dict[str, Any]:
    """Vertices, faces and edges of all hulls."""
    first = start_offsets([h.vertices for h in hulls])
    corners = [face + first[k] for k, h in enumerate(hulls) for face in h.faces]
    near = [n + first[k] for k, h in enumerate(hulls) for n in h.neighbours]
    return {
        "hull_vertex_start": first, "hull_vertex": concatenate_parts([h.vertices for h in hulls], 3),
        "hull_face_start": start_offsets([h.faces for h in hulls]),
        "hull_normal": concatenate_parts([h.normals for h in hulls], 3),
        "hull_corner_start": start_offsets(corners), "hull_corner": concatenate_parts(corners, dtype=np.int32),
        "hull_edge_start": start_offsets(near), "hull_neighbour": concatenate_parts(near, dtype=np.int32),
    }  # fmt: skip


def field_arrays(fields: list[Array]) -> dict[str, Any]:
    """Heights of all height fields."""
    return {
        "field_start": start_offsets([f.reshape(-1) for f in fields]),
        "field_shape": concatenate_parts([f.shape for f in fields], 2, np.int32),
        "field_height": concatenate_parts([f.reshape(-1) for f in fields]),
    }


def mesh_arrays(meshes: list[SurfaceMesh]) -> dict[str, Any]:
    """Vertices, triangles, neighbourhoods and trees of all meshes."""
    vertex, triangle = start_offsets([m.vertices for m in meshes]), start_offsets([m.corners for m in meshes])
    node = start_offsets([m.bvh.skip for m in meshes])
    ring = [r + vertex[k] for k, m in enumerate(meshes) for r in m.ring]
    across = [np.where(m.opposite < 0, -1, m.opposite + vertex[k]) for k, m in enumerate(meshes)]
    return {
        "mesh_vertex": concatenate_parts([m.vertices for m in meshes], 3),
        "mesh_triangle_start": triangle,
        "mesh_corner": concatenate_parts([m.corners + vertex[k] for k, m in enumerate(meshes)], 3, np.int32),
        "mesh_opposite": concatenate_parts(across, 3, np.int32),
        "mesh_ring_start": start_offsets(ring), "mesh_ring": concatenate_parts(ring, dtype=np.int32),
        "mesh_node_start": node,
        "mesh_node_low": concatenate_parts([m.bvh.low for m in meshes], 3),
        "mesh_node_high": concatenate_parts([m.bvh.high for m in meshes], 3),
        "mesh_node_skip": concatenate_parts([m.bvh.skip + node[k] for k, m in enumerate(meshes)], dtype=np.int32),
        "mesh_node_first": concatenate_parts([m.bvh.first + triangle[k] for k, m in enumerate(meshes)], dtype=np.int32),
        "mesh_node_count": concatenate_parts([m.bvh.triangles for m in meshes], dtype=np.int32),
    }  # fmt: skip
