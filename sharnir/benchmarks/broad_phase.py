# mypy: ignore-errors
"""Time of the broad phase on one core: µs a call, least of many rounds, and how it grows with the number of shapes.

Every call sees other boxes than the one before (16 variants in turn), or the processor learns the branches of a scene
by heart. The time to store the boxes is measured alone and subtracted; it is the second column.
"""

from __future__ import annotations

import time

import numpy as np
import warp as wp

from sharnir.collision.broad_phase import (
    BroadPhase,
    BroadPhaseScratch,
    allocate_broad_phase_scratch,
    find_pairs,
    set_aabb,
    upload_broad_phase,
)
from sharnir.collision.filters import CollisionFilter
from sharnir.enums import ShapeKind
from sharnir.kernels.types import KERNEL_OPTIONS, np_real, vec3

wp.set_module_options(KERNEL_OPTIONS)

VARIANTS, ROUNDS = 16, 60
boxes1 = wp.array(dtype=vec3)


@wp.kernel
def calls_kernel(
    broad: BroadPhase,
    work: BroadPhaseScratch,
    lower: boxes1,
    upper: boxes1,
    count: int,
    find: int,
    out: wp.array(dtype=int),
):
    for call in range(count):
        first = (call % VARIANTS) * broad.count
        for i in range(broad.count):
            set_aabb(broad, work, i, lower[first + i], upper[first + i], 0)
        if find == 1:
            out[0] = find_pairs(broad, work, 0)


def humanoid(rng: np.random.Generator) -> np.ndarray:
    """Boxes (shape, 2, 3) of 19 limbs of a standing figure."""
    centre = rng.uniform(-1.0, 1.0, (19, 3)) * (0.2, 0.3, 0.8) + (0.0, 0.0, 0.85)
    half = rng.uniform(0.04, 0.12, (19, 3))
    return np.stack([centre - half, centre + half], axis=1)


def pile(x: int, y: int, z: int) -> np.ndarray:
    """Boxes (shape, 2, 3) of unit cubes that touch, with a margin of 1 mm."""
    centre = np.stack(np.meshgrid(np.arange(x), np.arange(y), np.arange(z), indexing="ij"), axis=-1).reshape(-1, 3)
    return np.stack([centre - 0.501, centre + 0.501], axis=1)


def heap(count: int, rng: np.random.Generator) -> np.ndarray:
    """Boxes (shape, 2, 3) of bodies of sizes 1:3 thrown together."""
    centre = rng.uniform(0.0, count ** (1 / 3), (count, 3))
    half = rng.uniform(0.25, 0.75, (count, 3))
    return np.stack([centre - half, centre + half], axis=1)


def measure(boxes: np.ndarray, shake: float) -> tuple[float, float, int]:
    """µs to find pairs, µs to store boxes, and the number of pairs, with a half-space below as shape 0; boxes move by
    `shake` (m) between calls."""
    floor = np.array([[3 * [-np.inf], [np.inf, np.inf, 0.01]]])
    boxes = np.concatenate([floor, boxes])
    count = len(boxes)
    moves = np.random.default_rng(1).normal(0.0, shake, (VARIANTS, count, 1, 3))
    variants = (boxes + moves).astype(np_real)
    ones = np.ones(count, dtype=int)
    kind = np.where(np.arange(count) == 0, ShapeKind.HALF_SPACE, ShapeKind.BOX)
    broad = upload_broad_phase(kind, CollisionFilter(np.arange(count) - 1, ones, ones), "cpu")
    work = allocate_broad_phase_scratch(count, 30 * count, 1, "cpu")
    out = wp.zeros(1, dtype=int)
    corners = [wp.array(variants[:, :, k].reshape(-1, 3), dtype=vec3) for k in range(2)]
    repeats = VARIANTS * max(2, 1500 // count)
    seconds: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(ROUNDS):
        for find, taken in seconds.items():
            start = time.perf_counter()
            wp.launch(calls_kernel, 1, [broad, work, *corners, repeats, find, out])
            taken.append((time.perf_counter() - start) / repeats)
    store, both = (1e6 * min(seconds[find]) for find in (0, 1))
    return both - store, store, int(out.numpy()[0])


def main() -> None:
    rng = np.random.default_rng(0)
    scenes = {
        "humanoid on a plane": (humanoid(rng), 0.005),
        "pile 4×4×4": (pile(4, 4, 4), 1e-4),
        "pile 5×5×4": (pile(5, 5, 4), 1e-4),
        "pile 6×6×6": (pile(6, 6, 6), 1e-4),
        "pile 10×10×10": (pile(10, 10, 10), 1e-4),
        "the same in random order": (rng.permutation(pile(10, 10, 10)), 1e-4),
        "heap of 100": (heap(100, rng), 0.03),
        "heap of 1,000": (heap(1000, rng), 0.03),
        "heap of 4,000": (heap(4000, rng), 0.03),
    }
    print("| scene on a plane | shapes | pairs | µs | store, µs | ns a pair |\n|---|---|---|---|---|---|")
    times = {}
    for name, (boxes, shake) in scenes.items():
        found, store, pairs = measure(boxes, shake)
        times[name] = found, pairs
        line = f"{len(boxes) + 1} | {pairs} | {found:.2f} | {store:.2f} | {1e3 * found / pairs:.1f}"
        print(f"| {name} | {line} |", flush=True)
    for small, large in (("pile 5×5×4", "pile 10×10×10"), ("heap of 100", "heap of 1,000")):
        time_ratio, pair_ratio = (b / a for a, b in zip(times[small], times[large], strict=True))
        print(f"{small} → {large}: time × {time_ratio:.1f}, pairs × {pair_ratio:.1f}")


if __name__ == "__main__":
    main()
