"""Tendons: straight ones between two sites are springs; what else acts along a tendon is reported."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from sharnir.io.convert.source import Source
from sharnir.spec.elements import Spring
from sharnir.spec.import_report import UNSEEN

WRAP = mujoco.mjtWrap
JOINT, SITE = int(WRAP.mjWRAP_JOINT), int(WRAP.mjWRAP_SITE)


def wraps(model: Any, t: int) -> range:
    """Parts of a tendon's path."""
    return range(int(model.tendon_adr[t]), int(model.tendon_adr[t] + model.tendon_num[t]))


def fixed_terms(model: Any, t: int) -> dict[int, float] | None:
    """Joints and coefficients of a tendon whose length is a sum of joint positions; None for others."""
    path = wraps(model, t)
    if any(int(model.wrap_type[w]) != JOINT for w in path):
        return None
    out: dict[int, float] = {}
    for w in path:
        j = int(model.wrap_objid[w])
        out[j] = out.get(j, 0.0) + float(model.wrap_prm[w])
    return out


def add_tendons(source: Source) -> None:
    """What acts along tendons themselves; actuators and equalities of tendons are looked at elsewhere."""
    m = source.model
    for t in range(m.ntendon):
        name = source.name("tendon", t)
        soft = [m.tendon_stiffness[t] and source.on("springs"), m.tendon_damping[t] and source.on("dampers")]
        hard = {
            "a limit of its length": m.tendon_limited[t] and source.on("limits"),
            "dry friction": m.tendon_frictionloss[t] and source.on("friction"), "inertia": m.tendon_armature[t],
            "a spring or damper that is not linear": m.tendon_stiffnesspoly[t].any() or m.tendon_dampingpoly[t].any(),
        }  # fmt: skip
        for what, there in hard.items():
            if there:
                source.report.add("tendon", name, f"{what} along a tendon is not known")
        if any(soft):
            _add_spring(source, t, name)
        elif not any(hard.values()):
            source.report.add("tendon", name, "no force acts along it; its length is not measured", UNSEEN)


def _add_spring(source: Source, t: int, name: str) -> None:
    m, path = source.model, wraps(source.model, t)
    lower, upper = m.tendon_lengthspring[t]
    straight = len(path) == 2 and all(int(m.wrap_type[w]) == SITE for w in path)
    if not straight or lower != upper:
        what = "that is slack over a range" if straight else "along a path that is not straight between two sites"
        source.report.add("tendon", name, f"a spring or damper {what} is not known")
        return
    sites = [int(m.wrap_objid[w]) for w in path]
    bodies = [int(m.site_bodyid[s]) for s in sites]
    anchors = []
    for s, b in zip(sites, bodies, strict=True):
        in_carrier = source.pose(source.carrier[b]).inverse() @ source.pose(b)
        anchors.append(in_carrier.x + in_carrier.R @ m.site_pos[s])
    names = [source.body_names[source.carrier[b]] for b in bodies]
    if names[0] == names[1]:
        source.report.add("tendon", name, "both ends are on one rigid body", UNSEEN)
        return
    source.scene.add(
        Spring(
            name=name, parent=names[0], child=names[1], parent_anchor=anchors[0], child_anchor=anchors[1],
            stiffness=float(m.tendon_stiffness[t] * source.on("springs")), length=float(np.mean((lower, upper))),
            damping=float(m.tendon_damping[t] * source.on("dampers")),
        )
    )  # fmt: skip
