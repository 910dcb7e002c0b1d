"""Collision detection in kernels: broad phase, narrow phase, contact manifolds, queries."""
