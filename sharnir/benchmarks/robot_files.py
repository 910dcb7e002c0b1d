"""Robots that ship in packages: where they are, what becomes of each, and a table of that.

    python -m sharnir.benchmarks.robot_files docs/robots.md

writes the table into the page, between its marks.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

from sharnir.compiler import compile
from sharnir.errors import ModelError, fail
from sharnir.io import Parsed, scene_of
from sharnir.io.parsing.parse import parse
from sharnir.spec.scene import Scene

BEGIN, END = "<!-- table of robot files -->", "<!-- end of the table -->"


class Robot(NamedTuple):
    name: str  # package and path in it
    path: Path
    roots: tuple[Path, ...]


class Outcome(NamedTuple):
    parsed: Parsed | None
    scene: Scene | None
    reason: str  # why it was refused, or what was lost; empty if loaded

    @property
    def loaded(self) -> bool:
        """Whether the scene has all that moves, drives, holds or touches."""
        return not self.reason


def urdf_files() -> list[Robot]:
    """Every URDF of example-robot-data."""
    files = importlib.metadata.distribution("example-robot-data")
    share = Path(str(files.locate_file("cmeel.prefix/share")))
    folder = share / "example-robot-data" / "robots"
    return [Robot(f"example-robot-data/{p.relative_to(folder)}", p, (share,)) for p in sorted(folder.rglob("*.urdf"))]


def mjcf_files() -> list[Robot]:
    """Every MJCF of gymnasium and dm_control, and the few XML files among them that are none."""
    out = []
    for name in ("gymnasium", "dm_control"):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise fail("robot files", "package is not installed", name, "pip install 'sharnir[dev]'")
        folder = Path(spec.origin).parent
        out += [Robot(f"{name}/{p.relative_to(folder)}", p, (folder,)) for p in sorted(folder.rglob("*.xml"))]
    return out


def outcome(robot: Robot) -> Outcome:
    """Load and compile a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # MuJoCo's, of what it will no longer read some day
            parsed = parse(robot.path, robot.roots)
        scene = scene_of(parsed)
        compile(scene)
    except ModelError as error:
        return Outcome(None, None, str(error))
    lost = [str(entry) for entry in scene.import_report.lost]
    more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
    return Outcome(parsed, scene, lost[0] + more if lost else "")


def row(robot: Robot, found: Outcome) -> str:
    """A line of the table."""
    folder = str(robot.path.parent)
    reason = found.reason.replace(f"{folder}/", "").replace("|", "\\|")
    for root in robot.roots:
        reason = reason.replace(f"{root}/", "")
    what = "refused" if found.scene is None else "loaded" if found.loaded else "incomplete"
    if found.parsed is None:
        return f"| `{robot.name}` | {what} | – | – | {reason} |"
    model = found.parsed.model
    if found.loaded and found.scene is not None:
        changed = sum(entry.effect == "changed" for entry in found.scene.import_report)
        reason = f"{changed} of its parts in another form" if changed else ""
    return f"| `{robot.name}` | {what} | {model.nbody - 1} | {model.nv} | {reason} |"


def table() -> str:
    """Markdown: every file, what became of it, and a summary."""
    robots = [*urdf_files(), *mjcf_files()]
    found = [outcome(robot) for robot in robots]
    moving = [o for o in found if o.parsed is None or o.parsed.model.nv > 0]
    summary = (
        f"{sum(o.loaded for o in found)} of {len(found)} files are loaded with all their dynamics "
        f"({sum(o.loaded for o in found) / len(found):.0%}); without those that hold nothing that moves, "
        f"{sum(o.loaded for o in moving)} of {len(moving)}."
    )
    head = ["| file | outcome | bodies | degrees of freedom | reason |", "|---|---|---|---|---|"]
    return "\n".join([summary, "", *head, *(row(r, o) for r, o in zip(robots, found, strict=True))])


def main() -> None:
    """Write the table into a page."""
    page = Path(sys.argv[1])
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    page.write_text(f"{before}{BEGIN}\n{table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
