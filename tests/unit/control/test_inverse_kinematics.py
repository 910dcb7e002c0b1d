"""Inverse kinematics: Jacobians against Pinocchio, arms against closed forms, robots to random places within reach."""

from __future__ import annotations

import numpy as np
import pytest
from arms import ROBOTS, limits, planar_arm, pose, robot
from refusal import refused

import sharnir as sh
from sharnir import dynamics
from sharnir.control.kinematics import Kinematics
from sharnir.rotations import matrix_to_quat, quat_to_matrix
from sharnir.scenes.mechanisms.linkages import n_four_bar

POINT = np.array([0.02, -0.03, 0.1])


def kinematics_of(model, tasks):
    places = [task.place(model) for task in tasks if task.place(model) is not None]
    groups = [task.group(model) for task in tasks if task.group(model) is not None]
    return Kinematics(model, places, groups)


def test_jacobians_are_pinocchios():
    """Of a frame of the hand and of the centre of mass, on Talos; its joints in our order."""
    pin = pytest.importorskip("pinocchio")
    from arms import FILES

    model, tip = robot("talos"), ROBOTS["talos"][1]
    peer = pin.buildModelFromUrdf(str(FILES[f"example-robot-data/{ROBOTS['talos'][0]}"].path))
    data = peer.createData()
    names = [n for n, kind in zip(model.joint_names, model.joint_types, strict=True) if kind != "fixed"]
    order = [peer.joints[peer.getJointId(n)].idx_v for n in names]
    at = kinematics_of(
        model, [sh.PoseTask(tip, ((0, 0, 0), (0, 0, 0, 1)), point=POINT), sh.CenterOfMassTask((0, 0, 0))]
    )
    rng = np.random.default_rng(3)
    for _ in range(20):
        q = rng.uniform(-1, 1, model.nq)
        theirs = np.zeros(peer.nq)
        theirs[order] = q
        at.at(q)
        pin.computeJointJacobians(peer, data, theirs)
        pin.updateFramePlacements(peer, data)
        frame = peer.getFrameId(tip)
        J = pin.getFrameJacobian(peer, data, frame, pin.LOCAL_WORLD_ALIGNED)[:, order]
        arm = data.oMf[frame].rotation @ POINT
        J[:3] += np.cross(J[3:].T, arm).T
        np.testing.assert_allclose(at.position[0], data.oMf[frame].translation + arm, atol=1e-12)
        np.testing.assert_allclose(at.rotation[0], data.oMf[frame].rotation, atol=1e-12)
        np.testing.assert_allclose(at.J[0], J, atol=1e-12)
        J = pin.jacobianCenterOfMass(peer, data, theirs)[:, order] * data.mass[0]  # which counts all but the fixed base
        np.testing.assert_allclose(at.J_center[0] * model.mass.sum(), J, atol=1e-11)
        np.testing.assert_allclose(at.center[0], dynamics.center_of_mass(model, q), atol=1e-12)


def test_jacobians_of_a_floating_robot_are_differences():
    model = robot("talos", floating=True)
    tasks = [
        sh.PoseTask("arm_left_7_link", ((0.3, 0.2, 0.5), (0.1, 0.2, 0.3, 0.9)), point=POINT),
        sh.CenterOfMassTask((0, 0, 0), of="arm_left_1_link"),
        sh.AxisTask("head_1_link", (1, 2, 3), axis=(0, 0, 1)),
    ]
    at = kinematics_of(model, tasks)
    rng = np.random.default_rng(4)
    q = at.moved(model.q0, rng.uniform(-0.6, 0.6, model.nv))
    step = 1e-6
    at.at(q)
    J = [at.J[0].copy(), at.J_center[0].copy(), tasks[2].jacobian(at, 1).copy()]
    for d in range(model.nv):
        ends = []
        for sign in (1, -1):
            there = at.moved(q, sign * step * np.eye(model.nv)[d])
            at.at(there)
            ends.append((at.position[0].copy(), at.center[0].copy(), at.rotation[1] @ [0.0, 0.0, 1.0]))
        moved, centre, axis = ((a - b) / (2 * step) for a, b in zip(*ends, strict=True))
        at.at(q)
        np.testing.assert_allclose(J[0][:3, d], moved, atol=1e-8)
        np.testing.assert_allclose(J[1][:, d], centre, atol=1e-8)
        np.testing.assert_allclose(np.cross(J[2][:, d], at.rotation[1] @ [0.0, 0.0, 1.0]), axis, atol=1e-8)


@pytest.mark.parametrize("elbow", [1.0, -1.0])
def test_two_link_arm_is_the_closed_form(elbow):
    """The angles of a triangle with sides 0.5 m, 0.5 m and the distance; the branch of the start."""
    x, y = 0.55, 0.3
    ik = sh.InverseKinematics(planar_arm(2), [sh.PositionTask("link1", (x, y, 0), point=(0.5, 0, 0))])
    found = ik.solve([0.0, 0.5 * elbow])
    bend = elbow * np.arccos((x * x + y * y - 0.5) / 0.5)
    expected = [np.arctan2(y, x) - bend / 2, bend]
    assert found.reached
    np.testing.assert_allclose(found.q, expected, atol=1e-8)


@pytest.mark.parametrize("name", ROBOTS)
def test_random_poses_within_reach_are_reached(name):
    """Also with a posture behind; all joints within limits. Poses are judged by other kernels."""
    model, tip = robot(name), ROBOTS[name][1]
    hand = sh.PoseTask(tip, ((0, 0, 0), (0, 0, 0, 1)), point=POINT)
    ik = sh.InverseKinematics(model, [hand, sh.PostureTask()])
    rng, (lower, upper) = np.random.default_rng(11), limits(model)
    for _ in range(25):
        hand.target = pose(model, rng.uniform(lower, upper), tip, POINT)
        found = ik.solve()
        position, quaternion = pose(model, found.q, tip, POINT)
        turned = quat_to_matrix(quaternion) @ quat_to_matrix(hand.target[1]).T
        assert found.reached
        assert np.linalg.norm(position - hand.target[0]) < 1e-6
        assert np.arccos(np.clip((np.trace(turned) - 1) / 2, -1, 1)) < 1e-6
        assert (found.q >= model.limit_lower[: model.nv]).all()
        assert (found.q <= model.limit_upper[: model.nv]).all()


@pytest.mark.parametrize("target", [(3.0, 0.0), (0.0, 4.0), (-10.0, 0.1), (1.5, 1.5), (1.50001, 0.0)])
@pytest.mark.parametrize("start", [(0.0, 0.0, 0.0), (0.3, 0.4, 0.5), (1.0, -2.0, 0.3)])
def test_out_of_reach_is_the_nearest_pose(target, start):
    """Stretched towards the target, from singular poses too."""
    task = sh.PositionTask("link2", (*target, 0), point=(0.5, 0, 0))
    model = sh.compile(planar_arm())
    found = sh.InverseKinematics(model, [task, sh.PostureTask()]).solve(start)
    place, _ = pose(model, found.q, "link2", np.array([0.5, 0, 0]))
    assert not found.reached
    np.testing.assert_allclose(place[:2], 1.5 * np.array(target) / np.hypot(*target), atol=1e-6)
    assert abs(found.errors[0] - (np.hypot(*target) - 1.5)) < 1e-9


def test_following_out_of_reach_comes_to_rest():
    """At a singular pose, without chatter and without infinite speeds."""
    task = sh.PositionTask("link2", (0, 4, 0), point=(0.5, 0, 0))
    ik = sh.InverseKinematics(planar_arm(), [task], max_speed=2.0)
    q, speeds = np.array([0.3, 0.4, 0.5]), []
    for _ in range(600):
        v = ik.step(q, 0.01)
        q = ik.moved(q, v, 0.01)
        speeds.append(np.abs(v).max())
    assert max(speeds) <= 2.0
    assert max(speeds[400:]) < 1e-6
    assert abs(ik.errors(q)[0] - 2.5) < 1e-9


@pytest.mark.parametrize("name", ROBOTS)
def test_singular_poses_give_finite_velocities(name):
    """All joints at zero, far and impossible targets."""
    model, tip = robot(name), ROBOTS[name][1]
    hand = sh.PoseTask(tip, ((0, 0, 0), (0, 0, 0, 1)))
    ik = sh.InverseKinematics(model, [hand, sh.PostureTask()], max_speed=3.0)
    for target in ((0, 0, 1e6), (0, 0, 0), (1e-9, 0, 0)):
        for quaternion in ((0, 0, 0, 1), (1, 0, 0, 0), (1, 0, 0, 1e-12)):
            hand.target = (target, quaternion)
            v = ik.step(np.zeros(model.nq), 0.01)
            assert np.isfinite(v).all() and np.abs(v).max() <= 3.0 + 1e-12


def test_speeds_of_the_model_and_by_joint_hold():
    model, tip = robot("ur5"), ROBOTS["ur5"][1]
    task = sh.PositionTask(tip, (0, 0, 5))
    q = np.full(model.nq, 0.3)
    v = sh.InverseKinematics(model, [task]).step(q, 0.01)
    assert (np.abs(v) <= model.drive_max_speed[: model.nv] + 1e-12).all() and np.abs(v).max() > 1
    slow = sh.InverseKinematics(model, [task], max_speed={"elbow_joint": 0.1}).step(q, 0.01)
    assert abs(slow[model.joint("elbow_joint").v][0]) <= 0.1 + 1e-12


def test_joint_limits_hold_while_following():
    """A target behind the stops: joints come to rest at them, with a margin."""
    model = sh.compile(planar_arm(limits=(-0.5, 0.5)))
    task = sh.PositionTask("link2", (-1.0, 0.3, 0), point=(0.5, 0, 0))
    ik = sh.InverseKinematics(model, [task], margin=0.01, max_speed=5.0)
    q = np.zeros(3)
    for _ in range(300):
        q = ik.moved(q, ik.step(q, 0.01), 0.01)
        assert (np.abs(q) <= 0.49 + 1e-12).all()
    np.testing.assert_allclose(q, 0.49, atol=1e-6)


def test_weights_share_what_priorities_do_not():
    """Two places for one point, within reach: weights 1 and 3 meet at three quarters; of priorities, the first wins."""
    a, b = np.array([0.6, 0.5, 0]), np.array([0.8, 0.1, 0])
    tip = np.array([0.5, 0, 0])
    model = sh.compile(planar_arm())

    def place(*tasks):
        return pose(model, sh.InverseKinematics(model, tasks).solve([0.3, 0.4, 0.5], restarts=0).q, "link2", tip)[0]

    first, second = sh.PositionTask("link2", a, point=tip), sh.PositionTask("link2", b, point=tip, weight=3.0)
    np.testing.assert_allclose(place(first, second), (a + 3 * b) / 4, atol=1e-6)
    second.priority = 1
    np.testing.assert_allclose(place(first, second), a, atol=1e-8)
    first = sh.PositionTask("link2", a, point=tip, axes=(True, False, False))
    np.testing.assert_allclose(place(first, second), [a[0], b[1], 0], atol=1e-6)


def test_second_priority_is_as_near_as_the_first_allows():
    """Tip held at a place, the elbow's point wanted far away: against a search over the tip's one-parameter family."""
    model = sh.compile(planar_arm())
    tip = sh.PositionTask("link2", (0.9, 0.2, 0), point=(0.5, 0, 0))
    elbow = sh.PositionTask("link0", (0.0, 5.0, 0), point=(0.5, 0, 0), priority=1)
    found = sh.InverseKinematics(model, [tip, elbow]).solve([0.3, 0.4, 0.5])
    angles = np.linspace(-np.pi, np.pi, 2_000_001)
    joints = 0.5 * np.stack([np.cos(angles), np.sin(angles)])
    within = np.hypot(0.9 - joints[0], 0.2 - joints[1]) <= 1.0
    best = np.hypot(joints[0], 5.0 - joints[1])[within].min()
    assert found.errors[0] < 1e-8
    assert abs(found.errors[1] - best) < 1e-5


def test_posture_moves_only_what_is_left():
    model, tip = robot("panda"), ROBOTS["panda"][1]
    rng, (lower, upper) = np.random.default_rng(2), limits(model)
    target = 0.5 * (lower + upper) + 0.2
    hand = sh.PoseTask(tip, pose(model, rng.uniform(lower, upper), tip, POINT), point=POINT)
    alone = sh.InverseKinematics(model, [hand]).solve(target)
    both = sh.InverseKinematics(model, [hand, sh.PostureTask(target)]).solve(target)
    assert alone.reached and both.reached
    assert np.linalg.norm(both.q - target) < np.linalg.norm(alone.q - target) - 1e-3


def test_axis_and_orientation():
    model, tip = robot("panda"), ROBOTS["panda"][1]
    q0 = np.clip(0.3, *limits(model)) * np.ones(model.nq)
    down = sh.InverseKinematics(model, [sh.AxisTask(tip, (0, 0, -1), axis=(0, 0, 2.0))]).solve(q0)
    _, quaternion = pose(model, down.q, tip, POINT)
    np.testing.assert_allclose(quat_to_matrix(quaternion) @ [0, 0, 1], [0, 0, -1], atol=1e-6)
    wanted = np.array([0.5, 0.5, -0.5, 0.5])
    turned = sh.InverseKinematics(model, [sh.OrientationTask(tip, wanted)]).solve(q0)
    _, quaternion = pose(model, turned.q, tip, POINT)
    assert abs(abs(quaternion @ wanted) - 1) < 1e-12


def test_floating_robot_shifts_its_weight():
    """Feet stay, the centre of mass goes over the left foot, the hand to a place: all at once."""
    model = robot("talos", floating=True)
    feet = [f"leg_{side}_6_link" for side in ("left", "right")]
    start = model.q0.copy()
    for side in ("left", "right"):
        for k, angle in ((3, -0.4), (4, 0.8), (5, -0.4)):
            start[model.joint(f"leg_{side}_{k}_joint").q] = angle
    stand = [sh.PoseTask(foot, pose(model, start, foot, np.zeros(3))) for foot in feet]
    over = stand[0].target[0]
    center = sh.CenterOfMassTask(over, axes=(True, True, False))
    hand = sh.PositionTask("arm_left_7_link", over + np.array([0.4, 0.1, 1.1]), priority=1)
    found = sh.InverseKinematics(model, [*stand, center, hand, sh.PostureTask(start, priority=2)]).solve(start)
    assert found.reached and max(found.errors[:4]) < 1e-6
    np.testing.assert_allclose(dynamics.center_of_mass(model, found.q)[:2], over[:2], atol=1e-6)
    for foot, task in zip(feet, stand, strict=True):
        np.testing.assert_allclose(pose(model, found.q, foot, np.zeros(3))[0], task.target[0], atol=1e-6)


def test_moving_target_is_followed():
    """On a circle, 0.2 m in 1 s at 200 Hz: with the target's rate the lag is of second order in the step."""
    model = sh.compile(planar_arm())
    task = sh.PositionTask("link2", (0.9, 0.2, 0), point=(0.5, 0, 0))
    ik = sh.InverseKinematics(model, [task])
    q, dt, w = ik.solve([0.3, 0.4, 0.5]).q, 0.005, 2 * np.pi
    lags = []
    for k in range(200):
        angle = w * k * dt
        task.target = (0.9 + 0.1 * np.sin(angle), 0.3 - 0.1 * np.cos(angle), 0)
        task.target_rate = (0.1 * w * np.cos(angle), 0.1 * w * np.sin(angle), 0)
        lags.append(ik.errors(q)[0])
        q = ik.moved(q, ik.step(q, dt), dt)
    assert max(lags) < 0.1 * (w * dt) ** 2


def test_rate_of_a_task_is_kept():
    """With 3/s, a small error is e⁻³ of itself after a second."""
    task = sh.PositionTask("link2", (1.0, 0.2, 0), point=(0.5, 0, 0), rate=3.0)
    ik = sh.InverseKinematics(planar_arm(), [task])
    q = ik.solve([0.3, 0.4, 0.5]).q
    task.target = task.target + np.array([1e-4, 0, 0])
    for _ in range(1000):
        q = ik.moved(q, ik.step(q, 0.001), 0.001)
    assert abs(ik.errors(q)[0] / 1e-4 - np.exp(-3)) < 1e-3


def test_loops_stay_closed():
    """Two four-bars of equal sides: the far coupler's middle moves on a circle of 1 m about (1.5, 0)."""
    model = sh.compile(n_four_bar(2))
    angle = 0.4
    task = sh.PositionTask("coupler1", (1.5 + np.sin(angle), 0, np.cos(angle)), axes=(True, False, True))
    ik = sh.InverseKinematics(model, [task])
    found = ik.solve()
    assert found.reached
    placed = {name: x for name, x in zip(model.body_names, dynamics.body_poses(model, found.q)[0], strict=True)}
    for k in range(3):
        np.testing.assert_allclose(placed[f"upright{k}"][[0, 2]], [k + np.sin(angle) / 2, np.cos(angle) / 2], atol=1e-6)
    v = ik.step(model.q0, 0.01)
    assert np.abs(ik._closure.jacobian(ik._kinematics) @ v).max() < 1e-8 * np.abs(v).max()


def test_couplings_hold():
    scene = planar_arm()
    scene.add(sh.Coupling(name="gear", leader="joint0", follower="joint1", ratio=-0.5, offset=0.1))
    task = sh.PositionTask("link2", (0.9, 0.2, 0), point=(0.5, 0, 0), axes=(False, True, False))
    found = sh.InverseKinematics(scene, [task]).solve([0.1, 0.05, 0.0])
    assert found.reached
    assert abs(found.q[1] - (-0.5 * found.q[0] + 0.1)) < 1e-9


def test_some_joints_only():
    ik = sh.InverseKinematics(
        planar_arm(), [sh.PositionTask("link2", (0.9, 0.4, 0), point=(0.5, 0, 0))], joints=["joint1", "joint2"]
    )
    found = ik.solve([0.2, 0.3, 0.4])
    assert found.reached and found.q[0] == 0.2


def test_positions_of_a_simulation_by_either_solver():
    q = [0.2, 0.3, 0.4]
    scene = planar_arm()
    for joint, position in zip(scene.joints, q, strict=True):
        joint.position = position
    task = sh.PositionTask("link2", (0.9, 0.2, 0), point=(0.5, 0, 0))
    speeds = []
    for solver in ("simgc", "simmc"):
        sim = sh.Simulation(scene, solver=solver)
        speeds.append(sh.InverseKinematics(sim, [task]).step(sim, 0.01))
    np.testing.assert_allclose(speeds[0], sh.InverseKinematics(scene, [task]).step(q, 0.01), atol=1e-9)
    np.testing.assert_allclose(speeds[0], speeds[1], atol=1e-6)


def test_same_start_same_bits():
    model, tip = robot("panda"), ROBOTS["panda"][1]
    hand = sh.PoseTask(tip, pose(model, sum(limits(model)) / 2, tip, POINT), point=POINT)
    first, second = (sh.InverseKinematics(model, [hand, sh.PostureTask()]).solve() for _ in range(2))
    assert (first.q == second.q).all()


def test_what_is_wrong_is_said():
    scene = planar_arm()
    with refused("unknown body 'hand'", "link0"):
        sh.InverseKinematics(scene, [sh.PositionTask("hand", (0, 0, 0))])
    with refused("position of 'link0'", "target has the wrong shape", "3 finite numbers"):
        sh.PositionTask("link0", (0, 0))
    with refused("pose of 'link0'", "(position, quaternion)"):
        sh.PoseTask("link0", (0, 0, 0))
    with refused("weight is out of range", "> 0"):
        sh.PositionTask("link0", (0, 0, 0), weight=0)
    with refused("priority is out of range"):
        sh.PositionTask("link0", (0, 0, 0), priority=-1)
    with refused("not a task", "PositionTask"):
        sh.InverseKinematics(scene, ["hand"])
    with refused("unknown joint 'joint9'", "joint0"):
        sh.InverseKinematics(scene, [], joints=["joint9"])
    with refused("axes count wrongly"):
        sh.CenterOfMassTask((0, 0, 0), axes=(False, False, False))
    with refused("dt is out of range"):
        sh.InverseKinematics(scene, [sh.PositionTask("link0", (0, 0, 0))]).step(np.zeros(3), 0)
    with refused("q has the wrong shape", "[3]"):
        sh.InverseKinematics(scene, [sh.PositionTask("link0", (0, 0, 0))]).step(np.zeros(2), 0.01)
    ball = sh.Scene(name="ball")
    ball.add(sh.Body(name="link", mass=1.0, inertia=(1, 1, 1)))
    ball.add(sh.Spherical(name="neck", parent="world", child="link", limits=[(-0.5, 0.5)] * 3))
    with refused("limits of a ball are not kept", "joint 'neck'"):
        sh.InverseKinematics(ball, [sh.OrientationTask("link", (0, 0, 0, 1))])


def test_quaternions_of_a_free_body():
    """A free box is wherever its pose task wants it, half a turn away too."""
    scene = sh.Scene(name="box")
    scene.add(sh.Body(name="box", mass=1.0, shapes=[sh.Box(size=(0.1, 0.2, 0.3))]))
    wanted = matrix_to_quat(np.diag([-1.0, 1.0, -1.0]))
    found = sh.InverseKinematics(scene, [sh.PoseTask("box", ((1, 2, 3), wanted))]).solve()
    np.testing.assert_allclose(found.q[:3], [1, 2, 3], atol=1e-9)
    assert abs(abs(found.q[3:] @ wanted) - 1) < 1e-12
