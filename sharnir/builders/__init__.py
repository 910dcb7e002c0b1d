"""Builders of common parts of scenes."""
