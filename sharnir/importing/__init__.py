"""Model files of others: checked, parsed by MuJoCo in a process of its own, handed over as a compiled model."""
