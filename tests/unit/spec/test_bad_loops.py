"""Loops that are open, and poses that contradict joint frames, are refused with their gap."""

import numpy as np
import pytest
from bad_scenes import BOX, NAN, accepted, make
from refusal import refused

from sharnir import (
    Body,
    Cylindrical,
    Fixed,
    Frame,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Scene,
    Spherical,
    Universal,
    compile,
)


def ring(kind, **closing):
    """Two bodies hinged to the world at x = 0 and x = 2, joined in the middle by a joint 'close' of some kind."""
    scene = Scene(name="ring")
    for name, x in (("left", 0.0), ("right", 2.0)):
        scene.add(Body(name=name, mass=1.0, inertia=BOX, position=(x, 0.0, 0.0)))
        scene.add(Revolute(name=f"{name}_hinge", parent="world", child=name, anchor=(x, 0.0, 0.0)))
    ends = {"parent_frame": Frame(anchor=(1.0, 0.0, 0.0)), "child_frame": Frame(anchor=(-1.0, 0.0, 0.0))}
    scene.add(kind(name="close", parent="left", child="right", **{**ends, **closing}))
    return scene


def off(x=-1.0, y=0.0, z=0.0, axis=(0.0, 0.0, 1.0), x_axis=None):
    return {"child_frame": Frame(anchor=(x, y, z), axis=axis, x_axis=x_axis)}


TILTED = (np.sin(0.01), 0.0, np.cos(0.01))
OPEN_LOOPS = {
    "revolute apart": (ring(Revolute, **off(x=-1.25)), "a gap of 0.25 m"),
    "revolute tilted": (ring(Revolute, **off(axis=TILTED)), "a misalignment of 0.57"),
    "revolute upside down": (ring(Revolute, **off(axis=(0, 0, -1.0))), "a misalignment of 180°"),
    "spherical apart": (ring(Spherical, **off(z=0.003)), "a gap of 0.003 m"),
    "fixed turned": (ring(Fixed, **off(x_axis=(np.cos(0.01), np.sin(0.01), 0.0))), "a misalignment of 0.57"),
    "prismatic aside": (ring(Prismatic, **off(y=0.5)), "a gap of 0.5 m"),
    "cylindrical aside": (ring(Cylindrical, **off(y=0.5)), "a gap of 0.5 m"),
    "planar above": (ring(Planar, **off(z=0.5)), "a gap of 0.5 m"),
    "helical between threads": (ring(Helical, pitch=0.4, **off(z=0.1)), "a gap of 0.1 m"),
    "universal apart": (ring(Universal, **off(z=0.5, axis=(1.0, 0.0, 0.0))), "a gap of 0.5 m"),
}


@pytest.mark.parametrize("case", OPEN_LOOPS)
def test_a_loop_that_is_open_at_first_is_refused_with_its_gap(case):
    scene, gap = OPEN_LOOPS[case]
    with refused("joint 'close'", "do not coincide", gap, "allowed: at most 1e-06 m"):
        compile(scene)


def test_a_loop_opened_by_initial_positions_is_refused_with_its_gap():
    scene = ring(Spherical)
    scene.joints[0].position = 1.0
    gap = 2 * np.sin(0.5)
    with refused("joint 'close'", f"a gap of {gap:.6g} m", "allowed"):
        compile(scene)


@pytest.mark.parametrize("field", ["position", "velocity", "damping", "stiffness", "rest", "armature", "effort"])
def test_a_bad_number_in_a_loop_joint_is_refused(field):
    with refused("joint 'close'", field, "nan", "allowed"):
        compile(ring(Revolute, **{field: NAN}))


@pytest.mark.parametrize("kind", [Revolute, Spherical, Fixed, Prismatic, Cylindrical, Planar, Free])
def test_a_loop_that_is_closed_is_accepted(kind):
    assert accepted(ring(kind)).loops == 1


def test_a_body_whose_pose_contradicts_its_joint_frames_is_refused_with_the_gap():
    joint = {"parent_frame": Frame(anchor=(3.0, 0.0, 0.0)), "child_frame": Frame()}
    with refused("joint 'pin'", "a gap of 2 m", "body 'bob'", "allowed"):
        compile(make(joint=joint))
