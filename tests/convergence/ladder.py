"""Runs of the impulse solvers beside the exact one: what is compared, in which frames, and how orders are measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sharnir
from sharnir.model.joint_rows import JOINT_ROW_TABLE, RowForm
from sharnir.model.kinematics import link_poses
from sharnir.model.poses import Pose
from sharnir.rotations import turn_between

Array = NDArray[np.float64]
SOLVERS = ("simgc", "simmc")
LEFT = 1e-6  # of the momentum: √SETTLED of sharnir.impulse.step.velocity_phase
LIGHT = 5.0
CLOSED = 1e-9  # m: CLOSED of sharnir.impulse.step.velocity_phase
SLACK = 1.5
ALL = slice(None)


class End(NamedTuple):
    """What a run shows of all described joints at its end."""

    position: dict[str, Array]
    velocity: dict[str, Array]
    wrench: dict[str, Array]  # [6] on the child, force and torque about the joint's frame there, world axes
    momentum: float = 0.0  # kg m/s, √(2 m T) of all bodies: no sum of their momenta is larger
    mass: float = 0.0  # kg, of all bodies


def described(model: sharnir.Model) -> list[str]:
    """Joints that both solvers know: not the free ones nobody described."""
    hidden = {model.joint_names[k] for k in np.flatnonzero(model.implicit_free)}
    return [name for name in model.joint_names if name not in hidden]


# exact


def exact_end(scene: Any, duration: float, control: Any = None, **how: Any) -> End:
    """Positions, velocities and wrenches of all joints at the end, by the exact solver; wrenches of tree
    joints from Newton's law link by link, of loop joints from the multipliers and the force laws on their free
    coordinates."""
    how = {"rtol": 1e-12, "atol": 1e-13} | how
    run = sharnir.simulate(scene, duration, times=np.linspace(0, duration, 11), control=control, **how)
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
    mass = float(model.mass.sum())
    return End(position, velocity, wrench, float(np.sqrt(2 * run.kinetic.max() * mass)), mass)


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
    for (kind, first, second), lam in zip(JOINT_ROW_TABLE[model.joint_kind[k]], forces, strict=True):
        if kind in (RowForm.ALONG, RowForm.HELIX):
            f += lam * P[:, first]
            torque -= lam * model.joint_pitch[k] * P[:, first] if kind == RowForm.HELIX else 0.0
        elif kind == RowForm.PERPENDICULAR:
            torque += lam * np.cross(C[:, second], P[:, first])
        elif kind in (RowForm.ABOUT_P, RowForm.ABOUT_C):
            torque += lam * (P if kind == RowForm.ABOUT_P else C)[:, first]
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


def errors(end: End, reference: End, keep: Any = ALL) -> Array:
    """[3] Euclidean norms over all joints: positions, velocities, wrenches. keep: components of wrenches compared."""
    q = [turn_error(end.position[n], reference.position[n]) for n in reference.position]
    v = [end.velocity[n] - reference.velocity[n] for n in reference.velocity]
    w = [(end.wrench[n] - reference.wrench[n])[keep] for n in reference.wrench]
    return np.array([np.linalg.norm(np.concatenate(x)) for x in (q, v, w)])


def ladder(
    scene: Any, duration: float, steps: int, solver: str, *, rungs: int = 4, reference: End | None = None,
    keep: Any = ALL, **how: Any,
) -> Array:  # fmt: skip
    """[rungs, 3] errors with steps, 2 steps, 4 steps, … in all."""
    reference = reference or exact_end(scene, duration)
    ends = (sim_end(scene, duration, duration / (steps * 2**k), solver, **how) for k in range(rungs))
    return np.array([errors(end, reference, keep) for end in ends])


def order(error: Array) -> Array:
    """[3] slopes of log error over log step by least squares."""
    k = np.arange(len(error))
    return np.array([np.polyfit(-k, np.log2(np.maximum(column, 1e-300)), 1)[0] for column in error.T])


def floors(reference: End, duration: float, steps: int, rungs: int, grown: float = 1.0) -> Array:
    """[rungs, 3] what the solver's own tolerance may leave in positions, velocities and wrenches.

    A step may leave LEFT of the momentum unbalanced and hand it to the next: velocities err by that share, positions by
    that in the time it lasts, both times what perturbations grow by. Velocities of light parts err by more: their share
    of the momentum is less (LIGHT, the square root of the ratios of inertias, of 25 as there are here). A reaction is a
    momentum over a step: LEFT p/dt; and gaps, of six rows a joint, that may grow by CLOSED in a step move masses with
    CLOSED/dt².
    """
    dt = duration / steps / 2.0 ** np.arange(rungs)
    speed = max(1.0, float(np.linalg.norm(np.concatenate([*reference.velocity.values()]))))
    one = LEFT * LIGHT * grown * speed * np.ones(rungs)
    gaps = reference.mass * CLOSED * np.sqrt(6 * len(reference.wrench)) / dt**2
    return np.column_stack([one * duration, one, LIGHT * LEFT * reference.momentum / dt + gaps])


def assert_order(error: Array, expected: int, floor: Array, what: str = "", columns: Any = (0, 1, 2)) -> None:
    """Errors fall by 2^expected from rung to rung, down to a floor.

    From C dt^p (1 + O(dt)) with O(dt) < SLACK on the first rung. Half an order less is SLACK times too large on the
    third rung.
    """
    allowed = SLACK * error[0] * 0.5 ** (expected * np.arange(len(error))[:, None]) + floor
    bad = (error > allowed)[:, list(columns)]
    told = f"orders {order(error)}, errors\n{error}\nallowed\n{allowed}"
    assert not bad.any(), f"{what}: columns {np.flatnonzero(bad.any(axis=0))}, {told}"


def growth(model: sharnir.Model, duration: float, size: float = 1e-7) -> float:
    """By how much a perturbation of the initial velocities of size/duration grows, in positions and velocities
    times duration, loops respected."""
    sides = size / duration * np.random.default_rng(0).choice([-1.0, 1.0], model.nv)
    ends = []
    for v0 in (model.v0 + sides, model.v0 - sides):
        other = replace(model, v0=v0, cache={})
        run = sharnir.simulate(other, duration, times=[0.0, duration], rtol=1e-12, atol=1e-13)
        ends.append(np.column_stack([run.q, run.v * duration]))
    apart = np.linalg.norm(ends[0] - ends[1], axis=1)
    return float(apart[-1] / apart[0])


# random mechanisms


def random_model(seed: int, bodies: int, features: str = "", types: Any = None, reverse: float = 0.5) -> sharnir.Model:
    """A random forest in a random state. features: letters of k springs, d dampers, a rotors and e efforts in joints,
    s springs and p dampers between points. reverse: share of joints described from the far body to the near one."""
    from random_trees import TYPES, random_scene, random_state

    rng = np.random.default_rng(seed)
    scene = random_scene(rng, bodies, types or TYPES, reverse=reverse)
    for joint in scene.joints:
        n = joint.nv
        if "k" in features:
            ball = joint.nq != joint.nv
            k = rng.uniform(1.0, 20.0, n - 3 if ball else n).tolist()
            joint.stiffness = tuple(k + [float(rng.uniform(1.0, 20.0))] * 3 if ball else k)
        if "d" in features:
            joint.damping = tuple(rng.uniform(0.0, 1.0, n).tolist())
        if "a" in features:
            joint.armature = tuple(rng.uniform(0.0, 0.3, n).tolist())
        if "e" in features:
            joint.effort = tuple(rng.normal(size=n).tolist())
    names = ["world", *(b.name for b in scene.bodies)]
    for letter, law in (("s", {"stiffness": 30.0, "length": 1.0}), ("p", {"damping": 5.0})):
        for i in range(2 if letter in features else 0):
            a, b = rng.choice(len(names), 2, replace=False)
            ends = {"parent_anchor": rng.normal(size=3), "child_anchor": rng.normal(size=3)}
            scene.add(sharnir.Spring(name=f"{letter}{i}", parent=names[a], child=names[b], **law, **ends))
    model = sharnir.compile(scene)
    state = random_state(rng, model)
    return replace(model, q0=state.q, v0=state.v, cache={})


def closed_by(kind: str, **law: Any) -> sharnir.Scene:
    """Two bodies on balls of their own, joined to each other by a joint that closes the loop."""
    scene = sharnir.Scene(name=kind, gravity=(1.0, 2.0, -9.81))
    for name, position in (("a", (0.3, 0.1, 0.0)), ("b", (0.7, -0.1, 0.4))):
        scene.add(sharnir.Body(name=name, mass=1.0, inertia=(0.1, 0.12, 0.14), position=position))
    scene.add(sharnir.Spherical(name="one", parent="world", child="a"))
    scene.add(sharnir.Spherical(name="two", parent="world", child="b", anchor=(1.0, 0.0, 0.0)))
    placed = {"axis2": (0.0, 1.0, 0.0)} if kind == "universal" else {"axis": (0.3, 0.2, 1.0)}
    placed |= {"pitch": 0.5} if kind == "helical" else {}
    joint = getattr(sharnir, kind.capitalize())
    scene.add(joint(name="close", parent="a", child="b", anchor=(0.4, 0.3, 0.3), **placed, **law))
    return scene
