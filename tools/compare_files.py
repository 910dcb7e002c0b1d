"""Robot files of others in simgc and in MuJoCo, from the same start and with the same inputs.

    python tools/compare_files.py OUT.json NAME=FOLDER [NAME=FOLDER …] [--only TEXT] [--again] [--installed]

Every URDF and MJCF file below the folders that can be read by itself and holds something that moves is stepped by
simgc at 2 ms for 200 steps, and by MuJoCo for the first 0.05 s at an eighth of the file's step, or a 64th where that
moves it; both start from the file's first keyframe where it has one, from its start otherwise, with loops closed as we
close them. Written, for every file: the largest distance between the two places of any body at 0.05 s, and that between
MuJoCo and itself at the file's step; in how many steps positions are off by more than 1 % of the robot's size; guarded
steps; what the import report says. --installed: also the files of the installed packages that
`sharnir.benchmarks.robot_files` knows.

Where the distance is over 1 cm, causes are looked for: features (contact, limits, …) that, switched off on both sides,
bring it below; one of them or, where none is enough, those that help most together. A distance is explained if the
import report has an entry that speaks of every cause; what is lost explains all. What is not explained is listed at the
end, and the exit status is 1.

The file is written after every robot; a run that was interrupted goes on where it was. --again: measure all anew.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from tqdm import tqdm

import sharnir as sh
from sharnir import dynamics
from sharnir.benchmarks.robot_files import Robot, mjcf_files, urdf_files
from sharnir.errors import ModelError, SharnirError
from sharnir.impulse.slots import ReportItem
from sharnir.io import Parsed, scene_of
from sharnir.io.convert.source import unique
from sharnir.io.mujoco_model import to_qpos, velocity_order
from sharnir.io.parsing.parse import parse
from sharnir.io.parsing.parser_client import Worker
from sharnir.io.parsing.urdf import without_log
from sharnir.spec.scene import WORLD

DT = 2e-3  # s
STEPS = 200
COMPARED = 0.05  # s, after which places are compared
FINER = 8  # steps of MuJoCo for one of the file
FAR = 1e-2  # m
MOST_CAUSES = 3
HELPS = 0.7  # of the distance: what a cause must leave at most
OFF = 1e-2  # of the size: position errors that count
OFTEN = 0.1  # of the steps
MOST_BODIES = 250  # of a file that is measured

BITS = mujoco.mjtDisableBit
SOLID, QUICK = 0.9999, 1e-6  # impedance and s of a constraint that does not give way


class Feature(NamedTuple):
    """What may be the cause of a distance."""

    bits: int  # of MuJoCo that switch it off
    words: tuple[str, ...]  # of report entries that speak of it
    last: bool = False  # it drives what moves: a cause only where no other is found


FEATURES = {
    "contact": Feature(int(BITS.mjDSBL_CONTACT), ("overlap", "do not touch")),
    "limits": Feature(int(BITS.mjDSBL_LIMIT), ("outside its range",)),
    "equalities": Feature(int(BITS.mjDSBL_EQUALITY), ("loops were open",)),
    "soft friction": Feature(0, ("dry friction acts",)),
    "actuators": Feature(int(BITS.mjDSBL_ACTUATION), ("actuator",), last=True),
    "springs and dampers": Feature(int(BITS.mjDSBL_SPRING | BITS.mjDSBL_DAMPER), ("spring or damper",), last=True),
}
AT_START = ("bodies", "joint")  # elements of entries that speak of the file's start, not of a keyframe


class Run(NamedTuple):
    """What simgc and MuJoCo did."""

    distance: float  # m, at COMPARED
    body: str
    off: float  # share of steps whose positions are off by more than OFF
    guarded: float
    error: float  # m or rad
    size: float  # m
    peer: float  # m, by which the file's step moves MuJoCo
    contacts: int  # of MuJoCo at the start
    depth: float  # m, deepest of them


def main() -> int:
    arguments = _arguments()
    out = Path(arguments.out)
    rows: dict[str, dict[str, Any]] = {}
    if out.exists() and not arguments.again:
        rows = {row["file"]: row for row in json.loads(out.read_text())}
    robots = [r for given in arguments.folders for r in _below(*given.split("=", 1))]
    robots += [*urdf_files(), *mjcf_files()] if arguments.installed else []
    robots = [r for r in robots if arguments.only in r.name]
    worker = Worker()
    try:
        for robot in tqdm(robots):
            if robot.name not in rows:
                rows[robot.name] = _measured(robot, worker)
                out.write_text(json.dumps(list(rows.values()), indent=1))
    except KeyboardInterrupt:
        print("interrupted; the same command goes on")
    finally:
        worker.close()
    return _summary([row for row in rows.values() if arguments.only in row["file"]])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--installed", action="store_true")
    return parser.parse_args()


def _below(name: str, folder: str) -> list[Robot]:
    top = Path(folder).resolve()
    paths = sorted(p for p in top.rglob("*") if p.suffix in (".xml", ".urdf"))
    return [Robot(f"{name}/{p.relative_to(top)}", p, (top,)) for p in paths]


def _measured(robot: Robot, worker: Worker) -> dict[str, Any]:
    """A row: what a file became, and how it moves."""
    row: dict[str, Any] = {"file": robot.name}
    began = time.perf_counter()
    with warnings.catch_warnings(), without_log(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            parsed = parse(robot.path, robot.roots, worker=worker)
        except ModelError as error:
            return row | {"outcome": "unreadable", "why": str(error)[:300]}
        if parsed.model.nv == 0 or parsed.model.nbody > MOST_BODIES:
            return row | {"outcome": "still" if parsed.model.nv == 0 else "large"}
        try:
            row |= _compared(parsed)
        except SharnirError as error:
            row |= {"outcome": "refused", "why": str(error)[:600]}
    return row | {"seconds": round(time.perf_counter() - began, 1)}


def _compared(parsed: Parsed) -> dict[str, Any]:
    entries = [[e.element, e.name, e.reason, e.effect] for e in scene_of(parsed).import_report]
    row: dict[str, Any] = {"outcome": "run", "bodies": parsed.model.nbody - 1, "entries": entries}
    row["keyframe"] = bool(parsed.model.nkey)
    run = _run(parsed, STEPS)
    row |= run._asdict()
    if not run.distance <= FAR:
        row["causes"] = _causes(parsed, last=False)
        if not min(row["causes"].values(), default=np.inf) <= FAR:
            row["causes"] = _causes(parsed, last=True)
    return row


def _causes(parsed: Parsed, last: bool) -> dict[str, float]:
    """Features without which both agree, and the distance in m without each and those before it: the best one, then
    what helps most beside it, until they agree or nothing helps. last: among those that drive what moves, too."""
    m = parsed.model
    there = {
        "contact": m.ngeom, "limits": m.jnt_limited.any(), "equalities": m.neq,
        "soft friction": m.dof_frictionloss.any(), "actuators": m.nu,
        "springs and dampers": m.jnt_stiffness.any() or m.dof_damping.any() or m.ntendon,
    }  # fmt: skip
    causes: dict[str, float] = {}
    before = float("inf")
    while before > FAR and len(causes) < MOST_CAUSES:
        tried = {}
        for name, feature in FEATURES.items():
            if there[name] and name not in causes and (last or not feature.last):
                try:
                    tried[name] = _run(_without(parsed, (*causes, name)), round(COMPARED / DT)).distance
                except SharnirError:
                    continue
        best = min(tried, key=lambda f: tried[f], default="")
        if not best or tried[best] > HELPS * before:
            break
        before = causes[best] = tried[best]
    return causes


def _without(parsed: Parsed, names: tuple[str, ...]) -> Parsed:
    """The file without some features; dry friction stays, and does not give way."""
    m = copy.deepcopy(parsed.model)
    m.opt.disableflags |= sum(FEATURES[name].bits for name in names)
    if "soft friction" in names:
        m.dof_solimp[:, :2], m.dof_solref[:] = SOLID, (QUICK, 1.0)
    return replace(parsed, model=m)


def _run(parsed: Parsed, steps: int) -> Run:
    """Both from the same start."""
    scene = scene_of(parsed)
    if scene.keyframes:
        scene = scene.at(scene.keyframes[0].name)
    model = sh.compile(scene)
    sim = sh.Simulation(model, solver="simgc", dt=DT)
    m, ctrl = parsed.model, np.zeros(parsed.model.nu)
    if m.nkey:
        ctrl = m.key_ctrl[0]
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:], data.ctrl[:] = to_qpos(model, model.q0), model.v0[velocity_order(model)], ctrl
    coarse, places = (_peer_places(m, data, finer) for finer in (1, FINER))
    peer = float(np.linalg.norm(places - coarse, axis=1).max())
    if peer > FAR:  # its error falls with its step
        places = _peer_places(m, data, FINER**2)
    mujoco.mj_forward(m, data)
    depth = float(max(-data.contact.dist.min(), 0.0)) if data.ncon else 0.0
    before = round(COMPARED / DT)
    reports = []
    distance, body = float("inf"), ""
    try:
        sim.step(before)
        reports.append(sim.impulses.reports(before))
        x = dynamics.body_poses(sim.inner, np.asarray(sim.q))[0]
        number = {name: k for k, name in enumerate([WORLD, *_names(parsed)])}
        ours = {number[name]: x[k] for k, name in enumerate(sim.inner.body_names) if name in number}
        far = {b: float(np.linalg.norm(place - places[b])) for b, place in ours.items()}
        worst = max(far, key=lambda b: far[b])
        distance, body = far[worst], [WORLD, *_names(parsed)][worst]
        if steps > before:
            sim.step(steps - before)
            reports.append(sim.impulses.reports(steps - before))
    except SharnirError as error:
        if not reports:
            return Run(distance, str(error)[:200], 1.0, 1.0, np.inf, sim._size, 0.0, data.ncon, depth)
    made = np.concatenate(reports)
    errors = made[:, ReportItem.POSITION_ERROR].max(axis=1)
    missing = steps - len(made)
    return Run(
        distance, body, float((np.sum(errors > OFF * sim._size) + missing) / steps),
        float((np.sum(made[:, ReportItem.FALLBACK_USED] > 0) + missing) / steps), float(errors.max()), sim._size,
        peer, int(data.ncon), depth,
    )  # fmt: skip


def _names(parsed: Parsed) -> list[str]:
    """The scene's names of MuJoCo's bodies but the world."""
    m = parsed.model
    return unique([str(m.body(b).name or f"body{b}") for b in range(1, m.nbody)], {WORLD})


def _peer_places(m: mujoco.MjModel, start: mujoco.MjData, finer: int) -> Any:
    """[bodies, 3] where MuJoCo has its bodies at COMPARED, at about its own step by `finer`."""
    given = m.opt.timestep
    steps = max(1, round(COMPARED / given)) * finer
    m.opt.timestep = COMPARED / steps
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:], data.ctrl[:] = start.qpos, start.qvel, start.ctrl
    mujoco.mj_step(m, data, steps)
    mujoco.mj_kinematics(m, data)
    m.opt.timestep = given
    return data.xpos.copy()


def _explained(row: dict[str, Any]) -> bool:
    """Whether the report has an entry for every cause of the distance, and these are all."""
    if any(effect == "lost" for *_, effect in row["entries"]):
        return True
    said = [reason for element, _, reason, _ in row["entries"] if not (row["keyframe"] and element in AT_START)]
    whole = min(row["causes"].values(), default=np.inf) <= FAR
    return whole and all(any(w in r for r in said for w in FEATURES[cause].words) for cause in row["causes"])


def _summary(rows: list[dict[str, Any]]) -> int:
    """Print figures of all files and a line for those that differ; 1 if one is not explained."""
    run = [row for row in rows if row["outcome"] == "run"]
    kinds = sorted({row["outcome"] for row in rows})
    print(", ".join(f"{sum(row['outcome'] == kind for row in rows)} {kind}" for kind in kinds))
    far = [row for row in run if not row["distance"] <= FAR]
    off = [row for row in run if row["off"] > OFTEN]
    touching = [row for row in run if row["contacts"] > 0]
    print(f"{len(touching)} in contact at the start, {sum(not r['distance'] <= FAR for r in touching)} of them and")
    print(f"{len(far)} of all {len(run)} are over {1e3 * FAR:g} mm from MuJoCo at {COMPARED:g} s")
    print(f"{len(off)} have positions off by over {OFF:.0%} of their size in over {OFTEN:.0%} of {STEPS} steps")
    for row in sorted(off, key=lambda row: -row["off"]):
        print(f"  off {row['off']:4.0%}  guarded {row['guarded']:4.0%}  {row['error']:8.2g}  {row['file']}")
    unexplained = 0
    for row in sorted(far, key=lambda row: -row["distance"]):
        said = _explained(row)
        unexplained += not said
        why = ", ".join(f"{d:.1g} m without {cause}" for cause, d in row["causes"].items()) or "no cause found"
        print(f"  {'explained  ' if said else 'UNEXPLAINED'} {row['distance']:8.2g} m at {row['body'][:40]!r}, {why}; "
              f"MuJoCo's step {row['peer']:.1g} m; overlap {row['depth']:.1g} m  {row['file']}")  # fmt: skip
    print(f"{unexplained} of {len(far)} are not explained")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main())
