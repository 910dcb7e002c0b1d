"""Scenes on the command line: found by name or file, run, shown as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.table import Table

from sharnir import scenes
from sharnir.errors import ModelError, unknown
from sharnir.spec.import_report import UNSEEN
from sharnir.spec.scene import Scene

if TYPE_CHECKING:
    from sharnir.simulation.simulate import Trajectory

ROBOTS = (".urdf", ".xml", ".mjcf")


class Wanted(NamedTuple):
    """What a user asked of a run. plot, csv: whether to save them in the folder."""

    solver: str
    method: str | None
    dt: float | None  # s
    duration: float | None  # s
    contacts: int | None
    pairs: int | None
    plot: bool
    csv: bool
    folder: Path
    record: Path | None
    rate: float  # 1/s


def solver_of(solver: str | None, method: str | None, dt: float | None) -> tuple[str, str | None]:
    """Solver and method, as far as one follows from the other."""
    from sharnir.exact.integrate import EXACT_METHODS
    from sharnir.impulse.settings import IMPULSE_METHODS

    if solver is None:
        if method not in (None, *EXACT_METHODS, *IMPULSE_METHODS):
            raise unknown("method", method, (*IMPULSE_METHODS, *EXACT_METHODS))
        solver = "exact" if method in EXACT_METHODS else "simgc"
    if method is None and solver == "exact":
        method = "dop853" if dt is None else "rk4"
    return solver, method


def run_scenes(found: Sequence[tuple[Scene, float, float | None]], wanted: Wanted, out: Console) -> bool:
    """Run scenes, each with its usual duration and step (s), and show what came of them; False where interrupted."""
    from sharnir.simulation.export import prepare_folder, require_matplotlib
    from sharnir.simulation.simulate import simulate

    if wanted.plot:
        require_matplotlib()
    if wanted.plot or wanted.csv:
        prepare_folder(wanted.folder)
    exact = wanted.solver == "exact"
    table, finished, saved = _empty_table(wanted), True, list[Path]()
    for scene, length, step in found:
        trajectory = simulate(
            scene, length if wanted.duration is None else wanted.duration, solver=wanted.solver, method=wanted.method,
            dt=step if wanted.dt is None and not exact else wanted.dt, contacts=wanted.contacts, pairs=wanted.pairs,
            record=wanted.record, rate=wanted.rate, progress=True,
        )  # fmt: skip
        table.add_row(*summary(trajectory))
        saved += _save(trajectory, wanted)
        finished = trajectory.finished
        if not finished:
            out.print(f"interrupted at t = {trajectory.t[-1]:.3f} s; what was recorded is kept")
            break
    out.print(table)
    energy = "err: largest unaccounted change" if exact else "change: from start to end, drives and friction included,"
    out.print(f"Energy {energy} over the energy in play. Position err: largest gap, m or rad.")
    for path in saved:
        out.print(f"saved {path}", highlight=False, markup=False)
    return finished


def _empty_table(wanted: Wanted) -> Table:
    table = Table(title=f"solver {wanted.solver}, method {wanted.method or 'default'}", padding=(0, 0))
    effort, energy = ("evals", "energy err") if wanted.solver == "exact" else ("steps", "energy change")
    for heading in ("scene", "t, s", "wall, s", effort, "µs each", energy, "position err"):
        table.add_column(heading, no_wrap=True, justify="left" if heading == "scene" else "right")
    return table


def _save(trajectory: Trajectory, wanted: Wanted) -> list[Path]:
    """Write what was asked for; where it is."""
    from sharnir.simulation.export import write_csv, write_plot

    saved = []
    for asked, suffix, write in ((wanted.plot, "png", write_plot), (wanted.csv, "csv", write_csv)):
        if asked:
            saved.append(wanted.folder / f"{file_name(trajectory.model.name)}.{suffix}")
            write(trajectory, saved[-1])
    return saved if wanted.record is None else [*saved, wanted.record]


def file_name(name: str) -> str:
    """A scene's name as that of a file in the folder asked for, and nowhere else."""
    return re.sub(r"[^\w.-]+", "_", name).strip(".") or "scene"


def summary(trajectory: Trajectory) -> list[str]:
    """A table row about a run."""
    total = trajectory.kinetic + trajectory.potential
    exact = trajectory.solver == "exact"
    change = abs(trajectory.energy_error).max() if exact else total[-1] - total[0]
    error = change / (trajectory.energy_scale or 1.0)
    held = trajectory.model.loops > 0 or not exact
    return [
        trajectory.model.name, f"{trajectory.t[-1]:g}", f"{trajectory.seconds:.2f}",
        str(trajectory.evaluations), f"{1e6 * trajectory.seconds / trajectory.evaluations:.1f}", f"{error:.1e}",
        f"{trajectory.loop_error[:, 0].max():.1e}" if held else "–",
    ]  # fmt: skip


def build(
    name: str, parameters: Sequence[str], out: Console, roots: Sequence[Path] = (), decompose: float | None = None
) -> tuple[Scene, float, float | None]:
    """A scene by name or file, how long to run it, and a step for it. What a robot loses is printed."""
    if name.lower().endswith(ROBOTS):
        scene = robot(name, parameters, roots, decompose)
        for entry in scene.import_report:
            if entry.effect != UNSEEN:
                out.print(f"{entry.effect}: {entry}", highlight=False, markup=False)
        return scene, 10.0, scene.timestep
    if name.endswith(".toml"):
        if parameters:
            raise ModelError(f"--set: a scene file has no parameters: given {parameters}; allowed: none")
        return Scene.load(name, roots), 10.0, None
    if Path(name).suffix and name not in scenes.names():
        raise ModelError(f"{name}: no file of a scene: allowed: .toml, {', '.join(ROBOTS)}, or the name of a scene")
    found = scenes.find(name)
    return scenes.make(name, **values_of(parameters)), found.duration, found.dt


def values_of(parameters: Sequence[str]) -> dict[str, float]:
    """Of a scene's parameters, as --set gives them."""
    values = {}
    for text in parameters:
        key, _, value = text.partition("=")
        try:
            number = float(value)
        except ValueError:
            raise ModelError(f"--set: not a parameter: given {text!r}; allowed: NAME=NUMBER") from None
        values[key] = int(number) if number.is_integer() and "." not in value else number
    return values


def robot(name: str, parameters: Sequence[str], roots: Sequence[Path], decompose: float | None) -> Any:
    """The scene of a URDF or MJCF file."""
    from sharnir.io import load

    if parameters:
        raise ModelError(f"--set: a robot file has no parameters: given {parameters}; allowed: none")
    return load(name, roots, decompose=decompose)
