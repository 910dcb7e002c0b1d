"""Runs cases with the `sharnir` on the path and prints a line of JSON for each: hashes of its states and reports.

Started by same_bits.py, once for each of the two versions compared. It runs with old and new layouts of the package:
only `layout_of` knows their modules, everything else goes by order. Names of cases are read from the standard input:

    echo '["four_bar/simgc/direct/passes3"]' | PYTHONPATH=. python tools/same_bits_worker.py
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import json
import re
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from same_bits_cases import Case, all_cases, model_of

DATA_MODULES = ("sharnir.impulse.data", "sharnir.constraints.work")  # new, old: where EVOLVES and report slots are
SLOTS_MODULE = "sharnir.impulse.slots"  # new: where the slots of a report are named
TICK_ARRAYS = {"ticks", "machine_ticks", "clock_ticks"}  # of the state, where they are an array of their own
EVOLVING = 19  # arrays of the state that evolve, without such an array, always in this order:
CLOCK, TOUCHED, TOUCHED_LAST = 10, 11, 14  # the clock, then those of contacts, their count in front
OLD_CLOCK, OLD_TICKS = 7, (2, 3)  # rows of the clock while ticks are part of it, and which these are
CHUNK = 20  # steps of a launch
SEEN = ("v", "loop_v", "position", "rotation", "velocity", "energy", "wrench", "loop_wrench")
INLINED = 2000  # threshold of inlining that compiles in a third of the time


class Layout(NamedTuple):
    """What depends on the version of the package."""

    evolves: tuple[str, ...]  # names of the arrays of the state that evolve
    ticks: int  # slot of a report that holds the machine's ticks


def layout_of() -> Layout:
    """Of the package on the path."""
    data = importlib.import_module(next(name for name in DATA_MODULES if _exists(name)))
    left_out = TICK_ARRAYS | set(getattr(data, "LATER_ARRAYS", ()))  # these are not there in older versions
    evolves = tuple(name for name in data.EVOLVES if name not in left_out)
    if len(evolves) != EVOLVING:
        raise SystemExit(f"same_bits_worker: {len(evolves)} arrays evolve, not {EVOLVING}: `layout_of` is out of date")
    if _exists(SLOTS_MODULE):
        return Layout(evolves, int(importlib.import_module(SLOTS_MODULE).ReportItem.STEP_TICKS))
    return Layout(evolves, int(data.TICKS))


def _exists(module: str) -> bool:
    package, _, _ = module.rpartition(".")
    return importlib.util.find_spec(package) is not None and importlib.util.find_spec(module) is not None


def contract_off() -> None:
    """Let Warp compile all kernels without contraction of a·b + c, and with little inlining: bits then do not depend on
    what is inlined where. Must be called before kernels are loaded."""
    from warp._src import context

    resolve = context._resolve_cpu_compiler_flags  # what both the hash of a module and its compilation use

    def resolved(*flags: str | None) -> str:
        words = (resolve(*flags) or "").split()
        kept = [word for word in words if not re.match(r"-ffp-contract=|-mllvm=-inline-threshold=", word)]
        return " ".join([*kept, "-ffp-contract=off", f"-mllvm=-inline-threshold={INLINED}"])

    context._resolve_cpu_compiler_flags = resolved


def state_hash(layout: Layout, sim: Any) -> str:
    """Of all that evolves: arrays in their order, of contacts only those there are, without the machine's ticks."""
    arrays = [getattr(sim.impulses.state, name).numpy() for name in layout.evolves]
    if arrays[CLOCK].shape[0] == OLD_CLOCK:
        arrays[CLOCK] = np.delete(arrays[CLOCK], OLD_TICKS, axis=0)
    counts = arrays[TOUCHED][0]
    room = (arrays[TOUCHED].shape[0] - 1) // 2
    digest = hashlib.blake2b(digest_size=16)
    for k, array in enumerate(arrays):
        if TOUCHED <= k <= TOUCHED_LAST:
            head = array.shape[0] % room if room else array.shape[0]
            each = (array.shape[0] - head) // max(1, room)
            for w, count in enumerate(counts):
                digest.update(np.ascontiguousarray(array[: head + each * int(count), w]).tobytes())
        else:
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def report_hashes(layout: Layout, reports: np.ndarray) -> list[str]:
    """Of every step's report [steps, slots, worlds], without its ticks."""
    kept = np.delete(reports, layout.ticks, axis=1)
    return [hashlib.blake2b(np.ascontiguousarray(step).tobytes(), digest_size=6).hexdigest() for step in kept]


def seen_hash(sim: Any) -> str:
    """Of what a user sees of the last state: velocities, poses, energies, wrenches."""
    sim._changed()
    digest = hashlib.blake2b(digest_size=16)
    for name in SEEN:
        digest.update(np.ascontiguousarray(sim.seen(name)).tobytes())
    return digest.hexdigest()


def disturb(sim: Any) -> None:
    """Half-way: motors turn back, actuators are driven, a wrench acts on the first body."""
    for name in sim.model.motor_names:
        sim.motor(name).target = 0.5 - np.asarray(sim.motor(name).target)
    for name in sim.model.actuator_names:
        sim.actuator(name).input = 0.5 - np.asarray(sim.actuator(name).input)
    mass = float(sim.model.mass[0])
    pushed = np.array([5.0, 1.0, 2.0, 0.05, 0.1, 0.02]) * mass
    sim.body(sim.model.body_names[0]).applied = pushed if sim.worlds == 1 else np.tile(pushed[:, None], sim.worlds)


def run(layout: Layout, case: Case) -> dict[str, Any]:
    """Hashes of a case: states after every chunk, reports of every step, what is seen at the end."""
    import sharnir

    model, dt = model_of(case.scene)
    sim = sharnir.Simulation(model, solver=case.solver, dt=dt, worlds=case.worlds, budget=None, **case.settings)
    states, reports, done = [], [], 0
    while done < case.steps:
        if done == case.steps // 2 // CHUNK * CHUNK:
            disturb(sim)
        sim.impulses.step(CHUNK)
        reports += report_hashes(layout, sim.impulses.reports(CHUNK))
        states.append(state_hash(layout, sim))
        done += CHUNK
    finite = bool(np.isfinite(sim.impulses.state.q.numpy()).all())
    return {"state": states, "reports": reports, "seen": seen_hash(sim), "finite": finite}


def attempt(layout: Layout, case: Case) -> dict[str, Any]:
    """The same; what a simulation refuses is a result too."""
    from sharnir.errors import SharnirError

    began = time.perf_counter()
    try:
        result = run(layout, case)
    except SharnirError as error:
        result = {"refused": str(error)}
    return {"case": case.name, **result, "chunk": CHUNK, "seconds": round(time.perf_counter() - began, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flags", choices=("contract-off", "as-built"), default="contract-off")
    parser.add_argument("--list", action="store_true", help="print the names of all cases, quick ones marked, and end")
    chosen = parser.parse_args()
    cases = {case.name: case for case in all_cases()}
    if chosen.list:
        print(json.dumps({name: case.quick for name, case in cases.items()}))
        return
    if chosen.flags == "contract-off":
        contract_off()
    import sharnir

    print(json.dumps({"package": sharnir.__file__}), flush=True)
    layout = layout_of()
    for name in json.load(sys.stdin):
        print(json.dumps(attempt(layout, cases[name])), flush=True)


if __name__ == "__main__":
    main()
