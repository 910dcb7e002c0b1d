"""Groups of what is connected."""

from __future__ import annotations

import numpy as np


def connected_groups(count: int, pairs: np.ndarray) -> np.ndarray:
    """[count] number of the group of each of `count` things; groups are numbered by their first members. pairs: [n, 2]
    of things that are connected."""
    parent = list(range(count))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for a, b in pairs.tolist():
        first, second = sorted((find(a), find(b)))
        parent[second] = first
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(find(i), len(numbers)) for i in range(count)], dtype=int)
