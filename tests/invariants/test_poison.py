"""Nothing but the state goes from step to step: scratch that is spoilt in between changes no bit.

All arrays of the scratch, and those of the state that are no part of what is saved, are filled with NaN, integers with
0x7f7f7f7f, before every step. `KEPT` are those that may hold something from step to step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import warp as wp

import sharnir as sh
from sharnir import scenes
from sharnir.impulse.slots import PrevStep

KEPT = {
    "state.contacts.count": "zero for good where nothing can touch; see test_nothing_leaks",
    "state.settings": "an input",
    "state.actuator_load": "zero for coordinates that no actuator acts on, for good; others are cleared in every step",
    "work.joint_gap": "zero for the rows that a joint does not have, for good: the targets of all six rows are read",
    "work.dense_row": "zero between uses, by whoever used it",
}
TICKS = {"prev_step": (PrevStep.TICKS_TAIL, PrevStep.TICKS_LEFT)}  # rows of saved arrays that are the machine's
DIRECT: dict[str, Any] = {"bilateral": "direct"}
SWEEP: dict[str, Any] = {"bilateral": "sweep"}
PAPER: dict[str, Any] = {"method": "paper"}
WAYS = {"direct": DIRECT, "sweep": SWEEP, "paper": PAPER}
TANGENT = {"direct tangent": {**DIRECT, "passes": 0}, "sweep tangent": {**SWEEP, "passes": 0}}
QUICK = ("peaucellier", "five_link_chain", "gripper", "grasp", "humanoid", "pile")
SMALLER = {"pile": {"n": 8}, "balls": {"n": 27}, "mixed": {"n": 20}}
POINTS = ("pendulum", "double_pendulum", "rods")  # bodies without inertia: simgc only

both = pytest.mark.parametrize("solver", ["simgc", "simmc"])


def arrays_of(struct: Any, prefix: str) -> Iterator[tuple[str, wp.array]]:
    """All arrays of a Warp struct and of those in it, by name."""
    for name in struct._cls.vars:
        value = getattr(struct, name)
        if isinstance(value, wp.array):
            yield prefix + name, value
        elif hasattr(value, "_cls"):
            yield from arrays_of(value, f"{prefix}{name}.")


def scratch(sim: sh.Simulation) -> dict[str, wp.array]:
    """Arrays that are no part of what is saved."""
    engine, saved = sim.impulses, {f"state.{name}" for name in sim.save().arrays}
    parts = {"work.": engine._work, "here.": engine._here, "there.": engine._there, "state.": engine.state}
    named = {name: array for prefix, struct in parts.items() for name, array in arrays_of(struct, prefix)}
    return {name: array for name, array in named.items() if name not in saved and array.size}


def spoil(arrays: list[wp.array]) -> None:
    for array in arrays:
        values = array.numpy()
        if values.dtype.kind == "f":
            values[...] = np.nan
        else:
            values.view(np.uint8)[...] = 0x7F


def state_bits(sim: sh.Simulation) -> bytes:
    """All that evolves but the ticks of the machine."""
    arrays = sim.save().arrays
    return b"".join(np.delete(values, TICKS.get(name, ()), axis=0).tobytes() for name, values in arrays.items())


def looked(sim: sh.Simulation) -> bytes:
    names = ("v", "loop_v", "position", "rotation", "velocity", "energy", "wrench", "loop_wrench")
    return b"".join(np.ascontiguousarray(sim.seen(name)).tobytes() for name in names)


def run(sim: sh.Simulation, steps: int, spoilt: set[str], look: bool = False) -> list[Any]:
    """States and reports of some steps, and what is seen after each; these arrays spoilt before each of it."""
    arrays = [array for name, array in scratch(sim).items() if name in spoilt]
    out: list[Any] = []
    for _ in range(steps):
        spoil(arrays)
        report = sim.step()._replace(seconds=0.0)
        out.append((report, state_bits(sim)))
        if look:
            spoil(arrays)
            out.append(looked(sim))
    return out


def check(scene: str, steps: int, spoilt: set[str] | None = None, look: bool = False, **settings: Any) -> None:
    """spoilt: left out, all that may be."""
    model, dt = sh.compile(scenes.make(scene, **SMALLER.get(scene, {}))), scenes.find(scene).dt
    plain, other = (sh.Simulation(model, dt=dt, **settings) for _ in range(2))
    wanted = set(scratch(other)) - set(KEPT) if spoilt is None else spoilt
    if not wanted <= set(scratch(other)):
        raise KeyError(*wanted)
    assert run(plain, steps, set(), look) == run(other, steps, wanted, look)


def test_names_that_are_exempt_exist() -> None:
    sim = sh.Simulation(scenes.make("grasp"), solver="simmc")
    assert set(KEPT) <= set(scratch(sim))
    assert len(scratch(sim)) > 120 and "work.collision.axis_cache" in scratch(sim)


@both
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scene", QUICK)
def test_spoilt_scratch_changes_no_bit(scene: str, way: str, solver: str) -> None:
    check(scene, 12, solver=solver, **WAYS[way])


@both
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scene", ["gripper", "grasp"])
def test_spoilt_scratch_changes_nothing_seen(scene: str, way: str, solver: str) -> None:
    check(scene, 4, look=True, solver=solver, **WAYS[way])


@pytest.mark.slow
@both
@pytest.mark.parametrize("way", {**WAYS, **TANGENT})
@pytest.mark.parametrize("scene", scenes.names())
def test_spoilt_scratch_changes_no_bit_of_any_scene(scene: str, way: str, solver: str) -> None:
    if solver == "simmc" and scene in POINTS:
        pytest.skip("bodies without inertia have no maximal coordinates")
    check(scene, 60, solver=solver, **{**WAYS, **TANGENT}[way])
    check(scene, 4, look=True, solver=solver, **{**WAYS, **TANGENT}[way])


@pytest.mark.parametrize(
    ("name", "scene", "solver", "settings", "look"),
    [
        ("work.projected_velocity_offset", "gripper", "simmc", PAPER, False),
        ("work.projected_velocity_offset", "grasp", "simmc", SWEEP, False),
        ("work.joint_row_dropped", "four_bar", "simgc", PAPER, False),
        ("work.joint_row_dropped", "four_bar", "simmc", PAPER, False),
        ("state.contacts.count", "humanoid", "simmc", DIRECT, False),
        ("state.report", "box_on_slope", "simgc", PAPER, True),
    ],
)
def test_nothing_leaks(name: str, scene: str, solver: str, settings: dict[str, Any], look: bool) -> None:
    """Arrays that once carried something from step to step: each alone is spoilt where it was read."""
    check(scene, 12, {name}, look, solver=solver, **settings)
