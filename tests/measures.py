"""What tests of the impulse solvers measure on a simulation, from body poses and velocities alone."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes

SOLVERS = ("simgc", "simmc")
BILATERAL = ("direct", "sweep")
both = pytest.mark.parametrize("solver", SOLVERS)
direct_only = pytest.mark.parametrize(("solver", "bilateral"), [(s, "direct") for s in SOLVERS])
all_four = pytest.mark.parametrize(("solver", "bilateral"), [(s, b) for s in SOLVERS for b in BILATERAL])


def frame(sim, link, rot, pos):
    """A frame given in a link, in the world; link -1 is the world."""
    if link < 0:
        return rot, pos
    m, body = sim.inner, sim.body(sim.inner.body_names[link])
    R = body.rotation @ m.body_rot[link].T
    return R @ rot, body.position + R @ (pos - m.body_pos[link])


class Gaps(NamedTuple):
    apart: float  # m, the most that two frames of a loop joint are apart
    rows: float  # m or rad, the largest component of an error as the solver counts them


def gaps(sim) -> Gaps:
    """Errors of fixed, revolute, universal and spherical joints that close loops; in maximal coordinates of all."""
    m, apart, rows = sim.inner, 0.0, 0.0
    for k, name in enumerate(m.joint_types[m.nb :]):
        (P, xp), (C, xc) = (frame(sim, m.loop_link[k, i], m.loop_rot[k, i], m.loop_pos[k, i]) for i in (0, 1))
        d = P.T @ (xc - xp)
        across = P.T @ C
        held = {"fixed": across[[1, 2, 0], [2, 0, 1]], "revolute": across[:2, 2], "universal": across[2:, 2]}
        apart = max(apart, float(np.linalg.norm(d)))
        rows = max(rows, float(np.abs([*d, *held.get(name, [])]).max()))
    return Gaps(apart, rows)


class Momenta(NamedTuple):
    linear: np.ndarray  # kg m/s
    angular: (
        np.ndarray
    )  # kg m²/s, about the centre of mass: about the origin, rounding of what drifts away would count times the way


def centre(sim, i):
    """Axes of link i and its centre of mass."""
    return frame(sim, i, np.eye(3), sim.inner.com[i])


def stored_momenta(sim) -> Momenta:
    """From the momenta a state keeps."""
    P = sim.impulses.state.P.numpy()[:, 0].reshape(-1, 6)
    arms = np.array([centre(sim, i)[1] for i in range(sim.inner.nb)])
    arms -= np.average(arms, axis=0, weights=sim.inner.mass)
    return Momenta(P[:, :3].sum(axis=0), (np.cross(arms, P[:, :3]) + P[:, 3:]).sum(axis=0))


def moving_momenta(sim) -> Momenta:
    """From velocities, masses and inertias."""
    m, p, L = sim.inner, np.zeros(3), np.zeros(3)
    middle = np.average([centre(sim, i)[1] for i in range(m.nb)], axis=0, weights=m.mass)
    for i, name in enumerate(m.body_names):
        body = sim.body(name)
        R, x = centre(sim, i)
        v = body.velocity + np.cross(body.angular_velocity, x - body.position)
        p += m.mass[i] * v
        L += m.mass[i] * np.cross(x - middle, v) + R @ m.inertia[i] @ R.T @ body.angular_velocity
    return Momenta(p, L)


def floating(n: int = 20, motors: bool = True) -> sh.Scene:
    """A tumbling tree of n bodies, nothing holds it: hinges (with motors of limited torque), crosses and balls."""
    rng = np.random.default_rng(3)
    scene = sh.Scene(name="floating", gravity=(0.0, 0.0, 0.0))
    places, parents = [np.zeros(3)], [-1]
    for i in range(1, n):
        parents.append(int(rng.integers(max(0, i - 3), i)))
        way = rng.normal(size=3)
        places.append(places[parents[i]] + 0.3 * way / np.linalg.norm(way))
    for i, place in enumerate(places):
        inertia = rng.uniform(0.01, 0.02, 3)
        com = 0.03 * rng.normal(size=3)
        scene.add(
            sh.Body(name=f"b{i}", mass=rng.uniform(0.5, 2.0), center_of_mass=com, inertia=inertia, position=place)
        )
    scene.add(sh.Free(name="root", parent="world", child="b0", velocity=(0.3, -0.2, 0.1, 0.5, 0.4, -0.3)))
    for i in range(1, n):
        axis = rng.normal(size=3)
        kind = (sh.Revolute, sh.Universal, sh.Spherical)[i % 3]
        extra = {"axis2": np.cross(axis, rng.normal(size=3))} if kind is sh.Universal else {}
        rate = rng.normal(size=kind.nv)
        joint = {"name": f"j{i}", "parent": f"b{parents[i]}", "child": f"b{i}", "axis": axis, **extra}
        scene.add(kind(anchor=(places[i] + places[parents[i]]) / 2, velocity=rate if kind.nv > 1 else rate[0], **joint))
        if kind is sh.Revolute and motors:
            scene.add(sh.Motor(name=f"m{i}", joint=f"j{i}", velocity=rng.normal(), max_force=rng.uniform(0.05, 0.5)))
    return scene


def flat_four_bar(**kw) -> sh.Scene:
    """A parallelogram, folded flat twice a turn."""
    return scenes.make("four_bar", crank=0.1, coupler=0.2, rocker=0.1, ground=0.2, **kw)


def end_of(sim, body, x):
    """World position of a point on a bar's axis."""
    view = sim.body(body)
    return view.position + view.rotation[:, 0] * x


def resident() -> int:
    """Bytes of memory in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def bits(sim) -> bytes:
    """All that evolves and two things that follow from it."""
    saved = sim.save()
    return b"".join(np.ascontiguousarray(saved.arrays[n]).tobytes() for n in ("q", "v", "P", "loop_q", "p")) + bytes(
        np.ascontiguousarray(sim.v).tobytes()
    )
