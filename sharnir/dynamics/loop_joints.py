"""Joints that close loops: their frames, errors, Jacobian rows on the links of the tree, rates and coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.dynamics.aba import whiten
from sharnir.dynamics.forces import pivot_of, point_velocity
from sharnir.dynamics.tree import Tree, Workspace, ints, make_row, make_wrench
from sharnir.enums import JointType
from sharnir.kernels.columns import allocate_columns, get3, get33, item, put3, set_item
from sharnir.kernels.types import QUAT_W, SPATIAL, VEC3, array2, column, mat33, np_real, real, vec3
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, JOINT_ROWS, RowForm

if TYPE_CHECKING:
    from sharnir.model.model import Model

ROW_TABLE_ENTRY = 3  # numbers of a row in LoopJoints.row_table: form, axis of P, axis of C
# rad; a constant in the process's precision: an expression of constants would be float32
FULL_TURN = wp.constant(real(2.0 * np.pi))


@wp.struct
class LoopJoints:
    """Loop joints on a device."""

    count: int  # loop joints
    dofs: int  # nv of the tree
    kind: ints  # [loop] JointType
    link: ints  # [2 loop] a, b; -1 for the world
    rot: wp.array(dtype=mat33)  # [2 loop] frames P, C in their links
    pos: wp.array(dtype=vec3)  # [2 loop] m
    pitch: wp.array(dtype=real)  # [loop] m/rad
    row_table: ints  # [joint type · JOINT_ROWS · ROW_TABLE_ENTRY] form and axes of the rows of every joint type
    constraint_count: ints  # [joint type] how many of them are constraints
    q_start: ints  # [loop]
    v_start: ints  # [loop]
    armature: wp.array(dtype=real)  # [loop v] kg or kg m²
    damping: wp.array(dtype=real)  # [loop v] N s/m or N m s/rad
    stiffness: wp.array(dtype=real)  # [loop v] N/m or N m/rad
    effort: wp.array(dtype=real)  # [loop v] N or N m, constant
    rest: wp.array(dtype=real)  # [loop q] rest positions of the springs


@wp.struct
class LoopRows:
    """Six Jacobian rows per loop joint, the constraints first (exact solver)."""

    Ja: array2  # [6 row] wrench about a's pivot
    Jb: array2  # [6 row] wrench about b's pivot
    g: array2  # [row] position error, m or 1; 0 for coordinates
    rate: array2  # [row] J V
    bias: array2  # [row] J̇ V, and after `add_row_accelerations` the acceleration J A + J̇ V
    W: array2  # [row · dofs] whitened row
    q: array2  # [loop q] coordinates
    q_reference: array2  # [loop q] coordinates of a state shortly before, from which angles are unwrapped


@wp.struct
class LoopFrames:
    """The two frames of a loop joint in the present poses: P on link a, C on link b, world axes."""

    a: int
    b: int
    P: mat33
    C: mat33
    d: vec3  # x_C − x_P
    ra: vec3  # x_C from a's pivot
    rb: vec3  # x_C from b's pivot


@wp.func
def loop_frames_of(tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], k: int, w: int):
    """Frames of loop joint k at the poses in the workspace."""
    s = LoopFrames()
    a = loops.link[2 * k]
    b = loops.link[2 * k + 1]
    s.a = a
    s.b = b
    s.P = loops.rot[2 * k]
    s.C = loops.rot[2 * k + 1]
    xP = loops.pos[2 * k]
    xC = loops.pos[2 * k + 1]
    if a >= 0:
        R = get33(ws.R, a, w)
        xP = get3(ws.x, a, w) + R * xP
        s.P = R * s.P
    if b >= 0:
        R = get33(ws.R, b, w)
        xC = get3(ws.x, b, w) + R * xC
        s.C = R * s.C
    s.ra = xC + (pivot_of(tree, ws, b, w) - pivot_of(tree, ws, a, w))
    s.rb = xC
    s.d = s.ra - xP
    return s


@wp.func
def link_angular_velocity(ws: wp.ref[Workspace], link: int, w: int):
    """Angular velocity of a link, 0 for the world."""
    om = vec3()
    if link >= 0:
        om = get3(ws.V, 2 * link + 1, w)
    return om


@wp.func
def loop_angle(s: LoopFrames):
    """Angle of C against P about their common z axis."""
    x = column(s.C, 0)
    return wp.atan2(wp.dot(column(s.P, 1), x), wp.dot(column(s.P, 0), x))


@wp.func
def unwrap_angle(angle: real, reference: real):
    """The angle plus whole turns that bring it closest to `reference`."""
    return angle + FULL_TURN * wp.rint((reference - angle) / FULL_TURN)


@wp.func
def store_loop_row(rows: LoopRows, r: int, s: LoopFrames, force: vec3, torque: vec3, w: int):
    """Store the wrench of row r: a force at x_C and a torque on b, and its opposite on a, each about the
    link's pivot."""
    put3(rows.Ja, 2 * r, w, force)
    put3(rows.Ja, 2 * r + 1, w, torque + wp.cross(s.ra, force))
    put3(rows.Jb, 2 * r, w, force)
    put3(rows.Jb, 2 * r + 1, w, torque + wp.cross(s.rb, force))


@wp.func(inline=True)
def evaluate_row(loops: wp.ref[LoopJoints], s: LoopFrames, k: int, t: int):
    """Error g, force at x_C and torque of the row with table entry t of loop joint k (M-20..M-24)."""
    form = loops.row_table[t]
    e = column(s.P, loops.row_table[t + 1])
    g = real(0.0)
    force = vec3()
    torque = e
    if form == RowForm.ALONG or form == RowForm.HELIX:
        g = wp.dot(e, s.d)
        force = e
        torque = vec3()
        if form == RowForm.HELIX:
            pitch = loops.pitch[k]
            angle = loop_angle(s)
            if pitch != real(0.0):
                angle = unwrap_angle(angle, g / pitch)
            g = g - pitch * angle
            torque = e * (-pitch)
    elif form == RowForm.PERPENDICULAR:
        c = column(s.C, loops.row_table[t + 2])
        g = wp.dot(e, c)
        torque = wp.cross(c, e)
    elif form == RowForm.ABOUT_C:
        torque = column(s.C, loops.row_table[t + 1])
    return g, force, torque


@wp.func
def evaluate_loop_rows(tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], rows: LoopRows, w: int):
    """Jacobian, error, rate and J̇ V of all rows, and coordinates of the loop joints."""
    k = int(0)
    while k < loops.count:
        s = loop_frames_of(tree, ws, loops, k, w)
        kind = loops.kind[k]
        wa = link_angular_velocity(ws, s.a, w)
        wb = link_angular_velocity(ws, s.b, w)
        va = point_velocity(ws, s.a, s.ra, w)
        vb = point_velocity(ws, s.b, s.rb, w)
        dw = wb - wa
        dv = vb - va
        j = int(0)
        while j < JOINT_ROWS:
            r = JOINT_ROWS * k + j
            t = (JOINT_ROWS * kind + j) * ROW_TABLE_ENTRY
            form = loops.row_table[t]
            e = column(s.P, loops.row_table[t + 1])
            g, force, torque = evaluate_row(loops, s, k, t)
            bias = real(0.0)
            if form == RowForm.ALONG or form == RowForm.HELIX:
                bias = wp.dot(e, wp.cross(dw, vb)) + wp.dot(wp.cross(wa, e), dv)
                if form == RowForm.HELIX:
                    bias = bias - loops.pitch[k] * wp.dot(wp.cross(wa, e), dw)
            elif form == RowForm.PERPENDICULAR:
                c = column(s.C, loops.row_table[t + 2])
                bias = wp.dot(wp.cross(wp.cross(wb, c), e) + wp.cross(c, wp.cross(wa, e)), dw)
            elif form == RowForm.ABOUT_P:
                bias = wp.dot(wp.cross(wa, e), dw)
            elif form == RowForm.ABOUT_C:
                bias = wp.dot(wp.cross(wb, torque), dw)
            store_loop_row(rows, r, s, force, torque, w)
            if j >= loops.constraint_count[kind]:
                g = real(0.0)
            rows.g[r, w] = g
            rows.rate[r, w] = wp.dot(force, dv) + wp.dot(torque, dw)
            rows.bias[r, w] = bias
            j += 1
        measure_joint_coordinates(loops, rows.q, rows.q_reference, s, k, w)
        k += 1


@wp.func
def measure_joint_coordinates(loops: wp.ref[LoopJoints], out: array2, reference: array2, s: LoopFrames, k: int, w: int):
    """Store the coordinates of loop joint k: displacements, angles unwrapped from `reference`, quaternion of C in P."""
    kind = loops.kind[k]
    q = loops.q_start[k]
    R = wp.transpose(s.P) * s.C
    d = wp.transpose(s.P) * s.d
    if kind == JointType.REVOLUTE or kind == JointType.HELICAL:
        set_item(out, q, w, unwrap_angle(loop_angle(s), item(reference, q, w)))
        if kind == JointType.HELICAL and loops.pitch[k] != real(0.0):
            set_item(out, q, w, d[2] / loops.pitch[k])
    elif kind == JointType.PRISMATIC:
        set_item(out, q, w, d[2])
    elif kind == JointType.CYLINDRICAL:
        set_item(out, q, w, d[2])
        set_item(out, q + 1, w, unwrap_angle(loop_angle(s), item(reference, q + 1, w)))
    elif kind == JointType.UNIVERSAL:
        set_item(out, q, w, unwrap_angle(wp.atan2(R[1, 2], R[0, 2]), item(reference, q, w)))
        set_item(out, q + 1, w, unwrap_angle(wp.atan2(R[2, 0], R[2, 1]), item(reference, q + 1, w)))
    elif kind == JointType.PLANAR:
        set_item(out, q, w, d[0])
        set_item(out, q + 1, w, d[1])
        set_item(out, q + 2, w, unwrap_angle(loop_angle(s), item(reference, q + 2, w)))
    elif kind == JointType.SPHERICAL or kind == JointType.FREE:
        if kind == JointType.FREE:
            set_item(out, q, w, d[0])
            set_item(out, q + 1, w, d[1])
            set_item(out, q + 2, w, d[2])
            q = q + VEC3
        quaternion = wp.quat_from_matrix(R)
        set_item(out, q, w, quaternion[0])
        set_item(out, q + 1, w, quaternion[1])
        set_item(out, q + 2, w, quaternion[2])
        set_item(out, q + QUAT_W, w, quaternion[QUAT_W])


@wp.func
def whiten_loop_rows(tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], rows: LoopRows, w: int):
    """Whitened rows W of all loop rows by the factor of the last inward pass."""
    r = int(0)
    while r < JOINT_ROWS * loops.count:
        k = r / JOINT_ROWS
        start = r * loops.dofs
        d = int(0)
        while d < loops.dofs:
            rows.W[start + d, w] = real(0.0)
            d += 1
        row = make_row(rows.W, start)
        on_b = make_wrench(get3(rows.Jb, 2 * r, w), get3(rows.Jb, 2 * r + 1, w))
        whiten(tree, ws, loops.link[2 * k + 1], on_b, row, w)
        on_a = make_wrench(-get3(rows.Ja, 2 * r, w), -get3(rows.Ja, 2 * r + 1, w))
        whiten(tree, ws, loops.link[2 * k], on_a, row, w)
        r += 1


@wp.func
def add_row_accelerations(tree: wp.ref[Tree], ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], rows: LoopRows, w: int):
    """Add J·(A + a) of the links to the bias, which makes it the acceleration of every row."""
    r = int(0)
    while r < JOINT_ROWS * loops.count:
        k = r / JOINT_ROWS
        acc = acceleration_along(
            tree, ws, loops.link[2 * k + 1], get3(rows.Jb, 2 * r, w), get3(rows.Jb, 2 * r + 1, w), w
        )
        acc = acc - acceleration_along(
            tree, ws, loops.link[2 * k], get3(rows.Ja, 2 * r, w), get3(rows.Ja, 2 * r + 1, w), w
        )
        rows.bias[r, w] = rows.bias[r, w] + acc
        r += 1


@wp.func
def acceleration_along(tree: wp.ref[Tree], ws: wp.ref[Workspace], link: int, f: vec3, n: vec3, w: int):
    """J·(A + a) of one link; the world accelerates with −g, as all of A does."""
    value = -wp.dot(f, tree.gravity)
    if link >= 0:
        acc = get3(ws.A, 2 * link, w) + get3(ws.a, 2 * link, w)
        alp = get3(ws.A, 2 * link + 1, w) + get3(ws.a, 2 * link + 1, w)
        value = wp.dot(f, acc) + wp.dot(n, alp)
    return value


@wp.func
def apply_row_force(ws: wp.ref[Workspace], loops: wp.ref[LoopJoints], rows: LoopRows, r: int, force: real, w: int):
    """Add a force along row r to the links' wrenches F."""
    k = r / JOINT_ROWS
    a = loops.link[2 * k]
    b = loops.link[2 * k + 1]
    if a >= 0:
        put3(ws.F, 2 * a, w, get3(ws.F, 2 * a, w) - get3(rows.Ja, 2 * r, w) * force)
        put3(ws.F, 2 * a + 1, w, get3(ws.F, 2 * a + 1, w) - get3(rows.Ja, 2 * r + 1, w) * force)
    if b >= 0:
        put3(ws.F, 2 * b, w, get3(ws.F, 2 * b, w) + get3(rows.Jb, 2 * r, w) * force)
        put3(ws.F, 2 * b + 1, w, get3(ws.F, 2 * b + 1, w) + get3(rows.Jb, 2 * r + 1, w) * force)


def upload_loop_joints(model: Model, device: str) -> LoopJoints:
    """Upload the model's loop joints."""
    out = LoopJoints()
    out.count, out.dofs = model.loops, model.nv
    integers = {
        "kind": model.loop_kind, "link": model.loop_link, "row_table": JOINT_ROW_TABLE,
        "constraint_count": CONSTRAINT_COUNT, "q_start": model.loop_q_start, "v_start": model.loop_v_start,
    }  # fmt: skip
    for name, values in integers.items():
        setattr(out, name, wp.array(values.astype(np.int32).reshape(-1), dtype=int, device=device))
    reals = {
        "rot": (model.loop_rot.reshape(-1, 3, 3), mat33), "pos": (model.loop_pos.reshape(-1, 3), vec3),
        "pitch": (model.loop_pitch, real), "armature": (model.loop_armature, real),
        "damping": (model.loop_damping, real), "stiffness": (model.loop_stiffness, real),
        "effort": (model.loop_effort, real), "rest": (model.loop_rest, real),
    }  # fmt: skip
    for name, (values, dtype) in reals.items():
        setattr(out, name, wp.array(values.astype(np_real), dtype=dtype, device=device))
    return out


def allocate_loop_rows(model: Model, worlds: int, device: str) -> LoopRows:
    """Allocate zeroed loop rows: Jacobians in workspace columns, the rest for every world."""
    n = JOINT_ROWS * model.loops
    columns = worlds if wp.get_device(device).is_cuda else 1
    rows = LoopRows()
    for name in ("Ja", "Jb"):
        setattr(rows, name, wp.zeros((SPATIAL * n, columns), dtype=real, device=device))
    sizes = {"g": n, "rate": n, "bias": n, "W": n * model.nv}
    sizes |= dict.fromkeys(("q", "q_reference"), int(model.loop_q_start[-1]))
    for name, size in sizes.items():
        setattr(rows, name, allocate_columns(size, worlds, device))
    return rows
