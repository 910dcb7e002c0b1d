"""Rows of contacts in impacts (M-86): which may bounce, from which velocities, and what is no impact."""

from __future__ import annotations

import numpy as np
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, column, integers, numbers, put, read, run, zeros

from sharnir.collision.contact_model import PROPERTIES_PER_PAIR
from sharnir.enums import MaterialProperty
from sharnir.impulse.data import StepContext, make_iterate
from sharnir.impulse.rows.restitution import (
    gap_to_correct,
    may_have_impacts,
    measure_separations,
    set_impact_rows,
    warm_start_resting,
)
from sharnir.impulse.slots import Impact, Status
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)
CONTACTS = [(0, 1), (1, WORLD), (2, WORLD), (0, 2)]
DT = 0.01
THRESHOLD = 0.3


@wp.kernel
def may_kernel(ctx: StepContext, out: array2):
    out[0, 0] = real(may_have_impacts(ctx, real(DT), 0))


@wp.kernel
def rows_kernel(ctx: StepContext):
    set_impact_rows(ctx, 0, real(DT), 0)


@wp.kernel
def resting_kernel(ctx: StepContext):
    x = make_iterate(ctx.work.z_impact, ctx.work.p_inelastic, 0)
    warm_start_resting(ctx, x, 0)


@wp.kernel
def separation_kernel(ctx: StepContext, out: array2):
    measure_separations(ctx, real(DT), 0)
    for c in range(ctx.layout.max_contacts):
        out[c, 0] = gap_to_correct(ctx.work, c, 0)


def problem() -> Rows:
    """Contacts 0 and 2 have the restitution 0.6; all have the same threshold."""
    rows = Rows(np.random.default_rng(0), contacts=CONTACTS)
    layout, contacts = rows.ctx.layout, rows.ctx.state.contacts
    material = np.zeros((2, 2, PROPERTIES_PER_PAIR))
    material[:, :, MaterialProperty.RESTITUTION_THRESHOLD] = THRESHOLD
    material[0, 1, MaterialProperty.RESTITUTION] = 0.6
    layout.contact_model.has_restitution, layout.contact_model.material_count = 1, 2
    layout.contact_model.material_pair_table = numbers(material)
    layout.contact_model.material = integers([0, 1, 0])
    put(contacts.shape, [0, 1, 0, 2, 0, 1, 0, 2])
    rows.ctx.work.impact = column(np.zeros(4 * Impact.SIZE))
    rows.ctx.work.impact_member = wp.zeros((4, 1), dtype=int, device="cpu")
    return rows


def velocities(rows: Rows, normal: list[float]) -> np.ndarray:
    """z with these normal velocities of the contacts and no others."""
    target = np.zeros(12)
    target[::3] = normal
    return np.linalg.lstsq(rows.all_contacts(), target, rcond=None)[0]


def test_an_impact_needs_restitution_speed_and_reach():
    rows, out = problem(), zeros(1)
    work = rows.ctx.work
    cases = {
        (-1.0, 0.0, 0.0, 0.0): 1,
        (-0.2, 0.0, 0.0, 0.0): 0,  # slower than the threshold
        (0.0, -1.0, 0.0, -1.0): 0,  # no restitution
        (0.0, 0.0, -1.0, 0.0): 0,  # out of reach
        (0.0, 0.0, -6.0, 0.0): 1,
    }
    put(work.contact_gap, [0.0, 0.0, 0.05, 0.0])
    put(work.z_kick, np.zeros(rows.nv))
    for normal, expected in cases.items():
        put(work.z_impact, velocities(rows, list(normal)))
        run(may_kernel, rows.ctx, out)
        assert read(out)[0] == expected, normal
    put(work.z_kick, velocities(rows, [0.0, 0.0, 9.0, 0.0]))  # what forces change counts as if it closed the gap
    put(work.z_impact, velocities(rows, [0.0, 0.0, -1.0, 0.0]))
    run(may_kernel, rows.ctx, out)
    assert read(out)[0] == 1


def test_targets_thresholds_and_closing_speeds():
    rows = problem()
    work = rows.ctx.work
    put(work.contact_gap, [1e-3, 2e-3, -1e-3, 0.0])
    put(work.z_kick, velocities(rows, [-2.0, -0.1, 0.4, 1.0]))
    target, chord = np.random.default_rng(1).normal(size=(2, 12))
    put(work.contact_target, target)
    put(work.contact_chord, chord)
    run(rows_kernel, rows.ctx)
    impact = read(work.impact).reshape(4, -1)
    np.testing.assert_allclose(impact[:, 0], [0.0, -0.2, 0.0, 0.0], atol=1e-12)
    surfaces = (target + chord).reshape(4, 3)[:, 1:]  # velocities of moving surfaces
    np.testing.assert_allclose(impact[:, 1:3], surfaces, atol=1e-12)
    np.testing.assert_allclose(impact[:, Impact.RESTITUTION], [0.6, 0.0, 0.6, 0.0])
    np.testing.assert_allclose(impact[:, Impact.THRESHOLD], [1.0, 0.3, 0.3, 0.5], atol=1e-12)
    np.testing.assert_allclose(impact[:, Impact.CLOSING], [-0.9, 0.15, 0.2, 0.5], atol=1e-12)


def test_only_what_rested_before_counts_as_carried():
    rows = problem()
    work = rows.ctx.work
    put(work.contact_gap, [0.0, 0.0, 1e-3, 0.0])  # 2 is open
    put(work.z_before, velocities(rows, [0.1, -0.5, 0.0, -0.2]))  # 1 is fast
    p = np.zeros((4, 6))
    p[:, :3] = np.random.default_rng(2).normal(size=(4, 3))
    put(work.p, p.reshape(-1))
    put(work.z_impact, np.zeros(rows.nv))
    run(resting_kernel, rows.ctx)
    p[[1, 2]] = 0.0
    np.testing.assert_allclose(read(work.p_inelastic)[: p.size], p.reshape(-1) / 2)
    np.testing.assert_allclose(read(work.z_impact)[: rows.nv], rows.velocity_change(p.reshape(-1)) / 2, atol=1e-12)
    assert read(work.impact_member).tolist() == [1, 0, 0, 1]


def test_overlaps_that_part_by_themselves_are_corrected_by_what_is_left():
    rows, out = problem(), zeros(4)
    work = rows.ctx.work
    gaps = np.array([-0.02, -0.02, -0.03, 0.01])
    put(work.contact_gap, gaps)
    rows.ctx.here.z = column(velocities(rows, [1.5, 1.5, -1.0, 2.0]))
    run(separation_kernel, rows.ctx, out)
    np.testing.assert_allclose(read(out), [-0.005, -0.02, -0.03, 0.01], atol=1e-12)
    assert read(work.status)[Status.HAS_SEPARATIONS] == 1
    rows.ctx.here.z = column(velocities(rows, [-1.5, 1.5, -1.0, 2.0]))
    run(separation_kernel, rows.ctx, out)
    np.testing.assert_allclose(read(out), gaps)
    assert read(work.status)[Status.HAS_SEPARATIONS] == 0
