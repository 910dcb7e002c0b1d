"""Demonstrators on the command line: what they reached, as a table."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from sharnir.scenes import demonstrators
from sharnir.scenes.demonstrators import Outcome, figures_table


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
