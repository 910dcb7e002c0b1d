"""Collision detection: broad phase, narrow phase, contact reduction, and queries (ray casts, distances)."""
