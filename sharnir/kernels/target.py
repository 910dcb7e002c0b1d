"""The processors that CPU kernels are compiled for: a level of x86-64, so that code compiled here and code that comes
with the package give equal bits; elsewhere the processor at hand.

The environment variable SHARNIR_TARGET chooses another: "x86-64-v3" (AVX2), "x86-64-v4" (AVX-512) or "native".
"""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

from sharnir.errors import ModelError

NATIVE = "native"
# flags of /proc/cpuinfo that a level needs, the best level first
LEVELS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
}


@cache
def processor_flags() -> frozenset[str]:
    """What /proc/cpuinfo says that the processor can do; empty where there is none."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), []))


@cache
def default_target() -> str:
    """The best level that this processor has; "native" where there is none or this is not Linux on x86-64."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return NATIVE
    needed: set[str] = set().union(*LEVELS.values())
    for level, flags in LEVELS.items():
        if flags | LEVELS["x86-64-v3"] <= processor_flags() & needed:
            return level
    return NATIVE


@cache
def get_target() -> str:
    """What CPU kernels of this process are compiled for."""
    chosen = os.environ.get("SHARNIR_TARGET", default_target())
    if chosen not in (*LEVELS, NATIVE):
        allowed = ", ".join(repr(name) for name in (*LEVELS, NATIVE))
        raise ModelError(f"SHARNIR_TARGET: unknown target: given {chosen!r}; allowed: {allowed}")
    return chosen


def compiler_flags() -> str:
    """Flags of the compiler for the target."""
    return "-march=native" if get_target() == NATIVE else f"-target-cpu {get_target()}"
