"""State, input and scratch of a step of sequential impulses, as Warp structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import warp as wp

from sharnir.collision.buffers import Places, Touch, places_on, touch_on
from sharnir.impulse.layout.layout import MOST_ROWS, Plan
from sharnir.impulse.row_kinds import CONTACT_P, MANY
from sharnir.kernels.columns import LANES, neighbours, world_columns
from sharnir.kernels.lanes import ROWS
from sharnir.kernels.types import array2, real

if TYPE_CHECKING:
    from sharnir.model.model import Model

counts2 = wp.array(dtype=int, ndim=2)

# Settings of a step, by their place in `State.settings`.
DT, EPSILON, ERP, PASSES, SWEEPS, BUDGET, METHOD, ACCELERATE, DIRECT, WARM = range(10)
CUT_AT, MOST_PSEUDO, MOST_CORRECTED = range(10, 13)  # where a step replays one that ran out of time
TIGHT = 13  # share of the usual tolerances
MEAN_MASS, STRICT = 14, 15  # kg, of all bodies; 1 where changes count the more, the lighter what they move is
ENOUGH = 16  # N s: changes of impulses below which sweeps go on towards ε only where that is quick
EASY = 17  # N s, change of impulses that ends the sweeps of a pass that another will follow
SETTINGS = 18
# What a step reports, by place in `State.report`.
CUT, PSEUDO, CORRECTED, SWEPT, PASSED, RESIDUAL, POSITION_ERROR, REASON, TICKS, GUARDED, WEAKEST, TOUCHING = range(12)
REPORTS = 12  # CUT: sweeps after which time was up
# Where a step stands, by place in `Work.flow` and, for numbers, in `Work.pace`.
HELD, ROUND, GOING, MOVED, MODE, KNOWN, BOUNCING, SOFTENED, WOKEN, ANSWERS, LOOSE, FACTORED = range(12)
STARTED, PUSHING = 12, 13  # 1 once the impulses to start from are in z; while positions are to be moved
HALF, SCALE, OPEN, SHARE = range(4)  # time forces act, s; of the last impulses; joints before a correction; of a bounce
CHANGE, MISSING = 4, 5  # of impulses that ends sweeps, N s; of the momentum equation, whitened, squared
FLOW, PACE = 14, 6
# Reasons of stopping.
CONVERGED, CAPPED, OUT_OF_TIME = range(3)
CONTACT_K = 17
MOST_SOLVED = 120  # velocity coordinates of an island that is solved at once
# Methods.
PREDICTIVE, PAPER_BODIES, PAPER_TREE = range(3)


@wp.struct
class State:
    """What evolves and what comes in; a column per world on every device."""

    q: array2  # [nq] positions
    v: array2  # [nv] velocities of the step that led here
    P: array2  # [6 link] momenta (p, L about the centre of mass)
    loop_q: array2  # [loop q] coordinates of loop joints, angles counted
    speed: array2  # [line] speeds of the step that led here
    p: array2  # [impulse] accumulated impulses
    bend: array2  # [3 nv + 1] what turned tangent into chord momenta in the step that led here: a `series`
    lack: array2  # [nv] what that step left of its momentum equation, whitened
    aim: array2  # [18 joint + 1] speeds its joints sought, but for errors undone: a `series`
    firm: array2  # [b] how firmly rows that bind both ways have lately been held, of their weight between free bodies
    clock: array2  # [6] step that led here, time its impulses acted, s; ticks after its last sweep, ticks then left;
    # its passes, its sweeps, twice its kinetic energy
    control: array2  # [nc] N or N m on all coordinates
    f_ext: array2  # [6 link] wrench about the centre of mass, world axes
    target: array2  # [motor] targets
    drive_input: array2  # [actuator]
    drive_lagged: array2  # [actuator] what its law gets, where it lags or is summed
    drive_force: array2  # [actuator] N or N m, along its path in the step that led here
    drive_flow: array2  # [actuator] the same at the end of the time it acted, where it lags
    drive_seen: array2  # [2 actuator] mean rate of its path in that time, and that of its force where it lags
    drive_brake: array2  # [actuator] how far its brake is engaged, 0 to 1
    turn: counts2  # [1] which step of a launch the next one is
    touch: Touch  # points of this step
    touched: counts2  # [1 + 2 contact] how many contacts there were, which pairs of shapes and features
    touched_p: array2  # [6 contact] their impulses and angular impulses on the second body, world axes
    touched_at: array2  # [10 contact] point, normal, gap: m; bend: m/s, world axes
    touched_bent: array2  # [7 contact] first and second differences of bends, m/s, world axes; how many are known
    settings: array2  # [SETTINGS, 1]
    report: array2  # [REPORTS]
    q_next: array2  # [nq]
    v_next: array2  # [nv]
    tau: array2  # [nv] joint impulses
    asked: array2  # [4 actuator] of each along its path as a step begins: force at its position, stiffness, damping;
    # force by position and rate, within its limits
    pull: array2  # [4 nc] the first three on coordinates, but for paths that are lines; friction of gears and brakes
    loop_next: array2  # [loop q]
    history: array2  # [REPORTS · steps] reports of the steps of a launch


EVOLVES = (
    "q",
    "v",
    "P",
    "loop_q",
    "speed",
    "p",
    "bend",
    "lack",
    "aim",
    "firm",
    "clock",
    "touched",
    "touched_p",
    "touched_at",
    "touched_bent",
    "drive_lagged",
    "drive_force",
    "drive_flow",
    "drive_seen",
)
STATE_SAVED = (*EVOLVES, "control", "f_ext", "target", "drive_input", "drive_brake")


@wp.struct
class Work:
    """Scratch in workspace columns."""

    wrench: array2  # [12 MANY] of the rows being walked
    W: array2  # whitened rows
    zP: array2  # [nv] of the momenta before the step
    base: array2  # [nv] z without the rows' impulses
    zc: array2  # [nv] of the chord momenta
    zv: array2  # [nv] of the velocities, or momenta, of the step before
    p: array2  # [impulse]
    p_old: array2
    z_old: array2
    p_way: array2  # directions of the accelerated sweep
    z_way: array2
    gap: array2  # [6 joint] errors at the start of the step
    gap_next: array2
    gap_trial: array2
    joint_target: array2  # [6 joint] speeds sought
    joint_mass: array2  # [6 joint] effective masses of the rows, kg
    off: array2  # [6 joint] 1 for rows given up because axes are a little off
    joint_factor: array2  # [36 joint] LDLᵀ, inverse pivots on the diagonal
    g: array2  # [line] positions at the start
    g_next: array2
    K: array2  # [line] W·W, 0 for none
    lower: array2  # [line] bounds of the speed
    upper: array2
    friction: array2  # [line] bound, N s
    motor_speed: array2  # [line]
    motor_bound: array2  # [line] N s
    soft_speed: array2  # [line] where the soft force vanishes
    soft_base: array2  # [line] where it would vanish if lengths changed as the row says
    soft_give: array2  # [line] γ, 1/kg
    contact_gap: array2  # [contact] m
    contact_K: (
        array2  # [CONTACT_K contact] inverse of W Wᵀ, 1/K_nn, tangential step, K_tn (2), spin, roll, 2: lightness
    )
    contact_side: array2  # [6 contact] tangents
    contact_target: array2  # [3 contact] speeds sought
    contact_mu: array2  # [3 contact] friction, spinning (m), rolling (m)
    contact_now: array2  # [3 contact] speeds right before an impact
    contact_kick: array2  # [3 contact] what the step's forces add to them after it
    contact_bend: array2  # [3 contact] what their speed over the step has beyond that of the rows, m/s
    contact_bent: array2  # [6 contact] bend of the step before and its difference, m/s, world axes
    contact_steps: array2  # [contact] how many of these are known
    contact_missed: array2  # [contact] m, how far its end was from where its rows took it to be
    bounce: array2  # [contact] speed it leaves with after an impact, 0 for none, m/s
    contact_change: array2  # [contact] of its impulses in the last sweep
    near: array2  # [world, ROWS · width] dense rows, where teams work
    answer: array2  # [MOST_ROWS²] columns of W Wᵀ of all rows, padded to fours
    row_s: array2  # [MOST_ROWS] their speeds
    row_p: array2  # [4 MOST_ROWS] their impulses
    s_back: array2  # both before a leap
    p_back: array2
    deed: counts2  # [contact] what contacts did in the last sweep
    mark: counts2  # [link] of roots of trees: another tree of the same island
    island_size: counts2  # [link] coordinates of the island whose first tree it is
    island_dof: counts2  # [MOST_SOLVED] its coordinates
    island_at: counts2  # [width] their places there
    island_contact: counts2  # [1 + contact] how many, which
    island_line: counts2  # [1 + line]
    island_H: array2  # [MOST_SOLVED²]
    island_z: array2  # [MOST_SOLVED] without impulses
    island_g: array2  # [MOST_SOLVED]
    island_s: array2  # [7 contact] speeds beyond those sought, their change along a direction, what sliding lifts
    island_l: array2  # [2 line] speeds, their change
    contact_at: counts2  # [6 contact] of both halves: where rows start in W, entries of a row, where these are in index
    contact_root: counts2  # [2 contact] roots of the trees of its bodies, −1 for the world
    stirred: counts2  # [link] 1 for roots of trees that sweeps or pushes have moved
    resting: counts2  # [contact] 0 for those that take part in sweeps
    awake: counts2  # [1 + contact] how many do, and which
    unmoved: counts2  # [link] 0 for roots of trees that these move
    moved: counts2  # [1 + nv] how many coordinates they have, and which
    contact_rows: counts2  # [contact] 3, or 6 with spin and rolling
    L: array2  # factor of the rows that bind both ways
    pivot: array2  # [row that acts] its inverse pivots
    x: array2  # [row that acts]
    before: counts2  # [b + 1] how many rows act of those before b
    acting: counts2  # [row that acts] b
    L_left: counts2  # [row that acts] first column of its row of L
    L_start: counts2  # [row that acts] where column 0 of that row would be
    dense: array2  # [width] kept zero; where rows are few, of four rows side by side
    K_held: array2  # [line] |Ŵ|²
    offset: array2  # [line, CONTACT_P contact] speeds of projected rows beyond Ŵ·z
    p_start: array2  # [impulse]
    places: Places
    lively: counts2  # [1 + line] how many lines a sweep visits after the joints', and which
    touching: counts2  # [1] how many contacts there are rows for
    flow: counts2  # [FLOW] where the step stands
    pace: array2  # [PACE]
    ahead: wp.array(dtype=int)  # [1] on a GPU: 1 while any world has passes ahead


def state_on(model: Model, plan: Plan, worlds: int, history: int, device: str) -> State:
    """Zeroed state."""
    loop_q, actuators = int(model.loop_q_start[-1]), len(model.actuator_names)
    bent = plan.contacts if plan.joints else 0
    together = {
        "control": model.nc, "f_ext": 6 * model.nb, "target": len(model.motor_names),
        "drive_input": actuators, "drive_brake": actuators, "clock": 7,
        "q": model.nq, "v": model.nv, "P": 6 * model.nb, "loop_q": loop_q, "speed": plan.lines, "p": plan.first_contact,
        "bend": 3 * model.nv + 1, "lack": model.nv, "aim": 18 * plan.joints + 1, "firm": plan.bound,
        **dict.fromkeys(("drive_lagged", "drive_force", "drive_flow"), actuators), "drive_seen": 2 * actuators,
    }  # fmt: skip
    sizes = {
        "report": REPORTS, "asked": 4 * actuators, "pull": 4 * model.nc,
        "touched_p": 6 * plan.contacts, "touched_at": 10 * plan.contacts, "touched_bent": 7 * bent,
        "q_next": model.nq, "v_next": model.nv, "tau": model.nv, "loop_next": loop_q, "history": REPORTS * history,
    }  # fmt: skip
    out = State()
    for name, array in neighbours(together, worlds, device).items():
        setattr(out, name, array)
    for name, size in sizes.items():
        setattr(out, name, world_columns(size, worlds, device))
    out.turn = world_columns(1, worlds, device, int)
    out.touch = touch_on(plan.contacts, worlds, device)
    out.touched = world_columns(1 + 2 * plan.contacts, worlds, device, int)
    out.settings = wp.zeros((SETTINGS, 1), dtype=real, device=device)
    return out


def work_on(model: Model, plan: Plan, pairs: int, columns: int, device: str) -> Work:
    """Zeroed scratch; pairs: of shapes near each other there is room for."""
    impulses, joints, lines = plan.impulses, plan.joints, plan.lines
    sizes = {
        "wrench": 12 * MANY,
        "W": plan.W_size,
        "gap": 6 * joints,
        "gap_next": 6 * joints,
        "gap_trial": 6 * joints,
        "joint_target": 6 * joints,
        "joint_mass": 6 * joints,
        "off": 6 * joints,
    }
    sizes |= {"joint_factor": 36 * joints, "contact_gap": plan.contacts, "contact_K": CONTACT_K * plan.contacts}
    three = ("contact_target", "contact_now", "contact_kick", "contact_mu", "contact_bend")
    sizes |= {
        "bounce": plan.contacts,
        "contact_missed": plan.contacts,
        "contact_side": 6 * plan.contacts,
        **dict.fromkeys(three, 3 * plan.contacts),
    }
    few = MOST_ROWS * plan.few
    sizes |= dict.fromkeys(("zP", "zv", "base", "zc"), plan.width) | dict.fromkeys(
        ("z_old", "z_way"), max(plan.width, few)
    )
    sizes |= {"p": impulses, **dict.fromkeys(("p_old", "p_way", "p_start"), max(impulses, 4 * few))}
    sizes |= {"answer": few**2, "row_s": few, "row_p": 4 * few, "s_back": few, "p_back": 4 * few}
    sizes |= {
        "L": plan.L_size,
        "pivot": plan.bound,
        "x": plan.bound,
        "dense": plan.width * (4 if plan.few else 1),
        "K_held": lines,
    }
    sizes |= {"offset": lines + CONTACT_P * plan.contacts}
    per_line = ("g", "g_next", "K", "lower", "upper", "friction", "motor_speed", "motor_bound", "soft_speed")
    sizes |= dict.fromkeys((*per_line, "soft_base", "soft_give"), lines)
    sizes |= {"pace": PACE, "contact_change": plan.contacts}
    bent = plan.contacts if plan.joints else 0
    sizes |= {"contact_bent": 6 * bent, "contact_steps": bent}
    solved = MOST_SOLVED if plan.newton else 0
    sizes |= {"island_H": solved**2, "island_z": solved, "island_g": solved}
    sizes |= {"island_s": 7 * plan.contacts * plan.newton, "island_l": 2 * lines * plan.newton}
    out = Work()
    for name, size in sizes.items():
        setattr(out, name, wp.zeros((size, columns), dtype=real, device=device))
    counts = {
        "touching": 1,
        "flow": FLOW,
        "lively": 1 + lines,
        "before": plan.bound + 1,
        "contact_at": 6 * plan.contacts,
        "contact_rows": plan.contacts,
        "contact_root": 2 * plan.contacts,
        "stirred": model.nb,
        "deed": plan.contacts,
    }
    counts |= dict.fromkeys(("acting", "L_left", "L_start"), plan.bound)
    counts |= {"island_dof": solved, "island_at": plan.width * plan.newton, "mark": model.nb * plan.newton}
    counts["island_size"] = model.nb * plan.newton
    counts |= {"resting": plan.contacts * plan.newton, "awake": 1 + plan.contacts * plan.newton}
    counts |= {"unmoved": model.nb * plan.newton, "moved": 1 + plan.width * plan.newton}
    counts |= {
        "island_contact": 1 + max(plan.contacts, MOST_ROWS) * plan.newton,
        "island_line": 1 + max(lines, MOST_ROWS) * plan.newton,
    }
    kept = ROWS * -(-plan.width // LANES) * LANES if plan.teams else 0
    out.near = wp.zeros((columns, kept), dtype=real, device=device)
    for name, size in counts.items():
        setattr(out, name, wp.zeros((size, columns), dtype=int, device=device))
    out.ahead = wp.zeros(1, dtype=int, device=device)
    out.places = places_on(len(model.shape_kind), plan.contacts, pairs, columns, device)
    return out
