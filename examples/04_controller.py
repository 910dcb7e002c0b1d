"""A controller at its own rate, a saved state, and a run that continues from it bit for bit."""

import numpy as np

import sharnir as sh

scene = sh.Scene(name="balance")
scene.add(sh.Body(name="cart", shapes=[sh.Box(size=(0.3, 0.2, 0.1))], mass=2.0))
scene.add(sh.Body(name="pole", shapes=[sh.Box(size=(0.02, 0.02, 0.8))], mass=0.3, position=(0, 0, 0.4)))
scene.add(sh.Prismatic(name="rail", parent="world", child="cart", axis=(1, 0, 0), limits=(-2, 2)))
scene.add(sh.Revolute(name="pivot", parent="cart", child="pole", axis=(0, 1, 0), position=0.15))

GAINS = np.array([2.0, 4.0, 60.0, 12.0])


def balance(sim: sh.Simulation) -> None:
    """Push the cart so that the pole stays up: a hundred times a second."""
    rail, pivot = sim.joint("rail"), sim.joint("pivot")
    state = np.array([rail.position[0], rail.velocity[0], pivot.position[0], pivot.velocity[0]])
    rail.control = GAINS @ state


sim = sh.Simulation(scene, dt=0.002)
sim.add_controller(balance, rate=100)
sim.run(4.0)
print(f"after {sim.time:.1f} s the pole leans {np.degrees(sim.joint('pivot').position[0]):.2f}°")
assert abs(sim.joint("pivot").position[0]) < 0.05

saved = sim.save()
sim.run(1.0)
first = sim.q.copy()
sim.restore(saved)
sim.run(1.0)
assert (sim.q == first).all()
print(f"{sim.counts.steps} steps, {sim.counts.capped} of them not converged")
