"""Actuators: their law, clamps and lags in closed form, what they share with control, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sharnir import (
    Actuator,
    Body,
    Compound,
    ModelError,
    Motor,
    Prismatic,
    Scene,
    Simulation,
    Step,
    compile,
    simulate,
)

MASS, DT = 2.0, 1e-3


def cart(*actuators: Actuator, **facts) -> Scene:
    """A mass on a slide without gravity."""
    scene = Scene(name="cart", gravity=(0, 0, 0))
    scene.add(Body(name="cart", mass=MASS, inertia=(1, 1, 1)))
    scene.add(Prismatic(name="rail", parent="world", child="cart", axis=(1, 0, 0), **facts))
    for actuator in actuators:
        scene.add(actuator)
    return scene


def test_a_plain_one_gives_its_input_as_force():
    sim = Simulation(cart(Actuator(name="a", joints=["rail"], gears=[3.0], gain=(2.0, 0, 0))), dt=DT)
    sim.actuator("a").input = 0.5
    sim.run(1.0)
    assert sim.actuator("a").force == 1.0
    assert sim.v[0] == pytest.approx(3.0 * 2.0 * 0.5 / MASS, rel=1e-6)


def test_it_adds_to_control_and_does_not_change_it():
    sim = Simulation(cart(Actuator(name="a", joints=["rail"], input=4.0)), dt=DT)
    sim.joint("rail").control = -1.0
    sim.run(1.0)
    assert sim.joint("rail").control.tolist() == [-1.0]
    assert sim.v[0] == pytest.approx(3.0 / MASS, rel=1e-6)


def test_a_servo_swings_to_its_target():
    """x(t) of a damped oscillator from rest, by both solvers and the exact one."""
    kp, kv, target = 50.0, 4.0, 0.3
    servo = Actuator(name="a", joints=["rail"], gain=(kp, 0, 0), bias=(0, -kp, -kv), input=target)
    wave, decay = math.sqrt(kp / MASS - (kv / 2 / MASS) ** 2), kv / 2 / MASS
    x = target * (1 - math.exp(-decay) * (math.cos(wave) + decay / wave * math.sin(wave)))
    for solver in ("simgc", "simmc"):
        sim = Simulation(cart(servo), solver=solver, dt=DT)
        sim.run(1.0)
        assert sim.joint("rail").position[0] == pytest.approx(x, abs=2e-3)
    assert simulate(cart(servo), 1.0, times=[1.0]).q[-1, 0] == pytest.approx(x, abs=1e-9)


def test_input_force_and_joint_clamp():
    limits = {"input_limits": (-1, 2), "force_limits": (-math.inf, 15), "gain": (10.0, 0, 0)}
    for given, joint_limit, force in ((5.0, math.inf, 15.0), (-5.0, math.inf, -10.0), (5.0, 6.0, 6.0)):
        scene = cart(Actuator(name="a", joints=["rail"], input=given, **limits), max_force=joint_limit)
        sim = Simulation(scene, dt=DT)
        sim.run(0.1)
        assert sim.v[0] == pytest.approx(force * 0.1 / MASS, rel=1e-6)


def test_a_lag_follows_its_input():
    """v = f/m (t − τ (1 − exp(−t/τ)))"""
    lag = 0.2
    sim = Simulation(cart(Actuator(name="a", joints=["rail"], input=3.0, response=lag)), dt=DT)
    sim.run(0.5)
    assert sim.v[0] == pytest.approx(3.0 / MASS * (0.5 - lag * (1 - math.exp(-0.5 / lag))), abs=2e-3)


def test_an_integral_sums_its_input_within_limits():
    sim = Simulation(
        cart(Actuator(name="a", joints=["rail"], input=2.0, integrates=True, input_sum_limits=(-1, 1))), dt=DT
    )
    sim.run(1.0)  # ramps to 1 in 0.5 s, then stays
    assert sim.v[0] == pytest.approx((0.25 + 0.5) / MASS, abs=2e-3)


def test_it_works_along_a_sum_of_coordinates():
    scene = Scene(gravity=(0, 0, 0))
    scene.add(Body(name="b", mass=MASS, inertia=(1, 1, 1)))
    steps = [Step(kind="slide", axis=(1, 0, 0)), Step(kind="slide", axis=(0, 1, 0))]
    scene.add(Compound(name="xy", parent="world", child="b", steps=steps))
    scene.add(Actuator(name="a", joints=["xy", "xy"], coordinates=[0, 1], gears=[2.0, -1.0], input=1.0))
    sim = Simulation(scene, dt=DT)
    sim.run(1.0)
    np.testing.assert_allclose(sim.v, [2.0 / MASS, -1.0 / MASS], rtol=1e-6)


def test_a_run_continues_bit_for_bit(tmp_path):
    scene = cart(Actuator(name="a", joints=["rail"], input=3.0, response=0.2), Actuator(name="b", joints=["rail"]))
    sim = Simulation(scene, dt=DT)
    sim.run(0.1)
    sim.actuator("b").input, sim.joint("rail").control = 1.5, 0.3
    sim.save().write(tmp_path / "state.npz")
    sim.run(0.1)
    other = Simulation(scene, dt=DT)
    other.restore(type(sim.save()).read(tmp_path / "state.npz"))
    other.run(0.1)
    assert np.array_equal(sim.q, other.q) and sim.actuator("b").input == other.actuator("b").input


def test_many_worlds_have_inputs_of_their_own():
    sim = Simulation(cart(Actuator(name="a", joints=["rail"])), dt=DT, worlds=3)
    sim.actuator("a").input = [1.0, 2.0, 3.0]
    sim.run(0.5)
    np.testing.assert_allclose(sim.v[0], np.array([0.5, 1.0, 1.5]) / MASS, rtol=1e-6)


def test_motors_have_no_more_than_their_joint():
    scene = cart(max_force=5.0, max_speed=2.0)
    scene.add(Motor(name="m", joint="rail", velocity=1.0))
    model = compile(scene)
    assert (model.motor_max_force.tolist(), model.motor_max_speed.tolist()) == ([5.0], [2.0])


def test_it_is_saved(tmp_path):
    scene = cart(Actuator(name="a", joints=["rail"], integrates=True, gears=[2.0], input_limits=(-1, 1)), max_force=3.0)
    scene.save(tmp_path / "cart.toml")
    assert Scene.load(tmp_path / "cart.toml") == scene


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"joints": []}, "actuator 'a': joints is not a list of names"),
        ({"joints": ["rale"]}, "actuator 'a': unknown joint 'rale'; did you mean 'rail'"),
        ({"coordinates": [1]}, "coordinates is out of range"),
        ({"coordinates": [0, 0]}, "coordinates has the wrong shape"),
        ({"gears": [1, 2]}, "gears has the wrong shape"),
        ({"gain": (1, 0)}, "gain has the wrong shape"),
        ({"bias": (0, math.nan, 0)}, "bias component is not a finite number"),
        ({"input_limits": (1, -1)}, "input_limits leave nothing"),
        ({"force_limits": 3}, "force_limits has the wrong shape"),
        ({"response": -1}, "response is out of range"),
        ({"input": "x"}, "input is not a finite number"),
    ],
)
def test_a_wrong_one_is_refused(facts, message):
    with pytest.raises(ModelError, match=message):
        compile(cart(Actuator(**{"name": "a", "joints": ["rail"], **facts})))


@pytest.mark.parametrize("name", ["max_force", "max_speed"])
@pytest.mark.parametrize("value", [-1.0, math.nan, (1.0, 2.0), "much", None])
def test_a_limit_of_drives_is_judged(name, value):
    with pytest.raises(ModelError, match=f"joint 'rail': {name}"):
        compile(cart(**{name: value}))
