"""[A17], Table 1: five-link chain and Peaucellier–Lipkin linkage, both solvers, published and default method.

All runs and MuJoCo's, built from the same scene and stepped by its own loop, take turns, chunk by chunk: a disturbance
meets all alike. Times are wall clock over a chunk of steps; p99.9 is of single steps by the kernels' own clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sharnir import scenes
from sharnir.benchmarks.harness import spread
from sharnir.compiler import compile
from sharnir.constraints import work as places
from sharnir.simulation import Simulation
from sharnir.solvers.impulse import ticks_per_second
from sharnir.spec.scene import Scene

DT = 0.01  # s
EPSILON = 1e-6  # N s
CHUNK = 70  # steps: the linkage from the middle to one end
PUBLISHED = {  # [A17], Table 1: seconds per step, iterations
    ("chain", "simmc"): (0.5e-3, 100), ("chain", "simgc"): (0.1e-3, 6),
    ("linkage", "simmc"): (16e-3, 2300), ("linkage", "simgc"): (1.2e-3, 40),
}  # fmt: skip


class Case(NamedTuple):
    scene: Scene
    duration: float  # s
    target: Callable[[int], float] | None  # speed of the motor in a chunk


class Ours:
    """One of our runs."""

    def __init__(self, case: Case, solver: str, method: str, warm: bool = True) -> None:
        self.case = case
        self.sim = Simulation(case.scene, solver=solver, method=method, dt=DT, epsilon=EPSILON, max_sweeps=20_000,
                              warm_start=warm)  # fmt: skip
        self.sim.impulses.step(0)  # loads the kernel
        self.seconds: list[float] = []
        self.reports: list[np.ndarray] = []
        self.energy: list[tuple[float, float]] = []  # of the state, and what it should be where that is known

    def chunk(self, k: int) -> None:
        """CHUNK steps, timed as one launch."""
        if self.case.target is not None:
            self.sim.motor("motor").target = self.case.target(k)
        began = time.perf_counter()
        self.sim.impulses.step(CHUNK)
        self.seconds.append((time.perf_counter() - began) / CHUNK)

    def note(self, k: int) -> None:
        """What the chunk just run shows."""
        self.reports.append(self.sim.impulses.reports(CHUNK)[:, :, 0].copy())
        self.sim._changed()
        if k % 5 == 0:
            self.energy.append((sum(self.sim.energy), self._due(k)))

    def _due(self, k: int) -> float:
        """Energy the linkage has by its kinematics; the chain may have no more than at the start."""
        if self.case.target is None:
            return 0.0
        joint = self.sim.joint("joint1")
        posed = compile(scenes.make("peaucellier", start=float(joint.position[0]), spin=self.case.target(k), speed=0.0))
        still = Simulation(posed, dt=DT)
        return sum(still.energy)

    def facts(self) -> dict[str, Any]:
        """Iterations, errors and times of the run."""
        r = np.concatenate(self.reports)
        steps = r[:, places.TICKS] / ticks_per_second()
        energy = np.array(self.energy)
        if self.case.target is None:
            swing = abs(sum(self.sim.model.mass) * 9.81 * 0.5 * 0.2 * self.sim.model.nb)
            error = max(0.0, float((energy[:, 0] - energy[:, 1]).max())) / swing
        else:
            error = float(np.abs(energy[:, 0] / energy[:, 1] - 1).max())
        return {
            "iterations_mean": float(r[:, places.SWEPT].mean()), "iterations_max": int(r[:, places.SWEPT].max()),
            "position_error": float(r[:, places.POSITION_ERROR].max()), "energy_error": error,
            "step_p99.9": float(np.percentile(steps, 99.9)) * 1e6,
        }  # fmt: skip


class Peer:
    """MuJoCo on the same scene."""

    def __init__(self, case: Case) -> None:
        import mujoco

        from sharnir.benchmarks.mujoco_twin import start, twin

        self.case, self.mujoco = case, mujoco
        model = compile(case.scene)
        self.model = twin(case.scene, DT)
        self.data = start(model, self.model, model.q0, model.v0)
        self.spare = mujoco.MjData(self.model)
        self.seconds: list[float] = []
        self.name = f"mujoco {mujoco.__version__}"

    def chunk(self, k: int, keep: bool) -> None:
        """CHUNK steps from the same state, kept or not, so that it can stand beside each of our runs."""
        if self.case.target is not None:
            self.data.ctrl[:] = self.case.target(k)
        data = self.data if keep else self._copy()
        began = time.perf_counter()
        self.mujoco.mj_step(self.model, data, nstep=CHUNK)
        self.seconds.append((time.perf_counter() - began) / CHUNK)

    def _copy(self) -> Any:
        self.mujoco.mj_copyData(self.spare, self.model, self.data)
        return self.spare


def cases(quick: bool) -> dict[str, Case]:
    def to_and_fro(k: int) -> float:
        return 1.0 if ((k + 1) // 2) % 2 == 0 else -1.0

    return {
        "chain": Case(scenes.make("five_link_chain"), 4.0 if quick else 30.0, None),
        "linkage": Case(scenes.make("peaucellier"), 4.0 if quick else 20.0, to_and_fro),
    }


def run(quick: bool) -> list[dict[str, Any]]:
    rows = []
    for name, case in cases(quick).items():
        ours = {(s, m): Ours(case, s, m) for s in ("simmc", "simgc") for m in ("paper", "default")}
        cold = {key: Ours(case, *key, warm=False) for key in ours}
        peer = _peer(case)
        for k in range(round(case.duration / (DT * CHUNK))):
            for runner in ours.values():
                runner.chunk(k)
                if peer is not None:
                    peer.chunk(k, keep=runner is ours["simgc", "default"])
            for runner in ours.values():
                runner.note(k)
        for k in range(round(case.duration / (DT * CHUNK))):
            for runner in cold.values():
                runner.chunk(k)
                runner.note(k)
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
        "energy": f"{facts['energy_error']:.0e}",
    }  # fmt: skip
