"""Shared by tests of GPU code: available GPUs, and compilation without one (NVRTC needs no driver)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import warp as wp

from sharnir.kernels.columns import LANES_BLOCK_DIM

GPUS = [str(device) for device in wp.get_cuda_devices()]
NO_GPU = "no GPU"
ARCHITECTURE = 80
# the block size selects the code for 32 lanes of a warp per world
LANE_OPTIONS = {"enable_backward": False, "block_dim": LANES_BLOCK_DIM}


def ptx_of(kernel: Any, folder: Path) -> str:
    """PTX text of all kernels of a kernel's module, compiled for lanes of a warp."""
    wp.compile_aot_module(kernel.module, arch=ARCHITECTURE, module_dir=folder, use_ptx=True, strip_hash=True)
    return next(folder.glob("*.ptx")).read_text()
