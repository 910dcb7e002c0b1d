"""Cooperation of the lanes of a CUDA warp that work on one world: broadcast, ballot, sum, shared memory (see
`sharnir.kernels.columns`). Compiled elsewhere they do nothing and are not called."""

from __future__ import annotations

from enum import IntEnum

import warp as wp

from sharnir.kernels.columns import LANES, LANES_BLOCK_DIM, SYNC_LANES_NATIVE, USES_LANES, ints2
from sharnir.kernels.types import C_REAL, array2, real, vec2, vec3, vec6
from sharnir.kernels.vector_ops import LANE_INDEX_NATIVE

MAX_LANE_ROWS = 2 * LANES  # dense rows a warp can hold in registers, two per lane
MAX_LANE_DOFS = 2 * LANES  # velocity coordinates a warp can hold in registers, two per lane


class SharedContact(IntEnum):
    """Slots of a contact in shared memory: those of its effective mass up to its K_nt, then these."""

    MU = 13  # coefficient of friction
    CHANGE_WEIGHT = 14  # factor on its impulse changes in the check of convergence
    SIZE = 16


class SharedScalar(IntEnum):
    """Slots of a scalar row in shared memory, after those of the contacts."""

    K = 0  # W·W
    LOWER = 1  # bounds of its velocity
    UPPER = 2
    ONLY_BOUND = 3  # 1: nothing but a bound acts on it
    SIZE = 4


SHARED_SIZE = LANES * (SharedContact.SIZE + SharedScalar.SIZE)  # numbers of shared memory of a warp
vec2i = wp.types.vector(2, int)
vec6i = wp.types.vector(6, int)
_LANE_SUM_NATIVE = "for (int o = LANES / 2; o > 0; o /= 2) x += __shfl_xor_sync(lane_mask, x, o);"


def _synced_native(code: str, otherwise: str = "") -> str:
    """Native code that begins by synchronising the lanes; otherwise: what is compiled where no warp works on a
    world."""
    return SYNC_LANES_NATIVE + _unsynced_native(code, otherwise)


def _unsynced_native(code: str, otherwise: str = "") -> str:
    """Native code of a lane that does not wait for the others; otherwise: what is compiled where no warp works on a
    world."""
    values = {"ADD": _LANE_SUM_NATIVE, "REAL": C_REAL, "LANES": LANES, "ROWS": MAX_LANE_ROWS}
    for name, value in values.items():
        code = code.replace(name, str(value))
    return f"\n#if {USES_LANES}\n{code}\n#else\n{otherwise}\n#endif\n"


@wp.func_native(_unsynced_native("return 1;", "return 0;"))
def uses_lanes() -> int:
    """1 where the lanes of a warp work on one world, else 0. Known when the kernel is compiled."""
    ...


@wp.func_native(_unsynced_native(f"{LANE_INDEX_NATIVE} return lane;", "return 0;"))
def lane_index() -> int:
    """Index of this thread in its warp, 0 to 31."""
    ...


@wp.func_native(SYNC_LANES_NATIVE)
def sync_lanes():
    """Synchronise the lanes (`__syncwarp`): what one has written, the others may read after this."""
    ...


@wp.func_native(_unsynced_native("return __shfl_sync(0xffffffffu, x, who);", "return x;"))
def read_lane(x: real, who: int) -> real:
    """x of lane `who` (`__shfl_sync`)."""
    ...


@wp.func_native(_unsynced_native("return __shfl_sync(0xffffffffu, x, who);", "return x;"))
def read_lane_int(x: int, who: int) -> int:
    """Integer x of lane `who` (`__shfl_sync`)."""
    ...


@wp.func_native(_synced_native("ADD return x;", "return x;"))
def lane_sum(x: real) -> real:
    """Σ x over the lanes, the same for all of them."""
    ...


@wp.func_native(
    _synced_native(
        f"{LANE_INDEX_NATIVE} return __popc(__ballot_sync(lane_mask, flag) & ((1u << lane) - 1u));", "return 0;"
    )
)
def lane_rank(flag: int) -> int:
    """Number of lanes before this one that have the flag set (ballot and prefix count)."""
    ...


@wp.func_native(_synced_native("return __popc(__ballot_sync(lane_mask, flag));", "return 0;"))
def count_lanes(flag: int) -> int:
    """Number of lanes that have the flag set (ballot)."""
    ...


@wp.func_native(_unsynced_native("m.data[(long long)(item) * m.shape[1] + w] = value;"))
def put_unsynced(m: array2, item: int, w: int, value: real):
    """Write an entry of a workspace array by one lane, without synchronising; `sync_lanes` before others read it."""
    ...


@wp.func_native(_unsynced_native("m.data[(long long)(item) * m.shape[1] + w] = value;"))
def put_int_unsynced(m: ints2, item: int, w: int, value: int):
    """Write an integer of a workspace array by one lane, without synchronising; `sync_lanes` before others read it."""
    ...


@wp.func_native(
    _unsynced_native(
        f"""
    __shared__ __align__(16) REAL pool[{LANES_BLOCK_DIM // LANES * SHARED_SIZE}];
    wp::array_t<REAL> out = like;
    out.data = pool + {SHARED_SIZE} * (threadIdx.x / LANES);
    return out;""",
        "return like;",
    )
)
def allocate_shared(like: array2) -> array2:
    """Shared memory of this warp, SHARED_SIZE numbers, for blocks of contacts and bounds of scalar rows. To be called
    once in a kernel. like: any array, for its type."""
    ...


@wp.func_native(_unsynced_native("pool.data[at] = value;"))
def put_shared(pool: array2, at: int, value: real):
    """Write a number of this warp's shared memory."""
    ...


@wp.func_native(_unsynced_native("return pool.data[at];", "return 0;"))
def get_shared(pool: array2, at: int) -> real:
    """Read a number of this warp's shared memory."""
    ...


_DENSE_ROW_NATIVE = f"""
    {LANE_INDEX_NATIVE}
    const REAL* q = near.data + (long long)(w) * near.shape[1] + (long long)(row) * width + lane;
"""


@wp.func_native(
    _unsynced_native(
        _DENSE_ROW_NATIVE
        + """
    wp::vec_t<6,REAL> out;
    #pragma unroll
    for (int k = 0; k < 2; ++k) if (LANES*k < width) {
        out[3*k] = q[LANES*k]; out[3*k + 1] = q[LANES*k + width]; out[3*k + 2] = q[LANES*k + 2*width];
    }
    return out;""",
        f"return wp::vec_t<6,{C_REAL}>();",
    )
)
def load_dense_row3(near: array2, width: int, row: int, w: int) -> vec6:
    """The lane's entries of three dense rows from `row` on: entries `lane` of the three, then entries `lane + 32`.
    near: [world, rows · width], width: entries of a row, a multiple of 32."""
    ...


@wp.func_native(
    _unsynced_native(
        """
    REAL a = rows[0] * z[0] + rows[3] * z[1];
    REAL b = rows[1] * z[0] + rows[4] * z[1];
    REAL c = rows[2] * z[0] + rows[5] * z[1];
    #pragma unroll
    for (int o = LANES / 2; o > 0; o /= 2) {
        a += __shfl_xor_sync(0xffffffffu, a, o);
        b += __shfl_xor_sync(0xffffffffu, b, o);
        c += __shfl_xor_sync(0xffffffffu, c, o);
    }
    return wp::vec_t<3,REAL>(a, b, c);""",
        f"return wp::vec_t<3,{C_REAL}>();",
    )
)
def dense_row3_dot(rows: vec6, z: vec2) -> vec3:
    """W z of three dense rows held by the lanes (`load_dense_row3`); z: this lane's two entries. All lanes get the
    same."""
    ...


# of the vec6 of `load_dense_row3`: entry `lane + 32` of each row, after entry `lane` of each
SECOND_ROW0, SECOND_ROW1, SECOND_ROW2 = 3, 4, 5


@wp.func
def dense_row3_add(rows: vec6, p: vec3, z: vec2):
    """z + Wᵀ p of three dense rows held by the lanes (`load_dense_row3`); z: this lane's two entries."""
    return vec2(
        z[0] + rows[0] * p[0] + rows[1] * p[1] + rows[2] * p[2],
        z[1] + rows[SECOND_ROW0] * p[0] + rows[SECOND_ROW1] * p[1] + rows[SECOND_ROW2] * p[2],
    )


@wp.func_native(
    _unsynced_native(
        _DENSE_ROW_NATIVE
        + """
    return wp::vec_t<2,REAL>(q[0], LANES < width ? q[LANES] : static_cast<REAL>(0));""",
        f"return wp::vec_t<2,{C_REAL}>();",
    )
)
def load_dense_row(near: array2, width: int, row: int, w: int) -> vec2:
    """The lane's two entries, `lane` and `lane + 32`, of a dense row. near: [world, rows · width]."""
    ...
