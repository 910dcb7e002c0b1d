"""What a file says of the whole: gravity, time step, media, and what the scene has no place for."""

from __future__ import annotations

import mujoco
import numpy as np

from sharnir.io.convert.source import Source
from sharnir.spec.import_report import CHANGED, UNSEEN

NOT_SEEN = {"light": "light", "skin": "skin", "numeric": "numeric", "text": "text", "tuple": "tuple"}


def add_options(source: Source) -> None:
    """Gravity and time step; a report of what is not known."""
    m, report = source.model, source.report
    source.scene.gravity = tuple((m.opt.gravity if source.on("gravity") else np.zeros(3)).tolist())
    source.scene.timestep = float(m.opt.timestep) if source.format == "mjcf" else None
    moving = m.nv > 0
    if moving and (m.opt.density > 0 or m.opt.viscosity > 0):
        report.add("option", "density, viscosity", "forces of a fluid on bodies are not known")
    if m.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE):
        report.add(
            "option", "override", "contacts have the parameters of their geoms, not those of the option", CHANGED
        )
    for f in range(m.nflex):
        report.add("flex", source.name("flex", f), "bodies that deform are not known")
    for p in range(m.nplugin):
        report.add("plugin", source.name("plugin", p), "plugins are not known")
    for g in np.flatnonzero(m.geom_adhesion):
        report.add("geom", source.name("geom", int(g)), "adhesion is not known")
    for letters, kind in NOT_SEEN.items():
        count = getattr(m, f"n{letters}")
        if count:
            report.add(kind, f"{count} of them", "the scene has none", UNSEEN)
