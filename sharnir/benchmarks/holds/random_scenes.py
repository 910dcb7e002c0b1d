"""Scenes drawn from a seed: chains, nets, linkages, stacks and piles with mass ratios up to 10⁴, overlapping starts and
coefficients of restitution from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sharnir.benchmarks.holds.scenes import ACROSS, load_body, loaded_chain, net, rod_body
from sharnir.rotations import Array
from sharnir.spec.elements import Body, Box, Capsule, Cylinder, HalfSpace, Material, Shape, Sphere
from sharnir.spec.joints import Free, Revolute
from sharnir.spec.scene import WORLD, Scene

HEAVIEST = 1e4  # mass ratio
DEEPEST = 0.2  # overlap at the start, of the size of a body


def random_scene(seed: int) -> Scene:
    """One of five families, in turns."""
    rng = np.random.default_rng(seed)
    scene = FAMILIES[seed % len(FAMILIES)](rng)
    scene.name = f"{scene.name} {seed}"
    return scene


def _ratio(rng: np.random.Generator) -> float:
    """A mass ratio, 1 to 10⁴, evenly in its logarithm."""
    return float(np.exp(rng.uniform(0.0, math.log(HEAVIEST))))


def _chain(rng: np.random.Generator) -> Scene:
    """A chain straight, kinked at random or folded, with a load."""
    n = int(rng.integers(2, 21))
    kind = rng.integers(3)
    tilt = float(rng.uniform(0.0, 1.2))
    angles = [[tilt] * n, (tilt + rng.normal(size=n) * 0.4).tolist(), [tilt + math.pi * (k % 2) for k in range(n)]][
        kind
    ]
    mass = float(rng.uniform(0.02, 0.5))
    hinges = bool(rng.integers(2))
    return loaded_chain(n, mass, float(rng.uniform(0.03, 0.2)), mass * _ratio(rng), angles=angles, hinges=hinges)


def _net(rng: np.random.Generator) -> Scene:
    """A net with a load in its corner."""
    mass = float(rng.uniform(0.02, 0.2))
    return net(int(rng.integers(2, 5)), mass, mass * _ratio(rng))


def _linkage(rng: np.random.Generator) -> Scene:
    """A row of four-bars of random bars in the x–z plane, one heavy bar, set moving by its weight."""
    scene = Scene(name="linkage")
    n = int(rng.integers(1, 5))
    feet = np.array([[0.3 * k, 0.0, 0.0] for k in range(n + 1)])
    tops = feet + np.stack([0.05 * rng.normal(size=n + 1), np.zeros(n + 1), 0.2 + 0.05 * rng.uniform(size=n + 1)], 1)
    masses = rng.uniform(0.1, 1.0, 2 * n + 1)
    masses[rng.integers(2 * n + 1)] *= _ratio(rng)
    bars: list[tuple[str, Array, Array]] = [(f"upright{k}", feet[k], tops[k]) for k in range(n + 1)]
    bars += [(f"coupler{k}", tops[k], tops[k + 1]) for k in range(n)]
    for (name, start, end), mass in zip(bars, masses.tolist(), strict=True):
        scene.add(rod_body(name, start, end, mass))
    for k in range(n + 1):
        scene.add(Revolute(name=f"foot{k}", parent=WORLD, child=f"upright{k}", anchor=feet[k], axis=ACROSS))
    for k in range(n):
        scene.add(Revolute(name=f"left{k}", parent=f"upright{k}", child=f"coupler{k}", anchor=tops[k], axis=ACROSS))
        right = Revolute(
            name=f"right{k}", parent=f"coupler{k}", child=f"upright{k + 1}", anchor=tops[k + 1], axis=ACROSS
        )
        scene.add(right)
    if rng.integers(2):
        scene.add(load_body("load", tops[n], float(masses.max())))
        scene.add(Revolute(name="hook", parent=f"upright{n}", child="load", anchor=tops[n], axis=ACROSS))
    return scene


def _surface(rng: np.random.Generator) -> Material:
    return Material(friction=float(rng.uniform(0.0, 1.0)), restitution=float(rng.uniform(0.0, 1.0)))


def _some_shape(rng: np.random.Generator, size: float, material: Material) -> Shape:
    kind = rng.integers(4)
    if kind == 0:
        return Box(size=size * rng.uniform(0.7, 1.0, 3), material=material)
    if kind == 1:
        return Sphere(radius=size / 2, material=material)
    if kind == 2:
        return Capsule(radius=0.3 * size, length=0.4 * size, material=material)
    return Cylinder(radius=0.45 * size, length=size, material=material)


def _drop(scene: Scene, body: Body, velocity: Array) -> None:
    scene.add(body)
    scene.add(Free(name=f"{body.name}_free", parent=WORLD, child=body.name, velocity=(*velocity.tolist(), 0, 0, 0)))


def _with_mass(name: str, shape: Shape, mass: float, size: float, place: Array, turn: Array) -> Body:
    inertia = (mass * size**2 / 6,) * 3
    return Body(name=name, mass=mass, inertia=inertia, shapes=(shape,), position=place, orientation=turn)


def _stack(rng: np.random.Generator) -> Scene:
    """Boxes on each other, heavy and light, some inside each other at the start."""
    scene = Scene(name="stack")
    material = _surface(rng)
    scene.add(HalfSpace(material=material))
    size, height = 0.2, 0.0
    overlapping = bool(rng.integers(2))
    for k in range(int(rng.integers(2, 8))):
        gap = size * float(rng.uniform(-DEEPEST, 0.1)) if overlapping else float(rng.uniform(0.0, 0.05))
        height += gap + size / 2
        place = np.array([*(rng.uniform(-0.1, 0.1, 2) * size), height])
        body = _with_mass(f"box{k}", Box(size=(size,) * 3, material=material), _ratio(rng), size, place, UPRIGHT)
        _drop(scene, body, np.zeros(3))
        height += size / 2
    return scene


def _pile(rng: np.random.Generator) -> Scene:
    """Bodies of all shapes thrown on a heap, some inside each other at the start."""
    scene = Scene(name="pile")
    material = _surface(rng)
    scene.add(HalfSpace(material=material))
    size = 0.15
    spread = size * float(rng.uniform(0.5, 1.3))
    for k in range(int(rng.integers(3, 13))):
        place = np.array([spread * (k % 2), spread * (k // 2 % 2), 0.6 * size + spread * (k // 4)])
        turn = rng.normal(size=4)
        shape = _some_shape(rng, size, material)
        body = _with_mass(f"body{k}", shape, _ratio(rng), size, place, turn / np.linalg.norm(turn))
        _drop(scene, body, rng.normal(size=3))
    return scene


UPRIGHT = np.array([0.0, 0.0, 0.0, 1.0])
FAMILIES: tuple[Callable[[np.random.Generator], Scene], ...] = (_chain, _net, _linkage, _stack, _pile)
