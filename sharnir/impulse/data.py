"""State, scratch and context of a step of the real-time engine as Warp structs; slots of their arrays are named
in `sharnir.impulse.slots`."""

from __future__ import annotations

from enum import IntEnum

import warp as wp

from sharnir.collision.buffers import CollisionScratch, Contacts
from sharnir.dynamics.loop_joints import LoopJoints
from sharnir.dynamics.tree import Tree, Workspace
from sharnir.impulse.layout.layout import Layout
from sharnir.kernels.types import array2, real

ints2d = wp.array(dtype=int, ndim=2)

MAX_ISLAND_DOFS = 120  # velocity coordinates of the largest island solved by Newton's method


@wp.struct
class State:
    """What evolves from step to step (EVOLVES), inputs, settings, values of the present step that other parts read
    (q_next, v_next, tau, contacts, …), and reports; a column per world on every device."""

    q: array2  # [nq] positions
    v: array2  # [nv] velocities of the step that led here
    P: array2  # [6 link] momenta (p, L about the centre of mass)
    loop_q: array2  # [loop q] coordinates of loop joints, angles unwrapped over turns
    scalar_velocity: array2  # [scalar] velocities of the scalar rows in the step that led here, m/s or rad/s
    p: array2  # [impulse] accumulated impulses of joints and scalars, N s or N m s
    # [3 nv + 1] chord minus tangent momenta of the steps before, whitened: a series of extrapolation.py
    momentum_chord: array2
    residual_carry: array2  # [nv] momentum residual that the step left and the next one adds, whitened
    # [18 joint + 1] chord terms of the joints' target velocities, without corrections of gaps: a series
    joint_chord: array2
    # [bilateral] pivot of each row over its free-body value, slowly decaying maximum; negative: row dropped
    pivot_ratio: array2
    # [PrevStep.SIZE] of the step that led here: dt, time its impulses acted (s), ticks after its last sweep, ticks then
    # left, passes, sweeps, twice its kinetic energy (J)
    prev_step: array2
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
    launch: ints2d  # [LaunchItem.SIZE] of the steps of the present launch
    contacts: Contacts  # contacts of this step
    # [1 + 2 contact] contacts of the previous step: how many; shape pair and feature id of each
    prev_contact_keys: ints2d
    # [6 contact] their impulse and angular impulse on the second body, world axes, N s, N m s
    prev_contact_impulse: array2
    # [6 contact] the part of it that came from impacts with restitution and is not to be expected again, N s, N m s
    prev_contact_impact: array2
    # [10 contact] their point (3, m), normal (3), gap (m), chord term (3, m/s), world axes
    prev_contact_geometry: array2
    # [7 contact] first and second differences of their chord term (m/s, world axes); how many are known
    prev_contact_chord: array2
    # [LinkLoad.SIZE link + WorldLoad.SIZE] loads of joints on light links (`LinkLoad`); all zero where none is heavy
    link_load: array2
    settings: array2  # [len(Setting), 1]
    report: array2  # [REPORT_SIZE]
    q_next: array2  # [nq] positions the step leads to
    v_next: array2  # [nv] velocities of the step
    tau: array2  # [nv] joint impulses of the step's known forces, N s or N m s
    # [4 actuator] request along its path as a step begins: force at the present position, stiffness, damping, and the
    # force at the present position and rate within its limits
    actuator_request: array2
    # [4 nc] sums over actuators that are no scalar rows: force, stiffness, damping on each coordinate; friction of
    # gears and brakes
    actuator_load: array2
    loop_q_next: array2  # [loop q] coordinates of loop joints that the step leads to
    history: array2  # [REPORT_SIZE · steps] reports of the steps of a launch
    joint_momentum: array2  # tau: [nv] velocities times E: momenta of rotors, with implicit dampers and springs
    v_uncorrected: array2  # tau: [nv] velocities before the final linear correction
    v_exact: array2  # tau: [nv] velocities of the exact momenta of free bodies; only links' velocities are used
    v_advance: array2  # tau: [nv] velocities that positions advance by: pseudo-velocities, in the step plus v_next


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
    "prev_contact_impact",
    "prev_contact_geometry",
    "prev_contact_chord",
    "actuator_activation",
    "actuator_force",
    "actuator_force_end",
    "actuator_rates",
    "link_load",
)
# arrays that files of before do not have: zero there; saved only where the model needs them
LATER_ARRAYS = ("prev_contact_impact", "link_load")
STATE_SAVED = (*EVOLVES, "control", "f_ext", "motor_target", "actuator_input", "actuator_brake")


@wp.struct
class Scratch:
    """Scratch of a step in workspace columns (one column on the CPU, one per world on a GPU)."""

    row_wrench: array2  # [12 LANES_8] wrenches of the rows being whitened
    W: array2  # whitened rows, sparse ones and projected dense ones
    z_momentum: array2  # [nv] whitened momentum before the impulses (zP of method.md), with the carried residual
    z_base: array2  # [nv] z without the rows' impulses, with the predicted chord term
    z_residual: array2  # [nv] residual of the momentum balance, whitened (zc of method.md before it is subtracted)
    z_before: array2  # [nv] whitened momenta before the forces of the step
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
    bound_idle: ints2d  # [scalar] 1 where its limit is out of reach in this step
    velocity_lower: array2  # [scalar] lower bound of the velocity
    velocity_upper: array2  # [scalar] upper bound
    friction_bound: array2  # [scalar] bound of dry friction, N s
    motor_velocity: array2  # [scalar] target velocity of its motor
    motor_bound: array2  # [scalar] largest impulse of its motor, N s
    compliant_velocity: array2  # [scalar] velocity at which the compliant impulse vanishes
    compliant_velocity_linear: array2  # [scalar] the same if positions changed as the linear row says
    compliant_gamma: array2  # [scalar] γ = 1/E, 1/kg: the compliant impulse is (compliant_velocity − velocity)/γ
    contact_gap: array2  # [contact] m
    # [ContactMass.SIZE contact] inverse of W Wᵀ (9), 1/K_nn, tangential step, K_nt (2), spin, rolling, weight of
    # impulse changes, lightness (`ContactMass`)
    contact_mass: array2
    contact_tangents: array2  # [6 contact] two tangents, world axes
    contact_target: array2  # [3 contact] target velocities: normal, tangents, m/s
    contact_mu: array2  # [3 contact] friction coefficient, torsional (m), rolling (m)
    impact: array2  # [Impact.SIZE contact] target velocity (3), restitution, threshold, closing speed, separation
    p_impact: array2  # [6 contact] impulses of the impacts with restitution, N s, N m s
    z_half_kick: array2  # [z_size] z at the time of q without the impulses of contacts at rest
    impact_member: ints2d  # [contact] 1 for contacts that take part in the present compression
    contact_group: ints2d  # [link] union–find parent of the roots of trees that impulses of contacts connect
    group_sum: array2  # [GroupSum.SIZE link] sums over the contacts of a group
    contact_chord: array2  # [3 contact] chord minus row velocity over the step, m/s, contact axes
    contact_chord_prev: array2  # [6 contact] chord term of the previous step and its difference, m/s, world axes
    contact_chord_known: array2  # [contact] how many of these are known
    contact_end_error: array2  # [contact] distance of its end point from where its rows put it, m
    contact_arm: array2  # [3 contact] from it to where its friction acts, world axes, m
    contact_edge_error: array2  # [contact] the same where it rolls on an edge, else 0
    contact_impulse_change: array2  # [contact] largest change of its impulses in the last sweep, N s
    gpu_dense_rows: array2  # [world, rows · lanes] dense rows for cooperative GPU sweeps
    delassus: array2  # [MAX_DELASSUS_ROWS²] columns of the Delassus matrix W Wᵀ, padded to fours
    row_velocity: array2  # [MAX_DELASSUS_ROWS] row velocities
    row_impulse: array2  # [4 MAX_DELASSUS_ROWS] row impulses
    row_velocity_saved: array2  # row velocities before a Newton step
    row_impulse_saved: array2  # row impulses before a Newton step
    row_impulse_initial: array2  # [4 MAX_DELASSUS_ROWS] before all sweeps on the matrix, N s
    contact_mode: ints2d  # [contact] ContactMode in the last sweep
    island_parent: ints2d  # [link] union–find parent of the roots of trees
    mechanism_of_link: ints2d  # [link] first link of those that joints and couplings connect with it
    correction_removed: array2  # [link] errors that a position correction removes in the island with this root, m
    correction_shift: array2  # [link] farthest way of a point of the mechanism with this first link, m
    island_size: ints2d  # [link] velocity coordinates of the island with this root
    island_dofs: ints2d  # [MAX_ISLAND_DOFS] velocity coordinates of the island
    dof_in_island: ints2d  # [z_size] place of a coordinate within its island
    island_contacts: ints2d  # [1 + contact] count, contacts of the island
    island_scalars: ints2d  # [1 + scalar] count, scalar rows of the island
    island_H: array2  # [MAX_ISLAND_DOFS²] Hessian
    island_z_free: array2  # [MAX_ISLAND_DOFS] z without the island's impulses
    island_gradient: array2  # [MAX_ISLAND_DOFS] minus the gradient
    # [7 contact] velocity beyond the target (3), its change along the search direction (3), normal velocity due to slip
    island_velocity: array2
    island_scalar_velocity: array2  # [2 scalar] velocity, its change along the direction
    # [6 contact] of the halves of both bodies: start of its rows in W, entries a row, start of their coordinates in
    # `index`; then, where there are bilateral rows, the same of the projected rows
    contact_halves: ints2d
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
    tree_factor: array2  # [TreeBlock.SIZE link] factor of the rows of the tree of joints (`TreeBlock`)
    # [12 link] right-hand sides of links and of joints while these rows are solved
    tree_vector: array2
    z_reduced: array2  # [z_size] velocities that sweeps add, in reduced coordinates
    dense_row: array2  # [z_size] kept zero; four rows side by side where the Delassus matrix is built
    scalar_K_projected: array2  # [scalar] |Ŵ|² of the projected row, 1/kg
    projected_velocity_offset: array2  # [scalar, CONTACT_IMPULSES contact] velocity of projected rows beyond Ŵ·z
    p_initial: array2  # [impulse] before the sweeps
    row_impulse_old: array2  # p_old: impulses of the Delassus rows before a sweep, N s
    row_velocity_old: array2  # z_old: their velocities before a sweep, m/s
    row_impulse_direction: array2  # p_direction: search direction of their impulses
    row_velocity_direction: array2  # z_direction: of their velocities
    p_pseudo: array2  # p_old: [impulse] pseudo-impulses of the position phase, N s
    impulse_lower: array2  # velocity_lower: [scalar] least impulse of a saturated actuator, N s
    impulse_upper: array2  # velocity_upper: [scalar] its largest impulse, N s
    newton_contact_mode: ints2d  # island_contacts: [contact] modes for which the Newton system was factored
    newton_scalar_mode: ints2d  # island_scalars: [scalar] the same of scalar rows
    newton_rows: ints2d  # island_dofs: [row] rows of the Newton system
    newton_lu: array2  # island_H: LU factors of the Newton system
    newton_rhs: array2  # island_gradient: its right-hand side
    z_velocity_before: array2  # z_before: [nv] whitened velocities before the step
    z_impact: array2  # z_residual: [z_size] z at the time of q, before impacts
    z_reflected: array2  # z_old: [z_size] the same after the reflections made so far
    z_compressed: array2  # z_direction: [z_size] z after an inelastic impact
    z_kick: array2  # z_direction: [z_size] what the known forces of the step add to z
    p_compression: array2  # p_old: [impulse] impulses of an inelastic impact, N s
    p_reflected: array2  # p_direction: [impulse] of the reflections made so far, then of impacts as they are, N s
    p_inelastic: array2  # p_initial: [impulse] of the impacts of the step if none bounced, N s
    z_impulsive: array2  # z_old: [nv] Wᵀp of contacts and limits
    z_unconverged: array2  # z_direction: [z_size] z that unconverged impulses made
    z_saved: array2  # z_residual: [nv] z to go on from, while `here.z` holds another
    z_uncorrected: array2  # z_old: [nv] z before the final linear correction, while its residual is added
    z_chord: array2  # z_old: [nv] chord minus tangent momenta of the step, whitened
    z_newton_residual: array2  # z_direction: [z_size] minus the gradient of an island, by coordinate of z
    z_newton_direction: array2  # z_direction: [z_size] Newton direction of an island, by coordinate of z
    pseudo_target: array2  # joint_target: [6 joint] target pseudo-velocities, which sweeps read as `joint_target`
    pseudo_velocity_lower: array2  # velocity_lower: [scalar] lower bound of the pseudo-velocity, read as that
    pseudo_velocity_upper: array2  # velocity_upper: [scalar] upper bound of the pseudo-velocity, read as that
    collision: CollisionScratch  # scratch of collision detection
    active_scalars: ints2d  # [1 + scalar] count, scalar rows a sweep visits after those of the joints
    contact_count: ints2d  # [1] contacts that have rows
    status: ints2d  # [len(Status)] where the step stands, flags and counters
    status_real: array2  # [len(StatusReal)] the same, numbers
    joint_load: array2  # [6 link] geometric stiffness that the joint forces of this step give (M-91), as `LinkLoad.K`
    first_joint_load: array2  # [6 link] the same after the first correction
    mechanism_bound: ints2d  # [link] `MechanismBound` of mechanisms
    mechanism_work: array2  # [MechanismWork.SIZE link] work and energies of mechanisms (`MechanismWork`)
    kept_L: array2  # [3 link] angular momenta, while those in the workspace have more
    added_torque: array2  # [3 link] torque impulse of raised inertias, N m s, world axes (M-94)
    any_iterating: wp.array(dtype=int)  # [1] on a GPU: 1 while any world has iterations left
    any_again: wp.array(dtype=int)  # [1] on a GPU: 1 while any world makes its step again


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


# Functions take the context and its parts by reference. Handles of arrays stay in registers as long as every function
# is inlined: one that is not has the address of the context (`evaluate_row`: CPU steps 1.1 to 1.7 times as long).
Context = wp.ref[StepContext]


@wp.struct
class Iterate:
    """The unknowns that sweeps update."""

    z: array2  # [nv] whitened velocity
    p: array2  # [impulse] accumulated impulses
    direct: int  # 1 if bilateral rows are solved directly, and the others projected onto their null space


class LimitRule(IntEnum):
    """When a limit acts."""

    WHEN_REACHED = 0  # as published
    PREDICTED = 1  # once it would be reached within the step


@wp.struct
class RowOptions:
    """How the rows of a step, of a correction or of an observation are assembled."""

    h: real  # s, time over which forces act
    dt: real  # s
    stiffness_scale: real  # steps that a spring's average spans, over the time forces act
    limit_rule: int  # `LimitRule`
    at_new_poses: int  # 1: joints and equalities only, at the poses the step led to
    update_history: int  # 1: pivots of bilateral rows are remembered


@wp.func
def make_iterate(z: array2, p: array2, direct: int):
    """The unknowns of sweeps."""
    x = Iterate()
    x.z = z
    x.p = p
    x.direct = direct
    return x


@wp.func
def make_row_options(h: real, dt: real, stiffness_scale: real, limit_rule: int):
    """Options of rows at the start of a step that leave the history of pivots alone."""
    options = RowOptions()
    options.h = h
    options.dt = dt
    options.stiffness_scale = stiffness_scale
    options.limit_rule = limit_rule
    return options
