"""Upload of a model's shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.collision.shapes import Geometry
from sharnir.enums import ShapeKind
from sharnir.geometry.convex_hull import build_vertex_faces
from sharnir.geometry.support_table import build_support_table
from sharnir.kernels.types import mat33, np_real, real, vec3

if TYPE_CHECKING:
    from sharnir.model.model import Model, Reals

# relative, by which bounding boxes and spheres are enlarged against rounding
BOUNDS_PADDING = 4.0 * float(np.finfo(np_real).eps)


def upload_geometry(model: Model, device: str) -> Geometry:
    """Upload all shapes of a model to a device; built once and cached in the model."""
    key = ("geometry", device)
    if key not in model.cache:
        model.cache[key] = _build_geometry(model, device)
    return model.cache[key]


def compute_half_sizes(model: Model) -> Reals:
    """[shapes, 3] m, as `Geometry.size`: half the edges of boxes, radius and half length, half the extent of fields."""
    size = model.shape_size.copy()
    halved = np.isin(model.shape_kind, (ShapeKind.BOX, ShapeKind.HEIGHT_FIELD))
    size[halved] /= 2
    size[np.isin(model.shape_kind, (ShapeKind.CYLINDER, ShapeKind.CAPSULE)), 1] /= 2
    return size


def compute_bounding_radii(model: Model) -> Reals:
    """[shapes] m, radii of bounding spheres about the shapes' origins; 0 for half-spaces. A height field's bounds its
    surface, not what is below it."""
    out = np.zeros(len(model.shape_kind))
    for k, (kind, size) in enumerate(zip(model.shape_kind.tolist(), compute_half_sizes(model), strict=True)):
        data = int(model.shape_data[k])
        if kind == ShapeKind.SPHERE:
            out[k] = size[0]
        elif kind == ShapeKind.BOX:
            out[k] = np.linalg.norm(size)
        elif kind == ShapeKind.CYLINDER:
            out[k] = np.hypot(size[0], size[1])
        elif kind == ShapeKind.CAPSULE:
            out[k] = size[0] + size[1]
        elif kind == ShapeKind.HULL:
            points = model.hull_vertex[model.hull_vertex_start[data] : model.hull_vertex_start[data + 1]]
            out[k] = np.linalg.norm(points, axis=1).max()
        elif kind == ShapeKind.HEIGHT_FIELD:
            heights = model.field_height[model.field_start[data] : model.field_start[data + 1]]
            out[k] = np.linalg.norm([size[0], size[1], np.abs(heights).max()])
        elif kind == ShapeKind.MESH:
            corners = model.mesh_corner[model.mesh_triangle_start[data] : model.mesh_triangle_start[data + 1]]
            out[k] = np.linalg.norm(model.mesh_vertex[corners], axis=2).max()
    return out * (1 + BOUNDS_PADDING)


def compute_bounding_boxes(model: Model) -> tuple[Reals, Reals]:
    """[shapes, 3] m, centers (shape frame) and half-extents of bounding boxes along the shapes' axes; those of the
    bounding sphere for height fields and meshes, 0 for half-spaces."""
    middle, half = np.zeros((len(model.shape_kind), 3)), np.repeat(compute_bounding_radii(model)[:, None], 3, axis=1)
    for k, (kind, size) in enumerate(zip(model.shape_kind.tolist(), compute_half_sizes(model), strict=True)):
        if kind == ShapeKind.BOX:
            half[k] = size
        elif kind == ShapeKind.CYLINDER:
            half[k] = size[0], size[0], size[1]
        elif kind == ShapeKind.CAPSULE:
            half[k] = size[0], size[0], size[0] + size[1]
        elif kind == ShapeKind.HULL:
            first, last = model.hull_vertex_start[model.shape_data[k] : model.shape_data[k] + 2]
            low, high = (end(model.hull_vertex[first:last], axis=0) for end in (np.min, np.max))
            middle[k], half[k] = (low + high) / 2, (high - low) / 2
    return middle, half + BOUNDS_PADDING * (half + np.abs(middle))


def _build_geometry(model: Model, device: str) -> Geometry:
    """Geometry of a model on a device."""
    geo = Geometry()
    geo.count = len(model.shape_kind)
    vertex_face_start, vertex_face = build_vertex_faces(
        model.hull_corner_start, model.hull_corner, len(model.hull_vertex)
    )
    box_center, box_half = compute_bounding_boxes(model)
    hull_cell_start, cell_vertex_start, cell_vertex = build_support_table(model.hull_vertex_start, model.hull_vertex)
    pad = BOUNDS_PADDING * np.maximum(np.abs(model.mesh_node_low), np.abs(model.mesh_node_high)).max(
        axis=1, keepdims=True
    )
    integers = {
        "kind": model.shape_kind,
        "link": model.shape_link,
        "data": model.shape_data,
        "hull_vertex_start": model.hull_vertex_start,
        "hull_face_start": model.hull_face_start,
        "vertex_neighbour_start": model.hull_edge_start,
        "vertex_neighbour": model.hull_neighbour,
        "face_corner_start": model.hull_corner_start,
        "face_vertex": model.hull_corner,
        "vertex_face_start": vertex_face_start,
        "vertex_face": vertex_face,
        "hull_cell_start": hull_cell_start,
        "cell_vertex_start": cell_vertex_start,
        "cell_vertex": cell_vertex,
        "field_start": model.field_start,
        "field_rows": model.field_shape[:, 0],
        "field_columns": model.field_shape[:, 1],
        "mesh_node_start": model.mesh_node_start,
        "node_skip": model.mesh_node_skip,
        "node_first": model.mesh_node_first,
        "node_count": model.mesh_node_count,
        "mesh_triangle_vertex": model.mesh_corner.reshape(-1),
        "mesh_opposite_vertex": model.mesh_opposite.reshape(-1),
        "mesh_neighbour_start": model.mesh_ring_start,
        "mesh_neighbour": model.mesh_ring,
    }
    vectors = {
        "pos": model.shape_pos,
        "size": compute_half_sizes(model),
        "box_center": box_center,
        "box_half": box_half,
        "vertex": model.hull_vertex,
        "cell_vertex_position": model.hull_vertex[cell_vertex],
        "face_normal": model.hull_normal,
        "node_low": model.mesh_node_low - pad,
        "node_high": model.mesh_node_high + pad,
        "mesh_vertex": model.mesh_vertex,
    }
    for name, value in integers.items():
        setattr(geo, name, wp.array(np.ascontiguousarray(value, dtype=np.int32), dtype=int, device=device))
    for name, value in vectors.items():
        setattr(geo, name, wp.array(value.astype(np_real), dtype=vec3, device=device))
    geo.rot = wp.array(model.shape_rot.astype(np_real), dtype=mat33, device=device)
    geo.bounding_radius = wp.array(compute_bounding_radii(model).astype(np_real), dtype=real, device=device)
    geo.height = wp.array(model.field_height.astype(np_real), dtype=real, device=device)
    return geo
