"""Simulations that the tests of recordings record, and what they do with the files."""

from __future__ import annotations

import time

import numpy as np

import sharnir as sh
from sharnir.recording import channels
from sharnir.recording.channels import Step
from sharnir.recording.read.mcap_file import McapFile


def lively_scene() -> sh.Scene:
    """Contact with friction and bounces, limits, a motor, a lagging actuator and a servo, a spring, a loop."""
    scene = sh.Scene(name="lively")
    scene.add(sh.HalfSpace(material=sh.Material(friction=0.6, restitution=0.3)))
    scene.add(sh.Body(name="crate", shapes=[sh.Box(size=(0.3, 0.3, 0.2))], position=(0.9, 0, 0.3)))
    scene.add(sh.Body(name="ball", shapes=[sh.Sphere(radius=0.06)], position=(0.9, 0.05, 0.6)))
    for k, name in enumerate(("left", "top", "right")):
        place = ((0, 0, 1.0), (0.25, 0, 1.25), (0.5, 0, 1.0))[k]
        scene.add(sh.Body(name=name, mass=0.5, inertia=(0.02, 0.02, 0.01), position=place))
    hinge = {"axis": (0, 1, 0)}
    scene.add(sh.Revolute(name="a", parent="world", child="left", anchor=(0, 0, 0.75), **hinge))
    scene.add(sh.Revolute(name="b", parent="left", child="top", anchor=(0, 0, 1.25), damping=0.02, **hinge))
    scene.add(sh.Revolute(name="c", parent="top", child="right", anchor=(0.5, 0, 1.25), **hinge))
    scene.add(sh.Revolute(name="d", parent="world", child="right", anchor=(0.5, 0, 0.75), **hinge))
    scene.add(sh.Body(name="arm", shapes=[sh.Capsule(radius=0.04, length=0.4, density=200)], position=(1.4, 0, 0.5)))
    limits = {"limits": (-0.1, 0.1), "friction": 0.05}
    scene.add(sh.Revolute(name="swing", parent="world", child="arm", anchor=(1.4, 0, 0.75), axis=(0, 1, 0), **limits))
    scene.add(sh.Motor(name="drive", joint="a", velocity=1.0, max_force=3.0))
    scene.add(sh.Actuator(name="slow", joints=["swing"], input=0.5, response=0.05))
    scene.add(sh.Actuator(name="servo", joints=["swing"], gain=(4.0, 0, 0), bias=(0, -4.0, -0.3)))
    scene.add(sh.Spring(name="pull", parent="crate", child="ball", stiffness=5.0, damping=0.1, length=0.3))
    return scene


def drive(sim: sh.Simulation, rng: np.random.Generator) -> None:
    """Change some inputs by chance."""
    what = rng.integers(5)
    if what == 0:
        sim.joint("swing").control = rng.normal()
    elif what == 1:
        sim.body("crate").applied = [*rng.normal(size=3), *(0.05 * rng.normal(size=3))]
    elif what == 2:
        sim.motor("drive").target = rng.normal()
    elif what == 3:
        sim.actuator("slow").input = 2.0 * rng.normal()
    else:
        sim.actuator("servo").input = 0.4 * rng.normal()


def driven(solver: str = "simgc", dt: float = 0.004, **settings: object) -> sh.Simulation:
    """The lively scene with inputs that change by chance, the same in every run."""
    sim = sh.Simulation(lively_scene(), solver=solver, dt=dt, **settings)
    rng = np.random.default_rng(7)
    sim.add_controller(lambda s: drive(s, rng), rate=50)
    return sim


def written(path, steps: int, seconds: float = 120.0) -> None:
    """Wait until so many steps can be read from a file that is being written; after so long something hangs."""
    deadline = time.monotonic() + seconds
    while sh.open_recording(path).steps < steps:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{path} has {sh.open_recording(path).steps} steps, not {steps}: the writer hangs")
        time.sleep(0.1)


def rewritten(path, new, change) -> None:
    """A copy of a recording whose steps went through change(step), with right checksums."""
    from mcap.writer import Writer

    from sharnir.recording.write.messages import LIBRARY, PROFILE, SCENE

    file = McapFile(path)
    with open(new, "wb") as stream:
        writer = Writer(stream)
        writer.start(PROFILE, LIBRARY)
        writer.add_metadata("sharnir", file.metadata["sharnir"])
        writer.add_attachment(0, 0, SCENE, "application/toml", file.attachments[SCENE])
        for topic, (name, text) in channels.SCHEMAS.items():
            schema = writer.register_schema(name, "ros2msg", text.encode())
            channel = writer.register_channel(topic, "cdr", schema)
            for k, place in enumerate(file.messages[topic]):
                data = bytes(file.read(place))
                writer.add_message(channel, k, change(Step.read(data)).write() if topic == channels.STEP else data, k)
        writer.finish()
