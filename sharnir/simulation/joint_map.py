"""Map from the coordinates of the solver's model to those of the scene's own joints, whatever the solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sharnir.model.model import Model, Reals
from sharnir.rotations import matrix_to_quat

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation


class JointMap(NamedTuple):
    """Where coordinates (q, loop q) and rates (v, loop v) of a model are among those of the solver's model.

    free: first coordinate, first rate and body of joints nobody described, which the solver's model has not.
    """

    q: list[int]
    v: list[int]
    free: list[tuple[int, int, int]]


def joint_map(model: Model, inner: Model) -> JointMap:
    """Index map from the solver's model `inner` to the scene's model."""
    sizes = [(int(model.q_start[-1]), int(model.dof_start[-1])), (int(inner.q_start[-1]), int(inner.dof_start[-1]))]
    q, v = np.zeros(sizes[0][0] + int(model.loop_q_start[-1]), int), np.zeros(model.nc, int)
    free = []
    for k, name in enumerate(model.joint_names):
        to_q, to_v = joint_slices(model, name, *sizes[0])
        if model is not inner and k < model.nb and model.implicit_free[k]:
            free.append((to_q.start, to_v.start, k))
        else:
            from_q, from_v = joint_slices(inner, name, *sizes[1])
            q[to_q], v[to_v] = np.arange(from_q.start, from_q.stop), np.arange(from_v.start, from_v.stop)
    return JointMap(q.tolist(), v.tolist(), free)


def joint_slices(model: Model, name: str, nq: int, nv: int) -> tuple[slice, slice]:
    """Slices of a joint's coordinates in (q, loop q) and of its rates in (v, loop v)."""
    where = model.joint(name)
    shift = (nq, nv) if where.closes_loop else (0, 0)
    return tuple(slice(int(s.start) + d, int(s.stop) + d) for s, d in zip((where.q, where.v), shift, strict=True))  # type: ignore[return-value]


def map_state(to: JointMap, q: Reals, v: Reals, seen: dict[str, Any]) -> tuple[Reals, Reals]:
    """(q, loop q) and (v, loop v) of the scene's model from those of the solver's. seen: position, rotation and
    velocity of bodies, for free joints nobody described."""
    positions, rates = q[to.q].astype(float), v[to.v].astype(float)
    for first, rate, body in to.free:
        x, R = seen["position"][3 * body : 3 * body + 3], seen["rotation"][9 * body : 9 * body + 9].reshape(3, 3)
        moving = seen["velocity"][6 * body : 6 * body + 6]
        positions[first : first + 7] = [*x, *matrix_to_quat(R)]
        rates[rate : rate + 6] = [*moving[:3], *(R.T @ moving[3:])]
    return positions, rates


def map_control(to: JointMap, control: Reals) -> Reals:
    """Forces [nc] on the coordinates of the scene's model from those of the solver's."""
    out = control[to.v].astype(float)
    for _, rate, _ in to.free:
        out[rate : rate + 6] = 0.0
    return out


def scene_state(sim: Simulation, to: JointMap, world: int = 0) -> tuple[Reals, Reals, Reals, Reals]:
    """q, v, loop q and loop v of the scene's model at the present state of a world."""
    seen = {name: column_of(sim.seen(name), world) for name in ("v", "loop_v", "position", "rotation", "velocity")}
    q = np.concatenate([column_of(x, world) for x in (sim.q, sim._column(sim.impulses.state.loop_q))])
    positions, rates = map_state(to, q, np.concatenate([seen["v"], seen["loop_v"]]), seen)
    return positions[: sim.model.nq], rates[: sim.model.nv], positions[sim.model.nq :], rates[sim.model.nv :]


def column_of(values: Reals, world: int) -> Reals:
    """[items] of a world, of [items] where there is one or [items, worlds]."""
    return values if values.ndim == 1 else values[:, world]
