"""Positions that close loops: the nearest to a guess, within limits; and velocities that keep them closed.

Near is what moves little mass: changes are measured by the kinetic energy they would be with as velocities, in the
inertia of the guess. All of it is numpy in double precision, on the host.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sharnir.compiler.velocities import link_jacobians, loop_row, mass_matrix
from sharnir.enums import JointType, LimitKind, MotionKind
from sharnir.errors import ModelError, fail, shown
from sharnir.model.joint_rows import CONSTRAINT_COUNT, JOINT_ROW_TABLE, RowForm
from sharnir.model.kinematics import link_poses
from sharnir.model.model import Ints, Model, Reals
from sharnir.model.poses import IDENTITY_POSE, Pose
from sharnir.rotations import quat_multiply, turn_quaternion

CLOSED = 1e-10  # m and rad: gaps that count as none
ALLOWED = 1e-6  # m, of a mechanism within a metre of the origin, and rad: gaps of loops that count as closed
ITERATIONS = 200
LONGEST = 0.3  # m or rad that a coordinate moves in an iteration
FIRST, LEAST = 1e-3, 1e-12  # damping at first and at least, of the largest square of the rows
MORE, LESS = 8.0, 0.2  # by which it grows where a step fails, and falls
HOPELESS = 1e6  # damping at which nothing moves any more
NEARER = 30  # iterations in which a solution slides towards the guess
FAINT = 1e-12  # of the diagonal of the inertia, added: it may be singular to rounding
STAYS = 1e-10  # m or rad: slides that end this


class Loops(NamedTuple):
    """Loops and couplings at some positions."""

    gaps: Reals  # [rows] m or rad, of constraints of loop joints, joint by joint, then of couplings
    J: Reals  # [rows, nv] their rates by v
    turned: Reals  # [loops] rad by which a joint is turned over, where its rows do not tell: π or 0
    position: Reals  # [nc] of all coordinates; NaN where there is none
    rates: Reals  # [nc, nv] of all coordinates by v


def close_loops(model: Model, q: Any, *, held: Sequence[str] = ()) -> Reals:
    """Positions [nq] in which all loops and couplings of a model hold: the nearest to a guess q [nq], as far as steps
    downhill find it, within the limits of joints.

    held: names of joints that stay where the guess has them. Refused, with the joint that stays open and its gap, where
    nothing near closes them. Quaternions may have any length but zero.
    """
    guess = unit_quaternions(model, q)
    free = np.flatnonzero(~held_coordinates(model, held))
    lower, upper = np.where(
        model.limit_angles == LimitKind.COORDINATE, (model.limit_lower, model.limit_upper), [[-np.inf], [np.inf]]
    )
    M = _metric(model, guess)
    start = _within(model, guess, free, lower, upper)
    found = _close(model, start, free, M, (lower, upper))
    refuse_open(model, found, "close_loops", ALLOWED)
    found = _slide(model, found, guess, free, M, (lower, upper))
    at = loops_at(model, found)
    beyond = np.fmax(lower - at.position, at.position - upper)[model.nv :]
    if (beyond > ALLOWED).any():
        c = model.nv + int(np.nanargmax(beyond))
        raise fail(
            f"joint {model.joint_of(c)!r}", "is beyond its limits where the loops close",
            f"{at.position[c]:.6g}", f"{lower[c]:g} to {upper[c]:g}, or another guess",
        )  # fmt: skip
    return found


def refuse_open(model: Model, q: Reals, what: str, tolerance: float) -> None:
    """Raise a ModelError that names the joint that is furthest open at positions q, and its gap. what: for the
    message."""
    at = loops_at(model, q)
    reach = max(1.0, max((float(np.abs(p.x).max()) for p in link_poses(model, q)), default=0.0))
    joint = np.repeat(np.arange(model.loops), CONSTRAINT_COUNT[model.loop_kind])
    forms = np.concatenate(
        [JOINT_ROW_TABLE[k, : CONSTRAINT_COUNT[k], 0] for k in model.loop_kind] or [np.zeros(0, int)]
    )
    turns, n = forms == RowForm.PERPENDICULAR, len(joint)
    gap, turn = np.zeros(model.loops), at.turned.copy()
    np.maximum.at(gap, joint[~turns], np.abs(at.gaps[:n][~turns]))
    np.maximum.at(turn, joint[turns], np.arcsin(np.minimum(1.0, np.abs(at.gaps[:n][turns]))))
    size = np.concatenate([np.maximum(gap / reach, turn), np.abs(at.gaps[n:])])
    if not (size > tolerance).any():
        return
    worst = int(np.argmax(size))
    if worst >= model.loops:
        name, off = model.coupling_names[worst - model.loops], at.gaps[n + worst - model.loops]
        raise fail(f"coupling {name!r}", f"does not hold ({what})", f"off by {off:.3g} m or rad", "positions that fit")
    raise fail(
        f"joint {model.joint_names[model.nb + worst]!r}", f"stays open ({what})",
        f"a gap of {gap[worst]:.3g} m and {np.degrees(turn[worst]):.3g}°",
        "positions at which its loop closes, or nearer to them",
    )  # fmt: skip


def unit_quaternions(model: Model, q: Any) -> Reals:
    """Positions [nq] as a float array of its own, checked, with quaternions of length 1."""
    out = model.checked("q", q, model.nq)
    if out.ndim != 1:
        raise fail(f"model {model.name!r}", "q has the wrong shape", list(out.shape), f"[{model.nq}]")
    for k in model.quaternions:
        length = np.abs(out[k : k + 4]).max()
        if length == 0:
            raise fail(f"model {model.name!r}", f"q[{k}:{k + 4}] is a zero quaternion", "0", "any length but zero")
        scaled = out[k : k + 4] / length  # so that squares neither overflow nor vanish
        size = np.linalg.norm(scaled)
        if abs(length * size - 1.0) > 1e-15:  # those of length 1 keep their bits
            out[k : k + 4] = scaled / size
    return out


def held_coordinates(model: Model, names: Iterable[str]) -> Any:
    """[nv] whether a coordinate belongs to one of these joints of the tree."""
    if isinstance(names, str):
        raise fail("held", "is one text", shown(names), "a sequence of names of joints")
    out = np.zeros(model.nv, dtype=bool)
    for name in names:
        where = model.joint(name)
        if where.closes_loop:
            raise closes_loop(model, name)
        out[where.v] = True
    return out


def closes_loop(model: Model, name: str) -> ModelError:
    """The error of whoever sets the coordinates of a joint that follow from others."""
    return fail(
        f"joint {name!r}", "closes a loop, its coordinates follow from the others", shown(name),
        f"joints of the tree: {', '.join(model.joint_names[: model.nb][:20])}",
    )  # fmt: skip


def loops_at(model: Model, q: Reals) -> Loops:
    """Gaps of loops and couplings at positions q."""
    there = replace(model, q0=q.copy(), cache={})
    poses = link_poses(there, q)
    jacobians = link_jacobians(there, poses)
    rows = np.array([loop_row(there, poses, jacobians, r) for r in range(6 * model.loops)]).reshape(-1, model.nv)
    fixed = np.tile(np.arange(6), model.loops) < CONSTRAINT_COUNT[np.repeat(model.loop_kind, 6)]
    gaps, turned, loop_q = [], np.zeros(model.loops), np.zeros(int(model.loop_q_start[-1]))
    for k, kind in enumerate(model.loop_kind.tolist()):
        P, C = (
            (IDENTITY_POSE if link < 0 else poses[link]) @ Pose(model.loop_rot[k, end], model.loop_pos[k, end])
            for end, link in enumerate(model.loop_link[k])
        )
        here = slice(model.loop_q_start[k], model.loop_q_start[k + 1])
        loop_q[here] = _coordinates(kind, P, C, float(model.loop_pitch[k]), model.loop_q0[here])
        gaps += [_gap(row, P, C, float(model.loop_pitch[k])) for row in JOINT_ROW_TABLE[kind, : CONSTRAINT_COUNT[kind]]]
        turned[k] = np.pi if _is_turned_over(kind, P.R.T @ C.R) else 0.0
    rates = np.concatenate([np.eye(model.nv), rows[~fixed]])
    where = model.coordinate_positions
    position = np.where(where >= 0, np.concatenate([q, loop_q, [np.nan]])[where], np.nan)
    leader, follower = model.coupling_coordinate.reshape(-1, 2).T
    coupled = position[follower] - model.coupling_ratio * position[leader] - model.coupling_offset
    J = np.concatenate([rows[fixed], rates[follower] - model.coupling_ratio[:, None] * rates[leader]])
    return Loops(np.concatenate([gaps, coupled]), J, turned, position, rates)


def _gap(row: Ints, P: Pose, C: Pose, pitch: float) -> float:
    """Error of a row of a loop joint (M-20..M-24)."""
    form, first, second = row.tolist()
    e, d = P.R[:, first], C.x - P.x
    if form == RowForm.PERPENDICULAR:
        return float(e @ C.R[:, second])
    along = float(e @ d)
    if form != RowForm.HELIX:
        return along
    turn = _angle(P.R.T @ C.R, along / pitch if pitch else 0.0)
    return along - pitch * turn


def _angle(R: Reals, near: float) -> float:
    """Turn about z, counted over turns to the one nearest to `near`."""
    angle = float(np.arctan2(R[1, 0], R[0, 0]))
    return angle + 2 * np.pi * np.round((near - angle) / (2 * np.pi))


def _is_turned_over(kind: int, R: Reals) -> bool:
    """Whether axes that should be parallel point in opposite directions, which rows take for closed. R: C in P."""
    if kind in (JointType.FIXED, JointType.PRISMATIC):
        return bool((np.diagonal(R) < 0).any())
    return kind in (JointType.REVOLUTE, JointType.HELICAL, JointType.CYLINDRICAL, JointType.PLANAR) and R[2, 2] < 0


def _coordinates(kind: int, P: Pose, C: Pose, pitch: float, near: Reals) -> Reals:
    """Coordinates of a loop joint with scalar positions; angles are counted to the turn nearest to `near`. Zeros where
    it has a quaternion: nothing limits or couples those one by one."""
    R, d = P.R.T @ C.R, P.R.T @ (C.x - P.x)
    if kind == JointType.REVOLUTE:
        return np.array([_angle(R, near[0])])
    if kind == JointType.HELICAL:
        return np.array([d[2] / pitch if pitch else _angle(R, near[0])])
    if kind == JointType.PRISMATIC:
        return d[2:]
    if kind == JointType.CYLINDRICAL:
        return np.array([d[2], _angle(R, near[1])])
    if kind == JointType.PLANAR:
        return np.array([d[0], d[1], _angle(R, near[2])])
    if kind == JointType.UNIVERSAL:
        turns = np.array([np.arctan2(R[1, 2], R[0, 2]), np.arctan2(R[2, 0], R[2, 1])])
        return np.asarray(turns + 2 * np.pi * np.round((near - turns) / (2 * np.pi)))
    return np.concatenate([d, np.zeros(4)]) if kind == JointType.FREE else np.zeros(len(near))


def moved(model: Model, q: Reals, step: Reals) -> Reals:
    """Positions q moved by velocities `step` [nv] for a unit of time, joint by joint."""
    out = q.copy()
    for kind, i, v in zip(model.part_kind.tolist(), model.part_q.tolist(), model.part_v.tolist(), strict=True):
        if kind == MotionKind.BALL:
            turned = quat_multiply(q[i : i + 4], turn_quaternion(step[v : v + 3]))
            out[i : i + 4] = turned / np.linalg.norm(turned)
        elif kind != MotionKind.STILL:
            size = 3 if kind == MotionKind.SHIFT else 1
            out[i : i + size] += step[v : v + size]
    return out


def difference(model: Model, q: Reals, other: Reals) -> Reals:
    """[nv] step that moves q to `other`."""
    out = np.zeros(model.nv)
    for kind, i, v in zip(model.part_kind.tolist(), model.part_q.tolist(), model.part_v.tolist(), strict=True):
        if kind == MotionKind.BALL:
            turn = quat_multiply(q[i : i + 4] * [-1, -1, -1, 1], other[i : i + 4])
            turn = turn if turn[3] >= 0 else -turn
            sine = float(np.linalg.norm(turn[:3]))
            out[v : v + 3] = turn[:3] * (2 * np.arctan2(sine, turn[3]) / sine if sine > 1e-12 else 2.0)
        elif kind != MotionKind.STILL:
            size = 3 if kind == MotionKind.SHIFT else 1
            out[v : v + size] = other[i : i + size] - q[i : i + size]
    return out


def nearest_rates(model: Model, q: Reals, v: Reals, held: Any) -> Reals:
    """Velocities at which loops and couplings stay closed at positions q: the nearest to v [nv], those of the held
    coordinates [nv] as they are."""
    free, J = np.flatnonzero(~held), loops_at(model, q).J
    x = v.copy()
    x[free] += _least_change(_metric(model, q)[np.ix_(free, free)], J[:, free], -J @ v, 0.0)
    return x


def _metric(model: Model, q: Reals) -> Reals:
    """[nv, nv] inertia of the coordinates at positions q."""
    there = replace(model, q0=q.copy(), cache={})
    poses = link_poses(there, q)
    M = mass_matrix(there, poses, link_jacobians(there, poses))
    return M + FAINT * np.diag(np.diagonal(M))


def _least_change(M: Reals, J: Reals, b: Reals, damping: float) -> Reals:
    """x that makes |J x − b|² + damping (largest square) xᵀM x least, without damping the least of those by xᵀM x."""
    L = np.linalg.cholesky(M)
    W = np.linalg.solve(L, J.T).T
    U, s, Vt = np.linalg.svd(W, full_matrices=False)
    top = s[0] if len(s) else 0.0
    inverse = s / (s * s + max(damping, 1e-24) * top * top) if top > 0 else s
    inverse[s < 1e-9 * top] = 0.0
    return np.asarray(np.linalg.solve(L.T, Vt.T @ (inverse * (U.T @ b))))


def _within(model: Model, q: Reals, free: Ints, lower: Reals, upper: Reals) -> Reals:
    """Positions with those of free coordinates within limits."""
    out = q.copy()
    for c in free.tolist():
        if (i := int(model.coordinate_positions[c])) >= 0:
            out[i] = np.clip(out[i], lower[c], upper[c])
    return out


def _step(
    model: Model, q: Reals, at: Loops, b: Reals, free: Ints, M: Reals, limits: tuple[Reals, Reals], damping: float
) -> Reals:  # fmt: skip
    """[nv] the least change by M with J x = b for which free coordinates stay within limits: those that would leave
    theirs end there, and the others take over."""
    x, here = np.zeros(model.nv), at.position[: model.nv]
    low, high = (limit[: model.nv] - here for limit in limits)
    moving = free
    for _ in range(model.nv + 1):
        x[moving] = 0.0
        x[moving] = _least_change(M[np.ix_(moving, moving)], at.J[:, moving], b - at.J @ x, damping)
        out = moving[(x[moving] < low[moving] - 1e-15) | (x[moving] > high[moving] + 1e-15)]
        if len(out) == 0:
            break
        x[out] = np.clip(x[out], low[out], high[out])
        moving = np.setdiff1d(moving, out)
    longest = float(np.abs(x).max(initial=0.0))
    return x * min(1.0, LONGEST / longest) if longest > 0 else x


def _close(model: Model, q: Reals, free: Ints, M: Reals, limits: tuple[Reals, Reals]) -> Reals:
    """Close loops and couplings by damped Gauss–Newton steps, as far as they lead."""
    at, damping = loops_at(model, q), FIRST
    for _ in range(ITERATIONS):
        error = float(at.gaps @ at.gaps)
        if np.abs(at.gaps).max(initial=0.0) < CLOSED or damping > HOPELESS:
            break
        x = _step(model, q, at, -at.gaps, free, M, limits, damping)
        there = moved(model, q, x)
        found = loops_at(model, there)
        if found.gaps @ found.gaps < error:
            q, at, damping = there, found, max(damping * LESS, LEAST)
        else:
            damping *= MORE
    return q


def _slide(model: Model, q: Reals, guess: Reals, free: Ints, M: Reals, limits: tuple[Reals, Reals]) -> Reals:
    """Of closed positions, slide along what loops leave free to those nearest to the guess."""
    towards = difference(model, q, guess)
    before = float(towards @ M @ towards)
    for _ in range(NEARER):
        at = loops_at(model, q)
        x = towards.copy()  # the guess, moved to where the loops hold to first order
        x[free] += _least_change(M[np.ix_(free, free)], at.J[:, free], -at.gaps - at.J @ towards, 0.0)
        longest = float(np.abs(x).max(initial=0.0))
        if longest < STAYS:
            break
        there = _within(model, moved(model, q, x * min(1.0, LONGEST / longest)), free, *limits)
        there = _close(model, there, free, M, limits)
        towards = difference(model, there, guess)
        after = float(towards @ M @ towards)
        if not (after < before and np.abs(loops_at(model, there).gaps).max(initial=0.0) < 10 * CLOSED):
            break
        q, before = there, after
    return q
