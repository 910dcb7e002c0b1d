"""Rotation of a free body that turns far in a step: substeps that keep its energy and its angular momentum (M-105).

Krysl's midpoint rule (M-32) keeps the angular momentum of a free body but not the attitude that belongs to its energy:
at half a radian in a step it is off by 2e-3 of it, beyond one radian its iteration does not converge.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import MotionKind
from sharnir.kernels.columns import get
from sharnir.kernels.types import identity33, mat33, real, vec3

SUBSTEP_TURN = wp.constant(real(0.125))  # rad, about which the body turns in a substep
MAX_SUBSTEPS = 800  # of a step; what is left is turned at once, as if the spin were steady
NEWTON_STEPS = 4  # of a substep, from an explicit guess: to rounding
TWO_PI = wp.constant(real(6.283185307179586))
FREE_MOTIONS = 2  # elementary motions of a free joint: a translation, then a ball


@wp.func
def is_free_link(tree: wp.ref[Tree], ws: wp.ref[Workspace], i: int, w: int):
    """Whether link i is a tree of its own on a free joint that nothing adds inertia to."""
    e = tree.part[i]
    free = tree.parent[i] < 0 and tree.part[i + 1] - e == FREE_MOTIONS and tree.has_branches[i] == 0
    if free:
        free = tree.kind[e] == MotionKind.SHIFT and tree.kind[e + 1] == MotionKind.BALL
    if free and i + 1 < tree.links:
        free = tree.parent[i + 1] != i
    if free:
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            free = free and get(ws.E, d, w) == real(0.0)
            d += 1
    return free


@wp.func
def count_turns(u: vec3, s: real, total: vec3):
    """Rotation vector of a unit quaternion (u, s) with the full turns that bring it nearest to the vector `total`."""
    length = wp.length(u)
    axis = vec3()
    angle = real(2.0) * wp.atan2(length, s)
    if length > real(0.0):
        axis = u / length
    elif wp.length_sq(total) > real(0.0):
        axis = wp.normalize(total)
    return axis * (angle + TWO_PI * wp.rint((wp.dot(axis, total) - angle) / TWO_PI))


@wp.func
def cross_matrix(a: vec3):
    """The matrix of a ×."""
    zero = real(0.0)
    return mat33(zero, -a[2], a[1], a[2], zero, -a[0], -a[1], a[0], zero)


@wp.func
def mean_angular_velocity(I: mat33, L: vec3, om: vec3, h: real):
    """ω of the implicit midpoint rule I ω = L + ½ h (I ω) × ω in axes of the body, by Newton's method from om at its
    start: L then becomes 2 I ω − L, which has the same length and the same energy."""
    half = real(0.5) * h
    mid = wp.inverse(I) * (L + wp.cross(L, om) * half)
    n = int(0)
    while n < NEWTON_STEPS:
        y = I * mid
        slope = I - (cross_matrix(y) - cross_matrix(mid) * I) * half
        mid = mid - wp.inverse(slope) * (y - wp.cross(y, mid) * half - L)
        n += 1
    return mid


@wp.func
def free_turn(I: mat33, L: vec3, dt: real):
    """Rotation in dt of a free body of inertia I (kg m², world axes at the start) and angular momentum L: the
    quaternion (vector, scalar), its rotation vector with all turns, rad, and the time (s) beyond MAX_SUBSTEPS.

    A substep is the implicit midpoint rule on L in body axes with the rotation by Cayley's transform that belongs to
    it: energy and L are kept. Its time is stretched by 2 tan(½ h Ω)/(h Ω), Ω = 2 E/|L|, which makes steady spin exact;
    E and |L| being kept, the step stays symmetric in time.
    """
    J = wp.inverse(I)
    om = J * L
    speed = wp.length(om)
    steady = wp.length(wp.cross(L, om)) <= real(1.0e-6) * wp.length(L) * speed
    rate = wp.dot(L, om) / wp.length(L)
    u = vec3()
    s = real(1.0)
    total = vec3()
    left = dt
    n = int(0)
    while left > real(0.0) and n < MAX_SUBSTEPS and not steady:
        R = identity33() + cross_matrix(u) * (real(2.0) * s) + cross_matrix(u) * cross_matrix(u) * real(2.0)
        L_body = wp.transpose(R) * L
        om = J * L_body
        h = wp.min(left, SUBSTEP_TURN / wp.length(om))
        if left - h < real(1.0e-3) * h:
            h = left
        stretched = real(2.0) * wp.tan(real(0.5) * h * rate) / rate
        om = mean_angular_velocity(I, L_body, om, stretched)
        total = total + R * om * h
        y = om * (real(0.5) * stretched)
        scale = real(1.0) / wp.sqrt(real(1.0) + wp.dot(y, y))
        b = (u + y * s + wp.cross(u, y)) * scale
        s = (s - wp.dot(u, y)) * scale
        u = b
        left = left - h
        n += 1
    if left > real(0.0):
        turn = om * left
        total = total + turn
        half = real(0.5) * wp.length(turn)
        if half > real(0.0):
            y = turn * (real(0.5) * wp.sin(half) / half)
            c = wp.cos(half)
            b = u * c + y * s + wp.cross(u, y)
            s = s * c - wp.dot(u, y)
            u = b
    over = wp.where(steady, real(0.0), left)
    norm = wp.sqrt(wp.dot(u, u) + s * s)
    return u / norm, s / norm, count_turns(u, s, total), over
