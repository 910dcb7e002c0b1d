"""Small dense linear algebra in workspace columns, native: axpy of columns, gathered products, submatrix, LU; vectors
of four on the CPU."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.columns import ints2
from sharnir.kernels.types import C_REAL, SIMD4_NATIVE, array2, real, vec3
from sharnir.kernels.vector_ops import indices

MAX_LU_ROWS = 96  # of a matrix that is factored


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
    const long long n = x.shape[1];
    const {C_REAL}* a = A.data + (long long)(first) * n + w;
    {C_REAL}* y = x.data + w;
    for (int k = 0; k < length; ++k) y[k*n] += a[k*n] * factor;
#else
    {SIMD4_NATIVE}
    const {C_REAL}* a = A.data + first;
    {C_REAL}* y = x.data;
    for (int k = 0; k < length; k += 4) *(four*)(y + k) += *(const four*)(a + k) * factor;
#endif
""")
def add_column(A: array2, first: int, length: int, factor: real, x: array2, w: int):
    """x += factor · A[first …], one column; length: a multiple of four."""
    ...


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
    const long long n = x.shape[1];
    for (int j = 0; j < count; ++j) {{
        const {C_REAL}* a = A.data + (long long)(rows.data[j*n + w]*length) * n + w;
        const {C_REAL} factor = factors.data[j*n + w];
        for (int k = 0; k < length; ++k) x.data[k*n + w] += a[k*n] * factor;
    }}
#else
    {SIMD4_NATIVE}
    for (int k = 0; k < length; k += 4) {{
        four sum = *(const four*)(x.data + k);
        for (int j = 0; j < count; ++j) sum += *(const four*)(A.data + rows.data[j]*length + k) * factors.data[j];
        *(four*)(x.data + k) = sum;
    }}
#endif
""")
def add_columns(A: array2, length: int, rows: ints2, count: int, factors: array2, x: array2, w: int):
    """x += Σ_j factors[j] · A[length · rows[j] …] over `count` columns; length: a multiple of four."""
    ...


@wp.func_native(f"""
    const int* at = index.data + first;
#if defined(__CUDA_ARCH__)
    const long long n = W.shape[1];
    for (int k = 0; k < length; ++k)
        for (int j = 0; j < rows; ++j)
            D.data[(long long)(4*at[k] + j)*n + w] = sign * W.data[(long long)(start + j*length + k)*n + w];
#else
    {SIMD4_NATIVE}  // whole, so that they can be read as fours before they are in memory
    const {C_REAL} *x = W.data + start, *y = x + (rows > 1 ? length : 0), *z = y + (rows > 1 ? length : 0);
    for (int k = 0; k < length; ++k) *(four*)(D.data + 4*at[k]) = four{{x[k], y[k], z[k], 0}} * sign;
#endif
""")
def scatter_interleaved(
    W: array2, start: int, length: int, rows: int, index: indices, first: int, sign: real, D: array2, w: int
):
    """Scatter a sparse row of W, or three consecutive ones interleaved, to D[4 k + j] (coordinate k, row j), times
    `sign`; sign 0 clears the entries. rows: 1 or 3."""
    ...


@wp.func_native(f"""
    const int* at = index.data + first;
#if defined(__CUDA_ARCH__)
    const long long n = W.shape[1];
    const {C_REAL}* row = W.data + (long long)(start) * n + w;
    const {C_REAL}* x = D.data + w;
    wp::vec_t<3,{C_REAL}> out;
    for (int k = 0; k < length; ++k)
        for (int j = 0; j < 3; ++j) out[j] += row[k*n] * x[(4*at[k] + j)*n];
    return out;
#else
    {SIMD4_NATIVE}
    const {C_REAL}* row = W.data + start;
    four a = 0;
    for (int k = 0; k < length; ++k) a += row[k] * *(const four*)(D.data + 4*at[k]);
    return wp::vec_t<3,{C_REAL}>(a[0], a[1], a[2]);
#endif
""")
def dot_interleaved(W: array2, start: int, length: int, index: indices, first: int, D: array2, w: int) -> vec3:
    """Dot products of a sparse row of W with the three interleaved dense rows D[4 k + j]."""
    ...


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
    const long long n = H.shape[1];
#else
    const long long n = 1;
    w = 0;
#endif
    const int* row = rows.data + w;
    for (int j = 0; j < size; ++j) {{
        const {C_REAL}* a = A.data + (long long)(row[j*n]*length) * n + w;
        {C_REAL}* h = H.data + (long long)(j*stride) * n + w;
        int i = 0;
        for (; i < threes; i += 3) {{
            const {C_REAL}* from = a + row[i*n]*n;
            h[i*n] = from[0]; h[(i + 1)*n] = from[n]; h[(i + 2)*n] = from[2*n];
        }}
        for (; i < size; ++i) h[i*n] = a[row[i*n]*n];
        for (; i < stride; ++i) h[i*n] = 0;
    }}
""")
def extract_submatrix(A: array2, length: int, rows: ints2, threes: int, size: int, H: array2, stride: int, w: int):
    """Extract the principal submatrix H of A at indices `rows`. length: column length of A; of the first `threes`
    indices three are consecutive at a time. Columns of H are padded to `stride` with zeros."""
    ...


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
    const long long n = H.shape[1];
    {C_REAL}* h = H.data + w;
    for (int j = 0; j < size; ++j) {{
        const {C_REAL} inverse = 1 / h[(j*stride + j)*n];
        h[(j*stride + j)*n] = inverse;
        for (int i = j + 1; i < size; ++i) h[(j*stride + i)*n] *= inverse;
        for (int k = j + 1; k < size; ++k)
            for (int i = j + 1; i < size; ++i) h[(k*stride + i)*n] -= h[(j*stride + i)*n] * h[(k*stride + j)*n];
    }}
#else
    {SIMD4_NATIVE}
    {C_REAL} below[{MAX_LU_ROWS}];
    for (int j = 0; j < size; ++j) {{
        {C_REAL}* column = H.data + j*stride;
        const {C_REAL} inverse = 1 / column[j];
        const int first = (j + 1) & ~3;
        for (int i = first; i < stride; i += 4) *(four*)(below + i) = *(const four*)(column + i) * inverse;
        for (int i = first; i <= j; ++i) below[i] = 0;
        for (int i = j + 1; i < size; ++i) column[i] = below[i];
        column[j] = inverse;
        for (int k = j + 1; k < size; ++k) {{
            {C_REAL}* other = H.data + k*stride;
            const {C_REAL} u = other[j];
            for (int i = first; i < stride; i += 4) *(four*)(other + i) -= *(const four*)(below + i) * u;
        }}
    }}
#endif
""")
def factor_lu(H: array2, size: int, stride: int, w: int):
    """LU factorisation without pivoting of a square matrix of at most MAX_LU_ROWS rows, in place: L without its unit
    diagonal, U with inverse pivots. Columns are contiguous and padded to a multiple of four with zeros."""
    ...


@wp.func_native(f"""
#if defined(__CUDA_ARCH__)
    const long long n = H.shape[1];
    const {C_REAL}* h = H.data + w;
    {C_REAL}* y = x.data + w;
    for (int j = 0; j < size; ++j)
        for (int i = j + 1; i < size; ++i) y[i*n] -= h[(j*stride + i)*n] * y[j*n];
    for (int j = size - 1; j >= 0; --j) {{
        y[j*n] *= h[(j*stride + j)*n];
        for (int i = 0; i < j; ++i) y[i*n] -= h[(j*stride + i)*n] * y[j*n];
    }}
#else
    {SIMD4_NATIVE}
    {C_REAL}* y = x.data;
    const {C_REAL}* h = H.data;
    const int whole = size & ~3;
    for (int j = 0; j < whole; j += 4) {{  // four columns at a time
        const {C_REAL} *a = h + j*stride, *b = a + stride, *c = b + stride, *d = c + stride;
        const {C_REAL} p = y[j], q = y[j + 1] - a[j + 1]*p, r = y[j + 2] - a[j + 2]*p - b[j + 2]*q;
        const {C_REAL} s = y[j + 3] - a[j + 3]*p - b[j + 3]*q - c[j + 3]*r;
        y[j + 1] = q; y[j + 2] = r; y[j + 3] = s;
        for (int i = j + 4; i < stride; i += 4)
            *(four*)(y + i) -= (*(const four*)(a + i) * p + *(const four*)(b + i) * q)
                             + (*(const four*)(c + i) * r + *(const four*)(d + i) * s);
    }}
    for (int j = whole; j < size; ++j)
        for (int i = j + 1; i < size; ++i) y[i] -= h[j*stride + i] * y[j];
    for (int j = size - 1; j >= whole; --j) {{
        const {C_REAL} value = y[j] *= h[j*stride + j];
        for (int i = 0; i < whole; i += 4) *(four*)(y + i) -= *(const four*)(h + j*stride + i) * value;
        for (int i = whole; i < j; ++i) y[i] -= h[j*stride + i] * value;
    }}
    for (int j = whole - 4; j >= 0; j -= 4) {{
        const {C_REAL} *a = h + j*stride, *b = a + stride, *c = b + stride, *d = c + stride;
        const {C_REAL} s = y[j + 3] * d[j + 3], r = (y[j + 2] - d[j + 2]*s) * c[j + 2];
        const {C_REAL} q = (y[j + 1] - d[j + 1]*s - c[j + 1]*r) * b[j + 1];
        const {C_REAL} p = (y[j] - d[j]*s - c[j]*r - b[j]*q) * a[j];
        y[j] = p; y[j + 1] = q; y[j + 2] = r; y[j + 3] = s;
        for (int i = 0; i < j; i += 4)
            *(four*)(y + i) -= (*(const four*)(a + i) * p + *(const four*)(b + i) * q)
                             + (*(const four*)(c + i) * r + *(const four*)(d + i) * s);
    }}
#endif
""")
def solve_lu(H: array2, x: array2, size: int, stride: int, w: int):
    """x ← H⁻¹ x by the factors of `factor_lu`."""
    ...
