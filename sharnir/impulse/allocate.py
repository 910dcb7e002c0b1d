"""Allocation of the engine's state and scratch on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import warp as wp

from sharnir.collision.buffers import allocate_collision_scratch, allocate_contacts
from sharnir.impulse.data import MAX_ISLAND_DOFS, Scratch, State
from sharnir.impulse.layout.joint_tree import TreeBlock
from sharnir.impulse.layout.layout import MAX_DELASSUS_ROWS, Layout
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, LANES_4, LANES_8, SCALAR_IMPULSES
from sharnir.impulse.slots import (
    CONTACT_KEY_SIZE,
    JOINT_BLOCK,
    JOINT_ROWS,
    REPORT_SIZE,
    SIDES,
    ActuatorRate,
    ContactMass,
    GroupSum,
    Half,
    Impact,
    IslandVelocity,
    LaunchItem,
    LinkLoad,
    Load,
    MechanismWork,
    Mu,
    PrevChord,
    PrevContact,
    PrevStep,
    Setting,
    Status,
    StatusReal,
    WorldLoad,
)
from sharnir.kernels.columns import LANES, allocate_columns, allocate_contiguous
from sharnir.kernels.lanes import MAX_LANE_ROWS
from sharnir.kernels.types import SPATIAL, VEC3, real

if TYPE_CHECKING:
    from sharnir.model.model import Model


def allocate_state(model: Model, layout: Layout, worlds: int, history: int, device: str) -> State:
    """Allocate a zeroed state for some worlds. history: steps of one launch whose reports are kept.

    The arrays in `adjacent_sizes` lie next to each other in memory in that order: recordings copy them as one block.
    """
    loop_q, actuators = int(model.loop_q_start[-1]), len(model.actuator_names)
    chord_contacts = layout.max_contacts if layout.joints else 0
    adjacent_sizes = {
        "control": model.nc,
        "f_ext": SPATIAL * model.nb,
        "motor_target": len(model.motor_names),
        "actuator_input": actuators,
        "actuator_brake": actuators,
        "prev_step": PrevStep.SIZE,
        "q": model.nq,
        "v": model.nv,
        "P": SPATIAL * model.nb,
        "loop_q": loop_q,
        "scalar_velocity": layout.scalars,
        "p": layout.contact_p_start,
        "momentum_chord": 3 * model.nv + 1,  # values, first and second differences, order (rows.extrapolation)
        "residual_carry": model.nv,
        "joint_chord": 3 * JOINT_ROWS * layout.joints + 1,
        "pivot_ratio": layout.pivot_ratios,
        **dict.fromkeys(("actuator_activation", "actuator_force", "actuator_force_end"), actuators),
        "actuator_rates": ActuatorRate.SIZE * actuators,
        "link_load": LinkLoad.SIZE * model.nb + WorldLoad.SIZE,
    }
    sizes = {
        "report": REPORT_SIZE,
        "actuator_request": Load.SIZE * actuators,
        "actuator_load": Load.SIZE * model.nc,
        "prev_contact_impulse": SPATIAL * layout.max_contacts,
        "prev_contact_impact": SPATIAL * layout.max_contacts * layout.contact_model.has_restitution,
        "prev_contact_geometry": PrevContact.SIZE * layout.max_contacts,
        "prev_contact_chord": PrevChord.SIZE * chord_contacts,
        "q_next": model.nq,
        "v_next": model.nv,
        "tau": model.nv,
        "loop_q_next": loop_q,
        "history": REPORT_SIZE * history,
    }
    out = State()
    for name, array in allocate_contiguous(adjacent_sizes, worlds, device).items():
        setattr(out, name, array)
    for name, size in sizes.items():
        setattr(out, name, allocate_columns(size, worlds, device))
    out.launch = allocate_columns(LaunchItem.SIZE, worlds, device, int)
    out.contacts = allocate_contacts(layout.max_contacts, worlds, device)
    out.prev_contact_keys = allocate_columns(1 + CONTACT_KEY_SIZE * layout.max_contacts, worlds, device, int)
    out.settings = wp.zeros((len(Setting), 1), dtype=real, device=device)
    for alias, name in STATE_ALIASES.items():
        setattr(out, alias, getattr(out, name))
    return out


# fields of `State` and of `Scratch` that share the memory of another, in turns
STATE_ALIASES = dict.fromkeys(("joint_momentum", "v_uncorrected", "v_exact", "v_advance"), "tau")
ALIASES = {
    "row_impulse_old": "p_old", "row_velocity_old": "z_old", "row_impulse_direction": "p_direction",
    "row_velocity_direction": "z_direction", "p_pseudo": "p_old",
    "impulse_lower": "velocity_lower", "impulse_upper": "velocity_upper", "newton_contact_mode": "island_contacts",
    "newton_scalar_mode": "island_scalars", "newton_rows": "island_dofs", "newton_lu": "island_H",
    "newton_rhs": "island_gradient", "z_velocity_before": "z_before", "z_saved": "z_residual",
    "z_impact": "z_residual", "z_reflected": "z_old", "z_compressed": "z_direction", "z_kick": "z_direction",
    "z_unconverged": "z_direction",
    "p_compression": "p_old", "p_reflected": "p_direction", "p_inelastic": "p_initial", "z_impulsive": "z_old",
    "z_uncorrected": "z_old", "z_chord": "z_old", "z_newton_residual": "z_direction",
    "z_newton_direction": "z_direction", "pseudo_target": "joint_target",
    "pseudo_velocity_lower": "velocity_lower", "pseudo_velocity_upper": "velocity_upper",
}  # fmt: skip


def allocate_scratch(model: Model, layout: Layout, pairs: int, columns: int, device: str) -> Scratch:
    """Allocate zeroed scratch. pairs: capacity for pairs of shapes that the broad phase finds; columns: workspace
    columns."""
    impulses, joints, scalars = layout.impulses, layout.joints, layout.scalars
    sizes = {
        "row_wrench": SIDES * SPATIAL * LANES_8,
        "W": layout.W_size,
        "joint_gap": JOINT_ROWS * joints,
        "joint_gap_next": JOINT_ROWS * joints,
        "joint_gap_trial": JOINT_ROWS * joints,
        "joint_target": JOINT_ROWS * joints,
        "joint_mass": JOINT_ROWS * joints,
        "joint_row_dropped": JOINT_ROWS * joints,
    }
    sizes |= {
        "joint_factor": JOINT_BLOCK * joints,
        "contact_gap": layout.max_contacts,
        "contact_mass": ContactMass.SIZE * layout.max_contacts,
    }
    per_contact_3 = ("contact_arm", "contact_target", "contact_chord")
    bouncing_contacts = layout.max_contacts * layout.contact_model.has_restitution
    sizes |= {
        "impact": Impact.SIZE * bouncing_contacts,
        "p_impact": CONTACT_IMPULSES * bouncing_contacts,
        "z_half_kick": layout.z_size * layout.contact_model.has_restitution,
        "group_sum": GroupSum.SIZE * model.nb,
        "contact_end_error": layout.max_contacts,
        "contact_edge_error": layout.max_contacts,
        "contact_tangents": 2 * VEC3 * layout.max_contacts,
        "contact_mu": Mu.SIZE * layout.max_contacts,
        **dict.fromkeys(per_contact_3, VEC3 * layout.max_contacts),
    }
    delassus_rows = MAX_DELASSUS_ROWS * layout.dense_delassus
    sizes |= dict.fromkeys(("z_momentum", "z_before", "z_base", "z_residual"), layout.z_size) | dict.fromkeys(
        ("z_old", "z_direction"), max(layout.z_size, delassus_rows)
    )
    sizes |= {
        "p": impulses,
        **dict.fromkeys(("p_old", "p_direction", "p_initial"), max(impulses, SCALAR_IMPULSES * delassus_rows)),
    }
    sizes |= {
        "delassus": delassus_rows**2,
        "row_velocity": delassus_rows,
        "row_impulse": SCALAR_IMPULSES * delassus_rows,
        "row_velocity_saved": delassus_rows,
        "row_impulse_saved": SCALAR_IMPULSES * delassus_rows,
        "row_impulse_initial": SCALAR_IMPULSES * delassus_rows,
    }
    sizes |= {
        "L": layout.L_size,
        "L_inverse_pivot": layout.bilaterals,
        "bilateral_x": layout.bilaterals,
        "dense_row": layout.z_size * (LANES_4 if layout.dense_delassus else 1),
        "scalar_K_projected": scalars,
    }
    tree_links = model.nb if layout.tree_joints else 0
    sizes |= {"tree_factor": TreeBlock.SIZE * tree_links, "tree_vector": 2 * SPATIAL * tree_links}
    sizes |= {"z_reduced": layout.z_size * layout.has_bilateral}
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
    sizes |= dict.fromkeys(("joint_load", "first_joint_load"), SPATIAL * model.nb) | {
        "kept_L": VEC3 * model.nb,
        "added_torque": VEC3 * model.nb,
        "mechanism_work": MechanismWork.SIZE * model.nb,
    }
    sizes |= dict.fromkeys(("correction_removed", "correction_shift"), model.nb)
    sizes |= {"status_real": len(StatusReal), "contact_impulse_change": layout.max_contacts}
    chord_contacts = layout.max_contacts if layout.joints else 0
    sizes |= {"contact_chord_prev": 2 * VEC3 * chord_contacts, "contact_chord_known": chord_contacts}
    island_dofs = MAX_ISLAND_DOFS if layout.dense_delassus else 0
    sizes |= {"island_H": island_dofs**2, "island_z_free": island_dofs, "island_gradient": island_dofs}
    sizes |= {
        "island_velocity": IslandVelocity.SIZE * layout.max_contacts * layout.island_newton,
        "island_scalar_velocity": 2 * scalars * layout.island_newton,
    }
    out = Scratch()
    for name, size in sizes.items():
        setattr(out, name, wp.zeros((size, columns), dtype=real, device=device))
    counts = {
        "contact_count": 1,
        "status": len(Status),
        "active_scalars": 1 + scalars,
        "bound_idle": scalars,
        "rank_before": layout.bilaterals + 1,
        "contact_halves": SIDES * Half.SIZE * layout.max_contacts * (1 + layout.has_bilateral),
        "contact_row_count": layout.max_contacts,
        "contact_trees": SIDES * layout.max_contacts,
        "active_tree": model.nb,
        "mechanism_bound": model.nb,
        "contact_mode": layout.max_contacts,
        "impact_member": bouncing_contacts,
        "contact_group": model.nb,
    }
    counts |= dict.fromkeys(("active_bilateral", "L_first_column", "L_row_start"), layout.bilaterals)
    counts |= {
        "island_dofs": island_dofs,
        "dof_in_island": layout.z_size * layout.island_newton,
        **dict.fromkeys(("island_parent", "mechanism_of_link"), model.nb),
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
        "island_contacts": 1 + max(layout.max_contacts, MAX_DELASSUS_ROWS) * layout.dense_delassus,
        "island_scalars": 1 + max(scalars, MAX_DELASSUS_ROWS) * layout.dense_delassus,
    }
    lane_row_size = MAX_LANE_ROWS * -(-layout.z_size // LANES) * LANES if layout.gpu_lanes else 0
    out.gpu_dense_rows = wp.zeros((columns, lane_row_size), dtype=real, device=device)
    for name, size in counts.items():
        setattr(out, name, wp.zeros((size, columns), dtype=int, device=device))
    for alias, name in ALIASES.items():
        setattr(out, alias, getattr(out, name))
    out.any_iterating = wp.zeros(1, dtype=int, device=device)
    out.any_again = wp.zeros(1, dtype=int, device=device)
    out.collision = allocate_collision_scratch(len(model.shape_kind), layout.max_contacts, pairs, columns, device)
    return out
