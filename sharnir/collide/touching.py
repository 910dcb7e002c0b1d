"""Where the shapes of a world touch or are about to, in a fixed order."""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.access import (
    get,
    get3,
    get33,
    get_int,
    ints2,
    put,
    put3,
    put33,
    put_int,
    set_item,
    set_item3,
    set_item_int,
    world_columns,
)
from sharnir.collide.balls import balls, is_round, over_plane
from sharnir.collide.broad import Broad, BroadWork, broad_work_on, find_pairs, put_box
from sharnir.collide.geometry import Found, Geometry, Placed
from sharnir.collide.meet import meet
from sharnir.dynamics.forces import pivot
from sharnir.dynamics.kinematics import poses
from sharnir.dynamics.momenta import link_velocities
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.kinds import BOX, CAPSULE, CYLINDER, HALF_SPACE, HEIGHT_FIELD, HULL
from sharnir.maths import array2, column, mat33, real, vec3
from sharnir.spans import indices

OPTIONS = {"enable_backward": False, "cpu_compiler_flags": "-march=native -mllvm=-inline-threshold=20000"}

SPARE = 16  # points that a pair needs room for while it chooses among them
PROPERTIES = 6  # of a material, or of a pair of them
SLIDING, STATIC, ROLLING, SPINNING, RESTITUTION, THRESHOLD = range(PROPERTIES)


@wp.struct
class Surfaces:
    """What a model's shapes are and which pairs of them may touch."""

    geo: Geometry
    any: int  # 1 if any two shapes may touch
    rounds: int  # 1 if there are only balls, capsules and half-spaces
    looks_back: int  # 1 if speeds before the step matter: for restitution, or static friction above sliding
    broad: Broad
    margin: real  # m, within which points are sought besides what motion asks for
    materials: int
    material: indices  # [shape]
    table: wp.array(dtype=real)  # [PROPERTIES material²] of pairs of materials
    drift: wp.array(dtype=vec3)  # [shape] velocity of the surface against its body, link axes, m/s


@wp.struct
class Touch:
    """Points of every world that touch or may touch within a step, [item, world]."""

    most: int  # points there is room for
    count: ints2  # [2] points stored, points there are
    shape: ints2  # [2 point] the smaller index first
    feature: ints2  # [point] see `Found`
    normal: array2  # [3 point] from the first shape to the second, world axes
    point: array2  # [3 point] halfway between the surfaces, m
    gap: array2  # [point] m; negative: they overlap


@wp.struct
class Places:
    """Where shapes are while points are sought, in workspace columns."""

    found: Found
    shape: ints2  # [2 point]
    R: array2  # [9 shape] axes in the world
    x: array2  # [3 shape] origin in the world, m
    speed: array2  # [shape] bound on how fast its points move, m/s
    broad: BroadWork


def touch_on(most: int, worlds: int, device: str) -> Touch:
    """Zeroed room for some points of every world."""
    out = Touch()
    out.most = most
    for name, rows in (("normal", 3), ("point", 3), ("gap", 1)):
        setattr(out, name, world_columns(rows * most, worlds, device))
    for name, size in (("count", 2), ("shape", 2 * most), ("feature", most)):
        setattr(out, name, world_columns(size, worlds, device, int))
    return out


def places_on(shapes: int, most: int, pairs: int, columns: int, device: str) -> Places:
    """Zeroed scratch for `most` points and `pairs` pairs of shapes near each other."""
    most += SPARE
    found = Found()
    found.most = most
    for name, rows in (("normal", 3), ("point", 3), ("gap", 1)):
        setattr(found, name, wp.zeros((rows * most, columns), dtype=real, device=device))
    found.feature = wp.zeros((most, columns), dtype=int, device=device)
    out = Places()
    out.found = found
    out.shape = wp.zeros((2 * most, columns), dtype=int, device=device)
    for name, rows in (("R", 9), ("x", 3), ("speed", 1)):
        setattr(out, name, wp.zeros((rows * shapes, columns), dtype=real, device=device))
    out.broad = broad_work_on(shapes, pairs, columns, device)
    return out


def _place(name: str, rounds_only: bool) -> Any:
    """Of balls, capsules and half-spaces only the third axis counts."""

    def place(tree: Tree, ws: Workspace, surfaces: Surfaces, places: Places, dt: real, w: int):
        """Poses of all shapes, and how fast they move at most: links move as `a` in the workspace says."""
        fall = wp.length(tree.gravity) * dt
        s = int(0)
        while s < surfaces.geo.count:
            link = surfaces.geo.link[s]
            R = surfaces.geo.rot[s]
            x = surfaces.geo.pos[s]
            speed = real(0.0)
            if link >= 0:
                B = get33(ws.R, link, w)
                r = get3(ws.x, link, w) + B * x
                om = get3(ws.a, 2 * link + 1, w)
                speed = wp.length(get3(ws.a, 2 * link, w) + wp.cross(om, r))
                speed = speed + wp.length(om) * surfaces.geo.radius[s] + fall
                R = B * R
                x = pivot(tree, ws, link, w) + r
            if wp.static(rounds_only):
                put(places.R, 9 * s + 2, w, R[0, 2])
                put(places.R, 9 * s + 5, w, R[1, 2])
                put(places.R, 9 * s + 8, w, R[2, 2])
            else:
                put33(places.R, s, w, R)
            put3(places.x, s, w, x)
            put(places.speed, s, w, speed)
            half = half_extents(surfaces.geo, s, R, wp.static(rounds_only))
            grown = real(0.5) * surfaces.margin + dt * speed
            half = half + vec3(grown, grown, grown)
            put_box(surfaces.broad, places.broad, s, x - half, x + half, w)
            s += 1

    place.__name__ = place.__qualname__ = name
    return wp.func(place)


place_shapes = _place("place_shapes", rounds_only=False)
place_rounds = _place("place_rounds", rounds_only=True)


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
def reach_along(box: vec3, x: real, y: real, z: real):
    """How far a box of these half-extents reaches from its middle along (x, y, z) in its axes, m."""
    return wp.abs(x) * box[0] + wp.abs(y) * box[1] + wp.abs(z) * box[2]


@wp.func
def half_extents(geo: Geometry, s: int, R: mat33, rounds_only: bool):
    """Half the edges of the box along the world's axes that holds a shape; infinite for a half-space, m. rounds_only:
    all shapes are balls, capsules and half-spaces."""
    kind = geo.kind[s]
    size = geo.size[s]
    out = vec3(geo.radius[s], geo.radius[s], geo.radius[s])
    if not rounds_only and (kind == BOX or kind == CYLINDER or kind == HULL):
        k = int(0)
        while k < 3:
            out[k] = reach_along(geo.box[s], R[k, 0], R[k, 1], R[k, 2])
            k += 1
    elif kind == CAPSULE:
        z = column(R, 2) * size[1]
        out = vec3(wp.abs(z[0]), wp.abs(z[1]), wp.abs(z[2])) + vec3(size[0], size[0], size[0])
    elif kind == HALF_SPACE:
        out = vec3(real(wp.inf), real(wp.inf), real(wp.inf))
    return out


@wp.func
def is_angular(kind: int):
    return kind == BOX or kind == CYLINDER or kind == HULL


@wp.func
def boxes_meet(box_a: vec3, box_b: vec3, A: mat33, B: mat33, apart: vec3, margin: real):
    """Whether no face of two boxes has the other box beyond it, by more than a margin. box_a, box_b: half-extents, m;
    A, B: axes; apart: from the middle of a to that of b; world, m."""
    turn = wp.transpose(A) * B
    in_a = wp.transpose(A) * apart
    in_b = wp.transpose(B) * apart
    meet = bool(True)
    k = int(0)
    while k < 3:
        over_a = reach_along(box_b, turn[k, 0], turn[k, 1], turn[k, 2])
        over_b = reach_along(box_a, turn[0, k], turn[1, k], turn[2, k])
        if wp.abs(in_a[k]) > box_a[k] + over_a + margin or wp.abs(in_b[k]) > box_b[k] + over_b + margin:
            meet = bool(False)
        k += 1
    return meet


@wp.func
def may_touch(surfaces: Surfaces, places: Places, a: int, b: int, margin: real, w: int):
    """Whether the balls and boxes around two shapes meet, or a ball reaches into a half-space, within a margin."""
    apart = get3(places.x, b, w) - get3(places.x, a, w)
    reach = surfaces.geo.radius[a] + surfaces.geo.radius[b] + margin
    near = wp.dot(apart, apart) < reach * reach
    if surfaces.geo.kind[a] == HALF_SPACE:
        near = wp.dot(column(get33(places.R, a, w), 2), apart) < reach
    elif surfaces.geo.kind[b] == HALF_SPACE:
        near = wp.dot(column(get33(places.R, b, w), 2), -apart) < reach
    elif surfaces.geo.kind[a] == HEIGHT_FIELD or surfaces.geo.kind[b] == HEIGHT_FIELD:  # solid however deep
        near = bool(True)
    elif near and (is_angular(surfaces.geo.kind[a]) or is_angular(surfaces.geo.kind[b])):
        box_a = surfaces.geo.box[a]
        box_b = surfaces.geo.box[b]
        near = boxes_meet(box_a, box_b, get33(places.R, a, w), get33(places.R, b, w), apart, margin)
    return near


def _find(name: str, rounds_only: bool) -> Any:
    """Among all shapes, or among balls, capsules and half-spaces only: a kernel that has no room for all of it."""

    def find(tree: Tree, ws: Workspace, surfaces: Surfaces, places: Places, dt: real, w: int):
        """Points of all pairs; returns how many there are, which may be more than there is room for, or minus the
        number of pairs if these are too many."""
        if wp.static(rounds_only):
            place_rounds(tree, ws, surfaces, places, dt, w)
        else:
            place_shapes(tree, ws, surfaces, places, dt, w)
        pairs = find_pairs(surfaces.broad, places.broad, w)
        n = int(0)
        k = int(0)
        while k < wp.min(pairs, places.broad.most):
            a = get_int(places.broad.pairs, 2 * k, w)
            b = get_int(places.broad.pairs, 2 * k + 1, w)
            margin = surfaces.margin + dt * (get(places.speed, a, w) + get(places.speed, b, w))
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
                elif wp.static(not rounds_only):
                    n = meet(surfaces.geo, A, B, margin, places.found, n, w)
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


find_touching = _find("find_touching", rounds_only=False)
find_rounds = _find("find_rounds", rounds_only=True)


@wp.func
def store_touching(places: Places, touch: Touch, needed: int, w: int):
    """What was found, where every world has its own."""
    count = wp.clamp(needed, 0, touch.most)
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


def _kernel(name: str, find: Any) -> Any:
    def find_kernel(
        tree: Tree, ws: Workspace, surfaces: Surfaces, places: Places, touch: Touch, q: array2, v: array2,
        settings: array2,
    ):  # fmt: skip
        """Points of every world at positions q, within a step of velocities v."""
        w = wp.tid()
        poses(tree, ws, q, q, w)
        link_velocities(tree, ws, v, w)
        needed = find(tree, ws, surfaces, places, settings[0, 0], w)
        store_touching(places, touch, needed, w)

    find_kernel.__name__ = find_kernel.__qualname__ = name
    return wp.kernel(find_kernel, module="unique", module_options=OPTIONS)


collide_kernel = _kernel("collide_kernel", find_touching)
rounds_kernel = _kernel("rounds_kernel", find_rounds)
