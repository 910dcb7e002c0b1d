"""Ray-cast query on the shapes of a model in a given configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.checks import number, real_array
from sharnir.collision.queries.distance import distance
from sharnir.collision.queries.raycast_convex import RAY_INFINITY, Ray, cast_convex, make_miss, make_ray
from sharnir.collision.queries.raycast_surface import cast_field, cast_mesh
from sharnir.collision.queries.shape_poses import make_shape_pose, shape_poses
from sharnir.collision.shapes import Geometry
from sharnir.collision.shapes_upload import upload_geometry
from sharnir.dynamics.evaluator import require_device, require_model
from sharnir.enums import ShapeKind
from sharnir.errors import fail, shown
from sharnir.kernels.launch import run_kernel
from sharnir.kernels.objects import Kernel
from sharnir.kernels.types import KERNEL_OPTIONS, mat33, np_real, real, vec3
from sharnir.kernels.vector_ops import indices

if TYPE_CHECKING:
    from sharnir.model.model import Ints, Model, Reals

RAY_CAST = Kernel("sharnir.collision.queries.raycast", "ray_cast_kernel")
wp.set_module_options(KERNEL_OPTIONS)

__all__ = ["distance", "ray_cast"]


def ray_cast(
    model: Model, q: Any, origins: Any, directions: Any, max_distance: float = np.inf, *, device: str = "cpu"
) -> tuple[Reals, Ints, Reals]:
    """What rays first meet at positions q [nq].

    origins: [n, 3] m. directions: [n, 3], of any length but zero. max_distance: m.
    Returns distances [n] m, inf for none; shapes [n], -1 for none (`model.shape_link` says whose they are); unit
    normals [n, 3] against the rays, zero for none. A ray that begins inside a shape, or below a height field, meets it
    at distance 0 with its own direction, reversed, as normal; a mesh has no inside. Of shapes at the same distance,
    the first one counts.
    """
    require_model(model), require_device(device)
    start, along = _check_vectors("origins", origins), _check_vectors("directions", directions)
    if len(start) != len(along):
        given = f"{len(start)} and {len(along)}"
        raise fail("ray_cast", "origins and directions are not as many", given, "one direction for each origin")
    length = np.linalg.norm(along, axis=1, keepdims=True)
    if not (length > 0).all():
        k = int(np.argmin(length))
        raise fail("ray_cast", f"directions[{k}] is zero", along[k].tolist(), "vectors of any length but zero")
    most = number("ray_cast", "max_distance", max_distance, least=0, infinite=(np.inf,))
    geo, (R, x) = upload_geometry(model, device), shape_poses(model, q)
    on = {"device": device}
    distance, shape = wp.zeros(len(start), dtype=real, **on), wp.zeros(len(start), dtype=int, **on)
    normal = wp.zeros(len(start), dtype=vec3, **on)
    inputs = [
        geo, wp.array(R.astype(np_real), dtype=mat33, **on), wp.array(x.astype(np_real), dtype=vec3, **on),
        wp.array(start.astype(np_real), dtype=vec3, **on), wp.array((along / length).astype(np_real), dtype=vec3, **on),
        real(min(most, float(RAY_INFINITY) / 2)), distance, shape, normal,
    ]  # fmt: skip
    run_kernel(RAY_CAST, len(start), inputs, device)
    out = distance.numpy().astype(float)
    shapes = shape.numpy()
    return np.where(shapes < 0, np.inf, out), shapes, normal.numpy().astype(float).reshape(-1, 3)


def _check_vectors(what: str, value: Any) -> Reals:
    """Finite vectors [n, 3]; fails otherwise."""
    try:
        array = real_array(value)
    except (TypeError, ValueError):
        array = np.full((0, 0), np.nan)
    if array.ndim != 2 or array.shape[1] != 3 or not np.isfinite(array).all():
        raise fail("ray_cast", f"{what} has the wrong shape or values", shown(value), "finite numbers [n, 3]")
    return array


@wp.func
def is_crossing_sphere(radius: real, ray: Ray, max_distance: real):
    """Whether a ray is inside a sphere about the origin somewhere before max_distance (m)."""
    along = wp.dot(ray.origin, ray.direction)
    t = wp.clamp(-along, real(0.0), max_distance)
    nearest = ray.origin + ray.direction * t
    return wp.dot(nearest, nearest) <= radius * radius


@wp.kernel
def ray_cast_kernel(
    geo: Geometry, rot: wp.array(dtype=mat33), pos: wp.array(dtype=vec3), origins: wp.array(dtype=vec3),
    directions: wp.array(dtype=vec3), max_distance: real, distance: wp.array(dtype=real), shape: indices,
    normal: wp.array(dtype=vec3),
):  # fmt: skip
    """The first shape along each ray."""
    k = wp.tid()
    best = max_distance
    hit_shape = int(-1)
    n = vec3()
    s = int(0)
    while s < geo.count:
        pose = make_shape_pose(geo, s, rot[s], pos[s])
        world_to_shape = wp.transpose(pose.R)
        ray = make_ray(world_to_shape * (origins[k] - pose.x), world_to_shape * directions[k])
        kind = pose.kind
        if (
            kind == ShapeKind.HALF_SPACE
            or kind == ShapeKind.HEIGHT_FIELD
            or is_crossing_sphere(geo.bounding_radius[s], ray, best)
        ):
            candidate = make_miss()
            if kind == ShapeKind.HEIGHT_FIELD:
                candidate = cast_field(geo, pose, ray, best)
            elif kind == ShapeKind.MESH:
                candidate = cast_mesh(geo, pose.data, ray, best)
            else:
                candidate = cast_convex(geo, pose, ray)
            if candidate.distance < best or (hit_shape < 0 and candidate.distance <= best):
                best = candidate.distance
                hit_shape = s
                n = pose.R * candidate.normal
        s += 1
    distance[k] = best
    shape[k] = hit_shape
    normal[k] = n
