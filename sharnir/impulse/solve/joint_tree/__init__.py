"""Bilateral rows in maximal coordinates, eliminated along the tree that joints form (M-115, M-116)."""
