"""Servo loops on a geared DC motor against a discrete loop: the same law, the motor by matrix exponential."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.linalg import expm

import sharnir as sh

V, R, L, K, N, INERTIA = 12.0, 2.0, 1e-3, 0.05, 50.0, 0.035  # as in test_dc_motors; rotor included
PERIOD = 2e-3  # s, of the loop
A = np.array([[0, 1, 0], [0, 0, N * K / INERTIA], [0, -K * N / L, -R / L]])  # of angle, speed, current


def wheel() -> sh.Scene:
    scene = sh.Scene(name="wheel", gravity=(0, 0, 0))
    scene.add(sh.Body(name="wheel", mass=1.0, inertia=(0.01,) * 3))
    scene.add(sh.Revolute(name="axle", parent="world", child="wheel", axis=(0, 0, 1)))
    circuit = {"resistance": R, "inductance": L, "torque_constant": K, "voltage": V}
    scene.add(sh.DCMotor(name="motor", joint="axle", ratio=N, rotor_inertia=1e-5, **circuit))
    return scene


def discrete(gains, measure, target: float, load: float, seconds: float) -> np.ndarray:
    """Angle, speed, current [samples, 3] before every call of a PI(D) loop that saturates and does not wind up."""
    kp, ki, kd = gains
    step = expm(np.block([[A, np.array([[0, 0], [0, 1 / INERTIA], [1 / L, 0]])], [np.zeros((2, 5))]]) * PERIOD)
    x, integral, first, out = np.zeros(3), 0.0, True, []
    for _ in range(round(seconds / PERIOD)):
        out.append(x)
        error = target - measure(x)
        more = 0.0 if first else ki * PERIOD * error
        wanted = kp * error - kd * x[1] + integral + more
        u = float(np.clip(wanted, -V, V))
        integral, first = integral + (0.0 if (wanted - u) * more > 0 else more), False
        x = (step @ np.concatenate([x, [u, load]]))[:3]
    return np.array(out)


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
@pytest.mark.parametrize(
    ("mode", "gains", "target"), [("velocity", (2.0, 60.0, 0.0), 2.0), ("position", (60.0, 100.0, 1.0), 0.7)]
)
def test_a_loop_moves_as_a_discrete_one(solver, mode, gains, target):
    wanted = discrete(gains, lambda x: x[1 if mode == "velocity" else 0], target, -2.0, 0.4)
    sim = sh.Simulation(wheel(), solver=solver, dt=PERIOD / 10)
    sim.add_controller(sh.Servo("motor", mode, gains=gains, target=target), rate=1 / PERIOD)
    sim.joint("axle").control = -2.0
    seen = []
    for _ in wanted:
        joint = sim.joint("axle")
        seen.append([float(joint.position[0]), float(joint.velocity[0])])
        sim.run(PERIOD)
    np.testing.assert_allclose(np.array(seen)[:, 0], wanted[:, 0], atol=2e-3 * np.abs(wanted[:, 0]).max())
    np.testing.assert_allclose(np.array(seen)[:, 1], wanted[:, 1], atol=1e-2 * np.abs(wanted[:, 1]).max())


def test_the_integral_carries_a_load():
    for gains, off in (((60.0, 0.0, 1.0), 2.0 * R / (N * K) / 60.0), ((60.0, 300.0, 1.0), 0.0)):
        sim = sh.Simulation(wheel(), dt=1e-3)
        sim.add_controller(sh.Servo("motor", "position", gains=gains, target=0.5), rate=500)
        sim.joint("axle").control = -2.0
        sim.run(3.0)
        assert sim.joint("axle").position[0] == pytest.approx(0.5 - off, abs=1e-4)


def test_it_saturates_and_does_not_wind_up():
    """Far from its target for long, it does not overshoot for what it summed on the way."""
    sim = sh.Simulation(wheel(), dt=1e-3)
    sim.add_controller(sh.Servo("motor", "position", gains=(40.0, 80.0, 2.0), target=5.0, limits=(-6.0, 6.0)), rate=500)
    highest = most = 0.0
    for _ in range(6000):
        sim.step()
        highest = max(highest, float(sim.joint("axle").position[0]))
        most = max(most, abs(float(sim.dc_motor("motor").input)))
    assert most == 6.0
    assert highest < 5.0 * 1.02
    assert sim.joint("axle").position[0] == pytest.approx(5.0, abs=1e-3)


def test_a_torque_loop_holds_its_torque_against_the_motors_own_voltage():
    sim = sh.Simulation(wheel(), dt=5e-4)
    sim.add_controller(sh.Servo("motor", "torque", gains=(0.2, 1000.0, 0.0), target=3.0), rate=2000)
    torque = 3.0 / (1 + K * N / (INERTIA * 1000.0))  # the motor's own voltage rises by K N ω̇ = ki (3 − torque)
    sim.run(0.015)
    before = float(sim.joint("axle").velocity[0])
    sim.run(0.01)
    assert N * sim.dc_motor("motor").torque == pytest.approx(torque, rel=0.02)
    assert (sim.joint("axle").velocity[0] - before) / 0.01 == pytest.approx(torque / INERTIA, rel=0.02)


def test_feedforward_needs_no_error():
    """At a steady speed the motor's own voltage is all it takes: K N of it by the target's rate."""
    sim = sh.Simulation(wheel(), dt=1e-3)
    servo = sh.Servo("motor", "position", gains=(60.0, 0.0, 1.0), rate_gain=K * N)
    errors = []

    def ramp(s: sh.Simulation) -> None:
        servo.target, servo.target_rate = 2.0 * s.time, 2.0
        errors.append(float(servo.target - s.joint("axle").position[0]))
        servo(s)

    sim.add_controller(ramp, rate=500)
    sim.run(1.0)
    assert abs(errors[-1]) < 2e-4


def test_worlds_resets_and_what_is_refused():
    sim = sh.Simulation(wheel(), dt=1e-3, worlds=2)
    sim.add_controller(sh.Servo("motor", "position", gains=(60.0, 50.0, 1.0), target=[0.5, -0.25]), rate=500)
    sim.run(1.0)
    first = sim.q.copy()
    np.testing.assert_allclose(first[0], [0.5, -0.25], atol=1e-2)
    sim.reset()
    sim.run(1.0)
    assert np.array_equal(sim.q, first)
    for facts, message in (
        ({"mode": "force"}, "unknown mode 'force'"),
        ({"gains": (1, 2)}, "gains has the wrong shape"),
        ({"limits": (1.0, -1.0)}, "limits leave nothing"),
        ({"rate_gain": math.nan}, "rate_gain is not a finite number"),
    ):
        with pytest.raises(sh.SharnirError, match=message):
            sh.Servo("motor", **({"mode": "position", "gains": (1.0, 0.0, 0.0)} | facts))
    with pytest.raises(sh.SharnirError, match="unknown actuator 'moto'"):
        sh.Servo("moto", "position", gains=(1.0, 0.0, 0.0))(sim)


def chain() -> sh.Scene:
    """Three hinges, driven by motors of different gears."""
    scene = sh.Scene(name="chain")
    below = "world"
    for k in range(3):
        scene.add(sh.Body(name=f"link{k}", mass=1.0, inertia=(0.01,) * 3, position=(0.2 * k + 0.1, 0, 0)))
        anchor, axis = (0.2 * k, 0, 0), (0, 1, 0)
        scene.add(sh.Revolute(name=f"hinge{k}", parent=below, child=f"link{k}", anchor=anchor, axis=axis))
        circuit = {"resistance": R, "inductance": L, "torque_constant": K, "voltage": V}
        scene.add(sh.DCMotor(name=f"motor{k}", joint=f"hinge{k}", ratio=N - 5 * k, rotor_inertia=1e-5, **circuit))
        below = f"link{k}"
    return scene


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
@pytest.mark.parametrize("worlds", [1, 2])
@pytest.mark.parametrize("mode", ["position", "velocity", "torque"])
def test_one_loop_of_several_motors_is_several_loops(solver, worlds, mode):
    names, targets, rates = [f"motor{k}" for k in range(3)], np.array([0.3, -0.2, 0.5]), (0.1, 0.2, 0.3)
    gains, gain = (20.0, 30.0, 0.5 if mode == "position" else 0.0), (2.5, 2.2, 2.0)
    single, all_at_once = (sh.Simulation(chain(), solver=solver, dt=1e-3, worlds=worlds) for _ in range(2))

    def each(sim: sh.Simulation) -> None:
        inputs = []
        for servo in servos:  # all measure before any acts: velocities depend on what is given
            servo(sim)
            inputs.append(np.array(sim.actuator(servo.names[0]).input))
            sim.actuator(servo.names[0]).input = before[servo.names[0]]
        for servo, value in zip(servos, inputs, strict=True):
            sim.actuator(servo.names[0]).input = before[servo.names[0]] = value

    before = dict.fromkeys(names, 0.0)
    servos = [
        sh.Servo(n, mode, gains=gains, target=t, rate_gain=g) for n, t, g in zip(names, targets, gain, strict=True)
    ]
    together = sh.Servo(names, mode, gains=gains, target=targets, rate_gain=gain)
    for servo, rate in zip(servos, rates, strict=True):
        servo.target_rate = rate
    together.target_rate = rates if worlds == 1 else np.repeat(np.array(rates)[:, None], worlds, axis=1)
    single.add_controller(each, rate=500)
    all_at_once.add_controller(together, rate=500)
    single.run(0.1)
    all_at_once.run(0.1)
    np.testing.assert_array_equal(single.q, all_at_once.q)
    assert np.abs(all_at_once.v).max() > 0.01


def test_a_loop_refuses_targets_of_another_shape_and_forgets_with_the_simulation():
    sim = sh.Simulation(chain(), dt=1e-3)
    servo = sh.Servo([f"motor{k}" for k in range(3)], "position", gains=(20.0, 300.0, 0.5), target=(0.1, 0.2))
    with pytest.raises(
        sh.SharnirError, match=r"target has the wrong shape: given \(0.1, 0.2\); allowed: a number or \[3\]"
    ):
        servo(sim)
    for names in ([], 7, None, ["motor0", "motor0"]):
        with pytest.raises(sh.SharnirError, match="drives nothing, or something twice"):
            sh.Servo(names, "position", gains=(1.0, 0.0, 0.0))
    with pytest.raises(sh.SharnirError, match=r"input of actuator 'motor0': has the wrong shape.*allowed: a number$"):
        sim.actuator("motor0").input = [1.0, 2.0]
    servo.target = 0.1
    sim.add_controller(servo, rate=500)
    start = sim.save()
    sim.run(0.2)
    first = sim.q.copy()
    sim.restore(start)
    sim.run(0.2)
    np.testing.assert_array_equal(sim.q, first)
