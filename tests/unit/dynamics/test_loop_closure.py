"""Closing loops: gaps and their rates, the nearest positions, limits, what is held, and what cannot be closed."""

from __future__ import annotations

import numpy as np
import pytest
from refusal import refused

import sharnir as sh
from sharnir import scenes
from sharnir.dynamics import close_loops, crba
from sharnir.dynamics.loop_closure import difference, loops_at, moved, nearest_rates, refuse_open, unit_quaternions

LINKAGES = ("four_bar", "slider_crank", "peaucellier", "andrews", "double_wishbone", "n_four_bar")


def loop_of(joint, **coupling):
    """Two bodies on a ball and a hinge, whose tips a joint ties to each other; and a flying base they may be on."""
    scene = sh.Scene(name="loop")
    mass = {"mass": 1.0, "inertia": (0.1, 0.2, 0.3)}
    scene.add(sh.Body(name="base", **mass))
    scene.add(sh.Body(name="a", position=(1.0, 0.0, 0.0), **mass))
    scene.add(sh.Body(name="b", position=(0.0, 1.0, 0.0), **mass))
    scene.add(
        sh.Spherical(name="ball", parent="a", child="base", anchor=(0.5, 0.0, 0.0))
    )  # crossed from child to parent
    scene.add(sh.Revolute(name="hinge", parent="base", child="b", anchor=(0.0, 0.5, 0.0), axis=(1.0, 0.3, 0.2)))
    scene.add(joint)
    for name, ends in coupling.items():
        scene.add(sh.Coupling(name=name, **ends))
    return sh.compile(scene)


ENDS = {"parent": "a", "child": "b", "anchor": (1.0, 1.0, 0.5)}
LOOPS = [
    sh.Spherical(name="tie", **ENDS), sh.Universal(name="tie", axis=(1, 0, 0.1), axis2=(-0.1, 0, 1), **ENDS),
    sh.Revolute(name="tie", axis=(0, 1, 1), **ENDS), sh.Prismatic(name="tie", axis=(0, 1, 1), **ENDS),
    sh.Cylindrical(name="tie", axis=(0, 1, 1), **ENDS), sh.Planar(name="tie", axis=(0, 1, 1), **ENDS),
    sh.Helical(name="tie", axis=(0, 1, 1), pitch=0.1, **ENDS), sh.Fixed(name="tie", **{**ENDS}),
]  # fmt: skip


@pytest.mark.parametrize("joint", LOOPS, ids=lambda j: type(j).__name__)
def test_rows_are_the_rates_of_gaps(joint):
    """Central differences, also through quaternions that are crossed from child to parent."""
    model = loop_of(joint)
    rng = np.random.default_rng(5)
    q = moved(model, model.q0, rng.uniform(-0.3, 0.3, model.nv))
    at = loops_at(model, q)
    scalars = np.flatnonzero(np.isfinite(at.position))
    for v in np.eye(model.nv):
        there, back = (loops_at(model, moved(model, q, sign * 1e-6 * v)) for sign in (1, -1))
        np.testing.assert_allclose(
            (there.gaps - back.gaps) / 2e-6, at.J @ v, atol=2e-2 if type(joint) is sh.Helical else 1e-7
        )
        rates = (there.position - back.position)[scalars] / 2e-6
        if len(at.gaps) == 0:
            np.testing.assert_allclose(rates, (at.rates @ v)[scalars], atol=1e-7)


def test_a_step_to_a_difference_arrives():
    model = loop_of(LOOPS[0])
    rng = np.random.default_rng(6)
    for _ in range(20):
        q, other = (moved(model, model.q0, rng.uniform(-1, 1, model.nv)) for _ in range(2))
        there = moved(model, q, difference(model, q, other))
        np.testing.assert_allclose(np.abs(there), np.abs(other), atol=1e-12)


@pytest.mark.parametrize("name", LINKAGES)
@pytest.mark.parametrize("far", [0.05, 0.3])
def test_linkages_close_from_guesses_no_farther_than_the_start(name, far):
    """The start closes the loops, so that the nearest positions are no farther, by the inertia of the guess."""
    model = sh.compile(scenes.make(name))
    rng = np.random.default_rng(1)
    for _ in range(4):
        guess = moved(model, model.q0, rng.uniform(-far, far, model.nv))
        q = close_loops(model, guess)
        assert np.abs(loops_at(model, q).gaps).max() < 1e-9
        M = crba(model, guess)
        found, start = (difference(model, guess, x) for x in (q, model.q0))
        assert found @ M @ found <= 1.15 * start @ M @ start
        # no way along the loops leads nearer: what is left is normal to them, in the metric of the inertia
        L = np.linalg.cholesky(M)
        _, sizes, Vt = np.linalg.svd(np.linalg.solve(L, loops_at(model, q).J.T).T)
        along = Vt[(sizes > 1e-9 * sizes[0]).sum() :] @ (L.T @ found)
        assert np.linalg.norm(along) < 1e-3 * np.linalg.norm(L.T @ found)


def test_what_is_closed_stays_to_the_bit():
    for name in LINKAGES:
        model = sh.compile(scenes.make(name))
        np.testing.assert_array_equal(close_loops(model, model.q0), model.q0)


def test_joints_that_are_held_stay_and_the_others_follow():
    model = sh.compile(scenes.make("four_bar"))
    crank = model.joint_names[0]
    where = model.joint(crank).q
    for turn in np.linspace(0, 2 * np.pi, 9):
        guess = model.q0.copy()
        guess[where] += turn
        try:
            q = close_loops(model, guess, held=[crank])
        except sh.ModelError as error:
            assert "stays open" in str(error)
            continue
        assert q[where] == guess[where] and np.abs(loops_at(model, q).gaps).max() < 1e-9
    with refused("closes a loop"):
        close_loops(model, model.q0, held=[model.joint_names[-1]])
    with refused("unknown joint 'nobody'"):
        close_loops(model, model.q0, held=["nobody"])
    with refused("held: is one text"):
        close_loops(model, model.q0, held=crank)


def triangle(limits=None, reach=1.0):
    """A slide on a wall and a rod on a hinge, of length `reach`, tied at the rod's tip."""
    scene = sh.Scene(name="triangle")
    scene.add(sh.Body(name="slide", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    scene.add(sh.Body(name="rod", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0.0, 0.0, 0.0)))
    scene.add(sh.Prismatic(name="rail", parent="world", child="slide", axis=(1, 0, 0), limits=limits))
    scene.add(sh.Revolute(name="hinge", parent="slide", child="rod", anchor=(0, 0, 0), axis=(0, 0, 1)))
    scene.add(sh.Revolute(name="pin", parent="world", child="rod", anchor=(0, reach, 0), axis=(0, 0, 1)))
    return sh.compile(scene)


def test_limits_hold_and_loops_that_cannot_close_within_are_refused():
    """The only closed position is that of the start: rod upright."""
    model = triangle(limits=(-0.5, 0.5))
    np.testing.assert_allclose(close_loops(model, [0.3, 0.4]), [0.0, 0.0], atol=1e-4)
    with refused("stays open (close_loops)", "a gap of 0.0422 m"):
        close_loops(model, [0.3, 0.4], held=["rail"])


def test_limits_of_joints_in_the_tree_are_kept():
    model = sh.compile(scenes.make("slider_crank"))
    crank = int(model.joint(model.joint_names[0]).v.start)
    lower, upper = model.limit_lower.copy(), model.limit_upper.copy()
    angles = model.limit_angles.copy()
    upper[crank], lower[crank], angles[crank] = model.q0[crank] + 0.1, model.q0[crank] - 0.1, 1
    from dataclasses import replace

    limited = replace(model, limit_lower=lower, limit_upper=upper, limit_angles=angles, cache={})
    guess = model.q0.copy()
    guess[crank] += 0.8
    q = close_loops(limited, guess)
    assert q[crank] <= upper[crank] + 1e-12 and np.abs(loops_at(limited, q).gaps).max() < 1e-9


def test_couplings_are_closed_too():
    scene = sh.Scene(name="geared")
    for name, x in (("a", 0.0), ("b", 1.0)):
        scene.add(sh.Body(name=name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=(x, 0.0, 0.0)))
        scene.add(sh.Revolute(name=f"pin_{name}", parent="world", child=name, anchor=(x, 0, 0), axis=(0, 0, 1)))
    scene.add(sh.Coupling(name="gear", leader="pin_a", follower="pin_b", ratio=-2.0))
    model = sh.compile(scene)
    q = close_loops(model, [0.5, 0.0])
    assert q[1] == pytest.approx(-2 * q[0], abs=1e-10)
    np.testing.assert_allclose(q, [0.1, -0.2], atol=1e-9)  # the projection, both being as heavy
    assert nearest_rates(model, q, np.array([1.0, 0.0]), np.array([True, False])) == pytest.approx([1.0, -2.0])
    with refused("coupling 'gear': does not hold (here)", "off by 1 m or rad"):
        refuse_open(model, np.array([0.5, 0.0]), "here", 1e-6)


def test_a_joint_that_is_turned_over_is_open():
    """Its rows are zero where its axes point in opposite directions."""
    model = loop_of(LOOPS[2])
    base = model.joint("ball").q
    q = model.q0.copy()
    at = loops_at(model, q)
    assert not at.turned.any()
    rng = np.random.default_rng(2)
    for _ in range(30):
        guess = moved(model, q, rng.uniform(-3, 3, model.nv))
        try:
            found = close_loops(model, guess)
        except sh.ModelError as error:
            assert "joint 'tie': stays open" in str(error)
            continue
        assert not loops_at(model, found).turned.any() and np.abs(loops_at(model, found).gaps).max() < 1e-9
    assert np.linalg.norm(unit_quaternions(model, q * 3.0)[base]) == pytest.approx(1.0)


def test_axes_that_point_in_opposite_directions_are_not_closed():
    """A body on a ball joint that a hinge in the same place ties too, turned by half a turn across the hinge."""
    scene = sh.Scene(name="over")
    scene.add(sh.Body(name="body", mass=1.0, inertia=(0.1, 0.2, 0.3)))
    scene.add(sh.Spherical(name="ball", parent="world", child="body", anchor=(0, 0, 0)))
    scene.add(sh.Revolute(name="hinge", parent="world", child="body", anchor=(0, 0, 0), axis=(0, 0, 1)))
    model = sh.compile(scene)
    tree = model.joint_names[0]
    at = loops_at(model, moved(model, model.q0, np.array([np.pi, 0.0, 0.0])[: model.nv]))
    assert tree == "ball" and np.abs(at.gaps).max() < 1e-12 and at.turned[0] == np.pi
    with refused("joint 'hinge': stays open", "a gap of 0 m and 180°"):
        close_loops(model, [1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("q", "sentence"),
    [([0.0], "q has the wrong shape: given [1]"), ([np.nan, 0.0], "q[0] is not finite"), (None, "q is missing"),
     ([[0.0], [0.0]], "q has the wrong shape: given [2, 1]; allowed: [2]")],
)  # fmt: skip
def test_bad_guesses_are_refused(q, sentence):
    with refused(sentence):
        close_loops(triangle(), q)
