"""Equality constraints: joints that close loops, couplings, and coordinates held at a value.

MuJoCo's equalities are soft, ours rigid: `solref` and `solimp` mean nothing here. Its polynomials count from the
initial positions.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sharnir.io.convert.source import Source, placed
from sharnir.io.convert.tendons import fixed_terms
from sharnir.model.poses import Pose
from sharnir.rotations import Array
from sharnir.spec.actuators import Coupling
from sharnir.spec.elements import Frame
from sharnir.spec.import_report import UNSEEN
from sharnir.spec.joints import Fixed, Joint, Spherical

EQ, OBJ = mujoco.mjtEq, mujoco.mjtObj
CONNECT, WELD, JOINT, TENDON = (int(k) for k in (EQ.mjEQ_CONNECT, EQ.mjEQ_WELD, EQ.mjEQ_JOINT, EQ.mjEQ_TENDON))
TORQUE_SCALE = 10  # slot of a weld's data
Terms = dict[int, float]  # joint → coefficient of its position


def add_equalities(source: Source) -> None:
    """All equalities that are on."""
    m = source.model
    for e in range(m.neq if source.on("equalities") else 0):
        name, kind = source.name("equality", e), int(m.eq_type[e])
        if not m.eq_active0[e]:
            source.report.add("equality", name, "is off at the start, and cannot be switched on", UNSEEN)
        elif kind in (CONNECT, WELD):
            _add_loop(source, e, name)
        elif kind in (JOINT, TENDON):
            _add_coupling(source, e, name)
        else:
            source.report.add("equality", name, f"of type {EQ(kind).name[5:].lower()} is not known")


def _add_loop(source: Source, e: int, name: str) -> None:
    """connect: the two points stay together, as in a ball joint; weld: the two bodies do, as in a fixed one, or only
    their points where torquescale is 0.

    Between bodies the data of a connect are the points in the first and in the second; those of a weld the point in the
    second (anchor), then point and quaternion in the first (of relpose, or as bodies start).
    """
    m, data = source.model, source.model.eq_data[e]
    welded = int(m.eq_type[e]) == WELD
    ends = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    if int(m.eq_objtype[e]) == int(OBJ.mjOBJ_SITE):
        bodies = [int(m.site_bodyid[s]) for s in ends]
        places = [placed(m.site_pos[s], m.site_quat[s]) for s in ends]
    else:
        bodies = list(ends)
        places = (
            [placed(data[3:6], data[6:10]), Pose(np.eye(3), data[:3])]
            if welded
            else [Pose(np.eye(3), data[k : k + 3]) for k in (0, 3)]
        )
    carriers = [source.carrier[b] for b in bodies]
    if carriers[0] == carriers[1]:
        source.report.add("equality", name, "holds two parts of one rigid body together", UNSEEN)
        return
    source.held.add(e)
    source.loops += 1
    kind: type[Joint] = Fixed if welded and data[TORQUE_SCALE] != 0 else Spherical
    frames = [_frame(source, b, place) for b, place in zip(bodies, places, strict=True)]
    taken = [j.name for j in source.scene.joints]
    source.scene.add(
        kind(
            name=name if name not in taken else f"{name}_loop", parent=source.body_names[carriers[0]],
            child=source.body_names[carriers[1]], parent_frame=frames[0], child_frame=frames[1],
        )
    )  # fmt: skip


def _frame(source: Source, body: int, place: Pose) -> Frame:
    """A pose in a MuJoCo body as a frame in the scene's body it is part of."""
    pose = source.pose(source.carrier[body]).inverse() @ source.pose(body) @ place
    return Frame(anchor=pose.x, axis=pose.R[:, 2], x_axis=pose.R[:, 0])


def _add_coupling(source: Source, e: int, name: str) -> None:
    """first − first₀ = a₀ + a₁ (second − second₀): between two coordinates a coupling, of one alone a value it has."""
    m = source.model
    element = "joint" if int(m.eq_type[e]) == JOINT else "tendon"
    data: Array = m.eq_data[e]
    first, second = (_terms(source, element, int(k)) for k in (m.eq_obj1id[e], m.eq_obj2id[e]))
    if data[2:5].any() and second:
        source.report.add("equality", name, "a polynomial of degree 2 or more is not known")
        return
    if first is None or second is None:
        source.report.add("equality", name, "of a tendon along a path in space is not known")
        return
    total: Terms = dict(first)
    for j, c in second.items():
        total[j] = total.get(j, 0.0) - data[1] * c
    total = {j: c for j, c in total.items() if c != 0}
    constant = data[0] + sum(c * m.qpos0[m.jnt_qposadr[j]] for j, c in total.items())
    if len(total) == 1:
        [(j, c)] = total.items()
        _hold(source, j, constant / c)
    elif len(total) == 2:
        # the joint whose equality it is follows
        follower = next(j for j in first if j in total)
        leader = next(j for j in total if j != follower)
        source.held.add(e)
        source.scene.add(_coupling(source, name, leader, follower, total, constant))
    else:
        source.report.add("equality", name, f"ties {len(total)} coordinates at once; couplings tie two")


def _terms(source: Source, element: str, k: int) -> Terms | None:
    """Joints and coefficients of a joint's or tendon's position; nothing for −1; None for a path in space."""
    if k < 0:
        return {}
    return {k: 1.0} if element == "joint" else fixed_terms(source.model, k)


def _coupling(source: Source, name: str, leader: int, follower: int, total: Terms, constant: float) -> Coupling:
    (lead, k), (follow, n) = source.coordinate[leader], source.coordinate[follower]
    return Coupling(
        name=name, leader=lead, follower=follow, leader_coordinate=k, follower_coordinate=n,
        ratio=-total[leader] / total[follower], offset=constant / total[follower],
    )  # fmt: skip


def _hold(source: Source, j: int, value: float) -> None:
    """A coordinate that stays at a value: limits that leave nothing else."""
    name, k = source.coordinate[j]
    joint: Any = next(joint for joint in source.scene.joints if joint.name == name)
    limits = [(-np.inf, np.inf)] * joint.nv if joint.limits is None else list(joint.limits)
    limits[k] = (float(value), float(value))
    joint.limits = tuple(limits)
