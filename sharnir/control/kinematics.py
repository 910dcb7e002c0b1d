"""Poses and Jacobians of chosen frames, centres of mass and loop joints at given positions, by one kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import warp as wp

from sharnir.control import kinematic_kernels as kernels
from sharnir.dynamics.evaluator import Dynamics
from sharnir.dynamics.loop_joints import upload_loop_joints
from sharnir.kernels.objects import Kernel
from sharnir.kernels.types import mat33, np_real, real, vec3
from sharnir.model.model import Reals

if TYPE_CHECKING:
    from sharnir.model.model import Model

KINEMATICS = Kernel("sharnir.control.kinematic_kernels", "kinematics_kernel")
INTEGRATE = Kernel("sharnir.control.kinematic_kernels", "integrate_kernel")


class LinkFrame(NamedTuple):
    """A frame fixed to a link: point (m) and axes in the link."""

    link: int
    point: Reals
    axes: Reals


class Kinematics:
    """Of one world on the CPU. After `at(q)` the arrays show, in world axes and over velocity coordinates:

    position [frames, 3] m, rotation [frames, 3, 3] and J [frames, 6, nv] (velocity, angular velocity) of the places;
    center [groups, 3] m and J_center [groups, 3, nv] of groups of links, given by their shares [links] of the group's
    mass; gap [6 loops] (m or 1, of constraints), J_loop [6 loops, nv] and loop_q of the joints that close loops.
    """

    def __init__(self, model: Model, places: list[LinkFrame], groups: list[Reals]) -> None:
        self.model, self._dynamics = model, Dynamics(model, 1, "cpu")
        self._q, self._q_view = self._array(model.nq)
        self._step, self._step_view = self._array(model.nv)
        self._moved, self._moved_view = self._array(model.nq)
        found, wanted = kernels.KinematicsResult(), upload_request(model, places, groups)
        sizes = {
            "pos": (len(places), 3), "rot": (len(places), 3, 3), "J": (len(places), 6, model.nv),
            "center": (len(groups), 3), "Jc": (len(groups), 3, model.nv),
            "g": (6 * model.loops,), "Jl": (6 * model.loops, model.nv),
            "loop_q": (int(model.loop_q_start[-1]),), "near": (int(model.loop_q_start[-1]),),
        }  # fmt: skip
        views = {}
        for name, shape in sizes.items():
            array, view = self._array(int(np.prod(shape)))
            setattr(found, name, array)
            views[name] = view.reshape(shape)
        self.position, self.rotation, self.J = views["pos"], views["rot"], views["J"]
        self.center, self.J_center = views["center"], views["Jc"]
        self.gap, self.J_loop, self.loop_q, self._near = views["g"], views["Jl"], views["loop_q"], views["near"]
        self._near[:] = model.loop_q0
        d = self._dynamics
        self._find = [d.tree, d.workspace, upload_loop_joints(model, "cpu"), wanted, self._q, d.v, found]
        self._move = [d.tree, self._q, self._step, self._moved]

    def _array(self, size: int) -> tuple[Any, Reals]:
        array = self._dynamics.array(size)
        return array, array.numpy()[:, 0]

    def at(self, q: Reals) -> None:
        """Compute all that is wanted at positions q [nq]."""
        self._q_view[:] = q
        self._dynamics.launch("find", KINEMATICS, self._find)
        self._near[:] = self.loop_q

    def moved(self, q: Reals, step: Reals) -> Reals:
        """q ⊕ step [nv]: positions after unit time at these velocities."""
        self._q_view[:], self._step_view[:] = q, step
        self._dynamics.launch("move", INTEGRATE, self._move)
        return self._moved_view.copy()


def upload_request(model: Model, places: list[LinkFrame], groups: list[Reals]) -> kernels.KinematicsRequest:
    """Upload which frames and groups of links the kernel is to compute."""
    wanted = kernels.KinematicsRequest()
    wanted.frames, wanted.groups, wanted.dofs = len(places), len(groups), model.nv
    wanted.link = wp.array(np.array([p.link for p in places], dtype=np.int32), dtype=int, device="cpu")
    values = {
        "pos": (np.array([p.point for p in places]).reshape(-1, 3), vec3),
        "rot": (np.array([p.axes for p in places]).reshape(-1, 3, 3), mat33),
        "share": (np.array(groups).reshape(-1), real),
    }
    for name, (array, dtype) in values.items():
        setattr(wanted, name, wp.array(array.astype(np_real), dtype=dtype, device="cpu"))
    return wanted
