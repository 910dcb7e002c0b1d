"""Static data of meshes: welded vertices, adjacency, and a bounding volume hierarchy (BVH)."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RealArray = NDArray[np.float64]
IntArray = NDArray[np.int32]

MAX_LEAF_TRIANGLES = 4  # triangles of a BVH leaf, at most


class MeshBvh(NamedTuple):
    """BVH in depth-first order with skip links: if a box is missed, continue at `skip`, else at the next node."""

    low: RealArray  # [nodes, 3] m
    high: RealArray  # [nodes, 3] m
    skip: IntArray  # [nodes] the first node that is not below this one
    first: IntArray  # [nodes] first triangle of a leaf
    triangles: IntArray  # [nodes] triangles of a leaf, 0 of other nodes


class SurfaceMesh(NamedTuple):
    """A mesh; its triangles are in the order of its BVH."""

    vertices: RealArray  # [n, 3] m
    corners: IntArray  # [triangles, 3] vertices, counter-clockwise seen from outside
    opposite: IntArray  # [triangles, 3] corner of the neighbour across edge k → k + 1; -1: there is none, or several
    ring: list[IntArray]  # [n] vertices along edges
    bvh: MeshBvh


def build_surface_mesh(vertices: RealArray, faces: IntArray) -> SurfaceMesh:
    """Build the static data of a mesh of vertices [n, 3] m and faces [m, 3]."""
    shared, number = np.unique(vertices, axis=0, return_inverse=True)
    corners = number.reshape(-1)[faces].astype(np.int32)
    order, tree = build_bvh(shared[corners])
    corners = corners[order]
    return SurfaceMesh(shared, corners, find_opposite_corners(corners), build_vertex_rings(corners, len(shared)), tree)


def build_bvh(corners: RealArray) -> tuple[IntArray, MeshBvh]:
    """Build a BVH over triangles [n, 3, 3] m by median splits of centroids along the longest axis; returns the order of
    the triangles, and the BVH."""
    low, high, middle = corners.min(axis=1), corners.max(axis=1), corners.mean(axis=1)
    order: list[int] = []
    nodes: list[tuple[RealArray, RealArray, int, int]] = []
    stack: list[tuple[IntArray, int]] = [(np.arange(len(corners), dtype=np.int32), 0)]
    depths: list[int] = []
    while stack:
        members, depth = stack.pop()
        leaf = len(members) <= MAX_LEAF_TRIANGLES
        nodes.append((low[members].min(axis=0), high[members].max(axis=0), len(order), len(members) if leaf else 0))
        depths.append(depth)
        if leaf:
            order += members.tolist()
            continue
        axis = int(np.argmax(np.ptp(middle[members], axis=0)))
        members = members[np.argsort(middle[members, axis], kind="stable")]
        half = len(members) // 2
        stack += [(members[half:], depth + 1), (members[:half], depth + 1)]
    skip = compute_skip_links(depths)
    first, count = ([node[k] for node in nodes] for k in (2, 3))
    return np.array(order, dtype=np.int32), MeshBvh(
        np.array([node[0] for node in nodes]), np.array([node[1] for node in nodes]),
        *(np.array(x, dtype=np.int32) for x in (skip, first, count)),
    )  # fmt: skip


def compute_skip_links(depths: list[int]) -> list[int]:
    """Skip links of nodes in depth-first order: the next node that is not deeper."""
    out, open_nodes = [len(depths)] * len(depths), list[int]()
    for k, depth in enumerate(depths):
        while open_nodes and depths[open_nodes[-1]] >= depth:
            out[open_nodes.pop()] = k
        open_nodes.append(k)
    return out


def find_opposite_corners(corners: IntArray) -> IntArray:
    """[triangles, 3] the third vertex of the neighbour across each edge; −1 unless exactly two triangles share the
    edge."""
    a, b = corners, np.roll(corners, -1, axis=1)
    keys = np.stack([np.minimum(a, b), np.maximum(a, b)], axis=2).reshape(-1, 2)
    _, edge, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    edge = edge.reshape(-1)
    apex = np.roll(corners, 1, axis=1).reshape(-1)
    total = np.zeros(len(count), dtype=np.int64)
    np.add.at(total, edge, apex)
    return np.where(count[edge] == 2, total[edge] - apex, -1).reshape(-1, 3).astype(np.int32)


def build_vertex_rings(corners: IntArray, count: int) -> list[IntArray]:
    """Neighbours of each vertex along edges, in increasing order."""
    a, b = corners.reshape(-1), np.roll(corners, -1, axis=1).reshape(-1)
    pairs = np.unique(np.concatenate([np.stack([a, b], axis=1), np.stack([b, a], axis=1)]), axis=0)
    starts = np.searchsorted(pairs[:, 0], np.arange(count + 1))
    return [pairs[s:e, 1].astype(np.int32) for s, e in pairwise(starts)]
