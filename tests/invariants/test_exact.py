"""What the exact solver must keep: other formulations, energy, momentum, closed loops, orders of convergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import sharnir
from sharnir import scenes


def rods_in_absolute_coordinates(n: int, angle: float, times: np.ndarray) -> np.ndarray:
    """Relative angles of the chain from the Newton–Euler equations of n free rods held by Lagrange multipliers."""
    length, mass, g = 1.0 / n, 10.0 / n, 9.81
    inertia = mass * length**2 / 12
    M = np.diag(np.tile([mass, mass, inertia], n))
    force = np.tile([0.0, -mass * g, 0.0], n)

    def rates(_t: float, y: np.ndarray) -> np.ndarray:
        x, u = y[: 3 * n], y[3 * n :]
        phi, omega = x[2::3], u[2::3]
        c, s = np.cos(phi) * length / 2, np.sin(phi) * length / 2
        J, gamma = np.zeros((2 * n, 3 * n)), np.zeros(2 * n)
        for k in range(n):  # left end of rod k on the right end of rod k − 1, or on the ground
            J[2 * k, 3 * k], J[2 * k, 3 * k + 2] = 1.0, s[k]
            J[2 * k + 1, 3 * k + 1], J[2 * k + 1, 3 * k + 2] = 1.0, -c[k]
            gamma[2 * k], gamma[2 * k + 1] = c[k] * omega[k] ** 2, s[k] * omega[k] ** 2
            if k:
                J[2 * k, 3 * k - 3], J[2 * k, 3 * k - 1] = -1.0, s[k - 1]
                J[2 * k + 1, 3 * k - 2], J[2 * k + 1, 3 * k - 1] = -1.0, -c[k - 1]
                gamma[2 * k] += c[k - 1] * omega[k - 1] ** 2
                gamma[2 * k + 1] += s[k - 1] * omega[k - 1] ** 2
        system = np.block([[M, J.T], [J, np.zeros((2 * n, 2 * n))]])
        return np.concatenate([u, np.linalg.solve(system, np.concatenate([force, -gamma]))[: 3 * n]])

    middle = (np.arange(n) + 0.5) * length
    start = np.column_stack([middle * np.cos(angle), middle * np.sin(angle), np.full(n, angle)]).ravel()
    y0 = np.concatenate([start, np.zeros(3 * n)])
    run = solve_ivp(rates, (0.0, times[-1]), y0, method="DOP853", t_eval=times, rtol=1e-12, atol=1e-13)
    phi = run.y[2 : 3 * n : 3].T
    return np.column_stack([phi[:, 0], np.diff(phi, axis=1)])


def test_rods_agree_with_absolute_coordinates_and_keep_their_energy():
    times = np.linspace(0.0, 10.0, 41)
    run = sharnir.simulate(scenes.make("rods"), 10.0, times=times, rtol=1e-12, atol=1e-13)
    other = rods_in_absolute_coordinates(10, -1.0, times)
    np.testing.assert_allclose(run.q, other, atol=1e-8)
    assert np.abs(run.energy_error).max() < 1e-9 * run.energy_scale


def test_tumbling_body_keeps_its_angular_momentum():
    """100 s about the middle axis, which is unstable: any error in the gyroscopic terms shows."""
    scene = scenes.make("free_box", velocity=(0.3, -0.2, 0.1), gravity=(0.0, 0.0, 0.0))
    model = sharnir.compile(scene)
    run = sharnir.simulate(model, 100.0, times=np.linspace(0, 100, 101), rtol=1e-12, atol=1e-14)
    P, L = sharnir.dynamics.momentum(model, run.q.T, run.v.T)
    assert np.abs(L - L[:, :1]).max() < 1e-10 * np.linalg.norm(L[:, 0])
    assert np.abs(P - P[:, :1]).max() < 1e-10 * np.linalg.norm(P[:, 0])
    assert np.abs(np.linalg.norm(run.q[:, 3:7], axis=1) - 1).max() < 1e-15 * 4


SMOOTH = {  # scene and a time before anything special happens
    "double_pendulum": (scenes.make("double_pendulum"), 0.5),
    "spherical_pendulum": (scenes.make("spherical_pendulum"), 0.5),
    "free_box": (scenes.make("free_box"), 0.5),
    "n_four_bar": (scenes.make("n_four_bar", n=1), 0.4),
    "andrews": (scenes.make("andrews"), 0.004),
}


@pytest.mark.parametrize("scene", SMOOTH)
@pytest.mark.parametrize(("method", "order", "steps"), [("euler", 1, 400), ("rk4", 4, 50)])
def test_order_of_convergence(scene, method, order, steps):
    built, duration = SMOOTH[scene]
    model = sharnir.compile(built)
    exact = sharnir.simulate(model, duration, times=[duration], rtol=1e-13, atol=1e-15)
    errors = []
    for n in (steps, 2 * steps, 4 * steps):
        run = sharnir.simulate(model, duration, method=method, dt=duration / n, times=[duration])
        errors.append(np.linalg.norm(np.concatenate([run.q[-1] - exact.q[-1], run.v[-1] - exact.v[-1]])))
    measured = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert measured[-1] == pytest.approx(order, abs=0.15), (errors, measured)


def test_work_accounts_for_drives_and_dampers():
    """Energy changes by the work of efforts, dampers and control, in trees, loops and springs alike."""
    scene = scenes.make("n_four_bar", n=1)
    scene.joints[0].damping = 0.4
    scene.joints[1].effort = 2.0
    scene.joints[2].damping, scene.joints[2].stiffness, scene.joints[2].effort = 0.3, 5.0, -1.0
    scene.add(sharnir.Spring(name="s", parent="world", child="coupler0", stiffness=30.0, damping=2.0, length=0.5))
    run = sharnir.simulate(scene, 2.0, control=lambda t, q, v: np.sin(5 * t) * np.ones(len(v)))
    assert np.abs(run.work).max() > 1.0
    assert np.abs(run.energy_error).max() < 1e-9 * run.energy_scale


def test_loop_armature_equals_tree_armature():
    """A rotor on a joint acts the same whether the spanning tree uses that joint or cuts it."""

    def four_bar(first_cut: bool) -> sharnir.Scene:
        scene = scenes.make("n_four_bar", n=1)
        scene.joints[3].armature = 0.7  # right0, which closes the loop
        scene.joints[3].damping = 0.2
        scene.joints[3].stiffness = 3.0
        if first_cut:  # described from the other side, another joint closes the loop
            scene.joints.reverse()
            scene.bodies.reverse()
        return scene

    runs = []
    for cut in (False, True):
        model = sharnir.compile(four_bar(cut))
        run = sharnir.simulate(model, 0.6, times=[0.6])
        runs.append(run.q[-1, model.joint("ground0").q][0])
        assert model.joint("right0").closes_loop is not cut
    assert runs[0] == pytest.approx(runs[1], abs=1e-9)


def test_loop_spring_winds_up_over_whole_turns():
    """A spring on the joint that closes the loop acts as on a tree joint, also after several turns."""
    runs = []
    for joint in (1, 3):  # ground1 in the tree; right0, which closes the loop and turns against it as much
        scene = scenes.make("n_four_bar", n=1)
        scene.joints[joint].stiffness = 0.3
        scene.joints[joint].rest = -1.0
        model = sharnir.compile(scene)
        run = sharnir.simulate(model, 6.0)
        runs.append(run.q[:, model.joint("ground0").q][:, 0])
        assert np.abs(run.energy_error).max() < 1e-8 * run.energy_scale
    assert np.ptp(runs[0]) > 2 * np.pi
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-6)


def test_loop_angle_follows_the_tree_angle_over_many_turns():
    """Two hinges in line on one body: whatever closes the loop must read what the tree reads, to rounding."""
    scene = sharnir.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(sharnir.Body(name="wheel", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    scene.add(sharnir.Revolute(name="a", parent="world", child="wheel", velocity=100.0))
    scene.add(sharnir.Revolute(name="b", parent="world", child="wheel", anchor=(0.0, 0.0, 0.2), stiffness=0.1))
    run = sharnir.simulate(scene, 6.0)
    np.testing.assert_allclose(run.q[:, 0], 100.0 * np.sin(run.t), atol=1e-7)  # k/I = 1
    np.testing.assert_allclose(run.joint("b")[0], run.joint("a")[0], atol=1e-11)
    scene.joints[1].stiffness = 0.0
    run = sharnir.simulate(scene, 10.0, times=[10.0])  # in steps of many turns
    assert run.joint("b")[0][-1, 0] == pytest.approx(1000.0, abs=1e-9)


def test_screw_that_closes_a_loop_keeps_its_thread():
    scene = sharnir.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add(sharnir.Body(name="nut", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    scene.add(sharnir.Cylindrical(name="guide", parent="world", child="nut"))
    scene.add(sharnir.Helical(name="thread", parent="world", child="nut", pitch=2 * np.pi, velocity=10.0))
    run = sharnir.simulate(scene, 20.0)
    np.testing.assert_allclose(run.q[:, 0], run.q[:, 1], atol=1e-9)
    assert run.q[-1, 1] == pytest.approx(200.0, abs=1e-8)


def test_mechanisms_of_different_mass_do_not_disturb_each_other():
    cranks = []
    scene = sharnir.Scene()
    for mass in (1e6, 1e-6):
        single = scenes.make("n_four_bar", n=1)
        for body in single.bodies:
            body.name, body.mass = f"{body.name} {mass}", mass
            body.inertia = (mass / 12,) * 3
            scene.add(body)
        for joint in single.joints:
            ends = (e if e == "world" else f"{e} {mass}" for e in (joint.parent, joint.child))
            joint.name, (joint.parent, joint.child) = f"{joint.name} {mass}", ends
            scene.add(joint)
    run = sharnir.simulate(scene, 0.6)
    cranks = [run.joint(f"ground0 {mass}")[0] for mass in (1e6, 1e-6)]
    np.testing.assert_allclose(cranks[0], cranks[1], atol=1e-8)
    assert run.loop_error.max() < 1e-9


def test_stiff_arm_at_rest_is_cheap_with_radau():
    scene = sharnir.Scene()
    scene.add(sharnir.Body(name="arm", mass=1.0, position=(0.0, 0.0, -1.0)))
    scene.add(
        sharnir.Revolute(
            name="joint", parent="world", child="arm", axis=(0, 1, 0), damping=2e4, stiffness=5e4, position=1.0
        )
    )
    run = sharnir.simulate(scene, 30.0, method="radau", rtol=1e-8, atol=1e-10)
    assert abs(run.q[-1, 0]) < 1e-9
    assert run.evaluations < 20_000
    assert np.abs(run.energy_error).max() < 1e-6 * run.energy_scale


def test_an_error_carries_what_was_recorded():
    scene = scenes.make("pendulum")
    with pytest.raises(sharnir.SimulationError, match="diverged") as caught:
        scene.joints[0].stiffness = 1e6
        sharnir.simulate(scene, 10.0, method="rk4", dt=0.1)
    assert len(caught.value.trajectory.t) > 1
    assert not caught.value.trajectory.finished


def test_a_fixed_step_is_the_step_taken():
    coarse, fine = (sharnir.simulate(scenes.make("pendulum"), 1.0, method="euler", dt=dt) for dt in (0.1, 0.01))
    assert (len(coarse.t), len(fine.t)) == (11, 101)
    assert (coarse.evaluations, fine.evaluations) == (10, 100)


def test_far_from_the_origin_nothing_is_lost_whichever_way_a_free_joint_is_described():
    accelerations = []
    for ends in (("world", "base"), ("base", "world")):
        scene = sharnir.Scene()
        scene.add(sharnir.Body(name="base", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1e3, 0.0, 0.0)))
        scene.add(sharnir.Body(name="arm", mass=0.5, inertia=(0.01, 0.01, 0.01), position=(1e3 + 0.5, 0.0, 0.0)))
        scene.add(sharnir.Free(name="free", parent=ends[0], child=ends[1]))
        scene.add(sharnir.Revolute(name="hinge", parent="base", child="arm", anchor=(1e3, 0, 0), axis=(0, 1, 0)))
        model = sharnir.compile(scene)
        tau = np.zeros(model.nv)
        tau[model.joint("hinge").v] = 1.0
        a = sharnir.dynamics.aba(model, model.q0, model.v0, tau)
        accelerations.append(a[model.joint("hinge").v][0])
    assert accelerations[0] == pytest.approx(accelerations[1], rel=1e-9)


def test_reactions_hold_a_hanging_chain():
    """At rest each hinge of a hanging chain carries the weight below it."""
    model = sharnir.compile(scenes.make("rods", n=4, angle=-np.pi / 2))
    run = sharnir.simulate(model, 0.1, times=[0.1])
    carried = run.joint_wrenches()[0, :, 2]
    np.testing.assert_allclose(carried, 2.5 * 9.81 * np.array([4, 3, 2, 1]), rtol=1e-12)


def test_reactions_of_a_loop_balance_gravity():
    """A table on two parallel uprights, released at rest: the ground forces and the motion of the mass agree."""
    scene = scenes.make("n_four_bar", n=1)
    for joint in scene.joints:
        joint.velocity = None
    model = sharnir.compile(scene)
    run = sharnir.simulate(model, 0.1, times=[0.1])
    # upright: an unstable equilibrium, everything stays; hinges carry 3 kg in all
    ground = [model.body("upright0"), model.body("upright1")]
    carried = run.joint_wrenches()[0, ground, 2].sum()
    assert carried == pytest.approx(3 * 9.81, rel=1e-9)


def test_loops_stay_closed_and_quaternions_unit_for_every_joint_type():
    """A body held to the world by two joints, one of them of each type with room to move."""
    for kind in ("spherical", "universal", "cylindrical", "planar", "helical", "revolute", "prismatic", "fixed"):
        scene = sharnir.Scene(name=kind, gravity=(1.0, 2.0, -9.81))
        inertia = (0.1, 0.12, 0.14)
        for name, position in (("a", (0.3, 0.1, 0.0)), ("b", (0.7, -0.1, 0.4))):
            scene.add(sharnir.Body(name=name, mass=1.0, inertia=inertia, position=position))
        scene.add(sharnir.Spherical(name="one", parent="world", child="a"))
        scene.add(sharnir.Spherical(name="two", parent="world", child="b", anchor=(1.0, 0.0, 0.0)))
        extra = {"axis2": (0.0, 1.0, 0.0)} if kind == "universal" else {"axis": (0.3, 0.2, 1.0)}
        if kind == "helical":
            extra["pitch"] = 0.5
        joint = getattr(sharnir, kind.capitalize())
        scene.add(joint(name="close", parent="a", child="b", anchor=(0.4, 0.3, 0.3), **extra))
        run = sharnir.simulate(scene, 1.0, times=np.linspace(0, 1, 11))
        assert run.loop_error.max() < 1e-9, kind
        assert np.abs(run.energy_error).max() < 1e-8 * run.energy_scale, kind


def parallelogram(speed: float, masses: tuple[float, float, float]) -> sharnir.Scene:
    scene = sharnir.Scene(name="parallelogram")
    places = {"left": (0, 0, 0.5), "top": (0.5, 0, 1), "right": (1, 0, 0.5)}
    for (name, place), mass in zip(places.items(), masses, strict=True):
        scene.add(sharnir.Body(name=name, mass=mass, inertia=(0.1, 0.1, 0.1), position=place))
    y = (0, 1, 0)
    scene.add(sharnir.Revolute(name="a", parent="world", child="left", axis=y, velocity=speed))
    scene.add(sharnir.Revolute(name="b", parent="left", child="top", anchor=(0, 0, 1), axis=y))
    scene.add(sharnir.Revolute(name="c", parent="top", child="right", anchor=(1, 0, 1), axis=y))
    scene.add(sharnir.Revolute(name="d", parent="world", child="right", anchor=(1, 0, 0), axis=y))
    return scene


@pytest.mark.parametrize("masses", [(1.0, 1.0, 1.0), (1.27, 0.72, 1.1), (0.9, 0.8, 1.7)])
@pytest.mark.parametrize("speed", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("outputs", [2, 101, 401])
def test_parallelogram_passes_flat_on_its_branch(speed, masses, outputs):
    """Twice a turn all bars lie in line and the linkage could fold: it must come through, whatever the step.

    Without the guarded steps most of these end with an error.
    """
    run = sharnir.simulate(parallelogram(speed, masses), 4.0, times=np.linspace(0, 4, outputs))
    assert np.ptp(run.q[:, 0]) > 2 * np.pi
    assert np.abs(run.joint("a")[0] + run.joint("b")[0]).max() < 1e-9  # the coupler stays level
    assert abs(run.energy_error[-1]) < 1e-7 * run.energy_scale
    assert run.loop_error.max() < 1e-9


def test_bennett_linkage_moves_although_a_count_of_rows_would_lock_it():
    """Four skew hinges in a ring, mobile only by sin α/a = sin β/b: five rows of which one is redundant everywhere.

    Positions are stated for three joints only, wherever the spanning tree would rather go.
    """
    alpha, beta, a = np.radians(35.0), np.radians(70.0), 0.3
    b = a * np.sin(beta) / np.sin(alpha)
    positions = (1.0, -3.54995316, -1.0)  # typed to 8 decimals, as a person would

    def far(length: float, twist: float) -> sharnir.Frame:
        axis = (0.0, -np.sin(twist), np.cos(twist))
        return sharnir.Frame(anchor=(length, 0.0, 0.0), axis=axis, x_axis=(1.0, 0.0, 0.0))

    bars = ((a, alpha), (b, beta), (a, alpha))
    scene = sharnir.Scene(name="bennett")
    ends = [sharnir.Frame(), *(far(*bar) for bar in bars)]
    for k, (length, _) in enumerate(bars):
        middle = (length / 2, 0.0, 0.0)
        scene.add(sharnir.Body(name=f"bar{k}", mass=1.0, inertia=(0.01, 0.02, 0.02), center_of_mass=middle))
        parent = f"bar{k - 1}" if k else "world"
        frames = {"parent_frame": ends[k], "child_frame": sharnir.Frame(), "position": positions[k]}
        scene.add(sharnir.Revolute(name=f"hinge{k}", parent=parent, child=f"bar{k}", **frames))
    scene.joints[0].velocity = 2.0
    ground = sharnir.Frame(anchor=(-b, 0.0, 0.0), axis=(0.0, np.sin(beta), np.cos(beta)), x_axis=(1.0, 0.0, 0.0))
    scene.add(sharnir.Revolute(name="last", parent="bar2", child="world", parent_frame=ends[3], child_frame=ground))
    run = sharnir.simulate(scene, 3.0)
    assert run.model.joint("last").closes_loop
    np.testing.assert_allclose(run.v[:, 0], -run.v[:, 2], atol=1e-8)  # opposite hinges turn alike
    assert np.ptp(run.q[:, 0]) > 1.0
    assert run.loop_error.max() < 1e-9
    assert np.abs(run.energy_error).max() < 1e-8 * run.energy_scale


def test_velocity_of_one_joint_moves_the_whole_loop():
    """The crank's rate is given, the rest follows; a parallelogram's coupler does not turn."""
    scene = scenes.make("n_four_bar", n=1)
    for joint in scene.joints[1:]:
        joint.velocity = None
    model = sharnir.compile(scene)
    assert model.v0[model.joint("ground1").v][0] == pytest.approx(-1.0, abs=1e-12)
    assert model.v0[model.joint("left0").v][0] == pytest.approx(1.0, abs=1e-12)


def test_velocities_that_contradict_each_other_are_refused():
    scene = scenes.make("n_four_bar", n=1)
    scene.joints[1].velocity = 0.5
    with pytest.raises(sharnir.ModelError, match="initial velocities contradict each other"):
        sharnir.compile(scene)


def test_same_scene_same_bits():
    runs = [sharnir.simulate(scenes.make("n_four_bar"), 1.0, times=[1.0]) for _ in range(2)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert np.array_equal(runs[0].v, runs[1].v)
