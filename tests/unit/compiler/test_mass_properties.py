"""Mass, centre and inertia of a compiled body are those given, or the integrals over its shapes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from sharnir import Body, Box, Capsule, Cylinder, Fixed, Revolute, Scene, Sphere, compile, dynamics
from sharnir.rotations import quat_to_matrix


def properties(**body):
    """Mass, centre of mass and inertia of a compiled body, in its own frame."""
    model = compile(Scene(bodies=[Body(name="a", **body)], joints=[Fixed(name="j", parent="world", child="a")]))
    R = model.body_rot[0]
    return model.mass[0], R.T @ (model.com[0] - model.body_pos[0]), R.T @ model.inertia[0] @ R


def of_revolution(radius, half):
    """Volume and second moments ∫x², ∫y², ∫z² of a solid with radius(z) for |z| ≤ half, by quadrature."""
    volume = quad(lambda z: np.pi * radius(z) ** 2, -half, half, epsabs=1e-13)[0]
    across = quad(lambda z: np.pi * radius(z) ** 4 / 4, -half, half, epsabs=1e-13)[0]
    along = quad(lambda z: np.pi * radius(z) ** 2 * z**2, -half, half, epsabs=1e-13)[0]
    return volume, np.array([across, across, along])


def rounded(z, r=0.3, length=0.8):
    beyond = max(abs(z) - length / 2, 0.0)
    return np.sqrt(max(r * r - beyond**2, 0.0))


SOLIDS = {
    "sphere": (Sphere(radius=0.3), of_revolution(lambda z: np.sqrt(max(0.09 - z * z, 0.0)), 0.3)),
    "cylinder": (Cylinder(radius=0.3, length=0.8), of_revolution(lambda z: 0.3, 0.4)),
    "capsule": (Capsule(radius=0.3, length=0.8), of_revolution(rounded, 0.7)),
    "box": (Box(size=(0.2, 0.3, 0.5)), (0.03, 0.03 * np.array([0.04, 0.09, 0.25]) / 12)),
}


def moments(second):
    """Rotational inertia of second moments [3] or [3, 3]."""
    second = np.diag(second) if np.ndim(second) == 1 else second
    return np.trace(second) * np.eye(3) - second


@pytest.mark.parametrize("name", SOLIDS)
def test_mass_properties_of_a_solid_are_its_integrals(name):
    shape, (volume, second) = SOLIDS[name]
    mass, com, inertia = properties(shapes=[replace(shape, density=7.0)])
    assert mass == pytest.approx(7 * volume, rel=1e-7)
    np.testing.assert_allclose(com, 0, atol=1e-15)
    np.testing.assert_allclose(inertia, 7 * moments(second), rtol=1e-7, atol=1e-12)


def test_closed_forms_of_solids():
    r, length = 0.3, 0.8
    sphere, cylinder = 1000 * 4 / 3 * np.pi * r**3, 1000 * np.pi * r * r * length
    assert properties(shapes=[Sphere(radius=r)])[2] == pytest.approx(0.4 * sphere * r * r * np.eye(3))
    across = cylinder * (r * r / 4 + length**2 / 12)
    expected = np.diag([across, across, cylinder * r * r / 2])
    assert properties(shapes=[Cylinder(radius=r, length=length)])[2] == pytest.approx(expected)


def test_a_short_capsule_is_nearly_a_ball_and_a_thin_one_a_rod():
    ball, capsule = (properties(shapes=[s]) for s in (Sphere(radius=0.5), Capsule(radius=0.5, length=1e-9)))
    np.testing.assert_allclose(capsule[2], ball[2], rtol=1e-7)
    mass, _, inertia = properties(shapes=[Capsule(radius=1e-6, length=2.0)])
    np.testing.assert_allclose(inertia[0, 0], mass * 4 / 12, rtol=1e-5)


def points_of(shape, volume, second):
    """Six equal masses with the solid's mass, centre and second moments, in the body frame."""
    offsets = np.sqrt(3 * second / volume)
    points = np.vstack([np.diag(offsets), -np.diag(offsets)])
    R = quat_to_matrix(np.array(shape.orientation))
    return np.full(6, shape.density * volume / 6), points @ R.T + np.array(shape.position)


def pile(rng):
    """Solids of all kinds, off centre and turned, and the points equivalent to them."""
    shapes, weights, points = [], [], []
    for shape, (volume, second) in SOLIDS.values():
        pose = {"position": rng.normal(size=3), "orientation": rng.normal(size=4)}
        placed = replace(shape, density=rng.uniform(1, 5), **pose)
        shapes.append(placed)
        w, p = points_of(placed, volume, second)
        weights.append(w)
        points.append(p)
    return shapes, np.concatenate(weights), np.concatenate(points)


def about_center(weights, points):
    mass = weights.sum()
    com = weights @ points / mass
    d = points - com
    return mass, com, moments(np.einsum("i,ij,ik->jk", weights, d, d))


@pytest.mark.parametrize("seed", range(5))
def test_solids_off_centre_and_turned_add_up(seed):
    shapes, weights, points = pile(np.random.default_rng(seed))
    mass, com, inertia = about_center(weights, points)
    found = properties(shapes=shapes)
    assert found[0] == pytest.approx(mass, rel=1e-7)
    np.testing.assert_allclose(found[1], com, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[2], inertia, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("density", [1.0, 1000.0])
def test_a_given_mass_scales_the_inertia_of_shapes(density):
    shapes = [replace(s, density=density * s.density) for s in pile(np.random.default_rng(1))[0]]
    own = properties(shapes=shapes)
    mass, com, inertia = properties(mass=2.5, shapes=shapes)
    assert mass == 2.5
    np.testing.assert_allclose(com, own[1], rtol=1e-12)
    np.testing.assert_allclose(inertia, own[2] * 2.5 / own[0], rtol=1e-12)


def test_given_properties_win_over_shapes():
    shapes = [Box(size=(1, 2, 3))]
    mass, com, inertia = properties(mass=2, center_of_mass=(1, 2, 3), inertia=(3, 4, 5), shapes=shapes)
    assert mass == 2
    np.testing.assert_array_equal(com, [1, 2, 3])
    np.testing.assert_array_equal(inertia, np.diag([3, 4, 5]))


def test_a_given_matrix_is_the_inertia_about_the_center_of_mass():
    matrix = np.array([[3.0, 0.5, 0.2], [0.5, 4.0, 0.1], [0.2, 0.1, 5.0]])
    np.testing.assert_array_equal(properties(mass=1, inertia=matrix, center_of_mass=(1, 0, 0))[2], matrix)


def test_without_inertia_or_shapes_a_body_is_a_point():
    mass, com, inertia = properties(mass=3)
    assert mass == 3
    assert not com.any()
    assert not inertia.any()


def test_mass_properties_turn_with_the_joint_frame():
    scene = Scene(
        bodies=[Body(name="a", mass=2, inertia=(1, 2, 3), center_of_mass=(0, 0, 1), orientation=(1, 2, 3, 4))]
    )
    scene.add(Revolute(name="j", parent="world", child="a", axis=(1, 1, 0)))
    model = compile(scene)
    R = quat_to_matrix(np.array([1.0, 2.0, 3.0, 4.0]))
    axis = np.array([1, 1, 0]) / np.sqrt(2)
    com = R @ [0, 0, 1]
    about = R @ np.diag([1, 2, 3]) @ R.T + 2 * (com @ com * np.eye(3) - np.outer(com, com))
    np.testing.assert_allclose(dynamics.crba(model, [0.4]), [[axis @ about @ axis]], rtol=1e-14)
