"""The page of a report: tables, plots and replays in one file that needs nothing else."""

from __future__ import annotations

import base64
from html import escape
from typing import NamedTuple

import sharnir

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>sharnir: report</title>
<meta name="viewport" content="width=device-width">
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; }
th, td { text-align: left; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid #ddd; }
svg { max-width: 100%; height: auto; }
iframe { width: 100%; height: 30rem; border: 1px solid #ccc; }
button { font: inherit; padding: 0.3rem 1rem; }
</style></head><body>
<h1>sharnir VERSION</h1>
"""
REPLAY = """
<div><button type="button" data-replay="NUMBER">Show the replay</button></div>
<script type="text/plain" id="replay-NUMBER">DATA</script>
"""
TAIL = """
<script>
for (const button of document.querySelectorAll("button[data-replay]")) {
  button.addEventListener("click", () => {
    const text = document.getElementById("replay-" + button.dataset.replay).textContent;
    const bytes = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts";
    frame.srcdoc = new TextDecoder().decode(bytes);
    button.parentElement.replaceChildren(frame);
  });
}
</script>
</body></html>
"""


class Section(NamedTuple):
    """A part of a report. plot: SVG. replay: a page of its own, or None."""

    title: str
    words: str
    columns: list[str]
    rows: list[list[str]]
    plot: str
    replay: str | None


def page(sections: list[Section]) -> str:
    """All of it."""
    parts = [section_text(number, section) for number, section in enumerate(sections)]
    return HEAD.replace("VERSION", escape(sharnir.__version__)) + "".join(parts) + TAIL


def section_text(number: int, section: Section) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in section.columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in section.rows)
    text = f"<h2>{escape(section.title)}</h2><p>{escape(section.words)}</p>"
    text += f"<table><tr>{head}</tr>{body}</table>{section.plot}"
    if section.replay is not None:
        data = base64.b64encode(section.replay.encode()).decode()
        text += REPLAY.replace("NUMBER", str(number)).replace("DATA", data)
    return text
