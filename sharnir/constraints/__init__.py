"""Constraint rows: what joints that close loops demand of the motion of links."""
