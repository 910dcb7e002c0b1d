"""Going on with the other solver in mid-motion."""

from __future__ import annotations

import numpy as np
import pytest
from refusal import refused

import sharnir as sh
from sharnir import scenes
from sharnir.rotations import quat_to_matrix
from sharnir.simulation.joint_map import joint_map, scene_state
from sharnir.simulation.simulation import Simulation
from sharnir.simulation.switch_solver import with_solver


@pytest.mark.parametrize("name", ["five_link_chain", "peaucellier", "double_wishbone", "humanoid", "grasp_arm"])
def test_state_and_motion_go_on(name):
    sim = Simulation(scenes.make(name), dt=0.002)
    sim.step(200)
    there = with_solver(sim, "simmc")
    back = with_solver(there, "simgc")
    for new in (there, back):
        assert new.time == sim.time
        for what in ("position", "rotation", "velocity"):
            np.testing.assert_allclose(new.seen(what), sim.seen(what), atol=1e-12)
        np.testing.assert_allclose(new.energy, sim.energy, rtol=1e-12)
    for each in (sim, there, back):
        each.step(50)
    for new in (there, back):
        np.testing.assert_allclose(new.seen("position"), sim.seen("position"), atol=2e-5)


def tumbling(solver: str) -> Simulation:
    """Two bodies without a joint, beside a pendulum, in mid-flight: turned, spinning about no axis of theirs, with
    their centres of mass off their frames."""
    scene = sh.Scene(name="tumbling")
    for k, name in enumerate(("one", "two")):
        facts = {"inertia": (0.1, 0.2, 0.25), "center_of_mass": (0.1, -0.2, 0.05 * k)}
        scene.add(sh.Body(name=name, mass=2.0, position=(k, 0.0, 1.0), orientation=(0.5, 0.5, 0.5, 0.5), **facts))
    scene.add(sh.Body(name="rod", mass=1.0, inertia=(0.1, 0.1, 0.01), position=(0.3, 0.0, -0.2)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="rod", axis=(0.0, 1.0, 0.0)))
    sim = Simulation(scene, solver=solver, dt=0.001)
    sim.body("one").applied = (1.0, 2.0, 3.0, 0.5, -1.0, 0.8)
    sim.body("two").applied = (-3.0, 1.0, 0.0, -0.4, 0.2, 1.1)
    sim.step(400)
    return sim


def test_free_bodies_that_nobody_described_keep_their_rates():
    """In simmc they have no coordinates of the scene's; positions and rates of those follow from the bodies' motion:
    origin and its velocity in world axes, quaternion, angular velocity in body axes, as simgc has them itself."""
    there, here = tumbling("simmc"), tumbling("simgc")
    assert there.model.implicit_free.sum() == 2
    q, v, _, _ = scene_state(there, joint_map(there.model, there.inner))
    for name in ("one", "two"):
        k = there.model.body(name)
        x, rates = q[there.model.q_start[k] :][:7], v[there.model.dof_start[k] :][:6]
        body = there.body(name)
        R, spin = body.rotation, body.angular_velocity
        np.testing.assert_allclose(x[:3], body.position, atol=1e-13)
        np.testing.assert_allclose(quat_to_matrix(x[3:]), R, atol=1e-13)
        np.testing.assert_allclose(R @ rates[3:], spin, atol=1e-13)
        np.testing.assert_allclose(rates[:3], body.velocity, atol=1e-13)
        assert np.linalg.norm(rates[3:] - spin) > 1.0 and np.abs(rates).min() > 0.05  # each of them would be missed
    np.testing.assert_allclose(q, here.q, atol=2e-5)
    np.testing.assert_allclose(v, here.v, atol=2e-5)


@pytest.mark.parametrize("solvers", [("simmc", "simgc"), ("simgc", "simmc")])
def test_free_bodies_that_nobody_described_go_on(solvers):
    old = tumbling(solvers[0])
    new = with_solver(old, solvers[1])
    for what in ("position", "rotation", "velocity"):
        np.testing.assert_allclose(new.seen(what), old.seen(what), atol=1e-12)
    np.testing.assert_allclose(new.energy, old.energy, atol=1e-12 * 5.0 * 9.81)  # 5 kg, heights to 1e-12 m


def test_inputs_and_controllers_go_on():
    sim = Simulation(scenes.make("grasp_arm"), dt=0.002)
    calls = []
    sim.add_controller(lambda s: calls.append(s.solver), rate=100)
    sim.motor("waist").target = 0.3
    sim.joint("elbow").control = 0.2
    sim.body("hand").applied = (1, 2, 3, 0.1, 0.2, 0.3)
    sim.step(10)
    new = with_solver(sim, "simmc")
    assert new.motor("waist").target == 0.3
    assert new.joint("elbow").control.tolist() == [0.2]
    assert new.body("hand").applied.tolist() == [1, 2, 3, 0.1, 0.2, 0.3]
    new.step(10)
    assert "simmc" in calls


def test_several_worlds_are_refused():
    with refused("has several worlds", "2"):
        with_solver(Simulation(scenes.make("pendulum"), worlds=2), "simmc")
