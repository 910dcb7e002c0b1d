"""Steps of many worlds on the CPU in several threads: each thread has a range of worlds and scratch memory of its own.

Worlds do not know of each other, so that bits do not depend on how many threads there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from sharnir.impulse.data import Scratch, State
from sharnir.kernels.launch import Graphs, Launch


class Part(NamedTuple):
    """Some worlds, and what the kernels of their steps get."""

    context: Any  # StepContext
    here: Any  # Workspace
    there: Any  # Workspace
    work: Scratch
    state: State
    worlds: int


MakePart = Callable[[State, int], Part]


def state_of_worlds(state: Any, first: int, end: int, worlds: int) -> Any:
    """A struct whose arrays [item, world] have the worlds from first to before end; what worlds share is the same."""
    out = state._cls()
    for name, variable in out._cls.vars.items():
        value = getattr(state, name)
        if isinstance(variable.type, wp.array):
            if value is not None and value.ndim == 2 and value.shape[1] == worlds and value.shape[0] > 0:
                value = value[:, first:end]
        elif hasattr(variable.type, "vars"):
            value = state_of_worlds(value, first, end, worlds)
        setattr(out, name, value)
    return out


class WorldThreads:
    """Threads that step ranges of worlds. make_part: allocates what a range needs besides its part of the state."""

    def __init__(self, state: State, worlds: int, threads: int, make_part: MakePart) -> None:
        ends = np.linspace(0, worlds, threads + 1).astype(int).tolist()
        ranges = [(a, b) for a, b in pairwise(ends) if b > a]
        self._parts = [make_part(state_of_worlds(state, a, b, worlds), b - a) for a, b in ranges]
        self._graphs = [Graphs("cpu") for _ in ranges]
        self._pool = ThreadPoolExecutor(max(1, len(ranges) - 1), thread_name_prefix="worlds")

    def launch(self, key: Any, launches_of: Callable[[Part], Sequence[Launch]], times: int) -> None:
        """Run the kernels of all parts, some times over."""

        def run(k: int) -> None:
            part = self._parts[k]
            self._graphs[k].launch_all(key, lambda: launches_of(part), part.worlds, times)

        others = [self._pool.submit(run, k) for k in range(1, len(self._parts))]
        run(0)
        for other in others:
            other.result()
