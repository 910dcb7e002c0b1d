"""Equations of motion of tree and loop joints for the exact solver: evaluated by kernels, loops closed by Lagrange
multipliers and projection (M-25..M-28)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sharnir.dynamics.energy import Total
from sharnir.dynamics.evaluator import Dynamics
from sharnir.dynamics.loop_joints import allocate_loop_rows, upload_loop_joints
from sharnir.enums import JointType
from sharnir.errors import ModelError, SimulationError, fail
from sharnir.exact.least_norm import LeastNormSolver
from sharnir.kernels.objects import Kernel
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, JOINT_ROWS, RowForm
from sharnir.model.model import Model, Reals
from sharnir.precision import get_precision
from sharnir.rotations import turn_between

Control = Callable[[float, Reals, Reals], Any]
TOL_LOOP_TARGET = 2e-16  # m or rad per metre of size: loop error that a projection aims at
TOL_LOOP_STALLED = 1e-12  # m or rad per metre of size: loop error accepted where rounding ends the progress
MAX_LOOP_ERROR = 1e-9  # m or rad per metre of size: loop error beyond which a state is rejected
MAX_PROJECTION_STEPS = 12  # Newton steps of a projection, at most
FINITE_DIFFERENCE_STEP = 1.5e-8  # relative step of forward differences: root of the machine precision
MAX_FINITE_STATE = 1e10  # states beyond it are the failure of a step, not motion

MOTION_KERNELS = {
    name: Kernel("sharnir.exact.kernels", f"{name}_kernel")
    for name in ("advance", "motion", "reactions", "read_z", "unwhiten")
}


class Evaluation(NamedTuple):
    """One evaluation at (t, y): y' and the whitened correction that closes the loops."""

    rates: Reals
    correction: Reals


class Observation(NamedTuple):
    """What a state shows besides itself."""

    kinetic: float  # J
    potential: float  # J
    loop_q: Reals
    loop_v: Reals
    loop_error: tuple[float, float]  # largest position (m, rad) and velocity (m/s, rad/s) error


class LoopRankMonitor:
    """Watches the rank of the loop rows: their smallest singular value that is not zero, relative to the largest value
    it had in the run, over some evaluations."""

    RANK_TOLERANCE = 1e-7  # relative singular values below are zero: of free directions, or of redundant rows

    def __init__(self) -> None:
        self._rank, self._largest, self._smallest, self.last = 0, 0.0, 1.0, 1.0

    def update(self, singular_values: Reals) -> None:
        """Take the singular values of an evaluation into account, relative to the largest of them and falling."""
        rank = int((singular_values > self.RANK_TOLERANCE).sum())
        if rank > self._rank:
            self._rank, self._largest = rank, 0.0
        if self._rank:
            value = float(singular_values[self._rank - 1])
            self._largest = max(self._largest, value)
            self.last = value / self._largest
            self._smallest = min(self._smallest, self.last)

    def pop_smallest(self) -> tuple[float, float]:
        """The smallest ratio since the last call, and the last one; begins anew."""
        smallest, self._smallest = self._smallest, 1.0
        return smallest, self.last


class System:
    """State y = (q, v, work): positions, velocities, and the work done by what is not conservative."""

    def __init__(self, model: Model, control: Control | None = None) -> None:
        if get_precision() != "double":
            raise ModelError("solver 'exact': precision: given 'single'; allowed: 'double'")
        self.model, self.control = model, control
        self.evaluations = 0
        self._dynamics = d = Dynamics(model, 1, "cpu")
        self._loops, self._rows = upload_loop_joints(model, "cpu"), allocate_loop_rows(model, 1, "cpu")
        names = {"control": model.nv, "tau": model.nv, "qdd": model.nv, "z": model.nv, "dq": model.nq, "power": 1}
        names |= {"lam": JOINT_ROWS * model.loops, "wrench": 6 * model.nb}
        self._arrays = {name: d.array(size) for name, size in names.items()}
        views = {**self._arrays, "q": d.q, "v": d.v}
        self._view = {name: array.numpy()[:, 0] for name, array in views.items()}
        r = self._rows
        self._row = {name: getattr(r, name).numpy()[:, 0] for name in ("g", "rate", "bias", "q", "q_reference")}
        self._W = r.W.numpy()[:, 0].reshape(JOINT_ROWS * model.loops, model.nv)
        self.loop_rank = LoopRankMonitor()
        self._scale = max(1.0, float(np.abs(model.loop_pos).max(initial=0.0)))
        self._select_rows()

    def _select_rows(self) -> None:
        """Select the rows that have multipliers: constraints, and free coordinates with a rotor, which has a
        coordinate of its own."""
        model = self.model
        fixed = np.repeat(CONSTRAINT_COUNT[model.loop_kind], JOINT_ROWS)
        position = np.tile(np.arange(JOINT_ROWS), model.loops)
        loop = np.repeat(np.arange(model.loops), JOINT_ROWS)
        coordinate = model.loop_v_start[loop] + position - fixed
        free = position >= fixed
        armature = np.zeros(JOINT_ROWS * model.loops)
        armature[free] = model.loop_armature[coordinate[free]]
        self._constraint = np.flatnonzero(~free)
        self._coordinate = np.flatnonzero(free)
        self._multiplier_rows = np.flatnonzero(~free | (armature > 0))
        rotor = np.flatnonzero(armature[self._multiplier_rows] > 0)
        turning = np.isin(JOINT_ROW_TABLE[:, :, 0][model.loop_kind].reshape(-1), (RowForm.ABOUT_P, RowForm.ABOUT_C))
        ball = (
            np.isin(model.loop_kind, (JointType.SPHERICAL, JointType.FREE))[loop]
            if model.loops
            else np.zeros(0, dtype=bool)
        )
        self._angle_rows = np.flatnonzero(free & turning & ~ball)
        self._angles = model.loop_q_start[loop[self._angle_rows]] + (position - fixed)[self._angle_rows]
        self._is_constraint = ~free[self._multiplier_rows]
        self._rotors = np.zeros((len(self._multiplier_rows), len(rotor)))
        self._rotors[rotor, np.arange(len(rotor))] = 1 / np.sqrt(armature[self._multiplier_rows][rotor])

    @property
    def closed(self) -> bool:
        """Whether there are loops to close."""
        return self.model.loops > 0

    def initial(self) -> Reals:
        """The model's initial state, loops closed and velocities made to respect them."""
        self._row["q_reference"][:] = self.model.loop_q0
        self._counted_at, self._counted_rate = 0.0, np.zeros(len(self._angles))
        return self.project(0.0, np.concatenate([self.model.q0, self.model.v0, [0.0]]))

    def warm_up(self) -> None:
        """Load or compile all kernels, so that a run's clock measures the run."""
        start = self.initial()
        self.rates(0.0, start)
        self.observe(start)
        self.evaluations = 0

    def split(self, y: Reals) -> tuple[Reals, Reals]:
        nq, nv = self.model.nq, self.model.nv
        return y[:nq], y[nq : nq + nv]

    def _launch(self, name: str, kernel: Any, arguments: list[Any]) -> None:
        self._dynamics.launch(name, kernel, arguments)

    def ask_control(self, t: float, y: Reals) -> Reals:
        """[nv] joint forces of the control at a state."""
        if self.control is None:
            return np.zeros(self.model.nv)
        q, v = self.split(y)
        force = self.model.checked("control", self.control(t, q.copy(), v.copy()), self.model.nv)
        if force.ndim != 1:
            given, allowed = list(force.shape), f"[{self.model.nv}]"
            raise fail(f"model {self.model.name!r}", "control has the wrong shape", given, allowed)
        return force

    def _evaluate(self, t: float, y: Reals, force: Reals | None = None) -> None:
        """Run the tree with control, or with the given force: q̇, v̇ without loop forces, and the loops' rows."""
        q, v = self.split(y)
        self._view["control"][:] = self.ask_control(t, y) if force is None else force
        self._run_tree(q, v)
        self.evaluations += 1
        if not np.isfinite(self._view["qdd"]).all() and np.abs(y).max(initial=0.0) < MAX_FINITE_STATE:
            k = int(np.flatnonzero(~np.isfinite(self._view["qdd"]))[0])
            raise SimulationError(
                f"t = {t:.6g} s: the joint-space inertia became singular at joint {self.model.joint_of(k)!r}"
            )

    def _run_tree(self, q: Reals, v: Reals) -> None:
        d, a = self._dynamics, self._arrays
        self._view["q"][:], self._view["v"][:] = q, v
        arguments = [d.tree, d.workspace, self._loops, self._rows, d.q, d.v, a["control"], a["tau"], d.f_ext]
        self._launch("motion", MOTION_KERNELS["motion"], [*arguments, a["dq"], a["qdd"], a["power"]])

    def _factor(self, rows: np.ndarray, rotors: Reals) -> LeastNormSolver:
        return LeastNormSolver(np.hstack([self._W[rows], rotors]), rows // JOINT_ROWS)

    def _respond(self, z: Reals) -> Reals:
        """Velocity-like response [nv] to whitened coordinates z."""
        a, d = self._arrays, self._dynamics
        self._view["z"][:] = z
        self._launch("respond", MOTION_KERNELS["unwhiten"], [d.tree, d.workspace, a["z"], a["qdd"]])
        return self._view["qdd"]

    def evaluate(self, t: float, y: Reals, force: Reals | None = None) -> Evaluation:
        """y' at the closed state nearest to (t, y): the vector field a one-step method sees stays on the manifold of
        closed loops, so that its stages do not stumble where the loops nearly lose rank."""
        correction = np.zeros(0)
        if self.closed:
            y, factor = self._close(y)
            self.loop_rank.update(factor.singular_values)
            self._evaluate(t, y, force)
            correction = factor.solve(-self._row["bias"][self._multiplier_rows])
            a, d = self._arrays, self._dynamics
            self._launch("read z", MOTION_KERNELS["read_z"], [d.tree, d.workspace, a["z"]])
            self._respond(self._view["z"] + correction[: self.model.nv])
        else:
            self._evaluate(t, y, force)
        return Evaluation(np.concatenate([self._view["dq"], self._view["qdd"], self._view["power"]]), correction)

    def rates(self, t: float, y: Reals) -> Reals:
        """y' at (t, y)."""
        return self.evaluate(t, y).rates

    def jacobian(self, t: float, y: Reals) -> Reals:
        """∂y'/∂y by forward differences; nothing depends on the work done."""
        base = self.rates(t, y)
        J = np.zeros((len(y), len(y)))
        for k in range(len(y) - 1):
            step = FINITE_DIFFERENCE_STEP * max(1.0, abs(y[k]))
            near = y.copy()
            near[k] += step
            J[:, k] = (self.rates(t, near) - base) / step
        return J

    def advance(self, q: Reals, step: Reals) -> Reals:
        """q ⊕ step, a step in velocity coordinates."""
        d, a = self._dynamics, self._arrays
        self._view["q"][:], self._view["qdd"][:] = q, step
        self._launch("advance", MOTION_KERNELS["advance"], [d.tree, d.q, a["qdd"]])
        return self._view["q"].copy()

    def project(self, t: float, y: Reals) -> Reals:
        """Unit quaternions, closed loops, velocities along them: the nearest such state in the kinetic metric.

        For states a run accepts: the angles of loop joints are counted on from here.
        """
        y = y.copy()
        quaternions = self.model.quaternions[:, None] + np.arange(4)
        y[quaternions] /= np.linalg.norm(y[quaternions], axis=1, keepdims=True)
        if self.closed:
            y = self._close(y)[0]
            if not self._loop_error() <= MAX_LOOP_ERROR * self._scale:
                row = int(np.argmax(np.abs(self._row["g"][self._constraint])))
                name = self.model.joint_names[self.model.nb + self._constraint[row] // JOINT_ROWS]
                raise SimulationError(
                    f"t = {t:.6g} s: joint {name!r} can no longer close its loop: {self._loop_error():.1e} m"
                )
            self._count_turns(t)
        return y

    def _count_turns(self, t: float) -> None:
        """Count the angles of loop joints on from the last accepted state, by its rates and the present ones."""
        rate = self._row["rate"][self._angle_rows]
        expected = self._row["q_reference"][self._angles] + 0.5 * (t - self._counted_at) * (rate + self._counted_rate)
        here = self._row["q"][self._angles]
        self._row["q_reference"][:] = self._row["q"]
        self._row["q_reference"][self._angles] = here + 2 * np.pi * np.round((expected - here) / (2 * np.pi))
        self._counted_at, self._counted_rate = t, rate

    def _close(self, y: Reals) -> tuple[Reals, LeastNormSolver]:
        """The nearest state with closed loops, and the factor of the rows there (M-27, M-28)."""
        y = y.copy()
        q, v = self.split(y)
        self._run_tree(q, v)
        error, size, rows = self._loop_error(), 1.0, None
        for _ in range(MAX_PROJECTION_STEPS):
            if not error > TOL_LOOP_TARGET * self._scale:
                break
            if rows is None:
                rows = self._factor(self._constraint, np.zeros((len(self._constraint), 0)))
            before, step = q.copy(), self._respond(rows.solve(-self._row["g"][self._constraint])).copy()
            q[:] = self.advance(q, size * step)
            self._run_tree(q, v)
            if self._loop_error() >= error:  # rounding, or too far: take less of it
                q[:] = before
                self._run_tree(q, v)
                if error <= TOL_LOOP_STALLED * self._scale:
                    break
                size *= 0.5
                rows = None
            else:
                rows = rows if self._loop_error() < 0.5 * error else None  # a factor serves while it halves the error
                error, size = self._loop_error(), 1.0
        factor = self._factor(self._multiplier_rows, self._rotors)
        rate = self._row["rate"][self._multiplier_rows]
        rate = np.where(self._is_constraint, rate, 0.0)  # rotors turn with their joints
        v += self._respond(factor.solve(-rate)[: self.model.nv])
        return y, factor

    def _loop_error(self) -> float:
        """Largest position error of the loops at the last evaluation."""
        return float(np.abs(self._row["g"][self._constraint]).max(initial=0.0))

    def observe(self, y: Reals) -> Observation:
        """Energies and loops of a state; control is not asked."""
        q, v = self.split(y)
        self._run_tree(q, v)
        sums = self._dynamics.totals().numpy()[:, 0]
        kinetic, potential = float(sums[Total.KINETIC]), float(sums[Total.POTENTIAL])
        if not self.closed:
            return Observation(kinetic, potential, np.zeros(0), np.zeros(0), (0.0, 0.0))
        row, model = self._row, self.model
        position, rate = row["q"].copy(), row["rate"][self._coordinate].copy()
        kinetic += 0.5 * float(model.loop_armature @ rate**2)
        potential += 0.5 * float(model.loop_stiffness @ self._loop_stretch(position) ** 2)
        error = self._loop_error(), float(np.abs(row["rate"][self._constraint]).max(initial=0.0))
        return Observation(kinetic, potential, position, rate, error)

    def _loop_stretch(self, position: Reals) -> Reals:
        """Stretch of the loop joints' springs by velocity coordinate."""
        m = self.model
        out = []
        for k in range(m.loops):
            q = slice(m.loop_q_start[k], m.loop_q_start[k + 1])
            here, rest = position[q], m.loop_rest[q]
            ball = len(here) in (4, 7)
            out.append(here[:-4] - rest[:-4] if ball else here - rest)
            if ball:
                out.append(turn_between(rest[-4:], here[-4:]))
        return np.concatenate(out)

    def reactions(self, t: float, y: Reals, loop_q: Reals, force: Reals) -> tuple[Reals, Reals]:
        """Wrenches [nb, 6] of the tree's joints on their links (force, torque about the link frame's origin; world
        axes) and forces along the six rows [loops, 6] of each loop joint, the least where they are redundant."""
        self._row["q_reference"][:] = loop_q
        correction = self.evaluate(t, y, force).correction
        a, d = self._arrays, self._dynamics
        lam = np.zeros(JOINT_ROWS * self.model.loops)
        if self.closed:
            lam[self._multiplier_rows] = self._factor(self._multiplier_rows, self._rotors).multipliers(correction)
            self._view["lam"][:] = lam
        arguments = [d.tree, d.workspace, self._loops, self._rows, a["lam"], a["wrench"]]
        self._launch("reactions", MOTION_KERNELS["reactions"], arguments)
        return self._view["wrench"].reshape(-1, 6).copy(), lam.reshape(-1, JOINT_ROWS)
