"""Whitened Jacobian rows by traversal of the ancestors: w_d = Ŝ_d·p, p ← p − Û_d w_d (M-10), entries in the order in
which coordinates are met."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.aba import whiten_dof, whiten_unit_dof
from sharnir.dynamics.tree import Wrench, make_wrench
from sharnir.impulse.data import Context
from sharnir.impulse.row_kinds import LANES_4, LANES_8
from sharnir.impulse.slots import BLOCK_ROWS
from sharnir.kernels.columns import put
from sharnir.kernels.types import DOUBLE, SPATIAL, VEC3, array2, vec3
from sharnir.kernels.vector_ops import indices


@wp.struct
class RowEnds:
    """Unit impulses of a row on the two links it acts between, each about the pivot of its link; link −1: none."""

    a: int
    fa: vec3  # force
    na: vec3  # moment
    b: int
    fb: vec3
    nb: vec3


@wp.struct
class RowBlock:
    """Where a block of rows stands in W: `rows` rows of `length` entries and, of a contact, as many of `length_b`."""

    start: int
    length: int
    length_b: int
    rows: int


@wp.struct
class ContactArms:
    """Axes of a contact, the links it acts on (−1: the world) and where it is from their pivots."""

    normal: vec3
    t1: vec3
    t2: vec3
    a: int
    ra: vec3  # m
    b: int
    rb: vec3  # m
    drawn: vec3  # m, from the contact to where its friction acts


@wp.func
def make_row_ends(a: int, fa: vec3, na: vec3, b: int, fb: vec3, nb: vec3):
    """Unit impulses (fa, na) on link a and (fb, nb) on link b."""
    ends = RowEnds()
    ends.a = a
    ends.fa = fa
    ends.na = na
    ends.b = b
    ends.fb = fb
    ends.nb = nb
    return ends


@wp.func
def make_row_block(start: int, length: int, length_b: int, rows: int):
    """Block of rows from `start` in W on."""
    block = RowBlock()
    block.start = start
    block.length = length
    block.length_b = length_b
    block.rows = rows
    return block


@wp.func
def whiten_pair_row(ctx: Context, ends: RowEnds, W: array2, start: int, w: int):
    """Whitened row of the unit impulses `ends` on two links (M-10), entries from W[start] on."""
    a = int(ends.a)
    b = int(ends.b)
    on_a = make_wrench(ends.fa, ends.na)
    on_b = make_wrench(ends.fb, ends.nb)
    k = int(start)
    while a >= 0 or b >= 0:
        link = wp.max(a, b)
        p = Wrench()
        if a == link:
            p.f = p.f + on_a.f
            p.n = p.n + on_a.n
        if b == link:
            p.f = p.f + on_b.f
            p.n = p.n + on_b.n
        d = ctx.tree.dof[link + 1] - 1
        first = ctx.tree.dof[link]
        while d >= first:
            put(W, k, w, whiten_dof(ctx.here, d, p, w))
            k += 1
            d -= 1
        up = ctx.tree.parent[link]
        if a == link:
            a = up
            on_a.f = p.f
            on_a.n = p.n
            if b == link:
                b = -1
            elif b == up:  # the paths meet: one wrench from here on
                on_a.f = on_a.f + on_b.f
                on_a.n = on_a.n + on_b.n
                b = -1
        else:
            b = up
            on_b.f = p.f
            on_b.n = p.n
            if a == up:
                on_b.f = on_b.f + on_a.f
                on_b.n = on_b.n + on_a.n
                a = -1


@wp.func
def whiten_dof_row(ctx: Context, link: int, coordinate: int, W: array2, start: int, w: int):
    """Whitened row of a unit impulse on one velocity coordinate of a link: entries from there to the root."""
    p = Wrench()
    put(W, start, w, whiten_unit_dof(ctx.here, coordinate, p, w))
    k = start + 1
    d = coordinate - 1
    i = int(link)
    while i >= 0:
        first = ctx.tree.dof[i]
        while d >= first:
            put(W, k, w, whiten_dof(ctx.here, d, p, w))
            k += 1
            d -= 1
        i = ctx.tree.parent[i]
        if i >= 0:
            d = ctx.tree.dof[i + 1] - 1


_LOAD_WRENCHES_NATIVE = """
    for (int c = 0; c < 6; ++c)
        for (int j = 0; j < LANES; ++j) {
            p[c][j] = wrench.data[(c * LANES + j) * n + w];
            o[c][j] = wrench.data[((6 + c) * LANES + j) * n + w];
        }
"""
_LOAD_CONTACT_NATIVE = """
    const REAL axes[3][3] = {{normal[0], normal[1], normal[2]}, {t1[0], t1[1], t1[2]}, {t2[0], t2[1], t2[2]}};
    for (int c = 0; c < 6; ++c) for (int j = 0; j < LANES; ++j) p[c][j] = o[c][j] = 0;
    for (int j = 0; j < 3; ++j)
        for (int c = 0; c < 3; ++c) {
            const int d = (c + 1) % 3, e = (c + 2) % 3;
            p[c][j] = -axes[j][c];
            o[c][j] = axes[j][c];
            const REAL yd = j > 0 ? drawn[d] : (REAL)0, ye = j > 0 ? drawn[e] : (REAL)0;  // friction acts there
            p[3 + c][j] = (ra[e] + ye) * axes[j][d] - (ra[d] + yd) * axes[j][e];
            o[3 + c][j] = (rb[d] + yd) * axes[j][e] - (rb[e] + ye) * axes[j][d];
            if (LANES > 5) {  // spin and rolling
                p[3 + c][(j + 3) % LANES] = -axes[j][c];
                o[3 + c][(j + 3) % LANES] = axes[j][c];
            }
        }
"""


_PROPAGATION_NATIVE = """
#if defined(__CUDA_ARCH__)
    const long long n = W.shape[1];
    struct lanes {
        REAL x[LANES];
        __device__ REAL& operator[](int j) { return x[j]; }
        __device__ REAL operator[](int j) const { return x[j]; }
        __device__ lanes operator*(REAL s) const {
            lanes r; for (int j = 0; j < LANES; ++j) r.x[j] = x[j] * s; return r; }
        __device__ lanes operator+(const lanes& y) const {
            lanes r; for (int j = 0; j < LANES; ++j) r.x[j] = x[j] + y.x[j]; return r; }
        __device__ void operator-=(const lanes& y) { for (int j = 0; j < LANES; ++j) x[j] -= y.x[j]; }
        __device__ void operator+=(const lanes& y) { for (int j = 0; j < LANES; ++j) x[j] += y.x[j]; }
    };
#else
    const long long n = 1;
    w = 0;
    typedef REAL lanes __attribute__((ext_vector_type(LANES)));
#endif
    const auto propagate = [&](lanes (&f)[6], int link, REAL*& to, long long step) {
        const int first = dof.data[link];
        for (int d = dof.data[link + 1] - 1; d >= first; --d) {
            const REAL* s = S.data + (long long)(6 * d) * n + w;
            const REAL* u = U.data + (long long)(6 * d) * n + w;
            const REAL scale = rsD.data[d * n + w];
            const lanes e = ((f[0] * s[0] + f[1] * s[n] + f[2] * s[2 * n])
                      + (f[3] * s[3 * n] + f[4] * s[4 * n] + f[5] * s[5 * n])) * scale;
#if defined(__CUDA_ARCH__)
            #pragma unroll  // entries by constants: they stay in registers
            for (int j = 0; j < LANES; ++j) if (j < rows) to[j * step] = e[j];
#else
            for (int j = 0; j < rows; ++j) to[j * step] = e[j];
#endif
            to += n;
            for (int c = 0; c < 6; ++c) f[c] -= e * u[c * n];
        }
    };
"""


def propagation_native(code: str, lanes: int) -> str:
    """Native text over some `lanes`, that many rows side by side, preceded by a lambda, `propagate(f, link, to, step)`:
    wrenches f on a link are propagated inward over its coordinates and leave their entries from `to` on, rows `step`
    apart."""
    return (_PROPAGATION_NATIVE + code).replace("LANES", str(lanes)).replace("REAL", "double" if DOUBLE else "float")


def _whiten_block_native(lanes: int, of_contact: bool = False) -> str:
    """Native text that whitens some rows at once, a lane each: axes are read once, and on the CPU lanes are vector
    registers (measured: half the time of a joint's rows). of_contact: entries of b below the common ancestor are stored
    apart, after those of a."""
    load, where = _LOAD_CONTACT_NATIVE, ("out + rows * next", "length_b", "other, other_next")
    if not of_contact:
        load, where = _LOAD_WRENCHES_NATIVE, ("out", "length", "out, next")
    code = """
    lanes p[6], o[6];
LOAD
    REAL* out = W.data + (long long)(start) * n + w;
    const long long next = (long long)(length) * n;
    REAL* other = WHERE;
    const long long other_next = (long long)(OTHER) * n;
    while (a != b) {  // to where the paths meet: one wrench from there on
        if (a > b) { propagate(p, a, out, next); a = parent.data[a]; }
        else { propagate(o, b, SECOND); b = parent.data[b]; }
    }
    for (int c = 0; c < 6; ++c) p[c] += o[c];
    while (a >= 0) { propagate(p, a, out, next); a = parent.data[a]; }
"""
    code = code.replace("LOAD", load).replace("WHERE", where[0]).replace("OTHER", where[1]).replace("SECOND", where[2])
    return propagation_native(code, lanes)


@wp.func_native(_whiten_block_native(LANES_4))
def whiten_joint_rows_4(
    parent: indices, dof: indices, S: array2, U: array2, rsD: array2, wrench: array2, a: int, b: int, W: array2,
    start: int, length: int, rows: int, w: int,
): ...  # fmt: skip


@wp.func_native(_whiten_block_native(LANES_8))
def whiten_joint_rows_8(
    parent: indices, dof: indices, S: array2, U: array2, rsD: array2, wrench: array2, a: int, b: int, W: array2,
    start: int, length: int, rows: int, w: int,
): ...  # fmt: skip


@wp.func_native(_whiten_block_native(LANES_4, of_contact=True))
def whiten_contact_3(
    parent: indices, dof: indices, S: array2, U: array2, rsD: array2, normal: vec3, t1: vec3, t2: vec3, ra: vec3,
    rb: vec3, drawn: vec3, a: int, b: int, W: array2, start: int, length: int, length_b: int, rows: int, w: int,
): ...  # fmt: skip


@wp.func_native(_whiten_block_native(LANES_8, of_contact=True))
def whiten_contact_6(
    parent: indices, dof: indices, S: array2, U: array2, rsD: array2, normal: vec3, t1: vec3, t2: vec3, ra: vec3,
    rb: vec3, drawn: vec3, a: int, b: int, W: array2, start: int, length: int, length_b: int, rows: int, w: int,
): ...  # fmt: skip


@wp.func
def store_row_wrenches(wrench: array2, row: int, rows: int, ends: RowEnds, w: int):
    """Store the unit impulses of one of `rows` rows as input of `whiten_joint_rows`."""
    lanes = wp.where(rows <= LANES_4, LANES_4, LANES_8)
    c = int(0)
    while c < VEC3:
        put(wrench, c * lanes + row, w, ends.fa[c])
        put(wrench, (c + VEC3) * lanes + row, w, ends.na[c])
        put(wrench, (c + SPATIAL) * lanes + row, w, ends.fb[c])
        put(wrench, (c + SPATIAL + VEC3) * lanes + row, w, ends.nb[c])
        c += 1


@wp.func
def whiten_joint_rows(ctx: Context, a: int, b: int, block: RowBlock, w: int):
    """Whiten at most LANES_8 rows from the wrenches stored for links a and b; link −1: none."""
    if block.rows <= LANES_4:
        whiten_joint_rows_4(
            ctx.tree.parent, ctx.tree.dof, ctx.here.S, ctx.here.U, ctx.here.rsD, ctx.work.row_wrench, a, b, ctx.work.W,
            block.start, block.length, block.rows, w,
        )  # fmt: skip
    else:
        whiten_joint_rows_8(
            ctx.tree.parent, ctx.tree.dof, ctx.here.S, ctx.here.U, ctx.here.rsD, ctx.work.row_wrench, a, b, ctx.work.W,
            block.start, block.length, block.rows, w,
        )  # fmt: skip


@wp.func
def whiten_contact_pair(ctx: Context, arms: ContactArms, block: RowBlock, w: int):
    """Whiten the rows of a contact: translation along its axes and, with six rows, rotation about them. Two halves:
    entries of link a up to the root, rows × `length`, then those of b up to the common ancestor, rows × `length_b`."""
    if block.rows == BLOCK_ROWS:
        whiten_contact_3(
            ctx.tree.parent, ctx.tree.dof, ctx.here.S, ctx.here.U, ctx.here.rsD, arms.normal, arms.t1, arms.t2, arms.ra,
            arms.rb, arms.drawn, arms.a, arms.b, ctx.work.W, block.start, block.length, block.length_b, block.rows, w,
        )  # fmt: skip
    else:
        whiten_contact_6(
            ctx.tree.parent, ctx.tree.dof, ctx.here.S, ctx.here.U, ctx.here.rsD, arms.normal, arms.t1, arms.t2, arms.ra,
            arms.rb, arms.drawn, arms.a, arms.b, ctx.work.W, block.start, block.length, block.length_b, block.rows, w,
        )  # fmt: skip
