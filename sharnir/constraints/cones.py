"""The law of one contact, native: roots and divisions are left out where nothing slides (M-55, M-56)."""

from __future__ import annotations

import warp as wp

from sharnir.access import ints2
from sharnir.maths import C_REAL, FOUR, array2, real, vec3

# New impulse (p0, p1, p2) from the old one (o0, o1, o2) and the speeds (s0, s1, s2) beyond those sought: sticking if
# the cone allows it; otherwise the normal alone, then sliding on the circle μ p_n. k: what `block_of_contact` found.
OPEN, STICKS, SLIDES = range(3)  # what a contact does
_LAW = f"""
    bool slides = mu == 0;
    {C_REAL} p0 = o0 - (k[0]*s0 + k[n]*s1 + k[2*n]*s2);
    {C_REAL} p1 = o1 - (k[3*n]*s0 + k[4*n]*s1 + k[5*n]*s2);
    {C_REAL} p2 = o2 - (k[6*n]*s0 + k[7*n]*s1 + k[8*n]*s2);
    if (!(k[0] > 0 && p0 >= 0 && p1*p1 + p2*p2 <= (mu*p0)*(mu*p0))) {{
        const {C_REAL} alone = o0 - s0*k[9*n];
        p0 = alone > 0 ? alone : 0;
        p1 = o1 - (s1 + k[11*n]*(p0 - o0))*k[10*n];
        p2 = o2 - (s2 + k[12*n]*(p0 - o0))*k[10*n];
        const {C_REAL} square = p1*p1 + p2*p2;
        const {C_REAL} bound = mu*p0;
        if (square > bound*bound) {{
            const {C_REAL} scale = bound / wp::sqrt(square);
            slides = true;
            p1 *= scale;
            p2 *= scale;
        }}
    }}
"""
_BLOCK = f"""
#if defined(__CUDA_ARCH__)
    const long long n = K.shape[1];
    const {C_REAL}* k = K.data + (long long)(first) * n + w;
#else
    const long long n = 1;
    const {C_REAL}* k = K.data + first;
#endif
"""


@wp.func_native(f"""
    {_BLOCK}
    const {C_REAL} o0 = old[0], o1 = old[1], o2 = old[2], s0 = s[0], s1 = s[1], s2 = s[2];
    {_LAW}
    return wp::vec_t<3,{C_REAL}>(p0, p1, p2);
""")
def within_cone(K: array2, first: int, mu: real, old: vec3, s: vec3, w: int) -> vec3:
    """Impulse of a contact instead of the old one, for speeds s beyond those sought."""
    ...


@wp.func_native(f"""
    const int n = 1;
    const {C_REAL}* k = pool.data + first;
    const {C_REAL} o0 = old[0], o1 = old[1], o2 = old[2], s0 = s[0], s1 = s[1], s2 = s[2], mu = k[13];
    {_LAW}
    return wp::vec_t<3,{C_REAL}>(p0, p1, p2);
""")
def within_cone_at_hand(pool: array2, first: int, old: vec3, s: vec3) -> vec3:
    """The same by a block and a coefficient of friction in memory that a team of threads shares."""
    ...


@wp.func_native(f"""
    {_BLOCK}
#if defined(__CUDA_ARCH__)
    const long long m = (long long)(3*c)*n + w;
#else
    const long long m = 3*c;
#endif
    {C_REAL}* p = row_p.data + m;
    {C_REAL}* s = row_s.data + m;
    const {C_REAL}* sought = target.data + m;
    const {C_REAL} o0 = p[0], o1 = p[n], o2 = p[2*n];
    const {C_REAL} s0 = s[0] - sought[0], s1 = s[n] - sought[n], s2 = s[2*n] - sought[2*n];
    {_LAW}
    p[0] = p0; p[n] = p1; p[2*n] = p2;
    const {C_REAL} d0 = p0 - o0, d1 = p1 - o1, d2 = p2 - o2;
#if defined(__CUDA_ARCH__)
    const {C_REAL}* a = A.data + (long long)(3*c*rows)*n + w;
    for (int j = 0; j < rows; ++j)
        row_s.data[j*n + w] += a[j*n]*d0 + a[(rows + j)*n]*d1 + a[(2*rows + j)*n]*d2;
#else
    {FOUR}
    const {C_REAL}* a = A.data + 3*c*rows;
    for (int j = 0; j < rows; j += 4)
        *(four*)(row_s.data + j) +=
            *(const four*)(a + j)*d0 + *(const four*)(a + rows + j)*d1 + *(const four*)(a + 2*rows + j)*d2;
#endif
    const int deed = p0 > 0 && k[9*n] > 0 ? (slides ? 2 : 1) : 0;
#if defined(__CUDA_ARCH__)
    deeds.data[c*n + w] = deed;
#else
    deeds.data[c] = deed;
#endif
    const {C_REAL} x = d0 < 0 ? -d0 : d0, y = d1 < 0 ? -d1 : d1, z = d2 < 0 ? -d2 : d2;
    const {C_REAL} xy = x > y ? x : y, sum = x + y + z;
    return sum - sum == 0 ? (xy > z ? xy : z) * k[15*n] : ({C_REAL})1e30;  // what is no number counts
""")
def sweep_cone(
    A: array2, rows: int, K: array2, first: int, mu: real, target: array2, c: int, row_s: array2, row_p: array2,
    deeds: ints2, w: int,
) -> real:  # fmt: skip
    """Impulses of contact c and what they do to the speeds of all rows, by the columns of A; returns the largest change
    of an impulse, more where what it moves is light. deeds: what it does, OPEN, STICKS or SLIDES."""
    ...
