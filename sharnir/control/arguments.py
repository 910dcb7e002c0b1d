"""What users give to controllers: models by what they are part of, positions by a simulation, speeds by joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.checks import number
from sharnir.compiler import compile
from sharnir.enums import MotionKind
from sharnir.errors import described, fail
from sharnir.model.model import Model, Reals
from sharnir.simulation.joint_map import joint_map, scene_state
from sharnir.spec.scene import Scene

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation


def model_of(given: Any) -> Model:
    """The model of a scene, of a simulation, or itself."""
    from sharnir.simulation.simulation import Simulation

    if isinstance(given, Model):
        return given
    if isinstance(given, Simulation):
        return given.model
    if isinstance(given, Scene):
        return compile(given)
    raise fail("model", "is none", described(given), "a Model, a Scene or a Simulation")


def positions_of(sim: Simulation) -> Reals:
    """[nq] positions of the scene's own joints, whatever the solver."""
    if sim.inner is sim.model and sim.worlds == 1:
        return np.array(sim.q, dtype=float)
    return state_of(sim)[0]


def state_of(sim: Simulation) -> tuple[Reals, Reals]:
    """[nq] positions and [nv] velocities of the scene's own joints, whatever the solver."""
    if sim.worlds > 1:
        raise fail("positions", "are read of one world", f"{sim.worlds} worlds", "worlds=1")
    if sim.inner is sim.model:
        return np.array(sim.q, dtype=float), np.array(sim.v, dtype=float)
    return scene_state(sim, joint_map(sim.model, sim.inner))[:2]


def speeds(model: Model, given: Any) -> Reals:
    """[nv] m/s or rad/s: one for all, by joint, or what the model says."""
    out = np.array(model.drive_max_speed[: model.nv], dtype=float)
    if isinstance(given, Mapping):
        for name, value in given.items():
            where = model.joint(name)
            if where.closes_loop:
                raise fail(f"joint {name!r}", "closes a loop and follows from the others", name, "joints of the tree")
            out[where.v] = number(f"joint {name!r}", "max_speed", value, above=0, infinite=(np.inf,))
    elif given is not None:
        out[:] = number("inverse kinematics", "max_speed", given, above=0, infinite=(np.inf,))
    return out


def hinges(model: Model) -> Any:
    """[nv] whether a coordinate turns, other than that of a free body."""
    out = np.zeros(model.nv, dtype=bool)
    for kind, v in zip(model.part_kind, model.part_v, strict=True):
        if kind in (MotionKind.SCREW, MotionKind.BALL):
            out[v : v + (3 if kind == MotionKind.BALL else 1)] = True
    for link in np.flatnonzero([t == "free" for t in model.joint_types[: model.nb]]):
        out[model.dof_start[link] : model.dof_start[link + 1]] = False
    return out
