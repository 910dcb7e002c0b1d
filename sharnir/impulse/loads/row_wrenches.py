"""Impulses of rows on the links, as wrenches about the pivots: what is subtracted from the momenta that links gain to
find what the tree's joints give them."""

from __future__ import annotations

import warp as wp

from sharnir.dynamics.forces import pivot_of, spring_end_position
from sharnir.dynamics.tree import Workspace
from sharnir.enums import ScalarSource
from sharnir.impulse.data import Context, Scratch
from sharnir.impulse.layout.layout import Layout
from sharnir.impulse.row_kinds import SCALAR_IMPULSES, ScalarImpulse
from sharnir.impulse.rows.belts import find_belt_motion
from sharnir.impulse.rows.contact_frame import contact_count, contact_impulse_of
from sharnir.kernels.columns import get, get3, item3, item_int, put3
from sharnir.kernels.types import VEC3, real, vec3


@wp.func
def subtract_impulse(ws: wp.ref[Workspace], link: int, r: vec3, f: vec3, n: vec3, w: int):
    """Subtract a known impulse, a force at r from the pivot and a torque, from what the tree's joints must
    give a link."""
    if link >= 0:
        put3(ws.p, 2 * link, w, get3(ws.p, 2 * link, w) - f)
        put3(ws.p, 2 * link + 1, w, get3(ws.p, 2 * link + 1, w) - n - wp.cross(r, f))


@wp.func
def scalar_impulse_of(layout: wp.ref[Layout], work: wp.ref[Scratch], l: int, w: int):
    """Sum of the impulses of scalar l."""
    at = layout.scalar_p_start + SCALAR_IMPULSES * l
    return (
        get(work.p, at, w)
        + get(work.p, at + ScalarImpulse.FRICTION, w)
        + get(work.p, at + ScalarImpulse.MOTOR, w)
        + get(work.p, at + ScalarImpulse.COMPLIANT, w)
    )


@wp.func
def subtract_spring_impulses(ctx: Context, w: int):
    """Subtract the impulses of springs between points."""
    l = int(0)
    while l < ctx.layout.scalars:
        if ctx.layout.scalar_source_kind[l] == ScalarSource.SPRING:
            s = ctx.layout.scalar_source[2 * l]
            a = ctx.tree.spring_link[2 * s]
            b = ctx.tree.spring_link[2 * s + 1]
            xa = spring_end_position(ctx.tree, ctx.here, 2 * s, w)
            xb = spring_end_position(ctx.tree, ctx.here, 2 * s + 1, w)
            f = wp.normalize(xb - xa) * scalar_impulse_of(ctx.layout, ctx.work, l, w)
            subtract_impulse(ctx.here, a, xa - pivot_of(ctx.tree, ctx.here, a, w), -f, vec3(), w)
            subtract_impulse(ctx.here, b, xb - pivot_of(ctx.tree, ctx.here, b, w), f, vec3(), w)
        l += 1


@wp.func
def subtract_contact_impulses(ctx: Context, w: int):
    """Subtract the impulses of contacts, with the tension of belts."""
    c = int(0)
    while c < contact_count(ctx.work, w):
        f, n = contact_impulse_of(ctx.layout, ctx.state, ctx.work, c, w)
        x = item3(ctx.state.contacts.point, VEC3 * c, w)
        normal = item3(ctx.state.contacts.normal, VEC3 * c, w)
        side = int(0)
        while side < 2:
            shape = item_int(ctx.state.contacts.shape, 2 * c + side, w)
            link = ctx.layout.contact_model.geo.link[shape]
            sign = wp.where(side == 0, real(-1.0), real(1.0))
            belt = find_belt_motion(ctx.here, ctx.layout, shape, normal * -sign, w)
            torque = n * sign
            if belt.sprocket >= 0:
                belt_torque = belt.axis * (sign * wp.dot(f, belt.travel))
                torque = torque - belt_torque
                subtract_impulse(ctx.here, belt.sprocket, vec3(), vec3(), belt_torque, w)
            subtract_impulse(ctx.here, link, x - pivot_of(ctx.tree, ctx.here, link, w), f * sign, torque, w)
            side += 1
        c += 1
