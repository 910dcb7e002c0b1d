"""Regularised force laws of contacts and scalar rows: potential φ, impulse p = −φ′(s) and Hessian G = φ″ ≥ 0, for the
convex Newton solve of an island (M-61, M-62). R, 1/kg: regularisation, velocity per impulse."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.actuators import is_saturated
from sharnir.kernels.columns import get
from sharnir.kernels.types import DOUBLE, mat33, real, vec3

MIN_NORM = wp.constant(real(1.0e-200 if DOUBLE else 1.0e-30))  # N s, added to norms: avoids 0/0 where nothing slips
ISLAND_REGULARISATION = wp.constant(real(1.0e-10))  # R as a share of the row's diagonal W·W


@wp.func
def cone_impulse(s: vec3, mu: real, R: real):
    """Impulse of a contact: projection of −s/R onto the cone |p_t| ≤ μ p_n (M-61). s: normal and two tangential
    velocities minus targets, m/s."""
    y = s * (real(-1.0) / R)
    t = wp.sqrt(y[1] * y[1] + y[2] * y[2]) + MIN_NORM
    p = vec3()
    if t <= mu * y[0]:
        p = y
    elif y[0] > -mu * t:
        n = (y[0] + mu * t) / (real(1.0) + mu * mu)
        p = vec3(n, mu * n * y[1] / t, mu * n * y[2] / t)
    return p


@wp.func
def cone_hessian(s: vec3, mu: real, R: real):
    """G = −dp/ds of `cone_impulse`, the Hessian of its potential, kg."""
    y = s * (real(-1.0) / R)
    t = wp.sqrt(y[1] * y[1] + y[2] * y[2]) + MIN_NORM
    G = mat33()
    if t <= mu * y[0]:
        G[0, 0] = real(1.0) / R
        G[1, 1] = real(1.0) / R
        G[2, 2] = real(1.0) / R
    elif y[0] > -mu * t:
        k = real(1.0) / (R * (real(1.0) + mu * mu))
        a = y[1] / t
        b = y[2] / t
        n = (y[0] + mu * t) / (real(1.0) + mu * mu)
        curvature = mu * n / (t * R)
        G[0, 0] = k
        G[0, 1] = k * mu * a
        G[0, 2] = k * mu * b
        G[1, 0] = G[0, 1]
        G[2, 0] = G[0, 2]
        G[1, 1] = k * mu * mu * a * a + curvature * b * b
        G[2, 2] = k * mu * mu * b * b + curvature * a * a
        G[1, 2] = (k * mu * mu - curvature) * a * b
        G[2, 1] = G[1, 2]
    return G


@wp.func
def saturate_impulse(work: wp.ref[Scratch], l: int, p: real, G: real, w: int):
    """Impulse p of the compliant row of scalar l, N s, clamped to what its actuator can give, and its slope: G, or 0
    where it is clamped."""
    lower = get(work.impulse_lower, l, w)
    upper = get(work.impulse_upper, l, w)
    return wp.clamp(p, lower, upper), wp.where(p < lower or p > upper, real(0.0), G)


@wp.func
def scalar_impulse(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, s: real, kind: int, w: int):
    """Regularised impulse of one row kind on scalar row l at velocity s, N s, and its slope −dp/ds. kind: one
    `RowKind` that has an impulse of its own."""
    R = ISLAND_REGULARISATION * get(work.scalar_K, l, w)
    p = real(0.0)
    G = real(0.0)
    if kind == RowKind.BOUND and layout.scalar_row_kinds[l] == RowKind.SATURATION_EXCESS:
        if is_saturated(work, l, s, w):
            G = -get(work.compliant_gamma, l, w)
            p = G * (wp.clamp(s, get(work.velocity_lower, l, w), get(work.velocity_upper, l, w)) - s)
    elif (layout.scalar_row_kinds[l] & kind) != 0:
        if kind == RowKind.BOUND:
            if s < get(work.velocity_lower, l, w):
                p = (get(work.velocity_lower, l, w) - s) / R
                G = real(1.0) / R
            elif s > get(work.velocity_upper, l, w):
                p = (get(work.velocity_upper, l, w) - s) / R
                G = real(1.0) / R
        elif kind == RowKind.COMPLIANT:
            G = real(1.0) / get(work.compliant_gamma, l, w)
            p = G * (get(work.compliant_velocity, l, w) - s)
            if (layout.scalar_row_kinds[l] & RowKind.SATURATED) != 0:
                p, G = saturate_impulse(work, l, p, G, w)
        else:
            bound = get(work.friction_bound, l, w)
            target = real(0.0)
            if kind == RowKind.MOTOR:
                bound = get(work.motor_bound, l, w)
                target = get(work.motor_velocity, l, w)
            p = (target - s) / R
            G = real(1.0) / R
            if wp.abs(p) > bound:
                p = wp.clamp(p, -bound, bound)
                G = real(0.0)
    return p, G


@wp.func
def scalar_total_impulse(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, s: real, w: int):
    """Sum of the regularised impulses of all kinds on scalar row l at velocity s, and of their slopes −dp/ds."""
    bound, G0 = scalar_impulse(layout, work, l, s, RowKind.BOUND, w)
    friction, G1 = scalar_impulse(layout, work, l, s, RowKind.FRICTION, w)
    motor, G2 = scalar_impulse(layout, work, l, s, RowKind.MOTOR, w)
    compliant, G3 = scalar_impulse(layout, work, l, s, RowKind.COMPLIANT, w)
    return bound + friction + motor + compliant, G0 + G1 + G2 + G3
