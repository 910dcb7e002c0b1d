"""Robots from URDF and MJCF files: `sharnir.load`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import sharnir.io.loaded_mujoco  # noqa: F401  before all that import mujoco
from sharnir.errors import ModelError, ModelFileError, fail, of_file, shown
from sharnir.io.convert.actuators import add_actuators
from sharnir.io.convert.bodies import add_bodies
from sharnir.io.convert.cameras import add_cameras
from sharnir.io.convert.contacts import add_contacts
from sharnir.io.convert.equalities import add_equalities
from sharnir.io.convert.keyframes import add_keyframes, close_start
from sharnir.io.convert.options import add_options
from sharnir.io.convert.sensors import add_sensors
from sharnir.io.convert.shapes import add_shapes
from sharnir.io.convert.source import Source
from sharnir.io.convert.tendons import add_tendons
from sharnir.io.convert.urdf_extensions import report_extensions
from sharnir.io.convert.urdf_links import add_urdf_facts
from sharnir.io.convex_decomposition import checked_concavity
from sharnir.io.parsing.parse import Parsed, parse
from sharnir.io.parsing.urdf import set_inertias
from sharnir.spec.import_report import ImportReport, Omission
from sharnir.spec.scene import Scene, checked_roots


class Options(NamedTuple):
    """How a file becomes a scene: see `load`."""

    merge_fixed: bool = False
    floating: bool = False
    exclude_overlapping: bool = True
    concavity: float | None = None


USUAL = Options()


def load(
    path: str | Path,
    roots: Sequence[str | Path] = (),
    *,
    strict: bool = False,
    merge_fixed: bool = False,
    floating: bool = False,
    exclude_overlapping: bool = True,
    decompose: float | None = None,
) -> Scene:
    """A scene from a URDF or MJCF file, with the file's names and coordinates: q and v are MuJoCo's qpos and qvel but
    for the order of quaternions.

    roots: folders below which files may lie; `package://name/…` is looked for in them. strict: refuse what the scene
    cannot represent as it is, instead of listing it in `scene.import_report`. merge_fixed: let bodies without joints
    become part of those that carry them. floating: let the root links of a URDF float freely; otherwise they are fixed
    to the world. exclude_overlapping: let links of a URDF that overlap at the start not touch each other, which the
    report lists, nor a base fixed to the world and the links jointed to it; of an MJCF nothing is excluded but what it
    says itself. decompose: let meshes that touch be convex parts, by coacd, instead of one hull each; the concavity a
    part may have, from 0.01 (fine) to 1 (coarse). That takes seconds to minutes a mesh, and is kept on disk by content.
    """
    flags = {"strict": strict, "merge_fixed": merge_fixed, "floating": floating}
    for name, flag in (flags | {"exclude_overlapping": exclude_overlapping}).items():
        if not isinstance(flag, bool):
            raise fail("load", f"{name} is neither", shown(flag), "True or False")
    if not isinstance(path, (str, Path)):
        raise fail("load", "path is none", shown(path), "the path of a URDF or MJCF file")
    concavity = checked_concavity(decompose)
    parsed = parse(path, checked_roots(roots))
    options = Options(merge_fixed, floating, exclude_overlapping, concavity)
    scene = scene_of(parsed, options)
    if strict:
        scene.import_report.check()
    return scene


def scene_of(parsed: Parsed, options: Options = USUAL) -> Scene:
    """The scene of a file that was read, or a ModelFileError. The model of a URDF gets the inertias of the file."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return _mapped(parsed, options)
    except ModelError as error:
        raise of_file(error, str(parsed.path)) from None
    except (FloatingPointError, np.linalg.LinAlgError):
        reason = "has numbers too large or too small to compute with"
        raise ModelFileError(str(parsed.path), reason, "numbers of physical size") from None


def _mapped(parsed: Parsed, options: Options) -> Scene:
    urdf = parsed.format == "urdf"
    if urdf:
        set_inertias(parsed.model, parsed.tree)
    source = Source(parsed, options.floating, options.concavity)
    source.report.file = str(parsed.path)
    add_options(source)
    add_bodies(source, options.merge_fixed)
    add_equalities(source)
    add_tendons(source)
    add_actuators(source)
    add_shapes(source)
    add_contacts(source, urdf and options.exclude_overlapping)
    close_start(source)
    add_keyframes(source)
    add_sensors(source)
    add_cameras(source)
    if urdf:
        add_urdf_facts(source)
        report_extensions(source)
    source.scene.import_report, source.scene.roots = source.report, parsed.roots
    return source.scene


__all__ = ["ImportReport", "Omission", "Parsed", "load", "parse", "scene_of"]
