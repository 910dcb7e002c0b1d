"""Sweeps of a team of threads on a GPU, a team for a world (M-67).

A thread keeps z of some coordinates, one in 32, and the impulses of two rows in its registers, and tells the others
when they need them; rows are laid out dense. The iterates are those of `sweep`.
"""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import CONTACT_K, Work
from sharnir.impulse.layout.layout import Plan
from sharnir.impulse.row_kinds import CONTACT_P, EXCESS, HOLD
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.solve.contact_block import turning_answer
from sharnir.impulse.solve.coulomb_cone import within_cone_at_hand
from sharnir.impulse.solve.pgs_sweep import balance
from sharnir.kernels.columns import LANES, get, get_int
from sharnir.kernels.lanes import (
    BLOCK_SIZE,
    LINE_SIZE,
    ROWS,
    from_lane,
    from_lane_int,
    from_pool,
    lane,
    meet,
    near_row,
    near_three,
    put_own,
    put_own_int,
    put_pool,
    rank,
    team_sum,
    three_added,
    three_speeds,
    vec2i,
    vec6i,
    votes,
)
from sharnir.kernels.types import array2, real, vec2, vec3, vec4


@wp.func
def list_lines_together(plan: Plan, work: Work, w: int):
    """`list_lines` of a team."""
    n = int(0)
    first = int(0)
    while first < plan.lines:
        l = first + lane()
        acts = int(0)
        if l < plan.lines:
            if get(work.K, l, w) > real(0.0):
                acts = 1
        before = rank(acts)
        if acts == 1:
            put_own_int(work.lively, 1 + n + before, w, l)
        n += votes(acts)
        first += LANES
    put_own_int(work.lively, 0, w, n)
    meet()


@wp.struct
class Share:
    """What a thread knows of its world's rows: a contact of its own, and whose the two rows are that it keeps."""

    lines: int  # how many come first
    contacts: int
    rows: int  # of all of them
    first: int  # row of its contact
    width: int  # rows of its contact
    half: vec6i  # of both halves: where rows start in W, entries of a row, where these are in `index`
    at: vec2i  # of its rows: where their impulse is among all, -1 for lines
    target: vec2i  # and the speed sought, -1 for none


@wp.func
def share_of(plan: Plan, work: Work, w: int):
    """The rows of lively lines and contacts, dealt to a team."""
    out = Share()
    out.lines = get_int(work.lively, 0, w)
    out.contacts = contact_count(work, w)
    out.rows = out.lines
    if plan.teams == 0 or out.lines > LANES or out.contacts > LANES:
        out.rows = ROWS + 1
    else:
        c = lane()
        if c < out.contacts:
            out.width = get_int(work.contact_rows, c, w)
            k = int(0)
            while k < 6:
                out.half[k] = get_int(work.contact_at, 6 * c + k, w)
                k += 1
        out.at = vec2i(-1, -1)
        out.target = vec2i(-1, -1)
        c = int(0)
        while c < out.contacts:
            if lane() == c:
                out.first = out.rows
            width = from_lane_int(out.width, c)
            k = int(0)
            while k < 2:
                j = lane() + k * LANES - out.rows
                if j >= 0 and j < width:
                    out.at[k] = plan.first_contact + CONTACT_P * c + j
                    if j < 3:
                        out.target[k] = 3 * c + j
                k += 1
            out.rows += width
            c += 1
    return out


@wp.func
def spread_rows(plan: Plan, work: Work, mine: Share, w: int):
    """All rows, dense, one after the other, so that a thread finds its coordinates in them at once."""
    wide = dense_width(plan)
    k = lane()
    while k < mine.rows * wide:
        work.near[w, k] = real(0.0)
        k += LANES
    meet()
    r = int(0)
    while r < mine.lines:
        l = get_int(work.lively, 1 + r, w)
        spread(plan, work, plan.line_start[l], plan.line_length[l], plan.line_first[l], 1, r * wide, w)
        r += 1
    c = int(0)
    while c < mine.contacts:
        side = int(0)
        while side < 2:
            start = from_lane_int(mine.half[3 * side], c)
            length = from_lane_int(mine.half[3 * side + 1], c)
            first = from_lane_int(mine.half[3 * side + 2], c)
            width = from_lane_int(mine.width, c)
            spread(plan, work, start, length, first, width, from_lane_int(mine.first, c) * wide, w)
            side += 1
        c += 1
    meet()


@wp.func
def spread(plan: Plan, work: Work, start: int, length: int, first: int, count: int, to: int, w: int):
    """Dense rows, which begin at `to`, ← `count` sparse ones that follow each other in W."""
    k = lane()
    while k < length:
        at = to + plan.index[first + k]
        j = int(0)
        while j < count:
            work.near[w, at + j * dense_width(plan)] = get(work.W, start + j * length + k, w)
            j += 1
        k += LANES


@wp.func
def dense_width(plan: Plan):
    """Entries of a dense row: as many for every thread."""
    return (plan.width + LANES - 1) // LANES * LANES


@wp.func
def row_value(x: vec2, r: int):
    """What the thread that keeps row r has of it."""
    return from_lane(wp.where(r < LANES, x[0], x[1]), r % LANES)


@wp.func
def three_values(x: vec2, r: int):
    return vec3(row_value(x, r), row_value(x, r + 1), row_value(x, r + 2))


@wp.func
def with_row(x: vec2, r: int, value: real):
    """x, where this thread keeps row r, with it."""
    a = x[0]
    b = x[1]
    if lane() == r:
        a = value
    if lane() + LANES == r:
        b = value
    return vec2(a, b)


@wp.func
def with_three(x: vec2, r: int, three: vec3):
    """x, where this thread keeps one of three rows from r on, with it."""
    low = lane() - r
    high = low + LANES
    a = x[0]
    b = x[1]
    if low >= 0 and low < 3:
        a = wp.where(low == 0, three[0], wp.where(low == 1, three[1], three[2]))
    if high >= 0 and high < 3:
        b = wp.where(high == 0, three[0], wp.where(high == 1, three[1], three[2]))
    return vec2(a, b)


@wp.func
def load_kept(plan: Plan, work: Work, mine: Share, p: array2, w: int):
    """Impulses of the rows this thread keeps: of contacts, and the four of a line."""
    four = vec4()
    if lane() < mine.lines:
        l = get_int(work.lively, 1 + lane(), w)
        acts = plan.line_acts[l]
        for k in range(4):
            if (acts & (EXCESS | (1 << k))) != 0:
                four[k] = get(p, plan.first_line + 4 * l + k, w)
    two = vec2()
    if mine.at[0] >= 0:
        two[0] = get(p, mine.at[0], w)
    if mine.at[1] >= 0:
        two[1] = get(p, mine.at[1], w)
    return two, four


@wp.func
def keep_loaded(plan: Plan, work: Work, mine: Share, two: vec2, four: vec4, p: array2, w: int):
    """The same, back to where they came from."""
    if lane() < mine.lines:
        l = get_int(work.lively, 1 + lane(), w)
        acts = plan.line_acts[l]
        for k in range(4):
            if (acts & (EXCESS | (1 << k))) != 0:
                put_own(p, plan.first_line + 4 * l + k, w, four[k])
    if mine.at[0] >= 0:
        put_own(p, mine.at[0], w, two[0])
    if mine.at[1] >= 0:
        put_own(p, mine.at[1], w, two[1])
    meet()


@wp.func
def load_coordinates(plan: Plan, z: array2, w: int):
    """z of the coordinates of this thread."""
    n = lane()
    own = vec2()
    if n < plan.width:
        own[0] = get(z, n, w)
    if n + LANES < plan.width:
        own[1] = get(z, n + LANES, w)
    return own


@wp.func
def keep_coordinates(plan: Plan, own: vec2, z: array2, w: int):
    n = lane()
    if n < plan.width:
        put_own(z, n, w, own[0])
    if n + LANES < plan.width:
        put_own(z, n + LANES, w, own[1])
    meet()


@wp.func
def fill_pool(plan: Plan, work: Work, mine: Share, pool: array2, w: int):
    """What sweeps need of contacts and lines, where the team has it at hand: blocks, friction, strictness; weight,
    bounds, and whether only these act."""
    c = lane()
    if c < mine.contacts:
        at = BLOCK_SIZE * c
        k = int(0)
        while k < 13:
            put_pool(pool, at + k, get(work.contact_K, CONTACT_K * c + k, w))
            k += 1
        put_pool(pool, at + 13, get(work.contact_mu, 3 * c, w))
        put_pool(pool, at + 14, get(work.contact_K, CONTACT_K * c + 15, w))
    if lane() < mine.lines:
        l = get_int(work.lively, 1 + lane(), w)
        at = BLOCK_SIZE * LANES + LINE_SIZE * lane()
        put_pool(pool, at, get(work.K, l, w))
        put_pool(pool, at + 1, get(work.lower, l, w))
        put_pool(pool, at + 2, get(work.upper, l, w))
        put_pool(pool, at + 3, wp.where(plan.line_acts[l] == HOLD, real(1.0), real(0.0)))
    meet()


@wp.func
def load_targets(work: Work, mine: Share, w: int):
    """Speeds sought of the rows this thread keeps."""
    two = vec2()
    if mine.target[0] >= 0:
        two[0] = get(work.contact_target, mine.target[0], w)
    if mine.target[1] >= 0:
        two[1] = get(work.contact_target, mine.target[1], w)
    return two


@wp.func
def next_rows(r: int):
    """Three rows after those from r on, or others that exist."""
    return wp.min(r + 3, ROWS - 3)


@wp.func
def started(plan: Plan, work: Work, mine: Share, z0: vec2, p: vec2, w: int):
    """z + Wᵀ p of the impulses that contacts start a step with."""
    wide = dense_width(plan)
    z = z0
    r = mine.lines
    while r < mine.rows:
        z = three_added(near_three(work.near, wide, r, w), three_values(p, r), z)
        r += 3
    return z


@wp.func
def sweep_lines_kept(plan: Plan, work: Work, mine: Share, pool: array2, z0: vec2, four0: vec4, w: int):
    """Lively lines once; the largest change of an impulse, z, impulses."""
    wide = dense_width(plan)
    worst = real(0.0)
    z = z0
    four = four0
    r = int(0)
    while r < mine.lines:
        row = near_row(work.near, wide, r, w)
        at = BLOCK_SIZE * LANES + LINE_SIZE * r
        K = from_pool(pool, at)
        s = team_sum(wp.dot(row, z))
        change = real(0.0)
        if from_pool(pool, at + 3) > real(0.0):
            before = from_lane(four[0], r)
            free = s - K * before
            after = (wp.clamp(free, from_pool(pool, at + 1), from_pool(pool, at + 2)) - free) / K
            change = after - before
            worst = wp.max(worst, wp.abs(change))
            if lane() == r:
                four[0] = after
        else:
            l = get_int(work.lively, 1 + r, w)
            old = vec4(from_lane(four[0], r), from_lane(four[1], r), from_lane(four[2], r), from_lane(four[3], r))
            before = old[0] + old[1] + old[2] + old[3]
            new = balance(plan, work, l, plan.line_acts[l], s - K * before, K, w)
            d = new - old
            worst = wp.max(worst, wp.max(most_of(vec3(d[0], d[1], d[2])), wp.abs(d[3])))
            change = new[0] + new[1] + new[2] + new[3] - before
            if lane() == r:
                four = new
        z = z + row * change
        r += 1
    return worst, z, four


@wp.func
def most_of(d: vec3):
    return wp.max(wp.max(wp.abs(d[0]), wp.abs(d[1])), wp.abs(d[2]))


@wp.func
def sweep_kept(
    plan: Plan, work: Work, mine: Share, pool: array2, sought: vec2, z0: vec2, p0: vec2, four0: vec4, w: int
):
    """All rows once, in the order of `sweep`; those of the next contact are fetched while one is solved."""
    wide = dense_width(plan)
    rows = near_three(work.near, wide, wp.min(mine.lines, ROWS - 3), w)
    worst, z, four = sweep_lines_kept(plan, work, mine, pool, z0, four0, w)
    p = p0
    r = mine.lines
    c = int(0)
    while c < mine.contacts:
        coming = near_three(work.near, wide, next_rows(r), w)
        old = three_values(p, r)
        s = three_speeds(rows, z) - three_values(sought, r)
        new = within_cone_at_hand(pool, BLOCK_SIZE * c, old, s)
        p = with_three(p, r, new)
        z = three_added(rows, new - old, z)
        change = most_of(new - old)
        rows = coming
        r += 3
        if from_lane_int(mine.width, c) == 6:
            coming = near_three(work.near, wide, next_rows(r), w)
            old = three_values(p, r)
            turned = turning_answer(work, c, new[0], old, three_speeds(rows, z), w)
            p = with_three(p, r, turned)
            z = three_added(rows, turned - old, z)
            change = wp.max(change, most_of(turned - old))
            rows = coming
            r += 3
        worst = wp.max(worst, change * from_pool(pool, BLOCK_SIZE * c + 14))
        c += 1
    return worst, z, p, four
