"""A scene watched step by step: energy, errors of positions, warnings; by our solvers and by MuJoCo."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from sharnir.errors import SharnirError
from sharnir.impulse.slots import ReportItem
from sharnir.model.model import Model, Reals
from sharnir.simulation.simulation import Simulation

MOST_SAMPLES = 4000  # of the energy in a run
SETTLED = 1.0  # s, after which energy may no longer grow
LEAST = 1e-3  # m, by which the weight moves at least where S is reckoned: bodies at rest have no energy to compare with
STANDARD_GRAVITY = 9.81  # m/s²
SPAN = 10.0  # s, over which growth is measured
WINDOW = 5.0  # s, whose maxima are compared: longer than the swings, with which the energy of stiff joints ripples


@dataclass
class Watched:
    """What a run showed. Energies in J. weight: N, of all bodies."""

    weight: float
    t: Reals
    kinetic: Reals
    potential: Reals
    position_error: float = 0.0  # m or rad, the largest of joints, couplings and limits
    impulse_work: float = 0.0  # J, that impulses of contacts and limits added, summed over steps where they did
    steps: int = 0
    guarded: int = 0
    capped: int = 0  # or stalled
    said: tuple[str, ...] = ()  # warnings given
    failed: str = ""  # why it ended early
    size: float = 1.0  # m, longest arm of a joint

    @property
    def energy(self) -> Reals:
        """J, at all samples."""
        return self.kinetic + self.potential

    @property
    def scale(self) -> float:
        """S, J: largest kinetic energy and range of the potential energy; at least what the weight does along LEAST."""
        return max(float(self.kinetic.max() + np.ptp(self.potential)), LEAST * self.weight) or 1.0

    @property
    def gain(self) -> float:
        """Of S: largest rise of the energy above its start."""
        return float((self.energy - self.energy[0]).max() / self.scale)

    @property
    def loss(self) -> float:
        """Of S: what is gone at the end."""
        return float((self.energy[0] - self.energy[-1]) / self.scale)

    @property
    def growth(self) -> float:
        """Of S, per 10 s: largest rise of the maxima of windows after the first second."""
        starts = np.arange(SETTLED, self.t[-1], WINDOW)
        tops = [self.energy[(self.t >= a) & (self.t < a + WINDOW)].max(initial=-np.inf) for a in starts]
        tops = [top for top in tops if np.isfinite(top)]
        most = int(SPAN / WINDOW)
        rises = [tops[j] - tops[i] for i in range(len(tops)) for j in range(i + 1, min(len(tops), i + 1 + most))]
        return float(max(rises, default=0.0) / self.scale)


def watch(model: Model, *, solver: str, dt: float, duration: float, device: str = "cpu", **settings: Any) -> Watched:
    """Run a model and record its energy."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sim = Simulation(model, solver=solver, dt=dt, device=device, **settings)
        out = _watch(sim, weight_of(model), round(duration / dt))
    told = {str(w.message) for w in caught}
    out.said = tuple(sorted(told | {str(w) for w in sim.counts.warnings}))  # as the end of a command says them
    return out


def weight_of(model: Model) -> float:
    """N, of all bodies; without gravity what it would be on Earth."""
    return float(model.mass.sum() * (np.linalg.norm(model.gravity) or STANDARD_GRAVITY))


def _watch(sim: Simulation, weight: float, steps: int) -> Watched:
    every = max(1, -(-steps // MOST_SAMPLES))
    samples = [(0.0, *sim.energy)]
    error, work, failed = 0.0, 0.0, ""
    done = 0
    try:
        while done < steps:
            chunk = min(every, steps - done)
            sim.step(chunk)
            done += chunk
            reports = sim.impulses.reports(chunk)
            error = max(error, float(reports[:, ReportItem.POSITION_ERROR].max()))
            work += float(np.maximum(reports[:, ReportItem.IMPULSE_WORK], 0.0).sum())
            samples.append((sim.time, *sim.energy))
    except SharnirError as problem:
        failed = str(problem)
        samples.append((sim.time, np.inf, 0.0))
    t, kinetic, potential = np.array(samples).T
    counts = sim.counts
    return Watched(
        weight, t, kinetic, potential, error, work, counts.steps, counts.guarded, counts.capped + counts.stalled,
        size=sim.impulses.size, failed=failed,
    )  # fmt: skip


def watch_peer(model: Model, *, dt: float, duration: float) -> Watched | None:
    """The same by MuJoCo; None where it is not installed or has no equivalent of the scene."""
    try:
        import mujoco

        from sharnir.io.mujoco_model import start, twin
        from sharnir.io.parsing.urdf import without_log
    except ImportError:
        return None
    try:
        peer = twin(model, dt)
    except SharnirError:
        return None
    peer.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    data = start(model, peer)
    steps = round(duration / dt)
    every = max(1, -(-steps // MOST_SAMPLES))
    samples = [(0.0, float(data.energy[1]), float(data.energy[0]))]
    failed = ""
    with without_log():
        for _ in range(0, steps, every):
            mujoco.mj_step(peer, data, nstep=every)
            if data.warning.number.any():
                failed = "MuJoCo warns"
                break
            mujoco.mj_forward(peer, data)
            samples.append((float(data.time), float(data.energy[1]), float(data.energy[0])))
    t, kinetic, potential = np.array(samples).T
    return Watched(weight_of(model), t, kinetic, potential, steps=steps, failed=failed)
