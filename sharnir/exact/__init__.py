"""The exact solver: adaptive integration of the equations of motion with Lagrange multipliers."""
