"""What holds: energy, positions and warnings of scenes that are hard on impulses, in both solvers and at five steps,
next to MuJoCo where it can run them; and of 500 scenes drawn from seeds.

S is the largest kinetic energy plus the range of the potential energy of a run. No run may gain more than MOST_GAIN of
S, grow by more than MOST_GROWTH of S in 10 s after the first second, or have impulses of contacts and limits add more
than MOST_WORK of S; steps that were guarded or capped are counted and, above one in a hundred, must be said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sharnir.benchmarks.holds.cases import SOLVERS, STEPS, Case, cases
from sharnir.benchmarks.holds.measure import Watched, watch, watch_peer, weight_of
from sharnir.benchmarks.holds.random_scenes import random_scene
from sharnir.compiler import compile
from sharnir.errors import SharnirError
from sharnir.model.model import Model
from sharnir.precision import get_precision
from sharnir.progress import bar
from sharnir.simulation.simulation import Simulation

MOST_GAIN = 1e-3  # of S
MOST_GROWTH = 1e-4  # of S, in 10 s
MOST_WORK = {"double": 1e-9, "single": 2e-5}  # of S; in single precision rounding is felt
MOST_OPENING = 2.0  # longest arms of joints, by which none may be off: beyond is a tear
MOST_UNSAID = 0.01  # share of steps that may be guarded or capped without a warning
EXPLODED = 0.1  # of S, which the gain is part of: beyond it is an explosion
RANDOM_SCENES = 500
RANDOM_DURATION = 2.0  # s
RESTITUTION = 4  # of `Model.material_table`

Row = dict[str, Any]


def run(quick: bool, device: str = "cpu") -> list[Row]:
    """Rows of all cases and of random scenes; quick: one step, fewer and shorter cases."""
    todo = list(cases(quick))
    seeds = range(25 if quick else RANDOM_SCENES)
    rows: list[Row] = []
    with bar("holds", float(len(todo) + len(seeds)), True) as advance:
        for k, case in enumerate(todo):
            rows += measured(case, device)
            advance(k + 1.0)
        drawn: list[Row] = []
        for seed in seeds:
            drawn += random_rows(seed, device)
            advance(len(todo) + seed + 1.0)
    return [*rows, *summaries(drawn), *(row for row in drawn if row["verdict"] != "holds")]


def measured(case: Case, device: str) -> Iterator[Row]:
    """Rows of a case: every solver and step, MuJoCo beside the first solver."""
    model = compile(case.build())
    for dt in case.steps:
        peer = None if case.driven else _peer(model, dt, case.duration)
        for solver in SOLVERS:
            try:
                seen = watch(model, solver=solver, dt=dt, duration=case.duration, device=device)
                checked = None
                if case.check is not None:
                    checked = case.check(Simulation(model, solver=solver, dt=dt, device=device))
            except SharnirError as problem:
                yield _refused(case.name, solver, dt, str(problem))
                continue
            lossy = seen.loss > case.most_loss and dt <= case.loss_step
            yield row_of(case.name, solver, dt, seen, peer, judge(seen, case.driven, 0.0, lossy, checked))


def _peer(model: Model, dt: float, duration: float) -> Watched | None:
    """MuJoCo on the same scene, unless it bounces: MuJoCo has no coefficient of restitution."""
    bounces = len(model.material_table) and (model.material_table[:, :, RESTITUTION] > 0).any()
    return None if bounces else watch_peer(model, dt=dt, duration=duration)


def random_rows(seed: int, device: str) -> Iterator[Row]:
    """A scene drawn from a seed, in both solvers, at a step drawn from it too."""
    scene = random_scene(seed)
    model = compile(scene)
    dt = STEPS[int(np.random.default_rng([seed, 1]).integers(len(STEPS)))]
    for solver in SOLVERS:
        try:
            seen = watch(model, solver=solver, dt=dt, duration=RANDOM_DURATION, device=device)
        except SharnirError as problem:
            yield _refused(scene.name, solver, dt, str(problem))
            continue
        yield row_of(scene.name, solver, dt, seen, None, judge(seen, False, lift_energy(model), False, None))


def lift_energy(model: Model) -> float:
    """J, by which lifting bodies out of the overlaps of the start may raise them: weight times depth, of all."""
    sim = Simulation(model, dt=1e-6)
    sim.step()
    depth = -sum(min(0.0, c.gap) for c in sim.contacts())
    return weight_of(model) * depth


def judge(seen: Watched, driven: bool, lift: float, lossy: bool, checked: tuple[float, float, str] | None) -> str:
    """What does not hold in a run; "holds" where all does. lift: J, that position corrections may add."""
    wrong = []
    if seen.failed:
        wrong.append(seen.failed)
    elif not driven:
        spare = lift / seen.scale
        if seen.gain > EXPLODED + spare:
            wrong.append("explodes")
        elif seen.gain > MOST_GAIN + spare:
            wrong.append("gains")
        if seen.growth > MOST_GROWTH + spare:
            wrong.append("grows")
        if seen.impulse_work > MOST_WORK[get_precision()] * seen.scale:
            wrong.append("impulses add energy")
    if seen.position_error > MOST_OPENING * seen.size:
        wrong.append("is torn")
    if lossy:
        wrong.append("loses")
    for name, count in (("guarded", seen.guarded), ("capped", seen.capped)):
        if count > MOST_UNSAID * seen.steps and not seen.said:
            wrong.append(f"{name} in silence")
    if checked is not None and not checked[0] <= checked[1]:
        wrong.append(f"{checked[0]:.2g} {checked[2]}, {checked[1]:.2g} allowed")
    return ", ".join(wrong) or "holds"


def row_of(case: str, solver: str, dt: float, seen: Watched, peer: Watched | None, verdict: str) -> Row:
    """A row of the table; ours and peer: the largest gain of energy, of S."""
    gain = None if peer is None else (np.inf if peer.failed else peer.gain)
    return {
        "case": case, "ours": seen.gain, "peer": gain, "peer_name": None if peer is None else "mujoco", "unit": "S",
        "ratio": None, "solver": solver, "step": f"{1e3 * dt:g} ms", "loss": f"{seen.loss:.1e}",
        "growth": f"{seen.growth:.1e}", "work": f"{seen.impulse_work / seen.scale:.0e}",
        "error": f"{seen.position_error:.0e}", "guarded": f"{seen.guarded / max(1, seen.steps):.1%}",
        "capped": f"{seen.capped / max(1, seen.steps):.1%}", "verdict": verdict, "warnings": list(seen.said),
        "peer_loss": None if peer is None else peer.loss,
    }  # fmt: skip


def _refused(case: str, solver: str, dt: float, why: str) -> Row:
    still = Watched(0.0, np.zeros(1), np.zeros(1), np.zeros(1))
    return row_of(case, solver, dt, still, None, f"refused: {why}")


def summaries(drawn: list[Row]) -> Iterator[Row]:
    """A row per family and solver of the random scenes: the largest gain, and how many hold."""
    for key in dict.fromkeys((row["case"].rsplit(" ", 1)[0], row["solver"]) for row in drawn):
        rows = [row for row in drawn if (row["case"].rsplit(" ", 1)[0], row["solver"]) == key]
        good = sum(row["verdict"] == "holds" for row in rows)
        worst = max(rows, key=lambda row: row["ours"])
        yield {
            **worst,
            "case": f"{len(rows)} random {key[0]}s",
            "step": "all",
            "verdict": f"{good} of {len(rows)} hold",
        }
