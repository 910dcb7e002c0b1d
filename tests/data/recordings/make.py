"""Makes the files of this folder, with sharnir 0.1.0 (commit 608fcba), whose recordings have format 1:

PYTHONPATH=/path/to/sharnir-0.1.0 python tests/data/recordings/make.py
"""

from __future__ import annotations

import pickle
from pathlib import Path

import sharnir as sh

HERE = Path(__file__).parent


def linkage() -> sh.Scene:
    """A four-bar with a motor, a limited pendulum with a slow actuator and a DC motor, and a ball that rolls."""
    scene = sh.Scene(name="linkage")
    scene.add(sh.HalfSpace(material=sh.Material(friction=0.6)))
    scene.add(sh.Body(name="ball", shapes=[sh.Sphere(radius=0.1)], position=(0.9, 0, 0.1)))
    for name, place in {"left": (0, 0, 1.0), "top": (0.25, 0, 1.25), "right": (0.5, 0, 1.0)}.items():
        scene.add(sh.Body(name=name, mass=0.5, inertia=(0.02, 0.02, 0.01), position=place))
    hinge = {"axis": (0, 1, 0)}
    scene.add(sh.Revolute(name="a", parent="world", child="left", anchor=(0, 0, 0.75), **hinge))
    scene.add(sh.Revolute(name="b", parent="left", child="top", anchor=(0, 0, 1.25), damping=0.02, **hinge))
    scene.add(sh.Revolute(name="c", parent="top", child="right", anchor=(0.5, 0, 1.25), **hinge))
    scene.add(sh.Revolute(name="d", parent="world", child="right", anchor=(0.5, 0, 0.75), **hinge))
    scene.add(sh.Motor(name="drive", joint="a", velocity=1.0, max_force=3.0))
    scene.add(sh.Body(name="arm", mass=0.4, inertia=(0.01, 0.01, 0.001), position=(1.4, 0, 0.5)))
    limits = {"limits": (-0.1, 0.1), "friction": 0.05}
    scene.add(sh.Revolute(name="swing", parent="world", child="arm", anchor=(1.4, 0, 0.75), **hinge, **limits))
    scene.add(sh.Actuator(name="slow", joints=["swing"], input=0.5, response=0.05))
    motor = {"resistance": 1.2, "torque_constant": 0.06, "inductance": 1e-3, "rotor_inertia": 1e-5, "brake": 0.02}
    scene.add(sh.DCMotor(name="dc", joint="d", voltage=24, max_current=5.0, ratio=10.0, efficiency=0.9, **motor))
    return scene


def main() -> None:
    """Write them all."""
    with (sim := sh.Simulation(sh.scenes.make("pendulum"), dt=2e-3)).record(HERE / "pendulum.mcap"):
        sim.step(200)
    with (sim := sh.Simulation(sh.scenes.make("pile", n=4), dt=5e-3)).record(HERE / "pile.mcap", rate=30):
        sim.step(60)
        sim.configure(passes=2)  # a snapshot with contacts
        sim.body(sim.model.body_names[0]).applied = [3.0, 0, 0, 0, 0, 0]
        sim.step(60)
    with (sim := sh.Simulation(linkage(), solver="simmc", dt=4e-3)).record(HERE / "linkage.mcap", rate=30):
        sim.body("ball").applied = [0.5, 0, 0, 0, 0, 0]
        sim.dc_motor("dc").input = 6.0
        sim.step(60)
        sim.dc_motor("dc").brake = 0.3
        sim.motor("drive").target = -1.0
        sim.actuator("slow").input = -0.5
        sim.step(60)
    saved = sim.save()
    saved.write(HERE / "linkage_saved.npz")
    (HERE / "linkage_saved.pickle").write_bytes(pickle.dumps(saved))
    (HERE / "linkage_model.pickle").write_bytes(pickle.dumps(sim.model))


if __name__ == "__main__":
    main()
