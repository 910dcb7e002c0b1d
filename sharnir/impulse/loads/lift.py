"""Energy that position corrections add by pushing links against gravity, and the warning where it counts (M-112)."""

from __future__ import annotations

import warp as wp

from sharnir.impulse.data import Context
from sharnir.impulse.loads.joint_work import centre_of, kinetic_energy_of
from sharnir.impulse.rows.warn import warn_of
from sharnir.impulse.slots import StepWarning
from sharnir.kernels.types import real

LIFT_SHARE = wp.constant(real(1.0e-3))  # of the kinetic energy, and of the weight along LIFT_HEIGHT
LIFT_HEIGHT = wp.constant(real(1.0e-3))  # m


@wp.func
def warn_of_lift(ctx: Context, w: int):
    """Warn where the pushes of this step, from the poses in `there` to those in `here`, add an energy that counts
    beside the motion."""
    lift = real(0.0)
    scale = real(0.0)
    i = int(0)
    while i < ctx.tree.links:
        push = centre_of(ctx, ctx.here, i, w) - centre_of(ctx, ctx.there, i, w)
        lift -= ctx.tree.mass[i] * wp.dot(ctx.tree.gravity, push)
        scale += kinetic_energy_of(ctx, i, w) + ctx.tree.mass[i] * wp.length(ctx.tree.gravity) * LIFT_HEIGHT
        i += 1
    if lift > LIFT_SHARE * scale:
        warn_of(ctx.state, int(StepWarning.LIFTED), w)
