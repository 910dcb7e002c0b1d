"""Shapes of bodies and of the world: arrays, and where half-spaces may be."""

import numpy as np
import pytest
from refusal import refused

from sharnir import (
    Body,
    Box,
    Capsule,
    Cylinder,
    HalfSpace,
    Material,
    Prismatic,
    Revolute,
    Scene,
    Sphere,
    compile,
    dynamics,
)
from sharnir.enums import ShapeKind
from sharnir.rotations import quat_to_matrix

TURN = (0.1, -0.2, 0.3, 0.9)


def shop():
    """Two bodies with shapes, hinged off their origins and one of them crossed backwards, on a floor with a step."""
    scene = Scene(name="shop")
    scene.add(HalfSpace(position=(0.0, 0.0, -1.0), orientation=TURN, material=Material(friction=0.0)))
    scene.add(Body(name="far", shapes=[Capsule(radius=0.1, length=0.5, position=(0, 0, 1), orientation=TURN)]))
    scene.add(
        Body(name="near", position=(1, 2, 3), orientation=TURN,
             shapes=[Sphere(radius=0.2, material=Material(friction=2.0)),
                     Cylinder(radius=0.3, length=0.4, position=(1, 0, 0))])
    )  # fmt: skip
    scene.add(Prismatic(name="slide", parent="near", child="world", axis=(1, 0, 1), position=0.3))
    scene.add(Revolute(name="hinge", parent="near", child="far", anchor=(1, 1, 0), axis=(1, 2, 0), position=0.4))
    scene.add(Box(size=(1, 2, 3), position=(4, 5, 6)))
    return scene


def test_shapes_as_arrays():
    model = compile(shop())
    near, far = model.body("near"), model.body("far")
    assert near < far
    assert model.shape_kind.tolist() == [
        ShapeKind.SPHERE,
        ShapeKind.CYLINDER,
        ShapeKind.CAPSULE,
        ShapeKind.HALF_SPACE,
        ShapeKind.BOX,
    ]
    assert model.shape_link.tolist() == [near, near, far, -1, -1]
    sizes = [[0.2, 0, 0], [0.3, 0.4, 0], [0.1, 0.5, 0], [0, 0, 0], [1, 2, 3]]
    assert model.shape_size.tolist() == sizes
    assert model.material[model.shape_material, 0].tolist() == [2.0, 0.5, 0.5, 0.0, 0.5]
    np.testing.assert_array_equal(model.shape_pos[3:], [[0, 0, -1], [4, 5, 6]])
    np.testing.assert_allclose(model.shape_rot[3:], [quat_to_matrix(TURN), np.eye(3)], atol=1e-15)


def test_shapes_stay_where_they_are_in_their_bodies():
    scene = shop()
    model = compile(scene)
    x, R = dynamics.body_poses(model, np.array([0.7, -0.2]))
    bodies = {body.name: body for body in scene.bodies}
    described = [shape for name in model.body_names for shape in bodies[name].shapes]
    for k, shape in enumerate(described):
        i = model.shape_link[k]
        link = R[i] @ model.body_rot[i].T
        origin = x[i] - link @ model.body_pos[i]
        np.testing.assert_allclose(origin + link @ model.shape_pos[k], x[i] + R[i] @ shape.position, atol=1e-14)
        np.testing.assert_allclose(link @ model.shape_rot[k], R[i] @ quat_to_matrix(shape.orientation), atol=1e-14)


def test_a_scene_without_shapes_has_empty_arrays():
    model = compile(Scene())
    assert model.shape_kind.shape == (0,)
    assert model.shape_rot.shape == (0, 3, 3)
    assert model.shape_pos.shape == model.shape_size.shape == (0, 3)


def test_a_half_space_in_a_body_is_refused():
    scene = Scene(bodies=[Body(name="bob", mass=1.0, shapes=[Sphere(radius=1.0), HalfSpace()])])
    with refused("body 'bob', shape 1", "a half-space cannot move", "HalfSpace", "among the scene's shapes"):
        compile(scene)


@pytest.mark.parametrize("size", [(0.0, 1.0, 1.0), (1.0, -1.0, 1.0)], ids=repr)
def test_a_flat_shape_of_the_world_is_refused(size):
    with refused("world, shape 1", "size component", "allowed: a finite number > 0"):
        compile(Scene(shapes=[HalfSpace(), Box(size=size)]))
