"""Links of a URDF that overlap where it starts: its author did not mean them to push each other apart.

URDF has no list of pairs that do not touch, and convex hulls fill what was hollow. Such links would be pressed against
each other for ever, so they do not touch at all, and the report says which.
"""

from __future__ import annotations

from itertools import combinations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sharnir.io.convert.source import Source
from sharnir.spec.import_report import CHANGED

DEPTH = 1e-6  # m: what overlaps less is in touch

Pair = frozenset[int]
Bools = NDArray[np.bool_]


def overlapping_links(source: Source, may: Bools) -> set[Pair]:
    """Pairs of MuJoCo's bodies whose geoms overlap at the start. may: [geoms, geoms] which may touch."""
    model, data, owners = solids(source)
    body = source.model.geom_bodyid
    depths: dict[Pair, float] = {}
    for (i, g), (j, h) in combinations(owners.items(), 2):
        ends = Pair((int(body[g]), int(body[h])))
        if len(ends) == 1 or not may[g, h] or not _near(model, data, i, j):
            continue
        depth = -float(mujoco.mj_geomDistance(model, data, i, j, 0.0, None))
        if depth > DEPTH:
            depths[ends] = max(depth, depths.get(ends, 0.0))
    for ends, depth in depths.items():
        name = " and ".join(source.body_names[b] for b in sorted(ends))
        reason = f"overlap by {depth:.2g} m at the start, and do not touch each other"
        source.report.add("links", name, reason, CHANGED)
    return set(depths)


def solids(source: Source) -> tuple[mujoco.MjModel, mujoco.MjData, dict[int, int]]:
    """A model with what touches, where it starts: the source's own or, where meshes were decomposed, one with their
    parts in the world; and the source's geom of each of its geoms."""
    m, data = source.model, start(source)
    if not any(len(parts) > 1 for parts in source.parts.values()):
        return m, data, {g: g for g in sorted(source.shapes)}
    spec, quat = mujoco.MjSpec(), np.zeros(4)
    owners: list[int] = []
    for g in sorted(source.shapes):
        mujoco.mju_mat2Quat(quat, data.geom_xmat[g])
        at = {"pos": data.geom_xpos[g], "quat": quat.copy()}
        meshes = [m.mesh_vert[m.mesh_vertadr[k] :][: m.mesh_vertnum[k]] for k in m.geom_dataid[g : g + 1] if k >= 0]
        for points in source.parts.get(g) or meshes:
            mesh = spec.add_mesh(name=f"mesh{len(owners)}", uservert=np.ravel(points).tolist())
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name, **at)
            owners.append(g)
        if not meshes:
            spec.worldbody.add_geom(type=m.geom_type[g], size=m.geom_size[g], **at)
            owners.append(g)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return model, data, dict(enumerate(owners))


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
