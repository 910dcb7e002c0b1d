"""Offline geometry in numpy: convex hulls, mesh bounding-volume hierarchies, support tables."""
