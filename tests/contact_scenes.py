"""Scenes that tests of contact share: things on a plane, and what is measured on them."""

from __future__ import annotations

import json
from math import cos, sin
from pathlib import Path

import numpy as np

import sharnir as sh
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey, PrevContact
from sharnir.kernels.types import VEC3
from sharnir.scenes.parts import about, turned

G = 9.81  # m/s²
REFERENCES = Path(__file__).parent / "data" / "contact_references.json"
ALONG_Y = about((1.0, 0.0, 0.0), -np.pi / 2)  # turns z to y
HALF_HOOP = 0.05  # m, half the width of rollers
ROLLERS = {"sphere": 0.4, "cyl": 0.5, "hoop": 1.0}  # k = I/(m r²)


def references() -> dict:
    """Published and closed-form values."""
    values: dict = json.loads(REFERENCES.read_text(encoding="utf-8"))
    return values


def stuff(friction: float = 0.5, **kw) -> sh.Material:
    return sh.Material(friction=friction, **kw)


def ground(material: sh.Material, angle: float = 0.0, gravity: float = G, **kw) -> sh.Scene:
    """A plane through the origin that falls towards +x by an angle, rad."""
    scene = sh.Scene(name="ground", gravity=(0.0, 0.0, -gravity))
    scene.add(sh.HalfSpace(orientation=about((0.0, 1.0, 0.0), angle), material=material, **kw))
    return scene


def put(scene, name, shape, position, velocity=(0.0,) * 3, spin=(0.0,) * 3, orientation=(0.0, 0.0, 0.0, 1.0), **kw):
    """A free body of one shape. velocity: m/s, world axes. spin: rad/s, body axes."""
    scene.add(sh.Body(name=name, shapes=[shape], position=position, orientation=orientation, **kw))
    scene.add(sh.Free(name=f"free {name}", parent="world", child=name, velocity=(*velocity, *spin)))
    return scene


def box_on(
    material, angle=0.0, v0=0.0, size=(0.2, 0.2, 0.2), mass=1.0, heading=0.0, gap=0.0, ground_material=None, **kw
):
    """A box of 1 kg that lies on the plane, with a velocity down the slope turned by `heading` about the normal."""
    tilt = about((0.0, 1.0, 0.0), angle)
    scene = ground(ground_material or material, angle, **kw)
    place = turned(tilt, (0.0, 0.0, size[2] / 2 + gap))
    velocity = turned(tilt, (v0 * cos(heading), v0 * sin(heading), 0.0))
    return put(scene, "box", sh.Box(size=size, material=material), place, velocity, orientation=tilt, mass=1.0)


def roller_on(kind, material, angle=0.0, v0=0.0, w0=0.0, r=0.1, m=2.0):
    """A sphere, a cylinder or a hoop (a cylinder with its inertia) that lies on the plane, its axis along y."""
    tilt = about((0.0, 1.0, 0.0), angle)
    scene = ground(material, angle)
    k = ROLLERS[kind]
    across = k * m * r * r if kind == "sphere" else 0.5 * k * m * r * r + m * HALF_HOOP**2 / 3
    if kind == "sphere":
        shape = sh.Sphere(radius=r, material=material)
    else:
        shape = sh.Cylinder(radius=r, length=2 * HALF_HOOP, orientation=ALONG_Y, material=material)
    inertia = (across, k * m * r * r, across)
    velocity = turned(tilt, (v0, 0.0, 0.0))
    place = turned(tilt, (0.0, 0.0, r))
    return put(scene, "roller", shape, place, velocity, (0.0, w0, 0.0), tilt, mass=m, inertia=inertia)


def down(angle: float) -> np.ndarray:
    """Unit vector down a slope towards +x."""
    return np.array([cos(angle), 0.0, -sin(angle)])


def watch(sim, name: str, steps: int) -> dict[str, np.ndarray]:
    """Position, velocity, angular velocity of a body at the start and after each of some steps; times."""
    body = sim.body(name)
    rows = [(sim.time, body.position.copy(), body.velocity.copy(), body.angular_velocity.copy())]
    for _ in range(steps):
        sim.step()
        rows.append((sim.time, body.position.copy(), body.velocity.copy(), body.angular_velocity.copy()))
    return {key: np.array([row[i] for row in rows]) for i, key in enumerate(("t", "x", "v", "w"))}


class Contacts:
    """Contacts of the last step of one world."""

    def __init__(self, sim, world: int = 0) -> None:
        state = sim.impulses.state
        keys = state.prev_contact_keys.numpy()[:, world]
        n = int(keys[ContactKey.COUNT])
        p = state.prev_contact_impulse.numpy()[:, world].reshape(-1, CONTACT_IMPULSES)[:n]
        at = state.prev_contact_geometry.numpy()[:, world].reshape(-1, PrevContact.SIZE)[:n]
        self.count, self.force, self.torque = n, p[:, :3].copy(), p[:, 3:].copy()  # N s, N m s
        arm = sim.impulses._context.work.contact_arm.numpy()[:, world].reshape(-1, VEC3)
        self.arm = arm[:n].copy()  # m, from the point to where friction acts
        self.point = at[:, PrevContact.POINT : PrevContact.NORMAL].copy()
        self.normal, self.gap = at[:, PrevContact.NORMAL : PrevContact.GAP].copy(), at[:, PrevContact.GAP].copy()
        self.normal_impulse = np.einsum("ij,ij->i", self.force, self.normal)
        self.tangential = self.force - self.normal_impulse[:, None] * self.normal
        geo = sim.impulses.layout.contact_model.geo
        pairs = keys[ContactKey.PAIR :: CONTACT_KEY_SIZE][:n]
        grounded = np.array([geo.link.numpy()[pair % geo.count] < 0 for pair in pairs], dtype=bool)
        self.lifting = np.where(grounded, -1.0, 1.0)[:, None] * self.force  # on the body, where the other is the world


def pile(n: int = 8, gravity: float = G, seed: int = 4, **material) -> sh.Scene:
    """Boxes, balls, capsules, cylinders and hulls that fall on a rough plane, tumbling."""
    rng = np.random.default_rng(seed)
    stuffed = stuff(**({"friction": 0.5, "rolling": 1e-3, "spinning": 2e-3} | material))
    scene = ground(stuffed, gravity=gravity)
    for i in range(n):
        hull = rng.normal(size=(12, 3))
        shape = (
            lambda: sh.Box(size=rng.uniform(0.08, 0.2, 3), material=stuffed),
            lambda: sh.Sphere(radius=rng.uniform(0.05, 0.1), material=stuffed),
            lambda: sh.Capsule(radius=rng.uniform(0.03, 0.06), length=0.15, material=stuffed),
            lambda: sh.Cylinder(radius=rng.uniform(0.05, 0.08), length=0.12, material=stuffed),
            lambda: sh.ConvexHull(points=0.09 * hull / np.linalg.norm(hull, axis=1)[:, None], material=stuffed),  # noqa: B023
        )[i % 5]()
        turn = rng.normal(size=4)
        place = (0.16 * (i % 2) + 0.02 * rng.normal(), 0.02 * rng.normal(), 0.25 + 0.3 * i)
        velocity = (*(0.3 * rng.normal(size=2)), 0.0)
        put(scene, f"b{i}", shape, place, velocity, 3 * rng.normal(size=3), turn / np.linalg.norm(turn))
    return scene


def stack(n: int, friction: float = 0.5, size=(0.2, 0.2, 0.2), off: float = 0.0) -> sh.Scene:
    """Boxes on each other, every second one moved by `off`, m."""
    scene = ground(stuff(friction))
    for i in range(n):
        box = sh.Box(size=size, material=stuff(friction))
        put(scene, f"b{i}", box, (off * (i % 2), 0.0, size[2] * (i + 0.5)), mass=1.0)
    return scene


def stored_energy(sim) -> float:
    """Kinetic energy of free bodies from the momenta a state keeps, and potential energy, J: momenta are those of the
    middle of the last step."""
    m, total = sim.inner, 0.0
    P = sim.impulses.state.P.numpy()[:, 0].reshape(-1, 6)
    for i, name in enumerate(m.body_names):
        R = sim.body(name).rotation
        spin = np.linalg.solve(R @ m.inertia[i] @ R.T, P[i, 3:])
        total += P[i, :3] @ P[i, :3] / m.mass[i] / 2 + P[i, 3:] @ spin / 2
        total -= m.mass[i] * np.array(m.gravity) @ sim.body(name).position
    return float(total)
