"""The page of a report: one file with tables, plots and replays; names are text."""

from __future__ import annotations

import base64

import pytest

from sharnir.report.page import Section, page
from sharnir.report.plots import curves_svg
from sharnir.scenes.goals import Curve, Figure


def test_names_are_text_and_replays_are_whole():
    replay = "<html><script>alert('</script>')</script></html>"
    section = Section("<img onerror=x>", "a & b", ["figure"], [["<b>"]], "<svg></svg>", replay)
    text = page([section])
    assert "<img" not in text and "<b>" not in text and "a &amp; b" in text
    assert base64.b64encode(replay.encode()).decode() in text
    assert "http:" not in text and "https:" not in text


def test_curves_are_drawn_with_their_bounds():
    pytest.importorskip("matplotlib")
    text = curves_svg([Curve("angle", "°", [0.0, 1.0, 2.0], [0.0, 10.0, 5.0], -15.0, 15.0)])
    assert text.startswith("<svg") and text.count("stroke-dasharray") >= 2


@pytest.mark.parametrize(("value", "met"), [(0.5, True), (1.5, False), (-0.1, False), (float("nan"), False)])
def test_figures_are_met_within_their_range(value, met):
    figure = Figure("slip", value, 0.0, 1.0, "m")
    assert figure.met is met
    assert figure.range == "≥ 0, ≤ 1" and "slip" in str(figure)
