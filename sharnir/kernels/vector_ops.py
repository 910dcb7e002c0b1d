"""Vector operations over workspace columns and sparse rows (dot, axpy, copy, norm), native: see
`sharnir.kernels.columns`. Where a warp works on a world, its lanes share the entries."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.columns import LANES, SYNC_LANES_NATIVE, USES_LANES
from sharnir.kernels.types import C_REAL, SIMD4_NATIVE, array2, real, vec3, vec6

_ROW_NATIVE = f"""
#if defined(__CUDA_ARCH__)
    const long long n = z.shape[1];
    {C_REAL}* row = W.data + (long long)(start) * n + w;
    {C_REAL}* x = z.data + w;
#else
    const long long n = 1;
    {C_REAL}* row = W.data + start;
    {C_REAL}* x = z.data;
#endif
    const int* at = index.data + first;
"""
# native: declares `lane`, the index of this thread in its warp
LANE_INDEX_NATIVE = f"const int lane = threadIdx.x & {LANES - 1};"
indices = wp.array(dtype=int)


def slot_native(pointer: str, slot: int) -> str:
    """Native text of number `slot` of those that `pointer` points to in a column; n: the stride."""
    offset = ("0", "n")[slot] if slot < 2 else f"{slot}*n"
    return f"{pointer}[{offset}]"


def lane_sum_native(*names: str) -> str:
    """Native code that sums each of the named variables over the lanes of a warp (butterfly shuffle); all lanes get the
    same sum."""
    add = " ".join(f"{x} += __shfl_xor_sync(lane_mask, {x}, o);" for x in names)
    return f"for (int o = {LANES // 2}; o > 0; o /= 2) {{ {add} }}"


@wp.func_native(
    SYNC_LANES_NATIVE
    + _ROW_NATIVE
    + f"""
    {C_REAL} sum = 0;
#if {USES_LANES}
    {LANE_INDEX_NATIVE}
    for (int k = lane; k < length; k += {LANES}) sum += row[k*n] * x[at[k]*n];
    {lane_sum_native("sum")}
#elif defined(__CUDA_ARCH__)
    for (int first_k = 0; first_k < length; first_k += 8) {{
        int j[8];
        #pragma unroll
        for (int i = 0; i < 8; ++i) j[i] = at[first_k + i < length ? first_k + i : length - 1];
        #pragma unroll
        for (int i = 0; i < 8; ++i)
            sum += first_k + i < length ? row[(first_k + i)*n] * x[j[i]*n] : static_cast<{C_REAL}>(0);
    }}
#else
    for (int k = 0; k < length; ++k) sum += row[k] * x[at[k]];
#endif
    return sum;"""
)
def row_dot(W: array2, start: int, length: int, index: indices, first: int, z: array2, w: int) -> real:
    """Σ W[start + k] z[index[first + k]], k < length: a sparse row of a workspace times a column."""
    ...


def batched_loop_native(count: str, load: str, store: str, plain: str) -> str:
    """Native loop k = 0 .. count − 1 that reads and writes. load, store: its body in two halves, for a GPU; plain: in
    one, for the CPU. On a GPU eight entries are read before the first is written, as otherwise each would wait for the
    one before it to arrive from memory; the entries must therefore be distinct."""
    return f"""{SYNC_LANES_NATIVE}
#if {USES_LANES}
    {LANE_INDEX_NATIVE}
    for (int k = lane; k < {count}; k += {LANES}) {{
        {C_REAL} y[1], v[1], u[1];
        const int j = 0;
        {load}
        {store}
    }}
    __syncwarp(lane_mask);
#elif defined(__CUDA_ARCH__)
    for (int first_k = 0; first_k < {count}; first_k += 8) {{
        {C_REAL} y[8], v[8], u[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {{ const int k = first_k + j; if (k < {count}) {{ {load} }} }}
        #pragma unroll
        for (int j = 0; j < 8; ++j) {{ const int k = first_k + j; if (k < {count}) {{ {store} }} }}
    }}
#else
    for (int k = 0; k < {count}; ++k) {{ {plain} }}
#endif
"""


@wp.func_native(_ROW_NATIVE + batched_loop_native(
    "length", "y[j] = x[at[k]*n] + row[k*n] * factor;", "x[at[k]*n] = y[j];", "x[at[k]] += row[k] * factor;"
))  # fmt: skip
def row_add(W: array2, start: int, length: int, index: indices, first: int, factor: real, z: array2, w: int):
    """z[index[first + k]] += factor W[start + k], k < length: axpy of a sparse row."""
    ...


@wp.func_native(
    SYNC_LANES_NATIVE
    + _ROW_NATIVE
    + f"""
    const {C_REAL}* second = row + length*n;
    const {C_REAL}* third = second + length*n;
    {C_REAL} a = 0, b = 0, c = 0;
#if {USES_LANES}
    {LANE_INDEX_NATIVE}
    for (int k = lane; k < length; k += {LANES}) {{
        const {C_REAL} y = x[at[k]*n];
        a += row[k*n] * y; b += second[k*n] * y; c += third[k*n] * y;
    }}
    {lane_sum_native("a", "b", "c")}
#elif defined(__CUDA_ARCH__)
    for (int first_k = 0; first_k < length; first_k += 8) {{  // indices first: nothing waits for one after another
        int j[8];
        #pragma unroll
        for (int i = 0; i < 8; ++i) j[i] = at[first_k + i < length ? first_k + i : length - 1];
        #pragma unroll
        for (int i = 0; i < 8; ++i) {{
            const long long k = (first_k + i < length ? first_k + i : length - 1) * n;
            const {C_REAL} y = first_k + i < length ? x[j[i]*n] : static_cast<{C_REAL}>(0);
            a += row[k] * y; b += second[k] * y; c += third[k] * y;
        }}
    }}
#else
    for (int k = 0; k < length; ++k) {{
        const {C_REAL} y = x[at[k]];
        a += row[k] * y; b += second[k] * y; c += third[k] * y;
    }}
#endif
    return wp::vec_t<3,{C_REAL}>(a, b, c);"""
)
def row3_dot(W: array2, start: int, length: int, index: indices, first: int, z: array2, w: int) -> vec3:
    """Products with column z of three sparse rows that follow each other and share their indices: `row_dot` of each."""
    ...


@wp.func_native(
    _ROW_NATIVE
    + f"""
    const {C_REAL}* second = row + length*n;
    const {C_REAL}* third = second + length*n;
"""
    + batched_loop_native(
        "length",
        "y[j] = x[at[k]*n] + row[k*n] * factor[0] + second[k*n] * factor[1] + third[k*n] * factor[2];",
        "x[at[k]*n] = y[j];",
        "x[at[k]] += row[k] * factor[0] + second[k] * factor[1] + third[k] * factor[2];",
    )
)
def row3_add(W: array2, start: int, length: int, index: indices, first: int, factor: vec3, z: array2, w: int):
    """z += factor[0] row 0 + factor[1] row 1 + factor[2] row 2: axpy of three sparse rows that follow each other and
    share their indices."""
    ...


_COLUMNS_NATIVE = f"""
#if defined(__CUDA_ARCH__)
    const long long n = A.shape[1];
    const {C_REAL}* a = A.data + (long long)(first) * n + w;
    {C_REAL}* b = B.data + (long long)(second) * n + w;
#else
    const long long n = 1;
    const {C_REAL}* a = A.data + first;
    {C_REAL}* b = B.data + second;
#endif
"""


@wp.func_native(
    SYNC_LANES_NATIVE
    + _COLUMNS_NATIVE
    + f"""
    {C_REAL} sum = 0;
#if {USES_LANES}
    {LANE_INDEX_NATIVE}
    for (int k = lane; k < length; k += {LANES}) sum += a[k*n] * b[k*n];
    {lane_sum_native("sum")}
#else
    for (int k = 0; k < length; ++k) sum += a[k*n] * b[k*n];
#endif
    return sum;"""
)
def column_dot(A: array2, first: int, B: array2, second: int, length: int, w: int) -> real:
    """Σ A[first + k] B[second + k] of two workspaces."""
    ...


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
    const long long n = W.shape[1];
    const {C_REAL}* a = W.data + (long long)(start) * n + w;
#else
    const long long n = 1;
    const {C_REAL}* a = W.data + start;
#endif
    const {C_REAL}* b = a + length*n;
    const {C_REAL}* c = b + length*n;
    {C_REAL} aa = 0, bb = 0, cc = 0, ab = 0, ac = 0, bc = 0;
    for (long long k = 0; k < length*n; k += n) {{
        aa += a[k]*a[k]; bb += b[k]*b[k]; cc += c[k]*c[k];
        ab += a[k]*b[k]; ac += a[k]*c[k]; bc += b[k]*c[k];
    }}
    return wp::vec_t<6,{C_REAL}>({{aa, bb, cc, bc, ac, ab}});""")
def row3_gram(W: array2, start: int, length: int, w: int) -> vec6:
    """Gram matrix (aa, bb, cc, bc, ac, ab) of three rows a, b, c that follow each other in a workspace."""
    ...


@wp.func
def row_row_dot(W: array2, first: int, second: int, length: int, w: int):
    """Σ W[first + k] W[second + k], k < length: product of two rows of one workspace array."""
    return column_dot(W, first, W, second, length, w)


@wp.func_native(
    _COLUMNS_NATIVE
    + batched_loop_native("length", "y[j] = b[k*n] + factor * a[k*n];", "b[k*n] = y[j];", "b[k] += factor * a[k];")
)
def column_add(A: array2, first: int, factor: real, B: array2, second: int, length: int, w: int):
    """B[second + k] += factor A[first + k]."""
    ...


@wp.func_native(
    _COLUMNS_NATIVE.replace("const " + C_REAL, C_REAL)
    + batched_loop_native("length", "y[j] = a[k*n];", "b[k*n] = y[j]; a[k*n] = 0;", "b[k] = a[k]; a[k] = 0;")
)
def move_and_clear(A: array2, first: int, B: array2, second: int, length: int, w: int):
    """B[second + k] ← A[first + k] ← 0."""
    ...


@wp.func_native(
    "const long long n = source.shape[1];"
    + batched_loop_native(
        "count",
        "y[j] = source.data[k*n + w];",
        "target.data[k*n + w] = y[j];",
        "target.data[k] = source.data[k];",
    )
)
def copy(source: array2, target: array2, count: int, w: int):
    """Copy the first `count` items of a workspace column."""
    ...


@wp.func_native(
    "const long long n = x.shape[1];"
    + batched_loop_native(
        "count",
        """const long long at = k*n + w; const REAL now = x.data[at]; const REAL ahead = beta * direction.data[at];
           v[j] = now - old.data[at] + ahead; y[j] = now + ahead;""",
        "x.data[k*n + w] = y[j]; direction.data[k*n + w] = v[j];",
        """const REAL ahead = beta * direction.data[k];
           direction.data[k] = x.data[k] - old.data[k] + ahead; x.data[k] += ahead;""",
    ).replace("REAL", C_REAL)
)
def extrapolate(x: array2, old: array2, direction: array2, beta: real, count: int, w: int):
    """One extrapolation of nonsmooth nonlinear conjugate gradients over the first `count` items: direction ← (x − old)
    + β direction, x ← x + β direction (of before). direction: the search direction; old: x before the last sweep."""
    ...


def _copy_native(source: str, target: str, factor: str = "") -> str:
    """Native code that copies items between a state array and a workspace column, times a factor; on the CPU those of a
    world are contiguous, in a state after those of other worlds."""
    on_cpu = {"state": "(long long)(w) * {0}.shape[0]", "work": "0"}
    start, end = on_cpu[source].format("source"), on_cpu[target].format("target")
    return f"""
#if !defined(__CUDA_ARCH__)
    const {C_REAL}* from = source.data + {start};
    {C_REAL}* to = target.data + {end};
#else
    const long long n = source.shape[1];
#endif
""" + batched_loop_native(
        "count", f"y[j] = source.data[k*n + w]{factor};", "target.data[k*n + w] = y[j];", f"to[k] = from[k]{factor};"
    )


@wp.func_native(_copy_native("state", "work", " * factor"))
def load_state(source: array2, target: array2, count: int, factor: real, w: int):
    """Workspace column ← factor times the first `count` items of a world's state."""
    ...


@wp.func_native(_copy_native("work", "state"))
def store_state(source: array2, target: array2, count: int, w: int):
    """The first `count` items of a world's state ← a workspace column."""
    ...


@wp.func_native(_copy_native("state", "state"))
def copy_state(source: array2, target: array2, count: int, w: int):
    """The first `count` items of a world's state ← those of another state array."""
    ...


@wp.func_native("const long long n = target.shape[1];" + batched_loop_native(
    "count", "y[j] = 0;", "target.data[k*n + w] = y[j];", "target.data[k] = 0;"
))  # fmt: skip
def clear(target: array2, count: int, w: int):
    """Zero the first `count` items of a workspace column."""
    ...


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    const long long n = target.shape[1];
    const long long start = (long long)(first)*n + w;
#else
    const long long n = 1;
    const long long start = first;
#endif
"""
    + batched_loop_native("length", "y[j] = 0;", "target.data[start + k*n] = y[j];", "target.data[start + k] = 0;")
)
def clear_columns(target: array2, first: int, length: int, w: int):
    """Zero the items of a workspace column from `first` on."""
    ...


@wp.func_native(
    SYNC_LANES_NATIVE
    + f"""
    {C_REAL} sum = 0;
#if {USES_LANES}
    const long long n = x.shape[1];
    {LANE_INDEX_NATIVE}
    for (int k = lane; k < count; k += {LANES}) {{
        const {C_REAL} d = x.data[k*n + w] - y.data[k*n + w];
        sum += d * d;
    }}
    {lane_sum_native("sum")}
#elif defined(__CUDA_ARCH__)
    const long long n = x.shape[1];
    for (int k = 0; k < count; ++k) {{
        const {C_REAL} d = x.data[k*n + w] - y.data[k*n + w];
        sum += d * d;
    }}
#else
    {SIMD4_NATIVE}
    four a = 0, b = 0;
    int k = 0;
    for (; k + 7 < count; k += 8) {{
        const four d = *(const four*)(x.data + k) - *(const four*)(y.data + k);
        const four e = *(const four*)(x.data + k + 4) - *(const four*)(y.data + k + 4);
        a += d * d; b += e * e;
    }}
    a += b;
    for (; k < count; ++k) {{
        const {C_REAL} d = x.data[k] - y.data[k];
        sum += d * d;
    }}
    sum += (a[0] + a[1]) + (a[2] + a[3]);
#endif
    return sum;"""
)
def column_distance2(x: array2, y: array2, count: int, w: int) -> real:
    """|x − y|² of the first `count` items of two workspace columns."""
    ...
