"""A simulation as the source of a viewer: it obeys commands, follows the operator, keeps pace and fills frames."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sharnir.drawing.pieces import Poses
from sharnir.enums import MotorMode
from sharnir.errors import SharnirError
from sharnir.model.model import Model
from sharnir.rotations import Array
from sharnir.simulation.simulation import SOLVERS, Simulation
from sharnir.simulation.snapshot import Saved
from sharnir.simulation.switch_solver import with_solver
from sharnir.viewer.channel import AXES, TEXT, Sizes
from sharnir.viewer.commands import Bounds, Command, Kind, bounds_of
from sharnir.viewer.input_mapping import Mapping
from sharnir.viewer.readouts import mechanisms, readouts
from sharnir.viewer.source.observer import Observer
from sharnir.viewer.source.pace import Pace
from sharnir.viewer.source.pull import Pull

DRIVING = (Kind.MOTOR, Kind.ACTUATOR, Kind.TORQUE, Kind.GRAB, Kind.PULL)  # what an emergency stop forbids
SEEN = (("position", 3), ("rotation", 9))  # what is asked of a simulation, and numbers for each body


class Source(Protocol):
    """What a viewer shows: a simulation, or a recording that is played."""

    model: Model

    def poses(self) -> Poses:
        """Where the bodies are."""

    def sizes(self) -> Sizes:
        """Of its frames."""

    def bounds(self) -> dict[Kind, Bounds]:
        """The commands it obeys."""

    def obey(self, command: Command) -> None:
        """Do what a judged command asks."""

    def steer(self, axes: Array | None) -> None:
        """Follow the operator's axes; None: there is no operator, or none that was heard of lately."""

    def advance(self, now: float) -> None:
        """Go on to the present, s of the wall clock."""

    def fill(self, frame: Any) -> None:
        """Write the present moment to a frame."""


def poses_of(simulation: Simulation) -> Poses:
    """Where the bodies are, of the first world."""
    nb = simulation.model.nb
    position, rotation = (simulation.seen(name).reshape(k * nb, -1)[:, 0] for name, k in SEEN)
    return Poses(position.reshape(nb, 3), rotation.reshape(nb, 3, 3))


class Live:
    """A simulation that is watched and driven. mapping: what the operator's axes move. switchable: the solver may be
    changed, by which `simulation` becomes another one."""

    def __init__(self, simulation: Simulation, mapping: Mapping | None = None, switchable: bool = True) -> None:
        self.simulation, self.model, self.mapping = simulation, simulation.model, mapping
        self.shown = readouts(self.model)
        self.running = self.stopped = False
        self.trouble = ""
        self._switchable = switchable
        self._observer = Observer(simulation, self.shown)
        self._pace = Pace(simulation.dt, time.perf_counter(), simulation.time)
        self._paused = True
        self._axes = np.zeros(AXES)
        self._pull: Pull | None = None
        self._heard = False  # the operator, lately
        self._brakes = np.zeros((len(self.model.actuator_names), 1))  # as they were before an emergency stop
        self._saved: dict[int, Saved] = {}
        self._report = (0.0, 0, 0.0)  # s, iterations, m or rad: of the last step
        self._passed = 0.0  # s, simulated since the operator was last followed
        group = mechanisms(self.model)
        self._mechanism = np.bincount(group, weights=self.model.mass)[group]
        self._orders: dict[Kind, Callable[[Command], None]] = {
            Kind.RUN: self._run, Kind.PAUSE: self._pause, Kind.STEP: self._step, Kind.RESET: self._reset,
            Kind.SPEED: self._speed, Kind.SOLVER: self._solver, Kind.DT: self._dt, Kind.BUDGET: self._budget,
            Kind.MOTOR: self._motor, Kind.ACTUATOR: self._actuator, Kind.TORQUE: self._torque, Kind.SAVE: self._save,
            Kind.RESTORE: self._restore, Kind.GRAB: self._grab, Kind.PULL: self._drag, Kind.LET_GO: self._let_go,
            Kind.STOP: self._stop, Kind.CLEAR: self._clear,
        }  # fmt: skip

    def poses(self) -> Poses:
        """Where the bodies are."""
        return poses_of(self.simulation)

    def sizes(self) -> Sizes:
        """Of its frames."""
        return self._observer.sizes()

    def bounds(self) -> dict[Kind, Bounds]:
        """The commands it obeys."""
        known = bounds_of(self.model, [c.most for c in self.shown.coordinates], len(SOLVERS))
        return {kind: known[kind] for kind in self._orders if kind != Kind.SOLVER or self._switchable}

    def obey(self, command: Command) -> None:
        """Do what a command asks; what cannot be done is said on the page."""
        if self.stopped and command.kind in DRIVING:
            return
        try:
            self._orders[command.kind](command)
        except SharnirError as error:
            self.trouble = str(error)

    # running

    def _run(self, _: Command) -> None:
        self.running, self.trouble = True, ""

    def _pause(self, _: Command) -> None:
        self.running = False

    def _step(self, _: Command) -> None:
        self.running, self.trouble = False, ""
        self._take(1)

    def _reset(self, command: Command) -> None:
        self._let_go(command)
        self.simulation.reset()
        self._paused, self.trouble, self._axes = True, "", np.zeros(AXES)

    def _speed(self, command: Command) -> None:
        self._pace.speed = command.values[0]
        self._paused = True

    def _solver(self, command: Command) -> None:
        self._use(SOLVERS[command.of])

    def _use(self, solver: str) -> None:
        if solver == self.simulation.solver:
            return
        pulled = self._pull
        self._let_go(None)
        self.simulation = with_solver(self.simulation, solver)
        self._observer.attach(self.simulation)
        self._pull = pulled
        self._paused = True

    def _dt(self, command: Command) -> None:
        self.simulation.dt = self._pace.dt = command.values[0]
        self._paused = True

    def _budget(self, command: Command) -> None:
        self.simulation.configure(budget=command.values[0] or None)

    def _save(self, command: Command) -> None:
        self._saved[command.of] = self.simulation.save()

    def _restore(self, command: Command) -> None:
        if command.of in self._saved:
            saved = self._saved[command.of]
            self._let_go(None)
            self._use(saved.solver)
            self.simulation.restore(saved)
            self._pace.dt, self._paused, self.trouble = saved.dt, True, ""

    # driving

    def _motor(self, command: Command) -> None:
        self.simulation.motor(self.model.motor_names[command.of]).target = command.values[0]

    def _actuator(self, command: Command) -> None:
        self.simulation.actuator(self.model.actuator_names[command.of]).input = command.values[0]

    def _torque(self, command: Command) -> None:
        shown = self.shown.coordinates[command.of]
        joint = self.simulation.joint(shown.joint)
        control = np.array(joint.control)
        control[shown.number] = command.values[0]
        joint.control = control

    def _grab(self, command: Command) -> None:
        self._let_go(command)
        point, target = np.array(command.values[:3]), np.array(command.values[3:])
        self._pull = Pull(self.simulation, command.of, float(self._mechanism[command.of]), point, target)

    def _drag(self, command: Command) -> None:
        if self._pull is not None:
            self._pull.target[:] = command.values

    def _let_go(self, _: Command | None) -> None:
        if self._pull is not None:
            self._pull.let_go(self.simulation)
            self._pull = None

    def _stop(self, command: Command) -> None:
        """Emergency stop: velocities to zero, positions held, forces off, brakes on; nobody drives until it is cleared,
        controllers of the program neither."""
        if self.stopped:
            return
        self.stopped = True
        self.simulation.controllers_act = False
        self._let_go(command)
        brakes = self.simulation.impulses.state.actuator_brake
        self._brakes = brakes.numpy().copy()
        brakes.assign(np.where(self.model.actuator_brake[:, None] > 0, 1.0, self._brakes).astype(self._brakes.dtype))
        self._axes[:] = 0.0
        self.simulation.applied_control.zero_()
        model, positions = self.model, self._positions()
        for number, name in enumerate(model.motor_names):
            held = (
                positions(int(model.motor_coordinate[number]))
                if model.motor_mode[number] == MotorMode.POSITION
                else 0.0
            )
            self.simulation.motor(name).target = held
        for number, name in enumerate(model.actuator_names):
            rows = slice(*model.actuator_start[number : number + 2])
            terms = zip(model.actuator_coordinate[rows], model.actuator_gear[rows], strict=True)
            path = sum(float(gear) * positions(int(c)) for c, gear in terms)
            gain, spring = float(model.actuator_gain[number, 0]), float(model.actuator_bias[number, 1])
            self.simulation.actuator(name).input = -spring / gain * path if gain else 0.0

    def _positions(self) -> Callable[[int], float]:
        """Of coordinates c of the scene's model."""
        coordinates = {self.model.coordinate(c.joint, c.number): c for c in self.shown.coordinates}

        def position(c: int) -> float:
            shown = coordinates.get(c)
            return 0.0 if shown is None else float(self.simulation.joint(shown.joint).position[shown.number])

        return position

    def _clear(self, _: Command) -> None:
        if self.stopped:
            self.stopped = False
            self.simulation.controllers_act = True
            self.simulation.impulses.state.actuator_brake.assign(self._brakes)

    def steer(self, axes: Array | None) -> None:
        """Follow the operator; who is silent is neutral, and pulls nothing."""
        self._heard = axes is not None
        if self._pull is not None and not self._heard:
            self._pull.let_go(self.simulation)
        wanted = np.zeros(AXES) if axes is None or self.stopped else axes
        changed, passed = bool((wanted != self._axes).any()), self._passed
        self._axes, self._passed = wanted, 0.0
        if self.mapping is None or self.stopped or not (changed or wanted.any()):
            return
        for output in self.mapping.outputs:
            if output.motor is not None:
                motor = self.simulation.motor(self.model.motor_names[output.motor])
                motor.target = output.moved(float(motor.target), wanted, passed)
            elif output.actuator is not None:
                actuator = self.simulation.actuator(self.model.actuator_names[output.actuator])
                actuator.input = output.moved(float(actuator.input), wanted, passed)

    # time

    def advance(self, now: float) -> None:
        """Take the steps that are due."""
        if self.running and self._paused:
            self._pace.start(now, self.simulation.time)
        self._paused = not self.running
        if self.running:
            self._take(self._pace.due(now, self.simulation.time))

    def _take(self, steps: int) -> None:
        """Take steps; where the motion cannot go on, say why and pause."""
        sim = self.simulation
        if steps == 0:
            return
        try:
            pull = self._pull if self._heard else None
            for _ in range(1 if pull is None else steps):
                if pull is not None:
                    pull.apply(sim)
                report = sim.step(steps if pull is None else 1)
            self._report = report.seconds, report.iterations, report.position_error
            self._passed += steps * sim.dt
        except SharnirError as error:
            self.trouble, self.running = str(error), False

    def fill(self, frame: Any) -> None:
        """Write the present moment to a frame."""
        self._observer.fill(frame)
        frame["seconds"], frame["iterations"], frame["error"] = self._report
        frame["speed"], frame["solver"] = self._pace.speed, SOLVERS.index(self.simulation.solver)
        frame["factor"] = 0.0 if self._paused or self._pace.factor is None else self._pace.factor
        frame["running"], frame["stopped"], frame["saved"] = self.running, self.stopped, saved_bits(self._saved)
        frame["axes"] = self._axes
        frame["pulled"] = self._pull is not None
        if self._pull is not None:
            frame["pull"][0], frame["pull"][1] = self._pull.point(self.simulation), self._pull.target
        frame["text"] = self.trouble.encode()[:TEXT]


def saved_bits(saved: dict[int, Saved]) -> int:
    """Which places hold a state, as bits."""
    return sum(1 << place for place in saved)
