"""Cosines and sines of all hinges of a tree at once, four at a time on the CPU in double precision."""

from __future__ import annotations

import warp as wp

from sharnir.enums import MotionKind
from sharnir.kernels.types import C_REAL, DOUBLE, SIMD4_NATIVE, array2
from sharnir.kernels.vector_ops import indices

MAX_REDUCED_ANGLE = "1e5"  # rad, beyond which the argument reduction loses digits and the library is called
_SCALAR_NATIVE = """
    for (int e = 0; e < parts; ++e)
        if (kind.data[e] == SCREW) {
            const long long at = (long long)(2*part_v.data[e])*n + w;
            const REAL angle = position[part_q.data[e]*n];
            out.data[at] = wp::cos(angle);
            out.data[at + n] = wp::sin(angle);
        }
"""
# Cody–Waite reduction by π/2 and the minimax polynomials of fdlibm on [−π/4, π/4], as in `kernels.types.cos_sin`. A sum
# with 1.5 · 2⁵² is rounded to a whole number and has the quadrant in its last two bits.
_SIMD4_NATIVE = """
    FOUR
    typedef long long words __attribute__((ext_vector_type(4)));
    for (int e = 0; e < parts;) {
        double angle[4] = {0, 0, 0, 0};
        int at[4];
        int count = 0;
        for (; e < parts && count < 4; ++e)
            if (kind.data[e] == SCREW) {
                angle[count] = position[part_q.data[e]];
                at[count++] = 2*part_v.data[e];
            }
        const four x = *(const four*)angle;
        const four sum = x*0.63661977236758134308 + 6755399441055744.0;
        const four turns = sum - 6755399441055744.0;
        four r = x - turns*1.57079632673412561417e00;
        r = r - turns*6.07710050630396597660e-11;
        r = r - turns*2.02226624879595063154e-21;
        const four z = r*r;
        const four s = r + r*z*(-1.66666666666666324348e-01 + z*(8.33333333332248946124e-03
            + z*(-1.98412698298579493134e-04 + z*(2.75573137070700676789e-06
            + z*(-2.50507602534068634195e-08 + z*1.58969099521155010221e-10)))));
        const four c = 1.0 - (0.5*z - z*z*(4.16666666666666019037e-02 + z*(-1.38888888888741095749e-03
            + z*(2.48015872894767294178e-05 + z*(-2.75573143513906633035e-07
            + z*(2.08757232129817482790e-09 + z*-1.13596475577881948265e-11))))));
        const words quadrant = __builtin_bit_cast(words, sum);
        const words odd = -(quadrant & 1);
        const words cb = __builtin_bit_cast(words, c), sb = __builtin_bit_cast(words, s), swap = (cb ^ sb) & odd;
        const words cosine = cb ^ swap ^ (((quadrant + 1) & 2) << 62), sine = sb ^ swap ^ ((quadrant & 2) << 62);
        const four cosines = __builtin_bit_cast(four, cosine), sines = __builtin_bit_cast(four, sine);
        for (int k = 0; k < count; ++k) {
            const bool near = angle[k] < FARTHEST && angle[k] > -FARTHEST;
            out.data[at[k]] = near ? cosines[k] : wp::cos(angle[k]);
            out.data[at[k] + 1] = near ? sines[k] : wp::sin(angle[k]);
        }
    }
"""


@wp.func_native(
    f"""
#if defined(__CUDA_ARCH__)
    const long long n = q.shape[1];
    const REAL* position = q.data + w;
    {_SCALAR_NATIVE}
#else
    const REAL* position = q.data + (long long)(w) * q.shape[0];
    {_SIMD4_NATIVE if DOUBLE else "const long long n = 1; w = 0;" + _SCALAR_NATIVE}
#endif
""".replace("SCREW", str(MotionKind.SCREW))
    .replace("FARTHEST", MAX_REDUCED_ANGLE)
    .replace("FOUR", SIMD4_NATIVE)
    .replace("REAL", C_REAL)
)
def hinge_cos_sin(parts: int, kind: indices, part_q: indices, part_v: indices, q: array2, out: array2, w: int):
    """out[2 d], out[2 d + 1] ← cosine and sine of hinge coordinate d, to 1 ulp. parts: number of elementary motions;
    kind, part_q, part_v: of each."""
    ...
