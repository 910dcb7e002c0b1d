"""Maximal coordinates: the same bodies, motion and joint coordinates as the model they come from."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from random_trees import TYPES, random_scene, random_state
from refusal import refused

import sharnir
from sharnir import (
    Body,
    Coupling,
    Free,
    HalfSpace,
    Motor,
    Revolute,
    Scene,
    Sphere,
    Spring,
    compile,
    dynamics,
    scenes,
)
from sharnir.compiler.maximal import maximal
from sharnir.enums import JointType
from sharnir.exact.system import System
from sharnir.model.kinematics import link_poses
from sharnir.model.poses import IDENTITY_POSE, Pose

MOMENTS = (0.01, 0.012, 0.015)


def with_inertia(scene):
    """The scene, every body with mass and rotational inertia about all axes."""
    for body in scene.bodies:
        try:
            compile(Scene(bodies=[body]))
        except sharnir.ModelError:
            body.mass, body.inertia = body.mass or 1.0, MOMENTS
    return scene


def every_type(seed):
    """Joints of all types in both directions, a floating body, a loop, springs and shapes; a moving initial state."""
    rng = np.random.default_rng(seed)
    scene = random_scene(rng, 14, reverse=0.5, armature=True)
    bodies = [body.name for body in scene.bodies]
    scene.add(Free(name="loose", parent=bodies[0], child=bodies[1], damping=0.1))
    scene.add(Body(name="floating", mass=1.0, inertia=MOMENTS, center_of_mass=(0.1, 0.2, 0.3), position=(1, 2, 3)))
    scene.add(Spring(name="coil", parent=bodies[2], child="floating", parent_anchor=(1, 0, 0), stiffness=3.0))
    scene.bodies[3].shapes = (Sphere(radius=0.1, position=(0.1, 0.2, 0.3)),)
    scene.add(HalfSpace())
    model = compile(scene)
    state = random_state(rng, model)
    for joint in scene.joints:
        where = model.joint(joint.name)
        if not where.closes_loop:
            joint.position, joint.velocity = 3 * state.q[where.q], state.v[where.v]
    return scene


def check_same_bodies(model, free):
    """Poses and velocities of all bodies, and the energies."""
    for got, expected in zip(dynamics.body_poses(free, free.q0), dynamics.body_poses(model, model.q0), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-12)
    velocities = (dynamics.body_velocities(m, m.q0, m.v0) for m in (free, model))
    np.testing.assert_allclose(*velocities, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(shape_places(free), shape_places(model), atol=1e-12)
    seen = [System(m).observe(np.concatenate([m.q0, m.v0, [0.0]])) for m in (free, model)]
    np.testing.assert_allclose(*(s.kinetic for s in seen), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(*(s.potential for s in seen), rtol=1e-11, atol=1e-11)


def shape_places(model):
    """[shapes, 3, 4] poses of all shapes in the world at q0."""
    poses = [*link_poses(model, model.q0), IDENTITY_POSE]
    return np.array([
        np.column_stack(poses[link] @ Pose(R, x))
        for link, R, x in zip(model.shape_link, model.shape_rot, model.shape_pos, strict=True)
    ])  # fmt: skip


def check_same_joints(model, free):
    """Coordinates of all described joints, closed."""
    old, new = System(model), System(free)
    before, after = old.observe(old.initial()), new.observe(new.initial())
    assert max(after.loop_error) < 1e-11
    for name in free.joint_names[free.nb :]:
        here, there = free.joint(name), model.joint(name)
        q, v = (before.loop_q, before.loop_v) if there.closes_loop else (model.q0, model.v0)
        got, expected = after.loop_q[here.q], q[there.q]
        if here.type in ("spherical", "free") and got[-4:] @ expected[-4:] < 0:
            got[-4:] *= -1
        np.testing.assert_allclose(got, expected, atol=1e-11, err_msg=name)
        np.testing.assert_allclose(after.loop_v[here.v], v[there.v], rtol=1e-10, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("name", scenes.names())
def test_a_named_scene_is_the_same_in_maximal_coordinates(name):
    model = compile(with_inertia(scenes.make(name)))
    free = maximal(model)
    check_same_bodies(model, free)
    check_same_joints(model, free)


@pytest.mark.parametrize("seed", range(10))
def test_every_joint_type_in_both_directions(seed):
    model = compile(every_type(seed))
    free = maximal(model)
    check_same_bodies(model, free)
    check_same_joints(model, free)


def test_the_random_scenes_cover_every_type_in_both_directions():
    seen = set()
    for seed in range(10):
        model = compile(every_type(seed))
        signs = model.part_sign[model.part_start[:-1]]
        seen |= set(zip(model.joint_types[: model.nb], (signs < 0).tolist(), strict=True))
    assert seen >= {(kind.__name__.lower(), back) for kind in TYPES for back in (False, True)}


def test_the_form_of_a_maximal_model():
    model = compile(every_type(0))
    free = maximal(model)
    assert free.body_names == model.body_names
    described = tuple(n for n in model.joint_names if n != "floating_free")
    assert free.joint_names == (*(f"{name}_free" for name in model.body_names), *described)
    assert (free.nq, free.nv, free.trees) == (7 * model.nb, 6 * model.nb, model.nb)
    assert not free.com.any()
    np.testing.assert_allclose(free.body_rot, np.tile(np.eye(3), (free.nb, 1, 1)), atol=1e-15)
    assert model.implicit_free.tolist() == [int(name == "floating") for name in model.body_names]
    assert free.implicit_free.all()


def test_a_maximal_model_is_its_own():
    once = maximal(compile(every_type(1)))
    twice = maximal(once)
    for f in fields(once):
        a, b = getattr(once, f.name), getattr(twice, f.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, atol=1e-13, err_msg=f.name)
        elif f.name != "cache":
            assert a == b


def test_names_of_free_joints_are_new():
    scene = Scene(bodies=[Body(name=n, mass=1.0, inertia=MOMENTS) for n in ("a", "b")])
    scene.add(Revolute(name="a_free", parent="world", child="a"))
    free = maximal(compile(scene))
    assert free.joint_names == ("a_free_", "b_free", "a_free")


def test_a_described_free_joint_stays_readable():
    model = compile(scenes.make("free_box"))
    free = maximal(model)
    assert free.joint_names == ("box_free", "flight")
    assert free.loop_kind.tolist() == [JointType.FREE]
    np.testing.assert_array_equal(free.loop_q0, model.q0)


def test_what_belongs_to_coordinates_moves_with_them():
    scene = with_inertia(scenes.make("double_pendulum"))
    shoulder, elbow = scene.joints
    shoulder.limits, shoulder.friction, shoulder.damping, shoulder.rest = (-1.0, 2.0), 0.5, 0.1, 0.2
    elbow.effort, elbow.stiffness, elbow.armature, elbow.position = 3.0, 4.0, 0.05, 7.0
    scene.add(Motor(name="drive", joint="elbow", velocity=1.0))
    scene.add(Coupling(name="gear", leader="elbow", follower="shoulder", ratio=2.0))
    free = maximal(compile(scene))
    first, second = free.coordinate("shoulder"), free.coordinate("elbow")
    assert (first, second, free.nc) == (12, 13, 14)
    assert (free.limit_lower[first], free.limit_upper[first], free.limit_angles[first]) == (-1.0, 2.0, 1)
    assert np.isinf(np.delete(free.limit_lower, first)).all()
    assert free.friction.tolist() == [*[0.0] * 12, 0.5, 0.0]
    assert free.loop_damping.tolist() == [0.1, 0.0]
    assert free.loop_rest.tolist() == [0.2, 0.0]
    assert (free.loop_effort[1], free.loop_stiffness[1], free.loop_armature[1]) == (3.0, 4.0, 0.05)
    assert free.loop_q0[1] == 7.0
    assert free.motor_coordinate.tolist() == [second]
    assert free.coupling_coordinate.tolist() == [[second, first]]
    assert (free.coordinate_q(first), free.coordinate_q(second)) == (14, 15)


def test_a_double_pendulum_moves_the_same():
    scene = with_inertia(scenes.make("double_pendulum"))
    scene.joints[1].armature = 0.02
    model = compile(scene)
    expected = sharnir.simulate(model, 0.5, times=[0.25, 0.5])
    run = sharnir.simulate(maximal(model), 0.5, times=[0.25, 0.5])
    for name in model.joint_names:
        for got, wanted in zip(run.joint(name), expected.joint(name), strict=True):
            np.testing.assert_allclose(got, wanted, atol=1e-8)
    np.testing.assert_allclose(run.kinetic, expected.kinetic, atol=1e-8)


# --- refused ---------------------------------------------------------------------------------------------------------


def test_a_point_mass_is_refused():
    with refused(
        "body 'bob'", "has no rotational inertia", "moments 0, 0, 0 kg m²", "merge_fixed=True", "or solver 'simgc'"
    ):
        maximal(compile(scenes.make("pendulum")))


def test_a_thin_rod_is_refused():
    with refused("body 'rod1'", "has no rotational inertia about some axis", "moments 0,", "or solver 'simgc'"):
        maximal(compile(scenes.make("rods")))


def test_a_body_without_mass_is_refused():
    scene = Scene(bodies=[Body(name="rotor", mass=0.0, inertia=MOMENTS)])
    scene.add(Revolute(name="axle", parent="world", child="rotor"))
    with refused("body 'rotor'", "has no mass", "0 kg", "merge_fixed=True", "or solver 'simgc'"):
        maximal(compile(scene))


@pytest.mark.parametrize("wrong", [None, Scene(), "pendulum"], ids=lambda wrong: type(wrong).__name__)
def test_what_is_no_model_is_refused(wrong):
    with refused("maximal", "not a model", "sharnir.compile"):
        maximal(wrong)
