"""Scenes as MJCF, for cross-checks in MuJoCo and for people who leave. What MuJoCo has no equivalent of is refused."""

from __future__ import annotations

import ctypes
import warnings
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from sharnir import enums as kinds
from sharnir.collision.filters import build_collision_filter
from sharnir.compiler import compile
from sharnir.errors import fail
from sharnir.io import mujoco_model as twin
from sharnir.model.model import Model
from sharnir.model.poses import IDENTITY_POSE, Pose
from sharnir.spec.joints import Compound
from sharnir.spec.scene import Scene

GEOM, OBJ, TRUE = mujoco.mjtGeom, mujoco.mjtObj, mujoco.mjtLimited.mjLIMITED_TRUE
DIGITS = 17  # that tell one double from the next
TIMESTEP = 0.002  # s, where the scene states none: MuJoCo's own


def to_mjcf(scene: Scene) -> str:
    """The scene as MJCF text. Coordinates are ours, with the scalar of quaternions first; initial positions and
    velocities are the keyframe "start", the scene's keyframes follow."""
    model = compile(scene)
    if model.motor_names:
        raise _refuse(model, f"motor {model.motor_names[0]!r}, which has no gains", "Actuators")
    if model.belt_names:
        raise _refuse(model, f"belt {model.belt_names[0]!r}")
    spec = mujoco.MjSpec()
    spec.modelname, spec.compiler.degree = model.name, False
    spec.option.gravity, spec.option.timestep = model.gravity, scene.timestep or TIMESTEP
    names = motion_names(model, scene)
    bodies: dict[int, Any] = {-1: spec.worldbody}
    frames = {-1: IDENTITY_POSE}  # MuJoCo's body frame in our link frame
    for i in range(model.nb):
        frames[i] = body_frame(model, i)
        bodies[i] = add_link(model, i, bodies[int(model.parent[i])], frames, names)
    add_shapes(model, spec, bodies, frames)
    add_springs(model, spec, bodies, frames)
    add_loops(model, spec, bodies, frames)
    add_couplings(model, spec, names)
    add_actuators(model, spec, names)
    add_keyframes(scene, model, spec)
    spec.compile()
    return written(spec)


def written(spec: Any) -> str:
    """MuJoCo's XML of a spec with all digits of a double. It writes six unless told otherwise by a call that its Python
    package does not pass on."""
    library = _library()
    if library is None:
        warnings.warn("MuJoCo's library is not where it used to be: numbers are written with six digits", stacklevel=3)
        return str(spec.to_xml())
    before = library._mjPRIVATE__get_xml_precision()
    library._mjPRIVATE__set_xml_precision(DIGITS)
    try:
        return str(spec.to_xml())
    finally:
        library._mjPRIVATE__set_xml_precision(before)


def _library() -> Any:
    """MuJoCo's own library, which is loaded already; None if it is not found, or lacks what is asked of it."""
    folder = Path(mujoco.__file__).parent
    for path in [*folder.glob("libmujoco*"), *folder.glob("mujoco.dll")]:
        library = ctypes.CDLL(str(path))
        if hasattr(library, "_mjPRIVATE__set_xml_precision"):
            return library
    return None


def _refuse(model: Model, what: str, allowed: str = "what MuJoCo has") -> Exception:
    return fail(f"MJCF of {model.name!r}", "has no equivalent", what, allowed)


def motion_names(model: Model, scene: Scene) -> dict[int, str]:
    """Name of MuJoCo's joint by the velocity coordinate it starts with."""
    steps = {j.name: [s.name for s in j.steps] for j in scene.joints if isinstance(j, Compound)}
    out: dict[int, str] = {}
    for i, name in enumerate(model.joint_names[: model.nb]):
        first, count = int(model.dof_start[i]), int(model.dof_start[i + 1] - model.dof_start[i])
        known = steps.get(name, [name] if count in (1, 3, 6) and model.joint_types[i] != "planar" else [])
        for k in range(count):
            given = known[k] if k < len(known) else None
            out[first + k] = given or f"{name}_{k}"
    return out


def body_frame(model: Model, i: int) -> Pose:
    """The body's own frame where coordinates allow it: those of a ball are in the axes of the link frame."""
    own = Pose(model.body_rot[i], model.body_pos[i])
    parts = slice(int(model.part_start[i]), int(model.part_start[i + 1]))
    ball = kinds.MotionKind.BALL in model.part_kind[parts]
    return Pose(np.eye(3), own.x) if ball and not twin.is_free(model, i) else own


def add_link(model: Model, i: int, parent: Any, frames: dict[int, Pose], names: dict[int, str]) -> Any:
    """A body with the link's inertia and its joints."""
    pose, places = IDENTITY_POSE, []
    parts = range(model.part_start[i], model.part_start[i + 1])
    for e in parts:
        pose = pose @ Pose(model.part_rot[e], model.part_pos[e])
        places.append(pose)
    at = frames[int(model.parent[i])].inverse() @ pose @ frames[i]
    body = parent.add_body(name=model.body_names[i], pos=at.x, quat=twin.wxyz(at.R))
    to_body = frames[i].inverse()
    body.mass, body.ipos = model.mass[i], to_body.x + to_body.R @ model.com[i]
    if model.dof_start[i + 1] > model.dof_start[i] or model.mass[i] > 0:
        body.inertia, body.iquat = twin.principal(to_body.R @ model.inertia[i] @ to_body.R.T)
        body.mass = max(body.mass, twin.LEAST_INERTIA)
    body.explicitinertial = True
    if twin.is_free(model, i):
        first = int(model.dof_start[i])
        more = twin.properties(model, i, 0, 6)
        start = model.q0[int(model.q_start[i]) :][:7]  # where MuJoCo's own start is, too
        body.pos, body.quat = start[:3], np.roll(start[3:], 1)
        body.add_joint(name=names[first], type=mujoco.mjtJoint.mjJNT_FREE, align=0, **more)
        return body
    for e, place in zip(parts, places, strict=True):
        before = len(body.joints)
        twin.add_motion(model, i, e, to_body @ pose.inverse() @ place, body)
        for k, joint in enumerate(body.joints[before:]):
            c = int(model.part_v[e]) + k
            joint.name = names[c]
            if joint.type != mujoco.mjtJoint.mjJNT_BALL:
                joint.springref = float(model.rest[model.coordinate_q(c)])
                if np.isfinite(most := float(model.drive_max_force[c])):
                    joint.actfrclimited, joint.actfrcrange = TRUE, [-most, most]
    return body


def add_shapes(model: Model, spec: Any, bodies: dict[int, Any], frames: dict[int, Pose]) -> None:
    """Geoms, meshes of hulls, height fields; pairs for all shapes that touch, with their coefficients."""
    for k, link in enumerate(model.shape_link.tolist()):
        kind, data = int(model.shape_kind[k]), int(model.shape_data[k])
        at = frames[link].inverse() @ Pose(model.shape_rot[k], model.shape_pos[k])
        facts: dict[str, Any] = {"name": f"shape{k}", "pos": at.x, "quat": twin.wxyz(at.R), "mass": 0.0}
        facts |= {"contype": 0, "conaffinity": 0}
        if kind in twin.GEOMS:
            facts |= {"type": twin.GEOMS[kind], "size": twin.half_size(kind, model.shape_size[k])}
        elif kind == kinds.ShapeKind.HULL:
            first, last = model.hull_vertex_start[data : data + 2]
            spec.add_mesh(name=f"hull{k}", uservert=model.hull_vertex[first:last].reshape(-1).tolist())
            facts |= {"type": GEOM.mjGEOM_MESH, "meshname": f"hull{k}"}
        elif kind == kinds.ShapeKind.HEIGHT_FIELD:
            facts |= _height_field(model, spec, k, data, at)
        else:
            raise _refuse(model, "a mesh that is not convex")
        bodies[link].add_geom(**facts)
    add_pairs(model, spec)


def _height_field(model: Model, spec: Any, k: int, data: int, at: Pose) -> dict[str, Any]:
    first, last = model.field_start[data : data + 2]
    heights = model.field_height[first:last].reshape(model.field_shape[data]).T
    low, high = float(heights.min()), float(heights.max())
    x, y, _ = model.shape_size[k]
    rows, columns = heights.shape
    spec.add_hfield(
        name=f"field{k}", nrow=rows, ncol=columns, size=[x / 2, y / 2, max(high - low, 1e-6), 1.0],
        userdata=(heights - low).reshape(-1).tolist(),
    )  # fmt: skip
    return {"type": GEOM.mjGEOM_HFIELD, "hfieldname": f"field{k}", "pos": at.x + low * at.R[:, 2]}


def add_pairs(model: Model, spec: Any) -> None:
    """Who touches whom, one by one: so neither bits nor MuJoCo's own rules decide."""
    may = build_collision_filter(model)
    for a in range(len(model.shape_link)):
        for b in np.flatnonzero(may.row(a)).tolist():
            if b <= a:
                continue
            sliding, _, rolling, spinning, bounce, _ = model.material_table[
                model.shape_material[a], model.shape_material[b]
            ]
            dimensions = 6 if rolling > 0 else 4 if spinning > 0 else 3 if sliding > 0 else 1
            spec.add_pair(
                geomname1=f"shape{a}", geomname2=f"shape{b}", condim=dimensions,
                friction=[sliding, sliding, spinning, rolling, rolling], solref=[0.02, damping_ratio(float(bounce))],
            )  # fmt: skip


def damping_ratio(bounce: float) -> float:
    """ζ of a spring and damper that leaves this restitution: the inverse of sharnir.io.convert.contacts.bounce."""
    if bounce <= 0:
        return 1.0
    log = -np.log(min(bounce, 0.999))
    return float(log / np.hypot(np.pi, log))


def _site(body: Any, frame: Pose, name: str, place: Any, R: Any) -> str:
    at = frame.inverse() @ Pose(R, place)
    body.add_site(name=name, pos=at.x, quat=twin.wxyz(at.R))
    return name


def add_springs(model: Model, spec: Any, bodies: dict[int, Any], frames: dict[int, Pose]) -> None:
    """Springs between points as tendons."""
    for k, name in enumerate(model.spring_names):
        stiffness, damping, length = model.spring_data[k].tolist()
        tendon = spec.add_tendon(name=name, stiffness=[stiffness, 0.0, 0.0], damping=[damping, 0.0, 0.0])
        tendon.springlength = [length, length]
        for end, link in enumerate(model.spring_link[k].tolist()):
            site = _site(bodies[link], frames[link], f"{name}:{end}", model.spring_anchor[k, end], np.eye(3))
            tendon.wrap_site(site)


def add_loops(model: Model, spec: Any, bodies: dict[int, Any], frames: dict[int, Pose]) -> None:
    """Balls and fixed joints that close loops, as equalities between sites."""
    connect, weld = mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD
    equalities: dict[int, Any] = {kinds.JointType.FIXED: weld, kinds.JointType.SPHERICAL: connect}
    for k in range(model.loops):
        name, kind = model.joint_names[model.nb + k], int(model.loop_kind[k])
        acts = (model.loop_damping, model.loop_stiffness, model.loop_armature, model.loop_effort)
        own = slice(int(model.loop_v_start[k]), int(model.loop_v_start[k + 1]))
        if kind not in equalities or any(a[own].any() for a in acts):
            raise _refuse(model, f"the joint {name!r} that closes a loop", "balls and fixed joints, without springs")
        sites = [
            _site(bodies[link], frames[link], f"{name}:{end}", model.loop_pos[k, end], model.loop_rot[k, end])
            for end, link in enumerate(model.loop_link[k].tolist())
        ]
        spec.add_equality(name=name, type=equalities[kind], objtype=OBJ.mjOBJ_SITE, name1=sites[0], name2=sites[1])


def add_couplings(model: Model, spec: Any, names: dict[int, str]) -> None:
    """Couplings as equalities of joints."""
    for k, name in enumerate(model.coupling_names):
        leader, follower = (names.get(int(c)) for c in model.coupling_coordinate[k])
        if leader is None or follower is None:
            raise _refuse(model, f"coupling {name!r} on a joint that closes a loop")
        data = [model.coupling_offset[k], model.coupling_ratio[k], *[0.0] * 10]
        spec.add_equality(
            name=name, type=mujoco.mjtEq.mjEQ_JOINT, objtype=OBJ.mjOBJ_JOINT, name1=follower, name2=leader, data=data
        )


def add_actuators(model: Model, spec: Any, names: dict[int, str]) -> None:
    """Actuators of one coordinate on its joint, of several on a tendon that sums them."""
    dynamics, gain, bias = mujoco.mjtDyn, mujoco.mjtGain, mujoco.mjtBias
    for k, name in enumerate(model.actuator_names):
        terms = range(model.actuator_start[k], model.actuator_start[k + 1])
        coordinates = [int(model.actuator_coordinate[t]) for t in terms]
        if any(c >= model.nv or model.coordinate_q(c) < 0 for c in coordinates):
            raise _refuse(model, f"actuator {name!r} on a joint that closes a loop or a quaternion")
        facts: dict[str, Any] = {"trntype": mujoco.mjtTrn.mjTRN_JOINT, "target": names[coordinates[0]]}
        gear = float(model.actuator_gear[terms[0]])
        if len(terms) > 1:
            tendon = spec.add_tendon(name=f"{name}:sum")
            for c, t in zip(coordinates, terms, strict=True):
                tendon.wrap_joint(names[c], float(model.actuator_gear[t]))
            facts, gear = {"trntype": mujoco.mjtTrn.mjTRN_TENDON, "target": f"{name}:sum"}, 1.0
        actuator = spec.add_actuator(name=name, gear=[gear, 0, 0, 0, 0, 0], **facts)
        actuator.gaintype, actuator.gainprm[:3] = gain.mjGAIN_AFFINE, model.actuator_gain[k]
        actuator.biastype, actuator.biasprm[:3] = bias.mjBIAS_AFFINE, model.actuator_bias[k]
        resistance, inductance, constant = (float(x) for x in model.actuator_electric[k])
        if model.actuator_efficiency[k] < 1 or model.actuator_brake[k] > 0:
            raise _refuse(model, f"DC motor {name!r} with a gear that loses or a brake")
        if inductance > 0:
            actuator.set_to_dcmotor([constant, 0.0], resistance, inductance=[inductance, 0.0])
        elif model.actuator_integrates[k]:
            actuator.dyntype = dynamics.mjDYN_INTEGRATOR
        elif model.actuator_response[k] > 0:
            actuator.dyntype, actuator.dynprm[0] = dynamics.mjDYN_FILTEREXACT, model.actuator_response[k]
        for field, limits in (("ctrl", "input"), ("force", "force"), ("act", "input_sum")):
            pair = getattr(model, f"actuator_{limits}_limits")[k]
            if np.isfinite(pair).any():
                setattr(actuator, f"{field}limited", TRUE)
                setattr(actuator, f"{field}range", np.clip(pair, -twin.UNBOUNDED, twin.UNBOUNDED))


def add_keyframes(scene: Scene, model: Model, spec: Any) -> None:
    """The initial state, and the scene's keyframes."""
    states = {"start": model, **{k.name: compile(scene.at(k.name)) for k in scene.keyframes}}
    for name, state in states.items():
        qpos, qvel = twin.to_qpos(state, state.q0), state.v0[twin.velocity_order(state)]
        spec.add_key(name=name, qpos=qpos.tolist(), qvel=qvel.tolist(), ctrl=state.actuator_input.tolist())
