"""Start-up: a fresh process imports sharnir, compiles a scene and evaluates it once, from a warm kernel cache."""

from __future__ import annotations

import subprocess
from typing import Any

from sharnir.benchmarks.harness import interleaved, row
from sharnir.child_process import child_environment, code_command

OURS = """
import sharnir
from sharnir import dynamics, scenes
model = sharnir.compile(scenes.make("rods"))
dynamics.aba(model, model.q0, model.v0, model.v0)
"""
PEER = """
import pinocchio as pin, numpy as np
model = pin.buildSampleModelManipulator()
pin.aba(model, model.createData(), pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv))
"""


def run(quick: bool) -> list[dict[str, Any]]:
    def fresh(code: str) -> None:
        subprocess.run(code_command(code), check=True, capture_output=True, env=child_environment())

    try:
        import pinocchio
    except ImportError:
        pinocchio = None
    peer = None if pinocchio is None else (lambda: fresh(PEER))
    [(ours, theirs)] = interleaved([(lambda: fresh(OURS), peer)], 3 if quick else 10)
    name = None if pinocchio is None else f"pinocchio {pinocchio.__version__}"
    return [row("import, compile, first evaluation", "s", ours, theirs, name)]
