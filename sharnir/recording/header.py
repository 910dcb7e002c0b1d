"""What a recording says of itself: plain words, with a checksum, as a metadata record of its file."""

from __future__ import annotations

import json
import zlib
from typing import Any

FORMAT = "2"  # says in `layout` which arrays its snapshots have; sharnir.simulation.state_names knows those of 1
FIRST = "1"
MOST_ROOM = 2**22  # contacts, or pairs of shapes
NEEDED = (
    "format", "sharnir", "warp", "numpy", "python", "machine", "precision", "model", "solver", "dt", "settings",
    "contacts", "pairs", "rate", "seed", "began",
)  # fmt: skip


def parsed(text: str) -> Any:
    """JSON of a file; ValueError where it is none, or nested without end."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def checksum(facts: dict[str, str]) -> str:
    """Of all other entries."""
    return f"{zlib.crc32(json.dumps(facts, sort_keys=True).encode()):08x}"


def sealed(facts: dict[str, str]) -> dict[str, str]:
    """The entries with their checksum."""
    return {**facts, "checksum": checksum(facts)}


def opened(facts: dict[str, str]) -> dict[str, str]:
    """The entries, checked; ValueError says what is wrong with them."""
    facts = dict(facts)
    if facts.pop("checksum", None) != checksum(facts):
        raise ValueError("the checksum of its header differs")
    if facts.get("format") not in (FIRST, FORMAT):
        raise ValueError(f"format {facts.get('format')!r} is unknown")
    missing = [name for name in (*NEEDED, *(() if facts["format"] == FIRST else ("layout",))) if name not in facts]
    if missing:
        raise ValueError(f"its header lacks {', '.join(missing)}")
    check_values(facts)
    return facts


def check_values(facts: dict[str, str]) -> None:
    """What is to be a number is one, and no larger than a machine can bear."""
    for name in ("dt", "rate"):
        if not 0 < float(facts[name]) < float("inf"):
            raise ValueError(f"its {name} is {facts[name]}")
    for name in ("contacts", "pairs"):
        if not 0 <= int(facts[name]) <= MOST_ROOM:
            raise ValueError(f"its room for {name} is {facts[name]}")
    settings = parsed(facts["settings"])
    if not isinstance(settings, dict) or not isinstance(settings.get("method"), str):
        raise ValueError("its settings are none")
