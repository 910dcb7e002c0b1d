"""Keyframes: states of all joints and inputs of all actuators, by name."""

from __future__ import annotations

from sharnir.importing.bodies import SIZES, positions
from sharnir.importing.source import Source
from sharnir.spec.keyframes import Keyframe
from sharnir.spec.report import UNSEEN


def add_keyframes(source: Source) -> None:
    """All keyframes of the file."""
    m = source.model
    ours: dict[str, list[int]] = {}  # our joint → MuJoCo's
    for j, (name, _) in source.coordinate.items():
        ours.setdefault(name, []).append(j)
    inputs = [a for a in range(m.nactuator) if source.name("actuator", a) in {x.name for x in source.scene.actuators}]
    for k in range(m.nkey):
        name = source.name("keyframe", k)
        if m.na and m.key_act[k].any():
            source.report.add("keyframe", name, "activations of actuators start at 0", UNSEEN)
        velocities = [
            tuple(float(x) for j in group for x in m.key_qvel[k][m.jnt_dofadr[j] :][: SIZES[int(m.jnt_type[j])][1]])
            for group in ours.values()
        ]
        source.scene.add(
            Keyframe(
                name=name, joints=tuple(ours), velocities=velocities,
                positions=[tuple(positions(m, group, m.key_qpos[k]).tolist()) for group in ours.values()],
                inputs=[float(m.key_ctrl[k][a]) for a in inputs],
            )
        )  # fmt: skip
