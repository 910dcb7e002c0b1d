"""Inward pass of a step: factor of the inverse mass matrix with implicit springs and dampers, and the whitened momentum
after joint impulses and applied wrenches (M-5, M-7, M-31).

A second version of the pass of `sharnir.dynamics.aba`, because D here contains the implicit terms and because it is
native, by columns of the articulated inertia [M H; Hᵀ J]: on the CPU they stay in vector registers from link to link.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.tree import Tree, Workspace
from sharnir.enums import InertiaHandoff
from sharnir.kernels.types import C_REAL, DOUBLE, SIMD4_NATIVE, array2, real

DIVISION_GUARD = 1.0e-300 if DOUBLE else 1.0e-37  # added to a denominator that may be 0
# native expression of k and D: see `spring_implicitness`
SPRING_IMPLICITNESS_NATIVE = f"k*k*k / (D*D*D + (k*k*k + ({C_REAL}){DIVISION_GUARD}))"
DAMPING_IMPLICITNESS_NATIVE = "(D + c) / (D + D + c)"  # native expression of c and D: see `damping_implicitness`


@wp.func_native(f"return {SPRING_IMPLICITNESS_NATIVE};")
def spring_implicitness(k: real, D: real) -> real:
    """Implicitness of a spring, y³/(1 + y³) with y = k/D, k = ¼ dt² times its stiffness: 0 for soft springs, which keep
    their energy, 1 for stiff ones, which come to rest in a step (M-31)."""
    ...


@wp.func_native(f"return {DAMPING_IMPLICITNESS_NATIVE};")
def damping_implicitness(c: real, D: real) -> real:
    """Implicitness θ = (1 + x)/(2 + x) of a damper, the share that acts on the new velocity; x = c/D with c = dt times
    its damping: ½ for weak ones (second order), 1 for stiff ones. The velocity decays by 1/(1 + x + x²/2) in a step:
    never reversed, no ringing (M-31)."""
    ...


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    const long long n = ws.S.shape[1];
    const REAL *rate = v.data + w, *impulse = tau.data + w;
    struct column {
        REAL x, y, z;
        column operator+(column b) const { return {x + b.x, y + b.y, z + b.z}; }
        column operator-(column b) const { return {x - b.x, y - b.y, z - b.z}; }
        column operator*(column b) const { return {x * b.x, y * b.y, z * b.z}; }
        column operator*(REAL s) const { return {x * s, y * s, z * s}; }
        REAL operator[](int k) const { return k == 0 ? x : k == 1 ? y : z; }
    };
#else
    const long long n = 1;
    const REAL *rate = v.data + (long long)(w) * v.shape[0], *impulse = tau.data + (long long)(w) * tau.shape[0];
    FOUR
    typedef four column;  // and nothing in the fourth row
    w = 0;
#endif
    auto get = [n](const REAL* a) { return column{a[0], a[n], a[2*n]}; };
    auto put = [n](REAL* a, column x) { a[0] = x[0]; a[n] = x[1]; a[2*n] = x[2]; };
    auto sum = [](column x) { return x[0] + x[1] + x[2]; };
    const column none = {0, 0, 0}, axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    column M[3], H[3], T[3], J[3], f, t;  // columns of M, H, Hᵀ, J; bias force and torque
    auto put6 = [n](REAL* a, const column* A) {
        a[0] = A[0][0]; a[n] = A[1][1]; a[2*n] = A[2][2]; a[3*n] = A[2][1]; a[4*n] = A[2][0]; a[5*n] = A[1][0];
    };
    auto add6 = [n](column* A, const REAL* a) {
        A[0] = A[0] + column{a[0], a[5*n], a[4*n]};
        A[1] = A[1] + column{a[5*n], a[n], a[3*n]};
        A[2] = A[2] + column{a[4*n], a[3*n], a[2*n]};
    };
    auto take = [&](long long i) {  // what children have left for link i
        const REAL* b = ws.H.data + 9*i*n + w;
        const REAL* p = ws.p.data + 6*i*n + w;
        add6(M, ws.M.data + 6*i*n + w);
        add6(J, ws.J.data + 6*i*n + w);
        for (int k = 0; k < 3; ++k) {
            H[k] = H[k] + column{b[k*n], b[(3 + k)*n], b[(6 + k)*n]};
            T[k] = T[k] + get(b + 3*k*n);
        }
        f = f + get(p);
        t = t + get(p + 3*n);
    };
    auto multiply = [&](const REAL* s, column& a, column& b) {  // I^A S
#if defined(__CUDA_ARCH__)
        const column v = get(s), u = get(s + 3*n);
        auto half = [](const column* A, column x) {  // of a symmetric matrix: what is not read takes no registers
            return column{A[0].x*x.x + A[1].x*x.y + A[2].x*x.z, A[1].x*x.x + A[1].y*x.y + A[2].y*x.z,
                          A[2].x*x.x + A[2].y*x.y + A[2].z*x.z};
        };
        a = half(M, v) + (H[0]*u.x + H[1]*u.y + H[2]*u.z);
        b = column{sum(H[0]*v), sum(H[1]*v), sum(H[2]*v)} + half(J, u);
#else
        a = (M[0]*s[0] + M[1]*s[n] + M[2]*s[2*n]) + (H[0]*s[3*n] + H[1]*s[4*n] + H[2]*s[5*n]);
        b = (T[0]*s[0] + T[1]*s[n] + T[2]*s[2*n]) + (J[0]*s[3*n] + J[1]*s[4*n] + J[2]*s[5*n]);
#endif
    };
    auto row = [&](int k) {  // of H
#if defined(__CUDA_ARCH__)
        return column{H[0][k], H[1][k], H[2][k]};
#else
        return T[k];
#endif
    };
    bool carried = false;
    for (long long i = tree.links - 1; i >= 0; --i) {
        if (!carried) {
            for (int k = 0; k < 3; ++k) M[k] = H[k] = T[k] = J[k] = none;
            f = t = none;
        }
        if (tree.has_branches.data[i]) take(i);
        const REAL* R = ws.R.data + 9*i*n + w;
        const REAL* x = (const REAL*)(tree.com.data + i);
        const REAL* A = (const REAL*)(tree.inertia.data + i);
        column C[3], B[3], Jc[3], r = get(ws.x.data + 3*i*n + w);
        for (int k = 0; k < 3; ++k) {
            C[k] = column{R[k*n], R[(3 + k)*n], R[(6 + k)*n]};
            r = r + C[k]*x[k];
        }
        for (int k = 0; k < 3; ++k) B[k] = C[0]*A[k] + C[1]*A[3 + k] + C[2]*A[6 + k];
        for (int k = 0; k < 3; ++k) Jc[k] = B[0]*R[3*k*n] + B[1]*R[(3*k + 1)*n] + B[2]*R[(3*k + 2)*n];
        put(ws.com.data + 3*i*n + w, r);
        put6(ws.I.data + 6*i*n + w, Jc);
        if (stiffened > 0) add6(Jc, ws.B.data + 6*i*n + w);
        const REAL m = tree.mass.data[i];
        const column h = r*m, X[3] = {{0, -h[2], h[1]}, {h[2], 0, -h[0]}, {-h[1], h[0], 0}};
        const REAL rr = sum(r*h);
        for (int k = 0; k < 3; ++k) {
            M[k] = M[k] + axis[k]*m;
            H[k] = H[k] + X[k];
            T[k] = T[k] - X[k];
            J[k] = J[k] + Jc[k] - r*h[k] + axis[k]*rr;
        }
        if (loaded > 0) {
            f = f - get(ws.F.data + 6*i*n + w);
            t = t - get(ws.F.data + (6*i + 3)*n + w);
        }
        const long long first = tree.dof.data[i], last = tree.dof.data[i + 1] - 1;
        column Uv = none, Uw = none, Wv = none, Ww = none;
        REAL SU = 0, SW = 0, UW = 0;  // S·U; of the next coordinate, before this one is free: S·W, S·U, W = I^A S
        for (long long d = last; d >= first; --d) {
            const REAL* s = ws.S.data + 6*d*n + w;
            const column Sv = get(s), Sw = get(s + 3*n);
            if (d == last) {
                multiply(s, Uv, Uw);
                SU = sum(Sv*Uv + Sw*Uw);
            }
            if (d > first) {
                const column Av = get(s - 6*n), Aw = get(s - 3*n);
                multiply(s - 6*n, Wv, Ww);
                SW = sum(Av*Wv + Aw*Ww);
                UW = sum(Av*Uv + Aw*Uw);
            }
            REAL* E = ws.E.data + d*n + w;
            REAL D = SU + E[0], u = impulse[d*n] - sum(Sv*f + Sw*t);
            const REAL c = ws.hc.data[d*n + w], k = ws.hk.data[d*n + w] / 4;
            if (k > 0) {
                const REAL implicitness = SPRING_IMPLICITNESS;
                D = (D + k) + implicitness*(3*k);
                E[0] += k + implicitness*(3*k);
                u += (1 - implicitness)/4 * ws.hb.data[d*n + w] * rate[d*n];
            }
            // 1/(D + θ c): the pass does not wait for θ
            const REAL iD = (c > 0 ? D + D + c : (REAL)1) / (c > 0 ? (D + D)*(D + c) + c*c : D);
            if (c > 0) {
                const REAL theta = DAMPING_IMPLICITNESS;
                E[0] += theta*c;
                u -= (1 - theta)*c * rate[d*n];
            }
            const column Kv = Uv*iD, Kw = Uw*iD;
            for (int j = 0; j < 3; ++j) {
                M[j] = M[j] - Uv*Kv[j];
                T[j] = T[j] - Uw*Kv[j];
                H[j] = H[j] - Uv*Kw[j];
                J[j] = J[j] - Uw*Kw[j];
            }
            f = f + Kv*u;
            t = t + Kw*u;
            const REAL rsD = wp::sqrt(iD);
            put(ws.U.data + 6*d*n + w, Uv*rsD);
            put(ws.U.data + (6*d + 3)*n + w, Uw*rsD);
            ws.rsD.data[d*n + w] = rsD;
            ws.z.data[d*n + w] = u*rsD;
            const REAL K = UW*iD;  // so that the next coordinate waits for iD only, not for I^A
            SU = SW - UW*K;
            Uv = Wv - Uv*K;
            Uw = Ww - Uw*K;
        }
        const int handoff = tree.inertia_handoff.data[i];
        carried = handoff == CARRY;
        if (carried || handoff == DROP) continue;
        const long long up = tree.parent.data[i];
        if (handoff == ADD) take(up);
        put6(ws.M.data + 6*up*n + w, M);
        put6(ws.J.data + 6*up*n + w, J);
        for (int k = 0; k < 3; ++k) put(ws.H.data + (9*up + 3*k)*n + w, row(k));
        put(ws.p.data + 6*up*n + w, f);
        put(ws.p.data + (6*up + 3)*n + w, t);
    }
""".replace("SPRING_IMPLICITNESS", SPRING_IMPLICITNESS_NATIVE)
    .replace("DAMPING_IMPLICITNESS", DAMPING_IMPLICITNESS_NATIVE)
    .replace("CARRY", str(InertiaHandoff.CARRY))
    .replace("DROP", str(InertiaHandoff.DROP))
    .replace("ADD", str(InertiaHandoff.ADD))
    .replace("FOUR", SIMD4_NATIVE)
    .replace("REAL", C_REAL)
)
def inward_implicit(tree: Tree, ws: Workspace, tau: array2, v: array2, loaded: int, stiffened: int, w: int):
    """Articulated inertia and bias force −F from the tips to the roots, with implicit springs and dampers; leaves Û,
    1/√D, z, in E what was added to D, and the links' centres of mass and inertias about them. tau: joint impulses; v:
    the velocity before, on which the explicit share of dampers and springs acts; loaded: whether F
    acts, `ExternalForces`; stiffened: more than 0 where the links' inertias B for loads on light links are added, to
    the factor only (M-93)."""
    ...
