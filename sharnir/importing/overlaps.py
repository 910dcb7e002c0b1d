"""Links of a URDF that overlap where it starts: its author did not mean them to push each other apart.

URDF has no list of pairs that do not touch, and convex hulls fill what was hollow. Such links would be pressed against
each other for ever, so they do not touch at all, and the report says which.
"""

from __future__ import annotations

from itertools import combinations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sharnir.importing.source import Source
from sharnir.spec.report import CHANGED

DEPTH = 1e-6  # m: what overlaps less is in touch

Pair = frozenset[int]
Bools = NDArray[np.bool_]


def overlapping_links(source: Source, may: Bools) -> set[Pair]:
    """Pairs of MuJoCo's bodies whose geoms overlap at the start. may: [geoms, geoms] which may touch."""
    m, data = source.model, start(source)
    depths: dict[Pair, float] = {}
    for g, h in combinations(sorted(source.shapes), 2):
        ends = Pair((int(m.geom_bodyid[g]), int(m.geom_bodyid[h])))
        if len(ends) == 1 or not may[g, h] or not _near(m, data, g, h):
            continue
        depth = -float(mujoco.mj_geomDistance(m, data, g, h, 0.0, None))
        if depth > DEPTH:
            depths[ends] = max(depth, depths.get(ends, 0.0))
    for ends, depth in depths.items():
        name = " and ".join(source.body_names[b] for b in sorted(ends))
        reason = f"overlap by {depth:.2g} m at the start, and do not touch each other"
        source.report.add("links", name, reason, CHANGED)
    return set(depths)


def start(source: Source) -> mujoco.MjData:
    """MuJoCo's data with all poses where joints are at 0, or at the end of their range that is nearest to it."""
    m, data = source.model, mujoco.MjData(source.model)
    for j in np.flatnonzero(m.jnt_limited & (m.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE))):
        q = m.jnt_qposadr[j]
        data.qpos[q] = np.clip(data.qpos[q], *m.jnt_range[j])
    mujoco.mj_kinematics(m, data)
    return data


def _near(model: mujoco.MjModel, data: mujoco.MjData, g: int, h: int) -> bool:
    """Whether the balls around two geoms overlap."""
    reach = float(model.geom_rbound[g] + model.geom_rbound[h])
    return bool(np.linalg.norm(data.geom_xpos[g] - data.geom_xpos[h]) < reach)
