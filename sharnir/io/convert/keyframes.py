"""States the scene can start from: its first one, and keyframes, with inputs of all actuators, by name."""

from __future__ import annotations

import numpy as np

from sharnir.io.convert.bodies import SIZES, positions
from sharnir.io.convert.close_loops import closed
from sharnir.io.convert.source import Source
from sharnir.spec.import_report import UNSEEN
from sharnir.spec.keyframes import Keyframe


def close_start(source: Source) -> None:
    """Start where loops are closed."""
    start = source.model.qpos0.copy()
    qpos, _ = closed(source, "scene", "at the start", start, np.zeros(source.model.nv))
    if qpos is not start:
        joints = {joint.name: joint for joint in source.scene.joints}
        for name, group in _groups(source).items():
            joints[name].position = tuple(positions(source.model, group, qpos).tolist())


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
