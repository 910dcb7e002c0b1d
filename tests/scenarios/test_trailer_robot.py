"""The tracked robot tows its trailer over the course; the trailer reaches its limits about all axes, and keeps them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sharnir as sh
from sharnir import scenes, viewer
from sharnir.errors import SharnirError
from sharnir.scenes import demonstrators
from sharnir.scenes.demonstrators.trailer_task import euler_xyz
from sharnir.scenes.goals import Figure
from sharnir.scenes.trailer_robot import LIMITS


def check(seed: int, solver: str) -> None:
    outcome = demonstrators.attempt("trailer_robot", seed=seed, solver=solver, dt=0.005)
    assert outcome.met, str(outcome)
    assert outcome.time < 70.0
    simulation = outcome.simulation
    assert not simulation.applied_control.numpy().any()
    assert not simulation.impulses.state.f_ext.numpy().any()
    assert simulation.counts.guarded == 0


@pytest.mark.parametrize("seed", range(5))
def test_generalised_coordinates(seed):
    check(seed, "simgc")


def test_maximal_coordinates():
    check(0, "simmc")


def test_only_contact_and_the_hitch_hold_it():
    """Nothing but its drives moves the robot, and nothing ties it to the world."""
    scene = scenes.make("trailer_robot")
    assert not scene.motors and not scene.springs and not scene.actuators
    assert [j.name for j in scene.joints if "world" in (j.parent, j.child)] == ["robot"]
    assert isinstance(scene.joints[0], sh.Free)


def test_seeds_vary_friction_and_start():
    first, second = (scenes.make("trailer_robot", seed=seed) for seed in (1, 2))
    assert first.shapes[0].material.friction != second.shapes[0].material.friction
    for scene in (first, second):
        assert abs(scene.shapes[0].material.friction / 0.8 - 1.0) <= 0.1
        assert 0 < np.abs(scene.joints[0].position[:2]).max() <= 0.1


def test_euler_angles_are_those_of_the_limits():
    """R = Rx(a) Ry(b) Rz(c), as the joint's own limits measure it: pushed, it stops at each."""
    for axis, most in enumerate(LIMITS):
        scene = sh.Scene(name="ball", gravity=(0, 0, 0))
        scene.add(sh.Body(name="b", mass=1.0, inertia=(0.1, 0.1, 0.1)))
        limits = {"limits": [(-a, a) for a in LIMITS], "limit_angles": "euler"}
        scene.add(sh.Spherical(name="hitch", parent="world", child="b", damping=1.0, **limits))
        sim = sh.Simulation(scene, dt=0.005)
        sim.joint("hitch").control = np.eye(3)[axis]
        sim.run(3.0)
        assert math.isclose(euler_xyz(sim.joint("hitch").position)[axis], most, abs_tol=1e-4)


def test_an_operator_drives_it():
    """Keys of the mapping: forward, turning left, flippers down."""
    scene = scenes.make("trailer_robot")
    model = sh.compile(scene)
    mapping = viewer.read_mapping(scenes.drive_file("trailer_robot"), model)
    asked = {name: [axis.value(keys, [], []) for axis in mapping.axes] for name, keys in
             (("forward", {"KeyW"}), ("left", {"KeyA"}), ("down", {"KeyF"}))}  # fmt: skip
    inputs = {
        name: {model.actuator_names[o.actuator]: o.moved(0.0, axes, 0.05) for o in mapping.outputs}
        for name, axes in asked.items()
    }
    assert inputs["forward"]["left"] == inputs["forward"]["right"] > 0
    assert inputs["left"]["left"] < 0 < inputs["left"]["right"]
    assert inputs["down"]["left_flipper"] > 0 and inputs["down"]["left"] == 0


def test_figures_and_names():
    assert Figure("x", 1.0, low=0.5, high=1.5).met and not Figure("x", 2.0, high=1.5).met
    assert not Figure("x", math.nan, high=1.5).met
    assert "trailer_robot" in demonstrators.names()
    with pytest.raises(SharnirError, match="unknown demonstrator 'tow'"):
        demonstrators.find("tow")
