"""Static constraint layout of a model: what acts on it besides its tree, laid out once for the kernels of a step.

Three kinds of blocks are swept. A loop joint is a block of up to six rows (L15-14). A scalar row acts on one velocity:
that of a joint coordinate, an angle of a ball joint, a coupling of two coordinates, a spring between points or the path
of an actuator; a bound (limit or equality), dry friction, a motor and a compliant force (rotor, spring and damper)
share it, each with an impulse of its own. A contact is a block of three rows, or six with torsional and rolling
friction.

Every row is whitened (M-10): its nonzero entries, one per velocity coordinate between its links and their common
ancestor or root, are stored in the order in which a traversal up the tree meets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.collision.contact_model import ContactModel
from sharnir.collision.surfaces_upload import upload_contact_model
from sharnir.dynamics.tree import ints
from sharnir.enums import ScalarSource
from sharnir.impulse.layout.actuators import ActuatorData, PathTerm, upload_actuators
from sharnir.impulse.layout.bilateral import find_floating_groups, lay_out_bilateral
from sharnir.impulse.layout.joint_loads import upload_joint_loads
from sharnir.impulse.layout.scalar_layout import ScalarRowBuilder, collect_scalars, relative_dofs
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, RowKind
from sharnir.kernels.dense import MAX_LU_ROWS
from sharnir.kernels.lanes import MAX_LANE_DOFS
from sharnir.kernels.types import DOUBLE, mat33, np_real, real, vec3
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROWS

if TYPE_CHECKING:
    from sharnir.model.model import Model

# numbers, of all projected contact rows: beyond, fewer contacts than max_contacts are projected
MAX_PROJECTED_SIZE = 20_000_000
MAX_DELASSUS_ROWS = MAX_LU_ROWS  # rows of the largest dense Delassus matrix: Newton steps factor it


@wp.struct
class Layout:
    """Constraint layout on a device. W: array of all whitened rows; `index`: velocity coordinates of their entries."""

    dofs: int  # nv
    joints: int  # loop joints
    scalars: int  # scalar rows
    max_contacts: int  # capacity
    scalar_p_start: int  # where the impulses of scalars start in p
    contact_p_start: int  # where those of contacts start in p
    impulses: int  # length of p
    index: ints  # velocity coordinates of the entries of all rows
    link_index_start: ints  # [link] where the coordinates between a link and its root start in `index`
    link_row_length: ints  # [link] how many there are
    belt_index_start: ints  # [shape] the same for a shape that carries a belt, with its sprocket's coordinates
    belt_row_length: ints  # [shape]
    joint_index_start: ints  # [joint] in `index`
    joint_row_length: ints  # [joint] entries of a row
    joint_W_start: ints  # [joint] where its rows start in W
    joint_whitened_rows: ints  # [joint] its constraints and, as far as scalar rows are on them, its coordinates
    joint_scalar_start: ints  # [joint + 1] scalars of a loop joint; those after the last belong to the tree
    scalar_index_start: ints  # [scalar] in `index`
    scalar_row_length: ints  # [scalar] entries of its row
    scalar_W_start: ints  # [scalar] where it starts in W
    scalar_source_kind: ints  # [scalar] `ScalarSource`: what it measures
    # [2 scalar] by kind: coordinate; joint row and loop coordinate; first coordinate of a ball and 3 · limit kind +
    # axis; two scalars; spring; first term and count of a path
    scalar_source: ints
    scalar_q: ints  # [scalar] position coordinate in q or loop q
    scalar_link: ints  # [scalar] link of a tree coordinate, or loop joint
    scalar_has_position: ints  # [scalar] 1 if it has a position, 0 for rates of a ball joint
    scalar_row_kinds: ints  # [scalar] set of `RowKind`
    scalar_motor: ints  # [scalar] its motor, or the actuator it belongs to
    scalar_is_summand: ints  # [scalar] 1 if other rows are sums of it
    scalar_lower: wp.array(dtype=real)  # [scalar] m or rad
    scalar_upper: wp.array(dtype=real)  # [scalar] m or rad
    scalar_friction: wp.array(dtype=real)  # [scalar] N or N m
    scalar_ratio: wp.array(dtype=real)  # [2 scalar] ratio and offset of a coupling; half-angles of a swing cone
    summand_map_start: ints  # [scalar] where, in `index`, its entries' places in the rows it sums start; −1 there: none
    actuators: wp.array(dtype=ActuatorData)  # [actuator] actuators
    actuator_terms: wp.array(dtype=PathTerm)  # terms of their paths
    motor_mode: ints  # [motor] position or velocity
    motor_max_force: wp.array(dtype=real)  # [motor] largest force, N or N m
    motor_max_speed: wp.array(dtype=real)  # [motor] largest velocity, m/s or rad/s
    motor_response: wp.array(dtype=real)  # [motor] response time of a position motor, s
    links: int  # number of links
    link_root: ints  # [link] root of its tree
    dof_root: ints  # [nv] root of the tree of the coordinate's link
    tree_first_dof: ints  # [link] first coordinate of the tree whose root it is
    tree_dof_count: ints  # [link] how many coordinates that has, 0 if it is no root
    gpu_lanes: int  # 1 where 32 lanes of a GPU warp may keep the velocities of all rows
    island_newton: int  # 1 if islands may be solved by Newton's method
    dense_delassus: int  # 1 if the dense Delassus matrix may be used
    dense_newton: int  # 1 if Newton steps may be made on it
    contact_W_start: int  # where rows of contacts start in W
    contact_W_stride: int  # and how much of it each contact has
    max_contact_rows: int  # 3, or 6 where some materials have torsional or rolling friction
    contact_model: ContactModel  # shapes, filters and materials for collision detection
    # 1 if the step's kernel detects contacts itself: only spheres, capsules and half-spaces, on the CPU
    detects_contacts: int
    W_size: int  # numbers of W

    has_bilateral: int  # 1 if there are bilateral rows (equalities): they may be solved directly
    tree_joints: int  # joints along which they are eliminated, from the tips inward: in maximal coordinates
    tree_joint: ints  # [tree joint] loop joint
    tree_child: ints  # [tree joint] link
    tree_parent: ints  # [tree joint] link towards the root, −1: the world
    tree_has_children: ints  # [tree joint] 1 if its child is the parent of others
    tree_rows: ints  # [tree joint] rows of the joint; its compliant rows follow
    tree_scalar_start: ints  # [tree joint + 1] compliant scalar rows on its coordinates, in `tree_scalars`
    tree_scalars: ints  # those rows
    tree_joint_of_link: ints  # [link] tree joint whose child it is, −1: a root
    link_reduced_first: ints  # [link] its first reduced coordinate
    link_component_first: ints  # [link] first reduced coordinate of its component
    link_component_size: ints  # [link] how many coordinates that has
    scalar_component_first: ints  # [scalar] the same of the component of a scalar row
    scalar_component_size: ints  # [scalar]
    reduced_size: int  # reduced coordinates: of velocities that joints of the tree allow, and slacks

    bilaterals: int  # bilateral rows without those of the tree
    bilateral_W_start: ints  # [bilateral] where it starts in W
    bilateral_row_length: ints  # [bilateral] entries
    bilateral_index_start: ints  # [bilateral] in `index`
    bilateral_p: ints  # [bilateral] its impulse in p
    bilateral_kind: ints  # [bilateral] `BilateralKind`
    bilateral_source: ints  # [bilateral] row of the joint, or scalar
    # [bilateral] |W|² a joint's row would have between free bodies, 1/kg; else 0
    bilateral_free_K: wp.array(dtype=real)
    bilateral_slack: ints  # [bilateral] reduced coordinate of a compliant row's slack, else −1
    pivot_ratios: int  # length of `State.pivot_ratio`: of all bilateral rows, those of the tree not in use
    bilateral_ratio: ints  # [bilateral] its place there
    factor_W_start: ints  # [bilateral] where the row starts in W as it is factored: in reduced coordinates
    factor_index_start: ints  # [bilateral] in `index`
    factor_row_length: ints  # [bilateral] entries
    envelope_first_column: ints  # [bilateral] first column of its row of L
    envelope_row_start: ints  # [bilateral] where that row starts in L
    coupled_row_start: ints  # [bilateral + 1] earlier rows that share a coordinate with it, in `coupled_rows`
    coupled_rows: ints  # those rows
    scalar_bounded_kinds: ints  # [scalar] row kinds that are unilateral or bounded
    z_size: int  # room for whitened velocities, as they are or in reduced coordinates
    identity_index_start: int  # where 0, 1, … z_size − 1 starts in `index`
    scalar_projected_start: int  # where projected rows of scalars start in W
    contact_projected_start: int  # where those of contacts start
    max_projected_contacts: int  # capacity for projected contacts: with more, all rows are swept
    L_size: int  # numbers of L
    is_maximal: int  # 1 in maximal coordinates: every link is a body on its own
    all_bodies_free: int  # 1 if every link is a free body without armature: its momentum is what impulses make it
    floating_groups: int  # groups of bodies in maximal coordinates joined with each other but not with the world
    floating_group_start: ints  # [group + 1]
    floating_group_link: ints  # their links
    link_axes: wp.array(dtype=mat33)  # [link] principal axes of inertia as columns, link axes
    link_moments: wp.array(dtype=vec3)  # [link] principal moments about the centre of mass, kg m²
    link_resistance: wp.array(dtype=vec3)  # [link] moments that a turn of the link alone meets about these axes, kg m²
    link_mechanism: ints  # [link] number of the mechanism it belongs to
    dof_loaded: ints  # [nv] 1 if rotors, springs, dampers, constant efforts or scalar rows act on the coordinate
    # [2 link] 1/(kg m²), by how much ω² of the link and of its parent may rise at most for 1 N m that their joint
    # pulls, times the joints of that link
    tree_joint_weight: wp.array(dtype=real)
    tree_lever: real  # 1/(kg m), the largest of these times the arm
    joint_lever: wp.array(dtype=real)  # [joint] the same of a loop joint
    joint_force_rows: ints  # [joint] how many of its rows, the first ones, are forces
    has_nonlinear_scalars: int  # 1 if some scalars are nonlinear in the velocity coordinates over a step
    has_ball_rate_scalars: int  # 1 if compliant forces act on rates of a ball joint
    has_nonlinear_rows: int  # 1 if some rows (joints or scalars) are


def upload_layout(model: Model, device: str, max_contacts: int) -> tuple[Layout, ScalarRowBuilder]:
    """Upload the constraint layout of a model, with capacity for `max_contacts` contacts. Returns it and the builder
    that holds its scalar rows."""
    builder, starts = collect_scalars(model)
    rows = builder.rows
    out = Layout()
    links = [relative_dofs(model, i, -1) for i in range(model.nb)]
    sprockets = zip(model.shape_sprocket.tolist(), model.shape_link.tolist(), strict=True)
    belts = [relative_dofs(model, sprocket, link) if sprocket >= 0 else [] for sprocket, link in sprockets]
    roots: list[int] = []
    for i, up in enumerate(model.parent):
        roots.append(i if up < 0 else roots[up])
    joints = [relative_dofs(model, *(int(x) for x in link)) for link in model.loop_link]
    integers: dict[str, Any] = {
        "link_index_start": [builder.append_index(e) for e in links], "link_row_length": [len(e) for e in links],
        "belt_index_start": [builder.append_index(e) for e in belts], "belt_row_length": [len(e) for e in belts],
        "joint_index_start": [builder.append_index(e) for e in joints], "joint_row_length": [len(e) for e in joints],
        "joint_W_start": [builder.reserve_W(JOINT_ROWS * len(e)) for e in joints], "joint_scalar_start": starts,
        "scalar_index_start": [r.index_start for r in rows], "scalar_row_length": [len(r.entries) for r in rows],
        "scalar_source": [x for r in rows for x in r.source],
        "summand_map_start": [r.summand_map_start for r in rows], "motor_mode": model.motor_mode, "link_root": roots,
        "dof_root": np.repeat(roots, np.diff(model.dof_start)),
        "scalar_source_kind": [r.source_kind for r in rows], "scalar_q": [r.q for r in rows],
        "scalar_link": [r.link for r in rows], "scalar_has_position": [r.has_position for r in rows],
        "scalar_row_kinds": [r.row_kinds for r in rows], "scalar_motor": [r.motor for r in rows],
        "scalar_is_summand": [r.is_summand for r in rows],
    }  # fmt: skip
    whitened = CONSTRAINT_COUNT[model.loop_kind].tolist()
    for row in rows:
        if row.source_kind == ScalarSource.LOOP_DOF:  # they are rows of their joint
            of_joint = row.source[0] - JOINT_ROWS * row.link
            row.W_start = integers["joint_W_start"][row.link] + of_joint * len(row.entries)
            whitened[row.link] = max(whitened[row.link], of_joint + 1)
    integers["joint_whitened_rows"] = whitened
    integers["scalar_W_start"] = [r.W_start for r in rows]
    reals: dict[str, Any] = {
        "scalar_lower": [r.lower for r in rows], "scalar_upper": [r.upper for r in rows],
        "scalar_friction": [r.friction for r in rows], "scalar_ratio": [x for r in rows for x in r.ratio],
    }  # fmt: skip
    reals |= {name: getattr(model, name) for name in ("motor_max_force", "motor_max_speed", "motor_response")}
    integers |= lay_out_bilateral(model, builder, joints, integers)
    facts = integers.pop("facts")
    reals["bilateral_free_K"] = integers.pop("bilateral_free_K")
    integers["index"] = builder.index
    islands = find_floating_groups(model)
    integers["floating_group_start"] = np.cumsum([0, *(len(links) for links in islands)])
    integers["floating_group_link"] = [link for links in islands for link in links]
    roots = np.asarray(integers["dof_root"], dtype=int)
    integers["tree_dof_count"] = np.bincount(roots, minlength=model.nb)
    integers["tree_first_dof"] = np.searchsorted(roots, np.arange(model.nb))
    for name, values in integers.items():
        setattr(out, name, wp.array(np.array(values, dtype=np.int32).reshape(-1), dtype=int, device=device))
    for name, values in reals.items():
        setattr(out, name, wp.array(np.array(values, dtype=np_real).reshape(-1), dtype=real, device=device))
    upload_joint_loads(model, rows, out, device)
    out.actuators, out.actuator_terms = upload_actuators(model, builder, device)
    out.dofs, out.joints, out.scalars, out.links = model.nv, model.loops, len(rows), model.nb
    out.contact_model, has_torsional_or_rolling_friction = upload_contact_model(model, device)
    out.max_contacts = max_contacts if out.contact_model.has_pairs == 1 else 0
    out.detects_contacts = int(
        out.contact_model.has_pairs == 1 and out.contact_model.only_round == 1 and not wp.get_device(device).is_cuda
    )
    out.scalar_p_start = JOINT_ROWS * model.loops
    out.contact_p_start = out.scalar_p_start + SCALAR_IMPULSES * len(rows)
    out.impulses = out.contact_p_start + CONTACT_IMPULSES * out.max_contacts
    for name, value in facts.items():
        setattr(out, name, value)
    out.scalar_projected_start = builder.reserve_W(out.reduced_size * out.scalars * out.has_bilateral)
    longest = max((len(e) for e in (*links, *belts)), default=0)
    out.max_contact_rows = 6 if has_torsional_or_rolling_friction else 3
    out.contact_W_stride = 2 * out.max_contact_rows * longest
    out.contact_W_start = builder.reserve_W(out.contact_W_stride * out.max_contacts)
    out.max_projected_contacts = (
        min(out.max_contacts, MAX_PROJECTED_SIZE // (CONTACT_IMPULSES * max(1, out.reduced_size)))
        if out.has_bilateral
        else 0
    )
    out.contact_projected_start = builder.reserve_W(CONTACT_IMPULSES * out.reduced_size * out.max_projected_contacts)
    on_gpu = wp.get_device(device).is_cuda
    out.gpu_lanes = int(out.max_contacts > 0 and out.joints == 0 and out.z_size <= MAX_LANE_DOFS and on_gpu)
    out.dense_delassus = int(out.max_contacts > 0 and not on_gpu)
    out.dense_newton = int(out.dense_delassus == 1 and DOUBLE)
    out.island_newton = int(out.max_contacts > 0 and out.has_bilateral == 0 and DOUBLE and not on_gpu)
    out.W_size = builder.W_size
    out.floating_groups = len(islands)
    out.is_maximal = int((model.implicit_free == 1).all())
    out.all_bodies_free = int(
        (model.parent == -1).all() and (np.diff(model.dof_start) == 6).all() and not model.armature.any()
    )
    nonlinear = [
        r
        for r in rows
        if r.source_kind in (ScalarSource.BALL_ANGLE, ScalarSource.SPRING)
        or (r.row_kinds & (RowKind.BOUND | RowKind.COMPLIANT) and model.loops > 0)
    ]
    out.has_nonlinear_scalars = int(len(nonlinear) > 0)
    out.has_nonlinear_rows = int(model.loops > 0 or len(nonlinear) > 0)
    out.has_ball_rate_scalars = int(any(r.row_kinds & RowKind.COMPLIANT and not r.has_position for r in rows))
    return out, builder
