"""What a Python program pays a step: `step()` in a loop, alone and with what a controller reads and writes, next to
MuJoCo's `mj_step` in the same run; and many worlds, next to what the same steps take inside one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any

import mujoco
import numpy as np

from sharnir import scenes
from sharnir.benchmarks.harness import row
from sharnir.benchmarks.robots import ENTRIES, both, falling_starts
from sharnir.compiler import compile
from sharnir.io.mujoco_model import start, to_qpos
from sharnir.simulation.simulation import Simulation
from sharnir.simulation.snapshot import Saved
from sharnir.spec.elements import Body
from sharnir.spec.joints import Prismatic, Revolute
from sharnir.spec.scene import Scene

SCENES = ("pendulum", "five_link_chain", "humanoid")
ROBOTS = ("Panda", "ANYmal")
DT = 0.002  # s
BLOCK = 50  # steps between two readings of the clock
WORLDS = (64, 1024)

Loop = Callable[[], object]


def run(quick: bool) -> list[dict[str, Any]]:
    blocks = 40 if quick else 400
    rows: list[dict[str, Any]] = []
    for name, scene, twin in cases():
        rows += single(name, scene, twin, blocks)
    for worlds in WORLDS:
        rows.append(many(worlds, blocks // 4))
    return rows


def cases() -> Iterator[tuple[str, Scene, Any]]:
    """Scenes and MuJoCo's models of them."""
    for name in SCENES:
        scene = scenes.make(name)
        scene.timestep = DT
        yield name, scene, mujoco.MjModel.from_xml_string(scene.to_mjcf())
    for name in ROBOTS:
        yield name, *both(next(entry for entry in ENTRIES if entry.name == name))


def single(name: str, scene: Scene, twin: Any, blocks: int) -> Iterator[dict[str, Any]]:
    """Rows of one world: steps alone; steps, and reading q, v and a joint, and writing a force."""
    model = compile(scene)
    sim, data = Simulation(model, dt=float(twin.opt.timestep)), start(model, twin)
    if model.joint_types[0] == "free":  # falls, from above its floor
        (q,) = falling_starts(model, twin, np.random.default_rng(1), 1)
        sim.set_state(q=q)
        data.qpos[:] = to_qpos(model, q)
        mujoco.mj_forward(twin, data)
    moving = next(i for i, kind in enumerate(sim.model.joint_types) if kind in ("revolute", "prismatic"))
    joint = sim.joint(sim.model.joint_names[moving])
    peer_joint = data.joint(joint.name)
    at = int(twin.joint(joint.name).dofadr[0])
    seen: list[Any] = [None] * 3
    beginning = (sim.save(), copy(data))

    def ours() -> None:
        sim.step()
        seen[:] = sim.q, sim.v, joint.position
        joint.control = 0.0

    def theirs() -> None:
        mujoco.mj_step(twin, data)
        seen[:] = data.qpos, data.qvel, peer_joint.qpos[0]
        data.qfrc_applied[at] = 0.0

    for words, first, second in (
        ("step", sim.step, lambda: mujoco.mj_step(twin, data)),
        ("step, read, write", ours, theirs),
    ):
        a, b = timed(first, second, beginning, (sim, data, twin), blocks)
        yield row(f"{name}, {words}", "µs", a, b, "mujoco", dt=sim.dt)


def timed(
    ours: Loop, theirs: Loop, beginning: tuple[Saved, Any], run: tuple[Simulation, Any, Any], blocks: int
) -> tuple[np.ndarray, np.ndarray]:
    """µs a call, in turns; both begin again now and then, before they come to rest."""
    sim, data, twin = run
    taken: tuple[list[float], list[float]] = ([], [])
    for k in range(blocks):
        if k % 4 == 0:
            sim.restore(beginning[0])
            mujoco.mj_copyData(data, twin, beginning[1])
        for loop, times in zip((ours, theirs), taken, strict=True):
            begin = time.perf_counter()
            for _ in range(BLOCK):
                loop()
            times.append(1e6 * (time.perf_counter() - begin) / BLOCK)
    return np.array(taken[0]), np.array(taken[1])


def many(worlds: int, blocks: int) -> dict[str, Any]:
    """µs of a step of all worlds by one `step()` each, next to as many steps in one call."""
    sim = Simulation(cart_pole(), dt=DT, worlds=worlds)
    single_steps, inside = [], []
    for _ in range(blocks + 1):
        begin = time.perf_counter()
        for _ in range(BLOCK):
            sim.step()
        middle = time.perf_counter()
        sim.step(BLOCK)
        end = time.perf_counter()
        single_steps.append(1e6 * (middle - begin) / BLOCK)
        inside.append(1e6 * (end - middle) / BLOCK)
    name = f"cart-pole, {worlds} worlds, step"
    return row(name, "µs", np.array(single_steps[1:]), np.array(inside[1:]), "inside step(n)", dt=DT)


def cart_pole() -> Scene:
    """A cart on a rail with a hinged pole."""
    scene = Scene(name="cart_pole")
    scene.add(Body(name="cart", mass=1.0, inertia=(0.01, 0.01, 0.01)))
    scene.add(Body(name="pole", mass=0.1, inertia=(0.002, 0.002, 1e-4), position=(0.0, 0.0, 0.25)))
    scene.add(Prismatic(name="rail", parent="world", child="cart", axis=(1.0, 0.0, 0.0)))
    scene.add(Revolute(name="hinge", parent="cart", child="pole", axis=(0.0, 1.0, 0.0), position=0.1))
    return scene
