"""What a watched simulation obeys, what it refuses, and how it follows its operator."""

from __future__ import annotations

import gc
import math
import os
import time

import numpy as np
import pytest
from watched import shown

import sharnir as sh
from sharnir import scenes
from sharnir.simulation.simulation import Simulation
from sharnir.viewer.channel import AXES, frame_type
from sharnir.viewer.commands import Command, Kind, judged
from sharnir.viewer.input_mapping import read_mapping
from sharnir.viewer.loop import rest
from sharnir.viewer.page.panel import status
from sharnir.viewer.source.live import Live


def live_of(name: str, mapping: bool = False, **settings) -> Live:
    simulation = Simulation(scenes.make(name), **{"dt": 0.005, **settings})
    return Live(simulation, read_mapping(scenes.drive_file(name), simulation.model) if mapping else None)


def axes(**values: float) -> np.ndarray:
    names = ["waist", "reach", "lift", "wrist", "grip"]
    out = np.zeros(AXES)
    for name, value in values.items():
        out[names.index(name)] = value
    return out


def go(live: Live, seconds: float, held: np.ndarray | None) -> None:
    """Frames of a sixtieth of a second, with the operator's axes."""
    for _ in range(round(60 * seconds)):
        live.steer(held)
        live._take(round(1 / 60 / live.simulation.dt))


GOOD = [(Kind.RUN, 0, ()), (Kind.SPEED, 0, (0.1,)), (Kind.MOTOR, 4, (0.2,)), (Kind.GRAB, 3, (0.0,) * 6)]
BAD = [
    (0, 0, ()), (99, 0, ()), (-1, 0, ()), (Kind.SEEK, 0, (1.0,)), (Kind.RUN, 1, ()), (Kind.SPEED, 0, (0.0,)),
    (Kind.SPEED, 0, (math.nan,)), (Kind.DT, 0, (1.0,)), (Kind.DT, 0, (-1e-3,)), (Kind.BUDGET, 0, (2.0,)),
    (Kind.MOTOR, 5, (0.0,)), (Kind.MOTOR, -1, (0.0,)), (Kind.MOTOR, 0, (math.inf,)), (Kind.ACTUATOR, 0, (0.0,)),
    (Kind.TORQUE, 0, (1e9,)), (Kind.SAVE, 8, ()), (Kind.GRAB, 7, (0.0,) * 6), (Kind.GRAB, 0, (0.0,) * 5 + (1e9,)),
    (Kind.SOLVER, 2, ()),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "of", "values"), [(k, o, (*v, *(0.0,) * (6 - len(v)))) for k, o, v in GOOD])
def test_what_is_on_the_list_and_in_range_is_obeyed(kind, of, values):
    assert judged(live_of("grasp_arm").bounds(), kind, of, values) is not None


def test_all_else_is_refused():
    bounds = live_of("grasp_arm").bounds()
    for kind, of, values in BAD:
        assert judged(bounds, kind, of, (*values, *(0.0,) * (6 - len(values)))) is None, (kind, of, values)


def test_every_command_of_the_list_can_be_obeyed():
    live = live_of("grasp_arm")
    for kind, allowed in live.bounds().items():
        if allowed.things == 0:
            continue
        middle = tuple((low + high) / 2 for low, high in allowed.ranges)
        live.obey(Command(kind, 0, middle))
        live.steer(np.zeros(AXES))
        live._take(2)
        assert live.trouble == "", kind


def test_frames_show_what_the_simulation_holds():
    for solver in ("simgc", "simmc"):
        live = live_of("grasp_arm", solver=solver)
        live._take(100)
        live._observer.attach(live.simulation)
        frame = np.zeros(1, frame_type(live.sizes()))[0]
        live.fill(frame)
        sim = live.simulation
        names = [c.joint for c in live.shown.coordinates]
        assert names == ["waist", "shoulder", "elbow", "wrist", "hinge1", "hinge2"]
        np.testing.assert_array_equal(frame["q"], [sim.joint(n).position[0] for n in names])
        np.testing.assert_array_equal(frame["v"], [sim.joint(n).velocity[0] for n in names])
        np.testing.assert_array_equal(frame["target"], [sim.motor(n).target for n in sim.model.motor_names])
        np.testing.assert_allclose(frame["motor_force"], [sim.motor(n).force for n in sim.model.motor_names])
        np.testing.assert_array_equal(frame["position"][3], sim.body(sim.model.body_names[3]).position)
        contacts = sim.contacts()
        assert frame["contacts"] == len(contacts) > 0
        np.testing.assert_allclose(frame["force"][: len(contacts)], [c.force for c in contacts])
        np.testing.assert_allclose(frame["point"][: len(contacts)], [c.point for c in contacts])
        assert [tuple(p) for p in frame["pair"][: len(contacts)]] == [c.shapes for c in contacts]
        assert (frame["kinetic"], frame["potential"]) == sim.energy


def test_operator_moves_at_the_mapped_rate_and_silence_is_neutral():
    live = live_of("grasp_arm", mapping=True)
    go(live, 0.5, axes(waist=0.5))
    moved = float(live.simulation.motor("waist").target)
    assert moved == pytest.approx(0.5 * 0.8 * (live.simulation.time - live._passed), rel=1e-9)
    go(live, 0.5, None)
    assert live.simulation.motor("waist").target == moved
    assert not live._axes.any()


def test_an_operator_takes_the_object_from_the_floor_by_held_keys():
    live = live_of("grasp_arm", mapping=True)
    while live.simulation.body("finger1").position[2] > 0.13:  # its tip is 0.1 m below
        go(live, 0.05, axes(lift=-1.0))
    go(live, 0.2, axes())
    go(live, 1.5, axes(grip=1.0))
    go(live, 1.0, axes(lift=1.0))
    go(live, 0.5, axes(waist=1.0))
    go(live, 0.5, None)
    place = live.simulation.body("object").position
    assert place[2] > 0.1 and place[1] > 0.05


def test_silence_sets_velocities_to_zero():
    live = live_of("trailer", mapping=True)
    start = float(live.simulation.motor("engine").target)
    go(live, 0.1, None)
    assert live.simulation.motor("engine").target == start  # who never drove changes nothing
    held = np.zeros(AXES)
    held[0] = -0.5
    go(live, 0.1, held)
    assert live.simulation.motor("engine").target == pytest.approx(-0.4)
    go(live, 1 / 60, None)
    assert live.simulation.motor("engine").target == 0.0


def test_emergency_stop_holds_positions_and_forbids_driving():
    live = live_of("grasp_arm", mapping=True)
    live.obey(Command(Kind.TORQUE, 1, (1.0,)))
    go(live, 0.4, axes(waist=1.0))
    live.obey(Command(Kind.STOP))
    stood = live.simulation.joint("waist").position[0]
    assert not live.simulation.joint("shoulder").control.any()
    live.obey(Command(Kind.MOTOR, 0, (2.0,)))
    live.obey(Command(Kind.GRAB, 0, (0.0,) * 6))
    go(live, 1.0, axes(waist=1.0))
    assert live.stopped and live._pull is None
    assert abs(live.simulation.joint("waist").position[0] - stood) < 0.1
    assert abs(live.simulation.joint("waist").velocity[0]) < 1e-3
    live.obey(Command(Kind.CLEAR))
    go(live, 0.4, axes(waist=1.0))
    assert live.simulation.joint("waist").position[0] > stood + 0.1


def test_emergency_stop_holds_servos_where_they_are(tmp_path):
    scene = sh.Scene(gravity=(0, 0, 0))
    scene.add(sh.Body(name="arm", shapes=[sh.Box(size=(1, 0.1, 0.1))], position=(0.5, 0, 0)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="arm", axis=(0, 0, 1)))
    scene.add(sh.Actuator(name="servo", joints=["hinge"], gain=(400, 0, 0), bias=(0, -400, -200), input=1.0))
    live = Live(Simulation(scene, dt=0.005))
    live._take(40)
    live.obey(Command(Kind.STOP))
    stood = live.simulation.joint("hinge").position[0]
    assert 0.05 < stood < 0.95
    live._take(400)
    assert abs(live.simulation.joint("hinge").position[0] - stood) < 0.1


def test_emergency_stop_silences_controllers_of_the_program():
    live = live_of("grasp_arm", mapping=True)
    called = []
    live.simulation.add_controller(lambda sim: called.append(sim.time), rate=100)
    live._take(40)
    live.obey(Command(Kind.STOP))
    before = len(called)
    live._take(40)
    live.obey(Command(Kind.SOLVER, 1))
    live._take(2)
    assert before > 0 and len(called) == before
    live.obey(Command(Kind.CLEAR))
    live._take(40)
    assert len(called) > before


def test_emergency_stop_engages_brakes_until_it_is_cleared():
    scene = sh.Scene(gravity=(0, 0, 0))
    scene.add(sh.Body(name="arm", shapes=[sh.Box(size=(1, 0.1, 0.1))], position=(0.5, 0, 0)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="arm", axis=(0, 0, 1)))
    circuit = {"resistance": 1.0, "torque_constant": 0.1, "ratio": 50.0, "brake": 1.0, "input": 5.0}
    scene.add(sh.DCMotor(name="drive", joint="hinge", **circuit))
    live = Live(Simulation(scene, dt=0.005))
    live._take(40)
    for _ in range(2):
        live.obey(Command(Kind.STOP))
    drive = live.simulation.dc_motor("drive")
    assert drive.brake == 1.0 and live.simulation.actuator("drive").input == 0.0
    live._take(400)
    assert abs(live.simulation.joint("hinge").velocity[0]) < 1e-6
    live.obey(Command(Kind.CLEAR))
    assert drive.brake == 0.0


def test_pull_is_a_force_that_brings_a_point_there_and_ends():
    scene = sh.Scene(name="floating", gravity=(0, 0, 0))
    scene.add(sh.Body(name="box", shapes=[sh.Box(size=(0.4, 0.2, 0.1))]))
    scene.add(sh.Body(name="other", shapes=[sh.Box(size=(0.4, 0.2, 0.1))], position=(0, 0, 3)))
    for dt in (0.001, 0.02):
        live = Live(Simulation(scene, dt=dt))
        before = live.simulation.q.copy()
        live.obey(Command(Kind.GRAB, 0, (0.2, 0.1, 0.05, 1.2, 0.1, 0.05)))
        np.testing.assert_array_equal(live.simulation.q, before)  # no state is written
        for _ in range(round(6 / dt / 4)):
            live.steer(np.zeros(AXES))
            live._take(4)
        point = live.simulation.body("box").rotation @ (0.2, 0.1, 0.05) + live.simulation.body("box").position
        np.testing.assert_allclose(point, (1.2, 0.1, 0.05), atol=0.05)
        np.testing.assert_array_equal(live.simulation.body("other").position, (0, 0, 3))
        live.obey(Command(Kind.LET_GO))
        assert not live.simulation.body("box").applied.any()


def test_pull_rests_while_the_operator_is_silent_and_keeps_what_was_applied():
    scene = sh.Scene(name="floating", gravity=(0, 0, 0))
    scene.add(sh.Body(name="box", shapes=[sh.Box(size=(0.4, 0.2, 0.1))]))
    live = Live(Simulation(scene, dt=0.005))
    wrench = (0, 0, 1.0, 0, 0, 0.1)
    live.simulation.body("box").applied = wrench
    live.obey(Command(Kind.GRAB, 0, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)))
    live.steer(np.zeros(AXES))
    live._take(1)
    assert live.simulation.body("box").applied[0] > 0
    live.steer(None)
    live._take(1)
    np.testing.assert_array_equal(live.simulation.body("box").applied, wrench)
    live.steer(np.zeros(AXES))
    live._take(1)
    assert live.simulation.body("box").applied[0] > 0


def test_pulling_is_what_the_same_forces_do_in_a_plain_simulation():
    live = live_of("humanoid")
    live.obey(Command(Kind.GRAB, 3, (0.0, 0.0, 1.0, 0.4, 0.0, 1.2)))
    plain, forces = Simulation(scenes.make("humanoid"), dt=0.005), []
    for _ in range(100):
        live.steer(np.zeros(AXES))
        live._take(1)
        forces.append(np.array(live.simulation.impulses.state.f_ext.numpy()))
    for force in forces:
        plain.impulses.state.f_ext.assign(force)
        plain.step()
    np.testing.assert_array_equal(plain.q, live.simulation.q)
    assert np.abs(forces[-1]).max() > 1.0


def test_states_are_saved_and_restored_across_solvers():
    live = live_of("grasp_arm")
    live._take(50)
    live.obey(Command(Kind.SAVE, 2))
    live._take(50)
    reached, at = live.simulation.q.copy(), live.simulation.time
    live.obey(Command(Kind.SOLVER, 1))
    assert live.simulation.solver == "simmc"
    live._take(10)
    live.obey(Command(Kind.RESTORE, 2))
    assert live.simulation.solver == "simgc"
    live._take(50)
    assert live.simulation.time == pytest.approx(at)
    np.testing.assert_array_equal(live.simulation.q, reached)
    live.obey(Command(Kind.RESTORE, 5))  # an empty place
    assert live.trouble == ""


def test_step_and_budget_change_between_steps():
    live = live_of("pile")
    live._take(10)
    live.obey(Command(Kind.DT, 0, (0.002,)))
    live.obey(Command(Kind.BUDGET, 0, (1e-5,)))
    at = live.simulation.time
    live._take(10)
    assert live.simulation.time == pytest.approx(at + 0.02)
    assert live.simulation.counts.overruns > 0
    live.obey(Command(Kind.BUDGET, 0, (0.0,)))
    assert live.simulation.settings.budget is None


def test_motion_that_cannot_go_on_is_paused_and_explained(monkeypatch):
    live = live_of("five_link_chain")

    def diverge(steps):
        raise sh.SimulationError("t = 1 s: the motion is no longer finite")

    live.obey(Command(Kind.RUN))
    monkeypatch.setattr(live.simulation, "step", diverge)
    live._take(5)
    assert not live.running and "no longer finite" in live.trouble
    monkeypatch.undo()
    live.obey(Command(Kind.RESET))
    assert live.trouble == ""


@pytest.mark.parametrize(("busy", "cores", "asleep"), [(0.0, 4, True), (1.0, 4, False), (1.0, 1, True)])
def test_waits_are_awake_where_steps_take_much_of_a_frame(busy, cores, asleep, monkeypatch):
    """On a clock that goes on by 1 ms where it is looked at, and whose sleeps end 2 ms early."""
    now, sleeps = [5.0], []

    def look() -> float:
        now[0] += 1e-3
        return now[0]

    def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        now[0] += seconds - 2e-3

    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(time, "perf_counter", look)
    monkeypatch.setattr(time, "sleep", sleep)
    rest(5.2, busy)
    assert now[0] >= 5.2
    assert len(sleeps) == asleep


def test_garbage_is_left_while_watched_and_collected_between_frames():
    found: list[int] = []
    with shown(scenes.make("pendulum")) as (player, _):
        assert not gc.isenabled()
        gc.callbacks.append(lambda phase, info: found.append(info["generation"]) if phase == "stop" else None)
        try:
            player.tidy()
        finally:
            gc.callbacks.pop()
    assert 0 in found or 1 in found
    assert gc.isenabled()


def test_kinds_of_steps_that_are_not_right_are_shown():
    live = live_of("pile")
    frame = np.zeros((), frame_type(live._observer.sizes()))
    live.fill(frame)
    assert frame["warnings"] == 0 and "not right" not in status(frame, [])
    live.simulation.told |= {"capped", "fast_spin"}
    live.fill(frame)
    assert "<td>steps not right</td>" in status(frame, []) and "capped; with fast spin" in status(frame, [])
