"""Record a run with all that went into it, look at it, check it, and go on from the middle of it."""

import tempfile
from pathlib import Path

import numpy as np

import sharnir as sh
from sharnir import scenes

path = Path(tempfile.mkdtemp()) / "run.mcap"
rng = np.random.default_rng(7)
sim = sh.Simulation(scenes.make("four_bar"), dt=0.002)
joint = sim.joint(sim.model.joint_names[0])


def push(s: sh.Simulation) -> None:
    """Some torque by chance: what random numbers did is in the recording, not in the program."""
    joint.control = 0.05 * rng.normal()


sim.add_controller(push, rate=100)
with sim.record(path, rate=60, seed=7):
    sim.run(2.0)

recording = sh.open_recording(path)
print(recording, f"{path.stat().st_size / 1024:.0f} KiB")
print("states:", len(recording.times), "events:", len(recording.events))
print("q at 1.0 s:", recording.state(1.0).q)

assert recording.verify() is None  # simulated again from its inputs: every step comes out to the bit
print("verified:", recording.steps, "steps")

again = recording.resume(1.5)  # goes on from any moment, here with other pushes
again.run(0.5)
assert not np.array_equal(again.q, sim.q)
assert np.array_equal(recording.resume(2.0).q, sim.q)
print("resumed at 1.5 s:", again.q, "instead of", sim.q)
