"""One sweep of projected Gauss–Seidel through z (M-39..M-42): each block solved as numpy does, all together the
complementarity problem."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import BOUNDS, QUICK, WORLD, Parts, Rows, column, cone_residual, empty, line_residual, put, run, seen

from sharnir.impulse.row_kinds import BOUND, COMPLIANT, FRICTION, MOTOR, SATURATED
from sharnir.impulse.rows.assembly import factor_joints
from sharnir.impulse.solve.pgs_sweep import apply_impulses, list_active_scalars, solve_scalar, sweep, sweep_joint
from sharnir.kernels.types import array2, real, vec4

wp.set_module_options(QUICK)
REVOLUTE = 1  # five rows
JOINTS = [((8, 7, 6, 5, 4, 3), REVOLUTE)]
LINES = [((10, 9), BOUND), ((2, 1, 0), BOUND | FRICTION), ((14,), FRICTION), ((13, 12), BOUND)]
CONTACTS = [(0, 1), (1, WORLD), (2, WORLD)]


@wp.kernel
def joint_kernel(s: Parts, z: array2, out: array2):
    factor_joints(s.loops, s.plan, s.work, 0)
    out[0, 0] = sweep_joint(s.loops, s.plan, s.work, 0, z, s.work.p, 0)


@wp.kernel
def sweep_kernel(s: Parts, z: array2, sweeps: int, out: array2):
    factor_joints(s.loops, s.plan, s.work, 0)
    list_active_scalars(s.plan, s.work, 0, 0)
    for _ in range(sweeps):
        out[0, 0] = sweep(s.loops, s.plan, s.work, 0, z, s.work.p, 0)


@wp.kernel
def apply_kernel(s: Parts, z: array2):
    apply_impulses(s.loops, s.plan, s.work, z, s.work.p, 0)


@wp.kernel
def balance_kernel(s: Parts, free: array2, out: wp.array(dtype=vec4)):
    """Line l of `free` lines, each with a free speed of its own, and K = 0.8."""
    l = wp.tid()
    out[l] = solve_scalar(s.plan, s.work, l, s.plan.scalar_row_kinds[l], free[l, 0], real(0.8), 0)


def test_the_block_of_a_loop_joint_is_solved_whole():
    rng = np.random.default_rng(0)
    rows, out = Rows(rng, trees=(6, 3), joints=JOINTS), empty(1)
    put(rows.parts.work.joint_target, rng.normal(size=6))
    z0, W = rng.normal(size=rows.nv), rows.joint(0)
    z = column(z0)
    run(joint_kernel, rows.parts, z, out)
    p = np.linalg.solve(W @ W.T, seen(rows.parts.work.joint_target)[:5] - W @ z0)
    np.testing.assert_allclose(seen(rows.parts.work.p)[:5], p, rtol=1e-10)
    np.testing.assert_allclose(seen(z), z0 + W.T @ p, atol=1e-11)
    np.testing.assert_allclose(seen(out)[0], np.abs(p).max(), rtol=1e-10)


def test_a_redundant_row_of_a_block_gets_nothing():
    rng = np.random.default_rng(0)
    rows, out = Rows(rng, trees=(6, 3), joints=JOINTS), empty(1)
    start = int(rows.parts.plan.joint_W_start.numpy()[0])
    five = rows.W[start : start + 30, 0].reshape(5, 6)
    five[3] = five[0] + 2 * five[1]
    rows.upload()
    z0, W = rng.normal(size=rows.nv), rows.joint(0)
    z = column(z0)
    run(joint_kernel, rows.parts, z, out)
    assert seen(rows.parts.work.p)[3] == 0
    np.testing.assert_allclose(W @ seen(z), 0, atol=1e-9)  # nothing is sought: least squares
    np.testing.assert_allclose(seen(z), z0 - np.linalg.pinv(W) @ (W @ z0), atol=1e-9)


ALONE = [BOUND, FRICTION, MOTOR, COMPLIANT, COMPLIANT | SATURATED, BOUND | FRICTION, FRICTION | MOTOR,
         BOUND | MOTOR | COMPLIANT, BOUND | FRICTION | MOTOR | COMPLIANT]  # fmt: skip
RUB, PUSH, AIM, GIVE, REST, LOW, HIGH, WEIGHT = 0.3, 0.5, 0.4, 0.7, 0.1, -0.6, 0.8, 0.8


def speed_by_bisection(acts: int, free: float) -> float:
    """Where s − free − K p(s) = 0 for the sum p of what acts, which falls with s, jumps included."""

    def pushes(s: float) -> float:
        p = 0.0
        if acts & FRICTION:
            p -= RUB * np.sign(s)
        if acts & MOTOR:
            p += PUSH * np.sign(AIM - s)
        if acts & COMPLIANT:
            soft = (REST - s) / GIVE
            p += np.clip(soft, LOW, HIGH) if acts & SATURATED else soft
        return p

    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle - free - WEIGHT * pushes(middle) < 0 else (low, middle)
    return float(np.clip(high, LOW, HIGH)) if acts & BOUND else high


def test_what_acts_on_one_speed_is_solved_together():
    """Limit, dry friction, motor and soft force: the speed is that of a bisection, each impulse obeys its own law."""
    rng, n = np.random.default_rng(0), 40 * len(ALONE)
    acts = [ALONE[i % len(ALONE)] for i in range(n)]
    rows = Rows(rng, trees=(3,), lines=[((1,), a) for a in acts])
    work, free, out = rows.parts.work, rng.normal(size=n) * 1.5, wp.zeros(n, dtype=vec4, device="cpu")
    given = {"velocity_lower": LOW, "velocity_upper": HIGH, "friction_bound": RUB, "motor_bound": PUSH}
    given |= {"motor_velocity": AIM, "compliant_gamma": GIVE, "compliant_velocity": REST}
    for name, value in given.items():
        put(getattr(work, name), np.full(n, value))
    run(balance_kernel, rows.parts, column(free), out, threads=n)
    p = out.numpy()
    s = free + WEIGHT * p.sum(axis=1)
    np.testing.assert_allclose(s, [speed_by_bisection(a, f) for a, f in zip(acts, free, strict=True)], atol=1e-9)
    for a, (hold, rub, drive, soft), speed in zip(acts, p, s, strict=True):
        assert line_residual(np.array([hold, rub, 0, 0]), speed, a, LOW, HIGH, RUB) < 1e-9
        drives = drive - np.clip(drive - (speed - AIM), -PUSH, PUSH)
        assert abs(drives) < 1e-9 if a & MOTOR else drive == 0
        yields = (REST - speed) / GIVE
        yields = np.clip(yields, LOW, HIGH) if a & SATURATED else yields
        assert abs(soft - yields) < 1e-9 if a & COMPLIANT else soft == 0


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_over_all_rows_converge_to_the_complementarity_problem(seed):
    rng = np.random.default_rng(seed)
    rows, out = Rows(rng, contacts=CONTACTS, lines=LINES, joints=JOINTS), empty(1)
    work = rows.parts.work
    put(work.joint_target, rng.normal(size=6))
    put(work.contact_target, [1.5, 0.1, 0.2, 1.5, -0.3, 0.1, 1.5, 0, 0])
    put(work.velocity_lower, [-0.1, -0.2, 0, 0.1])
    put(work.velocity_upper, [0.1, 0.2, 0, 0.3])
    put(work.friction_bound, [0, 0.2, 0.5, 0])
    z0 = rng.normal(size=rows.nv)
    z = column(z0)
    run(sweep_kernel, rows.parts, z, 4000, out)
    p, z = seen(work.p), seen(z)
    assert seen(out)[0] < 1e-12
    np.testing.assert_allclose(z, z0 + rows.pushed(p), atol=1e-10)
    np.testing.assert_allclose(rows.joint(0) @ z, seen(work.joint_target)[:5], atol=1e-10)
    speeds = (rows.all_contacts() @ z - seen(work.contact_target)).reshape(-1, 3)
    assert cone_residual(rows.contact_impulses(p)[:, :3], speeds, 0.5).max() < 1e-10
    assert (rows.contact_impulses(p)[:, 0] > 0).any()
    for l, (_, acts) in enumerate(LINES):
        bounds = (seen(getattr(work, name))[l] for name in BOUNDS)
        assert line_residual(rows.line_impulses(p)[l], rows.line(l) @ z, acts, *bounds) < 1e-10


def test_impulses_to_start_from_are_applied_once():
    rng = np.random.default_rng(4)
    rows = Rows(rng, contacts=CONTACTS, lines=LINES, joints=JOINTS, turning=True)
    p = rng.normal(size=rows.parts.plan.impulses)
    p[5] = 0.0  # of the joint's coordinate, which is no constraint
    put(rows.parts.work.p, p)
    z = column(np.zeros(rows.nv))
    run(apply_kernel, rows.parts, z)
    np.testing.assert_allclose(seen(z), rows.pushed(p), atol=1e-12)
