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
    dofs: int  # nv
    joints: int
    lines: int
    contacts: int  # points there is room for
    first_line: int  # where their impulses start
    first_contact: int
    impulses: int
    index: ints  # entries of all rows
    link_first: ints  # [link] where the entries of a link's walk start in `index`
    link_length: ints
    belt_first: ints  # [shape] the same of a shape round which a belt runs, and of its sprocket
    belt_length: ints
    joint_first: ints  # [joint]
    joint_length: ints
    joint_start: ints  # where its rows start in W
    joint_lines: ints  # [joint + 1] lines of a loop joint; lines after the last belong to the tree
    line_first: ints  # [line]
    line_length: ints
    line_start: ints
    line_kind: ints  # TREE_DOF, LOOP_ROW, TURN, COUPLING or SPRING
    line_of: ints  # [2 line] coordinate; row; first coordinate of a ball and 3 · limit kind + axis; lines; spring
    line_q: ints  # position coordinate in q or loop q
    line_link: ints  # link of a tree coordinate
    line_measured: ints  # 1 if it has a position, 0 for rates of a ball
    line_acts: ints  # HOLD | FRICTION | MOTOR | SOFT, or as in sharnir.impulse.row_kinds
    line_motor: ints  # its motor, or the actuator whose line it is
    line_needed: ints  # 1 if other rows are sums of its row
    line_lower: wp.array(dtype=real)
    line_upper: wp.array(dtype=real)
    line_friction: wp.array(dtype=real)
    line_ratio: wp.array(dtype=real)  # [2 line] ratio and offset of a coupling
    map_start: ints  # [line] places in the rows that a coupling or a path sums, -1 for none, in `index`
    drives: wp.array(dtype=Drive)
    terms: wp.array(dtype=Term)  # of their paths
    motor_mode: ints
    motor_max_force: wp.array(dtype=real)
    motor_max_speed: wp.array(dtype=real)
    motor_response: wp.array(dtype=real)
    links: int
    link_root: ints  # [link] root of its tree
    dof_root: ints  # [nv] the same of the coordinate's link
    tree_first: ints  # [link] first coordinate of the tree of which it is the root
    tree_size: ints  # [link] how many coordinates that has, 0 for no root
    teams: int  # 1 where a team of threads may keep the speeds of all rows (GPU)
    newton: int  # 1 if islands may be solved at once
    few: int  # 1 if few rows may be swept by how they answer each other
    contact_space: int  # where rows of contacts start in W
    contact_stride: int  # and how much of it each has
    contact_rows: int  # 3, or 6 where some materials spin or roll with friction
    surfaces: Surfaces
    finds: int  # 1 if a step finds contacts itself: few kinds of shapes, and all of it is one kernel
    W_size: int
    # rows that bind both ways, solved directly
    bound: int
    bind_start: ints  # [b] where its row starts in W
    bind_length: ints
    bind_first: ints
    bind_p: ints  # [b] its impulse
    bind_act: ints  # [b] OF_JOINT, ACT_HOLD, ACT_MOTOR or ACT_SOFT
    bind_of: ints  # [b] row of the joint, or line
    bind_weight: wp.array(dtype=real)  # [b] |W|² a joint's row would have between free bodies, 1/kg; else 0
    bind_slack: ints  # [b] place of a soft row's slack in z, else -1
    envelope_left: ints  # [b] first column of its row of L
    envelope_start: ints  # [b] where that row starts in L
    near_start: ints  # [b + 1] rows before it that share a coordinate, in `near`
    near: ints
    line_loose: ints  # [line] what acts on it one way or within bounds
    width: int  # nv and slacks
    every: int  # where 0, 1, … width - 1 starts in `index`
    dense_line: int  # where projected rows start in W
    dense_contact: int
    held_contacts: int  # contacts there is room for there: with more, all rows are swept
    L_size: int
    bodies: int  # 1 if every link is a body on its own: maximal coordinates
    alone: int  # 1 if every link moves freely: its momentum is what impulses make it
    islands: int  # bodies on their own joined with each other but not with the world
    island_start: ints  # [island + 1]
    island_link: ints  # their links
    bent_lines: int  # 1 if some of those are lines
    ball_lines: int  # 1 if soft forces act on rates of a ball
    bent: int  # 1 if rows measure what is not linear in the velocity coordinates


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
