"""Distance of two cores: Gilbert, Johnson and Keerthi's walk to the point of A − B nearest to the origin."""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.support_mapping import TINY, centre, core_support
from sharnir.collision.shapes import Geometry, Placed
from sharnir.kernels.types import DOUBLE, real, vec3, vec4

FAR = 0  # farther apart than asked for
APART = 1
TOGETHER = 2  # the cores share a point
STEPS = wp.constant(64)
FLAT = wp.constant(real(1.0e-10 if DOUBLE else 1.0e-6))  # of its size: height of four corners that span no volume
SLIVER = wp.constant(real(1.0e-3))  # the same of four corners of which all faces are looked at
CLOSE = wp.constant(real(1.0e-13 if DOUBLE else 1.0e-6))  # of |v|²: the duality gap at which the walk ends


@wp.func
def _on_edge(a: vec3, b: vec3):
    """Share of b in the point of segment ab nearest to the origin."""
    d = b - a
    return wp.clamp(-wp.dot(a, d) / wp.max(wp.length_sq(d), real(1.0e-30)), real(0.0), real(1.0))


@wp.func
def nearest_on_triangle(a: vec3, b: vec3, c: vec3):
    """The point of triangle abc nearest to the origin, and the shares of the corners in it.

    The best of its three edges and its inside, each of which is a point of the triangle whatever rounding does. A test
    by regions is cheaper, but in slivers it may pick the wrong one, and the walk then ends far from its goal. Inside,
    the point comes from the normal: in slivers that is more exact than the shares.
    """
    zero = real(0.0)
    one = real(1.0)
    normal = wp.cross(b - a, c - a)
    square = wp.length_sq(normal)
    alpha = wp.dot(normal, wp.cross(b, c))
    beta = wp.dot(normal, wp.cross(c, a))
    gamma = wp.dot(normal, wp.cross(a, b))
    share = vec3(one, zero, zero)
    v = a
    least = wp.length_sq(a)
    if alpha >= zero and beta >= zero and gamma >= zero and square > zero:
        share = vec3(alpha, beta, gamma) / (alpha + beta + gamma)
        v = normal * (wp.dot(normal, a) / square)
        least = wp.length_sq(v)
    t = _on_edge(a, b)
    p = a + (b - a) * t
    if wp.length_sq(p) < least:
        least = wp.length_sq(p)
        v = p
        share = vec3(one - t, t, zero)
    t = _on_edge(a, c)
    p = a + (c - a) * t
    if wp.length_sq(p) < least:
        least = wp.length_sq(p)
        v = p
        share = vec3(one - t, zero, t)
    t = _on_edge(b, c)
    p = b + (c - b) * t
    if wp.length_sq(p) < least:
        v = p
        share = vec3(zero, one - t, t)
    return v, share


@wp.func
def _nearest_on_faces(W: wp.array(dtype=vec3), count: int):
    """As `_nearest` of three or four corners. Of four that are no sliver the faces that have the origin on the side of
    the corner across are passed over: what they have nearest to it is on the others too."""
    best = vec4()
    nearest = vec3()
    least = real(1.0e30)
    inside = int(0)
    face = int(0)
    if count == 3:
        face = 3
    while face < 4:
        i = wp.where(face == 0, 1, 0)
        j = wp.where(face <= 1, 2, 1)
        k = wp.where(face <= 2, 3, 2)
        a = W[i]
        b = W[j]
        c = W[k]
        passed = bool(False)
        if count == 4:
            normal = wp.cross(b - a, c - a)
            other = wp.dot(normal, W[face] - a)
            height = wp.abs(other)
            size = wp.length(normal) * wp.length(W[face] - a)
            if -wp.dot(normal, a) * other > real(0.0) and height > FLAT * size:
                inside += 1
                passed = height > SLIVER * size
        if not passed:
            v, share = nearest_on_triangle(a, b, c)
            if wp.length_sq(v) < least:
                least = wp.length_sq(v)
                nearest = v
                best = vec4()
                best[i] = share[0]
                best[j] = share[1]
                best[k] = share[2]
        face += 1
    if inside == 4:
        best = vec4()
    return nearest, best


@wp.func
def _nearest(W: wp.array(dtype=vec3), count: int):
    """The point of the hull of one to four corners nearest to the origin, and their shares in it, all zero if the
    origin is inside."""
    zero = real(0.0)
    share = vec4(real(1.0), zero, zero, zero)
    v = W[0]
    if count == 2:
        t = _on_edge(W[0], W[1])
        share = vec4(real(1.0) - t, t, zero, zero)
        v = W[0] + (W[1] - W[0]) * t
    elif count > 2:
        v, share = _nearest_on_faces(W, count)
    return v, share


@wp.func
def distance(
    geo: Geometry, A: Placed, B: Placed, reach: real, W: wp.array(dtype=vec3), P: wp.array(dtype=vec3), size: real
):
    """How two cores lie (FAR, APART, TOGETHER), the vector v from the nearest point of B to that of A, the latter, and
    the corners left in W (of A − B) and P (of A), of which there are as many as returned last.

    FAR as soon as they are known to be more than `reach` (m) apart; TOGETHER within rounding of `size` (m).
    """
    v = centre(A) - centre(B)
    if wp.length_sq(v) <= TINY * TINY * size * size:
        v = vec3(size, real(0.0), real(0.0))
    on_a = A.x
    count = int(0)
    state = int(APART)
    step = int(0)
    going = int(1)
    while going == 1 and step < STEPS:
        a = core_support(geo, A, -v)
        corner = a - core_support(geo, B, v)
        along = wp.dot(v, corner)
        squared = wp.length_sq(v)
        if along > real(0.0) and along * along > reach * reach * squared:
            state = FAR
            going = 0
        elif count > 0 and squared - along <= CLOSE * squared:
            going = 0
        else:
            known = int(0)
            i = int(0)
            while i < count:
                if wp.length_sq(W[i] - corner) <= real(0.0):
                    known = 1
                i += 1
            if known == 1:
                going = 0
            else:
                W[count] = corner
                P[count] = a
                new, share = _nearest(W, count + 1)
                total = share[0] + share[1] + share[2] + share[3]
                new_a = vec3()
                kept = int(0)
                if total <= real(0.0):
                    count = count + 1
                    state = TOGETHER
                    going = 0
                else:
                    i = int(0)
                    while i <= count:
                        if share[i] > real(0.0):
                            new_a = new_a + P[i] * share[i]
                            W[kept] = W[i]
                            P[kept] = P[i]
                            kept += 1
                        i += 1
                    # by rounding only: the walk is at its end, and the older point is as good
                    if count > 0 and wp.length_sq(new) >= squared and step > 0:
                        going = 0
                    v = new
                    on_a = new_a
                    count = kept
                    if wp.length_sq(v) <= TINY * TINY * size * size:
                        state = TOGETHER
                        going = 0
        step += 1
    return state, v, on_a, count
