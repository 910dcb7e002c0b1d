"""Layout of scalar rows: entries are the coordinates that move what a row measures, seen by moving them."""

from __future__ import annotations

import numpy as np
import pytest
from random_trees import moved, random_scene, random_state

import sharnir as sh
from sharnir.impulse.layout.scalar_layout import collect_scalars, relative_dofs
from sharnir.impulse.row_kinds import RowKind
from sharnir.model.kinematics import link_poses
from sharnir.model.poses import IDENTITY_POSE


@pytest.mark.parametrize("seed", range(4))
def test_entries_of_a_row_between_two_links_are_the_coordinates_that_move_either(seed):
    """A whitened row W = J L⁻ᵀ has entries at all ancestors of both links, those they share included: each coordinate
    is moved by 0.3 rad or m, and a pose then changes by more than 1e-6, or by rounding only."""
    rng = np.random.default_rng(seed)
    model = sh.compile(random_scene(rng, 8))
    q = random_state(rng, model).q
    still = [*link_poses(model, q), IDENTITY_POSE]  # the world is link −1
    moves = np.zeros((model.nv, model.nb + 1), dtype=bool)
    for d, along in enumerate(np.eye(model.nv)):
        for i, pose in enumerate(link_poses(model, moved(model, q, along, 0.3))):
            moves[d, i] = max(np.abs(pose.R - still[i].R).max(), np.abs(pose.x - still[i].x).max()) > 1e-6
    for a, b in rng.integers(-1, model.nb, size=(20, 2)).tolist():
        found = relative_dofs(model, a, b)
        assert found == sorted(found, reverse=True)  # up the tree
        assert found[::-1] == np.flatnonzero(moves[:, a] | moves[:, b]).tolist()


def machine() -> sh.Scene:
    """Two hinges in a row with a limit and friction, a slider with a motor, a coupling and a spring."""
    scene = sh.Scene(name="machine")
    for name, x in (("a", 0.5), ("b", 1.5), ("c", 3.0)):
        scene.add(sh.Body(name=name, shapes=[sh.Box(size=(0.1, 0.1, 0.1))], position=(x, 0, 0)))
    scene.add(sh.Revolute(name="first", parent="world", child="a", axis=(0, 1, 0), limits=(-1, 2)))
    scene.add(sh.Revolute(name="second", parent="a", child="b", anchor=(1, 0, 0), axis=(0, 1, 0), friction=0.3))
    scene.add(sh.Prismatic(name="slide", parent="world", child="c", axis=(0, 0, 1)))
    scene.add(sh.Motor(name="motor", joint="slide", velocity=1.0))
    scene.add(sh.Coupling(name="gear", leader="first", follower="slide", ratio=0.5))
    scene.add(sh.Spring(name="spring", parent="b", child="c", stiffness=10.0))
    return scene


def test_rows_of_a_machine_have_their_kinds_and_places():
    """Rows in the order coordinates, couplings, springs; their entries in `index` and in W lie one after the other."""
    model = sh.compile(machine())
    builder, starts = collect_scalars(model)
    v = {name: model.joint(name).v.start for name in ("first", "second", "slide")}
    by_coordinate = {row.source[0]: row for row in builder.rows[:3]}
    assert (
        by_coordinate[v["first"]].row_kinds == RowKind.BOUND
        and by_coordinate[v["second"]].row_kinds == RowKind.FRICTION
    )
    assert by_coordinate[v["slide"]].row_kinds == RowKind.MOTOR and by_coordinate[v["slide"]].motor == 0
    assert (by_coordinate[v["first"]].lower, by_coordinate[v["first"]].upper) == (-1, 2)
    assert by_coordinate[v["second"]].entries == [v["second"], v["first"]]
    gear, spring = builder.rows[3:]
    assert gear.row_kinds == RowKind.BOUND and gear.lower == gear.upper == 0 and spring.row_kinds == RowKind.COMPLIANT
    assert sorted(gear.entries) == sorted([v["first"], v["slide"]]) and sorted(spring.entries) == sorted(v.values())
    assert starts == [0]
    taken = 0
    for row in builder.rows:
        assert row.W_start == taken
        assert builder.index[row.index_start : row.index_start + len(row.entries)] == row.entries
        taken += len(row.entries)
    assert builder.W_size == taken
