"""A live view of a simulation in a browser: coloured shapes, play, pause and reset."""

from sharnir.viewer.loop import Player, view
from sharnir.viewer.picture import screenshot

__all__ = ["Player", "screenshot", "view"]
