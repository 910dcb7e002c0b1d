"""A gripper of one motor and a repeater takes a box from the floor, moves it and puts it down, in both coordinates."""

import numpy as np

import sharnir as sh
from sharnir import scenes
from sharnir.scenes.grasp import operate, programme


def held(sim: sh.Simulation) -> np.ndarray:
    """Where the object is in the frame of a finger, m."""
    finger = sim.body("finger1")
    return finger.rotation.T @ (sim.body("object").position - finger.position)


for solver in ("simgc", "simmc"):
    sim = sh.Simulation(scenes.make("grasp"), solver=solver, dt=0.005)
    sim.add_controller(operate, rate=100)
    print(f"{solver}:")
    for stage in programme():
        start, grasped, slip = sim.body("object").position.copy(), held(sim), 0.0
        for _ in range(round(stage.takes / sim.dt)):
            report = sim.step()
            slip = max(slip, float(np.abs(held(sim) - grasped).max()))
        x, _, z = sim.body("object").position - start
        text = f"  {stage.name:8s} object by {1e3 * x:6.1f} mm along, {1e3 * z:6.1f} mm up"
        if stage.name in ("lift", "move", "put down"):
            text += f", slip in the fingers {1e6 * slip:.2f} µm, motor {sim.motor('grip').force:.2f} N m"
            assert slip < 1e-5
        print(text)
    assert abs(sim.body("object").position[0] - 0.4) < 1e-4
    print(f"  {sim.counts.steps} steps, {sim.counts.capped} of them not converged")
