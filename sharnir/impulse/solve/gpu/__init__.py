"""Sweeps by the 32 lanes of a CUDA warp, one warp per world (M-67)."""
