"""Compiled objects of CPU kernels, kept so that a process can call them without Warp's code generator.

To load a kernel Warp has to import the Python source of all its functions and to hash it, which takes a second or two
of every process. Here a compiled module is kept under a digest of the package's sources, the compiler's flags, the
precision and Warp's version, and called through its symbol; the source is imported only where the object is missing.
A digest that differs finds nothing, so that no stale object is ever called.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import json
import os
import threading
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import warp as wp
from warp._src import context
from warp._src.types import launch_bounds_t

from sharnir.kernels.types import CPU_FLAGS, DOUBLE

PACKAGE = Path(__file__).resolve().parent.parent
# parts of the package that no kernel is made of
NOT_KERNELS = ("benchmarks", "builders", "cli", "drawing", "io", "recording", "report", "scenes", "viewer")
BLOCK_DIM = 1  # threads per block, of a CPU kernel


class Kernel(NamedTuple):
    """A kernel by its place, imported only where it has to be compiled."""

    module: str
    name: str

    @property
    def entry(self) -> str:
        """Name of the file that says where the kernel's object is, and its symbol."""
        return f"{self.module}.{self.name}.json"

    def define(self) -> Any:
        """The Warp kernel."""
        return getattr(importlib.import_module(self.module), self.name)


@cache
def digest() -> str:
    """Of all that compiled CPU kernels depend on."""
    out = hashlib.sha256(f"{wp.config.version} {CPU_FLAGS} {DOUBLE}".encode())
    if "-march=native" in CPU_FLAGS:
        out.update(processor().encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] not in NOT_KERNELS:
            out.update(f"{place}\n".encode() + path.read_bytes())
    return out.hexdigest()[:16]


@cache
def processor() -> str:
    """What tells processors apart for which code is compiled natively."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        import platform

        return platform.processor()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def folders() -> tuple[Path, ...]:
    """Where objects of this digest may lie: what this machine has compiled, and what came with the package."""
    return (Path(wp.config.kernel_cache_dir) / f"sharnir-{digest()}", PACKAGE / "_objects" / digest())


def find_object(kernel: Kernel) -> tuple[Path, str] | None:
    """File and symbol of a kernel that is compiled; a file that is not as it was written counts as missing."""
    for folder in folders():
        try:
            name, symbol, checksum = json.loads((folder / kernel.entry).read_text())
            path = folder / str(name)
            if checksum_of(path.read_bytes()) == checksum:
                return path, symbol
        except (OSError, ValueError, TypeError):
            continue
    return None


def checksum_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_loaded: dict[Path, bytes] = {}  # files of objects → names by which Warp's loader knows them


def function_of(kernel: Kernel) -> Any:
    """The compiled function of a kernel; None where it is not compiled."""
    found = find_object(kernel)
    if found is None:
        return None
    path, symbol = found
    wp.init()  # before, there is no loader
    llvm = context.runtime.llvm
    if path not in _loaded:
        handle = f"sharnir_{path.stem}_{len(_loaded)}".encode()
        if llvm.wp_load_obj(str(path).encode(), handle, wp.config.legacy_cpu_linker) != 0:
            return None
        _loaded[path] = handle
    address = llvm.wp_lookup(_loaded[path], symbol.encode())
    return ctypes.CFUNCTYPE(None)(address) if address else None


def keep(kernel: Kernel, folder: Path | None = None) -> None:
    """Keep the object of a kernel that Warp has compiled and loaded."""
    folder = folders()[0] if folder is None else folder
    defined = kernel.define()
    module = defined.module
    (execution,) = (e for (context, block), e in module.execs.items() if context is None and block == BLOCK_DIM)
    symbol = f"{execution.get_kernel_mangled_name(defined)}_cpu_forward"
    source = Path(execution.binary_path)
    folder.mkdir(parents=True, exist_ok=True)
    content = source.read_bytes()
    _write(folder / source.name, content)
    _write(folder / kernel.entry, json.dumps([source.name, symbol, checksum_of(content)]).encode())


def _write(path: Path, content: bytes) -> None:
    """Write a file that is whole whenever others see it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    partial.write_bytes(content)
    partial.replace(path)


def pack_arguments(worlds: int, arguments: list[Any]) -> tuple[Any, Any]:
    """Bounds of a launch and its arguments, as compiled functions take them; the arguments must be kept."""
    values = [_pack(value) for value in arguments]
    fields = [(f"_{k}", type(value)) for k, value in enumerate(values)]
    return launch_bounds_t(worlds), type("Arguments", (ctypes.Structure,), {"_fields_": fields})(*values)


def _pack(value: Any) -> Any:
    if hasattr(value, "__ctype__"):
        return value.__ctype__()
    if isinstance(value, (int, np.integer)):
        return ctypes.c_int32(int(value))
    return (ctypes.c_double if DOUBLE else ctypes.c_float)(float(value))
