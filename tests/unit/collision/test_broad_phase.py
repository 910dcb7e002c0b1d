"""The broad phase against all pairs of boxes compared in numpy: the same pairs in the same order in every scene."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from sharnir.collision.broad_phase import (
    MAX_ALL_PAIRS_SHAPES,
    BroadPhase,
    BroadPhaseScratch,
    allocate_broad_phase_scratch,
    find_pairs,
    set_aabb,
    upload_broad_phase,
)
from sharnir.collision.filters import CollisionFilter
from sharnir.enums import ShapeKind
from sharnir.kernels.columns import get_int, ints2
from sharnir.kernels.types import KERNEL_OPTIONS, np_real, vec3

wp.set_module_options(KERNEL_OPTIONS)

DEVICES = ["cpu", *(str(device) for device in wp.get_cuda_devices())]
SIZES = [
    2,
    3,
    20,
    63,
    64,
    65,
    MAX_ALL_PAIRS_SHAPES - 1,
    MAX_ALL_PAIRS_SHAPES,
    MAX_ALL_PAIRS_SHAPES + 1,
    192,
    255,
    256,
    257,
    500,
    1000,
]


@wp.kernel
def run(
    broad: BroadPhase, work: BroadPhaseScratch, lower: wp.array(dtype=vec3, ndim=2),
    upper: wp.array(dtype=vec3, ndim=2), pairs: ints2, needed: wp.array(dtype=int),
):  # fmt: skip
    w = wp.tid()
    for i in range(broad.count):
        set_aabb(broad, work, i, lower[w, i], upper[w, i], w)
    needed[w] = find_pairs(broad, work, w)
    for i in range(2 * wp.min(needed[w], work.capacity)):
        pairs[w, i] = get_int(work.pairs, i, w)


class Finder:
    """Shapes without and with filters, and their pairs in one or more worlds."""

    def __init__(
        self, count, capacity=None, link=None, group=None, mask=None, excluded=(), pairs=(), touch=(), kind=None,
        worlds=1, device="cpu",
    ):  # fmt: skip
        ones = np.ones(count, dtype=int)
        self.link = np.arange(count) if link is None else np.asarray(link)
        self.group = ones if group is None else group
        self.mask = ones if mask is None else mask
        self.excluded, self.pairs, self.touch = excluded, pairs, touch
        self.worlds, self.device = worlds, device
        capacity = count * (count - 1) // 2 if capacity is None else capacity
        kind = ShapeKind.BOX * ones if kind is None else kind
        self.broad = upload_broad_phase(
            kind, CollisionFilter(self.link, self.group, self.mask, excluded, pairs, touch), device
        )
        self.work = allocate_broad_phase_scratch(count, capacity, 1 if device == "cpu" else worlds, device)
        self.needed = wp.zeros(worlds, dtype=int, device=device)

    def __call__(self, lower, upper):
        """Pairs (pair, 2) of boxes (shape, 3); a list of them for boxes (world, shape, 3)."""
        shaped = (np.broadcast_to(b, (self.worlds, *np.shape(b)[-2:])).astype(np_real) for b in (lower, upper))
        boxes = [wp.array(b, dtype=vec3, device=self.device) for b in shaped]
        pairs = wp.zeros((self.worlds, 2 * self.work.capacity), dtype=int, device=self.device)
        wp.launch(run, self.worlds, [self.broad, self.work, *boxes, pairs, self.needed], device=self.device)
        stored = np.minimum(self.needed.numpy(), self.work.capacity)
        found = [row[: 2 * m].reshape(-1, 2) for row, m in zip(pairs.numpy(), stored, strict=True)]
        return found if np.ndim(lower) == 3 else found[0]

    def expected(self, lower, upper):
        lower, upper = np.asarray(lower, dtype=np_real), np.asarray(upper, dtype=np_real)
        group, mask = np.asarray(self.group), np.asarray(self.mask)
        over = self.link[:, None] != self.link
        over &= ((group[:, None] & mask) != 0) & ((mask[:, None] & group) != 0)
        for a, b in self.excluded:
            one, other = self.link == a, self.link == b
            over &= ~(one[:, None] & other) & ~(other[:, None] & one)
        for (a, b), touch in zip(self.pairs, self.touch, strict=True):
            over[a, b] = over[b, a] = touch
        for k in range(3):
            over &= (lower[:, None, k] <= upper[None, :, k]) & (lower[None, :, k] <= upper[:, None, k])
        return np.argwhere(np.triu(over, 1))

    def check(self, lower, upper):
        found = self(lower, upper)
        np.testing.assert_array_equal(found, self.expected(lower, upper))
        return found


def pile(count, rng, size=1.0):
    """Boxes of half-extents about `size` / 2 (m, one or one per box) in a cube with room for one per m³."""
    half = 0.5 * np.reshape(size * np.ones(count), (-1, 1)) * rng.uniform(0.5, 1.0, (count, 3))
    centre = rng.uniform(0.0, count ** (1 / 3), (count, 3))
    return centre - half, centre + half


def lattice(side):
    """side³ unit boxes; corners are whole numbers, so that neighbours touch to the last bit."""
    lower = np.stack(np.meshgrid(*3 * [np.arange(float(side))], indexing="ij"), axis=-1).reshape(-1, 3)
    return lower, lower + 1.0


def strewn(count, rng):
    """A pile of which every tenth box is a thousand kilometres away."""
    away = np.where(np.arange(count) % 10 == 4, -1e6, 0.0)[:, None]
    lower, upper = pile(count, rng)
    return lower + away, upper + away


SCENES = {
    "like sizes": pile,
    "mixed sizes": lambda count, rng: pile(count, rng, 10.0 ** rng.uniform(-1.0, 1.0, count)),
    "all in one place": lambda count, rng: (np.zeros((count, 3)), np.ones((count, 3))),
    "far apart": lambda count, rng: pile(count, rng, 1e-3),
    "points, many alike": lambda count, rng: 2 * (rng.integers(0, 5, (count, 3)).astype(float),),
    "on a line": lambda count, rng: tuple(b * (1, 0, 0) for b in pile(count, rng)),
    "a few far away": strewn,
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SCENES)
def test_the_pairs_are_those_of_brute_force(name, device):
    rng = np.random.default_rng(3)
    for count in SIZES:
        lower, upper = SCENES[name](count, rng)
        Finder(count, device=device).check(lower, upper)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("side", [2, 4, 6, 10])
def test_boxes_that_touch_are_pairs(side, device):
    """Faces, edges and corners: (3 side − 2)³ ordered pairs, each box with itself included."""
    found = Finder(side**3, device=device).check(*lattice(side))
    assert 2 * len(found) + side**3 == (3 * side - 2) ** 3


@pytest.mark.parametrize("count", [0, 1])
def test_less_than_two_shapes_have_no_pairs(count):
    assert len(Finder(count, capacity=1)(np.zeros((count, 3)), np.ones((count, 3)))) == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [5, 20, 64, 100, 300, 1000])
def test_filters_links_exclusions_and_pairs(count, device):
    rng = np.random.default_rng(count)
    link = rng.integers(-1, max(2, count // 3), count)
    link[rng.random(count) < 0.2] = -1
    excluded = [(k, k + 1) for k in range(0, count // 3, 2)] + [(3, 0), (-1, 1), (1, -1)]
    group, mask = rng.integers(0, 8, count), np.where(rng.random(count) < 0.5, -1, rng.integers(0, 8, count))
    pairs = rng.permutation(np.argwhere(np.triu(link[:, None] != link)))[: 2 * count, ::-1]
    told = {"pairs": pairs, "touch": rng.integers(0, 2, len(pairs))}
    finder = Finder(count, link=link, group=group, mask=mask, excluded=excluded, **told, device=device)
    found = finder.check(*pile(count, rng, 4.0))
    assert not np.any(link[found[:, 0]] == link[found[:, 1]])
    assert count < 20 or 0 < len(found) < len(Finder(count, device=device)(*pile(count, rng, 4.0)))


def in_a_bin(count, rng):
    """A tilted half-space (all of space), a level one and four walls, static, and a pile."""
    lower, upper = pile(count, rng)
    side, far = count ** (1 / 3), 1e3
    walls = [((-far, -far, -1), (0, far, far)), ((side, -far, -1), (far, far, far))]
    walls += [((-far, -far, -1), (far, 0, far)), ((-far, side, -1), (far, far, far))]
    planes = [(3 * [-np.inf], 3 * [np.inf]), (3 * [-np.inf], (np.inf, np.inf, 0.0))]
    extra = np.array(planes + walls)
    lower, upper = np.concatenate([lower, extra[:, 0]]), np.concatenate([upper, extra[:, 1]])
    link = np.concatenate([np.arange(count), np.full(6, -1)])
    return (
        lower,
        upper,
        link,
        np.concatenate(
            [np.full(count, ShapeKind.BOX), [ShapeKind.HALF_SPACE, ShapeKind.HALF_SPACE], np.full(4, ShapeKind.BOX)]
        ),
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [20, 150, 1000])
def test_half_spaces_and_walls(count, device):
    lower, upper, link, kind = in_a_bin(count, np.random.default_rng(7))
    found = Finder(count + 6, link=link, kind=kind, device=device).check(lower, upper)
    assert np.count_nonzero(found[:, 1] == count) == count  # all of space meets every body


@pytest.mark.parametrize("scene", ["bin", "fallen off"])
def test_slabs_stay_fine_beside_what_is_huge_or_far_away(scene):
    """Of the pairs that slabs leave to be compared, a third at least are pairs."""
    rng = np.random.default_rng(11)
    lower, upper, link, kind = in_a_bin(1000, rng)
    if scene == "fallen off":
        lower[:100, 2] -= 1e7
        upper[:100, 2] -= 1e7
    finder = Finder(len(link), link=link, kind=kind)
    found = finder.check(lower, upper)
    slab = finder.work.aabb_slab.numpy().reshape(-1, 8)[:, [0, 1, 2, 4, 5, 6]]
    near = finder.expected(slab[:, :3], slab[:, 3:])
    assert len(near) < 3 * len(found)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("side", [3, 6])
def test_what_does_not_fit_is_counted_and_not_written(side, device):
    lower, upper = lattice(side)
    finder = Finder(side**3, device=device)
    full = finder(lower, upper)
    for room in (0, 1, 17, len(full) - 1, len(full)):
        finder.work.capacity = room
        finder.work.pairs.fill_(-7)
        np.testing.assert_array_equal(finder(lower, upper), full[:room])
        assert finder.needed.numpy()[0] == len(full)
        assert np.all(finder.work.pairs.numpy()[2 * room :] == -7)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [20, 300])
def test_worlds_do_not_know_of_each_other(count, device):
    rng = np.random.default_rng(5)
    scenes = [pile(count, rng, size) for size in (0.3, 1.0, 1.0, 3.0, 1e-3)]
    lower, upper = (np.stack(boxes) for boxes in zip(*scenes, strict=True))
    together = Finder(count, worlds=len(scenes), device=device)(lower, upper)
    for found, scene in zip(together, scenes, strict=True):
        np.testing.assert_array_equal(found, Finder(count, device=device).check(*scene))


@pytest.mark.parametrize("count", [20, 300])
def test_what_was_found_before_does_not_matter(count):
    rng = np.random.default_rng(6)
    finder = Finder(count)
    for size in (1.0, 30.0, 0.0):
        finder(*pile(count, rng, size))
        for scratch in (finder.work.aabb_slab, finder.work.slab_bits, finder.work.candidates, finder.work.pairs):
            scratch.assign(rng.integers(0, 2**31, scratch.shape).astype(scratch.numpy().dtype))
        finder.check(*pile(count, rng))


@pytest.mark.parametrize("count", [50, 300])
def test_a_scene_that_moves(count):
    rng = np.random.default_rng(8)
    (lower, upper), velocity = pile(count, rng), rng.normal(0.0, 1.0, (count, 3))
    finder = Finder(count)
    for step in range(200):
        finder.check(lower + 0.02 * step * velocity, upper + 0.02 * step * velocity)


@pytest.mark.parametrize("count", [20, 300])
def test_a_box_that_is_no_number_meets_none(count):
    lower, upper = pile(count, np.random.default_rng(9), 3.0)
    lower[3, 1] = upper[7] = lower[8] = upper[8] = np.nan
    found = Finder(count).check(lower, upper)
    assert len(found) and not np.any(np.isin(found, [3, 7, 8]))
