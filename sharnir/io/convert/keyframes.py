"""States the scene can start from: its first one, and keyframes, with inputs of all actuators, by name."""

from __future__ import annotations

import numpy as np

from sharnir.io.convert.bodies import SIZES, positions
from sharnir.io.convert.close_loops import beyond_ranges, closed, report_held
from sharnir.io.convert.overlaps import report_overlaps
from sharnir.io.convert.source import CORRECTED, Source
from sharnir.rotations import Array
from sharnir.spec.import_report import CHANGED, UNSEEN
from sharnir.spec.keyframes import Keyframe

ROUNDING = 1e-6  # m or rad beyond a range, which files are rounded to


def close_start(source: Source) -> None:
    """Start where loops are closed; report what overlaps there."""
    start = source.model.qpos0.copy()
    qpos, _ = closed(source, "scene", "at the start", start, np.zeros(source.model.nv))
    if qpos is not start:
        joints = {joint.name: joint for joint in source.scene.joints}
        for name, group in _groups(source).items():
            joints[name].position = tuple(positions(source.model, group, qpos).tolist())
    report_held(source, qpos)
    report_overlaps(source, qpos)


def _groups(source: Source) -> dict[str, list[int]]:
    """MuJoCo's joints that make each of ours."""
    ours: dict[str, list[int]] = {}
    for j, (name, _) in source.coordinate.items():
        ours.setdefault(name, []).append(j)
    return ours


def add_keyframes(source: Source) -> None:
    """All keyframes of the file."""
    m, ours = source.model, _groups(source)
    numbers = {source.name("actuator", a): a for a in range(m.nactuator)}
    inputs = [numbers[name] for name in source.driven_names]
    for k in range(m.nkey):
        name = source.name("keyframe", k)
        if m.na and m.key_act[k].any():
            source.report.add("keyframe", name, "activations of actuators start at 0", UNSEEN)
        qpos, qvel = closed(source, "keyframe", name, m.key_qpos[k].copy(), m.key_qvel[k].copy())
        _report_ranges(source, qpos, name)
        report_overlaps(source, qpos, name)
        velocities = [
            tuple(float(x) for j in group for x in qvel[m.jnt_dofadr[j] :][: SIZES[int(m.jnt_type[j])][1]])
            for group in ours.values()
        ]
        source.scene.add(
            Keyframe(
                name=name, joints=tuple(ours), velocities=velocities,
                positions=[tuple(positions(m, group, qpos).tolist()) for group in ours.values()],
                inputs=[float(m.key_ctrl[k][a]) for a in inputs],
            )
        )  # fmt: skip


def _report_ranges(source: Source, qpos: Array, name: str) -> None:
    """Hinges and slides that a keyframe has outside their range, the farthest by name."""
    beyond = beyond_ranges(source, qpos)
    count, j = int((beyond > ROUNDING).sum()), int(np.argmax(beyond)) if len(beyond) else 0
    if count:
        others = f", {count - 1} others by less" if count > 1 else ""
        reason = f"joint {source.joint_names[j]!r} is {beyond[j]:.2g} outside its range{others}: {CORRECTED}"
        source.report.add("keyframe", name, reason, CHANGED)
