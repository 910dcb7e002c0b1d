"""Static constraint layout: what acts on a model besides its tree, laid out once on the host."""
