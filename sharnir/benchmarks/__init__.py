"""Benchmarks: one harness, a table of cases, ours and the peer interleaved in one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table

from sharnir.errors import fail, shown, unknown

Row = dict[str, Any]


def _aba(quick: bool) -> list[Row]:
    from sharnir.benchmarks.aba import run

    return run(quick)


def _aba_batch(quick: bool) -> list[Row]:
    from sharnir.benchmarks.batch import run

    return run(quick)


def _startup(quick: bool) -> list[Row]:
    from sharnir.benchmarks.startup import run

    return run(quick)


def _table1(quick: bool) -> list[Row]:
    from sharnir.benchmarks.table1 import run

    return run(quick)


def _contact(quick: bool) -> list[Row]:
    from sharnir.benchmarks.contact import run

    return run(quick)


def _robots(quick: bool) -> list[Row]:
    from sharnir.benchmarks.robots import run

    return run(quick)


def _loop(quick: bool) -> list[Row]:
    from sharnir.benchmarks.loop import run

    return run(quick)


def _view(quick: bool) -> list[Row]:
    from sharnir.benchmarks.view import run

    return run(quick)


def _recording(quick: bool) -> list[Row]:
    from sharnir.benchmarks.recording import run

    return run(quick)


def _scenes(quick: bool) -> list[Row]:
    from sharnir.benchmarks.demonstrations import run

    return run(quick)


def _holds(quick: bool, device: str = "cpu") -> list[Row]:
    from sharnir.benchmarks.holds import run

    return run(quick, device)


BENCHES: dict[str, tuple[Callable[[bool], list[Row]], str]] = {
    "aba": (_aba, "articulated-body algorithm against Pinocchio, many evaluations in one call"),
    "aba_batch": (_aba_batch, "articulated-body algorithm over many worlds, on the GPU where there is one"),
    "table1": (_table1, "chain, Peaucellier linkage and grasp of [A17] against MuJoCo and the published figures"),
    "contact": (_contact, "piles of boxes, balls and mixed shapes, and a humanoid that falls and lies, against MuJoCo"),
    "robots": (_robots, "robots from URDF and MJCF files that swing and fall, against MuJoCo"),
    "loop": (_loop, "step() in a Python loop, alone and with reading and writing, against mj_step; many worlds"),
    "view": (
        _view,
        "what the viewer takes from the simulation, alone and with clients that read, stall and send noise",
    ),
    "recording": (_recording, "steps of a robot of 30 joints at 1 kHz, recorded and not"),
    "scenes": (_scenes, "demonstrators in real time with a viewer, and in maximal coordinates"),
    "holds": (_holds, "energy, positions and warnings where impulses are hard to get right, next to MuJoCo"),
    "startup": (_startup, "import, compile a scene and evaluate it once, from a warm kernel cache"),
}


ON_DEVICES: dict[str, Callable[[bool, str], list[Row]]] = {"holds": _holds}  # those that also run on a GPU


def table_of(rows: list[Row]) -> Table:
    """Rows of a result as they are printed."""
    columns = ["case", "ours", "peer", "unit", "ratio"]
    more = [name for name in rows[0] if isinstance(rows[0][name], str) and name not in columns]
    table = Table(*columns, *more, padding=(0, 0))
    for row in rows:
        shown = {**dict.fromkeys(("peer", "ratio", *more), "–"), **{k: v for k, v in row.items() if v is not None}}
        table.add_row(*(x if isinstance(x, str) else f"{x:.3g}" for x in (shown[name] for name in (*columns, *more))))
    return table


def run(name: str, quick: bool = False, device: str = "cpu") -> dict[str, Any]:
    """Run a benchmark; `quick` takes fewer repetitions. device: of our solvers, for those in ON_DEVICES. The result has
    the fields of `sharnir bench --json`."""
    if name not in BENCHES:
        raise unknown("benchmark", name, BENCHES)
    if name in ON_DEVICES:
        from sharnir.dynamics.evaluator import require_device

        require_device(device)
        return {"bench": name, "device": device, "rows": ON_DEVICES[name](quick, device)}
    if device != "cpu":
        raise fail(
            f"benchmark {name!r}",
            "runs on no such device",
            shown(device),
            "no --device, or a benchmark of " + ", ".join(ON_DEVICES),
        )
    return {"bench": name, "rows": BENCHES[name][0](quick)}
