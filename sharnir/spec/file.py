"""Scene files: TOML, versioned, checked on reading. Only what differs from the defaults is written."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sharnir.errors import ModelError, described, fail, shown, unknown
from sharnir.regular_files import name_of, read_file, real_folders
from sharnir.spec.actuators import Actuator, Coupling, Motor
from sharnir.spec.belts import Belt
from sharnir.spec.dc_motors import DCMotor
from sharnir.spec.elements import (
    Body,
    Box,
    Capsule,
    ConvexHull,
    Cylinder,
    Element,
    Frame,
    HalfSpace,
    HeightField,
    Material,
    Mesh,
    Shape,
    Sphere,
    Spring,
    Visual,
)
from sharnir.spec.joints import ALL_JOINT_TYPES, Step
from sharnir.spec.keyframes import Keyframe
from sharnir.spec.pairs import ContactPair, MaterialPair
from sharnir.spec.sensors import Camera, Sensor
from sharnir.spec.toml_text import MAX_BYTES, parsed

if TYPE_CHECKING:
    from sharnir.spec.scene import Scene

FORMAT = "sharnir-scene"
VERSION = 1
SHAPE_TYPES: dict[str, type[Shape]] = {
    "sphere": Sphere, "box": Box, "cylinder": Cylinder, "capsule": Capsule, "half_space": HalfSpace,
    "convex_hull": ConvexHull, "height_field": HeightField, "mesh": Mesh,
}  # fmt: skip
SECTIONS = {
    "body": Body, "joint": ALL_JOINT_TYPES, "spring": Spring, "motor": Motor, "coupling": Coupling,
    "belt": Belt, "shape": SHAPE_TYPES,
    "contact_pair": ContactPair, "material_pair": MaterialPair, "visual": Visual,
    "actuator": Actuator, "dc_motor": DCMotor, "keyframe": Keyframe, "sensor": Sensor, "camera": Camera,
}  # fmt: skip
MAX_ELEMENTS = 100_000  # of a file: bodies, joints, shapes and all else
INSIDE = ("shapes", "visuals", "steps")  # lists of elements in others
DEEPEST = 4  # lists of numbers in each other
SAVED = "a file written by Scene.save"
TEXT = {"name", "kind", "file", "parent", "child", "limit_angles", "joint", "leader", "follower", "combine"}
TEXT |= {"first", "second", "of", "body", "belt"}
TEXTS = {"joints"}
FLAGS = {"touch", "integrates"}


def _table(element: Element, kind: str | None) -> dict[str, Any]:
    """An element as a TOML table."""
    table: dict[str, Any] = {"type": kind} if kind else {}
    for f in fields(element):
        value = getattr(element, f.name)
        default = f.default if f.default_factory is MISSING else f.default_factory()
        if default is not MISSING and repr(value) == repr(default):  # tells -0.0 and False from 0.0
            continue
        if isinstance(value, (Frame, Material)):
            value = _table(value, None)
        elif f.name == "shapes":
            where = f"body {shown(getattr(element, 'name', None))}"
            if not isinstance(value, tuple):
                raise fail(where, "shapes cannot be saved", shown(value), "a list of shapes")
            value = [_table(s, _type_name(s, SHAPE_TYPES, where)) for s in value]
        elif f.name in ("steps", "visuals"):
            value = [_table(s, None) for s in value]
        elif f.name in ("shape", "region"):
            value = _table(value, _type_name(value, SHAPE_TYPES, f.name))
        table[f.name] = value
    return table


def _type_name(element: Element, types: dict[str, Any], where: str) -> str:
    for name, cls in types.items():
        if type(element) is cls:
            return name
    raise fail(where, "holds what cannot be saved", described(element), ", ".join(types))


def _toml(value: Any, where: str) -> str:
    """A value on one line of TOML."""
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise fail(where, "cannot be saved", shown(value), "text that UTF-8 can hold") from None
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v, where) for v in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v, where)}" for k, v in value.items()) + " }"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise fail(where, "cannot be saved", shown(value), "numbers, names and lists of numbers")
    return repr(value)


def _lines(table: dict[str, Any], where: str) -> list[str]:
    lines = []
    for key, value in table.items():
        flag = key in FLAGS and isinstance(value, bool)
        lines.append(f"{key} = {str(value).lower() if flag else _toml(value, f'{where}: {key}')}")
    return lines


def write_scene(scene: Scene, path: Path) -> None:
    """Write a scene, plain as `Scene.plain` makes it, to a file."""
    text = scene_text(scene)
    try:
        path.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise fail(f"scene file {path}", "cannot be written", str(error), "a writable file") from None


def scene_text(scene: Scene) -> str:
    """A scene as TOML."""
    head = {"format": FORMAT, "version": VERSION, "name": scene.name, "gravity": scene.gravity}
    head |= {} if scene.timestep is None else {"timestep": scene.timestep}
    lines = _lines(head, f"scene {scene.name!r}")
    sections: list[tuple[str, list[dict[str, Any]]]] = [
        ("body", [_table(b, None) for b in scene.bodies]),
        ("joint", [_table(j, _type_name(j, ALL_JOINT_TYPES, f"joint {shown(j.name)}")) for j in scene.joints]),
        ("spring", [_table(s, None) for s in scene.springs]),
        ("motor", [_table(m, None) for m in scene.motors]),
        ("coupling", [_table(c, None) for c in scene.couplings]),
        ("belt", [_table(b, None) for b in scene.belts]),
        ("shape", [_table(s, _type_name(s, SHAPE_TYPES, f"shape {k}")) for k, s in enumerate(scene.shapes)]),
        ("contact_pair", [_table(p, None) for p in scene.contact_pairs]),
        ("material_pair", [_table(p, None) for p in scene.material_pairs]),
        ("visual", [_table(v, None) for v in scene.visuals]),
        ("actuator", [_table(a, None) for a in scene.actuators]),
        ("dc_motor", [_table(m, None) for m in scene.dc_motors]),
        ("keyframe", [_table(k, None) for k in scene.keyframes]),
        ("sensor", [_table(s, None) for s in scene.sensors]),
        ("camera", [_table(c, None) for c in scene.cameras]),
    ]
    for section, tables in sections:
        for number, table in enumerate(tables):
            lines += ["", f"[[{section}]]", *_lines(table, f"{section} {table.get('name', number)!r}")]
    return "\n".join(lines) + "\n"


def read_scene(path: Path, roots: Sequence[Path] = ()) -> Scene:
    """The scene of a file. roots: folders, besides its own, that the files of its visuals may lie in."""
    return scene_from(read_file(path, MAX_BYTES, "scene file", "a TOML file"), path, roots)


def scene_from(data: bytes, path: Path, roots: Sequence[Path] = ()) -> Scene:
    """The scene that some TOML describes; path: where it comes from."""
    from sharnir.spec.scene import Scene

    file = f"scene file {name_of(path)}"
    document = parsed(data, file, SAVED)
    if document.pop("format", None) != FORMAT:
        raise ModelError(f"{file}: no line format = {FORMAT!r}; allowed: {SAVED}")
    version = document.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise ModelError(f"{file}: unknown version: given {shown(version)}; allowed: {VERSION}")
    scene = Scene(roots=(os.path.realpath(path.parent), *map(str, real_folders(roots, path))))
    if "name" in document:
        scene.name = _text(document.pop("name"), f"{file}: name")
    if "gravity" in document:
        scene.gravity = _numbers(document.pop("gravity"), f"{file}: gravity")
    if "timestep" in document:
        scene.timestep = _numbers(document.pop("timestep"), f"{file}: timestep")
    count = 0
    for section, types in SECTIONS.items():
        tables = document.pop(section, [])
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            raise ModelError(f"{file}: {section} is not a list of tables; allowed: [[{section}]] sections")
        count += len(tables) + sum(len(t[key]) for t in tables for key in INSIDE if isinstance(t.get(key), list))
        if count > MAX_ELEMENTS:
            raise ModelError(f"{file}: has {count} elements; allowed: at most {MAX_ELEMENTS}")
        for number, table in enumerate(tables):
            scene.add(_element(table, types, f"{file}: {section} {shown(table.get('name', number))}"))
    for key in document:
        raise ModelError(f"{file}: {unknown('key', key, ['name', 'gravity', 'timestep', *SECTIONS])}")
    return scene


def _element(table: dict[str, Any], types: Any, where: str) -> Any:
    """A table as the element of its type; `types` is a class, or classes by the name under `type`."""
    table = dict(table)
    if isinstance(types, dict):
        name = table.pop("type", None)
        if not isinstance(name, str) or name not in types:
            raise ModelError(f"{where}: {unknown('type', name, types)}")
        cls = types[name]
    else:
        cls = types
    known = {f.name: f for f in fields(cls)}
    values = {}
    for key, value in table.items():
        if key not in known:
            raise ModelError(f"{where}: {unknown('key', key, known)}")
        values[key] = _value(key, value, f"{where}: {key}")
    for name, f in known.items():
        if name not in values and f.default is MISSING and f.default_factory is MISSING:
            raise ModelError(f"{where}: {name} is missing; a {cls.__name__} needs it")
    return cls(**values)


def _value(key: str, value: Any, where: str) -> Any:
    if key in TEXT:
        return _text(value, where)
    if key in TEXTS:
        if not isinstance(value, list):
            raise ModelError(f"{where}: given {shown(value)}; allowed: a list of names")
        return tuple(_text(v, where) for v in value)
    if key in FLAGS:
        if not isinstance(value, bool):
            raise ModelError(f"{where}: given {shown(value)}; allowed: true or false")
        return value
    if key == "shapes":
        if not isinstance(value, list) or not all(isinstance(s, dict) for s in value):
            raise ModelError(f"{where}: given {shown(value)}; allowed: a list of tables")
        return tuple(_element(s, SHAPE_TYPES, f"{where} {n}") for n, s in enumerate(value))
    if key in ("steps", "visuals"):
        if not isinstance(value, list) or not all(isinstance(s, dict) for s in value):
            raise ModelError(f"{where}: given {shown(value)}; allowed: a list of tables")
        kind = Step if key == "steps" else Visual
        return tuple(_element(s, kind, f"{where} {n}") for n, s in enumerate(value))
    if key in ("shape", "region"):
        if not isinstance(value, dict):
            raise ModelError(f"{where}: given {shown(value)}; allowed: a table with the type and size of a shape")
        return _element(value, SHAPE_TYPES, where)
    if key in ("parent_frame", "child_frame"):
        if not isinstance(value, dict):
            raise ModelError(f"{where}: given {shown(value)}; allowed: a table with anchor, axis, x_axis")
        return _element(value, Frame, where)
    if key == "material":
        if not isinstance(value, dict):
            raise ModelError(f"{where}: given {shown(value)}; allowed: a table with friction, restitution, …")
        return _element(value, Material, where)
    return _numbers(value, where)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ModelError(f"{where}: given {shown(value)}; allowed: text in quotes")
    return value


def _numbers(value: Any, where: str, depth: int = 0) -> Any:
    if isinstance(value, list) and depth < DEEPEST:
        return tuple(_numbers(v, where, depth + 1) for v in value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ModelError(f"{where}: given {shown(value)}; allowed: a number or a list of numbers")
    return value
