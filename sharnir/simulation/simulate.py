"""`simulate`: run a scene from start to end, by any solver, and the `Trajectory` it returns."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.checks import number
from sharnir.compiler import compile
from sharnir.enums import LimitKind
from sharnir.errors import SimulationError, fail, shown, unknown
from sharnir.model.model import Model, Reals
from sharnir.progress import bar
from sharnir.spec.scene import Scene

if TYPE_CHECKING:
    from sharnir.exact.system import Control, Observation, System
    from sharnir.simulation.step_warnings import ReportWarning

SOLVERS = ("exact", "simgc", "simmc")
DEFAULT_RECORDS = 401  # recording times, where none are asked for
MIN_RTOL = 1e-13  # below, rounding is all that is left
MIN_ATOL = 1e-20
FIXED_STEP_DT = 1e-3  # s, where a fixed-step method is not given a step


@dataclass(kw_only=True, repr=False)
class Trajectory:
    """What a run recorded, n times. It is complete up to its last time also when the run was interrupted."""

    model: Model
    solver: str
    method: str
    dt: float | None  # s, of a fixed-step method
    t: Reals  # [n] s
    q: Reals  # [n, nq]
    v: Reals  # [n, nv]
    control: Reals  # [n, nv] joint forces of the control, N or N m
    loop_q: Reals  # [n, loop coordinates]
    loop_v: Reals  # [n, loop rates]
    kinetic: Reals  # [n] J
    potential: Reals  # [n] J
    work: Reals  # [n] J, by efforts, control and dampers since the start; NaN where the solver does not know it
    loop_error: Reals  # [n, 2] largest position (m, rad) and velocity (m/s, rad/s) error of loops; NaN where not known
    evaluations: int  # of the equations of motion, or steps
    seconds: float  # wall clock
    finished: bool  # False if the run was interrupted
    system: System | None = field(repr=False)  # of the exact solver
    warnings: tuple[ReportWarning, ...] = ()  # steps that were not right, a kind each

    def __repr__(self) -> str:
        facts = (
            f"{len(self.t)} records to t = {self.t[-1]:g} s by {self.method}{'' if self.finished else ', unfinished'}"
        )
        return f"<Trajectory of {self.model.name!r}: {facts}>"

    def joint(self, name: str) -> tuple[Reals, Reals]:
        """Positions [n, its nq] and velocities [n, its nv] of a joint, in the tree or closing a loop."""
        where = self.model.joint(name)
        q, v = (self.loop_q, self.loop_v) if where.closes_loop else (self.q, self.v)
        return q[:, where.q], v[:, where.v]

    @property
    def energy_error(self) -> Reals:
        """[n] J: energy gained that no work accounts for."""
        total = self.kinetic + self.potential - self.work
        return total - total[0]

    @property
    def energy_scale(self) -> float:
        """J: the largest change of potential energy or kinetic energy seen, to judge errors by."""
        return float(max(np.ptp(self.potential), self.kinetic.max()))

    def joint_wrenches(self) -> Reals:
        """[n, nb, 6] force (N) and torque about the link frame's origin (N m) of each tree joint on its link."""
        return np.array([self._reactions(k, t)[0] for k, t in enumerate(self.t)])

    def loop_forces(self) -> Reals:
        """[n, loops, 6] forces along the rows of the loop joints, the least where they are redundant."""
        return np.array([self._reactions(k, t)[1] for k, t in enumerate(self.t)])

    def _reactions(self, k: int, t: float) -> tuple[Reals, Reals]:
        if self.system is None:
            allowed = "'exact', or Simulation.joint(…).wrench"
            raise fail("trajectory", "holds no reactions", f"solver {self.solver!r}", allowed)
        y = np.concatenate([self.q[k], self.v[k], [self.work[k]]])
        return self.system.reactions(t, y, self.loop_q[k], self.control[k])


def simulate(
    scene: Scene | Model,
    duration: float,
    *,
    solver: str = "exact",
    method: str | None = None,
    dt: float | None = None,
    times: Any = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    control: Control | None = None,
    contacts: int | None = None,
    pairs: int | None = None,
    record: str | Path | None = None,
    rate: float = 60.0,
    progress: bool = False,
) -> Trajectory:
    """Run a scene or model from its initial state for `duration` seconds.

    solver: "exact", or sequential impulses in generalised ("simgc") or maximal ("simmc") coordinates, which also know
    limits, dry friction, motors, couplings and contact. method: for "exact", "dop853" (default) or "radau" (stiff
    systems) with adaptive steps and tolerances rtol, atol, or "rk4" or "euler" (semi-implicit) with fixed steps of at
    most dt (s); for the others, "default" or "paper", with steps of at most dt (default 1 ms).
    times: where to record (s, increasing, within the run); if left out, some 400 evenly spaced, on the grid of a fixed
    step. The state at time 0 is always recorded first.
    Actuators keep the inputs they start with.
    control(t, q, v): joint forces [nv] added to the model's own, asked at every evaluation, or step, and record.
    contacts, pairs: room for points of contact and for pairs of shapes near each other, as in `Simulation`.
    record: a new file to which all steps are recorded, with `rate` states a second, as by `Simulation.record`.
    progress: show a bar. Ctrl-C ends the run and returns what was recorded; a SimulationError carries it as
    `trajectory`.
    """
    model = scene if isinstance(scene, Model) else compile(scene)
    if solver not in SOLVERS:
        raise unknown("solver", solver, SOLVERS)
    duration = number("simulate", "duration", duration, above=0)
    exact = solver == "exact"
    method = ("dop853" if exact else "default") if method is None else method
    dt = check_step(method, dt, duration, exact)
    rtol = number("simulate", "rtol", rtol, least=MIN_RTOL)
    atol = number("simulate", "atol", atol, least=MIN_ATOL)
    if control is not None and not callable(control):
        raise fail("simulate", "control cannot be called", shown(control), "a function control(t, q, v) -> [nv]")
    recorded = step_grid(duration, dt) if times is None and dt is not None else output_times(duration, times)
    if not exact:
        from sharnir.simulation.scene_trajectory import run_impulses

        assert dt is not None
        room = {"contacts": contacts, "pairs": pairs}
        return run_impulses(model, recorded, solver, method, dt, control, room, progress, record, rate)
    if record is not None:
        problem = "the exact solver takes no steps that could be recorded"
        raise fail("simulate", problem, f"record={record!s}", "solver 'simgc' or 'simmc'")
    check_exact_supports(model)
    control = add_actuator_forces(model, control)
    return run_exact(model, recorded, method, {"rtol": rtol, "atol": atol, "dt": dt}, control, progress)


def check_exact_supports(model: Model) -> None:
    """Raise a ModelError where a model has what the exact solver does not support: limits, friction, contact, … are
    refused, not ignored."""
    from sharnir.collision.filters import build_collision_filter

    limited = np.flatnonzero(model.limit_angles != LimitKind.NONE)
    with_friction = np.flatnonzero(model.friction > 0)
    can_touch = build_collision_filter(model).any()
    has = [("limits", len(limited) > 0), ("dry friction", len(with_friction) > 0),
           ("motors", len(model.motor_names) > 0), ("couplings", len(model.coupling_names) > 0), ("contact", can_touch),
           ("actuators that lag or integrate", bool(model.actuator_response.any() or model.actuator_integrates.any())),
           ("DC motors with inductance", bool(model.actuator_electric[:, 1].any())),
           ("gears that lose, or brakes", bool((model.actuator_efficiency < 1).any() or model.actuator_brake.any())),
           ("actuators of joints that close loops", bool((model.actuator_coordinate >= model.nv).any()))]  # fmt: skip
    given = [name for name, present in has if present]
    if given:
        allowed = "scenes without, or solver 'simgc' or 'simmc'"
        raise fail(f"model {model.name!r}", "the exact solver does not know all of it", ", ".join(given), allowed)


def add_actuator_forces(model: Model, control: Control | None) -> Control | None:
    """Control that adds the forces of the actuators at their initial inputs."""
    if not model.actuator_names:
        return control
    from sharnir.exact.actuators import actuator_forces, gather_positions, gear_matrix

    gears = gear_matrix(model)
    u = np.clip(model.actuator_input, *model.actuator_input_limits.T)[:, None]

    def combined_control(t: float, q: Reals, v: Reals) -> Reals:
        loops = np.zeros((int(model.loop_q_start[-1]), 1))
        coordinates = gather_positions(model, np.concatenate([q[:, None], loops]))
        rates = np.concatenate([v[:, None], np.zeros((model.nc - model.nv, 1))])
        force = actuator_forces(model, gears, coordinates, rates, u)[1][: model.nv, 0]
        return force if control is None else force + control(t, q, v)

    return combined_control


def run_exact(
    model: Model, recorded: Reals, method: str, options: dict[str, Any], control: Control | None, progress: bool
) -> Trajectory:
    """Integrate the equations of motion to the recording times."""
    from sharnir.exact.integrate import integrate_to_times
    from sharnir.exact.least_norm import single_threaded_blas
    from sharnir.exact.system import System

    system = System(model, control)
    system.warm_up()
    states: list[tuple[float, Reals, Reals, Observation]] = []
    facts: dict[str, Any] = {"solver": "exact", "method": method, "dt": options["dt"], "started": time.perf_counter()}
    finished = False
    try:
        with bar(model.name, float(recorded[-1]), progress) as advance, single_threaded_blas():
            for t, y in integrate_to_times(system, method, recorded, options):
                states.append((t, y.copy(), system.ask_control(t, y), system.observe(y)))
                advance(t)
        finished = True
    except KeyboardInterrupt:
        if not states:
            raise
    except SimulationError as error:
        if states:
            error.trajectory = _build_trajectory(model, system, states, finished=False, **facts)
        raise
    return _build_trajectory(model, system, states, finished=finished, **facts)


def check_step(method: str, dt: float | None, duration: float, exact: bool) -> float | None:
    """Step (s) of a fixed-step method, checked; None for adaptive ones."""
    from sharnir.exact.integrate import ADAPTIVE, EXACT_METHODS
    from sharnir.impulse.settings import IMPULSE_METHODS

    known = EXACT_METHODS if exact else IMPULSE_METHODS
    if method not in known:
        raise unknown("method", method, known)
    if dt is None:
        return None if method in ADAPTIVE else FIXED_STEP_DT
    dt = number("simulate", "dt", dt, above=0)
    if dt < duration * 1e-9:
        raise fail("simulate", "dt is too small", repr(dt), f"at least a billionth of the duration, {duration:g} s")
    if method in ADAPTIVE:
        raise fail("simulate", f"method {method!r} chooses its own step", f"dt={dt!r}", "dt with 'rk4' or 'euler'")
    return dt


def step_grid(duration: float, dt: float) -> Reals:
    """Ends of equal steps of at most dt, thinned to some hundreds."""
    steps = max(1, int(np.ceil(duration / dt - 1e-6)))
    every = max(1, steps // DEFAULT_RECORDS)
    return np.append(np.arange(0, steps, every), steps) * (duration / steps)


def output_times(duration: float, times: Any) -> Reals:
    """Recording times, starting at 0."""
    if times is None:
        return np.linspace(0.0, duration, DEFAULT_RECORDS)
    allowed = f"increasing numbers from 0 to {duration:g}"
    try:
        wanted = np.atleast_1d(np.asarray(times, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise fail("simulate", "times are not numbers", shown(times), allowed) from None
    ok = not isinstance(times, bool) and wanted.ndim == 1 and np.isfinite(wanted).all() and (np.diff(wanted) > 0).all()
    if not ok or len(wanted) == 0 or wanted[0] < 0 or wanted[-1] > duration * (1 + 1e-12):
        raise fail("simulate", "times are out of range", shown(times), allowed)
    return wanted if wanted[0] == 0 else np.concatenate([[0.0], wanted])


def _build_trajectory(model: Model, system: System, states: list[Any], started: float, **facts: Any) -> Trajectory:
    """Stack recorded states into a Trajectory."""
    y = np.array([y for _, y, _, _ in states])
    seen = [observation for *_, observation in states]
    return Trajectory(
        model=model, system=system, evaluations=system.evaluations, seconds=time.perf_counter() - started,
        t=np.array([t for t, *_ in states]), control=np.array([force for _, _, force, _ in states]),
        q=y[:, : model.nq], v=y[:, model.nq : -1], work=y[:, -1],
        kinetic=np.array([s.kinetic for s in seen]), potential=np.array([s.potential for s in seen]),
        loop_q=np.array([s.loop_q for s in seen]), loop_v=np.array([s.loop_v for s in seen]),
        loop_error=np.array([s.loop_error for s in seen]),
        **facts,
    )  # fmt: skip
