"""A recording that was made: its times, states and events; continued from any moment, checked step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

import sharnir
from sharnir.checks import number
from sharnir.compiler import compile
from sharnir.errors import ModelError, RecordingError, fail, shown
from sharnir.impulse.engine import default_capacity
from sharnir.kernels.target import NATIVE, get_target
from sharnir.model.model import Model, Reals
from sharnir.precision import get_precision
from sharnir.recording import channels
from sharnir.recording.channels import CONTACT, Event, Snapshot, State, Step
from sharnir.recording.header import opened, parsed
from sharnir.recording.read.mcap_file import McapFile, Place, Places
from sharnir.recording.write.messages import SCENE
from sharnir.rotations import quat_to_matrix
from sharnir.spec.file import scene_from
from sharnir.spec.scene import Scene, checked_roots

if TYPE_CHECKING:
    from sharnir.simulation.simulate import Trajectory
    from sharnir.simulation.simulation import Simulation

M = TypeVar("M")
LEAST_ROOM = 2**14  # contacts, or pairs of shapes, that any recording may have room for
MORE_ROOM = 4  # times as much as is usual for its scene


class Difference(NamedTuple):
    """The first step whose hash differs from the recorded one."""

    step: int
    t: float  # s, at its end


def open_recording(path: str | Path, roots: Sequence[str | Path] = ()) -> Recording:
    """A recording, for looking at it and going on from it; a RecordingError says what is wrong with its file. roots:
    folders, besides its own, that meshes which its scene shows may lie in."""
    if not isinstance(path, (str, Path)):
        raise fail("recording", "not a path", shown(path), "text or a Path")
    return Recording(Path(path), checked_roots(roots))


class Recording:
    """What a file that `Simulation.record` wrote holds. Times are s on the clock of the recording: the simulation's
    own, but that goes on where the simulation was reset."""

    def __init__(self, path: Path, roots: Sequence[Path] = ()) -> None:
        self.path, self._roots = path, roots
        self._file = McapFile(path)
        if "sharnir" not in self._file.metadata or SCENE not in self._file.attachments:
            raise self._file.trouble("holds no scene")
        try:
            self.header = opened(self._file.metadata["sharnir"])
        except ValueError as error:
            raise self._file.trouble(str(error)) from None
        self._snapshots = [self._read(Snapshot.read, place) for place in self._places(channels.SNAPSHOT)]
        if not self._snapshots:
            raise self._file.trouble("was cut off before its first state")

    def __repr__(self) -> str:
        return f"<Recording {str(self.path)!r}: {self.steps} steps to t = {self.end:g} s>"

    # what it holds

    @property
    def complete(self) -> bool:
        """Whether it was closed; False where whoever wrote it was killed, or had no room left."""
        return self._file.complete

    @property
    def steps(self) -> int:
        """How many were recorded."""
        return len(self._places(channels.STEP))

    @property
    def start(self) -> float:
        """When it begins, s."""
        return self._snapshots[0].t

    @cached_property
    def end(self) -> float:
        """When its last step ends, s."""
        return self.step(self.steps).t if self.steps else self.start

    @cached_property
    def scene(self) -> Scene:
        """What was simulated."""
        return scene_from(self._file.attachments[SCENE], self.path, self._roots)

    @cached_property
    def model(self) -> Model:
        """Its model, which must be the recorded one."""
        model = compile(self.scene)
        if model.fingerprint != self.header["model"]:
            there = f"{self.header['model']} by sharnir {self.header['sharnir']}"
            raise self._file.trouble(f"its scene compiles to {model.fingerprint} here, and to {there}")
        return model

    @cached_property
    def times(self) -> Reals:
        """[n] s, of the states recorded."""
        return np.array([state.t for state in self._states])

    @cached_property
    def events(self) -> list[Event]:
        """What began and ended, in the order of time."""
        return [self._read(Event.read, place) for place in self._places(channels.EVENT)]

    def step(self, number: int) -> Step:
        """A step, from 1."""
        if not 1 <= number <= self.steps:
            raise fail(f"recording {self.path}", "has no such step", repr(number), f"1 to {self.steps}")
        step = self._read(Step.read, self._places(channels.STEP)[number - 1])
        if step.step != number:
            raise self._file.trouble(f"step {number} is numbered {step.step}")
        return step

    def state(self, t: float) -> State:
        """The last state recorded until a time, the first one before it."""
        return self._states[self._nearest(t)]

    def poses(self, t: float) -> tuple[Reals, Reals]:
        """Positions [nb, 3] (m) and rotations [nb, 3, 3] of the bodies of that state."""
        pose = self.body_poses[self._nearest(t)]
        return pose[:, :3], np.array([quat_to_matrix(q) for q in pose[:, 3:]]).reshape(-1, 3, 3)

    @cached_property
    def body_poses(self) -> Reals:
        """[n, nb, 7] position (m) and quaternion (x, y, z, w) of every body at every recorded state."""
        nb = self.model.nb
        rows = [self._read(lambda data: channels.read_poses(data, nb), p) for p in self._places(channels.TF)]
        return np.array(rows[: len(self._states)]).reshape(-1, nb, 7)

    def trajectory(self) -> Trajectory:
        """The states as `sharnir.simulate` returns them, for plots and tables."""
        from sharnir.simulation.simulate import Trajectory

        states, model = self._states, self.model
        names = ("t", "q", "v", "loop_q", "loop_v", "kinetic", "potential")
        columns: dict[str, Any] = {n: np.array([getattr(s, n) for s in states]) for n in names}
        columns["control"] = np.array([s.control[: model.nv] for s in states])
        nothing = np.full(len(states), np.nan)
        error = np.column_stack([[s.position_error for s in states], nothing])
        return Trajectory(
            model=model, solver=self.header["solver"], method=parsed(self.header["settings"])["method"],
            dt=float(self.header["dt"]), work=nothing, evaluations=self.steps, seconds=np.nan, loop_error=error,
            finished=self.complete, system=None, **columns,
        )  # fmt: skip

    # going on

    def resume(self, t: float) -> Simulation:
        """A simulation that goes on from the end of the last step until a time, bit for bit, without controllers."""
        from sharnir.recording.read.replay import replayed

        t = number("resume", "time", t)
        if not self.start - 1e-9 <= t <= self.end + 1e-9:
            raise fail("resume", "time is out of range", repr(t), f"{self.start:g} to {self.end:g} s")
        return replayed(self, t)

    def verify(self, watch: Callable[[float], object] = lambda t: None) -> Difference | None:
        """Simulate it again from its inputs; the first step that comes out otherwise, which `describe` puts in words.
        watch: is told the time."""
        from sharnir.recording.read.replay import first_difference

        return first_difference(self, watch)

    def describe(self, found: Difference) -> str:
        """What `verify` found, in words: the step; of a file by another version, that its numbers come out otherwise
        now, which says nothing of any step."""
        written = self.header["sharnir"]
        if written != sharnir.__version__:
            return (
                f"steps of sharnir {written} come out otherwise in {sharnir.__version__}: numerics changed since, see "
                '"Numerics" in CHANGELOG.md'
            )
        if (target := self.header.get("target", NATIVE)) != get_target():
            return (
                f"steps were computed by code for {target}, here it is for {get_target()}: bits differ, which says "
                f"nothing of any step; with SHARNIR_TARGET={target} it can be verified"
            )
        return f"step {found.step} differs, at t = {found.t:.6g} s: the first of {self.steps}"

    def elsewhere(self) -> str:
        """In which ways this process differs from the recorded one so that bits may differ; empty if in none."""
        from sharnir.recording.write.task import environment

        here = environment()
        there = {k: self.header.get(k, NATIVE) for k in here}  # before 0.3.0 all was compiled for the processor at hand
        return ", ".join(f"{k} {there[k]} there, {v} here" for k, v in here.items() if v != there[k])

    # for replays

    @property
    def snapshots(self) -> list[Snapshot]:
        """All that were written, in the order of time."""
        return self._snapshots

    def all_steps(self, first: int = 1) -> Iterator[Step]:
        """Steps from a number on."""
        for k in range(first, self.steps + 1):
            yield self.step(k)

    def simulation(self) -> Simulation:
        """A simulation such as the recorded one, at its start."""
        from sharnir.simulation.simulation import Simulation

        h = self.header
        if h["precision"] != get_precision():
            raise fail(f"recording {self.path}", "has another precision", h["precision"], f"{get_precision()} here")
        try:
            options: dict[str, Any] = {name: self._room(name) for name in ("contacts", "pairs") if int(h[name]) > 0}
            options |= parsed(h["settings"])
            return Simulation(self.model, solver=h["solver"], dt=float(h["dt"]), **options)
        except (ValueError, TypeError) as error:
            if isinstance(error, ModelError):
                raise
            raise self._file.trouble(f"its header is spoilt: {error}") from None

    def _room(self, name: str) -> int:
        """For contacts, or pairs of shapes, as the header has it: no more than such a scene may need."""
        room, usual = int(self.header[name]), max(default_capacity(len(self.model.shape_kind)))
        if room > max(LEAST_ROOM, MORE_ROOM * usual):
            raise self._file.trouble(f"its room for {name} is {room}, where {usual} are usual")
        return room

    @cached_property
    def _states(self) -> list[State]:
        states = [self._read(State.read, place) for place in self._places(channels.STATE)]
        if len(states) > len(self._places(channels.TF)) or not states:
            raise self._file.trouble("holds states without poses, or none")
        sizes = {(len(s.q), len(s.v), len(s.loop_q), len(s.loop_v), len(s.control)) for s in states}
        m = self.model
        if sizes != {(m.nq, m.nv, int(m.loop_q_start[-1]), int(m.loop_v_start[-1]), m.nc)}:
            raise self._file.trouble("holds states of another model")
        return states

    def _nearest(self, t: float) -> int:
        return max(0, int(np.searchsorted(self.times, t + 1e-9, side="right")) - 1)

    def _places(self, topic: str) -> Places:
        return self._file.messages.get(topic, Places())

    def _read(self, read: Callable[[Any], M], place: Place) -> M:
        try:
            return read(self._file.read(place))
        except ValueError as error:
            raise self._file.trouble(f"a message is spoilt: {error}") from None


__all__ = ["CONTACT", "Difference", "Recording", "RecordingError", "open_recording"]
