"""Launching kernels: prepare launches once (CUDA graphs on a GPU, compiled functions with packed arguments on the CPU),
run them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import warp as wp

from sharnir.kernels.build import Build, load_kernels
from sharnir.kernels.objects import Kernel, function_of, pack_arguments

DEFAULT_BLOCK_DIM = 32  # threads per block on a GPU: small, so that few worlds still occupy all multiprocessors


class Launch(NamedTuple):
    """A kernel, by its place or (on a GPU) itself, over all worlds. threads: GPU threads per world; block: threads per
    block, filled up where there are several per world."""

    kernel: Any
    arguments: list[Any]
    threads: int = 1
    block: int = DEFAULT_BLOCK_DIM
    loops: bool = False  # the kernel goes over the worlds itself (on the CPU)

    def start(self, worlds: int, device: str) -> None:
        dim = worlds if self.threads == 1 else -(-worlds * self.threads // self.block) * self.block
        kernel = self.builds(device)[0].define()
        wp.launch(kernel, dim=dim, inputs=self.arguments, device=device, block_dim=self.block)

    def builds(self, device: str) -> list[Build]:
        """What has to be compiled."""
        return [Build(self.kernel, device, self.block)]


class RepeatWhile(NamedTuple):
    """Launches repeated while condition [1], which they set on the device, is not 0 (a conditional node of a CUDA
    graph)."""

    launches: list[Launch]
    condition: Any

    def start(self, worlds: int, device: str) -> None:
        wp.capture_while(self.condition, self._once, worlds=worlds, device=device)

    def _once(self, worlds: int, device: str) -> None:
        for launch in self.launches:
            launch.start(worlds, device)

    def builds(self, device: str) -> list[Build]:
        return [build for launch in self.launches for build in launch.builds(device)]


MakeLaunches = Callable[[], Sequence[Launch | RepeatWhile]]


class Graphs:
    """Launches prepared on one device. A plain launch costs several microseconds from Python. On a GPU they are
    captured once and replayed, which takes about one. On the CPU compiled functions are called as they are, with
    arguments packed once (packing takes 4 to 6 µs of a robot's step)."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._is_gpu = wp.get_device(device).is_cuda
        self.prepared: dict[Any, Any] = {}
        self._kept: list[Any] = []  # what packed arguments refer to

    def launch(self, key: Any, kernel: Kernel, dim: int, arguments: list[Any]) -> None:
        """Run a kernel over `dim` worlds. Arguments are frozen at the first call with a key."""
        self.launch_all(key, lambda: [Launch(kernel, arguments)], dim)

    def launch_all(self, key: Any, make_launches: MakeLaunches, worlds: int, times: int = 1) -> None:
        """Run some kernels one after the other, some times over; a `RepeatWhile` on a GPU only. make_launches: called
        the first time a key is used."""
        if self._is_gpu:
            self._replay((key, times), make_launches, worlds, times)
            return
        if key not in self.prepared:
            launches = make_launches()
            load_kernels(build for launch in launches for build in launch.builds(self.device))
            self.prepared[key] = [self._call(launch, worlds) for launch in launches if isinstance(launch, Launch)]
        calls = self.prepared[key]
        for _ in range(times):
            for call in calls:
                call()

    def _replay(self, key: Any, make_launches: MakeLaunches, worlds: int, times: int) -> None:
        if key not in self.prepared:
            launches = make_launches()
            load_kernels(build for launch in launches for build in launch.builds(self.device))
            with wp.ScopedCapture(device=self.device) as capture:
                for _ in range(times):
                    for launch in launches:
                        launch.start(worlds, self.device)
            self.prepared[key] = capture.graph
        wp.capture_launch(self.prepared[key])

    def _call(self, launch: Launch, worlds: int) -> Callable[[], None]:
        """A kernel's compiled function on the CPU with its arguments."""
        bounds, packed = pack_arguments(1 if launch.loops else worlds, launch.arguments)
        self._kept.append(launch.arguments)
        return partial(function_of(launch.kernel), ctypes.byref(bounds), ctypes.byref(packed))


def run_kernel(kernel: Kernel, dim: int, arguments: list[Any], device: str) -> None:
    """Run a kernel once over `dim` indices; compile it first if it is not."""
    launch = Launch(kernel, arguments)
    load_kernels(launch.builds(device))
    if wp.get_device(device).is_cuda:
        launch.start(dim, device)
    else:
        bounds, packed = pack_arguments(dim, arguments)
        function_of(kernel)(ctypes.byref(bounds), ctypes.byref(packed))
