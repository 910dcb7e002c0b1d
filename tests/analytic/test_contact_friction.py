"""Sliding, rolling, spinning and tipping against closed forms (contact_references.json, closed_forms)."""

from __future__ import annotations

from math import atan, cos, degrees, radians, sin

import numpy as np
import pytest
from contact_scenes import ROLLERS, G, box_on, down, ground, put, references, roller_on, stuff, watch
from measures import both
from shrinking_errors import STEPS, shrinking

import sharnir as sh
from sharnir.scenes.parts import about

CLOSED = references()["closed_forms"]
kinds = pytest.mark.parametrize("kind", list(ROLLERS))


def test_closed_forms_used_here_are_those_of_the_reference():
    """Formulas of this file give the numbers of contact_references.json."""
    c = CLOSED
    assert c["slide_stop"]["t"] == pytest.approx(2 / (0.3 * G)) and c["slide_stop"]["d"] == pytest.approx(4 / (0.6 * G))
    assert c["incline"]["stick_deg"] == pytest.approx(degrees(atan(0.5)))
    assert c["incline"]["a_35deg"] == pytest.approx(G * (sin(radians(35)) - 0.5 * cos(radians(35))))
    for kind, k in ROLLERS.items():
        assert c["slip_to_roll"]["v_final/v0"][kind] == pytest.approx(1 / (1 + k))
        assert c["slip_to_roll"]["t*mu*g/v0"][kind] == pytest.approx(k / (1 + k))
        assert c["slip_to_roll"]["d*mu*g/v0^2"][kind] == pytest.approx((1 - 1 / (1 + k) ** 2) / 2)
        limit = c["incline_roll_no_slip_limit"]["mu=.3_deg"][kind]
        assert limit == pytest.approx(degrees(atan(0.3 * (1 + 1 / k))))
    assert c["rolling_friction"]["sphere r=.1 delta=.002 v0=1"]["decel"] == pytest.approx(0.002 / 0.1 * G / 1.4)
    assert c["spin_friction"]["sphere r=.1 b=.01 w0=50"]["t"] == pytest.approx(50 / (0.01 * G / (0.4 * 0.01)))


# --- sliding ---------------------------------------------------------------------------------------------------------


@both
def test_a_sliding_box_stops(solver):
    """v0/(μg) and v0²/(2μg): to 1 % at 1 ms, shrinking with the step; then it stays."""
    v0, mu = 2.0, 0.3
    time, distance = v0 / (mu * G), v0**2 / (2 * mu * G)
    late, far = {}, {}
    for dt in STEPS:
        way = watch(sh.Simulation(box_on(stuff(mu), v0=v0), solver=solver, dt=dt), "box", round(1.0 / dt))
        still = np.flatnonzero(np.abs(way["v"][:, 0]) < 1e-6)[0]
        late[dt] = abs(way["t"][still] / time - 1)
        far[dt] = abs(way["x"][-1, 0] / distance - 1)
        assert np.abs(way["x"][-1] - way["x"][still]).max() < 1e-6 + 1e-3 * dt
        assert abs(way["x"][:, 2] - 0.1).max() < 1e-6 and np.abs(way["w"]).max() < 1e-6
    shrinking(late, 0.01)
    shrinking(far, 0.01)


@both
def test_sliding_is_the_same_in_all_directions(solver):
    """36 directions on a plane: distances differ by less than 0.1 %, and no box leaves its line."""
    far = []
    for heading in 2 * np.pi * np.arange(36) / 36:
        sim = sh.Simulation(box_on(stuff(0.3), v0=2.0, heading=heading), solver=solver, dt=0.001)
        sim.run(1.0)
        x, y, _ = sim.body("box").position
        far.append(x * cos(heading) + y * sin(heading))
        assert abs(-x * sin(heading) + y * cos(heading)) < 1e-3 * far[-1]
    assert (max(far) - min(far)) / np.mean(far) < 1e-3


@both
@pytest.mark.parametrize("mu", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("beside", [-0.5, -0.05, 0.05, 0.5])
def test_a_box_sticks_or_slides_either_side_of_the_angle(solver, mu, beside):
    """tan α = μ. Below it nothing moves; above it a = g(sin α − μ cos α)."""
    angle = atan(mu) + radians(beside)
    sim = sh.Simulation(box_on(stuff(mu), angle, size=(0.2, 0.2, 0.1)), solver=solver, dt=0.001)
    start = sim.body("box").position.copy()
    sim.run(1.0)
    moved = (sim.body("box").position - start) @ down(angle)
    a = G * (sin(angle) - mu * cos(angle))
    if beside < 0:
        assert abs(moved) < 1e-6
    else:
        assert moved == pytest.approx(a / 2, rel=2e-3)
        assert sim.body("box").velocity @ down(angle) == pytest.approx(a, rel=2e-3)


@both
def test_acceleration_on_an_incline_of_35_degrees(solver):
    """contact_references.json, incline: 1.60884 m/s² at μ = 0.5."""
    a, angle = G * (sin(radians(35)) - 0.5 * cos(radians(35))), radians(35)
    errors = {}
    for dt in STEPS:
        sim = sh.Simulation(box_on(stuff(0.5), angle), solver=solver, dt=dt)
        sim.run(1.0)
        errors[dt] = abs(sim.body("box").velocity @ down(angle) / a - 1)
    shrinking(errors, 1e-3)


@both
@pytest.mark.parametrize("shape", ["capsule", "cylinder", "hull", "sphere"])
def test_other_shapes_slide_alike(solver, shape):
    """A capsule and a cylinder that slide along their axes, a hull on its face, and a ball too smooth to roll up:
    v0 − μ g t."""
    mu = 0.3
    along_x = about((0.0, 1.0, 0.0), np.pi / 2)
    corners = np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.05, 0.05)])
    shapes = {
        "capsule": (sh.Capsule(radius=0.05, length=0.4, orientation=along_x, material=stuff(mu)), 0.05),
        "cylinder": (sh.Cylinder(radius=0.05, length=0.4, orientation=along_x, material=stuff(mu)), 0.05),
        "hull": (sh.ConvexHull(points=corners, material=stuff(mu)), 0.05),
        "sphere": (sh.Sphere(radius=0.05, material=stuff(mu)), 0.05),
    }
    scene = ground(stuff(mu))
    put(scene, "thing", shapes[shape][0], (0.0, 0.0, shapes[shape][1]), (4.0, 0.0, 0.0))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.run(0.2)
    assert sim.body("thing").velocity[0] == pytest.approx(4.0 - 0.2 * mu * G, rel=1e-3)
    assert abs(sim.body("thing").position[2] - 0.05) < 1e-6


# --- rolling ---------------------------------------------------------------------------------------------------------


@both
@kinds
def test_slip_turns_into_rolling(solver, kind):
    """k = I/(m r²): v → v0/(1+k) at t = k v0/((1+k) μ g), after d = v0²(1 − 1/(1+k)²)/(2μg)."""
    mu, v0, r, k = 0.3, 2.0, 0.1, ROLLERS[kind]
    v1, t1, d1 = v0 / (1 + k), k / (1 + k) * v0 / (mu * G), v0**2 * (1 - 1 / (1 + k) ** 2) / (2 * mu * G)
    speeds, times, ways = {}, {}, {}
    for dt in STEPS:
        way = watch(sh.Simulation(roller_on(kind, stuff(mu), v0=v0), solver=solver, dt=dt), "roller", round(0.6 / dt))
        slip = way["v"][:, 0] - r * way["w"][:, 1]
        rolls = np.flatnonzero(slip < 1e-6 * v0)[0]
        speeds[dt] = abs(way["v"][-1, 0] / v1 - 1)
        times[dt] = abs(way["t"][rolls] / t1 - 1)
        ways[dt] = abs(way["x"][-1, 0] / (d1 + v1 * (0.6 - t1)) - 1)
        assert np.abs(slip[rolls:]).max() < 1e-6 * v0 and abs(way["x"][:, [1, 2]] - [0, r]).max() < 1e-6
        assert np.abs(way["w"][:, [0, 2]]).max() < 1e-6
    shrinking(speeds, 1e-4)
    shrinking(times, 0.01)
    shrinking(ways, 0.01)


@both
@kinds
@pytest.mark.parametrize("beside", [-10.0, -1.0, 1.0, 10.0])
def test_rolling_down_an_incline_slips_beyond_the_limit(solver, kind, beside):
    """tan α = μ(1 + 1/k). Below: a = g sin α/(1+k) without slip. Above: a = g(sin α − μ cos α), rα̇ = μ g cos α/k."""
    mu, k, r = 0.3, ROLLERS[kind], 0.1
    angle = atan(mu * (1 + 1 / k)) + radians(beside)
    sim = sh.Simulation(roller_on(kind, stuff(mu), angle), solver=solver, dt=0.001)
    sim.run(0.5)
    v = sim.body("roller").velocity @ down(angle) / 0.5
    w = sim.body("roller").angular_velocity[1] * r / 0.5
    if beside < 0:
        assert v == pytest.approx(G * sin(angle) / (1 + k), rel=1e-3)
        assert v == pytest.approx(w, rel=1e-6)
    else:
        assert v == pytest.approx(G * (sin(angle) - mu * cos(angle)), rel=2e-3)
        assert w == pytest.approx(mu * G * cos(angle) / k, rel=2e-3)


@both
@kinds
def test_rolling_friction_stops_a_roller(solver, kind):
    """Torque δN: it decelerates by (δ/r) g/(1+k) (sphere: the references, rolling_friction) and stops after v0²/2 of
    that.
        A cylinder touches along a line; its points share the normal force, so that the sum of torques is the same."""
    r, delta, v0, k = 0.1, 0.002, 1.0, ROLLERS[kind]
    decel = delta / r * G / (1 + k)
    far, speeds = {}, {}
    for dt in (0.004, 0.001):
        scene = roller_on(kind, stuff(0.5, rolling=delta), v0=v0, w0=v0 / r)
        sim = sh.Simulation(scene, solver=solver, dt=dt)
        sim.run(2.0)
        speeds[dt] = abs(sim.body("roller").velocity[0] / (v0 - 2 * decel) - 1)
        sim.run(v0 / decel - 2.0 + 0.5)
        far[dt] = abs(sim.body("roller").position[0] / (v0**2 / (2 * decel)) - 1)
        assert np.abs(sim.body("roller").velocity).max() < 1e-9
    shrinking(speeds, 1e-3)
    shrinking(far, 0.01)


@both
@pytest.mark.parametrize("beside", [-0.02, 0.02])
def test_rolling_friction_holds_a_ball_on_a_gentle_slope(solver, beside):
    """A ball starts to roll where tan α = δ/r; above, a = g(sin α − (δ/r) cos α)/(1 + k)."""
    delta, r = 0.002, 0.1
    angle = atan(delta / r) * (1 + beside)
    sim = sh.Simulation(roller_on("sphere", stuff(0.5, rolling=delta), angle), solver=solver, dt=0.001)
    start = sim.body("roller").position.copy()
    sim.run(5.0)
    moved = (sim.body("roller").position - start) @ down(angle)
    if beside < 0:
        assert abs(moved) < 1e-6
    else:
        assert moved == pytest.approx(12.5 * G * (sin(angle) - delta / r * cos(angle)) / 1.4, rel=0.01)


# --- spinning --------------------------------------------------------------------------------------------------------


@both
def test_spinning_friction_stops_a_ball(solver):
    """Torque bN about the normal: α = b g/(k r²), t = ω0/α = 2.0387 s (contact_references.json, spin_friction)."""
    late, slow = {}, {}
    for dt in STEPS:
        scene = ground(stuff(0.5, spinning=0.01))
        ball = sh.Sphere(radius=0.1, material=stuff(0.5, spinning=0.01))
        put(scene, "ball", ball, (0.0, 0.0, 0.1), spin=(0.0, 0.0, 50.0))
        way = watch(sh.Simulation(scene, solver=solver, dt=dt), "ball", round(2.2 / dt))
        still = np.flatnonzero(np.abs(way["w"][:, 2]) < 1e-6)[0]
        late[dt] = abs(way["t"][still] / (50 / 24.525) - 1)
        half = round(1.0 / dt)
        slow[dt] = abs(way["w"][half, 2] / (50 - 24.525) - 1)
        assert np.abs(way["x"] - [0, 0, 0.1]).max() < 1e-6 and np.abs(way["w"][still:]).max() < 1e-6
    shrinking(late, 0.01)
    shrinking(slow, 1e-3)


@both
def test_a_spinning_disc_on_its_face(solver):
    """Friction is that of uniform pressure (α = 4μg/3R = 78.48 1/s², the references); it neither walks nor tips."""
    mu, R, w0 = 0.3, 0.05, 20.0
    scene = ground(stuff(mu))
    disc = sh.Cylinder(radius=R, length=0.02, material=stuff(mu))
    put(scene, "disc", disc, (0.0, 0.0, 0.01), spin=(0.0, 0.0, w0))
    way = watch(sh.Simulation(scene, solver=solver, dt=0.001), "disc", 300)
    still = way["t"][np.flatnonzero(np.abs(way["w"][:, 2]) < 1e-6)[0]]
    assert still == pytest.approx(w0 / (4 / 3 * mu * G / R), rel=0.01)
    assert np.abs(way["x"] - [0, 0, 0.01]).max() < 1e-4


def mean_radius(corners):
    """Mean distance of points of a convex polygon from the origin, by quadrature over triangles from there."""
    total = area = 0.0
    t = (np.arange(2000) + 0.5) / 2000
    for p, q in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        double = p[0] * q[1] - p[1] * q[0]
        total += double / 3 * np.linalg.norm(p + t[:, None] * (q - p), axis=1).mean()
        area += double / 2
    return total / area


@both
@pytest.mark.parametrize("points", [3, 4, 6])
def test_a_spinning_prism_on_its_face(solver, points):
    """Uniform pressure on a regular polygon; a prism given the inertia of a hoop slows by μ g r/R², r the mean distance
    from its middle. Of six corners four bear the weight, and the area is theirs: up to a seventh less."""
    mu, R, w0 = 0.3, 0.05, 20.0
    turn = 2 * np.pi * np.arange(points) / points
    rim = np.stack([R * np.cos(turn), R * np.sin(turn)], axis=1)
    corners = np.concatenate([np.c_[rim, np.full(points, z)] for z in (-0.01, 0.01)])
    scene = ground(stuff(mu))
    hull = sh.ConvexHull(points=corners, material=stuff(mu))
    inertia = (0.5 * R * R, 0.5 * R * R, R * R)
    put(scene, "top", hull, (0.0, 0.0, 0.01), spin=(0.0, 0.0, w0), mass=1.0, inertia=inertia, center_of_mass=(0, 0, 0))
    sim = sh.Simulation(scene, solver=solver, dt=0.001)
    sim.run(0.2)
    slowed = (w0 - sim.body("top").angular_velocity[2]) / (0.2 * mu * G * mean_radius(rim) / R**2)
    assert slowed == pytest.approx(1.0, abs=2e-3) if points < 6 else 6 / 7 < slowed < 1.0


# --- tipping ---------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("slender", [0.5, 0.8])
@pytest.mark.parametrize("share", [0.95, 1.05])
def test_a_box_pushed_at_its_top_tips_or_slides(solver, slender, share):
    """It tips iff μ > w/(2h) (contact_references.json, tip_vs_slide): the push is 3 % above the least that moves it."""
    w = 0.2
    h = w / slender
    mu = share * w / (2 * h)
    sim = sh.Simulation(box_on(stuff(mu), size=(w, 0.3, h)), solver=solver, dt=0.001)
    push = 1.03 * G * min(mu, w / (2 * h))
    sim.body("box").applied = [push, 0.0, 0.0, 0.0, push * h / 2, 0.0]
    sim.run(0.3)
    body = sim.body("box")
    tilt, moved = np.arcsin(-body.rotation[2, 0]), body.position[0]
    if share < 1:  # slides without tipping
        assert abs(tilt) < 1e-6 and moved == pytest.approx(0.045 * (push - mu * G), rel=0.01)
    else:  # tips about its lower edge, which stays
        edge = body.position + body.rotation @ [w / 2, 0.0, -h / 2]
        assert tilt > 0.005 and abs(edge[0] - w / 2) < 1e-4 and abs(edge[2]) < 1e-5


@both
@pytest.mark.parametrize("slender", [0.3, 0.6])
@pytest.mark.parametrize("share", [0.95, 1.05])
def test_a_box_on_an_incline_tips_or_slides(solver, slender, share):
    """It tips iff μ > w/h; the slope is 3 % steeper than the least that moves it."""
    w = 0.2
    h = w / slender
    mu = share * w / h
    angle = atan(1.03 * min(mu, w / h))
    sim = sh.Simulation(box_on(stuff(mu), angle, size=(w, 0.3, h)), solver=solver, dt=0.001)
    body = sim.body("box")
    start = body.position.copy()
    sim.run(0.3)
    tilt = np.arccos(np.clip(body.rotation[:, 0] @ down(angle), -1, 1))
    moved = (body.position - start) @ down(angle)
    if share < 1:
        assert tilt < 1e-6 and moved == pytest.approx(0.045 * G * (sin(angle) - mu * cos(angle)), rel=0.02)
    else:
        normal = np.array([sin(angle), 0.0, cos(angle)])
        edge = body.position + body.rotation @ [w / 2, 0.0, -h / 2]
        assert tilt > 0.002 and abs(edge @ normal) < 1e-5 and abs(edge @ down(angle) - w / 2) < 1e-4
