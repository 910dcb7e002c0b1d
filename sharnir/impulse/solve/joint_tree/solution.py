"""Solution of bilateral rows along the tree of joints in maximal coordinates (M-115)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, ScalarImpulse, Targets
from sharnir.impulse.slots import JOINT_ROWS
from sharnir.impulse.solve.joint_tree.factor import tree_native
from sharnir.kernels.types import array2
from sharnir.kernels.vector_ops import indices

_SOLVE_NATIVE = f"""
    REAL* const all = factor.data + w;
    REAL* const rows_of_W = W.data + w;
    REAL* const right = vectors.data + w;  // of links: what their children leave, then the changes of their velocities
    REAL* const held = right + (long long)(6*links)*n;  // of joints: what their rows are short of, by L and D
    const auto row_of = [&](int t, int j) -> const REAL* {{
        const int k = joint.data[t], mj = rows.data[t];
        if (j < mj) return rows_of_W + (long long)(joint_W.data[k] + j*(parent.data[t] < 0 ? 6 : 12))*n;
        return rows_of_W + (long long)(scalar_W.data[scalars.data[scalar_start.data[t] + j - mj]])*n;
    }};
    const auto velocity_of = [&](int link, REAL* x) {{  // in the order of the rows' entries
        for (int e = 0; e < 6; ++e) x[e] = z.data[(long long)(6*link + 5 - e)*n + w];
    }};
    const auto push = [&](int link, const REAL* x) {{
        for (int e = 0; e < 6; ++e) z.data[(long long)(6*link + 5 - e)*n + w] += x[e];
    }};
    const auto multiply = [&](int link, const REAL* x, REAL* y) {{  // y ← G⁻¹ x
        const REAL* const G = all + (long long)(AT_SIZE*link + AT_H)*n;
        for (int e = 0; e < 6; ++e) {{
            REAL g[6];
            load6(g, G + 6*e*n);
            y[e] = dot6(g, x);
        }}
    }};
    for (int i = 0; i < 6*links; ++i) right[i*n] = 0;
    for (int t = 0; t < count; ++t) {{
        const int c = child.data[t], up = parent.data[t], k = joint.data[t], mj = rows.data[t];
        const int first = scalar_start.data[t], m = mj + scalar_start.data[t + 1] - first;
        const int on_child = up > c ? 6 : 0, on_parent = 6 - on_child;
        const REAL* const block = all + (long long)(AT_SIZE*c)*n;
        REAL f[6], z_c[6], z_up[6], b[6], sum[6] = {{0, 0, 0, 0, 0, 0}};
        velocity_of(c, z_c);
        if (up >= 0) {{
            velocity_of(up, z_up);
            load6(sum, right + 6*up*n);
        }}
        if (has_children.data[t]) {{
            REAL h[6];
            load6(h, right + 6*c*n);
            multiply(c, h, f);
        }}
        for (int j = 0; j < m; ++j) {{
            const REAL* row = row_of(t, j);
            REAL x[6];
            load6(x, row + on_child*n);
            REAL error = -dot6(x, z_c);
            if (up >= 0) {{
                load6(x, row + on_parent*n);
                error -= dot6(x, z_up);
            }}
            if (j < mj) {{
                const long long r = {JOINT_ROWS}*k + j;
                if (targets != {Targets.IMPACT.value}) error += joint_target.data[r*n + w];
            }} else {{
                const long long l = scalars.data[first + j - mj];
                const long long at = p_start + {SCALAR_IMPULSES}*l + {ScalarImpulse.COMPLIANT.value};
                error -= gamma.data[l*n + w] * p.data[at*n + w];
                if (targets == {Targets.VELOCITIES.value}) error += compliant_velocity.data[l*n + w];
            }}
            for (int i = 0; i < j; ++i) error -= block[(AT_L + 6*j + i)*n] * b[i];
            b[j] = error;
        }}
        for (int j = 0; j < m; ++j) {{
            REAL x[6];
            if (has_children.data[t]) {{
                load6(x, block + (AT_D + 6*j)*n);
                b[j] -= dot6(x, f);
            }}
            b[j] *= block[(AT_L + 7*j)*n];
            held[(6*t + j)*n] = b[j];
            if (up >= 0) {{
                load6(x, block + (AT_A + 6*j)*n);
                add6(sum, b[j], x);
            }}
        }}
        if (up >= 0) store6(sum, right + 6*up*n);
    }}
    const auto solve = [&](int link) {{  // right ← H⁻¹ right: the change of the link's velocity
        const REAL* const G = all + (long long)(AT_SIZE*link + AT_H)*n;
        REAL h[6], f[6], x[6] = {{0, 0, 0, 0, 0, 0}};
        load6(h, right + 6*link*n);
        multiply(link, h, f);
        for (int e = 0; e < 6; ++e) {{
            REAL g[6];
            load6(g, G + 6*e*n);
            add6(x, f[e], g);
        }}
        store6(x, right + 6*link*n);
    }};
    for (int i = 0; i < links; ++i) if (of_link.data[i] < 0) solve(i);
    for (int t = count - 1; t >= 0; --t) {{
        const int c = child.data[t], up = parent.data[t], k = joint.data[t], mj = rows.data[t];
        const int first = scalar_start.data[t], m = mj + scalar_start.data[t + 1] - first;
        const int on_child = up > c ? 6 : 0, on_parent = 6 - on_child;
        const REAL* const block = all + (long long)(AT_SIZE*c)*n;
        REAL x[6], moved[6], on[6] = {{0, 0, 0, 0, 0, 0}}, off[6] = {{0, 0, 0, 0, 0, 0}};
        if (up >= 0) load6(moved, right + 6*up*n);
        for (int j = 0; j < m; ++j) {{
            x[j] = held[(6*t + j)*n];
            if (up >= 0) {{
                REAL a[6];
                load6(a, block + (AT_A + 6*j)*n);
                x[j] -= block[(AT_L + 7*j)*n] * dot6(a, moved);
            }}
        }}
        for (int j = m - 1; j >= 0; --j) {{
            for (int i = j + 1; i < m; ++i) x[j] -= block[(AT_L + 6*i + j)*n] * x[i];
            const REAL* row = row_of(t, j);
            REAL r[6];
            load6(r, row + on_child*n);
            add6(on, x[j], r);
            if (up >= 0) {{
                load6(r, row + on_parent*n);
                add6(off, x[j], r);
            }}
            const long long at = j < mj ? {JOINT_ROWS}*k + j
                : p_start + {SCALAR_IMPULSES}*scalars.data[first + j - mj] + {ScalarImpulse.COMPLIANT.value};
            p.data[at*n + w] += x[j];
        }}
        push(c, on);
        if (up >= 0) push(up, off);
        if (has_children.data[t]) {{
            REAL h[6];
            load6(h, right + 6*c*n);
            add6(h, 1, on);
            store6(h, right + 6*c*n);
            solve(c);
        }}
    }}
"""


@wp.func_native(tree_native(_SOLVE_NATIVE))
def solve_tree_native(
    count: int, links: int, joint: indices, child: indices, parent: indices, has_children: indices, rows: indices,
    scalar_start: indices, scalars: indices, of_link: indices, joint_W: indices, scalar_W: indices, W: array2,
    gamma: array2, joint_target: array2, compliant_velocity: array2, factor: array2, vectors: array2, targets: int,
    p_start: int, z: array2, p: array2, w: int,
): ...  # fmt: skip


@wp.func
def solve_joint_tree(ctx: Context, z: array2, p: array2, targets: int, w: int):
    """Solve the rows of the tree for their `Targets`: p += Δp, z += Wᵀ Δp (M-115)."""
    solve_tree_native(
        ctx.layout.tree_joints, ctx.layout.links, ctx.layout.tree_joint, ctx.layout.tree_child, ctx.layout.tree_parent,
        ctx.layout.tree_has_children, ctx.layout.tree_rows, ctx.layout.tree_scalar_start, ctx.layout.tree_scalars,
        ctx.layout.tree_joint_of_link, ctx.layout.joint_W_start, ctx.layout.scalar_W_start, ctx.work.W,
        ctx.work.compliant_gamma, ctx.work.joint_target, ctx.work.compliant_velocity, ctx.work.tree_factor,
        ctx.work.tree_vector, targets, ctx.layout.scalar_p_start, z, p, w,
    )  # fmt: skip
