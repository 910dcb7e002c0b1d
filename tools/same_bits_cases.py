"""What same_bits.py compares: scenes, and how they are solved. Uses the public interface of `sharnir` only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

STEPS = 200
PILES = {"pile8": ("pile", 8), "pile64": ("pile", 64), "pile500": ("pile", 500), "mixed100": ("mixed", 100)}
BUMPY = "bumpy"  # a height field, a mesh and hulls, which no named scene has
SOLVERS = ("simgc", "simmc")
SETTINGS: dict[str, dict[str, Any]] = {
    "direct/passes3": {"bilateral": "direct", "passes": 3},
    "direct/passes0": {"bilateral": "direct", "passes": 0},
    "sweep/passes3": {"bilateral": "sweep", "passes": 3},
    "sweep/passes0": {"bilateral": "sweep", "passes": 0},
    "paper": {"method": "paper"},  # knows neither
}
WORLDS = {"four_bar": 3, "grasp": 2, "humanoid": 2, "pile8": 2}  # cases of several worlds, that share scratch
QUICK = {  # one or more for each path: scene, solvers, settings
    "peaucellier": (SOLVERS, SETTINGS),  # loops, a motor, a spring
    "five_link_chain": (SOLVERS, ("direct/passes3", "paper")),  # limits
    "double_wishbone": (("simgc",), ("direct/passes3",)),
    "trailer": (("simgc",), ("direct/passes3",)),
    "gripper": (SOLVERS, ("direct/passes3", "sweep/passes3")),  # a coupling, a bounded motor
    "grasp": (SOLVERS, ("direct/passes3", "sweep/passes3", "paper")),  # the same with contacts
    "manipulator_grasp": (("simgc",), ("direct/passes3",)),  # DC motors
    "trailer_robot": (("simgc",), ("direct/passes3", "direct/passes0")),  # belts
    "humanoid": (SOLVERS, ("direct/passes3", "paper")),  # contacts that the step's kernel finds
    "humanoid_stone": (("simgc",), ("direct/passes3",)),
    "box_on_slope": (("simgc",), ("direct/passes3",)),  # few rows
    "pile8": (("simgc",), ("direct/passes3", "sweep/passes0", "paper")),
    "pile64": (("simgc",), ("direct/passes3",)),  # islands
    "pile500": (("simgc",), ("direct/passes3",)),  # many contacts, slabs
    "balls": (("simgc",), ("direct/passes3",)),
    "mixed": (("simgc",), ("direct/passes3",)),
    BUMPY: (("simgc",), ("direct/passes3",)),
}


class Case(NamedTuple):
    """A scene, solved in one way. quick: part of the short comparison."""

    name: str
    scene: str
    solver: str
    settings: dict[str, Any]
    steps: int
    worlds: int
    quick: bool


def all_cases() -> Iterator[Case]:
    """Quick ones first."""
    cases = list(_cases())
    yield from sorted(cases, key=lambda case: not case.quick)


def _cases() -> Iterator[Case]:
    from sharnir import scenes

    for scene in (*scenes.names(), *PILES, BUMPY):
        for solver in SOLVERS:
            for settings in SETTINGS:
                yield _case(scene, solver, settings)
        if scene in WORLDS:
            yield _case(scene, "simgc", "direct/passes3", WORLDS[scene])


def _case(scene: str, solver: str, settings: str, worlds: int = 1) -> Case:
    name = f"{scene}/{solver}/{settings}" + (f"/worlds{worlds}" if worlds > 1 else "")
    solvers, ways = QUICK.get(scene, ((), ()))
    quick = solver in solvers and settings in ways
    return Case(name, scene, solver, SETTINGS[settings], STEPS, worlds, quick)


@lru_cache(maxsize=4)
def model_of(scene: str) -> tuple[Any, float]:
    """A compiled scene and its step, s."""
    import sharnir
    from sharnir import scenes

    if scene == BUMPY:
        return sharnir.compile(_bumpy()), 5e-3
    name, size = PILES.get(scene, (scene, None))
    built = scenes.make(name) if size is None else scenes.make(name, n=size)
    return sharnir.compile(built), scenes.find(name).dt


def _bumpy() -> Any:
    """Shapes of all kinds fall on waves and on a wedge of triangles."""
    import sharnir as sh

    rng = np.random.default_rng(3)
    x = np.linspace(0.0, 6.0, 25)
    scene = sh.Scene(name=BUMPY)
    scene.add(sh.HeightField(heights=0.05 * np.sin(x)[:, None] * np.cos(1.3 * x)[None, :], size=(3.0, 3.0)))
    corners = np.array([[-0.3, -0.6, 0.0], [0.3, -0.6, 0.0], [0.3, 0.6, 0.0], [-0.3, 0.6, 0.0], [0.0, 0.0, 0.25]])
    faces = np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])
    scene.add(sh.Mesh(vertices=corners, faces=faces, position=(0.0, 0.0, -0.02)))
    points = rng.normal(size=(12, 3))
    points *= 0.08 / np.linalg.norm(points, axis=1)[:, None]
    shapes = (
        sh.Box(size=(0.12, 0.1, 0.08)), sh.Sphere(radius=0.06), sh.Capsule(radius=0.04, length=0.1),
        sh.Cylinder(radius=0.05, length=0.1), sh.ConvexHull(points=points),
    )  # fmt: skip
    for k in range(10):
        turn = rng.normal(size=4)
        place = (0.25 * (k % 5) - 0.5, 0.3 * (k // 5) - 0.15, 0.4 + 0.02 * k)
        body = sh.Body(name=f"b{k}", shapes=[shapes[k % 5]], position=place, orientation=turn / np.linalg.norm(turn))
        scene.add(body)
        scene.add(sh.Free(name=f"free{k}", parent="world", child=body.name))
    return scene
