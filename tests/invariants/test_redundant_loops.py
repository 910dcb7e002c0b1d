"""Redundant and degenerate constraints: nothing blows up, nothing stalls, reports are honest."""

from __future__ import annotations

import math

import numpy as np
import pytest
from measures import all_four, both, direct_only, end_of, flat_four_bar, gaps

import sharnir as sh
from sharnir import scenes

REDUNDANT = {
    "peaucellier": {"r": 0.2},
    "four_bar": {},
    "n_four_bar": {"n": 3},
}


def welded() -> sh.Scene:
    """A pendulum of two boxes, welded to each other twice."""
    scene = sh.Scene(name="welded")
    scene.add(sh.Body(name="a", shapes=[sh.Box(size=(0.3, 0.1, 0.1))], position=(0.15, 0, 0)))
    scene.add(sh.Body(name="b", shapes=[sh.Box(size=(0.3, 0.1, 0.1))], position=(0.45, 0, 0)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="a", axis=(0, 1, 0)))
    scene.add(sh.Fixed(name="weld1", parent="a", child="b", anchor=(0.3, 0, 0)))
    scene.add(sh.Fixed(name="weld2", parent="a", child="b", anchor=(0.3, 0.05, 0)))
    return scene


def misaligned(joint: str, gravity: bool = False, motor: float | None = None) -> sh.Scene:
    """A four-bar with one axis off by 0.1°: closed, and rigid but for rounding."""
    scene = scenes.make("four_bar", gravity=gravity)
    tilt = math.radians(0.1)
    for j in scene.joints:
        j.velocity = None
        if j.name == joint:
            j.axis = (math.sin(tilt), -math.cos(tilt), 0.0)
    if motor is not None:
        scene.add(sh.Motor(name="motor", joint="joint1", velocity=2.0, max_force=motor))
    return scene


# --- honest reports --------------------------------------------------------------------------------------------------


@all_four
@pytest.mark.parametrize("scene", REDUNDANT)
def test_the_reported_position_error_is_that_of_the_bodies(scene, solver, bilateral):
    """Recomputed from poses in numpy. Poses of some metres are known to 1e-15; axes of joints, products of some six
    rotations, likewise."""
    sim = sh.Simulation(scenes.make(scene, **REDUNDANT[scene]), solver=solver, bilateral=bilateral)
    for _ in range(60):
        report = sim.step()
        assert report.position_error == pytest.approx(gaps(sim).rows, rel=1e-9, abs=2e-14)


@both
def test_the_position_error_of_an_open_linkage_is_reported(solver):
    sim = sh.Simulation(scenes.make("four_bar"), solver=solver)
    opened(sim, 0.01)
    first = gaps(sim)
    assert 0.006 < first.rows <= first.apart < 0.0101
    report = sim.step()
    assert report.position_error == pytest.approx(gaps(sim).rows, rel=1e-9)


@both
@pytest.mark.parametrize("scene", ["peaucellier", "five_link_chain"])
@pytest.mark.parametrize("sweeps", [2, 7, 30])
def test_the_reported_residual_is_the_last_change_of_an_impulse(scene, solver, sweeps):
    """Impulses after n and after n − 1 sweeps, from two runs that stop there."""
    sim = sh.Simulation(scenes.make(scene), solver=solver, method="paper", epsilon=0.0)
    sim.step(3)
    saved, impulses, reports = sim.save(), [], []
    for cap in (sweeps - 1, sweeps):
        sim.configure(max_sweeps=cap)
        sim.restore(saved)
        reports.append(sim.step())
        impulses.append(sim.impulses.state.p.numpy().copy())
    change = np.abs(impulses[1] - impulses[0]).max()
    assert reports[1].iterations == sweeps and reports[1].reason == "sweeps"
    assert change > 0
    assert reports[1].residual == pytest.approx(change, rel=1e-6, abs=1e-15 * np.abs(impulses[1]).max())


@both
@pytest.mark.parametrize("settings", [{"bilateral": "sweep"}, {"method": "paper"}], ids=str)
def test_sweeps_end_where_they_say(solver, settings):
    """Converged means that no impulse changed by more than ε, capped that one did."""
    epsilon = 1e-7
    for cap in (2, 1000):
        sim = sh.Simulation(scenes.make("peaucellier"), solver=solver, epsilon=epsilon, max_sweeps=cap, **settings)
        reports = [sim.step() for _ in range(30)]
        for report in reports:
            assert report.reason in ("converged", "sweeps")
            assert (report.residual <= epsilon) == (report.reason == "converged")
        assert sim.counts.capped == sum(report.reason == "sweeps" for report in reports)
        assert (sim.counts.capped > 0) == (cap == 2)


# --- redundant, degenerate -------------------------------------------------------------------------------------------


@all_four
def test_n_four_bars_keep_moving(solver, bilateral):
    """10 s through flat poses. The method is of order 2: its energy errs by some (ω dt)² of what is exchanged."""
    sim = sh.Simulation(scenes.make("n_four_bar", n=3), solver=solver, dt=0.005, bilateral=bilateral)
    start, worst, gained, moved = sum(sim.energy), 0.0, 0.0, []
    swing = 2 * start  # J, from the top to the bottom
    for _ in range(200):
        report = sim.step(10)
        worst = max(worst, report.position_error)
        gained = max(gained, sum(sim.energy) - start)
        moved.append(abs(float(sim.joint("ground0").velocity[0])))
    fastest = max(moved) * 0.005
    assert worst < 1e-4
    assert gained < fastest**2 * swing
    assert abs(sum(sim.energy) - start) < 10 * fastest**2 * swing
    assert np.mean(moved) > 1.0
    assert sim.counts.capped < 0.02 * sim.counts.steps


@all_four
def test_a_body_welded_twice_swings_like_one_welded_once(solver, bilateral):
    once = welded()
    once.joints[:] = [j for j in once.joints if j.name != "weld2"]
    twice, single = (sh.Simulation(s, solver=solver, dt=0.005, bilateral=bilateral) for s in (welded(), once))
    for _ in range(40):
        report = twice.step(10)
        single.step(10)
        assert report.position_error < 1e-7 and report.reason == "converged"
        # epsilon, 1e-6 of the weight times dt, per step over the pendulum's inertia of 0.7 kg m², and its growth
        np.testing.assert_allclose(twice.joint("hinge").position, single.joint("hinge").position, atol=1e-5)
    both_welds = twice.joint("weld1").wrench[:3] + twice.joint("weld2").wrench[:3]
    np.testing.assert_allclose(both_welds, single.joint("weld1").wrench[:3], rtol=1e-3, atol=1e-2)
    assert twice.counts.capped == 0


@direct_only
def test_a_linkage_with_an_axis_misaligned_stands_still_or_moves_and_gains_nothing(solver, bilateral):
    """0.1° off: the linkage is rigid, or moves if its hinges give way by what the axis is off. Standing, errors of
    1e-8 m or rad, which the solver calls its own, let a 0.1 m crank move by 1e-8 / tilt; moving, energy errs by
    (ω dt)² of what is exchanged. It has no more energy than that and what its motor gave, and sweeps end."""
    tilt, dt = math.radians(0.1), 0.005
    weight = 9.81 * 0.55  # N
    for joint in ("joint2", "joint3", "joint4"):
        for scene in (misaligned(joint, gravity=True), misaligned(joint, motor=0.05)):
            sim = sh.Simulation(scene, solver=solver, dt=dt, bilateral=bilateral)
            start, most, fastest, exchanged = sum(sim.energy), 0.0, 0.0, 0.0
            for _ in range(200):
                report = sim.step()
                most = max(most, sum(sim.energy) - start)
                fastest = max(fastest, float(np.linalg.norm(sim.body("rocker").angular_velocity)))
                exchanged = max(exchanged, sim.energy[0])
                assert report.position_error == pytest.approx(gaps(sim).rows, rel=1e-9, abs=2e-14)
                assert report.position_error < 2 * tilt, joint
            work = 0.05 * abs(float(sim.joint("joint1").position[0])) if sim.model.motor_names else 0.0
            allowed = 0.1 * weight * 1e-8 / tilt + (fastest * dt) ** 2 * exchanged
            assert most <= work + allowed, (joint, most, allowed)
            assert sim.counts.capped < 0.5 * sim.counts.steps, joint


def test_a_speed_that_a_misaligned_linkage_cannot_have_is_refused():
    scene = misaligned("joint3")
    next(j for j in scene.joints if j.name == "joint1").velocity = 2.0
    with pytest.raises(sh.ModelError, match="velocities contradict"):
        sh.Simulation(scene)


@all_four
def test_a_motor_of_limited_torque_stops_where_the_linkage_jams(solver, bilateral):
    """Peaucellier with r = 0.2 ends where OP = L − s: cos(θ/2) = 0.3/0.4, 82.82°."""
    end = 2 * math.acos(0.75)
    scene = scenes.make("peaucellier")
    scene.motors[0].max_force = 1.0
    sim = sh.Simulation(scene, solver=solver, bilateral=bilateral)
    for _ in range(400):
        sim.step()
        assert gaps(sim).apart < 1e-4
        angle = float(sim.joint("joint1").position[0])
        # an error of g lets OP shrink by g: 2 r sin(θ/2) dθ/2 = g
        assert angle < end + 1e-4 / (0.2 * math.sin(end / 2))
    assert angle > 0.9 * end
    assert sim.counts.capped < 0.1 * sim.counts.steps


@direct_only
def test_a_motor_without_bound_does_not_tear_a_jammed_linkage_apart_silently(solver, bilateral):
    """It asks for what cannot be. The run may end with an error or warn and hold; the state stays finite and closed to
    what a user would see. In maximal coordinates it may be torn, by metres, but not without a warning in that step."""
    sim = sh.Simulation(scenes.make("peaucellier"), solver=solver, bilateral=bilateral)
    before = sh.Simulation(scenes.make("peaucellier"), solver=solver, bilateral=bilateral)
    before.step(100)
    moving = before.energy[0]
    try:
        for _ in range(500):
            report = sim.step()
            assert np.isfinite(sim.q).all()
            torn, fast = gaps(sim).apart, sim.energy[0] / moving
            told = solver == "simmc" and bool(report.warnings)
            assert (torn < 0.05 and fast < 1000) or told, (report.time, torn, fast)
    except sh.SimulationError as error:
        assert "t = " in str(error)
    else:
        assert sim.counts.warned > 0


# --- folds -----------------------------------------------------------------------------------------------------------


@all_four
@pytest.mark.parametrize("dt", [0.01, 0.005])
def test_a_parallelogram_passes_its_flat_poses(solver, bilateral, dt):
    """30 s of 2 rad/s without weight: twenty folds. Energy errs by order 2 and is never gained; it does not stall, and
    leaves its branch (crank and rocker in step) only with a warning."""
    sim = sh.Simulation(flat_four_bar(), solver=solver, dt=dt, bilateral=bilateral)
    start, angle = sim.energy[0], 0.0
    left = False
    for _ in range(round(30 / dt) // 10):
        report = sim.step(10)
        angle = float(sim.joint("joint1").position[0])
        left = left or abs(angle - float(sim.joint("joint4").position[0])) > 0.1
        assert report.position_error < 1e-5
        assert sim.energy[0] < start * (1 + (2.0 * dt) ** 2)
    assert sim.energy[0] > 0.99 * start, (sim.energy[0] / start, sim.counts)
    assert abs(angle) > 0.9 * 60 or left
    assert not left or sim.counts.warned > 0
    assert sim.counts.capped < 0.02 * sim.counts.steps


def straightness(sim, r: float, most: float, speed: float, steps: int, iterations=None):
    """Largest distance of T from its line while the crank swings between ±most."""
    line = (0.5**2 - 0.2**2) / (2 * r)
    worst, sign = 0.0, 1.0
    for _ in range(steps):
        if sign * float(sim.joint("joint1").position[0]) >= most:
            sign = -sign
            sim.motor("motor").target = sign * speed
        report = sim.step()
        if iterations is not None:
            iterations.append(report.iterations)
        worst = max(worst, abs(end_of(sim, "side_at", 0.1)[0] - line))
    return worst


STRAIGHT = {
    ("simgc", "direct"): 1e-8, ("simgc", "sweep"): 1e-6, ("simmc", "direct"): 1e-7, ("simmc", "sweep"): 5e-6,
}  # fmt: skip


@all_four
def test_peaucellier_runs_straight_over_the_whole_stroke(solver, bilateral):
    sim = sh.Simulation(scenes.make("peaucellier"), solver=solver, bilateral=bilateral, epsilon=1e-6)
    iterations = []
    worst = straightness(sim, 0.2, math.radians(40), 1.0, 560, iterations)
    assert worst < STRAIGHT[solver, bilateral]
    assert np.mean(iterations) <= {"simgc": 10, "simmc": 25}[solver]
    assert sim.counts.capped == sim.counts.guarded == sim.counts.warned == 0


@both
def test_peaucellier_takes_few_sweeps_as_published(solver):
    sim = sh.Simulation(scenes.make("peaucellier"), solver=solver, method="paper", epsilon=1e-6)
    iterations = []
    worst = straightness(sim, 0.2, math.radians(40), 1.0, 560, iterations)
    assert np.mean(iterations) <= {"simgc": 60, "simmc": 150}[solver]
    assert worst < 1e-3


@all_four
@pytest.mark.parametrize("speed", [1.0, 0.37, 3.0])
@pytest.mark.parametrize("r", [0.227, 0.24])
def test_peaucellier_near_and_through_its_fold(solver, bilateral, r, speed, request):
    """P meets T where OP² = L² − s²: never for r = 0.227 (by 4 mm), at ±34.5° for r = 0.24. There an error g of hinges
    moves T by up to √(2 s g), 2 cm for the 1 mm allowed here; on the other branch T goes round with P, up to 4 cm off
    its line: that must not happen without a warning."""
    if (solver, bilateral, r, speed) == ("simgc", "sweep", 0.24, 3.0):
        request.applymarker(
            pytest.mark.xfail(reason="swept joints open where a fast motor without bound meets the fold")
        )
    sim = sh.Simulation(scenes.make("peaucellier", r=r, speed=speed), solver=solver, bilateral=bilateral, epsilon=1e-6)
    line, sign = 0.21 / (2 * r), 1.0
    for _ in range(900):
        if sign * float(sim.joint("joint1").position[0]) >= math.radians(60):
            sign = -sign
            sim.motor("motor").target = sign * speed
        report = sim.step()
        off = abs(end_of(sim, "side_at", 0.1)[0] - line)
        assert np.isfinite(off) and gaps(sim).apart < 1e-3
        assert off < math.sqrt(2 * 0.2 * 1e-3) or sim.counts.warned > 0, (report.time, off)
    assert sim.counts.capped < 0.1 * sim.counts.steps
    if r < 0.229:
        assert off < 1e-4


# --- open loops ------------------------------------------------------------------------------------------------------


def opened(sim, gap: float) -> None:
    """Open the four-bar's loop by `gap` and begin from there with the velocities it had."""
    state = sim.impulses.state
    q, v, loop_q = (x.numpy().copy() for x in (state.q, state.v, state.loop_q))
    if sim.solver == "simgc":
        q[sim.inner.joint("joint2").q.start] += gap / 0.25  # turns the coupler
    else:
        q[sim.inner.q_start[sim.inner.body("rocker")]] += gap
    sim.impulses.start(q, v, loop_q)
    sim._changed()


@all_four
def test_a_loop_open_by_a_centimetre_closes_without_a_kick(solver, bilateral):
    """(1 − 0.2)²⁵ = 0.4 %: 1 cm leaves 0.04 mm. No force acts: kinetic energy changes only because the linkage passes
    through other poses than those it would have passed through closed."""
    sim = sh.Simulation(scenes.make("four_bar"), solver=solver, bilateral=bilateral, erp=0.2)
    opened(sim, 0.01)
    assert gaps(sim).apart == pytest.approx(0.01, rel=1e-2)
    before, energies = sim.energy[0], []
    for _ in range(25):
        report = sim.step()
        energies.append(sim.energy[0])
        assert report.position_error == pytest.approx(gaps(sim).rows, rel=1e-9)
    assert gaps(sim).apart < 1e-4
    assert np.abs(np.array(energies) / before - 1).max() < 1e-3
    sim.step(75)
    assert gaps(sim).apart < 1e-6
    assert abs(sim.energy[0] / before - 1) < 1e-3


# --- warm starting ---------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(("scene", "duration"), [("five_link_chain", 20.0), ("peaucellier", 0.7)])
def test_warm_starting_saves_two_thirds_of_the_sweeps(scene, duration, solver):
    """The published method at ε = 1e-6 N s and 10 ms, mean over the motion until rest or 40°."""
    means = []
    for warm in (True, False):
        sim = sh.Simulation(scenes.make(scene), solver=solver, method="paper", epsilon=1e-6, warm_start=warm)
        means.append(np.mean([sim.step().iterations for _ in range(round(duration / sim.dt))]))
    least = {"simmc": 3.0, "simgc": 2.4}[solver]  # 2.5 to 2.6 measured in generalised coordinates
    assert means[1] >= least * means[0], means
