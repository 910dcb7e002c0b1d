"""The compiled model: frozen arrays, and plain numpy on them."""

from sharnir.model.model import Model

__all__ = ["Model"]
