"""Layout of the scalar rows of a model (host): rows of one coordinate, two coupled ones, or a path, on which bounds,
friction, motors and compliant forces act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sharnir.enums import LimitKind, MotionKind, ScalarSource
from sharnir.impulse.layout.actuators import add_actuator_scalars, coordinates_of_row_paths, find_lossy_coordinates
from sharnir.impulse.row_kinds import RowKind
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROWS

if TYPE_CHECKING:
    from sharnir.model.model import Model


@dataclass(kw_only=True)
class ScalarRow:
    """A scalar row as laid out. Its fields but `entries` are those of `Layout` with the prefix `scalar_`."""

    source_kind: int  # `ScalarSource`: what it measures
    entries: list[int]  # velocity coordinates of its entries, in the order of a traversal up the tree
    source: tuple[int, int] = (0, 0)  # which one, by kind: see `Layout.scalar_source`
    q: int = 0  # position coordinate in q or loop q
    link: int = 0  # link of a tree coordinate, or loop joint
    has_position: int = 1  # 1 if it has a position, 0 for rates of a ball joint
    row_kinds: int = 0  # set of `RowKind`
    motor: int = -1  # its motor, or the actuator it belongs to
    is_summand: int = 0  # 1 if other rows are sums of it
    lower: float = -np.inf  # m or rad
    upper: float = np.inf  # m or rad
    friction: float = 0.0  # N or N m
    ratio: tuple[float, float] = (0.0, 0.0)  # ratio and offset of a coupling; half-angles of a swing cone
    summand_map_start: int = 0  # where its entries' places in the rows it sums start in `index` (no prefix there)
    index_start: int = -1  # where its entries start in `index`; known once it is added to a builder
    W_start: int = -1  # where it starts in W; likewise


class ScalarRowBuilder:
    """Builds the scalar rows of a model, the pattern of their entries (`index`) and their space in W."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.index: list[int] = []
        self.W_size = 0
        self.rows: list[ScalarRow] = []
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

    def add(self, row: ScalarRow) -> int:
        """Add a scalar row: gives it its place in `index` and, unless it is a row of a loop joint, in W; returns its
        number."""
        row.index_start = self.append_index(row.entries)
        if row.source_kind != ScalarSource.LOOP_DOF:
            row.W_start = self.reserve_W(len(row.entries))
        self.rows.append(row)
        return len(self.rows) - 1

    def add_coordinate(self, c: int) -> int:
        """The scalar row of scalar coordinate c, with all that acts on it; returns its number."""
        m = self.model
        if c in self.scalar_of_coordinate:
            return self.scalar_of_coordinate[c]
        q, has_position = max(int(m.coordinate_positions[c]), 0), int(m.coordinate_positions[c] >= 0)
        if c < m.nv:
            link, entries = self.tree_dof_entries(c)
            row = ScalarRow(source_kind=ScalarSource.TREE_DOF, entries=entries, source=(c, 0), link=link, q=q)
        else:
            k, joint_row = loop_row_of(m, c - m.nv)
            entries = relative_dofs(m, *(int(x) for x in m.loop_link[k]))
            row = ScalarRow(
                source_kind=ScalarSource.LOOP_DOF, entries=entries, source=(joint_row, c - m.nv), link=k,
                q=q - has_position * m.nq,
            )  # fmt: skip
            if m.loop_armature[c - m.nv] > 0 or m.loop_stiffness[c - m.nv] > 0 or m.loop_damping[c - m.nv] > 0:
                row.row_kinds |= RowKind.COMPLIANT
        row.has_position, row.friction = has_position, m.friction[c]
        if m.friction[c] > 0 or c in self._lossy:
            row.row_kinds |= RowKind.FRICTION
        if m.limit_angles[c] != LimitKind.NONE and has_position:
            row.row_kinds |= RowKind.BOUND
            row.lower, row.upper = m.limit_lower[c], m.limit_upper[c]
        if c in self._motor:
            row.row_kinds |= RowKind.MOTOR
            row.motor = self._motor[c]
        self.scalar_of_coordinate[c] = self.add(row)
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
        }  # the swing of a cone is one row, and so is a whole angle
        for axis in axes.get(kind, (0, 1, 2)):
            lower, upper = m.limit_lower[c + axis], m.limit_upper[c + axis]
            if kind == LimitKind.CONE and axis == 0:
                swing = (m.limit_upper[c], m.limit_upper[c + 1])
                if np.isfinite(swing).all():
                    self.add(
                        ScalarRow(
                            source_kind=ScalarSource.BALL_ANGLE, entries=entries, source=(c, 3 * kind), q=q, link=link,
                            row_kinds=RowKind.BOUND, upper=0.0, ratio=swing,
                        )
                    )  # fmt: skip
            elif np.isfinite([lower, upper]).any():
                self.add(
                    ScalarRow(
                        source_kind=ScalarSource.BALL_ANGLE, entries=entries, source=(c, 3 * kind + axis), q=q,
                        link=link, row_kinds=RowKind.BOUND, lower=lower, upper=upper,
                    )
                )  # fmt: skip

    def add_coupling(self, n: int) -> None:
        """Add the row of coupling n."""
        m = self.model
        summands = [self.add_coordinate(int(c)) for c in m.coupling_coordinate[n]]
        union, map_start = self.combine_entries(summands)
        first, second = summands
        ratio = (m.coupling_ratio[n], m.coupling_offset[n])
        self.add(
            ScalarRow(
                source_kind=ScalarSource.COUPLING, entries=union, source=(first, second), row_kinds=RowKind.BOUND,
                lower=0.0, upper=0.0, ratio=ratio, summand_map_start=map_start,
            )
        )  # fmt: skip

    def add_path(self, a: int, coordinates: list[int], term: int, row_kinds: int) -> None:
        """Add the row of actuator a, whose path terms start at `term`."""
        summands = [self.add_coordinate(c) for c in coordinates]
        union, map_start = self.combine_entries(summands)
        has_position = int((self.model.coordinate_positions[coordinates] >= 0).all())
        self.add(
            ScalarRow(
                source_kind=ScalarSource.ACTUATOR_PATH, entries=union, source=(term, len(coordinates)),
                row_kinds=row_kinds, has_position=has_position, motor=a, summand_map_start=map_start,
            )
        )  # fmt: skip

    def add_saturation_excess(self, a: int, c: int) -> None:
        """Add the row that takes back what actuator a, alone on tree coordinate c, gives beyond its limits (M-71)."""
        link, entries = self.tree_dof_entries(c)
        self.add(
            ScalarRow(
                source_kind=ScalarSource.TREE_DOF, entries=entries, source=(c, 0), link=link,
                row_kinds=RowKind.SATURATION_EXCESS, has_position=0, motor=a,
            )
        )  # fmt: skip

    def combine_entries(self, summands: list[int]) -> tuple[list[int], int]:
        """Entries of a row that is a sum of others, and where the places of these entries in the summands start in
        `index` (−1: none). The summands are then needed whether anything acts on them or not."""
        entries = [self.rows[k].entries for k in summands]
        for k in summands:
            self.rows[k].is_summand = 1
        union = sorted({d for e in entries for d in e}, reverse=True)
        return union, self.append_index([e.index(d) if d in e else -1 for d in union for e in entries])

    def add_spring(self, s: int) -> None:
        """Add the row of spring s."""
        a, b = (int(x) for x in self.model.spring_link[s])
        entries = relative_dofs(self.model, a, b)
        self.add(
            ScalarRow(source_kind=ScalarSource.SPRING, entries=entries, source=(s, 0), row_kinds=RowKind.COMPLIANT)
        )


def relative_dofs(model: Model, a: int, b: int) -> list[int]:
    """Velocity coordinates of links a, b and their ancestors, shared ones once, from both links up the tree. Those of
    shared ancestors do not move a relative to b, but whitened rows have entries there."""
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
    return k, JOINT_ROWS * k + int(CONSTRAINT_COUNT[model.loop_kind[k]]) + lv - int(model.loop_v_start[k])


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
