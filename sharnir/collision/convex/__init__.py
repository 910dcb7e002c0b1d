"""Narrow phase of two convex shapes: closed forms, SAT, GJK, EPA, manifolds."""
