"""Sequential impulses on arrays that stay on a device: build once, fill the inputs, step, read the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import warp as wp

from sharnir.constraints.loops import loops_on
from sharnir.constraints.plan import plan_on
from sharnir.constraints.work import (
    REPORTS, SETTINGS, state_on, work_on, DT, EPSILON, ERP, PASSES, SWEEPS, BUDGET, ACCELERATE, DIRECT, METHOD
)
from sharnir.dynamics.evaluator import Dynamics
from sharnir.dynamics.tree import workspace_on
from sharnir.launch import Graphs
from sharnir.solvers import step_kernels as kernels

if TYPE_CHECKING:
    from sharnir.model import Model

HISTORY = 1000

class Impulse:
    def __init__(self, model: Model, worlds: int = 1, device: str = "cpu") -> None:
        self.model, self.worlds, self.device = model, worlds, device
        self.dynamics = Dynamics(model, worlds, device)
        columns = worlds if wp.get_device(device).is_cuda else 1
        self.loops = loops_on(model, device)
        self.plan = plan_on(model, device)
        self.trial = workspace_on(model, columns, device)
        self.ws = workspace_on(model, columns, device, self.plan.width)
        self.state = state_on(model, self.plan, worlds, HISTORY, device)
        self.work = work_on(model, self.plan, columns, device)
        self.steps = wp.zeros(1, dtype=int, device=device)
        self._graphs = Graphs(device)
        self.settings = np.zeros((SETTINGS, 1))

    def reset(self) -> None:
        s, m = self.state, self.model
        for name, values in (("q", m.q0), ("v", m.v0), ("loop_q", m.loop_q0), ("target", m.motor_target)):
            getattr(s, name).assign(np.tile(np.asarray(values, dtype=float)[:, None], (1, self.worlds)))
        d = self.dynamics
        self._graphs.launch("start", kernels.start_kernel, self.worlds, [d.tree, self.ws, self.loops, self.plan, s, self.work])

    def step(self, n: int = 1) -> None:
        d = self.dynamics
        self.steps.assign(np.array([n], dtype=np.int32))
        args = [d.tree, self.ws, self.trial, self.loops, self.plan, self.state, self.work, self.steps]
        self._graphs.launch("step", kernels.step_kernel, self.worlds, args)

    def set(self, **values):
        for k, x in values.items():
            self.settings[{"dt": DT, "eps": EPSILON, "erp": ERP, "passes": PASSES, "sweeps": SWEEPS, "budget": BUDGET, "accelerate": ACCELERATE, "direct": DIRECT, "method": METHOD}[k], 0] = x
        self.state.settings.assign(self.settings)

    def observe(self) -> None:
        d = self.dynamics
        if not hasattr(self, "loop_v"):
            import numpy as np
            self.loop_v = d.array(max(1, int(self.model.loop_v_start[-1])))
        args = [d.tree, self.ws, self.loops, self.plan, self.state, self.work, d.v, self.loop_v]
        self._graphs.launch("observe", kernels.observe_kernel, self.worlds, args)
