"""What a model says about loads of joints on light links: principal axes and moments of the links, lever arms of the
joints, mechanisms (M-91, M-92)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import warp as wp

from sharnir.enums import MotionKind, ScalarSource
from sharnir.kernels.types import mat33, np_real, real, vec3
from sharnir.model.connected import connected_groups
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, RowForm

if TYPE_CHECKING:
    from sharnir.impulse.layout.scalar_layout import ScalarRow
    from sharnir.model.model import Model, Reals

POINT_SHARE = 0.02  # of mass times squared arm: moments that y compares are no smaller, so that points do not count
SLIDE_REACH = 1.0  # m, by which arms of sliding joints may be longer than where they start


class JointArm(NamedTuple):
    """A joint on a link: its place in the link frame, and by how much a slide may move it."""

    link: int
    place: Reals  # m, from the link frame's origin
    slide: float  # m


def lay_out_joint_loads(model: Model, rows: list[ScalarRow]) -> dict[str, Any]:
    """Fields of `Layout` for loads of joints on light links, as numpy arrays and numbers."""
    moments, axes = np.zeros((model.nb, 3)), np.zeros((model.nb, 3, 3))
    for i in range(model.nb):
        moments[i], axes[i] = np.linalg.eigh(model.inertia[i])
    tree = [_tree_joint(model, i) for i in range(model.nb)]
    loops = [_loop_joint(model, k) for k in range(model.loops)]
    resistance = _resistance(model, np.maximum(moments, 0.0), axes, [*tree, *loops])
    joints_at = np.zeros(model.nb)
    for arm in (arm for joint in (*tree, *loops) for arm in joint):
        joints_at[arm.link] += 1

    weights = [[joints_at[arm.link] * _weight(model, arm, axes, resistance) for arm in joint] for joint in tree + loops]
    levers = [
        max((weight * _reach(model, arm) for arm, weight in zip(joint, on, strict=True)), default=0.0)
        for joint, on in zip(tree + loops, weights, strict=True)
    ]
    tree_weights = np.zeros((model.nb, 2))
    for i, on in enumerate(weights[: model.nb]):
        tree_weights[i, : len(on)] = on
    force = np.isin(JOINT_ROW_TABLE[..., 0], (RowForm.ALONG, RowForm.HELIX))
    force &= np.arange(force.shape[1]) < CONSTRAINT_COUNT[:, None]
    return {
        "link_axes": axes,
        "link_moments": np.maximum(moments, 0.0),
        "link_resistance": resistance,
        "link_mechanism": find_mechanisms(model, [*tree, *loops]),
        "dof_loaded": find_loaded_dofs(model, rows),
        "tree_joint_weight": tree_weights.reshape(-1),
        "tree_lever": max(levers[: model.nb], default=0.0),
        "joint_lever": np.array(levers[model.nb :]),
        "joint_force_rows": force.sum(axis=1)[model.loop_kind],
    }


def find_mechanisms(model: Model, joints: list[list[JointArm]]) -> np.ndarray:
    """[link] number of the mechanism it belongs to: links that joints connect, the world not counted; −1 for bodies
    that no joint holds."""
    holding = model.loop_link[CONSTRAINT_COUNT[model.loop_kind] > 0]
    tree = np.stack([np.arange(model.nb), model.parent], axis=1)
    pairs = np.concatenate([tree, holding.reshape(-1, 2), model.spring_link.reshape(-1, 2)])
    pairs = pairs[(pairs >= 0).all(axis=1)]
    mechanism = connected_groups(model.nb, pairs)
    held = np.zeros(model.nb, dtype=bool)
    held[[arm.link for joint in joints for arm in joint]] = True
    return np.asarray(np.where(held, mechanism, -1))


def find_loaded_dofs(model: Model, rows: list[ScalarRow]) -> np.ndarray:
    """[nv] 1 for coordinates of the tree with rotors, springs, dampers, constant efforts or scalar rows."""
    loaded = (model.armature != 0) | (model.damping != 0) | (model.stiffness != 0) | (model.effort != 0)
    for row in rows:
        if row.source_kind == ScalarSource.TREE_DOF:
            loaded[row.source[0]] = True
        elif row.source_kind == ScalarSource.BALL_ANGLE and row.source[0] < model.nv:
            loaded[row.source[0] : row.source[0] + 3] = True
    return loaded


def _tree_joint(model: Model, i: int) -> list[JointArm]:
    """Where the joint of link i is on it and on its parent; of a free body nowhere, since it carries no force."""
    parts = range(model.part_start[i], model.part_start[i + 1])
    kinds = [int(model.part_kind[e]) for e in parts]
    if MotionKind.SHIFT in kinds:
        return []
    slide = SLIDE_REACH if MotionKind.SLIDE in kinds or any(model.part_pitch[e] for e in parts) else 0.0
    arms = [JointArm(i, np.zeros(3), slide)]
    if model.parent[i] >= 0:
        arms.append(JointArm(int(model.parent[i]), model.part_pos[parts[0]], slide))
    return arms


def _loop_joint(model: Model, k: int) -> list[JointArm]:
    """The same of a loop joint."""
    kind = model.loop_kind[k]
    if CONSTRAINT_COUNT[kind] == 0:
        return []
    whole = (JOINT_ROW_TABLE[kind, : CONSTRAINT_COUNT[kind], 0] == RowForm.ALONG).sum() == 3
    slide = 0.0 if whole else SLIDE_REACH
    places = np.asarray(model.loop_pos).reshape(-1, 2, 3)[k]
    return [
        JointArm(int(link), place, slide) for link, place in zip(model.loop_link[k], places, strict=True) if link >= 0
    ]


def _reach(model: Model, arm: JointArm) -> float:
    """m, largest distance of a joint from the link's centre of mass."""
    return float(np.linalg.norm(arm.place - model.com[arm.link])) + arm.slide


def _weight(model: Model, arm: JointArm, axes: Reals, resistance: Reals) -> float:
    """1/(kg m²), the most by which 1 N m of pull at an arm raises ω² of the link's turning about a principal axis. A
    slide may lead the arm anywhere."""
    r = axes[arm.link].T @ (arm.place - model.com[arm.link])
    reach = float(np.linalg.norm(r))
    across = np.ones(3) if arm.slide > 0.0 or reach == 0.0 else 1.0 - (r / reach) ** 2
    out = np.full(3, np.inf)
    np.divide(across, resistance[arm.link], out=out, where=resistance[arm.link] > 0.0)
    return float(np.where(across > 0.0, out, 0.0).max())


def _resistance(model: Model, moments: Reals, axes: Reals, joints: list[list[JointArm]]) -> Reals:
    """[link, 3] moments about principal axes that a turn of the link alone meets: about the centre of mass, or about a
    joint with the world. At least POINT_SHARE of the mass at the longest arm; without bound where a link has no
    inertia, and so no oscillation of its own."""
    out = moments.copy()
    for joint in joints:
        for arm in joint:
            r = axes[arm.link].T @ (arm.place - model.com[arm.link])
            across = model.mass[arm.link] * (r @ r - r * r)
            if len(joint) == 1 and arm.slide == 0.0:
                out[arm.link] = np.maximum(out[arm.link], moments[arm.link] + across)
            out[arm.link] = np.maximum(out[arm.link], POINT_SHARE * model.mass[arm.link] * (r @ r))
    massless = (model.mass == 0.0) & (moments == 0.0).all(axis=1)
    out[massless] = np.inf
    return out


def upload_joint_loads(model: Model, rows: list[ScalarRow], out: Any, device: str) -> None:
    """Upload them to a `Layout`."""
    fields = lay_out_joint_loads(model, rows)
    dtypes = {
        "link_axes": mat33,
        "link_moments": vec3,
        "link_resistance": vec3,
        "joint_lever": real,
        "tree_joint_weight": real,
    }
    for name, dtype in dtypes.items():
        setattr(out, name, wp.array(fields[name].astype(np_real), dtype=dtype, device=device))
    for name in ("link_mechanism", "dof_loaded", "joint_force_rows"):
        setattr(out, name, wp.array(fields[name].astype(np.int32), dtype=int, device=device))
    out.tree_lever = float(fields["tree_lever"])
