"""State, scratch and status of a step of the real-time engine as Warp structs, and the named slots of their arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import warp as wp

from sharnir.collision.buffers import CollisionScratch, Contacts, allocate_collision_scratch, allocate_contacts
from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS, Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, LANES_8
from sharnir.impulse.slots import REPORT_SIZE, ContactMass, Setting, Status, StatusReal
from sharnir.kernels.columns import LANES, allocate_columns, allocate_contiguous
from sharnir.kernels.lanes import MAX_LANE_ROWS
from sharnir.kernels.types import array2, real

if TYPE_CHECKING:
    from sharnir.model.model import Model

ints2d = wp.array(dtype=int, ndim=2)

MAX_ISLAND_DOFS = 120  # velocity coordinates of the largest island solved by Newton's method


@wp.struct
class State:
    """What evolves from step to step and what comes in; a column per world on every device."""

    q: array2  # [nq] positions
    v: array2  # [nv] velocities of the step that led here
    P: array2  # [6 link] momenta (p, L about the centre of mass)
    loop_q: array2  # [loop q] coordinates of loop joints, angles unwrapped over turns
    scalar_velocity: array2  # [scalar] velocities of the scalar rows in the step that led here, m/s or rad/s
    p: array2  # [impulse] accumulated impulses of joints and scalars, N s or N m s
    # [3 nv + 1] chord minus tangent momenta of the steps before, whitened: a series of extrapolation.py
    momentum_chord: (
        array2  # [3 nv + 1] chord minus tangent momenta of the step before, whitened, with two differences and the
    )
    # order of extrapolation (M-33), √J
    residual_carry: array2  # [nv] momentum residual that the step left and the next one adds, whitened
    # [18 joint + 1] chord terms of the joints' target velocities, without corrections of gaps: a series
    joint_chord: (
        array2  # [18 joint + 1] chord terms of loop joints with two differences and the order of extrapolation (M-65),
    )
    # [bilateral] pivot of each row over its free-body value, slowly decaying maximum; negative: row dropped
    pivot_ratio: array2
    # [PREV_STEP_SIZE] of the step that led here: dt, time its impulses acted (s), ticks after its last sweep, ticks
    # then left, passes, sweeps, twice its kinetic energy (J)
    prev_step: (
        array2  # [7] of the step before: length and time its impulses acted (s); machine ticks after its last sweep
    )
    # and ticks then left; outer iterations; sweeps; twice its kinetic energy (J)
    control: array2  # [nc] N or N m on all coordinates
    f_ext: array2  # [6 link] wrench about the centre of mass, world axes
    motor_target: array2  # [motor] target position or velocity
    actuator_input: array2  # [actuator] control input
    actuator_activation: array2  # [actuator] activation: input after its filter or integrator, which the force law gets
    actuator_force: array2  # [actuator] mean force along its path in the step that led here, N or N m
    # [actuator] its force at the end of the time it acted, where the force has a time constant, N or N m
    actuator_force_end: array2
    # [2 actuator] mean rate of its path in that time; rate of change of its force where that has a time constant
    actuator_rates: array2
    actuator_brake: array2  # [actuator] how far its brake is engaged, 0 to 1
    launch_step: ints2d  # [1] number of the next step within the launch
    contacts: Contacts  # contacts of this step
    # [1 + 2 contact] contacts of the previous step: how many; shape pair and feature id of each
    prev_contact_keys: (
        ints2d  # [1 + 2 contact] contacts of the step before: their number; shape pair and feature number of each
    )
    # [6 contact] their impulse and angular impulse on the second body, world axes, N s, N m s
    prev_contact_impulse: (
        array2  # [6 contact] their impulses and angular impulses on the second body, world axes, N s or N m s
    )
    # [10 contact] their point (3, m), normal (3), gap (m), chord velocity (3, m/s), world axes
    prev_contact_geometry: array2
    # [7 contact] first and second differences of their chord velocity (m/s, world axes); how many are known
    prev_contact_chord: (
        array2  # [7 contact] first and second differences of their chord terms, world axes (m/s); number of
    )
    # known ones
    settings: array2  # [len(Setting), 1]
    report: array2  # [REPORT_SIZE]
    q_next: array2  # [nq] positions the step leads to
    v_next: array2  # [nv] velocities of the step
    tau: array2  # [nv] joint impulses of the step's known forces, N s or N m s
    # [4 actuator] request along its path as a step begins: force at the present position, stiffness, damping, and the
    # force at the present position and rate within its limits
    actuator_request: (
        array2  # [4 actuator] along its path as a step begins: force at its position, stiffness, damping; force by
    )
    # [4 nc] sums over actuators that are no scalar rows: force, stiffness, damping on each coordinate; friction of
    # gears and brakes
    actuator_load: array2
    # excepted; friction of gears and brakes
    loop_q_next: array2  # [loop q] coordinates of loop joints that the step leads to
    history: array2  # [REPORT_SIZE · steps] reports of the steps of a launch


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
    """Scratch of a step in workspace columns (one column on the CPU, one per world on a GPU)."""

    row_wrench: array2  # [12 LANES_8] wrenches of the rows being whitened
    W: array2  # whitened rows, sparse ones and projected dense ones
    z_momentum: array2  # [nv] whitened momentum before the impulses (zP of method.md), with the carried residual
    z_base: array2  # [nv] z without the rows' impulses, with the predicted chord term
    z_residual: array2  # [nv] residual of the momentum balance, whitened (zc of method.md before it is subtracted)
    z_before: array2  # [nv] whitened momenta, or velocities, before the step
    p: array2  # [impulse] impulses, accumulated over sweeps
    p_old: array2  # [impulse] before a sweep
    z_old: array2  # [z_size] before a sweep
    p_direction: array2  # [impulse] search direction of the accelerated sweeps
    z_direction: array2  # [z_size] search direction
    joint_gap: array2  # [6 joint] position errors at the start of the step, m or 1
    joint_gap_next: array2  # [6 joint] errors at its end
    joint_gap_trial: array2  # [6 joint] errors at its end before corrections (published step)
    joint_target: array2  # [6 joint] target velocities
    joint_mass: array2  # [6 joint] effective masses of the rows, kg
    joint_row_dropped: array2  # [6 joint] 1 for rows dropped because axes are misaligned or nothing can move along them
    joint_factor: array2  # [36 joint] LDLᵀ of a joint's block, inverse pivots on the diagonal
    scalar_position: array2  # [scalar] positions at the start, m or rad
    scalar_position_next: array2  # [scalar] positions at the end
    scalar_K: array2  # [scalar] W·W (inverse effective mass, 1/kg); 0: the row takes no part
    # [scalar] lower bound of the velocity
    velocity_lower: (
        array2  # [scalar] lower bound of the row velocity (m/s or rad/s), or of an actuator's impulse (N s or N m s)
    )
    velocity_upper: array2  # [scalar] upper bound
    friction_bound: array2  # [scalar] bound of dry friction, N s
    motor_velocity: array2  # [scalar] target velocity of its motor
    motor_bound: array2  # [scalar] largest impulse of its motor, N s
    compliant_velocity: array2  # [scalar] velocity at which the compliant impulse vanishes
    compliant_velocity_linear: array2  # [scalar] the same if positions changed as the linear row says
    compliant_gamma: array2  # [scalar] γ = 1/E, 1/kg: the compliant impulse is (compliant_velocity − velocity)/γ
    contact_gap: array2  # [contact] m
    # [CONTACT_MASS_SIZE contact] inverse of W Wᵀ (9), 1/K_nn, tangential step, K_nt (2), spin, rolling, weight of
    # impulse changes, lightness: offsets MASS_*
    contact_mass: (
        array2  # [CONTACT_K contact] effective mass: inverse of W Wᵀ (9), 1/K_nn, tangential step length, K_tn
    )
    # (2), spin, rolling, weight of changes, mean mass over effective mass
    contact_tangents: array2  # [6 contact] two tangents, world axes
    contact_target: array2  # [3 contact] target velocities: normal, tangents, m/s
    contact_mu: array2  # [3 contact] friction coefficient, torsional (m), rolling (m)
    impact_velocity: array2  # [3 contact] relative velocity right before an impact, m/s
    impact_velocity_gain: array2  # [3 contact] what the step's forces add to it after the impact, m/s
    contact_chord: array2  # [3 contact] chord minus row velocity over the step, m/s, contact axes
    contact_chord_prev: array2  # [6 contact] chord velocity of the previous step and its difference, m/s, world axes
    contact_chord_known: array2  # [contact] how many of these are known
    contact_end_error: array2  # [contact] distance of its end point from where its rows put it, m
    restitution_velocity: array2  # [contact] velocity it leaves with after an impact, 0 for none, m/s
    contact_impulse_change: array2  # [contact] largest change of its impulses in the last sweep, N s
    gpu_dense_rows: array2  # [world, rows · lanes] dense rows for cooperative GPU sweeps
    delassus: array2  # [MAX_DELASSUS_ROWS²] columns of the Delassus matrix W Wᵀ, padded to fours
    row_velocity: array2  # [MAX_DELASSUS_ROWS] row velocities
    row_impulse: array2  # [4 MAX_DELASSUS_ROWS] row impulses
    row_velocity_saved: array2  # row velocities before a Newton step
    row_impulse_saved: array2  # row impulses before a Newton step
    contact_mode: ints2d  # [contact] ContactMode in the last sweep
    island_parent: ints2d  # [link] union–find parent of the roots of trees
    island_size: ints2d  # [link] velocity coordinates of the island with this root
    island_dofs: ints2d  # [MAX_ISLAND_DOFS] velocity coordinates of the island
    dof_in_island: ints2d  # [z_size] place of a coordinate within its island
    island_contacts: ints2d  # [1 + contact] count, contacts of the island
    island_scalars: ints2d  # [1 + scalar] count, scalar rows of the island
    island_H: array2  # [MAX_ISLAND_DOFS²] Hessian
    island_z_free: array2  # [MAX_ISLAND_DOFS] z without the island's impulses
    island_gradient: array2  # [MAX_ISLAND_DOFS] minus the gradient
    # [7 contact] velocity beyond the target (3), its change along the search direction (3), normal velocity due to
    # slip
    island_velocity: (
        array2  # [7 contact] velocities beyond their targets, their change along the search direction, lift by
    )
    # sliding (M-62), m/s
    island_scalar_velocity: array2  # [2 scalar] velocity, its change along the direction
    # [6 contact] of the halves of both bodies: start of its rows in W, entries a row, start of their coordinates in
    # `index`
    contact_halves: ints2d
    # `index`
    contact_trees: ints2d  # [2 contact] roots of the trees of its bodies, −1 for the world
    active_tree: ints2d  # [link] 1 for roots of trees that sweeps or pseudo-impulses have moved
    frozen: ints2d  # [contact] 1 for contacts excluded from sweeps
    active_contacts: ints2d  # [1 + contact] count, contacts that take part in sweeps
    tree_untouched: ints2d  # [link] 0 for roots of trees that active contacts move
    touched_dofs: ints2d  # [1 + nv] count, coordinates that active contacts move
    contact_row_count: ints2d  # [contact] 3, or 6 with torsional and rolling friction
    L: array2  # unit lower factor of the bilateral rows, within its envelope
    L_inverse_pivot: array2  # [active bilateral] inverse pivots
    bilateral_x: array2  # [active bilateral] right-hand side, then solution
    rank_before: ints2d  # [bilateral + 1] rank of the rows before it
    active_bilateral: ints2d  # [active bilateral] number of the row
    L_first_column: ints2d  # [active bilateral] first column of its row of L
    L_row_start: ints2d  # [active bilateral] where column 0 of that row would be in L
    dense_row: array2  # [z_size] kept zero; four rows side by side where the Delassus matrix is built
    scalar_K_projected: array2  # [scalar] |Ŵ|² of the projected row, 1/kg
    # [scalar, CONTACT_IMPULSES contact] velocity of projected rows beyond Ŵ·z
    projected_velocity_offset: (
        array2  # [scalar, CONTACT_P contact] row velocities of projected rows beyond Ŵ·z, m/s or rad/s
    )
    p_initial: array2  # [impulse] before the sweeps
    collision: CollisionScratch  # scratch of collision detection
    active_scalars: ints2d  # [1 + scalar] count, scalar rows a sweep visits after those of the joints
    contact_count: ints2d  # [1] contacts that have rows
    status: ints2d  # [len(Status)] where the step stands, flags and counters
    status_real: array2  # [len(StatusReal)] the same, numbers
    any_iterating: wp.array(dtype=int)  # [1] on a GPU: 1 while any world has iterations left


@wp.struct
class StepContext:
    """Everything a stage of a step reads or writes; leaf functions take the parts they use."""

    tree: Tree  # links and joints of the spanning tree
    here: Workspace  # poses and factor of M⁻¹ at the start of the step
    there: Workspace  # poses the step leads to
    loops: LoopJoints  # joints that close loops
    layout: Layout  # rows, laid out once
    state: State
    work: Scratch


def allocate_state(model: Model, layout: Layout, worlds: int, history: int, device: str) -> State:
    """Allocate a zeroed state for some worlds. history: steps of one launch whose reports are kept.

    The arrays in `adjacent_sizes` lie next to each other in memory in that order: recordings copy them as one block.
    """
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
    out.settings = wp.zeros((len(Setting), 1), dtype=real, device=device)
    return out


def allocate_scratch(model: Model, layout: Layout, pairs: int, columns: int, device: str) -> Scratch:
    """Allocate zeroed scratch. pairs: capacity for pairs of shapes that the broad phase finds; columns: workspace
    columns."""
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
        "contact_mass": ContactMass.SIZE * layout.max_contacts,
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
    sizes |= {"status_real": len(StatusReal), "contact_impulse_change": layout.max_contacts}
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
        "status": len(Status),
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
