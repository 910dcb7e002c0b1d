"""Momenta of the links over a finite step: rigid displacements of a step, the chord momenta that belong to them, and
the whitened sum over the tree (M-32..M-34).

A step moves velocity coordinates by dt·v from q. Every link then undergoes a rigid displacement y ↦ Q y Q⁻¹ + t of
points about the pivot, composed outward from the exponentials of the joints' twists S dt v. Nothing is computed as a
difference of positions, so that no digits are lost when the step is small. *Chord momentum*: mean momentum over the
step, of that displacement; *tangent momentum*: that of the velocity v itself.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import InertiaHandoff, MotionKind
from sharnir.kernels.columns import get, get3, get6, item, put, put3
from sharnir.kernels.types import C_REAL, array2, real, sym_mul, vec3
from sharnir.kernels.vector_ops import indices

SMALL_ANGLE2 = 0.04  # rad²: below it, series to the last digit, in x = α²
HALF_SINC = (0.5, -2.0833333333333332e-02, 2.6041666666666666e-04, -1.5500992063492063e-06, 5.3822889109347443e-09)
HALF_COS = (1.0, -0.125, 2.6041666666666665e-03, -2.1701388888888888e-05, 9.6881200396825401e-08)
# coefficients of (α − sin α)/α³ in α²
SINC_REMAINDER = (
    0.16666666666666666,
    -8.3333333333333332e-03,
    1.9841269841269841e-04,
    -2.7557319223985893e-06,
    2.5052108385441720e-08,
)


def _series(coefficients: tuple[float, ...]) -> str:
    """A power series in x as C, innermost term last."""
    out = f"({C_REAL})({coefficients[-1]!r})"
    for c in reversed(coefficients[:-1]):
        out = f"(({C_REAL})({c!r}) + x*{out})"
    return out


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    const long long n = S.shape[1];
    const REAL* rate = v.data + w;
#else
    const long long n = 1;
    const REAL* rate = v.data + (long long)(w) * v.shape[0];
    w = 0;
#endif
    REAL u0 = 0, u1 = 0, u2 = 0, s = 1, t0 = 0, t1 = 0, t2 = 0;
    for (int i = 0; i < links; ++i) {
        const int up = parent.data[i];
        if (up < 0) {
            u0 = u1 = u2 = t0 = t1 = t2 = 0;
            s = 1;
        } else if (up != i - 1) {
            const REAL* u = Qu.data + (long long)(3*up)*n + w;
            const REAL* y = t.data + (long long)(3*up)*n + w;
            u0 = u[0]; u1 = u[n]; u2 = u[2*n];
            t0 = y[0]; t1 = y[n]; t2 = y[2*n];
            s = Qs.data[up*n + w];
        }
        for (int e = part.data[i]; e < part.data[i + 1]; ++e) {
            if (kind.data[e] == STILL) continue;
            const int d = part_v.data[e];
            const REAL* a = S.data + (long long)(6*d)*n + w;
            REAL step = dt * rate[d*n];
            REAL l0 = a[0]*step, l1 = a[n]*step, l2 = a[2*n]*step;
            REAL r0 = a[3*n]*step, r1 = a[4*n]*step, r2 = a[5*n]*step;
            if (kind.data[e] >= BALL)  // ball or shift: three coordinates at once
                for (int k = 1; k < 3; ++k) {
                    a += 6*n;
                    step = dt * rate[(d + k)*n];
                    l0 += a[0]*step; l1 += a[n]*step; l2 += a[2*n]*step;
                    r0 += a[3*n]*step; r1 += a[4*n]*step; r2 += a[5*n]*step;
                }
            const REAL x = r0*r0 + r1*r1 + r2*r2;
            REAL half = HALF_SINC, c = HALF_COS, C = SINC_REMAINDER;
            if (x > SMALL_ANGLE2) {
                const REAL angle = wp::sqrt(x);
                c = wp::cos(angle / 2);
                half = wp::sin(angle / 2) / angle;
                C = (1 - 2*c*half) / x;
            }
            const REAL q0 = r0*half, q1 = r1*half, q2 = r2*half;
            const REAL a0 = r1*l2 - r2*l1, a1 = r2*l0 - r0*l2, a2 = r0*l1 - r1*l0, B = 2*half*half;
            const REAL y0 = l0 + a0*B + (r1*a2 - r2*a1)*C;
            const REAL y1 = l1 + a1*B + (r2*a0 - r0*a2)*C;
            const REAL y2 = l2 + a2*B + (r0*a1 - r1*a0)*C;
            const REAL c0 = u1*y2 - u2*y1, c1 = u2*y0 - u0*y2, c2 = u0*y1 - u1*y0;
            t0 += y0 + 2*(c0*s + (u1*c2 - u2*c1));
            t1 += y1 + 2*(c1*s + (u2*c0 - u0*c2));
            t2 += y2 + 2*(c2*s + (u0*c1 - u1*c0));
            const REAL b0 = q0*s + u0*c + (u1*q2 - u2*q1);
            const REAL b1 = q1*s + u1*c + (u2*q0 - u0*q2);
            const REAL b2 = q2*s + u2*c + (u0*q1 - u1*q0);
            s = s*c - (u0*q0 + u1*q1 + u2*q2);
            u0 = b0; u1 = b1; u2 = b2;
        }
        REAL* u = Qu.data + (long long)(3*i)*n + w;
        REAL* y = t.data + (long long)(3*i)*n + w;
        u[0] = u0; u[n] = u1; u[2*n] = u2;
        y[0] = t0; y[n] = t1; y[2*n] = t2;
        Qs.data[i*n + w] = s;
    }
""".replace("HALF_SINC", _series(HALF_SINC))
    .replace("HALF_COS", _series(HALF_COS))
    .replace("SINC_REMAINDER", _series(SINC_REMAINDER))
    .replace("SMALL_ANGLE2", str(SMALL_ANGLE2))
    .replace("STILL", str(MotionKind.STILL))
    .replace("BALL", str(MotionKind.BALL))
    .replace("REAL", C_REAL)
)
def link_displacements(
    links: int, parent: indices, part: indices, kind: indices, part_v: indices, S: array2, v: array2, dt: real,
    Qu: array2, Qs: array2, t: array2, w: int,
):  # fmt: skip
    """Rigid displacements (Qu, Qs, t) of all links in a step dt·v: products of exponentials of the joints' twists
    (M-32). Qu, Qs: unit quaternion, vector and scalar part; t: m, at the pivot. Native because vectors carried from
    link to link would go through memory (measured: a third of the pass)."""
    ...


@wp.func
def rotation_offset(u: vec3, s: real, y: vec3):
    """Q y Q⁻¹ − y of a unit quaternion Q = (u, s)."""
    c = wp.cross(u, y)
    return (c * s + wp.cross(u, c)) * real(2.0)


@wp.func
def rotation_vector(u: vec3, s: real):
    """Rotation vector of a unit quaternion (u, s), |angle| ≤ π."""
    x = wp.dot(u, u)
    one = real(1.0)
    factor = real(2.0) * (one + x * (real(0.16666666666666666) + x * (real(0.075) + x * (real(0.044642857142857144)
        + x * (real(0.030381944444444444) + x * (real(0.022372159090909092) + x * (real(0.017352764423076924)
        + x * real(0.01396484375))))))))  # 2 arcsin(|u|)/|u|  # fmt: skip
    if x > real(0.01) or s < real(0.0):
        length = wp.sqrt(x)
        factor = real(2.0) * wp.atan2(length, wp.abs(s)) / length
        if s < real(0.0):
            factor = -factor
    return u * factor


@wp.func
def chord_momenta(tree: wp.ref[Tree], ws: wp.ref[Workspace], v: array2, dt: real, w: int):
    """C: momenta (p, L about the centre of mass) of all links for a step dt·v from the poses in the workspace.

    L = R_m I R_mᵀ θ/dt at mid-rotation R_m, θ the rotation vector of the step (Krysl's midpoint rule): exact for a free
    body's L, second order, and symmetric in time.
    """
    link_displacements(
        tree.links, tree.parent, tree.part, tree.kind, tree.part_v, ws.S, v, dt, ws.Qu, ws.Qs, ws.t, w
    )  # fmt: skip
    inv_dt = real(1.0) / dt
    i = int(0)
    while i < tree.links:
        u = get3(ws.Qu, i, w)
        s = get(ws.Qs, i, w)
        r = get3(ws.com, i, w)
        put3(ws.C, 2 * i, w, (get3(ws.t, i, w) + rotation_offset(u, s, r)) * (tree.mass[i] * inv_dt))
        # at mid-rotation: a quarter of the way in quaternions, half the angle
        y = sym_mul(get6(ws.I, i, w), rotation_vector(u, s)) * inv_dt
        sign = wp.where(s < real(0.0), real(-1.0), real(1.0))
        c = s * sign
        b = u * sign
        put3(ws.C, 2 * i + 1, w, y * c + wp.cross(b, y) + b * (wp.dot(b, y) / (real(1.0) + c)))
        i += 1


@wp.func
def add_tangent_momenta(tree: wp.ref[Tree], ws: wp.ref[Workspace], w: int):
    """C += momenta (p, L about the centre of mass) of the links at the velocities ws.a that the last outward
    pass left."""
    i = int(0)
    while i < tree.links:
        om = get3(ws.a, 2 * i + 1, w)
        p = (get3(ws.a, 2 * i, w) + wp.cross(om, get3(ws.com, i, w))) * tree.mass[i]
        put3(ws.C, 2 * i, w, get3(ws.C, 2 * i, w) + p)
        put3(ws.C, 2 * i + 1, w, get3(ws.C, 2 * i + 1, w) + sym_mul(get6(ws.I, i, w), om))
        i += 1


@wp.func
def tangent_momenta(tree: wp.ref[Tree], ws: wp.ref[Workspace], w: int):
    """C ← momenta (p, L about the centre of mass) of the links at the velocities ws.a that the last outward
    pass left."""
    i = int(0)
    while i < 2 * tree.links:
        put3(ws.C, i, w, vec3())
        i += 1
    add_tangent_momenta(tree, ws, w)


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    const long long n = ws.S.shape[1];
    const REAL* impulse = tau.data + w;
#else
    const long long n = 1;
    const REAL* impulse = tau.data + (long long)(w) * tau.shape[0];
    w = 0;
#endif
    REAL p[6], u[6] = {0, 0, 0, 0, 0, 0}, y = 0;  // handed inward is p − u y: of the last coordinate y is awaited
    bool carried = false;
    for (int i = tree.links - 1; i >= 0; --i) {
        if (!carried) {
            for (int k = 0; k < 6; ++k) p[k] = 0;
            y = 0;
        }
        if (tree.has_branches.data[i])
            for (int k = 0; k < 6; ++k) p[k] += ws.p.data[(long long)(6*i + k)*n + w];
        const REAL* C = ws.C.data + (long long)(6*i)*n + w;
        const REAL* r = ws.com.data + (long long)(3*i)*n + w;
        for (int k = 0; k < 6; ++k) p[k] += C[k*n];
        p[3] += r[n]*C[2*n] - r[2*n]*C[n];
        p[4] += r[2*n]*C[0] - r[0]*C[2*n];
        p[5] += r[0]*C[n] - r[n]*C[0];
        for (long long d = tree.dof.data[i + 1] - 1; d >= tree.dof.data[i]; --d) {
            const REAL* s = ws.S.data + 6*d*n + w;
            const REAL rsD = ws.rsD.data[d*n + w];
            const REAL along = (s[0]*p[0] + s[n]*p[1] + s[2*n]*p[2]) + (s[3*n]*p[3] + s[4*n]*p[4] + s[5*n]*p[5]);
            const REAL share = (s[0]*u[0] + s[n]*u[1] + s[2*n]*u[2]) + (s[3*n]*u[3] + s[4*n]*u[4] + s[5*n]*u[5]);
            for (int k = 0; k < 6; ++k) {
                p[k] -= u[k]*y;
                u[k] = ws.U.data[(6*d + k)*n + w];
            }
            y = (impulse[d*n] + along)*rsD - share*rsD*y;
            z.data[d*n + w] = y;
        }
        const int handoff = tree.inertia_handoff.data[i];
        carried = handoff == CARRY;
        if (carried || handoff == DROP) continue;
        REAL* to = ws.p.data + (long long)(6*tree.parent.data[i])*n + w;
        for (int k = 0; k < 6; ++k) to[k*n] = p[k] - u[k]*y + (handoff == ADD ? to[k*n] : (REAL)0);
    }
""".replace("CARRY", str(InertiaHandoff.CARRY))
    .replace("DROP", str(InertiaHandoff.DROP))
    .replace("ADD", str(InertiaHandoff.ADD))
    .replace("REAL", C_REAL)
)
def whitened_momentum(tree: Tree, ws: Workspace, tau: array2, z: array2, w: int):
    """z of the link momenta C and joint impulses tau: the inward pass over the existing factor, without inertias
    (M-34). Native and reordered: a coordinate waits for z of the one before it, not for the momentum that is then
    passed inward."""
    ...


@wp.func
def whitened_velocity(tree: wp.ref[Tree], ws: wp.ref[Workspace], v: array2, z: array2, w: int):
    """z of velocities v, the inverse of the outward pass: z_d = v_d √D_d + Û_d·V of the link before. Leaves the links'
    velocities in ws.a."""
    vel = vec3()
    om = vec3()
    i = int(0)
    while i < tree.links:
        lam = tree.parent[i]
        if lam < 0:
            vel = vec3()
            om = vec3()
        elif lam != i - 1:
            vel = get3(ws.a, 2 * lam, w)
            om = get3(ws.a, 2 * lam + 1, w)
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            along = wp.dot(get3(ws.U, 2 * d, w), vel) + wp.dot(get3(ws.U, 2 * d + 1, w), om)
            put(z, d, w, item(v, d, w) / get(ws.rsD, d, w) + along)
            vel = vel + get3(ws.S, 2 * d, w) * item(v, d, w)
            om = om + get3(ws.S, 2 * d + 1, w) * item(v, d, w)
            d += 1
        put3(ws.a, 2 * i, w, vel)
        put3(ws.a, 2 * i + 1, w, om)
        i += 1


@wp.func
def link_velocities(tree: wp.ref[Tree], ws: wp.ref[Workspace], v: array2, w: int):
    """ws.a ← velocities (v at the pivot, ω) of all links for velocity coordinates v."""
    vel = vec3()
    om = vec3()
    i = int(0)
    while i < tree.links:
        lam = tree.parent[i]
        if lam < 0:
            vel = vec3()
            om = vec3()
        elif lam != i - 1:
            vel = get3(ws.a, 2 * lam, w)
            om = get3(ws.a, 2 * lam + 1, w)
        d = tree.dof[i]
        while d < tree.dof[i + 1]:
            vel = vel + get3(ws.S, 2 * d, w) * item(v, d, w)
            om = om + get3(ws.S, 2 * d + 1, w) * item(v, d, w)
            d += 1
        put3(ws.a, 2 * i, w, vel)
        put3(ws.a, 2 * i + 1, w, om)
        i += 1
