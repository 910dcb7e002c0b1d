"""Sensors with rates, delays, noise, bias and resolution: what they show, repeatably, and after saving."""

from __future__ import annotations

import numpy as np
import pytest
from refusal import refused

import sharnir as sh
from sharnir.simulation.switch_solver import with_solver


def spinner(**sensor):
    """A wheel that turns at 2 rad/s, its angle measured truly and by a sensor as described; and a pendulum on it."""
    scene = sh.Scene(name="spinner")
    scene.add(sh.Body(name="wheel", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    scene.add(sh.Body(name="bob", mass=0.5, inertia=(0.01, 0.01, 0.01), position=(0.3, 0, -0.5)))
    scene.add(sh.Revolute(name="axle", parent="world", child="wheel", axis=(0, 0, 1), velocity=2.0))
    scene.add(sh.Revolute(name="pin", parent="wheel", child="bob", anchor=(0.3, 0, 0), axis=(0, 1, 0)))
    scene.add(sh.Sensor(name="angle", kind="joint_position", of="axle"))
    scene.add(sh.Sensor(**{"name": "measured", "kind": "joint_position", "of": "axle"} | sensor))
    return scene


def readings(sim, steps, *names):
    """[steps, names] before every step."""
    out = []
    for _ in range(steps):
        out.append([sim.sensor(name) for name in names])
        sim.step()
    return np.array(out)


def test_samples_are_held_for_a_period():
    sim = sh.Simulation(spinner(rate=100.0), dt=0.001)
    angle, measured = readings(sim, 95, "angle", "measured").T
    for k in range(95):
        assert measured[k] == angle[k - k % 10]


def test_samples_are_late_by_the_delay():
    """Both by whole samples and, without a rate, by whole steps; at first, what was first."""
    for sensor, step in (({"rate": 100.0, "delay": 0.02}, 10), ({"delay": 0.007}, 1)):
        sim = sh.Simulation(spinner(**sensor), dt=0.001)
        late = round(sensor["delay"] / 0.001)
        angle, measured = readings(sim, 80, "angle", "measured").T
        for k in range(80):
            assert measured[k] == angle[max(0, (k - late) - (k - late) % step)]


def test_samples_do_not_wait_for_readers():
    """Samples are the same where nobody looks for a while, and steps are taken many at a time."""
    often, seldom = (sh.Simulation(spinner(rate=30.0, delay=0.05), dt=0.001) for _ in range(2))
    readings(often, 400, "measured")
    seldom.step(400)
    assert often.sensor("measured") == seldom.sensor("measured")


def test_rate_of_samples_does_not_drift():
    """At 30 Hz and 7 ms, samples are taken at the first step at or after every thirtieth of a second."""
    sim = sh.Simulation(spinner(rate=30.0), dt=0.007)
    angle, measured = readings(sim, 1000, "angle", "measured").T
    changed = np.flatnonzero(np.diff(measured)) + 1
    expected = np.ceil(np.arange(1, len(changed) + 1) / 30 / 0.007 - 1e-6).astype(int)
    np.testing.assert_array_equal(changed, expected)
    np.testing.assert_array_equal(measured[changed], angle[changed])


def test_encoder_shows_multiples_of_its_resolution():
    step = 2 * np.pi / 4096
    sim = sh.Simulation(spinner(resolution=step), dt=0.001)
    angle, measured = readings(sim, 200, "angle", "measured").T
    np.testing.assert_allclose(measured / step, np.round(measured / step), atol=1e-9)
    assert np.abs(measured - angle).max() <= step / 2 + 1e-12 and len(set(measured)) > 100


def test_noise_has_its_deviation_and_bias():
    sim = sh.Simulation(spinner(noise=0.2, bias=-0.3, seed=5), dt=0.001)
    angle, measured = readings(sim, 4000, "angle", "measured").T
    error = measured - angle
    assert abs(error.mean() + 0.3) < 4 * 0.2 / np.sqrt(4000)
    assert abs(error.std() / 0.2 - 1) < 4 / np.sqrt(8000)
    assert abs(np.corrcoef(error[1:], error[:-1])[0, 1]) < 4 / np.sqrt(4000)


def test_noise_is_the_same_every_time_and_differs_by_seed_and_name():
    def errors(name="measured", **sensor):
        sim = sh.Simulation(spinner(name=name, noise=0.1, **sensor), dt=0.001)
        angle, shown = readings(sim, 50, "angle", name).T
        return shown - angle

    np.testing.assert_array_equal(errors(), errors())
    assert np.abs(errors() - errors(seed=1)).min() > 0
    assert np.abs(errors() - errors(name="other")).min() > 0


def test_vectors_have_noise_by_component():
    scene = spinner()
    scene.add(sh.Sensor(name="gyro", kind="gyro", of="wheel", noise=(0.0, 0.1, 0.0), bias=(1.0, 0.0, 0.0)))
    scene.add(sh.Sensor(name="turn", kind="orientation", of="world", bias=(0.2, 0, 0)))
    sim = sh.Simulation(scene, dt=0.001)
    shown = np.array([sim.sensor("gyro") for _ in range(3)])
    np.testing.assert_array_equal(shown[0], shown[1])
    assert shown[0][0] == 1.0 and shown[0][1] != 0.0 and shown[0][2] == pytest.approx(2.0)
    np.testing.assert_allclose(sim.sensor("turn"), [np.sin(0.1), 0, 0, np.cos(0.1)], atol=1e-15)


SAMPLED = {"rate": 70.0, "delay": 0.04, "noise": 0.1}


def test_saved_samples_are_shown_again(tmp_path):
    """Restored in place, in another simulation, from a file, and by the other solver."""
    scene = spinner(**SAMPLED)
    sim = sh.Simulation(scene, dt=0.003)
    sim.step(50)
    saved = sim.save()
    first = readings(sim, 60, "measured")
    sim.restore(saved)
    np.testing.assert_array_equal(readings(sim, 60, "measured"), first)
    other = sh.Simulation(scene, dt=0.01)
    saved.write(tmp_path / "state.npz")
    other.restore(sh.Saved.read(tmp_path / "state.npz"))
    np.testing.assert_array_equal(readings(other, 60, "measured"), first)
    sim.restore(saved)
    np.testing.assert_allclose(readings(with_solver(sim, "simmc"), 60, "measured"), first, atol=1e-5)


def test_reset_forgets_samples():
    sim = sh.Simulation(spinner(**SAMPLED), dt=0.003)
    first = readings(sim, 60, "measured")
    sim.reset()
    np.testing.assert_array_equal(readings(sim, 60, "measured"), first)


@pytest.mark.parametrize("solver", ["simgc", "simmc"])
def test_measuring_changes_no_motion(solver):
    """Wrenches and accelerations sampled all the time: the trajectory is the same to the bit."""
    plain, measured = spinner(), spinner(rate=200.0)
    measured.add(sh.Sensor(name="cell", kind="wrench", of="pin", rate=500.0))
    measured.add(sh.Sensor(name="imu", kind="accelerometer", of="bob", delay=0.01))
    runs = [sh.Simulation(scene, solver=solver, dt=0.002) for scene in (plain, measured)]
    for sim in runs:
        sim.run(0.6)
    assert (runs[0].q == runs[1].q).all() and (runs[0].v == runs[1].v).all()
    assert runs[0].sampler is None


def test_controllers_see_samples_of_their_time():
    sim, seen = sh.Simulation(spinner(rate=100.0), dt=0.001), []
    sim.add_controller(lambda s: seen.append((s.time, s.sensor("measured"), s.sensor("angle"))), rate=40)
    sim.run(0.2)
    for time, shown, angle in seen:
        assert shown <= angle and angle - shown < 2.0 * 0.01 + 1e-9
        if round(time * 1000) % 10 == 0:
            assert shown == angle


def test_a_new_step_size_keeps_the_clock():
    sim = sh.Simulation(spinner(rate=100.0), dt=0.001)
    sim.step(33)
    sim.dt = 0.0005
    measured = readings(sim, 60, "measured")[:, 0]
    held = np.flatnonzero(np.diff(measured)) + 1
    np.testing.assert_array_equal(held, [14, 34, 54])


@pytest.mark.parametrize(
    ("sensor", "message"),
    [
        ({"rate": 0.0}, "rate is out of range"),
        ({"delay": -1.0}, "delay is out of range"),
        ({"noise": -0.1}, "noise is out of range"),
        ({"noise": (0.1, 0.1)}, "noise has the wrong shape"),
        ({"bias": np.inf}, "bias is not a finite number"),
        ({"resolution": -1}, "resolution is out of range"),
        ({"seed": -1}, "seed is out of range"),
        ({"region": sh.Sphere(radius=1.0)}, "a region is of contacts only"),
        ({"kind": "orientation", "of": "wheel", "resolution": 0.1}, "a quaternion has no resolution"),
        ({"kind": "wrench", "of": "wheel"}, "unknown joint 'wheel'"),
    ],
)
def test_bad_sensors_are_refused(sensor, message):
    with refused("sensor 'measured'", message):
        sh.compile(spinner(**sensor))


def test_described_sensors_are_saved_in_files(tmp_path):
    scene = spinner(noise=0.1, bias=0.2, rate=50.0, delay=0.01, resolution=0.001, seed=7)
    scene.save(tmp_path / "spinner.toml")
    assert sh.Scene.load(tmp_path / "spinner.toml") == scene
