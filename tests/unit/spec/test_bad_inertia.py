"""Inertia that no body has, and joints that move nothing, are refused by name."""

import numpy as np
import pytest
from bad_scenes import BOX, NAN, make, two_links
from refusal import refused

from sharnir import Body, Prismatic, Revolute, Scene, Spherical, compile

# --- inertia ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inertia", "problem", "shown"),
    [
        ((-1.0, 1.0, 1.0), "not positive semi-definite", "eigenvalues -1, 1, 1"),
        (((1.0, 2.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 1.0)), "not positive semi-definite", "eigenvalues -1, 1, 3"),
        ((1.0, 2.0, 3.5), "violates the triangle inequality", "eigenvalues 1, 2, 3.5"),
        (((2.0, 1.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 5.0)), "triangle inequality", "eigenvalues 1, 3, 5"),
        ((0.0, 0.0, 1.0), "triangle inequality", "eigenvalues 0, 0, 1"),
        (((1.0, 0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), "not symmetric", "[1.0, 0.5, 0.0]"),
        (((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), "wrong shape", "((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))"),
        (np.eye(4), "wrong shape", "(1.0, 0.0, 0.0, 0.0)"),
        (((1.0, 0.0, 0.0), (0.0, 1.0), (0.0, 0.0, 1.0)), "wrong shape", "(0.0, 1.0)"),
        (((1.0, 0.0, 0.0), (0.0, NAN, 0.0), (0.0, 0.0, 1.0)), "not a finite number", "nan"),
        (((1.0, 0.0, 0.0), "abc", (0.0, 0.0, 1.0)), "wrong shape", "'abc'"),
        ((1.0, (1.0, 1.0, 1.0), 1.0), "not a finite number", "(1.0, 1.0, 1.0)"),
        ((1e308, 1e308, 1e308), "inertia", "1e+308"),
    ],
)
def test_an_impossible_inertia_is_refused(inertia, problem, shown):
    with refused("body 'bob'", "inertia", problem, shown, "allowed"):
        compile(make({"inertia": inertia}))


def test_a_body_without_mass_or_shapes_is_refused():
    with refused("body 'bob'", "mass is missing", "allowed"):
        compile(make({"mass": None}))


# --- singular joint-space inertia ------------------------------------------------------------------------------------


def floating(**body):
    scene = Scene(name="floating")
    scene.add(Body(name="bob", **body))
    return scene


SINGULAR = {
    "massless body on a hinge": ("pin", make({"mass": 0.0, "inertia": None})),
    "massless free body": ("bob_free", floating(mass=0.0)),
    "free point mass": ("bob_free", floating(mass=1.0)),
    "free thin rod": ("bob_free", floating(mass=1.0, inertia=(1.0, 1.0, 0.0))),
    "point mass on the axis": ("pin", make({"inertia": None, "position": (0.0, 0.0, 3.0)})),
    "thin rod along the axis": ("pin", make({"inertia": (1.0, 1.0, 0.0), "position": (0.0, 0.0, 3.0)})),
    "point mass on a ball": ("pin", make({"inertia": None}, kind=Spherical)),
    "massless link after a massive one": (
        "pin2",
        Scene(
            bodies=[Body(name="a", mass=1.0, inertia=BOX), Body(name="b", mass=0.0)],
            joints=[
                Revolute(name="pin1", parent="world", child="a"),
                Revolute(name="pin2", parent="a", child="b"),
            ],
        ),
    ),
    "two parallel hinges at one place": ("first", two_links((0, 1, 0), (0, 1, 0))),
    "mass on both axes": ("second", two_links((0, 0, 1), (1, 0, 0))),
    "massless slide": ("pin", make({"mass": 0.0, "inertia": BOX}, kind=Prismatic)),
}


@pytest.mark.parametrize("case", SINGULAR)
def test_a_singular_joint_space_inertia_is_refused(case):
    joint, scene = SINGULAR[case]
    with refused(f"joint {joint!r}", "joint-space inertia is singular", "given inertia", "allowed"):
        compile(scene)


def turning_z_to(axis):
    """A quaternion that turns z to the unit vector `axis`."""
    return (-axis[1], axis[0], 0.0, 1.0 + axis[2])


@pytest.mark.parametrize("seed", range(10))
def test_a_thin_rod_along_an_oblique_hinge_is_refused_whatever_the_rounding(seed):
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    scene = make(
        {"inertia": (1.0, 1.0, 0.0), "orientation": turning_z_to(axis), "position": 0.7 * axis}, {"axis": axis}
    )
    with refused("joint 'pin'", "joint-space inertia is singular", "allowed"):
        compile(scene)


@pytest.mark.parametrize("seed", range(10))
def test_a_point_mass_on_an_oblique_hinge_is_refused_whatever_the_rounding(seed):
    rng = np.random.default_rng(seed)
    axis, anchor = rng.normal(size=3), 10 * rng.normal(size=3)
    scene = make({"inertia": None, "position": anchor + 0.3 * axis}, {"axis": axis, "anchor": anchor})
    with refused("joint 'pin'", "joint-space inertia is singular", "allowed"):
        compile(scene)


def test_a_pendulum_upside_down_on_its_vertical_axis_is_refused():
    scene = two_links((0, 0, 1), (0, 1, 0), position=(0.0, 0.0, -1.0))
    scene.joints[1].position = np.pi
    with refused("joint 'first'", "joint-space inertia is singular", "allowed"):
        compile(scene)
