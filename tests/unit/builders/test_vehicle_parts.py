"""Belts, wheels and tracks as a scene has them: what they become, what is refused, what a file keeps."""

from __future__ import annotations

import numpy as np
import pytest

import sharnir as sh


def cart(**belt) -> sh.Scene:
    """A body with a belt round it, and a sprocket."""
    scene = sh.Scene(name="cart")
    scene.add(sh.HalfSpace())
    scene.add(sh.Body(name="car", mass=1.0, position=(0, 0, 0.1), shapes=[sh.Box(size=(0.4, 0.2, 0.2), belt="track")]))
    scene.add(sh.Body(name="drum", mass=1.0, position=(0, 0, 0.1), inertia=(0.1,) * 3))
    scene.add(sh.Revolute(name="axle", parent="car", child="drum", anchor=(0, 0, 0.1), axis=(0, 1, 0)))
    scene.add(sh.Belt(**{"name": "track", "joint": "axle", "radius": 0.1, **belt}))
    return scene


def test_a_belt_survives_a_file(tmp_path):
    scene = cart()
    scene.save(tmp_path / "cart.toml")
    again = sh.Scene.load(tmp_path / "cart.toml")
    assert again == scene.plain()
    assert sh.compile(again).fingerprint == sh.compile(scene).fingerprint


def test_axes_are_those_of_the_carrier_in_either_coordinates():
    """A carrier drawn turned about z by 90°: the axis along the world's y is along its x."""
    scene = cart()
    scene.bodies[0].orientation = (0, 0, np.sqrt(0.5), np.sqrt(0.5))
    model = sh.compile(scene)
    np.testing.assert_allclose(model.shape_run[0], (0.1, 0, 0), atol=1e-15)
    np.testing.assert_allclose(sh.maximal(model).shape_run[0], (0.1, 0, 0), atol=1e-15)
    assert model.shape_sprocket.tolist() == [model.body("drum"), -1]


def test_a_hinged_carrier_in_maximal_coordinates():
    """There links have the axes of their bodies, which a link on a hinge has not: what surfaces do turns with them."""
    scene = cart()
    wheel = sh.Cylinder(radius=0.1, length=0.1, belt="track", surface_velocity=(0, 0, 0.5))
    scene.add(sh.Body(name="arm", mass=1.0, shapes=[wheel], position=(0.5, 0, 0.1)))
    scene.add(sh.Revolute(name="arm", parent="car", child="arm", anchor=(0.5, 0, 0.1), axis=(0, 1, 0)))
    model = sh.compile(scene)
    shape = int(np.flatnonzero(model.shape_link == model.body("arm"))[0])
    assert not np.allclose(model.body_rot[model.body("arm")], np.eye(3))
    np.testing.assert_allclose(sh.maximal(model).shape_run[shape], (0, 0.1, 0), atol=1e-15)
    np.testing.assert_allclose(sh.maximal(model).shape_drift[shape], (0, 0, 0.5), atol=1e-15)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"joint": "axel"}, "belt 'track': unknown joint"),
        ({"radius": 0.0}, "belt 'track': radius"),
        ({"radius": np.nan}, "belt 'track': radius"),
        ({"name": "band"}, "body 'car', shape 0: unknown belt 'track'"),
    ],
)
def test_what_a_belt_may_not_say(change, said):
    with pytest.raises(sh.ModelError, match=said):
        sh.compile(cart(**change))


def test_a_belt_needs_a_hinge():
    scene = cart()
    scene.joints[0] = sh.Prismatic(name="axle", parent="car", child="drum")
    with pytest.raises(sh.ModelError, match=r"belt 'track': is not on a hinge: given joint 'axle', Prismatic; allowed"):
        sh.compile(scene)


def test_a_sprocket_carries_nothing():
    scene = cart()
    scene.add(sh.Body(name="weight", mass=1.0, inertia=(0.1,) * 3))
    scene.add(sh.Fixed(name="bolt", parent="drum", child="weight"))
    with pytest.raises(sh.ModelError, match=r"belt 'track': its sprocket has other joints: given \['bolt'\]; allowed"):
        sh.compile(scene)


def test_a_belt_runs_only_round_what_keeps_its_axis():
    scene = cart()
    scene.add(sh.Body(name="arm", mass=1.0, shapes=[sh.Box(size=(0.1,) * 3, belt="track")], position=(0.5, 0, 0.1)))
    scene.add(sh.Revolute(name="yaw", parent="car", child="arm", anchor=(0.3, 0, 0.1), axis=(0, 0, 1)))
    with pytest.raises(sh.ModelError, match="body 'arm', shape 0: cannot carry this belt: given belt 'track'"):
        sh.compile(scene)
    scene.joints[-1] = sh.Revolute(name="pitch", parent="car", child="arm", anchor=(0.3, 0, 0.1), axis=(0, -1, 0))
    assert (sh.compile(scene).shape_sprocket >= 0).sum() == 2


def test_a_belt_does_not_touch_itself():
    scene = cart()
    scene.bodies[1].shapes = [sh.Sphere(radius=0.05)]
    sh.compile(scene)
    scene.add(sh.ContactPair(first="car", second="drum", touch=True))
    with pytest.raises(sh.ModelError, match="scene 'cart': a contact pair lets a belt touch itself: given touch True"):
        sh.compile(scene)


def test_mjcf_has_no_belts():
    with pytest.raises(sh.ModelError, match="MJCF of 'cart': has no equivalent: given belt 'track'"):
        cart().to_mjcf()


SPRING = {"stiffness": 1e4, "damping": 100.0, "travel": 0.02, "load": 50.0}


def track(**change) -> sh.Scene:
    scene = sh.Scene(name="track")
    given = {
        "name": "left", "position": (0, 0, 0.13), "length": 0.7, "radius": 0.1, "width": 0.1, "mass": 5.0, "wheels": 4,
        "spacing": 0.15, "drop": 0.03, "suspension": sh.Suspension(**SPRING), **change,
    }  # fmt: skip
    sh.add_track(scene, sh.Track(**given))
    return scene


def test_a_track_is_a_frame_a_sprocket_and_wheels():
    model = sh.compile(track())
    assert set(model.body_names) == {"left", "left_sprocket", *(f"left_wheel{k}" for k in range(4))}
    assert model.belt_names == ("left_sprocket",)
    sprocket = model.body("left_sprocket")
    assert (model.shape_sprocket == sprocket).sum() == 2 + 1 + 4  # ends, run, wheels
    flipper = track()
    size = {"length": 0.3, "radius": 0.1, "width": 0.1, "mass": 1.0}
    sh.add_track(flipper, sh.Track(name="arm", position=(0.5, 0, 0.13), belt="left_sprocket", **size))
    flipper.add(sh.Revolute(name="arm", parent="left", child="arm", anchor=(0.35, 0, 0.13), axis=(0, 1, 0)))
    assert (sh.compile(flipper).shape_sprocket >= 0).sum() == 7 + 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"wheels": 1}, "track 'left': wheels is out of range: given 1"),
        ({"wheels": 2.5}, "track 'left': wheels is out of range"),
        ({"wheels": 0}, "track 'left': wheels and suspension do not fit: given 0 wheels and a suspension"),
        ({"suspension": None}, "given 4 wheels without a suspension"),
        ({"spacing": 0.3}, "track 'left': spacing"),
        ({"radius": -1.0}, "track 'left': radius"),
        ({"drop": -0.1}, "track 'left': drop"),
        ({"position": (0, 0)}, "track 'left': position"),
        ({"suspension": sh.Suspension(**{**SPRING, "stiffness": 0.0})}, "suspension stiffness"),
        ({"suspension": sh.Suspension(**{**SPRING, "travel": 0.0})}, "suspension travel"),
    ],
)
def test_what_a_track_may_not_say(change, said):
    with pytest.raises(sh.ModelError, match=said):
        track(**change)
