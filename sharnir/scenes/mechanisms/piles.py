"""Many bodies that fall onto each other and come to rest: boxes, balls, and a mixture of shapes."""

from __future__ import annotations

import math

import numpy as np

from sharnir.rotations import Array
from sharnir.scenes.parts import about
from sharnir.spec.elements import Body, Box, Capsule, Cylinder, HalfSpace, Shape, Sphere, Vector
from sharnir.spec.joints import Free
from sharnir.spec.scene import WORLD, Scene

EDGE = 0.1  # m, of the boxes of a pile
RADIUS = 0.05  # m, of balls
LAYERS = 4  # of the mixture, at the start
CELL = 0.14  # m, in which each body of the mixture starts: the longest fits in it, however it is turned
WALL = 0.1  # m, thickness of a tray's walls
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def pile(n: int = 64, seed: int = 0) -> Scene:
    """Boxes, 64 by default, fall a little way onto a floor as a block of slightly disordered columns.

    n: how many, as near to a cube as they make. seed: of the disorder.
    """
    rng = np.random.default_rng(seed)
    scene = Scene(name="pile")
    scene.add(HalfSpace())
    side = _side(n)
    for k in range(n):
        place = _cell(k, side, 1.25 * EDGE, side) + np.append(rng.uniform(-0.07, 0.07, 2) * EDGE, 0.0)
        _drop(scene, f"box{k}", Box(size=(EDGE,) * 3), place, about((0.0, 0.0, 1.0), rng.uniform(-0.1, 0.1)))
    return scene


def balls(n: int = 64, seed: int = 0) -> Scene:
    """Balls, 64 by default, fall into a tray.

    n: how many, as near to a cube as they make. seed: of the disorder.
    """
    rng = np.random.default_rng(seed)
    scene = Scene(name="balls")
    side = _side(n)
    pitch = 2.2 * RADIUS
    _tray(scene, side * pitch, side * pitch)
    for k in range(n):
        place = _cell(k, side, pitch, side) + rng.uniform(-0.05, 0.05, 3) * RADIUS
        _drop(scene, f"ball{k}", Sphere(radius=RADIUS), place, UPRIGHT)
    return scene


def mixed(n: int = 50, seed: int = 0) -> Scene:
    """Boxes, balls, capsules and cylinders, 50 by default, fall into a tray as wide as four layers of them need.

    n: how many. seed: of kinds, sizes and turns.
    """
    rng = np.random.default_rng(seed)
    scene = Scene(name="mixed")
    side = max(1, math.ceil(math.sqrt(n / LAYERS)))
    _tray(scene, side * CELL, 2 * LAYERS * CELL)
    for k in range(n):
        turn = rng.normal(size=4)
        _drop(scene, f"body{k}", _any_shape(rng), _cell(k, side, CELL, side), turn / np.linalg.norm(turn))
    return scene


def _side(n: int) -> int:
    """Edge of the smallest cube of cells that holds n."""
    return max(1, math.ceil(round(n ** (1 / 3), 9)))


def _cell(k: int, side: int, pitch: float, across: int) -> Array:
    """Middle of cell k (m): rows of `across` cells, `side` rows a layer, about the z axis, above the ground."""
    x, y, z = k % across, k // across % side, k // (across * side)
    return pitch * np.array([x - (across - 1) / 2, y - (side - 1) / 2, z + 0.5])


def _any_shape(rng: np.random.Generator) -> Shape:
    """One of four kinds, some 1 dm across."""
    a, b, c = rng.uniform(0.7, 1.0, 3)
    kind = rng.integers(4)
    if kind == 0:
        return Box(size=(0.08 * a, 0.08 * b, 0.08 * c))
    if kind == 1:
        return Sphere(radius=0.05 * a)
    if kind == 2:
        return Capsule(radius=0.035 * a, length=0.07 * b)
    return Cylinder(radius=0.04 * a, length=0.1 * b)


def _drop(scene: Scene, name: str, shape: Shape, place: Vector, orientation: Vector) -> None:
    """A free body at rest. place: m."""
    scene.add(Body(name=name, shapes=(shape,), position=place, orientation=orientation))
    scene.add(Free(name=f"{name}_free", parent=WORLD, child=name))


def _tray(scene: Scene, width: float, height: float) -> None:
    """A floor between four walls; width, height: m, of the room inside."""
    scene.add(HalfSpace())
    away, long = width / 2 + WALL / 2, width + 2 * WALL
    for sign in (-1.0, 1.0):
        scene.add(Box(size=(WALL, long, height), position=(sign * away, 0.0, height / 2)))
        scene.add(Box(size=(long, WALL, height), position=(0.0, sign * away, height / 2)))
