"""Plots of a report, as SVG that stands in a page."""

from __future__ import annotations

import io
import math
from typing import Any

from sharnir.scenes.goals import Curve

WIDE, HIGH = 7.5, 2.2  # inches, of one plot
OURS, PEER, BOUND = "#2a6f97", "#b8b8b8", "#c1121f"


def curves_svg(curves: list[Curve]) -> str:
    """Quantities over time, one below the other, with the bounds they keep to."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDE, HIGH * len(curves)), layout="constrained")
    for k, curve in enumerate(curves):
        axes = figure.add_subplot(len(curves), 1, k + 1)
        axes.plot(curve.times, curve.values, color=OURS, linewidth=1.2)
        for bound in (curve.low, curve.high):
            if math.isfinite(bound):
                axes.axhline(bound, color=BOUND, linewidth=0.8, linestyle="--")
        axes.set_ylabel(f"{curve.name}, {curve.unit}", fontsize=8)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.3)
    if curves:
        axes.set_xlabel("s", fontsize=8)
    return svg(figure)


def table1_svg(rows: list[dict[str, Any]]) -> str:
    """Times of a step: ours, MuJoCo's, and what was published, on a logarithmic axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDE, 0.3 * len(rows) + 0.8), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(rows))
    axes.barh([p + 0.2 for p in places], [r["ours"] for r in rows], 0.4, color=OURS, label="ours")
    axes.barh([p - 0.2 for p in places], [r["peer"] or math.nan for r in rows], 0.4, color=PEER, label="MuJoCo")
    axes.plot([1e6 * r["published_seconds"] for r in rows], list(places), "|", color=BOUND, label="published")
    axes.set_yticks(list(places), [r["case"] for r in rows], fontsize=8)
    axes.set_xscale("log")
    axes.set_xlabel("µs a step", fontsize=8)
    axes.invert_yaxis()
    axes.legend(fontsize=8)
    return svg(figure)


def svg(figure: Any) -> str:
    """Without the header of a file of its own."""
    text = io.StringIO()
    figure.savefig(text, format="svg")
    return text.getvalue()[text.getvalue().index("<svg") :]
