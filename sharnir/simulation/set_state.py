"""Positions and velocities set by a user, checked, in the coordinates of the scene's joints, whatever the solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.checks import is_number, vector
from sharnir.compiler.maximal import maximal
from sharnir.dynamics import loop_closure as loops
from sharnir.errors import fail, shown
from sharnir.model.model import Model, Reals
from sharnir.precision import get_precision
from sharnir.simulation.joint_map import joint_map, scene_state
from sharnir.spec.elements import plain

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation

# m and rad, of gaps of loops that count as none; of the largest velocity, at least 1, their rates: what compiled models
# may start with, and what steps in single precision leave
TOLERANCES = {"double": (loops.ALLOWED, 1e-6), "single": (1e-4, 1e-3)}
INTERNAL = ("actuator_activation", "actuator_force_end")  # of actuators that lag, integrate or have an inductance


def set_state(sim: Simulation, q: Any, v: Any, world: Any, close: bool) -> None:
    """Let worlds begin anew from positions and velocities; see `Simulation.set_state`."""
    if q is None and v is None:
        raise fail("set_state", "has nothing to set", "neither q nor v", "q, v or both")
    worlds = numbers_of_worlds(world, sim.worlds)
    engine, joints = sim.impulses, joint_map(sim.model, sim.inner)
    q_of, v_of = (given_by_world(sim.model, name, x, len(worlds)) for name, x in (("q", q), ("v", v)))
    alike = all(x is not None and not isinstance(x, Mapping) and np.ndim(x) == 1 for x in (q, v))
    begun: list[tuple[Reals, Reals, Reals]] = []
    for k, w in enumerate(worlds):
        if alike and begun:
            begun.append(begun[0])
            continue
        present = scene_state(sim, joints, w)
        positions, rates = checked_state(sim.model, (q_of[k], v_of[k]), (present[0], present[1]), close)
        there = replace(sim.model, q0=positions, v0=rates, cache={})
        inner = maximal(there) if sim.inner is not sim.model else there
        at = (engine.host(engine.state.q)[:, w], engine.host(engine.state.loop_q)[:, w])  # kept to the bit
        kept = q is None
        begun.append((at[0].copy() if kept else inner.q0, inner.v0, at[1].copy() if kept else inner.loop_q0))
    start = [engine.host(array).copy() for array in (engine.state.q, engine.state.v, engine.state.loop_q)]
    for w, state in zip(worlds, begun, strict=True):
        for array, values in zip(start, state, strict=True):
            array[:, w] = values
    for name in INTERNAL:
        engine.put(getattr(engine.state, name), (slice(None), worlds), np.zeros((len(sim.inner.actuator_names), 1)))
    every = len(worlds) == sim.worlds
    engine.start(start[0], start[1], start[2], worlds=None if every else worlds)
    if sim.sampler is not None:
        sim.sampler.clear()
    sim._changed()
    if every:
        sim._restart_controllers()


def numbers_of_worlds(world: Any, worlds: int) -> list[int]:
    """Numbers of worlds, from one, several or None for all."""
    given = plain(world)
    numbers = list(range(worlds)) if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    ok = all(isinstance(w, int) and not isinstance(w, bool) and 0 <= w < worlds for w in numbers)
    if not ok or len(set(numbers)) != len(numbers) or not numbers:
        allowed = f"whole numbers from 0 to {worlds - 1}, each once, or None for all"
        raise fail("set_state", "world is out of range", shown(world), allowed)
    return numbers


def given_by_world(model: Model, name: str, given: Any, count: int) -> list[Any]:
    """What is given for each world: numbers [size] for all alike or [size, worlds], positions by joint, or nothing."""
    if given is None or isinstance(given, Mapping):
        return [given] * count
    size = model.nq if name == "q" else model.nv
    values = model.checked(name, given, size)
    if values.ndim == 2 and values.shape[1] != count:
        allowed = f"[{size}] or [{size}, {count}], of as many worlds as are set"
        raise fail(f"model {model.name!r}", f"{name} has the wrong shape", list(values.shape), allowed)
    return [values if values.ndim == 1 else values[:, k].copy() for k in range(count)]


def checked_state(
    model: Model, given: tuple[Any, Any], present: tuple[Reals, Reals], close: bool
) -> tuple[Reals, Reals]:
    """Positions and velocities [nq], [nv] of a world at which loops and couplings hold. given: q and v as numbers, by
    joint, or None for those of the present; close: others than those given by joint may be moved to close loops."""
    q, v = given
    held_q, held_v = (() if not isinstance(x, Mapping) else tuple(x) for x in given)
    looped = model.loops > 0 or len(model.coupling_names) > 0
    positions = loops.unit_quaternions(model, by_joint(model, q, "position", present[0]))
    rates = model.checked("v", by_joint(model, v, "velocity", present[1]), model.nv)
    if not looped:
        return positions, rates
    if q is None:
        positions = present[0]
    elif close:
        positions = loops.close_loops(model, positions, held=held_q)
    else:
        loops.refuse_open(model, positions, "set_state without close=True", TOLERANCES[get_precision()][0])
    if v is not None and not close:
        refuse_opening(model, positions, rates)
    elif v is not None or q is not None:
        rates = loops.nearest_rates(model, positions, rates, loops.held_coordinates(model, held_v))
        refuse_opening(model, positions, rates)
    return positions, rates


def by_joint(model: Model, given: Any, what: str, present: Reals) -> Any:
    """Positions or velocities of all joints, where they are given by joint: those of the others as at present."""
    if given is None:
        return present.copy()
    if not isinstance(given, Mapping):
        return given
    out = present.copy()
    for name, value in given.items():
        where = model.joint(name)
        if where.closes_loop:
            raise loops.closes_loop(model, name)
        here = where.q if what == "position" else where.v
        size = int(here.stop - here.start)
        bare = plain(value)
        out[here] = vector(f"joint {name!r}", what, (bare,) if size == 1 and is_number(bare) else bare, size)
    return out


def refuse_opening(model: Model, q: Reals, v: Reals) -> None:
    """Raise a ModelError where loops or couplings would not hold at velocities v."""
    at = loops.loops_at(model, q)
    opening = np.abs(at.J @ v)
    if (opening > TOLERANCES[get_precision()][1] * max(1.0, float(np.abs(v).max(initial=0.0)))).any():
        row = int(np.argmax(opening))
        rows = np.repeat(np.arange(model.loops), loops.CONSTRAINT_COUNT[model.loop_kind])
        name = (
            f"joint {model.joint_names[model.nb + int(rows[row])]!r}"
            if row < len(rows)
            else f"coupling {model.coupling_names[row - len(rows)]!r}"
        )
        allowed = "velocities that fit together, or close=True"
        raise fail(name, "opens at these velocities", f"at {opening[row]:.3g} m/s or rad/s", allowed)
