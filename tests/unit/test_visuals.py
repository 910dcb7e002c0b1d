"""What is seen of bodies, and neither touches nor weighs."""

from __future__ import annotations

import pytest

from sharnir import Body, Box, ModelError, Scene, Visual, compile

GREEN = (0.1, 0.8, 0.1, 1.0)


def test_visuals_weigh_nothing_and_touch_nothing():
    scene = Scene()
    scene.add(Body(name="ghost", mass=2.0, inertia=(1, 1, 1), visuals=[Visual(shape=Box(size=(1, 1, 1)))]))
    scene.add(Visual(file="floor.stl", color=GREEN))
    model = compile(scene)
    assert model.mass.tolist() == [2.0]
    assert len(model.shape_kind) == 0


def test_visuals_are_saved(tmp_path):
    scene = Scene(timestep=0.002)
    visuals = [
        Visual(shape=Box(size=(1, 2, 3), position=(0, 0, 1)), color=GREEN),
        Visual(file="hand.stl", scale=(1, 2, 3)),
    ]
    scene.add(Body(name="seen", mass=1.0, inertia=(1, 1, 1), visuals=visuals))
    scene.add(Visual(file="floor.stl"))
    scene.save(tmp_path / "seen.toml")
    assert Scene.load(tmp_path / "seen.toml") == scene


@pytest.mark.parametrize(
    ("visual", "message"),
    [
        (Visual(), "visual 0: is not one of shape and file"),
        (Visual(shape=Box(size=(1, 1, 1)), file="a.stl"), "visual 0: is not one of shape and file"),
        (Visual(file="a.stl", scale=(1, float("nan"), 1)), "scale component is not a finite number"),
        (Visual(file="a.stl", orientation=(0, 0, 0, 0)), "orientation is zero"),
        (Visual(shape=Box(size=(1, -1, 1))), "size component is out of range"),
    ],
)
def test_a_visual_that_cannot_be_seen_is_refused(visual, message):
    scene = Scene()
    scene.add(Body(name="ghost", mass=1.0, inertia=(1, 1, 1), visuals=[visual]))
    with pytest.raises(ModelError, match=message):
        compile(scene)
