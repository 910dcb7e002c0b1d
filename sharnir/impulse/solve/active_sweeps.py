"""Projected Gauss–Seidel loop over the active ones of many contacts, most of which do not change (M-85)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Scratch, StepContext
from sharnir.impulse.rows.contact_frame import contact_count
from sharnir.impulse.slots import Setting, StatusReal
from sharnir.impulse.solve.active_contacts import (
    activate_changed_frozen,
    extrapolate_active,
    freeze_contacts,
    restart_acceleration,
    sweep_active,
    sweep_frozen,
    unfreeze_contacts,
)
from sharnir.impulse.solve.island_newton import solve_islands
from sharnir.impulse.solve.pgs import (
    ISLAND_NEWTON_EVERY,
    PGS_CHECK_EVERY_ACCEPTED,
    acceleration_factor,
    check_convergence,
    is_out_of_time,
    stop_reason,
)
from sharnir.kernels.columns import get, get_int
from sharnir.kernels.indexed_blocks import copy_indexed_blocks
from sharnir.kernels.types import DOUBLE, array2, real

ACTIVATE_SHARE_OF_LARGEST = wp.constant(real(0.03))  # of the largest change of a sweep: less activates nothing
ACTIVATE_SHARE_OF_EPSILON = wp.constant(real(0.1))  # of ε: less never activates anything


@wp.func
def activation_threshold(work: Scratch, epsilon: real, worst: real, w: int):
    """Change of an impulse, N s, above which a contact activates its trees, after a sweep with largest change `worst`
    (M-85); infinite where all contacts are active."""
    all_active = get_int(work.active_contacts, 0, w) == contact_count(work, w)
    return wp.where(
        all_active, real(wp.inf), wp.max(ACTIVATE_SHARE_OF_EPSILON * epsilon, ACTIVATE_SHARE_OF_LARGEST * worst)
    )


@wp.func
def run_pgs_active(ctx: StepContext, z: array2, end: wp.float64, w: int):
    """Projected Gauss–Seidel of contacts alone, over active ones (M-85). Contacts of trees whose impulses do not change
    are frozen; the first sweep, each tenth and the last include them, and only these may end the loop. Returns the
    number of sweeps, the last change, N s, and the `StopReason`."""
    max_sweeps = int(ctx.state.settings[Setting.MAX_SWEEPS, 0])
    epsilon = get(ctx.work.status_real, StatusReal.SWEEP_TOLERANCE, w)
    worst = real(0.0)
    last_change2 = real(0.0)
    change_at_check = real(1.0e30)
    n = int(0)
    status = int(1)
    include_frozen = int(1)
    newly_active = int(0)  # bodies stirred whose contacts still rest
    freeze_contacts(ctx.layout, ctx.work, w)
    while status == 1 and n < max_sweeps:
        threshold = activation_threshold(ctx.work, epsilon, worst, w)
        worst = real(0.0)
        if include_frozen == 1:
            worst = sweep_frozen(ctx, z, ctx.work.p, w)
            newly_active += activate_changed_frozen(
                ctx.layout, ctx.work, activation_threshold(ctx.work, epsilon, worst, w), w
            )
        change2 = real(0.0)
        if n > 0:
            if newly_active > 0:
                unfreeze_contacts(ctx.layout, ctx.work, ctx.work.p, w)
            copy_indexed_blocks(z, ctx.work.z_old, ctx.work.touched_dofs, 0, 1, 1, w)
            change, active_change2, activated = sweep_active(ctx, threshold, z, ctx.work.p, w)
            worst = wp.max(worst, change)
            change2 = active_change2
            newly_active = activated
        n += 1
        if include_frozen == 1:
            status, change_at_check = check_convergence(ctx.state, n, worst, epsilon, change_at_check, 1, end, w)
        elif is_out_of_time(ctx.state, real(n), end, w):
            status = 2
        if wp.static(DOUBLE):
            if status == 1 and n % ISLAND_NEWTON_EVERY == 0:
                solve_islands(ctx, epsilon, z, ctx.work.p, w)
                restart_acceleration(ctx.layout, ctx.work, z, ctx.work.p, w)
                change2 = real(0.0)
        if status == 1 and n < max_sweeps:
            include_frozen = wp.where(
                worst <= epsilon or (n + 1) % PGS_CHECK_EVERY_ACCEPTED == 0 or n + 1 == max_sweeps, 1, 0
            )
            extrapolate_active(ctx.layout, ctx.work, acceleration_factor(last_change2, change2), z, ctx.work.p, w)
            last_change2 = change2
    return n, worst, stop_reason(ctx.state, status, worst, epsilon)
