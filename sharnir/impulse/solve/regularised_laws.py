"""Impulses of contacts and lines as functions of speed, a little soft (M-61, M-62): what Newton's method needs.

φ is their potential: p = −φ′(s), and G = φ″ ≥ 0. R, 1/kg, is how much speed an impulse costs.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import BOUNDED, EXCESS, FRICTION, HOLD, MOTOR, SOFT
from sharnir.impulse.rows.actuators import exceeds
from sharnir.kernels.columns import get
from sharnir.kernels.types import DOUBLE, mat33, real, vec3

LEAST = wp.constant(real(1.0e-200 if DOUBLE else 1.0e-30))  # so that there is a direction where nothing slides
SOFTNESS = wp.constant(real(1.0e-10))  # R of the weight of a row


@wp.func
def cone_impulse(s: vec3, mu: real, R: real):
    """Of a contact: the point of the cone |p_t| ≤ μ p_n nearest to −s/R; s: normal and two tangential speeds."""
    y = s * (real(-1.0) / R)
    t = wp.sqrt(y[1] * y[1] + y[2] * y[2]) + LEAST
    p = vec3()
    if t <= mu * y[0]:
        p = y
    elif y[0] > -mu * t:
        n = (y[0] + mu * t) / (real(1.0) + mu * mu)
        p = vec3(n, mu * n * y[1] / t, mu * n * y[2] / t)
    return p


@wp.func
def cone_slope(s: vec3, mu: real, R: real):
    """G = −dp/ds of the same."""
    y = s * (real(-1.0) / R)
    t = wp.sqrt(y[1] * y[1] + y[2] * y[2]) + LEAST
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
        turn = mu * n / (t * R)
        G[0, 0] = k
        G[0, 1] = k * mu * a
        G[0, 2] = k * mu * b
        G[1, 0] = G[0, 1]
        G[2, 0] = G[0, 2]
        G[1, 1] = k * mu * mu * a * a + turn * b * b
        G[2, 2] = k * mu * mu * b * b + turn * a * a
        G[1, 2] = (k * mu * mu - turn) * a * b
        G[2, 1] = G[1, 2]
    return G


@wp.func
def line_impulse(plan: Plan, work: Work, l: int, s: real, act: int, w: int):
    """One of the impulses on a line at speed s, and its slope −dp/ds."""
    R = SOFTNESS * get(work.K, l, w)
    p = real(0.0)
    G = real(0.0)
    if act == HOLD and plan.line_acts[l] == EXCESS:
        if exceeds(work, l, s, w):
            G = -get(work.soft_give, l, w)
            p = G * (wp.clamp(s, get(work.lower, l, w), get(work.upper, l, w)) - s)
    elif (plan.line_acts[l] & act) != 0:
        if act == HOLD:
            if s < get(work.lower, l, w):
                p = (get(work.lower, l, w) - s) / R
                G = real(1.0) / R
            elif s > get(work.upper, l, w):
                p = (get(work.upper, l, w) - s) / R
                G = real(1.0) / R
        elif act == SOFT:
            G = real(1.0) / get(work.soft_give, l, w)
            p = G * (get(work.soft_speed, l, w) - s)
            if (plan.line_acts[l] & BOUNDED) != 0:
                least = get(work.lower, l, w)
                most = get(work.upper, l, w)
                G = wp.where(p < least or p > most, real(0.0), G)
                p = wp.clamp(p, least, most)
        else:
            bound = get(work.friction, l, w)
            sought = real(0.0)
            if act == MOTOR:
                bound = get(work.motor_bound, l, w)
                sought = get(work.motor_speed, l, w)
            p = (sought - s) / R
            G = real(1.0) / R
            if wp.abs(p) > bound:
                p = wp.clamp(p, -bound, bound)
                G = real(0.0)
    return p, G


@wp.func
def line_total(plan: Plan, work: Work, l: int, s: real, w: int):
    """All impulses on a line together, and their slope."""
    hold, G0 = line_impulse(plan, work, l, s, HOLD, w)
    rub, G1 = line_impulse(plan, work, l, s, FRICTION, w)
    drive, G2 = line_impulse(plan, work, l, s, MOTOR, w)
    soft, G3 = line_impulse(plan, work, l, s, SOFT, w)
    return hold + rub + drive + soft, G0 + G1 + G2 + G3
