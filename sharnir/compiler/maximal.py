"""Model in maximal coordinates: six for every body, and every described joint as a loop joint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sharnir.compiler.regularity import MIN_INERTIA_RATIO
from sharnir.compiler.spanning import free_joint_name
from sharnir.compiler.velocities import link_jacobians
from sharnir.enums import InertiaHandoff, JointType, LimitKind, MotionKind
from sharnir.errors import described, fail
from sharnir.model.kinematics import link_poses, tree_pivots
from sharnir.model.model import Ints, Model, Reals
from sharnir.model.poses import IDENTITY_POSE, Pose
from sharnir.rotations import Array, matrix_to_quat

OR_GENERALISED = "or solver 'simgc'"
MERGED = "`sharnir.load(…, merge_fixed=True)` for frames of a file that fixed joints hold to a body"


def maximal(model: Model) -> Model:
    """The model with every body on a free joint of its own and all described joints as loop joints.

    Links keep their numbers; their frames sit in the centres of mass, along the bodies' axes. Loop joints are those
    of the model's tree, in the order of links, then its loop joints; free joints nobody described are left out.
    """
    if not isinstance(model, Model):
        raise fail("maximal", "not a model", described(model), "what sharnir.compile returns")
    check_bodies(model)
    check_joints(model)
    poses = [Pose(R, x) for R, x in zip(model.body_rot, model.com, strict=True)]  # new link frames in the old ones
    old_in_new = [pose.inverse() for pose in poses]
    described_joints = np.flatnonzero(model.implicit_free == 0)
    kept_joints = np.concatenate([described_joints, np.arange(model.nb, model.nb + model.loops)])
    return replace(
        model,
        **free_link_fields(model, old_in_new),
        **initial_state_fields(model, poses),
        **joint_fields(model, kept_joints, old_in_new),
        **coordinate_fields(model, kept_joints),
        **attachment_fields(model, old_in_new),
        cache={},
    )


def check_bodies(model: Model) -> None:
    """A body on its own needs mass and rotational inertia about every axis."""
    for name, mass, inertia in zip(model.body_names, model.mass, model.inertia, strict=True):
        if not mass > 0:
            allowed = f"a mass > 0 in maximal coordinates, {MERGED}, {OR_GENERALISED}"
            raise fail(f"body {name!r}", "has no mass", f"{mass:g} kg", allowed)
        moments = np.linalg.eigvalsh(inertia)
        if not moments[0] > MIN_INERTIA_RATIO * moments[2]:
            problem = "has no rotational inertia" + (" about some axis" if moments[2] > 0 else "")
            given = f"moments {', '.join(f'{max(m, 0.0):g}' for m in moments)} kg m²"
            allowed = f"moments > 0 in maximal coordinates, {MERGED}, {OR_GENERALISED}"
            raise fail(f"body {name!r}", problem, given, allowed)


def check_joints(model: Model) -> None:
    """A joint between free bodies is a set of rows; those of a compound joint are not known."""
    for name, kind in zip(model.joint_names, model.joint_kind, strict=True):
        if kind == JointType.COMPOUND:
            allowed = f"joints of one kind in maximal coordinates, {OR_GENERALISED}"
            raise fail(f"joint {name!r}", "is a compound of several motions", "Compound", allowed)


def free_link_fields(model: Model, old_in_new: list[Pose]) -> dict[str, Any]:
    """Fields of the model with every link a tree of its own, on a free joint. old_in_new: the old link frames in the
    new ones."""
    nb = model.nb
    first = np.arange(nb, dtype=np.int32)
    turned = np.array([pose.R for pose in old_in_new]).reshape(nb, 3, 3)
    body = [pose @ Pose(R, x) for pose, R, x in zip(old_in_new, model.body_rot, model.body_pos, strict=True)]
    return {
        "parent": np.full(nb, -1, dtype=np.int32), "tree": first, "implicit_free": np.ones(nb, dtype=np.int32),
        "inertia_handoff": np.full(nb, InertiaHandoff.DROP, dtype=np.int32),
        "has_branches": np.zeros(nb, dtype=np.int32),
        "q_start": 7 * np.arange(nb + 1, dtype=np.int32), "dof_start": 6 * np.arange(nb + 1, dtype=np.int32),
        "part_start": 2 * np.arange(nb + 1, dtype=np.int32),
        "part_kind": np.tile(np.array([MotionKind.SHIFT, MotionKind.BALL], dtype=np.int32), nb),
        "part_q": (7 * first[:, None] + np.array([0, 3], dtype=np.int32)).reshape(-1),
        "part_v": (6 * first[:, None] + np.array([0, 3], dtype=np.int32)).reshape(-1),
        "part_sign": np.ones(2 * nb), "part_rot": np.tile(np.eye(3), (2 * nb, 1, 1)),
        "part_pos": np.zeros((2 * nb, 3)), "part_pitch": np.zeros(2 * nb),
        "com": np.zeros((nb, 3)), "inertia": turned @ model.inertia @ turned.transpose(0, 2, 1),
        "body_rot": np.array([p.R for p in body]).reshape(nb, 3, 3),
        "body_pos": np.array([p.x for p in body]).reshape(nb, 3),
        **{name: np.zeros(6 * nb) for name in ("armature", "damping", "stiffness", "effort")},
    }  # fmt: skip


def initial_state_fields(model: Model, frames: list[Pose]) -> dict[str, Any]:
    """Poses and velocities of the new link frames at the model's q0 and v0."""
    old = link_poses(model, model.q0)
    pivots = tree_pivots(model, old)
    motion = link_jacobians(model, old) @ model.v0
    q, v = np.zeros((model.nb, 7)), np.zeros((model.nb, 6))
    for i, frame in enumerate(frames):
        pose = old[i] @ frame
        turning = motion[i, 3:]
        q[i] = [*pose.x, *matrix_to_quat(pose.R)]
        v[i] = [*(motion[i, :3] + np.cross(turning, pose.x - pivots[i])), *(pose.R.T @ turning)]
    return {"q0": q.reshape(-1), "v0": v.reshape(-1), "rest": q.reshape(-1).copy()}


def joint_fields(model: Model, kept_joints: Ints, old_in_new: list[Pose]) -> dict[str, Any]:
    """Fields of the free joints, and of the kept joints as loop joints."""
    nb, names = model.nb, [model.joint_names[k] for k in kept_joints]
    link = model.joint_link[kept_joints]
    rot, pos = transform_frames(link, model.joint_rot[kept_joints], model.joint_pos[kept_joints], old_in_new)
    kind, pitch = model.joint_kind[kept_joints], model.joint_pitch[kept_joints]
    free_link = np.column_stack([np.full(nb, -1), np.arange(nb)]).astype(np.int32)
    return {
        "joint_names": (*(free_joint_name(body, names) for body in model.body_names), *names),
        "joint_types": (*["free"] * nb, *(model.joint_types[k] for k in kept_joints)),
        "joint_kind": np.concatenate([np.full(nb, JointType.FREE, dtype=np.int32), kind]),
        "joint_link": np.concatenate([free_link, link]),
        "joint_rot": np.concatenate([np.tile(np.eye(3), (nb, 2, 1, 1)), rot]),
        "joint_pos": np.concatenate([np.zeros((nb, 2, 3)), pos]),
        "joint_pitch": np.concatenate([np.zeros(nb), pitch]),
        "loop_kind": kind, "loop_link": link, "loop_rot": rot, "loop_pos": pos, "loop_pitch": pitch,
    }  # fmt: skip


def coordinate_fields(model: Model, kept_joints: Ints) -> dict[str, Any]:
    """Fields of coordinates by their new numbers: six of every body, then those of the kept joints."""
    q_start, q = select_coordinates(model.q_start, model.loop_q_start, kept_joints)
    v_start, v = select_coordinates(model.dof_start, model.loop_v_start, kept_joints)
    out: dict[str, Any] = {"loop_q_start": q_start, "loop_v_start": v_start}
    for name in ("armature", "damping", "stiffness", "effort"):
        out[f"loop_{name}"] = tree_then_loops(model, name)[v]
    for name in ("rest", "q0"):
        out[f"loop_{name}"] = tree_then_loops(model, name)[q]
    for name, default in (("limit_lower", -np.inf), ("limit_upper", np.inf), ("friction", 0.0)):
        out[name] = np.concatenate([np.full(6 * model.nb, default), getattr(model, name)[v]])
    no_limits = np.full(6 * model.nb, LimitKind.NONE, dtype=np.int32)
    for name in ("drive_max_force", "drive_max_speed"):
        out[name] = np.concatenate([np.full(6 * model.nb, np.inf), getattr(model, name)[v]])
    out["limit_angles"] = np.concatenate([no_limits, model.limit_angles[v]])
    number = np.full(model.nc, -1, dtype=np.int32)
    number[v] = 6 * model.nb + np.arange(len(v))
    return out | {
        name: number[getattr(model, name)]
        for name in ("motor_coordinate", "coupling_coordinate", "actuator_coordinate")
    }


def select_coordinates(start: Ints, loop_start: Ints, kept_joints: Ints) -> tuple[Ints, Ints]:
    """Offsets of the coordinates of the kept joints among themselves, and their old numbers."""
    first = np.concatenate([start, start[-1] + loop_start[1:]])
    old = [np.arange(first[k], first[k + 1], dtype=np.int32) for k in kept_joints]
    counts = np.array([0, *(len(numbers) for numbers in old)])
    return np.cumsum(counts, dtype=np.int32), np.concatenate([np.zeros(0, dtype=np.int32), *old])


def tree_then_loops(model: Model, name: str) -> Reals:
    """An array of the tree's coordinates, followed by the loop joints'."""
    return np.concatenate([getattr(model, name), getattr(model, f"loop_{name}")])


def attachment_fields(model: Model, old_in_new: list[Pose]) -> dict[str, Any]:
    """Springs and shapes in the new link frames."""
    eyes = np.tile(np.eye(3), (*model.spring_link.shape, 1, 1))
    _, anchors = transform_frames(model.spring_link, eyes, model.spring_anchor, old_in_new)
    rot, pos = transform_frames(model.shape_link, model.shape_rot, model.shape_pos, old_in_new)
    axes = np.array([*(pose.R for pose in old_in_new), np.eye(3)])[model.shape_link]
    turned = {name: np.einsum("sij,sj->si", axes, getattr(model, name)) for name in ("shape_drift", "shape_run")}
    return {"spring_anchor": anchors, "shape_rot": rot, "shape_pos": pos, **turned}


def transform_frames(link: Ints, rot: Array, pos: Array, old_in_new: list[Pose]) -> tuple[Array, Array]:
    """Frames [..., 3, 3] and [..., 3] of links [...] in the new link frames; those of the world stay."""
    frames = [*old_in_new, IDENTITY_POSE]  # the world is link -1
    R = np.array([p.R for p in frames])[link]
    x = np.array([p.x for p in frames])[link]
    return R @ rot, x + np.einsum("...ij,...j->...i", R, pos)
