"""Impacts against closed forms: two bodies, a bouncing ball, a ball on a rough plane, a ball and a thin plate; several
impacts in a step: columns, Newton's cradle, mirrored rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from contact_scenes import Contacts, G, ground, put, references, stored_energy, stuff, watch
from measures import both

import sharnir as sh
from sharnir.benchmarks.holds.scenes import ball_column, column_drop, cradle, three_balls
from sharnir.impulse.slots import ReportItem, StepWarning

CLOSED = references()["closed_forms"]


def two_balls(m, v, e, across=0.0, mu=0.0, gravity=0.0):
    scene = sh.Scene(name="two", gravity=(0.0, 0.0, -gravity))
    for i in (0, 1):
        x = (-0.15, 0.15)[i]
        shape = sh.Sphere(radius=0.1, material=stuff(mu, restitution=e))
        put(scene, f"b{i}", shape, (x, across * i, 0.0), (v[i], 0.0, 0.0), mass=m[i])
    return scene


@both
@pytest.mark.parametrize("dt", [0.01, 0.001])
@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("m", [(1.0, 3.0), (1.0, 1.0), (1.0, 100.0), (1000.0, 1.0)])
def test_two_bodies_leave_as_newton_says(solver, dt, e, m):
    """Momentum is kept and the relative speed becomes −e of itself; of all steps alike, to rounding."""
    v = (2.0, 0.0)
    sim = sh.Simulation(two_balls(m, v, e), solver=solver, dt=dt)
    sim.run(0.3)
    u = (m[0] * v[0] + m[1] * v[1]) / sum(m)
    after = u - e * m[1] * (v[0] - v[1]) / sum(m), u + e * m[0] * (v[0] - v[1]) / sum(m)
    found = [sim.body(f"b{i}").velocity[0] for i in (0, 1)]
    np.testing.assert_allclose(found, after, atol=1e-9)
    # the impact is 0.05 s after the start; it is put off to the end of a step or brought forward to its start
    place = [x + v0 * 0.05 + v1 * 0.25 for x, v0, v1 in zip((-0.15, 0.15), v, after, strict=True)]
    np.testing.assert_allclose([sim.body(f"b{i}").position[0] for i in (0, 1)], place, atol=1.01 * dt * 4.0)


@both
def test_two_bodies_as_the_reference_says(solver):
    ref = CLOSED["impact_2body"]
    sim = sh.Simulation(two_balls(ref["m"], ref["v"], ref["e"]), solver=solver, dt=0.001)
    sim.run(0.3)
    np.testing.assert_allclose([sim.body(f"b{i}").velocity[0] for i in (0, 1)], ref["v_after"], atol=1e-9)


@both
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_oblique_smooth_balls_exchange_normal_speeds_only(solver, e):
    """Equal balls, one at rest, centres 0.1 m off the line of flight: the normal at impact has sine 1/2."""
    dt = 1e-4
    sim = sh.Simulation(two_balls((1.0, 1.0), (2.0, 0.0), e, across=0.1), solver=solver, dt=dt)
    sim.run(0.3)
    n = np.array([np.sqrt(0.75), 0.5, 0.0])
    v = np.array([2.0, 0.0, 0.0])
    first = v - (1 + e) / 2 * (v @ n) * n
    np.testing.assert_allclose(sim.body("b0").velocity, first, atol=20 * dt)  # the normal turns 2/0.2·dt/cos a step
    np.testing.assert_allclose(sim.body("b0").velocity + sim.body("b1").velocity, v, atol=1e-12)


def ball(e, mu=0.0, height=1.0, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), threshold=1e-3, gravity=G):
    material = stuff(mu, restitution=e, threshold=threshold)
    scene = ground(material, gravity=gravity)
    return put(scene, "ball", sh.Sphere(radius=0.1, material=material), (0.0, 0.0, 0.1 + height), velocity, spin)


def bounce_errors(solver, dt, e=0.5, h=1.0, bounces=3):
    """Relative errors of apex heights and of times between impacts, against h e^(2n) and 2 e^n √(2h/g)."""
    way = watch(sh.Simulation(ball(e, height=h), solver=solver, dt=dt), "ball", round(1.4 / dt))
    z, t, v = way["x"][:, 2] - 0.1, way["t"], way["v"][:, 2]
    hits = [i for i in range(1, len(t)) if v[i] > 0 >= v[i - 1]][: bounces + 1]
    apexes = [z[a:b].max() for a, b in pairwise(hits)]
    heights = np.array(apexes) / (h * e ** (2 * np.arange(1, bounces + 1))) - 1
    times = np.diff(t[hits]) / (2 * e ** np.arange(1, bounces + 1) * np.sqrt(2 * h / G)) - 1
    first = t[hits[0]] / np.sqrt(2 * h / G) - 1
    return np.abs(heights), np.abs([first, *times]), z.min()


@both
def test_a_ball_bounces_to_e_squared_of_its_height(solver):
    """Apexes h e^(2n), the first to 1 % at 1 ms (the references, bounce: h1). An impact happens at most a step's fall
    above the plane, v_n dt, of which 1 − e² stays in the apex; such errors add up, and shrink with the step."""
    heights, times, _ = bounce_errors(solver, 0.001)
    assert heights[0] < 0.01 and times[:2].max() < 0.01
    for dt in (0.004, 0.001, 0.00025):
        heights, times, lowest = bounce_errors(solver, dt)
        n = np.arange(1, 4)
        fall = np.sqrt(2 * G) * 0.5 ** (n - 1) * dt
        assert (heights < 1.05 * np.cumsum(0.75 * fall / 0.25**n)).all(), dt
        assert (times[1:] < np.cumsum(0.75 * fall / 0.25**n) / 2 + 2 * dt / (0.5**n * 2 * np.sqrt(2 / G))).all(), dt
        assert lowest > -G * dt**2 - 2e-6  # what gravity adds in a step after an impact; 1 µm is left alone


@both
@pytest.mark.parametrize("e", [0.5, 0.8])
def test_a_bouncing_ball_comes_to_rest_in_finite_time(solver, e):
    """√(2h/g)(1 + e)/(1 − e), for e = 0.5 the t_total of contact_references.json; then it rests for good."""
    total = np.sqrt(2 / G) * (1 + e) / (1 - e)
    errors = []
    for dt in (0.001, 0.00025):
        way = watch(sh.Simulation(ball(e), solver=solver, dt=dt), "ball", round((total + 0.3) / dt))
        moving = np.abs(way["v"][:, 2]) > 1e-3
        last = way["t"][np.flatnonzero(moving)[-1]]
        errors.append(abs(last / total - 1))
        assert abs(way["x"][-1, 2] - 0.1) < 1e-5 and np.abs(way["v"][-1]).max() < 1e-9
    assert errors[0] < 0.01 and errors[1] < 0.0025


@both
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_an_impact_is_not_seen_before_it_happens(solver, mu):
    """As long as no impulse has acted, what is reported is free fall: v = −g t, and the energy of the start."""
    sim = sh.Simulation(ball(1.0, mu, height=0.2, velocity=(0.3, 0.0, 0.0)), solver=solver, dt=0.001)
    start = sum(sim.energy)
    for _ in range(300):
        sim.step()
        if Contacts(sim).normal_impulse.sum() > 0:
            break
        np.testing.assert_allclose(sim.body("ball").velocity, [0.3, 0.0, -G * sim.time], atol=1e-9)
        assert sum(sim.energy) == pytest.approx(start, rel=1e-9)
    assert sim.time == pytest.approx(np.sqrt(2 * 0.2 / G), abs=1.1e-3)


@both
@pytest.mark.parametrize("height", [0.05, 0.1237, 0.2])
def test_elastic_bounces_keep_the_energy(solver, height):
    """e = 1: energy neither grows nor falls, but for an impact's displacement, v dt m g each, in the mean none."""
    dt = 0.001
    sim = sh.Simulation(ball(1.0, height=height), solver=solver, dt=dt)
    start, energies = sum(sim.energy), []
    for _ in range(3000):
        sim.step()
        energies.append(stored_energy(sim))
    per_bounce = sim.inner.mass[0] * G * np.sqrt(2 * G * height) * dt
    bounces = 3.0 / (2 * np.sqrt(2 * height / G))
    assert np.abs(np.array(energies) - start).max() < per_bounce * (1 + np.sqrt(bounces))


@both
@pytest.mark.parametrize("mu", [0.0, 0.05, 0.2, 1.0])
@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("spin", [0.0, 30.0])
def test_a_ball_hits_a_rough_plane(solver, mu, e, spin):
    """Slip is u = vx − r ω before; friction takes min(μ(1+e)v_n, 2u/7) of vx and 5/2 of that of rω (sphere, one
    impulse). The point of contact is halfway between the surfaces, v_n dt/2 off at most, for the sake of momentum;
    the arm of friction errs by that."""
    vx, vn, r = 3.0, 2.0, 0.1
    scene = ball(e, mu, 0.0505, (vx, 0.0, -vn), (0.0, spin, 0.0), gravity=0.0)
    for dt in (0.001, 0.00025):
        sim = sh.Simulation(scene, solver=solver, dt=dt)
        sim.run(0.1)
        slip = vx - r * spin
        taken = np.sign(slip) * min(mu * (1 + e) * vn, 2 / 7 * abs(slip))
        body = sim.body("ball")
        off = vn * dt / 2 / r
        assert off <= 0.01
        np.testing.assert_allclose(body.velocity, [vx - taken, 0.0, e * vn], atol=1e-9 + off * vx * 5 / 7)
        np.testing.assert_allclose(body.velocity[2], e * vn, atol=1e-9)
        spun = spin + 2.5 * taken / r
        np.testing.assert_allclose(body.angular_velocity, [0.0, spun, 0.0], atol=1e-8 + 2 * off * vx / r)


@both
def test_slow_contacts_do_not_bounce(solver):
    """Below the threshold nothing bounces, above it everything does; the larger threshold of a pair counts."""
    for speed, after in ((0.09, 0.0), (0.11, 0.11)):
        scene = ground(stuff(0.0, restitution=1.0, threshold=0.1), gravity=0.0)
        smooth = stuff(0.0, restitution=1.0, threshold=0.01)
        put(scene, "ball", sh.Sphere(radius=0.1, material=smooth), (0, 0, 0.1005), (0.0, 0.0, -speed))
        sim = sh.Simulation(scene, solver=solver, dt=0.001)
        sim.run(0.1)
        assert sim.body("ball").velocity[2] == pytest.approx(after, abs=1e-9)


@both
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("aim", [(0.0, 0.0), (0.03, -0.02), (0.2, 0.1)])
def test_a_bullet_does_not_pass_a_thin_plate(solver, e, aim):
    """A ball of 2 cm at 50 m/s goes 25 cm in a step of 5 ms; the plate is 1 cm thick. 10 phases of the step."""
    for phase in np.linspace(0.0, 0.25, 10, endpoint=False):
        scene = sh.Scene(name="bullet")
        scene.add(sh.Box(size=(1.0, 1.0, 0.01), position=(0.0, 0.0, 0.0), material=stuff(0.3, restitution=e)))
        shot = sh.Sphere(radius=0.01, material=stuff(0.3, restitution=e))
        put(scene, "ball", shot, (0.0, 0.0, 0.6 + phase), (*(50 * np.array(aim)), -50.0))
        sim = sh.Simulation(scene, solver=solver, dt=0.005)
        for _ in range(12):
            sim.step()
            z = sim.body("ball").position[2]
            assert z > 0.015 - 1e-3, (phase, sim.time)
        # until then gravity has added at most g t to what came down
        assert sim.body("ball").velocity[2] == pytest.approx(e * 50.0, abs=2 * G * 0.06 + 1e-6)


@both
@pytest.mark.parametrize("dt", [0.005, 0.001])
def test_a_bullet_does_not_pass_a_thin_free_plate(solver, dt):
    """A ball strikes a plate that floats: afterwards it moves ahead of the ball, and the momentum is what it was."""
    scene = sh.Scene(name="bullet", gravity=(0.0, 0.0, 0.0))
    put(scene, "plate", sh.Box(size=(1.0, 1.0, 0.01), material=stuff(0.3)), (0.0, 0.0, 0.0), mass=1.0)
    put(scene, "ball", sh.Sphere(radius=0.01, material=stuff(0.3)), (0.0, 0.0, 0.63), (0.0, 0.0, -50.0), mass=0.1)
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    sim.run(0.05)
    assert sim.body("ball").position[2] - sim.body("plate").position[2] > 0.015 - 1e-4
    np.testing.assert_allclose([sim.body(n).velocity[2] for n in ("ball", "plate")], -5.0 / 1.1, atol=1e-9)


def report(sim, item, steps=1):
    return sim.impulses.reports(steps)[:, item, 0]


@both
@pytest.mark.parametrize("gap", [0.2, 0.03, 0.01])
@pytest.mark.parametrize("dt", [0.01, 0.02, 0.002])
def test_three_balls_keep_their_energy(solver, gap, dt):
    """All impacts fall into one step of 10 ms, also those between balls that part before others press them together."""
    sim = sh.Simulation(three_balls(gap), solver=solver, dt=dt)
    start = sum(sim.energy)
    for _ in range(10):
        sim.step(2)
        assert sum(sim.energy) == pytest.approx(start, rel=1e-13)
        assert np.abs(report(sim, ReportItem.IMPULSE_WORK, 2)).max() < 1e-12 * start
    speeds = sorted(abs(sim.body(f"ball{k}").velocity[2]) for k in range(3))
    np.testing.assert_allclose(speeds, [4.3, 4.5, 4.6], rtol=1e-12)  # equal balls exchange them


@both
@pytest.mark.parametrize("k", [0, 9, 17, 20, 26, 34, 37, 41])
def test_columns_that_drop_keep_their_energy(solver, k):
    """Two to eight balls on each other, touching or not, equal or not; e = 1: what rises is what fell."""
    sim = sh.Simulation(column_drop(k), solver=solver, dt=0.001)
    start = sum(sim.energy)
    most = start
    for _ in range(50):
        sim.step(20)
        most = max(most, sum(sim.energy))
        assert report(sim, ReportItem.IMPULSE_WORK, 20).max() < 1e-12 * start
        assert not report(sim, ReportItem.WARNINGS, 20).any()
    assert most < start * (1 + 1e-9) and sum(sim.energy) > 0.99 * start


@both
@pytest.mark.parametrize(("k", "dt"), [(9, 0.005), (10, 0.02), (26, 0.02)])
def test_a_ball_that_is_struck_through_others_is_stopped_by_the_ground(solver, k, dt):
    """Contacts are sought as far as impacts may throw what they reach through other bodies. By the speeds of the pairs
    alone the lowest ball ends in the ground, and pushing it out adds 2e-3 to 7e-3 of the energy."""
    sim = sh.Simulation(column_drop(k), solver=solver, dt=dt)
    start = sum(sim.energy)
    for _ in range(round(1.0 / dt)):
        sim.step()
        assert sum(sim.energy) < start * (1 + 1e-9)
        assert all(contact.gap > -2e-3 for contact in sim.contacts())


@both
@pytest.mark.parametrize("e", [0.3, 0.8])
@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_columns_with_restitution_and_friction_gain_nothing(solver, e, dt):
    scene = ball_column([0.3, 0.0, 0.01, 1e-4], [0.0] * 4, restitution=e, friction=0.3, masses=[10.0, 1.0, 10.0, 3.0])
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    start = sum(sim.energy)
    for _ in range(round(1.0 / dt)):
        sim.step()
        assert sum(sim.energy) < start * (1 + 1e-12)
        assert report(sim, ReportItem.IMPULSE_WORK)[0] < 1e-12 * start
    assert sum(sim.energy) < 0.9 * start


@both
@pytest.mark.parametrize("pulled", [1, 2, 3, 4])
@pytest.mark.parametrize("gap", [0.0, 1e-4])
@pytest.mark.parametrize("dt", [0.001, 0.01])
def test_as_many_balls_leave_a_cradle_as_come(solver, pulled, gap, dt):
    sim = sh.Simulation(cradle(pulled, gap=gap), solver=solver, dt=dt)
    sim.run(0.65)
    rates = np.array([float(sim.joint(f"hinge{k}").velocity[0]) for k in range(5)])
    assert rates[-1] < -1.3  # towards +x, as what came
    np.testing.assert_allclose(
        rates / rates[-1], [0.0] * (5 - pulled) + [1.0] * pulled, atol=0.05
    )  # they part a little


def row_of_balls(x, v, masses, mirror=1.0, e=1.0, mu=0.0):
    scene = sh.Scene(name="row", gravity=(0.0, 0.0, 0.0))
    for k, (place, speed, mass) in enumerate(zip(x, v, masses, strict=True)):
        shape = sh.Sphere(radius=0.1, material=stuff(mu, restitution=e))
        put(scene, f"b{k}", shape, (mirror * place, 0.0, 0.0), (mirror * speed, 0.0, 0.0), mass=mass)
    return scene


def speeds(scene, solver, dt):
    sim = sh.Simulation(scene, solver=solver, dt=dt)
    sim.run(0.4)
    return np.array([sim.body(f"b{k}").velocity[0] for k in range(len(sim.inner.body_names))])


@both
@pytest.mark.parametrize(("e", "mu"), [(1.0, 0.0), (0.6, 0.0), (0.8, 0.4)])
def test_what_is_mirrored_moves_mirrored(solver, e, mu):
    """A row of balls and its mirror image; a row that is its own mirror image, struck from both sides at once."""
    rng = np.random.default_rng(3)
    x = np.cumsum(0.2 + np.array([0.0, 0.3, 0.0, 1e-3, 0.0, 2e-2, 0.25]))
    v = [3.0, 0.0, 0.0, 0.0, 0.0, 0.0, -4.0]
    masses = rng.uniform(1.0, 5.0, 7)
    found = [speeds(row_of_balls(x, v, masses, side, e, mu), solver, 0.005) for side in (1.0, -1.0)]
    np.testing.assert_allclose(found[1], -found[0], atol=1e-9)
    x = np.array([-1.0, -0.4, -0.2, 0.0, 0.2, 0.4, 1.0])
    both_sides = speeds(row_of_balls(x, [4.0, 0, 0, 0, 0, 0, -4.0], [2.0] * 7, 1.0, e, mu), solver, 0.005)
    assert both_sides[0] < -1.0
    np.testing.assert_allclose(both_sides, -both_sides[::-1], atol=1e-9)


@both
def test_a_ball_between_walls_too_near_is_stopped_and_said_so(solver):
    """It would bounce several times a step, for ever: restitution ends, and the report warns."""
    scene = sh.Scene(name="corridor", gravity=(0.0, 0.0, 0.0))
    smooth = stuff(0.0, restitution=1.0)
    for side in (-1.0, 1.0):
        scene.add(sh.Box(size=(0.1, 1.0, 1.0), position=(side * 0.155, 0.0, 0.0), material=smooth))
    put(scene, "ball", sh.Sphere(radius=0.1, material=smooth), (0.0, 0.0, 0.0), (10.0, 0.0, 0.0), mass=1.0)
    sim = sh.Simulation(scene, solver=solver, dt=0.01)
    sim.step()
    assert int(report(sim, ReportItem.WARNINGS)[0]) & StepWarning.IMPACTS_LIMITED
    sim.step(5)
    assert np.abs(sim.body("ball").velocity).max() < 1.0 and np.abs(sim.body("ball").position).max() < 0.006


@both
def test_forces_of_impacts_are_reported_and_not_expected_again(solver):
    """Force times time is what the momentum changes by; the next step starts from what is no impact."""
    sim = sh.Simulation(ball(0.5, 0.0, 0.01, (0.0, 0.0, -2.0)), solver=solver, dt=0.01)
    before = sim.inner.mass[0] * (2.0 + G * 0.005)
    sim.step()
    force = sum(abs(c.force[2]) for c in sim.contacts())
    after = float(sim.impulses.state.P.numpy()[2, 0])
    assert force * 0.005 == pytest.approx(after + before, rel=1e-9)  # half a step acts at the start
    state = sim.impulses.state
    np.testing.assert_array_equal(state.prev_contact_impact.numpy(), state.prev_contact_impulse.numpy())


@both
def test_a_conveyor_may_add_energy_and_impulses_do_not(solver):
    """A ball that bounces off a running belt is carried along; that work is the belt's."""
    material = stuff(0.5, restitution=0.5)
    scene = sh.Scene(name="conveyor")
    scene.add(
        sh.Box(size=(4.0, 1.0, 0.1), position=(0, 0, -0.05), material=material, surface_velocity=(3.0, 0.0, 0.0))
    )  # fmt: skip
    put(scene, "ball", sh.Sphere(radius=0.1, material=material), (0.0, 0.0, 0.3), mass=1.0)
    sim = sh.Simulation(scene, solver=solver, dt=0.005)
    start = sum(sim.energy)
    work = []
    for _ in range(100):
        sim.step()
        work.append(report(sim, ReportItem.IMPULSE_WORK)[0])
    assert max(work) < 1e-12 and min(work) < -0.1
    assert sim.body("ball").velocity[0] > 0.5 and start > 0
