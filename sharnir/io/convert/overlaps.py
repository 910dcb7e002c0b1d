"""Bodies that overlap where a file starts, and what becomes of them.

The author of a URDF did not mean links to push each other apart: URDF has no list of pairs that do not touch, and
convex hulls fill what was hollow. Such links would be pressed against each other for ever, so they do not touch at all.
In an MJCF they touch, as it says. MuJoCo's springs drive what overlaps apart and leave it the speed of that; here
positions are corrected, and no speed comes of it. The report says which bodies these are.
"""

from __future__ import annotations

from itertools import combinations

import mujoco
import numpy as np
from numpy.typing import NDArray

from sharnir.io.convert.source import CORRECTED, Source
from sharnir.rotations import Array
from sharnir.spec.import_report import CHANGED

DEPTH = 1e-6  # m: what overlaps less is in touch

Pair = frozenset[int]
Bools = NDArray[np.bool_]


def overlapping_links(source: Source, may: Bools) -> set[Pair]:
    """Pairs of MuJoCo's bodies whose geoms overlap at the start. may: [geoms, geoms] which may touch."""
    model, data, owners = solids(source, start(source))
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


def report_overlaps(source: Source, qpos: Array, keyframe: str = "") -> None:
    """What touches and overlaps at positions qpos, those of the start or of a keyframe: a pair of bodies an entry, or a
    keyframe."""
    found = sorted(_overlaps(source, qpos).items(), key=lambda item: -item[1])
    names = [" and ".join(source.body_names[b] for b in sorted(ends)) for ends, _ in found]
    if keyframe and found:
        others = f", {len(found) - 1} other pairs by less" if len(found) > 1 else ""
        reason = f"bodies {names[0]!r} overlap by {found[0][1]:.2g} m{others}: {CORRECTED}"
        source.report.add("keyframe", keyframe, reason, CHANGED)
    for name, (_, depth) in zip(names, found, strict=True) if not keyframe else ():
        source.report.add("bodies", name, f"overlap by {depth:.2g} m at the start: {CORRECTED}", CHANGED)


def _overlaps(source: Source, qpos: Array) -> dict[Pair, float]:
    """m by which pairs of MuJoCo's bodies overlap that may touch, margins included."""
    m, data = source.model, mujoco.MjData(source.model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(m, data)
    mujoco.mj_comPos(m, data)
    mujoco.mj_collision(m, data)
    parts: tuple[mujoco.MjModel, mujoco.MjData, dict[int, int]] | None = None
    depths: dict[Pair, float] = {}
    for (g, h), distance in zip(data.contact.geom.tolist(), data.contact.dist.tolist(), strict=True):
        if min(g, h) < 0 or not source.touch[g, h]:
            continue
        if any(len(source.parts.get(k, ())) > 1 for k in (g, h)):  # MuJoCo has their hulls
            parts = parts or solids(source, data)
            apart = _distance(parts, g, h)
        else:
            apart = distance
        ends = Pair(int(b) for b in m.geom_bodyid[[g, h]])
        depth = float(m.geom_margin[g] + m.geom_margin[h]) - apart
        if depth > DEPTH:
            depths[ends] = max(depth, depths.get(ends, 0.0))
    return depths


def _distance(parts: tuple[mujoco.MjModel, mujoco.MjData, dict[int, int]], g: int, h: int) -> float:
    """m between the parts of two geoms."""
    model, data, owners = parts
    first, second = ([k for k, owner in owners.items() if owner == geom] for geom in (g, h))
    return min(float(mujoco.mj_geomDistance(model, data, i, j, 0.0, None)) for i in first for j in second)


def solids(source: Source, data: mujoco.MjData) -> tuple[mujoco.MjModel, mujoco.MjData, dict[int, int]]:
    """A model with what touches, at the poses in `data`: the source's own or, where meshes were decomposed, one with
    their parts in the world; and the source's geom of each of its geoms."""
    m = source.model
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
