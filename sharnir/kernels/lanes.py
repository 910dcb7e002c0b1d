"""What a team of threads on a GPU does together (see `sharnir.kernels.columns`); elsewhere nothing calls these."""

from __future__ import annotations

import warp as wp

from sharnir.kernels.columns import LANES, MEET, TEAM_BLOCK, TEAMED, ints2
from sharnir.kernels.types import C_REAL, array2, real, vec2, vec3, vec6
from sharnir.kernels.vector_ops import LANE

ROWS = 2 * LANES  # rows a team can keep, two in every thread
MOST_SPREAD = 2 * LANES  # velocity coordinates, the same
BLOCK_SIZE, LINE_SIZE = 16, 4  # numbers of a contact and of a line in the pool
POOL = LANES * (BLOCK_SIZE + LINE_SIZE)
vec2i = wp.types.vector(2, int)
vec6i = wp.types.vector(6, int)
_ADD = "for (int o = LANES / 2; o > 0; o /= 2) x += __shfl_xor_sync(team, x, o);"


def _together(code: str, otherwise: str = "") -> str:
    """Code for teams. near: what belongs to the world, one after the other."""
    return MEET + _alone(code, otherwise)


def _alone(code: str, otherwise: str = "") -> str:
    """Code of a thread that does not wait for the others."""
    values = {"ADD": _ADD, "REAL": C_REAL, "LANES": LANES, "ROWS": ROWS}
    for name, value in values.items():
        code = code.replace(name, str(value))
    return f"\n#if {TEAMED}\n{code}\n#else\n{otherwise}\n#endif\n"


@wp.func_native(_alone("return 1;", "return 0;"))
def teamed() -> int:
    """1 where a team works on a world."""
    ...


@wp.func_native(_alone(f"{LANE} return lane;", "return 0;"))
def lane() -> int:
    """Which thread of its team this is."""
    ...


@wp.func_native(MEET)
def meet():
    """What one thread of a team has written, the others may read after this."""
    ...


@wp.func_native(_alone("return __shfl_sync(0xffffffffu, x, who);", "return x;"))
def from_lane(x: real, who: int) -> real:
    """x of another thread of the team."""
    ...


@wp.func_native(_alone("return __shfl_sync(0xffffffffu, x, who);", "return x;"))
def from_lane_int(x: int, who: int) -> int: ...


@wp.func_native(_together("ADD return x;", "return x;"))
def team_sum(x: real) -> real:
    """Σ x over the team, the same for all."""
    ...


@wp.func_native(_together(f"{LANE} return __popc(__ballot_sync(team, flag) & ((1u << lane) - 1u));", "return 0;"))
def rank(flag: int) -> int:
    """How many threads before this one have the flag set."""
    ...


@wp.func_native(_together("return __popc(__ballot_sync(team, flag));", "return 0;"))
def votes(flag: int) -> int:
    """How many threads of the team have the flag set."""
    ...


@wp.func_native(_alone("m.data[(long long)(item) * m.shape[1] + w] = value;"))
def put_own(m: array2, item: int, w: int, value: real):
    """`put` by one thread alone; `meet` before others read it."""
    ...


@wp.func_native(_alone("m.data[(long long)(item) * m.shape[1] + w] = value;"))
def put_own_int(m: ints2, item: int, w: int, value: int): ...


@wp.func_native(
    _alone(
        f"""
    __shared__ __align__(16) REAL pool[{TEAM_BLOCK // LANES * POOL}];
    wp::array_t<REAL> out = like;
    out.data = pool + {POOL} * (threadIdx.x / LANES);
    return out;""",
        "return like;",
    )
)
def pool_of_team(like: array2) -> array2:
    """Memory that a team shares, for blocks of contacts and bounds of lines; once in a kernel."""
    ...


@wp.func_native(_alone("pool.data[at] = value;"))
def put_pool(pool: array2, at: int, value: real): ...


@wp.func_native(_alone("return pool.data[at];", "return 0;"))
def from_pool(pool: array2, at: int) -> real: ...


_NEAR = f"""
    {LANE}
    const REAL* q = near.data + (long long)(w) * near.shape[1] + (long long)(row) * width + lane;
"""


@wp.func_native(
    _alone(
        _NEAR
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
def near_three(near: array2, width: int, row: int, w: int) -> vec6:
    """Entries of three dense rows from one on."""
    ...


@wp.func_native(
    _alone(
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
def three_speeds(rows: vec6, z: vec2) -> vec3:
    """W z of them."""
    ...


@wp.func
def three_added(rows: vec6, p: vec3, z: vec2):
    """z + Wᵀ p of them."""
    return vec2(
        z[0] + rows[0] * p[0] + rows[1] * p[1] + rows[2] * p[2],
        z[1] + rows[3] * p[0] + rows[4] * p[1] + rows[5] * p[2],
    )


@wp.func_native(
    _alone(
        _NEAR
        + """
    return wp::vec_t<2,REAL>(q[0], LANES < width ? q[LANES] : static_cast<REAL>(0));""",
        f"return wp::vec_t<2,{C_REAL}>();",
    )
)
def near_row(near: array2, width: int, row: int, w: int) -> vec2:
    """Entries of a dense row."""
    ...
