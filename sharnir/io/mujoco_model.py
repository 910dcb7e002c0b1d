"""The same mechanism in MuJoCo, built from the compiled model: for cross-checks and for timing against it.

Every link is a MuJoCo body whose frame is the link frame at zero coordinates; every elementary motion is a joint on it.
What MuJoCo has no equivalent of is refused: screws, rotations crossed from child to parent, limits of ball joints but
for the whole angle, other loop joints than hinges, balls and rigid ones, motors on quaternions, springs, limits and
friction in loop joints, contact pairs.
"""

from __future__ import annotations

import time
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from sharnir import enums as kinds
from sharnir.compiler import compile
from sharnir.errors import fail
from sharnir.model.model import Model
from sharnir.model.poses import IDENTITY_POSE, Pose
from sharnir.rotations import Array, matrix_to_quat
from sharnir.spec.scene import Scene

LEAST_INERTIA = 1e-14  # kg m²; MuJoCo refuses less
UNBOUNDED = 1e10  # rad or m, for limits on one side
HINGE_ARM = 0.05  # m along the axis, of the two points that make a hinge of a loop
MOTOR_GAIN = 3.0  # of a motor: times the inertia it meets, by the step; loops upset a stiffer one
GEOM = mujoco.mjtGeom
GEOMS: dict[int, Any] = {
    kinds.ShapeKind.SPHERE: GEOM.mjGEOM_SPHERE,
    kinds.ShapeKind.BOX: GEOM.mjGEOM_BOX,
    kinds.ShapeKind.CYLINDER: GEOM.mjGEOM_CYLINDER,
    kinds.ShapeKind.CAPSULE: GEOM.mjGEOM_CAPSULE,
    kinds.ShapeKind.HALF_SPACE: GEOM.mjGEOM_PLANE,
}
JOINT = mujoco.mjtJoint


def twin(scene: Scene | Model, dt: float, hinge_points: int = 2) -> mujoco.MjModel:
    """The scene as a MuJoCo model with step dt (s), integrator implicitfast; the rest are MuJoCo's defaults.

    hinge_points: points that hold a hinge that closes a loop; 2 make it a hinge, 1 will do in a planar mechanism.
    Motors become velocity or position servos without a limit of speed. Initial state and constant efforts: `start`.
    """
    model = scene if isinstance(scene, Model) else compile(scene)
    spec = mujoco.MjSpec()
    spec.modelname = model.name
    spec.compiler.degree = False
    spec.option.timestep = dt
    spec.option.gravity = model.gravity
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    bodies = {-1: spec.worldbody}
    for i in range(model.nb):
        bodies[i] = _add_link(model, i, bodies[int(model.parent[i])])
    _add_shapes(model, bodies)
    _add_springs(model, spec, bodies)
    _add_loops(model, spec, bodies, hinge_points)
    _add_couplings(model, spec)
    _add_motors(model, spec)
    out = spec.compile()
    out.qpos_spring[:] = to_qpos(model, model.rest)
    _set_motor_gains(model, out)
    return out


def start(model: Model, peer: mujoco.MjModel, q: Array | None = None, v: Array | None = None) -> mujoco.MjData:
    """MuJoCo's data at coordinates q, v (the initial ones if left out), with constant efforts and motor targets."""
    data = mujoco.MjData(peer)
    data.qpos[:] = to_qpos(model, model.q0 if q is None else q)
    data.qvel[:] = (model.v0 if v is None else v)[velocity_order(model)]
    data.qfrc_applied[:] = model.effort[velocity_order(model)]
    data.ctrl[: len(model.motor_target)] = model.motor_target
    mujoco.mj_forward(peer, data)
    return data


def to_qpos(model: Model, q: Array) -> Array:
    """MuJoCo's qpos [nq] of our q [nq]: elementary motions outward, quaternions scalar first."""
    return np.asarray(q)[position_order(model)]


def from_qpos(model: Model, qpos: Array) -> Array:
    """Our q [nq] of MuJoCo's qpos [nq]."""
    q = np.empty(model.nq)
    q[position_order(model)] = qpos
    return q


def position_order(model: Model) -> NDArray[np.intp]:
    """[nq] index into our q of each of MuJoCo's position coordinates."""
    return _order(model, model.part_q, (3, 0, 1, 2))


def velocity_order(model: Model) -> NDArray[np.intp]:
    """[nv] index into our v of each of MuJoCo's velocity coordinates."""
    return _order(model, model.part_v, (0, 1, 2))


def _order(model: Model, first: Any, ball: tuple[int, ...]) -> NDArray[np.intp]:
    wanted = {
        kinds.MotionKind.STILL: (),
        kinds.MotionKind.SCREW: (0,),
        kinds.MotionKind.SLIDE: (0,),
        kinds.MotionKind.SHIFT: (0, 1, 2),
        kinds.MotionKind.BALL: ball,
    }
    parts = zip(first.tolist(), model.part_kind.tolist(), strict=True)
    return np.array([at + k for at, kind in parts for k in wanted[kind]], dtype=np.intp)


def step_times(peer: mujoco.MjModel, data: mujoco.MjData, nstep: int, rounds: int = 11) -> Array:
    """[rounds] s per step: means over nstep steps that MuJoCo takes in one call, all from the state in `data`."""
    spec = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(peer, spec))
    mujoco.mj_getState(peer, data, state, spec)
    seconds = np.empty(rounds)
    for k in range(rounds):
        mujoco.mj_setState(peer, data, state, spec)
        begin = time.perf_counter()
        mujoco.mj_step(peer, data, nstep)
        seconds[k] = (time.perf_counter() - begin) / nstep
    return seconds


def _refuse(model: Model, what: str) -> Exception:
    return fail(f"MuJoCo twin of {model.name!r}", "has no equivalent", what, "what MuJoCo has")


def wxyz(R: Array) -> Array:
    return np.roll(matrix_to_quat(R), 1)


def _add_link(model: Model, i: int, parent: Any) -> Any:
    """A body with the link's inertia and one joint per elementary motion."""
    pose, places = IDENTITY_POSE, []
    parts = range(model.part_start[i], model.part_start[i + 1])
    for e in parts:
        pose = pose @ Pose(model.part_rot[e], model.part_pos[e])
        places.append(pose)
    body = parent.add_body(name=model.body_names[i], pos=pose.x, quat=wxyz(pose.R))
    body.mass, body.ipos = model.mass[i], model.com[i]
    body.inertia, body.iquat = principal(model.inertia[i])
    body.explicitinertial = True
    if is_free(model, i):
        body.add_joint(
            name=_motion_name(model, parts[0], 0), type=JOINT.mjJNT_FREE, align=0, **properties(model, i, 0, 6)
        )
        return body
    for e, place in zip(parts, places, strict=True):
        add_motion(model, i, e, pose.inverse() @ place, body)
    return body


def is_free(model: Model, i: int) -> bool:
    """Whether the link flies in the world's own axes, as MuJoCo's free joint does."""
    e, end = model.part_start[i], model.part_start[i + 1]
    if (
        model.parent[i] >= 0
        or model.part_kind[e:end].tolist() != [kinds.MotionKind.SHIFT, kinds.MotionKind.BALL]
        or model.part_sign[e] < 0
    ):
        return False
    return not model.part_pos[e:end].any() and np.array_equal(model.part_rot[e:end], [np.eye(3)] * 2)


def add_motion(model: Model, i: int, e: int, place: Pose, body: Any) -> None:
    """An elementary motion as joints; place: its frame in the link frame, at zero coordinates."""
    kind, sign, first = int(model.part_kind[e]), float(model.part_sign[e]), int(model.part_v[e] - model.dof_start[i])
    if kind == kinds.MotionKind.SCREW and model.part_pitch[e] != 0:
        raise _refuse(model, f"the screw {model.joint_names[i]!r}")
    if kind == kinds.MotionKind.BALL:
        if sign < 0 or e + 1 < model.part_start[i + 1]:
            raise _refuse(model, f"the rotation of {model.joint_names[i]!r}, crossed from child to parent")
        name, more = _motion_name(model, e, 0), properties(model, i, first, 3)
        body.add_joint(name=name, type=JOINT.mjJNT_BALL, pos=place.x, **more)
        return
    by_kind: dict[int, tuple[int, ...]] = {
        kinds.MotionKind.STILL: (),
        kinds.MotionKind.SCREW: (2,),
        kinds.MotionKind.SLIDE: (2,),
        kinds.MotionKind.SHIFT: (0, 1, 2),
    }
    for k, column in enumerate(by_kind[kind]):
        body.add_joint(
            name=_motion_name(model, e, k),
            type=JOINT.mjJNT_HINGE if kind == kinds.MotionKind.SCREW else JOINT.mjJNT_SLIDE,
            pos=place.x,
            axis=sign * place.R[:, column],
            **properties(model, i, first + k, 1),
        )


def _motion_name(model: Model, e: int, k: int) -> str:
    """Joints in MuJoCo are called after the velocity coordinate they start with."""
    return f"v{model.part_v[e] + k}"


def properties(model: Model, i: int, first: int, size: int) -> dict[str, Any]:
    """Springs, dampers, rotor, friction and limits of `size` coordinates of link i that make one joint in MuJoCo."""
    d = slice(int(model.dof_start[i]) + first, int(model.dof_start[i]) + first + size)
    values = {}
    for name in ("stiffness", "damping", "armature", "friction"):
        if np.ptp(getattr(model, name)[d]) > 0:
            raise _refuse(model, f"{name} of {model.joint_names[i]!r} that differs between axes")
        values[name] = float(getattr(model, name)[d][0])
    out: dict[str, Any] = {"armature": values["armature"], "frictionloss": values["friction"]}
    out |= {name: [values[name], 0.0, 0.0] for name in ("stiffness", "damping")}
    if size == 3 and (model.limit_angles[d] == kinds.LimitKind.ANGLE).all():
        out |= {"limited": mujoco.mjtLimited.mjLIMITED_TRUE, "range": [0.0, float(model.limit_upper[d][0])]}
    elif model.limit_angles[d].any():
        if size > 1 or model.limit_angles[d][0] != kinds.LimitKind.COORDINATE:
            raise _refuse(model, f"limits of the rotation of {model.joint_names[i]!r}")
        bounds = np.array([model.limit_lower[d][0], model.limit_upper[d][0]])
        out |= {"limited": mujoco.mjtLimited.mjLIMITED_TRUE, "range": np.clip(bounds, -UNBOUNDED, UNBOUNDED)}
    return out


def principal(inertia: Array) -> tuple[Array, Array]:
    """Principal moments, such that MuJoCo accepts them, and the quaternion of their axes."""
    moments, axes = np.linalg.eigh(inertia)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    moments = np.maximum(moments, LEAST_INERTIA)
    moments[0] = max(moments[0], (moments[2] - moments[1]) * (1 + 1e-15))
    return moments, wxyz(axes)


def _add_shapes(model: Model, bodies: dict[int, Any]) -> None:
    """MuJoCo takes the larger friction of a pair: with the world it is ours, among bodies only if all are alike."""
    if len(model.pair_shape):
        raise _refuse(model, "contact pairs")
    material, sliding = model.shape_material, model.material_table[:, :, 0]
    ground = material[model.shape_link < 0]
    for k, link in enumerate(model.shape_link.tolist()):
        kind = int(model.shape_kind[k])
        if kind not in GEOMS:
            raise _refuse(model, "hulls, height fields and meshes")
        on = sliding[material[k], ground if len(ground) else material[[k]]]
        if link >= 0 and np.ptp(on) > 0:
            raise _refuse(model, "shapes of the world with different friction")
        friction = 0.0 if link < 0 else float(on[0])
        bodies[link].add_geom(
            type=GEOMS[kind], size=half_size(kind, model.shape_size[k]), pos=model.shape_pos[k],
            quat=wxyz(model.shape_rot[k]), friction=[friction, 0.0, 0.0],
            contype=int(model.shape_filter[k, 0]), conaffinity=int(model.shape_filter[k, 1]),
        )  # fmt: skip


def half_size(kind: int, size: Array) -> Array:
    if kind == kinds.ShapeKind.HALF_SPACE:
        return np.array([0.0, 0.0, 1.0])  # without end
    return size / 2 if kind == kinds.ShapeKind.BOX else size * [1.0, 0.5, 0.0]


def _site(body: Any, name: str, place: Array, R: Array | None = None) -> str:
    body.add_site(name=name, pos=place, quat=wxyz(np.eye(3) if R is None else R))
    return name


def _add_springs(model: Model, spec: Any, bodies: dict[int, Any]) -> None:
    """Springs between points as tendons."""
    for k, name in enumerate(model.spring_names):
        stiffness, damping, length = model.spring_data[k].tolist()
        tendon = spec.add_tendon(name=name, stiffness=[stiffness, 0.0, 0.0], damping=[damping, 0.0, 0.0])
        tendon.springlength = [length, length]
        for end, link in enumerate(model.spring_link[k].tolist()):
            tendon.wrap_site(_site(bodies[link], f"{name}:{end}", model.spring_anchor[k, end]))


def _add_loops(model: Model, spec: Any, bodies: dict[int, Any], hinge_points: int) -> None:
    """Joints that close loops as soft equality constraints between sites."""
    acts = [model.loop_damping, model.loop_stiffness, model.loop_armature, model.loop_effort]
    if any(a.any() for a in acts) or model.limit_angles[model.nv :].any() or model.friction[model.nv :].any():
        raise _refuse(model, "springs, dampers, rotors, efforts, limits or friction in joints that close loops")
    connect, weld = mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD
    for k in range(model.loops):
        name, kind = model.joint_names[model.nb + k], int(model.loop_kind[k])
        if kind not in (kinds.JointType.FIXED, kinds.JointType.REVOLUTE, kinds.JointType.SPHERICAL):
            raise _refuse(model, f"the joint {name!r} that closes a loop")
        offsets = (-HINGE_ARM, HINGE_ARM) if kind == kinds.JointType.REVOLUTE and hinge_points == 2 else (0.0,)
        for n, offset in enumerate(offsets):
            sites = [
                _site(bodies[link], f"{name}:{n}{end}", model.loop_pos[k, end] + offset * R[:, 2], R)
                for end, (link, R) in enumerate(zip(model.loop_link[k].tolist(), model.loop_rot[k], strict=True))
            ]
            spec.add_equality(
                name=f"{name}:{n}", type=weld if kind == kinds.JointType.FIXED else connect,
                objtype=mujoco.mjtObj.mjOBJ_SITE, name1=sites[0], name2=sites[1],
            )  # fmt: skip


def _scalar_joint(model: Model, c: int, what: str) -> str:
    """Name in MuJoCo of the hinge or slide of velocity coordinate c."""
    if c >= model.nv or model.coordinate_q(c) < 0:
        raise _refuse(model, f"{what} on a joint that closes a loop or a quaternion")
    return f"v{c}"


def _add_couplings(model: Model, spec: Any) -> None:
    for k, name in enumerate(model.coupling_names):
        leader, follower = (_scalar_joint(model, int(c), f"coupling {name!r}") for c in model.coupling_coordinate[k])
        spec.add_equality(
            name=name, type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT, name1=follower, name2=leader,
            data=[model.coupling_offset[k], model.coupling_ratio[k], *[0.0] * 10],
        )  # fmt: skip


def _add_motors(model: Model, spec: Any) -> None:
    """Servos; their gains follow once MuJoCo has computed the inertias."""
    for k, name in enumerate(model.motor_names):
        joint = _scalar_joint(model, int(model.motor_coordinate[k]), f"motor {name!r}")
        actuator = spec.add_actuator(name=name, trntype=mujoco.mjtTrn.mjTRN_JOINT, target=joint)
        if model.motor_mode[k] == kinds.MotorMode.POSITION:
            actuator.set_to_position(1.0, kv=1.0)
        else:
            actuator.set_to_velocity(1.0)
        if np.isfinite(model.motor_max_force[k]):
            actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_TRUE
            actuator.forcerange = [-model.motor_max_force[k], model.motor_max_force[k]]


def _set_motor_gains(model: Model, peer: mujoco.MjModel) -> None:
    """kv drives the speed within some steps, kp makes the approach to a position last `response`."""
    dt = peer.opt.timestep
    for k in range(len(model.motor_names)):
        dof = peer.jnt_dofadr[peer.actuator_trnid[k, 0]]
        kv = MOTOR_GAIN * peer.dof_M0[dof] / dt
        kp = kv / max(model.motor_response[k], dt) if model.motor_mode[k] == kinds.MotorMode.POSITION else 0.0
        peer.actuator_gainprm[k, 0] = kp or kv
        peer.actuator_biasprm[k, :3] = [0.0, -kp, -kv]
