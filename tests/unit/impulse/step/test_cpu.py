"""Kernels of a step on the CPU."""

from __future__ import annotations

import pytest

from sharnir.impulse.step.cpu import published_step_kernel, step_kernel


@pytest.mark.parametrize("kernel", [step_kernel, published_step_kernel], ids=lambda kernel: kernel.key)
def test_a_step_is_compiled_once(kernel):
    """Warp compiles a CPU kernel twice, once for contiguous arrays, if a parameter of its own is a 1-D array."""
    assert [arg.label for arg in kernel.adj.args if getattr(arg.type, "ndim", 0) == 1] == []
