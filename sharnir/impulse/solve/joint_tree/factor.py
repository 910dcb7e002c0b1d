"""Elimination of bilateral rows along the tree of joints in maximal coordinates: the factor (M-115).

From the tips inward every body is eliminated with its 6 × 6 matrix, then its joint with the rows to its parent: that
has no fill on a tree and costs what the articulated-body algorithm costs.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context
from sharnir.impulse.layout.joint_tree import TreeBlock
from sharnir.impulse.slots import JOINT_ROWS, Setting
from sharnir.kernels.columns import USES_LANES
from sharnir.kernels.types import C_REAL, DOUBLE, array2, real
from sharnir.kernels.vector_ops import LANE_INDEX_NATIVE, indices

# of a row's own W·W: a pivot that is less is rounding, and the row implied by those before it
TOL_TREE_ROW = wp.constant(real(1.0e-26 if DOUBLE else 1.0e-11))

# native: on the CPU the stride is 1, and six numbers are a vector of four and one of two; where a warp works on a world
# one lane does it all
_BEGIN_NATIVE = f"""
#if defined(__CUDA_ARCH__)
    const long long n = factor.shape[1];
    const auto add6 = [&](REAL* x, REAL s, const REAL* y) {{ for (int e = 0; e < 6; ++e) x[e] += s * y[e]; }};
    const auto dot6 = [&](const REAL* x, const REAL* y) {{
        REAL s = 0;
        for (int e = 0; e < 6; ++e) s += x[e] * y[e];
        return s;
    }};
    const auto load6 = [&](REAL* x, const REAL* from) {{ for (int e = 0; e < 6; ++e) x[e] = from[e*n]; }};
    const auto store6 = [&](const REAL* x, REAL* to) {{ for (int e = 0; e < 6; ++e) to[e*n] = x[e]; }};
#else
    const long long n = 1;
    w = 0;
    typedef REAL four __attribute__((ext_vector_type(4), aligned(sizeof(REAL))));
    typedef REAL two __attribute__((ext_vector_type(2), aligned(sizeof(REAL))));
    const auto add6 = [&](REAL* x, REAL s, const REAL* y) {{
        const four a = *(const four*)x + s * *(const four*)y;
        const two b = *(const two*)(x + 4) + s * *(const two*)(y + 4);
        *(four*)x = a;
        *(two*)(x + 4) = b;
    }};
    const auto dot6 = [&](const REAL* x, const REAL* y) {{
        const four a = *(const four*)x * *(const four*)y;
        const two b = a.lo + a.hi + *(const two*)(x + 4) * *(const two*)(y + 4);
        return b[0] + b[1];
    }};
    const auto load6 = [&](REAL* x, const REAL* from) {{
        *(four*)x = *(const four*)from;
        *(two*)(x + 4) = *(const two*)(from + 4);
    }};
    const auto store6 = [&](const REAL* x, REAL* to) {{ load6(to, x); }};
#endif
#if {USES_LANES}
    {LANE_INDEX_NATIVE}
    __syncwarp();
    if (lane == 0)
#endif
    {{
"""
_END_NATIVE = f"""
    }}
#if {USES_LANES}
    __syncwarp();
#endif
"""
_FACTOR_NATIVE = """
    REAL* const all = factor.data + w;
    REAL* const rows_of_W = W.data + w;
    for (int i = 0; i < links; ++i)
        for (int a = 0; a < 6; ++a)
            for (int b = 0; b < 6; ++b) all[(long long)(AT_SIZE*i + AT_H + 6*a + b)*n] = a == b ? 1 : 0;
    typedef REAL matrix66[6][6];
    const auto invert = [&](int link, matrix66& G) {  // G ← G⁻¹ from H = G Gᵀ: elimination on [H 1]
        REAL* const block = all + (long long)(AT_SIZE*link + AT_H)*n;
        REAL h[6][6], scale[6];
        for (int a = 0; a < 6; ++a) load6(h[a], block + 6*a*n);
        for (int a = 0; a < 6; ++a) for (int b = 0; b < 6; ++b) G[a][b] = a == b ? 1 : 0;
        for (int j = 0; j < 6; ++j) {
            const REAL inverse = 1 / h[j][j];
            scale[j] = sqrt(inverse);
            for (int i = j + 1; i < 6; ++i) {
                const REAL l = -h[i][j] * inverse;
                add6(h[i], l, h[j]);
                add6(G[i], l, G[j]);
            }
        }
        for (int a = 0; a < 6; ++a) {
            for (int b = 0; b < 6; ++b) G[a][b] *= scale[a];
            store6(G[a], block + 6*a*n);
        }
    };
    for (int t = 0; t < count; ++t) {
        const int c = child.data[t], up = parent.data[t], k = joint.data[t];
        const int first = scalar_start.data[t], slacks = scalar_start.data[t + 1] - first;
        const int mj = rows.data[t], m = mj + slacks, free = 6 - mj;
        const int length = up < 0 ? 6 : 12, on_child = up > c ? 6 : 0, on_parent = 6 - on_child;
        REAL* const block = all + (long long)(AT_SIZE*c)*n;
        REAL G[6][6], D[6][6], A[6][6], X[6][6], S[6][6], L[6][6], inverse[6], V[6][6];
        if (has_children.data[t]) invert(c, G);
        for (int j = 0; j < m; ++j) {
            const REAL* row = rows_of_W
                + (long long)(j < mj ? joint_W.data[k] + j*length : scalar_W.data[scalars.data[first + j - mj]])*n;
            load6(D[j], row + on_child*n);
            for (int e = 0; e < 6; ++e) A[j][e] = 0;
            if (up >= 0) load6(A[j], row + on_parent*n);
            inverse[j] = dot6(D[j], D[j]) + dot6(A[j], A[j]) > least ? 1 : 0;
            if (has_children.data[t]) {
                REAL x[6];
                for (int e = 0; e < 6; ++e) x[e] = dot6(G[e], D[j]);
                for (int e = 0; e < 6; ++e) D[j][e] = x[e];
            }
            if (j >= mj)
                for (int e = 0; e < 6; ++e) {
                    X[j][e] = D[j][e];
                    S[j][e] = e == j - mj ? sqrt(gamma.data[(long long)(scalars.data[first + e])*n + w]) : (REAL)0;
                }
        }
        // Gram–Schmidt: rows of D become orthogonal to each other, with the slacks of compliant rows
        for (int j = 0; j < m; ++j) {
            const REAL own = dot6(D[j], D[j]);
            const REAL soft = j < mj ? (REAL)0 : dot6(S[j], S[j]);
            REAL before = own;
            for (int i = 0; i < j; ++i) before += L[j][i] * L[j][i] / (inverse[i] > 0 ? inverse[i] : (REAL)1);
            inverse[j] = inverse[j] > 0 && own + soft > tolerance * (before + soft) ? 1 / (own + soft) : (REAL)0;
            for (int i = j + 1; i < m; ++i) {
                L[i][j] = (dot6(D[i], D[j]) + (j < mj ? (REAL)0 : dot6(S[i], S[j]))) * inverse[j];
                add6(D[i], -L[i][j], D[j]);
                add6(A[i], -L[i][j], A[j]);
                if (j >= mj) add6(S[i], -L[i][j], S[j]);
            }
        }
        // what the joint leaves free: an orthonormal basis of the complement of its rows, then slacks as part of it
        REAL left[6];
        for (int e = 0; e < 6; ++e) {
            left[e] = 1;
            for (int j = 0; j < mj; ++j) left[e] -= inverse[j] * D[j][e] * D[j][e];
        }
        for (int q = 0; q < free; ++q) {
            int best = 0;
            for (int e = 1; e < 6; ++e) if (left[e] > left[best]) best = e;
            for (int e = 0; e < 6; ++e) V[q][e] = e == best ? 1 : 0;
            for (int j = 0; j < mj; ++j) add6(V[q], -inverse[j] * D[j][best], D[j]);
            for (int i = 0; i < q; ++i) add6(V[q], -V[i][best], V[i]);
            const REAL scale = 1 / sqrt(dot6(V[q], V[q]));
            for (int e = 0; e < 6; ++e) { V[q][e] *= scale; left[e] -= V[q][e] * V[q][e]; }
        }
        if (slacks > 0) {
            REAL N[6][6];
            for (int a = 0; a < free; ++a)
                for (int b = 0; b <= a; ++b) {
                    N[a][b] = a == b ? 1 : 0;
                    for (int j = mj; j < m; ++j)
                        N[a][b] += dot6(X[j], V[a]) * dot6(X[j], V[b])
                            / gamma.data[(long long)(scalars.data[first + j - mj])*n + w];
                }
            for (int a = 0; a < free; ++a) {
                for (int b = 0; b <= a; ++b) {
                    REAL s = N[a][b];
                    for (int i = 0; i < b; ++i) s -= N[a][i] * N[b][i];
                    N[a][b] = a == b ? 1 / sqrt(s) : s * N[b][b];
                }
            }
            for (int a = 0; a < free; ++a) {
                for (int b = 0; b < a; ++b) add6(V[a], -N[a][b], V[b]);
                for (int e = 0; e < 6; ++e) V[a][e] *= N[a][a];
            }
        }
        for (int q = 0; q < free; ++q) store6(V[q], block + (AT_V + 6*q)*n);
        for (int j = 0; j < m; ++j) {
            store6(D[j], block + (AT_D + 6*j)*n);
            for (int i = 0; i < j; ++i) block[(AT_L + 6*j + i)*n] = L[j][i];
            block[(AT_L + 7*j)*n] = inverse[j];
            if (j < mj) dropped.data[(long long)(JOINT_ROWS*k + j)*n + w] = inverse[j] > 0 ? 0 : 1;
        }
        if (up >= 0) {
            REAL* const H_up = all + (long long)(AT_SIZE*up + AT_H)*n;
            for (int j = 0; j < m; ++j) store6(A[j], block + (AT_A + 6*j)*n);
            for (int a = 0; a < 6; ++a) {
                REAL h[6];
                load6(h, H_up + 6*a*n);
                for (int j = 0; j < m; ++j) add6(h, A[j][a] * inverse[j], A[j]);
                store6(h, H_up + 6*a*n);
            }
        }
    }
    for (int i = 0; i < links; ++i)
        if (of_link.data[i] < 0) { REAL G[6][6]; invert(i, G); }
"""


def tree_native(code: str) -> str:
    """Native code over `factor`, the blocks of all links; AT_…: places of `TreeBlock`."""
    for block in TreeBlock:
        code = code.replace(f"AT_{block.name}", str(block.value))
    return (_BEGIN_NATIVE + code + _END_NATIVE).replace("REAL", C_REAL)


@wp.func_native(tree_native(_FACTOR_NATIVE.replace("JOINT_ROWS", str(JOINT_ROWS))))
def factor_tree_native(
    count: int, links: int, joint: indices, child: indices, parent: indices, has_children: indices, rows: indices,
    scalar_start: indices, scalars: indices, of_link: indices, joint_W: indices, scalar_W: indices, W: array2,
    gamma: array2, tolerance: real, least: real, factor: array2, dropped: array2, w: int,
): ...  # fmt: skip


@wp.func
def factor_joint_tree(ctx: Context, w: int):
    """Factor the rows of the tree's joints and their compliant rows (M-115)."""
    factor_tree_native(
        ctx.layout.tree_joints, ctx.layout.links, ctx.layout.tree_joint, ctx.layout.tree_child, ctx.layout.tree_parent,
        ctx.layout.tree_has_children, ctx.layout.tree_rows, ctx.layout.tree_scalar_start, ctx.layout.tree_scalars,
        ctx.layout.tree_joint_of_link, ctx.layout.joint_W_start, ctx.layout.scalar_W_start, ctx.work.W,
        ctx.work.compliant_gamma, TOL_TREE_ROW, ctx.state.settings[Setting.MIN_ROW_K, 0], ctx.work.tree_factor,
        ctx.work.joint_row_dropped, w,
    )  # fmt: skip
