"""Sequential impulses against the exact solver: positions, velocities at their time, and reactions, as dt → 0."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from ladder import (
    ALL,
    SOLVERS,
    assert_order,
    closed_by,
    end_of,
    errors,
    exact_end,
    floors,
    growth,
    ladder,
    order,
    random_model,
    sim_end,
)

import sharnir
from sharnir import scenes

UPRIGHT, LEVEL = [0, 2, 4], [0, 1, 5]  # components of wrenches that planar linkages determine, in x–z and x–y
FORCES = slice(0, 3)


def solid(scene: sharnir.Scene) -> sharnir.Scene:
    """Point masses and lines made bodies: maximal coordinates need rotational inertia about every axis."""
    for body in scene.bodies:
        body.inertia = tuple(max(moment, 1e-3) for moment in body.inertia or (0.01, 0.011, 0.012))
    return scene


def coasting(name: str, spin: float) -> sharnir.Scene:
    """A driven linkage without its motor, set moving."""
    scene = scenes.make(name)
    scene.motors.clear()
    scene.joints[0].velocity = spin
    return scene


def undamped_wishbone() -> sharnir.Scene:
    scene = scenes.make("double_wishbone")
    scene.springs[0].damping = 0.0
    return scene


# scene, duration, steps on the first rung, components of wrenches compared, solvers
NAMED = {
    "pendulum": (lambda: scenes.make("pendulum"), 1.0, 100, ALL, ("simgc",)),
    "solid pendulum": (lambda: solid(scenes.make("pendulum")), 1.0, 100, ALL, SOLVERS),
    "double_pendulum": (lambda: scenes.make("double_pendulum"), 1.0, 200, ALL, ("simgc",)),
    "solid double_pendulum": (lambda: solid(scenes.make("double_pendulum")), 1.0, 200, ALL, SOLVERS),
    "rods 3": (lambda: solid(scenes.make("rods", n=3)), 0.8, 100, ALL, SOLVERS),
    "rods 4": (lambda: solid(scenes.make("rods", n=4)), 0.6, 100, ALL, SOLVERS),
    "rods 5": (lambda: solid(scenes.make("rods", n=5)), 0.5, 100, ALL, SOLVERS),
    "spherical_pendulum": (lambda: scenes.make("spherical_pendulum"), 1.0, 400, ALL, SOLVERS),
    "free_box": (lambda: scenes.make("free_box"), 1.0, 50, ALL, SOLVERS),
    "n_four_bar": (lambda: scenes.make("n_four_bar"), 0.5, 50, UPRIGHT, SOLVERS),
    "andrews": (lambda: scenes.make("andrews"), 0.03, 3000, LEVEL, SOLVERS),
    "four_bar": (lambda: scenes.make("four_bar", gravity=True), 0.5, 100, UPRIGHT, SOLVERS),
    "slider_crank": (lambda: coasting("slider_crank", 5.0), 0.5, 100, UPRIGHT, SOLVERS),
    "peaucellier": (lambda: coasting("peaucellier", 5.0), 0.12, 50, LEVEL, SOLVERS),
    "double_wishbone, undamped": (undamped_wishbone, 0.1, 50, ALL, SOLVERS),
    "five_link_chain": (lambda: scenes.make("five_link_chain", friction=0.0), 0.3, 100, ALL, SOLVERS),
    "damped chain": (lambda: scenes.make("five_link_chain", friction=0.0, damping=0.01), 0.3, 100, ALL, SOLVERS),
}


@cache
def truth(name: str):
    build, duration, *_ = NAMED[name]
    model = sharnir.compile(build())
    grown = growth(model, duration)
    assert grown < 100
    return model, exact_end(model, duration), grown


@pytest.mark.parametrize(("name", "solver"), [(n, s) for n, case in NAMED.items() for s in case[4]])
def test_named_scenes_converge_with_second_order(name, solver):
    _, duration, steps, keep, _ = NAMED[name]
    model, reference, grown = truth(name)
    error = ladder(model, duration, steps, solver, reference=reference, keep=keep)
    assert_order(error, 2, floors(reference, duration, steps, 4, grown), f"{name}, {solver}")


RANDOM = [(seed, 2 + seed % 5, features) for seed, features in enumerate(
    ["", "", "", "k", "e", "s", "ke", "ks", "kes", "e"]
)]  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("seed", "bodies", "features"), RANDOM)
def test_random_trees_converge_with_second_order(seed, bodies, features, solver):
    """All joint types, both directions, floating roots, forests, springs, efforts."""
    assert_random(seed, bodies, features, solver)


@pytest.mark.parametrize(("seed", "features"), [(s, f) for s in range(4) for f in ("d", "a", "kda")])
def test_rotors_and_dampers_in_tree_joints_keep_second_order(seed, features):
    assert_random(seed, 4, features, "simgc")


@cache
def random_truth(seed: int, bodies: int, features: str, duration: float):
    model = random_model(seed, bodies, features)
    grown = growth(model, duration)
    assert grown < 100
    return model, exact_end(model, duration), grown


def assert_random(seed: int, bodies: int, features: str, solver: str, duration: float = 0.2, steps: int = 20) -> None:
    """In wrenches forces only: about which point torques are is another test's matter."""
    model, reference, grown = random_truth(seed, bodies, features, duration)
    error = ladder(model, duration, steps, solver, reference=reference, keep=FORCES)
    assert_order(error, 2, floors(reference, duration, steps, 4, grown), f"{seed} {features!r} {solver}")


LOOPS = ("spherical", "universal", "cylindrical", "planar", "helical", "revolute", "prismatic")


@cache
def loop_truth(kind: str, law: str, value: float):
    model = sharnir.compile(closed_by(kind, **{law: value}))
    assert model.joint("close").closes_loop
    return model, exact_end(model, 0.4), growth(model, 0.4)


def assert_loop(kind: str, law: str, value: float, solver: str) -> None:
    model, reference, grown = loop_truth(kind, law, value)
    error = ladder(model, 0.4, 40, solver, reference=reference)
    assert_order(error, 2, floors(reference, 0.4, 40, 4, grown), f"{kind}, {law}, {solver}")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("stiffness", [0.0, 10.0])
@pytest.mark.parametrize("kind", LOOPS)
def test_spatial_loops_converge_with_second_order(kind, stiffness, solver):
    assert_loop(kind, "stiffness", stiffness, solver)


FIRST_ORDER = "rotors on balls that close loops are of first order (docs/method.md, 7.2)"
ROTOR = pytest.mark.xfail(strict=True, reason=FIRST_ORDER)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_dampers_between_points_keep_second_order(seed, solver):
    assert_random(seed, 4, "p", solver)


@pytest.mark.parametrize(("seed", "features"), [(1, "d"), pytest.param(1, "a", marks=ROTOR)])
def test_rotors_and_dampers_keep_second_order_in_maximal_coordinates(seed, features):
    assert_random(seed, 4, features, "simmc")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("kind", "law"),
    [pytest.param("spherical", "armature", marks=ROTOR), ("universal", "armature"), ("planar", "damping")],
)
def test_rotors_and_dampers_in_loop_joints_keep_second_order(kind, law, solver):
    assert_loop(kind, law, 0.5, solver)


def test_double_wishbone_with_its_damper_keeps_second_order():
    model = sharnir.compile(scenes.make("double_wishbone"))
    reference = exact_end(model, 0.1)
    error = ladder(model, 0.1, 50, "simgc", reference=reference)
    assert_order(error, 2, floors(reference, 0.1, 50, 4))


@pytest.mark.parametrize("solver", SOLVERS)
def test_torque_of_a_joint_is_about_its_frame_on_the_child(solver):
    """Described from the near body to the far one."""
    for seed in range(4):
        model = random_model(seed, 4, reverse=0.0)
        reference = exact_end(model, 0.1)
        error = errors(sim_end(model, 0.1, 0.0025, solver), reference)[2]
        assert error < 1e-3 * reference.momentum / 0.1 + floors(reference, 0.1, 40, 1)[0, 2], (seed, error)


@pytest.mark.parametrize(
    "solver",
    [
        "simgc",
        "simmc",
    ],
)
def test_torque_of_a_joint_described_from_afar_is_about_its_frame_on_the_child(solver):
    for kind in (sharnir.Prismatic, sharnir.Cylindrical, sharnir.Helical, sharnir.Planar):
        model = random_model(0, 3, types=(kind,), reverse=1.0)
        reference = exact_end(model, 0.1)
        error = errors(sim_end(model, 0.1, 0.0025, solver), reference)[2]
        assert error < 1e-3 * reference.momentum / 0.1 + floors(reference, 0.1, 40, 1)[0, 2], (kind, error)


@pytest.mark.parametrize(
    "solver",
    [
        "simgc",
        "simmc",
    ],
)
def test_reactions_converge_as_far_as_velocities(solver):
    """Forces err by no more than velocities do, in units of the weight and of a second."""
    model, reference, _ = truth("solid double_pendulum")
    error = ladder(model, 1.0, 1600, solver, reference=reference, rungs=3)
    assert (error[:, 2] < 20 * error[:, 1] + 1e-4).all(), error


@pytest.mark.parametrize(
    "solver",
    [
        "simgc",
        "simmc",
    ],
)
def test_a_spring_between_bodies_that_cannot_move_loads_their_joints(solver):
    scene = sharnir.Scene(gravity=(0.0, 0.0, 0.0))
    for name, x in (("a", 0.0), ("b", 3.0)):
        scene.add(sharnir.Body(name=name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=(x, 0.0, 0.0)))
        scene.add(sharnir.Fixed(name=f"weld_{name}", parent="world", child=name, anchor=(x, 0.0, 0.0)))
    scene.add(sharnir.Spring(name="s", parent="a", child="b", stiffness=10.0, length=1.0))
    sim = sharnir.Simulation(scene, solver=solver, dt=0.001)
    sim.step(5)
    np.testing.assert_allclose(sim.joint("weld_b").wrench, [20.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-6)


# drives


def push(model: sharnir.Model):
    """A wrench on one body, a force on one joint, both swinging; and the same as joint forces."""
    rng = np.random.default_rng(3)
    body = model.body_names[-1]
    joint = next(n for n in model.joint_names if model.joint(n).v.stop > model.joint(n).v.start)
    wrench, force = rng.normal(size=6) * 3, rng.normal(size=model.joint(joint).v.stop - model.joint(joint).v.start)
    i = model.body(body)
    point = model.body_rot[i].T @ (model.com[i] - model.body_pos[i])

    def control(t, q, v):
        tau = sharnir.dynamics.jacobian(model, q, body, point).T @ wrench * np.cos(7 * t)
        tau[model.joint(joint).v] += force * np.sin(9 * t)
        return tau

    def controller(sim):
        sim.body(body).applied = wrench * np.cos(7 * sim.time)
        sim.joint(joint).control = force * np.sin(9 * sim.time)

    return control, lambda sim: sim.add_controller(controller)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [0, 1, 3, 5])
def test_applied_wrenches_and_control_act_with_second_order(seed, solver):
    """A step's forces act from half a step before to half a step after the time they are asked for."""
    model = random_model(seed, 4)
    control, setup = push(model)
    reference = exact_end(model, 0.2, control=control)
    error = ladder(model, 0.2, 20, solver, reference=reference, setup=setup)
    free = errors(sim_end(model, 0.2, 0.01, solver), reference)
    assert free[1] > 100 * error[0, 1]  # the drives are no small thing
    assert_order(error, 2, floors(reference, 0.2, 20, 4, growth(model, 0.2)), f"{seed} {solver}", columns=(0, 1))


@pytest.mark.parametrize("solver", SOLVERS)
def test_motor_that_seeks_a_speed_prescribes_the_motion(solver):
    """The exact solver has no motors: it runs the linkage with the crank's rate as it is, moved by a heavy flywheel."""
    scene = scenes.make("slider_crank", speed=5.0)
    scene.joints[0].velocity = 5.0
    heavy = scenes.make("slider_crank")
    heavy.motors.clear()
    heavy.joints[0].velocity, heavy.joints[0].armature = 5.0, 1e6
    reference = exact_end(heavy, 0.5)
    error = ladder(scene, 0.5, 50, solver, reference=reference, keep=UPRIGHT)
    floor = floors(reference._replace(momentum=10.0), 0.5, 50, 4)
    # the flywheel gives 5 rad/s up to the energy the linkage takes, some J of 1e6: 1e-6
    assert_order(error, 2, floor + 1e-5, solver, columns=(0, 1))


# the published scheme


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "name", ["solid double_pendulum", "rods 3", "spherical_pendulum", "n_four_bar", "slider_crank"]
)
def test_published_scheme_has_first_order(name, solver):
    _, duration, steps, _, _ = NAMED[name]
    model, reference, grown = truth(name)
    error = ladder(model, duration, 4 * steps, solver, reference=reference, method="paper", epsilon=1e-10)
    assert_order(error, 1, floors(reference, duration, 4 * steps, 4, grown), f"{name}, {solver}", columns=(0, 1))
    assert order(error)[1] < 1.4, order(error)  # not the default method by mistake


# steps that change


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["solid double_pendulum", "rods 3", "n_four_bar"])
def test_steps_that_alternate_keep_second_order(name, solver):
    """Steps of dt and 2 dt in turn: momenta belong to the middles of steps, forces act from middle to middle."""
    _, duration, steps, _, _ = NAMED[name]
    model, reference, grown = truth(name)
    error = []
    for k in range(4):
        n = steps // 2 * 2**k
        sim = sharnir.Simulation(model, solver=solver, dt=duration / (3 * n))
        for _ in range(n):
            sim.dt = duration / (3 * n)
            sim.step()
            sim.dt = 2 * duration / (3 * n)
            sim.step()
        assert sim.time == pytest.approx(duration, rel=1e-12)
        error.append(errors(end_of(sim), reference))
    floor = floors(reference, duration, steps, 4, grown)
    assert_order(np.array(error), 2, floor, f"{name}, {solver}", columns=(0, 1))


# the two solvers


@pytest.mark.parametrize("name", [n for n, case in NAMED.items() if len(case[4]) == 2 and n != "damped chain"])
def test_both_solvers_follow_the_same_discrete_trajectory(name):
    """They solve the same equations: what is between them is their tolerance, not the step's error.

    (Not so with dampers: the share θ of (M-31) is by the inertia a damper meets, of joints or of bodies.)
    """
    _, duration, steps, _, _ = NAMED[name]
    model, reference, grown = truth(name)
    ends = [sim_end(model, duration, duration / steps, solver) for solver in SOLVERS]
    apart, off = errors(*ends), errors(ends[0], reference)
    floor = floors(reference, duration, steps, 1, grown)[0]
    assert (apart[:2] < 0.05 * off[:2] + floor[:2]).all(), (apart, off, floor)
