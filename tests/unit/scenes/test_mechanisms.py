"""The named mechanisms are what they say: counts, geometry, loops that close, springs that hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refusal import refused

import sharnir
from sharnir import dynamics, scenes
from sharnir.model.kinematics import link_poses
from sharnir.model.poses import Pose
from sharnir.scenes import vehicles
from sharnir.scenes.mechanisms import planar

COUNTS = {  # bodies, joints, loops, velocity coordinates of the tree
    "five_link_chain": (5, 5, 0, 5),
    "four_bar": (3, 4, 1, 3),
    "slider_crank": (3, 4, 1, 3),
    "peaucellier": (7, 10, 3, 7),
    "double_wishbone": (5, 7, 2, 8),
    "trailer": (2, 2, 0, 4),
    "gripper": (3, 3, 0, 3),
    "grasp": (5, 5, 0, 10),
    "grasp_arm": (7, 7, 0, 12),
    "humanoid": (15, 15, 0, 27),
    "box_on_slope": (1, 1, 0, 6),
}


def bare(scene):
    """Without what the exact solver does not know."""
    joints = [replace(j, limits=None, limit_angles="twist", friction=0.0) for j in scene.joints]
    return replace(scene, joints=joints, motors=[], couplings=[], shapes=[])


def point(model, q, body, place):
    """A point of a body in the world, m."""
    i = model.body(body)
    return (link_poses(model, q)[i] @ Pose(model.body_rot[i], model.body_pos[i]) @ Pose(np.eye(3), np.array(place))).x


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    model = sharnir.compile(scenes.make(name))
    assert (model.nb, len(model.joint_names), model.loops, model.nv) == COUNTS[name]
    assert np.linalg.eigvalsh(model.inertia).min() > 0  # every body has all of its rotational inertia


@pytest.mark.parametrize("name", COUNTS)
def test_bodies_can_be_looked_at(name):
    assert all(body.shapes for body in scenes.make(name).bodies)


def test_chain_starts_horizontal_with_the_energy_it_is_said_to_have():
    model = sharnir.compile(scenes.make("five_link_chain"))
    hanging = model.q0 + np.eye(model.nq)[0] * -np.pi / 2
    top, bottom = (dynamics.energy(model, q, model.v0)[1] for q in (model.q0, hanging))
    assert float(top - bottom) == pytest.approx(1.0 * 9.81 * 0.5, rel=1e-12)
    assert point(model, model.q0, "link5", (0.1, 0.0, 0.0)) == pytest.approx([1.0, 0.0, 0.0])


@pytest.mark.parametrize(("r", "start"), [(0.2, 0.0), (0.2, -0.5), (0.17, 0.3), (0.22, 0.2)])
def test_peaucellier_draws_a_straight_line(r, start):
    run = sharnir.simulate(
        bare(scenes.make("peaucellier", r=r, start=start, spin=1.0)), 0.5, times=np.arange(1, 6) / 10
    )
    crank = start + run.joint("joint1")[0][:, 0]
    line = (planar.PEAUCELLIER_ARM**2 - planar.PEAUCELLIER_SIDE**2) / (2 * r)
    for side in ("side_at", "side_bt"):
        tips = np.array([point(run.model, q, side, (planar.PEAUCELLIER_SIDE / 2, 0.0, 0.0)) for q in run.q])
        assert tips[:, 0] == pytest.approx(np.full(len(tips), line), abs=1e-9)
        assert tips[:, 1] == pytest.approx(line * np.tan(crank / 2), abs=1e-9)
    assert run.loop_error.max() < 1e-9
    assert run.joint("joint6")[0].shape == (6, 1)


def test_four_bar_is_a_crank_and_a_rocker():
    run = sharnir.simulate(scenes.make("four_bar"), 4.0)
    assert np.ptp(run.joint("joint1")[0]) > 2 * np.pi
    assert np.ptp(run.joint("joint4")[0]) < 1.5
    assert run.loop_error.max() < 1e-9
    assert np.abs(run.energy_error).max() < 1e-8 * run.energy_scale


def test_parallelogram_stays_one_through_flat():
    scene = scenes.make("four_bar", crank=0.1, coupler=0.2, rocker=0.1, ground=0.2)
    run = sharnir.simulate(scene, 4.0, times=[4.0])
    assert run.joint("joint1")[0][-1] == pytest.approx(8.0, abs=1e-8)  # turns on at its constant speed
    assert run.joint("joint4")[0][-1] == pytest.approx(8.0, abs=1e-8)


def test_slider_crank_has_its_stroke():
    scene = bare(scenes.make("slider_crank"))
    scene.gravity = (0.0, 0.0, 0.0)
    scene.joints[0].velocity = 5.0
    run = sharnir.simulate(scene, 2.5)
    assert np.ptp(run.joint("guide")[0]) == pytest.approx(0.2, abs=1e-3)
    assert run.loop_error.max() < 1e-9


def test_suspension_settles_on_its_spring():
    run = sharnir.simulate(scenes.make("double_wishbone"), 2.0, times=[1.0, 2.0])
    sunk = [vehicles.HUB[2] - point(run.model, q, "wheel", (0.0, 0.0, 0.0))[2] for q in run.q]
    assert sunk[2] == pytest.approx(0.051, abs=1e-3)
    assert sunk[1] == pytest.approx(sunk[2], abs=1e-4)
    assert np.abs(run.v[-1]).max() < 1e-6
    assert run.loop_error.max() < 1e-9


def test_trailer_would_leave_its_limits():
    scene = bare(scenes.make("trailer"))
    scene.joints[0].velocity, scene.joints[0].armature = 6.0 / 15.0, 1e12  # driven at constant speed
    run = sharnir.simulate(scene, 1.0, times=[1.0])
    w = run.joint("hitch")[0][-1, 3]
    assert 2 * np.arccos(abs(w)) > np.radians(30)


def test_gripper_starts_on_its_coupling():
    model = sharnir.compile(scenes.make("gripper"))
    leader, follower = (model.q0[model.joint(f"hinge{k}").q][0] for k in (1, 2))
    assert follower == -leader != 0
    tips = [point(model, model.q0, f"finger{k}", (0.0, 0.0, -0.1)) for k in (1, 2)]
    assert tips[0][0] == pytest.approx(-tips[1][0])
    assert tips[0][0] > 0.04  # open


def lowest(model, q):
    """Height of the lowest point of the capsules of both feet over the ground, m."""
    heights = []
    poses = link_poses(model, q)
    for k in np.flatnonzero(np.isin(model.shape_link, [model.body("left_foot"), model.body("right_foot")])):
        pose = poses[model.shape_link[k]] @ Pose(model.shape_rot[k], model.shape_pos[k])
        radius, length = model.shape_size[k, :2]
        heights += [(pose.x + end * length / 2 * pose.R[:, 2])[2] - radius for end in (-1, 1)]
    return np.array(heights)


@pytest.mark.parametrize("height", [0.0, 0.3])
def test_humanoid_stands_on_its_soles(height):
    model = sharnir.compile(scenes.make("humanoid", height=height))
    assert lowest(model, model.q0) == pytest.approx(np.full(8, height), abs=1e-12)
    com = dynamics.center_of_mass(model, model.q0)
    assert -0.05 < com[0] < 0.1 and abs(com[1]) < 1e-12  # over the feet
    assert model.mass.sum() == pytest.approx(41.0, abs=0.1)


def test_humanoid_is_symmetric_and_within_its_limits():
    model = sharnir.compile(scenes.make("humanoid"))
    assert (model.limit_lower[6:] < 0).all() and (model.limit_upper[6:] > 0).all()
    for left in (n for n in model.body_names if n.startswith("left")):
        i, j = model.body(left), model.body(left.replace("left", "right"))
        assert model.mass[i] == pytest.approx(model.mass[j])
        a, b = (point(model, model.q0, model.body_names[k], (0.0, 0.0, 0.0)) for k in (i, j))
        assert a * [1, -1, 1] == pytest.approx(b)


def test_box_lies_flat_on_the_slope():
    model = sharnir.compile(scenes.make("box_on_slope", angle_deg=30.0))
    normal = np.array([0.5, 0.0, np.sqrt(0.75)])
    corners = [point(model, model.q0, "box", (x, y, -0.1)) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    assert np.array(corners) @ normal == pytest.approx(np.zeros(4), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "parameters", "fragment"),
    [
        ("four_bar", {"ground": 0.6}, "the links do not meet"),
        ("four_bar", {"crank": -0.1}, "crank is out of range"),
        ("slider_crank", {"rod": 0.05}, "rod is out of range"),
        ("peaucellier", {"start": 2.0}, "the links do not meet"),
        ("five_link_chain", {"n": 0}, "n is out of range"),
    ],
)
def test_impossible_mechanisms_are_refused(name, parameters, fragment):
    with refused(f"scene {name!r}", fragment):
        scenes.make(name, **parameters)
