"""What is run on the GPU machine for steps: the humanoid in many worlds with random states, GPU against CPU, steps per
second beside MuJoCo Warp on its own humanoid, and where the time goes. Prints JSON.

    SHARNIR_PRECISION=single python -m sharnir.benchmarks.gpu.step [worlds ...]

With "others" instead of numbers it compares other scenes, and wrenches of joints, on GPU and CPU.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.resources import files
from typing import Any

import numpy as np
import warp as wp

import sharnir
from sharnir import scenes
from sharnir.impulse.engine import ImpulseEngine
from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.settings import Settings
from sharnir.impulse.slots import ContactKey, ReportItem

DT = 0.005  # s
ROOM = 48  # contacts of a world
SETTLING = 200  # steps before the clock starts
TIMED = 96  # steps
WORLDS = (8192, 32768, 131072)
GPU = "cuda:0"
EPSILON = 1e-3  # of m g dt
SWEEPS = 20
PASSES = (3, 1, 0)  # corrections of momenta at most: the default, one, none, still nearer to the truth than the peer's
OTHERS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("pile", "simgc", {"n": 8}), ("balls", "simgc", {"n": 27}), ("grasp", "simgc", {}), ("grasp", "simmc", {}),
    ("peaucellier", "simgc", {}), ("trailer", "simgc", {}), ("humanoid", "simmc", {}),
)  # fmt: skip
OTHER_STEPS = 20


def random_states(model: sharnir.Model, worlds: int, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Postures within the limits, turned any way, some height over the floor, and some velocity."""
    rng = np.random.default_rng(1)
    q = np.tile(model.q0[:, None], (1, worlds))
    for c in range(6, model.nv):
        low, high = model.limit_lower[c], model.limit_upper[c]
        q[model.coordinate_positions[c]] = rng.uniform(0.8 * low, 0.8 * high, worlds)
    q[2] += height + rng.uniform(0.0, 0.2, worlds)
    turn = rng.normal(size=(4, worlds))
    q[3:7] = turn / np.linalg.norm(turn, axis=0)
    return q, 0.5 * rng.normal(size=(model.nv, worlds))


def started(model: sharnir.Model, worlds: int, device: str, height: float = 0.2, passes: int = 3) -> ImpulseEngine:
    impulses = ImpulseEngine(model, worlds, device, ROOM)
    epsilon = EPSILON * float(model.mass.sum()) * 9.81 * DT
    impulses.set(Settings(epsilon=epsilon, max_sweeps=SWEEPS, passes=passes), DT)
    q, v = random_states(model, worlds, height)
    impulses.start(q, v, np.tile(model.loop_q0[:, None], (1, worlds)))
    return impulses


def steps_of(impulses: ImpulseEngine, steps: int) -> None:
    while steps > 0:
        impulses.step(min(steps, 32))
        steps -= 32


def agreement(model: sharnir.Model) -> dict[str, float]:
    """How far the same worlds are apart on GPU and CPU after 100 steps, and what 1e-7 more of height makes of them on
    the CPU alone: contact magnifies the last digit."""
    ends = {}
    for name, device, height in (("cpu", "cpu", 0.2), ("near", "cpu", 0.2 + 1e-7), ("gpu", GPU, 0.2)):
        impulses = started(model, 256, device, height)
        for _ in range(4):
            impulses.step(25)
        ends[name] = impulses.state.q.numpy()
    out: dict[str, float] = {}
    for name in ("gpu", "near"):
        apart = np.abs(ends[name] - ends["cpu"]).max(axis=0)
        out |= {f"{name} against cpu, median": float(np.median(apart)), f"{name} against cpu, p90":
                float(np.percentile(apart, 90)), f"{name} against cpu, most": float(apart.max())}  # fmt: skip
    return out


def other_scenes() -> dict[str, Any]:
    """How far bodies are apart on GPU and CPU after some steps, what a step reports, and wrenches of joints, in scenes
    with boxes, loops, couplings and motors, in both solvers."""
    out: dict[str, Any] = {}
    for name, solver, parameters in OTHERS:
        model = sharnir.compile(scenes.make(name, **parameters))
        weight = 9.81 * float(model.mass.sum())
        seen = []
        for device in ("cpu", GPU):
            sim = sharnir.Simulation(model, solver=solver, dt=DT, device=device)
            sim.step(OTHER_STEPS)
            bodies = np.array([sim.body(b).position for b in model.body_names])
            wrench = np.array([sim.joint(j).wrench for j in model.joint_names])
            seen.append((bodies, wrench))
        (a, f), (b, g) = seen
        off = float(np.abs(f - g).max() / max(np.abs(f).max(), weight))
        out[f"{name} {solver}"] = {
            "bodies apart, m": float(np.abs(a - b).max()),
            "wrenches apart, of the largest or the weight": off,
        }
    return out


def ours(model: sharnir.Model, worlds: int, passes: int) -> dict[str, Any]:
    impulses = started(model, worlds, GPU, passes=passes)
    steps_of(impulses, SETTLING)
    seconds = []
    for _ in range(TIMED // 32):
        wp.synchronize()
        began = time.perf_counter()
        impulses.step(32)
        wp.synchronize()
        seconds.append(time.perf_counter() - began)
    report = impulses.reports(32)
    q = impulses.state.q.numpy()
    assert np.isfinite(q).all()
    count = impulses.state.prev_contact_keys.numpy()[ContactKey.COUNT]
    pressed = impulses.state.prev_contact_impulse.numpy().reshape(ROOM, CONTACT_IMPULSES, worlds)[:, :3]
    acting = (np.abs(pressed).max(axis=1) > 0) & (np.arange(ROOM)[:, None] < count)
    assert report[:, ReportItem.CONTACT_POINTS].max() <= ROOM, "more contacts than there is room for"
    return {
        "steps_per_s": worlds * 32 / float(np.median(seconds)),
        "contacts": float(report[:, ReportItem.CONTACT_POINTS].mean()),
        "acting contacts": float(acting.sum(axis=0).mean()), "sweeps": float(report[:, ReportItem.SWEEP_COUNT].mean()),
        "sweeps p99": float(np.percentile(report[:, ReportItem.SWEEP_COUNT], 99)),
        "passes": float(report[:, ReportItem.PASS_COUNT].mean()), "lowest root, m": float(q[2].min()),
        "profile": profile(impulses),
    }  # fmt: skip


def profile(impulses: ImpulseEngine) -> dict[str, float]:
    """Milliseconds of each kernel in one step."""
    with wp.ScopedTimer("step", print=False, cuda_filter=wp.TIMING_KERNEL, synchronize=True) as timer:
        for launch in impulses.kernels_of_step():
            launch.start(impulses.worlds, GPU)
    out: dict[str, float] = {}
    for result in timer.timing_results:
        name = result.name.split()[-1]
        out[name] = out.get(name, 0.0) + result.elapsed
    return {k: round(v, 4) for k, v in sorted(out.items(), key=lambda x: -x[1])}


def peer(worlds: int) -> dict[str, Any]:
    """MuJoCo Warp on its own humanoid, random controls, after the same settling."""
    import mujoco
    import mujoco_warp as mjw

    path = str(files("mujoco_warp") / "test_data" / "humanoid" / "humanoid.xml")
    host = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(host)
    mujoco.mj_resetDataKeyframe(host, data, 0)
    mujoco.mj_forward(host, data)
    m = mjw.put_model(host)
    m.opt.warn_overflow = 0
    d = mjw.put_data(host, data, nworld=worlds, nconmax=40, njmax=160)
    rng = np.random.default_rng(1)
    d.ctrl.assign(rng.uniform(-0.3, 0.3, size=d.ctrl.shape).astype(np.float32))
    mjw.step(m, d)
    with wp.ScopedCapture() as capture:
        mjw.step(m, d)
    for _ in range(SETTLING):
        wp.capture_launch(capture.graph)
    wp.synchronize()
    began = time.perf_counter()
    for _ in range(TIMED):
        wp.capture_launch(capture.graph)
    wp.synchronize()
    seconds = time.perf_counter() - began
    contacts = float(d.nacon.numpy()[0]) / worlds
    return {"steps_per_s": worlds * TIMED / seconds, "contacts": contacts, "rows": float(d.nefc.numpy().mean())}


def main() -> None:
    model = sharnir.compile(scenes.make("humanoid"))
    device = wp.get_device(GPU)
    out: dict[str, Any] = {"precision": sharnir.get_precision(), "device": device.name, "dt": DT}
    if sys.argv[1:] == ["others"]:
        print(json.dumps(other_scenes(), indent=1))
        return
    print(json.dumps(agreement(model)), flush=True)
    for worlds in [int(a) for a in sys.argv[1:]] or WORLDS:
        with wp.ScopedDevice(GPU):
            theirs = peer(worlds)
            mine = {f"passes={n}": ours(model, worlds, n) for n in PASSES}
        ratio = {name: m["steps_per_s"] / theirs["steps_per_s"] for name, m in mine.items()}
        out[f"{worlds} worlds"] = {"ours": mine, "MuJoCo Warp": theirs, "ratio": ratio}
        print(json.dumps({worlds: out[f"{worlds} worlds"]}), flush=True)
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
