"""Steps on a GPU are those of the CPU; run where there is a GPU."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import sharnir as sh
from sharnir import scenes

GPUS = [str(device) for device in wp.get_cuda_devices()]
CLOSE = 1e-6 if sh.get_precision() == "double" else 1e-4  # m or rad, after 20 steps, of which some land
# tracks land on many contacts, whose sweeps end at an accepted change, in another order of sums on a GPU
CLOSE_TRACKS = 2e-4


@pytest.mark.skipif(not GPUS, reason="there is no GPU here")
@pytest.mark.parametrize("solver", ["simgc", "simmc"])
@pytest.mark.parametrize(
    ("name", "parameters"), [("humanoid", {}), ("balls", {"n": 8}), ("grasp", {}), ("trailer_robot", {})]
)
def test_steps_on_a_gpu_are_those_of_the_cpu(name, parameters, solver):
    model = sh.compile(scenes.make(name, **parameters))
    ends = []
    for device in ("cpu", GPUS[0]):
        sim = sh.Simulation(model, solver=solver, dt=0.005, device=device)
        for actuator in model.actuator_names:
            sim.actuator(actuator).input = 0.3
        sim.step(20)
        ends.append(sim.q.copy())
    np.testing.assert_allclose(ends[1], ends[0], atol=CLOSE_TRACKS if name == "trailer_robot" else CLOSE)
