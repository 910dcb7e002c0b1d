"""Trajectories as CSV files and plots."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import numpy as np

from sharnir.errors import ModelError, fail
from sharnir.model.model import Model
from sharnir.simulation.simulate import Trajectory

POSITION_COMPONENTS = {
    "cylindrical": ("d", "angle"), "universal": ("angle1", "angle2"), "planar": ("x", "y", "angle"),
    "spherical": ("qx", "qy", "qz", "qw"), "free": ("x", "y", "z", "qx", "qy", "qz", "qw"),
}  # fmt: skip
VELOCITY_COMPONENTS = {
    "cylindrical": ("d", "angle"), "universal": ("angle1", "angle2"), "planar": ("x", "y", "angle"),
    "spherical": ("wx", "wy", "wz"), "free": ("vx", "vy", "vz", "wx", "wy", "wz"),
}  # fmt: skip


def coordinate_names(model: Model, loops: bool = False) -> tuple[list[str], list[str]]:
    """Names of the coordinates of q and v, where asked for followed by those of joints that close loops: the joint's,
    with a component where it has several."""
    positions, velocities = [], []
    for name, kind in zip(model.joint_names, model.joint_types, strict=True):
        where = model.joint(name)
        if loops or not where.closes_loop:
            positions += component_names(name, POSITION_COMPONENTS.get(kind), where.q.stop - where.q.start)
            velocities += component_names(name, VELOCITY_COMPONENTS.get(kind), where.v.stop - where.v.start)
    return positions, velocities


def component_names(joint: str, components: tuple[str, ...] | None, count: int) -> list[str]:
    """Names of a joint's coordinates: by its components, or numbered where there are several without names."""
    if components is not None:
        return [f"{joint}.{c}" for c in components]
    return [joint] if count == 1 else [f"{joint}.{k}" for k in range(count)]


def prepare_folder(folder: Path) -> None:
    """Make a folder to save in, before the work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        raise fail(f"folder {folder}", "cannot be written to", str(error), "a folder that can") from None


def require_matplotlib() -> None:
    """Matplotlib, without a screen and without TeX, which a `matplotlibrc` of the current folder could have it run; or
    a word about how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise ModelError("plot: matplotlib is missing; allowed: pip install 'sharnir[plot]'") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["text.usetex"] = False


def write_csv(trajectory: Trajectory, path: Path) -> None:
    """One line per recorded time: t, q, v, energies, work and loop errors, full precision."""
    positions, velocities = coordinate_names(trajectory.model)
    header = ["t [s]", *(f"q:{n}" for n in positions), *(f"v:{n}" for n in velocities)]
    header += ["kinetic [J]", "potential [J]", "work [J]", "loop position error", "loop velocity error"]
    energies = np.column_stack([trajectory.kinetic, trajectory.potential, trajectory.work, trajectory.loop_error])
    table = np.column_stack([trajectory.t, trajectory.q, trajectory.v, energies])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([[repr(float(x)) for x in line] for line in table])


def write_plot(trajectory: Trajectory, path: Path) -> None:
    """Positions, velocities and the energy error, or change, over time, as a PNG."""
    require_matplotlib()
    from matplotlib import pyplot as plt

    positions, velocities = coordinate_names(trajectory.model)
    figure, axes = plt.subplots(3, 1, figsize=(9, 9), sharex=True, constrained_layout=True)
    figure.suptitle(f"{trajectory.model.name}: {trajectory.solver}, {trajectory.method}")
    for axis, values, names, label in (
        (axes[0], trajectory.q, positions, "q [m, rad]"),
        (axes[1], trajectory.v, velocities, "v [m/s, rad/s]"),
    ):
        axis.plot(trajectory.t, values, linewidth=1)
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        if 0 < len(names) <= 10:
            axis.legend(names, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    energy = trajectory.kinetic + trajectory.potential
    known = bool(np.isfinite(trajectory.work).all())
    axes[2].plot(trajectory.t, trajectory.energy_error if known else energy - energy[0], linewidth=1, color="black")
    axes[2].set_ylabel("energy error [J]" if known else "energy change [J]")
    axes[2].set_xlabel("t [s]")
    axes[2].grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)
