"""From captures of steps to the messages of a recording file."""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

import numpy as np
from mcap.writer import Writer

from sharnir.impulse.row_kinds import CONTACT_IMPULSES
from sharnir.impulse.slots import CONTACT_KEY_SIZE, ContactKey, PrevContact, PrevStep, ReportItem
from sharnir.recording import channels
from sharnir.recording.channels import Event, Snapshot, State, Step
from sharnir.recording.events import Watch
from sharnir.recording.header import sealed
from sharnir.recording.layout import INPUTS, Layout, Part
from sharnir.rotations import matrix_to_quat
from sharnir.simulation.joint_map import JointMap, map_control, map_state
from sharnir.simulation.step_warnings import kinds_of_step

STEP, SNAPSHOT, EVENT = range(3)
HEAD = struct.Struct("<BBxxIQdQdd")
# slots of a report that say where a step ended
ENDS = (ReportItem.CUT_AFTER, ReportItem.PSEUDO_SWEEP_COUNT, ReportItem.CORRECTION_COUNT)
SNAPSHOTS = 10.0  # s, between them
PROFILE, LIBRARY, SCENE = "ros2", "sharnir", "scene.toml"


class Record(NamedTuple):
    """What stands before a capture in the queue."""

    kind: int  # STEP, SNAPSHOT or EVENT
    seen: bool  # whether it has what is seen of the state
    contacts: int
    step: int  # steps recorded so far, this one included
    since: float  # s
    steps: int
    dt: float  # s
    t: float  # s, on the clock of the recording


class Messages:
    """The file's messages. task: what the recorder says of the simulation; out: where bytes go."""

    def __init__(self, task: dict[str, Any], out: Any, chunk: int) -> None:
        self._layout = Layout(*(tuple(Part(*p) for p in parts) for parts in task["layout"]))
        self._task, self._joints = task, JointMap(*task["joint_map"])
        self._watch = Watch(task["shape_bodies"], [(name, place) for name, place in task["limits"]])
        self._settings, self._budget = "", None
        self._next = 0.0
        self._writer = Writer(out, chunk_size=chunk)
        self._writer.start(PROFILE, LIBRARY)
        self._writer.add_metadata("sharnir", sealed(task["facts"]))
        self._writer.add_attachment(0, 0, SCENE, "application/toml", task["scene"].encode())
        self._channels = {}
        for topic, (name, text) in channels.SCHEMAS.items():
            schema = self._writer.register_schema(name, "ros2msg", text.encode())
            self._channels[topic] = self._writer.register_channel(topic, "cdr", schema)

    def add(self, record: memoryview) -> None:
        """Write what a record of the queue says."""
        head = Record(*HEAD.unpack_from(record))
        data = record[HEAD.size :]
        if head.kind == EVENT:
            kind, what = json.loads(data.tobytes())
            self._put(channels.EVENT, head, Event(head.t, kind, what, True).write())
            return
        size = self._layout.size(head.contacts)
        if head.kind == SNAPSHOT:
            reason, self._settings = json.loads(data[size + head.seen * self._layout.seen_bytes :].tobytes())
            self._budget = json.loads(self._settings)["budget"]
            self._snapshot(head, data[:size], reason)
            if reason != "start":
                self._put(channels.EVENT, head, Event(head.t, reason, "by hand", True).write())
        else:
            self._step(head, data)
        if head.seen:
            self._state(head, data)

    def flush(self) -> None:
        """End the chunk and write it."""
        self._writer.flush()

    def finish(self) -> None:
        """Write the last chunk, the indexes and the end of the file."""
        self._writer.finish()

    def _put(self, topic: str, head: Record, data: bytes) -> None:
        at = nanoseconds(head.t)
        self._writer.add_message(self._channels[topic], at, data, at, head.step & 0xFFFFFFFF)

    def _step(self, head: Record, data: memoryview) -> None:
        layout = self._layout
        report = layout.array(data, "report").tolist()
        seconds = report[ReportItem.STEP_TICKS] / self._task["ticks_per_second"]
        step = Step(
            step=head.step, t=head.t, since=head.since, steps=head.steps, dt=head.dt,
            hash=layout.hash(data, head.contacts), sweeps=int(report[ReportItem.SWEEP_COUNT]),
            reason=int(report[ReportItem.STOP_REASON]), seconds=seconds, residual=report[ReportItem.SWEEP_RESIDUAL],
            position_error=report[ReportItem.POSITION_ERROR],
            ends=(report[ENDS[0]], report[ENDS[1]], report[ENDS[2]]),
            **{word: layout.array(data, name) for word, name in INPUTS.items()},
        )  # fmt: skip
        self._put(channels.STEP, head, step.write())
        contacts = layout.contact_arrays(data, head.contacts)
        over = self._budget is not None and seconds > self._budget
        for event in self._watch.step(head.t, layout.array(data, "p"), contacts, over):
            self._put(channels.EVENT, head, event.write())
        for event in self._watch.warnings(head.t, kinds_of_step(report)):
            self._put(channels.EVENT, head, event.write())
        if head.t >= self._next:
            self._snapshot(head, data[: layout.size(head.contacts)], "regular")

    def _snapshot(self, head: Record, data: memoryview, reason: str) -> None:
        """A regular one is of the end of a step, the others are of the start of the next one."""
        steps = head.steps + (reason == "regular")
        self._next = head.t + SNAPSHOTS
        snapshot = Snapshot(
            step=head.step, t=head.t, since=head.since, steps=steps, dt=head.dt, reason=reason,
            settings=self._settings, contacts=head.contacts, data=data.tobytes(),
        )  # fmt: skip
        self._put(channels.SNAPSHOT, head, snapshot.write())

    def _state(self, head: Record, data: memoryview) -> None:
        layout, task = self._layout, self._task
        seen = layout.seen_arrays(data, head.contacts)
        q = np.concatenate([layout.array(data, name) for name in ("q", "loop_q")])
        positions, rates = map_state(self._joints, q, np.concatenate([seen["v"], seen["loop_v"]]), seen)
        nq, nv = task["sizes"]
        kinetic, potential = seen["energy"].tolist()
        error = float(layout.array(data, "report")[ReportItem.POSITION_ERROR])
        shapes, values = self._contacts(data, head.contacts)
        control = map_control(self._joints, layout.array(data, "control"))
        state = State(
            step=head.step, t=head.t, q=positions[:nq], v=rates[:nv], loop_q=positions[nq:], loop_v=rates[nv:],
            kinetic=kinetic, potential=potential, position_error=error, control=control,
            contact_shapes=shapes, contacts=values,
        )  # fmt: skip
        self._put(channels.STATE, head, state.write())
        at, bodies = nanoseconds(head.t), task["bodies"]
        turns = [matrix_to_quat(R) for R in seen["rotation"].reshape(-1, 3, 3).astype(float)]
        poses = np.column_stack([seen["position"].reshape(-1, 3), np.array(turns).reshape(-1, 4)])
        self._put(channels.TF, head, channels.write_transforms(at, bodies, poses))
        numbers = task["joint_states"]
        angles, speeds = positions[numbers["q"]], rates[numbers["v"]]
        self._put(channels.JOINTS, head, channels.write_joints(at, numbers["names"], angles, speeds))

    def _contacts(self, data: memoryview, count: int) -> tuple[Any, Any]:
        """Shapes and numbers of the contacts of a state."""
        arrays, shapes = self._layout.contact_arrays(data, count), len(self._task["shape_bodies"])
        if count == 0:
            return np.zeros(0, np.int32), np.zeros(0)
        duration = float(self._layout.array(data, "prev_step")[PrevStep.FORCE_TIME]) or 1.0
        codes = arrays["prev_contact_keys"][ContactKey.PAIR :: CONTACT_KEY_SIZE]
        pairs = np.stack(np.divmod(codes, shapes), axis=1)
        geometry = arrays["prev_contact_geometry"].reshape(count, PrevContact.SIZE)[:, : PrevContact.CHORD]
        wrench = arrays["prev_contact_impulse"].reshape(count, CONTACT_IMPULSES) / duration
        values = np.concatenate([geometry, wrench], axis=1, dtype=float)
        return pairs.reshape(-1), values.reshape(-1)


def nanoseconds(t: float) -> int:
    """A time as MCAP has it."""
    return max(0, round(1e9 * t))
