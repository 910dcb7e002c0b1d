"""What tests of GPU code share: the GPUs there are, and compiling where there is none (NVRTC needs no driver)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import warp as wp

from sharnir.kernels.columns import LANES_BLOCK_DIM

GPUS = [str(device) for device in wp.get_cuda_devices()]
WITHOUT = "there is no GPU here"
ARCHITECTURE = 80
TEAM_OPTIONS = {
    "enable_backward": False,
    "block_dim": LANES_BLOCK_DIM,
}  # threads of a block tell that teams are at work


def ptx_of(kernel: Any, folder: Path) -> str:
    """What all kernels of a kernel's module are compiled to, for blocks of teams."""
    wp.compile_aot_module(kernel.module, arch=ARCHITECTURE, module_dir=folder, use_ptx=True, strip_hash=True)
    return next(folder.glob("*.ptx")).read_text()
