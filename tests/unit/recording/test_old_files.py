"""Files of format 1, by sharnir 0.1.0 (tests/data/recordings/make.py): they open, replay, go on and are verified."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recorded import rewritten
from refusal import refused
from rich.console import Console

import sharnir as sh
from sharnir.cli.replay import checked
from sharnir.impulse.data import LATER_ARRAYS
from sharnir.moved import new_place
from sharnir.recording import header
from sharnir.recording.layout import FIRST_REPORT, layout_of_file
from sharnir.recording.write.captures import Capture
from sharnir.recording.write.task import environment
from sharnir.simulation.state_names import FORMAT, FORMAT_1

FOLDER = Path(__file__).parents[2] / "data" / "recordings"
STEPS = {"pendulum": 200, "pile": 120, "linkage": 120}
CHANGED = {"linkage", "pile"}  # whose steps have other bits now: functions compiled apart; flat contacts (M-109)
NEAR = 1e-6  # m, rad, m/s or rad/s: what numerics that changed may do to these runs, none of which is chaotic

every = pytest.mark.parametrize("name", STEPS)


def old(name: str) -> sh.Recording:
    return sh.open_recording(FOLDER / f"{name}.mcap")


@every
def test_it_opens(name):
    recording = old(name)
    assert (recording.header["format"], recording.header["sharnir"]) == (header.FIRST, "0.1.0")
    assert recording.complete and recording.steps == STEPS[name]
    assert recording.model.fingerprint == recording.header["model"]
    assert len(recording.times) == len(recording.body_poses) > 10
    assert np.isfinite(recording.trajectory().q).all()


@every
def test_it_is_replayed_to_every_recorded_state(name):
    """Positions and velocities of the scene's model, at the times of some states."""
    recording = old(name)
    for t in recording.times[[0, 4, len(recording.times) // 2, -1]]:
        sim, state = recording.resume(t), recording.state(t)
        assert sim.time == pytest.approx(t)
        joints = sim.model.joint_names if name != "pile" else ()
        for joint in joints:
            where = sim.model.joint(joint)
            if joint in sim.inner.joint_names:
                q, v = (state.loop_q, state.loop_v) if where.closes_loop else (state.q, state.v)
                np.testing.assert_allclose(sim.joint(joint).position, q[where.q], atol=NEAR)
                np.testing.assert_allclose(sim.joint(joint).velocity, v[where.v], atol=NEAR)
        positions, rotations = recording.poses(t)
        for k, body in enumerate(sim.model.body_names):
            np.testing.assert_allclose(sim.body(body).position, positions[k], atol=NEAR)
            np.testing.assert_allclose(sim.body(body).rotation, rotations[k], atol=NEAR)


def test_a_snapshot_with_contacts_is_where_a_run_goes_on():
    recording = old("pile")
    snapshot = recording.snapshots[1]
    assert snapshot.reason == "settings" and snapshot.contacts == 16
    sim = recording.resume(snapshot.t)
    assert len(sim.contacts()) == snapshot.contacts and sim.settings.passes == 2
    weight = sum(c.force[2] for c in sim.contacts("world"))
    assert abs(weight) == pytest.approx(9.81 * sim.model.mass.sum(), rel=1e-3)
    sim.run(0.2)
    assert np.isfinite(sim.q).all()


@every
def test_resumed_it_is_recorded_anew(name, tmp_path):
    sim = old(name).resume(old(name).end / 2)
    with sim.record(tmp_path / "new.mcap"):
        sim.step(20)
    new = sh.open_recording(tmp_path / "new.mcap")
    assert new.header["format"] == header.FORMAT == str(FORMAT) and new.verify() is None


@every
def test_it_is_verified_or_its_version_is_named(name):
    """To the bit, in the surroundings it was made in: numerics of these runs are those of 0.1.0. A change with other
    bits is named under "Numerics" in CHANGELOG.md and adds files to CHANGED. Elsewhere bits may differ, and then the
    version is named."""
    recording = old(name)
    found = recording.verify()
    same_place = all(recording.header.get(k, "native") == v for k, v in environment().items() if k != "sharnir")
    if same_place:
        assert (found is None) == (name not in CHANGED)
    assert found is None or ("0.1.0" in recording.describe(found) and sh.__version__ in recording.describe(found))


def test_where_it_differs_its_version_is_named_instead_of_a_step(tmp_path, capsys):
    rewritten(
        FOLDER / "pendulum.mcap", tmp_path / "other.mcap", lambda s: replace(s, hash=s.hash ^ 1) if s.step == 5 else s
    )
    recording = sh.open_recording(tmp_path / "other.mcap")
    found = recording.verify()
    assert found is not None and found.step <= 5
    assert not checked(recording, Console(width=300))
    said = capsys.readouterr().out
    assert "sharnir 0.1.0" in said and sh.__version__ in said and '"Numerics" in CHANGELOG.md' in said
    assert "step 5" not in said


def test_what_was_saved_is_restored():
    saved = sh.Saved.read(FOLDER / "linkage_saved.npz")
    recording = old("linkage")
    sim = sh.Simulation(recording.model, solver="simmc", dt=0.004)
    sim.restore(saved)
    end = recording.resume(recording.end)
    assert sim.time == end.time
    np.testing.assert_allclose(sim.q, end.q, atol=NEAR)
    assert (sim.dc_motor("dc").input, sim.dc_motor("dc").brake, sim.motor("drive").target) == (6.0, 0.3, -1.0)
    assert sim.dc_motor("dc").current == pytest.approx(end.dc_motor("dc").current, rel=1e-3)
    sim.step(10)
    end.step(10)
    np.testing.assert_allclose(sim.q, end.q, atol=NEAR)


def test_pickles_load():
    """They name modules by their old places, which warn where they forward; once a process, so they are forgotten."""
    for name in [name for name in sys.modules if new_place(name)]:
        del sys.modules[name]
    with pytest.warns(DeprecationWarning, match=r"sharnir\.saved is now sharnir\.simulation\.snapshot"):
        saved = pickle.loads((FOLDER / "linkage_saved.pickle").read_bytes())
    with pytest.warns(DeprecationWarning, match=r"sharnir\.spec\.report is now sharnir\.spec\.import_report"):
        model = pickle.loads((FOLDER / "linkage_model.pickle").read_bytes())
    assert isinstance(saved, sh.Saved) and isinstance(model, sh.Model)
    assert model.fingerprint == saved.model == sh.compile(model.scene).fingerprint
    sim = sh.Simulation(model, solver="simmc")
    sim.restore(saved)
    sim.step(10)
    read = sh.Saved.read(FOLDER / "linkage_saved.npz")
    assert {n: x.tobytes() for n, x in saved.arrays.items()} == {n: x.tobytes() for n, x in read.arrays.items()}


def test_a_saved_state_is_written_in_the_present_format(tmp_path):
    saved = sh.Saved.read(FOLDER / "linkage_saved.npz")
    saved.write(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        assert file["fact_format"] == FORMAT and set(FORMAT_1.values()) < set(file.files)
        values = dict(file)
    again = sh.Saved.read(tmp_path / "new.npz")
    assert {n: x.tobytes() for n, x in again.arrays.items()} == {n: x.tobytes() for n, x in saved.arrays.items()}
    np.savez(tmp_path / "later.npz", **values | {"fact_format": np.array(99)})
    with refused("later.npz", "format 99 is unknown"):
        sh.Saved.read(tmp_path / "later.npz")


def test_names_of_format_1_are_in_the_order_of_its_files():
    """Its files do not say where arrays are: they have those of this table in this order."""
    recording = old("linkage")
    layout = Capture(recording.simulation()).layout
    known = [part for part in layout.fixed[1:] if part.name.removeprefix("before ") not in LATER_ARRAYS]
    shorter = replace(layout, fixed=(replace(layout.fixed[0], size=FIRST_REPORT), *known), seen=())
    assert layout_of_file(recording.header, layout) == shorter
    assert not FORMAT_1.keys() & {new for name, new in FORMAT_1.items() if new != name}


def test_steps_of_a_file_may_have_reported_less_than_those_of_now():
    """The report is no part of a state; all other arrays must be as they are here."""
    layout = Capture(old("linkage").simulation()).layout
    for k, readable in ((0, True), (2, False)):
        fixed = list(layout.fixed)
        fixed[k] = replace(fixed[k], size=fixed[k].size - 1)
        its = replace(layout, fixed=tuple(fixed), seen=())
        if readable:
            assert layout_of_file({"format": str(FORMAT), "layout": its.text()}, layout) == its
        else:
            with pytest.raises(ValueError, match=f"array '{fixed[k].name}' has"):
                layout_of_file({"format": str(FORMAT), "layout": its.text()}, layout)


def test_one_contact_there_is_room_for_is_recorded(tmp_path):
    scene = sh.Scene(name="ball")
    scene.add(sh.HalfSpace())
    scene.add(sh.Body(name="ball", shapes=[sh.Sphere(radius=0.1)], position=(0, 0, 0.1)))
    sim = sh.Simulation(scene, contacts=1)
    with sim.record(tmp_path / "run.mcap"):
        sim.step(20)
        sim.configure(passes=2)
        sim.step(20)
    recording = sh.open_recording(tmp_path / "run.mcap")
    assert recording.snapshots[1].contacts == 1 and recording.verify() is None
    assert len(recording.resume(recording.end).contacts()) == 1


def test_files_are_small():
    assert all(path.stat().st_size < 150_000 for path in FOLDER.iterdir())
