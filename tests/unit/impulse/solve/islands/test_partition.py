"""Islands (M-61): trees joined by contacts and scalar rows, against scipy's connected components; what is listed of
one, and which are left out."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, WORLD, Rows, put, read, run, zeros
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from sharnir.impulse.data import MAX_ISLAND_DOFS, StepContext
from sharnir.impulse.row_kinds import RowKind
from sharnir.impulse.slots import ContactMass
from sharnir.impulse.solve.islands.partition import (
    MASS_RATIO,
    build_islands,
    find_island,
    find_worst_light_contact,
    list_island,
    skip_large_islands,
)
from sharnir.kernels.types import array2, real

wp.set_module_options(FAST_COMPILE)


@wp.kernel
def islands_kernel(ctx: StepContext, out: array2):
    build_islands(ctx.layout, ctx.state, ctx.work, 0)
    for i in range(ctx.layout.links):
        out[i, 0] = real(find_island(ctx.work, i, 0))


@wp.kernel
def list_kernel(ctx: StepContext, seed: int, out: array2):
    build_islands(ctx.layout, ctx.state, ctx.work, 0)
    out[0, 0] = real(list_island(ctx.layout, ctx.state, ctx.work, seed, 0))


@wp.kernel
def skip_kernel(ctx: StepContext, epsilon: real, out: array2):
    build_islands(ctx.layout, ctx.state, ctx.work, 0)
    out[0, 0] = real(find_worst_light_contact(ctx.work, epsilon, 0))
    skip_large_islands(ctx.layout, ctx.state, ctx.work, 0)
    out[1, 0] = real(find_worst_light_contact(ctx.work, epsilon, 0))


@pytest.mark.parametrize("seed", range(5))
def test_islands_are_connected_components(seed):
    rng, trees = np.random.default_rng(seed), 12
    pairs = [tuple(sorted(rng.choice(trees, 2, replace=False).tolist())) for _ in range(7)]
    pairs += [(int(rng.integers(trees)), WORLD) for _ in range(4)]  # the world joins nothing
    coupled = sorted(rng.choice(trees, 3, replace=False).tolist())
    rows = Rows(rng, trees=[3] * trees, contacts=pairs, scalars=[([3 * t for t in coupled], RowKind.BOUND)])
    out = zeros(trees)
    run(islands_kernel, rows.ctx, out)
    edges = [p for p in pairs if WORLD not in p] + [(coupled[0], coupled[1]), (coupled[0], coupled[2])]
    graph = coo_matrix((np.ones(len(edges)), np.array(edges).T), shape=(trees, trees))
    _, group = connected_components(graph, directed=False)
    first = read(out).astype(int)
    assert all((first[i] == first[j]) == (group[i] == group[j]) for i in range(trees) for j in range(trees))
    size = rows.ctx.work.island_size.numpy()[:, 0]
    assert [size[i] for i in first] == [3 * (group == g).sum() for g in group]


@pytest.mark.parametrize("seed", range(5))
def test_coordinates_contacts_and_scalar_rows_of_an_island_are_those_reached_from_its_contact(seed):
    """The oracle floods from the contact's trees along contacts and rows; all is counted, so that nothing is rounded.
    Contacts of the island are marked as handled, the others are not."""
    rng, trees = np.random.default_rng(seed), 8
    pairs = [tuple(rng.choice(trees, 2, replace=False).tolist()) for _ in range(4)] + [
        (int(rng.integers(trees)), WORLD)
    ]
    coupled = [rng.choice(trees, 2, replace=False).tolist() for _ in range(2)]
    rows = Rows(
        rng, trees=[3] * trees, contacts=pairs, scalars=[([3 * a, 3 * b + 1], RowKind.BOUND) for a, b in coupled]
    )
    put(rows.ctx.work.contact_impulse_change, np.ones(len(pairs)))
    reached, out = {t for t in pairs[0] if t != WORLD}, zeros(1)
    for _ in range(trees):
        for pair in [*pairs, *coupled]:
            reached |= {t for t in pair if t != WORLD} if reached & set(pair) else set()
    run(list_kernel, rows.ctx, 0, out)
    work = rows.ctx.work
    dofs, contacts, scalars = (a.numpy()[:, 0] for a in (work.island_dofs, work.island_contacts, work.island_scalars))
    size = int(read(out)[0])
    assert dofs[:size].tolist() == [3 * t + k for t in sorted(reached) for k in range(3)]
    assert work.dof_in_island.numpy()[dofs[:size], 0].tolist() == list(range(size))
    inside = [c for c, pair in enumerate(pairs) if reached & set(pair)]
    assert contacts[1 : 1 + contacts[0]].tolist() == inside
    assert scalars[1 : 1 + scalars[0]].tolist() == [l for l, pair in enumerate(coupled) if reached & set(pair)]
    assert np.flatnonzero(read(work.contact_impulse_change) == 0).tolist() == inside


def test_the_worst_light_contact_outside_large_islands_is_found():
    """Contacts change by 1, 2, 3 and 4 N s: the fourth moves no light body, the third is of an island with more
    coordinates than may be solved, the second remains."""
    half = MAX_ISLAND_DOFS // 2
    rows, out = (
        Rows(np.random.default_rng(0), trees=(half, half + 1, 3, 3), contacts=[(2, 3), (3, 2), (0, 1), (2, 3)]),
        zeros(2),
    )
    work, mass = rows.ctx.work, np.zeros((4, ContactMass.SIZE))
    mass[:, ContactMass.LIGHTNESS] = float(MASS_RATIO) * np.array([1.1, 1.1, 1.1, 0.9])
    put(work.contact_mass, mass.reshape(-1))
    put(work.contact_impulse_change, [1.0, 2.0, 3.0, 4.0])
    run(skip_kernel, rows.ctx, 0.5, out)
    assert read(out).tolist() == [2, 1]
    put(work.contact_impulse_change, [1.0, 2.0, 0.0, 4.0])
    run(skip_kernel, rows.ctx, 2.5, out)
    assert read(out).tolist() == [-1, -1]
