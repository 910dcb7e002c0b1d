"""States that are set: a crank put at angles of a table, the loop closed each time; what is not right is said."""

import warnings

import numpy as np

import sharnir as sh
from sharnir import scenes

model = sh.compile(scenes.make("slider_crank"))
sim = sh.Simulation(model, dt=1e-3)
crank = model.joint_names[0]

for angle in np.linspace(0.2, 1.4, 4):
    sim.set_state({crank: angle}, {crank: 2.0}, close=True)  # the other joints follow
    q, v = sim.state()
    report = sim.step(50)
    energy = sum(sim.energy)
    print(f"from {angle:.2f} rad: q = {np.round(q, 3)}, v = {np.round(v, 3)}; after 50 ms {energy:.4f} J")
    assert abs(q[0] - angle) < 1e-12 and report.position_error < 1e-6 and not report.warnings

try:
    sim.set_state({crank: 0.3})
except sh.ModelError as error:
    print(f"refused: {error}")

# Fewer sweeps than a pile of boxes needs: said once in Python, in every report, and counted
pile = sh.Simulation(scenes.make("pile"), dt=0.01, max_sweeps=2)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    report = pile.step(100)
print(report.warnings[0])
assert report.warnings[0].steps == pile.counts.capped and len(told) == len({w.message.kind for w in told}) >= 1
