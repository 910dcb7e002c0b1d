"""Modules that have moved: importing one by its old name gives the new one, with a DeprecationWarning that names it."""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# old place -> new place, in this package, since version 0.2.0; what lies below an old place lies below the new one,
# where the table does not say otherwise
MOVED = {
    "switching": "simulation.switch_solver",
    "trajectory": "simulation.simulate",
    "saved": "simulation.snapshot",
    "reports": "simulation.step_report",
    "views": "simulation.views",
    "touches": "simulation.contacts",
    "dc_motor_view": "simulation.dc_motor_view",
    "recording.joints": "simulation.joint_map",
    "recording.trajectories": "simulation.scene_trajectory",
    "recording.reading": "recording.read.recording",
    "recording.recorder": "recording.write.recorder",
    "recording.captures": "recording.write.captures",
    "recording.messages": "recording.write.messages",
    "recording.process": "recording.write.process",
    "recording.ring": "recording.write.ring_buffer",
    "recording.task": "recording.write.task",
    "recording.file": "recording.read.mcap_file",
    "recording.page": "recording.read.page",
    "recording.replay": "recording.read.replay",
    "recording.commands": "cli.replay",
    "observe": "sensors",
    "observe.sensors": "sensors.sensors",
    "observe.samples": "sensors.samples",
    "observe.support": "sensors.support_polygon",
    "observe.export": "simulation.export",
    "vehicles": "builders.vehicles",
    "exporting": "io.mjcf_export",
    "benchmarks.mujoco_twin": "io.mujoco_model",
    "importing": "io",
    "importing.assets": "io.parsing.assets",
    "importing.caps": "io.parsing.size_limits",
    "importing.check_inertias": "io.parsing.check_inertias",
    "importing.check_mjcf": "io.parsing.check_mjcf",
    "importing.check_urdf": "io.parsing.check_urdf",
    "importing.child": "io.parsing.parser_process",
    "importing.documents": "io.parsing.documents",
    "importing.files": "io.parsing.files",
    "importing.frames": "io.parsing.pipe",
    "importing.messages": "io.parsing.error_messages",
    "importing.nodes": "io.parsing.xml_tree",
    "importing.parse": "io.parsing.parse",
    "importing.simplify_urdf": "io.parsing.simplify_urdf",
    "importing.worker": "io.parsing.parser_client",
    "importing.urdf": "io.parsing.urdf",
    "importing.parts": "io.convex_decomposition",
    "importing.parts_child": "io.convex_decomposition_process",
    "importing.actuators": "io.convert.actuators",
    "importing.bodies": "io.convert.bodies",
    "importing.cameras": "io.convert.cameras",
    "importing.closing": "io.convert.close_loops",
    "importing.contacts": "io.convert.contacts",
    "importing.dc_motors": "io.convert.dc_motors",
    "importing.equalities": "io.convert.equalities",
    "importing.extensions": "io.convert.urdf_extensions",
    "importing.keyframes": "io.convert.keyframes",
    "importing.links": "io.convert.urdf_links",
    "importing.options": "io.convert.options",
    "importing.overlaps": "io.convert.overlaps",
    "importing.sensors": "io.convert.sensors",
    "importing.shapes": "io.convert.shapes",
    "importing.source": "io.convert.source",
    "importing.tendons": "io.convert.tendons",
    "collide": "collision",
    "collide.rays": "collision.queries.raycast",
    "collide.distances": "collision.queries.distance",
    "solvers": "exact",
    "solvers.settings": "impulse.settings",
    "solvers.impulse": "impulse.engine",
    "solvers.exact": "exact.integrate",
    "kinds": "enums",
    "compiler.checks": "checks",
    "spec.report": "spec.import_report",
    "viewer.drive": "viewer.input_mapping",
    "viewer.pieces": "drawing.pieces",
    "viewer.drawing": "drawing.batches",
    "viewer.meshes": "drawing.meshes",
    "viewer.visuals": "drawing.visuals",
    "viewer.bridge": "viewer.page.input_socket",
    "viewer.cameras": "viewer.page.cameras",
    "viewer.control": "viewer.page.control",
    "viewer.gate": "viewer.page.gate",
    "viewer.layers": "viewer.page.layers",
    "viewer.panel": "viewer.page.panel",
    "viewer.plots": "viewer.page.plots",
    "viewer.process": "viewer.page.process",
    "viewer.sliders": "viewer.page.sliders",
    "viewer.live": "viewer.source.live",
    "viewer.observer": "viewer.source.observer",
    "viewer.pace": "viewer.source.pace",
    "viewer.pull": "viewer.source.pull",
    "viewer.replay": "viewer.source.replay",
    "control.given": "control.arguments",
    "control.closure": "control.closed_loops",
    "info": "cli.info",
    "running": "cli.run",
    "performing": "cli.demonstrate",
    "actuation": "exact.actuators",
    "compiler.numeric": "model.kinematics",
    "scenes.chains": "scenes.mechanisms.chains",
    "scenes.linkages": "scenes.mechanisms.linkages",
    "scenes.planar": "scenes.mechanisms.planar",
    "scenes.linkage_gripper": "scenes.mechanisms.linkage_gripper",
    "scenes.gripper": "scenes.mechanisms.gripper",
    "scenes.free": "scenes.mechanisms.free",
    "scenes.contacts": "scenes.mechanisms.contacts",
    "scenes.piles": "scenes.mechanisms.piles",
    "scenes.trailer_task": "scenes.demonstrators.trailer_task",
    "scenes.pick_and_place": "scenes.demonstrators.pick_and_place",
}
PACKAGE = "sharnir."
PACKAGES = {PACKAGE + old for old in MOVED.keys() & {old.rpartition(".")[0] for old in MOVED}}


def new_place(name: str) -> str | None:
    """Full name of the module that a moved one became; None where it has not moved."""
    if not name.startswith(PACKAGE):
        return None
    old, below = name.removeprefix(PACKAGE), ""
    while old:
        if old in MOVED:
            return PACKAGE + MOVED[old] + below
        old, dot, last = old.rpartition(".")
        below = dot + last + below
    return None


def warn(message: str) -> None:
    """A DeprecationWarning at the line that imports: the nearest that is no part of how imports work."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].partition("._")[0] in ("importlib", "sharnir", __name__):
        frame = frame.f_back
    where, registry = frame.f_globals["__name__"], frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, DeprecationWarning, frame.f_code.co_filename, frame.f_lineno, where, registry)


class MovedModules:
    """Finds moved modules and loads the new ones in their place. First among the finders: old packages are new ones by
    another name, in which others would find second copies of modules. (It is a finder and a loader by what it can do:
    importing `importlib.abc` takes longer than all of this.)"""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What `import` asks every finder."""
        loader: Any = self
        return None if new_place(name) is None else ModuleSpec(name, loader, is_package=name in PACKAGES)

    def create_module(self, spec: ModuleSpec) -> None:
        """Nothing: `import` makes an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the new module where the old one is looked for; a package stays, and has all that the new one has."""
        old, new = module.__name__, new_place(module.__name__)
        assert new is not None
        found = importlib.import_module(new)
        if old in PACKAGES:
            vars(module)["__getattr__"] = lambda name: getattr(found, name)
        else:
            sys.modules[old] = found
        warn(f"{old} is now {new}")


def install() -> None:
    """Let imports of this process find moved modules."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())
