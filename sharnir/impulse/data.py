"""State, input and scratch of a step of sequential impulses, as Warp structs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import warp as wp

from sharnir.collision.buffers import CollisionScratch, Contacts, allocate_collision_scratch, allocate_contacts
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS, Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, LANES_8
from sharnir.kernels.columns import LANES, allocate_columns, allocate_contiguous
from sharnir.kernels.lanes import MAX_LANE_ROWS
from sharnir.kernels.types import array2, real

if TYPE_CHECKING:
    from sharnir.model.model import Model

ints2d = wp.array(dtype=int, ndim=2)

# Settings of a step, by their place in `State.settings`.
DT, EPSILON, ERP, MAX_PASSES, MAX_SWEEPS, TICK_BUDGET, METHOD, ACCELERATE, BILATERAL_DIRECT, WARM_START = range(10)
REPLAY_CUT, REPLAY_PSEUDO_SWEEPS, REPLAY_CORRECTIONS = range(10, 13)  # where a step replays one that ran out of time
TOL_SCALE = 13  # share of the usual tolerances
MEAN_MASS, WEIGH_BY_MASS = 14, 15  # kg, of all bodies; 1 where changes count the more, the lighter what they move is
TOL_ACCEPT = 16  # N s: changes of impulses below which sweeps go on towards ε only where that is quick
TOL_LOOSE = 17  # N s, change of impulses that ends the sweeps of a pass that another will follow
SETTINGS_SIZE = 18
# What a step reports, by place in `State.report`.
(
    CUT_AFTER,
    PSEUDO_SWEEP_COUNT,
    CORRECTION_COUNT,
    SWEEP_COUNT,
    PASS_COUNT,
    SWEEP_RESIDUAL,
    POSITION_ERROR,
    STOP_REASON,
    STEP_TICKS,
    FALLBACK_USED,
    MIN_RELATIVE_PIVOT,
    CONTACT_POINTS,
) = range(12)
REPORT_SIZE = 12  # CUT: sweeps after which time was up
# Where a step stands, by place in `Work.flow` and, for numbers, in `Work.pace`.
(
    IS_DIRECT,
    CORRECTION,
    CORRECTING,
    POSITIONS_MOVED,
    PHASE,
    END_GAPS_KNOWN,
    RESTITUTION_STATE,
    RESTITUTION_TRIES,
    LATE_ACTIVATIONS,
    DELASSUS_STATE,
    LOOSE_ITERATION,
    LU_VALID,
) = range(12)
WARM_STARTED, HAS_POSITION_ERROR = 12, 13  # 1 once the impulses to start from are in z; while positions are to be moved
FORCE_TIME, WARM_FACTOR, LAST_OPENING, RESTITUTION_SHARE = range(
    4
)  # time forces act, s; of the last impulses; joints before a correction; of a bounce
SWEEP_TOLERANCE, RESIDUAL2 = 4, 5  # of impulses that ends sweeps, N s; of the momentum equation, whitened, squared
STATUS_SIZE, STATUS_REAL_SIZE = 14, 6
# Reasons of stopping.
CONVERGED, CAPPED, OUT_OF_TIME = range(3)
CONTACT_MASS_SIZE = 17
MAX_ISLAND_DOFS = 120  # velocity coordinates of an island that is solved at once
# Methods.
PREDICTIVE, PAPER_BODIES, PAPER_TREE = range(3)


@wp.struct
class State:
    """What evolves and what comes in; a column per world on every device."""

    q: array2  # [nq] positions at the start of the step
    v: array2  # [nv] velocities of the step before, m/s or rad/s
    P: array2  # [6 link] momenta of the step before: linear, angular about the centre of mass, kg m/s or kg m²/s
    loop_q: array2  # [loop q] coordinates of loop joints, angles counted over turns, m or rad
    scalar_velocity: array2  # [scalar] row velocities of the step before, m/s or rad/s
    p: array2  # [impulse] impulses of joint and scalar rows, warm start of the next step, N s or N m s
    momentum_chord: (
        array2  # [3 nv + 1] chord minus tangent momenta of the step before, whitened, with two differences and the
    )
    # order of extrapolation (M-33), √J
    residual_carry: array2  # [nv] residual of the momentum balance carried over from the step before, whitened, √J
    joint_chord: (
        array2  # [18 joint + 1] chord terms of loop joints with two differences and the order of extrapolation (M-65),
    )
    # m/s or rad/s
    pivot_ratio: array2  # [b] largest pivot ratio of each bilateral row lately, fading (M-47)
    prev_step: (
        array2  # [7] of the step before: length and time its impulses acted (s); machine ticks after its last sweep
    )
    # and ticks then left; outer iterations; sweeps; twice its kinetic energy (J)
    control: array2  # [nc] forces on all coordinates, input, N or N m
    f_ext: array2  # [6 link] applied wrench about the centre of mass, world axes, input, N or N m
    motor_target: array2  # [motor] target position or velocity of a motor, input
    actuator_input: array2  # [actuator] input of an actuator
    actuator_activation: array2  # [actuator] input as the force law sees it, where it lags or is summed (M-69)
    actuator_force: array2  # [actuator] mean force along its path in the step before, N or N m
    actuator_force_end: array2  # [actuator] force at the end of the time it acted, where it lags (M-73), N or N m
    actuator_rates: array2  # [2 actuator] mean rate of its path in that time; rate of its force where it lags
    actuator_brake: array2  # [actuator] how far its brake is engaged, 0 to 1, input
    launch_step: ints2d  # [1] number of the next step within a launch
    contacts: Contacts  # contacts found for this step
    prev_contact_keys: (
        ints2d  # [1 + 2 contact] contacts of the step before: their number; shape pair and feature number of each
    )
    prev_contact_impulse: (
        array2  # [6 contact] their impulses and angular impulses on the second body, world axes, N s or N m s
    )
    prev_contact_geometry: array2  # [10 contact] their points (m), normals, gaps (m) and chord terms (m/s), world axes
    prev_contact_chord: (
        array2  # [7 contact] first and second differences of their chord terms, world axes (m/s); number of
    )
    # known ones
    settings: array2  # [SETTINGS, 1] settings of the solver, the same for all worlds
    report: array2  # [REPORTS] report of the step
    q_next: array2  # [nq] positions at the end of the step
    v_next: array2  # [nv] velocities of the step, m/s or rad/s
    tau: array2  # [nv] joint impulses, N s or N m s
    actuator_request: (
        array2  # [4 actuator] along its path as a step begins: force at its position, stiffness, damping; force by
    )
    # position and rate, within its limits
    actuator_load: array2  # [4 nc] force, stiffness and damping of actuators on coordinates, paths that are scalar rows
    # excepted; friction of gears and brakes
    loop_q_next: array2  # [loop q] coordinates of loop joints at the end of the step, m or rad
    history: array2  # [REPORTS · steps] reports of the steps of a launch


EVOLVES = (
    "q",
    "v",
    "P",
    "loop_q",
    "scalar_velocity",
    "p",
    "momentum_chord",
    "residual_carry",
    "joint_chord",
    "pivot_ratio",
    "prev_step",
    "prev_contact_keys",
    "prev_contact_impulse",
    "prev_contact_geometry",
    "prev_contact_chord",
    "actuator_activation",
    "actuator_force",
    "actuator_force_end",
    "actuator_rates",
)
STATE_SAVED = (*EVOLVES, "control", "f_ext", "motor_target", "actuator_input", "actuator_brake")


@wp.struct
class Scratch:
    """Scratch in workspace columns."""

    row_wrench: array2  # [12 MANY] wrenches of the rows being whitened, on both links
    W: array2  # whitened rows, entry by entry (M-10)
    z_momentum: array2  # [nv] whitened momentum before rows act (M-33), √J
    z_base: array2  # [nv] z without the impulses of rows, √J
    z_residual: array2  # [nv] whitened chord momentum, then residual of the momentum balance (M-33), √J
    z_before: array2  # [nv] whitened velocity, or momentum, of the step before, √J
    p: array2  # [impulse] impulses of all rows, N s or N m s
    p_old: array2  # [impulse] impulses before a sweep, N s or N m s
    z_old: array2  # [nv] z before a sweep, √J
    p_direction: array2  # [impulse] search direction of accelerated sweeps, impulses, N s or N m s
    z_direction: array2  # [nv] search direction of accelerated sweeps, whitened velocity, √J
    joint_gap: array2  # [6 joint] position errors of loop joints at the start of the step, m or rad
    joint_gap_next: array2  # [6 joint] position errors at the end of the step, m or rad
    joint_gap_trial: array2  # [6 joint] position errors at the end of a trial, m or rad
    joint_target: array2  # [6 joint] target velocities of rows of loop joints (M-36), m/s or rad/s
    joint_mass: array2  # [6 joint] effective masses of the rows, kg
    joint_row_dropped: array2  # [6 joint] 1 for rows dropped because axes are misaligned (M-47)
    joint_factor: array2  # [36 joint] LDLᵀ of the joint's block, inverse pivots on the diagonal (M-39)
    scalar_position: array2  # [scalar] positions of scalar rows at the start of the step, m or rad
    scalar_position_next: array2  # [scalar] positions at the end of the step, m or rad
    scalar_K: array2  # [scalar] row weight |W|², 0 for an inactive row, 1/kg
    velocity_lower: (
        array2  # [scalar] lower bound of the row velocity (m/s or rad/s), or of an actuator's impulse (N s or N m s)
    )
    velocity_upper: array2  # [scalar] upper bound of the same
    friction_bound: array2  # [scalar] bound of dry friction, N s or N m s
    motor_velocity: array2  # [scalar] target velocity of the motor, m/s or rad/s
    motor_bound: array2  # [scalar] bound of the motor's impulse, N s or N m s
    compliant_velocity: array2  # [scalar] row velocity at which the soft force vanishes (M-38), m/s or rad/s
    compliant_velocity_linear: array2  # [scalar] the same without the correction by the end pose, m/s or rad/s
    compliant_gamma: array2  # [scalar] compliance γ of the soft force (M-38), 1/kg
    contact_gap: array2  # [contact] gap, negative in overlap, m
    contact_mass: (
        array2  # [CONTACT_K contact] effective mass: inverse of W Wᵀ (9), 1/K_nn, tangential step length, K_tn
    )
    # (2), spin, rolling, weight of changes, mean mass over effective mass
    contact_tangents: array2  # [6 contact] tangents, world axes
    contact_target: array2  # [3 contact] target velocities of normal and tangents, m/s
    contact_mu: array2  # [3 contact] coefficients of friction (1), of spin (m) and of rolling (m)
    impact_velocity: array2  # [3 contact] velocities right before an impact (M-58), m/s
    impact_velocity_gain: array2  # [3 contact] what the forces of the step add to them after it (M-58), m/s
    contact_chord: array2  # [3 contact] chord term β (M-60), m/s
    contact_chord_prev: array2  # [6 contact] chord term of the step before and its difference, world axes (M-66), m/s
    contact_chord_known: array2  # [contact] number of those that are known
    contact_end_error: array2  # [contact] distance of the contact's end from where its rows took it to be, m
    restitution_velocity: array2  # [contact] velocity after an impact, 0 for no impact, m/s
    contact_impulse_change: array2  # [contact] change of its impulse in the last sweep, N s
    gpu_dense_rows: array2  # [world, ROWS · width] dense rows for the lanes of a GPU warp (M-67)
    delassus: array2  # [MOST_ROWS²] Delassus matrix W Wᵀ by columns, padded to multiples of four (M-63), 1/kg
    row_velocity: array2  # [MOST_ROWS] row velocities, m/s or rad/s
    row_impulse: array2  # [4 MOST_ROWS] impulses in the order of those rows, four for a scalar row, N s or N m s
    row_velocity_saved: array2  # [MOST_ROWS] row velocities before a Newton step, m/s or rad/s
    row_impulse_saved: array2  # [4 MOST_ROWS] impulses before a Newton step, N s or N m s
    contact_mode: ints2d  # [contact] contact mode in the last sweep: open, stick or slip
    island_parent: ints2d  # [link] union–find of islands: for the root of a tree another tree of the same island
    island_size: ints2d  # [link] number of velocity coordinates of the island whose first tree this is the root of
    island_dofs: ints2d  # [MOST_SOLVED] velocity coordinates of the island
    dof_in_island: ints2d  # [width] place of a velocity coordinate among those of the island
    island_contacts: ints2d  # [1 + contact] contacts of the island: how many, which
    island_scalars: ints2d  # [1 + scalar] scalar rows of the island: how many, which
    island_H: array2  # [MOST_SOLVED²] Hessian of (M-61)
    island_z_free: array2  # [MOST_SOLVED] z without the impulses of the island, √J
    island_gradient: array2  # [MOST_SOLVED] gradient of (M-61), √J
    island_velocity: (
        array2  # [7 contact] velocities beyond their targets, their change along the search direction, lift by
    )
    # sliding (M-62), m/s
    island_scalar_velocity: array2  # [2 scalar] row velocities, their change along the search direction, m/s or rad/s
    contact_halves: ints2d  # [6 contact] of both halves of its rows: start in W, entries of a row, start of these in
    # `index`
    contact_trees: ints2d  # [2 contact] roots of the trees of its two bodies, −1 for the world
    active_tree: ints2d  # [link] 1 for roots of active trees (M-85)
    frozen: ints2d  # [contact] 1 for a frozen contact, 0 for one that is swept (M-85)
    active_contacts: ints2d  # [1 + contact] active contacts: how many, which
    tree_untouched: ints2d  # [link] 0 for roots of trees that active contacts move
    touched_dofs: ints2d  # [1 + nv] velocity coordinates of those trees: how many, which
    contact_row_count: ints2d  # [contact] number of rows: 3, or 6 with spin and rolling
    L: array2  # LDLᵀ factor of the bilateral rows, row by row within its envelope (M-46)
    L_inverse_pivot: array2  # [active b] inverse pivots of the factor, kg
    bilateral_x: array2  # [active b] right-hand side, then solution
    rank_before: ints2d  # [b + 1] number of active rows before bilateral row b
    active_bilateral: ints2d  # [active b] number b of an active bilateral row
    L_first_column: ints2d  # [active b] first column of its row of L
    L_row_start: ints2d  # [active b] where column 0 of that row would be in `L`
    dense_row: array2  # [width] dense scratch row, kept zero; four side by side where the Delassus matrix is built
    scalar_K_projected: array2  # [scalar] weight |Ŵ|² of the projected row (M-48), 1/kg
    projected_velocity_offset: (
        array2  # [scalar, CONTACT_P contact] row velocities of projected rows beyond Ŵ·z, m/s or rad/s
    )
    p_initial: array2  # [impulse] impulses at the start of a solution, N s or N m s
    collision: CollisionScratch  # scratch of collision detection
    active_scalars: ints2d  # [1 + scalar] active scalar rows that a sweep visits after the joints' own: how many, which
    contact_count: ints2d  # [1] number of contacts that have rows
    status: ints2d  # [FLOW] state of the iteration: phase, counters and flags
    status_real: array2  # [PACE] state of the iteration: numbers
    any_iterating: wp.array(dtype=int)  # [1] on a GPU: 1 while any world has outer iterations to do


def allocate_state(model: Model, layout: Layout, worlds: int, history: int, device: str) -> State:
    """Zeroed state."""
    loop_q, actuators = int(model.loop_q_start[-1]), len(model.actuator_names)
    chord_contacts = layout.max_contacts if layout.joints else 0
    adjacent_sizes = {
        "control": model.nc, "f_ext": 6 * model.nb, "motor_target": len(model.motor_names),
        "actuator_input": actuators, "actuator_brake": actuators, "prev_step": 7,
        "q": model.nq, "v": model.nv, "P": 6 * model.nb, "loop_q": loop_q, "scalar_velocity": layout.scalars, "p": layout.contact_p_start,
        "momentum_chord": 3 * model.nv + 1, "residual_carry": model.nv, "joint_chord": 18 * layout.joints + 1, "pivot_ratio": layout.bilaterals,
        **dict.fromkeys(("actuator_activation", "actuator_force", "actuator_force_end"), actuators), "actuator_rates": 2 * actuators,
    }  # fmt: skip
    sizes = {
        "report": REPORT_SIZE, "actuator_request": 4 * actuators, "actuator_load": 4 * model.nc,
        "prev_contact_impulse": 6 * layout.max_contacts, "prev_contact_geometry": 10 * layout.max_contacts, "prev_contact_chord": 7 * chord_contacts,
        "q_next": model.nq, "v_next": model.nv, "tau": model.nv, "loop_q_next": loop_q, "history": REPORT_SIZE * history,
    }  # fmt: skip
    out = State()
    for name, array in allocate_contiguous(adjacent_sizes, worlds, device).items():
        setattr(out, name, array)
    for name, size in sizes.items():
        setattr(out, name, allocate_columns(size, worlds, device))
    out.launch_step = allocate_columns(1, worlds, device, int)
    out.contacts = allocate_contacts(layout.max_contacts, worlds, device)
    out.prev_contact_keys = allocate_columns(1 + 2 * layout.max_contacts, worlds, device, int)
    out.settings = wp.zeros((SETTINGS_SIZE, 1), dtype=real, device=device)
    return out


def allocate_scratch(model: Model, layout: Layout, pairs: int, columns: int, device: str) -> Scratch:
    """Zeroed scratch; pairs: of shapes near each other there is room for."""
    impulses, joints, scalars = layout.impulses, layout.joints, layout.scalars
    sizes = {
        "row_wrench": 12 * LANES_8,
        "W": layout.W_size,
        "joint_gap": 6 * joints,
        "joint_gap_next": 6 * joints,
        "joint_gap_trial": 6 * joints,
        "joint_target": 6 * joints,
        "joint_mass": 6 * joints,
        "joint_row_dropped": 6 * joints,
    }
    sizes |= {
        "joint_factor": 36 * joints,
        "contact_gap": layout.max_contacts,
        "contact_mass": CONTACT_MASS_SIZE * layout.max_contacts,
    }
    per_contact_3 = ("contact_target", "impact_velocity", "impact_velocity_gain", "contact_mu", "contact_chord")
    sizes |= {
        "restitution_velocity": layout.max_contacts,
        "contact_end_error": layout.max_contacts,
        "contact_tangents": 6 * layout.max_contacts,
        **dict.fromkeys(per_contact_3, 3 * layout.max_contacts),
    }
    delassus_rows = MAX_DELASSUS_ROWS * layout.dense_delassus
    sizes |= dict.fromkeys(("z_momentum", "z_before", "z_base", "z_residual"), layout.z_size) | dict.fromkeys(
        ("z_old", "z_direction"), max(layout.z_size, delassus_rows)
    )
    sizes |= {"p": impulses, **dict.fromkeys(("p_old", "p_direction", "p_initial"), max(impulses, 4 * delassus_rows))}
    sizes |= {
        "delassus": delassus_rows**2,
        "row_velocity": delassus_rows,
        "row_impulse": 4 * delassus_rows,
        "row_velocity_saved": delassus_rows,
        "row_impulse_saved": 4 * delassus_rows,
    }
    sizes |= {
        "L": layout.L_size,
        "L_inverse_pivot": layout.bilaterals,
        "bilateral_x": layout.bilaterals,
        "dense_row": layout.z_size * (4 if layout.dense_delassus else 1),
        "scalar_K_projected": scalars,
    }
    sizes |= {"projected_velocity_offset": scalars + CONTACT_IMPULSES * layout.max_contacts}
    per_scalar = (
        "scalar_position",
        "scalar_position_next",
        "scalar_K",
        "velocity_lower",
        "velocity_upper",
        "friction_bound",
        "motor_velocity",
        "motor_bound",
        "compliant_velocity",
    )
    sizes |= dict.fromkeys((*per_scalar, "compliant_velocity_linear", "compliant_gamma"), scalars)
    sizes |= {"status_real": STATUS_REAL_SIZE, "contact_impulse_change": layout.max_contacts}
    chord_contacts = layout.max_contacts if layout.joints else 0
    sizes |= {"contact_chord_prev": 6 * chord_contacts, "contact_chord_known": chord_contacts}
    island_dofs = MAX_ISLAND_DOFS if layout.island_newton else 0
    sizes |= {"island_H": island_dofs**2, "island_z_free": island_dofs, "island_gradient": island_dofs}
    sizes |= {
        "island_velocity": 7 * layout.max_contacts * layout.island_newton,
        "island_scalar_velocity": 2 * scalars * layout.island_newton,
    }
    out = Scratch()
    for name, size in sizes.items():
        setattr(out, name, wp.zeros((size, columns), dtype=real, device=device))
    counts = {
        "contact_count": 1,
        "status": STATUS_SIZE,
        "active_scalars": 1 + scalars,
        "rank_before": layout.bilaterals + 1,
        "contact_halves": 6 * layout.max_contacts,
        "contact_row_count": layout.max_contacts,
        "contact_trees": 2 * layout.max_contacts,
        "active_tree": model.nb,
        "contact_mode": layout.max_contacts,
    }
    counts |= dict.fromkeys(("active_bilateral", "L_first_column", "L_row_start"), layout.bilaterals)
    counts |= {
        "island_dofs": island_dofs,
        "dof_in_island": layout.z_size * layout.island_newton,
        "island_parent": model.nb * layout.island_newton,
    }
    counts["island_size"] = model.nb * layout.island_newton
    counts |= {
        "frozen": layout.max_contacts * layout.island_newton,
        "active_contacts": 1 + layout.max_contacts * layout.island_newton,
    }
    counts |= {
        "tree_untouched": model.nb * layout.island_newton,
        "touched_dofs": 1 + layout.z_size * layout.island_newton,
    }
    counts |= {
        "island_contacts": 1 + max(layout.max_contacts, MAX_DELASSUS_ROWS) * layout.island_newton,
        "island_scalars": 1 + max(scalars, MAX_DELASSUS_ROWS) * layout.island_newton,
    }
    lane_row_size = MAX_LANE_ROWS * -(-layout.z_size // LANES) * LANES if layout.gpu_lanes else 0
    out.gpu_dense_rows = wp.zeros((columns, lane_row_size), dtype=real, device=device)
    for name, size in counts.items():
        setattr(out, name, wp.zeros((size, columns), dtype=int, device=device))
    out.any_iterating = wp.zeros(1, dtype=int, device=device)
    out.collision = allocate_collision_scratch(len(model.shape_kind), layout.max_contacts, pairs, columns, device)
    return out
