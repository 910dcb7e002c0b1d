"""The same input gives the same bits: in worlds side by side, in other processes, from saved states."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from measures import all_four, bits, both

import sharnir as sh
from sharnir import scenes

WORLD_ARRAYS = ("q", "v", "P", "loop_q", "scalar_velocity", "p", "momentum_chord", "residual_carry", "joint_chord")


def begin(sim, q, v, loop_q) -> None:
    sim.impulses.start(q, v, loop_q)
    sim._changed()


@all_four
@pytest.mark.parametrize("scene", ["peaucellier", "four_bar", "five_link_chain", "gripper"])
def test_three_worlds_are_three_single_runs(scene, solver, bilateral):
    """Different velocities, control and motor targets; all arrays of the state, and what is seen."""
    model = sh.compile(scenes.make(scene))
    shares, settings = (1.0, 0.5, -0.7), {"solver": solver, "bilateral": bilateral}
    together = sh.Simulation(model, worlds=3, **settings)
    singles = [sh.Simulation(model, **settings) for _ in shares]
    state = together.impulses.state
    begin(together, state.q.numpy().copy(), state.v.numpy() * shares, state.loop_q.numpy().copy())
    for single, share in zip(singles, shares, strict=True):
        own = single.impulses.state
        begin(single, own.q.numpy().copy(), own.v.numpy() * share, own.loop_q.numpy().copy())
    name = model.joint_names[0]
    for steps, force in ((40, 0.01), (30, -0.02)):
        together.joint(name).control = np.outer(np.ones(len(singles[0].joint(name).control)), shares) * force
        for motor in model.motor_names:
            together.motor(motor).target = np.array(shares)
        report = together.step(steps)
        alone = []
        for single, share in zip(singles, shares, strict=True):
            single.joint(name).control = share * force
            for motor in model.motor_names:
                single.motor(motor).target = share
            alone.append(single.step(steps))
        assert report.iterations == max(r.iterations for r in alone)
        assert report.position_error == max(r.position_error for r in alone)
        for k, single in enumerate(singles):
            for array in WORLD_ARRAYS:
                here, there = (getattr(s.impulses.state, array).numpy() for s in (together, single))
                assert here[:, k].tobytes() == there[:, 0].tobytes(), (array, k)
            assert together.v[:, k].tobytes() == single.v.tobytes()
            assert together.body(model.body_names[-1]).rotation[..., k].tolist() == (
                single.body(model.body_names[-1]).rotation.tolist()
            )


PROGRAM = """
import hashlib, sharnir as sh
from sharnir import scenes
for solver in ("simgc", "simmc"):
    for bilateral in ("direct", "sweep"):
        sim = sh.Simulation(scenes.make("peaucellier"), solver=solver, bilateral=bilateral)
        sim.step(100)
        print(hashlib.sha256(sim.q.tobytes() + sim.v.tobytes()).hexdigest())
"""


def test_another_process_finds_the_same_bits():
    here = []
    for solver in ("simgc", "simmc"):
        for bilateral in ("direct", "sweep"):
            sim = sh.Simulation(scenes.make("peaucellier"), solver=solver, bilateral=bilateral)
            sim.step(100)
            here.append(hashlib.sha256(sim.q.tobytes() + sim.v.tobytes()).hexdigest())
    there = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout.split()
    assert here == there and len(set(here)) == 4


@all_four
@pytest.mark.parametrize("scene", ["peaucellier", "five_link_chain"])
def test_runs_repeat(scene, solver, bilateral):
    runs = []
    for chunks in ((100,), (100,), (1,) * 100, (37, 63)):
        sim = sh.Simulation(scenes.make(scene), solver=solver, bilateral=bilateral)
        for chunk in chunks:
            sim.step(chunk)
        runs.append(bits(sim))
    assert len(set(runs)) == 1


@all_four
def test_looking_changes_nothing(solver, bilateral):
    """Velocities, energies, poses and wrenches are computed on the side."""
    plain, watched = (sh.Simulation(scenes.make("peaucellier"), solver=solver, bilateral=bilateral) for _ in range(2))
    for _ in range(30):
        plain.step()
        watched.step()
        for name in watched.model.joint_names:
            joint = watched.joint(name)
            _ = joint.position, joint.velocity, joint.wrench, joint.limit_force, joint.friction_force
        _ = watched.energy, watched.body("crank").rotation, watched.motor("motor").force
    assert bits(plain) == bits(watched)


def four_bar_at_a_limit() -> sh.Scene:
    """One that falls onto the limit of a hinge within a few steps."""
    scene = scenes.make("four_bar", gravity=True)
    scene.joints = [replace(joint, limits=(-0.02, 0.02)) if k == 1 else joint for k, joint in enumerate(scene.joints)]
    return scene


@both
def test_looking_changes_nothing_in_published_steps(solver):
    plain, watched = (sh.Simulation(four_bar_at_a_limit(), solver=solver, method="paper") for _ in range(2))
    for _ in range(30):
        plain.step()
        watched.step()
        assert bits(plain) == bits(watched)
        _ = watched.joint("joint1").wrench


@all_four
@pytest.mark.parametrize("scene", ["peaucellier", "five_link_chain"])
def test_a_saved_state_continues_to_the_bit(tmp_path, scene, solver, bilateral):
    settings = {"solver": solver, "bilateral": bilateral}
    model = sh.compile(scenes.make(scene))
    name = model.joint_names[0]
    sim = sh.Simulation(model, **settings)
    sim.joint(name).control = 0.01
    sim.body(model.body_names[0]).applied = [0.1, 0, 0, 0, 0.01, 0]
    sim.step(20)
    sim.dt = 0.004
    sim.step(7)
    saved, at = sim.save(), sim.time
    saved.write(tmp_path / "state.npz")
    sim.step(50)
    wanted = bits(sim)
    sim.dt = 0.01
    sim.step(3)
    other = sh.Simulation(model, dt=0.02, **settings)
    other.step(5)
    for state in (saved, sh.Saved.read(tmp_path / "state.npz")):
        for continued in (sim, other, sh.Simulation(model, **settings)):
            continued.restore(state)
            assert (continued.time, continued.dt) == (at, 0.004)
            continued.step(50)
            assert bits(continued) == wanted


@both
def test_a_saved_state_does_not_change_with_the_run(solver):
    sim = sh.Simulation(scenes.make("peaucellier"), solver=solver)
    sim.step(5)
    saved = sim.save()
    kept = {name: values.copy() for name, values in saved.arrays.items()}
    sim.step(20)
    sim.restore(saved)
    sim.step(20)
    for name, values in kept.items():
        assert values.tobytes() == saved.arrays[name].tobytes(), name


@all_four
def test_reset_is_a_fresh_start(solver, bilateral):
    sim, fresh = (sh.Simulation(scenes.make("peaucellier"), solver=solver, bilateral=bilateral) for _ in range(2))
    sim.motor("motor").target = -2.0
    sim.joint("joint3").control = 0.2
    sim.body("crank").applied = 0.1
    sim.step(77)
    sim.reset()
    assert sim.time == 0.0 and sim.counts == fresh.counts
    assert sim.step(60).counts == fresh.step(60).counts
    assert bits(sim) == bits(fresh)


@pytest.mark.parametrize(("scene", "solver"), [("trailer_robot", "simgc"), ("humanoid", "simmc"), ("mixed", "simgc")])
def test_reset_is_a_fresh_start_with_contacts(scene, solver):
    model, dt = sh.compile(scenes.make(scene)), scenes.find(scene).dt
    sim, fresh = (sh.Simulation(model, solver=solver, dt=dt) for _ in range(2))
    sim.step(60)
    sim.reset()
    for _ in range(30):
        assert sim.step()._replace(seconds=0.0) == fresh.step()._replace(seconds=0.0)
        assert bits(sim) == bits(fresh)


@both
def test_a_change_of_the_step_is_a_change_of_the_step_alone(solver):
    """To the same step: nothing happens."""
    sim, other = (sh.Simulation(scenes.make("peaucellier"), solver=solver) for _ in range(2))
    for s in (sim, other):
        s.step(10)
    sim.dt = 0.01
    sim.configure(erp=0.2)
    assert sim.step(10).counts == other.step(10).counts and bits(sim) == bits(other)
