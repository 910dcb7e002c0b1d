"""Flat contacts: by what share the friction of their points is drawn toward the centre of pressure, so that the torque
against spin is that of uniform pressure (M-109).

A flat contact has its few points at the corners of the area, or on the rim of a disc: at these, friction would have too
long an arm (half as much again for a disc, 1.85 times for a square).
"""

from __future__ import annotations

import warp as wp

from sharnir.collision.buffers import CollisionScratch, ContactCount, Contacts
from sharnir.collision.contact_model import ContactModel
from sharnir.collision.contact_reduction import MAX_PAIR_CONTACTS
from sharnir.collision.convex.manifold import TangentFrame, make_tangent_frame
from sharnir.enums import ShapeKind
from sharnir.kernels.columns import get3, get33, item, item3, item_int, set_item
from sharnir.kernels.types import VEC3, column, int_array, real, vec3, vec3_array

FLAT_POINTS = wp.constant(MAX_PAIR_CONTACTS)
FLUSH = wp.constant(real(1.0e-3))  # relative to the contact's size: points that are higher than the lowest take no part
SAME_NORMAL_COSINE = wp.constant(real(0.9999))
UPRIGHT_COSINE = wp.constant(real(0.999))  # between axis and normal, above which a cylinder stands on its end
TOL_ON_RIM = wp.constant(real(1.0e-3))  # of the radius: points nearer to the rim are on it
INSIDE = wp.constant(real(0.3))  # of the radius: the disc is whole where its centre is so far inside all edges
TOL_RECTANGLE = wp.constant(real(1.0e-3))  # of the squared diagonal
DISC_MEAN_RADIUS = wp.constant(real(0.6666666666666666))  # of the radius: mean distance from the centre of a disc


@wp.struct
class Area:
    """Area of a flat contact in the plane across its normal: local arrays of the caller."""

    point: vec3_array  # [FLAT_POINTS] (u, v, 0), m, about the first contact
    corner: int_array  # [FLAT_POINTS] which of `point` are its corners, counter-clockwise
    points: int
    corners: int
    centre: vec3  # m


@wp.func
def make_area(point: vec3_array, corner: int_array):
    """An area over local arrays of the caller, which must outlive it."""
    out = Area()
    out.point = point
    out.corner = corner
    return out


@wp.func
def cross2(a: vec3, b: vec3):
    """The component of a × b across the plane."""
    return a[0] * b[1] - a[1] * b[0]


@wp.func
def wrap_points(area: wp.ref[Area]):
    """Corners of the convex hull of the points, by gift wrapping."""
    first = int(0)
    k = int(1)
    while k < area.points:
        if area.point[k][0] > area.point[first][0]:
            first = k
        k += 1
    at = int(first)
    area.corners = 0
    closed = bool(False)
    while not closed and area.corners < area.points:
        area.corner[area.corners] = at
        area.corners += 1
        best = wp.where(at == 0, 1, 0)
        k = int(0)
        while k < area.points:
            if k != at:
                to_best = area.point[best] - area.point[at]
                to_k = area.point[k] - area.point[at]
                turn = cross2(to_best, to_k)
                if turn < real(0.0) or (turn == real(0.0) and wp.length_sq(to_k) > wp.length_sq(to_best)):
                    best = k
            k += 1
        at = best
        closed = at == first


@wp.func
def is_convex_in_order(area: wp.ref[Area]):
    """1 or −1 where the four points are the corners of a convex polygon in their order, counter-clockwise or clockwise,
    else 0."""
    last = area.points - 1
    a = area.point[1] - area.point[0]
    b = area.point[2] - area.point[1]
    c = area.point[last] - area.point[2]
    d = area.point[0] - area.point[last]
    ab = cross2(a, b)
    bc = cross2(b, c)
    cd = cross2(c, d)
    da = cross2(d, a)
    out = int(0)
    if ab > real(0.0) and bc > real(0.0) and cd > real(0.0) and da > real(0.0):
        out = 1
    elif ab < real(0.0) and bc < real(0.0) and cd < real(0.0) and da < real(0.0):
        out = -1
    return out


@wp.func
def find_corners(area: wp.ref[Area]):
    """Corners of the convex hull of the points; four of them are often in order already."""
    order = int(0)
    if area.points == 4:
        order = is_convex_in_order(area)
    if order != 0:
        k = int(0)
        while k < 4:
            area.corner[k] = wp.where(order == 1, k, 3 - k)
            k += 1
        area.corners = 4
    else:
        wrap_points(area)


@wp.func
def find_centre(area: wp.ref[Area]):
    """Centre of area of the polygon of the corners; returns twice its area (m²)."""
    double_area = real(0.0)
    moment = vec3()
    o = area.point[area.corner[0]]
    k = int(1)
    while k + 1 < area.corners:
        p = area.point[area.corner[k]] - o
        q = area.point[area.corner[k + 1]] - o
        double_area = double_area + cross2(p, q)
        moment = moment + (p + q) * cross2(p, q)
        k += 1
    area.centre = o
    if double_area > real(0.0):
        area.centre = o + moment / (real(3.0) * double_area)
    return double_area


@wp.func
def mean_edge_distance(p: vec3, q: vec3, rp: real, rq: real):
    """Mean distance of the points of an edge from p to q from the origin, by Simpson's rule on its halves; rp, rq: of
    its ends."""
    middle = (p + q) * real(0.5)
    quarters = wp.length(p + middle) + wp.length(middle + q)  # twice their distances
    return (rp + rq + real(2.0) * (quarters + wp.length(middle))) * real(1.0 / 12.0)


@wp.func
def measure_polygon(area: wp.ref[Area], double_area: real):
    """Mean distance (m) of the polygon's points from its centre, and the least distance of an edge from the centre:
    two thirds of that of an edge in the triangle from the centre to it."""
    total = real(0.0)
    nearest = real(1.0e30)
    p = area.point[area.corner[area.corners - 1]] - area.centre
    rp = wp.length(p)
    k = int(0)
    while k < area.corners:
        q = area.point[area.corner[k]] - area.centre
        rq = wp.length(q)
        twice = cross2(p, q)
        total = total + twice * mean_edge_distance(p, q, rp, rq)
        nearest = wp.min(nearest, twice / wp.length(q - p))
        p = q
        rp = rq
        k += 1
    return total * real(2.0 / 3.0) / double_area, nearest


@wp.func
def mean_point_distance(area: wp.ref[Area]):
    """Mean distance (m) of the points from the centre."""
    total = real(0.0)
    k = int(0)
    while k < area.points:
        total = total + wp.length(area.point[k] - area.centre)
        k += 1
    return total / real(area.points)


@wp.func
def is_on_rim(area: wp.ref[Area], middle: vec3, radius: real):
    """Whether all points are on the rim of a disc about `middle`."""
    found = bool(True)
    k = int(0)
    while k < area.points:
        found = found and wp.abs(wp.length(area.point[k] - middle) - radius) < TOL_ON_RIM * radius
        k += 1
    return found


@wp.func
def find_disc(
    model: ContactModel, scratch: CollisionScratch, area: wp.ref[Area], frame: TangentFrame, shape: int, w: int
):
    """Radius (m) of the disc that the area is where a shape is a cylinder that stands on the whole of its end; else 0.
    Its middle is the centre of the area then."""
    radius = real(0.0)
    if model.geo.kind[shape] == ShapeKind.CYLINDER:
        axis = column(get33(scratch.R, shape, w), 2)
        if wp.abs(wp.dot(axis, vec3(frame.T[2, 0], frame.T[2, 1], frame.T[2, 2]))) > UPRIGHT_COSINE:
            middle = frame.T * (get3(scratch.x, shape, w) - frame.origin)
            middle = vec3(middle[0], middle[1], real(0.0))
            if is_on_rim(area, middle, model.geo.size[shape][0]):
                centre = area.centre
                area.centre = middle
                distance, nearest = measure_polygon(area, real(1.0))
                if nearest > INSIDE * model.geo.size[shape][0]:
                    radius = model.geo.size[shape][0]
                else:
                    area.centre = centre
    return radius


@wp.func
def load_area(contacts: Contacts, area: wp.ref[Area], frame: TangentFrame, pair: wp.vec2i, w: int):
    """Load the points of a pair's contacts, from pair[0] to pair[1], that are flush; none where normals differ."""
    size2 = real(0.0)
    lowest = real(1.0e30)
    parallel = bool(True)
    c = int(pair[0])
    while c < pair[1]:
        d = item3(contacts.point, VEC3 * c, w) - frame.origin
        size2 = wp.max(size2, wp.dot(d, d))
        lowest = wp.min(lowest, item(contacts.gap, c, w))
        up = frame.T * item3(contacts.normal, VEC3 * c, w)
        parallel = parallel and up[2] > SAME_NORMAL_COSINE
        c += 1
    highest = lowest + FLUSH * wp.sqrt(size2)
    area.points = 0
    c = int(pair[0])
    while c < pair[1] and parallel:
        if item(contacts.gap, c, w) < highest and area.points < FLAT_POINTS:
            d = frame.T * (item3(contacts.point, VEC3 * c, w) - frame.origin)
            area.point[area.points] = vec3(d[0], d[1], real(0.0))
            area.points += 1
        c += 1


@wp.func
def share_of_pair(model: ContactModel, scratch: CollisionScratch, contacts: Contacts, pair: wp.vec2i, w: int):
    """Share by which the points of a pair's contacts, from pair[0] to pair[1], are drawn; 0 where it is not flat."""
    point = wp.zeros(shape=(FLAT_POINTS,), dtype=vec3)
    corner = wp.zeros(shape=(FLAT_POINTS,), dtype=int)
    area = make_area(point, corner)
    frame = make_tangent_frame(item3(contacts.normal, VEC3 * pair[0], w), item3(contacts.point, VEC3 * pair[0], w))
    load_area(contacts, area, frame, pair, w)
    share = real(0.0)
    if area.points > 2:
        find_corners(area)
        double_area = find_centre(area)
        if area.corners > 2 and double_area > real(0.0):
            first = item_int(contacts.shape, 2 * pair[0], w)
            second = item_int(contacts.shape, 2 * pair[0] + 1, w)
            radius = find_disc(model, scratch, area, frame, first, w)
            if radius == real(0.0):
                radius = find_disc(model, scratch, area, frame, second, w)
            mean, nearest = measure_polygon(area, double_area)
            if radius > real(0.0):
                mean = DISC_MEAN_RADIUS * radius
            share = wp.max(real(1.0) - mean / mean_point_distance(area), real(0.0))
    return share


@wp.func
def is_rectangle(a: vec3, b: vec3, c: vec3, d: vec3):
    """Whether four points are the corners of a rectangle with the diagonals a–c and b–d."""
    ac = c - a
    bd = d - b
    skew = a + c - b - d
    size2 = wp.dot(ac, ac)
    return wp.dot(skew, skew) < TOL_RECTANGLE * size2 and wp.abs(wp.dot(bd, bd) - size2) < TOL_RECTANGLE * size2


@wp.func
def rectangle_share(a: vec3, b: vec3, c: vec3):
    """The share of a rectangle with the corners a, b, c in a row: r̄ is half the distance of its corners from the middle
    if it is narrow, 0.5411 of it if it is a square; in between by a polynomial in the sine of the angle between its
    diagonals, within 0.03 %."""
    side2 = wp.length_sq(b - a)
    other2 = wp.length_sq(c - b)
    t = real(2.0) * wp.sqrt(side2 * other2) / (side2 + other2)
    mean = real(0.5) + t * (real(6.684e-3) + t * (real(7.6598e-2) + t * (real(-6.3385e-2) + t * real(2.1205e-2))))
    return real(1.0) - mean


@wp.func
def share_of_rectangle(contacts: Contacts, first: int, w: int):
    """Share by which the points of four flush contacts from `first` on are drawn where they are the corners of a
    rectangle; else −1."""
    c = int(first)
    x0 = item3(contacts.point, VEC3 * c, w)
    lowest = item(contacts.gap, c, w)
    highest = lowest
    c += 1
    x1 = item3(contacts.point, VEC3 * c, w)
    lowest = wp.min(lowest, item(contacts.gap, c, w))
    highest = wp.max(highest, item(contacts.gap, c, w))
    c += 1
    x2 = item3(contacts.point, VEC3 * c, w)
    lowest = wp.min(lowest, item(contacts.gap, c, w))
    highest = wp.max(highest, item(contacts.gap, c, w))
    c += 1
    x3 = item3(contacts.point, VEC3 * c, w)
    lowest = wp.min(lowest, item(contacts.gap, c, w))
    highest = wp.max(highest, item(contacts.gap, c, w))
    share = real(-1.0)
    normal = item3(contacts.normal, VEC3 * first, w)
    parallel = bool(True)
    k = int(1)
    while k < 4:
        parallel = parallel and wp.dot(normal, item3(contacts.normal, VEC3 * (first + k), w)) > SAME_NORMAL_COSINE
        k += 1
    slope = highest - lowest
    if parallel and slope * slope < FLUSH * FLUSH * wp.max(wp.length_sq(x2 - x0), wp.length_sq(x1 - x0)):
        if is_rectangle(x0, x1, x2, x3):
            share = rectangle_share(x0, x1, x2)
        elif is_rectangle(x0, x2, x1, x3):
            share = rectangle_share(x0, x2, x1)
        elif is_rectangle(x0, x1, x3, x2):
            share = rectangle_share(x0, x1, x3)
    return share


@wp.func
def measure_flat_contacts(model: ContactModel, scratch: CollisionScratch, contacts: Contacts, w: int):
    """Store by what share the friction of every contact is drawn toward the centre of pressure of its pair."""
    count = item_int(contacts.count, ContactCount.STORED, w)
    c = int(0)
    while c < count:
        a = item_int(contacts.shape, 2 * c, w)
        b = item_int(contacts.shape, 2 * c + 1, w)
        end = c + 1
        while (
            end < count and item_int(contacts.shape, 2 * end, w) == a and item_int(contacts.shape, 2 * end + 1, w) == b
        ):
            end += 1
        share = real(-1.0)
        if end - c == 4 and model.geo.kind[a] != ShapeKind.CYLINDER and model.geo.kind[b] != ShapeKind.CYLINDER:
            share = share_of_rectangle(contacts, c, w)
        if share < real(0.0):
            share = real(0.0)
            if end - c > 2:
                share = share_of_pair(model, scratch, contacts, wp.vec2i(c, end), w)
        while c < end:
            set_item(contacts.drawn_share, c, w, share)
            c += 1
