"""What the writing process is told of a simulation."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, astuple
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

import sharnir
from sharnir.enums import LimitKind
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, ScalarImpulse
from sharnir.kernels.target import get_target
from sharnir.model.model import Model
from sharnir.precision import get_precision
from sharnir.recording.header import FORMAT
from sharnir.recording.layout import Layout
from sharnir.simulation.export import coordinate_names
from sharnir.simulation.joint_map import joint_map
from sharnir.spec.file import scene_text
from sharnir.spec.scene import WORLD

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation


def task_of(sim: Simulation, layout: Layout, path: str, rate: float, seed: int | None) -> dict[str, Any]:
    """All it needs, as JSON can say it."""
    from sharnir.impulse.ticks import ticks_per_second

    model, inner = sim.model, sim.inner
    assert model.scene is not None
    bodies = [*model.body_names, WORLD]
    return {
        "path": path,
        "facts": facts_of(sim, layout, rate, seed),
        "scene": scene_text(model.scene),
        "layout": [[astuple(p) for p in parts] for parts in (layout.fixed, layout.contacts, layout.seen)],
        "joint_map": joint_map(model, inner),
        "joint_states": joint_numbers(model),
        "sizes": [model.nq, model.nv],
        "bodies": list(model.body_names),
        "shape_bodies": [bodies[link] for link in model.shape_link.tolist()],
        "limits": limits_of(sim),
        "ticks_per_second": ticks_per_second(),
    }


def facts_of(sim: Simulation, layout: Layout, rate: float, seed: int | None) -> dict[str, str]:
    """The header of a recording."""
    return {
        "format": FORMAT, **environment(), "precision": get_precision(),
        "model": sim.model.fingerprint, "solver": sim.solver, "dt": repr(sim.dt),
        "settings": json.dumps(asdict(sim.settings)), "contacts": str(sim.impulses.layout.max_contacts),
        "pairs": str(sim.impulses.pairs), "rate": repr(float(rate)), "seed": "" if seed is None else str(seed),
        "layout": layout.text(), "began": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip


def environment() -> dict[str, str]:
    """What a run's bits may depend on besides the scene."""
    return {
        "sharnir": sharnir.__version__, "warp": version("warp-lang"), "numpy": np.__version__,
        "python": platform.python_version(), "machine": machine(), "target": get_target(),
    }  # fmt: skip


def machine() -> str:
    """The processor: kernels are compiled for the one they run on."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return f"{platform.system()} {platform.machine()} {names[0] if names else platform.processor()}"


def joint_numbers(model: Model) -> dict[str, Any]:
    """Names of coordinates that are numbers, and where they are in (q, loop q) and (v, loop v); the pose of a free
    joint's body is among the transforms."""
    _, names = coordinate_names(model, loops=True)
    kinds = np.repeat(model.joint_types, [*np.diff(model.dof_start), *np.diff(model.loop_v_start)])
    numbers = [c for c in range(model.nc) if model.coordinate_positions[c] >= 0 and kinds[c] != "free"]
    return {
        "names": [names[c] for c in numbers],
        "q": [int(model.coordinate_positions[c]) for c in numbers],
        "v": numbers,
    }


def limits_of(sim: Simulation) -> list[tuple[str, int]]:
    """Coordinates with limits, and where the impulses of these are."""
    inner, out = sim.inner, []
    _, names = coordinate_names(inner, loops=True)
    for name in inner.joint_names:
        joint = sim.joint(name)
        for c in range(joint._coordinates.start, joint._coordinates.stop):
            scalar = joint._scalar_row(c, ScalarImpulse.BOUND) if inner.limit_angles[c] != LimitKind.NONE else None
            if scalar is not None:
                out.append(
                    (names[c], sim.impulses.layout.scalar_p_start + SCALAR_IMPULSES * scalar + ScalarImpulse.BOUND)
                )
    return out
