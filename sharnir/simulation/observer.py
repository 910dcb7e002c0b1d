"""What a simulation tells those who follow its steps, such as a recorder. The simulation knows this much of them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class StepObserver(Protocol):
    """Follows a simulation step by step; while there is one, steps are taken one at a time."""

    path: Path  # what it writes

    @property
    def block(self) -> int:
        """How many steps it can follow, at least, after `catch_up`."""

    def before(self) -> None:
        """Called before some steps, with the inputs they get; an error keeps them from being taken."""

    def after(self) -> None:
        """Called after every step."""

    def catch_up(self) -> None:
        """Wait until there is room for `block` steps; called by runs that need not keep pace with real time."""
