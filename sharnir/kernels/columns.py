"""Array layout of kernels and the accessors that hide it.

A *workspace* array is `[item, column]`: scratch memory. On a GPU every world has its own column, so that neighbouring
threads touch neighbouring memory (coalesced); on the CPU worlds are computed one after another and share column 0,
which stays in the first-level cache. A *state* array is `[item, world]` and outlives a step. `get`/`put` access
workspaces, `item`/`set_item` states. They are native because the compiler must know that the stride is 1 on the CPU
(measured: 15 % of the articulated-body algorithm, 7 % of a step).

On a GPU one thread works on a world, or the 32 lanes of a CUDA warp do (kernels launched with blocks of LANES_BLOCK_DIM
threads). All lanes compute the same, except in loops over the entries of a row or a column, which they share; every
`put` therefore begins with `__syncwarp`.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from sharnir.kernels.types import C_REAL, array2, mat33, real, vec3, vec6

LANES = 32  # threads of a CUDA warp
LANES_BLOCK_DIM = 64  # threads per block where a warp works on a world: native code tells by this size
WORLDS_PER_BLOCK, CONTACTS_PER_WORLD = 32, 4  # with a thread per contact: worlds per block, contacts of each
# preprocessor condition: the lanes of a warp work on one world
USES_LANES = f"defined(__CUDA_ARCH__) && WP_TILE_BLOCK_DIM == {LANES_BLOCK_DIM}"
# native: __syncwarp where a warp works on one world; declares `lane_mask`, the mask of all lanes
SYNC_LANES_NATIVE = f"""
#if {USES_LANES}
    const unsigned lane_mask = 0xffffffffu;
    __syncwarp(lane_mask);  // what any of them has read may now be written, what one has written may be read
#endif
"""
_WORKSPACE_NATIVE = f"""
#if defined(__CUDA_ARCH__)
    const long long n = m.shape[1];
    {C_REAL}* p = m.data + (long long)(item) * size * n + w;
#else
    const long long n = 1;
    {C_REAL}* p = m.data + (long long)(item) * size;
#endif
"""


def _column(size: int, code: str) -> str:
    """Native code of an accessor of `size` numbers per item of a workspace array; p: the first, n: the stride."""
    return _WORKSPACE_NATIVE.replace("size", str(size)) + code


def _put(size: int, code: str) -> str:
    """Native code of a write to a workspace array: lanes are synchronised before it."""
    return SYNC_LANES_NATIVE + _column(size, code)


@wp.func_native(_column(1, "return p[0];"))
def get(m: array2, item: int, w: int) -> real:
    """Entry `item` of column w of a workspace array."""
    ...


@wp.func_native(_put(1, "p[0] = value;"))
def put(m: array2, item: int, w: int, value: real):
    """Write entry `item` of column w of a workspace array."""
    ...


@wp.func_native(_column(3, f"return wp::vec_t<3,{C_REAL}>(p[0], p[n], p[2*n]);"))
def get3(m: array2, item: int, w: int) -> vec3:
    """Entries 3·item to 3·item + 2 of column w of a workspace array."""
    ...


@wp.func_native(_put(3, "p[0] = value[0]; p[n] = value[1]; p[2*n] = value[2];"))
def put3(m: array2, item: int, w: int, value: vec3):
    """Write entries 3·item to 3·item + 2 of column w of a workspace array."""
    ...


@wp.func_native(
    _column(9, f"return wp::mat_t<3,3,{C_REAL}>(p[0],p[n],p[2*n],p[3*n],p[4*n],p[5*n],p[6*n],p[7*n],p[8*n]);")
)
def get33(m: array2, item: int, w: int) -> mat33:
    """Entries 9·item to 9·item + 8 of column w of a workspace array as a matrix, row by row."""
    ...


@wp.func_native(_put(9, "".join(f"p[{3 * i + j}*n] = value.data[{i}][{j}]; " for i in range(3) for j in range(3))))
def put33(m: array2, item: int, w: int, value: mat33):
    """Write a matrix, row by row, to entries 9·item to 9·item + 8 of column w of a workspace array."""
    ...


@wp.func_native(_column(6, f"return wp::vec_t<6,{C_REAL}>({{p[0], p[n], p[2*n], p[3*n], p[4*n], p[5*n]}});"))
def get6(m: array2, item: int, w: int) -> vec6:
    """Entries 6·item to 6·item + 5 of column w of a workspace array."""
    ...


@wp.func_native(_put(6, "".join(f"p[{k}*n] = value[{k}]; " for k in range(6))))
def put6(m: array2, item: int, w: int, value: vec6):
    """Write entries 6·item to 6·item + 5 of column w of a workspace array."""
    ...


ints2 = wp.array(dtype=int, ndim=2)


@wp.func_native(_WORKSPACE_NATIVE.replace("size", "1").replace(C_REAL, "int") + "return p[0];")
def get_int(m: ints2, item: int, w: int) -> int:
    """Entry `item` of column w of a workspace array of integers."""
    ...


@wp.func_native(SYNC_LANES_NATIVE + _WORKSPACE_NATIVE.replace("size", "1").replace(C_REAL, "int") + "p[0] = value;")
def put_int(m: ints2, item: int, w: int, value: int):
    """Write entry `item` of column w of a workspace array of integers."""
    ...


_STATE_NATIVE = f"""
#if defined(__CUDA_ARCH__)
    const long long n = m.shape[1];
    {C_REAL}* p = m.data + (long long)(item) * n + w;
#else
    const long long n = 1;
    {C_REAL}* p = m.data + (long long)(w) * m.shape[0] + item;
#endif
"""


@wp.func_native(_STATE_NATIVE + "return p[0];")
def item(m: array2, item: int, w: int) -> real:
    """Entry `item` of world w of a state array (see `allocate_columns`)."""
    ...


@wp.func_native(SYNC_LANES_NATIVE + _STATE_NATIVE + "p[0] = value;")
def set_item(m: array2, item: int, w: int, value: real):
    """Write entry `item` of world w of a state array."""
    ...


@wp.func_native(_STATE_NATIVE + f"return wp::vec_t<3,{C_REAL}>(p[0], p[n], p[2*n]);")
def item3(m: array2, item: int, w: int) -> vec3:
    """Entries item, item + 1, item + 2 of world w of a state array. Unlike `get3`, `item` is not multiplied by 3."""
    ...


@wp.func_native(SYNC_LANES_NATIVE + _STATE_NATIVE + "p[0] = value[0]; p[n] = value[1]; p[2*n] = value[2];")
def set_item3(m: array2, item: int, w: int, value: vec3):
    """Write entries item, item + 1, item + 2 of world w of a state array."""
    ...


@wp.func_native(_STATE_NATIVE.replace(C_REAL, "int") + "return p[0];")
def item_int(m: ints2, item: int, w: int) -> int:
    """Entry `item` of world w of a state array of integers."""
    ...


@wp.func_native(SYNC_LANES_NATIVE + _STATE_NATIVE.replace(C_REAL, "int") + "p[0] = value;")
def set_item_int(m: ints2, item: int, w: int, value: int):
    """Write entry `item` of world w of a state array of integers."""
    ...


def allocate_contiguous(sizes: dict[str, int], worlds: int, device: str) -> dict[str, wp.array]:
    """Allocate zeroed state arrays, name -> [size, worlds]. For one world on the CPU they are slices of one buffer,
    each aligned to eight numbers, so that all of them can be copied at once."""
    if worlds != 1 or wp.get_device(device).is_cuda:
        return {name: allocate_columns(size, worlds, device) for name, size in sizes.items()}
    starts = [0]
    for size in sizes.values():
        starts.append(starts[-1] + size + -size % 8)
    buffer = wp.zeros(starts[-1], dtype=real, device=device)
    return {
        name: buffer[at : at + size].reshape((1, size)).transpose() if size else allocate_columns(0, 1, device)
        for (name, size), at in zip(sizes.items(), starts[:-1], strict=True)
    }


def allocate_columns(items: int, worlds: int, device: str, dtype: type = real) -> wp.array:
    """Allocate a zeroed state array [items, worlds]. On the CPU the items of a world are contiguous, on a GPU the
    worlds of an item."""
    if wp.get_device(device).is_cuda:
        return wp.zeros((items, worlds), dtype=dtype, device=device)
    return wp.zeros((worlds, items), dtype=dtype, device=device).transpose()


def make_move_worlds(struct: Any) -> Any:
    """Make the Warp function `move_worlds(ctx, by)` that moves the handles of all arrays [item, world] in a struct (and
    in structs in it) by some worlds, on the CPU: what is called with the world 0 finds each in turn. The compiler knows
    that 0, which saves a multiplication in every access to a state array (2 to 4 % of a step)."""

    def statements(struct: Any, path: str) -> list[str]:
        lines = []
        for field, variable in struct.vars.items():
            m = f"{path}.{field}"
            if isinstance(variable.type, wp.array):
                if variable.type.ndim == 2:
                    step = f"{m}.strides[1] / (long long)sizeof(*{m}.data)"
                    lines.append(f"if ({m}.shape[1] > 1) {m}.data += by * ({step});")
            elif hasattr(variable.type, "vars"):
                lines += statements(variable.type, m)
        return lines

    def move_worlds(ctx: Any, by: int) -> None: ...

    move_worlds.__annotations__ = {"ctx": wp.ref[struct], "by": int}
    return wp.func_native("\n".join(statements(struct, "ctx")))(move_worlds)
