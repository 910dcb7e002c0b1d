"""Launching kernels: load them (with a word when they must be compiled), capture once, replay after."""

from __future__ import annotations

import os
import sys
from typing import Any

import warp as wp

BLOCK = 32  # threads per block on a GPU: few worlds should still reach all of its processors


class Graphs:
    """Captured launches on one device. A plain launch costs several microseconds from Python, a replay about one."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._graphs: dict[Any, Any] = {}

    def launch(self, key: Any, kernel: Any, dim: int, arguments: list[Any]) -> None:
        """Run a kernel over `dim` worlds. Arguments are frozen at the first call with a key."""
        self.launch_all(key, [(kernel, arguments)], dim)

    def launch_all(self, key: Any, kernels: list[tuple[Any, list[Any]]], dim: int, times: int = 1) -> None:
        """Run some kernels, each with its arguments, one after the other, some times over."""
        graph = self._graphs.get(key)
        if graph is None:
            for kernel, _ in kernels:
                load(kernel, self.device)
            with wp.ScopedCapture(device=self.device) as capture:
                for kernel, arguments in kernels * times:
                    wp.launch(kernel, dim=dim, inputs=arguments, device=self.device, block_dim=BLOCK)
            graph = self._graphs[key] = capture.graph
        wp.capture_launch(graph)


def load(kernel: Any, device: str) -> None:
    """Load a kernel's module from the cache, or compile it once and say so."""
    block = BLOCK if wp.get_device(device).is_cuda else 1
    module = kernel.module
    cached = os.path.isdir(os.path.join(wp.config.kernel_cache_dir, module.get_module_identifier(block)))
    if not cached:
        print(f"sharnir: compiling {kernel.key} for {device}, once: up to two minutes …", file=sys.stderr, flush=True)
    wp.load_module(module, device=device, block_dim=block)
