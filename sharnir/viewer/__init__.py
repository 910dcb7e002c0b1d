"""A live view of a simulation in a browser: seen, paused, pulled and driven there, served by a process of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sharnir.viewer.drive import read_mapping as read_mapping
    from sharnir.viewer.gate import Address as Address
    from sharnir.viewer.live import Live as Live
    from sharnir.viewer.loop import Player as Player
    from sharnir.viewer.loop import show as show
    from sharnir.viewer.loop import view as view
    from sharnir.viewer.picture import screenshot as screenshot
    from sharnir.viewer.replay import Replay as Replay
    from sharnir.viewer.setup import Timeline as Timeline

PLACES = {
    "Address": "gate", "Live": "live", "Player": "loop", "Replay": "replay",
    "Timeline": "setup", "read_mapping": "drive",
    "screenshot": "picture", "show": "loop", "view": "loop",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load a part when it is used: the process that serves pages needs no kernels."""
    from importlib import import_module

    if name not in PLACES:
        raise AttributeError(f"module 'sharnir.viewer' has no attribute {name!r}")
    return getattr(import_module(f"sharnir.viewer.{PLACES[name]}"), name)


__all__ = ["Address", "Live", "Player", "Replay", "Timeline", "read_mapping", "screenshot", "show", "view"]
