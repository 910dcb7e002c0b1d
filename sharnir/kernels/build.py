"""Load kernels; what is not compiled yet is compiled side by side, with one progress bar on the error stream."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from time import monotonic
from typing import Any, NamedTuple

import warp as wp

from sharnir.kernels.objects import BLOCK_DIM, Kernel, find_object, keep
from sharnir.progress import bar

# s, that a core of 2024 compiles CPU kernels for: for the estimate and the order only
COMPILE_SECONDS = {
    "step_kernel": 22.0, "reactions_kernel": 17.0, "published_step_kernel": 13.0, "observe_kernel": 11.0,
    "collide_all_kernel": 8.0, "collide_convex_kernel": 5.0, "ticks_kernel": 3.0, "collide_round_kernel": 3.0,
}  # fmt: skip
OTHER_SECONDS = 2.0
SHOWN_AFTER = 0.5  # s


class Build(NamedTuple):
    """A kernel, by its place or itself, that is to be called on a device. block: threads per block on a GPU."""

    kernel: Any
    device: str
    block: int

    @property
    def seconds(self) -> float:
        name = self.kernel.name if isinstance(self.kernel, Kernel) else self.kernel.key
        return COMPILE_SECONDS.get(name, OTHER_SECONDS)

    def define(self) -> Any:
        """The Warp kernel; its sources are imported where they are not."""
        return self.kernel.define() if isinstance(self.kernel, Kernel) else self.kernel

    def is_compiled(self) -> bool:
        if not wp.get_device(self.device).is_cuda:
            return find_object(self.kernel) is not None
        folder = self.define().module.get_module_identifier(self.block)
        return os.path.isdir(os.path.join(wp.config.kernel_cache_dir, folder))

    def compile(self) -> None:
        """Have Warp compile and load the kernel's module, or load it from its cache; keep what is for the CPU."""
        on_gpu = wp.get_device(self.device).is_cuda
        wp.load_module(self.define().module, device=self.device, block_dim=self.block if on_gpu else BLOCK_DIM)
        if not on_gpu:
            keep(self.kernel)


class _Builder:
    """Threads that compile: compilation proper leaves the interpreter to others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._started: dict[Build, Future[None]] = {}

    def start(self, builds: Iterable[Build]) -> list[Future[None]]:
        """Compile what is not compiled, the longest first; the futures of these."""
        with self._lock:
            futures = []
            for build in sorted(builds, key=lambda b: -b.seconds):
                if build not in self._started and not build.is_compiled():
                    build.define()  # imports are for one thread
                    self._pool = self._pool or ThreadPoolExecutor(cores())
                    self._started[build] = self._pool.submit(build.compile)
                if build in self._started:
                    futures.append(self._started[build])
            return futures


_builder = _Builder()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_kernels(builds: Iterable[Build]) -> None:
    """See to it that some kernels can be called; compile what is not compiled, and say so."""
    builds = list(builds)
    futures = _builder.start(builds)
    if not all(future.done() for future in futures):
        todo = [build.seconds for build in builds if not build.is_compiled()]
        _wait(futures, max(*todo, sum(todo) / cores(), 1.0))
    for future in futures:
        future.result()


def start_loading(builds: Iterable[Build]) -> None:
    """Begin to compile in the background what is not compiled and is needed soon."""
    _builder.start(builds)


def _wait(futures: list[Future[None]], estimate: float) -> None:
    """Wait with a bar. estimate: s."""
    start = monotonic()
    if not wait(futures, SHOWN_AFTER).not_done:
        return
    with bar("sharnir: compiling for this processor, once", 1.0, True) as advance:
        while wait(futures, 0.2).not_done:
            passed = (monotonic() - start) / estimate
            advance(passed if passed < 0.8 else 1.0 - 0.04 / (passed - 0.6))  # later than estimated: ever more slowly
        advance(1.0)
