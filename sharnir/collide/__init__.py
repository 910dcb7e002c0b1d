"""Collision detection in kernels: which shapes are near, where they touch."""
