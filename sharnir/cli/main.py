"""The command `sharnir`: list, info, run, replay, view, bench, doctor."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from sharnir.child_process import SAFE
from sharnir.errors import ModelError, SharnirError

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, invoke_without_command=True)
out = Console(markup=False, emoji=False)  # names of others are text, whatever brackets they have
ALL = "all"
HERE = "127.0.0.1"
WARMED_SCENES = ("humanoid", "mixed", "peaucellier")  # which together use all kernels of a GPU
SCENE_HELP = "A named scene, a scene file (.toml), a robot (.urdf, .xml)"
Parts = Annotated[
    float | None, typer.Option("--decompose", help="Take meshes apart, to this concavity: 0.01 (fine) to 1 (coarse).")
]
Roots = Annotated[
    list[Path] | None, typer.Option("--root", help="A folder where files of a robot, or what is seen of it, may lie.")
]


def main() -> None:
    """Entry point: what is wrong with the input is one sentence, never a traceback."""
    os.environ[SAFE] = "1"  # whatever interpreter is started from here on, by whomever: not from the current folder
    try:
        app()
    except SharnirError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(1)


@contextmanager
def told_at_end() -> Iterator[None]:
    """At the end of a command, a line for each way in which steps of its runs were not right."""
    from sharnir.simulation.step_warnings import summary_lines, tallied

    with tallied() as runs:
        try:
            yield
        finally:
            for line in summary_lines(runs):
                console = Console(stderr=True)
                console.print(f"warning: {line}", style="yellow", markup=False, highlight=False, soft_wrap=True)


@app.callback()
def top(
    context: typer.Context,
    show: Annotated[bool, typer.Option("--version", is_eager=True, help="Show the version and end.")] = False,
) -> None:
    """Simulate mechanisms and robots."""
    if show:
        import sharnir

        print(sharnir.__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
    else:
        context.with_resource(told_at_end())


@app.command("list")
def list_scenes() -> None:
    """Show the named scenes."""
    from sharnir import scenes

    table = Table("scene", "what it is", "--set")
    for name in scenes.names():
        table.add_row(name, scenes.find(name).summary, ", ".join(scenes.parameters(name)))
    out.print(table)
    out.print("Run one with: sharnir run SCENE --plot", highlight=False)


@app.command()
def run(
    scene: Annotated[str, typer.Argument(help=f"{SCENE_HELP}, or 'all'.")],
    solver: Annotated[str | None, typer.Option(help="simgc (default), simmc or exact.")] = None,
    method: Annotated[
        str | None, typer.Option(help="default, paper; exact: dop853, radau, rk4 (with --dt), euler.")
    ] = None,
    dt: Annotated[float | None, typer.Option(help="Fixed step, s.")] = None,
    duration: Annotated[float | None, typer.Option(help="Simulated time, s.")] = None,
    parameter: Annotated[list[str] | None, typer.Option("--set", help="A scene parameter, as n=20.")] = None,
    contacts: Annotated[int | None, typer.Option(help="Room for points of contact.")] = None,
    pairs: Annotated[int | None, typer.Option(help="Room for pairs of shapes near each other.")] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Save a plot.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Save a table of numbers.")] = False,
    folder: Annotated[Path, typer.Option("--out", help="Where to save.")] = Path("out"),
    record: Annotated[Path | None, typer.Option(help="Record every step to a new file (.mcap).")] = None,
    rate: Annotated[float, typer.Option(help="States recorded per second.")] = 60.0,
    root: Roots = None,
    decompose: Parts = None,
) -> None:
    """Simulate a scene and report on it. Interrupted, it keeps what was recorded and ends with status 130."""
    from sharnir import scenes
    from sharnir.cli.demonstrate import perform
    from sharnir.cli.run import Wanted, build, run_scenes, solver_of, values_of
    from sharnir.scenes import demonstrators

    solver, method = solver_of(solver, method, dt)
    if scene in demonstrators.names() and solver != "exact":
        given = {"--method": method, "--duration": duration, "--contacts": contacts, "--pairs": pairs}
        idle = [n for n, x in (given | {"--plot": plot or None, "--csv": csv or None}).items() if x is not None]
        if idle:
            allowed = "--solver, --dt, --set, --record, --rate"
            raise ModelError(f"{scene}: performs a task to its end: given {', '.join(idle)}; allowed: {allowed}")
        outcome = perform(scene, solver, dt, values_of(parameter or []), record, rate, out)
        raise typer.Exit(130 if not outcome.finished else 0 if outcome.met else 1)
    if record is not None and scene == ALL:
        raise ModelError(f"--record: holds one scene: given {ALL!r}; allowed: a scene")
    names = [n for n in scenes.names() if n not in demonstrators.names()] if scene == ALL else [scene]
    found = [build(name, parameter or [], out, root or [], decompose) for name in names]
    wanted = Wanted(solver, method, dt, duration, contacts, pairs, plot, csv, folder, record, rate)
    if not run_scenes(found, wanted, out):
        raise typer.Exit(130)


@app.command()
def info(
    scene: Annotated[str, typer.Argument(help=f"{SCENE_HELP}.")], root: Roots = None, decompose: Parts = None
) -> None:
    """Show what a scene holds, and what a robot's file could not bring into it."""
    from sharnir.cli.info import report_table, scene_table
    from sharnir.cli.run import ROBOTS, build, robot

    is_robot = scene.lower().endswith(ROBOTS)
    built = robot(scene, [], root or [], decompose) if is_robot else build(scene, [], out)[0]
    out.print(scene_table(built))
    report = report_table(built)
    if report is not None:
        out.print(report)


@app.command()
def view(
    scene: Annotated[str, typer.Argument(help=f"{SCENE_HELP}.")],
    solver: Annotated[str, typer.Option(help="simgc or simmc.")] = "simgc",
    dt: Annotated[float | None, typer.Option(help="Step, s; left out, what a robot's file says, or 0.01.")] = None,
    parameter: Annotated[list[str] | None, typer.Option("--set", help="A scene parameter, as n=20.")] = None,
    drive: Annotated[Path | None, typer.Option(help="How keys and gamepad drive it (.toml).")] = None,
    auto: Annotated[bool, typer.Option("--auto", help="The scene's own task drives, also where keys could.")] = False,
    port: Annotated[int, typer.Option(help="Of the page; 0 for any that is free.")] = 8080,
    host: Annotated[str, typer.Option(help="Address to serve at; any but this machine's own needs --token.")] = HERE,
    token: Annotated[str | None, typer.Option(help="What the page's address ends with; left out, a new one.")] = None,
    certificate: Annotated[str | None, typer.Option(help="For TLS, with --key (.pem).")] = None,
    key: Annotated[str | None, typer.Option(help="Of the certificate (.pem).")] = None,
    record: Annotated[Path | None, typer.Option(help="Record every step to a new file (.mcap).")] = None,
    root: Roots = None,
    decompose: Parts = None,
) -> None:
    """Watch and drive a scene in a browser, in real time, until Ctrl-C. While it is recorded, its solver stays."""
    from sharnir import viewer
    from sharnir.cli.replay import announced
    from sharnir.cli.run import ROBOTS, build
    from sharnir.scenes import demonstrators
    from sharnir.simulation.simulation import Simulation

    built, _, step = build(scene, parameter or [], out, root or [], decompose)
    performed = scene in demonstrators.names()
    usual = step if (performed or scene.lower().endswith(ROBOTS)) and step is not None else 0.01
    simulation = Simulation(built, solver=solver, dt=usual if dt is None else dt)
    if auto and not performed:
        raise ModelError(
            f"--auto: has no task of its own: given {scene!r}; allowed: {', '.join(demonstrators.names())}"
        )
    file = None if auto else drive or mapping_of(scene)
    mapping = None if file is None else viewer.read_mapping(file, simulation.model)
    if performed and mapping is None:
        demonstrators.Performer(scene, simulation)
    address = viewer.Address(host, port, token, certificate, key)
    with nullcontext() if record is None else simulation.record(record):
        viewer.view(simulation, address, mapping, announced(out), switchable=record is None)


def mapping_of(scene: str) -> Path | None:
    """The file that says how a scene is driven: of a named scene, or beside a scene's file."""
    from sharnir import scenes

    beside = Path(scene).with_suffix(".drive.toml")
    if scene in scenes.names():
        return scenes.drive_file(scene)
    return beside if beside.is_file() else None


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="A recording (.mcap).")],
    verify: Annotated[bool, typer.Option("--verify", help="Simulate it again and compare every step.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write one page that needs nothing else.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Save a table of numbers.")] = False,
    folder: Annotated[Path, typer.Option("--out", help="Where to save it.")] = Path("out"),
    resume: Annotated[float | None, typer.Option(help="Go on from this time, s: live, or with --duration.")] = None,
    duration: Annotated[float | None, typer.Option(help="Go on for so long, s, without a view.")] = None,
    record: Annotated[Path | None, typer.Option(help="Record what goes on to a new file.")] = None,
    port: Annotated[int, typer.Option(help="Of the page on this machine; 0 for any that is free.")] = 8080,
    root: Roots = None,
) -> None:
    """Look at a recording in the browser, check it, make a page or a table of it, or go on from any moment of it."""
    from sharnir.cli.replay import checked, played, resumed, written
    from sharnir.recording.read.recording import open_recording

    if (duration is not None or record is not None) and resume is None:
        raise ModelError("replay: --duration and --record say how to go on: given without --resume; allowed: with it")
    recording = open_recording(file, root or [])
    if resume is not None:
        if not resumed(recording, resume, duration, record, port, out):
            raise typer.Exit(130)
        return
    written(recording, html, folder if csv else None, out)
    if verify and not checked(recording, out):
        raise typer.Exit(1)
    if not (verify or csv or html):
        played(recording, port, out)


@app.command()
def report(folder: Annotated[Path, typer.Option("--out", help="Where to save.")] = Path("out")) -> None:
    """Run Table 1 of [A17] and all demonstrators, print what they reached, save report.html with plots and replays."""
    from sharnir.report import write_report

    if not write_report(folder, out):
        raise typer.Exit(1)


@app.command()
def bench(
    name: Annotated[str, typer.Argument(help="Which benchmark; an unknown name lists them.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions.")] = False,
    device: Annotated[str, typer.Option("--device", help="Where our solvers run: cpu or a GPU, for `holds`.")] = "cpu",
) -> None:
    """Measure against a peer in the same run."""
    from sharnir import benchmarks

    result = benchmarks.run(name, quick, device)
    if as_json:
        print(json.dumps(result))
        return
    out.print(benchmarks.table_of(result["rows"]))


@app.command()
def warm(
    device: Annotated[str, typer.Option("--device", help="cpu, or a GPU such as cuda:0.")] = "cpu",
) -> None:
    """Compile all kernels that are not compiled yet, so that no later command waits for them."""
    from sharnir.dynamics.evaluator import require_device
    from sharnir.kernels.catalogue import compile_all

    if require_device(device) == "cpu":
        compile_all()
    else:
        from sharnir import scenes
        from sharnir.simulation.simulation import Simulation

        for name in WARMED_SCENES:
            sim = Simulation(scenes.make(name), device=device)
            sim.step()
            sim.energy  # noqa: B018  (computed when it is read)
    print(f"kernels for {device} are compiled")


def compiled_kernels() -> str:
    """How many of the CPU's kernels are compiled, where, and how old they are, in words."""
    import time

    from sharnir.kernels.catalogue import all_kernels
    from sharnir.kernels.objects import find_object

    found = [at[0] for kernel in all_kernels() if (at := find_object(kernel)) is not None]
    if not found:
        return f"none of {len(all_kernels())}; `sharnir warm` compiles them"
    hours = (time.time() - min(path.stat().st_mtime for path in found)) / 3600
    return f"{len(found)} of {len(all_kernels())} in {found[0].parent}, {hours:.1f} h old"


@app.command()
def doctor() -> None:
    """Show versions, devices, kernel cache and precision."""
    import importlib.metadata
    import platform

    import warp as wp

    import sharnir
    from sharnir.kernels.target import default_target, get_target
    from sharnir.kernels.types import CPU_FLAGS

    table = Table("what", "found")
    table.add_row("sharnir", sharnir.__version__)
    table.add_row("python", f"{platform.python_version()} on {platform.platform()}")
    for package in ("numpy", "scipy", "warp-lang", "matplotlib", "viser", "mcap", "pin", "mujoco"):
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            version = "not installed (optional)"
        table.add_row(package, version)
    table.add_row(
        "precision",
        f"{sharnir.get_precision()} (set SHARNIR_PRECISION; the exact solver needs double)",
    )
    for device in wp.get_devices():
        table.add_row(f"device {device.alias}", device.name)
    cache = Path(wp.config.kernel_cache_dir)
    ours = list(cache.glob("wp_sharnir*")) if cache.is_dir() else []
    table.add_row("kernel cache", f"{cache} ({len(ours)} compiled modules of sharnir)")
    table.add_row("target", f"{get_target()} (set SHARNIR_TARGET; this processor has {default_target()})")
    table.add_row("compiled CPU kernels", compiled_kernels())
    table.add_row("compiler flags", CPU_FLAGS)
    out.print(table)
