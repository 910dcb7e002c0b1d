"""Bad input of a simulation is answered in one sentence, and so is a run that cannot go on."""

from __future__ import annotations

import numpy as np
import pytest
from measures import bits, both
from refusal import refused

import sharnir as sh
from sharnir import scenes

NAN, INF = float("nan"), float("inf")
NOT_NUMBERS = [NAN, INF, -INF, "1", None, True, [1.0], {}, 1j]


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0, -1.0, *(x for x in NOT_NUMBERS if x is not None)], ids=repr)
def test_a_bad_rate_is_refused(sim, rate):
    with refused("add_controller", "rate", "allowed"):
        sim.add_controller(print, rate)


def test_a_controller_that_cannot_be_called_is_refused(sim):
    with refused("add_controller", "given 3", "a function"):
        sim.add_controller(3)


@pytest.mark.parametrize("dt", [0, 0.0, -0.01, 2.0, 10**400, *NOT_NUMBERS], ids=repr)
def test_a_bad_step_is_refused(model, sim, dt):
    with refused("dt", "allowed: a finite number > 0"):
        sh.Simulation(model, dt=dt)
    with refused("dt", "allowed: a finite number > 0"):
        sim.dt = dt
    assert sim.dt == 0.01 and sim.step().time == 0.01


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", None, True, [2]], ids=repr)
def test_a_bad_number_of_worlds_or_steps_is_refused(model, sim, value):
    if value is not True:
        with refused("worlds"):
            sh.Simulation(model, worlds=value)
    with refused("steps"):
        sim.step(value)


@pytest.mark.parametrize("solver", ["simgx", "exact", None, 3, "", ["simgc"]], ids=repr)
def test_an_unknown_solver_is_refused(model, solver):
    with refused("unknown solver", "simgc, simmc"):
        sh.Simulation(model, solver=solver)


@pytest.mark.parametrize("device", ["cuda:7", "gpu", None, 3], ids=repr)
def test_an_unknown_device_is_refused(model, device):
    with refused("device"):
        sh.Simulation(model, device=device)


@pytest.mark.parametrize("scene", [None, 3, "pendulum", sh.Body(name="a", mass=1.0)], ids=repr)
def test_something_that_is_no_scene_is_refused(scene):
    with refused():
        sh.Simulation(scene)


BAD_SETTINGS = {
    "method": ["papers", None, 1, ""],
    "bilateral": ["swept", None, True],
    "epsilon": [-1e-9, *(x for x in NOT_NUMBERS if x is not None)],
    "budget": [0, -1.0, *(x for x in NOT_NUMBERS if x is not None)],
    "erp": [0, -0.1, 1.1, *NOT_NUMBERS],
    "max_sweeps": [0, -1, 1.5, 10**12, *NOT_NUMBERS],
    "passes": [-1, 11, 2.0, *NOT_NUMBERS],
    "accelerate": [1, 0, "yes", None],
    "warm_start": [1, 0, "yes", None],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD_SETTINGS.items() for v in values], ids=repr)
def test_a_bad_setting_is_refused(model, sim, name, value):
    for change in (lambda: sh.Simulation(model, **{name: value}), lambda: sim.configure(**{name: value})):
        with refused():
            change()
    assert sim.settings == sh.Settings()


def test_an_unknown_setting_is_refused(model, sim):
    for change in (lambda: sh.Simulation(model, epsilom=1e-6), lambda: sim.configure(epsilom=1e-6)):
        with refused("unknown setting 'epsilom'", "did you mean 'epsilon'"):
            change()


@pytest.mark.parametrize("value", [NAN, INF, [1.0, NAN], "fast", None, [1, 2, 3], [[1.0], [2.0]], {}, 1j], ids=repr)
def test_bad_control_targets_and_wrenches_are_refused(sim, value):
    with refused("control of joint 'joint1'", "allowed"):
        sim.joint("joint1").control = value
    with refused("target of motor 'motor'", "allowed"):
        sim.motor("motor").target = value
    with refused("wrench applied to body 'crank'", "allowed"):
        sim.body("crank").applied = value
    assert bits_of_inputs(sim) == bits_of_inputs(sh.Simulation(sim.model))


def bits_of_inputs(sim):
    return [getattr(sim.impulses.state, name).numpy().tobytes() for name in ("control", "f_ext", "motor_target")]


def test_inputs_of_several_worlds_have_their_shape(model):
    sim = sh.Simulation(model, worlds=3)
    sim.joint("joint1").control = [[1.0, 2.0, 3.0]]
    sim.motor("motor").target = [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(sim.joint("joint1").control, [[1, 2, 3]])
    np.testing.assert_array_equal(sim.motor("motor").target, [1, 2, 3])
    for value in ([1.0, 2.0], np.ones((2, 3)), np.ones((3, 1))):
        with refused("control of joint 'joint1'", "wrong shape", "allowed"):
            sim.joint("joint1").control = value
        with refused("target of motor 'motor'", "allowed"):
            sim.motor("motor").target = value


@pytest.mark.parametrize("duration", [0, -1.0, *NOT_NUMBERS], ids=repr)
def test_a_bad_duration_is_refused(sim, duration):
    with refused("run", "duration", "allowed"):
        sim.run(duration)


def test_a_state_of_something_else_is_refused(sim, tmp_path):
    other = sh.Simulation(scenes.make("four_bar"))
    with refused("saved state", "another model"):
        sim.restore(other.save())
    with refused("another solver"):
        sim.restore(sh.Simulation(sim.model, solver="simmc").save())
    with refused("wrong shape"):
        sim.restore(sh.Simulation(sim.model, worlds=2).save())
    for nonsense in (None, 3, {"q": 1}):
        with refused("restore", "not a saved state"):
            sim.restore(nonsense)
    saved = sim.save()
    saved.arrays["q"][0] = NAN
    with refused("q is not finite"):
        sim.restore(saved)
    path = tmp_path / "broken.npz"
    for content in (b"", b"not a zip", b"PK\x03\x04 cut"):
        path.write_bytes(content)
        with refused("broken.npz", "not a saved state"):
            sh.Saved.read(path)
    with refused("missing.npz"):
        sh.Saved.read(tmp_path / "missing.npz")
    with refused("cannot be written"):
        sim.save().write(tmp_path / "no" / "folder.npz")


def test_a_state_that_lacks_an_array_is_refused(sim):
    saved = sim.save()
    del saved.arrays["P"]
    with refused("saved state"):
        sim.restore(saved)


@both
def test_a_refused_state_changes_nothing(model, solver):
    sim, other = (sh.Simulation(model, solver=solver) for _ in range(2))
    saved = sim.save()
    saved.arrays["prev_step"] = np.zeros(3)
    saved.arrays["q"] = saved.arrays["q"] + 1
    with refused("prev_step"):
        sim.restore(saved)
    sim.step(5)
    other.step(5)
    assert bits(sim) == bits(other)


@both
def test_a_run_that_diverged_can_be_reset(solver):
    sim, fresh = (sh.Simulation(scenes.make("four_bar"), solver=solver) for _ in range(2))
    try:
        sim.joint("joint1").control = 1e300
        sim.step(5)
    except sh.SharnirError:
        pass
    sim.reset()
    sim.step(5)
    fresh.step(5)
    np.testing.assert_array_equal(sim.q, fresh.q)


# --- runs that cannot go on ------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("method", ["default", "paper"])
@pytest.mark.parametrize("scene", ["four_bar", "five_link_chain", "free_box"])
def test_a_force_out_of_range_ends_the_run_with_a_sentence(scene, solver, method):
    """Squares of 1e300 overflow: there is no motion. Refused as input, or reported by time and body."""
    sim = sh.Simulation(scenes.make(scene), solver=solver, method=method)
    name = sim.model.joint_names[0]
    bodies = [f"'{body}'" for body in sim.model.body_names]
    with refused(error=sh.SharnirError):
        try:
            sim.joint(name).control = 1e300
            for _ in range(50):
                sim.step()
        except sh.SimulationError as error:
            assert "t = 0." in str(error)
            assert any(body in str(error) for body in bodies), error
            raise


@both
def test_motion_that_is_no_longer_finite_is_noticed_at_once(solver):
    """Whatever made it so."""
    sim = sh.Simulation(scenes.make("four_bar"), solver=solver)
    sim.step(3)
    sim.impulses.state.P.fill_(NAN)
    with refused("t = 0.04", error=sh.SimulationError):
        sim.step()


def test_one_bad_world_of_many_is_noticed(model):
    sim = sh.Simulation(model, worlds=3)
    P = sim.impulses.state.P.numpy().copy()
    P[:, 1] = NAN
    sim.impulses.state.P.assign(P)
    with refused("t = 0.01", error=sh.SimulationError):
        sim.step()


@both
def test_what_was_written_into_the_arrays_and_is_not_finite_is_named(solver):
    sim = sh.Simulation(scenes.make("four_bar"), solver=solver)
    control = sim.applied_control.numpy().copy()
    for row in (0, len(control) - 1):
        name = next(n for n in sim.inner.joint_names if row in np.arange(len(control))[sim.joint(n)._coordinates])
        sim.reset()
        control[:] = 0.0
        control[row] = NAN
        sim.applied_control.assign(control)
        with refused(f"control of joint '{name}' is not finite", error=sh.SimulationError):
            sim.step()
    sim.reset()
    wrench = sim.impulses.state.f_ext.numpy().copy()
    wrench[7] = NAN
    sim.impulses.state.f_ext.assign(wrench)
    with refused(f"wrench applied to body '{sim.inner.body_names[1]}' is not finite", error=sh.SimulationError):
        sim.step()
