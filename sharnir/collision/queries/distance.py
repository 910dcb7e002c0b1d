"""Distance query and contact query of two shapes of a model in a given configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.collision.contact_reduction import MAX_PAIR_CONTACTS
from sharnir.collision.queries.shape_poses import make_shape_pose, shape_poses
from sharnir.collision.shapes import ContactList, Geometry, make_narrow_phase_context
from sharnir.collision.shapes_upload import compute_bounding_radii, upload_geometry
from sharnir.collision.surface.convex_vs_surface import collide_shapes
from sharnir.dynamics.evaluator import require_model
from sharnir.enums import ShapeKind
from sharnir.errors import fail
from sharnir.kernels.launch import run_kernel
from sharnir.kernels.objects import Kernel
from sharnir.kernels.types import KERNEL_OPTIONS, mat33, np_real, real, vec3
from sharnir.kernels.vector_ops import indices
from sharnir.model.model import check_index

if TYPE_CHECKING:
    from sharnir.model.model import Ints, Model, Reals

PAIR_CONTACTS = Kernel("sharnir.collision.queries.distance", "pair_contacts_kernel")
wp.set_module_options(KERNEL_OPTIONS)

UNBOUNDED_KINDS = (ShapeKind.HALF_SPACE, ShapeKind.HEIGHT_FIELD, ShapeKind.MESH)  # kinds of which no two are compared


def distance(model: Model, q: Any, shape_a: int, shape_b: int) -> tuple[float, Reals, Reals, Reals]:
    """How far two shapes are apart at positions q [nq].

    Returns the distance (m; negative: how deep they overlap), the points of both surfaces where that is (m), and the
    unit normal from the first to the second. Height fields and meshes are seen from outside: a shape behind all of a
    mesh is infinitely far from it, at no points (NaN).
    """
    require_model(model)
    x, radii = shape_poses(model, q)[1], compute_bounding_radii(model)
    a, b = check_pair(model, shape_a, shape_b)
    reach = 2.0 * float(np.linalg.norm(x[a] - x[b]) + radii[a] + radii[b]) + 1.0
    normals, points, gaps, _ = find_pair_contacts(model, q, a, b, reach)
    if not len(gaps):
        return np.inf, *np.full((3, 3), np.nan)
    k = int(np.argmin(gaps))
    half = normals[k] * gaps[k] / 2
    return float(gaps[k]), points[k] - half, points[k] + half, normals[k]


def find_pair_contacts(
    model: Model, q: Any, shape_a: int, shape_b: int, margin: float
) -> tuple[Reals, Reals, Reals, Ints]:
    """Find the contacts of two shapes that are less than a margin (m) apart at positions q [nq].

    Returns of n contacts: unit normals from the first shape to the second [n, 3]; points halfway between the surfaces
    [n, 3] m; gaps [n] m, negative where they overlap; feature ids [n].
    """
    require_model(model)
    a, b = check_pair(model, shape_a, shape_b)
    geo, (R, x) = upload_geometry(model, "cpu"), shape_poses(model, q)
    contacts, count = allocate_contact_list(2 * MAX_PAIR_CONTACTS, 1, "cpu"), wp.zeros(1, dtype=int, device="cpu")
    rot, pos = (wp.array(v.astype(np_real), dtype=t, device="cpu") for v, t in ((R, mat33), (x, vec3)))
    run_kernel(PAIR_CONTACTS, 1, [geo, rot, pos, a, b, margin, contacts, count], "cpu")
    n = int(count.numpy()[0])
    normals, points = (v.numpy().reshape(-1, 3)[:n].astype(float) for v in (contacts.normal, contacts.point))
    return normals, points, contacts.gap.numpy()[:n, 0].astype(float), contacts.feature.numpy()[:n, 0]


def check_pair(model: Model, shape_a: Any, shape_b: Any) -> tuple[int, int]:
    """Indices of two different shapes, at least one of them convex; fails otherwise."""
    count = len(model.shape_kind)
    a, b = (check_index("distance", "shape", s, count, f"model {model.name!r}") for s in (shape_a, shape_b))
    if a == b or np.isin(model.shape_kind[[a, b]], UNBOUNDED_KINDS).all():
        given = f"shapes {a} and {b}"
        raise fail("distance", "not two shapes that can be apart", given, "two shapes, at least one of them convex")
    return a, b


def allocate_contact_list(capacity: int, columns: int, device: str) -> ContactList:
    """Allocate a zeroed contact list for `capacity` contacts."""
    out = ContactList()
    out.capacity = capacity
    out.normal, out.point = (wp.zeros((3 * capacity, columns), dtype=real, device=device) for _ in range(2))
    out.gap = wp.zeros((capacity, columns), dtype=real, device=device)
    out.feature = wp.zeros((capacity, columns), dtype=int, device=device)
    return out


@wp.kernel
def pair_contacts_kernel(
    geo: Geometry,
    rot: wp.array(dtype=mat33),
    pos: wp.array(dtype=vec3),
    a: int,
    b: int,
    margin: real,
    contacts: ContactList,
    count: indices,
):
    """Find the contacts of two shapes."""
    w = wp.tid()
    ctx = make_narrow_phase_context(geo, contacts, w)
    ctx.margin = margin
    A = make_shape_pose(geo, a, rot[a], pos[a])
    count[w] = collide_shapes(ctx, A, make_shape_pose(geo, b, rot[b], pos[b]), 0)
