"""A live view of a simulation in a browser: seen, paused, pulled and driven there, served by a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sharnir.viewer.input_mapping import read_mapping as read_mapping
    from sharnir.viewer.loop import Player as Player
    from sharnir.viewer.loop import show as show
    from sharnir.viewer.loop import view as view
    from sharnir.viewer.page.gate import Address as Address
    from sharnir.viewer.picture import screenshot as screenshot
    from sharnir.viewer.setup import Timeline as Timeline
    from sharnir.viewer.source.live import Live as Live
    from sharnir.viewer.source.replay import Replay as Replay

PLACES = {
    "Address": "page.gate", "Live": "source.live", "Player": "loop", "Replay": "source.replay",
    "Timeline": "setup", "read_mapping": "input_mapping",
    "screenshot": "picture", "show": "loop", "view": "loop",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a part when it is used: the process that serves pages needs no kernels."""
    from importlib import import_module

    if name not in PLACES:
        raise AttributeError(f"module 'sharnir.viewer' has no attribute {name!r}")
    return getattr(import_module(f"sharnir.viewer.{PLACES[name]}"), name)


__all__ = ["Address", "Live", "Player", "Replay", "Timeline", "read_mapping", "screenshot", "show", "view"]
