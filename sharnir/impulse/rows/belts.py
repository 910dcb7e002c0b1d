"""Contact rows of driven belts: the surface of a shape that carries a belt moves with its sprocket (M-77..M-80).

A row of such a contact acts on three links: at the contact point on the body that carries the shape, and, through the
tension of the belt, as equal and opposite torques on the sprocket and on that body.
"""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.momenta import rotation_vector
from sharnir.dynamics.tree import Workspace
from sharnir.impulse.data import Context, State
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import LANES_4, LANES_8
from sharnir.impulse.rows.whitened_rows import ContactArms, RowBlock, propagation_native
from sharnir.impulse.slots import BLOCK_ROWS, SIDES
from sharnir.kernels.columns import get, get3, get33, item_int
from sharnir.kernels.types import array2, real, vec3
from sharnir.kernels.vector_ops import indices

# sine of the angle between normal and axis below which the belt's edge counts as its flank
MIN_BELT_SINE = wp.constant(real(0.5))


@wp.struct
class BeltMotion:
    """Motion of a belt at a contact. sprocket: its link, −1 without a belt. axis: of the sprocket, world axes.
    travel: m/rad, of the surface over its shape per angle of the sprocket, world axes."""

    sprocket: int
    axis: vec3
    travel: vec3


@wp.func
def has_belt(layout: wp.ref[Layout], state: wp.ref[State], c: int, w: int):
    """Whether one of the shapes of contact c carries a belt."""
    a = layout.contact_model.sprocket[item_int(state.contacts.shape, 2 * c, w)]
    b = layout.contact_model.sprocket[item_int(state.contacts.shape, 2 * c + 1, w)]
    return a >= 0 or b >= 0


@wp.func
def find_belt_motion(ws: wp.ref[Workspace], layout: wp.ref[Layout], shape: int, outward: vec3, w: int):
    """Motion of a shape's belt where its outward normal is `outward`: along axis × normal, less and less towards the
    flanks (M-77)."""
    out = BeltMotion()
    out.sprocket = layout.contact_model.sprocket[shape]
    if out.sprocket >= 0:
        lever = layout.contact_model.belt_lever[shape]
        link = layout.contact_model.geo.link[shape]
        if link >= 0:
            lever = get33(ws.R, link, w) * lever
        out.axis = wp.normalize(lever)
        across = wp.cross(out.axis, outward)
        out.travel = across * (wp.length(lever) / wp.max(wp.length(across), MIN_BELT_SINE))
    return out


@wp.func
def relative_rotation(ws: wp.ref[Workspace], link: int, other: int, axis: vec3, w: int):
    """Angle (rad) by which a link turns about an axis relative to another one in the step whose displacements are in
    the workspace."""
    u = get3(ws.Qu, link, w)
    s = get(ws.Qs, link, w)
    uo = vec3()
    so = real(1.0)
    if other >= 0:
        uo = -get3(ws.Qu, other, w)
        so = get(ws.Qs, other, w)
    return wp.dot(axis, rotation_vector(u * so + uo * s + wp.cross(uo, u), so * s - wp.dot(uo, u)))


@wp.func
def measure_belt_travel(
    ws: wp.ref[Workspace], layout: wp.ref[Layout], state: wp.ref[State], c: int, normal: vec3, w: int
):
    """Distance (m, world axes) that belts run at contact c in the step whose displacements are in the workspace:
    surface of the second body against that of the first."""
    out = vec3()
    side = int(0)
    while side < SIDES:
        shape = item_int(state.contacts.shape, 2 * c + side, w)
        sign = wp.where(side == 0, real(1.0), real(-1.0))
        belt = find_belt_motion(ws, layout, shape, normal * sign, w)
        if belt.sprocket >= 0:
            turn = relative_rotation(ws, belt.sprocket, layout.contact_model.geo.link[shape], belt.axis, w)
            out = out - belt.travel * (sign * turn)
        side += 1
    return out


def _belt_rows_native(lanes: int) -> str:
    """Native text that whitens the rows of a contact with belts, a lane each, for up to four links: both bodies and
    their sprockets. Links are visited from the tips inward; where paths meet they continue as one. Entries reached from
    the first body or its sprocket belong to the first half, the others to the second. The function returns the entries
    of the second half."""
    return propagation_native(
        """
    lanes f[4][6];  // of the first body, its sprocket, the second body, its sprocket
    int at[4] = {a, belt_a.sprocket, b, belt_b.sprocket};
    const REAL axes[3][3] = {{normal[0], normal[1], normal[2]}, {t1[0], t1[1], t1[2]}, {t2[0], t2[1], t2[2]}};
    for (int k = 0; k < 4; ++k) for (int c = 0; c < 6; ++c) for (int j = 0; j < LANES; ++j) f[k][c][j] = 0;
    for (int j = 0; j < 3; ++j) {
        REAL arm_a = 0, arm_b = 0;
        for (int c = 0; c < 3; ++c) { arm_a += belt_a.travel[c] * axes[j][c]; arm_b += belt_b.travel[c] * axes[j][c]; }
        for (int c = 0; c < 3; ++c) {
            const int d = (c + 1) % 3, e = (c + 2) % 3;
            f[0][c][j] = -axes[j][c];
            f[2][c][j] = axes[j][c];
            f[0][3 + c][j] = ra[e] * axes[j][d] - ra[d] * axes[j][e] + arm_a * belt_a.axis[c];
            f[2][3 + c][j] = rb[d] * axes[j][e] - rb[e] * axes[j][d] - arm_b * belt_b.axis[c];
            f[1][3 + c][j] = -arm_a * belt_a.axis[c];
            f[3][3 + c][j] = arm_b * belt_b.axis[c];
            if (LANES > 5) {  // spin and rolling
                f[0][3 + c][(j + 3) % LANES] = -axes[j][c];
                f[2][3 + c][(j + 3) % LANES] = axes[j][c];
            }
        }
    }
    const auto inward = [&](const auto& visit) {
        int link[4] = {at[0], at[1], at[2], at[3]};
        while (true) {
            int top = -1, who = -1;
            for (int k = 0; k < 4; ++k) top = link[k] > top ? link[k] : top;
            if (top < 0) break;
            for (int k = 0; k < 4; ++k) {
                if (link[k] != top) continue;
                if (who < 0) { who = k; continue; }
                visit(top, who, k);
                link[k] = -1;
            }
            visit(top, who, -1);
            link[who] = parent.data[top];
        }
    };
    int length_b = 0;
    inward([&](int top, int who, int met) {
        if (met < 0 && who > 1) length_b += dof.data[top + 1] - dof.data[top];
    });
    REAL* out = W.data + (long long)(start) * n + w;
    const long long next = (long long)(length) * n;
    REAL* other = out + rows * next;
    const long long other_next = (long long)(length_b) * n;
    inward([&](int top, int who, int met) {
        if (met >= 0) { for (int c = 0; c < 6; ++c) f[who][c] += f[met][c]; }
        else if (who > 1) propagate(f[who], top, other, other_next);
        else propagate(f[who], top, out, next);
    });
    return length_b;
""",
        lanes,
    )


@wp.func_native(_belt_rows_native(LANES_4))
def whiten_belt_contact_3(
    parent: indices,
    dof: indices,
    S: array2,
    U: array2,
    rsD: array2,
    normal: vec3,
    t1: vec3,
    t2: vec3,
    ra: vec3,
    rb: vec3,
    a: int,
    b: int,
    belt_a: BeltMotion,
    belt_b: BeltMotion,
    W: array2,
    start: int,
    length: int,
    rows: int,
    w: int,
) -> int: ...


@wp.func_native(_belt_rows_native(LANES_8))
def whiten_belt_contact_6(
    parent: indices,
    dof: indices,
    S: array2,
    U: array2,
    rsD: array2,
    normal: vec3,
    t1: vec3,
    t2: vec3,
    ra: vec3,
    rb: vec3,
    a: int,
    b: int,
    belt_a: BeltMotion,
    belt_b: BeltMotion,
    W: array2,
    start: int,
    length: int,
    rows: int,
    w: int,
) -> int: ...


@wp.func
def whiten_belt_contact(
    ctx: Context, arms: ContactArms, belt_a: BeltMotion, belt_b: BeltMotion, block: RowBlock, w: int
):
    """Whitened rows of a contact with belts (M-78), laid out as by `whiten_contact_pair`. The first half has `length`
    entries a row (first body and its sprocket); returns how many the second has."""
    if block.rows == BLOCK_ROWS:
        return whiten_belt_contact_3(
            ctx.tree.parent, ctx.tree.dof, ctx.here.S, ctx.here.U, ctx.here.rsD, arms.normal, arms.t1, arms.t2, arms.ra,
            arms.rb, arms.a, arms.b, belt_a, belt_b, ctx.work.W, block.start, block.length, block.rows, w,
        )  # fmt: skip
    return whiten_belt_contact_6(
        ctx.tree.parent, ctx.tree.dof, ctx.here.S, ctx.here.U, ctx.here.rsD, arms.normal, arms.t1, arms.t2, arms.ra,
        arms.rb, arms.a, arms.b, belt_a, belt_b, ctx.work.W, block.start, block.length, block.rows, w,
    )  # fmt: skip
