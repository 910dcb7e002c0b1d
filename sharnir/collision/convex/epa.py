"""How deep two cores overlap: the expanding polytope (van den Bergen) inside A − B, around the origin.

Every face of the polytope bounds the depth from below by its distance and from above by the support along its normal.
The answer is the normal of the least upper bound met, so it is a translation that parts the cores even where the
walk ends early for lack of room.
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.convex.epa_refine import polish
from sharnir.collision.convex.gjk import nearest_on_triangle
from sharnir.collision.convex.support_mapping import any_normal, core_support
from sharnir.collision.shapes import Geometry, Placed
from sharnir.enums import CYLINDER
from sharnir.kernels.types import DOUBLE, cos_sin, real, vec3

MOST_CORNERS = wp.constant(64)
MOST_FACES = wp.constant(128)  # Euler: 2 V − 4
MOST_EDGES = wp.constant(64)  # of the rim around what a corner sees
DONE = wp.constant(real(1.0e-10 if DOUBLE else 1.0e-5))  # of the size: distance of the two bounds
THIN = wp.constant(real(1.0e-9 if DOUBLE else 1.0e-4))  # of the size: what does not span a triangle or a volume
ABOVE = wp.constant(real(1.0e-13 if DOUBLE else 1.0e-6))  # of the size: a corner so far above a face sees it

corners = wp.array(dtype=vec3)
triples = wp.array(dtype=wp.vec3i)
numbers = wp.array(dtype=real)


@wp.func
def _spread(W: corners, count: int, attempt: int):
    """A direction in which a point, segment or triangle has not been extended yet."""
    d = vec3()
    if count <= 1:
        sign = wp.where((attempt & 1) == 0, real(1.0), real(-1.0))
        d[(attempt >> 1) % 3] = sign
    elif count == 2:
        along = wp.normalize(W[1] - W[0])
        e = any_normal(along)
        c, s = cos_sin(real(attempt) * real(1.0471975511965976))
        d = e * c + wp.cross(along, e) * s
    else:
        d = wp.normalize(wp.cross(W[1] - W[0], W[2] - W[0]))
        if attempt == 1:
            d = -d
    return d


@wp.func
def _spans(W: corners, count: int, corner: vec3, size: real):
    """Whether a corner extends a point to a segment, a segment to a triangle, a triangle to a volume."""
    far = real(1.0)
    if count == 1:
        far = wp.length(corner - W[0])
    elif count == 2:
        far = wp.length(wp.cross(wp.normalize(W[1] - W[0]), corner - W[0]))
    elif count == 3:
        far = wp.abs(wp.dot(wp.normalize(wp.cross(W[1] - W[0], W[2] - W[0])), corner - W[0]))
    return far > THIN * size


@wp.func
def _complete(geo: Geometry, A: Placed, B: Placed, W: corners, P: corners, count: int, size: real):
    """Extend the corners of a walk to a tetrahedron; returns how many there are: fewer than 4 if A − B is flat."""
    kept = int(0)  # corners that GJK left may be closer together than `THIN`
    i = int(0)
    while i < count:
        if _spans(W, kept, W[i], size):
            W[kept] = W[i]
            P[kept] = P[i]
            kept += 1
        i += 1
    attempt = int(0)
    while kept < 4 and attempt < 6:
        d = _spread(W, kept, attempt)
        a = core_support(geo, A, d)
        corner = a - core_support(geo, B, -d)
        attempt += 1
        if _spans(W, kept, corner, size):
            W[kept] = corner
            P[kept] = a
            kept += 1
            attempt = 0
    return kept


@wp.func
def _put_face(W: corners, F: triples, N: corners, D: numbers, at: int, i: int, j: int, k: int, size: real):
    """Face ijk, counter-clockwise from outside. A sliver has no normal to speak of: it is never the nearest."""
    normal = wp.cross(W[j] - W[i], W[k] - W[i])
    area = wp.length(normal)
    F[at] = wp.vec3i(i, j, k)
    longest = wp.max(wp.length_sq(W[j] - W[i]), wp.max(wp.length_sq(W[k] - W[i]), wp.length_sq(W[k] - W[j])))
    if area > ABOVE * longest and area > ABOVE * ABOVE * size * size:
        N[at] = normal / area
        D[at] = wp.dot(N[at], W[i])
    else:
        N[at] = vec3()
        D[at] = real(1.0e30)


@wp.func
def _first_faces(W: corners, F: triples, N: corners, D: numbers, size: real):
    """The faces of the tetrahedron of corners 0 to 3."""
    volume = wp.dot(wp.cross(W[1] - W[0], W[2] - W[0]), W[3] - W[0])
    face = int(0)
    while face < 4:
        i = wp.where(face == 0, 1, 0)
        j = wp.where(face <= 1, 2, 1)
        k = wp.where(face <= 2, 3, 2)
        outward = (face & 1) == 0  # as (i, j, k) of even faces turn if the volume is positive
        if outward == (volume > real(0.0)):
            _put_face(W, F, N, D, face, i, j, k, size)
        else:
            _put_face(W, F, N, D, face, i, k, j, size)
        face += 1


@wp.func
def _toggle(E: wp.array(dtype=wp.vec2i), edges: int, i: int, j: int):
    """Add an edge to a rim, or take out the same edge the other way round; returns how many there are."""
    at = int(-1)
    k = int(0)
    while k < edges:
        if E[k][0] == j and E[k][1] == i:
            at = k
        k += 1
    if at >= 0:
        E[at] = E[edges - 1]
        edges = edges - 1
    elif edges < MOST_EDGES:
        E[edges] = wp.vec2i(i, j)
        edges = edges + 1
    return edges


@wp.func
def _expand(W: corners, F: triples, N: corners, D: numbers, faces: int, corner: int, size: real):
    """Replace the faces that a corner sees by those between it and their rim; returns how many there are, or −1 where
    there is no room for them."""
    E = wp.zeros(shape=(MOST_EDGES,), dtype=wp.vec2i)
    edges = int(0)
    f = int(0)
    while f < faces:
        if D[f] < real(1.0e29) and wp.dot(N[f], W[corner]) - D[f] > ABOVE * size:
            t = F[f]
            edges = _toggle(E, edges, t[0], t[1])
            edges = _toggle(E, edges, t[1], t[2])
            edges = _toggle(E, edges, t[2], t[0])
            faces -= 1
            F[f] = F[faces]
            N[f] = N[faces]
            D[f] = D[faces]
        else:
            f += 1
    if faces + edges > MOST_FACES or edges == 0:
        faces = -1
    else:
        f = int(0)
        while f < edges:
            _put_face(W, F, N, D, faces, E[f][0], E[f][1], corner, size)
            faces += 1
            f += 1
    return faces


@wp.func
def _nearest_face(D: numbers, faces: int):
    best = int(0)
    f = int(1)
    while f < faces:
        if D[f] < D[best]:
            best = f
        f += 1
    return best


@wp.func
def depth(geo: Geometry, A: Placed, B: Placed, W4: corners, P4: corners, count: int, size: real):
    """Unit normal from A to B along which parting two overlapping cores takes least, how far (m), and the point of A
    that is deepest. W4, P4: corners of A − B and of A where `distance` ended."""
    normal = vec3(real(0.0), real(0.0), real(1.0))
    least = real(1.0e30)
    count = _complete(geo, A, B, W4, P4, count, size)
    on_a = P4[0]
    if count < 4:  # flat: the origin is in the plane of A − B, or on its line
        normal = _spread(W4, count, 0)
        least = real(0.0)
    else:
        W = wp.zeros(shape=(MOST_CORNERS,), dtype=vec3)
        P = wp.zeros(shape=(MOST_CORNERS,), dtype=vec3)
        F = wp.zeros(shape=(MOST_FACES,), dtype=wp.vec3i)
        N = wp.zeros(shape=(MOST_FACES,), dtype=vec3)
        D = wp.zeros(shape=(MOST_FACES,), dtype=real)
        i = int(0)
        while i < 4:
            W[i] = W4[i]
            P[i] = P4[i]
            i += 1
        _first_faces(W, F, N, D, size)
        faces = int(4)
        best = wp.vec3i(0, 1, 2)
        while count < MOST_CORNERS and faces > 0:
            f = _nearest_face(D, faces)
            low = D[f]
            d = N[f]
            a = core_support(geo, A, d)
            corner = a - core_support(geo, B, -d)
            high = wp.dot(d, corner)
            if high < least and low < real(1.0e29):
                least = high
                normal = d
                best = F[f]
            if least - low <= DONE * size:
                faces = 0
            else:
                W[count] = corner
                P[count] = a
                faces = _expand(W, F, N, D, faces, count, size)
                count = count + 1
        foot = normal * wp.dot(normal, W[best[0]])
        v, share = nearest_on_triangle(W[best[0]] - foot, W[best[1]] - foot, W[best[2]] - foot)
        on_a = P[best[0]] * share[0] + P[best[1]] * share[1] + P[best[2]] * share[2]
        if A.kind == CYLINDER and B.kind == CYLINDER and count == MOST_CORNERS:
            normal, least, on_a = polish(geo, A, B, normal, least, on_a)
    return normal, least, on_a
