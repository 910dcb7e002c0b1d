"""One sweep of projected Gauss–Seidel through z (M-39..M-42): each block solved as numpy does, all together the
complementarity problem."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import (
    BOUNDS,
    FAST_COMPILE,
    WORLD,
    Rows,
    column,
    cone_residual,
    put,
    read,
    run,
    scalar_residual,
    zeros,
)

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.assembly import factor_joints
from sharnir.impulse.solve.pgs_sweep import (
    ScalarRow,
    apply_impulses,
    list_active_scalars,
    solve_friction,
    solve_scalar,
    sweep,
    sweep_joint,
)
from sharnir.impulse.tolerances import MIN_ROW_K
from sharnir.kernels.types import array2, real, vec4

wp.set_module_options(FAST_COMPILE)
REVOLUTE = 1  # five rows
JOINTS = [((8, 7, 6, 5, 4, 3), REVOLUTE)]
SCALARS = [
    ((10, 9), RowKind.BOUND),
    ((2, 1, 0), RowKind.BOUND | RowKind.FRICTION),
    ((14,), RowKind.FRICTION),
    ((13, 12), RowKind.BOUND),
]
CONTACTS = [(0, 1), (1, WORLD), (2, WORLD)]


@wp.kernel
def joint_kernel(ctx: StepContext, z: array2, out: array2):
    factor_joints(ctx.loops, ctx.layout, ctx.work, real(MIN_ROW_K), 0)
    x = make_iterate(z, ctx.work.p, 0)
    out[0, 0] = sweep_joint(ctx, 0, x, 0)


@wp.kernel
def sweep_kernel(ctx: StepContext, z: array2, sweeps: int, out: array2):
    factor_joints(ctx.loops, ctx.layout, ctx.work, real(MIN_ROW_K), 0)
    list_active_scalars(ctx.layout, ctx.work, 0, 0)
    for _ in range(sweeps):
        x = make_iterate(z, ctx.work.p, 0)
        out[0, 0] = sweep(ctx, x, 0)


@wp.kernel
def apply_kernel(ctx: StepContext, z: array2):
    apply_impulses(ctx, z, ctx.work.p, 0)


@wp.kernel
def scalar_kernel(ctx: StepContext, free: array2, out: wp.array(dtype=vec4)):
    """Scalar row l at its own free velocity, with K = 0.8."""
    l = wp.tid()
    out[l] = solve_scalar(ctx, l, ctx.layout.scalar_row_kinds[l], free[l, 0], real(0.8), 0)


@wp.kernel
def friction_kernel(ctx: StepContext, free: array2, out: wp.array(dtype=vec4)):
    """The same of a row that has no more than a bound and friction."""
    l = wp.tid()
    row = ScalarRow()
    row.l = l
    row.kinds = ctx.layout.scalar_row_kinds[l]
    row.K = real(0.8)
    bound, friction = solve_friction(ctx.work, row, free[l, 0], 0)
    out[l] = vec4(bound, friction, real(0.0), real(0.0))


def test_bound_and_friction_alone_are_solved_as_with_the_other_kinds():
    """Random free velocities and bounds, also such as push a row that would stick or turn it round."""
    rng, n = np.random.default_rng(3), 400
    kinds = [RowKind.FRICTION, RowKind.FRICTION | RowKind.BOUND]
    rows = Rows(rng, trees=(6,), scalars=[((0,), kinds[l % 2]) for l in range(n)])
    bounds = np.sort(rng.normal(scale=0.5, size=(n, 2)), axis=1)
    bounds[: n // 4, 0], bounds[n // 4 : n // 2, 1] = 0.0, 0.0
    bounds.sort(axis=1)
    put(rows.ctx.work.velocity_lower, bounds[:, 0])
    put(rows.ctx.work.velocity_upper, bounds[:, 1])
    put(rows.ctx.work.friction_bound, rng.uniform(0, 1, size=n))
    free = column(rng.normal(size=n))
    found = []
    for kernel in (friction_kernel, scalar_kernel):
        out = wp.zeros(n, dtype=vec4, device="cpu")
        run(kernel, rows.ctx, free, out, threads=n)
        found.append(out.numpy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    assert ((found[0][:, 0] != 0) & (found[0][:, 1] != 0)).sum() > 50


def test_the_block_of_a_loop_joint_is_solved_as_one_system():
    rng = np.random.default_rng(0)
    rows, out = Rows(rng, trees=(6, 3), joints=JOINTS), zeros(1)
    put(rows.ctx.work.joint_target, rng.normal(size=6))
    z0, W = rng.normal(size=rows.nv), rows.joint(0)
    z = column(z0)
    run(joint_kernel, rows.ctx, z, out)
    p = np.linalg.solve(W @ W.T, read(rows.ctx.work.joint_target)[:5] - W @ z0)
    np.testing.assert_allclose(read(rows.ctx.work.p)[:5], p, rtol=1e-10)
    np.testing.assert_allclose(read(z), z0 + W.T @ p, atol=1e-11)
    np.testing.assert_allclose(read(out)[0], np.abs(p).max(), rtol=1e-10)


def test_a_redundant_row_of_a_block_gets_no_impulse():
    rng = np.random.default_rng(0)
    rows, out = Rows(rng, trees=(6, 3), joints=JOINTS), zeros(1)
    start = int(rows.ctx.layout.joint_W_start.numpy()[0])
    five = rows.W[start : start + 30, 0].reshape(5, 6)
    five[3] = five[0] + 2 * five[1]
    rows.upload()
    z0, W = rng.normal(size=rows.nv), rows.joint(0)
    z = column(z0)
    run(joint_kernel, rows.ctx, z, out)
    assert read(rows.ctx.work.p)[3] == 0
    np.testing.assert_allclose(W @ read(z), 0, atol=1e-9)  # zero targets: least squares
    np.testing.assert_allclose(read(z), z0 - np.linalg.pinv(W) @ (W @ z0), atol=1e-9)


KIND_SETS = [
    RowKind.BOUND,
    RowKind.FRICTION,
    RowKind.MOTOR,
    RowKind.COMPLIANT,
    RowKind.COMPLIANT | RowKind.SATURATED,
    RowKind.BOUND | RowKind.FRICTION,
    RowKind.FRICTION | RowKind.MOTOR,
    RowKind.BOUND | RowKind.MOTOR | RowKind.COMPLIANT,
    RowKind.BOUND | RowKind.FRICTION | RowKind.MOTOR | RowKind.COMPLIANT,
]
FRICTION_BOUND, MOTOR_BOUND, MOTOR_VELOCITY, GAMMA, REST_VELOCITY, LOW, HIGH, K = (
    0.3,
    0.5,
    0.4,
    0.7,
    0.1,
    -0.6,
    0.8,
    0.8,
)


def velocity_by_bisection(kinds: int, free: float) -> float:
    """Where s − free − K p(s) = 0 for the sum p of all impulses, which falls with s, jumps included."""

    def impulse(s: float) -> float:
        p = 0.0
        if kinds & RowKind.FRICTION:
            p -= FRICTION_BOUND * np.sign(s)
        if kinds & RowKind.MOTOR:
            p += MOTOR_BOUND * np.sign(MOTOR_VELOCITY - s)
        if kinds & RowKind.COMPLIANT:
            compliant = (REST_VELOCITY - s) / GAMMA
            p += np.clip(compliant, LOW, HIGH) if kinds & RowKind.SATURATED else compliant
        return p

    low, high = -50.0, 50.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if middle - free - K * impulse(middle) < 0 else (low, middle)
    return float(np.clip(high, LOW, HIGH)) if kinds & RowKind.BOUND else high


def test_all_kinds_on_one_scalar_row_are_solved_together():
    """Limit, dry friction, motor, compliance: the velocity is that of a bisection, each impulse obeys its own law."""
    rng, n = np.random.default_rng(0), 40 * len(KIND_SETS)
    kinds = [KIND_SETS[i % len(KIND_SETS)] for i in range(n)]
    rows = Rows(rng, trees=(3,), scalars=[((1,), a) for a in kinds])
    work, free, out = rows.ctx.work, rng.normal(size=n) * 1.5, wp.zeros(n, dtype=vec4, device="cpu")
    given = {"velocity_lower": LOW, "velocity_upper": HIGH, "friction_bound": FRICTION_BOUND}
    given |= {"motor_bound": MOTOR_BOUND, "motor_velocity": MOTOR_VELOCITY}
    given |= {"compliant_gamma": GAMMA, "compliant_velocity": REST_VELOCITY}
    for name, value in given.items():
        put(getattr(work, name), np.full(n, value))
    run(scalar_kernel, rows.ctx, column(free), out, threads=n)
    p = out.numpy()
    s = free + K * p.sum(axis=1)
    np.testing.assert_allclose(s, [velocity_by_bisection(a, f) for a, f in zip(kinds, free, strict=True)], atol=1e-9)
    for a, (bound, friction, motor, compliant), v in zip(kinds, p, s, strict=True):
        assert scalar_residual(np.array([bound, friction, 0, 0]), v, a, LOW, HIGH, FRICTION_BOUND) < 1e-9
        motor_residual = motor - np.clip(motor - (v - MOTOR_VELOCITY), -MOTOR_BOUND, MOTOR_BOUND)
        assert abs(motor_residual) < 1e-9 if a & RowKind.MOTOR else motor == 0
        law = (REST_VELOCITY - v) / GAMMA
        law = np.clip(law, LOW, HIGH) if a & RowKind.SATURATED else law
        assert abs(compliant - law) < 1e-9 if a & RowKind.COMPLIANT else compliant == 0


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_over_all_rows_converge_to_the_complementarity_problem(seed):
    rng = np.random.default_rng(seed)
    rows, out = Rows(rng, contacts=CONTACTS, scalars=SCALARS, joints=JOINTS), zeros(1)
    work = rows.ctx.work
    put(work.joint_target, rng.normal(size=6))
    put(work.contact_target, [1.5, 0.1, 0.2, 1.5, -0.3, 0.1, 1.5, 0, 0])
    put(work.velocity_lower, [-0.1, -0.2, 0, 0.1])
    put(work.velocity_upper, [0.1, 0.2, 0, 0.3])
    put(work.friction_bound, [0, 0.2, 0.5, 0])
    z0 = rng.normal(size=rows.nv)
    z = column(z0)
    run(sweep_kernel, rows.ctx, z, 4000, out)
    p, z = read(work.p), read(z)
    assert read(out)[0] < 1e-12
    np.testing.assert_allclose(z, z0 + rows.velocity_change(p), atol=1e-10)
    np.testing.assert_allclose(rows.joint(0) @ z, read(work.joint_target)[:5], atol=1e-10)
    speeds = (rows.all_contacts() @ z - read(work.contact_target)).reshape(-1, 3)
    assert cone_residual(rows.contact_impulses(p)[:, :3], speeds, 0.5).max() < 1e-10
    assert (rows.contact_impulses(p)[:, 0] > 0).any()
    for l, (_, kinds) in enumerate(SCALARS):
        bounds = (read(getattr(work, name))[l] for name in BOUNDS)
        assert scalar_residual(rows.scalar_impulses(p)[l], rows.scalar(l) @ z, kinds, *bounds) < 1e-10


def test_impulses_of_all_rows_are_applied():
    rng = np.random.default_rng(4)
    rows = Rows(rng, contacts=CONTACTS, scalars=SCALARS, joints=JOINTS, torsional=True)
    p = rng.normal(size=rows.ctx.layout.impulses)
    p[5] = 0.0  # of the joint's free coordinate, which has no constraint
    put(rows.ctx.work.p, p)
    z = column(np.zeros(rows.nv))
    run(apply_kernel, rows.ctx, z)
    np.testing.assert_allclose(read(z), rows.velocity_change(p), atol=1e-12)
