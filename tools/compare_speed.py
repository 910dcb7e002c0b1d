"""Compare the step times of two versions of the package, in turns in the same minutes.

    python tools/compare_speed.py BASE HEAD [--pairs 15] [--only CASE]
    python tools/compare_speed.py BASE HEAD --bench table1 [--pairs 15]

BASE and HEAD are folders (work trees). A pair is a new process of each version, timed in turns case by case; the median
of the paired ratios HEAD/BASE is printed with its 95 % interval (bootstrap). --bench: `sharnir bench NAME --quick` of
each version instead of the cases here, its median of each row, with the sweeps of both: where they differ, rounding has
led the two versions along other paths, and times are not of the same work.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

CASES: dict[str, tuple[str, str, dict[str, Any], int]] = {
    "pendulum": ("pendulum", "simgc", {}, 4000),
    "chain": ("five_link_chain", "simgc", {}, 3000),
    "chain simmc": ("five_link_chain", "simmc", {}, 400),
    "linkage": ("peaucellier", "simgc", {}, 1000),
    "linkage simmc": ("peaucellier", "simmc", {}, 200),
    "grasp": ("grasp", "simgc", {}, 200),
    "grasp simmc": ("grasp", "simmc", {}, 60),
    "humanoid": ("humanoid", "simgc", {}, 600),
    "pile of 8": ("pile", "simgc", {"n": 8}, 400),
    "pile of 64": ("pile", "simgc", {"n": 64}, 60),
    "mixed": ("mixed", "simgc", {}, 30),
    "tracked robot": ("trailer_robot", "simgc", {}, 60),
}


REPEATS = 8  # runs of a case for one figure, of which the fastest counts: what else runs only makes it slower


def serve() -> None:
    """Time cases on request: a case a line, microseconds a step back."""
    import time

    import sharnir as sh
    from sharnir import scenes

    running: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.strip()
        scene, solver, parameters, steps = CASES[name]
        if name not in running:
            running[name] = sh.Simulation(scenes.make(scene, **parameters), solver=solver)
            running[name].step(200)
            running[name] = (running[name], running[name].save())
        sim, start = running[name]
        taken = []
        for _ in range(REPEATS):
            sim.restore(start)
            sim.step(20)
            before = time.perf_counter()
            sim.step(steps)
            taken.append(1e6 * (time.perf_counter() - before) / steps)
        print(json.dumps(min(taken)), flush=True)


def ask(process: subprocess.Popen[str], case: str) -> float:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(case + "\n")
    process.stdin.flush()
    return float(json.loads(process.stdout.readline()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="BASE HEAD")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--only", default="")
    parser.add_argument("--bench", default="", metavar="NAME")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    cases = [case for case in CASES if arguments.only in case]
    pairs = tqdm(range(arguments.pairs), disable=None)
    if arguments.bench:
        benched = [[_run_bench(folder, arguments.bench) for folder in arguments.folders] for _ in pairs]
        cases = [case for case in benched[0][1] if case in benched[0][0] and arguments.only in case]
        times = np.array([[[side[case].time for side in pair] for case in cases] for pair in benched])
        sweeps = {case: [side[case].sweeps for side in benched[0]] for case in cases}
    else:
        sweeps = {}
        times = np.array([_time_pair(arguments.folders, cases) for _ in pairs])
    rng = np.random.default_rng(0)
    print("| case | before, µs | after, µs | ratio | 95 % |" + (" sweeps |" if sweeps else ""))
    print("|---|---|---|---|---|" + ("---|" if sweeps else ""))
    for i, case in enumerate(cases):
        ratios = times[:, i, 1] / times[:, i, 0]
        drawn = np.median(rng.choice(ratios, (2000, len(ratios))), axis=1)
        low, high = np.percentile(drawn, [2.5, 97.5])
        before, after = np.median(times[:, i], axis=0)
        old, new = sweeps.get(case, ("", ""))
        swept = "" if not sweeps else f" {old} |" if old == new else f" {old} → {new} |"
        print(f"| {case} | {before:.3g} | {after:.3g} | {np.median(ratios):.3f} | {low:.3f} to {high:.3f} |{swept}")


class Benched(NamedTuple):
    """Our side of a row of a bench: median time, in the row's unit; sweeps a step, in words."""

    time: float
    sweeps: str


def _run_bench(folder: str, name: str) -> dict[str, Benched]:
    """Our side of every row of a bench."""
    with tempfile.TemporaryDirectory() as out:
        program = "from sharnir.cli import main; main()"
        command = [sys.executable, "-P", "-c", program, "bench", name, "--quick", "--json"]
        environment = {**os.environ, "PYTHONPATH": folder}
        done = subprocess.run(command, env=environment, cwd=out, capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["rows"]
    return {
        row["case"]: Benched(row.get("ours_median", row["ours"]), row.get("sweeps", row.get("iterations", "")))
        for row in rows
    }


def _time_pair(folders: list[str], cases: list[str]) -> list[list[float]]:
    """Microseconds a step of both versions in new processes: where the stack lies changes small steps by 15 %."""
    command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
    sides = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": folder}
        )
        for folder in folders
    ]
    try:
        return [[ask(side, case) for side in sides] for case in cases]
    finally:
        for side in sides:
            side.terminate()
            side.wait()


if __name__ == "__main__":
    main()
