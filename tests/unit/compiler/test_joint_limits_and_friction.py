"""Limits and dry friction of joints: arrays by coordinate, and what is refused."""

import numpy as np
import pytest
from refusal import refused

from sharnir import (
    Body,
    Cylindrical,
    Fixed,
    Free,
    Planar,
    Prismatic,
    Revolute,
    Scene,
    Spherical,
    Universal,
    compile,
)
from sharnir.enums import LimitKind

INF, NAN, PI = np.inf, np.nan, np.pi
OPEN = (-INF, INF)


def on(kind, **joint):
    """A body on one joint 'pin'."""
    scene = Scene()
    scene.add(Body(name="bob", mass=1.0, inertia=(0.4, 0.5, 0.6), position=(1.0, 0.0, 0.0)))
    scene.add(kind(name="pin", parent="world", child="bob", **joint))
    return scene


def limits_of(kind, **joint):
    model = compile(on(kind, **joint))
    return model.limit_lower.tolist(), model.limit_upper.tolist(), model.limit_angles.tolist()


# --- arrays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Fixed, Revolute, Cylindrical, Planar, Spherical, Free])
def test_without_limits_there_are_no_bounds_and_no_friction(kind):
    lower, upper, angles = limits_of(kind)
    assert (lower, upper, angles) == ([-INF] * kind.nv, [INF] * kind.nv, [LimitKind.NONE] * kind.nv)
    assert compile(on(kind)).friction.tolist() == [0.0] * kind.nv


@pytest.mark.parametrize("limits", [(-1, 2), [(-1.0, 2.0)], np.array([-1.0, 2.0]), np.array([[-1.0, 2.0]])], ids=repr)
def test_one_coordinate_takes_a_bare_pair_or_a_list_of_one(limits):
    assert limits_of(Revolute, limits=limits) == ([-1.0], [2.0], [LimitKind.COORDINATE])


def test_every_coordinate_has_its_pair():
    expected = ([-1.0, -INF], [0.5, INF], [LimitKind.COORDINATE, LimitKind.NONE])
    assert limits_of(Cylindrical, limits=((-1.0, 0.5), OPEN)) == expected
    assert limits_of(Prismatic, limits=(0.0, INF)) == ([0.0], [INF], [LimitKind.COORDINATE])
    assert limits_of(Prismatic, limits=(0.3, 0.3)) == ([0.3], [0.3], [LimitKind.COORDINATE])


@pytest.mark.parametrize(
    ("name", "kind"), [("twist", LimitKind.TWIST), ("euler", LimitKind.EULER), ("cone", LimitKind.CONE)]
)
def test_the_three_of_a_ball_have_one_kind(name, kind):
    pairs = ((-1.0, 1.0), (-0.5, 0.5), OPEN)
    expected = ([-1.0, -0.5, -INF], [1.0, 0.5, INF], [kind] * 3)
    assert limits_of(Spherical, limits=pairs, limit_angles=name) == expected
    lower, upper, angles = limits_of(Free, limits=(OPEN, (0.0, 9.0), OPEN, *pairs), limit_angles=name)
    assert angles == [LimitKind.NONE, LimitKind.COORDINATE, LimitKind.NONE, kind, kind, kind]
    assert (lower, upper) == ([-INF, 0.0, -INF, *expected[0]], [INF, 9.0, INF, *expected[1]])


@pytest.mark.parametrize("name", ["twist", "euler", "cone"])
def test_a_free_ball_has_no_kind_whatever_its_angles_are_called(name):
    assert limits_of(Spherical, limits=(OPEN,) * 3, limit_angles=name)[2] == [LimitKind.NONE] * 3
    assert limits_of(Free, limits=(*[(0.0, 1.0)] * 3, *[OPEN] * 3), limit_angles=name)[2] == [1, 1, 1, 0, 0, 0]


def test_loop_joints_follow_the_tree():
    scene = on(Revolute, limits=(-1.0, 1.0), friction=0.1)
    scene.add(
        Planar(name="loop", parent="world", child="bob", limits=((0, 1), OPEN, (2, INF)), friction=(0.2, 0.3, 0.4))
    )
    model = compile(scene)
    assert model.nc == 4
    assert model.limit_lower.tolist() == [-1.0, 0.0, -INF, 2.0]
    assert model.limit_upper.tolist() == [1.0, 1.0, INF, INF]
    assert model.limit_angles.tolist() == [
        LimitKind.COORDINATE,
        LimitKind.COORDINATE,
        LimitKind.NONE,
        LimitKind.COORDINATE,
    ]
    assert model.friction.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_a_position_outside_its_limits_is_left_to_the_solver():
    assert compile(on(Revolute, limits=(-1.0, 1.0), position=3.0)).q0.tolist() == [3.0]


# --- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [NAN, "1", None, True, 1j, 10**400, 1e60, (1.0,)], ids=lambda v: repr(v)[:20])
@pytest.mark.parametrize("end", [0, 1])
def test_a_bound_that_is_no_number_is_refused(end, value):
    pair = (value, INF) if end == 0 else (-INF, value)
    with refused("joint 'pin'", "limits component", "allowed: a finite number or -inf or inf"):
        compile(on(Revolute, limits=(pair,)))


@pytest.mark.parametrize("pair", [(1.0, 0.0), (INF, INF), (-INF, -INF), (INF, -INF)], ids=repr)
def test_limits_that_leave_nothing_are_refused(pair):
    with refused("joint 'pin'", "limits leave nothing", repr(pair), "lower ≤ upper"):
        compile(on(Revolute, limits=pair))


@pytest.mark.parametrize(
    ("kind", "limits", "allowed"),
    [
        (Revolute, 1.0, "a pair (lower, upper)"),
        (Revolute, (), "a pair (lower, upper)"),
        (Revolute, (0, 1, 2), "a pair (lower, upper)"),
        (Revolute, "ab", "a pair (lower, upper)"),
        (Revolute, {}, "a pair (lower, upper)"),
        (Revolute, ((0, 1), (0, 1)), "a pair (lower, upper)"),
        (Universal, (0, 1), "2 pairs (lower, upper)"),
        (Universal, ((0, 1),), "2 pairs (lower, upper)"),
        (Universal, ((0, 1), (0, 1, 2)), "2 pairs (lower, upper)"),
        (Spherical, (0, 1), "3 pairs (lower, upper)"),
        (Free, ((0, 1),) * 3, "6 pairs (lower, upper)"),
        (Fixed, (0, 1), "nothing: there are no coordinates"),
    ],
)
def test_limits_of_the_wrong_shape_are_refused(kind, limits, allowed):
    with refused("joint 'pin'", "limits has the wrong shape", f"given {limits!r}", f"allowed: {allowed}"):
        compile(on(kind, limits=limits))


CONE = "x and y pairs (-s, s) with 0 < s < π"
ANGLES = {
    "twist beyond a half turn": ("twist", (OPEN, (-3.2, 0.0), OPEN), "y pair (-3.2, 0.0)", "from -π to π"),
    "euler beyond a half turn": ("euler", ((0.0, 3.2), OPEN, OPEN), "x pair (0.0, 3.2)", "from -π to π"),
    "euler to its singularity": ("euler", (OPEN, (0.0, PI / 2), OPEN), "y pair", "between -π/2 and π/2"),
    "oblique cone": ("cone", ((-1.0, 0.9), (-1.0, 1.0), OPEN), "x pair (-1.0, 0.9)", CONE),
    "flat cone": ("cone", ((-1.0, 1.0), (0.0, 0.0), OPEN), "y pair (0.0, 0.0)", CONE),
    "cone of a half turn": ("cone", ((-PI, PI), (-1.0, 1.0), OPEN), "x pair", CONE),
    "cone without a side": ("cone", ((-1.0, 1.0), OPEN, OPEN), "y pair (-inf, inf)", CONE),
    "angles that differ": ("angle", ((-1.0, 1.0), (-1.0, 1.0), (-0.9, 0.9)), "limits are no angle", "of one s"),
    "no angle": ("angle", ((0.0, 0.0),) * 3, "limits are no angle", "of one s"),
    "angle of a half turn": ("angle", ((-PI, PI),) * 3, "limits are no angle", "0 < s < π"),
    "one-sided angle": ("angle", ((0.0, 1.0),) * 3, "limits are no angle", "of one s"),
    "cone with too much twist": ("cone", ((-1.0, 1.0), (-1.0, 1.0), (0.0, 4.0)), "z pair (0.0, 4.0)", "from -π to π"),
}


@pytest.mark.parametrize("case", ANGLES)
@pytest.mark.parametrize("kind", [Spherical, Free])
def test_bounds_beyond_the_range_of_their_angle_are_refused(kind, case):
    angles, pairs, given, allowed = ANGLES[case]
    pairs = pairs if kind is Spherical else ((-50.0, 50.0),) * 3 + pairs
    with refused("joint 'pin'", "limits", given, allowed):
        compile(on(kind, limits=pairs, limit_angles=angles))


def test_the_ends_of_the_ranges_are_legal():
    compile(on(Spherical, limits=((-PI, PI),) * 3))
    compile(on(Spherical, limits=((-PI, PI), (-1.57, 1.57), (-PI, PI)), limit_angles="euler"))
    compile(on(Spherical, limits=((-3.1, 3.1), (-0.1, 0.1), (-PI, PI)), limit_angles="cone"))
    compile(on(Revolute, limits=(-40.0, 40.0)))


@pytest.mark.parametrize("kind", [Revolute, Planar, Fixed])
def test_angles_of_a_joint_without_a_ball_are_refused(kind):
    with refused("joint 'pin'", "limit_angles means nothing here", "'cone'", "Spherical or Free"):
        compile(on(kind, limit_angles="cone"))


@pytest.mark.parametrize("name", ["Cone", "", None, 5, ["twist"], {}], ids=repr)
@pytest.mark.parametrize("kind", [Revolute, Spherical])
def test_unknown_angles_are_refused(kind, name):
    with refused("joint 'pin'", "unknown limit_angles", "Known: twist, euler, cone, angle"):
        compile(on(kind, limit_angles=name))
