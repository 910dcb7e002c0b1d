"""Change of solver in flight: same mechanism, positions, velocities and inputs in the other solver's coordinates."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from sharnir.errors import fail
from sharnir.model.model import Reals
from sharnir.rotations import matrix_to_quat
from sharnir.simulation.joint_map import joint_map, scene_state
from sharnir.simulation.simulation import Simulation

# arrays of actuators in the engine's state
ACTUATOR_STATE = (
    "actuator_input",
    "actuator_brake",
    "actuator_activation",
    "actuator_force_end",
    "actuator_force",
    "actuator_rates",
)


def with_solver(sim: Simulation, solver: str) -> Simulation:
    """A simulation by that solver that goes on where this one is: time, state, settings, inputs and controllers.

    Impulses of the last step are not carried over: the first step finds its own.
    """
    if sim.worlds != 1:
        raise fail("simulation", "has several worlds", str(sim.worlds), "1, to go on with another solver")
    room: dict[str, Any] = {"contacts": sim.impulses.layout.max_contacts or None, "pairs": sim.impulses.pairs or None}
    new = Simulation(sim.model, solver=solver, dt=sim.dt, device=sim.impulses.device, **room, **asdict(sim.settings))
    q, v, loop_q, _ = (
        scene_state(sim, joint_map(sim.model, sim.inner)) if solver == "simgc" else maximal_state(sim, new)
    )
    new.impulses.start(q[:, None], v[:, None], loop_q[:, None])
    _copy_inputs(sim, new)
    new._set_time(sim.time)
    new._controllers, new.controllers_act = list(sim._controllers), sim.controllers_act
    if sim.sampler is not None and new.sampler is not None:
        new.sampler.restore(sim.sampler.saved())
    new._changed()
    return new


def maximal_state(sim: Simulation, new: Simulation) -> tuple[Reals, Reals, Reals, Reals]:
    """q, v, loop q and loop v in maximal coordinates: frames in the centres of mass, along the bodies' axes."""
    inner = new.inner
    q, v = np.zeros(inner.nq), np.zeros(inner.nv)
    for link, name in enumerate(inner.body_names):
        body = sim.body(name)
        R, spin = body.rotation, body.angular_velocity
        arm = -R @ inner.body_pos[link]  # from the body's frame to its centre of mass
        q[7 * link : 7 * link + 7] = [*(body.position + arm), *matrix_to_quat(R)]
        v[6 * link : 6 * link + 6] = [*(body.velocity + np.cross(spin, arm)), *(R.T @ spin)]
    loop_q = np.zeros(int(inner.loop_q_start[-1]))
    loop_v = np.zeros(int(inner.loop_v_start[-1]))
    for name in inner.joint_names[inner.nb :]:
        where, joint = inner.joint(name), sim.joint(name)
        loop_q[where.q], loop_v[where.v] = joint.position, joint.velocity
    return q, v, loop_q, loop_v


def _copy_inputs(sim: Simulation, new: Simulation) -> None:
    """Targets, forces on coordinates and bodies, and what actuators were given."""
    for name in sim.model.motor_names:
        new.motor(name).target = sim.motor(name).target
    for name in sim.model.body_names:
        new.body(name).applied = sim.body(name).applied
    shared = set(sim.inner.joint_names) & set(new.inner.joint_names)
    for name in shared - {j for j in shared if sim.inner.joint(j).v == slice(0, 0)}:
        new.joint(name).control = sim.joint(name).control
    for name in ACTUATOR_STATE:
        getattr(new.impulses.state, name).assign(getattr(sim.impulses.state, name).numpy())
