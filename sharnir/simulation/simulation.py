"""Simulation: a scene that runs, step by step or in real time, with named access to what moves in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.checks import number
from sharnir.compiler import compile
from sharnir.compiler.maximal import maximal
from sharnir.errors import fail, shown, unknown
from sharnir.impulse.settings import MAX_STEPS_PER_LAUNCH, Settings, settings_from
from sharnir.model.model import Model, Reals
from sharnir.simulation.contacts import Contact, check_capacity, read_contacts
from sharnir.simulation.dc_motor_view import DCMotorView
from sharnir.simulation.joint_map import joint_map, scene_state
from sharnir.simulation.observer import StepObserver
from sharnir.simulation.run_steps import run_steps
from sharnir.simulation.set_state import numbers_of_worlds, set_state
from sharnir.simulation.snapshot import Saved
from sharnir.simulation.step_report import Report, evaluate_steps
from sharnir.simulation.step_warnings import ReportWarning, new_counts, tell_new_warnings, with_warnings
from sharnir.simulation.views import ActuatorView, BodyView, JointView, MotorView
from sharnir.spec.scene import Scene

if TYPE_CHECKING:
    from sharnir.recording.write.recorder import Recorder

SOLVERS = ("simgc", "simmc")
Controller = Callable[["Simulation"], None]


MOST = 2**31 - 1  # steps, worlds, contacts: numbers of arrays and kernels
NO_MEMORY = ("Array shapes", "allocate", "Total size")  # what Warp says of arrays that are too large


def require_positive_int(what: str, value: Any) -> int:
    """Return a whole number ≥ 1 that fits into 32 bits, or raise a ModelError."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= MOST:
        raise fail("simulation", f"{what} is out of range", shown(value), f"a whole number ≥ 1, at most {MOST}")
    return int(value)


class Simulation:
    """A scene or model, running.

    solver: "simgc" (generalised coordinates) or "simmc" (maximal coordinates). dt: s, the step. worlds: how many states
    run side by side; all start alike. device: "cpu" or a GPU's name. contacts: points of contact there is room for in
    a world; pairs: pairs of shapes near each other there is room for; left out, more than shapes usually have. An error
    says how many are needed where there are more. threads: of the CPU that step worlds, each a range of them; bits do
    not depend on it. settings: see sharnir.Settings.
    """

    def __init__(
        self, scene: Scene | Model, *, solver: str = "simgc", dt: float = 0.01, worlds: int = 1, device: str = "cpu",
        contacts: int | None = None, pairs: int | None = None, threads: int = 1, **settings: Any,
    ) -> None:  # fmt: skip
        from sharnir.dynamics.evaluator import require_device
        from sharnir.impulse.engine import ImpulseEngine
        from sharnir.sensors.samples import create_sampler

        self.model = scene if isinstance(scene, Model) else compile(scene)
        if solver not in SOLVERS:
            raise unknown("solver", solver, SOLVERS)
        self.solver = solver
        self.worlds, threads = require_positive_int("worlds", worlds), require_positive_int("threads", threads)
        self.inner = maximal(self.model) if solver == "simmc" else self.model
        self.settings = settings_from(settings)
        device = require_device(device)
        if device != "cpu" and (self.settings.method != "default" or self.settings.budget is not None):
            given = f"method={self.settings.method!r}, budget={self.settings.budget}"
            raise fail("simulation", f"has no such steps on {device}", given, "method='default' without a budget")
        room = (("contacts", contacts), ("pairs", pairs))
        asked = {name: require_positive_int(name, value) for name, value in room if value is not None}
        try:
            self.impulses = ImpulseEngine(self.inner, self.worlds, device, **asked, threads=threads)
        except (ValueError, RuntimeError, MemoryError) as error:
            if not any(word in str(error) for word in NO_MEMORY) and not isinstance(error, MemoryError):
                raise
            given = ", ".join(f"{value} {name}" for name, value in {"worlds": self.worlds, **asked}.items())
            raise fail("simulation", "does not fit into memory", given, "fewer of them") from None
        self._controllers: list[tuple[Controller, float, float]] = []
        self.controllers_act = True  # else none is called: an emergency stop
        self.recorder: StepObserver | None = None  # of the recording in progress
        self.sampler = create_sampler(self.model, self.worlds)
        self._dt = self._checked_dt(dt)
        self.reset()

    def __repr__(self) -> str:
        return f"<Simulation of {self.model.name!r}: {self.solver}, dt {self._dt:g} s, at t = {self.time:g} s>"

    # state

    def reset(self) -> None:
        """Back to the model's initial state at time 0; controllers stay, motors seek their first targets."""
        m = self.inner
        columns = (np.tile(x[:, None], (1, self.worlds)) for x in (m.q0, m.v0, m.loop_q0))
        for name in ("control", "f_ext", "actuator_activation", "actuator_force_end", "actuator_brake"):
            getattr(self.impulses.state, name).zero_()
        for name, values in (("motor_target", m.motor_target), ("actuator_input", m.actuator_input)):
            getattr(self.impulses.state, name).assign(np.tile(values[:, None], (1, self.worlds)))
        self.impulses.set(self.settings, self._dt)
        self.impulses.start(*columns)
        self._set_time(0.0)
        if self.sampler is not None:
            self.sampler.clear()
        self.counts = new_counts(self.model.name)
        self.told: set[str] = set()  # kinds of warnings that Python was told of in this run
        self._changed()
        self._restart_controllers()

    def state(self, world: int = 0) -> tuple[Reals, Reals]:
        """Positions [nq] and velocities [nv] of the joints of `model` in a world: copies, alike in both solvers."""
        (w,) = numbers_of_worlds(world, self.worlds)
        return scene_state(self, joint_map(self.model, self.inner), w)[:2]

    def set_state(self, q: Any = None, v: Any = None, *, world: Any = None, close: bool = False) -> None:
        """Begin anew from positions q and velocities v of the joints of `model`, at the present time with the present
        inputs: the next step is that of a fresh simulation there. Contacts, warm starts, samples of sensors and what
        actuators store are forgotten.

        q: [nq], one for all worlds, [nq, worlds], or values by the names of joints; v: [nv] likewise; what is left out
        stays. world: a number, several, or None for all. Loops and couplings must hold within 1e-6; with close, joints
        that are not named move to where they do, as in `sharnir.dynamics.close_loops`. Where only q is given, v becomes
        the nearest that keeps loops closed.
        """
        set_state(self, q, v, world, close)

    def save(self) -> Saved:
        """All that a continuation needs, bit for bit."""
        return Saved(
            solver=self.solver, model=self.model.fingerprint, dt=self._dt, since=self._since, steps=self._steps,
            arrays=self.impulses.saved() | ({} if self.sampler is None else self.sampler.saved()),
        )  # fmt: skip

    def restore(self, saved: Saved) -> None:
        """Continue from what `save` returned, of this or another simulation of the same model."""
        if not isinstance(saved, Saved):
            raise fail("restore", "not a saved state", shown(saved), "what Simulation.save returns")
        present = self.impulses.saved()
        saved.check(self.solver, self.model.fingerprint, {name: x.shape for name, x in present.items()})
        self.impulses.restore(saved.arrays)
        if self.sampler is not None:
            self.sampler.restore(saved.arrays)
        self.dt = saved.dt
        self._since, self._steps = saved.since, saved.steps
        self._changed()
        self._restart_controllers()

    @property
    def dt(self) -> float:
        """The step, s; may be changed between steps."""
        return self._dt

    @dt.setter
    def dt(self, value: float) -> None:
        now = self.time
        self._dt = self._checked_dt(value)
        self._set_time(now)
        self.impulses.set(self.settings, self._dt)
        self._changed()

    def configure(self, **settings: Any) -> None:
        """Change settings between steps; a change of method starts anew from the present positions and velocities."""
        from dataclasses import asdict

        before, velocities = self.settings, self.v.copy()
        self.settings = settings_from(asdict(self.settings) | settings)
        self.impulses.set(self.settings, self._dt)
        if before.method != self.settings.method:
            state = self.impulses.state
            self.impulses.start(state.q.numpy(), velocities.reshape(-1, self.worlds), state.loop_q.numpy())
        self._changed()

    @property
    def time(self) -> float:
        """s, simulated so far."""
        return self._since + self._steps * self._dt

    def _set_time(self, time: float) -> None:
        self._since, self._steps = time, 0  # a sum of many dt would collect rounding

    def record(self, path: str | Path, *, rate: float = 60.0, seed: int | None = None) -> Recorder:
        """Record all steps from now on to a new file, until the recorder is closed: `with sim.record("run.mcap"): …`.

        rate: states, poses and joint states written per second of simulated time. seed: of whatever random numbers
        drive the simulation, for the record. See docs/recording.md.
        """
        from sharnir.recording.write.recorder import Recorder

        self.recorder = recorder = Recorder(self, path, rate, seed)
        return recorder

    # running

    def step(self, steps: int = 1, *, like: Report | None = None) -> Report:
        """Advance by some steps; the report of the last, with warnings of all. Controllers are called where due.

        like: the report of a step to replay: its iterations end where that step's did, whatever the clock says.
        """
        if like is None and steps.__class__ is int and 0 < steps <= MAX_STEPS_PER_LAUNCH and self._runs_freely():
            self._take_steps(steps)
            free = evaluate_steps(self, steps)
            if free.warnings:
                tell_new_warnings(self, free.warnings)
            return free
        asked = steps = require_positive_int("steps", steps)
        report = None
        found: tuple[ReportWarning, ...] = ()
        while steps > 0:
            chunk = min(steps, self._until_sample(), self._call_controllers())
            chunk = chunk if like is None else 1
            if self.recorder is not None:
                self.recorder.before()
            report = self._advance(chunk, like)
            found += report.warnings
            steps -= chunk
        assert report is not None
        return with_warnings(report, found, asked)

    def run(self, duration: float, *, realtime: bool = False, progress: bool = False) -> Report:
        """Advance by `duration` seconds, rounded to whole steps; the report of the last one, with warnings of all.

        realtime: keep pace with the wall clock; steps that begin late by more than one step are counted, and not caught
        up. Ctrl-C ends the run after the present steps by a KeyboardInterrupt; the simulation can go on from there.
        """
        duration = number("run", "duration", duration, above=0)
        return run_steps(self, max(1, round(duration / self._dt)), realtime, progress)

    def add_controller(self, function: Controller, rate: float | None = None) -> None:
        """Call function(simulation) `rate` times a second of simulated time, or before every step; first at once.

        It reads what it likes and writes `control`, motors' targets, actuators' inputs and applied wrenches. Where it
        has a method `restart(simulation)`, that is called after the simulation was reset or restored.
        """
        if not callable(function):
            raise fail("add_controller", "cannot be called", shown(function), "a function of the simulation")
        period = 0.0 if rate is None else 1.0 / number("add_controller", "rate", rate, above=0)
        self._controllers.append((function, period, self.time))

    def _restart_controllers(self) -> None:
        """All are due now; those that know of the past forget it."""
        self._controllers = [(f, period, self.time) for f, period, _ in self._controllers]
        for function, _, _ in self._controllers:
            restart = getattr(function, "restart", None)
            if callable(restart):
                restart(self)

    def _call_controllers(self) -> int:
        """Call those that are due; steps until the next is."""
        until = MAX_STEPS_PER_LAUNCH
        if not self.controllers_act:
            return until
        for k, (function, period, due) in enumerate(self._controllers):
            if self.time >= due - 1e-9 * max(period, self._dt):
                function(self)
                following = due + period
                self._controllers[k] = (function, period, following if following > self.time else self.time + period)
            wait = int(np.ceil((self._controllers[k][2] - self.time) / self._dt - 1e-9)) if period > 0 else 1
            until = min(until, max(1, wait))
        return until

    def _until_sample(self) -> int:
        """Steps until a sensor takes its next sample."""
        if self.sampler is None:
            return MAX_STEPS_PER_LAUNCH
        self.sampler.take(self)
        return self.sampler.wait(self)

    def _runs_freely(self) -> bool:
        """Whether nothing here is told of steps or called between them."""
        return not self._controllers and self.sampler is None and self.recorder is None

    def _advance(self, steps: int, like: Report | None) -> Report:
        if like is not None:
            self.impulses.set(self.settings, self._dt, like.counts)
        reports = None
        if self.recorder is None:
            self._take_steps(steps)
        else:
            reports = self._take_observed_steps(steps, self.recorder)
        if like is not None:
            self.impulses.set(self.settings, self._dt)
        report = evaluate_steps(self, steps, reports)
        if self.sampler is not None:
            self.sampler.take(self)
        if report.warnings:
            tell_new_warnings(self, report.warnings)
        return report

    def _take_steps(self, steps: int) -> None:
        self.impulses.step(steps)
        self._steps += steps
        self._placed = self._observed = self._reacted = False

    def _take_observed_steps(self, steps: int, observer: StepObserver) -> np.ndarray:
        """The same one by one, each told to an observer; their reports."""
        reports = []
        for _ in range(steps):
            self._take_steps(1)
            observer.after()
            reports.append(self.impulses.reports(1).copy())
        return np.concatenate(reports)

    # what there is to see

    def _changed(self) -> None:
        """All that was seen is of the past."""
        self._placed = self._observed = self._reacted = False

    def _pushed(self) -> None:
        """Forces are others: poses stay, velocities and reactions do not."""
        self._placed, self._observed, self._reacted = self._placed or self._observed, False, False

    def contacts(self, body: str | None = None, other: str | None = None, *, world: int = 0) -> list[Contact]:
        """Points where shapes touched in the last step, of all bodies, of one, or of a pair; "world" is a body too."""
        return read_contacts(self, body, other, world)

    def seen(self, name: str) -> Reals:
        """An array of what the present state shows, computed when it is first asked for."""
        if name in ("wrench", "loop_wrench"):
            if not self._reacted:
                self.impulses.compute_reactions(self.settings, self._dt)
                self._check_capacity()
                self._reacted = True
        elif name in ("position", "rotation"):
            if not (self._placed or self._observed):
                self.impulses.compute_poses()
                self._placed = True
        elif not self._observed:
            self.impulses.observe()
            self._check_capacity()
            self._observed = True
        return self._column(self.impulses.observations[name])

    def _check_capacity(self) -> None:
        found = self.impulses.contacts_found()
        check_capacity(self, int(found.max()), -int(found.min()))

    def _column(self, array: Any) -> Reals:
        """[items] for one world, [items, worlds] for more, only read; a view on the CPU."""
        values = self.impulses.shown(array)
        return np.asarray(values[:, 0] if self.worlds == 1 else values)

    @property
    def applied_control(self) -> Any:
        """Warp array [nc, worlds] of the forces on coordinates that a user applies."""
        return self.impulses.state.control

    @property
    def q(self) -> Reals:
        """Positions of the solver's model (`inner`), [nq] or [nq, worlds]."""
        return self._column(self.impulses.state.q)

    @property
    def v(self) -> Reals:
        """Velocities of the solver's model at the time of q, [nv] or [nv, worlds]."""
        return self.seen("v")

    @property
    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy, J (of the first world)."""
        kinetic, potential = self.seen("energy").reshape(2, -1)[:, 0]
        return float(kinetic), float(potential)

    def joint(self, name: str) -> JointView:
        """A joint: position, velocity, control, forces."""
        return JointView(self, name)

    def body(self, name: str) -> BodyView:
        """A body: pose, velocity, applied wrench."""
        return BodyView(self, name)

    def actuator(self, name: str) -> ActuatorView:
        """An actuator, or a DC motor as one: input and force."""
        return ActuatorView(self, name)

    def dc_motor(self, name: str) -> DCMotorView:
        """A DC motor: voltage, current, torque, brake, powers."""
        return DCMotorView(self, name)

    def sensor(self, name: str) -> Any:
        """What a sensor shows now: a number or a vector (sharnir.Sensor)."""
        from sharnir.sensors.samples import read_sensor

        return read_sensor(self, name)

    def motor(self, name: str) -> MotorView:
        """A motor: target and force."""
        return MotorView(self, name)

    def _checked_dt(self, dt: float) -> float:
        return number("simulation", "dt", dt, above=0, most=1.0)


__all__ = ["Report", "Settings", "Simulation"]
