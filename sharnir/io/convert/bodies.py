"""Bodies and the joints that carry them: MuJoCo's tree as ours, coordinate by coordinate."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sharnir.checks import inertia_matrix
from sharnir.errors import ModelError
from sharnir.io.convert.source import CORRECTED, Source, placed, unique, xyzw
from sharnir.rotations import Array, matrix_to_quat
from sharnir.spec.elements import Body, plain
from sharnir.spec.import_report import CHANGED, UNSEEN
from sharnir.spec.joints import Compound, Fixed, Free, Joint, Prismatic, Revolute, Spherical, Step
from sharnir.spec.scene import WORLD

FREE, BALL, SLIDE, HINGE = (int(k) for k in (
    mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL, mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE,
))  # fmt: skip
POINT = 1e-8  # m: a smaller radius of gyration is rounding, of a point mass
SLOW = 0.5  # rad/s or m/s, below which it moves little that MuJoCo's dry friction is a damper
SIZES = {FREE: (7, 6), BALL: (4, 3), SLIDE: (1, 1), HINGE: (1, 1)}


def add_bodies(source: Source, merge_fixed: bool) -> None:
    """All bodies with their joints; those without joints are held by a Fixed one, or merged into what holds them."""
    m = source.model
    source.carrier[0] = 0
    parts: dict[int, list[int]] = {}
    for b in range(1, m.nbody):
        parent = source.carrier[int(m.body_parentid[b])]
        merged = merge_fixed and source.weld[b] != b
        source.carrier[b] = parent if merged else b
        parts.setdefault(source.carrier[b], []).append(b)
        if m.body_mocapid[b] >= 0:
            reason = "is moved from outside in MuJoCo; it stays where it is"
            source.report.add("body", source.body_names[b], reason, UNSEEN)
        if m.body_gravcomp[b] != 0:
            source.report.add("body", source.body_names[b], "gravity compensation is not known")
    parts.pop(0, None)
    _pool_impossible(source, parts)
    for b, members in parts.items():
        source.scene.add(_body(source, b, members))
        _add_joint(source, b)


def _pool_impossible(source: Source, parts: dict[int, list[int]]) -> None:
    """Inertias that no solid has are counted with all that moves with the body as one: motion depends on that only.

    CAD exports give such numbers to small parts. Where the sum is impossible too, the scene does not compile.
    """
    m = source.model
    groups: dict[int, list[int]] = {}
    for b in parts:
        groups.setdefault(source.weld[b] or int(m.body_rootid[b]), []).append(b)
    for members in groups.values():
        wrong = [b for b in members if not _possible(source, b, parts[b])]
        if not wrong or len(members) == 1:
            continue
        for b in wrong:
            reason = "has an inertia that no solid has; counted together with what it is fixed to"
            source.report.add("body", source.body_names[b], reason, UNSEEN)
        pooled = [k for b in members for k in parts[b]]
        for b in members:
            parts[b] = pooled if b == members[0] else []


def _possible(source: Source, b: int, members: list[int]) -> bool:
    try:
        inertia_matrix("", plain(mass_of(source, b, members)[2]))
    except ModelError:
        return False
    return True


def mass_of(source: Source, b: int, members: list[int]) -> tuple[float, Array, Array]:
    """Mass, centre and inertia about it of some bodies together, in the axes of body b."""
    m, base = source.model, source.pose(b).inverse()
    own = [(float(m.body_mass[k]), base @ source.pose(k) @ placed(m.body_ipos[k], m.body_iquat[k]), m.body_inertia[k])
           for k in members]  # fmt: skip
    mass = sum(w for w, _, _ in own)
    center = sum((w * pose.x for w, pose, _ in own), np.zeros(3)) / mass if mass > 0 else np.zeros(3)
    inertia = np.zeros((3, 3))
    for w, pose, moments in own:
        r = pose.x - center if len(own) > 1 else np.zeros(3)
        inertia += pose.R @ np.diag(moments) @ pose.R.T + w * (r @ r * np.eye(3) - np.outer(r, r))
    if np.abs(inertia).max() < POINT**2 * mass:
        inertia = np.zeros((3, 3))
    return mass, center, 0.5 * (inertia + inertia.T)


def _body(source: Source, b: int, members: list[int]) -> Body:
    """A body with the inertia of all that is part of it."""
    mass, center, inertia = mass_of(source, b, members)
    pose = source.pose(b)
    return Body(
        name=source.body_names[b], mass=mass, center_of_mass=center, inertia=inertia,
        position=pose.x, orientation=matrix_to_quat(pose.R),
    )  # fmt: skip


def _add_joint(source: Source, b: int) -> None:
    """The joints of a MuJoCo body as one of ours, or two with a body without mass between them."""
    m, names = source.model, source.joint_names
    joints = list(range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]))
    parent = source.body_names[source.carrier[int(m.body_parentid[b])]]
    child = source.body_names[b]
    kinds = [int(m.jnt_type[j]) for j in joints]
    taken = set(names)
    if not joints and source.floating and parent == WORLD:
        pose = source.pose(b)
        at = np.concatenate([pose.x, matrix_to_quat(pose.R)])
        source.scene.add(Free(name=unique([f"{child}_free"], taken)[0], parent=parent, child=child, position=at))
    elif not joints:
        source.scene.add(Fixed(name=unique([f"{child}_fixed"], taken)[0], parent=parent, child=child, position=()))
    elif len(joints) == 1:
        _add_single(source, joints[0], parent, child)
    elif BALL not in kinds:
        name = unique([f"{child}_joint"], taken)[0]
        _add_compound(source, joints, name, parent, child)
    else:
        for k, j in enumerate(joints):
            last = k == len(joints) - 1
            middle = child if last else f"{child}_{k}"
            if not last:
                pose = source.pose(b)
                source.scene.add(Body(name=middle, mass=0.0, position=pose.x, orientation=matrix_to_quat(pose.R)))
            _add_single(source, j, parent, middle)
            parent = middle


def _add_single(source: Source, j: int, parent: str, child: str) -> None:
    m, kind = source.model, int(source.model.jnt_type[j])
    facts: dict[str, Any] = {"name": source.joint_names[j], "parent": parent, "child": child} | _facts(source, [j])
    body = int(m.jnt_bodyid[j])
    anchor, axis = source.zero.xanchor[j], source.zero.xaxis[j]
    if kind == FREE:
        source.scene.add(Free(**facts))
    elif kind == BALL:
        R = source.pose(body).R
        source.scene.add(Spherical(anchor=anchor, axis=R[:, 2], x_axis=R[:, 0], **facts))
    else:
        joint: type[Joint] = Revolute if kind == HINGE else Prismatic
        source.scene.add(joint(anchor=anchor, axis=axis, **facts))
    source.coordinate[j] = (source.joint_names[j], 0)


def _add_compound(source: Source, joints: list[int], name: str, parent: str, child: str) -> None:
    steps = []
    for k, j in enumerate(joints):
        kind = "hinge" if source.model.jnt_type[j] == HINGE else "slide"
        anchor, axis = source.zero.xanchor[j], source.zero.xaxis[j]
        steps.append(Step(kind=kind, anchor=anchor, axis=axis, name=source.joint_names[j]))
        source.coordinate[j] = (name, k)
    source.scene.add(Compound(name=name, parent=parent, child=child, steps=steps, **_facts(source, joints)))


def _facts(source: Source, joints: list[int]) -> dict[str, Any]:
    """Initial position, springs, dampers, rotors, dry friction and limits of the coordinates of some joints."""
    m = source.model
    v = np.concatenate([m.jnt_dofadr[j] + np.arange(SIZES[int(m.jnt_type[j])][1]) for j in joints])
    stiffness = np.concatenate([np.full(SIZES[int(m.jnt_type[j])][1], m.jnt_stiffness[j]) for j in joints])
    facts: dict[str, Any] = {
        "position": positions(m, joints, m.qpos0), "armature": m.dof_armature[v],
        "damping": m.dof_damping[v] * source.on("dampers"), "stiffness": stiffness * source.on("springs"),
        "friction": m.dof_frictionloss[v] * source.on("friction"),
    }  # fmt: skip
    facts = {k: x if k == "position" or np.ptp(x) > 0 else float(x[0]) for k, x in facts.items()}
    if stiffness.any() and source.on("springs"):
        facts["rest"] = positions(m, joints, m.qpos_spring)
    if source.on("limits"):
        facts |= _limits(source, joints)
    for j in joints:
        _report_joint(source, j)
    return facts


def positions(model: Any, joints: list[int], qpos: Array) -> Array:
    """Position coordinates of some joints, quaternions in our order."""
    out = []
    for j in joints:
        kind = int(model.jnt_type[j])
        q = qpos[model.jnt_qposadr[j] :][: SIZES[kind][0]]
        out.append(xyzw(q) if kind == BALL else np.concatenate([q[:3], xyzw(q[3:])]) if kind == FREE else q)
    return np.concatenate(out)


def _limits(source: Source, joints: list[int]) -> dict[str, Any]:
    """Ranges of the coordinates of some joints."""
    m = source.model
    pairs: list[tuple[float, float]] = []
    for j in joints:
        kind = int(m.jnt_type[j])
        if kind in (SLIDE, HINGE):
            lower, upper = m.jnt_range[j].tolist() if m.jnt_limited[j] else (-np.inf, np.inf)
            pairs.append((lower, upper))
            at = float(m.qpos0[m.jnt_qposadr[j]])
            if not lower <= at <= upper:
                reason = f"starts at {at:.4g}, outside its range of {lower:.4g} to {upper:.4g}: {CORRECTED}"
                effect = CHANGED if source.format == "mjcf" else UNSEEN  # a URDF says nothing of a start
                source.report.add("joint", source.joint_names[j], reason, effect)
            continue
        most = float(m.jnt_range[j].max()) if m.jnt_limited[j] else np.inf
        if 0 < most < np.pi:
            return {"limits": [(-most, most)] * 3, "limit_angles": "angle"}  # a ball is alone in its joint
        pairs += [(-np.inf, np.inf)] * SIZES[kind][1]
        if most <= 0:
            source.report.add("joint", source.joint_names[j], "a ball that may not turn at all is not known")
    return {"limits": pairs} if np.isfinite(pairs).any() else {}


def _report_joint(source: Source, j: int) -> None:
    """What MuJoCo knows of a joint and we do not."""
    m, name = source.model, source.joint_names[j]
    v = slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + SIZES[int(m.jnt_type[j])][1])
    if m.jnt_stiffnesspoly[j].any() or m.dof_dampingpoly[v].any():
        source.report.add("joint", name, "springs and dampers that are not linear are not known")
    if m.jnt_springyield[j] > 0:
        source.report.add("joint", name, "plastic springs are not known")
    speed = _damper_speed(source, v)
    if speed > SLOW:
        reason = f"dry friction acts in full at any speed; MuJoCo's is a damper below {speed:.2g} (rad or m)/s"
        effect = CHANGED if source.format == "mjcf" else UNSEEN  # a URDF says nothing of softness
        source.report.add("joint", name, reason, effect)
    if m.jnt_actgravcomp[j]:
        source.report.add("joint", name, "gravity compensation by actuators is not known")


def _damper_speed(source: Source, v: slice) -> float:
    """rad/s or m/s below which MuJoCo's dry friction on a joint is a damper: it slows with a time constant 1/(b d), by
    no more than its force f, that is below A f / (b d): A inverse inertia of the joint alone, d impedance."""
    m, highest = source.model, 0.0
    for k in range(v.start, v.stop) if source.on("friction") else ():
        timeconst, ratio = (float(x) for x in m.dof_solref[k])
        impedance, most = (float(x) for x in m.dof_solimp[k, :2])
        b = 2 / (most * timeconst) if timeconst > 0 else -ratio / most
        held = float(m.dof_invweight0[k] * m.dof_frictionloss[k])
        highest = max(highest, held / (b * impedance) if b > 0 else np.inf if held > 0 else 0.0)
    return highest
