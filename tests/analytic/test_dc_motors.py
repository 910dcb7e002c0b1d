"""DC motors against closed forms: step response, stall, idle, back-driving, brake, gear losses, limits, powers.

The motor and its numbers are those of `dc_motor_gear` of the validation data: 12 V, 2 Ω, 0.05 V s, gear 50, rotor
1e-5 kg m², load 0.01 kg m².
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import sharnir as sh

V, R, K, N, ROTOR, LOAD = 12.0, 2.0, 0.05, 50.0, 1e-5, 0.01
INERTIA = LOAD + N**2 * ROTOR
FALL = (N * K) ** 2 / R  # N m s/rad, by which the joint's torque falls with speed
W = {0.005: 1.7284345614, 0.01: 2.8344761993, 0.02: 3.995149206, 0.05: 4.7447380016}  # rad/s, L = 0
W_L = {0.005: 1.63981, 0.01: 2.82163, 0.02: 4.02466, 0.05: 4.75333}  # rad/s, L = 1 mH
SOLVERS = ("simgc", "simmc")
both = pytest.mark.parametrize("solver", SOLVERS)


def wheel(**facts) -> sh.Scene:
    """A wheel on a hinge."""
    scene = sh.Scene(name="wheel", gravity=(0, 0, 0))
    scene.add(sh.Body(name="wheel", mass=1.0, inertia=(LOAD,) * 3))
    scene.add(sh.Revolute(name="axle", parent="world", child="wheel", axis=(0, 0, 1), **facts))
    return scene


def motor(**facts) -> sh.DCMotor:
    given = {"resistance": R, "torque_constant": K, "voltage": V, "ratio": N, "rotor_inertia": ROTOR, "input": V}
    return sh.DCMotor(name="motor", joint="axle", **(given | facts))


def driven(facts: dict | None = None, **joint) -> sh.Scene:
    scene = wheel(**joint)
    scene.add(motor(**(facts or {})))
    return scene


def rate(sim: sh.Simulation, joint: str = "axle") -> float:
    return float(sim.joint(joint).velocity[0])


@both
@pytest.mark.parametrize(("inductance", "wanted"), [(0.0, W), (1e-3, W_L)], ids=["L=0", "L=1mH"])
def test_step_response_of_a_geared_motor(solver, inductance, wanted):
    sim = sh.Simulation(driven({"inductance": inductance}), solver=solver, dt=1e-3)
    for t, w in wanted.items():
        sim.run(t - sim.time)
        assert rate(sim) == pytest.approx(w, rel=5e-3)
    if inductance == 0:
        assert sim.joint("axle").position[0] == pytest.approx(0.1868589344, rel=5e-3)


def exact_rate(inductance: float, t: float) -> float:
    """Speed of the joint at t from rest at full voltage, by the matrix exponential of (i, ω)."""
    A = np.array([[-R / inductance, -K * N / inductance], [N * K / INERTIA, 0.0]])
    rest = np.array([0.0, V / (K * N)])
    return float((rest - expm(A * t) @ rest)[1])


@both
@pytest.mark.parametrize("inductance", [1e-3, 0.02, 1e-6])
def test_it_is_of_second_order_with_inductance(solver, inductance):
    errors = []
    for dt in (2e-3, 1e-3, 5e-4):
        sim = sh.Simulation(driven({"inductance": inductance}), solver=solver, dt=dt)
        sim.run(0.02)
        errors.append(abs(rate(sim) - exact_rate(inductance, 0.02)))
    assert errors[-1] < 2.5e-3
    assert math.log2(errors[0] / errors[-1]) / 2 > 1.6


@both
def test_steps_longer_than_all_its_times_are_stable(solver):
    """Electrical time 0.5 ms, mechanical 11 ms; explicit schemes diverge at 20 ms."""
    sim = sh.Simulation(driven({"inductance": 1e-3}), solver=solver, dt=0.02)
    speeds = []
    for _ in range(50):
        sim.step()
        speeds.append(rate(sim))
    assert max(speeds) < 4.8 * 1.2
    assert speeds[-1] == pytest.approx(4.8, rel=1e-6)


def with_rotor() -> sh.Scene:
    """The same motor as a rotor of its own, tied to the joint by a gear."""
    scene = wheel()
    scene.add(sh.Body(name="rotor", mass=0.1, inertia=(ROTOR,) * 3, position=(1, 0, 0)))
    scene.add(sh.Revolute(name="shaft", parent="world", child="rotor", axis=(0, 0, 1), anchor=(1, 0, 0)))
    scene.add(sh.Coupling(name="gear", leader="axle", follower="shaft", ratio=N))
    given = {"resistance": R, "torque_constant": K, "voltage": V, "inductance": 1e-3, "input": V}
    scene.add(sh.DCMotor(name="motor", joint="shaft", **given))
    return scene


@both
def test_a_gear_that_ties_a_rotor_is_the_folded_motor(solver):
    """To the order of the step: implicit shares of the damper (M-31) go by the inertia each knows of."""
    off = []
    for dt in (1e-3, 2.5e-4):
        folded = sh.Simulation(driven({"inductance": 1e-3}), solver=solver, dt=dt)
        tied = sh.Simulation(with_rotor(), solver=solver, dt=dt)
        worst = 0.0
        for _ in range(round(0.05 / dt)):
            folded.step()
            tied.step()
            assert rate(tied, "shaft") == pytest.approx(N * rate(tied), rel=1e-8)
            worst = max(worst, abs(rate(tied) - rate(folded)))
        off.append(worst)
        assert tied.dc_motor("motor").current == pytest.approx(folded.dc_motor("motor").current, abs=1e-3)
    assert off[0] < 1e-3 * 4.8
    assert off[1] < off[0] / 10


@both
def test_nameplate_and_circuit_are_the_same_motor(solver):
    plate = {"stall_torque": K * V / R, "idle_speed": V / K, "electrical_time": 5e-4, "input": 1.0}
    none = dict.fromkeys(("resistance", "torque_constant", "voltage"))
    by_plate = sh.Simulation(driven(none | plate), solver=solver, dt=1e-3)
    by_circuit = sh.Simulation(driven({"inductance": 1e-3}), solver=solver, dt=1e-3)
    for sim in (by_plate, by_circuit):
        sim.run(0.02)
    assert rate(by_plate) == pytest.approx(rate(by_circuit), rel=1e-12)
    powers = [sim.dc_motor("motor").electrical_power for sim in (by_plate, by_circuit)]
    assert powers[0] == pytest.approx(powers[1], rel=1e-9)


@both
def test_stall_torque_and_idle_speed(solver):
    sim = sh.Simulation(driven({"input": 0.5 * V}, limits=(-1.0, 0.0)), solver=solver, dt=1e-3)
    sim.run(0.1)
    assert sim.dc_motor("motor").torque == pytest.approx(0.5 * K * V / R, rel=1e-9)
    assert sim.joint("axle").limit_force[0] == pytest.approx(-7.5, rel=1e-6)  # half of 15 N m
    sim = sh.Simulation(driven(), solver=solver, dt=1e-3)
    sim.run(0.5)
    assert rate(sim) == pytest.approx(4.8, rel=1e-9)
    assert abs(sim.dc_motor("motor").current) < 1e-6


@both
def test_a_load_drives_it_back(solver):
    """Terminals shorted, T on the joint: ω = T R/(N K)², current −T/(N K), all the power is heat."""
    sim = sh.Simulation(driven({"input": 0.0}), solver=solver, dt=1e-3)
    sim.joint("axle").control = 3.0
    sim.run(0.3)
    seen = sim.dc_motor("motor")
    assert rate(sim) == pytest.approx(3.0 / FALL, rel=1e-6)
    assert seen.current == pytest.approx(-3.0 / (N * K), rel=1e-6)
    assert seen.heat == pytest.approx(3.0 * rate(sim), rel=1e-6)
    assert seen.mechanical_power == pytest.approx(-seen.heat, rel=1e-6)


@both
def test_its_brake_stops_it_and_holds(solver):
    """J ω̇ = −c ω − N b: ω = (ω₀ + N b/c) exp(−c t/J) − N b/c."""
    brake = 0.02
    sim = sh.Simulation(driven({"input": 0.0, "brake": brake}, velocity=4.0), solver=solver, dt=2e-4)
    sim.dc_motor("motor").brake = True
    pull = N * brake / FALL
    sim.run(0.005)
    assert rate(sim) == pytest.approx((4.0 + pull) * math.exp(-FALL * 0.005 / INERTIA) - pull, rel=2e-3)
    sim.run(0.2)
    place = sim.joint("axle").position[0]
    sim.joint("axle").control = 0.99 * N * brake
    sim.run(0.5)
    assert sim.joint("axle").position[0] == pytest.approx(place, abs=1e-12)
    sim.dc_motor("motor").brake = False
    sim.run(0.3)
    assert rate(sim) == pytest.approx(0.99 * N * brake / FALL, rel=1e-4)


@both
def test_its_gear_loses_both_ways(solver):
    """Lifting, N η τ = T; lowered, N τ/η = T: steady speeds by the motor's curve."""
    eta, load = 0.8, 3.0
    sim = sh.Simulation(driven({"efficiency": eta}), solver=solver, dt=1e-3)
    sim.joint("axle").control = -load
    sim.run(0.5)
    lifting = load / (eta * N)  # N m of the shaft
    assert sim.dc_motor("motor").torque == pytest.approx(lifting, rel=1e-3)
    assert rate(sim) == pytest.approx((V / K - lifting * R / K**2) / N, rel=1e-3)
    sim.actuator("motor").input = 0.0
    sim.run(0.5)
    lowered = load * eta / N
    assert rate(sim) == pytest.approx(-lowered * R / K**2 / N, rel=1e-3)


@both
@pytest.mark.parametrize("inductance", [0.0, 1e-3])
def test_its_driver_limits_the_current(solver, inductance):
    most = 1.5  # A, of 6 A at stall
    sim = sh.Simulation(driven({"max_current": most, "inductance": inductance}), solver=solver, dt=1e-3)
    largest = 0.0
    for _ in range(20):
        sim.step()
        largest = max(largest, abs(float(sim.dc_motor("motor").current)))
    assert largest == pytest.approx(most, rel=1e-9)
    late = 0.07 * inductance  # s, that the current needs to rise, on average
    assert rate(sim) == pytest.approx(N * K * most * (0.02 - late) / INERTIA, rel=0.01)
    assert sim.dc_motor("motor").voltage < V


@both
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_voltage_of_a_stalled_motor_while_its_driver_limits_the_current(solver, sign):
    """The shaft is stuck and L/R = 10 ms: i = (V/R)(1 − exp(−R t/L)) until the driver holds it at 1.5 A, in the step
    from 2.5 ms to 3.5 ms (the first step acts for half of dt). Before, all of V is on the terminals; in that step
    R i + L Δi/dt with Δi from the closed form; afterwards R i alone."""
    most, inductance, dt = 1.5, 0.02, 1e-3
    facts = {"max_current": most, "inductance": inductance, "input": sign * V}
    stuck = {"limits": (-1.0, 0.0) if sign > 0 else (0.0, 1.0)}
    sim = sh.Simulation(driven(facts, **stuck), solver=solver, dt=dt)
    before = V / R * (1 - math.exp(-R * 2.5 * dt / inductance))
    wanted = [V, V, V, R * most + inductance * (most - before) / dt, R * most, R * most]
    assert R * most < wanted[3] < V
    for volts in wanted:
        sim.step()
        assert float(sim.dc_motor("motor").voltage) == pytest.approx(sign * volts, rel=1e-5)


@both
@pytest.mark.parametrize("inductance", [0.0, 1e-3])
@pytest.mark.parametrize("most", [math.inf, 2.0])
def test_its_powers_balance(solver, inductance, most):
    """∫ u i = ∫ R i² + kinetic energy gained + ½ L i², through a start and a reversal."""
    dt = 1e-3
    sim = sh.Simulation(driven({"inductance": inductance, "max_current": most}), solver=solver, dt=dt)
    seen = sim.dc_motor("motor")
    taken = heat = done = 0.0
    for k in range(120):
        seen.input = V if k < 60 else -V
        sim.step()
        acted = 0.5 * dt if k == 0 else dt
        taken += acted * float(seen.electrical_power)
        heat += acted * float(seen.heat)
        done += acted * float(seen.mechanical_power)
    kinetic = 0.5 * INERTIA * rate(sim) ** 2
    stored = 0.5 * inductance * float(seen.current) ** 2
    assert taken == pytest.approx(heat + done + stored, rel=5e-3)
    assert done == pytest.approx(kinetic, rel=0.01, abs=0.01 * heat)


def test_the_exact_solver_knows_it_without_inductance():
    run = sh.simulate(driven(), 0.05, times=list(W))
    np.testing.assert_allclose(run.v[1:, 0], list(W.values()), rtol=1e-8)
    with pytest.raises(sh.ModelError, match="DC motors with inductance"):
        sh.simulate(driven({"inductance": 1e-3}), 0.05)


def test_it_lifts_a_pendulum_as_scipy_says():
    """In a tree that moves, with gravity: a rod driven from hanging to horizontal."""
    scene = sh.Scene(name="lift")
    scene.add(sh.Body(name="rod", mass=0.5, inertia=(0.01, 0.01, 1e-4), position=(0, 0, -0.3)))
    scene.add(sh.Revolute(name="axle", parent="world", child="rod", axis=(0, 1, 0)))
    scene.add(motor(input=3.0, inductance=2e-3))
    inertia = 0.01 + 0.5 * 0.3**2 + N**2 * ROTOR

    def rates(_: float, y: np.ndarray) -> list[float]:
        angle, speed, current = y
        weight = 0.5 * 9.81 * 0.3 * math.sin(angle)
        return [speed, (N * K * current - weight) / inertia, (3.0 - R * current - K * N * speed) / 2e-3]

    wanted = solve_ivp(rates, (0, 0.5), [0, 0, 0], method="Radau", rtol=1e-9, atol=1e-11).y[:, -1]
    sim = sh.Simulation(scene, dt=1e-3)
    sim.run(0.5)
    assert sim.joint("axle").position[0] == pytest.approx(wanted[0], rel=1e-4)
    assert rate(sim) == pytest.approx(wanted[1], rel=1e-4)


def test_worlds_files_and_saved_states_know_it(tmp_path):
    scene = driven({"inductance": 1e-3, "brake": 0.1, "efficiency": 0.9})
    scene.save(tmp_path / "wheel.toml")
    assert sh.Scene.load(tmp_path / "wheel.toml") == scene
    sim = sh.Simulation(scene, dt=1e-3, worlds=2)
    sim.dc_motor("motor").input = [V, -0.5 * V]
    sim.run(0.02)
    saved = sim.save()
    sim.run(0.02)
    other = sh.Simulation(scene, dt=1e-3, worlds=2)
    other.restore(saved)
    other.run(0.02)
    assert np.array_equal(sim.q, other.q)
    assert np.array_equal(sim.dc_motor("motor").current, other.dc_motor("motor").current)
    assert sim.v[0, 0] > 0 > sim.v[0, 1]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            {"resistance": None},
            "DC motor 'motor': is not described one way: given torque_constant; allowed: stall_torque",
        ),
        ({"stall_torque": 1.0}, "is not described one way"),
        ({"electrical_time": 1e-3}, "electrical_time belongs to the other description"),
        ({"resistance": 0.0}, "resistance is out of range"),
        ({"ratio": 0.0}, "ratio is zero"),
        ({"efficiency": 1.5}, "efficiency is out of range"),
        ({"efficiency": 0.0}, "efficiency is out of range"),
        ({"rotor_inertia": -1.0}, "rotor_inertia is out of range"),
        ({"max_current": 0.0}, "max_current is out of range"),
        ({"voltage": math.nan}, "voltage is not a finite number"),
        ({"joint": "axel"}, "DC motor 'motor': unknown joint 'axel'; did you mean 'axle'"),
        ({"coordinate": 1}, "coordinate is out of range"),
    ],
)
def test_a_wrong_one_is_refused(facts, message):
    given = {"name": "motor", "joint": "axle", "resistance": R, "torque_constant": K}
    scene = wheel()
    scene.add(sh.DCMotor(**(given | facts)))
    with pytest.raises(sh.ModelError, match=message):
        sh.compile(scene)


def test_what_is_no_dc_motor_is_not_shown_as_one():
    scene = wheel()
    scene.add(sh.Actuator(name="plain", joints=["axle"]))
    with pytest.raises(sh.ModelError, match="is no DC motor"):
        sh.Simulation(scene).dc_motor("plain")
    with pytest.raises(sh.ModelError, match="brake of DC motor 'motor': is out of range"):
        sh.Simulation(driven()).dc_motor("motor").brake = 2.0
