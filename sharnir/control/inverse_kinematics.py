"""Inverse kinematics: positions or velocities that serve tasks by priority, within limits (docs/control.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sharnir.checks import number
from sharnir.control.arguments import hinges, model_of, positions_of, speeds
from sharnir.control.closed_loops import LoopConstraints
from sharnir.control.hierarchy import Bounds, Level, prioritised
from sharnir.control.kinematics import Kinematics, LinkFrame
from sharnir.control.posture import PostureTask, tree_coordinates
from sharnir.control.tasks import AxisTask, CenterOfMassTask, OrientationTask, PoseTask, PositionTask, Task
from sharnir.enums import LimitKind
from sharnir.errors import described, fail
from sharnir.model.model import Model, Reals

if TYPE_CHECKING:
    from sharnir.simulation.simulation import Simulation
    from sharnir.spec.scene import Scene

REACHED = 1e-6  # m and rad
DONE = 1e-9  # m and rad: errors that count as none
STILL = 1e-8  # m and rad: steps that no longer change anything
LONGEST = 0.5  # m or rad a coordinate moves in an iteration
ITERATIONS = 200  # for a level
PATIENCE, SLOW = 10, 0.1  # a start whose error's square falls by less in so many iterations leads nowhere better
CORRECTIONS = 5
FIRST, LEAST = 0.1, 0.01  # damping at first, and at least
MORE, LESS = 4.0, 1 / 3  # by which it grows or falls
BADLY, WELL = 0.25, 0.75  # where a step keeps less, or more, of what it promised


class Solution(NamedTuple):
    """q: positions [nq]. reached: whether loops, couplings and tasks of the first priority are within 1e-6 m and rad.
    errors: of every task, m or rad. iterations: over all starts."""

    q: Reals
    reached: bool
    errors: tuple[float, ...]
    iterations: int


class InverseKinematics:
    """Joint positions, or velocities to follow moving targets, that serve tasks within limits.

    model: a Model, a Scene or a Simulation. tasks: sharnir.PositionTask, OrientationTask, AxisTask, PoseTask,
    CenterOfMassTask, PostureTask; their targets may be changed at any time. joints: names of those that move; left out,
    all of the tree. margin: m or rad that joint limits are kept away from. max_speed: m/s or rad/s, of all coordinates,
    or of joints by name; left out, what the model says. Joints that close loops and couplings hold before all tasks.
    """

    def __init__(
        self, model: Model | Scene | Simulation, tasks: Sequence[Task], *, joints: Sequence[str] | None = None,
        margin: float = 0.0, max_speed: Any = None,
    ) -> None:  # fmt: skip
        self.model = m = model_of(model)
        self.tasks = tuple(tasks)
        for task in self.tasks:
            if not isinstance(task, Task):
                raise fail("inverse kinematics", "not a task", described(task), "PositionTask, PoseTask, …")
        moving = m.joint_names[: m.nb] if joints is None else joints
        self._columns = np.array(sorted({c for name in moving for c in tree_coordinates(m, name)}), dtype=int)
        self._all = len(self._columns) == m.nv
        self._kinematics, self._numbers = self._wanted()
        self._closure = LoopConstraints(m)
        self._limits(number("inverse kinematics", "margin", margin, least=0))
        self._speed = speeds(m, max_speed)[self._columns]
        self._hinges = hinges(m)[self._columns]
        self._levels = [
            [k for k, t in enumerate(self.tasks) if t.priority == p] for p in sorted({t.priority for t in self.tasks})
        ]
        before = 1 if self._closure.rows else 0
        self._depth = before + len(self._levels)  # levels in all
        self._needed = before + min(1, len(self._levels))  # that must be reached
        self._longest = np.full(len(self._columns), LONGEST)

    def _wanted(self) -> tuple[Kinematics, list[int]]:
        """All frames and groups of the tasks, and the number each task has among them."""
        places: list[LinkFrame] = []
        groups: list[Reals] = []
        numbers = []
        for task in self.tasks:
            place, group = task.place(self.model), task.group(self.model)
            numbers.append(len(groups) if place is None else len(places))
            places += [] if place is None else [place]
            groups += [] if group is None else [group]
        return Kinematics(self.model, places, groups), numbers

    def _limits(self, margin: float) -> None:
        """Positions that bounded coordinates may have; those of loop joints by their rows."""
        m = self.model
        plain = m.limit_angles == LimitKind.COORDINATE
        lower, upper = np.where(plain, m.limit_lower, -np.inf) + margin, np.where(plain, m.limit_upper, np.inf) - margin
        narrow = lower > upper
        lower[narrow] = upper[narrow] = 0.5 * (m.limit_lower[narrow] + m.limit_upper[narrow])
        of_balls = [c for c in self._columns if m.limit_angles[c] > LimitKind.COORDINATE]
        if of_balls:
            name = m.joint_of(of_balls[0])
            raise fail(
                "inverse kinematics", "limits of a ball are not kept", f"joint {name!r}", "other joints in `joints`"
            )
        q = m.coordinate_positions[self._columns]
        self._bounded = np.flatnonzero((q >= 0) & (np.isfinite(lower) | np.isfinite(upper))[self._columns])
        self._bounded_q = q[self._bounded]
        self._lower, self._upper = lower[self._columns][self._bounded], upper[self._columns][self._bounded]
        self._closure.bound(lower, upper)

    def step(self, q: Any, dt: float) -> Reals:
        """Velocities [nv] for the next dt (s) from positions q [nq], or from the state of a simulation: errors of tasks
        shrink at their rates, targets that move are followed, joints stay within limits and speeds."""
        dt = number("inverse kinematics", "dt", dt, above=0)
        q = self._positions(q)
        levels = self._levels_at(q, self._depth, dt)
        v = np.zeros(self.model.nv)
        v[self._columns] = prioritised(levels, self._bounds(q, self._speed * dt)) / dt
        return v

    def moved(self, q: Any, v: Any, dt: float) -> Reals:
        """Positions [nq] a time dt after q at velocities v [nv]."""
        return self._kinematics.moved(self._positions(q), np.asarray(v) * dt)

    def errors(self, q: Any) -> tuple[float, ...]:
        """Of every task at positions q: length in m or rad."""
        q = self._positions(q)
        self._kinematics.at(q)
        found = (t.error(self._kinematics, n, q) for t, n in zip(self.tasks, self._numbers, strict=True))
        return tuple(float(np.linalg.norm(e)) for e in found)

    def solve(self, q0: Any = None, *, restarts: int = 16, seed: int = 0) -> Solution:
        """Positions that serve the tasks, from q0 [nq], a simulation's state, or the model's initial positions.

        restarts: how often to start anew, from random positions within limits, where the first priority is not reached:
        what is found may be the best nearby only. The best of all is returned.
        """
        start = self._positions(self.model.q0 if q0 is None else q0)
        start[self._bounded_q] = np.clip(start[self._bounded_q], self._lower, self._upper)
        rng, iterations, q, costs = np.random.default_rng(seed), 0, start, [np.inf] * self._needed
        for attempt in range(restarts + 1):
            found = start if attempt == 0 else self._random(rng, start)
            for depth in range(1, self._needed + 1):
                found, count = self._descend(found, depth, patience=PATIENCE)
                iterations += count
            left = squares(self._levels_at(found, self._needed))
            if better(left, costs):
                q, costs = found, left
            if max(costs) < REACHED**2:
                break
        reached = bool(max(costs) < REACHED**2)
        for depth in range(self._needed + (1 if reached else 0), self._depth + 1):
            q, count = self._descend(q, depth)
            iterations += count
        return Solution(q, reached, self.errors(q), iterations)

    def _descend(self, q: Reals, depth: int, patience: int = ITERATIONS) -> tuple[Reals, int]:
        """Make the last of `depth` levels as small as those above it allow, by damped Newton steps; how many it took.
        Damping grows where a step fails. patience: steps after which it shall be less by SLOW."""
        levels, damping = self._levels_at(q, depth), FIRST
        costs = squares(levels)
        before = costs[-1]
        most = [c + DONE**2 for c in costs[:-1]]  # what levels above may become
        for k in range(ITERATIONS):
            last = levels[-1]._replace(damping=levels[-1].damping * damping)
            x = prioritised([*levels[:-1], last], self._bounds(q, self._longest))
            if costs[-1] < DONE**2 or np.abs(x).max(initial=0.0) < STILL:
                return q, k
            if k > 0 and k % patience == 0:
                if costs[-1] > (1 - SLOW) * before:
                    return q, k
                before = costs[-1]
            moved = self._held(self._moved(q, x), depth - 1, most)
            found = self._levels_at(moved, depth)
            after = squares(found)
            left = last.b - last.A @ x
            promised = costs[-1] - float(left @ left)
            kept = costs[-1] - after[-1] if all(c <= top for c, top in zip(after, most, strict=False)) else -np.inf
            if kept > 0:
                q, levels, costs = moved, found, after
            damping *= MORE if kept < BADLY * promised else 1.0 if kept < WELL * promised else LESS
            damping = max(damping, LEAST)
        return q, ITERATIONS

    def _held(self, q: Reals, depth: int, most: list[float]) -> Reals:
        """Back to where the first levels are no worse than `most`: a long step leaves their null space."""
        for _ in range(CORRECTIONS):
            levels = self._levels_at(q, depth)
            if all(c <= top for c, top in zip(squares(levels), most, strict=True)):
                break
            q = self._moved(q, prioritised(levels, self._bounds(q, self._longest)))
        return q

    def _moved(self, q: Reals, x: Reals) -> Reals:
        step = np.zeros(self.model.nv)
        step[self._columns] = x
        return self._kinematics.moved(q, step)

    def _levels_at(self, q: Reals, depth: int, dt: float | None = None) -> list[Level]:
        """What holds before all tasks, if anything, and the tasks of every priority, as squares to be least: the first
        of them, all of their errors or what is due in a step of dt."""
        at = self._kinematics
        at.at(q)
        levels = []
        if self._closure.rows and depth > 0:
            levels.append(self._level(self._closure.jacobian(at), -self._closure.gaps(at, q)))
        for members in self._levels[: depth - len(levels)]:
            tasks = [(self.tasks[k], self._numbers[k]) for k in members]
            A = np.concatenate([np.sqrt(t.weight) * t.jacobian(at, n) for t, n in tasks])
            b = np.concatenate([np.sqrt(t.weight) * wanted(t, t.error(at, n, q), dt) for t, n in tasks])
            levels.append(self._level(A, b))
        return levels

    def _level(self, A: Reals, b: Reals) -> Level:
        """Damped by the error times the longest lever: about how much squares bend beyond their linear part."""
        A = A if self._all else A[:, self._columns]
        lever = np.sqrt(np.einsum("ij,ij->j", A, A).max(initial=0.0))
        return Level(A, b, float(np.sqrt(b @ b) * lever))

    def _bounds(self, q: Reals, most: Reals) -> Bounds:
        """How far every coordinate may move: by its limits, and by `most` [n] at a time."""
        lower, upper = -most, most.copy()
        here, k = q[self._bounded_q], self._bounded
        lower[k] = np.clip(self._lower - here, lower[k], upper[k])
        upper[k] = np.clip(self._upper - here, lower[k], upper[k])
        sums, down, up = self._closure.room(self._kinematics)
        return Bounds(lower, upper, sums if self._all else np.ascontiguousarray(sums[:, self._columns]), down, up)

    def _random(self, rng: np.random.Generator, q: Reals) -> Reals:
        """Positions like q with those of bounded coordinates anywhere within limits, of other hinges anywhere."""
        step = np.zeros(self.model.nv)
        step[self._columns] = np.where(self._hinges, rng.uniform(-np.pi, np.pi, len(self._columns)), 0.0)
        out = self._kinematics.moved(q, step)
        here = out[self._bounded_q]
        out[self._bounded_q] = rng.uniform(np.fmax(self._lower, here - np.pi), np.fmin(self._upper, here + np.pi))
        return out

    def _positions(self, q: Any) -> Reals:
        """[nq] of the model, of unit quaternions, from numbers or from a simulation."""
        from sharnir.simulation.simulation import Simulation

        if isinstance(q, Simulation):
            return positions_of(q)
        q = self.model.checked("q", q, self.model.nq)
        for k in self.model.quaternions:
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
        return q


def wanted(task: Task, error: Reals, dt: float | None) -> Reals:
    """What a task asks for: all of its error, or what is due in dt."""
    if dt is None:
        return error
    due = error if task.rate is None else error * min(1.0, task.rate * dt)
    return due if task.target_rate is None else due + dt * task.target_rate


def squares(levels: list[Level]) -> list[float]:
    return [float(level.b @ level.b) for level in levels]


def better(costs: list[float], others: list[float]) -> bool:
    """Whether squares are less, by priority; differences of rounding do not count."""
    for a, b in zip(costs, others, strict=True):
        if b == np.inf or abs(a - b) > 1e-6 * max(a, b) + DONE**2:
            return a < b
    return False


__all__ = [
    "AxisTask", "CenterOfMassTask", "InverseKinematics", "OrientationTask", "PoseTask", "PositionTask", "PostureTask",
    "Solution",
]  # fmt: skip
