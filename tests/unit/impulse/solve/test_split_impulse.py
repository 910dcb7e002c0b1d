"""Split impulses (M-43): pseudo-velocity targets, and sweeps that reach them, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, put, read, run, zeros

from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.rows.assembly import factor_joints
from sharnir.impulse.solve.split_impulse import (
    MAX_PUSH_SPEED,
    PSEUDO_CHECK_EVERY,
    PSEUDO_STALL_RATIO,
    SLOP,
    WEDGED_COMPLIANCE,
    SplitImpulseLoop,
    check_pseudo_progress,
    contact_push_speed,
    set_position_targets,
    sweep_split_impulses,
)
from sharnir.impulse.tolerances import MIN_ROW_K
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
SPHERICAL = 6  # three rows
DT, ERP = 0.01, 0.2
SCALARS = [((8, 7, 6), RowKind.BOUND), ((2, 1), RowKind.BOUND), ((4, 3), RowKind.FRICTION)]
CONTACTS = [(0, 1), (1, WORLD), (2, WORLD), (0, 2)]


@wp.kernel
def target_kernel(ctx: StepContext, out: array2):
    out[0, 0] = set_position_targets(ctx.loops, ctx.layout, ctx.work, real(DT), real(ERP), 0)
    for c in range(ctx.layout.max_contacts):
        out[1 + c, 0] = contact_push_speed(ctx.work, c, real(DT), real(ERP), 0)


@wp.kernel
def sweep_kernel(ctx: StepContext, compliance: real, epsilon: real, z: array2, p: array2, sweeps: int, out: array2):
    factor_joints(ctx.loops, ctx.layout, ctx.work, real(MIN_ROW_K), 0)
    loop = SplitImpulseLoop()
    loop.dt = real(DT)
    loop.erp = real(ERP)
    loop.compliance = compliance
    loop.epsilon = epsilon
    for _ in range(sweeps):
        x = make_iterate(z, p, 0)
        sweep_split_impulses(ctx, x, loop, 0)
    out[0, 0] = loop.worst


@wp.kernel
def progress_kernel(n: int, contacts: int, x: array2):
    """x: worst, change_at_check and compliance of the loop, before and after."""
    loop = SplitImpulseLoop()
    loop.n = n
    loop.contacts = contacts
    loop.worst = x[0, 0]
    loop.change_at_check = x[1, 0]
    loop.compliance = x[2, 0]
    check_pseudo_progress(loop)
    x[0, 0] = loop.worst
    x[1, 0] = loop.change_at_check
    x[2, 0] = loop.compliance


def problem(seed: int, joints: bool = True) -> Rows:
    rng = np.random.default_rng(seed)
    loops = [((11, 10, 9, 5, 4), SPHERICAL)] if joints else []
    rows = Rows(rng, contacts=CONTACTS, scalars=SCALARS, joints=loops)
    put(rows.ctx.work.contact_gap, [-2e-3, -0.5, 4e-3, -1e-3])
    rows.ctx.layout.scalar_lower = wp.array([-0.1, 0.2, 0.0], dtype=real, device="cpu")
    rows.ctx.layout.scalar_upper = wp.array([0.1, 0.5, 0.0], dtype=real, device="cpu")
    put(rows.ctx.work.scalar_position, [-0.12, 0.3, 0])
    put(rows.ctx.work.scalar_position_next, [-0.13, 0.19, 0])
    return rows


def test_old_errors_shrink_by_erp_and_those_of_the_step_vanish():
    rows, out = problem(0), zeros(5)
    work = rows.ctx.work
    gap, after = np.array([1e-3, 5e-9, 0, 2e-3, 0, 0]), np.array([1.2e-3, 8e-9, -1e-3, 3e-3, 0, 0])
    put(work.joint_gap, gap)
    put(work.joint_gap_next, after)
    put(work.joint_row_dropped, [0, 0, 0, 1, 0, 0])
    run(target_kernel, rows.ctx, out)
    targets = -(after - (1 - ERP) * gap)[:3] / DT
    targets[1] = 0  # within the solver's tolerance
    np.testing.assert_allclose(read(work.joint_target)[:3], targets, rtol=1e-12)
    left = -0.1 - (1 - ERP) * 0.02  # position the first limit may keep: it was passed by 0.02
    np.testing.assert_allclose(read(work.velocity_lower)[:2], [(left + 0.13) / DT, 0.01 / DT], rtol=1e-9)
    np.testing.assert_allclose(read(work.velocity_upper)[:2], [0.23 / DT, 0.31 / DT], rtol=1e-9)
    slop, most = float(SLOP), float(MAX_PUSH_SPEED)
    target = [ERP * (2e-3 - slop) / DT, most, -(4e-3 + slop) / DT, ERP * (1e-3 - slop) / DT]
    np.testing.assert_allclose(read(out)[1:], target, rtol=1e-9)
    np.testing.assert_allclose(read(out)[0], ERP * (0.5 - 2 * slop), rtol=1e-9)


@pytest.mark.parametrize("compliance", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_sweeps_solve_the_linear_complementarity_problem(seed, compliance):
    """Joints have their target velocities, limits hold, contacts obey 0 ≤ p ⟂ W z + compliance K p − target ≥ 0."""
    rows, out = problem(seed), zeros(5)
    put(rows.ctx.work.joint_gap_next, [1e-3, -2e-3, 1e-3])
    run(target_kernel, rows.ctx, out)
    target, work = read(out)[1:], rows.ctx.work
    z, p = column(np.zeros(rows.nv)), column(np.zeros(rows.ctx.layout.impulses))
    run(sweep_kernel, rows.ctx, compliance, 0.0, z, p, 4000, out)
    p, z = read(p), read(z)
    assert read(out)[0] < 1e-12
    np.testing.assert_allclose(z, rows.velocity_change(p), atol=1e-10)
    np.testing.assert_allclose(rows.joint(0) @ z, read(work.joint_target)[:3], atol=1e-9)
    scalars, contacts = rows.scalar_impulses(p), rows.contact_impulses(p)
    assert not scalars[:, 1:].any() and not contacts[:, 1:].any()  # limits and normals alone
    for l in range(2):
        s = rows.scalar(l) @ z
        assert abs(s - np.clip(s - scalars[l, 0], read(work.velocity_lower)[l], read(work.velocity_upper)[l])) < 1e-9
    normals = np.array([rows.contact(c)[0] for c in range(4)])
    excess = normals @ z + compliance * (normals**2).sum(axis=1) * contacts[:, 0] - target
    np.testing.assert_allclose(np.minimum(contacts[:, 0], excess), 0, atol=1e-9)
    assert (contacts[:, 0] > 0).any()


def test_separated_contacts_are_skipped_until_a_tree_of_theirs_is_active():
    """Only the second contact, of the second tree with the world, penetrates: only that tree becomes active."""
    rows, out = problem(1, joints=False), zeros(5)
    work = rows.ctx.work
    put(work.velocity_lower, [-1.0, -1.0, 0])
    put(work.velocity_upper, [1.0, 1.0, 0])
    put(work.contact_gap, [4e-3, -1e-3, 1e-9, 4e-3])
    z, p = column(np.zeros(rows.nv)), column(np.zeros(rows.ctx.layout.impulses))
    run(sweep_kernel, rows.ctx, 0.0, 1e-8, z, p, 1, out)
    assert (rows.contact_impulses(read(p))[:, 0] > 0).tolist() == [False, True, False, False]
    assert work.active_tree.numpy()[:, 0].tolist() == [0, 1, 0]


def test_limits_do_not_see_offsets_of_rows_that_are_not_projected():
    """`projected_velocity_offset` belongs to rows projected onto the null space of bilateral ones."""
    clean, stale, out = problem(2, joints=False), problem(2, joints=False), zeros(5)
    put(stale.ctx.work.projected_velocity_offset, np.full(3, 7.0))
    results = []
    for rows in (clean, stale):
        z, p = column(np.zeros(rows.nv)), column(np.zeros(rows.ctx.layout.impulses))
        run(target_kernel, rows.ctx, out)
        run(sweep_kernel, rows.ctx, 0.0, 0.0, z, p, 100, out)
        results.append(read(z))
    np.testing.assert_array_equal(results[0], results[1])


STALL, WEDGED, LAST = float(PSEUDO_STALL_RATIO), float(WEDGED_COMPLIANCE), 8.0
PROGRESS = [
    ("before a check", PSEUDO_CHECK_EVERY - 1, 1, (LAST, LAST, 0.0), (LAST, LAST, 0.0)),
    ("without contacts", PSEUDO_CHECK_EVERY, 0, (LAST, LAST, 0.0), (LAST, LAST, 0.0)),
    ("first check", PSEUDO_CHECK_EVERY, 1, (LAST, np.inf, 0.0), (LAST, LAST, 0.0)),
    ("just enough progress", PSEUDO_CHECK_EVERY, 1, (STALL * LAST, LAST, 0.0), (STALL * LAST, STALL * LAST, 0.0)),
    ("stalled once", 2 * PSEUDO_CHECK_EVERY, 1, (LAST, LAST, 0.0), (LAST, LAST, WEDGED)),
    ("progress when compliant", 3 * PSEUDO_CHECK_EVERY, 1, (1.0, LAST, WEDGED), (1.0, 1.0, WEDGED)),
    ("stalled again: sweeps end", 3 * PSEUDO_CHECK_EVERY, 1, (LAST, LAST, WEDGED), (0.0, 0.0, WEDGED)),
]


@pytest.mark.parametrize(("n", "contacts", "before", "after"), [c[1:] for c in PROGRESS], ids=[c[0] for c in PROGRESS])
def test_contacts_become_compliant_when_progress_stalls_and_sweeps_end_when_it_stalls_again(n, contacts, before, after):
    """(worst, change_at_check, compliance): largest changes of the last sweep and of the last check, compliance."""
    x = column(before)
    run(progress_kernel, n, contacts, x)
    assert tuple(read(x)) == after


def test_the_smallest_change_above_the_ratio_is_a_stall():
    x = column([np.nextafter(STALL * LAST, np.inf), LAST, 0.0])
    run(progress_kernel, PSEUDO_CHECK_EVERY, 1, x)
    assert read(x)[2] == WEDGED
