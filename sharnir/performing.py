"""Demonstrators on the command line: what they reached, as a table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from sharnir.scenes import demonstrators
from sharnir.scenes.demonstrators import Outcome


def perform(
    scene: str, solver: str, dt: float | None, values: dict[str, float], record: Path | None, rate: float, out: Console
) -> Outcome:
    """Run a demonstrator, and show what it reached. values: of the scene's parameters."""
    options = {"seed": 0} | values
    outcome = demonstrators.attempt(scene, solver=solver, dt=dt, record=record, rate=rate, progress=True, **options)
    out.print(figures_table(scene, outcome))
    if record is not None:
        out.print(f"saved {record}", highlight=False, markup=False)
    if not outcome.finished:
        out.print(f"interrupted at t = {outcome.time:.3f} s")
    return outcome


def figures_table(name: str, outcome: Outcome) -> Table:
    """What a demonstrator reached."""
    simulation = outcome.simulation
    title = f"{name}: {outcome.time:g} s by {simulation.solver}, step {simulation.dt:g} s"
    table = Table("figure", "reached", "asked for", "met", title=title, padding=(0, 0))
    for f in outcome.figures:
        table.add_row(f.name, f"{f.value:.4g} {f.unit}".strip(), f.range, "yes" if f.met else "NO")
    return table
