"""The floating-point precision of this process: double unless chosen otherwise before the first kernel.

Warp never mixes float32 and float64, so precision is a property of the process, like JAX's x64 flag:
`sharnir.set_precision("single")` or the environment variable `SHARNIR_PRECISION=single`.
"""

from __future__ import annotations

import os
import sys

from sharnir.errors import ModelError

NAMES = ("double", "single")


def _checked(name: str, where: str) -> str:
    if name not in NAMES:
        raise ModelError(f"{where}: unknown precision: given {name!r}; allowed: 'double' or 'single'")
    return name


_chosen = os.environ.get("SHARNIR_PRECISION", "double")


def get_precision() -> str:
    """'double' or 'single'."""
    return _checked(_chosen, "SHARNIR_PRECISION")


def set_precision(name: str) -> None:
    """Choose 'double' or 'single' for this process; only possible before the first kernel is built."""
    global _chosen
    _checked(name, "set_precision")
    if name != _chosen and "sharnir.kernels.types" in sys.modules:
        raise ModelError(
            f"set_precision: kernels were already built: given {name!r}; allowed: a call before the first "
            f"use of sharnir.dynamics or a solver (this process uses {_chosen!r})"
        )
    _chosen = name
