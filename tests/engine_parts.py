"""Parts of the impulse engine on their own: random rows, laid out as the engine does, with dense copies in numpy.

A test of a solver part is a kernel of one thread that calls one `wp.func` on a `StepContext`. `Rows` fills its structs
with a random problem: whitened rows W of contacts, scalar rows and loop joints over a few kinematic trees; no model is
compiled and no step is made. Results are compared with dense numpy.

Test kernels are compiled with few optimisation passes: `wp.set_module_options(FAST_COMPILE)` in every test file.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp
from numpy.random import Generator
from numpy.typing import ArrayLike

from sharnir.enums import ScalarSource
from sharnir.impulse.allocate import allocate_scratch, allocate_state
from sharnir.impulse.data import StepContext
from sharnir.impulse.layout.bilateral import lay_out_bilateral
from sharnir.impulse.layout.scalar_layout import ScalarRow
from sharnir.impulse.row_kinds import CONTACT_IMPULSES, SCALAR_IMPULSES, RowKind
from sharnir.impulse.slots import JOINT_ROWS, ContactMass, Half, Setting
from sharnir.impulse.tolerances import MIN_ROW_K
from sharnir.kernels.types import np_real, real
from sharnir.model.joint_rows import CONSTRAINT_COUNT

FAST_COMPILE = {"enable_backward": False, "cpu_compiler_flags": "-O1"}
WORLD = -1
HISTORY = 1
INVERSE = slice(ContactMass.INVERSE, ContactMass.NORMAL)  # nine entries


def column(values: ArrayLike, device: str = "cpu") -> wp.array:
    """A workspace column [n, 1], or columns [n, worlds], of numbers."""
    values = np.asarray(values, dtype=np_real)
    values = values if values.ndim == 2 else values.reshape(-1, 1)
    return wp.array(np.ascontiguousarray(values), dtype=real, device=device)


def numbers(values: ArrayLike, device: str = "cpu") -> wp.array:
    """A flat array [n] of numbers."""
    return wp.array(np.asarray(values, dtype=np_real).reshape(-1), dtype=real, device=device)


def integers(values: ArrayLike, device: str = "cpu") -> wp.array:
    """A flat array [n] of integers."""
    return wp.array(np.asarray(values, dtype=np.int32).reshape(-1), dtype=int, device=device)


def zeros(items: int, device: str = "cpu") -> wp.array:
    """A zeroed column for results."""
    return column(np.zeros(items), device)


def run(kernel: Any, *arguments: Any, threads: int = 1, block: int = 1, device: str = "cpu") -> None:
    """Launch a test kernel: one thread on the CPU."""
    wp.launch(kernel, dim=threads, inputs=list(arguments), device=device, block_dim=block if device != "cpu" else 256)


def put(array: wp.array, values: ArrayLike, first: int = 0) -> None:
    """Write values [n] or [n, worlds] into an array from item `first` on, the same for all of its columns."""
    held = array.numpy()
    values = np.asarray(values, dtype=held.dtype)
    if len(values):
        held[first : first + len(values)] = values.reshape(len(values), -1) if held.ndim == 2 else values
    array.assign(held)


def read(array: wp.array, world: int = 0) -> np.ndarray:
    """A copy of a column of an array, in double precision."""
    return np.array(array.numpy()[:, world], dtype=float)


BOUNDS = ("velocity_lower", "velocity_upper", "friction_bound")  # arrays of `Scratch` that bound scalar rows


class Rows:
    """Random whitened rows W of contacts, scalar rows and loop joints, in `ctx` and dense in numpy.

    trees: velocity coordinates of each kinematic tree, which is one link here. contacts: pairs of trees, WORLD for
    none. scalars: velocity coordinates and row kinds of scalar rows. joints: velocity coordinates and kinds of loop
    joints. equalities: scalar rows whose two limits are equal, as of a coupling. torsional: contacts have six rows,
    with torsional and rolling friction. maximal: every tree is a body, with six coordinates, and a joint acts on those
    of two bodies or of one and the world; joint_scalars: where each joint's scalar rows start. columns: worlds, on a
    GPU.
    """

    def __init__(
        self,
        rng: Generator,
        trees: Sequence[int] = (6, 6, 3),
        contacts: Sequence[tuple[int, int]] = (),
        scalars: Sequence[tuple[Sequence[int], int]] = (),
        joints: Sequence[tuple[Sequence[int], int]] = (),
        equalities: Sequence[int] = (),
        torsional: bool = False,
        maximal: bool = False,
        joint_scalars: Sequence[int] | None = None,
        columns: int = 1,
        device: str = "cpu",
    ) -> None:
        self.rng, self.device, self.columns = rng, device, columns
        self.trees, self.pairs, self.joints = list(trees), list(contacts), list(joints)
        self.nv, self.contacts, self.width = sum(trees), len(contacts), 6 if torsional else 3
        self.first_of_tree = np.concatenate([[0], np.cumsum(trees)[:-1]])
        self.index: list[int] = []
        self.size = 0
        self.equalities, self.maximal = list(equalities), maximal
        self.joint_scalars = list(joint_scalars or [0] * (len(joints) + 1))
        self.rows = [self._lay_out_scalar(entries, kinds) for entries, kinds in scalars]
        for l in equalities:
            self.rows[l].lower = self.rows[l].upper = 0.0
        self.ctx = StepContext()
        self._lay_out()
        self.model = self._model()
        fill = {"state": allocate_state(self.model, self.ctx.layout, columns, HISTORY, device),
                "work": allocate_scratch(self.model, self.ctx.layout, 1, columns, device)}  # fmt: skip
        for name, struct in fill.items():
            getattr(self.ctx, name).assign(struct)
        self._fill()

    # --- layout, as of `upload_layout`; `rows`, `append_index` and `reserve_W` are those of a ScalarRowBuilder

    def append_index(self, entries: Sequence[int]) -> int:
        first = len(self.index)
        self.index += entries
        return first

    def reserve_W(self, size: int) -> int:
        start = self.size
        self.size += size
        return start

    def _lay_out_scalar(self, entries: Sequence[int], kinds: int) -> ScalarRow:
        return ScalarRow(
            source_kind=ScalarSource.TREE_DOF, entries=list(entries), row_kinds=kinds, motor=0,
            index_start=self.append_index(list(entries)), W_start=self.reserve_W(len(entries)),
        )  # fmt: skip

    def tree_entries(self, tree: int) -> list[int]:
        """Coordinates of a tree, from its tip to its root; none of the world."""
        if tree == WORLD:
            return []
        first = int(self.first_of_tree[tree])
        return list(range(first + self.trees[tree] - 1, first - 1, -1))

    def _model(self) -> SimpleNamespace:
        """The fields of a model that allocation and layout read."""
        of_links = [sorted({d // 6 for d in entries}) for entries, _ in self.joints]
        links = [(WORLD, *x)[-2:] for x in of_links] if self.maximal else [(0, WORLD)] * len(self.joints)
        return SimpleNamespace(
            implicit_free=np.full(len(self.trees), int(self.maximal)),
            nb=len(self.trees), nv=self.nv, nq=self.nv, nc=self.nv, loops=len(self.joints),
            coupling_names=self.equalities,
            parent=np.full(len(self.trees), WORLD), dof_start=np.cumsum([0, *self.trees]),
            loop_q_start=np.zeros(1, dtype=int), loop_kind=[kind for _, kind in self.joints],
            loop_link=np.reshape(links, (-1, 2)), mass=np.ones(len(self.trees)), shape_kind=[],
            inertia=np.broadcast_to(np.eye(3), (len(self.trees), 3, 3)), motor_max_force=[np.inf],
            actuator_names=[], motor_names=[],
        )  # fmt: skip

    def _lay_out(self) -> None:
        layout, device = self.ctx.layout, self.device
        entries = [list(e) for e, _ in self.joints]
        at = {"joint_index_start": [self.append_index(e) for e in entries],
              "joint_W_start": [self.reserve_W(JOINT_ROWS * len(e)) for e in entries],
              "joint_scalar_start": self.joint_scalars}  # fmt: skip
        bound = lay_out_bilateral(self._model(), self, entries, at)
        facts, free_K = bound.pop("facts"), bound.pop("bilateral_free_K")
        roots = np.repeat(np.arange(len(self.trees)), self.trees)
        at |= {
            "joint_row_length": [len(e) for e in entries],
            "scalar_index_start": [r.index_start for r in self.rows], "scalar_W_start": [r.W_start for r in self.rows],
            "scalar_row_length": [len(r.entries) for r in self.rows],
            "scalar_row_kinds": [r.row_kinds for r in self.rows],
            "link_root": np.arange(len(self.trees)), "dof_root": roots, "tree_first_dof": self.first_of_tree,
            "tree_dof_count": self.trees, **bound,
        }  # fmt: skip
        for name, value in facts.items():
            setattr(layout, name, value)
        scalars, contacts = len(self.rows), self.contacts
        layout.scalar_projected_start = self.reserve_W(layout.reduced_size * scalars * layout.has_bilateral)
        self.contact_start = [
            self.reserve_W(self.width * sum(len(self.tree_entries(t)) for t in pair)) for pair in self.pairs
        ]
        self.contact_first = [[self.append_index(self.tree_entries(t)) for t in pair] for pair in self.pairs]
        projected = CONTACT_IMPULSES * layout.reduced_size * contacts * layout.has_bilateral
        layout.contact_projected_start = self.reserve_W(projected)
        layout.dofs, layout.joints, layout.scalars, layout.max_contacts = self.nv, len(entries), scalars, contacts
        layout.links, layout.max_projected_contacts, layout.max_contact_rows = len(self.trees), contacts, self.width
        layout.scalar_p_start = JOINT_ROWS * len(entries)
        layout.contact_p_start = layout.scalar_p_start + SCALAR_IMPULSES * scalars
        layout.impulses = layout.contact_p_start + CONTACT_IMPULSES * contacts
        on_gpu = device != "cpu"
        layout.dense_newton = int(not on_gpu)
        layout.dense_delassus, layout.island_newton, layout.gpu_lanes = int(not on_gpu), int(not on_gpu), int(on_gpu)
        layout.W_size = self.size
        for name, value in at.items():
            setattr(layout, name, integers(value, device))
        layout.index, layout.bilateral_free_K = integers(self.index, device), numbers(free_K, device)
        layout.scalar_lower = numbers([r.lower for r in self.rows], device)
        layout.scalar_upper = numbers([r.upper for r in self.rows], device)

    def _fill(self) -> None:
        """Random entries of all rows, blocks of contacts, modest friction, zero targets."""
        work, loops, n = self.ctx.work, self.ctx.loops, self.contacts
        loops.count, loops.constraint_count = len(self.joints), integers(CONSTRAINT_COUNT, self.device)
        loops.kind = integers([kind for _, kind in self.joints], self.device)
        settings = np.zeros(len(Setting))
        settings[Setting.MIN_ROW_K] = MIN_ROW_K
        self.ctx.state.settings = column(settings, self.device)
        self.W = self.rng.normal(size=(self.size, self.columns))
        halves = np.zeros((n, 2, Half.SIZE), dtype=int)
        for c, pair in enumerate(self.pairs):
            start = self.contact_start[c]
            for side, tree in enumerate(pair):
                length = len(self.tree_entries(tree))
                halves[c, side] = start, length, self.contact_first[c][side]
                start += self.width * length
        self.halves = halves
        put(work.contact_halves, halves.reshape(-1))
        put(work.contact_row_count, np.full(n, self.width))
        put(work.contact_trees, np.array(self.pairs, dtype=int).reshape(-1))
        put(work.contact_count, [n])
        put(work.contact_mu, np.tile([0.5, 0.05, 0.03], n))
        self.upload()

    def upload(self) -> None:
        """Upload `W`, with the effective masses that follow from it."""
        work = self.ctx.work
        work.W = column(self.W, self.device)
        K = [[np.sum(self.scalar(l, w) ** 2) for w in range(self.columns)] for l in range(len(self.rows))]
        put(work.scalar_K, np.array(K).reshape(len(self.rows), self.columns))
        blocks = np.array([[self.block(c, w) for w in range(self.columns)] for c in range(self.contacts)])
        if self.contacts:
            put(work.contact_mass, blocks.transpose(0, 2, 1).reshape(-1, self.columns))

    # --- dense rows in numpy

    def _dense(self, start: int, entries: Sequence[int], world: int) -> np.ndarray:
        row = np.zeros(self.nv)
        row[list(entries)] = self.W[start : start + len(entries), world]
        return row

    def scalar(self, l: int, world: int = 0) -> np.ndarray:
        """Scalar row l [nv]."""
        return self._dense(self.rows[l].W_start, self.rows[l].entries, world)

    def contact(self, c: int, world: int = 0) -> np.ndarray:
        """Rows of contact c [3 or 6, nv]: the halves of both bodies together."""
        out = np.zeros((self.width, self.nv))
        for tree, (start, length, _) in zip(self.pairs[c], self.halves[c], strict=True):
            for j in range(self.width):
                out[j] += self._dense(start + j * length, self.tree_entries(tree), world)
        return out

    def projected_contact(self, c: int) -> np.ndarray:
        """Projected rows of contact c [3 or 6, reduced_size]."""
        layout, W = self.ctx.layout, read(self.ctx.work.W)
        halves = self.ctx.work.contact_halves.numpy()[:, 0].reshape(-1, 2, Half.SIZE)[self.contacts + c]
        index, out = layout.index.numpy(), np.zeros((self.width, layout.reduced_size))
        for start, length, first in halves:
            out[:, index[first : first + length]] += W[start : start + self.width * length].reshape(self.width, length)
        return out

    def joint(self, k: int, world: int = 0) -> np.ndarray:
        """Constraint rows of loop joint k."""
        entries, kind = self.joints[k]
        start, n = int(self.ctx.layout.joint_W_start.numpy()[k]), len(entries)
        return np.array([self._dense(start + j * n, entries, world) for j in range(CONSTRAINT_COUNT[kind])])

    def all_contacts(self, world: int = 0) -> np.ndarray:
        """Rows of all contacts, one after the other."""
        return np.concatenate([np.zeros((0, self.nv)), *(self.contact(c, world) for c in range(self.contacts))])

    def all_scalars(self, world: int = 0) -> np.ndarray:
        return np.concatenate([np.zeros((0, self.nv)), *(self.scalar(l, world)[None] for l in range(len(self.rows)))])

    def block(self, c: int, world: int = 0) -> np.ndarray:
        """[ContactMass.SIZE] slots of a contact's effective mass, where its block of W Wᵀ has an inverse."""
        rows = self.contact(c, world)
        K = rows @ rows.T
        out = np.zeros(ContactMass.SIZE)
        out[INVERSE] = np.linalg.inv(K[:3, :3]).reshape(-1)
        out[ContactMass.NORMAL], out[ContactMass.TANGENT] = 1 / K[0, 0], 1 / np.linalg.eigvalsh(K[1:3, 1:3])[1]
        out[[ContactMass.K_NT1, ContactMass.K_NT2]] = K[0, 1:3]
        if self.width == CONTACT_IMPULSES:
            out[ContactMass.SPIN], out[ContactMass.ROLL] = 1 / K[3, 3], 1 / np.linalg.eigvalsh(K[4:, 4:])[1]
        out[ContactMass.CHANGE_WEIGHT] = 1.0
        return out

    # --- impulses

    def contact_impulses(self, p: np.ndarray) -> np.ndarray:
        """[contact, 6] of all impulses p."""
        return p[self.ctx.layout.contact_p_start :].reshape(self.contacts, CONTACT_IMPULSES)

    def scalar_impulses(self, p: np.ndarray) -> np.ndarray:
        """[scalar row, 4] of all impulses p."""
        layout = self.ctx.layout
        return p[layout.scalar_p_start : layout.contact_p_start].reshape(len(self.rows), SCALAR_IMPULSES)

    def velocity_change(self, p: np.ndarray, world: int = 0) -> np.ndarray:
        """Wᵀ p of all rows: the change of z by impulses p."""
        layout, out = self.ctx.layout, np.zeros(self.nv)
        for k in range(len(self.joints)):
            rows = self.joint(k, world)
            out += rows.T @ p[JOINT_ROWS * k : JOINT_ROWS * k + len(rows)]
        out += self.all_scalars(world).T @ self.scalar_impulses(p).sum(axis=1)
        width = self.width
        assert layout.impulses == len(p)
        return out + self.all_contacts(world).T @ self.contact_impulses(p)[:, :width].reshape(-1)


def cone_residual(p: np.ndarray, s: np.ndarray, mu: ArrayLike, step: float = 1.0) -> np.ndarray:
    """[n] natural map of Coulomb's law with maximal dissipation (M-55, M-56) for impulses p [n, 3] and velocities minus
    targets s [n, 3]: 0 where p_n ≥ 0, s_n ≥ 0, p_n s_n = 0, |p_t| ≤ μ p_n and p_t opposes s_t, or s_t = 0 inside the
    cone."""
    mu = np.broadcast_to(mu, len(p))
    normal = p[:, 0] - np.maximum(p[:, 0] - step * s[:, 0], 0)
    free = p[:, 1:] - step * s[:, 1:]
    size, most = np.linalg.norm(free, axis=1), mu * np.maximum(p[:, 0], 0)
    scale = np.where(size > most, most / np.maximum(size, 1e-300), 1.0)
    return np.abs(normal) + np.linalg.norm(p[:, 1:] - free * scale[:, None], axis=1)


def scalar_residual(
    p: np.ndarray, s: float, kinds: int, lower: float, upper: float, friction: float, step: float = 1.0
) -> float:
    """Natural map of a scalar row with a limit and dry friction (M-37, M-38) for impulses p [4] and velocity s: 0 where
    both laws hold."""
    residual = 0.0
    if kinds & RowKind.BOUND:
        residual += abs(s - np.clip(s - step * p[0], lower, upper))
    if kinds & RowKind.FRICTION:
        residual += abs(p[1] - np.clip(p[1] - step * s, -friction, friction))
    return residual
