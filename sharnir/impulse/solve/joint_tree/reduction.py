"""Rows and velocities in the reduced coordinates of the tree of joints in maximal coordinates (M-116)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context
from sharnir.impulse.slots import BLOCK_ROWS, SIDES, Half
from sharnir.impulse.solve.joint_tree.factor import tree_native
from sharnir.kernels.columns import ints2
from sharnir.kernels.types import array2
from sharnir.kernels.vector_ops import indices, slot_native

# native: from x, what a row has on a link, to what it has in the link's reduced coordinates, added to y, and what it
# leaves to the parent, in x
_REDUCE_LINK_NATIVE = """
    const auto reduce = [&](int link, REAL* x, REAL* y) {
        const REAL* const block = factor.data + (long long)(AT_SIZE*link)*n + w;
        const int t = of_link.data[link];
        if (t < 0 || has_children.data[t]) {
            REAL g[6], f[6];
            for (int e = 0; e < 6; ++e) {
                load6(g, block + (AT_H + 6*e)*n);
                f[e] = dot6(g, x);
            }
            for (int e = 0; e < 6; ++e) x[e] = f[e];
        }
        if (t < 0) {
            for (int e = 0; e < 6; ++e) y[e*n] += x[e];
            return;
        }
        REAL r[6], left[6] = {0, 0, 0, 0, 0, 0};
        for (int q = 0; q < 6 - rows.data[t]; ++q) {
            load6(r, block + (AT_V + 6*q)*n);
            y[q*n] += dot6(r, x);
        }
        if (parent.data[t] >= 0)
            for (int j = 0; j < rows.data[t] + scalar_start.data[t + 1] - scalar_start.data[t]; ++j) {
                load6(r, block + (AT_D + 6*j)*n);
                const REAL s = -block[(AT_L + 7*j)*n] * dot6(r, x);
                load6(r, block + (AT_A + 6*j)*n);
                add6(left, s, r);
            }
        for (int e = 0; e < 6; ++e) x[e] = left[e];
    };
"""
_REDUCE_ROW_NATIVE = (
    _REDUCE_LINK_NATIVE
    + """
    for (int k = 0; k < length; k += 6) {
        int link = index.data[first + k] / 6;
        REAL x[6];
        for (int e = 0; e < 6; ++e) x[e] = W.data[(long long)(start + k + e)*n + w];
        while (link >= 0) {
            reduce(link, x, out.data + (long long)(base + reduced.data[link])*n + w);
            link = of_link.data[link] < 0 ? -1 : parent.data[of_link.data[link]];
        }
    }
"""
)


@wp.func_native(tree_native(_REDUCE_ROW_NATIVE))
def reduce_row_native(
    parent: indices, has_children: indices, rows: indices, scalar_start: indices, of_link: indices, reduced: indices,
    factor: array2, W: array2, start: int, length: int, index: indices, first: int, out: array2,
    base: int, w: int,
): ...  # fmt: skip


@wp.struct
class SparseRow:
    """Place of a row of W."""

    start: int  # in W
    length: int  # entries
    first: int  # of their coordinates in `index`


@wp.func
def make_sparse_row(start: int, length: int, first: int):
    """Place of a row of `length` entries from `start` in W, their coordinates from `first` in `index` on."""
    row = SparseRow()
    row.start = start
    row.length = length
    row.first = first
    return row


@wp.func
def reduce_row(ctx: Context, row: SparseRow, out: array2, base: int, w: int):
    """out[base …] += a row in reduced coordinates (M-116). It has six entries of every link it acts on."""
    reduce_row_native(
        ctx.layout.tree_parent, ctx.layout.tree_has_children, ctx.layout.tree_rows, ctx.layout.tree_scalar_start,
        ctx.layout.tree_joint_of_link, ctx.layout.link_reduced_first, ctx.work.tree_factor, ctx.work.W, row.start,
        row.length, ctx.layout.index, row.first, out, base, w,
    )  # fmt: skip


_REDUCE_NATIVE = (
    _REDUCE_LINK_NATIVE
    + """
    REAL* const left = vectors.data + w;
    for (int i = 0; i < links; ++i)
        for (int e = 0; e < 6; ++e) left[(6*i + e)*n] = z.data[(long long)(6*i + 5 - e)*n + w];
    for (int d = 0; d < size; ++d) z.data[(long long)(d)*n + w] = 0;
    for (int t = 0; t < count; ++t) {
        REAL x[6], sum[6];
        load6(x, left + 6*child.data[t]*n);
        reduce(child.data[t], x, z.data + (long long)(reduced.data[child.data[t]])*n + w);
        if (parent.data[t] >= 0) {
            load6(sum, left + 6*parent.data[t]*n);
            add6(sum, 1, x);
            store6(sum, left + 6*parent.data[t]*n);
        }
    }
    for (int i = 0; i < links; ++i)
        if (of_link.data[i] < 0) {
            REAL x[6];
            load6(x, left + 6*i*n);
            reduce(i, x, z.data + (long long)(reduced.data[i])*n + w);
        }
"""
)


@wp.func_native(tree_native(_REDUCE_NATIVE))
def reduce_native(
    count: int, links: int, size: int, child: indices, parent: indices, has_children: indices, rows: indices,
    scalar_start: indices, of_link: indices, reduced: indices, factor: array2, vectors: array2, z: array2, w: int,
): ...  # fmt: skip


@wp.func
def reduce_velocity(ctx: Context, z: array2, w: int):
    """z ← its reduced coordinates: its part that the tree allows (M-116)."""
    reduce_native(
        ctx.layout.tree_joints, ctx.layout.links, ctx.layout.z_size, ctx.layout.tree_child, ctx.layout.tree_parent,
        ctx.layout.tree_has_children, ctx.layout.tree_rows, ctx.layout.tree_scalar_start,
        ctx.layout.tree_joint_of_link, ctx.layout.link_reduced_first, ctx.work.tree_factor, ctx.work.tree_vector, z, w,
    )  # fmt: skip


# native: three rows at a time, a vector lane each; to: what they have in the coordinates of a link, rows `step` apart
_REDUCE_CONTACT_NATIVE = f"""
#if defined(__CUDA_ARCH__)
    struct lanes {{
        REAL x[3];
        __device__ REAL& operator[](int j) {{ return x[j]; }}
        __device__ lanes operator*(REAL s) const {{ return {{{{x[0]*s, x[1]*s, x[2]*s}}}}; }}
        __device__ void operator+=(const lanes& y) {{ for (int j = 0; j < 3; ++j) x[j] += y.x[j]; }}
    }};
#else
    typedef four lanes;
#endif
    const int* const from = halves.data + (long long)(given)*n + w;
    const int* const into = halves.data + (long long)(projected)*n + w;
    for (int row = 0; row < count; row += {BLOCK_ROWS})
        for (int side = 0; side < {SIDES}; ++side) {{
            const int* const half = from + {Half.SIZE}*side*n;
            const int length = {slot_native("half", Half.LENGTH)};
            for (int k = 0; k < length; k += 6) {{
                int link = index.data[{slot_native("half", Half.INDEX_START)} + k] / 6;
                const long long start = {slot_native("half", Half.W_START)} + k;
                lanes x[6] = {{}};
                for (int e = 0; e < 6; ++e)
                    for (int j = 0; j < {BLOCK_ROWS}; ++j) x[e][j] = W.data[(start + (row + j)*length + e)*n + w];
                const int own = component.data[link];
                const int* const a = into;
                const bool first = {slot_native("a", Half.LENGTH)} > 0
                    && index.data[{slot_native("a", Half.INDEX_START)}] == own;
                const int* const target = first ? into : into + {Half.SIZE}*n;
                const long long step = {slot_native("target", Half.LENGTH)};
                const long long place = {slot_native("target", Half.W_START)} + row*step - own;
                while (link >= 0) {{
                    const REAL* const block = factor.data + (long long)(AT_SIZE*link)*n + w;
                    REAL* const to = W.data + (place + reduced.data[link])*n + w;
                    const int t = of_link.data[link];
                    if (t < 0 || has_children.data[t])
                        for (int e = 5; e >= 0; --e) {{
                            lanes f = x[e] * block[(AT_H + 7*e)*n];
                            for (int q = 0; q < e; ++q) f += x[q] * block[(AT_H + 6*e + q)*n];
                            x[e] = f;
                        }}
                    if (t < 0) {{
                        for (int e = 0; e < 6; ++e)
                            for (int j = 0; j < {BLOCK_ROWS}; ++j) to[(j*step + e)*n] += x[e][j];
                        break;
                    }}
                    for (int q = 0; q < 6 - rows.data[t]; ++q) {{
                        lanes s = x[0] * block[(AT_V + 6*q)*n];
                        for (int e = 1; e < 6; ++e) s += x[e] * block[(AT_V + 6*q + e)*n];
                        for (int j = 0; j < {BLOCK_ROWS}; ++j) to[(j*step + q)*n] += s[j];
                    }}
                    link = parent.data[t];
                    if (link < 0) break;
                    lanes left[6] = {{}};
                    for (int i = 0; i < rows.data[t] + scalar_start.data[t + 1] - scalar_start.data[t]; ++i) {{
                        lanes s = x[0] * block[(AT_D + 6*i)*n];
                        for (int e = 1; e < 6; ++e) s += x[e] * block[(AT_D + 6*i + e)*n];
                        s = s * -block[(AT_L + 7*i)*n];
                        for (int e = 0; e < 6; ++e) left[e] += s * block[(AT_A + 6*i + e)*n];
                    }}
                    for (int e = 0; e < 6; ++e) x[e] = left[e];
                }}
            }}
        }}
"""


@wp.func_native(tree_native(_REDUCE_CONTACT_NATIVE))
def reduce_contact_native(
    parent: indices, has_children: indices, rows: indices, scalar_start: indices, of_link: indices, reduced: indices,
    component: indices, factor: array2, W: array2, index: indices, halves: ints2, given: int, projected: int,
    count: int, w: int,
): ...  # fmt: skip


@wp.func
def reduce_contact_rows(ctx: Context, given: int, projected: int, count: int, w: int):
    """Add the rows of a contact, in reduced coordinates, to its projected rows. given, projected: places of the halves
    in `contact_halves`; count: 3 rows or 6."""
    reduce_contact_native(
        ctx.layout.tree_parent, ctx.layout.tree_has_children, ctx.layout.tree_rows, ctx.layout.tree_scalar_start,
        ctx.layout.tree_joint_of_link, ctx.layout.link_reduced_first, ctx.layout.link_component_first,
        ctx.work.tree_factor, ctx.work.W, ctx.layout.index, ctx.work.contact_halves, given, projected, count, w,
    )  # fmt: skip
