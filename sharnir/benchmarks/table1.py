"""[A17], Table 1: five-link chain, Peaucellier–Lipkin linkage and a grasp, both solvers, published and default method.

All runs and MuJoCo's, built from the same scene and stepped by its own loop, take turns, chunk by chunk: a disturbance
meets all alike. Times are wall clock over a chunk of steps; p99.9 is of single steps by the kernels' own clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sharnir import scenes
from sharnir.benchmarks.harness import spread
from sharnir.compiler import compile
from sharnir.impulse.slots import ReportItem
from sharnir.impulse.ticks import ticks_per_second
from sharnir.progress import bar
from sharnir.scenes import grasp
from sharnir.simulation.simulation import Simulation
from sharnir.spec.scene import Scene

DT = 0.01  # s
EPSILON = 1e-6  # N s
SWING = 70  # steps: the linkage from the middle to one end
WATCH = 4  # steps after which the gripper's operator acts again
PUBLISHED = {  # [A17], Table 1: seconds per step, iterations
    ("chain", "simmc"): (0.5e-3, 100), ("chain", "simgc"): (0.1e-3, 6),
    ("linkage", "simmc"): (16e-3, 2300), ("linkage", "simgc"): (1.2e-3, 40),
    ("grasp", "simmc"): (3e-3, 200), ("grasp", "simgc"): (0.6e-3, 10),
    ("grasp by an arm", "simmc"): (3e-3, 200), ("grasp by an arm", "simgc"): (0.6e-3, 10),
}  # fmt: skip


class Case(NamedTuple):
    """A scene, how it is driven, and what is judged by its energy or its slip."""

    scene: Scene
    duration: float  # s
    chunk: int  # steps that are timed together
    targets: Callable[[int], dict[str, float]]  # of motors by name, in a chunk
    error: Callable[[Simulation, int], float]  # after a chunk: of the energy, or m of slip


class Ours:
    """One of our runs."""

    def __init__(self, case: Case, solver: str, method: str, warm: bool = True) -> None:
        self.case = case
        self.sim = Simulation(case.scene, solver=solver, method=method, dt=DT, epsilon=EPSILON, max_sweeps=20_000,
                              warm_start=warm)  # fmt: skip
        self.sim.step(case.chunk)  # loads the kernels and captures their graphs
        self.sim.reset()
        self.seconds: list[float] = []
        self.reports: list[np.ndarray] = []
        self.errors: list[float] = []

    def chunk(self, k: int) -> None:
        """The steps of a chunk, timed as one launch."""
        for name, target in self.case.targets(k).items():
            self.sim.motor(name).target = target
        began = time.perf_counter()
        self.sim.impulses.step(self.case.chunk)
        self.seconds.append((time.perf_counter() - began) / self.case.chunk)

    def note(self, k: int) -> None:
        """What the chunk just run shows."""
        self.reports.append(self.sim.impulses.reports(self.case.chunk)[:, :, 0].copy())
        self.sim._changed()
        if k % 5 == 0:
            self.errors.append(self.case.error(self.sim, k))

    def facts(self) -> dict[str, Any]:
        """Iterations, errors and times of the run."""
        r = np.concatenate(self.reports)
        steps = r[:, ReportItem.STEP_TICKS] / ticks_per_second()
        return {
            "iterations_mean": float(r[:, ReportItem.SWEEP_COUNT].mean()),
            "iterations_max": int(r[:, ReportItem.SWEEP_COUNT].max()),
            "position_error": float(r[:, ReportItem.POSITION_ERROR].max()), "largest_error": max(self.errors),
            "step_p99.9": float(np.percentile(steps, 99.9)) * 1e6,
        }  # fmt: skip


class Peer:
    """MuJoCo on the same scene."""

    def __init__(self, case: Case) -> None:
        import mujoco

        from sharnir.io.mujoco_model import start, twin

        self.case, self.mujoco = case, mujoco
        model = compile(case.scene)
        self.model = twin(case.scene, DT)
        self.data = start(model, self.model, model.q0, model.v0)
        self.spare = mujoco.MjData(self.model)
        self.seconds: list[float] = []
        self.name = f"mujoco {mujoco.__version__}"

    def chunk(self, k: int, keep: bool) -> None:
        """The steps of a chunk from the same state, kept or not, so that it can stand beside each of our runs."""
        for name, target in self.case.targets(k).items():
            self.data.actuator(name).ctrl = target
        data = self.data if keep else self._copy()
        began = time.perf_counter()
        self.mujoco.mj_step(self.model, data, nstep=self.case.chunk)
        self.seconds.append((time.perf_counter() - began) / self.case.chunk)

    def _copy(self) -> Any:
        self.mujoco.mj_copyData(self.spare, self.model, self.data)
        return self.spare


def cases(quick: bool) -> dict[str, Case]:
    chain, linkage = scenes.make("five_link_chain"), scenes.make("peaucellier")
    return {
        "chain": Case(chain, 4.0 if quick else 30.0, SWING, lambda k: {}, _gained),
        "linkage": Case(linkage, 4.0 if quick else 20.0, SWING, _to_and_fro, _off_kinematics),
        "grasp": Case(scenes.make("grasp"), grasp.duration(), WATCH, partial(_operated, False), _Slip()),
        "grasp by an arm": Case(scenes.make("grasp_arm"), grasp.duration(), WATCH, partial(_operated, True), _Slip()),
    }


def _to_and_fro(k: int) -> dict[str, float]:
    return {"motor": 1.0 if ((k + 1) // 2) % 2 == 0 else -1.0}


def _gained(sim: Simulation, _: int) -> float:
    """Energy that the chain, which may only lose, has more than at the start, over the energy in play."""
    swing = abs(sum(sim.model.mass) * 9.81 * 0.5 * 0.2 * sim.model.nb)
    return max(0.0, sum(sim.energy)) / swing


def _off_kinematics(sim: Simulation, k: int) -> float:
    """Energy of the linkage over what it has by its kinematics, less 1."""
    position = float(sim.joint("joint1").position[0])
    posed = compile(scenes.make("peaucellier", start=position, spin=_to_and_fro(k)["motor"], speed=0.0))
    return abs(sum(sim.energy) / sum(Simulation(posed, dt=DT).energy) - 1.0)


def _operated(arm: bool, k: int) -> dict[str, float]:
    return grasp.targets(k * WATCH * DT, arm)


class _Slip:
    """How far the object has moved in a finger since it was lifted, m, up to where it is put down."""

    def __init__(self) -> None:
        stages = {stage.name: stage.begins for stage in grasp.programme()}
        self._from, self._to = stages["lift"], stages["release"]
        self._start: dict[int, Any] = {}

    def __call__(self, sim: Simulation, k: int) -> float:
        if not self._from <= k * WATCH * DT < self._to:
            return 0.0
        finger = sim.body("finger1")
        place = finger.rotation.T @ (sim.body("object").position - finger.position)
        return float(np.abs(place - self._start.setdefault(id(sim), place)).max())


def run(quick: bool, progress: bool = False) -> list[dict[str, Any]]:
    """Rows of the table. progress: show a bar for every scene."""
    rows = []
    for name, case in cases(quick).items():
        ours = {(s, m): Ours(case, s, m) for s in ("simmc", "simgc") for m in ("paper", "default")}
        cold = {key: Ours(case, *key, warm=False) for key in ours}
        peer, chunks = _peer(case), round(case.duration / (DT * case.chunk))
        with bar(f"Table 1, {name}", 2 * chunks, progress) as advance:
            for k in range(chunks):
                for runner in ours.values():
                    runner.chunk(k)
                    if peer is not None:
                        peer.chunk(k, keep=runner is ours["simgc", "default"])
                for runner in ours.values():
                    runner.note(k)
                advance(k + 1)
            for k in range(chunks):
                for runner in cold.values():
                    runner.chunk(k)
                    runner.note(k)
                advance(chunks + k + 1)
        for (solver, method), runner in ours.items():
            rows.append(_row(name, solver, method, runner, cold[solver, method], peer))
    return rows


def _peer(case: Case) -> Peer | None:
    try:
        return Peer(case)
    except ImportError:
        return None


def _row(name: str, solver: str, method: str, ours: Ours, cold: Ours, peer: Peer | None) -> dict[str, Any]:
    mine, theirs = np.array(ours.seconds) * 1e6, None if peer is None else np.array(peer.seconds) * 1e6
    facts = ours.facts()
    published = PUBLISHED[name, solver]
    mean, theirs_mean = float(mine.mean()), None if theirs is None else float(theirs.mean())
    without = cold.facts()["iterations_mean"]
    return {
        "case": f"{name} {solver} {method}", "unit": "µs", "ours": mean, "peer": theirs_mean,
        "peer_name": None if peer is None else peer.name, "ours_median": float(np.median(mine)),
        "peer_median": None if theirs is None else float(np.median(theirs)),
        "ratio": None if theirs_mean is None else mean / theirs_mean, "ours_spread": spread(mine),
        "peer_spread": None if theirs is None else spread(theirs), **facts,
        "iterations_cold": without, "published_seconds": published[0], "published_iterations": published[1],
        "p99.9": f"{facts['step_p99.9']:.1f}", "iterations": f"{facts['iterations_mean']:.1f}",
        "most": str(facts["iterations_max"]), "cold": f"{without:.1f}",
        "published": f"{1e6 * published[0]:.0f} µs, {published[1]}", "position": f"{facts['position_error']:.0e}",
        "error": f"{facts['largest_error']:.0e}" + (" m slip" if name.startswith("grasp") else " of energy"),
    }  # fmt: skip
