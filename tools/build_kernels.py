"""Build hook of wheels: compiles the kernels of the CPU for the levels of x86-64, and adds them to the wheel.

`python -m build` calls it. It compiles in an environment of its own, made for it, with the dependencies that
pyproject.toml states; editable installations compile when they run. Where it does not apply (no Linux on x86-64, or
SHARNIR_NO_KERNELS is set) the wheel has no kernels, and compiles them when it runs.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LEVELS = ("x86-64-v3", "x86-64-v4")
TAG = "py3-none-manylinux_2_28_x86_64"  # that of the Warp it needs
NEEDED = ("numpy", "scipy", "warp-lang", "threadpoolctl", "rich")


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds sharnir/_objects to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        here = platform.system() == "Linux" and platform.machine() == "x86_64"
        if version == "editable" or not here or os.environ.get("SHARNIR_NO_KERNELS"):
            return
        try:
            self._add_kernels(build_data)
        except subprocess.CalledProcessError as error:
            words = " ".join(str(word) for word in error.cmd)
            message = f"kernels were not compiled: {words} ended with {error.returncode}; allowed: SHARNIR_NO_KERNELS=1"
            raise SystemExit(f"{message} for a wheel that compiles them when it runs") from None

    def _add_kernels(self, build_data: dict[str, Any]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        root = Path(self._folder.name)
        venv.create(root / "venv", with_pip=True)
        python = root / "venv" / "bin" / "python"
        wanted = [d for d in self.metadata.core.dependencies if d.startswith(NEEDED)]
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
        for level in LEVELS:
            print(f"compiling kernels for {level}", file=sys.stderr, flush=True)
            surroundings = {
                **os.environ, "SHARNIR_TARGET": level, "WARP_CACHE_PATH": str(root / level), "PYTHONPATH": self.root,
            }  # fmt: skip
            command = [python, "-P", "-m", "sharnir.kernels.catalogue", str(root / "objects")]
            subprocess.run(command, check=True, cwd=root, env=surroundings)
        build_data["force_include"][str(root / "objects")] = "sharnir/_objects"
        build_data["pure_python"] = False
        build_data["tag"] = TAG
