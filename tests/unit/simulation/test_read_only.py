"""What is read is only read, and what views do not take is refused: nothing that is written is lost in silence."""

from __future__ import annotations

import numpy as np
import pytest
from measures import both

import sharnir as sh
from sharnir import scenes


@pytest.fixture(scope="module")
def scene():
    scene = scenes.make("slider_crank")
    joint = scene.joints[0].name
    scene.add(sh.Actuator(name="actuator", joints=[joint]))
    scene.add(sh.DCMotor(name="dc", joint=joint, resistance=1.0, torque_constant=0.1))
    return scene


@both
@pytest.mark.parametrize("worlds", [1, 2])
def test_arrays_that_are_read_cannot_be_written(scene, solver, worlds):
    sim = sh.Simulation(scene, solver=solver, worlds=worlds)
    sim.step(3)
    joint, body = sim.joint(sim.model.joint_names[0]), sim.body(sim.model.body_names[0])
    before = sim.save().arrays
    arrays = {
        "q": sim.q, "v": sim.v, "position": joint.position, "velocity": joint.velocity, "control": joint.control,
        "body": body.position, "rotation": body.rotation, "moving": body.velocity, "turning": body.angular_velocity,
        "applied": body.applied,
    }  # fmt: skip
    for name, array in arrays.items():
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 1.0
        assert not (array == 1.0).all(), name
    for name, values in sim.save().arrays.items():
        np.testing.assert_array_equal(values, before[name])


def test_what_a_view_does_not_take_is_refused_with_the_nearest_name(scene):
    sim = sh.Simulation(scene)
    joint, body = sim.model.joint_names[0], sim.model.body_names[0]
    wrong = [
        (sim.motor("motor"), "targt", "has no attribute 'targt'; did you mean 'target'? Taken: target"),
        (sim.joint(joint), "controls", "has no attribute 'controls'; did you mean 'control'? Taken: control"),
        (sim.joint(joint), "position", "position is only read; allowed: set it by Simulation.set_state, or control"),
        (sim.body(body), "aplied", "did you mean 'applied'?"),
        (sim.body(body), "rotation", "rotation is only read; allowed: applied"),
        (sim.body(body), "name", "name is only read"),
        (sim.actuator("actuator"), "inputs", "did you mean 'input'?"),
        (sim.dc_motor("dc"), "voltages", "did you mean 'voltage'? Taken: brake, input"),
        (sim.dc_motor("dc"), "voltage", "voltage is only read; allowed: brake, input"),
        (sim.motor("motor"), "_other", "has no attribute '_other'"),
        (sim.motor("motor"), "xyz", "has no attribute 'xyz'. Taken: target"),
    ]
    for view, name, sentence in wrong:
        with pytest.raises(AttributeError) as caught:
            setattr(view, name, 1)
        assert sentence in str(caught.value) and repr(view.name) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_what_a_view_takes_is_taken(scene):
    sim = sh.Simulation(scene)
    joint, body = sim.model.joint_names[0], sim.model.body_names[0]
    sim.motor("motor").target = 0.5
    sim.motor("motor").target += 0.25
    sim.joint(joint).control = 2.0
    sim.body(body).applied = [1, 2, 3, 4, 5, 6]
    sim.actuator("actuator").input = 3.0
    sim.dc_motor("dc").brake = 0.5
    assert sim.motor("motor").target == 0.75 and sim.joint(joint).control == [2.0]
    np.testing.assert_array_equal(sim.body(body).applied, [1, 2, 3, 4, 5, 6])
    assert sim.actuator("actuator").input == 3.0 and sim.dc_motor("dc").brake == 0.5
