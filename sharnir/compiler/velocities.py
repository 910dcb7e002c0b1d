"""Initial velocities of mechanisms with loops: those given hold, the others follow with the least kinetic energy."""

from __future__ import annotations

import numpy as np

from sharnir.errors import fail
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, RowForm
from sharnir.model.kinematics import link_axes, spatial_inertia, tree_pivots
from sharnir.model.model import Model
from sharnir.model.poses import IDENTITY_POSE, Pose
from sharnir.rotations import Array

TOL_VELOCITY = 1e-6  # rad/s or m/s, relative to the largest velocity given
# relative: below it a direction is free; as loose as the tolerance of loop positions
MIN_SINGULAR_VALUE = (
    1e-6  # weaker directions are free: as loosely as positions may close a loop, redundant rows may disagree
)


def consistent_velocities(model: Model, poses: list[Pose], given: Array, loop_given: Array) -> Array:
    """v0 that closes all loops at velocity level; `given` and `loop_given` are NaN where nothing was stated."""
    if not np.nan_to_num(given).any() and not np.nan_to_num(loop_given).any():
        return np.zeros(model.nv)
    jacobians = link_jacobians(model, poses)
    rows = np.array([loop_row(model, poses, jacobians, r) for r in range(6 * model.loops)])
    fixed = np.tile(np.arange(6), model.loops) < CONSTRAINT_COUNT[np.repeat(model.loop_kind, 6)]
    coordinates = rows[~fixed]
    M = mass_matrix(model, poses, jacobians) + coordinates.T @ (model.loop_armature[:, None] * coordinates)
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        problem, extremes = "the joint-space inertia is singular to rounding", "masses or distances of extreme ratio"
        raise fail(f"model {model.name!r}", problem, extremes, "ratios that leave some digits") from None
    allowed_motion = null_space(np.linalg.solve(L, rows[fixed].T).T)
    stated, loop_stated = np.isfinite(given), np.isfinite(loop_given)
    A = np.vstack([np.eye(model.nv)[stated], coordinates[loop_stated]])
    b = np.concatenate([given[stated], loop_given[loop_stated]])
    x = np.linalg.lstsq(np.linalg.solve(L, A.T).T @ allowed_motion, b, rcond=1e-10)[0]
    v = np.linalg.solve(L.T, allowed_motion @ x)
    check_stated_velocities(model, v, given, coordinates @ v, loop_given)
    return np.asarray(v)


def null_space(A: Array) -> Array:
    """[n, k] orthonormal basis of what the rows of A leave free, each row that acts taken by its direction."""
    length = np.linalg.norm(A, axis=1)
    A = A[length > 1e-12 * length.max(initial=0.0)]
    A = A / np.linalg.norm(A, axis=1, keepdims=True)
    _, s, Vt = np.linalg.svd(A)
    return np.asarray(Vt[int((s > MIN_SINGULAR_VALUE).sum()) :].T)


def check_stated_velocities(model: Model, v: Array, given: Array, loop_v: Array, loop_given: Array) -> None:
    """Velocities that were stated and cannot all hold are named together: none of them is wrong alone."""
    tolerance = TOL_VELOCITY * max(1.0, float(np.nanmax(np.abs(np.concatenate([given, loop_given, [0.0]])))))
    contradicting = {}
    for name in model.joint_names:
        joint = model.joint(name)
        wanted, got = (loop_given, loop_v) if joint.closes_loop else (given, v)
        gap = wanted[joint.v] - got[joint.v]
        if (np.abs(gap[np.isfinite(gap)]) > tolerance).any():
            contradicting[name] = [float(x) for x in wanted[joint.v]]
    if contradicting:
        raise fail(
            f"joints {', '.join(repr(name) for name in contradicting)}",
            "their initial velocities contradict each other through the loops they are part of",
            ", ".join(str(x[0] if len(x) == 1 else x) for x in contradicting.values()),
            "velocities that fit together, or a velocity for fewer of them",
        )  # fmt: skip


def link_jacobians(model: Model, poses: list[Pose]) -> Array:
    """[nb, 6, nv] velocity (v at the pivot of its tree, ω) of every link by v."""
    out = np.zeros((model.nb, 6, model.nv))
    pivots = tree_pivots(model, poses)
    for i in range(model.nb):
        if model.parent[i] >= 0:
            out[i] = out[model.parent[i]]
        for d, S in link_axes(model, i, poses, pivots[i]).items():
            out[i, :, d] = S
    return out


def mass_matrix(model: Model, poses: list[Pose], jacobians: Array) -> Array:
    """Sum of the links' inertias seen by v."""
    pivots = tree_pivots(model, poses)
    inertias = np.array([spatial_inertia(model, i, poses[i], pivots[i]) for i in range(model.nb)])
    flat = jacobians.reshape(-1, model.nv)
    return np.asarray(np.diag(model.armature) + flat.T @ (inertias @ jacobians).reshape(-1, model.nv))


def loop_row(model: Model, poses: list[Pose], jacobians: Array, r: int) -> Array:
    """[nv] row r (six per loop joint, see sharnir.model.joint_rows) by v."""
    k = r // 6
    a, b = model.loop_link[k]
    P = (IDENTITY_POSE if a < 0 else poses[a]) @ Pose(model.loop_rot[k, 0], model.loop_pos[k, 0])
    C = (IDENTITY_POSE if b < 0 else poses[b]) @ Pose(model.loop_rot[k, 1], model.loop_pos[k, 1])
    form, first, second = JOINT_ROW_TABLE[model.loop_kind[k], r % 6]
    e = P.R[:, first]
    force, torque = np.zeros(3), np.zeros(3)
    if form in (RowForm.ALONG, RowForm.HELIX):
        force = e
        torque = -model.loop_pitch[k] * e if form == RowForm.HELIX else torque
    elif form == RowForm.PERPENDICULAR:
        torque = np.cross(C.R[:, second], e)
    else:
        torque = C.R[:, first] if form == RowForm.ABOUT_C else e
    row = np.zeros(model.nv)
    pivots = tree_pivots(model, poses)
    for link, sign in ((a, -1.0), (b, 1.0)):
        if link >= 0:
            wrench = np.concatenate([force, torque + np.cross(C.x - pivots[link], force)])
            row += sign * wrench @ jacobians[link]
    return row
