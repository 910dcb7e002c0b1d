"""Copy and extrapolate indexed blocks of a column, native (see `kernels.columns`). An index list holds its length, then
the indices."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.columns import ints2
from sharnir.kernels.types import C_REAL, array2, real

_EACH_ITEM_NATIVE = """
#if defined(__CUDA_ARCH__)
    const long long n = x.shape[1];
    const int* item = chosen.data + w;
    const long long column = w;
#else
    const long long n = 1;
    const int* item = chosen.data;
    const long long column = 0;
#endif
    const int count = item[0];
    for (int i = 1; i <= count; ++i) {
        const long long from = (first + (long long)(stride) * item[i*n]) * n + column;
        for (int k = 0; k < size; ++k) {
            const long long at = from + k*n;
            BODY
        }
    }
"""


@wp.func_native(_EACH_ITEM_NATIVE.replace("BODY", "old.data[at] = x.data[at];"))
def copy_indexed_blocks(x: array2, old: array2, chosen: ints2, first: int, stride: int, size: int, w: int):
    """old ← x for the first `size` items of every listed block; block i starts at first + stride · i."""
    ...


@wp.func_native(
    _EACH_ITEM_NATIVE.replace(
        "BODY",
        f"""const {C_REAL} now = x.data[at], ahead = beta * direction.data[at];
            direction.data[at] = now - old.data[at] + ahead; x.data[at] = now + ahead;""",
    )
)
def extrapolate_indexed_blocks(
    x: array2, old: array2, direction: array2, beta: real, chosen: ints2, first: int, stride: int, size: int, w: int
):
    """`vector_ops.extrapolate` (x += β direction, direction ← change + β direction) for the first `size` items of every
    listed block."""
    ...
