"""Access to per-world columns of arrays.

A *workspace* array is `[item, column]`. On the GPU every world has its own column, so that neighbouring
threads touch neighbouring memory; on the CPU worlds are computed one after another and share column 0,
so that everything stays in the first-level cache. A *state* array is `[item, world]`. The accessors below
(get and put for workspaces, item and set_item for states) hide the difference; they are native because the
stride 1 must be known to the compiler (measured: 15 % of the articulated-body algorithm, 7 % of a step).
"""

from __future__ import annotations

import warp as wp

from sharnir.kernels.types import C_REAL, array2, mat33, real, vec3, vec6

# On a GPU a thread works on a world, or a team of neighbouring threads does, in kernels launched with blocks of
# TEAM_BLOCK. All threads of a team compute the same, but for loops over entries of a row or a column, which they share.
LANES = 32  # threads of a team
LANES_BLOCK_DIM = 64  # threads per block
# Or a thread works on a contact of a world: blocks have CREW neighbouring worlds and SLOTS contacts of each.
WORLDS_PER_BLOCK, CONTACTS_PER_WORLD = 32, 4
USES_LANES = f"defined(__CUDA_ARCH__) && WP_TILE_BLOCK_DIM == {LANES_BLOCK_DIM}"
SYNC_LANES_NATIVE = f"""
#if {USES_LANES}
    const unsigned team = 0xffffffffu;
    __syncwarp(team);  // what any of them has read may now be written, what one has written may be read
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
    return _WORKSPACE_NATIVE.replace("size", str(size)) + code


def _put(size: int, code: str) -> str:
    return SYNC_LANES_NATIVE + _column(size, code)


@wp.func_native(_column(1, "return p[0];"))
def get(m: array2, item: int, w: int) -> real: ...


@wp.func_native(_put(1, "p[0] = value;"))
def put(m: array2, item: int, w: int, value: real): ...


@wp.func_native(_column(3, f"return wp::vec_t<3,{C_REAL}>(p[0], p[n], p[2*n]);"))
def get3(m: array2, item: int, w: int) -> vec3: ...


@wp.func_native(_put(3, "p[0] = value[0]; p[n] = value[1]; p[2*n] = value[2];"))
def put3(m: array2, item: int, w: int, value: vec3): ...


@wp.func_native(
    _column(9, f"return wp::mat_t<3,3,{C_REAL}>(p[0],p[n],p[2*n],p[3*n],p[4*n],p[5*n],p[6*n],p[7*n],p[8*n]);")
)
def get33(m: array2, item: int, w: int) -> mat33: ...


@wp.func_native(_put(9, "".join(f"p[{3 * i + j}*n] = value.data[{i}][{j}]; " for i in range(3) for j in range(3))))
def put33(m: array2, item: int, w: int, value: mat33): ...


@wp.func_native(_column(6, f"return wp::vec_t<6,{C_REAL}>({{p[0], p[n], p[2*n], p[3*n], p[4*n], p[5*n]}});"))
def get6(m: array2, item: int, w: int) -> vec6: ...


@wp.func_native(_put(6, "".join(f"p[{k}*n] = value[{k}]; " for k in range(6))))
def put6(m: array2, item: int, w: int, value: vec6): ...


ints2 = wp.array(dtype=int, ndim=2)


@wp.func_native(_WORKSPACE_NATIVE.replace("size", "1").replace(C_REAL, "int") + "return p[0];")
def get_int(m: ints2, item: int, w: int) -> int: ...


@wp.func_native(SYNC_LANES_NATIVE + _WORKSPACE_NATIVE.replace("size", "1").replace(C_REAL, "int") + "p[0] = value;")
def put_int(m: ints2, item: int, w: int, value: int): ...


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
    """An item of a world's state (see `world_columns`)."""
    ...


@wp.func_native(SYNC_LANES_NATIVE + _STATE_NATIVE + "p[0] = value;")
def set_item(m: array2, item: int, w: int, value: real): ...


@wp.func_native(_STATE_NATIVE + f"return wp::vec_t<3,{C_REAL}>(p[0], p[n], p[2*n]);")
def item3(m: array2, item: int, w: int) -> vec3:
    """Three items from one on."""
    ...


@wp.func_native(SYNC_LANES_NATIVE + _STATE_NATIVE + "p[0] = value[0]; p[n] = value[1]; p[2*n] = value[2];")
def set_item3(m: array2, item: int, w: int, value: vec3): ...


@wp.func_native(_STATE_NATIVE.replace(C_REAL, "int") + "return p[0];")
def item_int(m: ints2, item: int, w: int) -> int: ...


@wp.func_native(SYNC_LANES_NATIVE + _STATE_NATIVE.replace(C_REAL, "int") + "p[0] = value;")
def set_item_int(m: ints2, item: int, w: int, value: int): ...


def allocate_contiguous(sizes: dict[str, int], worlds: int, device: str) -> dict[str, wp.array]:
    """Zeroed state arrays. Of one world on the CPU they lie behind each other in memory, each from a multiple of eight
    numbers on, so that they are copied together."""
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
    """A zeroed state array [items, worlds]. On the CPU a world's items are neighbours in memory."""
    if wp.get_device(device).is_cuda:
        return wp.zeros((items, worlds), dtype=dtype, device=device)
    return wp.zeros((worlds, items), dtype=dtype, device=device).transpose()
