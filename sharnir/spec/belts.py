"""Belts: tracks and conveyors. Plain data, SI units; judged by `sharnir.compile`."""

from __future__ import annotations

from dataclasses import dataclass

from sharnir.spec.elements import Element


@dataclass(kw_only=True)
class Belt(Element):
    """A belt that a sprocket pulls round the shapes whose `belt` is its name: the track of a vehicle, or a conveyor.

    It does not stretch and does not slip on its sprocket. At a point of contact with outward normal n the surface of
    such a shape moves over the shape with radius · ω along axis × n, where ω is how fast the sprocket turns about its
    axis against the body that carries the shape; what rubs on the surface turns the sprocket with as much force.

    joint: name of the hinge whose child is the sprocket. radius: m, from its axis to the surface of the belt. What the
    belt weighs belongs to the bodies that carry it; as it runs, to the sprocket, as an armature m radius² of its joint.
    Bodies that carry it do not touch each other or the sprocket.
    """

    name: str
    joint: str
    radius: float
