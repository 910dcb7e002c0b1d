"""Solve of one contact block under Coulomb's law, native (M-55, M-56): roots and divisions are skipped where nothing
slips."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.slots import BLOCK_ROWS, ContactMass, ContactMode
from sharnir.kernels.columns import ints2
from sharnir.kernels.lanes import SharedContact
from sharnir.kernels.types import C_REAL, SIMD4_NATIVE, array2, real, vec3
from sharnir.kernels.vector_ops import slot_native

MAX_CONE_ITERATIONS = 8  # of Newton's method on λ; one is usual
TOL_CONE = 0.2  # of |p_t|²: so close to the cone, the next iteration is the last
# native text of the effective-mass slots of a contact: k points to the first, n is their stride
_INVERSE = [[slot_native("k", ContactMass.INVERSE + 3 * i + j) for j in range(3)] for i in range(3)]
_NORMAL, _TANGENT = slot_native("k", ContactMass.NORMAL), slot_native("k", ContactMass.TANGENT)
_K_NT1, _K_NT2 = slot_native("k", ContactMass.K_NT1), slot_native("k", ContactMass.K_NT2)
_CHANGE_WEIGHT = slot_native("k", ContactMass.CHANGE_WEIGHT)
# Slip: p_t = (E + λ M)⁻¹ p_t of sticking, M the tangential block of the inverse, and λ = |s_t|/|p_t| so that |p_t| = μ
# p_n; x, y and `normal` are these impulses times det(E + λ M): polynomials in λ.
_SLIP_NATIVE = f"""
            const {C_REAL} a = {_INVERSE[1][1]}, b = {_INVERSE[1][2]}, c = {_INVERSE[2][2]},
                trace = a + c, det = a*c - b*b;
            const {C_REAL} dx = c*p1 - b*p2, dy = a*p2 - b*p1, square = frictionless_normal*det;
            const {C_REAL} linear = frictionless_normal*trace - ({_K_NT1}*dx + {_K_NT2}*dy)*{_NORMAL};
            const {C_REAL} power = -(s1*o1 + s2*o2);
            {C_REAL} lambda = power > 0 ? power / (o1*o1 + o2*o2) : 0;
            bool converged = false;
            for (int iteration = 0; iteration < {MAX_CONE_ITERATIONS} && !converged; ++iteration) {{
                const {C_REAL} x = p1 + lambda*dx, y = p2 + lambda*dy, normal = p0 + lambda*(linear + lambda*square);
                const {C_REAL} mu2_normal = mu*mu*normal, size = x*x + y*y, residual = size - mu2_normal*normal;
                const {C_REAL} slope = 2*(x*dx + y*dy - mu2_normal*(linear + 2*lambda*square));
                const bool is_valid = normal > 0 && slope < 0;
                converged = is_valid && (residual < 0 ? -residual : residual) <= ({C_REAL}){TOL_CONE}*size;
                if (is_valid) {{
                    const {C_REAL} next = lambda - residual/slope;
                    lambda = next > 0 ? next : lambda/2;
                }} else {{
                    const {C_REAL} asymptote = wp::sqrt(dx*dx + dy*dy) / (mu*square);  // for large λ
                    lambda = asymptote > lambda ? asymptote : 2*lambda;
                }}
            }}
            if (converged) {{
                const {C_REAL} x = p1 + lambda*dx, y = p2 + lambda*dy, normal = p0 + lambda*(linear + lambda*square);
                const {C_REAL} size = wp::sqrt(x*x + y*y);
                p0 = normal > 0 ? normal / (1 + lambda*(trace + lambda*det)) : 0;
                const {C_REAL} scale = size > 0 ? mu*p0/size : 0;
                p1 = x*scale;
                p2 = y*scale;
                is_slipping = done = true;
            }}
"""
# Fallback where Newton on λ fails or the block is singular because bodies cannot move along all three rows: solve the
# normal, then project the tangents after a step 1/λ_max of their block.
_SEQUENTIAL_NATIVE = f"""
        const {C_REAL} along = o0 - s0*{_NORMAL};
        p0 = along > 0 ? along : 0;
        p1 = o1 - (s1 + {_K_NT1}*(p0 - o0))*{_TANGENT};
        p2 = o2 - (s2 + {_K_NT2}*(p0 - o0))*{_TANGENT};
        const {C_REAL} square = p1*p1 + p2*p2;
        const {C_REAL} bound = mu*p0;
        if (square > bound*bound) {{
            const {C_REAL} scale = bound / wp::sqrt(square);
            is_slipping = true;
            p1 *= scale;
            p2 *= scale;
        }}
"""
# New impulse (p0, p1, p2) from the old one (o0, o1, o2) and the velocities minus targets (s0, s1, s2): stick if the
# cone allows it; otherwise open, if the normal alone would pull, or slip (M-82). k: the contact's effective-mass
# slots.
_CONE_NATIVE = f"""
    bool is_slipping = mu == 0;
    {C_REAL} p0 = o0 - ({_INVERSE[0][0]}*s0 + {_INVERSE[0][1]}*s1 + {_INVERSE[0][2]}*s2);
    {C_REAL} p1 = o1 - ({_INVERSE[1][0]}*s0 + {_INVERSE[1][1]}*s1 + {_INVERSE[1][2]}*s2);
    {C_REAL} p2 = o2 - ({_INVERSE[2][0]}*s0 + {_INVERSE[2][1]}*s1 + {_INVERSE[2][2]}*s2);
    const bool is_regular = {_INVERSE[0][0]} > 0;
    bool done = is_regular && p0 >= 0 && p1*p1 + p2*p2 <= (mu*p0)*(mu*p0);
    if (is_regular && !done) {{
        const {C_REAL} frictionless_normal = p0 + ({_K_NT1}*p1 + {_K_NT2}*p2)*{_NORMAL};  // normal without tangents
        if (frictionless_normal > 0 && mu > 0) {{
            {_SLIP_NATIVE}
        }} else {{
            p0 = frictionless_normal > 0 ? frictionless_normal : 0;
            p1 = 0;
            p2 = 0;
            done = true;
        }}
    }}
    if (!done) {{
        {_SEQUENTIAL_NATIVE}
    }}
"""
# Pointer k and stride n to the effective-mass slots of a contact.
_BLOCK_POINTER_NATIVE = f"""
#if defined(__CUDA_ARCH__)
    const long long n = K.shape[1];
    const {C_REAL}* k = K.data + (long long)(first) * n + w;
#else
    const long long n = 1;
    const {C_REAL}* k = K.data + first;
#endif
"""


@wp.func_native(f"""
    {_BLOCK_POINTER_NATIVE}
    const {C_REAL} o0 = old[0], o1 = old[1], o2 = old[2], s0 = s[0], s1 = s[1], s2 = s[2];
    {_CONE_NATIVE}
    return wp::vec_t<3,{C_REAL}>(p0, p1, p2);
""")
def solve_cone(K: array2, first: int, mu: real, old: vec3, s: vec3, w: int) -> vec3:
    """Impulse (normal, two tangents) of a contact that replaces `old`. K[first …]: its effective-mass slots; mu:
    coefficient of friction; s: row velocities minus targets, m/s."""
    ...


@wp.func_native(f"""
    const int n = 1;
    const {C_REAL}* k = pool.data + first;
    const {C_REAL} o0 = old[0], o1 = old[1], o2 = old[2], s0 = s[0], s1 = s[1], s2 = s[2], mu = k[{SharedContact.MU}];
    {_CONE_NATIVE}
    return wp::vec_t<3,{C_REAL}>(p0, p1, p2);
""")
def solve_cone_shared(pool: array2, first: int, old: vec3, s: vec3) -> vec3:
    """Impulse of a contact that replaces `old`, from an effective-mass block and a coefficient of friction in GPU
    shared memory. pool[first …]: the block; s: row velocities minus targets, m/s."""
    ...


@wp.func_native(f"""
    {_BLOCK_POINTER_NATIVE}
#if defined(__CUDA_ARCH__)
    const long long m = (long long)({BLOCK_ROWS}*c)*n + w;
#else
    const long long m = {BLOCK_ROWS}*c;
#endif
    {C_REAL}* p = row_p.data + m;
    {C_REAL}* s = row_s.data + m;
    const {C_REAL}* target_velocity = target.data + m;
    const {C_REAL} o0 = p[0], o1 = p[n], o2 = p[2*n];
    const {C_REAL} s0 = s[0] - target_velocity[0], s1 = s[n] - target_velocity[n], s2 = s[2*n] - target_velocity[2*n];
    {_CONE_NATIVE}
    p[0] = p0; p[n] = p1; p[2*n] = p2;
    const {C_REAL} d0 = p0 - o0, d1 = p1 - o1, d2 = p2 - o2;
#if defined(__CUDA_ARCH__)
    const {C_REAL}* a = A.data + (long long)({BLOCK_ROWS}*c*rows)*n + w;
    for (int j = 0; j < rows; ++j)
        row_s.data[j*n + w] += a[j*n]*d0 + a[(rows + j)*n]*d1 + a[(2*rows + j)*n]*d2;
#else
    {SIMD4_NATIVE}
    const {C_REAL}* a = A.data + {BLOCK_ROWS}*c*rows;
    for (int j = 0; j < rows; j += 4)
        *(four*)(row_s.data + j) +=
            *(const four*)(a + j)*d0 + *(const four*)(a + rows + j)*d1 + *(const four*)(a + 2*rows + j)*d2;
#endif
    const int mode =
        p0 > 0 && {_NORMAL} > 0 ? (is_slipping ? {ContactMode.SLIP} : {ContactMode.STICK}) : {ContactMode.OPEN};
#if defined(__CUDA_ARCH__)
    contact_mode.data[c*n + w] = mode;
#else
    contact_mode.data[c] = mode;
#endif
    const {C_REAL} x = d0 < 0 ? -d0 : d0, y = d1 < 0 ? -d1 : d1, z = d2 < 0 ? -d2 : d2;
    const {C_REAL} xy = x > y ? x : y, sum = x + y + z;
    return sum - sum == 0 ? (xy > z ? xy : z) * {_CHANGE_WEIGHT} : ({C_REAL})1e30;  // what is no number counts
""")
def solve_cone_dense(
    A: array2, rows: int, K: array2, first: int, mu: real, target: array2, c: int, row_s: array2, row_p: array2,
    contact_mode: ints2, w: int,
) -> real:  # fmt: skip
    """Solve contact c on the Delassus matrix: update its impulses in row_p and, by three columns of A, the velocities
    row_s of all rows. Returns the largest change of an impulse, N s, times the contact's change weight (more where what
    it moves is light), or 1e30 if it is not finite. rows: padded column length of A; contact_mode[c]:
    its `ContactMode`."""
    ...
