"""What vehicles run on: wheels and tracks, added to a scene as bodies, joints and belts.

Vehicles are described where they stand in the reference configuration: x forward, y left, z up, axles along y. Drives
are added like any other: a DCMotor on the joint of the wheel or of the sprocket.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sharnir.checks import number, vector
from sharnir.errors import fail, shown
from sharnir.spec.belts import Belt
from sharnir.spec.elements import Body, Box, ConvexHull, Cylinder, Element, Material, Shape, Vector, Visual
from sharnir.spec.joints import Prismatic, Revolute
from sharnir.spec.scene import Scene

AXLE = (0.0, 1.0, 0.0)
UP = (0.0, 0.0, 1.0)
ALONG_AXLE = (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))  # a cylinder's z along y
RUBBER, STEEL, MARK = (0.12, 0.12, 0.13, 1.0), (0.5, 0.52, 0.55, 1.0), (0.9, 0.75, 0.1, 1.0)  # colours
INSIDE = 1e-3  # m, by which the run of a rigid track lies behind its ends, so that the ends bear


@dataclass(kw_only=True)
class Suspension(Element):
    """A spring strut along z. stiffness: N/m. damping: N s/m. travel: m, up and down from where it is in the reference
    configuration, where it bears `load`, N. mass: kg, that moves with it besides the wheel."""

    stiffness: float
    damping: float
    travel: float
    load: float
    mass: float = 0.5


@dataclass(kw_only=True)
class Wheel(Element):
    """A wheel: a cylinder about an axle along y. position: m, of its middle. radius, width: m. mass: kg.

    It becomes the body `name` on the hinge `name`, about +y, so that it rolls forward with a positive rate; with a
    suspension that hinge is on the body `name_strut`, which slides up and down on the parent by the joint `name_strut`.
    """

    name: str
    parent: str
    position: Vector
    radius: float
    width: float
    mass: float
    suspension: Suspension | None = None
    material: Material = field(default_factory=Material)


@dataclass(kw_only=True)
class Track(Element):
    """A track: a belt round a frame, two ends of some radius and, between them, road wheels on springs.

    It becomes the body `name`, its frame, which the caller joins to the vehicle: fixed, or by a hinge along y where it
    is a flipper. A belt, the hinge of its sprocket and the sprocket's body, at the rear end, all have the name
    `name_sprocket`; the hinge is about +y, so that a positive rate drives forward. Road wheel k, from the rear, is the
    body `name_wheel<k>`, on a joint of that name.

    position: m, between the axles of its ends, in the reference configuration. length: m, from axle to axle. radius: m,
    of the ends and of the road wheels, outside the belt. width: m. mass: kg, of the frame with the belt. sprocket_mass:
    kg. wheels: how many road wheels, 0 for a rigid track. spacing: m, from one to the next. drop: m, by which they hang
    lower than the ends. suspension: of each.
    belt: name of another track's belt, in the place of a sprocket of its own: of a flipper driven with a track.
    """

    name: str
    position: Vector
    length: float
    radius: float
    width: float
    mass: float
    sprocket_mass: float = 1.0
    wheels: int = 0
    spacing: float = 0.0
    drop: float = 0.0
    suspension: Suspension | None = None
    belt: str | None = None
    material: Material = field(default_factory=Material)


def add_wheel(scene: Scene, wheel: Wheel) -> None:
    """Add a wheel's bodies and joints to a scene."""
    element = f"wheel {wheel.name!r}"
    centre = vector(element, "position", wheel.position, 3)
    parent = wheel.parent
    if wheel.suspension is not None:
        strut = f"{wheel.name}_strut"
        side = number(element, "radius", wheel.radius, above=0) / 2
        _add_strut(scene, element, strut, parent, centre, wheel.suspension, Box(size=(side,) * 3, mask=0, group=0))
        parent = strut
    tyre = Cylinder(radius=wheel.radius, length=wheel.width, orientation=ALONG_AXLE, material=wheel.material)
    scene.add(Body(name=wheel.name, mass=wheel.mass, shapes=(tyre,), position=centre))
    scene.add(Revolute(name=wheel.name, parent=parent, child=wheel.name, anchor=centre, axis=AXLE))


def add_track(scene: Scene, track: Track) -> None:
    """Add a track's bodies, joints and belt to a scene."""
    element = f"track {track.name!r}"
    centre = vector(element, "position", track.position, 3)
    _check_track(element, track)
    belt = track.belt or f"{track.name}_sprocket"
    middle = _run(track, belt)
    ends = [_roller(track, belt, (side * track.length / 2, 0.0, 0.0)) for side in (-1, 1)]
    shapes = (*ends, middle)
    seen = [Visual(shape=shape, color=RUBBER) for shape in shapes]
    scene.add(Body(name=track.name, mass=track.mass, shapes=shapes, visuals=seen, position=centre))
    if track.belt is None:
        rear = centre - np.array([track.length / 2, 0.0, 0.0])
        drum = Cylinder(radius=0.8 * track.radius, length=1.02 * track.width, orientation=ALONG_AXLE, group=0, mask=0)
        spoke = Box(size=(1.4 * track.radius, 1.04 * track.width, 0.2 * track.radius), group=0, mask=0)
        seen = [Visual(shape=drum, color=STEEL), Visual(shape=spoke, color=MARK)]
        scene.add(Body(name=belt, mass=track.sprocket_mass, shapes=(drum,), visuals=seen, position=rear))
        scene.add(Revolute(name=belt, parent=track.name, child=belt, anchor=rear, axis=AXLE))
        scene.add(Belt(name=belt, joint=belt, radius=track.radius))
    for k in range(track.wheels):
        assert track.suspension is not None
        along = (k - (track.wheels - 1) / 2) * track.spacing
        at = centre + np.array([along, 0.0, -track.drop])
        name, tyre = f"{track.name}_wheel{k}", _roller(track, belt, (0.0,) * 3)
        _add_strut(scene, element, name, track.name, at, track.suspension, tyre)
        hub = Cylinder(radius=0.7 * track.radius, length=1.02 * track.width, orientation=ALONG_AXLE)
        scene.bodies[-1].visuals = (Visual(shape=tyre, color=RUBBER), Visual(shape=hub, color=STEEL))


def _roller(track: Track, belt: str, position: Vector) -> Cylinder:
    """What a belt bends round, or rolls on: outside the belt."""
    return Cylinder(
        radius=track.radius, length=track.width, position=position, orientation=ALONG_AXLE, material=track.material,
        belt=belt,
    )  # fmt: skip


def _run(track: Track, belt: str) -> ConvexHull:
    """The belt between its ends: flush with road wheels that are pushed in all the way, a little inside of the ends."""
    end, inside = track.length / 2, track.radius - INSIDE
    corners = [(end, inside), (end, -inside)]
    if track.suspension is not None:
        corners.append(((track.wheels - 1) / 2 * track.spacing, track.suspension.travel - track.radius - track.drop))
    points = [(s * x, t * track.width / 2, z) for x, z in corners for s in (-1, 1) for t in (-1, 1)]
    return ConvexHull(points=points, material=track.material, belt=belt)


def _check_track(element: str, track: Track) -> None:
    if isinstance(track.wheels, bool) or not isinstance(track.wheels, int) or track.wheels < 0 or track.wheels == 1:
        raise fail(element, "wheels is out of range", shown(track.wheels), "0, or a whole number ≥ 2")
    for name in ("length", "radius", "width", "mass", "sprocket_mass"):
        number(element, name, getattr(track, name), above=0)
    number(element, "drop", track.drop, least=0)
    if (track.wheels > 0) != (track.suspension is not None):
        given = f"{track.wheels} wheels {'without' if track.suspension is None else 'and'} a suspension"
        raise fail(element, "wheels and suspension do not fit", given, "road wheels with a suspension, or neither")
    if track.wheels:
        number(element, "spacing", track.spacing, above=0, most=track.length / (track.wheels - 1))


def _add_strut(
    scene: Scene, element: str, name: str, parent: str, position: np.ndarray, suspension: Suspension, shape: Shape
) -> None:
    """A body that slides up and down on its parent, on a spring."""
    travel = number(element, "suspension travel", suspension.travel, above=0)
    stiffness = number(element, "suspension stiffness", suspension.stiffness, above=0)
    rest = -number(element, "suspension load", suspension.load, least=0) / stiffness
    scene.add(Body(name=name, mass=suspension.mass, shapes=(shape,), position=position))
    scene.add(
        Prismatic(
            name=name, parent=parent, child=name, anchor=position, axis=UP, stiffness=stiffness, rest=rest,
            damping=suspension.damping, limits=(-travel, travel),
        )
    )  # fmt: skip
