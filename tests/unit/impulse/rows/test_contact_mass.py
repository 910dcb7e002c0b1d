"""Effective mass of contacts (M-56): blocks of W Wᵀ and what the block solve needs of them, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from engine_parts import FAST_COMPILE, INVERSE, WORLD, Rows, put, read, run

from sharnir.impulse.data import StepContext
from sharnir.impulse.rows.contact_mass import MAX_MASS_WEIGHT, REDUNDANT_ROW_REGULARISATION, compute_contact_mass
from sharnir.impulse.slots import ContactMass, Setting

wp.set_module_options(FAST_COMPILE)
CONTACTS = [(0, 1), (1, WORLD), (WORLD, 2)]
MEAN_MASS = 4.0  # kg


@wp.kernel
def mass_kernel(ctx: StepContext):
    c = wp.tid()
    compute_contact_mass(ctx.layout, ctx.state, ctx.work, c, 0, 0)


def masses(rows: Rows, weighted: int = 0) -> np.ndarray:
    """[contact, slot] as computed; the slots that the problem was laid out with are cleared before."""
    put(rows.ctx.work.contact_mass, np.zeros(rows.contacts * ContactMass.SIZE))
    put(rows.ctx.state.settings, [MEAN_MASS], Setting.MEAN_MASS)
    put(rows.ctx.state.settings, [weighted], Setting.MASS_WEIGHTED_CHANGES)
    run(mass_kernel, rows.ctx, threads=rows.contacts)
    return read(rows.ctx.work.contact_mass).reshape(rows.contacts, ContactMass.SIZE)


@pytest.mark.parametrize("torsional", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_are_inverted_as_numpy_does(seed, torsional):
    """Random rows of 3 to 12 entries: condition numbers up to 1e4 lose so many of 16 digits."""
    rows = Rows(np.random.default_rng(seed), contacts=CONTACTS, torsional=torsional)
    found = masses(rows)
    for c in range(rows.contacts):
        expected = rows.block(c)
        expected[ContactMass.LIGHTNESS] = MEAN_MASS * (rows.contact(c)[0] ** 2).sum()
        np.testing.assert_allclose(found[c], expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_changes_of_light_contacts_count_more_up_to_a_factor():
    rows = Rows(np.random.default_rng(0), contacts=CONTACTS)
    for scale, c in ((1e-3, 0), (3.0, 1), (1e3, 2)):
        for start, length, _ in rows.halves[c]:
            rows.W[start : start + 3 * length] *= scale
    rows.upload()
    light = [MEAN_MASS * (rows.contact(c)[0] ** 2).sum() for c in range(3)]
    assert light[0] < 1 < light[1] < float(MAX_MASS_WEIGHT) < light[2]
    weights = masses(rows, weighted=1)[:, ContactMass.CHANGE_WEIGHT]
    np.testing.assert_allclose(weights, [1.0, light[1], float(MAX_MASS_WEIGHT)], rtol=1e-12)
    assert (masses(rows, weighted=0)[:, ContactMass.CHANGE_WEIGHT] == 1).all()


def test_rows_that_imply_each_other_are_regularised_and_rows_that_move_nothing_get_no_impulse():
    """The second tangential row a multiple of the first: the diagonal grows by 1e-3 of itself, which leaves a condition
    number of some 1e5. A contact whose rows are zero has the inverse 0."""
    rows = Rows(np.random.default_rng(0), contacts=CONTACTS)
    for start, length, _ in rows.halves[1]:
        rows.W[start + 2 * length : start + 3 * length] = 2 * rows.W[start + length : start + 2 * length]
    for start, length, _ in rows.halves[2]:
        rows.W[start : start + 3 * length] = 0.0
    rows.ctx.work.W.assign(rows.W)
    found = masses(rows)
    K = rows.contact(1) @ rows.contact(1).T
    K += float(REDUNDANT_ROW_REGULARISATION) * np.diag(np.diag(K))
    np.testing.assert_allclose(found[1, INVERSE].reshape(3, 3) @ K, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(found[1, ContactMass.NORMAL], 1 / K[0, 0], rtol=1e-12)
    assert not found[2, : ContactMass.CHANGE_WEIGHT].any()
