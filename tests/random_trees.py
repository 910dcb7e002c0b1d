"""Random scenes and states: every joint type, any topology, order and direction of description."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from sharnir import Body, Frame, Free, Helical, Model, Scene, Universal
from sharnir.spec.joints import JOINT_TYPES, Joint

Array = NDArray[np.float64]
TYPES = tuple(JOINT_TYPES.values())


class State(NamedTuple):
    """Arrays [size] of one world or [size, worlds] of many; f_ext is [nb, 6] or [nb, 6, worlds]."""

    q: Array
    v: Array
    a: Array
    tau: Array
    f_ext: Array


def random_scene(
    rng: Generator,
    bodies: int,
    types: tuple[type[Joint], ...] = TYPES,
    *,
    root_types: tuple[type[Joint], ...] | None = None,
    reverse: float = 0.0,
    armature: bool = False,
) -> Scene:
    """A forest rooted in the world, between a chain and a bush; bodies and joints are described in random order.

    root_types: joint types to the world, if others. reverse: fraction of joints described from the far body to the
    near one. A third of the joints are given in body frames, the others in the world.
    """
    scene = Scene(gravity=5.0 * rng.normal(size=3))
    reach = rng.choice([1, 3, bodies])
    for i in range(bodies):
        at_root = i == 0 or rng.random() < 0.05
        near, far = "world" if at_root else f"b{rng.integers(max(0, i - reach), i)}", f"b{i}"
        choice = root_types if at_root and root_types else types
        kind = choice[rng.integers(len(choice))]
        parent, child = (far, near) if rng.random() < reverse else (near, far)
        in_frames = rng.random() < 1 / 3
        joint = scene.add(kind(name=f"j{i}", parent=parent, child=child, **random_placing(rng, kind, in_frames)))
        if armature:
            joint.armature = tuple(rng.uniform(0.0, 0.3, joint.nv).tolist())
        scene.add(random_body(rng, far, placed=not in_frames or kind is Free))
    return shuffled(rng, scene)


def shuffled(rng: Generator, scene: Scene) -> Scene:
    """The same scene, described in another order."""
    bodies, joints = list(scene.bodies), list(scene.joints)
    rng.shuffle(bodies)
    rng.shuffle(joints)
    return Scene(name=scene.name, gravity=scene.gravity, bodies=bodies, joints=joints, springs=list(scene.springs))


def random_body(rng: Generator, name: str, placed: bool = True) -> Body:
    """Principal moments are sums of two of three positive numbers: those of a real distribution of mass."""
    mass = rng.uniform(0.5, 2.0)
    second = mass * rng.uniform(0.1, 0.5, 3) ** 2
    axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    inertia = axes @ np.diag(second.sum() - second) @ axes.T
    pose = {"position": rng.normal(size=3), "orientation": rng.normal(size=4)} if placed else {}
    return Body(name=name, mass=mass, center_of_mass=0.2 * rng.normal(size=3), inertia=inertia, **pose)


def random_placing(rng: Generator, kind: type[Joint], in_frames: bool) -> dict:
    """What places a joint of some type: in body frames or in the world."""
    extra = {"pitch": rng.normal()} if kind is Helical else {}
    if in_frames:
        return {"parent_frame": random_frame(rng), "child_frame": random_frame(rng), **extra}
    if kind is Free:
        return {}
    axis, other = rng.normal(size=(2, 3))
    across = {"axis2": np.cross(axis, other)} if kind is Universal else {"x_axis": other}
    return {"anchor": rng.normal(size=3), "axis": axis, **across, **extra}


def random_frame(rng: Generator) -> Frame:
    return Frame(anchor=rng.normal(size=3), axis=rng.normal(size=3), x_axis=rng.normal(size=3))


def random_state(rng: Generator, model: Model, worlds: int | None = None) -> State:
    """A valid state: quaternions are unit. No `worlds` means arrays without that axis."""
    tail = () if worlds is None else (worlds,)
    q = rng.normal(size=(model.nq, *tail))
    for k in model.quaternions:
        q[k : k + 4] /= np.linalg.norm(q[k : k + 4], axis=0)
    v, a, tau = rng.normal(size=(3, model.nv, *tail))
    return State(q, v, a, tau, rng.normal(size=(model.nb, 6, *tail)))


def moved(model: Model, q: Array, v: Array, time: float) -> Array:
    """Positions q ([nq] or [nq, worlds]) after some time at constant v, quaternions along great circles."""
    out = q.copy()
    for name, kind in zip(model.joint_names, model.joint_types, strict=True):
        joint = model.joint(name)
        turns = {"spherical": 3, "free": 3}.get(kind, 0)
        shift = joint.v.stop - joint.v.start - turns
        out[joint.q.start : joint.q.start + shift] += v[joint.v.start : joint.v.start + shift] * time
        if turns:
            quaternion = slice(joint.q.stop - 4, joint.q.stop)
            out[quaternion] = turned(q[quaternion], v[joint.v.stop - 3 : joint.v.stop] * time)
    return out


def turned(quaternion: Array, rotation: Array) -> Array:
    """quaternion ∗ exp(rotation vector), which is in the turned frame."""
    angle = np.linalg.norm(rotation, axis=0)
    s = rotation * np.sinc(angle / (2 * np.pi)) / 2  # sin(angle/2) along the axis
    c = np.cos(angle / 2)
    vector, scalar = quaternion[:3], quaternion[3]
    return np.concatenate([
        scalar * s + c * vector + np.cross(vector, s, axis=0),
        (scalar * c - (vector * s).sum(axis=0))[None],
    ])  # fmt: skip


def relative(value: ArrayLike, reference: ArrayLike) -> float:
    """Norm of the difference by the norm of the reference; 0 where both are empty."""
    value, reference = np.asarray(value), np.asarray(reference)
    assert value.shape == reference.shape
    return float(np.linalg.norm(value - reference) / max(np.linalg.norm(reference), np.finfo(float).tiny))
