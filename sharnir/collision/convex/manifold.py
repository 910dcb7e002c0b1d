"""The points where two shapes meet along a known normal: the part their two faces share, or their edges, or a point."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.clip import CLIPPED, CODE, choose, clip
from sharnir.collision.convex.features import ROOM, best_face, edge_corners, face_corners
from sharnir.collision.convex.support_mapping import any_normal, core_radius
from sharnir.collision.shapes import Found, Geometry, Placed, put_point
from sharnir.enums import CYLINDER, HALF_SPACE
from sharnir.kernels.types import DOUBLE, mat33, real, vec3

FLUSH = wp.constant(real(0.9986))  # cosine between normal and face, 3°, from which on the face carries points
PARALLEL = wp.constant(real(0.01))  # sine of the angle below which two edges give two points
EXACT = wp.constant(real(1.0e-9 if DOUBLE else 1.0e-4))  # of the size: the deepest point may miss the gap by so much
ALIKE = wp.constant(real(1.0e-7 if DOUBLE else 1.0e-4))  # of the size: depths that are equal but for rounding
# On a cylinder's rim the deepest point turns with the smallest tilt; below this one the points stay put.
SETTLED = wp.constant(real(1.0e-6 if DOUBLE else 1.0e-4))

HALF = wp.constant(real(0.5 + (1.0e-7 if DOUBLE else 1.0e-5)))  # of an edge, and a little for rounding
GUESSED = 0  # nothing
FACING = 1  # on_a and on_b face each other across the gap
BOUNDED = 2  # no point has a smaller gap, and there may be no point at all
TWO_FACES = wp.constant(16)  # 2 ROOM
TWO_PARTS = wp.constant(32)  # 2 CLIPPED

corners = wp.array(dtype=vec3)
numbers = wp.array(dtype=int)
reals = wp.array(dtype=real)


@wp.struct
class Meeting:
    """How two shapes meet."""

    normal: vec3  # from A to B, unit length
    gap: real  # between their surfaces along it, m
    on_a: vec3  # the point of A's core that is nearest to B, or deepest in it, world, m
    on_b: vec3
    size: real  # of the shapes, m
    sure: int  # what is known besides normal and gap: GUESSED, FACING or BOUNDED


@wp.func
def _segments(V: corners, I: numbers, Q: corners, code: numbers, gap: reals, parallel: real):
    """Points between segments V[0 … 1] and V[ROOM … ROOM + 1]: the ends of what they share if they are parallel (to a
    sine of `parallel`), else where they cross; `gap` gets h of the second minus h of the first, Q the first."""
    du = V[1] - V[0]
    dv = V[ROOM + 1] - V[ROOM]
    u2 = du[0] * du[0] + du[1] * du[1]
    v2 = dv[0] * dv[0] + dv[1] * dv[1]
    turn = du[0] * dv[1] - du[1] * dv[0]
    count = int(0)
    o = V[ROOM] - V[0]
    if turn * turn < parallel * parallel * u2 * v2:
        s0 = (o[0] * du[0] + o[1] * du[1]) / u2
        s1 = s0 + (dv[0] * du[0] + dv[1] * du[1]) / u2
        low = wp.max(real(0.0), wp.min(s0, s1))
        high = wp.min(real(1.0), wp.max(s0, s1))
        if high > low and wp.abs(s1 - s0) > real(0.0):
            k = int(0)
            while k < 2:
                s = wp.where(k == 0, low, high)
                t = (s - s0) / (s1 - s0)
                Q[k] = V[0] + du * s
                gap[k] = V[ROOM][2] + dv[2] * t - Q[k][2]
                end = I[k]  # whose end it is: of the first edge, or of the second
                if s > real(0.0) and s < real(1.0):
                    end = (I[ROOM + wp.where(t > real(0.5), 1, 0)] + 1) * CODE
                code[k] = end
                k += 1
            count = 2
    elif u2 * v2 > real(0.0):
        s = (o[0] * dv[1] - o[1] * dv[0]) / turn
        t = (o[0] * du[1] - o[1] * du[0]) / turn
        if wp.abs(s - real(0.5)) <= HALF and wp.abs(t - real(0.5)) <= HALF:
            Q[0] = V[0] + du * s
            gap[0] = V[ROOM][2] + dv[2] * t - Q[0][2]
            code[0] = (wp.min(I[0], I[1]) + 1) * CODE + wp.min(I[ROOM], I[ROOM + 1]) + 1
            count = 1
    return count


@wp.func
def _project(T: mat33, origin: vec3, V: corners, first: int, count: int):
    k = int(first)
    while k < first + count:
        V[k] = T * (V[k] - origin)
        k += 1


@wp.func
def _gather(
    geo: Geometry, A: Placed, B: Placed, m: Meeting, T: mat33, origin: vec3, Q: corners, code: numbers, gap: reals
):
    """Candidates in axes T about an origin: Q holds points of A, `gap` the height of B over them, not counting radii.
    Returns where they start in Q and code, and how many they are."""
    V = wp.zeros(shape=(TWO_FACES,), dtype=vec3)
    I = wp.zeros(shape=(TWO_FACES,), dtype=int)
    tag = wp.zeros(shape=(TWO_PARTS,), dtype=int)
    fa, na, far_a = best_face(geo, A, m.normal)
    fb, nb, far_b = best_face(geo, B, -m.normal)
    if A.kind == HALF_SPACE:
        na = m.normal
    flush_a = wp.dot(na, m.normal)
    flush_b = -wp.dot(nb, m.normal)
    first = int(0)
    count = int(0)
    if wp.max(flush_a, flush_b) > FLUSH:
        in_a = int(0)
        if A.kind != HALF_SPACE:
            in_a = face_corners(geo, A, m.normal, fa, V, I, 0)
        in_b = face_corners(geo, B, -m.normal, fb, V, I, ROOM)
        _project(T, origin, V, 0, in_a)
        _project(T, origin, V, ROOM, in_b)
        # the flatter face is the reference; A unless B is clearly better, so that it does not alternate
        by_a = A.kind == HALF_SPACE or (flush_a >= flush_b - real(1.0e-4) and in_a > 2) or in_b <= 2
        if by_a:
            first, count = clip(V, I, 0, in_a, ROOM, in_b, real(1.0), Q, code, tag)
        else:
            first, count = clip(V, I, ROOM, in_b, 0, in_a, real(-1.0), Q, code, tag)
        f = T * wp.where(by_a, na, nb)
        at = wp.where(by_a, V[0], V[ROOM])
        if A.kind == HALF_SPACE:
            at = T * (A.x - origin)
        k = int(0)
        while k < count:
            q = Q[first + k]
            h = at[2] - (f[0] * (q[0] - at[0]) + f[1] * (q[1] - at[1])) / f[2]
            if by_a:
                gap[k] = q[2] - h
                Q[first + k] = vec3(q[0], q[1], h)
            else:
                gap[k] = h - q[2]
                code[first + k] = (code[first + k] % CODE) * CODE + code[first + k] / CODE
            k += 1
    else:
        in_a = edge_corners(geo, A, m.normal, far_a, V, I, 0)
        in_b = edge_corners(geo, B, -m.normal, far_b, V, I, ROOM)
        if in_a == 2 and in_b == 2:
            _project(T, origin, V, 0, 2)
            _project(T, origin, V, ROOM, 2)
            # an axis that was guessed is right if the edges cross: nearly parallel ones may also pass beside each other
            count = _segments(V, I, Q, code, gap, wp.where(m.sure == GUESSED, real(0.0), PARALLEL))
    return first, count


@wp.func
def _within(Q: corners, code: numbers, gap: reals, first: int, count: int, radii: real, margin: real, floor: real):
    """Take the radii off the gaps, which cannot be below `floor` but for rounding, and leave out points beyond the
    margin; returns how many stay, and the least gap."""
    kept = int(0)
    least = real(1.0e30)
    k = int(0)
    while k < count:
        g = wp.max(gap[k] - radii, floor)
        if g < margin:
            Q[first + kept] = Q[first + k]
            code[first + kept] = code[first + k]
            gap[kept] = g
            least = wp.min(least, g)
            kept += 1
        k += 1
    return kept, least


@wp.func
def _include(Q: corners, gap: reals, first: int, count: int, q: vec3, g: real):
    """Move the point nearest to q there: it keeps its feature, and the deepest point is not lost."""
    near = int(0)
    least = real(1.0e30)
    k = int(0)
    while k < count:
        du = Q[first + k][0] - q[0]
        dv = Q[first + k][1] - q[1]
        if du * du + dv * dv < least:
            least = du * du + dv * dv
            near = k
        k += 1
    Q[first + near] = q
    gap[near] = g


@wp.func
def put_meeting(
    geo: Geometry, A: Placed, B: Placed, m: Meeting, origin: vec3, margin: real, found: Found, n: int, flip: real,
    w: int,
):  # fmt: skip
    """Append at most four points, from coordinates about an origin (m) to the world's; none where the gap was guessed
    and no point has it. Returns how many there are."""
    Q = wp.zeros(shape=(TWO_PARTS,), dtype=vec3)
    code = wp.zeros(shape=(TWO_PARTS,), dtype=int)
    gap = wp.zeros(shape=(CLIPPED,), dtype=real)
    normal = m.normal
    t1 = any_normal(normal)
    t2 = wp.cross(normal, t1)
    T = mat33(t1[0], t1[1], t1[2], t2[0], t2[1], t2[2], normal[0], normal[1], normal[2])
    ra = core_radius(A)
    rb = core_radius(B)
    first, all = _gather(geo, A, B, m, T, B.x, Q, code, gap)
    count, least = _within(Q, code, gap, first, all, ra + rb, margin, m.gap)
    slack = EXACT
    if count > 2 and (A.kind == CYLINDER or B.kind == CYLINDER):
        slack = SETTLED
    missed = count == 0 or least > m.gap + slack * m.size
    if missed and m.sure == FACING:
        q = T * (m.on_a - B.x)
        if count == 0:
            first = 0
            code[0] = 0
            count = 1
        _include(Q, gap, first, count, q, m.gap)
    if not missed or m.sure != GUESSED:
        pick = wp.vec4i(0, 1, 2, 3)
        if count > 4:
            pick = choose(Q, gap, first, count, wp.max(slack, ALIKE) * m.size)
        k = int(0)
        while k < wp.min(count, 4):
            i = pick[k]
            if i >= 0 and (k == 0 or i != pick[0]):
                q = Q[first + i]
                # q is on A's core: halfway to B's surface from there
                middle = q + vec3(real(0.0), real(0.0), ra + real(0.5) * gap[i])
                point = origin + B.x + wp.transpose(T) * middle
                n = put_point(found, n, normal * flip, point, gap[i], code[first + i], w)
            k += 1
    return n
