"""What a scene holds, as a table: for a look before a run."""

from __future__ import annotations

from collections import Counter

from rich.table import Table

from sharnir.compiler import compile
from sharnir.errors import one_line
from sharnir.spec.scene import Scene


def counted(words: list[str]) -> str:
    """Words with how often they occur, most frequent first."""
    return ", ".join(f"{n} {word}" for word, n in Counter(words).most_common()) or "none"


def scene_table(scene: Scene) -> Table:
    """Bodies, joints, loops, mass, degrees of freedom, drives, shapes."""
    model = compile(scene)
    table = Table("what", "found", title=one_line(model.name))
    loops = [kind for kind in model.joint_types[model.nb :]]
    rows = {
        "bodies": str(model.nb),
        "mass": f"{model.mass.sum():.6g} kg",
        "joints": counted(list(model.joint_types[: model.nb])),
        "loops": counted(loops),
        "couplings": str(len(scene.couplings)),
        "belts": str(len(scene.belts)),
        "degrees of freedom": f"{model.nv} of the tree",
        "actuators": str(len(scene.actuators)),
        "DC motors": str(len(scene.dc_motors)),
        "motors": str(len(scene.motors)),
        "shapes": counted([type(s).__name__ for b in scene.bodies for s in b.shapes]),
        "shapes of the world": counted([type(s).__name__ for s in scene.shapes]),
        "visuals": str(len(scene.visuals) + sum(len(b.visuals) for b in scene.bodies)),
        "sensors": counted([s.kind for s in scene.sensors]),
        "keyframes": ", ".join(k.name for k in scene.keyframes) or "none",
        "gravity": f"{scene.gravity} m/s²",
        "time step": "not stated" if scene.timestep is None else f"{scene.timestep:g} s",
    }
    for name, value in rows.items():
        table.add_row(name, one_line(value))
    return table


def report_table(scene: Scene) -> Table | None:
    """What an import could not carry over; entries that differ in their name only are counted."""
    if not scene.import_report:
        return None
    table = Table("element", "name", "what became of it", "effect", title="import report")
    groups: dict[tuple[str, str, str], list[str]] = {}
    for entry in scene.import_report:
        groups.setdefault((entry.element, entry.reason, entry.effect), []).append(entry.name)
    for (element, reason, effect), names in groups.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        table.add_row(*map(one_line, (element, names[0] + more, reason, effect)))
    return table
