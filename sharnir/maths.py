"""Scalar, vector and matrix types of the chosen precision, and access to per-world workspace columns.

Importing this module fixes the precision of the process.

A *workspace* array is `[item, column]`. On the GPU every world has its own column, so that neighbouring
threads touch neighbouring memory; on the CPU worlds are computed one after another and share column 0,
so that everything stays in the first-level cache. A *state* array is `[item, world]`. The accessors below
(get and put for workspaces, item and set_item for states) hide the difference; they are native because the
stride 1 must be known to the compiler (measured: 15 % of the articulated-body algorithm, 7 % of a step).
"""

from __future__ import annotations

import os

import numpy as np
import warp as wp

from sharnir.precision import get_precision

wp.config.log_level = wp.LOG_ERROR


def _start_warp() -> None:
    """Start Warp without its line on the error stream about machines that simply have no GPU."""
    saved = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        wp.init()
    finally:
        os.dup2(saved, 2)
        os.close(saved)


_start_warp()

DOUBLE = get_precision() == "double"
real = wp.float64 if DOUBLE else wp.float32
np_real = np.float64 if DOUBLE else np.float32
vec2 = wp.types.vector(2, real)
vec3 = wp.types.vector(3, real)
mat33 = wp.types.matrix((3, 3), real)
vec4 = wp.types.vector(4, real)
vec6 = wp.types.vector(6, real)
quat = wp.types.quaternion(real)
array2 = wp.array(dtype=real, ndim=2)

# Flags measured on the articulated-body kernels; -mprefer-vector-width keeps AVX-512 from down-clocking them.
CPU_FLAGS = "-march=native -mllvm=-inline-threshold=600000 -mllvm=-slp-recursion-max-depth=4 -mprefer-vector-width=256"
CPU_FLAGS += " -ffp-contract=fast"
KERNEL_OPTIONS = {"enable_backward": False, "cpu_compiler_flags": CPU_FLAGS}

C_REAL = "double" if DOUBLE else "float"
FOUR = f"typedef {C_REAL} four __attribute__((ext_vector_type(4), aligned({8 if DOUBLE else 4})));"

# On a GPU a thread works on a world, or a team of neighbouring threads does, in kernels launched with blocks of
# TEAM_BLOCK. All threads of a team compute the same, but for loops over entries of a row or a column, which they share.
LANES = 32  # threads of a team
TEAM_BLOCK = 256  # threads per block
TEAMED = f"defined(__CUDA_ARCH__) && WP_TILE_BLOCK_DIM == {TEAM_BLOCK}"
MEET = f"""
#if {TEAMED}
    const unsigned team = 0xffffffffu;
    __syncwarp(team);  // what any of them has read may now be written, what one has written may be read
#endif
"""
_COLUMN = f"""
#if defined(__CUDA_ARCH__)
    const long long n = m.shape[1];
    {C_REAL}* p = m.data + (long long)(item) * size * n + w;
#else
    const long long n = 1;
    {C_REAL}* p = m.data + (long long)(item) * size;
#endif
"""


def _column(size: int, code: str) -> str:
    return _COLUMN.replace("size", str(size)) + code


def _put(size: int, code: str) -> str:
    return MEET + _column(size, code)


@wp.func_native(_column(1, "return p[0];"))
def get(m: array2, item: int, w: int) -> real: ...


@wp.func_native(_put(1, "p[0] = value;"))
def put(m: array2, item: int, w: int, value: real): ...


@wp.func_native(_column(3, f"return wp::vec_t<3,{C_REAL}>(p[0], p[n], p[2*n]);"))
def get3(m: array2, item: int, w: int) -> vec3: ...


@wp.func_native(_put(3, "p[0] = value[0]; p[n] = value[1]; p[2*n] = value[2];"))
def put3(m: array2, item: int, w: int, value: vec3): ...


@wp.func_native(
    _column(9, f"return wp::mat_t<3,3,{C_REAL}>(p[0],p[n],p[2*n],p[3*n],p[4*n],p[5*n],p[6*n],p[7*n],p[8*n]);")
)
def get33(m: array2, item: int, w: int) -> mat33: ...


@wp.func_native(_put(9, "".join(f"p[{3 * i + j}*n] = value.data[{i}][{j}]; " for i in range(3) for j in range(3))))
def put33(m: array2, item: int, w: int, value: mat33): ...


@wp.func_native(_column(6, f"return wp::vec_t<6,{C_REAL}>({{p[0], p[n], p[2*n], p[3*n], p[4*n], p[5*n]}});"))
def get6(m: array2, item: int, w: int) -> vec6: ...


@wp.func_native(_put(6, "".join(f"p[{k}*n] = value[{k}]; " for k in range(6))))
def put6(m: array2, item: int, w: int, value: vec6): ...


ints2 = wp.array(dtype=int, ndim=2)


@wp.func_native(_COLUMN.replace("size", "1").replace(C_REAL, "int") + "return p[0];")
def get_int(m: ints2, item: int, w: int) -> int: ...


@wp.func_native(MEET + _COLUMN.replace("size", "1").replace(C_REAL, "int") + "p[0] = value;")
def put_int(m: ints2, item: int, w: int, value: int): ...


_ITEM = f"""
#if defined(__CUDA_ARCH__)
    const long long n = m.shape[1];
    {C_REAL}* p = m.data + (long long)(item) * n + w;
#else
    const long long n = 1;
    {C_REAL}* p = m.data + (long long)(w) * m.shape[0] + item;
#endif
"""


@wp.func_native(_ITEM + "return p[0];")
def item(m: array2, item: int, w: int) -> real:
    """An item of a world's state (see `world_columns`)."""
    ...


@wp.func_native(MEET + _ITEM + "p[0] = value;")
def set_item(m: array2, item: int, w: int, value: real): ...


@wp.func_native(_ITEM + f"return wp::vec_t<3,{C_REAL}>(p[0], p[n], p[2*n]);")
def item3(m: array2, item: int, w: int) -> vec3:
    """Three items from one on."""
    ...


@wp.func_native(MEET + _ITEM + "p[0] = value[0]; p[n] = value[1]; p[2*n] = value[2];")
def set_item3(m: array2, item: int, w: int, value: vec3): ...


@wp.func_native(_ITEM.replace(C_REAL, "int") + "return p[0];")
def item_int(m: ints2, item: int, w: int) -> int: ...


@wp.func_native(MEET + _ITEM.replace(C_REAL, "int") + "p[0] = value;")
def set_item_int(m: ints2, item: int, w: int, value: int): ...


def world_columns(items: int, worlds: int, device: str, dtype: type = real) -> wp.array:
    """A zeroed state array [items, worlds]. On the CPU a world's items are neighbours in memory."""
    if wp.get_device(device).is_cuda:
        return wp.zeros((items, worlds), dtype=dtype, device=device)
    return wp.zeros((worlds, items), dtype=dtype, device=device).transpose()


@wp.func
def sym_mul(A: vec6, b: vec3):
    """A b, A symmetric and stored as (xx, yy, zz, yz, xz, xy)."""
    return vec3(
        A[0] * b[0] + A[5] * b[1] + A[4] * b[2],
        A[5] * b[0] + A[1] * b[1] + A[3] * b[2],
        A[4] * b[0] + A[3] * b[1] + A[2] * b[2],
    )


@wp.func
def sym_outer(a: vec3, b: vec3):
    """The symmetric a bᵀ of parallel vectors a and b."""
    return vec6(a[0] * b[0], a[1] * b[1], a[2] * b[2], a[1] * b[2], a[0] * b[2], a[0] * b[1])


@wp.func
def sym_turned(R: mat33, A: mat33):
    """R A Rᵀ of a symmetric A."""
    B = R * A
    return vec6(
        B[0, 0] * R[0, 0] + B[0, 1] * R[0, 1] + B[0, 2] * R[0, 2],
        B[1, 0] * R[1, 0] + B[1, 1] * R[1, 1] + B[1, 2] * R[1, 2],
        B[2, 0] * R[2, 0] + B[2, 1] * R[2, 1] + B[2, 2] * R[2, 2],
        B[1, 0] * R[2, 0] + B[1, 1] * R[2, 1] + B[1, 2] * R[2, 2],
        B[0, 0] * R[2, 0] + B[0, 1] * R[2, 1] + B[0, 2] * R[2, 2],
        B[0, 0] * R[1, 0] + B[0, 1] * R[1, 1] + B[0, 2] * R[1, 2],
    )


@wp.func
def identity33():
    one = real(1.0)
    zero = real(0.0)
    return mat33(one, zero, zero, zero, one, zero, zero, zero, one)


@wp.func
def column(R: mat33, k: int):
    return vec3(R[0, k], R[1, k], R[2, k])


if DOUBLE:

    @wp.func
    def cos_sin(angle: real):
        """(cos, sin) to 1 ulp at a third of the two library calls: Cody–Waite reduction by π/2 and the minimax
        polynomials of fdlibm on [−π/4, π/4]; the library beyond 10⁵ rad, where the reduction loses digits."""
        if wp.abs(angle) > real(1.0e5):
            return wp.cos(angle), wp.sin(angle)
        n = wp.rint(angle * real(0.63661977236758134308))
        r = angle - n * real(1.57079632673412561417e00)
        r = r - n * real(6.07710050630396597660e-11)
        r = r - n * real(2.02226624879595063154e-21)
        z = r * r
        s = r + r * z * (
            real(-1.66666666666666324348e-01) + z * (real(8.33333333332248946124e-03)
            + z * (real(-1.98412698298579493134e-04) + z * (real(2.75573137070700676789e-06)
            + z * (real(-2.50507602534068634195e-08) + z * real(1.58969099521155010221e-10)))))
        )  # fmt: skip
        c = real(1.0) - (real(0.5) * z - z * z * (
            real(4.16666666666666019037e-02) + z * (real(-1.38888888888741095749e-03)
            + z * (real(2.48015872894767294178e-05) + z * (real(-2.75573143513906633035e-07)
            + z * (real(2.08757232129817482790e-09) + z * real(-1.13596475577881948265e-11)))))
        ))  # fmt: skip
        quadrant = int(n) & 3
        even = (quadrant & 1) == 0
        cosine = wp.where(even, c, s)
        sine = wp.where(even, s, c)
        cosine = wp.where(quadrant == 1 or quadrant == 2, -cosine, cosine)
        sine = wp.where(quadrant >= 2, -sine, sine)
        return cosine, sine

else:

    @wp.func
    def cos_sin(angle: real):
        """(cos, sin) by the library, which is fast in single precision."""
        return wp.cos(angle), wp.sin(angle)


@wp.func
def turn_z(R: mat33, angle: real):
    """R · Rot_z(angle)."""
    c, s = cos_sin(angle)
    return mat33(
        R[0, 0] * c + R[0, 1] * s, R[0, 1] * c - R[0, 0] * s, R[0, 2],
        R[1, 0] * c + R[1, 1] * s, R[1, 1] * c - R[1, 0] * s, R[1, 2],
        R[2, 0] * c + R[2, 1] * s, R[2, 1] * c - R[2, 0] * s, R[2, 2],
    )  # fmt: skip


@wp.func
def rotation(x: real, y: real, z: real, w: real):
    """Rotation matrix of the direction of a quaternion (x, y, z, w): its length does not matter."""
    s = real(2.0) / (x * x + y * y + z * z + w * w)
    one = real(1.0)
    return mat33(
        one - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), one - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), one - s * (x * x + y * y),
    )  # fmt: skip


_ROW = f"""
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
LANE = f"const int lane = threadIdx.x & {LANES - 1};"
indices = wp.array(dtype=int)


def _added(*names: str) -> str:
    """Sums over a team's threads; all get the same."""
    add = " ".join(f"{x} += __shfl_xor_sync(team, {x}, o);" for x in names)
    return f"for (int o = {LANES // 2}; o > 0; o /= 2) {{ {add} }}"


@wp.func_native(
    MEET
    + _ROW
    + f"""
    {C_REAL} sum = 0;
#if {TEAMED}
    {LANE}
    for (int k = lane; k < length; k += {LANES}) sum += row[k*n] * x[at[k]*n];
    {_added("sum")}
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
    """Σ W[start + k] z[index[first + k]]: a sparse row of a workspace times a column."""
    ...


def _batched(count: str, load: str, store: str, plain: str) -> str:
    """A loop that reads and writes. On a GPU eight entries are read before the first is written, or each would wait for
    the one before it to arrive from memory; entries of a row are different ones."""
    return f"""{MEET}
#if {TEAMED}
    {LANE}
    for (int k = lane; k < {count}; k += {LANES}) {{
        {C_REAL} y[1], v[1];
        const int j = 0;
        {load}
        {store}
    }}
    __syncwarp(team);
#elif defined(__CUDA_ARCH__)
    for (int first_k = 0; first_k < {count}; first_k += 8) {{
        {C_REAL} y[8], v[8];
        #pragma unroll
        for (int j = 0; j < 8; ++j) {{ const int k = first_k + j; if (k < {count}) {{ {load} }} }}
        #pragma unroll
        for (int j = 0; j < 8; ++j) {{ const int k = first_k + j; if (k < {count}) {{ {store} }} }}
    }}
#else
    for (int k = 0; k < {count}; ++k) {{ {plain} }}
#endif
"""


@wp.func_native(_ROW + _batched(
    "length", "y[j] = x[at[k]*n] + row[k*n] * factor;", "x[at[k]*n] = y[j];", "x[at[k]] += row[k] * factor;"
))  # fmt: skip
def row_add(W: array2, start: int, length: int, index: indices, first: int, factor: real, z: array2, w: int):
    """z[index[first + k]] += factor W[start + k]."""
    ...


@wp.func_native(
    MEET
    + _ROW
    + f"""
    const {C_REAL}* second = row + length*n;
    const {C_REAL}* third = second + length*n;
    {C_REAL} a = 0, b = 0, c = 0;
#if {TEAMED}
    {LANE}
    for (int k = lane; k < length; k += {LANES}) {{
        const {C_REAL} y = x[at[k]*n];
        a += row[k*n] * y; b += second[k*n] * y; c += third[k*n] * y;
    }}
    {_added("a", "b", "c")}
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
def three_dot(W: array2, start: int, length: int, index: indices, first: int, z: array2, w: int) -> vec3:
    """`row_dot` of three rows that follow each other."""
    ...


@wp.func_native(
    _ROW
    + f"""
    const {C_REAL}* second = row + length*n;
    const {C_REAL}* third = second + length*n;
"""
    + _batched(
        "length",
        "y[j] = x[at[k]*n] + row[k*n] * factor[0] + second[k*n] * factor[1] + third[k*n] * factor[2];",
        "x[at[k]*n] = y[j];",
        "x[at[k]] += row[k] * factor[0] + second[k] * factor[1] + third[k] * factor[2];",
    )
)
def three_add(W: array2, start: int, length: int, index: indices, first: int, factor: vec3, z: array2, w: int):
    """`row_add` of three rows that follow each other."""
    ...


_TWO = f"""
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
    MEET
    + _TWO
    + f"""
    {C_REAL} sum = 0;
#if {TEAMED}
    {LANE}
    for (int k = lane; k < length; k += {LANES}) sum += a[k*n] * b[k*n];
    {_added("sum")}
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
def three_gram(W: array2, start: int, length: int, w: int) -> vec6:
    """Products (aa, bb, cc, bc, ac, ab) of three rows a, b, c that follow each other in a workspace."""
    ...


@wp.func
def row_product(W: array2, first: int, second: int, length: int, w: int):
    """Σ W[first + k] W[second + k]."""
    return column_dot(W, first, W, second, length, w)


@wp.func_native(
    _TWO + _batched("length", "y[j] = b[k*n] + factor * a[k*n];", "b[k*n] = y[j];", "b[k] += factor * a[k];")
)
def column_add(A: array2, first: int, factor: real, B: array2, second: int, length: int, w: int):
    """B[second + k] += factor A[first + k]."""
    ...


@wp.func_native(
    "const long long n = source.shape[1];"
    + _batched(
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
    + _batched(
        "count",
        """const long long at = k*n + w; const REAL now = x.data[at]; const REAL ahead = beta * way.data[at];
           v[j] = now - old.data[at] + ahead; y[j] = now + ahead;""",
        "x.data[k*n + w] = y[j]; way.data[k*n + w] = v[j];",
        """const REAL ahead = beta * way.data[k]; way.data[k] = x.data[k] - old.data[k] + ahead; x.data[k] += ahead;""",
    ).replace("REAL", C_REAL)
)
def extrapolate(x: array2, old: array2, way: array2, beta: real, count: int, w: int):
    """Nonsmooth conjugate gradients over the first `count` items: x += β way; way = (x before that − old) + β way."""
    ...


@wp.func_native("const long long n = target.shape[1];" + _batched(
    "count", "y[j] = 0;", "target.data[k*n + w] = y[j];", "target.data[k] = 0;"
))  # fmt: skip
def clear(target: array2, count: int, w: int):
    """Zero the first `count` items of a workspace column."""
    ...


@wp.func_native(
    MEET
    + f"""
    {C_REAL} sum = 0;
#if {TEAMED}
    const long long n = x.shape[1];
    {LANE}
    for (int k = lane; k < count; k += {LANES}) {{
        const {C_REAL} d = x.data[k*n + w] - y.data[k*n + w];
        sum += d * d;
    }}
    {_added("sum")}
#elif defined(__CUDA_ARCH__)
    const long long n = x.shape[1];
    for (int k = 0; k < count; ++k) {{
        const {C_REAL} d = x.data[k*n + w] - y.data[k*n + w];
        sum += d * d;
    }}
#else
    {FOUR}
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
def distance2(x: array2, y: array2, count: int, w: int) -> real:
    """|x − y|² of the first `count` items of two workspace columns."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return (double)clock64();
#elif defined(__x86_64__)
    return (double)__builtin_ia32_rdtsc();
#else
    return (double)__builtin_readcyclecounter();
#endif
""")
def ticks() -> wp.float64:
    """The machine's counter of time, in units of its own."""
    ...
