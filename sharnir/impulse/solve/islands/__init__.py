"""Convex Newton on islands of bodies joined by contacts, where sweeps converge slowly (M-61, M-62)."""
