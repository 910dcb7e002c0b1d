"""Narrow phase of a convex shape against a height field or a triangle mesh."""
