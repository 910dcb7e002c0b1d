"""simulate() refuses bad arguments and bad control by name, reports runs that cannot go on, survives Ctrl-C."""

import math
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from refusal import refused

from sharnir import (
    Body,
    Fixed,
    ModelError,
    Revolute,
    Scene,
    SimulationError,
    Spherical,
    compile,
    open_recording,
    scenes,
    simulate,
)

NAN, INF = float("nan"), float("inf")
METHODS = ("dop853", "radau", "rk4", "euler")


@pytest.fixture(scope="module")
def pendulum():
    return compile(scenes.make("pendulum"))


@pytest.fixture(scope="module")
def double_pendulum():
    return compile(scenes.make("double_pendulum"))


# --- arguments -------------------------------------------------------------------------------------------------------

NOT_POSITIVE = [0, 0.0, -1.0, NAN, INF, -INF, "1", True, [1.0], {}, 1j]


@pytest.mark.parametrize("value", [*NOT_POSITIVE, None], ids=repr)
def test_a_bad_duration_is_refused(pendulum, value):
    with refused("simulate", "duration", f"given {value!r}", "allowed: a finite number > 0"):
        simulate(pendulum, value)


@pytest.mark.parametrize("method", ["rk4", "euler", "dop853"])
@pytest.mark.parametrize("value", NOT_POSITIVE, ids=repr)
def test_a_bad_step_is_refused(pendulum, method, value):
    with refused("simulate", "dt", f"given {value!r}", "allowed: a finite number > 0"):
        simulate(pendulum, 0.1, dt=value, method=method)


@pytest.mark.parametrize("tolerance", ["rtol", "atol"])
@pytest.mark.parametrize("value", [*NOT_POSITIVE, None], ids=repr)
def test_a_bad_tolerance_is_refused(pendulum, tolerance, value):
    with refused("simulate", tolerance, f"given {value!r}", "allowed"):
        simulate(pendulum, 0.1, **{tolerance: value})


@pytest.mark.parametrize("argument", ["duration", "dt", "rtol", "atol"])
def test_an_integer_beyond_floating_point_is_refused(pendulum, argument):
    arguments = {"duration": 0.1, "method": "rk4", argument: 10**400}
    with refused("simulate", argument, "allowed"):
        simulate(pendulum, **arguments)


@pytest.mark.parametrize("number", [np.float64(0.01), np.float32(0.01), np.array(0.01)], ids=repr)
def test_numpy_numbers_are_numbers(pendulum, number):
    assert simulate(pendulum, number, dt=number, method="rk4").finished
    assert simulate(pendulum, np.int64(1), rtol=number, atol=number).finished


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_step_for_an_adaptive_method_is_refused(pendulum, method):
    with refused(method, "dt=0.01", "allowed: dt with 'rk4' or 'euler'"):
        simulate(pendulum, 0.1, dt=0.01, method=method)


def test_a_step_too_small_to_count_is_refused(pendulum):
    with refused("simulate", "dt", "1e-320", "allowed"):
        simulate(pendulum, 1.0, dt=1e-320, method="rk4")


def test_a_tolerance_below_rounding_is_refused(pendulum):
    with refused("simulate", "rtol", "1e-17", "allowed"):
        simulate(pendulum, 0.1, rtol=1e-17)


@pytest.mark.parametrize("method", ["dop853", "radau"])
def test_a_hopeless_absolute_tolerance_is_refused_or_reported(pendulum, method):
    with refused("atol", error=(ModelError, SimulationError)):
        simulate(pendulum, 0.1, atol=1e-300, method=method)


BAD_TIMES = [
    [], [0.5, 0.2], [0.0, 0.0], [-0.1, 0.5], [0.0, 1.5], [0.0, NAN], [0.0, INF], [[0.0, 0.5]], "abc", ["abc"], [None],
    len, {}, [0.1, 10**400], [0.0, 1j], True,
]  # fmt: skip


@pytest.mark.parametrize("times", BAD_TIMES, ids=lambda times: repr(times)[:30])
def test_bad_times_are_refused(pendulum, times):
    with refused("simulate", "times", repr(times)[:100], "allowed: increasing", "0 to 1"):
        simulate(pendulum, 1.0, times=times)


@pytest.mark.parametrize("times", [[0.0], [0.5], 0.5, (0.1, 0.2), np.linspace(0, 1, 7), range(2)], ids=repr)
def test_good_times_are_recorded_after_the_start(pendulum, times):
    run = simulate(pendulum, 1.0, times=times)
    wanted = np.atleast_1d(times)
    np.testing.assert_array_equal(run.t, wanted if wanted[0] == 0 else [0.0, *wanted])
    assert len(run.q) == len(run.t)


@pytest.mark.parametrize(
    ("wrong", "hint"), [("dop835", "'dop853'"), ("RK4", "'rk4'"), ("radu", "'radau'"), ("eulr", "'euler'")]
)
def test_an_unknown_method_is_refused_with_the_nearest(pendulum, wrong, hint):
    with refused(f"unknown method {wrong!r}", f"did you mean {hint}?"):
        simulate(pendulum, 1.0, method=wrong)


@pytest.mark.parametrize("wrong", [5, "", ["rk4"], {}, "leapfrog"], ids=repr)
@pytest.mark.parametrize("argument", ["method", "solver"])
def test_what_is_no_method_or_solver_is_refused(pendulum, argument, wrong):
    known = {"method": "dop853, radau, rk4, euler", "solver": "exact"}[argument]
    with refused(f"unknown {argument} {wrong!r}", f"Known: {known}"):
        simulate(pendulum, 1.0, **{argument: wrong})


def test_an_unknown_solver_is_refused_with_the_nearest(pendulum):
    with refused("unknown solver 'exakt'", "did you mean 'exact'?"):
        simulate(pendulum, 1.0, solver="exakt")


@pytest.mark.parametrize("wrong", [None, 5, "pendulum", [], Body(name="a", mass=1.0)], ids=lambda w: type(w).__name__)
def test_what_is_no_scene_is_refused(wrong):
    with refused("not a scene", type(wrong).__name__, "allowed"):
        simulate(wrong, 1.0)


def test_a_bad_scene_is_refused_before_anything_runs():
    scene = Scene(bodies=[Body(name="a", mass=-1.0)])
    with refused("body 'a'", "mass", "-1.0", "allowed"):
        simulate(scene, 1.0)


def test_single_precision_is_refused():
    code = (
        "import sharnir\n"
        "sharnir.set_precision('single')\n"
        "try:\n    sharnir.simulate(sharnir.scenes.make('pendulum'), 1.0)\n"
        "except sharnir.ModelError as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "solver 'exact': precision: given 'single'; allowed: 'double'" in out.stdout


# --- control ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("control", [5, "abc", [0.0], True, np.zeros(1)], ids=repr)
def test_a_control_that_cannot_be_called_is_refused(pendulum, control):
    with refused("control", repr(control), "allowed"):
        simulate(pendulum, 0.1, control=control)


BAD_FORCES = {
    "None": (None, "None"),
    "number": (1.0, "[]"),
    "short": ([1.0], "[1]"),
    "long": ([1.0, 2.0, 3.0], "[3]"),
    "empty": ([], "[0]"),
    "column": (np.zeros((2, 1)), "[2, 1]"),
    "worlds": (np.zeros((2, 5)), "[2, 5]"),
    "text": ("abc", "abc"),
    "texts": (["abc", "abc"], "abc"),
    "ragged": ([[0.0], [0.0, 1.0]], "[0.0, 1.0]"),
    "complex": ([1j, 0.0], "1j"),
    "nan": ([0.0, NAN], "control[1] is not finite: given nan"),
    "inf": ([INF, 0.0], "control[0] is not finite: given inf"),
}


@pytest.mark.parametrize("case", BAD_FORCES)
@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_a_bad_result_of_control_is_refused(double_pendulum, case, method):
    force, shown = BAD_FORCES[case]
    with refused("double_pendulum", "control", shown, "allowed"):
        simulate(double_pendulum, 0.1, control=lambda t, q, v: force, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_control_that_turns_bad_during_the_run_is_refused(pendulum, method):
    with refused("control[0] is not finite", "nan"):
        simulate(pendulum, 0.1, control=lambda t, q, v: [NAN if t > 0.05 else 0.0], method=method)


@pytest.mark.parametrize("method", METHODS)
def test_an_error_inside_control_reaches_the_caller(pendulum, method):
    with pytest.raises(ZeroDivisionError):
        simulate(pendulum, 0.1, control=lambda t, q, v: [1 / 0 if t > 0.05 else 0.0], method=method)


def test_control_that_writes_to_its_arguments_changes_nothing(pendulum):
    def scribble(t, q, v):
        q[:], v[:] = 7.0, 7.0
        return [0.0]

    np.testing.assert_array_equal(simulate(pendulum, 0.2, control=scribble).q, simulate(pendulum, 0.2).q)


# --- runs that cannot go on ------------------------------------------------------------------------------------------


def gimbal(angle=-0.5, spin=0.0, damping=0.0):
    """A thin rod on two perpendicular hinges without gravity; it swings at 1 rad/s into the axis of the first."""
    scene = Scene(name="gimbal", gravity=(0.0, 0.0, 0.0))
    scene.add(Body(name="fork", mass=0.0))
    scene.add(Body(name="rod", mass=1.0, center_of_mass=(0.0, 0.0, -0.5), inertia=(1 / 12, 1 / 12, 0.0)))
    scene.add(Revolute(name="yaw", parent="world", child="fork", axis=(0, 0, 1), velocity=spin, damping=damping))
    scene.add(Revolute(name="tilt", parent="fork", child="rod", axis=(0, 1, 0), position=angle, velocity=1.0))
    return scene


@pytest.mark.parametrize("method", ["dop853", "rk4", "euler"])  # those whose steps end there
def test_an_inertia_that_becomes_singular_is_reported_with_time_and_joint(method):
    step = {"dt": 0.125} if method in ("rk4", "euler") else {}
    with refused("t = 0.5 s", "inertia became singular", "joint 'yaw'", error=SimulationError):
        simulate(gimbal(), 1.0, method=method, times=np.linspace(0, 1, 9), **step)


def test_a_pose_that_is_singular_at_first_never_runs():
    with refused("joint 'yaw'", "joint-space inertia is singular", "allowed"):
        simulate(gimbal(angle=0.0), 1.0)


class TooManyError(Exception):
    """The run did not end within its budget."""


def budget(calls, nv):
    """A control that does nothing, `calls` times at most."""
    left = [calls]

    def control(t, q, v):
        left[0] -= 1
        if left[0] < 0:
            raise TooManyError(f"still at t = {t}, q = {q}, v = {v}")
        return np.zeros(nv)

    return control


def test_a_damped_rod_near_its_singular_pose_ends_in_time():
    """The damper's rate grows without bound there: the run finishes or says where it is stuck, but does not hang."""
    scene = gimbal(spin=0.1, damping=0.1)
    try:
        assert simulate(scene, 1.0, control=budget(100_000, 2)).finished
    except SimulationError as error:
        assert "t = 0.5" in str(error)
        assert "yaw" in str(error)


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_a_step_too_long_is_reported_as_divergence(method):
    scene = scenes.make("pendulum")
    scene.joints[0].stiffness = 1e6
    quiet, reported = np.errstate(all="ignore"), refused("t = ", method, "diverged with dt", error=SimulationError)
    with quiet, reported:
        simulate(scene, 10.0, dt=0.1, method=method)


def test_a_state_that_runs_to_infinity_is_reported(pendulum):
    with np.errstate(all="ignore"), refused("t = ", error=SimulationError):
        simulate(pendulum, 10.0, control=lambda t, q, v: v**3 + 1)


def test_a_loop_without_freedom_stays_where_it_is():
    scene = Scene(bodies=[Body(name="a", mass=1.0, inertia=(1, 1, 1), position=(1, 0, 0))])
    scene.add(Spherical(name="ball", parent="world", child="a"))
    scene.add(Fixed(name="weld", parent="world", child="a", anchor=(1, 0, 0)))
    run = simulate(scene, 0.1)
    np.testing.assert_allclose(run.v, 0, atol=1e-12)


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


def interrupt_after(time, nv):
    def control(t, q, v):
        if t > time:
            raise KeyboardInterrupt
        return np.zeros(nv)

    return control


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["double_pendulum", "n_four_bar"])
def test_an_interrupted_run_returns_what_was_recorded(name, method):
    model = compile(scenes.make(name))
    times = np.linspace(0, 0.1, 11)
    run = simulate(model, 0.1, times=times, control=interrupt_after(0.045, model.nv), method=method)
    whole = simulate(model, 0.1, times=times, method=method)
    n = len(run.t)
    assert not run.finished
    assert whole.finished
    assert 1 <= n <= 5
    assert run.t[-1] <= 0.045
    for field in ("t", "q", "v", "kinetic", "potential", "work", "loop_q", "loop_v", "loop_error"):
        np.testing.assert_array_equal(getattr(run, field), getattr(whole, field)[:n])
    assert run.energy_error.shape == (n,)
    assert run.joint_wrenches().shape == (n, model.nb, 6)


@pytest.mark.parametrize("recorded", [False, True])
def test_ctrl_c_ends_a_run_of_steps_between_two_of_them(tmp_path, recorded):
    """The signal comes while a control is asked; the recording is whole."""

    def control(t, q, v):
        if 0.0445 < t < 0.0455:
            os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(2)

    path = tmp_path / "run.mcap" if recorded else None
    times = np.linspace(0, 0.1, 11)
    run = simulate(
        scenes.make("double_pendulum"), 0.1, solver="simgc", dt=1e-3, times=times, control=control, record=path
    )
    assert not run.finished and 0.04 <= run.t[-1] < 0.1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if recorded:
        recording = open_recording(path)
        assert recording.complete and recording.verify() is None and recording.end >= run.t[-1]


def test_an_interrupt_before_anything_is_recorded_passes_on(pendulum):
    with pytest.raises(KeyboardInterrupt):
        simulate(pendulum, 1.0, control=interrupt_after(-1.0, 1))


def test_the_bar_is_closed_by_an_interrupt(pendulum, capfd):
    assert not simulate(pendulum, 1.0, control=interrupt_after(0.5, 1), progress=True).finished
    assert "pendulum" in capfd.readouterr().err


def test_a_model_can_run_again_after_a_failure(pendulum):
    with pytest.raises(ModelError):
        simulate(pendulum, 0.1, control=lambda t, q, v: [NAN])
    period = 2 * math.pi / math.sqrt(9.81)
    assert simulate(pendulum, period).finished
