"""Runs of the impulse solvers beside the exact one: what is compared, in which frames, and how orders are measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sharnir
from sharnir.compiler.motions import Pose
from sharnir.compiler.numeric import link_poses
from sharnir.constraints.joints import ABOUT_C, ABOUT_P, ALONG, CONSTRAINED, HELIX, PERPENDICULAR, ROWS
from sharnir.rotations import turn_between

Array = NDArray[np.float64]
SOLVERS = ("simgc", "simmc")


class End(NamedTuple):
    """What a run shows of all described joints at its end."""

    position: dict[str, Array]
    velocity: dict[str, Array]
    wrench: dict[str, Array]  # [6] on the child, force and torque about the joint's frame there, world axes


def described(model: sharnir.Model) -> list[str]:
    """Joints that both solvers know: not the free ones nobody described."""
    hidden = {model.joint_names[k] for k in np.flatnonzero(model.implicit_free)}
    return [name for name in model.joint_names if name not in hidden]


# exact


def exact_end(scene: Any, duration: float, control: Any = None, **how: Any) -> End:
    """The same by the exact solver; wrenches of tree joints from Newton's law link by link, of loop joints from the
    multipliers and the force laws on their free coordinates."""
    how = {"rtol": 1e-12, "atol": 1e-13} | how
    run = sharnir.simulate(scene, duration, times=[duration], control=control, **how)
    model, names = run.model, described(run.model)
    position = {n: run.joint(n)[0][-1] for n in names}
    velocity = {n: run.joint(n)[1][-1] for n in names}
    poses = [*link_poses(model, run.q[-1]), Pose(np.eye(3), np.zeros(3))]
    tree, rows = run.joint_wrenches()[-1], run.loop_forces()[-1]
    wrench = {}
    for n in names:
        k = model.joint_names.index(n)
        link_p, link_c = model.joint_link[k]
        x_c = poses[link_c].x + poses[link_c].R @ model.joint_pos[k, 1]
        if k < model.nb:
            sign = 1.0 if link_c == k else -1.0
            f, torque = sign * tree[k, :3], sign * tree[k, 3:]
            wrench[n] = np.concatenate([f, torque + np.cross(poses[k].x - x_c, f)])
        else:
            P = poses[link_p].R @ model.joint_rot[k, 0]
            C = poses[link_c].R @ model.joint_rot[k, 1]
            forces = rows[k - model.nb] + coordinate_forces(model, k, position[n], velocity[n])
            wrench[n] = row_wrench(model, k, P, C, forces)
    return End(position, velocity, wrench)


def coordinate_forces(model: sharnir.Model, k: int, q: Array, v: Array) -> Array:
    """[6] spring, damper and effort of a loop joint along its rows: zeros, then its free coordinates."""
    lv = slice(model.loop_v_start[k - model.nb], model.loop_v_start[k - model.nb + 1])
    rest = model.loop_rest[model.loop_q_start[k - model.nb] : model.loop_q_start[k - model.nb + 1]]
    stretch = q - rest
    if len(q) in (4, 7):
        stretch = np.concatenate([stretch[:-4], turn_between(rest[-4:], q[-4:])])
    force = model.loop_effort[lv] - model.loop_stiffness[lv] * stretch - model.loop_damping[lv] * v
    return np.concatenate([np.zeros(6 - len(v)), force])


def row_wrench(model: sharnir.Model, k: int, P: Array, C: Array, forces: Array) -> Array:
    """Wrench on the child about its joint frame, of forces along a joint's six rows (docs/method.md, M-20..M-24)."""
    f, torque = np.zeros(3), np.zeros(3)
    for (kind, first, second), lam in zip(ROWS[model.joint_kind[k]], forces, strict=True):
        if kind in (ALONG, HELIX):
            f += lam * P[:, first]
            torque -= lam * model.joint_pitch[k] * P[:, first] if kind == HELIX else 0.0
        elif kind == PERPENDICULAR:
            torque += lam * np.cross(C[:, second], P[:, first])
        elif kind in (ABOUT_P, ABOUT_C):
            torque += lam * (P if kind == ABOUT_P else C)[:, first]
    return np.concatenate([f, torque])


# impulse solvers


def sim_end(scene: Any, duration: float, dt: float, solver: str, setup: Any = None, **settings: Any) -> End:
    """What sequential impulses with n equal steps of dt show at the end."""
    sim = sharnir.Simulation(scene, solver=solver, dt=dt, **settings)
    if setup is not None:
        setup(sim)
    sim.step(round(duration / dt))
    return end_of(sim)


def end_of(sim: sharnir.Simulation) -> End:
    names = described(sim.model)
    joints = {n: sim.joint(n) for n in names}
    return End(
        {n: j.position.copy() for n, j in joints.items()},
        {n: j.velocity.copy() for n, j in joints.items()},
        {n: j.wrench.copy() for n, j in joints.items()},
    )


# errors and orders


def turn_error(q: Array, reference: Array) -> Array:
    """Difference of positions; quaternions as rotation vectors."""
    if len(q) in (4, 7):
        return np.concatenate([q[:-4] - reference[:-4], turn_between(reference[-4:], q[-4:])])
    return q - reference


def errors(end: End, reference: End, keep: Any = None) -> Array:
    """[3] Euclidean norms over all joints: positions, velocities, wrenches. keep(wrench): what is determined of it."""
    keep = keep or (lambda w: w)
    q = [turn_error(end.position[n], reference.position[n]) for n in end.position]
    v = [end.velocity[n] - reference.velocity[n] for n in end.velocity]
    w = [keep(end.wrench[n]) - keep(reference.wrench[n]) for n in end.wrench]
    return np.array([np.linalg.norm(np.concatenate(x)) for x in (q, v, w)])


def sizes(reference: End, keep: Any = None) -> Array:
    """[3] norms of what the errors are errors of."""
    keep = keep or (lambda w: w)
    parts = [reference.position.values(), reference.velocity.values(), [keep(w) for w in reference.wrench.values()]]
    return np.array([max(1.0, np.linalg.norm(np.concatenate([*p]))) for p in parts])


def ladder(scene: Any, duration: float, steps: int, solver: str, *, rungs: int = 4, reference: End | None = None,
           keep: Any = None, **how: Any) -> Array:  # fmt: skip
    """[rungs, 3] errors with steps, 2 steps, 4 steps, … in all."""
    reference = reference or exact_end(scene, duration)
    return np.array([
        errors(sim_end(scene, duration, duration / (steps * 2**k), solver, **how), reference, keep)
        for k in range(rungs)
    ])  # fmt: skip


def order(error: Array, floor: Array | float = 0.0) -> Array:
    """[3] slopes of log error over log step by least squares, of the rungs above a floor; nan with fewer than two."""
    out = []
    for column, lowest in zip(error.T, np.broadcast_to(floor, 3), strict=True):
        x = np.flatnonzero(column > lowest)
        out.append(np.polyfit(-x, np.log2(column[x]), 1)[0] if len(x) > 1 else np.nan)
    return np.array(out)


def growth(model: sharnir.Model, duration: float, size: float = 1e-7) -> float:
    """By how much a perturbation of the initial velocities, size/duration, grows in positions and velocities·duration."""
    rng = np.random.default_rng(0)
    ends = []
    for sign in (1.0, -1.0):
        v0 = model.v0 + sign * size / duration * rng.choice([-1.0, 1.0], model.nv)
        rng = np.random.default_rng(0)
        run = sharnir.simulate(replace(model, v0=v0, cache={}), duration, times=[0.0, duration], rtol=1e-12, atol=1e-13)
        ends.append(np.column_stack([run.q[:, :], run.v[:, :] * duration]))
    apart = np.linalg.norm(ends[0] - ends[1], axis=1)
    return float(apart[-1] / apart[0])
