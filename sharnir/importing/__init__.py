"""Robots from URDF and MJCF files: `sharnir.load`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sharnir.importing.actuators import add_actuators
from sharnir.importing.bodies import add_bodies
from sharnir.importing.contacts import add_contacts
from sharnir.importing.equalities import add_equalities
from sharnir.importing.parse import Parsed, parse
from sharnir.importing.shapes import add_shapes
from sharnir.importing.source import Source
from sharnir.importing.tendons import add_tendons
from sharnir.spec.scene import Scene


def load(path: str | Path, roots: Sequence[str | Path] = (), *, strict: bool = False, merge_fixed: bool = False) -> Scene:
    """A scene from a URDF or MJCF file."""
    parsed = parse(path, tuple(roots))
    scene = scene_of(parsed, merge_fixed=merge_fixed)
    if strict:
        scene.import_report.check(str(path))
    return scene


def scene_of(parsed: Parsed, *, merge_fixed: bool = False) -> Scene:
    source = Source(parsed.model, parsed.format, parsed.tree)
    source.scene.gravity = tuple((parsed.model.opt.gravity if source.on("gravity") else np.zeros(3)).tolist())
    source.scene.timestep = float(parsed.model.opt.timestep) if parsed.format == "mjcf" else None
    add_bodies(source, merge_fixed)
    add_equalities(source)
    add_tendons(source)
    add_actuators(source)
    add_shapes(source)
    add_contacts(source)
    source.scene.import_report = source.report
    return source.scene
