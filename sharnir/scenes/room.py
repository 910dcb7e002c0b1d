"""A furnished room with a valve on a stand, or a stone on a table: what surrounds the anthropomorphic robot.

The robot stands in the origin and looks along x. Furniture is of boxes fixed to the world.
"""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from sharnir.rotations import frame_matrix, matrix_to_quat
from sharnir.scenes.parts import about, capsule
from sharnir.scenes.skybot.parts import GROUND, THING, TOUCHED, grouped
from sharnir.spec.elements import Body, Box, ConvexHull, Cylinder, HalfSpace, Material, Vector, Visual
from sharnir.spec.joints import Free, Revolute
from sharnir.spec.scene import WORLD, Scene
from sharnir.spec.sensors import Camera

WALL, ASIDE, WIDTH = 1.0, 1.8, 2.6  # m: the wall ahead, the wall on the left, width of the former
EYE, LOOKED_AT = (1.0, -1.9, 1.7), (0.2, 0.0, 0.95)  # m, of the camera in the room
VALVE = (0.44, 0.0, 1.22)  # m, middle of the wheel
WHEEL_RADIUS, RIM_RADIUS = 0.16, 0.014  # m
SEGMENTS, SPOKES = 16, 4
VALVE_LIMITS = (-0.2, 2.0)  # rad; closed at 0, open at a quarter turn
TABLE = (0.62, 0.0, 0.70)  # m, middle of its top
TABLE_SIZE = (0.6, 1.0, 0.04)  # m
STONE = (0.44, 0.0)  # m, where it lies on the table
STONE_SIZE = (0.17, 0.20, 0.15)  # m
STONE_SEED = 7
RED, GREY = (0.75, 0.12, 0.1, 1.0), (0.5, 0.48, 0.46, 1.0)


def add_room(scene: Scene, friction: float) -> None:
    """Floor, two walls, a shelf and a bench. friction: of the floor."""
    scene.add(HalfSpace(material=Material(friction=friction), group=GROUND, mask=TOUCHED[GROUND]))
    _fixed(scene, (0.1, WIDTH, 2.2), (WALL + 0.05, ASIDE - WIDTH / 2, 1.1))
    _fixed(scene, (2.6, 0.1, 2.2), (WALL - 1.3, ASIDE + 0.05, 1.1))
    for height in (0.4, 0.9, 1.4):
        _fixed(scene, (0.9, 0.3, 0.03), (-0.3, ASIDE - 0.15, height))
    for end in (-0.765, 0.165):
        _fixed(scene, (0.03, 0.3, 1.8), (end, ASIDE - 0.15, 0.9))
    _fixed(scene, (1.2, 0.4, 0.05), (-0.6, -1.5, 0.45))
    for end in (-1.1, -0.1):
        _fixed(scene, (0.05, 0.36, 0.425), (end, -1.5, 0.2125))
    scene.add(Camera(name="room", position=EYE, orientation=_looking(EYE, LOOKED_AT), angle=0.8))


def add_valve(scene: Scene, friction: float, grip: float) -> None:
    """A wheel with spokes on a stand, across the robot's way, that turns about x with dry friction.

    friction: N m, of its stem. grip: coefficient of friction of its rim.
    """
    x, y, z = VALVE
    _fixed(scene, (0.12, 0.12, z - 0.1), (x + 0.22, y, (z - 0.1) / 2))
    _fixed(scene, (0.16, 0.16, 0.22), (x + 0.22, y, z))
    _fixed(scene, (WALL - x - 0.3, 0.08, 0.08), ((x + 0.3 + WALL) / 2, y, z))
    paint = Material(friction=grip)
    half = pi / SEGMENTS
    corners = [_on_rim(half + 2 * half * k, WHEEL_RADIUS / cos(half)) for k in range(SEGMENTS)]
    rim = [capsule(a, b, RIM_RADIUS, material=paint) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]
    ends = [_on_rim(2 * pi * k / SPOKES, WHEEL_RADIUS) for k in range(SPOKES)]
    spokes = [capsule((0.0, 0.0, 0.0), end, 0.008, material=paint) for end in ends]
    shapes = grouped([*rim, *spokes], THING)
    rod = Cylinder(radius=0.02, length=0.16, position=(0.06, 0.0, 0.0), orientation=about((0, 1, 0), pi / 2))
    visuals = [Visual(shape=shape, color=RED) for shape in (*shapes, rod)]
    scene.add(Body(name="valve", mass=3.0, shapes=shapes, visuals=visuals, position=VALVE))
    stem = Revolute(name="valve", parent=WORLD, child="valve", anchor=VALVE, axis=(1.0, 0.0, 0.0))
    stem.friction, stem.damping, stem.limits = friction, 0.2, VALVE_LIMITS
    scene.add(stem)


def add_stone(scene: Scene, mass: float, friction: float, off: Vector = (0.0, 0.0, 0.0)) -> None:
    """A table before the robot, and a stone on it. mass: kg. friction: of stone and table. off: by which the stone lies
    off its usual place, m forward, m to the left and rad."""
    x, y, z = TABLE
    rough = Material(friction=friction)
    _fixed(scene, TABLE_SIZE, (x, y, z - TABLE_SIZE[2] / 2), rough)
    for dx in (-1, 1):
        for dy in (-1, 1):
            leg = (x + dx * (TABLE_SIZE[0] / 2 - 0.05), y + dy * (TABLE_SIZE[1] / 2 - 0.05))
            _fixed(scene, (0.05, 0.05, z - TABLE_SIZE[2]), (*leg, (z - TABLE_SIZE[2]) / 2))
    shapes = grouped([ConvexHull(points=_stone_points(), material=rough)], THING)
    visuals = [Visual(shape=shape, color=GREY) for shape in shapes]
    place = (STONE[0] + off[0], STONE[1] + off[1], z + STONE_SIZE[2] / 2)
    turn = about((0.0, 0.0, 1.0), off[2])
    scene.add(Body(name="stone", mass=mass, shapes=shapes, visuals=visuals, position=place, orientation=turn))
    scene.add(Free(name="stone", parent=WORLD, child="stone"))


def _stone_points() -> list[tuple[float, ...]]:
    """A boulder: points on a rounded box with flat sides, the same every time."""
    random = np.random.default_rng(STONE_SEED)
    points = []
    for _ in range(24):
        direction = random.normal(size=3)
        points.append(tuple(np.clip(0.62 * direction / np.linalg.norm(direction), -0.5, 0.5) * STONE_SIZE))
    flats = [(sx * 0.30, sy * 0.5, sz * 0.30) for sx in (-1, 1) for sy in (-1, 1) for sz in (-1, 1)]
    flats += [(sx * 0.32, sy * 0.32, -0.5) for sx in (-1, 1) for sy in (-1, 1)]
    return points + [tuple(np.array(p) * STONE_SIZE) for p in flats]


def _looking(eye: Vector, at: Vector) -> tuple[float, ...]:
    """Quaternion of a camera at a place that looks at another (m), upright."""
    ahead = np.array(at, dtype=float) - np.array(eye, dtype=float)
    up = frame_matrix(ahead, np.array([0.0, 0.0, 1.0]))[:, 0]
    ahead /= np.linalg.norm(ahead)
    return tuple(matrix_to_quat(np.column_stack([ahead, np.cross(up, ahead), up])).tolist())


def _on_rim(angle: float, radius: float) -> tuple[float, float, float]:
    """A point in the wheel's plane (m), at an angle from y to z."""
    return (0.0, radius * cos(angle), radius * sin(angle))


def _fixed(scene: Scene, size: Vector, place: Vector, material: Material | None = None) -> None:
    """A box of the furniture."""
    material = material or Material()
    scene.add(Box(size=size, position=place, material=material, group=GROUND, mask=TOUCHED[GROUND]))
