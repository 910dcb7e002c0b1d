"""How far a flight of the humanoid is off after 0.25 s at 5 ms, by how often steps correct their momenta, and MuJoCo's
of the same scene; against our own steps of 0.1 ms. Prints medians over random postures and velocities.

    python -m sharnir.benchmarks.gpu.passes
"""

from __future__ import annotations

import mujoco
import numpy as np

import sharnir
from sharnir import scenes
from sharnir.benchmarks.gpu.step import DT, ROOM, random_states
from sharnir.impulse.engine import ImpulseEngine
from sharnir.impulse.settings import Settings
from sharnir.io.mujoco_model import position_order, start, twin

TIME = 0.25  # s
HEIGHT = 50.0  # m: nothing is touched
FINE = 1e-4  # s
WORLDS = 24


def flown(model: sharnir.Model, q: np.ndarray, v: np.ndarray, dt: float, passes: int) -> np.ndarray:
    """Positions [nq, worlds] after TIME."""
    impulses = ImpulseEngine(model, WORLDS, "cpu", ROOM)
    impulses.set(Settings(passes=passes), dt)
    impulses.start(q, v, np.tile(model.loop_q0[:, None], (1, WORLDS)))
    for _ in range(round(TIME / dt)):
        impulses.step(1)
    return impulses.state.q.numpy().copy()


def flown_by_mujoco(model: sharnir.Model, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    peer = twin(model, DT)
    out = []
    for w in range(WORLDS):
        data = start(model, peer, q[:, w], v[:, w])
        for _ in range(round(TIME / DT)):
            mujoco.mj_step(peer, data)
        out.append(data.qpos.copy())
    return np.array(out).T


def main() -> None:
    model = sharnir.compile(scenes.make("humanoid"))
    q, v = random_states(model, WORLDS, HEIGHT)
    v *= 4.0
    fine = flown(model, q, v, FINE, 3)
    for passes in (3, 2, 1, 0):
        off = np.abs(flown(model, q, v, DT, passes) - fine).max(axis=0)
        print(f"passes={passes}: median {np.median(off):.1e}, worst {off.max():.1e} (m or rad)")
    off = np.abs(flown_by_mujoco(model, q, v) - fine[position_order(model)]).max(axis=0)
    print(f"MuJoCo, implicitfast: median {np.median(off):.1e}, worst {off.max():.1e}")


if __name__ == "__main__":
    main()
