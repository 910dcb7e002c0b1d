"""Scalar rows of a model (host): rows of one coordinate, two coupled ones, or a path, on which bounds, friction, motors
and compliant forces act."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sharnir.enums import LimitKind, MotionKind, ScalarSource
from sharnir.impulse.layout.actuators import add_actuator_scalars, coordinates_of_row_paths, find_lossy_coordinates
from sharnir.impulse.row_kinds import BOUND, COMPLIANT, FRICTION, MOTOR
from sharnir.model.joint_rows import CONSTRAINT_COUNT

if TYPE_CHECKING:
    from sharnir.model.model import Model


class ScalarRowBuilder:
    """Builds the scalar rows of a model: one dictionary per row, the pattern of their entries (`index`) and their space
    in W."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.index: list[int] = []
        self.W_size = 0
        self.rows: list[dict[str, Any]] = []
        self.scalar_of_coordinate: dict[int, int] = {}
        self._lossy = find_lossy_coordinates(model)
        self._motor = {int(c): m for m, c in enumerate(model.motor_coordinate)}

    def append_index(self, entries: list[int]) -> int:
        """Append velocity coordinates to `index`; returns where they start."""
        first = len(self.index)
        self.index += entries
        return first

    def reserve_W(self, size: int) -> int:
        """Reserve room in W; returns where it starts."""
        start = self.W_size
        self.W_size += size
        return start

    def add(self, kind: int, entries: list[int], **facts: Any) -> int:
        """Add a scalar row; returns its number."""
        row = {
            "kind": kind, "source": (0, 0), "q": 0, "link": 0, "has_position": 1, "row_kinds": 0, "motor": -1,
            "is_summand": 0, "lower": -np.inf, "upper": np.inf,
            "friction": 0.0, "ratio": (0.0, 0.0), "map": 0, "entries": entries,
            "first": self.append_index(entries), "start": self.reserve_W(len(entries)), **facts,
        }  # fmt: skip
        self.rows.append(row)
        return len(self.rows) - 1

    def add_coordinate(self, c: int) -> int:
        """The scalar row of scalar coordinate c, with all that acts on it; returns its number."""
        m = self.model
        if c in self.scalar_of_coordinate:
            return self.scalar_of_coordinate[c]
        has_position = int(m.coordinate_positions[c] >= 0)
        facts: dict[str, Any] = {"q": max(int(m.coordinate_positions[c]), 0), "friction": m.friction[c]}
        facts["has_position"] = has_position
        row_kinds = FRICTION if m.friction[c] > 0 or c in self._lossy else 0
        if m.limit_angles[c] != LimitKind.NONE and m.coordinate_positions[c] >= 0:
            row_kinds |= BOUND
            facts |= {"lower": m.limit_lower[c], "upper": m.limit_upper[c]}
        if c in self._motor:
            row_kinds |= MOTOR
            facts["motor"] = self._motor[c]
        if c < m.nv:
            link, entries = self.tree_dof_entries(c)
            kind = ScalarSource.TREE_DOF
            facts |= {"source": (c, 0), "link": link}
        else:
            k, row = loop_row_of(m, c - m.nv)
            entries, kind = relative_dofs(m, *(int(x) for x in m.loop_link[k])), ScalarSource.LOOP_DOF
            facts |= {"source": (row, c - m.nv), "link": k}
            facts["q"] -= m.nq if m.coordinate_positions[c] >= 0 else 0
            if m.loop_armature[c - m.nv] > 0 or m.loop_stiffness[c - m.nv] > 0 or m.loop_damping[c - m.nv] > 0:
                row_kinds |= COMPLIANT
        self.scalar_of_coordinate[c] = self.add(kind, entries, row_kinds=row_kinds, **facts)
        return self.scalar_of_coordinate[c]

    def tree_dof_entries(self, c: int) -> tuple[int, list[int]]:
        """Link of tree coordinate c, and the coordinates from there to the root."""
        m = self.model
        link = int(np.searchsorted(m.dof_start, c, side="right")) - 1
        return link, list(range(c, m.dof_start[link] - 1, -1)) + relative_dofs(m, int(m.parent[link]), -1)

    def add_ball_limits(self, c: int) -> None:
        """Add limits on the angles of the ball joint whose coordinates start at c."""
        m = self.model
        kind = int(m.limit_angles[c])
        if c < m.nv:
            link = int(np.searchsorted(m.dof_start, c, side="right")) - 1
            entries = relative_dofs(m, link, int(m.parent[link]))
            q = int(m.part_q[(m.part_kind == MotionKind.BALL) & (m.part_v == c)][0])
        else:
            k, _ = loop_row_of(m, c - m.nv)
            link, entries = k, relative_dofs(m, *(int(x) for x in m.loop_link[k]))
            q = int(m.loop_q_start[k + 1]) - 4
        axes = {
            LimitKind.CONE: (0, 2),
            LimitKind.ANGLE: (0,),
        }  # the swing of a cone is one line, and so is a whole angle
        for axis in axes.get(kind, (0, 1, 2)):
            lower, upper = m.limit_lower[c + axis], m.limit_upper[c + axis]
            if kind == LimitKind.CONE and axis == 0:
                swing = (m.limit_upper[c], m.limit_upper[c + 1])
                if np.isfinite(swing).all():
                    self.add(
                        ScalarSource.BALL_ANGLE,
                        entries,
                        source=(c, 3 * kind),
                        q=q,
                        link=link,
                        row_kinds=BOUND,
                        upper=0.0,
                        ratio=swing,
                    )
            elif np.isfinite([lower, upper]).any():
                self.add(
                    ScalarSource.BALL_ANGLE,
                    entries,
                    source=(c, 3 * kind + axis),
                    q=q,
                    link=link,
                    row_kinds=BOUND,
                    lower=lower,
                    upper=upper,
                )

    def add_coupling(self, n: int) -> None:
        """Add the row of coupling n."""
        m = self.model
        summands = [self.add_coordinate(int(c)) for c in m.coupling_coordinate[n]]
        union, places = self.combine_entries(summands)
        ratio = (m.coupling_ratio[n], m.coupling_offset[n])
        self.add(
            ScalarSource.COUPLING,
            union,
            source=tuple(summands),
            row_kinds=BOUND,
            lower=0.0,
            upper=0.0,
            ratio=ratio,
            map=places,
        )

    def add_path(self, a: int, coordinates: list[int], term: int, row_kinds: int) -> None:
        """Add the row of actuator a, whose path terms start at `term`."""
        summands = [self.add_coordinate(c) for c in coordinates]
        union, places = self.combine_entries(summands)
        has_position = int((self.model.coordinate_positions[coordinates] >= 0).all())
        source = (term, len(coordinates))
        self.add(
            ScalarSource.ACTUATOR_PATH,
            union,
            source=source,
            row_kinds=row_kinds,
            has_position=has_position,
            motor=a,
            map=places,
        )

    def combine_entries(self, summands: list[int]) -> tuple[list[int], int]:
        """Entries of a row that is a sum of others, and where the places of these entries in the summands start in
        `index` (−1: none). The summands are then needed whether anything acts on them or not."""
        entries = [self.rows[k]["entries"] for k in summands]
        for k in summands:
            self.rows[k]["is_summand"] = 1
        union = sorted({d for e in entries for d in e}, reverse=True)
        return union, self.append_index([e.index(d) if d in e else -1 for d in union for e in entries])

    def add_spring(self, s: int) -> None:
        """Add the row of spring s."""
        a, b = (int(x) for x in self.model.spring_link[s])
        self.add(ScalarSource.SPRING, relative_dofs(self.model, a, b), source=(s, 0), row_kinds=COMPLIANT)


def relative_dofs(model: Model, a: int, b: int) -> list[int]:
    """Velocity coordinates that move link a relative to link b, in the order of a traversal from both up the tree."""
    out: list[int] = []
    while a >= 0 or b >= 0:
        link = max(a, b)
        out += range(model.dof_start[link + 1] - 1, model.dof_start[link] - 1, -1)
        up = int(model.parent[link])
        a, b = up if a == link else a, up if b == link else b
        if a == b:
            b = -1
    return out


def loop_row_of(model: Model, lv: int) -> tuple[int, int]:
    """Loop joint and row of loop velocity coordinate lv."""
    k = int(np.searchsorted(model.loop_v_start, lv, side="right")) - 1
    return k, 6 * k + int(CONSTRAINT_COUNT[model.loop_kind[k]]) + lv - int(model.loop_v_start[k])


def collect_scalars(model: Model) -> tuple[ScalarRowBuilder, list[int]]:
    """Build all scalar rows, those of loop joints first. Returns the builder and where each joint's scalars start."""
    builder = ScalarRowBuilder(model)
    driven = {*(int(c) for c in model.motor_coordinate), *(int(c) for c in model.coupling_coordinate.reshape(-1))}
    driven |= coordinates_of_row_paths(model) | find_lossy_coordinates(model)
    compliant = (model.loop_armature > 0) | (model.loop_stiffness > 0) | (model.loop_damping > 0)
    wanted = (model.friction > 0) | (model.limit_angles != LimitKind.NONE)
    wanted[model.nv :] |= compliant
    starts = []
    for k in range(model.loops):
        starts.append(len(builder.rows))
        _add_coordinates(
            builder, model.nv + np.arange(model.loop_v_start[k], model.loop_v_start[k + 1]), wanted, driven
        )
    starts.append(len(builder.rows))
    _add_coordinates(builder, np.arange(model.nv), wanted, driven)
    for n in range(len(model.coupling_names)):
        builder.add_coupling(n)
    for s in range(len(model.spring_names)):
        builder.add_spring(s)
    add_actuator_scalars(builder)
    return builder, starts


def _add_coordinates(builder: ScalarRowBuilder, coordinates: np.ndarray, wanted: np.ndarray, driven: set[int]) -> None:
    """Add the scalars of some coordinates that have limits, friction, compliant forces or drives."""
    m = builder.model
    balls: set[int] = set()
    for c in (int(c) for c in coordinates):
        scalar = m.coordinate_positions[c] >= 0
        compliant_ball = c >= m.nv and max(x[c - m.nv] for x in (m.loop_armature, m.loop_stiffness, m.loop_damping)) > 0
        if c in driven or (wanted[c] and (scalar or m.friction[c] > 0)) or compliant_ball:
            builder.add_coordinate(c)
        if not scalar and m.limit_angles[c] != LimitKind.NONE and c - 1 not in balls and c - 2 not in balls:
            balls.add(c)
            builder.add_ball_limits(c)
