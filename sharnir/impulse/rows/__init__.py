"""What constraints are: rows, target velocities, effective masses, matched contacts."""
