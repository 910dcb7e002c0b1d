"""Actuators inside the step: closed forms, the order in the step, stiff gains, saturation, gears and tendons.

Independent of the kernels: closed forms of a mass on a slide, SciPy's integration of the clamped law, and MuJoCo.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sharnir as sh

MASS = 2.0  # kg
SOLVERS = ("simgc", "simmc")


def cart(*actuators: sh.Actuator, **facts) -> sh.Scene:
    """A mass on a slide without gravity."""
    scene = sh.Scene(name="cart", gravity=(0, 0, 0))
    scene.add(sh.Body(name="cart", mass=MASS, inertia=(1, 1, 1)))
    scene.add(sh.Prismatic(name="rail", parent="world", child="cart", axis=(1, 0, 0), **facts))
    for actuator in actuators:
        scene.add(actuator)
    return scene


def servo(kp: float, kv: float, target: float, **facts) -> sh.Actuator:
    return sh.Actuator(name="servo", joints=["rail"], gain=(kp, 0, 0), bias=(0, -kp, -kv), input=target, **facts)


def ended(scene: sh.Scene, solver: str, dt: float, seconds: float) -> float:
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    sim.run(seconds)
    return float(sim.joint("rail").position[0])


def swing(kp: float, kv: float, target: float, t: float) -> float:
    """x(t) of a damped oscillator that starts at rest in 0."""
    decay = kv / 2 / MASS
    wave = math.sqrt(kp / MASS - decay**2)
    return target * (1 - math.exp(-decay * t) * (math.cos(wave * t) + decay / wave * math.sin(wave * t)))


def clamped_swing(kp: float, kv: float, target: float, most: float, t: float, gear: float = 1.0) -> float:
    """x(t) of the same with no more force than `most`, integrated by SciPy."""

    def rates(_: float, y: np.ndarray) -> list[float]:
        force = np.clip(kp * (target - gear * y[0]) - kv * gear * y[1], -most, most)
        return [y[1], gear * force / MASS]

    return float(solve_ivp(rates, (0, t), [0, 0], rtol=1e-10, atol=1e-12, max_step=1e-3).y[0, -1])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("most", [math.inf, 1e3])
@pytest.mark.parametrize("gear", [1.0, -2.0])
def test_a_servo_follows_its_closed_form_to_second_order(solver, most, gear):
    kp, kv, target = 50.0, 4.0, 0.3
    scene = cart(servo(kp, kv, target, gears=[gear], force_limits=(-most, most)))
    x = swing(kp * gear**2, kv * gear**2, target / gear, 1.0)
    errors = [ended(scene, solver, dt, 1.0) - x for dt in (8e-3, 4e-3, 2e-3)]
    orders = [math.log2(errors[k] / errors[k + 1]) for k in range(2)]
    assert abs(errors[-1]) < 2e-5
    assert min(orders) > 1.95


@pytest.mark.parametrize("solver", SOLVERS)
def test_stiff_gains_are_stable_and_come_to_rest(solver):
    """Explicit laws need kp dt² < 4 m: here kp dt² = 125 m."""
    sim = sh.Simulation(cart(servo(1e7, 10.0, 1e-3)), solver=solver, dt=5e-3)
    highest = 0.0
    for _ in range(200):
        sim.step()
        highest = max(highest, float(sim.joint("rail").position[0]))
    assert highest < 1.01e-3
    assert sim.joint("rail").position[0] == pytest.approx(1e-3, rel=1e-12)
    assert abs(sim.joint("rail").velocity[0]) < 1e-12


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("gear", [1.0, -2.0])
@pytest.mark.parametrize("of_joint", [False, True])
def test_a_saturated_servo_moves_as_its_clamped_law_says(solver, gear, of_joint):
    kp, kv, target, most = 400.0, 40.0, 1.0, 3.0
    x = clamped_swing(kp, kv, target, most, 2.0, gear)
    facts = {"max_force": most * abs(gear)} if of_joint else {}
    limits = (-math.inf, math.inf) if of_joint else (-most, most)
    scene = cart(servo(kp, kv, target, gears=[gear], force_limits=limits), **facts)
    sim = sh.Simulation(scene, solver=solver, dt=2e-3)
    largest = 0.0
    for _ in range(1000):
        sim.step()
        largest = max(largest, abs(float(sim.actuator("servo").force)))
    assert largest == pytest.approx(most, rel=1e-10)
    assert sim.joint("rail").position[0] == pytest.approx(x, abs=1e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_blow_does_not_make_an_actuator_stronger_than_it_is(solver):
    """Hit by 10⁴ N within a step, a stiff servo gives its limit against it and no more, in that step too."""
    sim = sh.Simulation(cart(servo(1e5, 100.0, 0.0, force_limits=(-20, 20))), solver=solver, dt=5e-3)
    sim.run(0.05)
    sim.joint("rail").control = 1e4
    sim.step()
    sim.joint("rail").control = 0.0
    forces = [float(sim.actuator("servo").force)]
    speed = float(sim.joint("rail").velocity[0])
    sim.step()
    forces.append(float(sim.actuator("servo").force))
    np.testing.assert_allclose(forces, -20.0, rtol=1e-9)
    assert speed > 10.0


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_saturated_stiff_servo_comes_to_rest(solver):
    sim = sh.Simulation(cart(servo(1e7, 10.0, 0.3, force_limits=(-100, 100))), solver=solver, dt=5e-3)
    sim.run(2.0)
    assert sim.joint("rail").position[0] == pytest.approx(0.3, rel=1e-9)
    assert abs(sim.joint("rail").velocity[0]) < 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_actuators_that_share_a_coordinate_have_its_limit_together(solver):
    push = sh.Actuator(name="push", joints=["rail"], input=4.0)
    scene = cart(servo(100.0, 10.0, 1.0), push, max_force=6.0)
    sim = sh.Simulation(scene, solver=solver, dt=1e-3)
    sim.step()
    total = sim.actuator("servo").force + sim.actuator("push").force
    assert total == pytest.approx(6.0, rel=1e-9)
    sim.run(12.0)  # at rest both are within it: 4 N push the servo 0.04 m beyond its target
    assert sim.joint("rail").position[0] == pytest.approx(1.04, abs=1e-4)


ARM = """<mujoco><compiler angle="radian" autolimits="true"/><option timestep="{dt}" integrator="implicitfast"/>
<worldbody>
<body name="a" pos="0 0 1"><joint name="j1" axis="0 1 0" damping=".1" armature=".01"/>
<geom {rod} fromto="0 0 0 .4 0 0"/>
<body name="b" pos="0.4 0 0"><joint name="j2" axis="0 1 0" armature="0.005"/><geom {rod} fromto="0 0 0 .3 0 0"/>
<body name="c" pos="0.3 0 0"><joint name="j3" axis="0 0 1"/><geom {rod} fromto="0 0 0 .2 0 0"/></body></body></body>
</worldbody>
<tendon><fixed name="t"><joint joint="j2" coef="0.7"/><joint joint="j3" coef="-1.3"/></fixed></tendon>
<actuator><position name="p1" joint="j1" kp="300" kv="10" gear="1.5" forcerange="-{limit} {limit}"/>
<position name="p2" joint="j2" kp="300" kv="10"/><velocity name="v3" joint="j3" kv="0.3"/>
<position name="pt" tendon="t" kp="20" kv="1" forcerange="-{pull} {pull}"/></actuator></mujoco>"""
ROD = 'type="capsule" size="0.03" contype="0" conaffinity="0"'
INPUTS = {"p1": 0.5, "p2": -0.3, "v3": 0.4, "pt": 0.2}


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("limit", "pull"), [(1e6, 1e6), (25.0, 2.0)], ids=["free", "saturated"])
def test_a_position_controlled_arm_moves_as_in_mujoco(tmp_path, solver, limit, pull):
    """Gear, tendon, saturation: 0.5 s, MuJoCo at 10 µs; ours at 1 and 2 ms."""

    def text(dt: float) -> str:
        return ARM.format(dt=dt, rod=ROD, limit=limit, pull=pull)

    peer = mujoco.MjModel.from_xml_string(text(1e-5))
    data = mujoco.MjData(peer)
    data.ctrl[:] = list(INPUTS.values())
    mujoco.mj_step(peer, data, 50_000)
    (tmp_path / "arm.xml").write_text(text(1e-3))
    scene = sh.load(tmp_path / "arm.xml")
    errors = []
    for dt in (2e-3, 1e-3):
        sim = sh.Simulation(scene, solver=solver, dt=dt)
        for name, value in INPUTS.items():
            sim.actuator(name).input = value
        sim.step(round(0.5 / dt))
        q = [sim.joint(name).position[0] for name in ("j1", "j2", "j3")]
        errors.append(float(np.abs(np.array(q) - data.qpos).max()))
    assert errors[1] < 5e-5
    assert errors[1] < 0.6 * errors[0]
    forces = [float(sim.actuator(name).force) for name in INPUTS]
    np.testing.assert_allclose(forces, data.actuator_force, atol=0.02 * np.abs(data.actuator_force).max())


def test_a_launch_of_many_steps_is_as_many_steps():
    scene = cart(servo(50.0, 4.0, 0.3, response=0.1, force_limits=(-5, 5)))
    one, many = sh.Simulation(scene, dt=2e-3, worlds=2), sh.Simulation(scene, dt=2e-3, worlds=2)
    for sim in (one, many):
        sim.actuator("servo").input = [0.3, -1.0]
    for _ in range(100):
        one.step()
    many.step(100)
    assert np.array_equal(one.q, many.q)
    assert np.array_equal(one.actuator("servo").force, many.actuator("servo").force)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_published_steps_know_them_too(solver):
    kp, kv, target, most = 50.0, 4.0, 0.3, 5.0
    sim = sh.Simulation(cart(servo(kp, kv, target, force_limits=(-most, most))), solver=solver, dt=1e-3, method="paper")
    largest = 0.0
    for _ in range(1000):
        sim.step()
        largest = max(largest, abs(float(sim.actuator("servo").force)))
    assert largest <= most * (1 + 1e-9)
    assert sim.joint("rail").position[0] == pytest.approx(clamped_swing(kp, kv, target, most, 1.0), abs=2e-3)
