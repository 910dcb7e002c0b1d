"""Host side of the impulse engine: uploads a model, holds states on a device, launches steps, reads results."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.collision.buffers import ContactCount
from sharnir.dynamics.loop_joints import upload_loop_joints
from sharnir.dynamics.tree import allocate_workspace, upload_tree
from sharnir.impulse.allocate import allocate_scratch, allocate_state
from sharnir.impulse.data import EVOLVES, LATER_ARRAYS, STATE_SAVED, StepContext
from sharnir.impulse.layout.layout import upload_layout
from sharnir.impulse.settings import MAX_STEPS_PER_LAUNCH, WARN_PIVOT_RATIO, WARN_POSITION_ERROR
from sharnir.impulse.slots import REPORT_SIZE, LaunchItem, Method, Setting, StatusReal
from sharnir.impulse.ticks import TICKS, ticks_per_second
from sharnir.impulse.tolerances import least_row_K
from sharnir.impulse.world_threads import Part, WorldThreads
from sharnir.kernels.build import Build, load_kernels, start_loading
from sharnir.kernels.columns import allocate_columns
from sharnir.kernels.launch import Graphs, Launch, RepeatWhile
from sharnir.kernels.objects import BLOCK_DIM, Kernel
from sharnir.kernels.types import MAT33, SPATIAL, VEC3, np_real
from sharnir.precision import get_precision

if TYPE_CHECKING:
    from sharnir.impulse.settings import Settings
    from sharnir.impulse.step.gpu import Stages
    from sharnir.model.model import Model

INITIALISE = Kernel("sharnir.impulse.step.cpu", "initialise_kernel")
STEPS = Kernel("sharnir.impulse.step.cpu", "step_kernel")
PUBLISHED_STEPS = Kernel("sharnir.impulse.step.cpu", "published_step_kernel")
OBSERVE = Kernel("sharnir.impulse.step.observe", "observe_kernel")
POSES = Kernel("sharnir.impulse.step.poses", "poses_kernel")
REACTIONS = Kernel("sharnir.impulse.step.reactions", "reactions_kernel")
WRENCHES = Kernel("sharnir.impulse.step.reactions", "wrenches_kernel")
COLLIDE_ROUND = Kernel("sharnir.collision.pipeline", "collide_round_kernel")
COLLIDE_CONVEX = Kernel("sharnir.collision.pipeline", "collide_convex_kernel")
COLLIDE_ALL = Kernel("sharnir.collision.pipeline", "collide_all_kernel")
REPORT_LAYOUT = struct.Struct(f"{REPORT_SIZE}{np.dtype(np_real).char}")
STEP, REMARKABLE = int(LaunchItem.STEP), int(LaunchItem.REMARKABLE)
STEPS_PER_GRAPH = 32  # steps captured in one CUDA graph
NO_BUDGET_SECONDS = 1e6  # s, in place of a budget where there is none
BUDGET_FRACTION = 0.97  # fraction of the budget that is used
REACTION_TOLERANCE_FACTOR = 1e-4  # factor on the usual tolerances, for reactions
REACTION_PASSES = 10  # outer iterations for reactions
UNLIMITED_SWEEPS = 1e9  # sweeps, where a step replays nothing
# settings that make a step end where the replayed one did
REPLAY_LIMITS = (Setting.REPLAY_CUT, Setting.REPLAY_PSEUDO_SWEEPS, Setting.REPLAY_CORRECTIONS)


def default_capacity(shapes: int) -> tuple[int, int]:
    """Default capacities of a world: contact points, and pairs of shapes near each other (at most all pairs)."""
    return 64 + 16 * shapes, min(64 * shapes, shapes * (shapes - 1) // 2)


class ImpulseEngine:
    """One model, `worlds` states on one device. Arrays are `[item, world]`. contacts, pairs: capacities for contact
    points and for pairs of shapes near each other in a world; left out, `default_capacity`."""

    def __init__(
        self,
        model: Model,
        worlds: int,
        device: str,
        contacts: int | None = None,
        pairs: int | None = None,
        threads: int = 1,
    ) -> None:
        usual = default_capacity(len(model.shape_kind))
        contacts, self.pairs = usual[0] if contacts is None else contacts, usual[1] if pairs is None else pairs
        self.model, self.worlds, self.device = model, worlds, device
        arms = (model.loop_pos, model.part_pos)
        self.size = float(max(1e-6, *(np.abs(x).max(initial=0.0) for x in arms)))  # m, of the mechanism: longest arm
        self._on_gpu = wp.get_device(device).is_cuda
        if self._on_gpu:
            from sharnir.impulse.step import gpu

            self._gpu = gpu
            gpu.inline_for_cuda()
        self.tree = upload_tree(model, device)
        self.loops = upload_loop_joints(model, device)
        self.layout, self.scalars = upload_layout(model, device, contacts)
        self.state = allocate_state(model, self.layout, worlds, MAX_STEPS_PER_LAUNCH, device)
        self._whole = self._make_part(self.state, worlds)
        self._context, self._here, self._there, self._work = self._whole[:4]
        self._steps = wp.zeros((1, 1), dtype=int, device="cpu")
        self._steps_view = memoryview(self._steps.numpy().ravel())
        self._launch_view = np.zeros((2, 1)) if self._on_gpu else self.state.launch.numpy()
        # of one world: plain memory, which Python reads and writes in a third of the time that numpy takes
        self._is_plain = worlds == 1 and threads == 1 and not self._on_gpu
        self._launch_memory = memoryview(self._launch_view[:, 0]) if self._is_plain else None
        self._history_memory = memoryview(self.state.history.numpy()[:, 0]) if self._is_plain else None
        self._bounces = self.layout.contact_model.has_restitution == 1
        self._detects = self.layout.max_contacts > 0 and self.layout.detects_contacts == 0  # by a kernel of its own
        self._graphs = Graphs(device)
        self._threads = (
            WorldThreads(self.state, worlds, threads, self._make_part)
            if min(threads, worlds) > 1 and not self._on_gpu
            else None
        )
        self._method = -1  # `Method` whose kernels are loaded
        self.tick_rate = 1.0  # 1/s, of the clock that kernels read
        self._settings = np.zeros((len(Setting), 1), dtype=np_real)
        self._reaction_settings: tuple[Settings, float, np.ndarray] | None = None
        self._views: dict[int, np.ndarray] = {}
        self._shown: dict[int, np.ndarray] = {}
        sizes = {"v": model.nv, "loop_v": int(model.loop_v_start[-1]), "position": VEC3 * model.nb, "energy": 2,
                 "rotation": MAT33 * model.nb, "velocity": SPATIAL * model.nb, "wrench": SPATIAL * model.nb,
                 "loop_wrench": SPATIAL * model.loops}  # fmt: skip
        self.observations = {n: allocate_columns(size, worlds, device) for n, size in sizes.items()}

    def _make_part(self, state: Any, worlds: int) -> Part:
        """Some worlds with scratch memory of their own, which on the CPU they share."""
        columns = worlds if self._on_gpu else 1
        context = StepContext()
        context.tree, context.loops, context.layout, context.state = self.tree, self.loops, self.layout, state
        here = allocate_workspace(self.model, columns, self.device, self.layout.z_size)
        work = allocate_scratch(self.model, self.layout, self.pairs, columns, self.device)
        there = allocate_workspace(self.model, columns, self.device)
        context.here, context.there, context.work = here, there, work
        return Part(context, here, there, work, state, worlds)

    def host(self, array: wp.array) -> np.ndarray:
        """What numpy sees of an array of this object: on the CPU itself, found once; from a GPU a copy."""
        if self._on_gpu:
            return np.asarray(array.numpy())
        if id(array) not in self._views:
            self._views[id(array)] = array.numpy()  # keeps the array, so that no other gets its number
        return self._views[id(array)]

    def shown(self, array: wp.array) -> np.ndarray:
        """The same for who only reads."""
        if id(array) in self._shown:
            return self._shown[id(array)]
        values = self.host(array).view()
        values.flags.writeable = False
        if not self._on_gpu:
            self._shown[id(array)] = values
        return values

    def contacts_found(self) -> np.ndarray:
        """[worlds] contacts found last, more than are stored where there was no room."""
        return self.host(self.state.contacts.count)[ContactCount.FOUND]

    def put(self, array: wp.array, rows: Any, values: np.ndarray | float) -> None:
        """Write into rows of an array of this object."""
        target = self.host(array)
        target[rows] = values
        if self._on_gpu:
            array.assign(target)

    def start(self, q: np.ndarray, v: np.ndarray, loop_q: np.ndarray, *, worlds: list[int] | None = None) -> None:
        """Begin from positions and velocities [.., worlds]; loop_q: where angles of loop joints are counted from.
        worlds: numbers of those that begin, all others go on; left out, all begin."""
        kept = [] if worlds is None else self._kept()
        for name, values in (("q", q), ("v", v), ("loop_q", loop_q)):
            getattr(self.state, name).assign(np.ascontiguousarray(values, dtype=np_real))
        self.state.contacts.count.zero_()
        arguments = [self._context]
        self._graphs.launch("start", INITIALISE, self.worlds, arguments)
        if worlds is not None:
            others = np.setdiff1d(np.arange(self.worlds), worlds)
            for array, values in zip(self._evolving, kept, strict=True):
                if self._on_gpu:
                    present = array.numpy()
                    present[:, others] = values.numpy()[:, others]
                    array.assign(present)
                else:
                    array[:, others] = values[:, others]

    def set(
        self,
        settings: Settings,
        dt: float,
        replay_limits: tuple[float, ...] | None = None,
        tolerance_scale: float = 1.0,
    ) -> None:
        """Settings of the steps to come. replay_limits: sweeps at which a step to replay was out of time, its
        pseudo-sweeps and corrections, which then end it instead of the clock; tolerance_scale: factor of the usual
        tolerances."""
        paper = Method.PAPER_BODIES if self.layout.is_maximal else Method.PAPER_TREE
        budget = (
            NO_BUDGET_SECONDS
            if settings.budget is None or replay_limits is not None
            else settings.budget * BUDGET_FRACTION
        )
        default = settings.method == "default"
        self._load(Method.PREDICTIVE if default else paper)
        values = {
            Setting.DT: dt, Setting.EPSILON: settings.compute_epsilon(self.model, dt), Setting.ERP: settings.erp,
            Setting.MAX_PASSES: settings.passes, Setting.TICK_BUDGET: budget * self.tick_rate,
            Setting.MAX_SWEEPS: settings.max_sweeps,
            Setting.METHOD: self._method, Setting.WARM_START: settings.warm_start,
            Setting.ACCELERATE: default and settings.accelerate,
            Setting.BILATERAL_DIRECT: default and settings.bilateral == "direct",
        }  # fmt: skip
        values[Setting.TOL_SCALE] = tolerance_scale
        values[Setting.TOL_ACCEPT] = settings.compute_accept_tolerance(self.model, dt)
        values[Setting.TOL_LOOSE] = settings.compute_loose_tolerance(self.model, dt)
        values[Setting.MEAN_MASS] = float(self.model.mass.sum()) / max(1, self.model.nb)
        moments = np.linalg.eigvalsh(self.model.inertia) if self.model.nb else np.zeros(1)
        values[Setting.MIN_ROW_K] = least_row_K(max(float(self.model.mass.max(initial=0.0)), float(moments.max())))
        values[Setting.MASS_WEIGHTED_CHANGES] = settings.epsilon is None and default and get_precision() == "double"
        values[Setting.WARN_OPENING] = WARN_POSITION_ERROR * self.size
        values[Setting.WARN_PIVOT] = WARN_PIVOT_RATIO if default and self.model.loops > 0 else 0.0
        limits = (UNLIMITED_SWEEPS,) * 3 if replay_limits is None else replay_limits
        values |= dict(zip(REPLAY_LIMITS, limits, strict=True))
        for place, value in values.items():
            self._settings[place, 0] = value
        self._send_settings()

    def _load(self, method: int) -> None:
        """Load the kernels of a method; on the CPU those that are missing are compiled side by side."""
        if method != self._method:
            self._method = int(method)
            if not self._on_gpu:
                kernels = [TICKS, *(launch.kernel for launch in self.kernels_of_step())]
                start_loading(Build(kernel, self.device, BLOCK_DIM) for kernel in (*kernels, OBSERVE))
                load_kernels(Build(kernel, self.device, BLOCK_DIM) for kernel in kernels)
            self.tick_rate = ticks_per_second()

    def _send_settings(self) -> None:
        self._method = int(self._settings[Setting.METHOD, 0])
        self.put(self.state.settings, slice(None), self._settings)

    def step(self, steps: int) -> None:
        """Some steps of all worlds, at most MAX_STEPS_PER_LAUNCH."""
        if self._on_gpu:
            self.state.launch.zero_()
            self._graphs.launch("pose", self._gpu.pose_stage, self.worlds, [self._context])
            for _ in range(steps // STEPS_PER_GRAPH):
                self._launch_steps(1, STEPS_PER_GRAPH)
            for _ in range(steps % STEPS_PER_GRAPH):
                self._launch_steps(1)
            return
        at_once, times = (1, steps) if self._detects else (steps, 1)
        calls = self._graphs.prepared.get(self._method)
        if self._launch_memory is None or calls is None:
            self._launch_view.fill(0)
            self._launch_steps(at_once, times)
            return
        self._launch_memory[STEP] = self._launch_memory[REMARKABLE] = 0
        self._steps_view[0] = at_once
        for _ in range(times):
            for call in calls:
                call()

    def has_remarks(self) -> bool:
        """Whether a step of the last launch was not as usual (`is_remarkable`); on a GPU reports tell."""
        if self._launch_memory is not None:
            return bool(self._launch_memory[REMARKABLE])
        return self._on_gpu or bool(self._launch_view[REMARKABLE].any())

    def _launch_steps(self, steps: int, times: int = 1) -> None:
        """Launch kernels of some steps, `times` over."""
        self._steps_view[0] = steps
        if self._threads is not None:
            self._threads.launch(self._method, self.kernels_of_step, times)
        else:
            self._graphs.launch_all(self._method, self.kernels_of_step, self.worlds, times)

    def kernels_of_step(self, part: Part | None = None) -> list[Any]:
        """What is launched for a step, in its order, with its arguments; of all worlds or of a part of them."""
        part = self._whole if part is None else part
        if self._on_gpu:
            after = self._iterated_stages(self._gpu.step_stages(self.model.loops > 0, self._bounces))
            return [*self._stages([self._gpu.begin_stage]), *self._collide(), *after]
        kernel = STEPS if self._method == Method.PREDICTIVE else PUBLISHED_STEPS
        return [*self._collide(part), Launch(kernel, [self._by_pointer(part), self._steps, part.worlds], loops=True)]

    def _by_pointer(self, part: Part) -> wp.array:
        """The context in an array: what is passed by value is copied at every launch, 18 kB."""
        return wp.array([part.context], dtype=StepContext, device=self.device).reshape((1, 1))

    def _stages(self, kernels: list[Any]) -> list[Launch]:
        return [Launch(k, [self._context], *self._gpu.threads_of(k)) for k in kernels]

    def _iterated_stages(self, stages: Stages) -> list[Launch | RepeatWhile]:
        again = RepeatWhile(self._stages(stages.again), self._work.any_iterating)
        remade = [RepeatWhile(self._stages(stages.remade), self._work.any_again)] if stages.remade else []
        check, last = self._stages(stages.check), self._stages(stages.last)
        return [*self._stages(stages.first), again, *check, *remade, *last]

    def _collide(self, part: Part | None = None) -> list[Launch]:
        """The kernel that finds contacts, where shapes can touch and the others do not find them themselves."""
        if not self._detects:
            return []
        part = self._whole if part is None else part
        state, model = part.state, self.layout.contact_model
        arguments = [self.tree, part.here, model, part.work.collision, state.contacts, state.q, state.v]
        convex = COLLIDE_CONVEX if model.only_convex else COLLIDE_ALL
        kernel = COLLIDE_ROUND if model.only_round else convex
        return [Launch(kernel, [*arguments, state.settings[Setting.DT : Setting.DT + 1]])]

    def reports(self, steps: int) -> np.ndarray:
        """[steps, REPORTS, worlds] of the last launch."""
        size = REPORT_SIZE * steps
        history = self.state.history[:size].numpy() if self._on_gpu else self.host(self.state.history)[:size]
        return np.asarray(history.reshape(steps, REPORT_SIZE, self.worlds))

    def last_report(self, steps: int) -> Sequence[float]:
        """Slots of the last of the steps of the last launch, the most of any world, as plain numbers: one of numpy's
        takes 0.1 µs to read."""
        if self._history_memory is not None:
            return REPORT_LAYOUT.unpack_from(self._history_memory, REPORT_LAYOUT.size * (steps - 1))
        return np.maximum.reduce(self.reports(steps)[-1], axis=1).tolist()

    def observe(self) -> None:
        """Velocities, poses and energies at the present time, in `observations`."""
        names = ("v", "loop_v", "position", "rotation", "velocity", "energy")
        self._graphs.launch_all(
            "observe",
            lambda: [
                *self._collide(),
                Launch(OBSERVE, [self._context] + [self.observations[n] for n in names]),
            ],
            self.worlds,
        )

    def compute_poses(self) -> None:
        """Poses at the present time, in `observations`."""
        arguments = [self.tree, self._here, self.state.q, self.observations["position"], self.observations["rotation"]]
        self._graphs.launch("poses", POSES, self.worlds, arguments)

    def compute_reactions(self, settings: Settings, dt: float) -> None:
        """Wrenches of all joints at the present time, by a step that is solved tightly and not kept. Of one world also
        momentum_rate [nb, 6] (N, and N m about the centres of mass, world axes): all forces on each link."""
        kept = self._kept()
        if settings.method != "default":  # its momenta are those of the velocities, not of a step
            self.observe()
            self.start(self.state.q.numpy(), self.observations["v"].numpy(), self.state.loop_q.numpy())
        present = self._settings.copy()
        self._set_reaction_settings(settings, dt)
        self._graphs.launch_all("reactions", self._kernels_of_reactions, self.worlds)
        if self.worlds == 1:
            gain = self.host(self._here.C)[:, 0] - self.host(self.state.P)[:, 0]
            self.momentum_rate = (gain / self.host(self._work.status_real)[StatusReal.FORCE_TIME, 0]).reshape(-1, 6)
        self._put_back(kept)
        self._settings[:] = present
        self._send_settings()

    def _kernels_of_reactions(self) -> list[Launch | RepeatWhile]:
        arguments = [self._context, self.observations["wrench"], self.observations["loop_wrench"]]
        if not self._on_gpu:
            return [*self._collide(), Launch(REACTIONS, arguments)]
        gpu = self._gpu
        before = self._stages([gpu.pose_stage, gpu.begin_stage])
        after = self._iterated_stages(gpu.velocity_stages(self._bounces))
        return [*before, *self._collide(), *after, Launch(WRENCHES, arguments)]

    def _set_reaction_settings(self, settings: Settings, dt: float) -> None:
        """Settings of a step that reactions are read from; computed once for as long as they stay."""
        if self._reaction_settings is None or self._reaction_settings[:2] != (settings, dt):
            self.set(
                replace(settings, method="default", passes=REACTION_PASSES, budget=None),
                dt,
                tolerance_scale=REACTION_TOLERANCE_FACTOR,
            )
            self._reaction_settings = (settings, dt, self._settings.copy())
        self._settings[:] = self._reaction_settings[2]
        self._send_settings()

    @cached_property
    def _evolving(self) -> list[Any]:
        """All that a step changes: arrays, on the CPU as numpy sees them."""
        arrays = [getattr(self.state, name) for name in (*EVOLVES, "report")]
        return arrays if self._on_gpu else [array.numpy() for array in arrays]

    def _kept(self) -> list[Any]:
        """Copies of all that a step changes."""
        return [wp.clone(array) if self._on_gpu else array.copy() for array in self._evolving]

    def _put_back(self, kept: list[Any]) -> None:
        for array, values in zip(self._evolving, kept, strict=True):
            if self._on_gpu:
                wp.copy(array, values)
            else:
                array[...] = values

    def saved(self) -> dict[str, Any]:
        """Copies of what evolves, and of the inputs."""
        arrays = {name: getattr(self.state, name) for name in STATE_SAVED}
        return {name: x.numpy().copy() for name, x in arrays.items() if x.size or name not in LATER_ARRAYS}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from what `saved` returned."""
        for name in STATE_SAVED:
            if name in saved:
                getattr(self.state, name).assign(saved[name])
            else:
                getattr(self.state, name).zero_()
        self.state.contacts.count.zero_()
