"""The command `sharnir`."""

from sharnir.cli.main import main

__all__ = ["main"]
