"""States in which loops are closed. MuJoCo's loops are soft, so what a file starts from may leave them open; ours are
rigid."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sharnir.io.convert.source import BITS, Source
from sharnir.rotations import Array
from sharnir.spec.import_report import CHANGED

CLOSED = 1e-9  # m or rad: smaller gaps are rounding
STEPS = 50  # of Newton's method, at most
HELD = 1e-6  # of the firmest direction: weaker ones do not move
EQUALITY = int(mujoco.mjtConstraint.mjCNSTR_EQUALITY)


def closed(source: Source, what: str, name: str, qpos: Array, qvel: Array) -> tuple[Array, Array]:
    """The state nearest to a given one in which all loops and couplings of the scene hold; the given one where they do.
    What was moved is reported, as `what` of a `name`; loops that cannot be closed are left for the compiler to judge.
    """
    if not source.loops:
        return qpos, qvel
    data = mujoco.MjData(source.model)
    gaps, J = _gaps(source, data, qpos)
    opened = float(np.abs(gaps).max(initial=0.0))
    q = qpos.copy()
    for _ in range(STEPS):
        if np.abs(gaps).max(initial=0.0) < CLOSED:
            break
        mujoco.mj_integratePos(source.model, q, -np.linalg.lstsq(J, gaps, rcond=HELD)[0], 1.0)
        gaps, J = _gaps(source, data, q)
    if not np.abs(gaps).max(initial=0.0) < CLOSED:
        return qpos, qvel
    v = qvel - np.linalg.lstsq(J, J @ qvel, rcond=HELD)[0]
    if opened >= CLOSED:
        moved = np.abs(q - qpos).max()
        source.report.add(
            what, name, f"its loops were open by {opened:.2g} m or rad; joints moved by {moved:.2g}", CHANGED
        )
    elif np.abs(v - qvel).max(initial=0.0) > CLOSED * max(1.0, np.abs(qvel).max(initial=0.0)):
        source.report.add(what, name, "its velocities tear loops open; the nearest that do not are taken", CHANGED)
    else:
        return qpos, qvel
    return q, v


def beyond_ranges(source: Source, qpos: Array) -> Array:
    """[joints] m or rad by which hinges and slides are outside their ranges, 0 within."""
    m = source.model
    limited = m.jnt_limited.astype(bool) & (m.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)) & source.on("limits")
    at = qpos[m.jnt_qposadr]
    return np.where(limited, np.maximum(np.maximum(m.jnt_range[:, 0] - at, at - m.jnt_range[:, 1]), 0.0), 0.0)


def report_held(source: Source, qpos: Array) -> None:
    """Joints outside their range at the start that loops hold or may hold there."""
    if not source.loops:
        return
    moving = np.any(_gaps(source, mujoco.MjData(source.model), qpos)[1] != 0, axis=0)
    for j in np.flatnonzero(beyond_ranges(source, qpos) > CLOSED):
        if moving[source.model.jnt_dofadr[j]]:
            reason = "is outside its range at the start, and part of a loop: while that keeps it there, neither holds"
            source.report.add("joint", source.joint_names[j], reason, CHANGED)


def _gaps(source: Source, data: Any, qpos: Array) -> tuple[Array, Array]:
    """[n] m or rad by which MuJoCo's equalities that the scene has do not hold, and their Jacobian [n, nv]."""
    m = source.model
    data.qpos[:] = qpos
    flags = m.opt.disableflags
    m.opt.disableflags |= int(BITS.mjDSBL_CONTACT)
    mujoco.mj_fwdPosition(m, data)
    m.opt.disableflags = flags
    J = np.zeros((data.nefc, m.nv))
    if mujoco.mj_isSparse(m):
        mujoco.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    else:
        J[:] = data.efc_J.reshape(-1, m.nv)
    rows = [k for k in range(data.nefc) if data.efc_type[k] == EQUALITY and int(data.efc_id[k]) in source.held]
    return data.efc_pos[rows].copy(), J[rows]
