"""Sensors against closed forms: a pendulum's reaction, an IMU on a turntable, weight on feet, torques along joints."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh

G = 9.81
SOLVERS = ["simgc", "simmc"]
BALL = (0.1, 0.12, 0.15)  # kg m², principal moments


def pendulum(length=0.7, mass=2.0, **joint):
    """A body whose centre is `length` below a hinge about y at the origin."""
    scene = sh.Scene(name="pendulum")
    scene.add(sh.Body(name="bob", mass=mass, inertia=BALL, position=(0, 0, -length)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="bob", axis=(0, 1, 0), **joint))
    return scene


@pytest.mark.parametrize("solver", SOLVERS)
def test_reaction_of_a_pendulum(solver):
    """Along the rod m (g cos θ + ℓ θ̇²), across it m (g sin θ + ℓ θ̈) with θ̈ = −m g ℓ sin θ/(I + m ℓ²)."""
    length, mass = 0.7, 2.0
    scene = pendulum(length, mass, position=1.0, velocity=0.5)
    scene.add(sh.Sensor(name="cell", kind="wrench", of="hinge"))
    scene.add(sh.Sensor(name="pull", kind="force", of="bob"))
    scene.add(sh.Sensor(name="bend", kind="torque", of="bob", position=(0, 0, length)))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    for _ in range(5):
        sim.run(0.13)
        angle, rate = (float(x[0]) for x in (sim.joint("hinge").position, sim.joint("hinge").velocity))
        bend = -mass * G * length * np.sin(angle) / (BALL[1] + mass * length**2)
        along = mass * (G * np.cos(angle) + length * rate**2)
        across = -mass * (length * bend + G * np.sin(angle))
        expected = np.array([across, 0, along])
        cell = sim.sensor("cell")
        np.testing.assert_allclose(cell[:3], expected, atol=2e-4 * along)
        np.testing.assert_allclose(cell[3:], np.cross([0, 0, length], expected), atol=2e-4 * along)  # about the bob
        np.testing.assert_allclose(sim.sensor("pull"), cell[:3], atol=1e-9)
        np.testing.assert_allclose(sim.sensor("bend"), 0, atol=1e-4)  # nothing about the hinge's own axis, or across


@pytest.mark.parametrize("solver", SOLVERS)
def test_imu_on_a_turntable(solver):
    """At radius r, turned by 30° about the vertical: centripetal ω² r inward, tangential α r, gravity upward."""
    radius, moment, torque = 0.4, 0.5, 1.5
    scene = sh.Scene(name="turntable")
    scene.add(sh.Body(name="table", mass=3.0, inertia=(0.3, 0.3, moment)))
    scene.add(sh.Revolute(name="axle", parent="world", child="table", axis=(0, 0, 1), velocity=2.0))
    turned = (0, 0, np.sin(np.pi / 12), np.cos(np.pi / 12))
    for kind in ("accelerometer", "gyro"):
        scene.add(sh.Sensor(name=kind, kind=kind, of="table", position=(radius, 0, 0.1), orientation=turned))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.joint("axle").control = torque
    sim.run(0.5)
    speed, gain = 2.0 + torque / moment * sim.time, torque / moment
    c, s = np.cos(np.pi / 6), np.sin(np.pi / 6)
    inward, forward = -(speed**2) * radius, gain * radius
    expected = [c * inward + s * forward, -s * inward + c * forward, G]
    np.testing.assert_allclose(sim.sensor("accelerometer"), expected, atol=1e-4)
    np.testing.assert_allclose(sim.sensor("gyro"), [0, 0, speed], atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_accelerometer_falls_and_rests(solver):
    """Nothing in free fall, away from the centre and tumbling: only what the turning does; +g on the ground."""
    scene = sh.Scene(name="drop")
    scene.add(sh.HalfSpace())
    box = sh.Box(size=(0.2, 0.2, 0.2))
    scene.add(sh.Body(name="box", mass=1.0, shapes=[box], position=(0, 0, 0.1)))
    spin = (1.0, 2.0, 3.0)
    scene.add(sh.Body(name="ball", mass=1.0, shapes=[sh.Sphere(radius=0.1)], position=(3, 0, 9)))
    scene.add(
        sh.Free(name="flight", parent="world", child="ball", position=(3, 0, 9, 0, 0, 0, 1), velocity=(0, 0, 0, *spin))
    )
    for body in ("box", "ball"):
        scene.add(sh.Sensor(name=body, kind="accelerometer", of=body, position=(0.05, 0, 0)))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.run(0.3)
    np.testing.assert_allclose(sim.sensor("box"), [0, 0, G], atol=1e-6)
    np.testing.assert_allclose(sim.sensor("ball"), np.cross(spin, np.cross(spin, [0.05, 0, 0])), atol=1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weight_on_two_feet(solver):
    """A beam on two feet 1 m apart, its centre 0.3 m from the left one: the lever carries 70 % there and 30 % here."""
    scene = sh.Scene(name="feet")
    scene.add(sh.HalfSpace())
    scene.add(sh.Body(name="beam", mass=10.0, inertia=(1, 1, 1), position=(-0.2, 0, 0.5)))
    for name, x in (("left", -0.5), ("right", 0.5)):
        foot = sh.Box(size=(0.002, 0.2, 0.04))
        scene.add(sh.Body(name=name, mass=1.0, shapes=[foot], position=(x, 0, 0.02)))
        scene.add(sh.Fixed(name=f"{name}_ankle", parent="beam", child=name))
        for kind in ("contact_force", "contact_torque", "touch"):
            scene.add(sh.Sensor(name=f"{name}_{kind}", kind=kind, of=name))
        scene.add(sh.Sensor(name=f"{name}_load", kind="wrench", of=f"{name}_ankle"))
    heel = sh.Box(size=(0.2, 0.1, 0.2), position=(0, 0.1, 0))
    scene.add(sh.Sensor(name="left_half", kind="contact_force", of="left", region=heel))
    sim = sh.Simulation(scene, solver=solver, dt=0.002)
    sim.run(0.5)
    for name, share in (("left", 0.7), ("right", 0.3)):
        weight = (10 * share + 1.0) * G
        force = sim.sensor(f"{name}_contact_force")
        np.testing.assert_allclose(force[2], weight, rtol=2e-3)
        assert sim.sensor(f"{name}_touch") == pytest.approx(force[2], rel=1e-9)
        load = sim.sensor(f"{name}_load")
        np.testing.assert_allclose(load[2], G - force[2], atol=1e-3)  # the ankle presses on the foot
    total = sum(sim.sensor(f"{name}_contact_force") for name in ("left", "right"))
    np.testing.assert_allclose(total, [0, 0, 12 * G], atol=1e-4)
    assert sim.sensor("left_half")[2] == pytest.approx(sim.sensor("left_contact_force")[2] / 2, rel=0.05)
    moments = [
        x * sim.sensor(f"{name}_contact_force")[2] - sim.sensor(f"{name}_contact_torque")[1]
        for name, x in (("left", -0.5), ("right", 0.5))
    ]
    assert sum(moments) == pytest.approx(-0.2 * 10 * G, abs=1e-4)


JOINTS = {
    "revolute": (sh.Revolute, {"axis": (1, 2, 0)}), "prismatic": (sh.Prismatic, {"axis": (1, 0, 1)}),
    "cylindrical": (sh.Cylindrical, {"axis": (0, 1, 1)}), "planar": (sh.Planar, {"axis": (0, 1, 0)}),
    "universal": (sh.Universal, {"axis": (0, 0, 1), "axis2": (0, 1, 0)}), "spherical": (sh.Spherical, {}),
    "helical": (sh.Helical, {"axis": (0, 0, 1), "pitch": 0.3}),
}  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", JOINTS)
def test_joint_torque_is_what_drives_the_coordinate(kind, solver):
    """Whatever else the joint carries: gravity, the reaction of a link that hangs on it, gyroscopic torques."""
    make, more = JOINTS[kind]
    scene = sh.Scene(name=kind)
    scene.add(sh.Body(name="base", mass=2.0, inertia=BALL, position=(0.1, 0, 0.2)))
    scene.add(sh.Revolute(name="shoulder", parent="world", child="base", axis=(0, 1, 0.3), velocity=1.0))
    scene.add(sh.Body(name="link", mass=1.0, inertia=BALL, position=(0.4, 0.1, 0.2)))
    joint = scene.add(make(name="joint", parent="base", child="link", anchor=(0.25, 0.05, 0.2), **more))
    given = np.array([0.7, -0.4, 0.3, 0.2, 0.5, -0.6])[: joint.nv]
    for k in range(joint.nv):
        scene.add(sh.Sensor(name=f"torque{k}", kind="joint_torque", of="joint", coordinate=k))
    scene.add(sh.Sensor(name="held", kind="joint_torque", of="shoulder"))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.joint("joint").control = given
    sim.joint("shoulder").control = 0.25
    sim.run(0.2)
    np.testing.assert_allclose([sim.sensor(f"torque{k}") for k in range(joint.nv)], given, atol=2e-3)
    assert sim.sensor("held") == pytest.approx(0.25, abs=2e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_joint_torque_is_beyond_the_rotor(solver):
    """A motor's torque less what turns its own rotor and what the bearing damps."""
    rotor, damping, torque = 0.3, 0.2, 2.0
    scene = pendulum(armature=rotor, damping=damping)
    scene.add(sh.Sensor(name="torque", kind="joint_torque", of="hinge"))
    sim = sh.Simulation(scene, solver=solver, dt=0.0005)
    sim.joint("hinge").control = torque
    sim.run(0.2)
    angle, rate = (float(x[0]) for x in (sim.joint("hinge").position, sim.joint("hinge").velocity))
    beyond = torque - damping * rate
    bend = (beyond - 2.0 * G * 0.7 * np.sin(angle)) / (BALL[1] + 2.0 * 0.7**2 + rotor)
    assert sim.sensor("torque") == pytest.approx(beyond - rotor * bend, abs=2e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_wrench_of_a_joint_that_closes_a_loop(solver):
    """A beam on two hinges of the world, its centre at a quarter: they carry three quarters and one quarter."""
    scene = sh.Scene(name="beam")
    scene.add(sh.Body(name="beam", mass=4.0, inertia=BALL, position=(0.25, 0, 0)))
    for name, x in (("near", 0.0), ("far", 1.0)):
        scene.add(sh.Revolute(name=name, parent="world", child="beam", anchor=(x, 0, 0), axis=(0, 1, 0)))
        scene.add(sh.Sensor(name=name, kind="wrench", of=name, position=(x - 0.25, 0, 0)))
    sim = sh.Simulation(scene, solver=solver, dt=0.002)
    sim.run(0.1)
    assert sim.sensor("near")[2] == pytest.approx(3 * G, rel=1e-6)
    assert sim.sensor("far")[2] == pytest.approx(1 * G, rel=1e-6)
    assert abs(sim.sensor("near")[4]) < 1e-6 and abs(sim.sensor("far")[4]) < 1e-6


def test_massless_bodies_have_no_accelerometer():
    scene = sh.Scene(name="light")
    scene.add(sh.Body(name="rod", mass=0.0, inertia=(0, 0, 0)))
    scene.add(sh.Body(name="bob", mass=1.0, inertia=BALL, position=(0, 0, -1)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="rod", axis=(0, 1, 0)))
    scene.add(sh.Fixed(name="tip", parent="rod", child="bob"))
    scene.add(sh.Sensor(name="a", kind="accelerometer", of="rod"))
    sim = sh.Simulation(scene)
    with pytest.raises(sh.ModelError, match="body 'rod': has no mass or inertia"):
        sim.sensor("a")
