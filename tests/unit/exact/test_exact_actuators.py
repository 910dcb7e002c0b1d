"""Explicit forces of actuators: gain and bias laws, clamps, against a loop over their terms."""

from __future__ import annotations

import numpy as np

import sharnir as sh
from sharnir.exact.actuators import actuator_forces, gather_positions, gear_matrix


def arm() -> sh.Model:
    """A ball joint, two hinges and a slider; actuators on one, two and the same coordinate twice."""
    scene = sh.Scene(name="arm")
    for name in "abcd":
        scene.add(sh.Body(name=name, shapes=[sh.Box(size=(0.1, 0.2, 0.3))]))
    scene.add(sh.Spherical(name="ball", parent="world", child="a"))
    scene.add(sh.Revolute(name="hinge", parent="a", child="b", axis=(0, 1, 0), max_force=0.8))
    scene.add(sh.Revolute(name="other", parent="b", child="c", axis=(1, 0, 0)))
    scene.add(sh.Prismatic(name="slide", parent="c", child="d", axis=(0, 0, 1)))
    law = {"gain": (1.5, -0.5, 0.25), "bias": (0.1, -2.0, -0.7)}
    scene.add(sh.Actuator(name="one", joints=["hinge"], gears=[2.0], **law, force_limits=(-0.9, 1.2)))
    scene.add(sh.Actuator(name="two", joints=["other", "slide"], gears=[0.5, -3.0], **law))
    scene.add(sh.Actuator(name="again", joints=["hinge", "ball"], coordinates=[0, 2], gears=[-1.0, 0.7], **law))
    return sh.compile(scene)


def test_forces_follow_their_law_and_are_clamped_twice():
    """f = (g₀ + g₁ s + g₂ ṡ) u + b₀ + b₁ s + b₂ ṡ along s = Σ gear q, within limits of the actuator, then of the joint.
    A ball joint's coordinates have no position. Sums of a few products: 1e-14 of sizes around ten."""
    model, rng, worlds = arm(), np.random.default_rng(0), 5
    q_all = rng.normal(size=(model.nq, worlds))
    v, u = rng.normal(size=(model.nc, worlds)), 2 * rng.normal(size=(3, worlds))
    q = gather_positions(model, q_all)
    f, loads = actuator_forces(model, gear_matrix(model), q, v, u)
    place = {name: (model.joint(name).q.start, model.joint(name).v.start) for name in ("hinge", "other", "slide")}
    ball = model.joint("ball").v.start + 2
    terms = [[("hinge", 2.0)], [("other", 0.5), ("slide", -3.0)], [("hinge", -1.0), (None, 0.7)]]
    clamped = 0
    for w in range(worlds):
        total = np.zeros(model.nc)
        for a, path in enumerate(terms):
            s = sum(gear * q_all[place[name][0], w] for name, gear in path if name)
            rate = sum(gear * v[place[name][1] if name else ball, w] for name, gear in path)
            force = (1.5 - 0.5 * s + 0.25 * rate) * u[a, w] + 0.1 - 2.0 * s - 0.7 * rate
            if a == 0:
                clamped += not -0.9 < force < 1.2
                force = min(max(force, -0.9), 1.2)
            np.testing.assert_allclose(f[a, w], force, atol=1e-13)
            for name, gear in path:
                total[place[name][1] if name else ball] += gear * force
        hinge = place["hinge"][1]
        clamped += abs(total[hinge]) > 0.8
        total[hinge] = min(max(total[hinge], -0.8), 0.8)
        np.testing.assert_allclose(loads[:, w], total, atol=1e-13)
    assert clamped > 3
