"""What `sharnir replay` does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sharnir.progress import bar
from sharnir.recording.read.recording import Recording

LISTED = 20  # events


def written(recording: Recording, html: Path | None, folder: Path | None, out: Console) -> None:
    """Show what a recording holds; write its page, and its table of numbers to a folder, where asked for."""
    out.print(facts_table(recording))
    if recording.events:
        out.print(events_table(recording))
    if html is not None:
        from sharnir.recording.read.page import write_page

        for note in write_page(recording, html):
            out.print(note, highlight=False, markup=False)
        out.print(f"saved {html}", highlight=False, markup=False)
    if folder is not None:
        from sharnir.simulation.export import prepare_folder, write_csv

        prepare_folder(folder)
        path = folder / f"{recording.path.stem}.csv"
        write_csv(recording.trajectory(), path)
        out.print(f"saved {path}", highlight=False, markup=False)


def facts_table(recording: Recording) -> Table:
    """Of a recording as a whole."""
    h = recording.header
    table = Table("what", "recorded", title=recording.path.name)
    rows = {
        "model": h["model"],
        "time": f"{recording.start:g} to {recording.end:g} s, {recording.steps} steps, {len(recording.times)} states",
        "solver": f"{h['solver']}, step {float(h['dt']):g} s, {h['precision']} precision",
        "seed": h["seed"] or "none",
        "began": h["began"],
        "versions": f"sharnir {h['sharnir']}, Warp {h['warp']}, numpy {h['numpy']}, Python {h['python']}",
        "machine": h["machine"],
        "end": "closed" if recording.complete else "cut off: whoever wrote it was killed, or had no room",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def events_table(recording: Recording) -> Table:
    """The first ones."""
    count = len(recording.events)
    title = f"{count} events" + (f", the first {LISTED} of them" if count > LISTED else "")
    table = Table("t, s", "event", "of", title=title)
    for event in recording.events[:LISTED]:
        table.add_row(f"{event.t:.4g}", event.kind if event.begins else f"{event.kind} ends", event.what)
    return table


def checked(recording: Recording, out: Console) -> bool:
    """Simulate a recording again and say how that compares."""
    with bar(f"verify {recording.path.name}", recording.end, True) as advance:
        found = recording.verify(advance)
        if found is None:
            advance(recording.end)
    if found is None:
        out.print(f"verified: all {recording.steps} steps come out as recorded", highlight=False)
        return True
    out.print(recording.describe(found), highlight=False, soft_wrap=True)
    elsewhere = recording.elsewhere()
    if elsewhere:
        out.print(f"Bits may differ for another reason than the inputs: {elsewhere}", highlight=False)
    return False


def played(recording: Recording, port: int, out: Console) -> None:
    """Show a recording in the browser, with its timeline, until Ctrl-C."""
    from sharnir import viewer

    replay = viewer.Replay(recording)
    viewer.show(replay, viewer.Address(port=port), None, announced(out), replay.timeline())


def resumed(
    recording: Recording, t: float, duration: float | None, record: Path | None, port: int, out: Console
) -> bool:
    """Go on from a time, live or for some seconds; False where interrupted before these are over."""
    simulation, finished = recording.resume(t), True
    with nullcontext() if record is None else simulation.record(record):
        if duration is None:
            from sharnir import viewer

            viewer.view(simulation, viewer.Address(port=port), None, announced(out), switchable=record is None)
        else:
            try:
                simulation.run(duration, progress=True)
            except KeyboardInterrupt:
                finished = False
            word = "went on" if finished else "interrupted: went on"
            out.print(f"{word} from t = {t:g} s to {simulation.time:g} s", highlight=False)
    if record is not None:
        out.print(f"saved {record}", highlight=False, markup=False)
    return finished


def announced(out: Console) -> Callable[[str], object]:
    """Where a viewer's address is told."""
    return lambda text: out.print(text, highlight=False, soft_wrap=True)
