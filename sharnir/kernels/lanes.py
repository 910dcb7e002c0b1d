"""What a team of threads on a GPU does together (see `sharnir.kernels.columns`); elsewhere nothing calls these."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.columns import LANES, LANES_BLOCK_DIM, SYNC_LANES_NATIVE, USES_LANES, ints2
from sharnir.kernels.types import C_REAL, array2, real, vec2, vec3, vec6
from sharnir.kernels.vector_ops import LANE_INDEX_NATIVE

MAX_LANE_ROWS = 2 * LANES  # rows a team can keep, two in every thread
MAX_LANE_DOFS = 2 * LANES  # velocity coordinates, the same
SHARED_CONTACT_SIZE, SHARED_SCALAR_SIZE = 16, 4  # numbers of a contact and of a line in the pool
SHARED_SIZE = LANES * (SHARED_CONTACT_SIZE + SHARED_SCALAR_SIZE)
vec2i = wp.types.vector(2, int)
vec6i = wp.types.vector(6, int)
_LANE_SUM_NATIVE = "for (int o = LANES / 2; o > 0; o /= 2) x += __shfl_xor_sync(team, x, o);"


def _synced_native(code: str, otherwise: str = "") -> str:
    """Code for teams. near: what belongs to the world, one after the other."""
    return SYNC_LANES_NATIVE + _unsynced_native(code, otherwise)


def _unsynced_native(code: str, otherwise: str = "") -> str:
    """Code of a thread that does not wait for the others."""
    values = {"ADD": _LANE_SUM_NATIVE, "REAL": C_REAL, "LANES": LANES, "ROWS": MAX_LANE_ROWS}
    for name, value in values.items():
        code = code.replace(name, str(value))
    return f"\n#if {USES_LANES}\n{code}\n#else\n{otherwise}\n#endif\n"


@wp.func_native(_unsynced_native("return 1;", "return 0;"))
def uses_lanes() -> int:
    """1 where a team works on a world."""
    ...


@wp.func_native(_unsynced_native(f"{LANE_INDEX_NATIVE} return lane;", "return 0;"))
def lane_index() -> int:
    """Which thread of its team this is."""
    ...


@wp.func_native(SYNC_LANES_NATIVE)
def sync_lanes():
    """What one thread of a team has written, the others may read after this."""
    ...


@wp.func_native(_unsynced_native("return __shfl_sync(0xffffffffu, x, who);", "return x;"))
def read_lane(x: real, who: int) -> real:
    """x of another thread of the team."""
    ...


@wp.func_native(_unsynced_native("return __shfl_sync(0xffffffffu, x, who);", "return x;"))
def read_lane_int(x: int, who: int) -> int: ...


@wp.func_native(_synced_native("ADD return x;", "return x;"))
def lane_sum(x: real) -> real:
    """Σ x over the team, the same for all."""
    ...


@wp.func_native(
    _synced_native(f"{LANE_INDEX_NATIVE} return __popc(__ballot_sync(team, flag) & ((1u << lane) - 1u));", "return 0;")
)
def lane_rank(flag: int) -> int:
    """How many threads before this one have the flag set."""
    ...


@wp.func_native(_synced_native("return __popc(__ballot_sync(team, flag));", "return 0;"))
def count_lanes(flag: int) -> int:
    """How many threads of the team have the flag set."""
    ...


@wp.func_native(_unsynced_native("m.data[(long long)(item) * m.shape[1] + w] = value;"))
def put_unsynced(m: array2, item: int, w: int, value: real):
    """`put` by one thread alone; `meet` before others read it."""
    ...


@wp.func_native(_unsynced_native("m.data[(long long)(item) * m.shape[1] + w] = value;"))
def put_int_unsynced(m: ints2, item: int, w: int, value: int): ...


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
    """Memory that a team shares, for blocks of contacts and bounds of lines; once in a kernel."""
    ...


@wp.func_native(_unsynced_native("pool.data[at] = value;"))
def put_shared(pool: array2, at: int, value: real): ...


@wp.func_native(_unsynced_native("return pool.data[at];", "return 0;"))
def get_shared(pool: array2, at: int) -> real: ...


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
    """Entries of three dense rows from one on."""
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
    """W z of them."""
    ...


@wp.func
def dense_row3_add(rows: vec6, p: vec3, z: vec2):
    """z + Wᵀ p of them."""
    return vec2(
        z[0] + rows[0] * p[0] + rows[1] * p[1] + rows[2] * p[2],
        z[1] + rows[3] * p[0] + rows[4] * p[1] + rows[5] * p[2],
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
    """Entries of a dense row."""
    ...
