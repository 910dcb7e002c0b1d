"""Support table of convex hulls: for each cell of directions the vertices that can be the support vertex.

A cube map about the hull has CUBE_MAP_CELLS × CUBE_MAP_CELLS cells a face. A vertex that another one dominates along
all four corner directions of a cell is dominated along all directions of the cell; the rest, three to seven of
hundreds, are compared in the search. The answer does not depend on a start vertex, as it does in hill climbing along
edges.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sharnir.model.model import Ints, Reals

MAX_SINGLE_CELL_VERTICES = 16  # hulls of up to so many vertices are one cell


def build_support_table(starts: Ints, vertices: Reals) -> tuple[Ints, Ints, Ints]:
    """Build the support table of hulls whose vertices (m) begin at `starts` [hull + 1]: [hull + 1] first cell of each
    hull, [cell + 1] first candidate of each cell, and the candidates as vertex indices."""
    corners = compute_cell_corners()
    first_cell, sizes, numbers = [0], [np.zeros(1, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
    for first, last in pairwise(starts.tolist()):
        if last - first <= MAX_SINGLE_CELL_VERTICES:
            counts, candidates = np.array([last - first]), np.arange(last - first)
        else:
            counts, candidates = _find_support_candidates(vertices[first:last], corners)
        first_cell.append(first_cell[-1] + len(counts))
        sizes.append(counts)
        numbers.append(first + candidates)
    in_cell = np.cumsum(np.concatenate(sizes), dtype=np.int32)
    return np.array(first_cell, dtype=np.int32), in_cell, np.concatenate(numbers).astype(np.int32)


def compute_cell_corners() -> Reals:
    """[4, cells, 3] directions of the corners of all cells, in the order of
    `sharnir.collision.convex.support_mapping.cube_map_cell_of`."""
    grid = np.linspace(-1.0, 1.0, CUBE_MAP_CELLS + 1)
    out = []
    for rows, columns in ((grid[:-1], grid[:-1]), (grid[1:], grid[:-1]), (grid[:-1], grid[1:]), (grid[1:], grid[1:])):
        row, column = (a.ravel() for a in np.meshgrid(rows, columns, indexing="ij"))
        face = np.stack([np.ones(CUBE_MAP_CELLS * CUBE_MAP_CELLS), row, column], axis=1)
        out.append(np.concatenate([np.roll(face * [sign, 1, 1], k, axis=1) for sign in (1, -1) for k in range(3)]))
    return np.array(out)


def _find_support_candidates(points: Reals, corners: Reals) -> tuple[Ints, Ints]:
    """Number of support candidates of each cell among points [n, 3], and the candidates. Points are compared with those
    that are support points along the cell's middle or a corner."""
    along = corners @ points.T  # [4, cells, n]
    rivals = [along.sum(axis=0).argmax(axis=1), *along.argmax(axis=2)]
    cells = np.arange(corners.shape[1])
    dominated = np.all([values < values[cells, rivals[0], None] for values in along], axis=0)
    cell, point = np.nonzero(~dominated)
    for rival in rivals[1:]:
        undominated = ~np.all([values[cell, point] < values[cell, rival[cell]] for values in along], axis=0)
        cell, point = cell[undominated], point[undominated]
    return np.bincount(cell, minlength=len(cells)).astype(np.int32), point.astype(np.int32)


CUBE_MAP_CELLS = 8  # cells along the edge of a cube map's face
