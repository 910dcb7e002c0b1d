"""A rod on a hinge, let go from the horizontal: build it, run it, look at it."""

import sharnir as sh

scene = sh.Scene(name="hello")  # gravity is 9.81 m/s² along −z
scene.add(sh.Body(name="rod", shapes=[sh.Box(size=(1.0, 0.05, 0.05), density=2700)], position=(0.5, 0, 0)))
scene.add(sh.Revolute(name="hinge", parent="world", child="rod", anchor=(0, 0, 0), axis=(0, 1, 0)))

run = sh.simulate(scene, duration=2.0)
print(f"after {run.t[-1]:.1f} s the hinge stands at {run.q[-1, 0]:+.3f} rad, turning at {run.v[-1, 0]:+.3f} rad/s")
print(f"energy error {abs(run.energy_error).max():.1e} J of {run.energy_scale:.1f} J in play")

assert abs(run.energy_error).max() < 1e-9 * run.energy_scale
