"""Ways to move a model through time."""
