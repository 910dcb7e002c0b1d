"""Impulses of contacts at rest in the half of a step before impacts (M-86)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context, Iterate, make_iterate
from sharnir.impulse.rows.contact_frame import apply_contact_impulse, contact_count
from sharnir.impulse.solve.contact_work import contact_impulse_of
from sharnir.impulse.solve.impacts.reflections import sweep_members
from sharnir.impulse.tolerances import TOL_REST_SPEED
from sharnir.kernels.columns import get_int
from sharnir.kernels.types import real
from sharnir.kernels.vector_ops import copy

MAX_REST_SWEEPS = 50


@wp.func
def settle_resting(ctx: Context, x: wp.ref[Iterate], kick: wp.ref[Iterate], w: int):
    """Solve for the impulses x.p with which the marked contacts rest after half of the step's forces, and count twice
    these among its forces: kick.z. Those of the last step, where sweeps begin, may be those of an impact."""
    worst = real(1.0)
    n = int(0)
    while n < MAX_REST_SWEEPS and worst > TOL_REST_SPEED:
        worst = sweep_members(ctx, x, w)
        n += 1
    copy(x.z, ctx.work.z_half_kick, ctx.layout.z_size, w)
    before = make_iterate(ctx.work.z_half_kick, x.p, x.direct)
    c = int(0)
    while c < contact_count(ctx.work, w):
        if get_int(ctx.work.impact_member, c, w) == 1:
            p = contact_impulse_of(ctx, c, 0, x.p, w)
            apply_contact_impulse(ctx, c, 0, p * real(2.0), kick, w)
            apply_contact_impulse(ctx, c, 0, -p, before, w)
        c += 1
