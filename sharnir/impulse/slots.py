"""Slots of the engine's arrays by name, and the enumerations stored in them.

Warp turns a member of an `IntEnum` in kernel code into an integer constant.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

from sharnir.model.joint_rows import JOINT_ROWS


class Setting(IntEnum):
    """Slots of `State.settings`."""

    DT = 0  # s
    EPSILON = 1  # N s: change of impulses at which sweeps have converged where bodies are slower than QUIET_SPEED
    ERP = 2  # share of a position error that a step removes
    MAX_PASSES = 3  # outer iterations after the first
    MAX_SWEEPS = 4
    TICK_BUDGET = 5  # ticks of the clock for a step
    METHOD = 6  # `Method`
    ACCELERATE = 7  # 1: sweeps are nonsmooth conjugate gradients
    BILATERAL_DIRECT = 8  # 1: bilateral rows are solved directly
    WARM_START = 9  # share of the last impulses to start from
    REPLAY_CUT = 10  # sweeps, pseudo-sweeps and corrections after which a replayed step ran out of time
    REPLAY_PSEUDO_SWEEPS = 11
    REPLAY_CORRECTIONS = 12
    TOL_SCALE = 13  # factor of the usual tolerances
    MEAN_MASS = 14  # kg, of all bodies
    MASS_WEIGHTED_CHANGES = 15  # 1: impulse changes of contacts are weighted (`ContactMass.CHANGE_WEIGHT`)
    # N s: change of impulses at which sweeps have converged where bodies are faster than QUIET_SPEED; elsewhere
    # sweeps go on from there towards ε only while that is quick
    TOL_ACCEPT = 16
    TOL_LOOSE = 17  # N s: change of impulses that ends the sweeps of an iteration another will follow
    MIN_ROW_K = 18  # 1/kg: W·W of a row that moves nothing
    WARN_OPENING = 19  # m or rad: position error that is told of
    WARN_PIVOT = 20  # relative pivot of loops below which a fold is told of, 0 where loops are not looked at


class LaunchItem(IntEnum):
    """Slots of `State.launch`: of the steps of a launch."""

    STEP = 0  # number of the next
    REMARKABLE = 1  # steps so far whose reports say that something was not as usual
    SIZE = 2


class Method(IntEnum):
    """Values of `Setting.METHOD`."""

    PREDICTIVE = 0  # rows at the end of the step, chord momenta
    PAPER_BODIES = 1  # the published method in maximal coordinates
    PAPER_TREE = 2  # and in generalised ones


class ReportItem(IntEnum):
    """Slots of `State.report`."""

    CUT_AFTER = 0  # sweeps after which time was up
    PSEUDO_SWEEP_COUNT = 1
    CORRECTION_COUNT = 2
    SWEEP_COUNT = 3
    PASS_COUNT = 4
    SWEEP_RESIDUAL = 5  # N s, largest change in the last sweep, of contacts times ContactMass.CHANGE_WEIGHT
    POSITION_ERROR = 6  # m or rad
    STOP_REASON = 7  # `StopReason`
    STEP_TICKS = 8
    FALLBACK_USED = 9  # 1: the linearised step was taken
    MIN_RELATIVE_PIVOT = 10
    CONTACT_POINTS = 11
    WARNINGS = 12  # sum of `StepWarning`
    IMPULSE_WORK = 13  # J, energy that impulses of contacts and limits added in the step: 0 or less but for rounding
    STIFFENED_LINKS = 14  # links whose joint loads were taken implicitly, since the step is too long for them


class StepWarning(IntFlag):
    """What was not right in a step, beside `FALLBACK_USED` and `STOP_REASON`: bits of `ReportItem.WARNINGS`."""

    CORRECTION_LIMITED = 1  # a position correction would have moved something by more than the error it removes
    IMPACTS_LIMITED = 2  # impacts went on beyond the cap of reflections: the rest of them was taken without restitution
    FAST_SPIN = 4  # a body turns too far in a step for its friction or its rotation to be resolved
    LINKS_STIFFENED = 8  # loads on light links oscillate faster than the step resolves: damped
    ENERGY_LIMITED = 16  # momenta or impulses were scaled down, since the step would have added energy
    MOTOR_SLOWED = 32  # a motor without bound was slowed down in front of a dead end of its linkage
    LIFTED = 64  # position corrections pushed bodies up against gravity


class StopReason(IntEnum):
    """Why sweeps ended. The negative one never reaches a report: sweeps go on by another method."""

    UNFINISHED = -1
    CONVERGED = 0
    CAPPED = 1  # the most sweeps made
    OUT_OF_TIME = 2
    STALLED = 3  # no progress


class SweepStatus(IntEnum):
    """Where a loop of sweeps stands."""

    CONVERGED = 0
    CONTINUE = 1
    OUT_OF_TIME = 2
    STALLED = 3
    USE_ISLANDS = 4  # islands are to be solved by convex Newton


class ProgressRule(IntEnum):
    """How much progress sweeps must make between checks."""

    JOINTS = 0
    CONTACTS = 1
    DENSE = 2  # on the Delassus matrix, with Newton steps in between


class SolveStage(IntEnum):
    """Ways to sweep that a solve tries one after the other."""

    THROUGH_Z = 0  # sweeps through z: QUIET_SWEEPS where the Delassus matrix may follow, else all of them
    DENSE = 1  # the Delassus matrix, where rows are few enough
    ISLANDS_FIRST = 2  # islands are solved by convex Newton after the first sweep


class Status(IntEnum):
    """Slots of `Scratch.status`: where the step of a world stands."""

    IS_DIRECT = 0  # 1: bilateral rows are solved directly in this step
    CORRECTION = 1  # number of the position correction, 0 for the first
    CORRECTING = 2  # 1 while another correction is to come
    POSITIONS_MOVED = 3  # 1 once pseudo-velocities have moved positions
    PHASE = 4  # `Phase`
    END_GAPS_KNOWN = 5  # 1 once joint gaps at the end pose are known
    HAS_IMPACTS = 6  # 1 once impacts have acted: `p_impact` holds their impulses
    LATE_ACTIVATIONS = 7  # times scalar rows were activated within the step
    DELASSUS = 8  # `DelassusState`
    LOOSE_ITERATION = 9  # 1 in a first iteration solved to TOL_LOOSE
    LU_VALID = 10  # 1 while the LU factors of the last Newton step may be used again
    WARM_STARTED = 11  # 1 once the warm-start impulses are in z
    HAS_POSITION_ERROR = 12  # 1 while positions are to be corrected
    HAS_SEPARATIONS = 13  # 1 where overlapping contacts with restitution part by themselves (`Impact.SEPARATION`)
    FAST_LINKS = 14  # 1 where a link turns by more than a radian in the step
    STIFFENED = 15  # links whose inertia is raised in this step (M-93)
    LOADS_KNOWN = 16  # 1 once the joint loads after the first correction are known
    LOADED = 17  # 1 where joint loads were measured in this step
    WORK_LIMITED = 18  # which `MechanismBound` is in force in this step
    RESIDUAL_DROPPED = 19  # 1 where the step was accepted with a residual too large to be carried on
    AGAIN = 20  # `Again`
    TRIES = 21  # times this step was made again
    TURN_LIMITED = 22  # 1 once a position correction would have turned links too far (M-114)


class Again(IntEnum):
    """Whether a step is made again, with more inertia of light links."""

    NO = 0
    BEGIN = 1  # it is, from its free motion on
    FACTORED = 2  # on a GPU, where stages are kernels: its velocity phase is to begin
    ITERATE = 3  # and has begun


class StatusReal(IntEnum):
    """Slots of `Scratch.status_real`."""

    FORCE_TIME = 0  # s, h: time the step's forces act
    WARM_FACTOR = 1  # of the last impulses to start from
    LAST_OPENING = 2  # m or rad, of joints before a correction
    SWEEP_TOLERANCE = 3  # N s, ε of the present solve
    RESIDUAL2 = 4  # of the momentum balance, whitened, squared


class MechanismBound(IntEnum):
    """What is bounded in a mechanism in a step (`Scratch.mechanism_bound`)."""

    NONE = 0
    JOINTS = 1  # work of its joints
    RESIDUAL = 2  # what a residual that was dropped gives its momenta


class MechanismWork(IntEnum):
    """Slots of a mechanism in `Scratch.mechanism_work`."""

    JOINTS = 0  # J, that joints did in the step by being stiff, and pushes against gravity
    RESIDUAL = 1  # J, that its momenta gain by a residual that the step drops
    KINETIC = 2  # J, kinetic energy of its links
    WEIGHT = 3  # J, that gravity does in a step
    SHARE = 4  # factor of its momenta
    SIZE = 5


class Phase(IntEnum):
    """Phase of the velocity iteration; docs/architecture.md has the diagram."""

    ITERATE = 0  # solve, evaluate the momentum residual, repeat
    FINAL_LINEAR = 1  # one last correction, followed linearly
    LINEARISED = 2  # the step at its start pose: without passes, or as a fallback
    END_POSE = 3  # evaluate where the velocities lead
    DONE = 4


class Outcome(IntEnum):
    """What follows an outer iteration."""

    ITERATE = 0  # add the residual and solve again
    TIGHTEN = 1  # converged to the loose tolerance: once more to ε
    CORRECT_LINEARLY = 2  # one last correction, followed linearly
    FALL_BACK = 3  # to the linearised step: the residual is too large
    ACCEPT = 4


class DelassusState(IntEnum):
    """The dense Delassus matrix of a world."""

    STALE = 0
    READY = 1
    UNUSABLE = 2  # no contacts, too many rows, or contacts with torsional or rolling friction


class ContactMode(IntEnum):
    """What a contact does."""

    OPEN = 0
    STICK = 1
    SLIP = 2


class ScalarMode(IntEnum):
    """What a scalar row does: moves, with friction or without; is held at a bound, or by friction."""

    FREE = 0
    LOWER = 1
    UPPER = 2
    FRICTION = 3


class PrevStep(IntEnum):
    """Slots of `State.prev_step`: of the step that led here."""

    DT = 0  # s
    FORCE_TIME = 1  # s
    TICKS_TAIL = 2  # ticks from the last sweep to the end of the step, a decaying maximum
    TICKS_LEFT = 3  # ticks left at the last sweep
    PASSES = 4
    SWEEPS = 5
    ENERGY2 = 6  # J, twice the kinetic energy
    SIZE = 7


class ContactMass(IntEnum):
    """Slots of a contact in `Scratch.contact_mass`."""

    INVERSE = 0  # nine entries of the inverse of W Wᵀ, row by row
    NORMAL = 9  # 1/K_nn
    TANGENT = 10  # inverse of the largest eigenvalue of the tangential block
    K_NT1 = 11
    K_NT2 = 12
    SPIN = 13
    ROLL = 14
    CHANGE_WEIGHT = 15  # factor on its impulse changes in the check of convergence: lightness, 1 to MAX_MASS_WEIGHT
    LIGHTNESS = 16  # mean body mass over the contact's effective mass: mean mass times K_nn
    SIZE = 17


class Half(IntEnum):
    """Slots of one half (one body) of a contact's rows in `Scratch.contact_halves`."""

    W_START = 0
    LENGTH = 1
    INDEX_START = 2
    SIZE = 3


class PrevContact(IntEnum):
    """Slots of a contact in `State.prev_contact_geometry`."""

    POINT = 0
    NORMAL = 3
    GAP = 6
    CHORD = 7
    SIZE = 10


class PrevChord(IntEnum):
    """Slots of a contact in `State.prev_contact_chord`."""

    CHANGE = 0
    CURVE = 3
    KNOWN = 6
    SIZE = 7


class ContactKey(IntEnum):
    """Slots of `State.prev_contact_keys`: the count, then pair and feature of the first contact; those of another
    follow CONTACT_KEY_SIZE later."""

    COUNT = 0
    PAIR = 1
    FEATURE = 2


class IslandVelocity(IntEnum):
    """Slots of a contact in `Scratch.island_velocity`."""

    VELOCITY = 0  # beyond the target
    DIRECTION = 3  # its change along the search direction
    LIFT = 6  # De Saxcé term μ|v_t|
    SIZE = 7


class Impact(IntEnum):
    """Slots of a contact in `Scratch.impact`."""

    TARGET = 0  # m/s, velocity at which an inelastic impact ends: normal, tangents
    RESTITUTION = 3
    THRESHOLD = 4  # m/s, approach that does not count
    CLOSING = 5  # m/s, the contact closes within the step if its normal velocity falls short of minus this
    SEPARATION = 6  # m, by which an overlap is less after the step
    IS_STRUCK = 7  # 1: has restitution, and no load in the step before
    SIZE = 8


class GroupSum(IntEnum):
    """Slots of a group of trees in `Scratch.group_sum`: sums over its contacts. Of impacts their weights, J, and the
    coefficients of restitution times these; of unconverged impulses their power before and after."""

    FIRST = 0
    SECOND = 1
    SIZE = 2


class LinkLoad(IntEnum):
    """Slots of a link in `State.link_load`."""

    K = 0  # N m, geometric stiffness (M-91): diagonal, then yz, xz, xy; principal axes of the link
    K_OFF = 3
    RATE = 6  # rad/s, angular velocity of the last step, world axes
    DAMPER = 9  # rad/s, y of (M-94) in the last step, world axes
    DAMPER_BEFORE = 12  # and in the one before
    TRACE = 15  # N m s, trace of B of the last step over the time its forces acted; 0: none
    PULL = 16  # 1/s², ω² of the link's own turning under the joint forces of the last step; 0: not measured
    # of mechanism i, in the slots of link i
    RESERVE = 17  # J, what joints took in the last steps and may give back (M-98)
    KINETIC = 18  # J, largest kinetic energy, slowly forgotten
    SIZE = 19


class WorldLoad(IntEnum):
    """Slots of `State.link_load` behind those of the links."""

    ACTIVE = 0  # links that have K
    MEASURED = 1  # 1 where the last step measured joint loads
    BOUNDED = 2  # 1 once the work of joints was bounded in a mechanism
    SIZE = 3


class Load(IntEnum):
    """Slots of a coordinate in `State.actuator_load`."""

    FORCE = 0
    STIFFNESS = 1
    DAMPING = 2
    FRICTION = 3  # of gears and brakes
    SIZE = 4


class ActuatorRequest(IntEnum):
    """Slots of an actuator in `State.actuator_request`."""

    FORCE = 0
    STIFFNESS = 1
    DAMPING = 2
    FORCE_NOW = 3  # force by position and rate, within its limits
    SIZE = 4


class ActuatorRate(IntEnum):
    """Slots of an actuator in `State.actuator_rates`."""

    PATH = 0
    FORCE = 1
    SIZE = 2


class Mu(IntEnum):
    """Slots of a contact in `Scratch.contact_mu`."""

    SLIDE = 0
    SPIN = 1
    ROLL = 2
    SIZE = 3


REPORT_SIZE = len(ReportItem)
BLOCK_ROWS = 3  # rows of a contact without torsional and rolling friction
JOINT_BLOCK = JOINT_ROWS * JOINT_ROWS  # entries of a joint's factor; its diagonal is at (JOINT_ROWS + 1) i
CONTACT_KEY_SIZE = 2  # numbers of a contact in `State.prev_contact_keys`
SIDES = 2  # bodies of a contact
CONTACT_HALVES = SIDES * Half.SIZE  # numbers of a contact in `Scratch.contact_halves`
