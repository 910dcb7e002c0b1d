"""Scenes in which impulses could create energy or move bodies too far: impacts, loads on light chains, overlaps, fast
spin, folds. Their figures are those of the problems they were first seen in."""

from __future__ import annotations

import math

import numpy as np

from sharnir.rotations import Array, frame_matrix, matrix_to_quat
from sharnir.scenes.parts import about
from sharnir.spec.actuators import Motor
from sharnir.spec.elements import Body, Box, Capsule, ConvexHull, Cylinder, HalfSpace, Material, Sphere
from sharnir.spec.joints import Free, Prismatic, Revolute, Spherical
from sharnir.spec.scene import WORLD, Scene

WEIGHTLESS = (0.0, 0.0, 0.0)
ACROSS = (0.0, 1.0, 0.0)  # axis of hinges in the x–z plane
BALL = 0.1  # m, radius of balls in columns
HANGING = (0.0, 0.0, -1.0)
RING_SEGMENTS = 24
LIGHT = 1e-2  # axial moment of thin links over the others


def _free(scene: Scene, body: Body, velocity: tuple[float, ...] = (0.0,) * 6) -> None:
    """Add a body that flies. velocity: linear, angular (body axes)."""
    scene.add(body)
    scene.add(Free(name=f"{body.name}_free", parent=WORLD, child=body.name, velocity=velocity))


def ball_column(
    gaps: list[float],
    speeds: list[float],
    *,
    restitution: float = 1.0,
    friction: float = 0.0,
    masses: list[float] | None = None,
    weight: bool = True,
) -> Scene:
    """Balls above each other over the ground. gaps: m, below each ball. speeds: m/s upward."""
    scene = Scene(name="ball_column", gravity=(0.0, 0.0, -9.81) if weight else WEIGHTLESS)
    bouncing = Material(friction=friction, restitution=restitution)
    scene.add(HalfSpace(material=bouncing))
    height = 0.0
    for k, (gap, speed) in enumerate(zip(gaps, speeds, strict=True)):
        height += gap + BALL
        shape = Sphere(radius=BALL, material=bouncing)
        mass = 10.0 if masses is None else masses[k]
        inertia = (0.4 * mass * BALL**2,) * 3
        body = Body(name=f"ball{k}", mass=mass, inertia=inertia, shapes=(shape,), position=(0.0, 0.0, height))
        _free(scene, body, (0.0, 0.0, speed, 0.0, 0.0, 0.0))
        height += BALL
    return scene


def three_balls(gap: float) -> Scene:
    """Three balls whose impacts all fall into one step of 10 ms."""
    return ball_column([0.005, gap, 0.005], [-4.5, 4.3, -4.6], weight=False)


def column_drop(k: int) -> Scene:
    """One of 42 columns of two to eight balls that fall on the ground with e = 1."""
    n, kind = 2 + k % 7, k // 7
    rng = np.random.default_rng(k)
    gap = (0.0, 1e-4, 1e-3, 1e-2, 5e-2)[kind] if kind < 5 else None
    gaps = [gap if gap is not None else float(rng.uniform(0.0, 0.03)) for _ in range(n)]
    gaps[0] = 0.2 + 0.05 * kind
    masses = [10.0] * n if kind % 2 == 0 else rng.uniform(1.0, 10.0, n).tolist()
    return ball_column(gaps, [0.0] * n, masses=masses)


def cradle(pulled: int, n: int = 5, gap: float = 0.0, angle: float = 0.5) -> Scene:
    """Newton's cradle of n balls on 1 m; the first `pulled` of them let go at an angle (rad)."""
    radius, length = 0.05, 1.0
    scene = Scene(name="cradle")
    hard = Material(friction=0.0, restitution=1.0)
    for k in range(n):
        x = k * (2 * radius + gap)
        inertia = (0.4 * radius**2,) * 3
        ball = Sphere(radius=radius, material=hard)
        scene.add(Body(name=f"ball{k}", mass=1.0, inertia=inertia, shapes=(ball,), position=(x, 0.0, -length)))
        position = angle if k < pulled else 0.0
        hinge = Revolute(
            name=f"hinge{k}", parent=WORLD, child=f"ball{k}", anchor=(x, 0.0, 0.0), axis=ACROSS, position=position
        )
        scene.add(hinge)
    return scene


def rod_body(name: str, start: Array, end: Array, mass: float) -> Body:
    """A thin rod between two points, its frame in the middle, z along it; it touches nothing."""
    way = end - start
    length = float(np.linalg.norm(way))
    across = mass * length**2 / 12
    shape = Capsule(radius=0.04 * length, length=0.92 * length, mask=0)
    orientation = matrix_to_quat(frame_matrix(way, None))
    inertia = (across, across, LIGHT * across)
    return Body(
        name=name, mass=mass, inertia=inertia, shapes=(shape,), position=(start + end) / 2, orientation=orientation
    )


def _direction(angle: float) -> Array:
    """Of a link in the x–z plane; 0 hangs."""
    return np.array([math.sin(angle), 0.0, -math.cos(angle)])


def loaded_chain(
    n: int, mass: float, length: float, load: float, *, angles: list[float] | None = None, hinges: bool = False
) -> Scene:
    """A load on n rods. mass: kg of a rod; length: m of a rod; angles: of each rod from hanging, rad."""
    scene = Scene(name="loaded_chain")
    at = np.zeros(3)
    turns = [0.05] * n if angles is None else angles
    for k in range(n):
        end = at + length * _direction(turns[k])
        scene.add(rod_body(f"link{k}", at, end, mass))
        parent = f"link{k - 1}" if k else WORLD
        _hang(scene, f"joint{k}", parent, f"link{k}", at, hinges)
        at = end
    scene.add(load_body("load", at, load))
    _hang(scene, "hook", f"link{n - 1}", "load", at, hinges)
    return scene


def load_body(name: str, at: Array, mass: float) -> Body:
    """A ball of a load that touches nothing."""
    radius = 0.05
    inertia = (0.4 * mass * radius**2,) * 3
    return Body(name=name, mass=mass, inertia=inertia, shapes=(Sphere(radius=radius, mask=0),), position=at)


def _hang(scene: Scene, name: str, parent: str, child: str, at: Array, hinge: bool) -> None:
    if hinge:
        scene.add(Revolute(name=name, parent=parent, child=child, anchor=at, axis=ACROSS))
    else:
        scene.add(Spherical(name=name, parent=parent, child=child, anchor=at))


def held_string(n: int, mass: float, tension: float, load: float, tilt: float) -> Scene:
    """A string of n rods of 5 cm between two points with a load in its middle, sagging so much that the load's weight
    makes about this tension (N); turned by `tilt` rad about the line between the points, from where it swings."""
    scene = Scene(name="held_string")
    length = 0.05
    sag = math.asin(min(0.5, load * 9.81 / (2 * tension)))
    at, half = np.zeros(3), n // 2
    for k in range(n):
        slope = math.sin(sag) * (-1.0 if k < half else 1.0)
        end = at + length * np.array([math.cos(sag), -slope * math.sin(tilt), slope * math.cos(tilt)])
        scene.add(rod_body(f"link{k}", at, end, mass))
        scene.add(Spherical(name=f"joint{k}", parent=f"link{k - 1}" if k else WORLD, child=f"link{k}", anchor=at))
        if k == half - 1:
            scene.add(load_body("load", end, load))
            scene.add(Spherical(name="hook", parent=f"link{k}", child="load", anchor=end))
        at = end
    scene.add(Spherical(name="far", parent=f"link{n - 1}", child=WORLD, anchor=at))
    return scene


def net(side: int, mass: float, load: float) -> Scene:
    """A net of side × side meshes of rods of 10 cm, held along one edge, a load in a free corner."""
    scene = Scene(name="net")
    pitch = 0.1
    knot = {(i, j): pitch * np.array([float(i), 0.3 * j, -0.9539 * j]) for i in range(side) for j in range(side)}
    rods: dict[tuple[int, int], str] = {}
    for (i, j), here in knot.items():
        for step in ((0, 1), (1, 0)):
            there = (i + step[0], j + step[1])
            if there not in knot or (step == (1, 0) and j == 0):
                continue
            name = f"rod{i}_{j}_{step[0]}"
            scene.add(rod_body(name, here, knot[there], mass))
            for end in ((i, j), there):
                parent = WORLD if end[1] == 0 else rods.get(end)
                if parent is not None:
                    joint = f"{name}_at{end[0]}_{end[1]}"
                    scene.add(Spherical(name=joint, parent=parent, child=name, anchor=knot[end]))
                rods.setdefault(end, name)
    corner = (side - 1, side - 1)
    scene.add(load_body("load", knot[corner], load))
    scene.add(Spherical(name="hook", parent=rods[corner], child="load", anchor=knot[corner]))
    return scene


def overlapping_slide(tilt: float) -> Scene:
    """A box on a slide of ±4 cm, 10 mm inside another whose face is tilted against the slide."""
    scene = Scene(name="overlapping_slide", gravity=WEIGHTLESS)
    scene.add(Box(size=(1.0, 0.2, 0.1), position=(0.0, 0.0, -0.05), orientation=about(ACROSS, tilt)))
    scene.add(Body(name="box", shapes=(Box(size=(0.1, 0.1, 0.1)),), position=(0.0, 0.0, 0.04)))
    slide = Prismatic(
        name="slide", parent=WORLD, child="box", anchor=(0.0, 0.0, 0.04), axis=(1.0, 0.0, 0.0), limits=(-0.04, 0.04)
    )
    scene.add(slide)
    return scene


def spinning_ball(rate: float) -> Scene:
    """A ball on the floor that turns about a horizontal axis at `rate` rad/s."""
    scene = Scene(name="spinning_ball")
    scene.add(HalfSpace())
    ball = Body(name="ball", shapes=(Sphere(radius=BALL),), position=(0.0, 0.0, BALL))
    _free(scene, ball, (0.0, 0.0, 0.0, 0.0, rate, 0.0))
    return scene


def free_spin(rate: float) -> Scene:
    """A free body with moments 1 : 2 : 2.5 that turns at `rate` rad/s about none of its axes."""
    scene = Scene(name="free_spin", gravity=WEIGHTLESS)
    body = Body(name="body", mass=1.0, inertia=(0.01, 0.02, 0.025), shapes=(Box(size=(0.5, 0.3, 0.1)),))
    axis = np.array([0.48, 0.6, 0.64])
    _free(scene, body, (0.0, 0.0, 0.0, *(rate * axis).tolist()))
    return scene


def sliding_rod(friction: float, speed: float = -3.0) -> Scene:
    """A rod that slides on its lower end towards the side it leans away from, with much friction: from µ = 1.4 on, at
    this lean, friction presses it into the ground (Painlevé's problem)."""
    scene = Scene(name="sliding_rod")
    rough = Material(friction=friction)
    scene.add(HalfSpace(material=rough))
    lean, length, radius = 1.0, 1.0, 0.01
    up = np.array([math.cos(lean), 0.0, math.sin(lean)])
    rod = Capsule(radius=radius, length=length, material=rough)
    place = 0.5 * length * up + np.array([0.0, 0.0, radius])
    body = Body(
        name="rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-4), shapes=(rod,), position=place,
        orientation=matrix_to_quat(frame_matrix(up, None)),
    )  # fmt: skip
    _free(scene, body, (speed, 0.0, 0.0, 0.0, 0.0, 0.0))
    return scene


def motor_at_limit() -> Scene:
    """A motor of any force drives an arm against the limit of its hinge."""
    scene = Scene(name="motor_at_limit")
    scene.add(rod_body("arm", np.zeros(3), np.array([0.5, 0.0, 0.0]), 1.0))
    scene.add(Revolute(name="hinge", parent=WORLD, child="arm", axis=(0.0, -1.0, 0.0), limits=(-0.5, 0.5)))
    scene.add(Motor(name="motor", joint="hinge", velocity=1.0))
    return scene


def spinning_plate(shape: str, rate: float = 10.0, friction: float = 0.4) -> Scene:
    """A disc, ring or square that turns on its face. shape: "disc", "square", "rectangle" or "ring"."""
    scene = Scene(name=f"spinning_{shape}")
    rough = Material(friction=friction)
    scene.add(HalfSpace(material=rough))
    if shape == "disc":
        shapes: tuple[Cylinder | Box | ConvexHull, ...] = (Cylinder(radius=0.1, length=0.02, material=rough),)
    elif shape == "square":
        shapes = (Box(size=(0.2, 0.2, 0.02), material=rough),)
    elif shape == "rectangle":
        shapes = (Box(size=(0.2, 0.1, 0.02), material=rough),)
    else:
        shapes = tuple(_ring_segment(k, rough) for k in range(RING_SEGMENTS))
    _free(scene, Body(name="plate", shapes=shapes, position=(0.0, 0.0, 0.01)), (0.0, 0.0, 0.0, 0.0, 0.0, rate))
    return scene


def _ring_segment(k: int, material: Material) -> ConvexHull:
    """A segment of a ring of radii 0.08 and 0.1 m."""
    turns = 2 * math.pi * np.array([k, k + 1]) / RING_SEGMENTS
    corners = [(r * math.cos(a), r * math.sin(a), z) for r in (0.08, 0.1) for a in turns for z in (-0.01, 0.01)]
    return ConvexHull(points=np.array(corners), material=material)


def euler_disk(tilt: float = 0.3) -> Scene:
    """A disc that rolls round on its rim, the point it touches with at rest: for a thin disc a steady motion, without
    losses for any.

    The steady rate Ω about the vertical of a disc of radius r and tilt α, thin, is Ω² = 4 g/(r sin α).
    """
    radius, thickness = 0.0375, 0.0064
    scene = Scene(name="euler_disk")
    rough = Material(friction=1.0)
    scene.add(HalfSpace(material=rough))
    rate = math.sqrt(4 * 9.81 / (radius * math.sin(tilt)))
    height = radius * math.sin(tilt) + 0.5 * thickness * math.cos(tilt)
    # angular velocity along the diameter through the contact point, down the tilted face: Ω sin α
    spin = rate * math.sin(tilt)
    body = Body(
        name="disc", shapes=(Cylinder(radius=radius, length=thickness, density=7850.0, material=rough),),
        position=(0.0, 0.0, height), orientation=about(ACROSS, tilt),
    )  # fmt: skip
    _free(scene, body, (0.0, 0.5 * spin * thickness, 0.0, -spin, 0.0, 0.0))
    return scene


def large_box(edge: float) -> Scene:
    """A box of this edge (m) at rest on the ground."""
    scene = Scene(name="large_box")
    scene.add(HalfSpace())
    _free(scene, Body(name="box", shapes=(Box(size=(edge,) * 3),), position=(0.0, 0.0, edge / 2)))
    return scene
