"""The named scenes: demos, tests and benchmarks all use these.

`make("rods", n=20)` builds one; `names()` lists them; a scene is a function with defaults for all parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from sharnir.checks import number, vector
from sharnir.errors import ModelError, unknown
from sharnir.model.model import check_index
from sharnir.scenes import grasp, humanoid, humanoid_stone, humanoid_valve, manipulator, trailer_robot, vehicles
from sharnir.scenes.mechanisms import chains, contacts, free, gripper, linkages, piles, planar
from sharnir.spec.elements import plain
from sharnir.spec.scene import Scene

SEEDS = 2**32


class Named(NamedTuple):
    build: Callable[..., Scene]
    duration: float  # s, a run worth watching
    dt: float = 1e-3  # s, a step that shows it well

    @property
    def summary(self) -> str:
        """First line of the scene's description."""
        return (inspect.getdoc(self.build) or "").split("\n")[0]


_SCENES: dict[str, Named] = {
    "pendulum": Named(chains.pendulum, 10.0),
    "double_pendulum": Named(chains.double_pendulum, 10.0),
    "rods": Named(chains.rods, 10.0),
    "spherical_pendulum": Named(chains.spherical_pendulum, 10.0),
    "free_box": Named(free.free_box, 10.0),
    "n_four_bar": Named(linkages.n_four_bar, 10.0),
    "andrews": Named(linkages.andrews, 0.03, 1e-5),
    "five_link_chain": Named(chains.five_link_chain, 20.0),
    "four_bar": Named(planar.four_bar, 10.0),
    "slider_crank": Named(planar.slider_crank, 5.0),
    "peaucellier": Named(planar.peaucellier, 0.7),
    "double_wishbone": Named(vehicles.double_wishbone, 2.0),
    "trailer": Named(vehicles.trailer, 10.0),
    "trailer_robot": Named(trailer_robot.trailer_robot, 60.0, 5e-3),
    "gripper": Named(gripper.gripper, 2.0),
    "grasp": Named(grasp.grasp, 2.0, 5e-3),
    "grasp_arm": Named(grasp.grasp_arm, 2.0, 5e-3),
    "humanoid": Named(humanoid.humanoid, 5.0),
    "humanoid_valve": Named(humanoid_valve.humanoid_valve, 20.5, 5e-3),
    "humanoid_stone": Named(humanoid_stone.humanoid_stone, 19.5, 5e-3),
    "manipulator_grasp": Named(manipulator.manipulator_grasp, 13.0, 5e-3),
    "box_on_slope": Named(contacts.box_on_slope, 2.0),
    "pile": Named(piles.pile, 2.0, 5e-3),
    "balls": Named(piles.balls, 2.0, 5e-3),
    "mixed": Named(piles.mixed, 2.0, 5e-3),
}


def names() -> list[str]:
    """Names of all scenes."""
    return list(_SCENES)


def find(name: str) -> Named:
    """A named scene's builder and duration."""
    if not isinstance(name, str) or name not in _SCENES:
        raise unknown("scene", name, _SCENES)
    return _SCENES[name]


def parameters(name: str) -> list[str]:
    """Names of a scene's parameters."""
    return list(inspect.signature(find(name).build).parameters)


def drive_file(name: str) -> Path | None:
    """The mapping by which an operator drives a named scene, if there is one."""
    find(name)
    file = Path(__file__).with_name("drive") / f"{name}.toml"
    return file if file.is_file() else None


def make(name: str, **parameters: Any) -> Scene:
    """Build a named scene with the given parameters."""
    build = find(name).build
    known = inspect.signature(build).parameters
    for key, value in parameters.items():
        if key not in known:
            raise ModelError(f"scene {name!r}: {unknown('parameter', key, known)}")
        default = known[key].default
        if isinstance(default, tuple):
            parameters[key] = tuple(vector(f"scene {name!r}", key, plain(value), len(default)).tolist())
        elif isinstance(default, float):
            parameters[key] = number(f"scene {name!r}", key, value)
        elif key == "seed":
            parameters[key] = check_index(f"scene {name!r}", key, value, SEEDS, "the seeds")
    return build(**parameters)
