"""Timing two things against each other: interleaved in one run, medians, with the spread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[], object]


def interleaved(pairs: list[tuple[Call, Call | None]], rounds: int) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Seconds of each call of (ours, peer), for every pair, all taken in turns: a disturbance meets all alike."""
    calls = [call for pair in pairs for call in pair if call is not None]
    for call in calls:
        call()
    seconds: dict[Call, list[float]] = {call: [] for call in calls}
    for _ in range(rounds):
        for call in calls:
            start = time.perf_counter()
            call()
            seconds[call].append(time.perf_counter() - start)
    return [(np.array(seconds[ours]), None if peer is None else np.array(seconds[peer])) for ours, peer in pairs]


def spread(values: np.ndarray) -> dict[str, float]:
    """Quartiles, extremes and the 99.9th percentile of a sample."""
    low, high, far = np.percentile(values, [25, 75, 99.9])
    return {"p25": float(low), "p75": float(high), "min": float(values.min()), "p99.9": float(far)}


def row(
    case: str, unit: str, ours: np.ndarray, peer: np.ndarray | None, peer_name: str | None, **more: Any
) -> dict[str, Any]:
    """A row of a result: medians, their ratio ours/peer, and the spread."""
    mine = float(np.median(ours))
    theirs = None if peer is None else float(np.median(peer))
    return {
        "case": case, "ours": mine, "peer": theirs, "peer_name": peer_name, "unit": unit,
        "ratio": None if not theirs else mine / theirs,
        "ours_spread": spread(ours), "peer_spread": None if peer is None else spread(peer), **more,
    }  # fmt: skip
