"""Several hinges and slides between two bodies are the same as bodies without mass between single joints."""

from __future__ import annotations

import numpy as np
import pytest

from sharnir import (
    Body,
    Compound,
    ModelError,
    Prismatic,
    Revolute,
    Scene,
    Simulation,
    Step,
    compile,
    dynamics,
    maximal,
)

STEPS = (
    {"kind": "slide", "axis": (1.0, 0.2, 0.0)},
    {"kind": "hinge", "axis": (0.0, 1.0, 0.0), "anchor": (0.1, 0.0, 0.0)},
    {"kind": "hinge", "axis": (0.0, 1.0, 1.0), "anchor": (0.2, 0.1, 0.1)},
)
FACTS = {"damping": (0.1, 0.2, 0.3), "armature": (0.3, 0.2, 0.1), "stiffness": (4.0, 5.0, 6.0), "rest": (0.1, 0.2, 0.3)}
Q, V = np.array([0.3, -0.7, 1.1]), np.array([0.5, -2.0, 1.5])


def ends():
    near = Body(name="near", mass=2.0, inertia=(0.2, 0.3, 0.4), position=(0, 0, 0.2))
    far = Body(name="far", mass=1.0, inertia=(0.1, 0.2, 0.25), position=(0.3, 0.1, 0.0), center_of_mass=(0.1, 0, 0.05))
    return near, far


def compound(**facts):
    scene = Scene()
    near, far = ends()
    scene.add(near)
    scene.add(far)
    scene.add(Revolute(name="root", parent="world", child="near", axis=(1, 0, 0)))
    scene.add(Compound(name="wrist", parent="near", child="far", steps=[Step(**s) for s in STEPS], **FACTS, **facts))
    return scene


def chain():
    """The joint made of two with bodies without mass between them."""
    scene = Scene()
    near, far = ends()
    scene.add(near)
    scene.add(Revolute(name="root", parent="world", child="near", axis=(1, 0, 0)))
    parent = "near"
    for k, step in enumerate(STEPS):
        child = far if k == len(STEPS) - 1 else Body(name=f"between{k}", mass=0.0, position=far.position)
        scene.add(child)
        kind = Revolute if step["kind"] == "hinge" else Prismatic
        facts = {name: values[k] for name, values in FACTS.items()}
        placed = {name: value for name, value in step.items() if name != "kind"}
        scene.add(kind(name=f"wrist{k}", parent=parent, child=child.name, **placed, **facts))
        parent = child.name
    return scene


def test_it_moves_as_single_joints_do():
    one, many = compile(compound()), compile(chain())
    q, v = np.array([0.4, *Q]), np.array([-0.3, *V])
    np.testing.assert_allclose(dynamics.crba(one, q), dynamics.crba(many, q), atol=1e-14)
    tau = [dynamics.passive_forces(m, q, v) for m in (one, many)]
    np.testing.assert_allclose(*tau, atol=1e-14)
    np.testing.assert_allclose(dynamics.aba(one, q, v, tau[0]), dynamics.aba(many, q, v, tau[1]), rtol=1e-12)


@pytest.mark.parametrize("limits", [None, ((-0.05, 0.05), (-0.3, 0.3), (-0.2, 0.4))])
def test_it_is_stepped_as_single_joints_are(limits):
    scene = chain()
    if limits is not None:
        for k, pair in enumerate(limits):
            next(j for j in scene.joints if j.name == f"wrist{k}").limits = pair
    runs = []
    for built in (compound(limits=limits), scene):
        sim = Simulation(built, dt=0.002)
        sim.run(0.5)
        runs.append(sim.q.copy())
    np.testing.assert_allclose(*runs, atol=1e-9)


def test_crossed_backwards_it_has_the_same_coordinates():
    scene = compound(position=Q, velocity=V)
    turned = Scene(gravity=(0, 0, 0))
    for body in ends():
        turned.add(body)
    turned.add(Revolute(name="root", parent="world", child="far", anchor=(0.3, 0.1, 0), axis=(1, 0, 0)))
    turned.add(scene.joints[1])
    model = compile(turned)
    joint = model.joint("wrist")
    assert not joint.closes_loop and model.q0[joint.q].tolist() == Q.tolist()
    forward = compile(scene)
    relative = []
    for m in (forward, model):
        x, R = dynamics.body_poses(m, m.q0)
        a, b = m.body("near"), m.body("far")
        relative.append((R[a].T @ (x[b] - x[a]), R[a].T @ R[b]))
    np.testing.assert_allclose(relative[0][0], relative[1][0], atol=1e-14)
    np.testing.assert_allclose(relative[0][1], relative[1][1], atol=1e-14)


def test_it_is_saved(tmp_path):
    scene = compound()
    scene.joints[1].steps[0].name = "slider"
    scene.save(tmp_path / "wrist.toml")
    assert Scene.load(tmp_path / "wrist.toml") == scene


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": ()}, "steps is not a list of steps"),
        ({"steps": [3]}, "steps is not a list of steps"),
        ({"steps": [Step(kind="ball")]}, "step 0: unknown kind 'ball'"),
        ({"steps": [Step(axis=(0, 0, 0))]}, "step 0: axis is zero"),
        ({"axis": (1, 0, 0)}, "is placed twice"),
        ({"damping": (1.0, 2.0)}, "damping has the wrong shape"),
    ],
)
def test_a_wrong_one_is_refused(change, message):
    scene = compound()
    for name, value in change.items():
        setattr(scene.joints[1], name, value)
    with pytest.raises(ModelError, match=message):
        compile(scene)


def test_it_needs_generalised_coordinates():
    with pytest.raises(ModelError, match=r"joint 'wrist': is a compound of several motions.*simgc"):
        maximal(compile(compound()))


def test_it_closes_no_loop():
    scene = compound()
    scene.add(Revolute(name="other", parent="near", child="far", axis=(0, 0, 1), anchor=(0.3, 0.1, 0), position=0.0))
    with pytest.raises(ModelError, match="joint 'wrist': a compound joint cannot close a loop"):
        compile(scene)
