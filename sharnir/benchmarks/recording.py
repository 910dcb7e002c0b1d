"""What recording adds to a step: a robot of 30 joints on the ground at 1 kHz, recorded and not, in turns."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import sharnir as sh
from sharnir.benchmarks.harness import row

RATE = 1000.0  # steps per second
LIMBS, JOINTS = 5, 6
SETTLE = 500  # steps before the measurement


def robot() -> sh.Scene:
    """A trunk that floats freely, five limbs of six hinges each, every one with a servo."""
    scene = sh.Scene(name="thirty_joints")
    scene.add(sh.HalfSpace())
    scene.add(sh.Body(name="trunk", shapes=[sh.Box(size=(0.5, 0.5, 0.15))], position=(0, 0, 0.9)))
    scene.add(sh.Free(name="root", parent="world", child="trunk"))
    for k in range(LIMBS):
        turn = 2 * np.pi * k / LIMBS
        out = np.array([np.cos(turn), np.sin(turn), 0.0])
        before, place = "trunk", 0.3 * out + [0, 0, 0.9]
        for j in range(JOINTS):
            name, middle = f"link{k}{j}", place + 0.06 * out - [0, 0, 0.06]
            body = sh.Body(name=name, shapes=[sh.Capsule(radius=0.03, length=0.06)], position=middle)
            scene.add(body)
            axis = np.cross(out, (0, 0, 1)) if j % 2 == 0 else out
            scene.add(sh.Revolute(name=f"j{k}{j}", parent=before, child=name, anchor=place, axis=axis, limits=(-1, 1)))
            servo: dict[str, Any] = {"gain": (60.0, 0, 0), "bias": (0, -60.0, -2.0)}
            scene.add(sh.Actuator(name=f"servo{k}{j}", joints=[f"j{k}{j}"], force_limits=(-40, 40), **servo))
            before, place = name, place + 0.12 * out - [0, 0, 0.12]
    return scene


class Timed:
    """A simulation of the robot that is driven a little, and how long its steps took."""

    def __init__(self, model: sh.Model, solver: str) -> None:
        self.sim = sh.Simulation(model, solver=solver, dt=1.0 / RATE)
        self.drive = [self.sim.actuator(name) for name in model.actuator_names]
        self.wall: list[float] = []
        self.processor: list[float] = []

    def step(self, k: int) -> None:
        """One step, one input changed before it."""
        self.drive[k % len(self.drive)].input = 0.2 * np.sin(0.01 * k)
        wall, processor = time.perf_counter(), time.thread_time()
        self.sim.step()
        self.processor.append(time.thread_time() - processor)
        self.wall.append(time.perf_counter() - wall)


def measured(model: sh.Model, solver: str, steps: int, folder: str, stopped: bool) -> tuple[Timed, Timed]:
    """The robot recorded and not, a step of each every millisecond; stopped: the disk stands still meanwhile."""
    ours, plain = Timed(model, solver), Timed(model, solver)
    for timed in (ours, plain):
        timed.sim.step(SETTLE)
    recorder = ours.sim.record(Path(folder) / f"{solver}-{stopped}.mcap")
    try:
        if stopped:
            os.kill(recorder._process.pid, signal.SIGSTOP)
        due = time.perf_counter()
        for k in range(steps):
            first, second = (ours, plain) if k % 2 else (plain, ours)
            first.step(k)
            second.step(k)
            due = max(due + 1.0 / RATE, time.perf_counter())
            time.sleep(max(0.0, due - time.perf_counter()))
    finally:
        os.kill(recorder._process.pid, signal.SIGCONT)
        recorder.close()
    return ours, plain


def run(quick: bool) -> list[dict[str, Any]]:
    """Rows of the benchmark."""
    model, rows = sh.compile(robot()), []
    with tempfile.TemporaryDirectory() as folder:
        for solver in ("simgc", "simmc"):
            for stopped in (False, True):
                ours, plain = measured(model, solver, 1000 if quick else 3000, folder, stopped)
                name = f"{solver}, 30 joints, 1 kHz" + (", disk stands still" if stopped else "")
                values = [1e6 * np.array(x) for x in (ours.wall, plain.wall, ours.processor, plain.processor)]
                median, far = (np.percentile(values[0], p) - np.percentile(values[1], p) for p in (50, 99))
                more = {
                    "added": f"median {median:.1f}, p99 {far:.1f}",
                    "processor": f"{values[2].mean() - values[3].mean():.1f} more on average",
                    "longest": f"{values[0].max():.0f}, {values[1].max():.0f}",
                }
                rows.append(row(name, "µs", values[0], values[1], "not recorded", **more))
    return rows
