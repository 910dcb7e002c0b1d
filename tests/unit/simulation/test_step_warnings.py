"""Warnings: what a step's report says of it, what Python is told once, what a command line says at its end."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE

import sharnir as sh
from sharnir import scenes
from sharnir.impulse.data import State
from sharnir.impulse.settings import WARN_PIVOT_RATIO, WARN_POSITION_ERROR
from sharnir.impulse.slots import ReportItem, StepWarning, StopReason
from sharnir.impulse.step.cpu import is_remarkable
from sharnir.simulation.step_report import look_at_reports
from sharnir.simulation.step_warnings import KINDS, Counts, summary_lines, tallied

BITS = {str(bit.name).lower(): (ReportItem.WARNINGS, float(bit)) for bit in StepWarning}
SLOTS = BITS | {
    "guarded": (ReportItem.FALLBACK_USED, 1.0),
    "capped": (ReportItem.STOP_REASON, float(StopReason.CAPPED)),
    "stalled": (ReportItem.STOP_REASON, float(StopReason.STALLED)),
    "position_error": (ReportItem.POSITION_ERROR, 0.5),
    "near_fold": (ReportItem.MIN_RELATIVE_PIVOT, 1e-3),
}


@pytest.fixture(scope="module")
def model():
    return sh.compile(scenes.make("slider_crank"))


@pytest.fixture
def sim(model):
    """One that gives no warnings of its own."""
    return sh.Simulation(model)


def reporting(sim, what):
    """Let some steps be of some kinds. what: {(step, world): kinds}, steps from 0."""
    plain = sim.impulses.reports

    def reports(steps):
        out, first = plain(steps).copy(), sim._steps - steps
        for (step, world), kinds in what.items():
            if first <= step < first + steps:
                for slot, value in (SLOTS[kind] for kind in kinds):
                    before = int(out[step - first, slot, world]) if slot == ReportItem.WARNINGS else 0
                    out[step - first, slot, world] = before + value
        return out

    sim.impulses.reports = reports
    sim.impulses.last_report = lambda steps: reports(steps)[-1].max(axis=1).tolist()
    sim.impulses.has_remarks = lambda: True


@pytest.fixture
def told():
    """Messages of the SimulationWarnings that Python is given."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def test_every_warning_of_a_step_has_words_and_a_count():
    assert set(SLOTS) == set(KINDS)
    assert all(getattr(Counts(), kind) == 0 for kind in KINDS)


@pytest.mark.parametrize("kind", SLOTS)
def test_a_step_that_is_not_right_says_so(sim, told, kind):
    reporting(sim, {(3, 0): [kind]})
    reports = [sim.step() for _ in range(5)]
    assert [len(r.warnings) for r in reports] == [0, 0, 0, 1, 0]
    warning = reports[3].warnings[0]
    assert (warning.kind, warning.steps, warning.of) == (kind, 1, 1) and warning.text
    assert str(warning).startswith(f"1 of 1 steps {KINDS[kind].words}: ")
    assert getattr(sim.counts, kind) == 1
    assert sim.counts.warned == (kind not in ("guarded", "capped", "stalled"))
    assert [w.message.kind for w in told] == [kind] * (kind not in ("guarded", "capped", "stalled", "lifted"))
    assert reports[3].guarded == (kind == "guarded")
    assert reports[3].reason == {"capped": "sweeps", "stalled": "stalled"}.get(kind, "converged")


def test_all_steps_of_a_call_and_all_worlds_count(model, told):
    """Also where a call is several launches, as with controllers; a step counts once, in however many worlds it is."""
    sim = sh.Simulation(model, worlds=2)
    sim.add_controller(lambda s: None, rate=20)  # every five steps
    reporting(sim, {(1, 0): ["fast_spin"], (1, 1): ["links_stiffened"], (7, 1): ["fast_spin", "guarded"]})
    report = sim.step(20)
    assert [(w.kind, w.steps, w.of) for w in report.warnings] == [
        ("guarded", 1, 20),
        ("fast_spin", 2, 20),
        ("links_stiffened", 1, 20),
    ]
    c = sim.counts
    assert (c.guarded, c.fast_spin, c.links_stiffened, c.warned, c.steps) == (1, 2, 1, 2, 20)
    assert sim.run(0.1).warnings == ()


def test_a_run_has_the_warnings_of_all_its_steps(sim, told):
    reporting(sim, {(2, 0): ["near_fold"], (1500, 0): ["near_fold"]})
    assert [(w.kind, w.steps, w.of) for w in sim.run(20.0).warnings] == [("near_fold", 2, 2000)]


def test_python_is_told_once_a_run_and_kind_where_the_user_called(sim, told):
    reporting(sim, {(k, 0): ["fast_spin", "energy_limited"] for k in range(100)})
    sim.step(10)
    sim.run(0.1)
    assert [w.message.kind for w in told] == ["fast_spin", "energy_limited"]
    assert all(isinstance(w.message, sh.SimulationWarning) and isinstance(w.message, UserWarning) for w in told)
    assert {w.filename for w in told} == {__file__}
    assert str(told[0].message).startswith("slider_crank at t = 0.1 s: 10 of 10 steps with fast spin: ")
    sim.reset()
    sim.step(10)
    assert len(told) == 4


def test_guarded_and_capped_steps_are_told_of_above_one_in_a_hundred(sim, told):
    reporting(sim, {(k, 0): ["guarded", "capped"] for k in (299, 399, 499, 500, 501, 502)})
    sim.step(300)
    assert (sim.counts.guarded, told, sim.counts.warnings) == (1, [], ())
    sim.step(201)  # 4 of 501
    assert (sim.counts.capped, told) == (4, [])
    sim.step()
    sim.step()
    assert sim.counts.guarded == 6 and [w.message.kind for w in told] == ["guarded", "capped"]
    assert str(sim.counts.warnings[0]).startswith("6 of 503 steps guarded: ")


def test_of_a_run_that_begins_two_guarded_steps_are_told_of(sim, told):
    reporting(sim, {(k, 0): ["guarded"] for k in (5, 7)})
    sim.step(6)
    assert not told and sim.counts.warnings[0].steps == 1
    sim.step(2)
    assert [w.message.kind for w in told] == ["guarded"]


def test_the_state_is_whole_where_warnings_are_errors(sim):
    other = sh.Simulation(sim.model)
    reporting(sim, {(4, 0): ["fast_spin"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", sh.SimulationWarning)
        sim.step(4)
        with pytest.raises(sh.SimulationWarning, match="fast spin"):
            sim.step()
        sim.step(5)
    other.step(10)
    assert sim.time == other.time and sim.counts.steps == 10
    np.testing.assert_array_equal(sim.q, other.q)


def test_the_former_name_still_works(sim, told):
    reporting(sim, {(1, 0): ["near_fold"]})
    first, second = sim.step(), sim.step()
    with pytest.warns(DeprecationWarning, match="Report.warnings"):
        assert first.warning is None
    with pytest.warns(DeprecationWarning):
        assert second.warning.startswith("loops hold 1.0e-03 as firmly")


def test_a_cap_of_two_sweeps_is_said(told):
    sim = sh.Simulation(scenes.make("pile"), dt=0.01, max_sweeps=2)
    report = sim.step(100)
    assert report.warnings[0].kind == "capped" and report.warnings[0].steps == sim.counts.capped > 1
    assert "capped" in [w.message.kind for w in told]


def test_trajectories_have_the_warnings_of_their_run(told):
    trajectory = sh.simulate(scenes.make("rods"), 0.2, solver="simgc", dt=0.01)
    assert trajectory.warnings == ()


def test_lines_sum_over_runs_of_which_python_is_not_told(sim, model, told):
    with tallied() as runs:
        for _ in range(5):
            sim = sh.Simulation(model)
            reporting(sim, {(k, 0): ["fast_spin", *["guarded"] * (k == 2)] for k in (1, 2)})
            sim.step(50)
        sh.Simulation(model).step(50)
    assert len(runs) == 6 and not told
    guarded, spin = summary_lines(runs)
    assert guarded.startswith("slider_crank: 5 of 250 steps (2 %) guarded: ")
    assert spin.startswith("slider_crank: 10 of 250 steps (4 %) with fast spin: ")


SAYS = """
import sys
from sharnir.cli import main
from sharnir.impulse.engine import ImpulseEngine
from sharnir.impulse.slots import ReportItem

plain = ImpulseEngine.reports

def reports(self, steps):
    out = plain(self, steps).copy()
    out[:, ReportItem.FALLBACK_USED] = 1.0
    return out

ImpulseEngine.reports = reports
ImpulseEngine.has_remarks = lambda self: True
sys.argv = ["sharnir", *sys.argv[1:]]
main()
"""


def test_the_command_line_says_it_once_at_its_end(tmp_path):
    words = [sys.executable, "-c", SAYS, "run", "rods", "--duration", "0.1", "--dt", "0.01"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1].startswith("warning: rods: 10 of 10 steps (100 %) guarded: ")
    assert "SimulationWarning" not in done.stderr


def test_recordings_have_an_event_where_steps_are_not_right(sim, tmp_path, told):
    from sharnir.recording.events import Watch
    from sharnir.simulation.step_warnings import kinds_of_step

    report = np.zeros(len(ReportItem))
    watch, seen = Watch([], []), []
    for t, slots in enumerate([[], ["guarded", "fast_spin"], ["fast_spin"], []]):
        report[:] = 0.0
        for slot, value in (SLOTS[kind] for kind in slots):
            report[slot] += value
        seen += [(e.t, e.kind, e.what, e.begins) for e in watch.warnings(t, kinds_of_step(report.tolist()))]
    assert seen == [
        (1, "warning", "fast_spin", True),
        (1, "warning", "guarded", True),
        (2, "warning", "guarded", False),
        (3, "warning", "fast_spin", False),
    ]


def test_a_kernel_flags_exactly_the_steps_that_a_host_has_to_look_at():
    """What `is_remarkable` says of a step agrees with what its report is counted as, in steps of all kinds."""
    seen = set()
    for name, dt in (("slider_crank", 0.05), ("pile", 0.02), ("five_link_chain", 0.02), ("peaucellier", 0.01)):
        sim = sh.Simulation(scenes.make(name), dt=dt, worlds=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sh.SimulationWarning)
            for _ in range(100):
                report = sim.step()
                flagged = sim.impulses.has_remarks()
                looked = look_at_reports(sim, sim.impulses.reports(1))
                assert bool(looked) == bool(report.warnings) == flagged, name
                seen.add(flagged)
    assert seen == {True, False}


@wp.kernel(module="unique", module_options=FAST_COMPILE)
def remarkable_kernel(state: State, room: int, out: wp.array(dtype=int, ndim=2)):
    out[0, 0] = wp.where(is_remarkable(state, room, 0), 1, 0)


@pytest.mark.parametrize("spare", [0.0, 1e-3], ids=["at its bound", "within"])
def test_a_step_as_usual_is_not_remarkable(sim, spare):
    room = sim.impulses.layout.max_contacts
    usual = {ReportItem.POSITION_ERROR: WARN_POSITION_ERROR * sim.impulses.size * (1 - spare)}
    usual |= {ReportItem.MIN_RELATIVE_PIVOT: WARN_PIVOT_RATIO * (1 + spare), ReportItem.CONTACT_POINTS: room}
    assert not remarkable(sim, usual)


@pytest.mark.parametrize(
    ("slot", "value"),
    [
        *SLOTS.values(), (ReportItem.SWEEP_RESIDUAL, np.nan), (ReportItem.SWEEP_RESIDUAL, np.inf),
        (ReportItem.POSITION_ERROR, np.nan), (ReportItem.CONTACT_POINTS, -1.0), (ReportItem.CONTACT_POINTS, 1e6),
        (ReportItem.STOP_REASON, float(StopReason.OUT_OF_TIME)),
    ],
)  # fmt: skip
def test_every_kind_of_step_that_a_host_has_to_look_at_is_remarkable(sim, slot, value):
    assert remarkable(sim, {ReportItem.MIN_RELATIVE_PIVOT: 1.0} | {slot: value})


def remarkable(sim, slots):
    """What the kernel says of a report of these slots, all others 0."""
    report, out = sim.impulses.host(sim.impulses.state.report), wp.zeros((1, 1), dtype=int, device="cpu")
    report[:] = 0.0
    for slot, value in slots.items():
        report[slot] = value
    room = sim.impulses.layout.max_contacts
    wp.launch(remarkable_kernel, dim=1, inputs=[sim.impulses.state, room, out], device="cpu")
    return bool(out.numpy()[0, 0])
