"""Broad phase: the pairs of shapes whose axis-aligned boxes overlap and that may touch, sorted.

Sets of shapes are rows of bits, 64 shapes a word, in the order of their indices: pairs come out sorted, and what may
touch at all (filters, excluded links, static shapes) is a static row to intersect with. Few boxes are compared each
with all others. For many, every axis is cut into slabs, and two rows a slab say which boxes begin up to it and which
end before it: those that may overlap a given one along the axis are the difference of two rows. A box costs the same
whatever its size, so half-spaces, floors and walls need no care of their own. Nothing is kept between calls.

Measured on a pile of 1,000 boxes: a grid of cells takes 1.8 times as long (5 times if sizes vary threefold, 45 times if
a tenth of the boxes is far away), sweep and prune along one axis 10 times, both with a sort of the pairs after it.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from sharnir.collision.broad_phase_native import (
    BLOCK,
    NUMBERS,
    SAMPLED,
    WORD,
    bits1,
    bits2,
    lay_slabs,
    near_size,
    pairs_by_slabs,
    pairs_of_few,
    store_box,
)
from sharnir.collision.filters import Filter
from sharnir.enums import HALF_SPACE, HEIGHT_FIELD, MESH
from sharnir.kernels.columns import ints2
from sharnir.kernels.types import array2, real, vec3
from sharnir.kernels.vector_ops import indices

FEW = 128  # shapes up to which each box is compared with all others: measured


@wp.struct
class Broad:
    """What is known of the shapes of a model before it moves."""

    count: int
    words: int  # in a row of bits
    slabs: int  # per axis; 0: none, each box is compared with all others
    step_shape: int  # from a number of a box to that of the next shape
    step_number: int  # from a number of a box to the next one
    row: indices  # [shape] its row of `allowed`
    allowed: bits1  # [row · words] shapes that it may touch; bits of shapes up to itself mean nothing
    sample: indices  # [SAMPLED] shapes that slabs are laid out by


@wp.struct
class BroadWork:
    """Scratch in workspace columns. Boxes go in by `put_box`, pairs come out."""

    most: int  # pairs there is room for
    box: array2  # [NUMBERS · 64 words] world, m; see sharnir.collision.broad_phase_native
    slab: ints2  # [NUMBERS shape] the slab of every number of a box, times words
    marks: bits2  # [6 (slabs + 1) words] per axis: boxes that begin up to a slab, boxes that end before it
    near: bits2  # lists of what slabs leave to be compared
    pairs: ints2  # [2 most] smaller and larger shape index, sorted


def broad_on(kind: np.ndarray, may: Filter, device: str) -> Broad:
    """The static part, for shapes of kinds `kind` [shape], of which some may touch."""
    rows, row = _allowed_rows(may)
    out = Broad()
    out.count = len(kind)
    out.words = _words(out.count)
    out.slabs = _slabs(out.count)
    out.step_shape, out.step_number = (NUMBERS, 1) if out.slabs else (1, WORD * out.words)
    out.row = wp.array(row, dtype=int, device=device)
    out.allowed = wp.array(rows, dtype=wp.uint64, device=device)
    out.sample = wp.array(_sample(kind, may.link), dtype=int, device=device)
    return out


def broad_work_on(count: int, capacity: int, columns: int, device: str) -> BroadWork:
    """Zeroed scratch for `count` shapes and `capacity` pairs."""
    words, slabs = _words(count), _slabs(count)
    out = BroadWork()
    out.most = capacity
    out.box = wp.zeros((NUMBERS * WORD * words, columns), dtype=real, device=device)
    out.slab = wp.zeros((NUMBERS * count if slabs else 0, columns), dtype=int, device=device)
    out.marks = wp.zeros((6 * (slabs + 1) * words if slabs else 0, columns), dtype=wp.uint64, device=device)
    listing = slabs and wp.get_device(device).is_cpu
    out.near = wp.zeros((near_size(words) if listing else 0, columns), dtype=wp.uint64, device=device)
    out.pairs = wp.zeros((2 * capacity, columns), dtype=int, device=device)
    return out


def _words(count: int) -> int:
    """Words in a row of bits, whole blocks of them where rows are combined."""
    words = -(-count // WORD)
    return words if count <= FEW else -(-words // BLOCK) * BLOCK


def _slabs(count: int) -> int:
    """Slabs per axis: a few per box of a cubic pile. Measured: twice or half as many make no difference."""
    if count <= FEW:
        return 0
    return 32 if count < 256 else 64 if count < 4096 else 128


def _allowed_rows(may: Filter) -> tuple[np.ndarray, np.ndarray]:
    """Words of all rows, and the row of every shape. The shapes of a pile share a row, which then stays in the cache:
    of a row only bits of larger indices are read, so that the bit of the shape itself may have any value."""
    count = len(may.link)
    known: dict[bytes, int] = {}
    row = np.zeros(count, dtype=np.int32)
    bits = np.zeros(WORD * _words(count), dtype=bool)
    for a in range(count):
        bits[:count] = may.row(a)
        bits[a] = may.link[a] >= 0
        row[a] = known.setdefault(np.packbits(bits, bitorder="little").tobytes(), len(known))
    return np.frombuffer(b"".join(known), dtype="<u8"), row


def _sample(kind: np.ndarray, link: np.ndarray) -> np.ndarray:
    """Shapes that stand for all, some twice if there are few: moving ones if there are any, and none that are huge by
    kind. Drawn at random, but always the same: a regular choice could see one layer of a regular pile only."""
    huge = np.isin(kind, (HALF_SPACE, HEIGHT_FIELD, MESH))
    for wanted in (~huge & (link >= 0), ~huge, np.ones(len(kind), dtype=bool)):
        chosen = np.flatnonzero(wanted)
        if len(chosen):
            return np.resize(np.random.default_rng(0).permutation(chosen), SAMPLED).astype(np.int32)
    return np.zeros(0, dtype=np.int32)


@wp.func
def put_box(broad: Broad, work: BroadWork, shape: int, lower: vec3, upper: vec3, w: int):
    """The box of a shape, margin and motion included, world, m. ±∞ is welcome; a NaN makes a box that meets none."""
    store_box(work.box, broad.step_shape, broad.step_number, shape, lower, upper, w)


@wp.func
def find_pairs(broad: Broad, work: BroadWork, w: int) -> int:
    """Fill `pairs`; returns how many there are, of which the first `most` are stored."""
    if broad.slabs == 0:
        return pairs_of_few(work.box, broad.allowed, broad.row, broad.count, broad.words, work.pairs, work.most, w)
    lay_slabs(work.box, broad.sample, broad.count, broad.words, broad.slabs, work.slab, work.marks, w)
    return pairs_by_slabs(
        work.box, work.slab, work.marks, work.near, broad.allowed, broad.row, broad.count, broad.words, broad.slabs,
        work.pairs, work.most, w,
    )  # fmt: skip
