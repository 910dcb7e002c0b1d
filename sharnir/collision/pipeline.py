"""Where the shapes of a world touch or are about to, in a fixed order."""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.collision.bounds import boxes_meet, half_extents, is_angular, reach_along
from sharnir.collision.broad_phase import Broad, find_pairs, put_box
from sharnir.collision.buffers import Places, Touch
from sharnir.collision.convex.narrow_phase import touch
from sharnir.collision.convex.primitives import balls, is_round, over_plane
from sharnir.collision.convex.separating_axis_cache import still_apart, walks
from sharnir.collision.shapes import Geometry, Placed
from sharnir.collision.speculative import drop_far
from sharnir.collision.surface.convex_vs_surface import meet
from sharnir.dynamics.forces import pivot
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.momenta import link_velocities
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import HALF_SPACE, HEIGHT_FIELD
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
from sharnir.kernels.types import array2, column, real, vec3
from sharnir.kernels.vector_ops import indices

OPTIONS = {"enable_backward": False, "cpu_compiler_flags": "-march=native -mllvm=-inline-threshold=20000"}

ROUNDS, SOLIDS, ALL = range(3)  # balls, capsules and half-spaces; these and other convex shapes; all kinds
PROPERTIES = 6  # of a material, or of a pair of them
SLIDING, STATIC, ROLLING, SPINNING, RESTITUTION, THRESHOLD = range(PROPERTIES)


@wp.struct
class Surfaces:
    """What a model's shapes are and which pairs of them may touch."""

    geo: Geometry
    any: int  # 1 if any two shapes may touch
    rounds: int  # 1 if there are only balls, capsules and half-spaces
    solids: int  # 1 if there are no height fields and no meshes
    looks_back: int  # 1 if speeds before the step matter: for restitution, or static friction above sliding
    broad: Broad
    margin: real  # m, within which points are sought besides what motion asks for
    materials: int
    material: indices  # [shape]
    table: wp.array(dtype=real)  # [PROPERTIES material²] of pairs of materials
    sprocket: indices  # [shape] link of the sprocket whose belt runs round it, -1 for none
    run: wp.array(dtype=vec3)  # [shape] m, radius times axis of that sprocket, link axes
    drift: wp.array(dtype=vec3)  # [shape] velocity of the surface against its body, link axes, m/s


def _place(name: str, rounds_only: bool) -> Any:
    """Of balls, capsules and half-spaces only the third axis counts."""

    def place(tree: Tree, ws: Workspace, surfaces: Surfaces, places: Places, dt: real, w: int):
        """Poses of all shapes, and how they move: links have the velocities `a` in the workspace."""
        fall = wp.length(tree.gravity) * dt
        s = int(0)
        while s < surfaces.geo.count:
            link = surfaces.geo.link[s]
            R = surfaces.geo.rot[s]
            x = surfaces.geo.pos[s]
            velocity = vec3()
            swing = real(0.0)
            if link >= 0:
                B = get33(ws.R, link, w)
                r = get3(ws.x, link, w) + B * x
                om = get3(ws.a, 2 * link + 1, w)
                velocity = get3(ws.a, 2 * link, w) + wp.cross(om, r)
                swing = wp.length(om) * surfaces.geo.radius[s] + fall
                R = B * R
                x = pivot(tree, ws, link, w) + r
            middle = x
            if wp.static(rounds_only):
                put(places.R, 9 * s + 2, w, R[0, 2])
                put(places.R, 9 * s + 5, w, R[1, 2])
                put(places.R, 9 * s + 8, w, R[2, 2])
            else:
                put33(places.R, s, w, R)
                middle = x + R * surfaces.geo.middle[s]
                put3(places.middle, s, w, middle)
            put3(places.x, s, w, x)
            put3(places.velocity, s, w, velocity)
            put(places.swing, s, w, swing)
            half = half_extents(surfaces.geo, s, R, wp.static(rounds_only))
            grown = real(0.5) * surfaces.margin + dt * (wp.length(velocity) + swing)
            half = half + vec3(grown, grown, grown)
            put_box(surfaces.broad, places.broad, s, middle - half, middle + half, w)
            s += 1

    place.__name__ = place.__qualname__ = name
    return wp.func(place)


@wp.func
def placed(surfaces: Surfaces, places: Places, s: int, w: int):
    out = Placed()
    out.kind = surfaces.geo.kind[s]
    out.data = surfaces.geo.data[s]
    out.size = surfaces.geo.size[s]
    out.R = get33(places.R, s, w)
    out.x = get3(places.x, s, w)
    return out


@wp.func
def above_plane(surfaces: Surfaces, places: Places, plane: int, s: int, margin: real, w: int):
    """Whether a shape's ball or box is above a half-space, by more than a margin."""
    up = column(get33(places.R, plane, w), 2)
    origin = get3(places.x, plane, w)
    above = wp.dot(up, get3(places.x, s, w) - origin) >= surfaces.geo.radius[s] + margin
    if is_angular(surfaces.geo.kind[s]) and not above:
        e = wp.transpose(get33(places.R, s, w)) * up
        reach = reach_along(surfaces.geo.box[s], e[0], e[1], e[2])
        above = wp.dot(up, get3(places.middle, s, w) - origin) >= reach + margin
    return above


@wp.func
def may_touch(surfaces: Surfaces, places: Places, a: int, b: int, margin: real, w: int):
    """Whether the balls and boxes around two shapes meet, or reach into a half-space, within a margin."""
    apart = get3(places.x, b, w) - get3(places.x, a, w)
    reach = surfaces.geo.radius[a] + surfaces.geo.radius[b] + margin
    near = wp.dot(apart, apart) < reach * reach
    if surfaces.geo.kind[a] == HALF_SPACE:
        near = not above_plane(surfaces, places, a, b, margin, w)
    elif surfaces.geo.kind[b] == HALF_SPACE:
        near = not above_plane(surfaces, places, b, a, margin, w)
    elif surfaces.geo.kind[a] == HEIGHT_FIELD or surfaces.geo.kind[b] == HEIGHT_FIELD:  # solid however deep
        near = bool(True)
    elif near and (is_angular(surfaces.geo.kind[a]) or is_angular(surfaces.geo.kind[b])):
        box_a = surfaces.geo.box[a]
        box_b = surfaces.geo.box[b]
        apart = get3(places.middle, b, w) - get3(places.middle, a, w)
        near = boxes_meet(box_a, box_b, get33(places.R, a, w), get33(places.R, b, w), apart, margin)
    return near


@wp.func
def no_points(
    surfaces: Surfaces, places: Places, a: int, b: int, A: Placed, B: Placed, margin: real, n: int, w: int
):  # fmt: skip
    return n


def _angular(kinds: int) -> Any:
    """What appends the points of a pair that is not round. Nothing where there is none: such kernels need not be
    compiled again when the rest changes."""
    if kinds == ROUNDS:
        return no_points
    all_points = touch if kinds == SOLIDS else meet

    def points_of_pair(
        surfaces: Surfaces, places: Places, a: int, b: int, A: Placed, B: Placed, margin: real, n: int, w: int
    ):  # fmt: skip
        """Append the points of shapes a and b, unless they are apart as they were; returns how many there are then."""
        slot = (a * surfaces.geo.count + b) % places.slots
        long = walks(A.kind, B.kind)
        apart = bool(False)
        if long:
            apart = still_apart(surfaces.geo, A, B, get3(places.apart, slot, w), margin)
        first = n
        if not apart:
            n = all_points(surfaces.geo, A, B, margin, places.found, n, w)
        if long and not apart and n == first and n < places.found.most:
            put3(places.apart, slot, w, get3(places.found.normal, n, w))
        return n

    points_of_pair.__name__ = points_of_pair.__qualname__ = f"points_of_pair_{kinds}"
    return wp.func(points_of_pair)


def _find(name: str, kinds: int) -> Any:
    """Among all shapes, or those of some kinds only: a kernel that has no room for all of it."""
    place, angular = _place(f"place_for_{name}", kinds == ROUNDS), _angular(kinds)

    def find(tree: Tree, ws: Workspace, surfaces: Surfaces, places: Places, dt: real, w: int):
        """Points of all pairs; returns how many there are, which may be more than there is room for, or minus the
        number of pairs if these are too many."""
        place(tree, ws, surfaces, places, dt, w)
        pairs = find_pairs(surfaces.broad, places.broad, w)
        n = int(0)
        k = int(0)
        while k < wp.min(pairs, places.broad.most):
            a = get_int(places.broad.pairs, 2 * k, w)
            b = get_int(places.broad.pairs, 2 * k + 1, w)
            closing = wp.length(get3(places.velocity, b, w) - get3(places.velocity, a, w))
            margin = surfaces.margin + dt * (closing + get(places.swing, a, w) + get(places.swing, b, w))
            if may_touch(surfaces, places, a, b, margin, w):
                first = n
                A = placed(surfaces, places, a, w)
                B = placed(surfaces, places, b, w)
                if is_round(A) and is_round(B):
                    n = balls(A, B, margin, places.found, n, real(1.0), w)
                elif A.kind == HALF_SPACE and is_round(B):
                    n = over_plane(A, B, margin, places.found, n, real(1.0), w)
                elif B.kind == HALF_SPACE and is_round(A):
                    n = over_plane(B, A, margin, places.found, n, real(-1.0), w)
                else:
                    n = angular(surfaces, places, a, b, A, B, margin, n, w)
                c = int(first)
                while c < wp.min(n, places.found.most):
                    put_int(places.shape, 2 * c, w, a)
                    put_int(places.shape, 2 * c + 1, w, b)
                    c += 1
            k += 1
        if pairs > places.broad.most:
            n = -pairs
        return n

    find.__name__ = find.__qualname__ = name
    return wp.func(find)


find_rounds = _find("find_rounds", ROUNDS)


@wp.func
def store_touching(places: Places, touch: Touch, needed: int, w: int):
    """What was found, where every world has its own."""
    count = wp.clamp(needed, 0, touch.capacity)
    set_item_int(touch.count, 0, w, count)
    set_item_int(touch.count, 1, w, needed)
    c = int(0)
    while c < count:
        set_item_int(touch.shape, 2 * c, w, get_int(places.shape, 2 * c, w))
        set_item_int(touch.shape, 2 * c + 1, w, get_int(places.shape, 2 * c + 1, w))
        set_item_int(touch.feature, c, w, get_int(places.found.feature, c, w))
        set_item3(touch.normal, 3 * c, w, get3(places.found.normal, c, w))
        set_item3(touch.point, 3 * c, w, get3(places.found.point, c, w))
        set_item(touch.gap, c, w, get(places.found.gap, c, w))
        c += 1


def _kernel(name: str, kinds: int) -> Any:
    find = find_rounds if kinds == ROUNDS else _find(name.replace("kernel", "find"), kinds)

    def find_kernel(
        tree: Tree, ws: Workspace, surfaces: Surfaces, places: Places, touch: Touch, q: array2, v: array2,
        settings: array2,
    ):  # fmt: skip
        """Points of every world at positions q, within a step of velocities v."""
        w = wp.tid()
        poses(tree, ws, q, q, w)
        link_velocities(tree, ws, v, w)
        needed = find(tree, ws, surfaces, places, settings[0, 0], w)
        if wp.static(kinds != ROUNDS):
            if needed > 0 and needed <= places.found.most:
                needed = drop_far(tree, ws, surfaces.geo, places, surfaces.margin, needed, settings[0, 0], w)
        store_touching(places, touch, needed, w)

    find_kernel.__name__ = find_kernel.__qualname__ = name
    return wp.kernel(find_kernel, module="unique", module_options=OPTIONS)


rounds_kernel = _kernel("rounds_kernel", ROUNDS)
solids_kernel = _kernel("solids_kernel", SOLIDS)
collide_kernel = _kernel("collide_kernel", ALL)
