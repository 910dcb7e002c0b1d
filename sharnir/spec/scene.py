"""The scene: what a person writes, saves and loads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from sharnir.errors import described, fail, shown, unknown
from sharnir.spec.actuators import Actuator, Coupling, Motor
from sharnir.spec.belts import Belt
from sharnir.spec.dc_motors import DCMotor
from sharnir.spec.elements import Body, Element, Shape, Spring, Vector, Visual, plain
from sharnir.spec.import_report import ImportReport
from sharnir.spec.joints import Joint
from sharnir.spec.keyframes import Keyframe
from sharnir.spec.pairs import ContactPair, MaterialPair
from sharnir.spec.sensors import Camera, Sensor

E = TypeVar("E", bound=Element)

WORLD = "world"
LISTS: dict[str, type[Element]] = {
    "bodies": Body, "joints": Joint, "springs": Spring, "motors": Motor, "couplings": Coupling, "belts": Belt,
    "shapes": Shape,
    "contact_pairs": ContactPair, "material_pairs": MaterialPair,
    "visuals": Visual, "actuators": Actuator, "dc_motors": DCMotor, "keyframes": Keyframe, "sensors": Sensor,
    "cameras": Camera,
}  # fmt: skip


@dataclass(kw_only=True)
class Scene:
    """Bodies, joints, springs, motors of three kinds, couplings and belts under gravity (m/s²), shapes fixed to the
    world, and what is said of contact between two bodies or two materials. Bodies without a joint to anything float
    freely.

    visuals: what is seen of the world besides its shapes. timestep: s, that the scene's author had in mind; left out,
    whoever runs it chooses. import_report: what `sharnir.load` could not carry over from a file. roots: folders that
    the files of visuals may lie in, of a scene that was read from a file; a program's own scene has none, and its files
    may lie anywhere.
    """

    name: str = "scene"
    gravity: Vector = (0.0, 0.0, -9.81)
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    springs: list[Spring] = field(default_factory=list)
    motors: list[Motor] = field(default_factory=list)
    couplings: list[Coupling] = field(default_factory=list)
    belts: list[Belt] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)
    contact_pairs: list[ContactPair] = field(default_factory=list)
    material_pairs: list[MaterialPair] = field(default_factory=list)
    visuals: list[Visual] = field(default_factory=list)
    actuators: list[Actuator] = field(default_factory=list)
    dc_motors: list[DCMotor] = field(default_factory=list)
    keyframes: list[Keyframe] = field(default_factory=list)
    sensors: list[Sensor] = field(default_factory=list)
    cameras: list[Camera] = field(default_factory=list)
    timestep: float | None = None
    import_report: ImportReport = field(default_factory=ImportReport, compare=False, repr=False)
    roots: tuple[str, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.gravity = plain(self.gravity)

    def add(self, element: E) -> E:
        """Add a body, joint, spring, motor, actuator, DC motor, coupling, belt, shape or visual of the world, contact
        pair, material pair, keyframe, sensor or camera, in any order; returns it."""
        for name, kind in LISTS.items():
            if isinstance(element, kind):
                getattr(self, name).append(element)
                return element
        allowed = (
            "a Body, a joint, a Spring, a Motor, an Actuator, a DCMotor, a Coupling, a Belt, a shape, a Visual, "
            "a ContactPair, a MaterialPair, a Keyframe, a Sensor or a Camera"
        )
        raise fail(f"scene {shown(self.name)}", "cannot add this", described(element), allowed)

    @property
    def driven(self) -> list[Actuator | DCMotor]:
        """Actuators, then DC motors: all that has an input, in the order in which models and keyframes have them."""
        return [*self.actuators, *self.dc_motors]

    def plain(self) -> Scene:
        """A copy whose values are plain, also those assigned after construction; for compiling and saving."""
        where = f"scene {shown(self.name)}"
        if not isinstance(self.name, str):
            raise fail(where, "name is not text", described(self.name), "text")
        for name, kind in LISTS.items():
            elements = getattr(self, name)
            if not isinstance(elements, (list, tuple)):
                raise fail(where, f"{name} is not a list", described(elements), f"a list of {kind.__name__}")
            for element in elements:
                if not isinstance(element, kind):
                    raise fail(where, f"{name} holds something else", described(element), f"a list of {kind.__name__}")
        copies = {f: [replace(e) for e in getattr(self, f)] for f in LISTS}
        return Scene(
            name=self.name, gravity=self.gravity, timestep=self.timestep, import_report=self.import_report,
            roots=self.roots, **copies,
        )  # fmt: skip

    def at(self, name: str) -> Scene:
        """A copy that starts from a keyframe."""
        scene = self.plain()
        frames = {k.name: k for k in scene.keyframes}
        if name not in frames:
            raise unknown("keyframe", name, frames)
        frame, joints = frames[name], {j.name: j for j in scene.joints}
        for joint, position, velocity in zip(frame.joints, frame.positions, frame.velocities, strict=True):
            if joint not in joints:
                raise unknown("joint", joint, joints)
            joints[joint].position, joints[joint].velocity = position, velocity
        inputs = [a.input for a in scene.driven] if frame.inputs is None else frame.inputs
        for actuator, value in zip(scene.driven, inputs, strict=True):
            actuator.input = value
        return scene

    def save(self, path: str | Path) -> None:
        """Write the scene to a TOML file, without loss."""
        from sharnir.spec.file import write_scene

        write_scene(self.plain(), checked_path(path))

    def to_mjcf(self) -> str:
        """The scene as MJCF text, for MuJoCo."""
        from sharnir.io.mjcf_export import to_mjcf

        return to_mjcf(self)

    @staticmethod
    def load(path: str | Path, roots: Sequence[str | Path] = ()) -> Scene:
        """Read a scene from a file written by `save` or by hand. roots: folders, besides its own, that the files of its
        visuals may lie in."""
        from sharnir.spec.file import read_scene

        return read_scene(checked_path(path), checked_roots(roots))


def checked_path(path: object) -> Path:
    if not isinstance(path, (str, Path)):
        raise fail("scene file", "not a path", shown(path), "text or a Path")
    return Path(path)


def checked_roots(roots: object) -> tuple[Path, ...]:
    if not isinstance(roots, (list, tuple)) or not all(isinstance(root, (str, Path)) for root in roots):
        raise fail("load", "roots are no list of folders", shown(roots), "a list of paths, as roots=[folder]")
    return tuple(map(Path, roots))
