"""Motors and couplings: arrays, look-ups by name, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from refusal import refused

from sharnir import (
    Body,
    Coupling,
    Cylindrical,
    Fixed,
    Free,
    Motor,
    Prismatic,
    Revolute,
    Scene,
    Spherical,
    compile,
)
from sharnir.enums import MotorMode

INF, NAN = np.inf, np.nan


def workshop(*elements):
    """Joints of all sorts on bodies of their own: a free one, a slide, a ball, a tube, a weld, and a loop 'back'."""
    scene = Scene(name="workshop")
    kinds = {"fly": Free, "slide": Prismatic, "ball": Spherical, "tube": Cylindrical, "weld": Fixed}
    for name, kind in kinds.items():
        scene.add(Body(name=f"{name} body", mass=1.0, inertia=(0.4, 0.5, 0.6)))
        scene.add(kind(name=name, parent="world", child=f"{name} body"))
    scene.add(Revolute(name="hinge", parent="tube body", child="arm"))
    scene.add(Body(name="arm", mass=1.0, inertia=(0.4, 0.5, 0.6)))
    scene.add(Cylindrical(name="back", parent="world", child="arm"))
    for element in elements:
        scene.add(element)
    return scene


def motor(**changes):
    return Motor(**{"name": "drive", "joint": "slide", "velocity": 1.0, **changes})


def coupling(**changes):
    return Coupling(**{"name": "gear", "leader": "slide", "follower": "hinge", **changes})


# --- arrays ----------------------------------------------------------------------------------------------------------


def test_coordinates_are_those_of_the_tree_then_of_loops():
    model = compile(workshop())
    loop = next(n for n, joint in ((n, model.joint(n)) for n in model.joint_names) if joint.closes_loop)
    assert model.coordinate(loop) == model.nv
    for name in model.joint_names:
        joint = model.joint(name)
        for k in range(joint.v.stop - joint.v.start):
            assert model.coordinate(name, k) == joint.v.start + k + (model.nv if joint.closes_loop else 0)


def test_positions_of_coordinates():
    model = compile(workshop())
    q = np.concatenate([model.q0, model.loop_q0])
    for name in model.joint_names:
        joint = model.joint(name)
        size = joint.v.stop - joint.v.start
        scalars = size - (3 if joint.type in ("spherical", "free") else 0)
        first = joint.q.start + (model.nq if joint.closes_loop else 0)
        found = [model.coordinate_q(model.coordinate(name, k)) for k in range(size)]
        assert found == [*range(first, first + scalars), *[-1] * (size - scalars)]
        assert max(found, default=0) < len(q)


def test_motors_as_arrays():
    model = compile(
        workshop(
            motor(name="a", velocity=2, max_force=3.0),
            motor(name="b", joint="tube", coordinate=1, velocity=None, position=-0.5, max_speed=4.0, response=0),
            motor(name="c", joint="ball", coordinate=2),
            motor(name="d", joint="fly", coordinate=2, velocity=None, position=7.0),
        )
    )
    assert model.motor_names == ("a", "b", "c", "d")
    expected = [("slide", 0), ("tube", 1), ("ball", 2), ("fly", 2)]
    assert model.motor_coordinate.tolist() == [model.coordinate(*c) for c in expected]
    assert model.motor_mode.tolist() == [MotorMode.VELOCITY, MotorMode.POSITION, MotorMode.VELOCITY, MotorMode.POSITION]
    assert model.motor_target.tolist() == [2.0, -0.5, 1.0, 7.0]
    assert model.motor_max_force.tolist() == [3.0, INF, INF, INF]
    assert model.motor_max_speed.tolist() == [INF, 4.0, INF, INF]
    assert model.motor_response.tolist() == [0.05, 0.0, 0.05, 0.05]
    assert model.motor("c") == 2


def test_couplings_as_arrays():
    model = compile(
        workshop(
            coupling(name="a", ratio=-3, offset=0.25),
            coupling(name="b", leader="back", leader_coordinate=1, follower="fly", follower_coordinate=2),
            coupling(name="c", leader="tube", follower="tube", follower_coordinate=1),
        )
    )
    c = model.coordinate
    expected = [[c("slide"), c("hinge")], [c("back", 1), c("fly", 2)], [c("tube"), c("tube", 1)]]
    assert model.coupling_coordinate.tolist() == expected
    assert model.coupling_ratio.tolist() == [-3.0, 1.0, 1.0]
    assert model.coupling_offset.tolist() == [0.25, 0.0, 0.0]
    assert model.coupling("b") == 1


def test_a_scene_without_actuators_has_empty_arrays():
    model = compile(workshop())
    assert (model.motor_names, model.coupling_names) == ((), ())
    assert model.motor_coordinate.shape == (0,)
    assert model.coupling_coordinate.shape == (0, 2)


# --- refused ---------------------------------------------------------------------------------------------------------


def test_two_motors_on_one_coordinate_are_refused():
    scene = workshop(motor())
    scene.add(replace(scene.motors[0], name="second"))
    with refused("motor 'second'", "drives what motor 'drive' drives", "allowed: one motor for each"):
        compile(scene)


def test_exactly_one_target_is_needed():
    with refused("motor 'drive'", "not exactly one target", "given neither", "allowed: velocity or position"):
        compile(workshop(motor(velocity=None)))
    with refused("motor 'drive'", "not exactly one target", "given both", "allowed: velocity or position"):
        compile(workshop(motor(position=0.0)))


@pytest.mark.parametrize("value", [NAN, INF, -INF, "1", True, 1j, (1.0,), 10**400, 1e60], ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize(
    ("field", "build"),
    [
        ("velocity", motor),
        ("position", lambda **changes: motor(velocity=None, **changes)),
        ("response", motor),
        ("ratio", coupling),
        ("offset", coupling),
    ],
)
def test_a_bad_number_is_refused(field, build, value):
    with refused(f"{field} is", "given", "allowed: a finite number"):
        compile(workshop(build(**{field: value})))


@pytest.mark.parametrize("value", [NAN, -INF, 0.0, -1.0, "1", None, True, (1.0,), 10**400], ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize("field", ["max_force", "max_speed"])
def test_a_bad_maximum_is_refused(field, value):
    with refused("motor 'drive'", f"{field} is", "given", "allowed: a finite number > 0 or inf"):
        compile(workshop(motor(**{field: value})))


def test_a_negative_response_and_a_zero_ratio_are_refused():
    with refused("motor 'drive'", "response is out of range", "-0.1", "≥ 0"):
        compile(workshop(motor(response=-0.1)))
    with refused("coupling 'gear'", "ratio is zero", "given 0.0", "other than 0"):
        compile(workshop(coupling(ratio=0.0)))


@pytest.mark.parametrize("k", [-1, 2, 0.0, "0", None, True, NAN, (0,), 10**400], ids=lambda v: repr(v)[:20])
def test_a_coordinate_a_joint_has_not_is_refused(k):
    with refused("motor 'drive'", "coordinate is out of range", "allowed: 0 to 1 of joint 'tube'"):
        compile(workshop(motor(joint="tube", coordinate=k)))
    with refused("coupling 'gear'", "leader_coordinate is out of range", "allowed: 0 to 1 of joint 'tube'"):
        compile(workshop(coupling(leader="tube", leader_coordinate=k)))
    with refused("coupling 'gear'", "follower_coordinate is out of range", "allowed: 0 to 1 of joint 'tube'"):
        compile(workshop(coupling(follower="tube", follower_coordinate=k)))


def test_a_joint_without_coordinates_cannot_be_driven():
    with refused("motor 'drive'", "coordinate is out of range", "allowed: nothing: joint 'weld' has none"):
        compile(workshop(motor(joint="weld")))


@pytest.mark.parametrize(("joint", "k"), [("ball", 0), ("ball", 2), ("fly", 3), ("fly", 5)])
def test_rotations_of_a_quaternion_are_neither_positioned_nor_coupled(joint, k):
    compile(workshop(motor(joint=joint, coordinate=k)))
    message = ("needs a displacement or an angle", f"coordinate {k} of joint {joint!r}", "quaternion")
    with refused("motor 'drive'", *message):
        compile(workshop(motor(joint=joint, coordinate=k, velocity=None, position=0.0)))
    with refused("coupling 'gear'", *message):
        compile(workshop(coupling(leader=joint, leader_coordinate=k)))
    with refused("coupling 'gear'", *message):
        compile(workshop(coupling(follower=joint, follower_coordinate=k)))


def test_a_coordinate_coupled_with_itself_is_refused():
    with refused("coupling 'gear'", "with itself", "coordinate 0 of joint 'slide' twice", "two different"):
        compile(workshop(coupling(follower="slide")))


@pytest.mark.parametrize("name", ["slid", "Slide", None, 5, ["slide"], {}, ""], ids=repr)
@pytest.mark.parametrize(("field", "build"), [("joint", motor), ("leader", coupling), ("follower", coupling)])
def test_an_unknown_joint_is_refused_with_those_that_exist(field, build, name):
    with refused("unknown joint", "Known: fly, slide, ball, tube, weld, hinge, back"):
        compile(workshop(build(**{field: name})))


@pytest.mark.parametrize(("kind", "build"), [("motor", motor), ("coupling", coupling)])
def test_names_are_text_and_used_once(kind, build):
    with refused(kind, "name is taken", "allowed"):
        compile(workshop(build(), build()))
    for name in (None, "", 5):
        with refused(f"a {kind}", "name is not text", repr(name), "allowed"):
            compile(workshop(build(name=name)))


def test_look_ups_of_a_model_answer_unknown_names():
    model = compile(workshop(motor(), coupling()))
    with refused("unknown motor 'drve'", "did you mean 'drive'?"):
        model.motor("drve")
    with refused("unknown coupling 'x'", "Known: gear"):
        model.coupling("x")
    with refused("unknown joint 'slid'", "did you mean 'slide'?"):
        model.coordinate("slid")
    with refused("joint 'slide'", "coordinate is out of range", "given 1", "allowed: 0"):
        model.coordinate("slide", 1)
    for c in (-1, model.nc, 0.5, True):
        with refused("model 'workshop'", "coordinate is out of range", repr(c)):
            model.coordinate_q(c)
