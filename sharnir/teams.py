"""What a team of threads on a GPU does together (see `sharnir.access`); elsewhere nothing calls these."""

from __future__ import annotations

import warp as wp

from sharnir.access import LANES, MEET, TEAMED, ints2
from sharnir.maths import C_REAL, array2, real, vec3, vec4
from sharnir.spans import LANE

ROWS = 2 * LANES  # rows a team can keep, two in every thread
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


_NEAR = f"""
    {LANE}
    REAL* q = near.data + (long long)(w) * near.shape[1] + (long long)(row) * width + lane;
"""


@wp.func_native(
    _alone(
        _NEAR
        + """
    REAL a = 0, b = 0, c = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) if (LANES*k < width) {
        const REAL* r = q + LANES*k;
        a += r[0] * z[k]; b += r[width] * z[k]; c += r[2*width] * z[k];
    }
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
def near_three_dot(near: array2, width: int, row: int, z: vec4, w: int) -> vec3:
    """W z of three dense rows from one on."""
    ...


@wp.func_native(
    _alone(
        _NEAR
        + """
    #pragma unroll
    for (int k = 0; k < 4; ++k) if (LANES*k < width) {
        const REAL* r = q + LANES*k;
        z[k] += r[0] * p[0] + r[width] * p[1] + r[2*width] * p[2];
    }
    return z;""",
        "return z;",
    )
)
def near_three_add(near: array2, width: int, row: int, p: vec3, z: vec4, w: int) -> vec4:
    """z + Wᵀ p of three dense rows from one on."""
    ...


@wp.func_native(
    _alone(
        _NEAR
        + """
    REAL x = 0;
    #pragma unroll
    for (int k = 0; k < 4; ++k) if (LANES*k < width) x += q[LANES*k] * z[k];
    ADD
    return x;""".replace("ADD", _ADD.replace("team", "0xffffffffu")),
        "return 0;",
    )
)
def near_dot(near: array2, width: int, row: int, z: vec4, w: int) -> real:
    """W z of a dense row."""
    ...


@wp.func_native(
    _alone(
        _NEAR
        + """
    #pragma unroll
    for (int k = 0; k < 4; ++k) if (LANES*k < width) z[k] += q[LANES*k] * p;
    return z;""",
        "return z;",
    )
)
def near_add(near: array2, width: int, row: int, p: real, z: vec4, w: int) -> vec4:
    """z + Wᵀ p of a dense row."""
    ...
