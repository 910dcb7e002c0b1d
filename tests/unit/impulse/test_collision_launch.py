"""Who finds contacts in a step, and with which step length: the kernel of collision or the one of the step."""

from __future__ import annotations

import pytest

import sharnir as sh
from sharnir.impulse.slots import Setting
from sharnir.kernels.launch import Launch

SHAPES = {
    "ball": (sh.Sphere(radius=0.1), 0),
    "box": (sh.Box(size=(0.2, 0.2, 0.2)), 1),
}  # how many kernels find contacts beside the step's


def resting(shape: object, dt: float = 0.004) -> sh.Simulation:
    """A body of this shape on the ground."""
    scene = sh.Scene(name="resting")
    scene.add(sh.HalfSpace())
    scene.add(sh.Body(name="body", shapes=[shape], position=(0, 0, 0.1)))
    return sh.Simulation(scene, dt=dt)


def collision_launches(sim: sh.Simulation) -> list[Launch]:
    return [x for x in sim.impulses.kernels_of_step() if isinstance(x, Launch) and "collide" in x.kernel.name]


@pytest.mark.parametrize("name", SHAPES)
def test_contacts_are_found_once_in_a_step_whoever_does_it(name):
    """Round shapes are dealt with in the kernel of the step, others in one of their own; either way the weight of the
    resting body is on its contacts, to the tolerance of sweeps."""
    shape, kernels = SHAPES[name]
    sim = resting(shape)
    assert len(collision_launches(sim)) == kernels
    sim.run(0.2)
    assert len(sim.contacts()) == (4 if name == "box" else 1)
    force = abs(sum(c.force[2] for c in sim.contacts()))
    assert force == pytest.approx(9.81 * sim.model.mass.sum(), rel=1e-3)


def test_nothing_looks_for_contacts_of_bodies_without_shapes():
    scene = sh.Scene(name="point")
    scene.add(sh.Body(name="point", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    assert not collision_launches(sh.Simulation(scene))


def test_the_collision_kernel_reads_the_step_length_from_its_setting():
    """A view of the slot, not a copy: a step of another length is seen by the kernel."""
    sim = resting(SHAPES["box"][0], dt=0.004)
    step_length = collision_launches(sim)[0].arguments[-1]
    assert step_length.shape == (1, 1) and step_length.numpy()[0, 0] == 0.004
    settings = sim.impulses.state.settings
    values = settings.numpy().copy()
    values[Setting.DT] = 0.25
    settings.assign(values)
    assert step_length.numpy()[0, 0] == 0.25
