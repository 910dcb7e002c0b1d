"""Warp plumbing: scalar types, array columns, vector operations, warp lanes, launching."""
