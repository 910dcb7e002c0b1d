"""All kernels of the CPU, by their places, and the job that compiles them: `sharnir warm`, and wheels."""

from __future__ import annotations

import sys
from pathlib import Path

from sharnir.kernels.build import Build, load_kernels
from sharnir.kernels.objects import BLOCK_DIM, Kernel, digest, keep

PLACES = {
    "sharnir.impulse.step.cpu": ("step_kernel", "published_step_kernel", "initialise_kernel", "ticks_kernel"),
    "sharnir.impulse.step.observe": ("observe_kernel",),
    "sharnir.impulse.step.poses": ("poses_kernel",),
    "sharnir.impulse.step.reactions": ("reactions_kernel",),
    "sharnir.collision.pipeline": ("collide_round_kernel", "collide_convex_kernel", "collide_all_kernel"),
    "sharnir.collision.queries.distance": ("pair_contacts_kernel",),
    "sharnir.collision.queries.raycast": ("ray_cast_kernel",),
    "sharnir.dynamics.kernels": (
        "aba_kernel", "rnea_kernel", "crba_kernel", "whitened_kernel", "jacobian_kernel", "totals_kernel",
        "passive_kernel", "bodies_kernel",
    ),
    "sharnir.exact.kernels": (
        "motion_kernel", "unwhiten_kernel", "read_z_kernel", "advance_kernel", "reactions_kernel",
    ),
    "sharnir.control.kinematic_kernels": ("kinematics_kernel", "integrate_kernel"),
}  # fmt: skip


def all_kernels() -> list[Kernel]:
    return [Kernel(module, name) for module, names in PLACES.items() for name in names]


def compile_all() -> None:
    """Compile all kernels of the CPU that are not compiled."""
    load_kernels(Build(kernel, "cpu", BLOCK_DIM) for kernel in all_kernels())


def export(folder: Path) -> None:
    """Compile all and copy their objects to a folder named by the digest in `folder`."""
    compile_all()
    for kernel in all_kernels():
        Build(kernel, "cpu", BLOCK_DIM).compile()
        keep(kernel, folder / digest())


if __name__ == "__main__":
    export(Path(sys.argv[1]))
