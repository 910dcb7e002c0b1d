"""Scalar, vector and matrix types of the chosen precision, small functions on them, and compiler options of kernels.

Importing this module fixes the precision of the process.
"""

from __future__ import annotations

import os

import numpy as np
import warp as wp

from sharnir.kernels.target import compiler_flags
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
real_array = wp.array(dtype=real)
int_array = wp.array(dtype=int)
vec3_array = wp.array(dtype=vec3)
vec3i_array = wp.array(dtype=wp.vec3i)
# Measured on whole steps: what is called from many places is a function of its own, with its own registers (hot leaves
# are marked inline=True); loops here are short, so that calling memset and memcpy for them takes longer;
# -mprefer-vector-width keeps AVX-512 from down-clocking.
CPU_FLAGS = (
    f"{compiler_flags()} -mllvm=-inline-threshold=3000 -mllvm=-slp-recursion-max-depth=4 -mprefer-vector-width=256"
)
CPU_FLAGS += " -ffp-contract=fast -mllvm=-unroll-runtime=false"
CPU_FLAGS += " -mllvm=-disable-loop-idiom-memset -mllvm=-disable-loop-idiom-memcpy"
KERNEL_OPTIONS = {"enable_backward": False, "cpu_compiler_flags": CPU_FLAGS}
# numbers of a vector, of a spatial vector (linear part, angular part) and of a 3 × 3 matrix, row by row
VEC3, SPATIAL, MAT33 = 3, 6, 9
ANGULAR = 3  # of a spatial vector: first number of the angular part
ANGULAR_X, ANGULAR_Y, ANGULAR_Z = 3, 4, 5  # and all three
MAT33_ROW1, MAT33_ROW2 = 3, 6  # first number of the second and third row of a matrix
MAT33_XZ, MAT33_YZ, MAT33_ZZ = 2, 5, 8  # third column of a matrix, the z axis of a frame
QUAT_W = 3  # scalar part of a quaternion (x, y, z, w)
SYM_XX, SYM_YY, SYM_ZZ, SYM_YZ, SYM_XZ, SYM_XY = 0, 1, 2, 3, 4, 5  # entries of a symmetric matrix as vec6
C_REAL = "double" if DOUBLE else "float"
# native: typedef `four`, a SIMD vector of four reals that need not be aligned
SIMD4_NATIVE = f"typedef {C_REAL} four __attribute__((ext_vector_type(4), aligned({8 if DOUBLE else 4})));"


@wp.func
def sym_mul(A: vec6, b: vec3):
    """A b, A symmetric and stored as (xx, yy, zz, yz, xz, xy)."""
    return vec3(
        A[SYM_XX] * b[0] + A[SYM_XY] * b[1] + A[SYM_XZ] * b[2],
        A[SYM_XY] * b[0] + A[SYM_YY] * b[1] + A[SYM_YZ] * b[2],
        A[SYM_XZ] * b[0] + A[SYM_YZ] * b[1] + A[SYM_ZZ] * b[2],
    )


@wp.func
def sym_outer(a: vec3, b: vec3):
    """The symmetric a bᵀ of parallel vectors a and b."""
    return vec6(a[0] * b[0], a[1] * b[1], a[2] * b[2], a[1] * b[2], a[0] * b[2], a[0] * b[1])


@wp.func
def sym_rotate(R: mat33, A: mat33):
    """R A Rᵀ of a symmetric A, as (xx, yy, zz, yz, xz, xy)."""
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
    """The 3×3 identity."""
    one = real(1.0)
    zero = real(0.0)
    return mat33(one, zero, zero, zero, one, zero, zero, zero, one)


@wp.func
def max_abs3(d: vec3):
    """Largest absolute component."""
    return wp.max(wp.max(wp.abs(d[0]), wp.abs(d[1])), wp.abs(d[2]))


@wp.func
def column(R: mat33, k: int):
    """Column k of a matrix."""
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
def rotate_z(R: mat33, c: real, s: real):
    """R · Rot_z(angle), with c = cos(angle), s = sin(angle)."""
    return mat33(
        R[0, 0] * c + R[0, 1] * s, R[0, 1] * c - R[0, 0] * s, R[0, 2],
        R[1, 0] * c + R[1, 1] * s, R[1, 1] * c - R[1, 0] * s, R[1, 2],
        R[2, 0] * c + R[2, 1] * s, R[2, 1] * c - R[2, 0] * s, R[2, 2],
    )  # fmt: skip


@wp.func
def matrix_from_quat(x: real, y: real, z: real, w: real):
    """Rotation matrix of a quaternion (x, y, z, w) of any length but zero."""
    s = real(2.0) / (x * x + y * y + z * z + w * w)
    one = real(1.0)
    return mat33(
        one - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), one - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), one - s * (x * x + y * y),
    )  # fmt: skip


NO_DEADLINE = wp.constant(wp.float64(1.0e300))  # ticks of the clock that are never reached


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return (double)clock64();
#elif defined(__x86_64__)
    return (double)__builtin_ia32_rdtsc();
#else
    return (double)__builtin_readcyclecounter();
#endif
""")
def read_ticks() -> wp.float64:
    """Read the processor's time-stamp counter (CPU) or the clock of the multiprocessor (GPU), in ticks of unknown rate:
    see `sharnir.impulse.ticks.ticks_per_second`."""
    ...
