"""A folder in which every module that our processes might import lies once more: each says that it ran, and fails."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

RAN = "ran.txt"
MODULE = f"""with open(__file__.rpartition("/")[0] + "/{RAN}", "a") as file:
    file.write(__name__ + "\\n")
raise ImportError("code of the current folder ran: " + __name__)
"""


def names() -> list[str]:
    """Of all modules of the standard library, of what is installed, and our own."""
    installed = (name for name in packages_distributions() if name.isidentifier())
    return sorted({*sys.stdlib_module_names, *installed, "sharnir", "sitecustomize", "usercustomize"})


def fill(folder: Path) -> None:
    """Put them there, as modules and, of some, as packages."""
    for name in names():
        (folder / f"{name}.py").write_text(MODULE)
    for name in ("encodings", "sharnir", "numpy", "viser", "warp", "mujoco"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(MODULE)


def ran(folder: Path) -> list[str]:
    """Names of those that ran."""
    log = folder / RAN
    return log.read_text().split() if log.exists() else []
