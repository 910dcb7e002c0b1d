"""What acts on a model besides its tree, laid out once for the kernels of a step.

Two kinds of blocks are swept. A *joint* that closes a loop is a block of up to six rows (L15-14). A *line* is one
row: a joint coordinate, an angle of a ball, a coupling of two coordinates or a spring between points; on its one
speed act a limit or equality, dry friction, a motor and a soft force (rotor, spring and damper), each with an
impulse of its own. Contacts with half-spaces are blocks of three rows.

Every row is whitened (M-10): its nonzero entries, one per velocity coordinate between its links and their common
ancestor or root, stand in the order in which a walk up the tree meets them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from sharnir.collide.pairs import surfaces_on
from sharnir.collide.touching import Surfaces
from sharnir.constraints.joints import ALONG, CONSTRAINED, HELIX, ROWS
from sharnir.dynamics.tree import ints
from sharnir.kinds import (
    BALL,
    CONE_LIMIT,
    COUPLING,
    LOOP_ROW,
    NO_LIMIT,
    SPRING,
    TREE_DOF,
    TURN,
)  # fmt: skip
from sharnir.maths import DOUBLE, np_real, real

if TYPE_CHECKING:
    from sharnir.model import Model

ACT_HOLD, ACT_FRICTION, ACT_MOTOR, ACT_SOFT = range(4)  # what acts on a line, by place among its impulses
HOLD, FRICTION, MOTOR, SOFT = (1 << act for act in range(4))  # and as a set
MOST_DENSE = 20_000_000  # numbers
MOST_SPREAD = 128  # velocity coordinates of a world whose rows a team keeps
CONTACT_P = 6  # impulses of a contact: normal, two tangents, spin, two of rolling
ACTIONS = 4
MOST_ROWS = 64  # that are swept by how they answer each other
OF_JOINT = -1  # a row of B that belongs to a loop joint


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
    line_acts: ints  # HOLD | FRICTION | MOTOR | SOFT
    line_motor: ints
    line_lower: wp.array(dtype=real)
    line_upper: wp.array(dtype=real)
    line_friction: wp.array(dtype=real)
    line_ratio: wp.array(dtype=real)  # [2 line] ratio and offset of a coupling
    map_start: ints  # [line] pairs of places in the rows of a coupling's two lines, -1 for none, in `index`
    motor_mode: ints
    motor_max_force: wp.array(dtype=real)
    motor_max_speed: wp.array(dtype=real)
    motor_response: wp.array(dtype=real)
    links: int
    link_root: ints  # [link] root of its tree
    dof_root: ints  # [nv] the same of the coordinate's link
    teams: int  # 1 where a team of threads may keep the speeds of all rows (GPU)
    newton: int  # 1 if islands may be solved at once
    few: int  # 1 if few rows may be swept by how they answer each other
    contact_space: int  # where rows of contacts start in W
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


class Lines:
    """Collects the lines of a model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.index: list[int] = []
        self.W_size = 0
        self.rows: list[dict[str, Any]] = []
        self.of_coordinate: dict[int, int] = {}
        self._motor = {int(c): m for m, c in enumerate(model.motor_coordinate)}

    def pattern(self, entries: list[int]) -> int:
        """Append entries to the index; where they start."""
        first = len(self.index)
        self.index += entries
        return first

    def space(self, size: int) -> int:
        """Room for a row in W."""
        start = self.W_size
        self.W_size += size
        return start

    def add(self, kind: int, entries: list[int], **facts: Any) -> int:
        """A new line; its number."""
        row = {
            "kind": kind, "of": (0, 0), "q": 0, "link": 0, "measured": 1, "acts": 0, "motor": -1,
            "lower": -np.inf, "upper": np.inf,
            "friction": 0.0, "ratio": (0.0, 0.0), "map": 0, "entries": entries,
            "first": self.pattern(entries), "start": self.space(len(entries)), **facts,
        }  # fmt: skip
        self.rows.append(row)
        return len(self.rows) - 1

    def coordinate(self, c: int) -> int:
        """The line of scalar coordinate c, with all that acts on it."""
        m = self.model
        if c in self.of_coordinate:
            return self.of_coordinate[c]
        measured = int(m.coordinate_positions[c] >= 0)
        facts: dict[str, Any] = {"q": max(int(m.coordinate_positions[c]), 0), "friction": m.friction[c]}
        facts["measured"] = measured
        acts = FRICTION if m.friction[c] > 0 else 0
        if m.limit_angles[c] != NO_LIMIT and m.coordinate_positions[c] >= 0:
            acts |= HOLD
            facts |= {"lower": m.limit_lower[c], "upper": m.limit_upper[c]}
        if c in self._motor:
            acts |= MOTOR
            facts["motor"] = self._motor[c]
        if c < m.nv:
            link = int(np.searchsorted(m.dof_start, c, side="right")) - 1
            own = list(range(c, m.dof_start[link] - 1, -1))
            entries, kind = own + walk(m, int(m.parent[link]), -1), TREE_DOF
            facts |= {"of": (c, 0), "link": link}
        else:
            k, row = loop_row(m, c - m.nv)
            entries, kind = walk(m, *(int(x) for x in m.loop_link[k])), LOOP_ROW
            facts |= {"of": (row, c - m.nv), "link": k}
            facts["q"] -= m.nq if m.coordinate_positions[c] >= 0 else 0
            if m.loop_armature[c - m.nv] > 0 or m.loop_stiffness[c - m.nv] > 0 or m.loop_damping[c - m.nv] > 0:
                acts |= SOFT
        self.of_coordinate[c] = self.add(kind, entries, acts=acts, **facts)
        return self.of_coordinate[c]

    def turns(self, c: int) -> None:
        """Limits on the three angles of the ball whose coordinates start at c."""
        m = self.model
        kind = int(m.limit_angles[c])
        if c < m.nv:
            link = int(np.searchsorted(m.dof_start, c, side="right")) - 1
            entries = walk(m, link, int(m.parent[link]))
            q = int(m.part_q[(m.part_kind == BALL) & (m.part_v == c)][0])
        else:
            k, _ = loop_row(m, c - m.nv)
            link, entries = k, walk(m, *(int(x) for x in m.loop_link[k]))
            q = int(m.loop_q_start[k + 1]) - 4
        axes = (0, 2) if kind == CONE_LIMIT else (0, 1, 2)  # the swing of a cone is one line
        for axis in axes:
            lower, upper = m.limit_lower[c + axis], m.limit_upper[c + axis]
            if kind == CONE_LIMIT and axis == 0:
                swing = (m.limit_upper[c], m.limit_upper[c + 1])
                if np.isfinite(swing).all():
                    self.add(TURN, entries, of=(c, 3 * kind), q=q, link=link, acts=HOLD, upper=0.0, ratio=swing)
            elif np.isfinite([lower, upper]).any():
                self.add(TURN, entries, of=(c, 3 * kind + axis), q=q, link=link, acts=HOLD, lower=lower, upper=upper)

    def coupling(self, n: int) -> None:
        m = self.model
        lines = [self.coordinate(int(c)) for c in m.coupling_coordinate[n]]
        entries = [self.rows[k]["entries"] for k in lines]
        union = sorted({*entries[0], *entries[1]}, reverse=True)
        places = [e.index(d) if d in e else -1 for d in union for e in entries]
        start = self.pattern(places)
        ratio = (m.coupling_ratio[n], m.coupling_offset[n])
        self.add(COUPLING, union, of=tuple(lines), acts=HOLD, lower=0.0, upper=0.0, ratio=ratio, map=start)

    def spring(self, s: int) -> None:
        a, b = (int(x) for x in self.model.spring_link[s])
        self.add(SPRING, walk(self.model, a, b), of=(s, 0), acts=SOFT)


def walk(model: Model, a: int, b: int) -> list[int]:
    """Velocity coordinates that move link a against link b, as a walk from both up the tree meets them."""
    out: list[int] = []
    while a >= 0 or b >= 0:
        link = max(a, b)
        out += range(model.dof_start[link + 1] - 1, model.dof_start[link] - 1, -1)
        up = int(model.parent[link])
        a, b = up if a == link else a, up if b == link else b
        if a == b:
            b = -1
    return out


def loop_row(model: Model, lv: int) -> tuple[int, int]:
    """Loop joint and row of loop velocity coordinate lv."""
    k = int(np.searchsorted(model.loop_v_start, lv, side="right")) - 1
    return k, 6 * k + int(CONSTRAINED[model.loop_kind[k]]) + lv - int(model.loop_v_start[k])


def collect(model: Model) -> tuple[Lines, list[int]]:
    """All lines, those of loop joints first; where each joint's lines start."""
    lines = Lines(model)
    driven = {*(int(c) for c in model.motor_coordinate), *(int(c) for c in model.coupling_coordinate.reshape(-1))}
    soft = (model.loop_armature > 0) | (model.loop_stiffness > 0) | (model.loop_damping > 0)
    wanted = (model.friction > 0) | (model.limit_angles != NO_LIMIT)
    wanted[model.nv :] |= soft
    starts = []
    for k in range(model.loops):
        starts.append(len(lines.rows))
        _coordinates(lines, model.nv + np.arange(model.loop_v_start[k], model.loop_v_start[k + 1]), wanted, driven)
    starts.append(len(lines.rows))
    _coordinates(lines, np.arange(model.nv), wanted, driven)
    for n in range(len(model.coupling_names)):
        lines.coupling(n)
    for s in range(len(model.spring_names)):
        lines.spring(s)
    return lines, starts


def _coordinates(lines: Lines, coordinates: np.ndarray, wanted: np.ndarray, driven: set[int]) -> None:
    m = lines.model
    balls: set[int] = set()
    for c in (int(c) for c in coordinates):
        scalar = m.coordinate_positions[c] >= 0
        soft_ball = c >= m.nv and max(x[c - m.nv] for x in (m.loop_armature, m.loop_stiffness, m.loop_damping)) > 0
        if c in driven or (wanted[c] and (scalar or m.friction[c] > 0)) or soft_ball:
            lines.coordinate(c)
        if not scalar and m.limit_angles[c] != NO_LIMIT and c - 1 not in balls and c - 2 not in balls:
            balls.add(c)
            lines.turns(c)


def bound_arrays(model: Model, lines: Lines, joints: list[list[int]], at: dict[str, Any]) -> dict[str, Any]:
    """Rows solved directly, in the order of elimination, with the envelope of their factor."""
    rows: list[dict[str, Any]] = []
    for k, entries in enumerate(joints):
        for j in range(CONSTRAINED[model.loop_kind[k]]):
            start = at["joint_start"][k] + j * len(entries)
            rows.append({"start": start, "first": at["joint_first"][k], "p": 6 * k + j, "act": OF_JOINT,
                         "of": 6 * k + j, "entries": entries, "weight": free_weight(model, k, j)})  # fmt: skip
    first_line = 6 * model.loops
    loose = []
    for l, r in enumerate(lines.rows):
        binding = binding_acts(model, r)
        loose.append(r["acts"] & ~sum(1 << act for act in binding))
        rows += [{"start": r["start"], "first": r["first"], "p": first_line + ACTIONS * l + act, "act": act, "of": l,
                  "entries": r["entries"], "weight": 0.0} for act in binding]  # fmt: skip
    if not rows or not model.loops + len(model.coupling_names):
        rows, loose = [], [r["acts"] for r in lines.rows]  # nothing but lines of their own: a sweep does as well
    rows = [rows[b] for b in elimination_order([r["entries"] for r in rows])]
    rows.sort(key=lambda r: {ACT_HOLD: 1, ACT_MOTOR: 2}.get(r["act"], 0))  # where they conflict, joints hold
    near = neighbours([r["entries"] for r in rows])
    left = [min([b, *near[b]]) for b in range(len(rows))]
    slacks = np.cumsum([r["act"] == ACT_SOFT for r in rows])
    width = model.nv + (int(slacks[-1]) if rows else 0)
    sizes = [b - left[b] for b in range(len(rows))]
    return {
        **{f"bind_{name}": [r[name] for r in rows] for name in ("start", "first", "p", "act", "of", "weight")},
        "bind_length": [len(r["entries"]) for r in rows],
        "bind_slack": [model.nv + slacks[b] - 1 if r["act"] == ACT_SOFT else -1 for b, r in enumerate(rows)],
        "envelope_left": left, "envelope_start": np.cumsum([0, *sizes])[:-1],
        "near_start": np.cumsum([0, *(len(n) for n in near)]), "near": [j for n in near for j in n],
        "line_loose": loose,
        "facts": {"bound": len(rows), "width": width, "every": lines.pattern(list(range(width))), "L_size": sum(sizes)},
    }  # fmt: skip


def free_islands(model: Model) -> list[list[int]]:
    """Groups of bodies in maximal coordinates that joints connect with each other and nothing with the world."""
    if not (model.implicit_free == 1).all() or not model.loops:
        return []
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    holding = model.loop_link[CONSTRAINED[model.loop_kind] > 0]
    pairs = np.concatenate([holding, model.spring_link]) % (model.nb + 1)  # the world is the last
    graph = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(model.nb + 1,) * 2)
    _, group = connected_components(graph, directed=False)
    members = [np.flatnonzero(group == g) for g in range(group.max() + 1) if g != group[-1]]
    return [[int(link) for link in links] for links in members if len(links) > 1]


def free_weight(model: Model, k: int, j: int) -> float:
    """|W|² that row j of loop joint k would have between two free bodies, about."""
    force = ROWS[model.loop_kind[k], j, 0] in (ALONG, HELIX)
    inertias = [model.mass[link] if force else np.linalg.eigvalsh(model.inertia[link])[-1]
                for link in model.loop_link[k] if link >= 0]  # fmt: skip
    return float(sum(1 / x for x in inertias if x > 0))


def binding_acts(model: Model, row: dict[str, Any]) -> list[int]:
    """What on a line binds both ways."""
    out = []
    if row["acts"] & HOLD and row["lower"] == row["upper"]:
        out.append(ACT_HOLD)
    if row["acts"] & MOTOR and np.isinf(model.motor_max_force[row["motor"]]):
        out.append(ACT_MOTOR)
    if row["acts"] & SOFT:
        out.append(ACT_SOFT)
    return out


def neighbours(entries: list[list[int]]) -> list[list[int]]:
    """For every row the rows before it that share a velocity coordinate."""
    users: dict[int, list[int]] = {}
    out = []
    for b, row in enumerate(entries):
        out.append(sorted({j for d in row for j in users.get(d, [])}))
        for d in row:
            users.setdefault(d, []).append(b)
    return out


def elimination_order(entries: list[list[int]]) -> list[int]:
    """The order with the smaller envelope: from the tips inward, or that of Cuthill and McKee."""
    inward = sorted(range(len(entries)), key=lambda b: (-max(entries[b], default=0), b))
    near = neighbours(entries)
    pairs = np.array([(b, j) for b, n in enumerate(near) for j in n]).reshape(-1, 2)
    if not len(pairs):
        return inward
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    graph = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(entries),) * 2)
    banded = [int(b) for b in reverse_cuthill_mckee((graph + graph.T).tocsr(), symmetric_mode=True)]
    return min((inward, banded), key=lambda order: _work(entries, order))


def _work(entries: list[list[int]], order: list[int]) -> int:
    near = neighbours([entries[b] for b in order])
    return sum((b - min([b, *n])) ** 2 for b, n in enumerate(near))


def plan_on(model: Model, device: str, most: int) -> tuple[Plan, Lines]:
    """The model's blocks on a device, with room for `most` contacts, and the lines among them."""
    lines, starts = collect(model)
    rows = lines.rows
    out = Plan()
    links = [walk(model, i, -1) for i in range(model.nb)]
    roots: list[int] = []
    for i, up in enumerate(model.parent):
        roots.append(i if up < 0 else roots[up])
    joints = [walk(model, *(int(x) for x in link)) for link in model.loop_link]
    integers: dict[str, Any] = {
        "link_first": [lines.pattern(e) for e in links], "link_length": [len(e) for e in links],
        "joint_first": [lines.pattern(e) for e in joints], "joint_length": [len(e) for e in joints],
        "joint_start": [lines.space(6 * len(e)) for e in joints], "joint_lines": starts,
        "line_first": [r["first"] for r in rows], "line_length": [len(r["entries"]) for r in rows],
        "line_start": [r["start"] for r in rows], "line_of": [x for r in rows for x in r["of"]],
        "map_start": [r["map"] for r in rows], "motor_mode": model.motor_mode, "link_root": roots,
        "dof_root": np.repeat(roots, np.diff(model.dof_start)),
    }  # fmt: skip
    integers |= {f"line_{name}": [r[name] for r in rows] for name in ("kind", "q", "link", "measured", "acts", "motor")}
    reals: dict[str, Any] = {f"line_{name}": [r[name] for r in rows] for name in ("lower", "upper", "friction")}
    reals["line_ratio"] = [x for r in rows for x in r["ratio"]]
    reals |= {name: getattr(model, name) for name in ("motor_max_force", "motor_max_speed", "motor_response")}
    integers |= bound_arrays(model, lines, joints, integers)
    facts = integers.pop("facts")
    reals["bind_weight"] = integers.pop("bind_weight")
    integers["index"] = lines.index
    islands = free_islands(model)
    integers["island_start"] = np.cumsum([0, *(len(links) for links in islands)])
    integers["island_link"] = [link for links in islands for link in links]
    for name, values in integers.items():
        setattr(out, name, wp.array(np.array(values, dtype=np.int32).reshape(-1), dtype=int, device=device))
    for name, values in reals.items():
        setattr(out, name, wp.array(np.array(values, dtype=np_real).reshape(-1), dtype=real, device=device))
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
    longest = max((len(e) for e in links), default=0)
    out.contact_space = lines.space(2 * (6 if turning else 3) * longest * out.contacts)
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
