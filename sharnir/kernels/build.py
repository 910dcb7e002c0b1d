"""Compile and load kernels: those that Warp's cache lacks side by side, with one progress bar on the error stream."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from time import monotonic
from typing import Any, NamedTuple

import warp as wp

from sharnir.progress import bar

CPU_BLOCK_DIM = 1
# s, that a core of 2024 compiles CPU kernels for: for the estimate and the order only
COMPILE_SECONDS = {
    "step_kernel": 22.0, "reactions_kernel": 17.0, "published_step_kernel": 13.0, "observe_kernel": 11.0,
    "collide_all_kernel": 8.0, "collide_convex_kernel": 5.0, "ticks_kernel": 3.0, "collide_round_kernel": 3.0,
}  # fmt: skip
OTHER_SECONDS = 2.0
SHOWN_AFTER = 0.5  # s


class Build(NamedTuple):
    """A kernel whose module is to be compiled and loaded. block: threads per block on a GPU."""

    kernel: Any
    device: str
    block: int = CPU_BLOCK_DIM

    @property
    def seconds(self) -> float:
        return COMPILE_SECONDS.get(self.kernel.key, OTHER_SECONDS)

    def is_cached(self) -> bool:
        """Whether Warp's cache has a module of these sources and flags."""
        folder = self.kernel.module.get_module_identifier(self.block)
        return os.path.isdir(os.path.join(wp.config.kernel_cache_dir, folder))

    def load(self) -> None:
        wp.load_module(self.kernel.module, device=self.device, block_dim=self.block)


class _Builder:
    """Threads that compile: compilation proper leaves the interpreter to others."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._started: dict[tuple[str, str, int], Future[None]] = {}

    def start(self, builds: Iterable[Build]) -> list[Future[None]]:
        """Compile what the cache lacks, the longest first; the futures of these."""
        with self._lock:
            futures = []
            for build in sorted(builds, key=lambda b: -b.seconds):
                key = (build.kernel.module.name, build.device, build.block)
                if key not in self._started and not build.is_cached():
                    self._pool = self._pool or ThreadPoolExecutor(len(os.sched_getaffinity(0)))
                    self._started[key] = self._pool.submit(build.load)
                if key in self._started:
                    futures.append(self._started[key])
            return futures


_builder = _Builder()


def load_kernels(builds: Iterable[Build]) -> None:
    """Load the modules of some kernels; compile first what the cache lacks, and say so."""
    builds = list(builds)
    futures = _builder.start(builds)
    missing = [future for future in futures if not future.done()]
    if missing:
        work = sum(build.seconds for build in builds if not build.is_cached())
        most = max(build.seconds for build in builds)
        _wait(missing, max(most, work / len(os.sched_getaffinity(0))))
    for future in futures:
        future.result()
    for build in builds:
        build.load()


def start_loading(builds: Iterable[Build]) -> None:
    """Begin to compile in the background what the cache lacks and is needed soon."""
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
