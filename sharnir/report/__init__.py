"""The main job: Table 1 of [A17] and all demonstrators, headless, and a page with their plots and replays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from sharnir.benchmarks import table1
from sharnir.kernels.catalogue import compile_all
from sharnir.recording.read.page import page_text
from sharnir.recording.read.recording import open_recording
from sharnir.report.page import Section, page
from sharnir.report.plots import curves_svg, table1_svg
from sharnir.scenes import demonstrators
from sharnir.scenes.demonstrators import Outcome, figures_table
from sharnir.simulation.export import prepare_folder, require_matplotlib

RATE = 30.0  # 1/s, of the states in a replay
TABLE1 = {
    "case": "case", "ours": "µs", "peer": "MuJoCo", "ratio": "ratio", "p99.9": "p99.9", "iterations": "sweeps",
    "published": "published",
}  # fmt: skip


def write_report(folder: Path, out: Console) -> bool:
    """Run everything, print what came of it, write report.html and the recordings to a folder; whether all goals were
    reached. Interrupted, it writes what there is so far."""
    require_matplotlib()
    prepare_folder(folder)
    compile_all()
    sections: list[Section] = []
    met = True
    try:
        rows = table1.run(quick=True, progress=True)
        sections.append(table1_section(rows))
        table = Table(*TABLE1.values(), title=sections[0].title, padding=(0, 0))
        for cells in sections[0].rows:
            table.add_row(*cells)
        out.print(table)
        for name in demonstrators.names():
            outcome = performed(name, folder, out)
            sections.append(scene_section(name, outcome, folder))
            met = met and outcome.met
            if not outcome.finished:
                raise KeyboardInterrupt
    finally:
        path = folder / "report.html"
        path.write_text(page(sections), encoding="utf-8")
        out.print(f"saved {path}", highlight=False, markup=False)
    return met


def performed(name: str, folder: Path, out: Console) -> Outcome:
    """Run a demonstrator, recorded to the folder."""
    record = recording_of(name, folder)
    record.unlink(missing_ok=True)
    outcome = demonstrators.attempt(name, seed=0, record=record, rate=RATE, progress=True)
    out.print(figures_table(name, outcome))
    return outcome


def recording_of(name: str, folder: Path) -> Path:
    return folder / f"{name}.mcap"


def table1_section(rows: list[dict[str, Any]]) -> Section:
    """Step times and iterations beside MuJoCo and what was published."""
    cells = [[shown(row.get(key)) for key in TABLE1] for row in rows]
    words = (
        "Mean and 99.9th percentile of a step's time, µs, and mean iterations of both solvers, by the published and "
        "the default method; MuJoCo 4 in the same run; what [A17] states."
    )
    return Section("Table 1 of [A17]", words, list(TABLE1.values()), cells, table1_svg(rows), None)


def scene_section(name: str, outcome: Outcome, folder: Path) -> Section:
    """What a demonstrator reached, its curves and its replay."""
    sim = outcome.simulation
    words = f"{outcome.time:g} s by {sim.solver}, step {1e3 * sim.dt:g} ms; {sim.counts.steps} steps."
    words += "".join(f" Warning: {warning}." for warning in sim.counts.warnings)
    cells = [[f.name, f"{f.value:.4g} {f.unit}".strip(), f.range, "yes" if f.met else "NO"] for f in outcome.figures]
    replay = page_text(open_recording(recording_of(name, folder)))
    return Section(
        name, words, ["figure", "reached", "asked for", "met"], cells, curves_svg(outcome.task.curves()), replay
    )


def shown(value: Any) -> str:
    return "–" if value is None else value if isinstance(value, str) else f"{value:.3g}"
