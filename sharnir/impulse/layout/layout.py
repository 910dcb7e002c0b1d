"""What acts on a model besides its tree, laid out once for the kernels of a step.

Two kinds of blocks are swept. A *joint* that closes a loop is a block of up to six rows (L15-14). A *line* is one
row: a joint coordinate, an angle of a ball, a coupling of two coordinates, a spring between points or the path of an
actuator; on its one speed act a limit or equality, dry friction, a motor and a soft force (rotor, spring and damper),
each with an impulse of its own. Contacts with half-spaces are blocks of three rows.

Every row is whitened (M-10): its nonzero entries, one per velocity coordinate between its links and their common
ancestor or root, stand in the order in which a walk up the tree meets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.collision.pipeline import Surfaces
from sharnir.collision.surfaces_upload import surfaces_on
from sharnir.dynamics.tree import ints
from sharnir.enums import SPRING, TURN
from sharnir.impulse.layout.actuators import Drive, Term, drive_arrays
from sharnir.impulse.layout.bilateral import bound_arrays, free_islands
from sharnir.impulse.layout.scalar_rows import Lines, collect, walk
from sharnir.impulse.row_kinds import ACTIONS, CONTACT_P, HOLD, SOFT
from sharnir.kernels.lanes import MOST_SPREAD
from sharnir.kernels.types import DOUBLE, np_real, real

if TYPE_CHECKING:
    from sharnir.model.model import Model

MOST_DENSE = 20_000_000  # numbers
LINE_INTEGERS = {
    "line_kind": "kind", "line_q": "q", "line_link": "link", "line_measured": "measured", "line_acts": "acts",
    "line_motor": "motor", "line_needed": "needed",
}  # fmt: skip
LINE_REALS = {"line_lower": "lower", "line_upper": "upper", "line_friction": "friction"}
MOST_ROWS = 96  # that are swept by how they answer each other


@wp.struct
class Plan:
    dofs: int  # number of velocity coordinates, nv
    joints: int  # number of loop joints
    lines: int  # number of scalar rows
    contacts: int  # number of contacts there is room for
    first_line: int  # where impulses of scalar rows start
    first_contact: int  # where impulses of contacts start
    impulses: int  # number of impulses
    index: ints  # velocity coordinates of the entries of rows, for all rows
    link_first: ints  # [link] start in `index` of the coordinates from a link to its root
    link_length: ints  # [link] number of them
    belt_first: ints  # [shape] the same for a shape round which a belt runs: coordinates of its sprocket and its link
    belt_length: ints  # [shape] number of them
    joint_first: ints  # [joint] start in `index` of the coordinates of its rows
    joint_length: ints  # [joint] number of entries of a row
    joint_start: ints  # [joint] where its rows start in W
    joint_lines: ints  # [joint + 1] first scalar row of a loop joint; those after the last belong to the tree
    line_first: ints  # [scalar] start in `index` of the coordinates of its row
    line_length: ints  # [scalar] number of entries of its row
    line_start: ints  # [scalar] where its row starts in W
    line_kind: ints  # [scalar] TREE_DOF, LOOP_ROW, TURN, COUPLING, SPRING or PATH
    line_of: ints  # [2 scalar] by kind: coordinate; row; first coordinate of a ball joint and 3 · limit kind + axis;
    # scalar rows; spring
    line_q: ints  # [scalar] its position coordinate in q or loop q
    line_link: ints  # [scalar] link of a tree coordinate
    line_measured: ints  # [scalar] 1 if it has a position, 0 for rates of a ball joint
    line_acts: ints  # [scalar] set of what acts on it: bound, friction, motor, soft force
    line_motor: ints  # [scalar] its motor, or the actuator whose path it is
    line_needed: ints  # [scalar] 1 if other rows are sums of its row
    line_lower: wp.array(dtype=real)  # [scalar] lower limit, m or rad
    line_upper: wp.array(dtype=real)  # [scalar] upper limit, m or rad
    line_friction: wp.array(dtype=real)  # [scalar] dry friction, N or N m
    line_ratio: wp.array(dtype=real)  # [2 scalar] ratio and offset of a coupling
    map_start: ints  # [scalar] start in `index` of the places in the rows that a coupling or a path sums, −1 for none
    drives: wp.array(dtype=Drive)  # [actuator] actuators
    terms: wp.array(dtype=Term)  # coordinates of the paths of actuators
    motor_mode: ints  # [motor] position or velocity
    motor_max_force: wp.array(dtype=real)  # [motor] largest force, N or N m
    motor_max_speed: wp.array(dtype=real)  # [motor] largest velocity, m/s or rad/s
    motor_response: wp.array(dtype=real)  # [motor] response time of a position motor, s
    links: int  # number of links
    link_root: ints  # [link] root of its tree
    dof_root: ints  # [nv] root of the tree of its link
    tree_first: ints  # [link] first velocity coordinate of the tree whose root it is
    tree_size: ints  # [link] number of velocity coordinates of that tree, 0 if it is no root
    teams: int  # 1 where the lanes of a GPU warp may sweep a world together (M-67)
    newton: int  # 1 if island Newton is possible (M-61)
    few: int  # 1 if the dense Delassus matrix is possible (M-63)
    contact_space: int  # where rows of contacts start in W
    contact_stride: int  # numbers of W for each contact
    contact_rows: int  # rows of a contact: 3, or 6 where some materials have spin or rolling friction
    surfaces: Surfaces  # shapes, filters and materials for collision detection
    finds: int  # 1 if the step's kernel finds contacts itself: round shapes only, CPU
    W_size: int  # numbers of W

    # rows that bind both ways, solved directly
    bound: int  # number of bilateral rows b
    bind_start: ints  # [b] where its row starts in W
    bind_length: ints  # [b] number of entries of its row
    bind_first: ints  # [b] start in `index` of the coordinates of its row
    bind_p: ints  # [b] place of its impulse
    bind_act: ints  # [b] OF_JOINT, or what acts on the scalar row: bound, motor or soft force
    bind_of: ints  # [b] row of the loop joint, or scalar row
    bind_weight: wp.array(dtype=real)  # [b] weight |W|² of a joint's row between free bodies, else 0, 1/kg
    bind_slack: ints  # [b] place in z of the slack of a soft row, −1 for none
    envelope_left: ints  # [b] first column of its row of L
    envelope_start: ints  # [b] where that row starts in L
    near_start: ints  # [b + 1] start in `near` of the rows before it that share a coordinate
    near: ints  # those rows
    line_loose: ints  # [scalar] set of what acts on it one way or within bounds, and is swept
    width: int  # length of z: velocity coordinates and slacks
    every: int  # where the sequence 0 … width − 1 starts in `index`
    dense_line: int  # where projected scalar rows start in W (M-48)
    dense_contact: int  # where projected rows of contacts start in W
    held_contacts: int  # number of contacts there is room for as projected rows: with more, all rows are swept
    L_size: int  # numbers of L
    bodies: int  # 1 in maximal coordinates: every link is a body on its own
    alone: int  # 1 if every link moves freely, so that impulses alone make its momentum
    islands: int  # number of groups of bodies joined with each other but not with the world, in maximal coordinates
    island_start: ints  # [island + 1] first of their links in `island_link`
    island_link: ints  # their links
    bent_lines: int  # 1 if some scalar rows measure what is not linear in velocity coordinates
    ball_lines: int  # 1 if soft forces act on rates of a ball joint
    bent: int  # 1 if any rows measure what is not linear in velocity coordinates


def plan_on(model: Model, device: str, most: int) -> tuple[Plan, Lines]:
    """The model's blocks on a device, with room for `most` contacts, and the lines among them."""
    lines, starts = collect(model)
    rows = lines.rows
    out = Plan()
    links = [walk(model, i, -1) for i in range(model.nb)]
    pulled = zip(model.shape_sprocket.tolist(), model.shape_link.tolist(), strict=True)
    belts = [walk(model, sprocket, link) if sprocket >= 0 else [] for sprocket, link in pulled]
    roots: list[int] = []
    for i, up in enumerate(model.parent):
        roots.append(i if up < 0 else roots[up])
    joints = [walk(model, *(int(x) for x in link)) for link in model.loop_link]
    integers: dict[str, Any] = {
        "link_first": [lines.pattern(e) for e in links], "link_length": [len(e) for e in links],
        "belt_first": [lines.pattern(e) for e in belts], "belt_length": [len(e) for e in belts],
        "joint_first": [lines.pattern(e) for e in joints], "joint_length": [len(e) for e in joints],
        "joint_start": [lines.space(6 * len(e)) for e in joints], "joint_lines": starts,
        "line_first": [r["first"] for r in rows], "line_length": [len(r["entries"]) for r in rows],
        "line_start": [r["start"] for r in rows], "line_of": [x for r in rows for x in r["of"]],
        "map_start": [r["map"] for r in rows], "motor_mode": model.motor_mode, "link_root": roots,
        "dof_root": np.repeat(roots, np.diff(model.dof_start)),
    }  # fmt: skip
    integers |= {field: [r[fact] for r in rows] for field, fact in LINE_INTEGERS.items()}
    reals: dict[str, Any] = {field: [r[fact] for r in rows] for field, fact in LINE_REALS.items()}
    reals["line_ratio"] = [x for r in rows for x in r["ratio"]]
    reals |= {name: getattr(model, name) for name in ("motor_max_force", "motor_max_speed", "motor_response")}
    integers |= bound_arrays(model, lines, joints, integers)
    facts = integers.pop("facts")
    reals["bind_weight"] = integers.pop("bind_weight")
    integers["index"] = lines.index
    islands = free_islands(model)
    integers["island_start"] = np.cumsum([0, *(len(links) for links in islands)])
    integers["island_link"] = [link for links in islands for link in links]
    roots = np.asarray(integers["dof_root"], dtype=int)
    integers["tree_size"] = np.bincount(roots, minlength=model.nb)
    integers["tree_first"] = np.searchsorted(roots, np.arange(model.nb))
    for name, values in integers.items():
        setattr(out, name, wp.array(np.array(values, dtype=np.int32).reshape(-1), dtype=int, device=device))
    for name, values in reals.items():
        setattr(out, name, wp.array(np.array(values, dtype=np_real).reshape(-1), dtype=real, device=device))
    out.drives, out.terms = drive_arrays(model, lines, device)
    out.dofs, out.joints, out.lines, out.links = model.nv, model.loops, len(rows), model.nb
    out.surfaces, turning = surfaces_on(model, device)
    out.contacts = most if out.surfaces.any == 1 else 0
    out.finds = int(out.surfaces.any == 1 and out.surfaces.rounds == 1 and not wp.get_device(device).is_cuda)
    out.first_line = 6 * model.loops
    out.first_contact = out.first_line + ACTIONS * len(rows)
    out.impulses = out.first_contact + CONTACT_P * out.contacts
    for name, value in facts.items():
        setattr(out, name, value)
    out.dense_line = lines.space(out.width * out.lines if out.bound else 0)
    longest = max((len(e) for e in (*links, *belts)), default=0)
    out.contact_rows = 6 if turning else 3
    out.contact_stride = 2 * out.contact_rows * longest
    out.contact_space = lines.space(out.contact_stride * out.contacts)
    out.held_contacts = min(out.contacts, MOST_DENSE // (CONTACT_P * max(1, out.width))) if out.bound else 0
    out.dense_contact = lines.space(CONTACT_P * out.width * out.held_contacts)
    on_gpu = wp.get_device(device).is_cuda
    out.teams = int(out.contacts > 0 and out.joints == 0 and out.width <= MOST_SPREAD and on_gpu)
    out.few = int(out.contacts > 0 and out.joints == 0 and not on_gpu)
    out.newton = int(out.contacts > 0 and out.bound == 0 and DOUBLE and not on_gpu)
    out.W_size = lines.W_size
    out.islands = len(islands)
    out.bodies = int((model.implicit_free == 1).all())
    out.alone = int((model.parent == -1).all() and (np.diff(model.dof_start) == 6).all() and not model.armature.any())
    bent = [r for r in rows if r["kind"] in (TURN, SPRING) or (r["acts"] & (HOLD | SOFT) and model.loops > 0)]
    out.bent_lines = int(len(bent) > 0)
    out.bent = int(model.loops > 0 or len(bent) > 0)
    out.ball_lines = int(any(r["acts"] & SOFT and not r["measured"] for r in rows))
    return out, lines
