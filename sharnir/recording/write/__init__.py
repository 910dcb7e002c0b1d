"""Writing a recording while a simulation runs."""
