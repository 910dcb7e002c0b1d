"""Channels of a recording: topics, schemas and messages, all of ROS 2, so that its tools and Foxglove read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sharnir.model.model import Reals
from sharnir.recording.cdr import Reader, Writer
from sharnir.recording.layout import INPUTS

STEP, STATE, SNAPSHOT, EVENT, TF, JOINTS = (
    "/sharnir/step", "/sharnir/state", "/sharnir/snapshot", "/sharnir/event", "/tf", "/joint_states",
)  # fmt: skip
RULE = "\n" + 80 * "=" + "\n"
TIME = RULE + "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec"
HEADER = RULE + "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id" + TIME
SCHEMAS = {
    STEP: (
        "sharnir_msgs/msg/Step",
        "uint64 step\nfloat64 t\nfloat64 since\nuint64 steps\nfloat64 dt\nuint64 hash\nuint32 sweeps\nuint32 reason\n"
        "float64 seconds\nfloat64 residual\nfloat64 position_error\nfloat64[3] ends\n"
        "float64[] control\nfloat64[] applied\nfloat64[] target\nfloat64[] input\nfloat64[] brake",
    ),
    STATE: (
        "sharnir_msgs/msg/State",
        "uint64 step\nfloat64 t\nfloat64[] q\nfloat64[] v\nfloat64[] loop_q\nfloat64[] loop_v\nfloat64 kinetic\n"
        "float64 potential\nfloat64 position_error\nfloat64[] control\nint32[] contact_shapes\nfloat64[] contacts",
    ),
    SNAPSHOT: (
        "sharnir_msgs/msg/Snapshot",
        "uint64 step\nfloat64 t\nfloat64 since\nuint64 steps\nfloat64 dt\nstring reason\nstring settings\n"
        "uint32 contacts\nuint8[] data",
    ),
    EVENT: ("sharnir_msgs/msg/Event", "float64 t\nstring kind\nstring what\nuint8 begins"),
    TF: (
        "tf2_msgs/msg/TFMessage",
        "geometry_msgs/TransformStamped[] transforms"
        + RULE + "MSG: geometry_msgs/TransformStamped\nstd_msgs/Header header\nstring child_frame_id\n"
        "geometry_msgs/Transform transform" + HEADER
        + RULE + "MSG: geometry_msgs/Transform\ngeometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation"
        + RULE + "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z"
        + RULE + "MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    ),
    JOINTS: (
        "sensor_msgs/msg/JointState",
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort" + HEADER,
    ),
}  # fmt: skip
CONTACT = 13  # numbers of a contact in a state: point, normal, gap, force, torque


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step as it is recorded: what went into it and what came of it."""

    step: int  # from 1
    t: float  # s, at its end, on the clock of the recording
    since: float  # s, from which the simulation's own clock counted steps
    steps: int  # counted until then
    dt: float  # s
    hash: int  # of inputs and of the state after it
    sweeps: int
    reason: int  # index into sharnir.simulation.step_report.REASONS
    seconds: float  # wall clock
    residual: float  # N s
    position_error: float  # m or rad
    ends: tuple[float, float, float]  # what a replay of it needs
    control: Reals  # [nc of the solver's model] N or N m
    applied: Reals  # [6 nb] N, N m
    target: Reals  # [motors]
    input: Reals  # [actuators]
    brake: Reals  # [actuators] 0 to 1

    def write(self) -> bytes:
        """As a message."""
        out = Writer().put("uint64", self.step).put("float64", self.t, self.since).put("uint64", self.steps)
        out.put("float64", self.dt).put("uint64", self.hash).put("uint32", self.sweeps, self.reason)
        out.put("float64", self.seconds, self.residual, self.position_error, *self.ends)
        for values in (self.control, self.applied, self.target, self.input, self.brake):
            out.array("float64", values)
        return out.done()

    @staticmethod
    def read(data: Any) -> Step:
        """From a message."""
        r = Reader(data)
        head = [r.get(k) for k in ("uint64", "float64", "float64", "uint64", "float64", "uint64", "uint32", "uint32")]
        seconds, residual, error, *ends = (r.get("float64") for _ in range(6))
        names = ("step", "t", "since", "steps", "dt", "hash", "sweeps", "reason")
        inputs = {name: r.array("float64") for name in INPUTS}
        more: dict[str, Any] = dict(zip(names, head, strict=True)) | inputs
        return Step(seconds=seconds, residual=residual, position_error=error, ends=(ends[0], ends[1], ends[2]), **more)


@dataclass(frozen=True, kw_only=True)
class State:
    """A state at a recorded time, in the coordinates of the scene's model."""

    step: int
    t: float  # s, on the clock of the recording
    q: Reals  # [nq]
    v: Reals  # [nv]
    loop_q: Reals
    loop_v: Reals
    kinetic: float  # J
    potential: float  # J
    position_error: float  # m or rad
    control: Reals  # [nc] N or N m
    contact_shapes: NDArray[np.int32]  # [2 contacts] in the order of the model's shapes
    contacts: Reals  # [CONTACT contacts] point (m), normal, gap (m), force on the second (N), torque (N m)

    def write(self) -> bytes:
        """As a message."""
        out = Writer().put("uint64", self.step).put("float64", self.t)
        for values in (self.q, self.v, self.loop_q, self.loop_v):
            out.array("float64", values)
        out.put("float64", self.kinetic, self.potential, self.position_error).array("float64", self.control)
        return out.array("int32", self.contact_shapes).array("float64", self.contacts).done()

    @staticmethod
    def read(data: Any) -> State:
        """From a message."""
        r = Reader(data)
        head: dict[str, Any] = {"step": r.get("uint64"), "t": r.get("float64")}
        head |= {name: r.array("float64") for name in ("q", "v", "loop_q", "loop_v")}
        head |= {name: r.get("float64") for name in ("kinetic", "potential", "position_error")}
        head["control"] = r.array("float64")
        state = State(**head, contact_shapes=r.array("int32"), contacts=r.array("float64"))
        if CONTACT * len(state.contact_shapes) != 2 * len(state.contacts):
            raise ValueError("contacts of a state do not match")
        return state


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """All that a continuation needs. step: how many were recorded before it. reason: "start", "regular", "changed"
    (by other hands than steps) or "settings"."""

    step: int
    t: float
    since: float
    steps: int
    dt: float
    reason: str
    settings: str  # JSON
    contacts: int
    data: bytes  # a capture (sharnir.recording.layout)

    def write(self) -> bytes:
        """As a message."""
        out = Writer().put("uint64", self.step).put("float64", self.t, self.since).put("uint64", self.steps)
        out.put("float64", self.dt).text(self.reason).text(self.settings).put("uint32", self.contacts)
        return out.array("uint8", self.data).done()

    @staticmethod
    def read(data: Any) -> Snapshot:
        """From a message."""
        r = Reader(data)
        names, kinds = ("step", "t", "since", "steps", "dt"), ("uint64", "float64", "float64", "uint64", "float64")
        head: dict[str, Any] = {name: r.get(kind) for name, kind in zip(names, kinds, strict=True)}
        head |= {"reason": r.text(), "settings": r.text(), "contacts": r.get("uint32")}
        return Snapshot(**head, data=r.array("uint8").tobytes())


class Event(NamedTuple):
    """Something that began, ended or happened at a time (s, on the clock of the recording).

    kind: "contact" of two bodies, "limit" of a joint, "overrun" of the time budget; "changed", "settings" and "error"
    only begin.
    """

    t: float
    kind: str
    what: str
    begins: bool

    def write(self) -> bytes:
        """As a message."""
        return Writer().put("float64", self.t).text(self.kind).text(self.what).put("uint8", int(self.begins)).done()

    @staticmethod
    def read(data: Any) -> Event:
        """From a message."""
        r = Reader(data)
        return Event(r.get("float64"), r.text(), r.text(), bool(r.get("uint8")))


def write_transforms(nanoseconds: int, bodies: Sequence[str], poses: Reals) -> bytes:
    """Body frames in the world; poses: [nb, 7] position (m) and quaternion (x, y, z, w)."""
    seconds, rest = divmod(nanoseconds, 10**9)
    out = Writer().put("uint32", len(bodies))
    for name, pose in zip(bodies, poses.tolist(), strict=True):
        out.put("int32", seconds).put("uint32", rest).text("world").text(name).put("float64", *pose)
    return out.done()


def read_poses(data: Any, bodies: int) -> Reals:
    """[nb, 7] of a message of transforms."""
    r = Reader(data)
    if r.get("uint32") != bodies:
        raise ValueError("transforms of another number of bodies")
    rows = []
    for _ in range(bodies):
        r.get("int32"), r.get("uint32"), r.text(), r.text()
        rows.append([r.get("float64") for _ in range(7)])
    return np.array(rows).reshape(bodies, 7)


def write_joints(nanoseconds: int, names: Sequence[str], position: Reals, velocity: Reals) -> bytes:
    """Coordinates of joints that are numbers, m or rad, and their rates."""
    seconds, rest = divmod(nanoseconds, 10**9)
    out = Writer().put("int32", seconds).put("uint32", rest).text("world").put("uint32", len(names))
    for name in names:
        out.text(name)
    return out.array("float64", position).array("float64", velocity).array("float64", np.zeros(0)).done()
