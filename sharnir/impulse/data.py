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

    q: array2  # [nq] positions at the start of the step
    v: array2  # [nv] velocities of the step before, m/s or rad/s
    P: array2  # [6 link] momenta of the step before: linear, angular about the centre of mass, kg m/s or kg m²/s
    loop_q: array2  # [loop q] coordinates of loop joints, angles counted over turns, m or rad
    speed: array2  # [scalar] row velocities of the step before, m/s or rad/s
    p: array2  # [impulse] impulses of joint and scalar rows, warm start of the next step, N s or N m s
    bend: array2  # [3 nv + 1] chord minus tangent momenta of the step before, whitened, with two differences and the
    # order of extrapolation (M-33), √J
    lack: array2  # [nv] residual of the momentum balance carried over from the step before, whitened, √J
    aim: array2  # [18 joint + 1] chord terms of loop joints with two differences and the order of extrapolation (M-65),
    # m/s or rad/s
    firm: array2  # [b] largest pivot ratio of each bilateral row lately, fading (M-47)
    clock: array2  # [7] of the step before: length and time its impulses acted (s); machine ticks after its last sweep
    # and ticks then left; outer iterations; sweeps; twice its kinetic energy (J)
    control: array2  # [nc] forces on all coordinates, input, N or N m
    f_ext: array2  # [6 link] applied wrench about the centre of mass, world axes, input, N or N m
    target: array2  # [motor] target position or velocity of a motor, input
    drive_input: array2  # [actuator] input of an actuator
    drive_lagged: array2  # [actuator] input as the force law sees it, where it lags or is summed (M-69)
    drive_force: array2  # [actuator] mean force along its path in the step before, N or N m
    drive_flow: array2  # [actuator] force at the end of the time it acted, where it lags (M-73), N or N m
    drive_seen: array2  # [2 actuator] mean rate of its path in that time; rate of its force where it lags
    drive_brake: array2  # [actuator] how far its brake is engaged, 0 to 1, input
    turn: counts2  # [1] number of the next step within a launch
    touch: Touch  # contacts found for this step
    touched: counts2  # [1 + 2 contact] contacts of the step before: their number; shape pair and feature number of each
    touched_p: array2  # [6 contact] their impulses and angular impulses on the second body, world axes, N s or N m s
    touched_at: array2  # [10 contact] their points (m), normals, gaps (m) and chord terms (m/s), world axes
    touched_bent: array2  # [7 contact] first and second differences of their chord terms, world axes (m/s); number of
    # known ones
    settings: array2  # [SETTINGS, 1] settings of the solver, the same for all worlds
    report: array2  # [REPORTS] report of the step
    q_next: array2  # [nq] positions at the end of the step
    v_next: array2  # [nv] velocities of the step, m/s or rad/s
    tau: array2  # [nv] joint impulses, N s or N m s
    asked: array2  # [4 actuator] along its path as a step begins: force at its position, stiffness, damping; force by
    # position and rate, within its limits
    pull: array2  # [4 nc] force, stiffness and damping of actuators on coordinates, paths that are scalar rows
    # excepted; friction of gears and brakes
    loop_next: array2  # [loop q] coordinates of loop joints at the end of the step, m or rad
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

    wrench: array2  # [12 MANY] wrenches of the rows being whitened, on both links
    W: array2  # whitened rows, entry by entry (M-10)
    zP: array2  # [nv] whitened momentum before rows act (M-33), √J
    base: array2  # [nv] z without the impulses of rows, √J
    zc: array2  # [nv] whitened chord momentum, then residual of the momentum balance (M-33), √J
    zv: array2  # [nv] whitened velocity, or momentum, of the step before, √J
    p: array2  # [impulse] impulses of all rows, N s or N m s
    p_old: array2  # [impulse] impulses before a sweep, N s or N m s
    z_old: array2  # [nv] z before a sweep, √J
    p_way: array2  # [impulse] search direction of accelerated sweeps, impulses, N s or N m s
    z_way: array2  # [nv] search direction of accelerated sweeps, whitened velocity, √J
    gap: array2  # [6 joint] position errors of loop joints at the start of the step, m or rad
    gap_next: array2  # [6 joint] position errors at the end of the step, m or rad
    gap_trial: array2  # [6 joint] position errors at the end of a trial, m or rad
    joint_target: array2  # [6 joint] target velocities of rows of loop joints (M-36), m/s or rad/s
    joint_mass: array2  # [6 joint] effective masses of the rows, kg
    off: array2  # [6 joint] 1 for rows dropped because axes are misaligned (M-47)
    joint_factor: array2  # [36 joint] LDLᵀ of the joint's block, inverse pivots on the diagonal (M-39)
    g: array2  # [scalar] positions of scalar rows at the start of the step, m or rad
    g_next: array2  # [scalar] positions at the end of the step, m or rad
    K: array2  # [scalar] row weight |W|², 0 for an inactive row, 1/kg
    lower: array2  # [scalar] lower bound of the row velocity (m/s or rad/s), or of an actuator's impulse (N s or N m s)
    upper: array2  # [scalar] upper bound of the same
    friction: array2  # [scalar] bound of dry friction, N s or N m s
    motor_speed: array2  # [scalar] target velocity of the motor, m/s or rad/s
    motor_bound: array2  # [scalar] bound of the motor's impulse, N s or N m s
    soft_speed: array2  # [scalar] row velocity at which the soft force vanishes (M-38), m/s or rad/s
    soft_base: array2  # [scalar] the same without the correction by the end pose, m/s or rad/s
    soft_give: array2  # [scalar] compliance γ of the soft force (M-38), 1/kg
    contact_gap: array2  # [contact] gap, negative in overlap, m
    contact_K: array2  # [CONTACT_K contact] effective mass: inverse of W Wᵀ (9), 1/K_nn, tangential step length, K_tn
    # (2), spin, rolling, weight of changes, mean mass over effective mass
    contact_side: array2  # [6 contact] tangents, world axes
    contact_target: array2  # [3 contact] target velocities of normal and tangents, m/s
    contact_mu: array2  # [3 contact] coefficients of friction (1), of spin (m) and of rolling (m)
    contact_now: array2  # [3 contact] velocities right before an impact (M-58), m/s
    contact_kick: array2  # [3 contact] what the forces of the step add to them after it (M-58), m/s
    contact_bend: array2  # [3 contact] chord term β (M-60), m/s
    contact_bent: array2  # [6 contact] chord term of the step before and its difference, world axes (M-66), m/s
    contact_steps: array2  # [contact] number of those that are known
    contact_missed: array2  # [contact] distance of the contact's end from where its rows took it to be, m
    bounce: array2  # [contact] velocity after an impact, 0 for no impact, m/s
    contact_change: array2  # [contact] change of its impulse in the last sweep, N s
    near: array2  # [world, ROWS · width] dense rows for the lanes of a GPU warp (M-67)
    answer: array2  # [MOST_ROWS²] Delassus matrix W Wᵀ by columns, padded to multiples of four (M-63), 1/kg
    row_s: array2  # [MOST_ROWS] row velocities, m/s or rad/s
    row_p: array2  # [4 MOST_ROWS] impulses in the order of those rows, four for a scalar row, N s or N m s
    s_back: array2  # [MOST_ROWS] row velocities before a Newton step, m/s or rad/s
    p_back: array2  # [4 MOST_ROWS] impulses before a Newton step, N s or N m s
    deed: counts2  # [contact] contact mode in the last sweep: open, stick or slip
    mark: counts2  # [link] union–find of islands: for the root of a tree another tree of the same island
    island_size: counts2  # [link] number of velocity coordinates of the island whose first tree this is the root of
    island_dof: counts2  # [MOST_SOLVED] velocity coordinates of the island
    island_at: counts2  # [width] place of a velocity coordinate among those of the island
    island_contact: counts2  # [1 + contact] contacts of the island: how many, which
    island_line: counts2  # [1 + scalar] scalar rows of the island: how many, which
    island_H: array2  # [MOST_SOLVED²] Hessian of (M-61)
    island_z: array2  # [MOST_SOLVED] z without the impulses of the island, √J
    island_g: array2  # [MOST_SOLVED] gradient of (M-61), √J
    island_s: array2  # [7 contact] velocities beyond their targets, their change along the search direction, lift by
    # sliding (M-62), m/s
    island_l: array2  # [2 scalar] row velocities, their change along the search direction, m/s or rad/s
    contact_at: counts2  # [6 contact] of both halves of its rows: start in W, entries of a row, start of these in
    # `index`
    contact_root: counts2  # [2 contact] roots of the trees of its two bodies, −1 for the world
    stirred: counts2  # [link] 1 for roots of active trees (M-85)
    resting: counts2  # [contact] 1 for a frozen contact, 0 for one that is swept (M-85)
    awake: counts2  # [1 + contact] active contacts: how many, which
    unmoved: counts2  # [link] 0 for roots of trees that active contacts move
    moved: counts2  # [1 + nv] velocity coordinates of those trees: how many, which
    contact_rows: counts2  # [contact] number of rows: 3, or 6 with spin and rolling
    L: array2  # LDLᵀ factor of the bilateral rows, row by row within its envelope (M-46)
    pivot: array2  # [active b] inverse pivots of the factor, kg
    x: array2  # [active b] right-hand side, then solution
    before: counts2  # [b + 1] number of active rows before bilateral row b
    acting: counts2  # [active b] number b of an active bilateral row
    L_left: counts2  # [active b] first column of its row of L
    L_start: counts2  # [active b] where column 0 of that row would be in `L`
    dense: array2  # [width] dense scratch row, kept zero; four side by side where the Delassus matrix is built
    K_held: array2  # [scalar] weight |Ŵ|² of the projected row (M-48), 1/kg
    offset: array2  # [scalar, CONTACT_P contact] row velocities of projected rows beyond Ŵ·z, m/s or rad/s
    p_start: array2  # [impulse] impulses at the start of a solution, N s or N m s
    places: Places  # scratch of collision detection
    lively: counts2  # [1 + scalar] active scalar rows that a sweep visits after the joints' own: how many, which
    touching: counts2  # [1] number of contacts that have rows
    flow: counts2  # [FLOW] state of the iteration: phase, counters and flags
    pace: array2  # [PACE] state of the iteration: numbers
    ahead: wp.array(dtype=int)  # [1] on a GPU: 1 while any world has outer iterations to do


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
