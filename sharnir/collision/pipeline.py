"""Collision pipeline: poses and AABBs, broad phase, bounding-volume tests, narrow phase, culling; contacts in a fixed
order."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import warp as wp

from sharnir.collision.bounds import aabb_half_extents, box_extent_along, has_tight_box, is_obb_overlapping
from sharnir.collision.broad_phase import find_pairs, set_aabb
from sharnir.collision.buffers import CollisionScratch, ContactCount, Contacts
from sharnir.collision.contact_model import ContactModel
from sharnir.collision.convex.narrow_phase import collide_convex
from sharnir.collision.convex.primitives import collide_capsules, collide_half_space_round, is_round
from sharnir.collision.convex.separating_axis_cache import is_gjk_pair, is_separated_along
from sharnir.collision.flat_contacts import measure_flat_contacts
from sharnir.collision.shapes import NarrowPhaseContext, ShapePose, make_narrow_phase_context
from sharnir.collision.speculative import cull_speculative, make_collision_context
from sharnir.collision.surface.convex_vs_surface import collide_shapes
from sharnir.dynamics.forces import pivot_of
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.momenta import link_velocities
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import ShapeKind
from sharnir.kernels.columns import (
    get,
    get3,
    get33,
    get_int,
    put,
    put3,
    put33,
    put_int,
    set_item,
    set_item3,
    set_item_int,
)
from sharnir.kernels.target import compiler_flags
from sharnir.kernels.types import MAT33, MAT33_XZ, MAT33_YZ, MAT33_ZZ, VEC3, array2, column, real, vec3

COLLISION_MODULE_OPTIONS = {
    "enable_backward": False,
    "cpu_compiler_flags": f"{compiler_flags()} -mllvm=-inline-threshold=20000",
}
MAX_IMPACT_ROUNDS = 8  # bodies in a row that an impact is followed through within a step


class ShapeFamily(IntEnum):
    """Which shapes a collision kernel is compiled for."""

    ROUND = 0  # sphere, capsule, half-space
    CONVEX = 1  # all convex shapes
    ALL = 2


@wp.func
def fastest_link(tree: wp.ref[Tree], ws: wp.ref[Workspace], model: ContactModel, w: int):
    """Largest speed of a link at its pivot, m/s, where materials bounce, else 0: what it strikes may be as fast."""
    fastest = real(0.0)
    i = int(0)
    while i < tree.links and model.has_restitution == 1:
        fastest = wp.max(fastest, wp.length(get3(ws.a, 2 * i, w)))
        i += 1
    return fastest


@wp.func
def pair_margin(model: ContactModel, scratch: CollisionScratch, a: int, b: int, dt: real, w: int):
    """How near two shapes may come within the step, m: at their velocities and, where materials bounce, at those that
    impacts on either of them may give it."""
    speed = wp.length(get3(scratch.velocity, b, w) - get3(scratch.velocity, a, w))
    speed = speed + get(scratch.speed_bound, a, w) + get(scratch.speed_bound, b, w)
    if model.has_restitution == 1:
        speed = speed + get(scratch.impact_speed_bound, a, w) + get(scratch.impact_speed_bound, b, w)
    return model.speculative_margin + dt * speed


@wp.func
def propagate_impact_speeds(model: ContactModel, scratch: CollisionScratch, pairs: int, dt: real, w: int):
    """The two shapes of each pair that may touch within the step ← the largest of their bounds and of their
    speed against each other; returns how many shapes have come to be faster."""
    changed = int(0)
    k = int(0)
    while k < pairs:
        a = get_int(scratch.broad_phase.pairs, 2 * k, w)
        b = get_int(scratch.broad_phase.pairs, 2 * k + 1, w)
        if is_bounds_overlapping(model, scratch, a, b, pair_margin(model, scratch, a, b, dt, w), w):
            of_a = get(scratch.impact_speed_bound, a, w)
            of_b = get(scratch.impact_speed_bound, b, w)
            speed = wp.max(wp.max(of_a, of_b), wp.length(get3(scratch.velocity, b, w) - get3(scratch.velocity, a, w)))
            if model.geo.link[a] >= 0 and speed > of_a:
                put(scratch.impact_speed_bound, a, w, speed)
                changed += 1
            if model.geo.link[b] >= 0 and speed > of_b:
                put(scratch.impact_speed_bound, b, w, speed)
                changed += 1
        k += 1
    return changed


@wp.func
def bound_impact_speeds(model: ContactModel, scratch: CollisionScratch, pairs: int, dt: real, w: int):
    """Where materials bounce: the largest relative speed of an impact that may reach each shape in the step
    (`impact_speed_bound`), through other bodies too. A body that is struck may hit others that it was not near enough
    to before."""
    s = int(0)
    while s < model.geo.count and model.has_restitution == 1:
        put(scratch.impact_speed_bound, s, w, real(0.0))
        s += 1
    rounds = int(0)
    while rounds < MAX_IMPACT_ROUNDS and model.has_restitution == 1:
        rounds += 1
        if propagate_impact_speeds(model, scratch, pairs, dt, w) == 0:
            rounds = MAX_IMPACT_ROUNDS


def _make_update_shapes(name: str, rounds_only: bool) -> Any:
    """Make the function that updates shapes: world poses, velocities, motion bounds and AABBs. Link velocities are `a`
    of the workspace. rounds_only: of spheres, capsules and half-spaces only the z axis is stored."""

    def update_shapes(
        tree: wp.ref[Tree], ws: wp.ref[Workspace], model: ContactModel, scratch: CollisionScratch, dt: real, w: int
    ):
        """Poses of all shapes, and how they move: links have the velocities `a` in the workspace."""
        gravity_speed = wp.length(tree.gravity) * dt
        fastest = fastest_link(tree, ws, model, w)
        s = int(0)
        while s < model.geo.count:
            link = model.geo.link[s]
            R = model.geo.rot[s]
            x = model.geo.pos[s]
            velocity = vec3()
            speed_bound = real(0.0)
            if link >= 0:
                R_link = get33(ws.R, link, w)
                r = get3(ws.x, link, w) + R_link * x
                om = get3(ws.a, 2 * link + 1, w)
                velocity = get3(ws.a, 2 * link, w) + wp.cross(om, r)
                speed_bound = wp.length(om) * model.geo.bounding_radius[s] + gravity_speed
                R = R_link * R
                x = pivot_of(tree, ws, link, w) + r
            box_center = x
            if wp.static(rounds_only):
                put(scratch.R, MAT33 * s + MAT33_XZ, w, R[0, 2])
                put(scratch.R, MAT33 * s + MAT33_YZ, w, R[1, 2])
                put(scratch.R, MAT33 * s + MAT33_ZZ, w, R[2, 2])
            else:
                put33(scratch.R, s, w, R)
                box_center = x + R * model.geo.box_center[s]
                put3(scratch.box_center, s, w, box_center)
            put3(scratch.x, s, w, x)
            put3(scratch.velocity, s, w, velocity)
            put(scratch.speed_bound, s, w, speed_bound)
            half = aabb_half_extents(model.geo, s, R, wp.static(rounds_only))
            padding = real(0.5) * model.speculative_margin + dt * (wp.length(velocity) + speed_bound)
            if model.has_restitution == 1:
                padding = wp.max(padding, wp.min(dt * fastest, model.geo.bounding_radius[s]))
            half = half + vec3(padding, padding, padding)
            set_aabb(model.broad_phase, scratch.broad_phase, s, box_center - half, box_center + half, w)
            s += 1

    update_shapes.__name__ = update_shapes.__qualname__ = name
    return wp.func(update_shapes)


@wp.func
def shape_pose_of(model: ContactModel, scratch: CollisionScratch, s: int, w: int):
    """Shape s with its world pose."""
    out = ShapePose()
    out.kind = model.geo.kind[s]
    out.data = model.geo.data[s]
    out.size = model.geo.size[s]
    out.R = get33(scratch.R, s, w)
    out.x = get3(scratch.x, s, w)
    return out


@wp.func
def is_above_half_space(model: ContactModel, scratch: CollisionScratch, plane: int, s: int, margin: real, w: int):
    """Whether a shape's bounding sphere or box is above a half-space by more than a margin (m)."""
    normal = column(get33(scratch.R, plane, w), 2)
    origin = get3(scratch.x, plane, w)
    above = wp.dot(normal, get3(scratch.x, s, w) - origin) >= model.geo.bounding_radius[s] + margin
    if has_tight_box(model.geo.kind[s]) and not above:
        e = wp.transpose(get33(scratch.R, s, w)) * normal
        reach = box_extent_along(model.geo.box_half[s], e[0], e[1], e[2])
        above = wp.dot(normal, get3(scratch.box_center, s, w) - origin) >= reach + margin
    return above


@wp.func
def is_bounds_overlapping(model: ContactModel, scratch: CollisionScratch, a: int, b: int, margin: real, w: int):
    """Whether the bounding spheres and boxes of two shapes overlap, or reach into a half-space, within a margin (m)."""
    offset = get3(scratch.x, b, w) - get3(scratch.x, a, w)
    reach = model.geo.bounding_radius[a] + model.geo.bounding_radius[b] + margin
    overlapping = wp.dot(offset, offset) < reach * reach
    if model.geo.kind[a] == ShapeKind.HALF_SPACE:
        overlapping = not is_above_half_space(model, scratch, a, b, margin, w)
    elif model.geo.kind[b] == ShapeKind.HALF_SPACE:
        overlapping = not is_above_half_space(model, scratch, b, a, margin, w)
    elif (
        model.geo.kind[a] == ShapeKind.HEIGHT_FIELD or model.geo.kind[b] == ShapeKind.HEIGHT_FIELD
    ):  # solid however deep
        overlapping = bool(True)
    elif overlapping and (has_tight_box(model.geo.kind[a]) or has_tight_box(model.geo.kind[b])):
        half_a = model.geo.box_half[a]
        half_b = model.geo.box_half[b]
        offset = get3(scratch.box_center, b, w) - get3(scratch.box_center, a, w)
        overlapping = is_obb_overlapping(half_a, half_b, get33(scratch.R, a, w), get33(scratch.R, b, w), offset, margin)
    return overlapping


@wp.struct
class ShapePair:
    """Two shapes that may touch."""

    a: int  # indices of the shapes, a < b
    b: int
    A: ShapePose
    B: ShapePose


@wp.func
def make_shape_pair(a: int, b: int, A: ShapePose, B: ShapePose):
    """The pair of shapes a and b at poses A and B."""
    out = ShapePair()
    out.a = a
    out.b = b
    out.A = A
    out.B = B
    return out


@wp.func
def append_nothing(
    ctx: wp.ref[NarrowPhaseContext], model: ContactModel, scratch: CollisionScratch, pair: ShapePair, n: int
):
    """Append no contact; returns n."""
    return n


def _make_collide_pair(family: int) -> Any:
    """Make the function that appends the contacts of a pair that is not round, unless the separating-axis cache shows
    that they are separated. Without such shapes it appends none, so that these kernels need not be recompiled when the
    rest changes."""
    if family == ShapeFamily.ROUND:
        return append_nothing
    append_contacts = collide_convex if family == ShapeFamily.CONVEX else collide_shapes

    def collide_pair(
        ctx: wp.ref[NarrowPhaseContext], model: ContactModel, scratch: CollisionScratch, pair: ShapePair, n: int
    ):
        """Append the contacts of a pair, unless they are separated as they were; returns how many there are then."""
        slot = (pair.a * model.geo.count + pair.b) % scratch.axis_cache_slots
        is_cached = is_gjk_pair(pair.A.kind, pair.B.kind)
        is_separated = bool(False)
        if is_cached:
            axis = get3(scratch.axis_cache, slot, ctx.w)
            is_separated = is_separated_along(model.geo, pair.A, pair.B, axis, ctx.margin)
        first = n
        if not is_separated:
            n = append_contacts(ctx, pair.A, pair.B, n)
        if is_cached and not is_separated and n == first and n < scratch.contacts.capacity:
            put3(scratch.axis_cache, slot, ctx.w, get3(scratch.contacts.normal, n, ctx.w))
        return n

    collide_pair.__name__ = collide_pair.__qualname__ = f"collide_pair_{family}"
    return wp.func(collide_pair)


def _make_find_contacts(name: str, family: int) -> Any:
    """Make the function that finds the contacts of all pairs of shapes of a family: kernels are compiled for what a
    model needs. It returns their number, which may exceed the room there is, or minus the number of pairs if these
    exceed theirs."""
    update_shapes, collide_pair = (
        _make_update_shapes(f"update_shapes_for_{name}", family == ShapeFamily.ROUND),
        _make_collide_pair(family),
    )

    def find_contacts(
        tree: wp.ref[Tree], ws: wp.ref[Workspace], model: ContactModel, scratch: CollisionScratch, dt: real, w: int
    ):
        """Points of all pairs; returns how many there are, which may be more than there is room for, or minus the
        number of pairs if these are too many."""
        update_shapes(tree, ws, model, scratch, dt, w)
        pairs = find_pairs(model.broad_phase, scratch.broad_phase, w)
        bound_impact_speeds(model, scratch, wp.min(pairs, scratch.broad_phase.capacity), dt, w)
        ctx = make_narrow_phase_context(model.geo, scratch.contacts, w)
        n = int(0)
        k = int(0)
        while k < wp.min(pairs, scratch.broad_phase.capacity):
            a = get_int(scratch.broad_phase.pairs, 2 * k, w)
            b = get_int(scratch.broad_phase.pairs, 2 * k + 1, w)
            margin = pair_margin(model, scratch, a, b, dt, w)
            if is_bounds_overlapping(model, scratch, a, b, margin, w):
                first = n
                A = shape_pose_of(model, scratch, a, w)
                B = shape_pose_of(model, scratch, b, w)
                ctx.margin = margin
                ctx.flip = real(1.0)
                if is_round(A) and is_round(B):
                    n = collide_capsules(ctx, A, B, n)
                elif A.kind == ShapeKind.HALF_SPACE and is_round(B):
                    n = collide_half_space_round(ctx, A, B, n)
                elif B.kind == ShapeKind.HALF_SPACE and is_round(A):
                    ctx.flip = real(-1.0)
                    n = collide_half_space_round(ctx, B, A, n)
                else:
                    n = collide_pair(ctx, model, scratch, make_shape_pair(a, b, A, B), n)
                c = int(first)
                while c < wp.min(n, scratch.contacts.capacity):
                    put_int(scratch.contact_shape, 2 * c, w, a)
                    put_int(scratch.contact_shape, 2 * c + 1, w, b)
                    c += 1
            k += 1
        if pairs > scratch.broad_phase.capacity:
            n = -pairs
        return n

    find_contacts.__name__ = find_contacts.__qualname__ = name
    return wp.func(find_contacts)


find_round_contacts = _make_find_contacts("find_round_contacts", ShapeFamily.ROUND)


@wp.func
def export_contacts(scratch: CollisionScratch, contacts: Contacts, needed: int, w: int):
    """Copy the contacts found from the workspace column to the arrays of world w. needed: contacts found."""
    count = wp.clamp(needed, 0, contacts.capacity)
    set_item_int(contacts.count, ContactCount.STORED, w, count)
    set_item_int(contacts.count, ContactCount.FOUND, w, needed)
    c = int(0)
    while c < count:
        set_item_int(contacts.shape, 2 * c, w, get_int(scratch.contact_shape, 2 * c, w))
        set_item_int(contacts.shape, 2 * c + 1, w, get_int(scratch.contact_shape, 2 * c + 1, w))
        set_item_int(contacts.feature, c, w, get_int(scratch.contacts.feature, c, w))
        set_item3(contacts.normal, VEC3 * c, w, get3(scratch.contacts.normal, c, w))
        set_item3(contacts.point, VEC3 * c, w, get3(scratch.contacts.point, c, w))
        set_item(contacts.gap, c, w, get(scratch.contacts.gap, c, w))
        c += 1


def _make_kernel(name: str, family: int) -> Any:
    """Make the kernel that finds the contacts of every world at positions q, within a step at velocities v."""
    find_contacts = (
        find_round_contacts
        if family == ShapeFamily.ROUND
        else _make_find_contacts(name.replace("kernel", "find_contacts"), family)
    )

    def collide_kernel(
        tree: Tree,
        ws: Workspace,
        model: ContactModel,
        scratch: CollisionScratch,
        contacts: Contacts,
        q: array2,
        v: array2,
        dt: array2,
    ):
        """Contacts of every world at positions q, within a step of velocities v. dt: [1, 1] s."""
        w = wp.tid()
        poses(tree, ws, q, q, w)
        link_velocities(tree, ws, v, w)
        needed = find_contacts(tree, ws, model, scratch, dt[0, 0], w)
        if wp.static(family != ShapeFamily.ROUND):
            if needed > 0 and needed <= scratch.contacts.capacity:
                ctx = make_collision_context(tree, ws, model, scratch, dt[0, 0])
                needed = cull_speculative(ctx, needed, w)
        export_contacts(scratch, contacts, needed, w)
        if wp.static(family != ShapeFamily.ROUND):
            measure_flat_contacts(model, scratch, contacts, w)

    collide_kernel.__name__ = collide_kernel.__qualname__ = name
    return wp.kernel(collide_kernel, module="unique", module_options=COLLISION_MODULE_OPTIONS)


collide_round_kernel = _make_kernel("collide_round_kernel", ShapeFamily.ROUND)
collide_convex_kernel = _make_kernel("collide_convex_kernel", ShapeFamily.CONVEX)
collide_all_kernel = _make_kernel("collide_all_kernel", ShapeFamily.ALL)
